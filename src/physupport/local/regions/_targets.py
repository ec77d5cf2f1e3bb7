"""Physical targets: what an explanation says about the physical elements, free of atom order and sign."""

from dataclasses import dataclass
from typing import final

from ..._checks import check_support, check_unit_columns
from ..._typing import Array
from ...banks import hausdorff_distance, marked_distance, physical_diameter
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

    def marked_distance(self, other: "PhysicalTarget") -> float:
        """The same plus one when the local explanations differ (eq:marked-target-metric)."""
        return marked_distance(int(self.is_block), self.atoms, int(other.is_block), other.atoms)


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
