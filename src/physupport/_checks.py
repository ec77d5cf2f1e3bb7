"""Checks at the door: every public entry validates here, so that the code behind it need not.

Arrays that pass may be made such that nobody can change them any more.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import index
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._errors import Clause, MisuseError, NotFiniteError, shown
from ._typing import Array, Field, IntArray

if TYPE_CHECKING:
    from typing_extensions import TypeIs

# A column normalised in float64 is off by a few units of rounding; one read from a text file with nine digits by 1e-9.
UNIT_NORM_TOLERANCE = 1e-8

# Products such as D D^T come out symmetric to rounding; anything beyond is a mistake in the input.
SYMMETRY_TOLERANCE = 1e-10

# Beyond this many rows a plan is of no use to anybody, and rounding begins to look like information.
MOST_ROWS = 10**18

# Up to here float64 holds every whole number.
_MOST_WHOLE = 2**53


def as_float64(name: str, values: NDArray[Any], first: int = 0) -> Array:
    """Convert numbers to float64; raise if float64 cannot hold one exactly.

    first: number of the first row, for the message.
    """
    with np.errstate(over="ignore"):
        array = np.asarray(values, dtype=np.float64)
    lost = _lost(values, array)
    if lost is not None and lost.any():
        row, *rest = (int(i) for i in np.argwhere(lost)[0]) if lost.ndim else (0,)
        value = f"{values[(row, *rest)] if lost.ndim else values} at index {(first + row, *rest)}"
        raise MisuseError(name, "be numbers that float64 holds exactly", value)
    return array


def _lost(values: NDArray[Any], array: Array) -> NDArray[np.bool_] | None:
    """Find where the two differ; None for types of which float64 holds every number."""
    kind = values.dtype.kind
    if kind == "O":
        flat = zip(values.ravel().tolist(), array.ravel().tolist(), strict=True)
        return np.array([isinstance(v, int) and v != a for v, a in flat], dtype=np.bool_).reshape(values.shape)
    if kind == "f" and values.dtype.itemsize > 8:
        return np.asarray(np.isfinite(values) & (array.astype(values.dtype) != values))
    if kind not in "iu" or values.dtype.itemsize < 8:
        return None
    lost = np.asarray((values > _MOST_WHOLE) | (values < -_MOST_WHOLE if kind == "i" else False))
    # As Python's numbers, which compare without rounding.
    lost[lost] = array[lost].astype(object) != values[lost].astype(object)
    return lost


def _as_array(name: str, value: ArrayLike) -> NDArray[Any]:
    """Make an array as NumPy does; rows of different lengths are refused."""
    try:
        return np.asarray(value)
    except ValueError:
        raise MisuseError(name, "be an array of real numbers", type(value).__name__) from None


def check_array(name: str, value: ArrayLike, shape: tuple[int | None, ...]) -> Array:
    """A finite float64 array of the given shape; None leaves an axis free."""
    array = _as_array(name, value)
    if np.iscomplexobj(array):
        raise MisuseError(name, "be real", "complex numbers", "Imaginary parts are never dropped.")
    try:
        array = as_float64(name, array)
    except MisuseError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        raise MisuseError(name, "be an array of real numbers", type(value).__name__) from error
    fits = array.ndim == len(shape) and all(want in (None, have) for want, have in zip(shape, array.shape, strict=True))
    if not fits:
        wanted = ", ".join("any" if axis is None else str(axis) for axis in shape)
        raise MisuseError(name, f"have shape ({wanted})", f"shape {array.shape}")
    finite = np.isfinite(array)
    if not finite.all():
        where = tuple(int(i) for i in np.argwhere(~finite)[0])
        raise NotFiniteError(name, "be finite", f"{array[where]} at index {where}")
    return array


def check_unit_columns(name: str, value: ArrayLike, rows: int | None = None) -> Array:
    """A (rows, any) array whose columns have norm one."""
    return check_unit_norms(name, check_array(name, value, (rows, None)), ("column",))


def check_unit_norms(name: str, array: Array, columns: tuple[str, ...]) -> Array:
    """Matrices (..., q, n) whose columns have norm one; columns: what the other axes count, for the message."""
    norms = np.linalg.norm(array, axis=-2)  # (..., n)
    off = np.abs(norms - 1.0)
    if off.size and off.max() > UNIT_NORM_TOLERANCE:
        worst = np.unravel_index(int(off.argmax()), off.shape)
        where = ", ".join(f"{column} {number}" for column, number in zip(columns, worst, strict=True))
        raise MisuseError(name, "have columns of norm 1", Clause(f"the norm is {norms[worst]:.12g} in {where}"))
    return array


def check_symmetric(name: str, matrices: Array) -> Array:
    """Square matrices (..., q, q), each equal to its transpose up to rounding relative to its largest entry."""
    if matrices.ndim < 2 or matrices.shape[-1] != matrices.shape[-2]:
        raise MisuseError(name, "be square", f"shape {matrices.shape}")
    gap = np.abs(matrices - np.swapaxes(matrices, -1, -2)).max(axis=(-1, -2), initial=0.0)
    asymmetric = gap > SYMMETRY_TOLERANCE * np.abs(matrices).max(axis=(-1, -2), initial=0.0)
    if np.any(asymmetric):
        where = tuple(int(i) for i in np.argwhere(asymmetric)[0])
        place = f" in matrix {where}" if where else ""
        raise MisuseError(name, "be symmetric", Clause(f"the asymmetry is {gap[where]:.3g}{place}"))
    return matrices


def check_instance(name: str, value: object, *kinds: type) -> None:
    """An object of the given class, or of one of several."""
    if not isinstance(value, kinds):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise MisuseError(name, f"be of type {names}", f"{type(value).__name__} {shown(value)}")


def check_open(name: str, value: float, lower: float, upper: float) -> float:
    """A number strictly between two bounds."""
    if not lower < check_number(name, value) < upper:
        raise MisuseError(name, f"lie strictly between {lower:g} and {upper:g}", shown(value))
    return float(value)


def check_number(name: str, value: object) -> float:
    """One real number; texts, truth values and arrays of several are refused."""
    if type(value) is bool or not isinstance(value, int | float | np.integer | np.floating):
        raise MisuseError(name, "be a real number", shown(value))
    exact = int(value) if isinstance(value, np.integer) else value
    try:
        number = float(exact)
    except OverflowError:
        number = np.inf
    # Python compares whole numbers with floats without rounding; a NaN is for others to refuse.
    if number != exact and value == value:
        raise MisuseError(name, "be a number that float64 holds exactly", shown(value))
    return number


def check_positive(name: str, value: float) -> float:
    """A finite number above zero."""
    return check_open(name, value, 0.0, np.inf)


def check_nonnegative(name: str, value: float) -> float:
    """A finite number at or above zero."""
    if not 0.0 <= check_number(name, value) < np.inf:
        raise MisuseError(name, "be finite and at least 0", shown(value))
    return float(value)


def check_share(name: str, value: float) -> float:
    """A number from 0 to 1, ends included: a probability, a distance of lines."""
    if not 0.0 <= check_number(name, value) <= 1.0:
        raise MisuseError(name, "lie between 0 and 1", shown(value))
    return float(value)


def is_path(value: object) -> "TypeIs[str | PathLike[str]]":
    """True for the name of a file, where an array or an object may stand in its place."""
    return isinstance(value, str | PathLike)


def is_whole(value: object) -> "TypeIs[int]":
    """True for a whole number, which a truth value is not."""
    return isinstance(value, int | np.integer) and type(value) is not bool


def check_counts(name: str, value: "int | tuple[int, int]", most: int | None = None) -> tuple[int, int]:
    """The least and the most of something; one number is the most."""
    least, largest = (1, value) if is_whole(value) else value
    check_count(name, largest, 1, most)
    return check_count(f"the least {name}", least, 1, largest), largest


def check_count(name: str, value: int, least: int = 1, most: int | None = None) -> int:
    """A whole number within bounds."""
    if not is_whole(value) or value < least or (most is not None and value > most):
        bounds = f"at least {least}" if most is None else f"between {least} and {most}"
        raise MisuseError(name, f"be a whole number {bounds}", shown(value))
    return int(value)


def check_distinct(name: str, values: Sequence[object]) -> None:
    """Raise if a value occurs twice."""
    seen: set[object] = set()
    for value in values:
        if value in seen:
            raise MisuseError(name, "be distinct", Clause(f"{value!r} appears more than once"))
        seen.add(value)


def check_texts(name: str, values: Sequence[str]) -> tuple[str, ...]:
    """Nonempty texts; a single text is not a list of its letters."""
    is_text = isinstance(values, str)
    for text in (values,) if is_text else values:
        if is_text or not isinstance(text, str) or not text:
            raise MisuseError(name, "be a list of nonempty texts", repr(text))
    return tuple(values)


def check_support(name: str, value: Iterable[int], n_atoms: int, least: int = 1) -> tuple[int, ...]:
    """A set of distinct atom indices, sorted, with at least one unless it may be empty."""
    try:
        support = tuple(sorted(index(j) for j in value))
    except TypeError:
        raise MisuseError(name, "hold whole numbers", shown(value)) from None
    if len(support) < least:
        raise MisuseError(name, "hold at least one atom", Clause("the support is empty"))
    if len(set(support)) < len(support):
        raise MisuseError(name, "hold distinct atoms", support)
    if support and (support[0] < 0 or support[-1] >= n_atoms):
        raise MisuseError(name, f"hold indices from 0 to {n_atoms - 1}", support)
    return support


def check_support_size(r: int, q: int) -> int:
    """A support size 2 <= r <= q - 1 within a block of q atoms."""
    return check_count("r", r, 2, q - 1)


@final
@dataclass(frozen=True, slots=True)
class Interval:
    """A closed range of positive numbers, such as the allowed noise variances.

    >>> Interval(0.5, 2.0).contains(1.0)
    True
    """

    lower: float
    upper: float

    def __post_init__(self) -> None:
        if not 0.0 < check_number("lower", self.lower) <= check_number("upper", self.upper) < np.inf:
            raise MisuseError("interval", "satisfy 0 < lower <= upper < inf", (self.lower, self.upper))

    def contains(self, value: float) -> bool:
        """True if the value lies in the closed range."""
        return self.lower <= value <= self.upper


def check_columns(name: str, value: ArrayLike, rows: int | None) -> Field:
    """A finite matrix (rows, any), float64 or complex128."""
    columns = _as_array(name, value)
    if not np.iscomplexobj(columns):
        return check_array(name, columns, (rows, None))
    array = columns.astype(np.complex128)
    check_array(name, array.real, (rows, None))
    check_array(name, array.imag, (rows, None))
    return array


Entry = TypeVar("Entry", bound=np.generic)


def read_only(value: ArrayLike, dtype: type[np.generic] | None = None) -> NDArray[Any]:
    """A copy that nobody can write to: what a protocol is frozen with must not change under it.

    What the entries may be is checked where they are used.  Axes keep their order in memory unless a type is given.
    """
    copied = np.array(value, dtype=dtype, order="K" if dtype is None else "C")
    copied.flags.writeable = False
    return copied


def read_only_view(array: NDArray[Entry]) -> NDArray[Entry]:
    """The same memory, through which nobody can write: what its owner changes is seen."""
    view = array.view()
    view.flags.writeable = False
    return view


def check_whole(name: str, value: ArrayLike, ndim: int = 1) -> IntArray:
    """An int64 array of the given number of axes; floats and booleans are refused, not rounded."""
    array = np.asarray(value)
    if array.size and array.dtype.kind not in "iu":
        raise MisuseError(name, "be whole numbers", f"values of type {array.dtype}")
    if array.ndim != ndim:
        raise MisuseError(name, f"have {ndim} axes", f"shape {array.shape}")
    return array.astype(np.int64)


def check_indices(name: str, value: ArrayLike, count: int, *, least: int = 0, place: str = "at position") -> IntArray:
    """(k,) whole numbers from least to count - 1; a single number counts as k = 1.

    place: how a message says where a wrong one stands.
    """
    array = np.atleast_1d(np.asarray(value))
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise MisuseError(name, "be a list of whole numbers", f"{array.dtype} of shape {array.shape}")
    outside = (array < least) | (array >= count)
    if outside.any():
        where = int(outside.argmax())
        raise MisuseError(name, f"lie from {least} to {count - 1}", f"{array[where]} {place} {where}")
    return array.astype(np.int64, copy=False)


def check_order(name: str, value: ArrayLike, count: int) -> IntArray:
    """(k,) distinct whole numbers from 0 to count - 1."""
    order = check_indices(name, value, count)
    again = np.bincount(order, minlength=1) > 1
    if again.any():
        raise MisuseError(name, "be distinct", Clause(f"{int(again.argmax())} appears more than once"))
    return order
