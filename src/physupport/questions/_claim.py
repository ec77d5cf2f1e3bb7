"""Claims over several elements: whether any, all or exactly one of them is there."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, final, get_args

import numpy as np

from .._errors import MisuseError
from .._typing import BoolArray, IntArray
from ._region_rule import AskedRegion

Kind: TypeAlias = Literal["any", "all", "exactly_one"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@final
@dataclass(frozen=True, slots=True)
class Claim:
    """What is claimed to be there; `of` names elements, or groups, of which something is there."""

    kind: Kind
    of: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise MisuseError("kind", f"be one of {', '.join(KINDS)}", repr(self.kind))
        object.__setattr__(self, "of", tuple(self.of))
        if not self.of or len({*self.of}) < len(self.of):
            raise MisuseError("of", "name at least one element or group, each once", self.of)

    def holds(self, present: BoolArray) -> BoolArray:
        """(k,) from whether each of what is named is there, (k, n)."""
        count = present.sum(axis=1)
        if self.kind == "exactly_one":
            return np.asarray(count == 1)
        return np.asarray(count >= (1 if self.kind == "any" else len(self.of)))

    def tables(self, regions: Sequence[AskedRegion]) -> list[BoolArray]:
        """Of each region (m + 1, n): whether a place has what is named; the last place is nothing."""
        tables = [np.column_stack([_has(region, name) for name in self.of]) for region in regions]
        for number, name in enumerate(self.of):
            if not any(table[:, number].any() for table in tables):
                raise MisuseError("claims", "name elements or groups of regions that are asked about", repr(name))
        return tables


def _has(region: AskedRegion, name: str) -> BoolArray:
    """(m + 1,) the places of a region with an element of this name, or with one of a group of it."""
    members = dict(region.listed[:-1]).get(name, (name,))
    listed = np.append(np.isin(np.array(region.sets.ids), members), False)  # nothing is -1, the last entry
    return np.append(listed[region.sets.members].any(axis=1), False)


def claimed(claim: Claim, tables: Sequence[BoolArray], slots: IntArray) -> BoolArray:
    """(k,) whether explanations with these places, (k, R), bear a claim out."""
    present = np.logical_or.reduce([table[column] for table, column in zip(tables, slots.T, strict=True)])
    return claim.holds(np.asarray(present))
