"""The question of a map: what is where, region by region."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from .._codec import array_json
from .._errors import Clause, MisuseError
from .._typing import Array, BoolArray, IntArray
from ..banks import Bank, RegionalView
from ._question import Answer, Contradictions, FieldElements, FieldValues, Label, Question
from ._region_rule import DISTANCES_OF_VIEW, AskedRegion, Claim, RegionRule, asked_region
from ._regional_progress import RegionalProgress, Table, entry_table


@final
@dataclass(frozen=True, slots=True, eq=False)
class RegionalMap(Question):
    """Which elements of which regions are active.

    rules: what is asked of each region; regions without a rule are not tested, and None asks for the finest
    single element of every region.  A region that every explanation has is persistent: being there is certain.
    claimed: claims over elements and groups of regions that are asked about, by name.
    """

    policies: ClassVar[tuple[str, ...]] = ("regional", "fixed", "random", "farthest")

    view: RegionalView
    rules: Mapping[str, RegionRule] | None = None
    claimed: Mapping[str, Claim] | None = None
    asked_regions: tuple[AskedRegion, ...] = field(init=False, repr=False)  # in the order of the view
    regions: tuple[str, ...] = field(init=False, repr=False)  # their names
    _table: Table = field(init=False, repr=False)
    _tables: dict[str, list[BoolArray]] = field(init=False, repr=False)  # of each claim, what the places have

    def __post_init__(self) -> None:
        rules = {name: RegionRule() for name in self.view.regions} if self.rules is None else dict(self.rules)
        for name in rules:
            if name not in self.view.regions:
                raise MisuseError("rules", f"be about the regions {self.view.regions}", repr(name))
        if not rules:
            raise MisuseError("rules", "ask about at least one region", Clause("there is none"))
        names = tuple(name for name in self.view.regions if name in rules)
        regions = tuple(asked_region(self.view, name, rules[name]) for name in names)
        object.__setattr__(self, "rules", rules)
        object.__setattr__(self, "asked_regions", regions)
        object.__setattr__(self, "regions", names)
        object.__setattr__(self, "claimed", dict(self.claimed or {}))
        tables = {name: claim.tables(regions) for name, claim in dict(self.claimed or {}).items()}
        object.__setattr__(self, "_tables", tables)
        object.__setattr__(self, "_table", entry_table(self.view, regions))

    @property
    def n_explanations(self) -> int:
        """Those of the view."""
        return self.view.n_explanations

    def slots(self, index: ArrayLike) -> IntArray:
        """(k,) -> (k, regions asked about): local element numbers, -1 where the region is absent."""
        columns = self._table[: len(self.asked_regions)]
        return np.column_stack([column[np.atleast_1d(index)] for column in columns]).astype(np.int64)

    def begin(self) -> RegionalProgress:
        """Start with nothing witnessed and everything possible."""
        return RegionalProgress(self.asked_regions, self._table)

    def reference(self) -> "RegionalMap":
        """The same regions, tolerances, groups and thresholds, each asked for the finest, with any witness."""
        rules = {
            name: replace(rule, asks="finest", absent_witness="any") for name, rule in dict(self.rules or {}).items()
        }
        return RegionalMap(self.view, rules, self.claimed)

    def describe(self) -> dict[str, object]:
        """View, regions and rules, and the claims, where there are some."""
        claims = [[name, claim.kind, list(claim.of)] for name, claim in dict(self.claimed or {}).items()]
        return ({"claims": claims} if claims else {}) | {
            "question": "regional map",
            "version": 1,
            "view": self.view.digest,
            "n_explanations": self.view.n_explanations,
            "regions": [region.describe() for region in self.asked_regions],
        }

    def encode(self) -> dict[str, object]:
        """View and distances, which the description has as hashes; those of the view follow from its coordinates."""
        distances = [
            DISTANCES_OF_VIEW if region.places.distances is None else array_json(region.places.distances)
            for region in self.asked_regions
        ]
        return {"kind": "regional map", "view": self.view.encode(), "distances": distances}

    def check_bank(self, bank: Bank | None) -> None:
        """Refuse a bank that the view is not about."""
        self.view.check_bank(bank)

    def says(self, index: IntArray) -> dict[str, FieldValues]:
        """The element of every region asked about."""
        columns = zip(self.asked_regions, self.slots(index).T, strict=True)
        return {region.name: FieldValues(region.elements, column) for region, column in columns}

    def claims(self, index: IntArray) -> dict[str, BoolArray]:
        """(k,) true for explanations that bear a claim out."""
        slots = self.slots(index)
        return {name: claim.holds(self._tables[name], slots) for name, claim in dict(self.claimed or {}).items()}

    def excluded(self, answer: Answer, index: IntArray) -> BoolArray:
        """(k,) true for what reaches the threshold, lies too far from the cell, or lies outside the group."""
        number = self.regions.index(answer.field)
        region = self.asked_regions[number]
        slots = self.slots(index)[:, number]
        if answer.label is Label.ABSENT:
            return np.asarray((slots >= 0) & (self.strengths(region, index) >= (region.threshold or 0.0)))
        if answer.label is Label.FINE:
            number_of = {name: i for i, name in enumerate(region.elements)}
            outside = region.places.reach(np.array([number_of[name] for name in answer.cell])) > region.tolerance
        else:
            outside = ~region.flags(dict(region.groups)[str(answer.group)])
        return np.append(outside, True)[slots]  # absence is -1, the last entry

    def contradictions(self, number: int, reference: int) -> Contradictions:
        """The elements of a region and nothing, or, under a threshold that the reference does not reach, two sides."""
        region = self.asked_regions[number]
        first = np.array([reference])
        reaches = self._reaching(region)
        if reaches is not None and not reaches(first)[0]:
            return Contradictions(0, np.not_equal.outer, reaches)

        def apart(one: IntArray, other: IntArray) -> BoolArray:
            """Absence is -1, and apart from all others."""
            near = region.places.between(one, other) <= region.tolerance
            is_there = (one >= 0)[:, None] & (other >= 0)
            return ~np.where(is_there, near, np.equal.outer(one, other))

        return Contradictions(int(self.slots(first)[0, number]), apart, lambda index: self.slots(index)[:, number])

    def elements(self, number: int) -> FieldElements:
        """The elements of a region, with places, groups and rule."""
        region = self.asked_regions[number]
        return FieldElements(
            names=region.places.ids,
            coordinates=region.places.coordinates,
            sets=None if region.places.is_single else region.places.members,
            groups=region.listed[:-1],
            tolerance=region.tolerance,
            threshold=region.threshold,
            is_optional=region.name in self.view.optional,
            is_finest=region.is_finest,
        )

    def extent(self, number: int, chosen: IntArray) -> float | None:
        """The extent of elements; without coordinates and distances of its own nobody said how far they are apart."""
        region = self.asked_regions[number]
        if region.places.distances is None and region.places.coordinates is None:
            return None
        return region.places.size_of(int(chosen[0])) if len(chosen) == 1 else region.places.spread(chosen)

    def hull(self, number: int, chosen: IntArray) -> list[list[float]] | None:
        """Around elements that are cells."""
        return self.asked_regions[number].places.hull(chosen)

    def dimensions(self, index: IntArray, state: IntArray | None) -> dict[str, IntArray]:  # noqa: ARG002
        """The element of each region, which takes the place of the dictionary state."""
        return {f"what is in region {region}": values.numbers for region, values in self.says(index).items()}

    def farness(self) -> tuple[str, Callable[[int], Array]]:
        """The largest over regions of 1 where only one of the two has the region, and of the distance of elements."""
        slots = self.slots(np.arange(self.n_explanations)).T  # (R, M), -1 where absent

        def distances(e: int) -> Array:
            columns = zip(self.asked_regions, slots, strict=True)
            away = [_away(region, int(column[e]))[column] for region, column in columns]
            return np.asarray(np.max(away, axis=0))

        return "regional", distances

    def thresholds(self) -> dict[str, float]:
        """The absence thresholds."""
        return {region.name: region.threshold for region in self.asked_regions if region.threshold is not None}

    def unanswerable(self) -> Iterator[tuple[str, str, str, str]]:
        """The entries of rules that the bank alone decides.

        A threshold that no explanation reaches makes ABSENT true whatever the data say.  Absence alone, asked of a
        region that every explanation has, as strong as the threshold, is never the answer.
        """
        for state in self.begin().states:
            region = state.region
            name = region.name
            if region.threshold is not None and not state.reaching[1]:
                rule = f"be at most the largest strength of region {name}: above it, ABSENT is certain without any data"
                yield name, "absence_threshold", rule, repr(region.threshold)
            is_strong = region.threshold is None or not state.reaching[0]
            if region.asks == {"absence"} and not state.possible[-1] and is_strong:
                rule = f"hold more than absence, which no data can show: every explanation has region {name}"
                yield name, "asks", rule, "absence alone"

    def strengths(self, region: AskedRegion, index: IntArray) -> Array:
        """(k,) how strong explanations have a region."""
        return self.view.strengths(index)[:, self.view.regions.index(region.name)]

    def _reaching(self, region: AskedRegion) -> Callable[[IntArray], IntArray] | None:
        """Explanations -> 1 if the region is as strong as the threshold, else 0; None where that is not asked for."""
        threshold = region.threshold
        if threshold is None or "absence" not in region.asks:
            return None
        return lambda index: np.asarray(self.strengths(region, index) >= threshold, dtype=np.int64)


def _away(region: AskedRegion, slot: int) -> Array:
    """(m + 1,) distances from an element, or from absence, which is one more, last, at distance 1 from all others."""
    if slot < 0:
        return np.append(np.ones(len(region.elements)), 0.0)
    return np.append(region.places.row(slot), 1.0)
