"""Coordinatewise median of means: moment estimates with radii that hold for every law in the class."""

from dataclasses import dataclass
from math import ceil, log, sqrt
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from ..._checks import check_count, check_open, check_positive
from ..._errors import MisuseError
from ..._typing import Array
from ._moments import check_rows, mean_fourth_power, sample_cumulant
from ._tensors import multi_indices, multiplicity_roots, symmetric_dimension


@final
@dataclass(frozen=True, slots=True)
class Blocks:
    """Consecutive blocks of rows, fixed before the data: count of blocks and rows in each; later rows are left out."""

    count: int
    size: int


def median_of_means_blocks(n_rows: int, dimension: int, alpha: float) -> Blocks:
    r""":math:`B = \lceil 8\log(2d/\alpha)\rceil` blocks of :math:`m = \lfloor N/B\rfloor` rows (eq:sm-tech-s13-6).

    Size 0 says that the rows do not suffice.
    """
    dimension, alpha = check_count("dimension", dimension), check_open("alpha", alpha, 0.0, 1.0)
    count = ceil(8.0 * log(2.0 * dimension / alpha))
    return Blocks(count, check_count("n_rows", n_rows) // count)


def row_threshold(q: int, alphas: tuple[float, float]) -> int:
    r""":math:`N_{\rm MoM} = \max(B_2, B_4)`: with fewer rows the class is kept whole.  alphas: (alpha_2, alpha_4)."""
    return max(
        median_of_means_blocks(1, symmetric_dimension(q, order), alpha).count
        for order, alpha in zip((2, 4), alphas, strict=True)
    )


def norm_moment_bounds(q: int, spectral_bound: float) -> tuple[float, float]:
    r"""Bounds of :math:`v_k = \sup_\theta(\mathbb E\|Y\|^{2k})^{1/2}` for k = 2 and 4.

    :math:`v_2^2 \le \Lambda^2q(q+2)` (eq:sm-tech-s13-4) and :math:`v_4^2 \le \Lambda^4q(q+2)(q+4)(q+6)`
    (eq:sm-tech-s13-5): rows are Gaussian given the active set, with covariance at most :math:`\Lambda I`.
    """
    q, top = check_count("q", q), check_positive("spectral_bound", spectral_bound)
    return top * sqrt(q * (q + 2.0)), top**2 * sqrt(q * (q + 2.0) * (q + 4.0) * (q + 6.0))


@final
@dataclass(frozen=True, slots=True)
class MomentRadii:
    """Radii of the calibration rectangle (eq:training-rectangle), in Frobenius norm."""

    second: float  # epsilon_2
    fourth: float  # epsilon_4, raw
    cumulant: float  # epsilon_K

    @property
    def combined(self) -> float:
        r""":math:`\epsilon_N = (\epsilon_{2,N}^2 + \epsilon_{K,N}^2)^{1/2}` (eq:combined-moment-radius)."""
        return float(np.hypot(self.second, self.cumulant))


def moment_radii(n_rows: int, q: int, spectral_bound: float, alphas: tuple[float, float]) -> MomentRadii | None:
    r"""Radii that hold together with probability at least :math:`1-\alpha_2-\alpha_4` under every law of the class.

    :math:`\epsilon_2 = 2v_2\sqrt{d_2/m_2}` (eq:sm-tech-s13-7), :math:`\epsilon_4 = 2v_4\sqrt{d_4/m_4}`
    (eq:sm-tech-s13-8), :math:`\epsilon_K = \epsilon_4 + 3\epsilon_2(2\sqrt q\Lambda + \epsilon_2)` (eq:sm-tech-s13-12).
    None below the threshold of rows.

    Why: a block mean misses its target by more than :math:`2\sigma/\sqrt m` with probability at most 1/4
    (Chebyshev); the lower median misses only if half the blocks do, which has probability at most
    :math:`e^{-B/8}` (Hoeffding); the union over coordinates costs d.  For the cumulant,
    :math:`\widehat M_2^{\odot2} - M_2^{\odot2} = (\widehat M_2 - M_2)\odot(\widehat M_2 + M_2)` and
    :math:`\|M_2\|_F \le \sqrt q\Lambda`.
    """
    bounds, dimensions = norm_moment_bounds(q, spectral_bound), [symmetric_dimension(q, k) for k in (2, 4)]
    sizes = [median_of_means_blocks(n_rows, d, a).size for d, a in zip(dimensions, alphas, strict=True)]
    if min(sizes) < 1:
        return None
    second, fourth = (2.0 * v * sqrt(d / m) for v, d, m in zip(bounds, dimensions, sizes, strict=True))
    return MomentRadii(second, fourth, fourth + 3.0 * second * (2.0 * sqrt(q) * spectral_bound + second))


@final
@dataclass(frozen=True, slots=True, eq=False)
class MomentEstimate:
    """Median-of-means moments of the rows."""

    second: Array  # (q, q)
    fourth: Array  # (d_4,) coordinates

    @property
    def cumulant(self) -> Array:
        """Coordinates (d_4,) of the estimated fourth cumulant."""
        return sample_cumulant(self.second, self.fourth)


def moment_estimate(rows: ArrayLike, alphas: tuple[float, float]) -> MomentEstimate | None:
    """Coordinatewise median of means of the second and fourth moments; None below the threshold of rows.

    rows: (N, q).  The blocks follow the order of the rows, so the rows must be independent draws.
    """
    rows = check_rows("rows", rows)
    n_rows, q = rows.shape
    blocks = [median_of_means_blocks(n_rows, symmetric_dimension(q, k), a) for k, a in zip((2, 4), alphas, strict=True)]
    if min(block.size for block in blocks) < 1:
        return None
    second, fourth = (lower_median(block_moments(rows, block, k)) for k, block in zip((2, 4), blocks, strict=True))
    matrix = np.empty((q, q))
    left, right = multi_indices(q, 2).T
    matrix[left, right] = matrix[right, left] = second / multiplicity_roots(q, 2)
    return MomentEstimate(matrix, fourth)


def block_moments(rows: Array, blocks: Blocks, order: int) -> Array:
    """Mean tensor power of order 2 or 4 within every block, (N, q) -> (count, d) coordinates."""
    parts = rows[: blocks.count * blocks.size].reshape(blocks.count, blocks.size, -1)  # (count, size, q)
    if order == 4:
        return np.stack([mean_fourth_power(part) for part in parts])
    q = parts.shape[2]
    left, right = multi_indices(q, 2).T
    gram = np.swapaxes(parts, 1, 2) @ parts / blocks.size  # (count, q, q)
    return np.asarray(gram[:, left, right] * multiplicity_roots(q, 2))


def lower_median(values: Array) -> Array:
    """The ceil(B/2)-th smallest of B values in every column, (B, d) -> (d,); of two middle values the lower."""
    middle = (len(values) - 1) // 2
    return np.asarray(np.partition(values, middle, axis=0)[middle])


def check_split(alpha: float, split: tuple[float, float] | None) -> tuple[float, float]:
    """The shares (alpha_2, alpha_4) of the two orders: half each unless given, positive, at most alpha together."""
    alpha = check_open("alpha", alpha, 0.0, 1.0)
    if split is None:
        return alpha / 2.0, alpha / 2.0
    shares = check_open("split[0]", split[0], 0.0, 1.0), check_open("split[1]", split[1], 0.0, 1.0)
    if sum(shares) > alpha * (1.0 + 1e-12):
        raise MisuseError("split", f"sum to at most alpha = {alpha:g}", split)
    return shares
