"""Libraries of physical elements, and the dictionary states that take elements of a library from every region."""

from collections.abc import Sequence
from dataclasses import InitVar, dataclass, field
from math import prod
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from .._arrays import check_indices, read_only
from .._checks import check_array, check_count, check_distinct, check_texts, check_unit_columns, check_unit_norms
from .._errors import MisuseError
from .._typing import Array, IntArray
from ..io import Axis, ReaderOutput, as_reader_output, check_apart, in_order, is_numbering, matches, order_of
from ..responses import Settings
from ._bank import Nuisances
from ._states import ArrayWriter, StateFamily, Subsets, check_size, frozen

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


@final
@dataclass(frozen=True, slots=True, eq=False)
class LibraryStates(StateFamily):
    """Every choice of elements from each region, the first region slowest, and columns shared by all states.

    A region gives one element, or as many as its count allows, as an unordered set.  Its atoms are the chosen elements
    in increasing order, as many as it may have at most; those that a smaller set lacks are -1.  Shared columns follow,
    such as an atom that only the calibration meets.  States are mixed-radix numbers, so none is stored.

    settings: K of calibration parameters, the slowest of all: setting k and choice c are state k * choices + c.  In
    setting k element e of the library is element k * E + e: another response, the same physical thing.  The nominal
    responses of the library are then no state unless some setting has them.  Without, there is one setting, the nominal
    one.  Shared columns are the same in every setting, and the last elements.
    """

    library: Library
    regions: tuple[str, ...]  # which regions, in which order
    extra: Array = field(default_factory=lambda: np.zeros((0, 0)), repr=False)  # (q, m), none unless given
    counts: tuple[tuple[int, int], ...] = ()  # (least, most) elements of each region; one each unless given
    settings: InitVar[Settings | None] = None
    elements: Array = field(init=False, repr=False)  # (q, K * E + m)
    sets: tuple[Subsets, ...] = field(init=False, repr=False)  # the choices of each region and each shared column
    grid: Nuisances = field(init=False, repr=False)  # the settings, or the nominal one
    n_states: int = field(init=False, repr=False)  # settings times choices
    n_atoms: int = field(init=False, repr=False)  # largest number of elements of all regions, and shared columns
    blocks: tuple[tuple[int, ...], ...] = field(init=False, repr=False)  # the atoms of each region
    _has_settings: bool = field(init=False, repr=False)
    _members: tuple[IntArray, ...] = field(init=False, repr=False)  # what each of the sets chooses from
    _owner: IntArray = field(init=False, repr=False)  # (n,) which of the sets every atom belongs to
    _n_choices: int = field(init=False, repr=False)

    def __post_init__(self, settings: Settings | None) -> None:
        regions = _check_regions(self.regions, self.library)
        q = len(self.library.responses)
        extra = frozen(check_unit_columns("extra", self.extra if np.size(self.extra) else np.zeros((q, 0)), q))
        grid, columns = _in_settings(self.library, settings)
        shared = tuple(np.array([columns.shape[1] + j]) for j in range(extra.shape[1]))
        members = tuple(self.library.members(name) for name in regions) + shared
        counts = _check_counts(self.counts, regions, members)
        ranges = [*counts, *[(1, 1)] * len(shared)]
        sets = tuple(Subsets(len(numbers), *some) for numbers, some in zip(members, ranges, strict=True))
        owner = np.repeat(np.arange(len(ranges)), [high for _, high in ranges])
        n_choices = prod(each.size for each in sets)
        parts = {
            "regions": regions,
            "extra": extra,
            "counts": counts,
            "elements": frozen(np.hstack([columns, extra])),
            "sets": sets,
            "grid": grid,
            "_has_settings": settings is not None,
            "_members": members,
            "_owner": read_only(owner, np.int64),
            "_n_choices": n_choices,
            "n_states": check_size("states", len(grid) * n_choices),
            "n_atoms": len(owner),
            "blocks": tuple(tuple(np.flatnonzero(owner == j).tolist()) for j in range(len(regions))),
        }
        for name, value in parts.items():
            object.__setattr__(self, name, value)

    @property
    def parameter_values(self) -> dict[str, Array]:
        """(K,) the values of every calibration parameter in all settings, by name."""
        return dict(zip(self.grid.names, self.grid.values.T, strict=True))

    @property
    def responses(self) -> Array:
        """(K, q, E) of the library in every setting; a view, as they are stored once, as elements."""
        q, width = self.elements.shape
        own = self.elements[:, : width - self.extra.shape[1]]
        return own.reshape(q, len(self.grid), -1).transpose(1, 0, 2)

    @property
    def library_index(self) -> IntArray:
        """(K * E + m,) which element of the library each element is, in whatever setting; -1 for shared columns."""
        physical = np.tile(np.arange(len(self.library.ids)), len(self.grid))
        return read_only(np.append(physical, np.full(self.extra.shape[1], -1)), np.int64)

    def element_index(self, states: ArrayLike) -> IntArray:
        """(k,) -> (k, n): which element is atom j of the state."""
        return self.active_elements(check_indices("states", states, self.n_states), tuple(range(self.n_atoms)))

    def choices(self, states: ArrayLike) -> IntArray:
        """(k,) -> (k, R): the number of the set that each region has, the same in every setting."""
        _, digits = self._digits(check_indices("states", states, self.n_states), range(len(self.sets)))
        return np.stack(digits[: len(self.regions)], axis=1)

    def active_keys(self, states: ArrayLike, positions: tuple[int, ...]) -> IntArray:
        """(k,) -> (k,): the choices at these atoms as a number of their own, the first slowest.

        The setting comes before all of them, unless these atoms are shared columns alone, which know no setting.
        """
        owners, n_settings = self._owners(positions)
        setting, digits = self._digits(check_indices("states", states, self.n_states), range(len(self.sets)))
        keys = setting if n_settings > 1 else np.zeros_like(setting)
        for j in (j for j in owners if self.sets[j].size > 1):
            keys = keys * self.sets[j].size + digits[j]
        return keys

    def n_active(self, positions: tuple[int, ...]) -> int:
        """The product of the numbers of choices of these regions, for every setting that they can tell."""
        owners, n_settings = self._owners(positions)
        return n_settings * prod(self.sets[j].size for j in owners)

    def active_elements(self, keys: ArrayLike, positions: tuple[int, ...]) -> IntArray:
        """(k,) -> (k, r): the elements that a key stands for, -1 where a set has fewer."""
        numbers = check_indices("keys", keys, self.n_active(positions))
        owners, _ = self._owners(positions)
        setting, digits = self._digits(numbers, owners)
        chosen = [np.empty((len(numbers), 0), dtype=np.int64)]
        for j, digit in zip(owners, digits, strict=True):
            elements = np.append(self._members[j], -1)[self.sets[j].members(digit)]  # none is -1, the last entry
            if j < len(self.regions):
                elements = np.where(elements < 0, -1, elements + len(self.library.ids) * setting[:, None])
            chosen.append(elements)
        return np.hstack(chosen)

    def _digits(self, numbers: IntArray, owners: Sequence[int]) -> tuple[IntArray, list[IntArray]]:
        """(k,) what is left, and the digits of mixed-radix numbers (k,), one for each of these sets."""
        rest = numbers
        zeros = np.zeros_like(numbers)  # one array for all sets without a choice, of which there may be thousands
        digits = list[IntArray]()
        for j in reversed(owners):
            digit = zeros
            if self.sets[j].size > 1:
                rest, digit = np.divmod(rest, self.sets[j].size)
            digits.append(digit)
        return rest, digits[::-1]

    def _owners(self, positions: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
        """The sets whose atoms these are, all or none of a region, since a set has no first one; their settings."""
        owners = tuple(np.unique(self._owner[list(positions)]).tolist())
        return owners, len(self.grid) if owners and owners[0] < len(self.regions) else 1

    def names(self, elements: ArrayLike) -> tuple[str, ...]:
        """The ids of the library, the same in every setting; shared columns are `shared 0`, `shared 1`, ..."""
        ids = self.library.ids
        first = self.elements.shape[1] - self.extra.shape[1]
        numbers = check_indices("elements", elements, self.elements.shape[1]).tolist()
        return tuple(ids[e % len(ids)] if e < first else f"shared {e - first}" for e in numbers)

    def setting(self, state: int) -> dict[str, float]:
        """The calibration parameters of a state by name; none where the responses are the nominal ones."""
        return self.grid.setting(int(check_indices("state", state, self.n_states)[0]) // self._n_choices)

    def dimensions(self, states: IntArray) -> dict[str, IntArray]:
        """(k,) the values of the parameters, equal ones as equal numbers."""
        found = {}
        for name, column in self.parameter_values.items():
            _, numbers = np.unique(column, return_inverse=True)
            found[f"the calibration parameter {name}"] = numbers.reshape(-1)[states // self._n_choices].astype(np.int64)
        return found

    def encode(self, array: ArrayWriter) -> dict[str, object]:
        """The library, the order of the regions, the shared columns, the counts, where any is above one; settings."""
        library = self.library
        content = {
            "kind": "library",
            "ids": list(library.ids),
            "regions": list(library.regions),
            "order": list(self.regions),
            "coordinates": array(library.coordinates),
            "responses": array(library.responses),
            "shared": array(self.extra),
        }
        if any(high > 1 for _, high in self.counts):
            content["counts"] = [list(count) for count in self.counts]
        if library.unit:
            content["unit"] = library.unit
        if library.extents is not None:
            content["extents"] = array(library.extents)
        if not self._has_settings:
            return content
        settings = self.grid.encode(array) | {"responses": array(self.responses)}
        return {"kind": "library settings", "base": content} | settings


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


def _check_counts(
    counts: Sequence[Sequence[int]], regions: tuple[str, ...], members: Sequence[IntArray]
) -> tuple[tuple[int, int], ...]:
    """(low, high) of each region, one each unless given."""
    if counts and len(counts) != len(regions):
        raise MisuseError("counts", f"be given for each of the {len(regions)} regions", len(counts))
    ranges = []
    for region, numbers, (low, high) in zip(regions, members, counts or [(1, 1)] * len(regions), strict=False):
        most = check_count(f"the count of region {region!r}", high, 1, len(numbers))
        ranges.append((check_count(f"the least count of region {region!r}", low, 1, most), most))
    return tuple(ranges)


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
