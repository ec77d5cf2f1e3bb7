"""Moments of samples, the inversion of population moments, and random turns, which the program itself does not need."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import expm

from physupport._checks import check_array, check_count, check_positive
from physupport._errors import MisuseError
from physupport._typing import Array
from physupport.local.regions import double_contraction, median_of_means_blocks, symmetric_dimension
from physupport.local.regions._moments import (
    _entry_positions,
    activity_probability,
    check_rows,
    mean_fourth_power,
    multiplicity_roots,
    symmetric_matrix,
)


def invert_moments(second: ArrayLike, cumulant: ArrayLike, n_atoms: int) -> tuple[float, float, Array, Array]:
    r"""Solve the Bernoulli-Gaussian moment equations on the branch p < 1/2 (eq:p-trace, eq:population-p-nu-inverse).

    :math:`u = \operatorname{Tr}_2(K_4)/(3n) = p(1-p),\quad p = \tfrac{1-\sqrt{1-4u}}2,\quad
    \nu = \tfrac{\operatorname{tr}M_2 - np}q,\quad \Sigma_2 = \tfrac{M_2-\nu I}p,\quad
    \Sigma_4 = \tfrac{K_4}{3p(1-p)}`.
    Exact at population moments (lem:moment-reduction); at sample moments a plug-in without a guarantee, whose noise may
    come out negative.  second: (q, q).  cumulant: (d_4,) coordinates.  Returns :math:`p, \nu, \Sigma_2` (q, q) and
    :math:`\Sigma_4` (d_4,).
    """
    second = symmetric_matrix("second", second)
    q = len(second)
    cumulant = check_array("cumulant", cumulant, (symmetric_dimension(q, 4),))
    u = double_contraction(cumulant, q) / (3.0 * check_count("n_atoms", n_atoms))
    if not 0.0 < u <= 0.25:
        rule = "have Tr_2(K_4)/(3n) = p(1-p) above 0 and at most 1/4"
        raise MisuseError("cumulant", rule, f"{u:.6g}", "No activity probability below 1/2 has this cumulant.")
    p = activity_probability(u)
    noise = (float(np.trace(second)) - n_atoms * p) / q
    return p, noise, (second - noise * np.eye(q)) / p, cumulant / (3.0 * u)


def sample_second_moment(rows: ArrayLike) -> Array:
    r""":math:`\tfrac1N\sum_i Y_iY_i^\top`.  rows: (N, q).  Returns (q, q)."""
    rows = check_rows("rows", rows)
    return rows.T @ rows / len(rows)


def sample_fourth_moment(rows: ArrayLike) -> Array:
    r"""Coordinates (d_4,) of :math:`\tfrac1N\sum_i Y_i^{\otimes4}`.  rows: (N, q)."""
    return mean_fourth_power(check_rows("rows", rows))


def tensor_coordinates(tensor: ArrayLike) -> Array:
    """Coordinates (d_k,) of the symmetric part of a tensor given by all its q^k entries, for small q."""
    order = np.ndim(tensor)
    q = check_count("q", np.shape(tensor)[0] if order else 0)
    entries = check_array("tensor", tensor, (q,) * order)
    return np.bincount(_entry_positions(q, order), entries.ravel()) / multiplicity_roots(q, order)


def row_threshold(q: int, alphas: tuple[float, float]) -> int:
    r""":math:`N_{\rm MoM} = \max(B_2, B_4)`: with fewer rows the class is kept whole.  alphas: (alpha_2, alpha_4)."""
    return max(
        median_of_means_blocks(1, symmetric_dimension(q, order), alpha)[0]
        for order, alpha in zip((2, 4), alphas, strict=True)
    )


def make_rotation(rng: np.random.Generator, dimension: int, size: float | None = None) -> Array:
    """A rotation: uniform over the orthogonal group, or the exponential of a random skew matrix of the given norm.

    size: Frobenius norm of the skew matrix; uniform unless given.  Returns (dimension, dimension).
    """
    check_count("dimension", dimension)
    gaussian = rng.standard_normal((dimension, dimension))
    if size is None:
        factor, triangle = np.linalg.qr(gaussian)
        # Signs of the diagonal make the factor unique, and with that the law invariant.
        return np.asarray(factor * np.sign(np.diagonal(triangle)))
    skew = gaussian - gaussian.T
    return np.asarray(expm(check_positive("size", size) * skew / np.linalg.norm(skew)))
