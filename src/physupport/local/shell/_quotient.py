"""Distances that ignore the order of atoms, and how much a gap in the invariants can move the atoms."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from ..._checks import check_count
from ..._errors import MisuseError
from ..._typing import IntArray
from ...banks import bottleneck_assignment
from ._block import TYPED_DIGITS, LocalDictionary, check_orthogonal, check_simplex
from ._invariants import cubic_invariant, invariant_coordinates
from ._shell import Shell, projector_distance
from ._turns import make_rotation


@final
@dataclass(frozen=True, slots=True, eq=False)
class QuotientMatch:
    """A quotient distance and a permutation that attains it: atom j is matched with atom permutation[j]."""

    distance: float
    permutation: IntArray  # (q,)


def quotient_distance(first: LocalDictionary, second: LocalDictionary) -> QuotientMatch:
    r"""Distance of two dictionaries up to the order of their coherent atoms (eq:physical-dictionary-metric).

    :math:`d_{\mathcal Q}^D = \min_\pi \max\{\max_j\|z_j - z'_{\pi(j)}\|,\ \|P_a - P_{a'}\|_F\}`, exactly.

    The projectors do not depend on the permutation, so a bottleneck assignment of the atoms decides it.  Both frames
    must have the same axis, otherwise the coordinates across it are not comparable; basis and template may differ.
    """
    if first.q != second.q or np.abs(first.block.frame.axis - second.block.frame.axis).max() > TYPED_DIGITS:
        raise MisuseError("second", "share the axis of first", second.block.frame.axis)
    points, other_points = (d.block.frame.basis @ d.block.coordinates for d in (first, second))  # (q, q)
    value, permutation = bottleneck_assignment(cdist(points.T, other_points.T))
    return QuotientMatch(max(value, projector_distance(first.separated, second.separated)), permutation)


def orbit_distance(first: ArrayLike, second: ArrayLike, template: ArrayLike) -> tuple[float, IntArray]:
    r"""Distance of two orientations up to relabelling the vertices, and a permutation that attains it, exactly.

    :math:`d_{O(U)/\mathfrak S_q}(R, R') = \min_\pi\|R - R'\Pi_\pi\|_F` with
    :math:`\|R - R'\Pi_\pi\|_F^2 = \tfrac{q-1}{q}\sum_j\|Rv_j - R'v_{\pi(j)}\|^2`, because the template is a tight
    frame: a linear assignment of rotated vertices.  first, second: (q - 1, q - 1) orthogonal.  template: (q - 1, q).
    """
    vertices = check_simplex("template", template)  # (q - 1, q)
    across, q = vertices.shape
    named = (("first", first), ("second", second))
    points, other_points = (check_orthogonal(name, turn, across) @ vertices for name, turn in named)
    costs = cdist(points.T, other_points.T) ** 2
    rows, permutation = linear_sum_assignment(costs)
    return float(np.sqrt(across / q * costs[rows, permutation].sum())), permutation.astype(np.int64)


@final
@dataclass(frozen=True, slots=True)
class Sensitivity:
    """Coefficients of the gaps in G_2 and G_3 in a bound; the powers of the scale are already in them."""

    shape: float
    cubic: float

    def bound(self, shape_gap: float, cubic_gap: float) -> float:
        """The bound at given Frobenius distances of G_2 and of G_3."""
        return self.shape * shape_gap + self.cubic * cubic_gap


def orbit_constant(q: int) -> float:
    r"""How far orientations are apart when their cubics are close, with an explicit constant (eq:sm-tech-s5-5).

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
    ratio = (check_count("q", q, 3) - 1) / q
    return float(ratio**1.5 * np.sqrt(1.0 + 4.0 * ratio))


def normalized_cubic_sensitivity(shell: Shell) -> Sensitivity:
    r"""Bound on :math:`\|W(L) - W(L')\|_F` by the gaps in G_2 and G_3, over the shell (eq:sm-tech-s5-6).

    :math:`(\kappa_-s)^{-3}\|\Delta G_3\|_F + \tfrac{1+\chi+\chi^2}{2\kappa_-^2s^2}\tau\,\|\Delta G_2\|_F` with
    :math:`\chi = \kappa_+/\kappa_-` and :math:`\tau = q\sqrt{q-2}/(q-1)^{3/2}`.

    Proof. :math:`P(P-P') + (P-P')P' = \Delta G_2` has, both factors being at least :math:`\kappa_-s`, the solution
    :math:`\|P-P'\|_F \le \|\Delta G_2\|_F/(2\kappa_-s)`. With :math:`A = P^{-1}P'`,
    :math:`W-W' = P^{-\otimes3}\Delta G_3 + (A^{\otimes3} - I)W'`; replace A by I in one mode after the other. Each
    step has norm at most :math:`\|A-I\|_F` times :math:`\chi^2, \chi` or 1 times the operator norm of :math:`W'`
    unfolded along that mode, which is :math:`\tau`, because
    :math:`\sum_{ij}(v_i^\top v_j)^2 v_iv_j^\top = \tau^2 I` and O_L is orthogonal.
    """
    q, smallest = shell.q, shell.stretch.lower * shell.scale
    ratio = shell.stretch.upper / shell.stretch.lower
    unfolded = q * np.sqrt(q - 2.0) / (q - 1) ** 1.5
    return Sensitivity(float((1.0 + ratio + ratio**2) * unfolded / (2.0 * smallest**2)), smallest**-3)


def quotient_sensitivity(shell: Shell) -> Sensitivity:
    r"""Physical quotient inverse with explicit constants (eq:physical-quotient-inverse, eq:sm-tech-s4-5).

    For dictionaries of the shell, after the best permutation,
    :math:`\max_j\|z_j - z'_{\pi(j)}\| \le \|b-b'\| + K_2\|\Delta G_2\|_F + K_3\|\Delta G_3\|_F`, and
    :math:`\|P_a - P_{a'}\|_F` may be added on both sides; :math:`K_2 s` and :math:`K_3 s^2` do not depend on s.

    Proof. :math:`L - L'\Pi = (P-P')O + P'(O - O'\Pi)`, so
    :math:`\|(L-L'\Pi)v_j\| \le \|P-P'\|_F + \kappa_+s\,d_{\rm orb}(O,O')` for the best permutation of the
    orientations. Insert the bounds of `normalized_cubic_sensitivity` and of `orbit_constant`, with
    :math:`W = O^{\otimes3}T_q`.
    """
    cubic = normalized_cubic_sensitivity(shell)
    turn = shell.stretch.upper * shell.scale * orbit_constant(shell.q)
    root = 1.0 / (2.0 * shell.stretch.lower * shell.scale)
    return Sensitivity(root + turn * cubic.shape, turn * cubic.cubic)


def orbit_constant_estimate(template: ArrayLike, rng: np.random.Generator, n_draws: int) -> float:
    r"""Largest :math:`d_{\rm orb}/\|\Delta T_q\|_F` over random orientations: a lower estimate of the best constant.

    Half of the orientations are uniform, half close to the identity. Never a guarantee; `orbit_constant` is one.
    """
    vertices = check_simplex("template", template)
    across = len(vertices)
    base = cubic_invariant(np.eye(across), vertices)
    largest = 0.0
    for draw in range(check_count("n_draws", n_draws)):
        turn = make_rotation(rng, across, _small_size(rng) if draw % 2 else None)
        gap = np.linalg.norm(cubic_invariant(turn, vertices) - base)
        largest = max(largest, orbit_distance(turn, np.eye(across), vertices)[0] / float(gap))
    return largest


def quotient_inverse_estimate(shell: Shell, rng: np.random.Generator, n_draws: int) -> float:
    """Largest ratio of the two sides of (eq:physical-quotient-inverse) over random pairs of the shell.

    Half of the pairs are independent, half differ by a small rotation of the template only, and count when both are
    in the shell. A lower estimate of the paper's single constant, never a guarantee; `quotient_sensitivity` is one.
    """
    largest = 0.0
    for draw in range(check_count("n_draws", n_draws)):
        first = shell.sample(rng)
        second = first.turned(make_rotation(rng, shell.q - 1, _small_size(rng))) if draw % 2 else shell.sample(rng)
        if shell.membership(second, shell.noise.lower).inside:
            largest = max(largest, _inverse_ratio(first, second, shell.scale))
    return largest


def _inverse_ratio(first: LocalDictionary, second: LocalDictionary, scale: float) -> float:
    match = quotient_distance(first, second)
    invariants, other_invariants = invariant_coordinates(first, 1.0), invariant_coordinates(second, 1.0)
    gaps = [float(np.linalg.norm(gap)) for gap in invariants.gaps(other_invariants)]
    atoms = first.block.coordinates - second.block.coordinates[:, match.permutation]
    moved = float(np.linalg.norm(atoms, axis=0).max()) + gaps[1]
    return float(moved / (gaps[0] + gaps[1] + gaps[2] / scale + gaps[3] / scale**2))


def _small_size(rng: np.random.Generator) -> float:
    return float(10.0 ** rng.uniform(-4.0, 0.0))
