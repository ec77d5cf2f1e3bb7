r"""What the row loops of the latent-code stream may have rounded away; derived in docs/numerics-latent.md.

u = 2^-53.  Every term is nonnegative and evaluated in few operations; one last factor 1 + 2^-20 outweighs their
rounding and the second orders (1 + gamma) that are left out.
"""

from dataclasses import dataclass
from math import comb
from typing import final

import numpy as np

from ..._exp import EXP2_ERROR, LN2, LOG_ERROR, U
from ..._typing import Array, IntArray

_SAFE = 1.0 + 2.0**-20
# What underflows in squares and products of a row is below 2^-1000; this outweighs it.
_TINY = 2.0**-500


@final
@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """How the rows were read: what all keys share at each checkpoint, (c,) each."""

    n_rows: IntArray
    n_segments: IntArray
    squares: Array  # computed sum of squared entries
    width: int
    lanes: int
    blocks: int  # most blocks in one segment

    @property
    def squares_error(self) -> Array:
        """Relative error of the sums of squares: one rounding each, and a compensated sum."""
        count = self.n_rows * float(self.width)
        return np.asarray(4.0 * U + 2.0 * (count * U) ** 2, dtype=np.float64)

    @property
    def reference_error(self) -> Array:
        """Relative error of the sums of reference exponents: lanes, their folding, and a compensated sum."""
        depth = self.blocks + self.lanes.bit_length() + 4.0
        return np.asarray(depth * U + 2.0 * (self.n_segments * U) ** 2, dtype=np.float64)

    @property
    def multiplications(self) -> Array:
        """Most roundings in the product of the densities of the rows."""
        return self.n_rows + self.n_segments * (self.lanes + 1.0)


def exponent_errors(run: Run, n_atoms: int, path: Array, reference: Array) -> Array:
    r"""Sum over the rows of the largest error of an exponent, in powers of two; (F, c).

    path: (F,) the largest :math:`T^2 = \sum \tau^2` along a path; reference: (F, c) the computed sums R of the largest
    exponent of each row.  A square root of an exponent errs by at most :math:`T\|y\|`, a sum of squares by the factor
    :math:`1 + \gamma`; Cauchy-Schwarz adds up the rows: with :math:`\rho = \sqrt{R} + T\sqrt V`,
    :math:`\gamma\rho^2 + 2T\rho\sqrt V + T^2 V`.
    """
    gamma = (n_atoms + 4.0) * U
    step = np.sqrt(path)[:, None] * np.sqrt(run.squares)  # (F, c): T sqrt(V)
    root = np.sqrt(reference) + step
    return np.asarray(gamma * root**2 + 2.0 * step * root + step**2)


def density_error(n_atoms: int, multipliers: Array) -> Array:
    """Relative error of a row's density with the exponents given; (F,).  Infinite beyond one half.

    multipliers: (F,) the largest relative error of a multiplier.  The exponential, its product, the sum over the sets
    of one size, the weight, its product, the sum over sizes, and what the clipped exponents leave.
    """
    roundings = comb(n_atoms, n_atoms // 2) + n_atoms + 7.0
    relative = multipliers + EXP2_ERROR + roundings * U
    return np.where(relative < 0.5, relative / (1.0 - relative), np.inf)


def total_errors(
    run: Run, n_atoms: int, noises: Array, scalars: Array, determinant_errors: Array, reference: Array
) -> Array:
    """Errors of the log likelihoods of every factor at every checkpoint, without the final sum; (F, c)."""
    exponents = LN2 * (2.0 * exponent_errors(run, n_atoms, scalars[:, 0], reference) + run.reference_error * reference)
    densities = density_error(n_atoms, scalars[:, 1])[:, None] * run.n_rows + U * run.multiplications
    squares = run.squares_error * run.squares / (2.0 * noises[:, None])
    determinants = 0.5 * run.n_rows * determinant_errors[:, None]
    return _SAFE * (exponents + densities + squares + determinants + LOG_ERROR + (run.n_rows + 1.0) * _TINY)


def final_errors(terms: Array) -> Array:
    """Error of adding six terms, each already rounded at most three times; (6, ...) -> (...)."""
    return np.asarray(_SAFE * 8.0 * U * np.abs(terms).sum(axis=0))
