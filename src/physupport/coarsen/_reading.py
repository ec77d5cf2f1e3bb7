"""The finest sentence that every retained explanation of a coherent block shares."""

from dataclasses import dataclass
from enum import Enum
from typing import final

import numpy as np

from .._checks import check_open
from ..geometry import LocalDictionary, bottleneck_assignment
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
    supports: tuple[Support, ...]  # in the labels of the first retained dictionary
    sentence: str


def reading(retained: Retained, level: float) -> Reading:
    """Read a retained set: local explanation first, then atom support, then the physical mapping.

    Supports of different dictionaries are compared after matching their atoms to the first retained dictionary. Where
    the matching is not unique the supports of that dictionary count as different: the reading coarsens, never refines.
    level: probability with which the correspondence may lose the truth; it appears in the sentence only.
    """
    level = check_open("level", level, 0.0, 1.0)
    supports, matched = _aligned_supports(retained)
    stage = _stage(supports, matched)
    diameter = target_diameter(targets(retained))
    return Reading(stage, diameter, supports, _sentence(stage, supports, diameter, level))


def _stage(supports: tuple[Support, ...], matched: bool) -> Stage:
    if not supports:
        return Stage.EMPTY
    if supports == (None,):
        return Stage.SEPARATED_MAPPING
    if None in supports:
        return Stage.LOCAL_EXPLANATION
    return Stage.BLOCK_MAPPING if matched and len(supports) == 1 else Stage.ATOM_SUPPORT


def _aligned_supports(retained: Retained) -> tuple[tuple[Support, ...], bool]:
    """Distinct surviving supports in the labels of the first survivor, and whether every matching was unique."""
    survivors = np.flatnonzero(retained.kept.any(axis=1))
    found: dict[Support, None] = {}
    matched = True
    for k in survivors:
        dictionary = retained.parameters[k].dictionary
        labels, is_unique = _labels(retained.parameters[survivors[0]].dictionary, dictionary)
        supports = [retained.supports[m] for m in np.flatnonzero(retained.kept[k])]
        matched &= is_unique or supports == [None]
        found.update((_relabel(support, labels), None) for support in supports)
    return tuple(found), matched


def _relabel(support: Support, labels: dict[int, int]) -> Support:
    return None if support is None else tuple(sorted(labels[j] for j in support))


def _labels(reference: LocalDictionary, other: LocalDictionary) -> tuple[dict[int, int], bool]:
    """Atom of the other dictionary -> its partner in the reference, and whether no other matching is as close.

    With all partners closer than half the least distance between two reference atoms, each atom has one partner only.
    """
    z, moved = reference.block.coordinates, other.block.coordinates
    apart = np.linalg.norm(z[:, :, None] - moved[:, None, :], axis=0)  # (q, q)
    distance, partner = bottleneck_assignment(apart)
    spacing = np.linalg.norm(z[:, :, None] - z[:, None, :], axis=0)
    least = spacing[~np.eye(reference.q, dtype=bool)].min()
    return {int(j): i for i, j in enumerate(partner)}, bool(distance < least / 2)


def _sentence(stage: Stage, supports: tuple[Support, ...], diameter: float, level: float) -> str:
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
        case Stage.ATOM_SUPPORT:
            return (
                f"Atom support ambiguous: the coherent block is active, but its atoms could be any of {named}. "
                "More deployment measurements, then more calibration data, would separate them."
            )
        case Stage.BLOCK_MAPPING:
            return (
                f"One support, {named}: its physical elements are known to within {diameter:.3g} (projective distance)."
            )
        case Stage.SEPARATED_MAPPING:
            return f"The separated atom explains the deployment data; it is known to within {diameter:.3g} (projective distance)."
