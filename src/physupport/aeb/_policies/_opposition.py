"""What stands against the witnesses of a region: one more witness among it, or its rejection, settles the region."""

from collections.abc import Iterator
from typing import NamedTuple

from ...questions import FarSets, RegionState, as_numbers

# Cells around so many of the most frequent elements are compared.
_SEEDS = 32
_MOST_RISING = 256


class Stuck(NamedTuple):
    """What indeterminate explanations say about a region: it stays possible, whatever is asked."""

    elements: int = 0  # bit i: one has element i
    absent: bool = False  # one lacks the region
    reaches: bool = False  # one has it, as strong as the threshold


class Knowledge(NamedTuple):
    """What verdicts other than rejections say about a region; a plan is made for one and holds until it changes."""

    witnessed: int  # bit i: element i has a witness
    is_absent: bool  # so has absence
    is_reached: bool  # so has a strength at the threshold, or any strength where there is no threshold
    stuck: Stuck  # has an indeterminate explanation, which cannot be got rid of


class Opposition(NamedTuple):
    """Explanations by what they say about one region."""

    elements: int  # bit i: those with element i
    absent: bool  # those that lack the region
    is_reaching: bool = False  # of these only those that reach the absence threshold
    is_qualified: bool = False  # of these only those that may witness absence
    is_place: bool = False  # it is about where, not whether


def knowledge(state: RegionState, stuck: Stuck) -> Knowledge:
    """What is known about a region now."""
    is_reached = bool(state.witnessed_set if state.region.threshold is None else state.witnessed_reaching[1])
    return Knowledge(state.witnessed_set, state.witnessed[-1] > 0, is_reached, stuck)


def oppositions(state: RegionState, known: Knowledge) -> Iterator[Opposition]:
    """What opposes the witnesses of an open region, the most telling first; nothing if no verdict can settle it.

    Some explanation is witnessed; what it says decides which labels are still to be had.  If it lacks the region, those
    that have it oppose: once one is admissible presence is ambiguous, once all are rejected the region is absent.  If
    it has the region, those that lack it oppose likewise; and once none is left, those outside the cell, or group,
    around the witnesses.  Of these the next is wanted only if indeterminate verdicts alone are left of the one before.
    Then, last, everything opposes whose verdict can still change the label or its group.
    """
    everything = (1 << len(state.region.elements)) - 1
    if "absence" in state.region.asks and not known.is_reached:
        yield Opposition(everything, False, is_reaching=state.region.threshold is not None)
    main = _main(state, known, everything)
    if main is not None:
        yield main
    if known.stuck != Stuck() and state.may_change(*known.stuck):
        # One more explanation with a witnessed element changes nothing: those as strong as the threshold came first.
        yield Opposition(everything & ~known.witnessed, state.absent_witness() < 0)


def _main(state: RegionState, known: Knowledge, everything: int) -> Opposition | None:
    """Presence against absence, then place against place."""
    asks = state.region.asks
    if known.is_absent:
        if "ambiguity" not in asks:
            return None
        return Opposition(0, True, is_qualified=True) if known.witnessed else Opposition(everything, False)
    if state.possible[-1]:
        return Opposition(0, True) if asks != {"absence"} else None
    kept = _kept(state, known)
    return None if kept is None else Opposition(everything & ~kept, False, is_place=True)


def _kept(state: RegionState, known: Knowledge) -> int | None:
    """The elements that may stay in a region that is certainly there: a cell, or a group.

    Outside a cell lies what would make the region FINE if it were rejected, and locally ambiguous if it were not.
    """
    region, asks, must = state.region, state.region.asks, known.witnessed | known.stuck.elements
    if state.apart is None and asks & {"fine", "ambiguity"}:
        cell = best_cell(state.possible[:-1], region.far, known)
        # Without anything outside, neither can come any more, or FINE would be there.
        if state.possible_set & ~cell and ("ambiguity" in asks or not must & ~cell):
            return cell
    if region.is_finest:
        return region.groups[region.sector(known.witnessed)][1]
    named = [group for i, (_, group) in enumerate(region.groups) if region.is_named(i) and must & group == must]
    if not named or "group" not in asks:
        return None
    return max(named, key=lambda group: (_count(state.possible, group), -group.bit_count()))


def best_cell(possible: list[int], far: FarSets, known: Knowledge) -> int:
    """Of the sets within the tolerance that hold the witnesses, one that leaves few explanations outside.

    Elements are added one by one, stuck ones first, then the most frequent; each of the most frequent is tried as the
    first to be added.  possible: explanations by element.
    """
    around, stuck = _near(far, known.witnessed) & ~known.witnessed, known.stuck.elements
    rising = sorted(as_numbers(around), key=lambda i: (not stuck >> i & 1, -possible[i], i))
    # Of very many, as sets of elements are, those left out stay outside: the cell is smaller, and no less safe.
    rising = [i for i in rising if possible[i]][:_MOST_RISING]
    best, most = known.witnessed, (-1, -1)
    for k in range(min(_SEEDS, len(rising))):
        cell = known.witnessed | 1 << rising[k]
        for i in rising:
            if not far[i] & cell:
                cell |= 1 << i
        worth = (cell & stuck).bit_count(), _count(possible, cell)
        if worth > most:
            best, most = cell, worth
    return best


def _near(far: FarSets, members: int) -> int:
    """The elements within the tolerance of all these."""
    everything = (1 << len(far)) - 1
    for i in as_numbers(members):
        everything &= ~far[i]
    return everything


def _count(possible: list[int], members: int) -> int:
    return sum(possible[i] for i in as_numbers(members))
