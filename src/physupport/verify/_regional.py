"""The label rules of a regional map, from sets: nothing is counted, updated or remembered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from .._codec import real
from .._stored import Node, Refusal
from .._typing import Array, BoolArray, IntArray
from ..banks import Bank, RegionalView, RegionSets, SetSpacing, Spacing, check_distances
from ..questions import Said
from ..report import rebuilt_view
from ._groups import read_claims, read_groups
from ._view import Derived, distance_notes, view_notes

_ASKS = ("fine", "group", "presence", "absence", "ambiguity")
_NAMES = {
    "region", "elements", "distances", "tolerance", "groups", "asks", "absence_threshold", "absent_witness"
}  # fmt: skip


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Region:
    """One region: its rule, and for every explanation what it has there."""

    name: str
    elements: tuple[str, ...]  # the places, which are elements or sets of these
    spacing: Spacing | SetSpacing
    tolerance: float
    groups: tuple[tuple[str, frozenset[int]], ...]  # smallest first, the region itself last
    asks: frozenset[str]
    is_finest: bool
    threshold: float | None
    has_places: bool  # whether distances mean something: from coordinates, or given
    slots: IntArray  # (M,), -1 where absent
    strengths: Array  # (M,)
    may_witness_absence: BoolArray  # (M,)

    def has(self, mask: BoolArray) -> frozenset[int]:
        """The elements that occur in a set."""
        return frozenset(np.unique(self.slots[mask & (self.slots >= 0)]).tolist())

    def reaches(self, mask: BoolArray) -> BoolArray:
        """(M,) those of a set that have the region, as strong as the threshold."""
        return mask & (self.slots >= 0) & (self.strengths >= (self.threshold or 0.0))

    def lacks(self, mask: BoolArray) -> BoolArray:
        """(M,) those of a set that lack the region."""
        return mask & (self.slots < 0)

    def spread(self, elements: frozenset[int]) -> float:
        """Largest distance between two of these elements."""
        return self.spacing.spread(np.array(sorted(elements), dtype=np.int64))

    def smallest_group(self, elements: frozenset[int]) -> int:
        """Number of the smallest group around these elements."""
        return next(i for i, (_, members) in enumerate(self.groups) if elements <= members)

    def derive(self, possible: BoolArray, witnessed: BoolArray) -> Derived:
        """The region as it must stand in the report."""
        cell, seen = self.has(possible), self.has(witnessed)
        is_sure = bool(cell) and not self.lacks(possible).any()
        label = self.label(possible, witnessed)
        numbers = {
            "possible_spread": self.spread(cell),
            "witnessed_spread": self.spread(seen),
            "tolerance": self.tolerance,
            "possible_present": float((possible & (self.slots >= 0)).sum()),
            "possible_absent": float(self.lacks(possible).sum()),
            "possible_at_threshold": float(self.reaches(possible).sum()),
            "witnessed_present": float((witnessed & (self.slots >= 0)).sum()),
            "witnessed_absent": float(self.lacks(witnessed).sum()),
        }
        if self.threshold is not None:
            numbers["absence_threshold"] = self.threshold
        return Derived(
            field=self.name,
            label=label,
            cell=tuple(self.elements[i] for i in sorted(cell)),
            group=self.groups[self.smallest_group(cell)][0] if is_sure else None,
            numbers=numbers,
            certificate=_CERTIFICATES.get(label, "universal"),
            is_settled=self.is_settled(label, cell, seen, witnessed),
        )

    def label(self, possible: BoolArray, witnessed: BoolArray) -> str:
        """What is asked for and holds on all of U, or is witnessed in L; the finest first."""
        if not possible.any():
            return "EMPTY"
        cell, seen = self.has(possible), self.has(witnessed)
        if "absence" in self.asks and not self.reaches(possible).any():
            return "ABSENT"
        if not self.lacks(possible).any():
            if "fine" in self.asks and self.spread(cell) <= self.tolerance:
                return "FINE"
            is_named = len(self.groups) == 1 or self.smallest_group(cell) < len(self.groups) - 1
            if "presence" in self.asks or ("group" in self.asks and is_named):
                return "GROUP"
            if "ambiguity" in self.asks and self.spread(seen) > self.tolerance:
                return "LOCAL_AMBIGUOUS"
        is_split = bool(seen) and (self.lacks(witnessed) & self.may_witness_absence).any()
        return "SUPPORT_AMBIGUOUS" if "ambiguity" in self.asks and is_split else "ABSTAIN"

    def is_settled(self, label: str, cell: frozenset[int], seen: frozenset[int], witnessed: BoolArray) -> bool:
        """Whether no further verdict could give a finer label than this, where the finest is asked for."""
        if label in ("ABSTAIN", "EMPTY"):
            return False
        if not self.is_finest or label == "ABSENT":
            return True
        if self.threshold is not None and not self.reaches(witnessed).any():
            return False
        is_wide = self.spread(seen) > self.tolerance and self.smallest_group(seen) == self.smallest_group(cell)
        return label != "GROUP" or is_wide

    def force(self, label: str, witnesses: Sequence[int], witnessed: BoolArray) -> bool:
        """Whether these witnesses contradict each other as the label says."""
        chosen = np.zeros(len(witnessed), dtype=np.bool_)
        chosen[list(witnesses)] = True
        if label == "SUPPORT_AMBIGUOUS":
            # First the one that has the region, then the one that lacks it.
            absent = self.lacks(chosen) & self.may_witness_absence
            return len(witnesses) == 2 and bool(self.slots[witnesses[0]] >= 0 and absent[witnesses[1]])
        is_apart = len(witnesses) == 2 and self.spread(self.has(chosen)) > self.tolerance
        if label == "LOCAL_AMBIGUOUS":
            return is_apart
        # A GROUP names two witnesses if there are two apart, and no other truth-level label needs any.
        needs = label == "GROUP" and self.spread(self.has(witnessed)) > self.tolerance
        return is_apart if needs else not witnesses


_CERTIFICATES = {"ABSTAIN": "open", "SUPPORT_AMBIGUOUS": "witnesses", "LOCAL_AMBIGUOUS": "witnesses"}


@final
@dataclass(frozen=True, slots=True, eq=False)
class RegionalRules:
    """All regions that are asked about."""

    regions: Mapping[str, _Region]
    notes: tuple[str, ...]
    claims: Mapping[str, BoolArray]  # (M,) which explanations bear them out

    def derive(self, possible: BoolArray, witnessed: BoolArray) -> tuple[Derived, ...]:
        """Region by region."""
        return tuple(region.derive(possible, witnessed) for region in self.regions.values())

    def is_certified(self, possible: BoolArray, witnessed: BoolArray) -> bool:
        """Every region is settled and something is possible."""
        return bool(possible.any()) and all(field.is_settled for field in self.derive(possible, witnessed))

    def force(self, field: str, label: str, witnesses: Sequence[int], witnessed: BoolArray) -> bool:
        """Whether witnesses show what the label needs them for."""
        return self.regions[field].force(label, witnesses, witnessed)

    def changes(self, field: str, possible: BoolArray, witnessed: BoolArray, more: Sequence[int]) -> bool:
        """Whether the label, or the group of a GROUP, would be another with these in U."""
        region, wider = self.regions[field], possible.copy()
        wider[list(more)] = True
        before, after = region.derive(possible, witnessed), region.derive(wider, witnessed)
        return after.label != before.label or (before.label == "GROUP" and after.group != before.group)

    def kinds(self, field: str, explanations: Sequence[int]) -> list[Any]:
        """The element, and whether it reaches the threshold."""
        region, chosen = self.regions[field], list(explanations)
        reaching = region.strengths[chosen] >= (region.threshold or 0.0)
        return [*zip(region.slots[chosen].tolist(), reaching.tolist(), strict=True)]

    def says(self, e: int) -> Mapping[str, str | None]:
        """The element of every region asked about."""
        slots = {name: int(region.slots[e]) for name, region in self.regions.items()}
        return {name: self.regions[name].elements[slot] if slot >= 0 else None for name, slot in slots.items()}

    def column(self, field: str) -> Said | None:
        """The element of a region."""
        return Said(self.regions[field].elements, self.regions[field].slots)

    def extent(self, field: str, numbers: Sequence[int]) -> float | None:
        """Of elements, where anybody said how far they are apart."""
        region = self.regions[field]
        if not region.has_places:
            return None
        return region.spacing.size_of(numbers[0]) if len(numbers) == 1 else region.spread(frozenset(numbers))

    def hull(self, field: str, numbers: Sequence[int]) -> list[list[float]] | None:
        """Around elements that are cells."""
        return self.regions[field].spacing.hull(np.array(sorted(numbers), dtype=np.int64))


def regional_rules(question: Node, content: Node, bank: Bank | None, size: int) -> RegionalRules:
    """The rules that the description of a question and its written-out part define together."""
    parts = {*question} - {"claims"}
    if parts != {"question", "version", "view", "n_explanations", "regions"} or question["version"] != 1:
        raise Refusal("the question has another form than a regional map, version 1")
    if {*content} != {"kind", "view", "distances"} or len(content["distances"]) != len(question["regions"]):
        raise Refusal("the question is not written out region by region")
    view = rebuilt_view(content["view"], bank)
    if question["view"] != view.digest:
        raise Refusal("the view of the question does not match its hash")
    if not question["n_explanations"] == view.n_explanations == size:
        raise Refusal("question and protocol differ in the number of explanations")
    every = np.arange(size)
    columns = view.locate(every), view.strengths(every), view.persistent_only(every)
    regions = [
        _region(rule, node, view, columns) for rule, node in zip(question["regions"], content["distances"], strict=True)
    ]
    names = [region.name for region in regions]
    if names != [name for name in view.regions if name in names]:
        raise Refusal("regions stand twice or in another order than in the view")
    notes = [*view_notes(view, bank), *(n for r in regions for n in distance_notes(view, r.name, r.spacing))]
    claims = read_claims(question.get("claims", []), question["regions"], view, columns[0])
    return RegionalRules({region.name: region for region in regions}, tuple(notes), claims)


_OF_VIEW = "of the view"


def _spacing(rule: Node, node: object, sets: RegionSets) -> Spacing | SetSpacing:
    """As it is written out, or that of the view; older reports have the hash of both, newer ones of the former."""
    name, count = rule["region"], len(rule["elements"])
    if node == _OF_VIEW:
        spacing = sets.spacing()
        is_sound = spacing.is_finite
    else:
        distances = check_distances(f"distances of region {name!r}", real(node, None, None), count)
        spacing = sets.spacing(distances)
        is_sound = True
    if not is_sound or rule["distances"] != (_OF_VIEW if node == rule["distances"] == _OF_VIEW else spacing.digest()):
        raise Refusal(f"the distances of region {name!r} do not match their hash")
    return spacing


def _sets(rule: Node, view: RegionalView) -> RegionSets:
    """Those of the view, if the rule has their count and no other."""
    if rule["region"] not in view.regions:
        raise Refusal(f"the rule of region {rule['region']!r} does not fit its view")
    sets = view.sets(rule["region"])
    if rule.get("count") != (None if sets.is_single else [sets.subsets.low, sets.subsets.high]):
        raise Refusal(f"the count of region {rule['region']!r} is not that of its view")
    return sets


def _region(rule: Node, node: object, view: RegionalView, columns: tuple[IntArray, Array, BoolArray]) -> _Region:
    sets = _sets(rule, view)
    name, elements = rule["region"], tuple(rule["elements"])
    names = _NAMES if sets.is_single else _NAMES | {"count"}
    if {*rule} != names or elements != sets.ids:
        raise Refusal(f"the rule of region {name!r} does not fit its view")
    column = view.regions.index(name)
    qualified = rule["absent_witness"] == "persistent_only"
    if rule["absent_witness"] not in ("any", "persistent_only"):
        raise Refusal(f"region {name!r} takes unknown witnesses of absence")
    is_finest = rule["asks"] == "finest"
    asks = frozenset(_ASKS if is_finest else rule["asks"])
    if not asks <= {*_ASKS} or not (is_finest or rule["asks"] == sorted(asks)):
        raise Refusal(f"region {name!r} asks for something unknown")
    return _Region(
        name=name,
        elements=sets.names,
        spacing=_spacing(rule, node, sets),
        tolerance=_nonnegative(rule["tolerance"]),
        groups=read_groups(rule["groups"], name, sets),
        asks=asks,
        is_finest=is_finest,
        threshold=None if rule["absence_threshold"] is None else _nonnegative(rule["absence_threshold"]),
        has_places=node != _OF_VIEW or sets.coordinates is not None,
        slots=columns[0][:, column],
        strengths=columns[1][:, column],
        may_witness_absence=columns[2] if qualified else np.ones(len(columns[2]), dtype=np.bool_),
    )


def _nonnegative(value: object) -> float:
    if not isinstance(value, float) or not value >= 0.0:
        raise Refusal(f"{value!r} is no tolerance or threshold")
    return value
