"""Invariants of a block under the order of its atoms, and how far a gap in them can move the atoms."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from tests.local.theory.moments import make_rotation, turned

from physupport._checks import check_count
from physupport._typing import Array, IntArray
from physupport.local.shell import LocalDictionary, Shell
from physupport.studies import quotient_distance

# Axes that agree up to this are one axis, typed with nine digits.
_SAME_AXIS = 1e-8


def vertex_permutation(template: Array, permutation: Sequence[int]) -> Array:
    r"""The orthogonal map that permutes the vertices, :math:`\Pi_\pi v_j = v_{\pi(j)}`.

    :math:`\Pi_\pi = \tfrac{q-1}{q}\sum_j v_{\pi(j)} v_j^\top`.  template: (q - 1, q).  Returns (q - 1, q - 1).
    """
    across, q = template.shape
    rotation: Array = across / q * template[:, list(permutation)] @ template.T
    return rotation


def simplex_cubic(template: Array) -> Array:
    r""":math:`T_q = \sum_j v_j^{\otimes3}` (eq:result-invariants).

    template: (q - 1, q).  Returns (q - 1, q - 1, q - 1).
    Among orthogonal maps, exactly those that permute the vertices leave it unchanged (eq:sm-tech-s5-3).
    """
    return np.tensordot(template[:, None, :] * template, template, axes=(2, 1))


def shape_invariant(shape: Array) -> Array:
    r""":math:`G_2 = LL^\top` (eq:result-invariants).  shape: L, (q - 1, q - 1)."""
    return shape @ shape.T


def cubic_invariant(shape: Array, template: Array) -> Array:
    r""":math:`G_3 = L^{\otimes3}T_q = \sum_j (Lv_j)^{\otimes3}` (eq:result-invariants).

    The first coordinate that keeps the orientation of L beyond :math:`LL^\top`.  Returns (q - 1, q - 1, q - 1).
    """
    return simplex_cubic(shape @ template)


def power_sums(coordinates: Array) -> tuple[Array, Array, Array]:
    r""":math:`B_m = \sum_j z_j^{\otimes m}` for m = 1, 2, 3 (eq:sm-proof-5-9).  coordinates: (q - 1, q) of z_j."""
    return coordinates.sum(axis=1), coordinates @ coordinates.T, simplex_cubic(coordinates)


def affine_power_sums(center: Array, shape: Array, cubic: Array, q: int) -> tuple[Array, Array, Array]:
    r"""The power sums of a block from its invariants (eq:sm-tech-s3-8, eq:sm-tech-s3-9, eq:sm-tech-s3-10).

    :math:`B_1 = qb,\quad B_2 = q\,b^{\otimes2} + \tfrac{q}{q-1}G_2,\quad
    B_3 = q\,b^{\otimes3} + \tfrac{q}{q-1}\operatorname{Sym}_3(b\otimes G_2) + G_3`, where Sym_3 adds the three
    placements of b among the modes.  center: b, shape: G_2, cubic: G_3.
    """
    ratio = q / (q - 1)
    first = np.multiply.outer(center, shape)  # b in the first mode
    placements = first + first.transpose(1, 0, 2) + first.transpose(1, 2, 0)
    squares = np.outer(center, center)
    third = q * np.multiply.outer(squares, center) + ratio * placements + cubic
    return q * center, q * squares + ratio * shape, third


def orbit_differential(generator: Array, cubic: Array) -> Array:
    r"""Derivative of :math:`\exp(t\Omega)^{\otimes3}T` at t = 0: Omega applied to one mode at a time, and summed.

    For a skew generator and the simplex cubic, :math:`\|\Omega\cdot T_q\|_F^2 = 3(\tfrac{q}{q-1})^3\|\Omega\|_F^2`
    (eq:sm-tech-s5-4), so no rotation leaves the cubic unchanged to first order.
    generator: (q - 1, q - 1).  cubic: (q - 1, q - 1, q - 1), of any symmetry.
    """
    modes = [np.moveaxis(np.tensordot(generator, cubic, axes=(1, mode)), 0, mode) for mode in range(3)]
    return modes[0] + modes[1] + modes[2]


def cubic_stationary_values(q: int) -> Array:
    r"""Values of :math:`T_q[x,x,x]` at its stationary points on the unit sphere (eq:sm-tech-s5-2).

    :math:`\frac{q(q-2k)}{(q-1)^{3/2}\sqrt{k(q-k)}}` for k = 1, ..., q - 1 positive entries of :math:`(v_j^\top x)_j`;
    decreasing in k, so the vertices (k = 1) are the maxima.  Returns (q - 1,).
    """
    k = np.arange(1, q)
    values: Array = q * (q - 2 * k) / ((q - 1) ** 1.5 * np.sqrt(k * (q - k)))
    return values


def cubic_stationary_point(template: Array, positive: Sequence[int]) -> Array:
    r"""The stationary point whose :math:`v_j^\top x` is positive exactly on the given vertices: their normalised sum.

    positive: at least one vertex, not all of them.  Returns (q - 1,).
    """
    total = template[:, list(positive)].sum(axis=1)
    point: Array = total / np.linalg.norm(total)
    return point


def polar_factors(shape: Array) -> tuple[Array, Array]:
    r"""Left polar decomposition :math:`L = P_L O_L` with :math:`P_L = (LL^\top)^{1/2}` and O_L orthogonal."""
    left, singular, right = np.linalg.svd(shape)
    return (left * singular) @ left.T, left @ right


def normalized_cubic(shape: Array, cubic: Array) -> Array:
    r""":math:`W = P_L^{-\otimes3}G_3` from the invariants alone; equals :math:`O_L^{\otimes3}T_q`, a pure orientation.

    shape: G_2, positive definite.  cubic: G_3.
    """
    values, vectors = np.linalg.eigh(shape)
    inverse = (vectors / np.sqrt(values)) @ vectors.T
    orientation: Array = np.einsum("ia,jb,kc,abc->ijk", inverse, inverse, inverse, cubic, optimize=True)
    return orientation


def invariant_coordinates(dictionary: LocalDictionary, noise: float) -> tuple[Array, Array, Array, Array, Array]:
    r"""All that calibration sees to leading order, :math:`F = (\nu, b, P_a, G_2, G_3)` (eq:F-coordinate).

    The order of the coherent atoms has no influence.  The noise is an array of one number.
    """
    block = dictionary.block
    projector = np.outer(dictionary.separated, dictionary.separated)
    cubic = cubic_invariant(block.shape, block.frame.template)
    return np.array([noise]), block.center, projector, shape_invariant(block.shape), cubic


def invariant_distance(
    first: Sequence[Array], second: Sequence[Array], *, activities: tuple[float, float] = (0.0, 0.0)
) -> float:
    r""":math:`\delta_F`, the Euclidean distance in the invariant coordinates.

    With the activity probabilities of the two models it is :math:`\delta_{F,p} = (|p-p'|^2 + \delta_F^2)^{1/2}`. Both
    dictionaries must be given in the same frame.
    """
    gaps = [np.ravel(one - other) for one, other in zip(first, second, strict=True)]
    return float(np.linalg.norm(np.concatenate([[activities[0] - activities[1]], *gaps])))


def orbit_distance(first: Array, second: Array, template: Array) -> tuple[float, IntArray]:
    r"""Distance of two orientations up to relabelling the vertices, and a permutation that attains it, exactly.

    :math:`d_{O(U)/\mathfrak S_q}(R, R') = \min_\pi\|R - R'\Pi_\pi\|_F` with
    :math:`\|R - R'\Pi_\pi\|_F^2 = \tfrac{q-1}{q}\sum_j\|Rv_j - R'v_{\pi(j)}\|^2`, because the template is a tight
    frame: a linear assignment of rotated vertices.  first, second: (q - 1, q - 1) orthogonal.  template: (q - 1, q).
    """
    across, q = template.shape
    costs = cdist((first @ template).T, (second @ template).T) ** 2
    rows, permutation = linear_sum_assignment(costs)
    return float(np.sqrt(across / q * costs[rows, permutation].sum())), permutation.astype(np.int64)


def orbit_constant(q: int) -> float:
    r"""Explicit constant of the bound of the distance of orientations by that of their cubics (eq:sm-tech-s5-5).

    :math:`d_{\rm orb}([R],[R']) \le C\|R^{\otimes3}T_q - R'^{\otimes3}T_q\|_F` for all R, R', with
    :math:`C = (\tfrac{q-1}{q})^{3/2}\sqrt{1 + 4\tfrac{q-1}{q}}`, below :math:`\sqrt5` in every dimension.
    The paper has existence by compactness.

    Proof. Let :math:`Q = R'^\top R`, x a unit vector, :math:`y_j = v_j^\top x` and m the largest of them, which is
    positive. For any t, :math:`\sum_j(m-y_j)(y_j-t)^2 \ge 0`; with (eq:sm-tech-s5-1) and :math:`t = -1/((q-1)m)`
    this reads :math:`T_q[x,x,x] \le \tfrac{q}{q-1}(m - \tfrac{1}{(q-1)m})`, with equality at a vertex, and so
    :math:`T_q[v,v,v] - T_q[x,x,x] \ge (\tfrac{q}{q-1})^2(1-m) = \tfrac12(\tfrac{q}{q-1})^2\min_i\|x-v_i\|^2`.
    Summing over :math:`x = Qv_j` gives :math:`\|Q^{\otimes3}T_q - T_q\|_F^2 \ge (\tfrac{q}{q-1})^2 S` with
    :math:`S = \sum_j\min_i\|Qv_j-v_i\|^2`. Let N vertices be nearest to no :math:`Qv_j`. If k of the :math:`Qv_j`
    share a nearest vertex they add at least their scatter :math:`(k-1)\tfrac{q}{q-1}` to S, so
    :math:`S \ge N\tfrac{q}{q-1}`. Sending one of each such group to its nearest vertex and the N others to the N left
    over, at most 2 away each, is a permutation with
    :math:`\tfrac{q}{q-1}\|Q-\Pi_\pi\|_F^2 \le S + 4N \le (1 + 4\tfrac{q-1}{q})S`.
    """
    ratio = (q - 1) / q
    return float(ratio**1.5 * np.sqrt(1.0 + 4.0 * ratio))


def normalized_cubic_sensitivity(shell: Shell) -> tuple[float, float]:
    r"""Coefficients :math:`(K_2, K_3)` of the bound of :math:`\|W(L) - W(L')\|_F` over the shell (eq:sm-tech-s5-6).

    The bound is :math:`K_2\|\Delta G_2\|_F + K_3\|\Delta G_3\|_F` with :math:`K_3 = (\kappa_-s)^{-3},\
    K_2 = \tfrac{1+\chi+\chi^2}{2\kappa_-^2s^2}\tau,\ \chi = \kappa_+/\kappa_-,\ \tau = q\sqrt{q-2}/(q-1)^{3/2}`.

    Proof. :math:`P(P-P') + (P-P')P' = \Delta G_2` has, both factors being at least :math:`\kappa_-s`, the solution
    :math:`\|P-P'\|_F \le \|\Delta G_2\|_F/(2\kappa_-s)`. With :math:`A = P^{-1}P'`,
    :math:`W-W' = P^{-\otimes3}\Delta G_3 + (A^{\otimes3} - I)W'`; replace A by I in one mode after the other. Each
    step has norm at most :math:`\|A-I\|_F` times :math:`\chi^2, \chi` or 1 times the operator norm of :math:`W'`
    unfolded along that mode, which is :math:`\tau`, because
    :math:`\sum_{ij}(v_i^\top v_j)^2 v_iv_j^\top = \tau^2 I` and O_L is orthogonal.
    """
    q = shell.q
    smallest = shell.stretch.lower * shell.scale
    ratio = shell.stretch.upper / shell.stretch.lower
    unfolded = q * np.sqrt(q - 2.0) / (q - 1) ** 1.5
    return float((1.0 + ratio + ratio**2) * unfolded / (2.0 * smallest**2)), smallest**-3


def quotient_sensitivity(shell: Shell) -> tuple[float, float]:
    r"""Coefficients :math:`(K_2, K_3)` of the inverse (eq:physical-quotient-inverse, eq:sm-tech-s4-5), explicitly.

    For dictionaries of the shell, after the best permutation,
    :math:`\max_j\|z_j - z'_{\pi(j)}\| \le \|b-b'\| + K_2\|\Delta G_2\|_F + K_3\|\Delta G_3\|_F`, and
    :math:`\|P_a - P_{a'}\|_F` may be added on both sides; :math:`K_2 s` and :math:`K_3 s^2` do not depend on s.

    Proof. :math:`L - L'\Pi = (P-P')O + P'(O - O'\Pi)`, so
    :math:`\|(L-L'\Pi)v_j\| \le \|P-P'\|_F + \kappa_+s\,d_{\rm orb}(O,O')` for the best permutation of the
    orientations. Insert the bounds of `normalized_cubic_sensitivity` and of `orbit_constant`, with
    :math:`W = O^{\otimes3}T_q`.
    """
    second, third = normalized_cubic_sensitivity(shell)
    turn = shell.stretch.upper * shell.scale * orbit_constant(shell.q)
    root = 1.0 / (2.0 * shell.stretch.lower * shell.scale)
    return root + turn * second, turn * third


def orbit_constant_estimate(template: ArrayLike, rng: np.random.Generator, n_draws: int) -> float:
    r"""Largest :math:`d_{\rm orb}/\|\Delta T_q\|_F` over random orientations: a lower estimate of the best constant.

    Half of the orientations are uniform, half close to the identity. Never a guarantee; `orbit_constant` is one.
    """
    vertices = np.asarray(template)
    identity = np.eye(len(vertices))
    largest = 0.0
    for draw in range(check_count("n_draws", n_draws)):
        turn = make_rotation(rng, len(vertices), _small_size(rng) if draw % 2 else None)
        gap = np.linalg.norm(cubic_invariant(turn, vertices) - cubic_invariant(identity, vertices))
        largest = max(largest, orbit_distance(turn, identity, vertices)[0] / float(gap))
    return largest


def quotient_inverse_estimate(shell: Shell, rng: np.random.Generator, n_draws: int) -> float:
    """Largest ratio of the two sides of (eq:physical-quotient-inverse) over random pairs of the shell.

    Half of the pairs are independent, half differ by a small rotation of the template only, and count when both are
    in the shell. A lower estimate of the paper's single constant, never a guarantee; `quotient_sensitivity` is one.
    """
    largest = 0.0
    for draw in range(check_count("n_draws", n_draws)):
        first = shell.sample(rng)
        second = turned(first, make_rotation(rng, shell.q - 1, _small_size(rng))) if draw % 2 else shell.sample(rng)
        if not shell.membership(second, shell.noise.lower).inside:
            continue
        pairs = zip(invariant_coordinates(first, 1.0), invariant_coordinates(second, 1.0), strict=True)
        _, center, separated, shape, cubic = (float(np.linalg.norm(one - other)) for one, other in pairs)
        matched = second.block.coordinates[:, quotient_distance(first, second)[1]]
        moved = float(np.linalg.norm(first.block.coordinates - matched, axis=0).max()) + separated
        largest = max(largest, moved / (center + separated + shape / shell.scale + cubic / shell.scale**2))
    return largest


def _small_size(rng: np.random.Generator) -> float:
    return float(10.0 ** rng.uniform(-4.0, 0.0))
