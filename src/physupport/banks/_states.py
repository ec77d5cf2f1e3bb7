"""Dictionary states: which atoms stand together, without a copy of the atoms for every state."""

from collections.abc import Sequence
from dataclasses import InitVar, dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._arrays import check_indices, read_only
from .._checks import check_array, check_unit_norms
from .._codec import array_json
from .._errors import MisuseError
from .._hashes import Record
from .._typing import Array, IntArray

if TYPE_CHECKING:
    from ._library import Library
    from ._subsets import Subsets


# Indices are int64; every product of sizes must stay below this.
INDEX_LIMIT = 2**63


def frozen(array: ArrayLike) -> Array:
    """A read-only C-ordered float64 copy without negative zeros, which would compare equal and hash differently."""
    return read_only(np.asarray(array, dtype=np.float64) + 0.0, np.float64)


def check_size(name: str, size: int, limit: int = INDEX_LIMIT) -> int:
    """A product of sizes that an int64 index can count, or that memory has room for."""
    if size >= limit:
        raise MisuseError(name, f"number fewer than {limit}", size)
    return size


def first_occurrences(rows: NDArray[np.float64] | NDArray[np.int64]) -> tuple[IntArray, IntArray]:
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


def check_distinct_rows(name: str, rows: Array, what: str, where: str) -> None:
    """No row twice; what the rows are, and how a message says where one stands again."""
    first, label = first_occurrences(rows)
    if len(first) < len(rows):
        again = int(np.flatnonzero(first[label] < np.arange(len(rows)))[0])
        raise MisuseError(name, f"hold distinct {what}", f"{rows[again].tolist()} again {where} {again}")


class StateFamily(Protocol):
    """Finitely many dictionaries of n atoms each, whose columns are drawn from one table of elements."""

    @property
    def elements(self) -> Array:
        """(q, E) every response column that occurs, of norm one."""

    @property
    def library(self) -> "Library | None":
        """Whose physical elements they are; None if only columns are known."""

    @property
    def regions(self) -> tuple[str, ...]:
        """The regions of the library in the order of the atoms; none without a library."""

    @property
    def library_index(self) -> IntArray:
        """(E,) which element of the library each element is; -1 for columns that are none."""

    @property
    def n_states(self) -> int:
        """States are 0 .. n_states - 1."""

    @property
    def n_atoms(self) -> int:
        """Atoms of every state, n."""

    @property
    def n_regions(self) -> int:
        """What is asked about; atoms of no region only serve the calibration."""

    @property
    def blocks(self) -> tuple[tuple[int, ...], ...]:
        """The atoms of each region, the first ones: several where a region may have several elements, as a set."""

    @property
    def sets(self) -> "tuple[Subsets, ...]":
        """Of a library, the choices of each region; others have none to tell."""

    def choices(self, states: ArrayLike) -> IntArray:
        """(k,) -> (k, R): equal exactly where a region has the same element, or the same set of elements."""

    def element_index(self, states: ArrayLike) -> IntArray:
        """(k,) -> (k, n): which element is atom j of the state, -1 where its region has fewer."""

    def active_keys(self, states: ArrayLike, positions: tuple[int, ...]) -> IntArray:
        """(k,) -> (k,): states share a key exactly when they have the same element at each of these atoms."""

    def n_active(self, positions: tuple[int, ...]) -> int:
        """Number of keys at these atoms; each of 0 .. n_active - 1 is some state's."""

    def active_elements(self, keys: ArrayLike, positions: tuple[int, ...]) -> IntArray:
        """(k,) -> (k, r): the elements that a key stands for, in the order of the positions, -1 for none."""

    def names(self, elements: ArrayLike) -> tuple[str, ...]:
        """What to call each of these elements."""

    @property
    def parameter_values(self) -> dict[str, Array]:
        """(K,) the values of every calibration parameter in all settings, by name; empty where there are none."""

    def setting(self, state: int) -> dict[str, float]:
        """The calibration parameters by name, where states differ in such; else empty."""

    def dimensions(self, states: IntArray) -> dict[str, IntArray]:
        """(k,) the values of the calibration parameters as numbers, by name; empty where there are none."""

    def records(self) -> list[Record]:
        """All that defines the family, for the hash of a bank."""

    def encode(self) -> dict[str, object]:
        """The same for a document, by kind."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class ArrayStates:
    """Dictionaries given as arrays; equal columns, bit by bit, are one element.

    dictionaries: (K, q, n), unit columns.  They are copied, each distinct column once.
    """

    dictionaries: InitVar[ArrayLike]
    elements: Array = field(init=False, repr=False)  # (q, E), in order of first appearance
    index: IntArray = field(init=False, repr=False)  # (K, n)
    _tables: dict[tuple[int, ...], tuple[IntArray, IntArray]] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self, dictionaries: ArrayLike) -> None:
        array = check_array("dictionaries", dictionaries, (None, None, None))
        n_states, q, n_atoms = array.shape
        if 0 in array.shape:
            raise MisuseError("dictionaries", "hold at least one state, row and atom", f"shape {array.shape}")
        check_unit_norms("dictionaries", array, ("state", "atom"))
        columns = frozen(array.transpose(0, 2, 1)).reshape(n_states * n_atoms, q)
        first, label = first_occurrences(columns)
        object.__setattr__(self, "elements", frozen(columns[first].T))
        object.__setattr__(self, "index", read_only(label.reshape(n_states, n_atoms), np.int64))

    @property
    def library(self) -> None:
        """Columns alone."""
        return None

    @property
    def regions(self) -> tuple[str, ...]:
        """None."""
        return ()

    @property
    def library_index(self) -> IntArray:
        """(E,) none is of a library."""
        return np.full(self.elements.shape[1], -1)

    @property
    def n_states(self) -> int:
        """Number of dictionaries, K."""
        return len(self.index)

    @property
    def n_atoms(self) -> int:
        """Atoms of every state, n."""
        return int(self.index.shape[1])

    @property
    def n_regions(self) -> int:
        """Every atom is asked about."""
        return self.n_atoms

    @property
    def blocks(self) -> tuple[tuple[int, ...], ...]:
        """Every atom is a region of its own."""
        return tuple((j,) for j in range(self.n_atoms))

    @property
    def sets(self) -> "tuple[Subsets, ...]":
        """Columns alone."""
        return ()

    def choices(self, states: ArrayLike) -> IntArray:
        """(k,) -> (k, n): the elements."""
        return self.element_index(states)

    def element_index(self, states: ArrayLike) -> IntArray:
        """(k,) -> (k, n): which element is atom j of the state."""
        return self.index[check_indices("states", states, self.n_states)]

    def active_keys(self, states: ArrayLike, positions: tuple[int, ...]) -> IntArray:
        """(k,) -> (k,): keys in the order in which states first show these elements."""
        _, label = self._table(positions)
        return label[check_indices("states", states, self.n_states)]

    def n_active(self, positions: tuple[int, ...]) -> int:
        """Number of distinct active dictionaries at these atoms."""
        first, _ = self._table(positions)
        return len(first)

    def active_elements(self, keys: ArrayLike, positions: tuple[int, ...]) -> IntArray:
        """(k,) -> (k, r): the elements that a key stands for."""
        first, _ = self._table(positions)
        return self.index[first[check_indices("keys", keys, len(first))]][:, list(positions)]

    def names(self, elements: ArrayLike) -> tuple[str, ...]:
        """Elements of arrays have no names of their own: `element 7`."""
        return tuple(f"element {e}" for e in check_indices("elements", elements, self.elements.shape[1]).tolist())

    @property
    def parameter_values(self) -> dict[str, Array]:
        """Arrays come without parameters."""
        return {}

    def setting(self, state: int) -> dict[str, float]:
        """Arrays come without parameters."""
        check_indices("state", state, self.n_states)
        return {}

    def dimensions(self, states: IntArray) -> dict[str, IntArray]:  # noqa: ARG002
        """Arrays come without parameters."""
        return {}

    def records(self) -> list[Record]:
        """The distinct columns and where they stand."""
        return [("array states", ()), ("elements", self.elements), ("index", self.index)]

    def encode(self) -> dict[str, object]:
        """The distinct columns and where they stand."""
        return {"kind": "arrays", "elements": array_json(self.elements), "index": array_json(self.index)}

    def _table(self, positions: tuple[int, ...]) -> tuple[IntArray, IntArray]:
        """First state of every key, and the key of every state; found once for each set of atoms."""
        if positions not in self._tables:
            check_positions(positions, self.n_atoms)
            self._tables[positions] = self._telling_atom(positions) or first_occurrences(self.index[:, list(positions)])
        return self._tables[positions]

    def _telling_atom(self, positions: tuple[int, ...]) -> tuple[IntArray, IntArray] | None:
        """The table of an atom that differs in every state, if there is one: it tells them apart without a sort."""
        singles = (self._table((j,)) for j in positions if len(positions) > 1)
        return next((table for table in singles if len(table[0]) == self.n_states), None)


def check_positions(positions: Sequence[int], n_atoms: int) -> None:
    """Atoms in increasing order, possibly none."""
    rising = all(a < b for a, b in pairwise(positions))
    if not rising or (positions and (positions[0] < 0 or positions[-1] >= n_atoms)):
        raise MisuseError("positions", f"be increasing atoms from 0 to {n_atoms - 1}", positions)
