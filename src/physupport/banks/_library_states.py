"""States that take elements of a library from every region, perhaps under settings of calibration parameters."""

from collections.abc import Sequence
from dataclasses import InitVar, dataclass, field
from itertools import accumulate
from math import prod
from typing import Protocol, final

import numpy as np
from numpy.typing import ArrayLike

from .._arrays import check_indices, read_only
from .._checks import check_array, check_count, check_unit_columns, check_unit_norms
from .._codec import array_json
from .._errors import MisuseError
from .._hashes import Record
from .._typing import Array, IntArray
from ._library import Library, check_regions
from ._nuisances import Nuisances
from ._states import check_positions, check_size, frozen
from ._subsets import Subsets


class LibrarySettings(Protocol):
    """What calibration parameters make of a library of E elements, in K settings of p parameters."""

    @property
    def names(self) -> tuple[str, ...]:
        """(p,) the parameters."""

    @property
    def values(self) -> Array:
        """(K, p) their values in every setting."""

    @property
    def responses(self) -> Array:
        """(K, q, E) unit columns: how the instrument answers to every element in every setting."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class LibraryStates:
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
    counts: tuple[tuple[int, int], ...] = ()  # of each region, how many of its elements; one each unless given
    settings: InitVar[LibrarySettings | None] = None
    elements: Array = field(init=False, repr=False)  # (q, K * E + m)
    sets: tuple[Subsets, ...] = field(init=False, repr=False)  # of each region and shared column, its choices
    _has_settings: bool = field(init=False, repr=False)
    _grid: Nuisances = field(init=False, repr=False)  # the settings, or the nominal one
    _members: tuple[IntArray, ...] = field(init=False, repr=False)  # what each of the sets chooses from

    def __post_init__(self, settings: LibrarySettings | None) -> None:
        regions = check_regions("regions", self.regions, self.library)
        q = len(self.library.responses)
        extra = frozen(check_unit_columns("extra", self.extra if np.size(self.extra) else np.zeros((q, 0)), q))
        grid, columns = _in_settings(self.library, settings)
        shared = tuple(np.array([columns.shape[1] + j]) for j in range(extra.shape[1]))
        members = tuple(self.library.members(name) for name in regions) + shared
        counts = _check_counts(self.counts, regions, members)
        ranges = [*counts, *[(1, 1)] * len(shared)]
        parts = {
            "regions": regions,
            "extra": extra,
            "counts": counts,
            "elements": frozen(np.hstack([columns, extra])),
            "sets": tuple(Subsets(len(numbers), *some) for numbers, some in zip(members, ranges, strict=True)),
            "_has_settings": settings is not None,
            "_grid": grid,
            "_members": members,
        }
        for name, value in parts.items():
            object.__setattr__(self, name, value)
        check_size("states", self.n_states)

    @property
    def parameters(self) -> tuple[str, ...]:
        """(p,) names of the calibration parameters."""
        return self._grid.names

    @property
    def values(self) -> Array:
        """(K, p) their values in every setting."""
        return self._grid.values

    @property
    def parameter_values(self) -> dict[str, Array]:
        """(K,) the same by name."""
        return dict(zip(self.parameters, self.values.T, strict=True))

    @property
    def responses(self) -> Array:
        """(K, q, E) of the library in every setting; a view, as they are stored once, as elements."""
        (q, width), shared = self.elements.shape, self.extra.shape[1]
        return self.elements[:, : width - shared].reshape(q, len(self.values), -1).transpose(1, 0, 2)

    @property
    def library_index(self) -> IntArray:
        """(K * E + m,) which element of the library each element is, in whatever setting; -1 for shared columns."""
        physical = np.tile(np.arange(len(self.library.ids)), len(self.values))
        return read_only(np.append(physical, np.full(self.extra.shape[1], -1)), np.int64)

    @property
    def n_states(self) -> int:
        """Settings times choices."""
        return len(self.values) * self._n_choices

    @property
    def _n_choices(self) -> int:
        return prod(sets.size for sets in self.sets)

    @property
    def n_atoms(self) -> int:
        """As many as regions may have elements, and shared columns."""
        return sum(sets.high for sets in self.sets)

    @property
    def blocks(self) -> tuple[tuple[int, ...], ...]:
        """The atoms of each region."""
        return self._blocks()[: len(self.regions)]

    def _blocks(self) -> tuple[tuple[int, ...], ...]:
        ends = [*accumulate(sets.high for sets in self.sets)]
        return tuple(tuple(range(end - sets.high, end)) for end, sets in zip(ends, self.sets, strict=True))

    @property
    def n_regions(self) -> int:
        """Shared columns lie in no region."""
        return len(self.regions)

    def element_index(self, states: ArrayLike) -> IntArray:
        """(k,) -> (k, n): which element is atom j of the state."""
        return self.active_elements(check_indices("states", states, self.n_states), tuple(range(self.n_atoms)))

    @property
    def _has_sets(self) -> bool:
        return any(not sets.is_single for sets in self.sets)

    def choices(self, states: ArrayLike) -> IntArray:
        """(k,) -> (k, R): the number of the set that each region has, the same in every setting."""
        _, digits = self._digits(check_indices("states", states, self.n_states), range(len(self.sets)))
        return np.stack(digits[: len(self.regions)], axis=1)

    def active_keys(self, states: ArrayLike, positions: tuple[int, ...]) -> IntArray:
        """(k,) -> (k,): the choices at these atoms as a number of their own, the first slowest.

        The setting comes before all of them, unless these atoms are shared columns alone, which know no setting.
        """
        owners = self._owners(positions)
        setting, digits = self._digits(check_indices("states", states, self.n_states), range(len(self.sets)))
        keys = setting if self._depend_on_setting(owners) else np.zeros_like(setting)
        for j in owners:
            keys = keys * self.sets[j].size + digits[j]
        return keys

    def n_active(self, positions: tuple[int, ...]) -> int:
        """The product of the numbers of choices of these regions, for every setting that they can tell."""
        owners = self._owners(positions)
        settings = len(self.values) if self._depend_on_setting(owners) else 1
        return settings * prod(self.sets[j].size for j in owners)

    def active_elements(self, keys: ArrayLike, positions: tuple[int, ...]) -> IntArray:
        """(k,) -> (k, r): the elements that a key stands for, -1 where a set has fewer."""
        keys, owners, chosen = check_indices("keys", keys, self.n_active(positions)), self._owners(positions), []
        setting, digits = self._digits(keys, owners)
        for j, digit in zip(owners, digits, strict=True):
            elements = np.append(self._members[j], -1)[self.sets[j].members(digit)]  # none is -1, the last entry
            if j < len(self.regions):
                elements = np.where(elements < 0, -1, elements + len(self.library.ids) * setting[:, None])
            chosen.append(elements)
        return np.hstack(chosen) if chosen else np.empty((len(keys), 0), dtype=np.int64)

    def _digits(self, numbers: IntArray, owners: Sequence[int]) -> tuple[IntArray, list[IntArray]]:
        """(k,) what is left, and the digits of mixed-radix numbers (k,), one for each of these sets."""
        rest, digits = numbers, list[IntArray]()
        for j in reversed(owners):
            rest, digit = np.divmod(rest, self.sets[j].size)
            digits.append(digit)
        return rest, digits[::-1]

    def _owners(self, positions: tuple[int, ...]) -> tuple[int, ...]:
        """Whose atoms these are: all or none of a region, since a set has no first one."""
        check_positions(positions, self.n_atoms)
        owners = tuple(j for j, block in enumerate(self._blocks()) if {*block} & {*positions})
        if sum(self.sets[j].high for j in owners) != len(positions):
            raise MisuseError("positions", "hold all atoms of a region or none", positions)
        return owners

    def _depend_on_setting(self, owners: tuple[int, ...]) -> bool:
        return any(j < len(self.regions) for j in owners)

    def names(self, elements: ArrayLike) -> tuple[str, ...]:
        """The ids of the library, the same in every setting; shared columns are `shared 0`, `shared 1`, ..."""
        ids, first = self.library.ids, self.elements.shape[1] - self.extra.shape[1]
        numbers = check_indices("elements", elements, self.elements.shape[1]).tolist()
        return tuple(ids[e % len(ids)] if e < first else f"shared {e - first}" for e in numbers)

    def setting(self, state: int) -> dict[str, float]:
        """The calibration parameters of a state by name; none where the responses are the nominal ones."""
        number = int(check_indices("state", state, self.n_states)[0]) // self._n_choices
        return self._grid.setting(number)

    def dimensions(self, states: IntArray) -> dict[str, IntArray]:
        """(k,) the values of the parameters, equal ones as equal numbers."""
        setting, named = states // self._n_choices, self.parameter_values.items()
        numbers = {name: np.unique(column, return_inverse=True)[1].reshape(-1) for name, column in named}
        return {f"the calibration parameter {name}": of[setting].astype(np.int64) for name, of in numbers.items()}

    def encode(self) -> dict[str, object]:
        """The library, the order of the regions, the shared columns, the counts, where any is above one; settings."""
        library, optional = self.library, dict[str, object]()
        if self._has_sets:
            optional["counts"] = [list(count) for count in self.counts]
        if library.unit:
            optional["unit"] = library.unit
        if library.extents is not None:
            optional["extents"] = array_json(library.extents)
        base = optional | {
            "kind": "library",
            "ids": list(library.ids),
            "regions": list(library.regions),
            "order": list(self.regions),
            "coordinates": array_json(library.coordinates),
            "responses": array_json(library.responses),
            "shared": array_json(self.extra),
        }
        if not self._has_settings:
            return base
        return (
            {"kind": "library settings", "base": base} | self._grid.encode() | {"responses": array_json(self.responses)}
        )

    def records(self) -> list[Record]:
        """The same for a hash, with the nominal responses and the shared columns in one piece."""
        library, optional = self.library, list[Record]()
        if self._has_sets:
            optional.append(("counts", np.array(self.counts, dtype=np.int64)))
        if library.unit:
            optional.append(("unit", (library.unit,)))
        if library.extents is not None:
            optional.append(("extents", library.extents))
        base: list[Record] = [
            *optional,
            ("library states", self.regions),
            ("ids", library.ids),
            ("regions", library.regions),
            ("coordinates", library.coordinates),
            ("elements", np.hstack([library.responses, self.extra])),
        ]
        if not self._has_settings:
            return base
        return [("library settings", ()), *base, *self._grid.records(), ("responses", self.responses)]


def _in_settings(library: Library, settings: LibrarySettings | None) -> tuple[Nuisances, Array]:
    """The settings, and (q, K * E) the responses in one after the other; the nominal ones where none are given."""
    if settings is None:
        return Nuisances(), library.responses
    grid, (q, count) = Nuisances(settings.names, settings.values), library.responses.shape
    responses = check_array("responses", settings.responses, (len(grid), q, count))
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
