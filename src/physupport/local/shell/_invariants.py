"""What is left of a block when the order of its atoms is forgotten: centre, second-order shape and cubic."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from ..._checks import check_array, check_count, check_positive, check_support
from ..._errors import MisuseError
from ..._typing import Array
from ._block import LocalDictionary, check_simplex


def simplex_cubic(template: ArrayLike) -> Array:
    r""":math:`T_q = \sum_j v_j^{\otimes3}` (eq:result-invariants).

    template: (q - 1, q).  Returns (q - 1, q - 1, q - 1).
    Among orthogonal maps, exactly those that permute the vertices leave it unchanged (eq:sm-tech-s5-3).
    """
    return _sum_of_cubes(check_simplex("template", template))


def shape_invariant(shape: ArrayLike) -> Array:
    r""":math:`G_2 = LL^\top` (eq:result-invariants).  shape: L, (q - 1, q - 1)."""
    matrix = _check_square("shape", shape)
    return matrix @ matrix.T


def cubic_invariant(shape: ArrayLike, template: ArrayLike) -> Array:
    r""":math:`G_3 = L^{\otimes3}T_q = \sum_j (Lv_j)^{\otimes3}` (eq:result-invariants).

    The first coordinate that keeps the orientation of L beyond :math:`LL^\top`.  Returns (q - 1, q - 1, q - 1).
    """
    vertices = check_simplex("template", template)
    return _sum_of_cubes(check_array("shape", shape, (len(vertices), len(vertices))) @ vertices)


def power_sums(coordinates: ArrayLike) -> tuple[Array, Array, Array]:
    r""":math:`B_m = \sum_j z_j^{\otimes m}` for m = 1, 2, 3 (eq:sm-proof-5-9).  coordinates: (q - 1, q) of z_j."""
    z = check_array("coordinates", coordinates, (None, None))
    return z.sum(axis=1), z @ z.T, _sum_of_cubes(z)


def affine_power_sums(center: ArrayLike, shape: ArrayLike, cubic: ArrayLike, q: int) -> tuple[Array, Array, Array]:
    r"""The power sums of a block from its invariants (eq:sm-tech-s3-8, eq:sm-tech-s3-9, eq:sm-tech-s3-10).

    :math:`B_1 = qb,\quad B_2 = q\,b^{\otimes2} + \tfrac{q}{q-1}G_2,\quad
    B_3 = q\,b^{\otimes3} + \tfrac{q}{q-1}\operatorname{Sym}_3(b\otimes G_2) + G_3`, where Sym_3 adds the three
    placements of b among the modes.  center: b, shape: G_2, cubic: G_3.
    """
    across = check_count("q", q, 3) - 1
    b = check_array("center", center, (across,))
    second = check_array("shape", shape, (across, across))
    third = check_array("cubic", cubic, (across, across, across))
    first = np.multiply.outer(b, second)  # b in the first mode
    placements = first + first.transpose(1, 0, 2) + first.transpose(1, 2, 0)
    squares = np.outer(b, b)
    return q * b, q * squares + q / across * second, q * np.multiply.outer(squares, b) + q / across * placements + third


def orbit_differential(generator: ArrayLike, cubic: ArrayLike) -> Array:
    r"""Derivative of :math:`\exp(t\Omega)^{\otimes3}T` at t = 0: Omega applied to one mode at a time, and summed.

    For a skew generator and the simplex cubic, :math:`\|\Omega\cdot T_q\|_F^2 = 3(\tfrac{q}{q-1})^3\|\Omega\|_F^2`
    (eq:sm-tech-s5-4), so no rotation leaves the cubic unchanged to first order.
    generator: (q - 1, q - 1).  cubic: (q - 1, q - 1, q - 1), of any symmetry.
    """
    omega = _check_square("generator", generator)
    tensor = check_array("cubic", cubic, (len(omega),) * 3)
    modes = [np.moveaxis(np.tensordot(omega, tensor, axes=(1, mode)), 0, mode) for mode in range(3)]
    return modes[0] + modes[1] + modes[2]


def cubic_stationary_values(q: int) -> Array:
    r"""Values of :math:`T_q[x,x,x]` at its stationary points on the unit sphere (eq:sm-tech-s5-2).

    :math:`\frac{q(q-2k)}{(q-1)^{3/2}\sqrt{k(q-k)}}` for k = 1, ..., q - 1 positive entries of :math:`(v_j^\top x)_j`;
    decreasing in k, so the vertices (k = 1) are the maxima.  Returns (q - 1,).
    """
    k = np.arange(1, check_count("q", q, 3))
    values: Array = q * (q - 2 * k) / ((q - 1) ** 1.5 * np.sqrt(k * (q - k)))
    return values


def cubic_stationary_point(template: ArrayLike, positive: Iterable[int]) -> Array:
    r"""The stationary point whose :math:`v_j^\top x` is positive exactly on the given vertices: their normalised sum.

    positive: at least one vertex, not all of them.  Returns (q - 1,).
    """
    vertices = check_simplex("template", template)
    q = vertices.shape[1]
    chosen = check_support("positive", positive, q)
    if len(chosen) == q:
        raise MisuseError("positive", "leave out at least one vertex", chosen)
    total = vertices[:, chosen].sum(axis=1)
    point: Array = total / np.linalg.norm(total)
    return point


def polar_factors(shape: ArrayLike) -> tuple[Array, Array]:
    r"""Left polar decomposition :math:`L = P_L O_L` with :math:`P_L = (LL^\top)^{1/2}` and O_L orthogonal."""
    left, singular, right = np.linalg.svd(_check_square("shape", shape))
    return (left * singular) @ left.T, left @ right


def normalized_cubic(shape: ArrayLike, cubic: ArrayLike) -> Array:
    r""":math:`W = P_L^{-\otimes3}G_3` from the invariants alone; equals :math:`O_L^{\otimes3}T_q`, a pure orientation.

    shape: G_2, positive definite.  cubic: G_3.
    """
    second = _check_square("shape", shape)
    third = check_array("cubic", cubic, (len(second),) * 3)
    values, vectors = np.linalg.eigh(second)
    if values[0] <= 0.0:
        raise MisuseError("shape", "be positive definite", f"smallest eigenvalue {values[0]:.6g}")
    inverse = (vectors / np.sqrt(values)) @ vectors.T
    orientation: Array = np.einsum("ia,jb,kc,abc->ijk", inverse, inverse, inverse, third, optimize=True)
    return orientation


@final
@dataclass(frozen=True, slots=True, eq=False)
class InvariantCoordinates:
    """F(theta) = (b, P_a, G_2, G_3, nu): all that calibration sees to leading order (eq:F-coordinate)."""

    center: Array  # (q - 1,), b
    separated: Array  # (q, q), P_a
    shape: Array  # (q - 1, q - 1), G_2
    cubic: Array  # (q - 1, q - 1, q - 1), G_3
    noise: float  # nu

    def gaps(self, other: "InvariantCoordinates") -> tuple[Array, Array, Array, Array]:
        """Differences in centre, separated projector, shape and cubic."""
        names = ("center", "separated", "shape", "cubic")
        center, separated, shape, cubic = (getattr(self, name) - getattr(other, name) for name in names)
        return center, separated, shape, cubic


def invariant_coordinates(dictionary: LocalDictionary, noise: float) -> InvariantCoordinates:
    """F of a dictionary and a noise variance (eq:F-coordinate); the order of the coherent atoms has no influence."""
    block, a = dictionary.block, dictionary.separated
    return InvariantCoordinates(
        block.center,
        np.outer(a, a),
        shape_invariant(block.shape),
        cubic_invariant(block.shape, block.frame.template),
        check_positive("noise", noise),
    )


def invariant_distance(
    first: InvariantCoordinates, second: InvariantCoordinates, *, activities: tuple[float, float] = (0.0, 0.0)
) -> float:
    r""":math:`\delta_F`, the Euclidean distance in the invariant coordinates.

    With the activity probabilities of the two models it is :math:`\delta_{F,p} = (|p-p'|^2 + \delta_F^2)^{1/2}`. Both
    dictionaries must be given in the same frame.
    """
    if first.center.shape != second.center.shape:
        raise MisuseError("second", "have the dimension of first", f"shape {second.center.shape}")
    numbers = np.array([activities[0] - activities[1], first.noise - second.noise])
    return float(np.linalg.norm(np.concatenate([numbers, *map(np.ravel, first.gaps(second))])))


def _sum_of_cubes(z: Array) -> Array:
    return np.tensordot(z[:, None, :] * z, z, axes=(2, 1))


def _check_square(name: str, value: ArrayLike) -> Array:
    matrix = check_array(name, value, (None, None))
    if matrix.shape[0] != matrix.shape[1]:
        raise MisuseError(name, "be square", f"shape {matrix.shape}")
    return matrix
