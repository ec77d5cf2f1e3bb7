"""Rules for regions, the label of a region by its rule, and claims over several elements.

The label follows from the possible and the witnessed explanations: one rule for all callers.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias, final, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import check_array, check_nonnegative, check_positive, read_only
from .._errors import Clause, MisuseError
from .._typing import BoolArray, IntArray
from ..banks import RegionalView, RegionPlaces, check_distances
from ._question import Label

Groups: TypeAlias = Mapping[str, "Sequence[str] | Groups"]
Ask: TypeAlias = Literal["fine", "group", "presence", "absence", "ambiguity"]

# One value, or (S,) for S signals.
Flags: TypeAlias = bool | BoolArray

ASKS: tuple[Ask, ...] = ("fine", "group", "presence", "absence", "ambiguity")


@final
@dataclass(frozen=True, slots=True, eq=False)
class RegionRule:
    r"""The rule for a region: what is asked of it.

    tolerance: largest spread of the possible elements that is still FINE; 0 asks for a single place.
    distances: (m, m) between the elements; None takes them from the coordinates of the view.  Sets of elements, where a
        region may have several, have the distance of Hausdorff that follows.
    groups: named groups of elements, nested to any depth; the region itself is always the largest.  A group of elements
        holds every set of them.  They may overlap:
        a GROUP names the smallest that holds all that is possible, of equally large ones the one listed first.
    asks: `finest` goes on until no finer label can come.  A choice of fine, group, presence, absence and ambiguity
        stops at the first label among these, and says ABSTAIN until then: fine is FINE; group is GROUP, of a named
        group where groups are named; presence is GROUP, be it of the region itself; absence is ABSENT; ambiguity
        is SUPPORT_AMBIGUOUS or LOCAL_AMBIGUOUS.
    absence_threshold: :math:`b_R` of (eq:thresholded-absence-predicate); None counts every strength as presence.
    absent_witness: `persistent_only` takes as witness of absence only an explanation without any optional region.
    """

    tolerance: float = 0.0
    distances: ArrayLike | None = None
    groups: Groups | None = None
    asks: Literal["finest"] | tuple[Ask, ...] = "finest"
    absence_threshold: float | None = None
    absent_witness: Literal["any", "persistent_only"] = "any"

    def __post_init__(self) -> None:
        check_nonnegative("tolerance", self.tolerance)
        if self.absence_threshold is not None:
            check_positive("absence_threshold", self.absence_threshold)
        if self.absent_witness not in ("any", "persistent_only"):
            raise MisuseError("absent_witness", "be 'any' or 'persistent_only'", repr(self.absent_witness))
        is_choice = isinstance(self.asks, tuple) and bool(self.asks) and {*self.asks} <= {*ASKS}
        if self.asks != "finest" and not is_choice:
            raise MisuseError("asks", f"be 'finest' or a choice of {', '.join(ASKS)}", repr(self.asks))
        # Copies: a rule that is asked with must stay what it was when a protocol was frozen.
        if self.distances is not None:
            distances = check_array("distances", self.distances, (None, None))
            object.__setattr__(self, "distances", read_only(distances))
        if self.groups is not None:
            object.__setattr__(self, "groups", _copied(self.groups))


# What stands in a document in the place of distances that follow from the view.
DISTANCES_OF_VIEW = "of the view"


# Of rows of far places that are remembered, as bits.
_MOST_BITS = 2**30


def as_bits(flags: BoolArray) -> int:
    """Flags (m,) as a whole number: bit i is place i."""
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")


def as_flags(members: int, size: int) -> BoolArray:
    """(size,) the inverse."""
    content = np.frombuffer(members.to_bytes(size // 8 + 1, "little"), dtype=np.uint8)
    return np.unpackbits(content, count=size, bitorder="little").astype(np.bool_)


def as_numbers(members: int) -> list[int]:
    """The places whose bits are set, increasing."""
    return np.flatnonzero(as_flags(members, members.bit_length())).tolist()


@final
@dataclass(frozen=True, slots=True, eq=False)
class AskedRegion:
    """A rule that has met its region, whose places are elements or sets of these; bits of whole numbers are places."""

    name: str
    elements: tuple[str, ...]  # the places
    places: RegionPlaces  # with the distances of the rule, where it gives some
    tolerance: float
    groups: tuple[tuple[str, int], ...]  # name and members, smallest first; the last is the region itself
    listed: tuple[tuple[str, tuple[str, ...]], ...]  # the same groups in elements
    asks: frozenset[str]
    is_finest: bool
    threshold: float | None
    needs_persistent_only: bool
    _far: dict[int, int] = field(default_factory=dict, repr=False)

    def far(self, number: int) -> int:
        """The elements farther from this one than the tolerance; worked out when they are first asked for."""
        if number not in self._far:
            if len(self._far) * len(self.elements) > _MOST_BITS:
                self._far.clear()
            self._far[number] = as_bits(self.places.row(number) > self.tolerance)
        return self._far[number]

    def sector(self, members: int) -> int:
        """Number of the smallest group that holds these elements.  Fewer elements never give a larger group."""
        return next(i for i, (_, group) in enumerate(self.groups) if members & group == members)

    def is_named(self, sector: int | IntArray) -> Flags:
        """True if a group is one that was asked for: a named one, or the region where none is named."""
        last = len(self.groups) - 1
        return (sector < last) | (last == 0)

    def names(self, members: int) -> tuple[str, ...]:
        """The elements of a set, in their local order."""
        return tuple([self.elements[i] for i in as_numbers(members)])

    def spread(self, members: int) -> float:
        """Largest distance within a set; 0 for fewer than two elements."""
        return self.places.spread(np.flatnonzero(self.flags(members)))

    def flags(self, members: int) -> BoolArray:
        """(m,) true for the places of a set."""
        return as_flags(members, len(self.elements))

    def describe(self) -> dict[str, object]:
        """The definition of the question about this region."""
        subsets = self.places.subsets
        return ({} if self.places.is_single else {"count": [subsets.low, subsets.high]}) | {
            "region": self.name,
            "elements": list(self.places.ids),
            # Those of the view follow from its places, which its hash covers.
            "distances": DISTANCES_OF_VIEW if self.places.distances is None else self.places.digest(),
            "tolerance": self.tolerance,
            "groups": [[name, list(members)] for name, members in self.listed],
            "asks": "finest" if self.is_finest else sorted(self.asks),
            "absence_threshold": self.threshold,
            "absent_witness": "persistent_only" if self.needs_persistent_only else "any",
        }


def asked_region(view: RegionalView, name: str, rule: RegionRule) -> AskedRegion:
    """Bring a rule together with the elements of its region."""
    places = view.sets[name]
    label = f"distances of region {name!r}"
    if rule.distances is not None:
        places = places.with_distances(read_only(check_distances(label, rule.distances, len(places.ids))))
    elif not places.is_finite:
        raise MisuseError(label, "be finite", Clause("its places are too far apart"))
    listed = _listed_groups(name, places, rule.groups or {})
    return AskedRegion(
        name=name,
        elements=places.names,
        places=places,
        tolerance=float(rule.tolerance),
        groups=tuple((group, as_bits(places.within(members))) for group, members in listed),
        listed=listed,
        asks=frozenset(ASKS if rule.asks == "finest" else rule.asks),
        is_finest=rule.asks == "finest",
        threshold=rule.absence_threshold,
        # Nothing witnesses the absence of a persistent region, least of all what has persistent regions only.
        needs_persistent_only=rule.absent_witness == "persistent_only" and name in view.optional,
    )


def _listed_groups(region: str, places: RegionPlaces, groups: Groups) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Every group at every depth with its elements, smallest first, of equal ones the one named first.

    The region itself is the last.
    """
    argument = f"groups of region {region!r}"
    known = {*places.ids}
    members_of: dict[str, tuple[str, ...]] = {}
    for name, held in _flattened(argument, groups):
        unknown = [each for each in held if each not in known]
        if name in members_of or name == region:
            raise MisuseError(argument, "have names of their own", repr(name))
        if unknown or not held:
            found = f"{unknown[0]!r} in group {name!r}" if unknown else f"nothing in group {name!r}"
            raise MisuseError(argument, f"hold elements among {places.ids}", found)
        members_of[name] = tuple(each for each in places.ids if each in held)
        if not places.within(members_of[name]).any():
            rule = f"hold at least {places.subsets.low} elements, as many as are there together"
            raise MisuseError(argument, rule, f"{name!r}: {', '.join(members_of[name])}")
    ordered = sorted(members_of.items(), key=lambda item: len(item[1]))
    return (*ordered, (region, places.ids))


# Of groups within groups: more would exhaust the interpreter, and nobody asks for it.
_MOST_NESTED = 100


def _copied(groups: Groups, depth: int = 1) -> Groups:
    if depth > _MOST_NESTED:
        raise MisuseError("groups", f"be nested at most {_MOST_NESTED} deep", "more")
    kept = {n: _copied(c, depth + 1) if isinstance(c, Mapping) else c for n, c in groups.items()}
    return {n: c if isinstance(c, str | Mapping) else tuple(c) for n, c in kept.items()}


def _flattened(argument: str, groups: Groups) -> Iterator[tuple[str, dict[str, None]]]:
    """Names and members; inner groups before the one that holds them, whose members are those of its own parts."""
    for name, content in groups.items():
        match content:
            case str():
                raise MisuseError(argument, "be lists of elements or groups", f"{name!r}: {content!r}")
            case Mapping():
                members: dict[str, None] = {}
                for inner, part in _flattened(argument, content):
                    yield inner, part
                    members |= part
                yield name, members
            case _:
                yield name, dict.fromkeys(content)


# Labels are computed and stored as their numbers in this list; the order never changes.
LABELS = (
    Label.ABSTAIN,
    Label.EMPTY,
    Label.SUPPORT_AMBIGUOUS,
    Label.LOCAL_AMBIGUOUS,
    Label.GROUP,
    Label.FINE,
    Label.ABSENT,
)


class SetFacts(NamedTuple):
    """The statements of a set of explanations about a region; each entry is one value, or (S,) for S signals."""

    is_present: Flags  # some explanation has the region
    is_absent: Flags  # some explanation lacks it; of witnessed ones, only those that the rule accepts as witnesses
    reaches: Flags  # some explanation reaches the absence threshold, or has the region where there is none
    is_close: Flags  # the elements spread at most the tolerance
    sector: int | IntArray  # number of the smallest group that holds the elements


def labels(possible: SetFacts, witnessed: SetFacts, rule: AskedRegion) -> NDArray[np.uint8]:
    """The finest safe label among those that a rule asks for, as its number in LABELS; (S,) or a single one.

    ABSENT, FINE and GROUP hold for every possible explanation; both ambiguities have contradicting witnesses.
    LOCAL_AMBIGUOUS also needs every possible explanation to have the region: while presence is open, the place is not
    the question.
    """
    number = (
        possible.is_present
        + 2 * possible.is_absent
        + 4 * possible.reaches
        + 8 * possible.is_close
        + 16 * rule.is_named(possible.sector)
        + 32 * (witnessed.is_present & witnessed.is_absent)
        + 64 * (1 - witnessed.is_close)
    )
    return _label_table(rule.asks)[number]


@lru_cache
def _label_table(asks: frozenset[str]) -> NDArray[np.uint8]:
    """(128,) the label of every combination of facts, the first fact in the lowest bit."""
    facts = np.indices((2,) * 7).reshape(7, -1)[::-1].astype(np.bool_)
    present, absent, reaches, is_close, is_named, is_split, is_apart = facts
    conditions = {
        Label.EMPTY: ~present & ~absent,
        Label.ABSENT: ~reaches & ("absence" in asks),
        Label.FINE: ~absent & is_close & ("fine" in asks),
        Label.GROUP: ~absent & (is_named & ("group" in asks) | ("presence" in asks)),
        Label.LOCAL_AMBIGUOUS: ~absent & is_apart & ("ambiguity" in asks),
        Label.SUPPORT_AMBIGUOUS: is_split & ("ambiguity" in asks),
    }
    numbers = [LABELS.index(label) for label in conditions]
    return np.select([*conditions.values()], numbers, LABELS.index(Label.ABSTAIN)).astype(np.uint8)


ClaimKind: TypeAlias = Literal["any", "all", "exactly_one"]
CLAIM_KINDS: tuple[ClaimKind, ...] = get_args(ClaimKind)


@final
@dataclass(frozen=True, slots=True)
class Claim:
    """A claim that elements are there; `of` names elements, or groups, of which something is there."""

    kind: ClaimKind
    of: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.kind not in CLAIM_KINDS:
            raise MisuseError("kind", f"be one of {', '.join(CLAIM_KINDS)}", repr(self.kind))
        object.__setattr__(self, "of", tuple(self.of))
        if not self.of or len({*self.of}) < len(self.of):
            raise MisuseError("of", "name at least one element or group, each once", self.of)

    def holds(self, tables: Sequence[BoolArray], slots: IntArray) -> BoolArray:
        """(k,) true for explanations with places slots (k, R) for which the claim holds; tables: see `tables`."""
        present = np.logical_or.reduce([table[column] for table, column in zip(tables, slots.T, strict=True)])
        count = present.sum(axis=1)
        if self.kind == "exactly_one":
            return np.asarray(count == 1)
        return np.asarray(count >= (1 if self.kind == "any" else len(self.of)))

    def tables(self, regions: Sequence[AskedRegion]) -> list[BoolArray]:
        """For each region (m + 1, n), true if a place has what is named; the last place is nothing."""
        tables = [np.column_stack([_has(region, name) for name in self.of]) for region in regions]
        for number, name in enumerate(self.of):
            if not any(table[:, number].any() for table in tables):
                raise MisuseError("claims", "name elements or groups of regions that are asked about", repr(name))
        return tables


def _has(region: AskedRegion, name: str) -> BoolArray:
    """(m + 1,) the places of a region with an element of this name, or with one of a group of it."""
    members = dict(region.listed[:-1]).get(name, (name,))
    listed = np.append(np.isin(np.array(region.places.ids), members), False)  # nothing is -1, the last entry
    return np.append(listed[region.places.members].any(axis=1), False)
