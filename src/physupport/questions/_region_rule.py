"""What is asked of one region, and the same in the form that the bookkeeping works with."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike

from .._arrays import read_only
from .._checks import check_array, check_nonnegative, check_positive
from .._errors import MisuseError
from .._typing import BoolArray
from ..banks import RegionalView, RegionSets, SetSpacing, Spacing, check_distances

Groups: TypeAlias = Mapping[str, "Sequence[str] | Groups"]
Ask: TypeAlias = Literal["fine", "group", "presence", "absence", "ambiguity"]

ASKS: tuple[Ask, ...] = ("fine", "group", "presence", "absence", "ambiguity")


@final
@dataclass(frozen=True, slots=True, eq=False)
class RegionRule:
    r"""What is asked of a region.

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
class FarSets:
    """Of every element, those farther away than the tolerance, as bits; worked out when they are first asked for."""

    spacing: Spacing | SetSpacing
    tolerance: float
    _known: dict[int, int] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return self.spacing.size

    def __getitem__(self, number: int) -> int:
        if number not in self._known:
            if len(self._known) * self.spacing.size > _MOST_BITS:
                self._known.clear()
            self._known[number] = as_bits(self.spacing.row(number) > self.tolerance)
        return self._known[number]

    def __iter__(self) -> Iterator[int]:
        return (self[i] for i in range(len(self)))


@final
@dataclass(frozen=True, slots=True, eq=False)
class AskedRegion:
    """A rule that has met its region, whose places are elements or sets of these; bits of whole numbers are places."""

    name: str
    elements: tuple[str, ...]  # the places
    spacing: Spacing | SetSpacing  # given with the rule, or that of the view
    sets: RegionSets
    tolerance: float
    groups: tuple[tuple[str, int], ...]  # name and members, smallest first; the last is the region itself
    listed: tuple[tuple[str, tuple[str, ...]], ...]  # the same groups in elements
    far: "FarSets"
    asks: frozenset[str]
    is_finest: bool
    threshold: float | None
    needs_persistent_only: bool

    def sector(self, members: int) -> int:
        """Number of the smallest group that holds these elements.  Fewer elements never give a larger group."""
        return next(i for i, (_, group) in enumerate(self.groups) if members & group == members)

    def is_named(self, sector: int) -> bool:
        """Whether a group is one that was asked for: a named one, or the region where none is named."""
        return len(self.groups) == 1 or sector < len(self.groups) - 1

    def names(self, members: int) -> tuple[str, ...]:
        """The elements of a set, in their local order."""
        return tuple([self.elements[i] for i in as_numbers(members)])

    def spread(self, members: int) -> float:
        """Largest distance within a set; 0 for fewer than two elements."""
        return self.spacing.spread(np.flatnonzero(self.flags(members)))

    def flags(self, members: int) -> BoolArray:
        """(m,) whether each place is in a set."""
        return as_flags(members, len(self.elements))

    def describe(self) -> dict[str, object]:
        """All that defines the question about this region."""
        subsets = self.sets.subsets
        return ({} if subsets.is_single else {"count": [subsets.low, subsets.high]}) | {
            "region": self.name,
            "elements": list(self.sets.ids),
            # Those of the view follow from its places, which its hash covers.
            "distances": DISTANCES_OF_VIEW if self.spacing.distances is None else self.spacing.digest(),
            "tolerance": self.tolerance,
            "groups": [[name, list(members)] for name, members in self.listed],
            "asks": "finest" if self.is_finest else sorted(self.asks),
            "absence_threshold": self.threshold,
            "absent_witness": "persistent_only" if self.needs_persistent_only else "any",
        }


def asked_region(view: RegionalView, name: str, rule: RegionRule) -> AskedRegion:
    """Bring a rule together with the elements of its region."""
    sets, label = view.sets(name), f"distances of region {name!r}"
    ids, own = sets.ids, rule.distances
    spacing = sets.spacing(None if own is None else read_only(check_distances(label, own, len(ids))))
    if own is None and not spacing.is_finite:
        raise MisuseError(label, "be finite", "places that are too far apart")
    listed = tuple((group, tuple(ids[i] for i in as_numbers(bits))) for group, bits in _sorted_groups(name, ids, rule))
    return AskedRegion(
        name=name,
        elements=sets.names,
        spacing=spacing,
        sets=sets,
        tolerance=float(rule.tolerance),
        groups=tuple((group, _held(name, group, members, sets)) for group, members in listed),
        listed=listed,
        far=FarSets(spacing, float(rule.tolerance)),
        asks=frozenset(ASKS if rule.asks == "finest" else rule.asks),
        is_finest=rule.asks == "finest",
        threshold=rule.absence_threshold,
        # Nothing witnesses the absence of a persistent region, least of all what has persistent regions only.
        needs_persistent_only=rule.absent_witness == "persistent_only" and name in view.optional,
    )


def _held(region: str, group: str, members: tuple[str, ...], sets: RegionSets) -> int:
    """The places of a group of elements: these, or all sets of them."""
    held = as_bits(sets.within(members))
    if not held:
        rule = f"hold at least {sets.subsets.low} elements, as many as are there together"
        raise MisuseError(f"groups of region {region!r}", rule, f"{group!r}: {', '.join(members)}")
    return held


def _sorted_groups(region: str, elements: tuple[str, ...], rule: RegionRule) -> tuple[tuple[str, int], ...]:
    """Every group at every depth, smallest first; of equal ones the one named first."""
    groups = rule.groups or {}
    number = {name: i for i, name in enumerate(elements)}
    bits_of: dict[str, int] = {}
    for name, members in _flattened(region, number, groups):
        if name in bits_of or name == region:
            raise MisuseError(f"groups of region {region!r}", "have names of their own", repr(name))
        if not members:
            raise _unknown(region, number, f"nothing in group {name!r}")
        bits_of[name] = members
    ordered = sorted(bits_of.items(), key=lambda item: item[1].bit_count())
    return (*ordered, (region, (1 << len(elements)) - 1))


def _unknown(region: str, number: Mapping[str, int], value: str) -> MisuseError:
    return MisuseError(f"groups of region {region!r}", f"hold elements among {tuple(number)}", value)


# Of groups within groups: more would exhaust the interpreter, and nobody asks for it.
_MOST_NESTED = 100


def _copied(groups: Groups, depth: int = 1) -> Groups:
    if depth > _MOST_NESTED:
        raise MisuseError("groups", f"be nested at most {_MOST_NESTED} deep", "more")
    kept = {n: _copied(c, depth + 1) if isinstance(c, Mapping) else c for n, c in groups.items()}
    return {n: c if isinstance(c, str | Mapping) else tuple(c) for n, c in kept.items()}


def _flattened(region: str, number: Mapping[str, int], groups: Groups) -> Iterator[tuple[str, int]]:
    """Names and members; inner groups before the one that holds them, whose members are those of its own parts."""
    for name, content in groups.items():
        if isinstance(content, str):
            raise MisuseError(
                f"groups of region {region!r}", "be lists of elements or groups", f"{name!r}: {content!r}"
            )
        members = 0
        if isinstance(content, Mapping):
            for inner, part in _flattened(region, number, content):
                yield inner, part
                members |= part
        else:
            for member in content:
                if member not in number:
                    raise _unknown(region, number, f"{member!r} in group {name!r}")
                members |= 1 << number[member]
        yield name, members
