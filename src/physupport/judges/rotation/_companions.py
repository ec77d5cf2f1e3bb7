"""Companions of the rotation test: what the fitted coefficients and the residual energy alone say."""

from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.special import chdtrc, ndtr, stdtr

from ..._checks import check_open, check_positive
from ..._errors import MisuseError
from ..._typing import Array, Field, IntArray
from ._contest import Rotations

SHARE = 0.1


@final
@dataclass(frozen=True, slots=True)
class Companions:
    r"""Tests of :math:`(Pz, |Qz|)` alone, so that the rotation tests are exact given them.

    The levels follow the product rule: at :math:`\alpha_c` = share of the level, the rotation tests keep
    :math:`1 - (1-\alpha)/(1-\alpha_c)`.

    low, high: every active coefficient lies between them (real rows).  least: every active coefficient has at least
    this absolute value.  Each is one number, or one for every atom of the table (E,), -inf, inf and 0 saying nothing.
    together: (E,) numbers of atoms; of active ones with the same number at least one has its least absolute value.
    largest_noise: the standard deviation of the noise is at most this.  cells: (owners, half steps) of every atom: an
    active one is a derivative of its owner, and its coefficient at most the half step times that of the owner in
    absolute value; inf says nothing.
    """

    low: float | Array | None = None
    high: float | Array | None = None
    least: float | Array | None = None
    largest_noise: float | None = None
    cells: tuple[IntArray, Array] | None = None
    share: float = SHARE
    together: IntArray | None = None

    def __post_init__(self) -> None:
        check_open("share", self.share, 0.0, 1.0)
        if all(bound is None for bound in (self.low, self.high, self.least, self.largest_noise, self.cells)):
            raise MisuseError("companions", "bound the coefficients or the noise", "nothing")
        if self.low is not None and self.high is not None and not np.all(np.asarray(self.low) <= self.high):
            raise MisuseError("companions", "have low at most high", (self.low, self.high))
        if self.least is not None and not (np.min(self.least) >= 0.0 and np.isfinite(self.least).all()):
            raise MisuseError("least", "be finite and at least 0", self.least)
        if self.largest_noise is not None:
            check_positive("largest_noise", self.largest_noise)

    @property
    def tests_coefficients(self) -> bool:
        """Whether any bound is one of coefficients."""
        return any(bound is not None for bound in (self.low, self.high, self.least, self.cells))

    def signs(self, n_atoms: int) -> IntArray:
        """(E,) 1 of atoms whose coefficients are at least 0, -1 of those whose are at most 0, and 0 of others."""
        low, high = (
            np.broadcast_to(-np.inf if self.low is None else self.low, n_atoms),
            np.broadcast_to(np.inf if self.high is None else self.high, n_atoms),
        )
        return np.asarray((low >= 0.0).astype(np.int64) - (high <= 0.0))

    def check(self, rows: Rotations) -> None:
        """Refuse what these rows cannot tell."""
        if self.tests_coefficients and not rows.has_common_mean:
            raise MisuseError("companions", "leave the coefficients of free rows open", "a bound of them")
        if self.largest_noise is not None and rows.own_sigma > 0.0:
            raise MisuseError("companions", "leave out the largest noise where sigma is known", self.largest_noise)
        if rows.parts == 2 and (self.low is not None or self.high is not None):
            raise MisuseError("companions", "bound complex coefficients by least alone", "low or high")

    def p_value(self, rows: Rotations, e: int) -> float:
        """Smallest p-value of e over all tests, times their number."""
        energy, freedom = rows.residuals(e)
        p_values = self._coefficients(rows, e, energy, freedom) if self.tests_coefficients else []
        if self.largest_noise is not None:
            radius = max(np.sqrt(energy) - rows.rounding(e), 0.0) * np.sqrt(rows.parts)
            p_values.append(float(chdtrc(freedom, (radius / self.largest_noise) ** 2)))
        return min(1.0, len(p_values) * float(np.nan_to_num(p_values, nan=1.0).min())) if p_values else 1.0

    def _coefficients(self, rows: Rotations, e: int, energy: float, freedom: int) -> list[float]:
        r"""T tests of :math:`\hat\theta`, two one-sided ones for two bounds.

        Where :math:`|\theta| \ge b`, also :math:`|\hat\theta|` is at least the coordinate of :math:`\hat\theta` along
        :math:`\theta`, which is at least b up to an error that is one coordinate of the noise.  That one of several
        coefficients has it is rejected if it is of each of them: the largest of their p-values counts.
        """

        def below(value: float) -> float:
            return float(ndtr(value) if rows.own_sigma > 0.0 else stdtr(freedom, value))

        fitted, spread = rows.coefficients(e)
        p_values, reached = [], dict[float, float]()
        errors, off = spread * (rows.own_sigma or np.sqrt(energy / freedom)), spread * rows.rounding(e)
        bounds = (self._of_atoms(bound, rows, e, len(fitted)) for bound in (self.low, self.high, self.least))
        alone = np.arange(rows.table.atoms.shape[1]) if self.together is None else self.together
        numbers = self._of_atoms(alone, rows, e, len(fitted))
        for value, error, slack, low, high, least, number in zip(fitted, errors, off, *bounds, numbers, strict=True):
            if np.isfinite(low):
                p_values.append(below((value + slack - low) / error))
            if np.isfinite(high):
                p_values.append(below((high - value + slack) / error))
            if least > 0.0:
                p = below((abs(value) + slack - least) / error)
                reached[number] = max(reached.get(number, 0.0), float(np.nan_to_num(p, nan=1.0)))
        return [*p_values, *reached.values(), *self._cells(rows, e, energy, freedom)]

    def _cells(self, rows: Rotations, e: int, energy: float, freedom: int) -> list[float]:
        """Whether all of the cone is excluded, of each derivative that is active."""
        if self.cells is None:
            return []
        (owners, halves), support = self.cells, list(rows.table.supports[e])
        held = [column for column in support if np.isfinite(halves[column])]
        if not held or int(rows.table.ranks[e]) < len(support):
            return []
        weights = np.zeros((len(held), 2, len(support)))
        for pair, column in zip(weights, held, strict=True):
            place, owner, half = support.index(column), support.index(int(owners[column])), halves[column]
            pair[:, place], pair[:, owner] = ((1.0, 0.0), (0.0, half)) if rows.parts == 2 else (1.0, (-half, half))
        fitted, spread = rows.coefficients(e, weights.reshape(-1, len(support)))
        errors, off = spread * (rows.own_sigma or np.sqrt(energy / freedom)), spread * rows.rounding(e)
        tails_of, known = _complex_tails if rows.parts == 2 else _real_tails, rows.own_sigma > 0.0
        tails = tails_of(fitted.reshape(-1, 2), errors.reshape(-1, 2), off.reshape(-1, 2), None if known else freedom)
        return [float(tail) for tail in np.minimum(2.0 * tails, 1.0)]

    def _of_atoms(self, bound: float | Array | IntArray | None, rows: Rotations, e: int, count: int) -> list[float]:
        """What is said of each active atom of e, as many as have coefficients; NaN where nothing is."""
        if bound is None or np.ndim(bound) == 0:
            return [np.nan if bound is None else float(bound)] * count
        return [float(value) for value in np.asarray(bound)[list(rows.table.supports[e])][:count]]


def _real_tails(values: Field, errors: Array, off: Array, freedom: int | None) -> Array:
    r"""(k,) half the p-values of cones :math:`|\tau| \le h|x|`; values: (k, 2) :math:`u = \tau - hx, v = \tau + hx`.

    In the cone u and v are nowhere both above or both below 0; it is rejected if both fitted ones are above c of their
    errors, or both below -c.  Where :math:`u \le 0 \le v` the first takes an error of u above c and the second one of v
    below -c, and likewise in the other half: together at most :math:`2P(t > c)`.  freedom: None for known noise.
    """
    beyond = np.where(np.sign(values).prod(axis=1) > 0.0, ((np.abs(values) - off) / errors).min(axis=1), 0.0)
    return np.asarray(ndtr(-beyond) if freedom is None else stdtr(freedom, -beyond))


def _complex_tails(values: Field, errors: Array, off: Array, freedom: int | None) -> Array:
    r"""(k,) the same of complex numbers; values: (k, 2) :math:`\tau, hx`.

    In the cone :math:`|\hat\tau| - h|\hat x|` is at most the size of both errors together, of which one is c of its
    standard deviations or more where the sum is: :math:`2P(|\varepsilon| \ge c)`, of two real coordinates.
    """
    beyond = (np.abs(values) @ [1.0, -1.0] - off.sum(axis=1)) / errors.sum(axis=1)
    square = np.maximum(beyond, 0.0) ** 2
    return np.asarray(np.exp(-0.5 * square) if freedom is None else (1.0 + square / freedom) ** (-0.5 * freedom))
