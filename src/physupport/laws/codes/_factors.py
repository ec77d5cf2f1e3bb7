"""Cholesky factors of stacks of covariances, checked at the door, and whitening by forward substitution."""

import numpy as np

from ..._checks import check_symmetric
from ..._errors import MisuseError
from ..._typing import Array


def cholesky_factors(name: str, covariances: Array) -> Array:
    """Lower Cholesky factors of a stack (m, q, q) of covariances; raises where one is not positive definite.

    A squared pivot is a difference whose rounding error reaches q eps times the diagonal entry it started from: below
    that, the covariance cannot be told from a singular one and its density is not determined by the input.
    """
    q = covariances.shape[-1]
    if q == 0 or covariances.shape[-2] != q:
        raise MisuseError(name, "be square", f"shape {covariances.shape}")
    check_symmetric(name, covariances)
    try:
        factors = np.linalg.cholesky(covariances)
    except np.linalg.LinAlgError:
        factors = np.zeros_like(covariances)
    pivots = np.diagonal(factors, axis1=-2, axis2=-1) ** 2  # (m, q)
    floor = q * np.finfo(np.float64).eps * np.abs(np.diagonal(covariances, axis1=-2, axis2=-1))
    if np.any(pivots <= floor):
        smallest = np.linalg.eigvalsh(covariances)[:, 0]  # (m,)
        worst = int(smallest.argmin())
        raise MisuseError(name, "be positive definite", f"smallest eigenvalue {smallest[worst]:.3g} in matrix {worst}")
    return np.asarray(factors)


def forward_solved(factors: Array, right: Array) -> Array:
    """L^-1 applied to every right-hand side: factors (m, q, q) lower triangular, right (..., m, q, c)."""
    solved = np.empty_like(right)
    for a in range(factors.shape[-1]):
        earlier = np.einsum("mc,...mcd->...md", factors[:, a, :a], solved[..., :a, :])
        solved[..., a, :] = (right[..., a, :] - earlier) / factors[:, a, a, None]
    return solved


def whitened_matrices(factors: Array, matrices: Array) -> Array:
    """L^-1 H L^-T for a stack of symmetric H: factors (m, q, q), matrices (..., m, q, q)."""
    half = forward_solved(factors, matrices)
    return forward_solved(factors, np.swapaxes(half, -1, -2))
