"""A box of laws between any two members of a bank, and how far a likelihood rises within a cell of it."""

from dataclasses import dataclass, field
from typing import Self, final

import numpy as np
from numpy.typing import ArrayLike

from ..._checks import Interval, check_array, check_unit_columns, read_only
from ..._errors import MisuseError
from ..._typing import Array
from ...laws import MOST_ACTIVE
from ..shell import LocalDictionary

# Some dozens of roundings of sums and products of numbers of one sign, with room to spare.
_OUTWARD = 1.0 + 1e-9
# The error of a turned unit atom, and up to how many radians.
_TURN_ERROR = 1e-12
_WIDEST = 4.0 * np.pi

RowSums = tuple[int, float, float]  # the number of rows, the sums of |y|^2 and of |y| |Py|, P onto what the turns move


@final
@dataclass(frozen=True, slots=True, eq=False)
class Orbit:
    r"""Laws :math:`(\varphi, \nu, p)`: atoms :math:`e^{\sum_i\varphi_i\Omega_i}B` beside atoms A that stay.

    Noise variance :math:`\nu` and Bernoulli-Gaussian codes of activity p < 1/2, as in (eq:training-model, eq:bg-code);
    each coordinate anywhere in its closed range. A point of the box is :math:`(\varphi_1, ..., \varphi_k, \nu, p)`.
    """

    turning: Array  # (q, m), B at angle 0
    resting: Array  # (q, f), A
    generators: Array  # (k, q, q) skew
    lower: Array  # (k + 2,)
    upper: Array  # (k + 2,)
    _planes: Array = field(init=False, repr=False)  # (q, t) orthonormal, the space that the turns move

    def __post_init__(self) -> None:
        turning = check_unit_columns("turning", self.turning)
        q = len(turning)
        resting = check_array("resting", self.resting, (q, None))
        resting = check_unit_columns("resting", resting, q) if resting.size else resting
        generators = check_array("generators", self.generators, (None, q, q))
        if not generators.any() or np.any(generators != -generators.transpose(0, 2, 1)):
            raise MisuseError("generators", "be skew matrices, not all of them 0", generators.tolist())
        lower = check_array("lower", self.lower, (len(generators) + 2,))
        upper = check_array("upper", self.upper, (len(generators) + 2,))
        if np.any(lower > upper) or lower[-2] <= 0.0 or lower[-1] <= 0.0 or upper[-1] >= MOST_ACTIVE:
            rule = f"hold angles, a positive noise and an activity between 0 and {MOST_ACTIVE}, none below lower"
            raise MisuseError("upper", rule, f"{upper.tolist()} above {lower.tolist()}")
        if _rate(generators) * max(np.abs(lower[:-2]).max(), np.abs(upper[:-2]).max()) > _WIDEST:
            raise MisuseError("upper", "hold angles of at most two whole turns", f"{lower[:-2]} to {upper[:-2]}")
        vectors, sizes, _ = np.linalg.svd(np.hstack(list(generators)))
        planes = vectors[:, sizes > _TURN_ERROR * sizes[0]]
        for name, value in zip(self.__slots__, (turning, resting, generators, lower, upper, planes), strict=True):
            object.__setattr__(self, name, read_only(value))

    @classmethod
    def of_block(
        cls, dictionary: LocalDictionary, generators: ArrayLike, angles: ArrayLike, noise: Interval, activity: Interval
    ) -> Self:
        """The block as a rigid body turns about its axis; the separated atom stays.

        generators: (k, q - 1, q - 1) skew, across the axis.  angles: (k, 2) their ranges.
        """
        block = dictionary.block
        across = dictionary.q - 1
        skew = check_array("generators", generators, (None, across, across))
        ends = check_array("angles", angles, (len(skew), 2))
        turns = block.frame.basis @ skew @ block.frame.basis.T
        lower = [*ends[:, 0], noise.lower, activity.lower]
        upper = [*ends[:, 1], noise.upper, activity.upper]
        # Exactly skew: the products are so to rounding only.
        turns = 0.5 * (turns - turns.transpose(0, 2, 1))
        return cls(block.atoms, dictionary.separated[:, None], turns, np.array(lower), np.array(upper))

    @property
    def n_angles(self) -> int:
        """Number of turns, k."""
        return len(self.generators)

    @property
    def n_atoms(self) -> int:
        """Atoms that turn, and atoms that stay."""
        return int(self.turning.shape[1] + self.resting.shape[1])

    def atoms(self, angles: Array) -> Array:
        """The dictionary at each of the angles (m, k): (m, q, n), atoms that turn first."""
        speeds, planes = np.linalg.eigh(-1j * np.tensordot(angles, self.generators, axes=1))
        turns = ((planes * np.exp(1j * speeds)[:, None]) @ planes.conj().transpose(0, 2, 1)).real  # (m, q, q)
        resting = np.broadcast_to(self.resting, (len(angles), *self.resting.shape))
        return np.concatenate([turns @ self.turning, resting], axis=2)

    @property
    def speed(self) -> float:
        r"""No atom, at unit norm, moves by more in a unit of angle: :math:`\omega\max_j\|Pb_j\|/\|b_j\|`."""
        moved = np.linalg.norm(self._planes.T @ self.turning, axis=0)
        return _rate(self.generators) * float((moved / np.linalg.norm(self.turning, axis=0)).max()) * _OUTWARD

    def row_sums(self, rows: Array) -> RowSums:
        """All that the bound needs of rows (N, q), rounded upwards."""
        norms = np.linalg.norm(rows, axis=1)
        moved = np.linalg.norm(rows @ self._planes, axis=1)
        return len(rows), float(norms @ norms) * _OUTWARD, float(norms @ moved) * _OUTWARD

    def rises(self, lower: Array, upper: Array, rows: RowSums) -> Array:
        r"""Bounds of how far the log likelihood of rows can rise within cells above its largest value at their corners.

        lower, upper: (m, k + 2) cells of the box.  Returns (m, k + 2), one share a coordinate; their sum is the bound.

        With :math:`\eta = \operatorname{logit}p,\ t = \nu^2`, a row y and an active set J of atoms D, the component is

        :math:`|J|\eta - n\log(1 + e^\eta) - \tfrac12\log\det(\nu I + DD^\top) - \tfrac{|y|^2}{2\nu}
        + \max_c\{y^\top Dc - \tfrac\nu2|Dc|^2 - \tfrac{\nu^2}2|c|^2\}`,

        the maximum at :math:`c = \nu^{-1}D^\top(\nu I + DD^\top)^{-1}y`, no longer than :math:`\gamma|y|` with
        :math:`\gamma = \max_{\sigma\le\|D\|}\sigma/(\nu(\nu + \sigma^2))`. In :math:`(\varphi, t, \eta)` this is convex
        but for three terms, which are the same in all components once bounded: :math:`-n\log(1 + e^\eta)`,
        :math:`-|y|^2/(2\sqrt t)`, and at most :math:`\tfrac\kappa2|\varphi|^2` from the turns (below). A logarithm of a
        sum of exponentials of convex functions is convex, and a convex function lies below the multilinear
        interpolation of its corners. What each of the three, taken away and added again, leaves above the corners is
        at most an eighth of its largest second derivative times the squared width.

        The turns. Along a line of unit speed in :math:`\varphi`, :math:`\|R'\| \le \omega,\ \|R''\| \le \omega^2` with
        :math:`\omega^2 = \sum_i\|\Omega_i\|^2`, and both live in the planes P. With :math:`\beta = \|PB\|,\
        a = \|PA\|` the bracket has :math:`-\partial_\varphi^2 = -(y - \nu Ac_A)^\top R''Bc_B \le
        \omega^2\beta\gamma|y|(|Py| + \nu a\gamma|y|)`, :math:`\partial_t^2 = |Dc|^2/(8\nu^3)` and
        :math:`\partial_\varphi\partial_t = -(Ac_A)^\top R'Bc_B/(2\nu)`, 0 if :math:`a = 0`, whose square over
        :math:`\partial_t^2` is at most :math:`2\nu\omega^2\beta^2\gamma^2|y|^2`. In :math:`-\tfrac12\log\det` only
        products of atoms that turn with atoms that stay depend on the angle, which costs
        :math:`\omega^2\min(m, f)\,a\beta/(2\nu)`.
        """
        n_rows, squares, _ = rows
        noise = lower[:, -2]
        top = upper[:, -2]
        least = lower[:, -1]
        most = upper[:, -1]
        odds = np.log1p((most - least) / (least * (1.0 - most)))  # the width in eta, which no subtraction spoils
        shares = np.empty_like(lower)
        shares[:, :-2] = self._curvature(noise, top, rows)[:, None] * (upper - lower)[:, :-2] ** 2
        shares[:, -2] = 0.375 * squares * noise**-5 * ((top - noise) * (top + noise)) ** 2
        shares[:, -1] = n_rows * self.n_atoms * most * (1.0 - most) * odds**2
        return shares * (_OUTWARD / 8.0)

    def rounding(self, lower: Array, rows: RowSums) -> Array:
        r"""Bounds of the error of the log likelihood of rows because turned atoms are rounded; (m,), one a cell.

        With atoms changed by E a log density changes by at most
        :math:`\|E\|_F(|y|^2/\nu + \sqrt q)/(2\sqrt\nu)`, as :math:`\|D^\top(\nu I + DD^\top)^{-1}\| \le 1/(2\sqrt\nu)`.
        """
        n_rows, squares, _ = rows
        noise = lower[:, -2]
        steep = (squares / noise + n_rows * len(self.turning) ** 0.5) / (2.0 * np.sqrt(noise))
        return np.asarray(_TURN_ERROR * self.n_atoms * steep * _OUTWARD)

    def _curvature(self, noise: Array, top: Array, rows: RowSums) -> Array:
        """The sum of kappa over the rows, for cells with noise between these; (m,)."""
        n_rows, squares, products = rows
        moved = _norm(self._planes.T @ self.turning)
        still = _norm(self._planes.T @ self.resting)
        if not np.any(np.abs(self.generators) @ np.abs(self.resting)):
            still = 0.0  # exactly: no entry of a resting atom is turned
        size = np.hypot(_norm(self.turning), _norm(self.resting))
        best = np.minimum(size, np.sqrt(noise))  # where s / (nu + s^2) is largest
        reach = best / (noise * (noise + best**2))  # gamma
        pull = reach * (products + top * still * reach * squares)
        cross = 2.0 * top * moved * reach**2 * squares if still else 0.0
        widths = n_rows * min(self.turning.shape[1], self.resting.shape[1]) * still / (2.0 * noise)
        return np.asarray(_rate(self.generators) ** 2 * moved * (pull + cross + widths))


def _rate(generators: Array) -> float:
    """No turn is faster than this in a unit of angle."""
    return float(np.sqrt(np.sum(np.linalg.norm(generators, 2, axis=(1, 2)) ** 2))) * _OUTWARD


def _norm(matrix: Array) -> float:
    """The largest singular value, rounded upwards; 0 of nothing."""
    return float(np.linalg.norm(matrix, 2)) * _OUTWARD + 1e-12 if matrix.size else 0.0
