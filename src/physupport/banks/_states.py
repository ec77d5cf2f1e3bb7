"""Dictionary states: which atoms stand together, without a copy of the atoms for every state."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from math import comb, prod
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import check_array, check_count, check_distinct, check_indices, check_texts, check_unit_norms, read_only
from .._codec import array_json
from .._errors import Clause, MisuseError
from .._typing import Array, IntArray

if TYPE_CHECKING:
    from ._library import Library

# The region of a source that the library lacks; of counts also its one element.
UNLISTED = "unlisted"
# Indices are int64; every product of sizes must stay below this.
INDEX_LIMIT = 2**63
# Combinations of nuisances: more are refused before one is made.
_MOST_SETTINGS = 2**22
# Numbers in one block of dictionaries: 8 MiB.
_ENTRIES = 2**20
# The number of a setting that is the only one.
_ALONE = read_only(np.zeros(1), np.int64)
# Cosine, at least, between a step to the next state and the way from the first state to the last.
_STRAIGHT = 0.9

# How a dump writes an array: in full for a document, by its hash for the hash of a bank.
ArrayWriter: TypeAlias = Callable[[NDArray[Any]], object]


def frozen(array: ArrayLike) -> Array:
    """A read-only C-ordered float64 copy without negative zeros, which would compare equal and hash differently."""
    return read_only(np.asarray(array, dtype=np.float64) + 0.0, np.float64)


def check_size(name: str, size: int, limit: int = INDEX_LIMIT) -> int:
    """A product of sizes that an int64 index can count, or that memory has room for."""
    if size >= limit:
        raise MisuseError(name, f"number fewer than {limit}", size)
    return size


def check_distinct_rows(name: str, rows: Array, what: str, where: str) -> None:
    """Raise if a row occurs twice; what the rows are, and how a message says where one stands again."""
    seen = set[bytes]()
    for number, row in enumerate(rows):
        content = sha256(row.tobytes()).digest()
        if content in seen:
            raise MisuseError(name, f"hold distinct {what}", Clause(f"{row.tolist()} appears again {where} {number}"))
        seen.add(content)


@final
@dataclass(frozen=True, slots=True)
class Subsets:
    """All sets of `low` to `high` of n things, the smaller first, each size in lexicographic order.

    >>> Subsets(3, 1, 2).members([0, 2, 3, 5]).tolist()
    [[0, -1], [2, -1], [0, 1], [1, 2]]
    """

    n: int
    low: int
    high: int
    size: int = field(init=False)  # how many there are

    def __post_init__(self) -> None:
        check_count("n", self.n)
        check_count("high", self.high, 1, self.n)
        check_count("low", self.low, 1, self.high)
        size = sum(comb(self.n, count) for count in range(self.low, self.high + 1))
        object.__setattr__(self, "size", check_size("sets", size))

    def members(self, numbers: ArrayLike) -> IntArray:
        r"""(k,) -> (k, high): the members of each set in increasing order, padded with -1.

        Among the sets of c of the things s, s + 1, ... :math:`\binom{n-s}c - \binom{n-t}c` begin before t, so the first
        member of the set of rank r is n - v for the least v with :math:`\binom vc\ge\binom{n-s}c - r`.
        """
        left = check_indices("numbers", numbers, self.size)
        if self.high == 1:
            return left[:, None]
        chosen = np.full((len(left), self.high), -1, dtype=np.int64)
        for count in range(self.low, self.high + 1):
            is_of_size = (left >= 0) & (left < comb(self.n, count))
            rank = left[is_of_size]
            start = np.zeros_like(rank)
            for place in range(count):
                table = np.array([comb(v, count - place) for v in range(self.n + 1)], dtype=np.int64)
                whole = table[self.n - start]
                fewer = np.searchsorted(table, whole - rank, side="left")
                chosen[is_of_size, place] = self.n - fewer
                rank = rank - (whole - table[fewer])
                start = self.n - fewer + 1
            left = np.where(left >= 0, left - comb(self.n, count), left)  # sets that are found have become negative
        return chosen


@final
@dataclass(frozen=True, slots=True, eq=False)
class Nuisances:
    """Named parameters in a finite number of distinct settings; without names there is one setting.

    >>> Nuisances(("p", "noise"), np.array([[0.2, 1.0], [0.3, 1.0]])).setting(1)
    {'p': 0.3, 'noise': 1.0}
    """

    names: tuple[str, ...] = ()
    values: Array = field(default_factory=lambda: np.zeros((1, 0)))  # (m, number of names)

    def __post_init__(self) -> None:
        names = check_texts("names", self.names)
        check_distinct("names", names)
        values = frozen(check_array("values", self.values, (None, len(names))))
        if not len(values):
            raise MisuseError("values", "hold at least one setting", Clause("there is none"))
        check_distinct_rows("values", values, "settings", "in row")
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "values", values)

    def __len__(self) -> int:
        return len(self.values)

    def column(self, name: str) -> Array:
        """(m,) one parameter in every setting."""
        if name not in self.names:
            raise MisuseError("name", f"be one of {self.names}", repr(name))
        return self.values[:, self.names.index(name)]

    def setting(self, index: int) -> dict[str, float]:
        """The parameters of one setting by name."""
        row = self.values[int(check_indices("index", index, len(self))[0])]
        return dict(zip(self.names, row.tolist(), strict=True))

    def encode(self, array: ArrayWriter = array_json) -> dict[str, object]:
        """Names and values."""
        return {"names": list(self.names), "values": array(self.values)}


def product_grid(**axes: ArrayLike) -> Nuisances:
    """Every combination of the given values, the first name slowest.

    >>> product_grid(p=[0.2, 0.3], noise=[0.9, 1.0]).values.tolist()
    [[0.2, 0.9], [0.2, 1.0], [0.3, 0.9], [0.3, 1.0]]
    """
    columns = [check_array(name, np.atleast_1d(np.asarray(values)), (None,)) for name, values in axes.items()]
    check_size("settings", prod(map(len, columns)), _MOST_SETTINGS)
    mesh = np.meshgrid(*columns, indexing="ij")
    rows = np.column_stack([axis.ravel() for axis in mesh]) if mesh else np.zeros((1, 0))
    return Nuisances(tuple(axes), rows)


@final
@dataclass(frozen=True, slots=True, eq=False)
class States:
    """Finitely many dictionaries of n atoms each, whose columns are drawn from one table of elements.

    A state is a setting, and in each of the sets a choice of candidates; the setting varies slowest, then the first
    set.  A set gives one candidate, or as many as its count allows, unordered: its atoms are those chosen, in
    increasing order, as many as it may have at most; those that a smaller choice lacks are -1.  States are
    mixed-radix numbers, so none is stored.  In another setting candidates are other elements: all of a set, or none.

    Made by `array_states` and `library_states`.  Without a library there are no names, no choices and no calibration
    parameters, and every atom is a region.
    """

    elements: Array = field(repr=False)  # (q, E) every response column that occurs, of norm one
    table: IntArray = field(repr=False)  # (K, candidates) the element that a candidate is in every setting
    members: tuple[IntArray, ...] = field(repr=False)  # of each set, its candidates
    sets: tuple[Subsets, ...] = field(repr=False)  # of each region, and then of each shared column
    library: "Library | None" = None  # whose physical elements they are; None if only columns are known
    regions: tuple[str, ...] = ()  # of the library in the order of the atoms; none without a library
    grid: Nuisances = field(default_factory=Nuisances, repr=False)  # the calibration parameters of the settings
    has_settings: bool = False
    n_states: int = field(init=False, repr=False)  # states are 0 .. n_states - 1
    n_atoms: int = field(init=False, repr=False)  # of every state, n
    blocks: tuple[tuple[int, ...], ...] = field(init=False, repr=False)  # the first atoms, by region
    extra: Array = field(init=False, repr=False)  # (q, m) the last elements: those of no library
    _sizes: tuple[int, ...] = field(init=False, repr=False)  # choices of each set
    _n_choices: int = field(init=False, repr=False)  # states of one setting
    _owner: IntArray = field(init=False, repr=False)  # (n,) which of the sets every atom belongs to
    _keys: dict[tuple[int, ...], tuple[IntArray, IntArray]] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        owner = np.repeat(np.arange(len(self.sets)), [each.high for each in self.sets])
        starts = np.searchsorted(owner, np.arange(len(self.sets) + 1)).tolist()
        n_blocks = len(self.sets) if self.library is None else len(self.regions)
        sizes = [each.size for each in self.sets]
        n_elements = 0 if self.library is None else len(self.table) * len(self.library.ids)
        parts = {
            "n_states": check_size("states", len(self.table) * prod(sizes)),
            "n_atoms": len(owner),
            "blocks": tuple([tuple(range(*starts[j : j + 2])) for j in range(n_blocks)]),
            "extra": self.elements[:, n_elements:],
            "_sizes": tuple(sizes),
            "_n_choices": prod(sizes),
            "_owner": read_only(owner, np.int64),
        }
        for name, value in parts.items():
            object.__setattr__(self, name, value)

    @property
    def responses(self) -> Array:
        """(K, q, E) of the library in every setting; a view, as they are stored once, as elements."""
        q, width = self.elements.shape
        own = self.elements[:, : width - self.extra.shape[1]]
        return own.reshape(q, len(self.table), -1).transpose(1, 0, 2)

    @property
    def library_index(self) -> IntArray:
        """(E,) which element of the library each element is, in whatever setting; -1 for columns that are none."""
        ids = () if self.library is None else self.library.ids
        physical = np.tile(np.arange(len(ids)), len(self.table))
        return read_only(np.append(physical, np.full(self.extra.shape[1], -1)), np.int64)

    @property
    def unlisted(self) -> IntArray:
        """The elements, in whatever setting, that stand for something that the library lacks."""
        regions = () if self.library is None else self.library.regions
        chosen = [number for number, region in enumerate(regions) if region == UNLISTED]
        return np.flatnonzero(np.isin(self.library_index, chosen))

    def element_index(self, states: ArrayLike) -> IntArray:
        """(k,) -> (k, n): which element is atom j of the state, -1 where its region has fewer."""
        setting, digits = self._digits(check_indices("states", states, self.n_states), range(len(self.sets)))
        return self._elements(setting, range(len(self.sets)), digits)

    def choices(self, states: ArrayLike) -> IntArray:
        """(k,) -> (k, R): equal exactly where a region has the same element, or the same set of elements.

        Of a library the number of the set, the same in every setting.
        """
        if self.library is None:
            return self.element_index(states)
        _, digits = self._digits(check_indices("states", states, self.n_states), range(len(self.sets)))
        return np.stack(digits[: len(self.regions)], axis=1)

    def active_keys(self, states: ArrayLike, positions: tuple[int, ...]) -> IntArray:
        """(k,) -> (k,): states share a key exactly when they have the same element at each of these atoms.

        Settings that differ at these atoms, in the order in which they first do, and then the choices, the first
        slowest.
        """
        setting, digits = self._digits(check_indices("states", states, self.n_states), range(len(self.sets)))
        owners = self._owners(positions)
        keys = self._setting_keys(owners)[1][setting]
        for j in owners:
            if self._sizes[j] > 1:
                keys = keys * self._sizes[j] + digits[j]
        return keys

    def n_active(self, positions: tuple[int, ...]) -> int:
        """Number of keys at these atoms; each of 0 .. n_active - 1 is some state's."""
        owners = self._owners(positions)
        return len(self._setting_keys(owners)[0]) * prod(map(self._sizes.__getitem__, owners))

    def active_elements(self, keys: ArrayLike, positions: tuple[int, ...]) -> IntArray:
        """(k,) -> (k, r): the elements that a key stands for, in the order of the atoms, -1 for none."""
        numbers = check_indices("keys", keys, self.n_active(positions))
        owners = self._owners(positions)
        rest, digits = self._digits(numbers, owners)
        return self._elements(self._setting_keys(owners)[0][rest], owners, digits)

    def _elements(self, setting: IntArray, owners: Sequence[int], digits: Sequence[IntArray]) -> IntArray:
        """(k, r) the elements at some sets, by the settings and the choices of each set, (k,)."""
        if self.library is None or not owners:  # each set is one atom, without a choice
            return self.table[setting][:, list(owners)]
        parts = zip(owners, digits, strict=True)
        chosen = np.hstack([np.append(self.members[j], -1)[self.sets[j].members(digit)] for j, digit in parts])
        return np.where(chosen < 0, -1, self.table[setting[:, None], chosen])  # none is -1, the last entry

    def _digits(self, numbers: IntArray, owners: Sequence[int]) -> tuple[IntArray, list[IntArray]]:
        """(k,) what is left, and the digits of mixed-radix numbers (k,), one for each of these sets."""
        rest = numbers
        zeros = np.zeros_like(numbers)  # one array for all sets without a choice, of which there may be thousands
        digits = list[IntArray]()
        for j in reversed(owners):
            digit = zeros
            if self._sizes[j] > 1:
                rest, digit = np.divmod(rest, self._sizes[j])
            digits.append(digit)
        return rest, digits[::-1]

    def _owners(self, positions: tuple[int, ...]) -> tuple[int, ...]:
        """The sets whose atoms these are, all or none of each, since a set has no first one."""
        return tuple(np.unique(self._owner[list(positions)]).tolist())

    def _setting_keys(self, owners: tuple[int, ...]) -> tuple[IntArray, IntArray]:
        """First setting of every key at some sets, and the key of every setting; found once for each list of sets."""
        if len(self.table) == 1:
            return _ALONE, _ALONE
        if owners not in self._keys:
            singles = (self._setting_keys((j,)) for j in owners if len(owners) > 1)
            # A set that differs in every setting tells them apart without a sort.
            telling = next((found for found in singles if len(found[0]) == len(self.table)), None)
            firsts = [self.members[j][0] for j in owners]
            self._keys[owners] = telling or _first_occurrences(self.table[:, firsts])
        return self._keys[owners]

    def names(self, elements: ArrayLike) -> tuple[str, ...]:
        """The ids of the library, the same in every setting; other columns are `shared 0` or `element 0` and so on."""
        numbers = check_indices("elements", elements, self.elements.shape[1]).tolist()
        if self.library is None:
            return tuple(f"element {e}" for e in numbers)
        ids = self.library.ids
        first = self.elements.shape[1] - self.extra.shape[1]
        return tuple(ids[e % len(ids)] if e < first else f"shared {e - first}" for e in numbers)

    @property
    def parameter_values(self) -> dict[str, Array]:
        """(K,) the values of every calibration parameter in all settings, by name."""
        return dict(zip(self.grid.names, self.grid.values.T, strict=True))

    def setting(self, state: int) -> dict[str, float]:
        """The calibration parameters of a state by name; none where the responses are the nominal ones."""
        number = int(check_indices("state", state, self.n_states)[0]) // self._n_choices
        return self.grid.setting(number) if self.grid.names else {}

    def dimensions(self, states: IntArray) -> dict[str, IntArray]:
        """(k,) the values of the calibration parameters, equal ones as equal numbers, by name."""
        found = {}
        for name, column in self.parameter_values.items():
            _, numbers = np.unique(column, return_inverse=True)
            found[f"the calibration parameter {name}"] = numbers.reshape(-1)[states // self._n_choices].astype(np.int64)
        return found

    @property
    def is_line(self) -> bool:
        r"""True if the states stand in the order of one smooth coordinate, on a curve that bends little.

        With all atoms of state k as one vector :math:`x_k`, every step :math:`x_{k+1} - x_k` makes an angle with
        :math:`x_K - x_1` of cosine at least .9.  So does then every sum of steps, :math:`x_l - x_k` for l > k: wherever
        one stands, the neighbours on either side show the way to all that lies beyond them.
        """
        if self.n_states < 3 or any(len(block) > 1 for block in self.blocks):
            return False

        def vectors(states: IntArray) -> Array:  # (k, n q) the atoms one after the other
            return np.asarray(self.elements.T[self.element_index(states)]).reshape(len(states), -1)

        first, last = vectors(np.array([0, self.n_states - 1]))
        whole = last - first
        size = np.linalg.norm(whole)
        count = max(2, _ENTRIES // len(whole))
        for start in range(0, self.n_states - 1, count - 1):
            steps = np.diff(vectors(np.arange(start, min(start + count, self.n_states))), axis=0)
            along = steps @ whole
            if not (along > 0.0).all() or (along < _STRAIGHT * size * np.linalg.norm(steps, axis=1)).any():
                return False
        return True

    def encode(self, array: ArrayWriter) -> dict[str, object]:
        """The content that defines the states: columns and positions, or the library with choices and settings."""
        library = self.library
        if library is None:
            return {"kind": "arrays", "elements": array(self.elements), "index": array(self.table)}
        content = {
            "kind": "library",
            "ids": list(library.ids),
            "regions": list(library.regions),
            "order": list(self.regions),
            "coordinates": array(library.coordinates),
            "responses": array(library.responses),
            "shared": array(np.ascontiguousarray(self.extra)),
        }
        counts = [[each.low, each.high] for each in self.sets[: len(self.regions)]]
        if self.n_atoms > len(self.sets):
            content["counts"] = counts
        if library.unit:
            content["unit"] = library.unit
        if library.extents is not None:
            content["extents"] = array(library.extents)
        if not self.has_settings:
            return content
        settings = self.grid.encode(array) | {"responses": array(self.responses)}
        return {"kind": "library settings", "base": content} | settings


def _first_occurrences(rows: NDArray[np.float64] | IntArray) -> tuple[IntArray, IntArray]:
    """Distinct rows in order of first appearance, compared bit by bit.

    rows: (m, w) C-ordered.  Returns where each distinct row first stands, (u,), and the number of every row's
    distinct row, (m,).
    """
    if rows.shape[1] == 0:
        return np.zeros(min(len(rows), 1), dtype=np.int64), np.zeros(len(rows), dtype=np.int64)
    whole = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.itemsize * rows.shape[1])))[:, 0]
    _, first, label = np.unique(whole, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order].astype(np.int64), rank[label].astype(np.int64)


def array_states(dictionaries: ArrayLike) -> States:
    """Dictionaries given as arrays; equal columns, bit by bit, are one element.

    dictionaries: (K, q, n), unit columns.  They are copied, each distinct column once, in order of first appearance.
    """
    array = check_array("dictionaries", dictionaries, (None, None, None))
    n_states, q, n_atoms = array.shape
    if 0 in array.shape:
        raise MisuseError("dictionaries", "hold at least one state, row and atom", f"shape {array.shape}")
    check_unit_norms("dictionaries", array, ("state", "atom"))
    columns = frozen(array.transpose(0, 2, 1)).reshape(n_states * n_atoms, q)
    first, label = _first_occurrences(columns)
    table = read_only(label.reshape(n_states, n_atoms), np.int64)
    members = tuple(np.arange(n_atoms)[:, None])
    return States(frozen(columns[first].T), table, members, (Subsets(1, 1, 1),) * n_atoms)
