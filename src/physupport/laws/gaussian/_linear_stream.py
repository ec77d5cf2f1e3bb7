"""Rows that are linear in open coefficients: the likelihood of the best ones, and of the best noise."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, NamedTuple, final

import numpy as np
from flint import arb, ctx

from ..._errors import MisuseError
from ..._typing import Array, Field, IntArray
from ...io import RowSource, as_pairs
from ...io._rows import as_complex
from .._base import Scores
from .._design import Design
from .._mixture import Mixture, likely_mixture
from ._ball import Ball
from ._bounded import Bounded
from ._cone import Cone
from ._covariance_point import CovariancePoint, leading_point
from ._linear_exact import ExactRows
from ._mean_point import MeanPoint
from ._nonnegative import Nonnegative
from ._source_covariance import best_noise, cost_bounds

_EPS = float(np.finfo(np.float64).eps)
_TOLERANCE = 1e-8
_LARGEST = 1e80  # squares, and products of these, stay far from overflow


class Fit(NamedTuple):
    """Second moments within the columns of a key, or of several, and outside, up to each checkpoint."""

    inside: Array  # (..., c, r) eigenvalues within, the largest first; their sum where rows share coefficients
    rest: Array  # (..., c) residual sums of squares
    error: Array  # (..., c) how far each of them may be off: rounding, and the turn of the span by it
    n_outside: int  # channels less columns


@final
@dataclass(frozen=True, eq=False)  # no slots: sums are made when first asked for
class LinearStream:
    r"""Key k scores the supremum of the likelihood over coefficients, and over :math:`\sigma` where it is not known.

    Coefficients are one vector for all rows, or free in every row: with :math:`R^2` the residual sum of squares of n
    real numbers, :math:`-\frac n2\log 2\pi\sigma^2 - R^2/2\sigma^2`, or :math:`-\frac n2(\log(2\pi R^2/n) + 1)`.  Or
    they are random in every row, with one covariance that is open (`_source_covariance`).  It is at least the density
    of every choice within bounds (`Bounded`), so that as a denominator it can only keep; never a numerator.  Cones
    of columns have no negative coefficients (`Nonnegative`).  Where responses are known up to an angle, the common
    mean is as near to the rows as its `Ball` allows, and one response holds as much of the second moments as its
    `Cone` does.
    """

    is_density: ClassVar[bool] = False

    design: Design
    rows: RowSource
    checkpoints: IntArray
    is_complex: bool
    fits: dict[int, Fit] | None = None  # by support, kept where rows propose: opponents have them, too

    def __post_init__(self) -> None:
        _check_residual(self.design)

    @property
    def n_keys(self) -> int:
        """Supports times noise settings."""
        return len(self.design.supports) * len(self.design.deviations)

    @cached_property
    def _table(self) -> Field:
        """(T, q) the rows as numbers of the instrument."""
        table = np.concatenate([*self.rows.blocks()])
        if not np.abs(table).max(initial=0.0) <= _LARGEST:
            raise MisuseError("rows", f"be of sizes up to {_LARGEST:g}", "larger ones", "Choose another unit.")
        return as_complex(table.T).T if self.is_complex else table

    @cached_property
    def _roots(self) -> tuple[list[Field], Array]:
        r"""Up to each checkpoint F, (k, q), with :math:`F^\top\bar F` the second moments, and (c,) sums of squares.

        Second moments are those of all rows or, where these share a mean, of as many rows that are the mean.
        """
        pieces = np.split(self._table[: self.checkpoints[-1]], self.checkpoints[:-1])
        squares = np.cumsum([(np.abs(piece) ** 2).sum() for piece in pieces])
        if self.design.rows == "same mean":
            sums = np.cumsum([piece.sum(axis=0) for piece in pieces], axis=0)
            return [*(sums / np.sqrt(self.checkpoints)[:, None])[:, None, :]], squares
        moments, q = np.cumsum([piece.T @ piece.conj() for piece in pieces], axis=0), pieces[0].shape[1]
        counts = self.checkpoints.tolist()
        return [self._table[:t] if t <= q else _root(s) for t, s in zip(counts, moments, strict=True)], squares

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

    def _width(self, key: int) -> Ball | Nonnegative | None:
        """Of active columns and background that rows share, where these are no linear space."""
        design, active = self.design, self._active(key)
        if design.is_cone and len(active):
            return Nonnegative(len(active))
        if design.radii is None or not len(active) or design.rows != "same mean":
            return None
        free = np.full(design.background.shape[1], np.inf)
        radii = np.append(design.radii[active], np.zeros(len(free)))
        return Ball.of(
            radii, np.append(design.low[active], -free), np.append(design.high[active], free), self.is_complex
        )

    def _bounds(self, key: int) -> Bounded | None:
        """Of the coefficients that rows share, where these have no other width."""
        return Bounded.of(self.design, self._active(key)) if self.design.rows == "same mean" else None

    def _cone(self, key: int) -> Cone | None:
        """Of the active column where every row has its own coefficients, and responses are known up to an angle."""
        active, radii = self._active(key), self.design.radii
        if radii is None or not len(active) or self.design.rows == "same mean":
            return None
        return Cone.of(self.design.columns[:, active[0]], float(radii[active[0]]))

    def _within(self, cone: Cone) -> Fit:
        """The most that a response within the angle holds, and what it leaves."""
        roots, squares = self._roots
        held, off = np.array([cone.gain(root.T @ root.conj()) for root in roots]).T
        off = off + 32.0 * _EPS * (len(cone.atom) + self.checkpoints + 8) * squares
        return Fit(held[:, None], np.maximum(squares - held, 0.0), off, len(cone.atom) - 1)

    def fit(self, key: int) -> Fit:
        """What the columns of a key leave; worked out once where fits are kept."""
        kept, support = {} if self.fits is None else self.fits, key // len(self.design.deviations)
        if support not in kept:
            kept[support] = self._fitted(key)
        return kept[support]

    def _fitted(self, key: int) -> Fit:
        roots, squares = self._roots
        basis, least = _basis(self._columns(key))
        width = self._width(key)
        if width is not None:
            means = np.concatenate(roots)  # of rows that share one
            near, off = width.energies(means, self._columns(key))
            scatter = np.maximum(squares - (np.abs(means) ** 2).sum(axis=1), 0.0)
            off = np.asarray(off + 32.0 * _EPS * (len(basis) + self.checkpoints + 8) * squares)
            return Fit((squares - scatter)[:, None], scatter + near, off, len(basis) - basis.shape[1])
        cone = self._cone(key)
        if cone is not None:
            return self._within(cone)
        within = [root @ basis.conj() for root in roots]  # (k, r) each
        inside = np.array([[(np.abs(part) ** 2).sum()] for part in within])
        rest = np.maximum(squares - inside[:, 0], 0.0)
        if self.design.rows != "same mean":
            inside = np.array([np.linalg.eigvalsh(part.T @ part.conj())[::-1] for part in within])
        error = _EPS * 32.0 * (len(basis) + self.checkpoints + 8) * (1.0 + basis.shape[1] / least) * squares
        bounds = self._bounds(key)
        if bounds is not None:
            counts = self.checkpoints.astype(np.float64)
            rise, off = bounds.rises(np.concatenate(roots) / np.sqrt(counts)[:, None], self._columns(key))
            rest, error = rest + counts * rise, error + counts * off
        return Fit(np.maximum(inside, 0.0), rest, np.asarray(error), len(basis) - basis.shape[1])

    def mean(self, key: int) -> tuple[Field, float]:
        """(q,) the mean that fits all rows best, and the variance of a real coordinate: known, or as fits best."""
        columns, count, width = self._columns(key), int(self.checkpoints[-1]), self._width(key)
        row_mean = self._roots[0][-1][0] / np.sqrt(count)
        if width is None:
            mean = np.asarray(columns @ np.linalg.lstsq(columns, row_mean, rcond=None)[0])
        else:
            mean = width.nearest(row_mean, columns)
        sigma = self.design.deviations[key % len(self.design.deviations)]
        if sigma is not None:
            return mean, float(sigma**2 / self.parts)
        # Of means with a ball around little of their own scatter is left.
        rank = np.linalg.matrix_rank(columns) if self.design.radii is None else len(mean)
        return mean, float(self.fit(key).rest[-1] / max(self.parts * (count * len(mean) - rank), 1))

    def covariance(self, key: int) -> CovariancePoint:
        """The covariance of sources and the noise that fit all rows best."""
        cone, root = self._cone(key), self._roots[0][-1]
        basis, _ = _basis(self._columns(key) if cone is None else cone.best(root.T @ root.conj())[1][:, None])
        within, count = self._roots[0][-1] @ basis.conj(), int(self.checkpoints[-1])
        values, vectors = np.linalg.eigh(within.T @ within.conj() / count)
        values, rest = np.maximum(values[::-1], 0.0), self.fit(key).rest[-1] / count
        sigma = self.design.deviations[key % len(self.design.deviations)]
        noise = sigma**2 if sigma else float(best_noise(values, rest, len(basis) - len(values)))
        kept = np.flatnonzero(values > noise)
        return CovariancePoint.of(basis @ vectors[:, ::-1][:, kept], values[kept] - noise, noise)

    def opponent(self, keys: IntArray) -> Mixture:
        """Keys that fit these rows about as well, by their likelihood, and with half the weight the rows' own law.

        That is their mean or, where every row has coefficients of its own, the leading eigenvectors of their second
        moments: then likelihoods and fits are those of random coefficients, as a density has to predict them.
        """
        is_mean = self.design.rows == "same mean"
        scored = (self if is_mean else self._random()).log_likelihood(keys)
        is_known = np.isfinite(scored.errors[:, -1])
        # With width there may be explanations that fit everything, and oppose nothing.
        if not (is_known.all() if self.design.radii is None else is_known.any()):
            remedy = "Give the noise, or leave more rows to propose."
            raise MisuseError("proposal rows", "leave a residual to take the noise from", "none", remedy)
        scores = np.where(is_known, scored.values[:, -1], -np.inf)
        if not is_mean:
            leading = leading_point(self._roots[0][-1], int(self.checkpoints[-1]))
            return likely_mixture(scores, lambda i: self.covariance(int(keys[i])), leading)
        best = self.mean(int(keys[np.argmax(scores)]))[1]
        free = MeanPoint(np.concatenate([*self.rows.blocks()]).mean(axis=0), best)
        return likely_mixture(scores, lambda i: self._point(*self.mean(int(keys[i]))), free)

    def _random(self) -> "LinearStream":
        """The same rows and fits with coefficients that are random."""
        return replace(self, design=replace(self.design, is_random=True))

    def _point(self, mean: Field, variance: float) -> MeanPoint:
        return MeanPoint(as_pairs(mean[:, None], axis=0)[:, 0] if self.is_complex else mean, variance)

    def log_likelihood(self, keys: IntArray) -> Scores:
        """(k, c), fits of equal supports made once, and those of one dimension and noise scored together."""
        count, score = len(self.design.deviations), self._random_score if self.design.is_random else self._score
        supports, where = np.unique(keys // count, return_inverse=True)
        fits = [self.fit(int(support) * count) for support in supports]
        kinds = np.stack([np.array([fit.n_outside for fit in fits], dtype=np.int64)[where], keys % count])
        values, errors = np.empty((2, len(keys), len(self.checkpoints)))
        for n_outside, setting in np.unique(kinds, axis=1).T.tolist():
            alike = np.flatnonzero((kinds == [[n_outside], [setting]]).all(axis=0))
            inside, rest, error = (np.stack([fits[i][part] for i in where[alike]]) for part in range(3))
            scored = score(Fit(inside, rest, error, n_outside), self.design.deviations[setting])
            values[alike], errors[alike] = scored
        return Scores(values, errors)

    @np.errstate(divide="ignore", invalid="ignore")  # a residual of 0 has no largest likelihood
    def _score(self, fit: Fit, sigma: float | None) -> tuple[Array, Array]:
        n, energy, error = self.parts * self.checkpoints * len(self.design.columns), fit.rest, fit.error
        variance = energy / n if sigma is None else np.full(energy.shape, sigma**2 / self.parts)
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

    def _random_score(self, fit: Fit, sigma: float | None) -> tuple[Array, Array]:
        counts, q = self.checkpoints.astype(np.float64), len(self.design.columns)
        scaled = (fit.inside / counts[:, None], fit.rest / counts, fit.error / counts)
        cost, off = cost_bounds(*scaled, fit.n_outside, None if sigma is None else sigma**2)
        half = 0.5 * self.parts * counts
        constant = q * np.log(2.0 * np.pi / self.parts)
        size = q * (np.abs(cost) / max(q, 1) + 8.0 + np.abs(np.log(np.maximum(scaled[1], 1e-300)))) + np.abs(cost)
        return -half * (constant + cost), half * (off + 64.0 * _EPS * q * size)

    def enclosure(self, key: int, bits: int) -> list[arb]:
        """By normal equations in balls; everything where columns are dependent."""
        sigma = self.design.deviations[key % len(self.design.deviations)]
        columns, width, cone = self._columns(key), self._width(key), self._cone(key)
        has_mean = self.design.rows == "same mean"
        with ctx.workprec(bits):
            settings = (columns, has_mean, width, cone, sigma, self._bounds(key))
            exact = [ExactRows(self._table[:t], *settings) for t in self.checkpoints]
            return [one.random_likelihood() if self.design.is_random else one.likelihood() for one in exact]


def _check_residual(design: Design) -> None:
    """Where every row has its own coefficients, noise that is not known is what the columns leave of each."""
    if design.rows == "same mean" or None not in design.deviations:
        return
    widest = int((design.supports >= 0).sum(axis=1).max(initial=0)) + design.background.shape[1]
    if widest >= len(design.columns):
        rule = f"leave at least one of {len(design.columns)} channels to the noise, which is not known"
        raise MisuseError("active elements", rule, f"{widest} columns", "Lower `count`, or give the noise.")


def _basis(columns: Field) -> tuple[Field, float]:
    """(q, r) orthonormal columns of the same span, and the least singular value of unit columns."""
    norms = np.linalg.norm(columns, axis=0)
    left, values, _ = np.linalg.svd(columns[:, norms > 0.0] / norms[norms > 0.0], full_matrices=False)
    return left[:, values > _TOLERANCE], float(values[values > _TOLERANCE].min(initial=1.0))


def _root(moments: Field) -> Field:
    r"""(q, q) F with :math:`F^\top\bar F` these second moments."""
    values, vectors = np.linalg.eigh(moments)
    return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T)
