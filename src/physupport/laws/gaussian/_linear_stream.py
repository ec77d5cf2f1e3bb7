"""Rows of a common mean that is linear in free coefficients: the likelihood of the best ones, and of the best noise."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, final

import numpy as np
from flint import arb, arb_mat, ctx

from ..._errors import MisuseError
from ..._typing import Array, Field, IntArray
from ...io import RowSource, as_pairs
from ...io._rows import as_complex
from .._base import Scores
from .._design import Design
from .._mixture import Mixture
from ._ball import Ball
from ._profiled import MeanPoint

_EPS = float(np.finfo(np.float64).eps)
_TOLERANCE = 1e-8
# Of keys that oppose: how many, and how far below the best.
_MOST_MIXED, _LEAST_MIXED = 16, 6.0


@final
@dataclass(frozen=True, eq=False)  # no slots: sums are made when first asked for
class LinearStream:
    r"""Key k scores :math:`\sup_{\theta,\beta}` of the likelihood, over :math:`\sigma` too where it is not known.

    With :math:`R^2` the residual sum of squares of n real numbers: :math:`-\frac n2\log 2\pi\sigma^2 -
    R^2/2\sigma^2`, or :math:`-\frac n2(\log(2\pi R^2/n) + 1)`.  It is at least the density of every choice, and of
    those within bounds of the coefficients, so that as a denominator it can only keep; never a numerator.  Where
    responses are known up to an angle, the common mean is as near to the rows as its `Ball` allows.
    """

    is_density: ClassVar[bool] = False

    design: Design
    rows: RowSource
    checkpoints: IntArray
    is_complex: bool

    @property
    def n_keys(self) -> int:
        """Supports times noise settings."""
        return len(self.design.supports) * len(self.design.deviations)

    @cached_property
    def _sums(self) -> tuple[Field, Array]:
        """(c, q) sums of the rows and (c,) of their squares, up to each checkpoint."""
        table = np.concatenate([*self.rows.blocks()])
        native = as_complex(table.T).T if self.is_complex else table
        pieces = np.split(native[: self.checkpoints[-1]], self.checkpoints[:-1])
        sums = np.cumsum([piece.sum(axis=0) for piece in pieces], axis=0)
        squares = np.cumsum([(np.abs(piece) ** 2).sum() for piece in pieces])
        return sums, squares

    @property
    def parts(self) -> int:
        """Real coordinates of a number."""
        return 2 if self.is_complex else 1

    def _columns(self, key: int) -> Field:
        """(q, r) active columns and background."""
        return np.concatenate([self.design.columns[:, self._active(key)], self.design.background], axis=1)

    def _active(self, key: int) -> IntArray:
        support = self.design.supports[key // len(self.design.deviations)]
        return np.asarray(support[support >= 0])

    def _width(self, key: int) -> Ball | None:
        """Of active columns and background, where there is one."""
        design, active = self.design, self._active(key)
        if design.radii is None or not design.radii[active].any():
            return None
        free = np.full(design.background.shape[1], np.inf)
        radii = np.append(design.radii[active], np.zeros(len(free)))
        return Ball.of(
            radii, np.append(design.low[active], -free), np.append(design.high[active], free), self.is_complex
        )

    def fit(self, key: int) -> tuple[Array, Array]:
        """(c,) residual sums of squares, and how far each may be off: rounding, and the turn of the span by it."""
        sums, squares = self._sums
        columns, ball = self._columns(key), self._width(key)
        scaled = sums / np.sqrt(self.checkpoints)[:, None]
        if ball is not None:
            near, off = ball.energies(scaled, columns)
            scatter = np.maximum(squares - (np.abs(scaled) ** 2).sum(axis=1), 0.0)
            return scatter + near, np.asarray(off + 32.0 * _EPS * (len(columns) + self.checkpoints + 8) * squares)
        norms = np.linalg.norm(columns, axis=0)
        left, values, _ = np.linalg.svd(columns[:, norms > 0.0] / norms[norms > 0.0], full_matrices=False)
        basis = left[:, values > _TOLERANCE]
        fits = (np.abs(scaled @ basis.conj()) ** 2).sum(axis=1)
        least = float(values[values > _TOLERANCE].min(initial=1.0))
        units = 32.0 * (len(columns) + self.checkpoints + 8) * (1.0 + basis.shape[1] / least)
        return np.maximum(squares - fits, 0.0), np.asarray(_EPS * units * squares)

    def mean(self, key: int) -> tuple[Field, float]:
        """(q,) the mean that fits all rows best, and the variance of a real coordinate: known, or as fits best."""
        columns, count, ball = self._columns(key), int(self.checkpoints[-1]), self._width(key)
        own = self._sums[0][-1] / count
        mean = columns @ np.linalg.lstsq(columns, own, rcond=None)[0] if ball is None else ball.nearest(own, columns)
        sigma = self.design.deviations[key % len(self.design.deviations)]
        if sigma is not None:
            return mean, float(sigma**2 / self.parts)
        # Of means with width little of their own scatter is left.
        rank = np.linalg.matrix_rank(columns) if ball is None else len(mean)
        return mean, float(self.fit(key)[0][-1] / max(self.parts * (count * len(mean) - rank), 1))

    def opponent(self, keys: IntArray) -> Mixture:
        """Keys that fit these rows about as well, by their likelihood, and with half the weight the rows' own mean."""
        scored = self.log_likelihood(keys)
        is_known = np.isfinite(scored.errors[:, -1])
        # With width there may be explanations that fit everything, and oppose nothing.
        if not (is_known.all() if self.design.radii is None else is_known.any()):
            remedy = "Give the noise, or leave more rows to propose."
            raise MisuseError("proposal rows", "leave a residual to take the noise from", "none", remedy)
        scores = np.where(is_known, scored.values[:, -1], -np.inf)
        order = np.argsort(-scores, kind="stable")[:_MOST_MIXED]
        chosen = order[scores[order] > scores[order[0]] - _LEAST_MIXED]
        shares = np.exp(scores[chosen] - scores[chosen[0]])
        points = [self._point(*self.mean(int(key))) for key in keys[chosen].tolist()]
        own = np.concatenate([*self.rows.blocks()]).mean(axis=0)
        weights = [*(0.5 * shares / shares.sum()).tolist(), 0.5]
        return Mixture((*points, MeanPoint(own, points[0].noise)), tuple(weights))

    def _point(self, mean: Field, variance: float) -> MeanPoint:
        return MeanPoint(as_pairs(mean[:, None], axis=0)[:, 0] if self.is_complex else mean, variance)

    def log_likelihood(self, keys: IntArray) -> Scores:
        """(k, c), fits of equal supports made once."""
        settings = len(self.design.deviations)
        made = {support: self.fit(support * settings) for support in np.unique(keys // settings).tolist()}
        scored = [self._score(*made[key // settings], self.design.deviations[key % settings]) for key in keys.tolist()]
        values, errors = np.array(scored).reshape(-1, 2, len(self.checkpoints)).swapaxes(0, 1)
        return Scores(values, errors)

    @np.errstate(divide="ignore", invalid="ignore")  # a residual of 0 has no largest likelihood
    def _score(self, energy: Array, error: Array, sigma: float | None) -> tuple[Array, Array]:
        n = self.parts * self.checkpoints * len(self.design.columns)
        variance = energy / n if sigma is None else np.full(len(n), sigma**2 / self.parts)
        if sigma is not None:
            value = -0.5 * (n * np.log(2.0 * np.pi * variance) + energy / variance)
            off = 0.5 * error / variance
        else:
            value = -0.5 * n * (np.log(2.0 * np.pi * variance) + 1.0)
            off = np.where(energy > 2.0 * error, n * error / energy, np.inf)
        size = n * (np.abs(np.log(variance)) + 8.0) + np.abs(value)
        off = off + 16.0 * _EPS * size
        is_known = np.isfinite(value) & np.isfinite(off)
        return np.where(is_known, value, 0.0), np.where(is_known, off, np.inf)

    def enclosure(self, key: int, bits: int) -> list[arb]:
        """By normal equations in balls; everything where columns are dependent."""
        sigma = self.design.deviations[key % len(self.design.deviations)]
        with ctx.workprec(bits):
            return [self._ball(key, int(count), sigma) for count in self.checkpoints]

    def _ball(self, key: int, count: int, sigma: float | None) -> arb:
        columns = _real_columns(self._columns(key), is_complex=self.is_complex)
        table = np.concatenate([*self.rows.blocks()])[:count]
        if self.is_complex:
            native = as_complex(table.T).T
            table = np.concatenate([native.real, native.imag], axis=1)
        sums = [sum((arb(x) for x in column), arb(0)) for column in table.T.tolist()]
        energy = sum((arb(x) ** 2 for x in table.ravel().tolist()), arb(0))
        n, pi = arb(table.size), arb.pi()
        if columns.shape[1]:
            matrix = arb_mat(columns.tolist())
            products = matrix.transpose() * arb_mat([[x] for x in sums])
            try:
                inverse = (matrix.transpose() * matrix).inv()
            except ZeroDivisionError:
                return arb(0, float("inf"))
            solved = inverse * products
            fitted, ball = (products.transpose() * solved)[0, 0] / count, self._width(key)
            if ball is None:
                energy -= fitted
            else:
                whole = sum((x * x for x in sums), arb(0)) / count
                energy += ball.enclosed(whole - fitted, solved / arb(count).sqrt(), inverse) - whole
        if sigma is None:
            return -n / 2 * ((2 * pi * energy / n).log() + 1)
        variance = arb(sigma) ** 2 / self.parts
        return -(n * (2 * pi * variance).log() + energy / variance) / 2


def _real_columns(columns: Field, *, is_complex: bool) -> Array:
    """(q, r) columns whose real span is that of complex ones, real parts first."""
    if not is_complex:
        return np.asarray(columns, dtype=np.float64)
    turned: Sequence[Field] = [columns, 1j * columns]
    return np.concatenate([np.concatenate([part.real, part.imag]) for part in turned], axis=1)
