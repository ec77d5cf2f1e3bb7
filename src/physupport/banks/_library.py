"""Libraries of physical elements, and the dictionary states that take elements of a library from every region."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike

from .._checks import (
    check_array,
    check_count,
    check_distinct,
    check_texts,
    check_unit_columns,
    check_unit_norms,
    read_only,
)
from .._errors import MisuseError
from .._typing import Array, IntArray
from ..io import Axis, ReaderOutput, as_reader_output, check_apart, in_order, is_numbering, matches, order_of
from ..responses import Settings
from ._states import Nuisances, States, Subsets, frozen

# Of regions that may have several elements at once, how many at most, or (least, most).
Counts: TypeAlias = Mapping[str, int | tuple[int, int]]

# Joins the names of elements to that of a set.
JOINT = " + "


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Library:
    """Physical elements: what each is called, where it lies, and how the instrument answers to it.

    >>> library = Library(["a", "b"], ["left", "right"], [[0.1], [0.9]], [[1.0, 0.0], [0.0, 1.0]])
    >>> library.region_names
    ('left', 'right')
    """

    ids: tuple[str, ...]  # (E,) distinct
    regions: tuple[str, ...]  # (E,) the region of every element
    coordinates: Array = field(repr=False)  # (E, d); without any, d = 0, elements are names alone
    responses: Array = field(repr=False)  # (q, E), unit columns; names along its axes are matched to ids and channels
    unit: str = ""  # of the coordinates, and so of distances; for words only
    extents: Array | None = field(default=None, repr=False)  # (E, d) half the sides of elements that are cells
    variants: Array | None = field(default=None, repr=False)  # (V, q, E) further unit columns, which mix with those
    channels: tuple[str, ...] | None = field(default=None, repr=False)  # (q,) names, to which those of rows are matched
    _members: dict[str, IntArray] = field(init=False, repr=False)  # of each region, in the order of the library

    def __post_init__(self) -> None:
        ids = check_texts("ids", self.ids)
        regions = check_texts("regions", self.regions)
        if not ids:
            raise MisuseError("ids", "name at least one element", "none")
        check_distinct("ids", ids)
        check_apart("ids", ids)
        check_apart("regions", tuple(dict.fromkeys(regions)))
        if len(regions) != len(ids):
            raise MisuseError("regions", f"name one region for each of the {len(ids)} ids", f"{len(regions)} regions")
        if not isinstance(self.unit, str):
            raise MisuseError("unit", "be a text", repr(self.unit))
        members: dict[str, list[int]] = {}
        for number, region in enumerate(regions):
            members.setdefault(region, []).append(number)
        found = {region: read_only(np.array(numbers), np.int64) for region, numbers in members.items()}
        for name, value in {"ids": ids, "regions": regions, "_members": found}.items():
            object.__setattr__(self, name, value)
        self._check_arrays()

    def _check_arrays(self) -> None:
        """Check all arrays against the ids, and keep read-only copies in the order of ids and channels."""
        held = as_reader_output("responses", self.responses)
        channels = self._channel_names(held)
        axes = (Axis("channels", channels, "channels"), Axis("elements", self.ids, "ids"))
        responses = check_unit_columns("responses", in_order("responses", held, axes))
        if responses.shape[1] != len(self.ids):
            rule = f"have one column for each of the {len(self.ids)} ids"
            raise MisuseError("responses", rule, f"shape {responses.shape}")
        if channels is not None and len(responses) not in (len(channels), 2 * len(channels)):  # pairs (Re, Im)
            raise MisuseError("channels", f"name each of the {len(responses)} channels", f"{len(channels)} names")
        arrays = {
            "coordinates": check_array("coordinates", self.coordinates, (len(self.ids), None)),
            "responses": responses,
        }
        if self.extents is not None:
            arrays["extents"] = check_array("extents", self.extents, arrays["coordinates"].shape)
            if arrays["extents"].min() < 0.0:
                raise MisuseError("extents", "be at least 0", arrays["extents"].min())
        if self.variants is not None:
            variants = check_array("variants", self.variants, (None, *responses.shape))
            arrays["variants"] = check_unit_norms("variants", variants, ("variant", "element"))
        object.__setattr__(self, "channels", channels)
        for name, array in arrays.items():
            object.__setattr__(self, name, frozen(array))

    def _channel_names(self, held: ReaderOutput) -> tuple[str, ...] | None:
        """The names of the channels: as given, or those along the axis of the responses that is not that of the ids."""
        if self.channels is not None:
            return check_texts("channels", self.channels)
        first, second = (*held.headings, None, None)[:2]
        ids = Axis("elements", self.ids, "ids")
        names = second if matches(ids, first) and not matches(ids, second) else first
        return None if names is None or is_numbering(names) else names

    @property
    def region_names(self) -> tuple[str, ...]:
        """The regions in the order in which elements first name them."""
        return tuple(self._members)

    def __repr__(self) -> str:
        where = f", places in {self.unit}" if self.unit else ""
        shape = f"{len(self.ids)} elements in {', '.join(self.region_names)}, {len(self.responses)} channels"
        return f"Library({shape}{where})"

    def places(self, chosen: IntArray) -> Array | None:
        """(k, d) where some elements lie; None if elements are names alone."""
        return self.coordinates[chosen] if self.coordinates.shape[1] else None

    def members(self, region: str) -> IntArray:
        """The elements of a region, in the order of the library."""
        if region not in self._members:
            known = ", ".join(map(repr, self.region_names))
            raise MisuseError("region", f"hold at least one element (regions: {known})", repr(region))
        return self._members[region]


def library_states(
    library: Library,
    regions: Sequence[str],
    extra: ArrayLike = (),
    counts: Counts | None = None,
    settings: Settings | None = None,
) -> States:
    """Every choice of elements from each region, the first region slowest, and columns shared by all states.

    regions: which, in which order.  extra: (q, m) shared columns, none unless given, such as an atom that only the
    calibration meets; they come after the atoms of the regions.  counts: how many elements a region has at
    most, or (least, most); one each unless given.

    settings: K of calibration parameters, the slowest of all: setting k and choice c are state k * choices + c.  In
    setting k element e of the library is element k * E + e: another response, the same physical thing.  The nominal
    responses of the library are then no state unless some setting has them.  Without, there is one setting, the nominal
    one.  Shared columns are the same in every setting, and the last elements.
    """
    names = _check_regions(regions, library)
    q = len(library.responses)
    shared = check_unit_columns("extra", extra if np.size(extra) else np.zeros((q, 0)), q)
    grid, columns = _in_settings(library, settings)
    members = {name: library.members(name) for name in names}
    sets = _sets_of(counts or {}, members)
    n_shared = shared.shape[1]
    own = np.arange(columns.shape[1]).reshape(len(grid), -1)  # (K, E)
    last = np.broadcast_to(columns.shape[1] + np.arange(n_shared), (len(grid), n_shared))
    return States(
        elements=frozen(np.hstack([columns, shared])),
        table=read_only(np.hstack([own, last]), np.int64),
        members=(*members.values(), *(own.shape[1] + np.arange(n_shared))[:, None]),
        sets=(*sets, *[Subsets(1, 1, 1)] * n_shared),
        library=library,
        regions=names,
        grid=grid,
        has_settings=settings is not None,
    )


def _in_settings(library: Library, settings: Settings | None) -> tuple[Nuisances, Array]:
    """The settings, and (q, K * E) the responses in one after the other; the nominal ones where none are given."""
    if settings is None:
        return Nuisances(), library.responses
    if library.variants is not None:
        rule = "be left out for elements with several columns that mix, which are those of one setting"
        raise MisuseError("settings", rule, ", ".join(settings.names) or "one setting")
    q, count = library.responses.shape
    grid = Nuisances(settings.names, settings.values)
    responses = check_array("responses", settings.responses, (len(grid), q, count))
    axes = (Axis("channels", library.channels, "the library"), Axis("elements", library.ids, "the library"))
    orders = [order_of("settings", axis, names) for axis, names in zip(axes, settings.headings, strict=True)]
    if orders[0] is not None and len(orders[0]) == q:  # not of pairs (Re, Im)
        responses = responses[:, orders[0]]
    if orders[1] is not None:
        responses = responses[:, :, orders[1]]
    check_unit_norms("responses", responses, ("setting", "element"))
    return grid, responses.transpose(1, 0, 2).reshape(q, -1)


def _sets_of(counts: Counts, members: Mapping[str, IntArray]) -> list[Subsets]:
    """The sets of elements that each region may have, by its elements; a single number is the most."""
    for name in counts:
        if name not in members:
            raise MisuseError("counts", f"name regions of the bank ({', '.join(map(repr, members))})", repr(name))
    found = []
    for region, numbers in members.items():
        count = counts.get(region, 1)
        low, high = (1, count) if isinstance(count, int) else count
        most = check_count(f"the count of region {region!r}", high, 1, len(numbers))
        least = check_count(f"the least count of region {region!r}", low, 1, most)
        found.append(Subsets(len(numbers), least, most))
    return found


def _check_regions(regions: Sequence[str], library: Library) -> tuple[str, ...]:
    """Distinct regions of the library, at least one."""
    names = tuple(regions)
    if not names:
        raise MisuseError("regions", "name at least one region", "none")
    check_distinct("regions", names)
    held = {*library.region_names}
    for region in names:
        if region not in held:
            known = ", ".join(map(repr, library.region_names))
            raise MisuseError("regions", f"name regions that hold elements ({known})", repr(region))
    return names
