"""Dictionary states: which atoms stand together, without a copy of the atoms for every state."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import InitVar, dataclass, field
from hashlib import sha256
from math import comb
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._arrays import check_indices, read_only
from .._checks import check_array, check_count, check_unit_norms
from .._errors import MisuseError
from .._typing import Array, IntArray

if TYPE_CHECKING:
    from ._library import Library

# Indices are int64; every product of sizes must stay below this.
INDEX_LIMIT = 2**63
# Numbers in one block of dictionaries: 8 MiB.
_ENTRIES = 2**20
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
            raise MisuseError(name, f"hold distinct {what}", f"{row.tolist()} again {where} {number}")
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


class StateFamily(ABC):
    """Finitely many dictionaries of n atoms each, whose columns are drawn from one table of elements.

    A family without a library has no names, no sets and no calibration parameters; every atom is then a region.
    """

    __slots__ = ()
    elements: Array  # (q, E) every response column that occurs, of norm one
    library: "Library | None"  # whose physical elements they are; None if only columns are known
    regions: tuple[str, ...]  # of the library in the order of the atoms; none without a library
    sets: tuple[Subsets, ...]  # the choices of each region of a library
    n_states: int  # states are 0 .. n_states - 1
    n_atoms: int  # of every state, n
    blocks: tuple[tuple[int, ...], ...]  # the first atoms, by region: several where it may have a set of elements

    @abstractmethod
    def element_index(self, states: ArrayLike) -> IntArray:
        """(k,) -> (k, n): which element is atom j of the state, -1 where its region has fewer."""

    @abstractmethod
    def active_keys(self, states: ArrayLike, positions: tuple[int, ...]) -> IntArray:
        """(k,) -> (k,): states share a key exactly when they have the same element at each of these atoms."""

    @abstractmethod
    def n_active(self, positions: tuple[int, ...]) -> int:
        """Number of keys at these atoms; each of 0 .. n_active - 1 is some state's."""

    @abstractmethod
    def active_elements(self, keys: ArrayLike, positions: tuple[int, ...]) -> IntArray:
        """(k,) -> (k, r): the elements that a key stands for, in the order of the positions, -1 for none."""

    @abstractmethod
    def encode(self, array: ArrayWriter) -> dict[str, object]:
        """All that defines the family, by kind."""

    @property
    def library_index(self) -> IntArray:
        """(E,) which element of the library each element is; -1 for columns that are none."""
        return np.full(self.elements.shape[1], -1)

    def choices(self, states: ArrayLike) -> IntArray:
        """(k,) -> (k, R): equal exactly where a region has the same element, or the same set of elements."""
        return self.element_index(states)

    def names(self, elements: ArrayLike) -> tuple[str, ...]:
        """Names of these elements, such as `element 7`."""
        return tuple(f"element {e}" for e in check_indices("elements", elements, self.elements.shape[1]).tolist())

    @property
    def parameter_values(self) -> dict[str, Array]:
        """(K,) the values of every calibration parameter in all settings, by name."""
        return {}

    def setting(self, state: int) -> dict[str, float]:
        """The calibration parameters of a state by name."""
        check_indices("state", state, self.n_states)
        return {}

    def dimensions(self, states: IntArray) -> dict[str, IntArray]:  # noqa: ARG002
        """(k,) the values of the calibration parameters as numbers, by name."""
        return {}

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


@final
@dataclass(frozen=True, slots=True, eq=False)
class ArrayStates(StateFamily):
    """Dictionaries given as arrays; equal columns, bit by bit, are one element.

    dictionaries: (K, q, n), unit columns.  They are copied, each distinct column once.
    """

    dictionaries: InitVar[ArrayLike]
    elements: Array = field(init=False, repr=False)  # (q, E), in order of first appearance
    index: IntArray = field(init=False, repr=False)  # (K, n)
    library: None = field(init=False, repr=False, default=None)
    regions: tuple[str, ...] = field(init=False, repr=False, default=())
    sets: tuple[Subsets, ...] = field(init=False, repr=False, default=())
    n_states: int = field(init=False, repr=False)  # number of dictionaries, K
    n_atoms: int = field(init=False, repr=False)
    blocks: tuple[tuple[int, ...], ...] = field(init=False, repr=False)  # every atom is a region
    _tables: dict[tuple[int, ...], tuple[IntArray, IntArray]] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self, dictionaries: ArrayLike) -> None:
        array = check_array("dictionaries", dictionaries, (None, None, None))
        n_states, q, n_atoms = array.shape
        if 0 in array.shape:
            raise MisuseError("dictionaries", "hold at least one state, row and atom", f"shape {array.shape}")
        check_unit_norms("dictionaries", array, ("state", "atom"))
        columns = frozen(array.transpose(0, 2, 1)).reshape(n_states * n_atoms, q)
        first, label = _first_occurrences(columns)
        parts = {
            "elements": frozen(columns[first].T),
            "index": read_only(label.reshape(n_states, n_atoms), np.int64),
            "n_states": n_states,
            "n_atoms": n_atoms,
            "blocks": tuple((j,) for j in range(n_atoms)),
        }
        for name, value in parts.items():
            object.__setattr__(self, name, value)

    def element_index(self, states: ArrayLike) -> IntArray:
        """(k,) -> (k, n): which element is atom j of the state."""
        return self.index[check_indices("states", states, self.n_states)]

    def active_keys(self, states: ArrayLike, positions: tuple[int, ...]) -> IntArray:
        """(k,) -> (k,): keys in the order in which states first show these elements."""
        return self._table(positions)[1][check_indices("states", states, self.n_states)]

    def n_active(self, positions: tuple[int, ...]) -> int:
        """Number of distinct active dictionaries at these atoms."""
        return len(self._table(positions)[0])

    def active_elements(self, keys: ArrayLike, positions: tuple[int, ...]) -> IntArray:
        """(k,) -> (k, r): the elements that a key stands for."""
        first, _ = self._table(positions)
        return self.index[first[check_indices("keys", keys, len(first))]][:, list(positions)]

    def encode(self, array: ArrayWriter) -> dict[str, object]:
        """The distinct columns and where they stand."""
        return {"kind": "arrays", "elements": array(self.elements), "index": array(self.index)}

    def _table(self, positions: tuple[int, ...]) -> tuple[IntArray, IntArray]:
        """First state of every key, and the key of every state; found once for each set of atoms."""
        if positions not in self._tables:
            singles = (self._table((j,)) for j in positions if len(positions) > 1)
            # An atom that differs in every state tells them apart without a sort.
            telling = next((table for table in singles if len(table[0]) == self.n_states), None)
            self._tables[positions] = telling or _first_occurrences(self.index[:, list(positions)])
        return self._tables[positions]
