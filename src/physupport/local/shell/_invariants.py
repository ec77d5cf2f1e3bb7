"""What is left of a block when the order of its atoms is forgotten, and projectors near the axis, degree by degree."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from ..._checks import check_array, check_count, check_open, check_positive, check_support
from ..._errors import MisuseError
from ..._typing import Array
from ._block import Frame, LocalDictionary, check_simplex


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


def projector_increment(frame: Frame, z: ArrayLike) -> Array:
    r""":math:`H(z) = d(z)d(z)^\top - uu^\top` for one atom (eq:sm-tech-s1-1).

    :math:`H = c\,(uz^\top + zu^\top) + zz^\top - \|z\|^2uu^\top` with :math:`c = \sqrt{1-\|z\|^2}`, which subtracts no
    nearly equal numbers.  z: (q - 1,).  Returns (q, q).
    """
    coordinates, squared = _check_coordinates(frame, z)
    first, second = _first_term(frame, coordinates), _second_term(frame, coordinates, squared)
    increment: Array = np.sqrt(1.0 - squared) * first + second
    return increment


def projector_terms(frame: Frame, z: ArrayLike) -> tuple[Array, Array, Array]:
    r"""Terms of degree one to three of the projector increment (eq:sm-tech-s1-2, eq:sm-tech-s1-3, eq:sm-tech-s1-4).

    :math:`A_1 = uz^\top + zu^\top,\quad A_2 = zz^\top - \|z\|^2uu^\top,\quad A_3 = -\tfrac12\|z\|^2A_1`.
    """
    coordinates, squared = _check_coordinates(frame, z)
    first = _first_term(frame, coordinates)
    return first, _second_term(frame, coordinates, squared), -0.5 * squared * first


def projector_remainder(frame: Frame, z: ArrayLike) -> Array:
    r"""What the three terms leave, in closed form: :math:`R_4 = -\frac{\|z\|^4}{2(1+c)^2}(uz^\top + zu^\top)`.

    From :math:`c - 1 + \tfrac12\|z\|^2 = -\tfrac12(1-c)^2`; the term of degree four vanishes, so it is of degree five.
    """
    coordinates, squared = _check_coordinates(frame, z)
    factor = squared**2 / (2.0 * (1.0 + np.sqrt(1.0 - squared)) ** 2)
    remainder: Array = -factor * _first_term(frame, coordinates)
    return remainder


@final
@dataclass(frozen=True, slots=True)
class RemainderConstants:
    """Constants of (eq:sm-tech-s1-5): R_4 is at most value ||z||^4 and its derivative derivative ||z||^3."""

    value: float
    derivative: float


def remainder_constants(radius: float) -> RemainderConstants:
    r"""The least constants of (eq:sm-tech-s1-5) on the cap of the given radius R below 1.

    With c the axial part at the rim, :math:`\|R_4\|_F \le \frac{R}{\sqrt2(1+c)^2}\|z\|^4` and
    :math:`\|DR_4\| \le \sqrt2R\{\frac{1}{c(1+c)} + \frac{1}{2(1+c)^2}\}\|z\|^3`, both attained at the rim.

    Proof. :math:`\|uz^\top + zu^\top\|_F = \sqrt2\|z\|` gives the first from the closed form. With
    :math:`g = \tfrac12(1-c)^2` the derivative along w is
    :math:`-\tfrac{1-c}{c}(z^\top w)(uz^\top + zu^\top) - g\,(uw^\top + wu^\top)`, longest for w along z. Insert
    :math:`1-c = \|z\|^2/(1+c)`; the factors decrease in c, and one power of the norm is at most R.
    """
    radius = check_open("radius", radius, 0.0, 1.0)
    c = np.sqrt((1.0 - radius) * (1.0 + radius))
    derivative = np.sqrt(2.0) * radius * (1.0 / (c * (1.0 + c)) + 0.5 / (1.0 + c) ** 2)
    return RemainderConstants(float(radius / (np.sqrt(2.0) * (1.0 + c) ** 2)), float(derivative))


def inclusion_probabilities(n: int, most: int) -> Array:
    r"""Chances :math:`\pi_m(h) = (h)_m/(n)_m` that a uniform h-subset of n atoms holds m given ones.

    Returns (most, n + 1): row m - 1 for m = 1..most, column h for h = 0..n; 0 where m exceeds n.
    """
    n, most = check_count("n", n), check_count("most", most)
    size, table = np.arange(n + 1.0), np.zeros((most, n + 1))
    included = np.ones(n + 1)
    for m in range(min(most, n)):
        included = included * np.maximum(size - m, 0.0) / (n - m)
        table[m] = included
    return table


def subset_moments(values: ArrayLike, h: int) -> tuple[Array, Array, Array]:
    r"""Mean, over uniform h-subsets C, of :math:`X_C, X_C^{\odot2}, X_C^{\odot3}` with :math:`X_C = \sum_{j\in C}H_j`.

    With :math:`Q_m = \sum_j H_j^{\odot m}` (eq:sm-proof-5-4, eq:sm-proof-5-5, eq:sm-proof-5-6):
    :math:`\pi_1Q_1,\quad (\pi_1-\pi_2)Q_2 + \pi_2Q_1^{\odot2},\quad
    (\pi_1-3\pi_2+2\pi_3)Q_3 + 3(\pi_2-\pi_3)Q_1\odot Q_2 + \pi_3Q_1^{\odot3}`.

    A symmetric tensor is its polynomial, and the symmetric product is the product of polynomials: values holds each
    H_j evaluated at any number of test vectors, (q, ...), and so do the results, (...).
    """
    evaluated = np.asarray(values, dtype=np.float64)
    if evaluated.ndim == 0:
        raise MisuseError("values", "have one row for each atom", "a single number")
    evaluated = check_array("values", evaluated, evaluated.shape)
    q = check_count("number of rows of values", len(evaluated))
    one, two, three = inclusion_probabilities(q, 3)[:, check_count("h", h, 0, q)]
    first, second, third = ((evaluated**m).sum(axis=0) for m in (1, 2, 3))
    return (
        one * first,
        (one - two) * second + two * first**2,
        (one - 3 * two + 2 * three) * third + 3 * (two - three) * first * second + three * first**3,
    )


def _check_coordinates(frame: Frame, z: ArrayLike) -> tuple[Array, float]:
    coordinates = check_array("z", z, (frame.q - 1,))
    squared = float(coordinates @ coordinates)
    if squared >= 1.0:
        raise MisuseError("z", "be shorter than 1", f"norm {squared**0.5:.6g}")
    return coordinates, squared


def _first_term(frame: Frame, z: Array) -> Array:
    half = np.outer(frame.axis, frame.basis @ z)
    return half + half.T


def _second_term(frame: Frame, z: Array, squared: float) -> Array:
    across = frame.basis @ z
    return np.outer(across, across) - squared * np.outer(frame.axis, frame.axis)
