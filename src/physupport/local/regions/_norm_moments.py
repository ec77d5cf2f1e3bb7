"""Exact moments of the squared norm of a calibration row, without listing the 2^n active sets."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import comb

from ..._checks import check_positive, check_unit_columns
from ..._typing import Array
from ...laws import CodeLaw
from ..shell import inclusion_probabilities


def squared_norm_moments(law: CodeLaw, atoms: ArrayLike, noise: float) -> tuple[float, float]:
    r""":math:`\mathbb E\|Y\|^4` and :math:`\mathbb E\|Y\|^8` of a row :math:`Y = Dc + \xi`.

    Given the active set J of size k, Y is Gaussian with covariance :math:`C = \nu I + \lambda_k D_JD_J^\top` and
    :math:`\|Y\|^2` has cumulants :math:`\kappa_r = 2^{r-1}(r-1)!\operatorname{tr}C^r`.  The traces are polynomials in
    cycle sums of the Gram matrix over J, whose means over all J of size k are exact (`_cycle_sum_means`): O(n^3).
    atoms: (q, n).
    """
    atoms, nu = check_unit_columns("atoms", atoms), check_positive("noise", noise)
    q, n = atoms.shape
    size = np.arange(n + 1.0)
    weight = law.subset_weights(n) * comb(n, size)  # (n + 1,), probability of the size
    lam = law.active_variances(n)
    s1, (s2, s3, s4, s22) = lam * size, _cycle_sum_means(atoms.T @ atoms) * lam ** np.array([[2], [3], [4], [4]])
    trace = q * nu + s1
    square_base = q * nu**2 + 2.0 * nu * s1
    square = square_base + s2  # mean of tr C^2, and likewise below
    square_squared = square_base**2 + 2.0 * square_base * s2 + s22
    cube = q * nu**3 + 3.0 * nu**2 * s1 + 3.0 * nu * s2 + s3
    quartic = q * nu**4 + 4.0 * nu**3 * s1 + 6.0 * nu**2 * s2 + 4.0 * nu * s3 + s4
    # E Q^4 = k4 + 4 k3 k1 + 3 k2^2 + 6 k2 k1^2 + k1^4 with the cumulants of Q = ||Y||^2.
    eighth = 48.0 * quartic + 32.0 * cube * trace + 12.0 * square_squared + 12.0 * square * trace**2 + trace**4
    return float(weight @ (2.0 * square + trace**2)), float(weight @ eighth)


def _cycle_sum_means(gram: Array) -> Array:
    r"""Means over the subsets J of each size of :math:`S_2, S_3, S_4, S_2^2` with :math:`S_r = \operatorname{tr}G_J^r`.

    A term with t distinct indices lies in J with probability :math:`(k)_t/(n)_t`, so each sum is split by t.  With E
    and F the off-diagonal sums of g^2 and g^4, T the triangle sum and W the sum of :math:`g_{ij}^2g_{il}^2` over
    distinct indices, the splits count the coincidence patterns of the indices; the last is what remains of the whole.
    gram: (n, n) with unit diagonal.  Returns (4, n + 1).
    """
    n = len(gram)
    squares = gram**2
    reach = squares.sum(axis=1) - 1.0  # (n,), off-diagonal row sums
    square_gram = gram @ gram
    e, f = float(reach.sum()), float((squares**2).sum() - n)
    w = float(reach @ reach) - f
    t = float(np.sum(square_gram * gram)) - n - 3.0 * e
    fourth = [n, 6.0 * e + f, 4.0 * t + 2.0 * w]
    paired = [n, 4.0 * e + n * (n - 1.0) + 2.0 * f, 2.0 * (n - 2.0) * e + 4.0 * w]
    splits = np.array(
        [
            [n, e, 0.0, 0.0],
            [n, 3.0 * e, t, 0.0],
            [*fourth, float(np.sum(square_gram**2)) - sum(fourth)],
            [*paired, (n + e) ** 2 - sum(paired)],
        ]
    )
    return splits @ inclusion_probabilities(n, 4)
