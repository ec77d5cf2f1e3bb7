"""The finest sentence that every retained explanation of a coherent block shares."""

from dataclasses import dataclass
from enum import Enum
from typing import final

import numpy as np

from .._checks import check_open
from ..geometry import LocalDictionary, bottleneck_assignment, projective_distances
from ..project import target_diameter, targets
from ..retain import Retained, Support


class Stage(Enum):
    """Which of the three distinctions the data leave open."""

    EMPTY = "nothing retained"
    LOCAL_EXPLANATION = "local explanation unresolved"
    ATOM_SUPPORT = "atom support ambiguous"
    BLOCK_MAPPING = "one support of the coherent block"
    SEPARATED_MAPPING = "the separated atom"


@final
@dataclass(frozen=True, slots=True)
class Reading:
    """A stage, the physical diameter of what was retained, and the sentence for a person."""

    stage: Stage
    diameter: float
    supports: tuple[Support, ...]  # distinct ones, in the labels of the first retained dictionary
    is_matched: bool  # every retained dictionary has one matching of its atoms to the first, so labels carry over
    sentence: str


def reading(retained: Retained, level: float) -> Reading:
    """Read a retained set: local explanation first, then atom support, then the physical mapping.

    Supports of different dictionaries are compared after matching their atoms to the first retained dictionary. Where
    a matching is not unique, labels mean nothing across dictionaries, and one support is never claimed: the reading
    coarsens, never refines.
    level: probability with which the correspondence may lose the truth; it appears in the sentence only.
    """
    level = check_open("level", level, 0.0, 1.0)
    supports, is_matched = _aligned_supports(retained)
    stage = _stage(supports, is_matched)
    diameter = target_diameter(targets(retained))
    return Reading(stage, diameter, supports, is_matched, _sentence(stage, supports, is_matched, diameter, level))


def _stage(supports: tuple[Support, ...], is_matched: bool) -> Stage:
    if not supports:
        return Stage.EMPTY
    if supports == (None,):
        return Stage.SEPARATED_MAPPING
    if None in supports:
        return Stage.LOCAL_EXPLANATION
    return Stage.BLOCK_MAPPING if is_matched and len(supports) == 1 else Stage.ATOM_SUPPORT


def _aligned_supports(retained: Retained) -> tuple[tuple[Support, ...], bool]:
    """Distinct surviving supports in the labels of the first block survivor, and whether every matching was unique."""
    of_block = np.array([support is not None for support in retained.supports])
    found: dict[Support, None] = {}
    is_matched = True
    reference: LocalDictionary | None = None
    for k in np.flatnonzero((retained.kept & of_block).any(axis=1)):
        dictionary = retained.parameters[k].dictionary
        reference = dictionary if reference is None else reference
        labels, is_unique = _labels(reference, dictionary)
        is_matched &= is_unique
        for m in np.flatnonzero(retained.kept[k] & of_block):
            found[tuple(sorted(labels[j] for j in retained.supports[m] or ()))] = None
    separated: tuple[Support, ...] = (None,) if (retained.kept & ~of_block).any() else ()
    return tuple(found) + separated, is_matched


def _labels(reference: LocalDictionary, other: LocalDictionary) -> tuple[dict[int, int], bool]:
    """Atom of the other dictionary -> its partner in the reference, and whether no other matching is as close.

    With all partners closer than half the least distance between two reference atoms, an atom cannot be that close to
    two of them, by the triangle inequality of projective distances: each atom has one partner only.
    """
    atoms, moved = reference.block.atoms, other.block.atoms
    distance, partner = bottleneck_assignment(projective_distances(atoms, moved))
    spacing = projective_distances(atoms, atoms)[~np.eye(reference.q, dtype=bool)].min()
    return {int(j): i for i, j in enumerate(partner)}, bool(distance < spacing / 2.0)


def _sentence(stage: Stage, supports: tuple[Support, ...], is_matched: bool, diameter: float, level: float) -> str:
    named = ", ".join("{" + ", ".join(map(str, support)) + "}" for support in supports if support is not None)
    match stage:
        case Stage.EMPTY:
            return (
                f"No explanation survives: an event of probability at most {level:g}, "
                "or the true dictionary is not among those tried."
            )
        case Stage.LOCAL_EXPLANATION:
            return (
                "Local explanation unresolved: the coherent block and the separated atom both explain the deployment "
                "data. More deployment measurements would separate them."
            )
        case Stage.ATOM_SUPPORT if not is_matched:
            return (
                "Atom support ambiguous: the coherent block is active, but the surviving dictionaries differ too much "
                "for their atoms to be matched one to one. More calibration data would match them."
            )
        case Stage.ATOM_SUPPORT:
            return (
                f"Atom support ambiguous: the coherent block is active, but its atoms could be any of {named}. "
                "More deployment measurements, then more calibration data, would separate them."
            )
        case Stage.BLOCK_MAPPING:
            return (
                f"One support, {named}: over all surviving dictionaries "
                f"its physical elements agree to within {diameter:.3g} (projective distance)."
            )
        case Stage.SEPARATED_MAPPING:
            return (
                "The separated atom explains the deployment data; "
                f"over all surviving dictionaries it agrees to within {diameter:.3g} (projective distance)."
            )
