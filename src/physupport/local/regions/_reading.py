"""Physical targets, free of atom order and sign, and the finest sentence that every retained explanation shares."""

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from enum import Enum
from typing import final

import numpy as np

from ..._checks import check_support, check_unit_columns
from ..._typing import Array, IntArray
from ...banks import hausdorff_distance, physical_diameter, projective_distances
from ..orbit import OrbitBracket
from ..shell import LocalDictionary
from ._correspondence import Retained, Support


@final
@dataclass(frozen=True, slots=True, eq=False)
class PhysicalTarget:
    r"""The local explanation and its physical elements, :math:`\vartheta = (m, A)` (eq:physical-target)."""

    is_block: bool  # m: coherent block, or the separated atom
    atoms: Array  # (q, r), one unit column an element; order and sign carry no meaning

    def __post_init__(self) -> None:
        check_unit_columns("atoms", self.atoms)

    def distance(self, other: "PhysicalTarget") -> float:
        """Hausdorff distance of the elements, whatever the local explanation (eq:physical-resolution-loss)."""
        return hausdorff_distance(self.atoms, other.atoms)


def physical_target(dictionary: LocalDictionary, support: Support) -> PhysicalTarget:
    """The target of one explanation; None is the separated alternative."""
    if support is None:
        return PhysicalTarget(False, dictionary.separated[:, None])
    active = check_support("support", support, dictionary.q)
    return PhysicalTarget(True, dictionary.block.atoms[:, active])


def targets(retained: Retained, fallback: PhysicalTarget | None = None) -> tuple[PhysicalTarget, ...]:
    """Projection of a retained set (eq:reported-set).

    An empty set projects to nothing, or to the fixed fallback if one is given: that makes the report nonempty for
    every data set, as the coverage statement needs, while ``retained.is_empty`` still tells.
    """
    projected = tuple(physical_target(parameter.dictionary, support) for parameter, support in retained.pairs())
    return projected if projected or fallback is None else (fallback,)


def target_diameter(collection: tuple[PhysicalTarget, ...]) -> float:
    """Largest Hausdorff distance within a collection of targets (eq:physical-diameter); 0 for one target or none."""
    return physical_diameter([target.atoms for target in collection]) if collection else 0.0


class Stage(Enum):
    """The distinction that the data leave open."""

    EMPTY = "nothing retained"
    LOCAL_EXPLANATION = "local explanation unresolved"
    ATOM_SUPPORT = "atom support ambiguous"
    BLOCK_MAPPING = "one support of the coherent block"
    SEPARATED_MAPPING = "the separated atom"


@final
@dataclass(frozen=True, slots=True)
class Reading:
    """A stage, the physical diameter of what was retained, and the sentences for a person."""

    stage: Stage
    diameter: float
    supports: tuple[Support, ...]  # distinct ones, in the labels of the first block survivor; none of it if unmatched
    is_matched: bool  # atoms of any two block survivors match in one way, all matchings agree: labels carry over
    sentence: str
    orbit: OrbitBracket | None = None  # the same of every orientation between those listed, if it was worked out


def reading(retained: Retained, orbit: OrbitBracket | None = None) -> Reading:
    """Read a retained set: local explanation first, then atom support, then the physical mapping.

    orbit: the bracket of the diameter over every orientation, also between the dictionaries of the set, at a level of
    its own; its two numbers are told after the rest.

    Supports of different dictionaries are compared after their atoms have been matched. Unless the atoms of every two
    surviving dictionaries match in one way only, and going from one to another through a third makes no difference,
    labels mean nothing across dictionaries and one support is never claimed. The condition is on all pairs and
    triples, so stage and diameter depend on neither order nor labels, and more survivors never refine the reading.
    """
    of_block = np.array([support is not None for support in retained.supports])
    has_separated = bool((retained.kept & ~of_block).any())
    survivors = np.flatnonzero((retained.kept & of_block).any(axis=1))
    labels = _common_labels([retained.parameters[k].dictionary.block.atoms for k in survivors])
    named: dict[Support, None] = {}
    if labels is not None:
        for row, k in enumerate(survivors):
            for m in np.flatnonzero(retained.kept[k] & of_block):
                named[tuple(sorted(int(labels[row, j]) for j in retained.supports[m] or ()))] = None
    supports = (*named, None) if has_separated else tuple(named)
    stage = _stage(len(survivors) > 0, has_separated, labels is not None and len(named) == 1)
    diameter = target_diameter(targets(retained))
    sentence = _sentence(stage, supports, labels is not None, diameter, retained.level)
    said = sentence if orbit is None else f"{sentence} {_orbit_sentence(orbit)}"
    return Reading(stage, diameter, supports, labels is not None, said, orbit)


def _stage(has_block: bool, has_separated: bool, has_one_support: bool) -> Stage:
    if has_block and has_separated:
        return Stage.LOCAL_EXPLANATION
    if has_block:
        return Stage.BLOCK_MAPPING if has_one_support else Stage.ATOM_SUPPORT
    return Stage.SEPARATED_MAPPING if has_separated else Stage.EMPTY


def _common_labels(blocks: list[Array]) -> IntArray | None:
    r"""Label of every atom of every block in the first of them, (K, q), or None when labels do not carry over.

    Let h be half the smaller of the least spacings of blocks k and l. They match in one way when every atom of k has
    an atom of l closer than h: by the triangle inequality of projective distances no other atom of l, and no other
    atom of k for that one, is as close, so the nearest atoms are a bijection and its inverse comes from l to k. All
    matchings agree when the labels that k and l have from the first block agree with the matching of k and l.
    One row of pairs at a time: memory of the order of K q^2.
    """
    if not blocks:
        return np.empty((0, 0), dtype=np.int64)
    n_blocks = len(blocks)
    q = len(blocks[0])
    everything = np.hstack(blocks)  # (q, K q)
    off_diagonal = ~np.eye(q, dtype=bool)
    half = np.array([projective_distances(block, block)[off_diagonal].min() for block in blocks]) / 2.0  # (K,)
    labels = np.empty((n_blocks, q), dtype=np.int64)
    for k, block in enumerate(blocks):
        distances = projective_distances(block, everything).reshape(q, n_blocks, q)
        nearest = distances.argmin(axis=2)  # (q, K): partner of each atom of k in each block
        if not np.all(distances.min(axis=2) < np.minimum(half[k], half)):
            return None
        if k == 0:
            np.put_along_axis(labels, nearest.T, np.arange(q)[None, :], axis=1)
        if not np.array_equal(np.take_along_axis(labels, nearest.T, axis=1), np.tile(labels[k], (n_blocks, 1))):
            return None
    return labels


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
                f"its physical elements agree to within {_rounded_up(diameter)} (projective distance)."
            )
        case Stage.SEPARATED_MAPPING:
            return (
                "The separated atom explains the deployment data; "
                f"over all surviving dictionaries it agrees to within {_rounded_up(diameter)} (projective distance)."
            )


def _orbit_sentence(orbit: OrbitBracket) -> str:
    """Between the two numbers, rounded outwards, lies the diameter of the kept part of the whole orbit."""
    least = rounded(orbit.inner, 3, ROUND_FLOOR)
    return (
        f"Over every orientation of the orbit, between the listed ones too, calibration at level {orbit.level:g} "
        f"leaves at least {least} and at most {_rounded_up(orbit.outer)}, "
        f"of {_rounded_up(orbit.whole)} before any data."
    )


def _rounded_up(diameter: float) -> str:
    """Never fewer than the number: elements agree to within what is said."""
    return rounded(diameter, 3, ROUND_CEILING)


def rounded(value: float, digits: int, direction: str) -> str:
    """Round to a number of significant digits in one direction, so that a bound stays a bound."""
    return f"{float(Context(prec=digits, rounding=direction).create_decimal(value)):.{digits}g}"
