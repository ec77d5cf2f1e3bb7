"""Rows that are linear in coefficients that nobody knows: what judges of composite explanations need of a law."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_array
from .._typing import Array, Field, IntArray
from ..banks import Bank
from ..io import RowSource
from ..io._rows import as_complex

# Of a column of norm 1, what is left beside the others; less is taken for rounding, and the column for dependent.
RANK_TOLERANCE = 1e-8


@final
@dataclass(frozen=True, slots=True, eq=False)
class Design:
    r"""Explanations :math:`z = N_e\theta + \sigma\varepsilon` with white noise, by the keys of a law.

    Key k stands for row k // s of the supports and for noise setting k % s, s of them.  Columns are those of whitened
    rows.  An active coefficient lies between low and high of its column and has at least the absolute value least, or
    one of those together with it has.
    """

    columns: Field  # (p, E) that may be active
    names: tuple[str, ...]  # (E,)
    supports: IntArray  # (K, r) active columns, padded with -1
    background: Field  # (p, b) always there
    rows: str  # "same mean", or "free": every row has coefficients of its own
    deviations: tuple[float | None, ...]  # (s,) sigma, of complex noise E|eps|^2 = 1; None where it is not known
    whitener: Field | None  # (p, q), by which measured rows are multiplied; None leaves them as they are
    low: Array  # (E,)
    high: Array  # (E,)
    least: Array  # (E,)
    cells: tuple[IntArray, Array] | None = None  # (E,) of which a column is a derivative, and its half step, else inf
    exposure: Array | None = None  # (T,) of every row of counts; the same for all unless given
    is_estimated: bool = False  # whether the whitener comes from rows, so that white noise is not quite white
    is_cone: bool = False  # active coefficients are not negative, which evidence holds them to
    radii: Array | None = None  # (E,) how far a column may be off, as a vector of this length
    is_random: bool = False  # of free rows, whether coefficients are Gaussian about 0, with one covariance that is open
    together: IntArray | None = None  # (E,) numbers: of active columns with the same one reaches its least; else each

    @property
    def is_bounded(self) -> bool:
        """Whether a coefficient has an end, or a least absolute value."""
        return bool((np.isfinite(self.low) | np.isfinite(self.high) | (self.least > 0.0)).any())

    @property
    def active(self) -> tuple[tuple[int, ...], ...]:
        """The active columns of each row of the supports."""
        return tuple(tuple(row[row >= 0].tolist()) for row in self.supports)

    def whitened(self, columns: Field) -> Field:
        """Columns (q, k), or rows as columns, as the whitened channels see them."""
        return columns if self.whitener is None else np.asarray(self.whitener @ columns)

    def whitened_rows(self, rows: RowSource, is_complex: bool) -> Field:
        """(T, p) all rows, as numbers of the instrument."""
        table = np.concatenate([*rows.blocks()]).T
        return np.asarray(self.whitened(as_complex(table) if is_complex else table).T)


def with_variants(columns: Field, supports: IntArray, variants: Field | None) -> tuple[Field, IntArray]:
    """Columns (q, E) and then all their variants (V, q, E); whatever has an active column has its variants, too."""
    if variants is None:
        return columns, supports
    count = columns.shape[1]
    of_variants = [np.where(supports >= 0, supports + count * v, -1) for v in range(1, len(variants) + 1)]
    return np.hstack([columns, *variants]), np.hstack([supports, *of_variants])


def tangent_cells(half_steps: Array, count: int) -> tuple[IntArray, Array]:
    r"""Owners and half steps of columns (count) and then all their derivatives (V times count).

    With :math:`a(p + \delta) = a(p) + \delta a'(p)` to first order, the coefficient of the derivative is
    :math:`\tau = \delta\theta`: where :math:`|\tau| \le h|\theta|`, the parameter lies within h of its value.
    """
    size = (1 + len(half_steps)) * count
    return np.arange(size) % count, np.repeat(np.append(np.inf, half_steps), count)


def ball_radii(error: float, columns: Field, whitener: Field | None) -> Array:
    """(E,) how far responses may be off; whitening makes an ellipsoid of a ball, within one of its longest axis."""
    longest = 1.0 if whitener is None else float(np.linalg.norm(whitener, 2))
    return np.asarray(error * longest * np.linalg.norm(columns, axis=0) * (1.0 + 1e-12))


def by_element(bank: Bank, values: Mapping[str, float], otherwise: float) -> Array:
    """(E,) what is said of the region of each element of the states; shared columns have none."""
    library = bank.states.library
    if library is None or not values:
        return np.full(bank.states.elements.shape[1], otherwise)
    by_library = np.array([*(values.get(region, otherwise) for region in library.regions), otherwise])
    return np.asarray(by_library[bank.states.library_index])


def check_variants(variants: ArrayLike | None, n_channels: int, n_columns: int) -> Array | None:
    """(V, q, E) further responses of every column, where there are some."""
    return None if variants is None else check_array("variants", variants, (None, n_channels, n_columns))
