"""The label rules once more, from sets: nothing is counted, updated or remembered, and no rule of the run is used."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .._codec import Node, Refusal, real
from .._typing import Array, BoolArray, IntArray
from ..banks import Bank, RegionalView, bank_regions, point_distances
from ..questions import DISTANCES_OF_VIEW, Question, RegionalMap, Resolution

# Of the largest entry: the same computation on another machine differs by less.
_ROUNDING = 1e-9


class DerivedLabel(NamedTuple):
    """The label of a field, and whether nothing further need be asked about it."""

    label: str
    is_settled: bool


def derived_labels(
    frozen: Node, content: Node, question: Question, possible: BoolArray, witnessed: BoolArray
) -> list[DerivedLabel]:
    """The label of each field that the rules in a document give to possible and witnessed explanations, (M,) masks.

    frozen, content: the two parts of the question in the document.  Empty for a question of the author's own, whose
    rules no document holds.
    """
    match question:
        case RegionalMap():
            return _regional_labels(frozen, content, question.view, possible, witnessed)
        case Resolution():
            return [_resolution_label(frozen, question, possible, witnessed)]
    return []


def _regional_labels(
    frozen: Node, content: Node, view: RegionalView, possible: BoolArray, witnessed: BoolArray
) -> list[DerivedLabel]:
    """The finest label of each region that is asked for and holds on all of U, or is witnessed in L."""
    every = np.arange(len(possible))
    slots = view.locate(every)
    strengths = view.strengths(every)
    only = view.persistent_only(every)
    found = []
    for rule, node in zip(frozen["regions"], content["distances"], strict=True):
        sets = view.sets[rule["region"]]
        column = view.regions.index(rule["region"])
        here = slots[:, column] >= 0
        distances = None if node == DISTANCES_OF_VIEW else real(node, None, None)
        places = sets if distances is None else sets.with_distances(distances)
        groups = [_places_within(members, sets.ids, sets.members) for _, members in rule["groups"]]
        reaching = here & (strengths[:, column] >= (rule["absence_threshold"] or 0.0))
        may_witness = only if rule["absent_witness"] == "persistent_only" else np.ones_like(only)
        cell, seen = (np.unique(slots[mask & here, column]) for mask in (possible, witnessed))
        group, seen_group = (
            next(i for i, members in enumerate(groups) if members >= {*chosen.tolist()}) for chosen in (cell, seen)
        )
        may_be_absent = bool((possible & ~here).any())
        is_wide = places.spread(seen) > rule["tolerance"]
        is_finest = rule["asks"] == "finest"
        asks = {"fine", "group", "presence", "absence", "ambiguity"} if is_finest else {*rule["asks"]}
        is_group = len(groups) == 1 or group < len(groups) - 1
        label = "ABSTAIN"
        if not possible.any():
            label = "EMPTY"
        elif "absence" in asks and not (possible & reaching).any():
            label = "ABSENT"
        elif "fine" in asks and not may_be_absent and places.spread(cell) <= rule["tolerance"]:
            label = "FINE"
        elif not may_be_absent and ("presence" in asks or ("group" in asks and is_group)):
            label = "GROUP"
        elif "ambiguity" in asks and not may_be_absent and is_wide:
            label = "LOCAL_AMBIGUOUS"
        elif "ambiguity" in asks and seen.size and (witnessed & ~here & may_witness).any():
            label = "SUPPORT_AMBIGUOUS"
        is_settled = label not in ("ABSTAIN", "EMPTY")
        if is_settled and is_finest and label != "ABSENT":
            # The finest label: its threshold is reached by a witness, and witnesses fill the group.
            has_reached = rule["absence_threshold"] is None or bool((witnessed & reaching).any())
            is_settled = has_reached and (label != "GROUP" or (is_wide and seen_group == group))
        found.append(DerivedLabel(label, bool(is_settled)))
    return found


def _places_within(members: list[str], ids: tuple[str, ...], places: IntArray) -> set[int]:
    """The places, elements or sets of these, that have no element outside a group."""
    inside = {number for number, name in enumerate(ids) if name in {*members}} | {-1}  # -1 is none
    return {place for place, elements in enumerate(places.tolist()) if {*elements} <= inside}


def _resolution_label(frozen: Node, question: Resolution, possible: BoolArray, witnessed: BoolArray) -> DerivedLabel:
    """Derive the label from the diameters of places, the proposal among them."""

    def diameter(mask: BoolArray) -> float:
        chosen = np.unique(question.places[mask])
        within = question.distances[np.ix_(chosen, chosen)].max(initial=0.0)
        return float(max(within, question.proposal_distances[chosen].max(initial=0.0)))

    lower = diameter(witnessed)
    upper = diameter(possible)
    if not possible.any():
        return DerivedLabel("EMPTY", False)
    if lower > frozen["delta_group"]:
        return DerivedLabel("AMBIGUOUS", True)
    if upper <= frozen["delta_fine"]:
        return DerivedLabel("FINE", True)
    if upper <= frozen["delta_group"]:
        is_final = lower > frozen["delta_fine"] and upper - lower <= float(frozen["slack"])
        return DerivedLabel("GROUP", is_final)
    return DerivedLabel("ABSTAIN", False)


def question_notes(question: Question, kind: str, bank: Bank | None) -> Iterator[str]:
    """Notes on unchecked parts of a question; raises if a table contradicts the library of the bank."""
    if kind == "own":
        yield "the question is the author's own: that its labels are safe to say is taken as it stands"
    match question:
        case Resolution() if bank is not None:
            yield (
                "places and distances of the resolution were given: that they are those of the bank is taken as it "
                "stands"
            )
        case RegionalMap():
            yield from _view_notes(question.view, bank)
            for region in question.asked_regions:
                # Distances that were given with the rule are the author's; without coordinates nothing is compared.
                places = region.places.coordinates
                given = region.places.distances
                if places is None or given is None or _is_near(given, point_distances(places, places)):
                    continue
                yield f"the distances of region {region.name!r} were given, and are not those of its coordinates"


def _view_notes(view: RegionalView, bank: Bank | None) -> Iterator[str]:
    """A region of a table of the author's own claims elements of the library if it bears the name of a region there.

    If it has no element that is not in that region, every explanation must have there what it has in the bank.
    """
    if bank is None or view.digest == bank.digest:
        return
    yield "the view of the question is not that of the bank: what explanations say of regions is taken as it stands"
    if bank.states.library is None:
        return
    library = bank_regions(bank)
    every = np.arange(bank.size)
    ours = view.locate(every)
    theirs = library.locate(every)
    for region in view.regions:
        if region not in library.regions or not {*view.sets[region].names} <= {*library.sets[region].names}:
            continue
        listed = library.sets[region].names
        numbers = np.array([*(listed.index(name) for name in view.sets[region].names), -1])  # the last is absence
        column = numbers[ours[:, view.regions.index(region)]]
        wrong = np.flatnonzero(column != theirs[:, library.regions.index(region)])
        if wrong.size:
            raise Refusal(
                f"in region {region!r} the table gives {wrong.size} explanations another element of the library than "
                f"the bank does, explanation {wrong[0]} first"
            )
        stored = view.sets[region].points
        places = library.sets[region].points
        if stored is not None and places is not None and not _is_near(stored, places[numbers[:-1]]):
            yield f"the coordinates of region {region!r} in the question are not those of the library"


def _is_near(stored: Array, derived: Array) -> bool:
    if stored.shape != derived.shape or not np.isfinite(derived).all():
        return False
    return bool((np.abs(stored - derived) <= _ROUNDING * np.abs(derived).max(initial=0.0)).all())
