"""Turns of the block that the deployment mean does not see."""

import numpy as np
from numpy.typing import ArrayLike

from ..._checks import check_array, check_count, check_support
from ..._errors import MisuseError
from ..._typing import Array


def skew_basis(dimension: int) -> Array:
    r"""Orthonormal basis of so(d), :math:`(E_{ij} - E_{ji})/\sqrt2` for i < j.  Returns (d(d-1)/2, d, d)."""
    rows, columns = np.triu_indices(check_count("dimension", dimension, 2), 1)
    basis = np.zeros((len(rows), dimension, dimension))
    index = np.arange(len(rows))
    basis[index, rows, columns], basis[index, columns, rows] = np.sqrt(0.5), -np.sqrt(0.5)
    return basis


def check_skew(name: str, value: ArrayLike, dimension: int) -> Array:
    """A skew (d, d) matrix, up to rounding."""
    skew = check_array(name, value, (dimension, dimension))
    if np.abs(skew + skew.T).max() > 1e-12 * max(1.0, float(np.abs(skew).max())):
        raise MisuseError(name, "be skew", f"symmetric part {np.abs(skew + skew.T).max() / 2:.3g}")
    return skew


def symmetric_matrix_basis(dimension: int) -> Array:
    """Orthonormal basis of the symmetric matrices in the Frobenius norm.  Returns (d(d+1)/2, d, d)."""
    rows, columns = np.triu_indices(check_count("dimension", dimension))
    basis = np.zeros((len(rows), dimension, dimension))
    index, entry = np.arange(len(rows)), np.where(rows == columns, 1.0, np.sqrt(0.5))
    basis[index, rows, columns], basis[index, columns, rows] = entry, entry
    return basis


def turning_plane(template: ArrayLike, support: ArrayLike) -> tuple[Array, Array]:
    r"""Orthogonal f, g of equal length, both orthogonal to :math:`w_S = \sum_{j\in S} v_j`; f is an active edge.

    The space across the axis splits orthogonally into the line of w_S, the differences of active vertices
    (dimension r - 1) and those of passive vertices (q - r - 1), because the simplex is regular and its vertices
    sum to zero.  f is the difference of the first two active vertices; g is one of passive vertices if there are
    two, else it lies among the active ones.  For q = 3 the complement of w_S is a line, so no plane exists: the
    compensated path needs q >= 4.
    """
    vertices = check_array("template", template, (None, None))
    q = vertices.shape[1]
    if q < 4:
        raise MisuseError("template", "have at least 4 vertices", f"{q}", "Fewer leave no turn that fixes the sum.")
    active = check_support("support", np.asarray(support, dtype=np.int64).tolist(), q)
    check_count("the size of the support", len(active), 2, q - 1)
    f = vertices[:, active[0]] - vertices[:, active[1]]
    passive = [j for j in range(q) if j not in active]
    if len(passive) >= 2:
        return f, vertices[:, passive[1]] - vertices[:, passive[0]]
    g = vertices[:, active[0]] + vertices[:, active[1]] - 2.0 * vertices[:, active[2]]
    return f, g / np.sqrt(3.0)


def two_atom_generator(template: ArrayLike, pair: ArrayLike) -> Array:
    r"""The turn of two atoms about their sum, :math:`\Omega = (g f^\top - f g^\top)/\|f\|^2` (cor:two-atom-contrast).

    :math:`\Omega(v_1 + v_2) = 0,\ e^{h\Omega}f = \cos(h) f + \sin(h) g` for f = v_1 - v_2, so
    :math:`\Omega v_1 = g/2 = -\Omega v_2`.  For a larger support the same turn fixes the sum of all its vertices.
    """
    f, g = turning_plane(template, pair)
    return (np.outer(g, f) - np.outer(f, g)) / float(f @ f)


def compensated_generator(template: ArrayLike, support: ArrayLike) -> Array:
    r"""A turn that fixes :math:`w_S` and moves active vertices, scaled so that :math:`\max_{j\in S}\|\Omega v_j\| = 1`.

    Along it the deployment law with equal coefficients does not change at all, while the physical support does
    (eq:supp-orientation-target-secant).  Returns (q - 1, q - 1), skew.
    """
    vertices = check_array("template", template, (None, None))
    turn = two_atom_generator(vertices, support)
    speeds = np.linalg.norm(turn @ vertices[:, np.asarray(support, dtype=np.int64)], axis=0)  # (r,)
    return np.asarray(turn / speeds.max())
