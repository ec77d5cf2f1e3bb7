"""Checks at the door: every public entry validates here, so that the code behind it need not."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from ._errors import MisuseError, NotFiniteError
from ._typing import Array

# A column normalised in float64 is off by a few units of rounding; one read from a text file with nine digits by 1e-9.
UNIT_NORM_TOLERANCE = 1e-8

# Products such as D D^T come out symmetric to rounding; anything beyond is a mistake in the input.
SYMMETRY_TOLERANCE = 1e-10


def check_array(name: str, value: ArrayLike, shape: tuple[int | None, ...]) -> Array:
    """A finite float64 array of the given shape; None leaves an axis free."""
    if np.iscomplexobj(value):
        raise MisuseError(name, "be real", "complex numbers", "Imaginary parts are never dropped.")
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
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
    array = check_array(name, value, (rows, None))
    norms = np.linalg.norm(array, axis=0)
    worst = int(np.argmax(np.abs(norms - 1.0))) if norms.size else 0
    if norms.size and abs(norms[worst] - 1.0) > UNIT_NORM_TOLERANCE:
        raise MisuseError(name, "have columns of norm 1", f"norm {norms[worst]:.12g} in column {worst}")
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
        raise MisuseError(name, "be symmetric", f"asymmetry {gap[where]:.3g}{place}")
    return matrices


def check_instance(name: str, value: object, kind: type | tuple[type, ...]) -> None:
    """An object of the given class, or of one of several."""
    if not isinstance(value, kind):
        names = " or ".join(each.__name__ for each in (kind if isinstance(kind, tuple) else (kind,)))
        raise MisuseError(name, f"be of type {names}", f"{type(value).__name__} {value!r}")


def check_open(name: str, value: float, lower: float, upper: float) -> float:
    """A number strictly between two bounds."""
    if not lower < check_number(name, value) < upper:
        raise MisuseError(name, f"lie strictly between {lower:g} and {upper:g}", repr(value))
    return float(value)


def check_number(name: str, value: object) -> float:
    """One real number; texts, truth values and arrays of several are refused."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        raise MisuseError(name, "be a real number", repr(value))
    return float(value)


def check_positive(name: str, value: float) -> float:
    """A finite number above zero."""
    return check_open(name, value, 0.0, np.inf)


def check_nonnegative(name: str, value: float) -> float:
    """A finite number at or above zero."""
    if not 0.0 <= check_number(name, value) < np.inf:
        raise MisuseError(name, "be finite and at least 0", repr(value))
    return float(value)


def check_count(name: str, value: int, least: int = 1, most: int | None = None) -> int:
    """A whole number within bounds."""
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not is_whole or value < least or (most is not None and value > most):
        bounds = f"at least {least}" if most is None else f"between {least} and {most}"
        raise MisuseError(name, f"be a whole number {bounds}", repr(value))
    return int(value)


def check_support(name: str, value: Iterable[int], n_atoms: int) -> tuple[int, ...]:
    """A nonempty set of distinct atom indices, sorted."""
    support = tuple(sorted(int(j) for j in value))
    if not support:
        raise MisuseError(name, "hold at least one atom", "an empty support")
    if len(set(support)) < len(support):
        raise MisuseError(name, "hold distinct atoms", support)
    if support[0] < 0 or support[-1] >= n_atoms:
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
        """Whether the value lies in the closed range."""
        return self.lower <= value <= self.upper
