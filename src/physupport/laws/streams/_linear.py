"""Rows that are linear in open coefficients: the likelihood of the best ones, and of the best noise."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, NamedTuple, final

import numpy as np
from flint import arb, arb_mat, ctx

from ..._errors import Clause, MisuseError
from ..._typing import Array, Field, IntArray
from ...io import RowSource, as_complex, as_pairs
from .._autoregressive import Correlated, autoregressive
from .._design import Design
from .._noise_shape import Independent, NoiseShape, Spectra, independent
from .._opponents import (
    Mixture,
    Point,
    correlated_point,
    covariance_point,
    free_mixture,
    leading_point,
    likely_mixture,
    mean_point,
    whole_point,
)
from .._stream import Scores
from ._angles import Cone, Tilted
from ._open_rows import best_noise, cost_ball, cost_bounds
from ._profile import Profile, Residual, profile_of
from ._widths import Ball, Bounded, Nonnegative, ball_matrix, normal_equations, square

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
    spectra: dict[tuple[int, int], Spectra | None] = field(default_factory=dict)  # by support and checkpoint
    roots: "tuple[list[Field], Array] | None" = None  # of these rows, where they are known: `_roots`

    def __post_init__(self) -> None:
        _check_residual(self.design)

    def widened(self, error: float) -> "LinearStream":
        """The stream for responses that are right to within an error; requires an error scale of its design."""
        return replace(self, design=self.design.widened(error), fits=None)

    @property
    def n_keys(self) -> int:
        """Supports times noise settings."""
        return len(self.design.supports) * len(self.design.deviations)

    @cached_property
    def _table(self) -> Field:
        """(T, q) the rows as numbers of the instrument."""
        table = np.concatenate([*self.rows.blocks()])
        if not np.abs(table).max(initial=0.0) <= _LARGEST:
            raise MisuseError(
                "rows", f"be of sizes up to {_LARGEST:g}", Clause("some are larger"), "Choose another unit."
            )
        return as_complex(table.T).T if self.is_complex else table

    def moved(
        self, columns: Field, active: IntArray | None, supports: IntArray, radii: Array | None = None
    ) -> "LinearStream":
        """The same rows under explanations with other columns (q, k), as measured, see `Design.moved`."""
        design = self.design.moved(columns, active, supports, radii)
        return replace(self, design=design, fits=None, spectra={}, roots=self._roots)

    @cached_property
    def _roots(self) -> tuple[list[Field], Array]:
        r"""Up to each checkpoint F, (k, q), with :math:`F^\top\bar F` the second moments, and (c,) sums of squares.

        Second moments are those of all rows or, where these share a mean, of as many rows that are the mean.
        """
        if self.roots is not None:
            return self.roots
        pieces = np.split(self._table[: self.checkpoints[-1]], self.checkpoints[:-1])
        squares = np.cumsum([(np.abs(piece) ** 2).sum() for piece in pieces])
        if self.design.rows == "same mean":
            sums = np.cumsum([piece.sum(axis=0) for piece in pieces], axis=0)
            return [*(sums / np.sqrt(self.checkpoints)[:, None])[:, None, :]], squares
        moments = np.cumsum([piece.T @ piece.conj() for piece in pieces], axis=0)
        q = pieces[0].shape[1]
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
        """The set of common means of a key, where that is no linear space."""
        design = self.design
        active = self._active(key)
        if design.is_cone and len(active):
            return Nonnegative(len(active))
        if design.radii is None or not len(active) or design.rows != "same mean":
            return None
        free = np.full(design.background.shape[1], np.inf)
        radii = np.append(design.radii[active], np.zeros(len(free)))
        ends = np.append(design.low[active], -free), np.append(design.high[active], free)
        return Ball.of(radii, *ends, self.is_complex, Bounded.of(design, active))

    def _bounds(self, key: int) -> Bounded | None:
        """The bounds of common coefficients, where responses have no width of their own."""
        return Bounded.of(self.design, self._active(key)) if self.design.rows == "same mean" else None

    def _cone(self, key: int) -> Cone | None:
        """The response of a key that is known up to an angle, where every row has coefficients of its own."""
        active = self._active(key)
        radii = self.design.radii
        if radii is None or self.design.rows == "same mean" or len(active) != 1 or self.design.background.shape[1]:
            return None
        return Cone.of(self.design.columns[:, active[0]], float(radii[active[0]]))

    def _tilted(self, key: int) -> Tilted | None:
        """The span of a key with several responses that are known up to an angle, or one beside a background."""
        active = self._active(key)
        radii = self.design.radii
        if radii is None or self.design.rows == "same mean" or not len(active) or self._cone(key) is not None:
            return None
        return Tilted.of(self._columns(key), np.append(radii[active], np.zeros(self.design.background.shape[1])))

    def _tilted_fit(self, tilted: Tilted) -> Fit:
        """The most that a span within the angle holds, and what it leaves."""
        roots, squares = self._roots
        found = [tilted.gains(root.T @ root.conj()) for root in roots]
        held = np.array([each[0] for each in found])
        (q, m) = tilted.basis.shape
        off = np.array([each[1] for each in found]) + 32.0 * _EPS * (q + self.checkpoints + 8) * squares
        return Fit(held, np.maximum(squares - held.sum(axis=1), 0.0), off, q - m)

    def _within(self, cone: Cone) -> Fit:
        """The most that a response within the angle holds, and what it leaves."""
        roots, squares = self._roots
        held, off = np.array([cone.gain(root.T @ root.conj()) for root in roots]).T
        off = off + 32.0 * _EPS * (len(cone.atom) + self.checkpoints + 8) * squares
        return Fit(held[:, None], np.maximum(squares - held, 0.0), off, len(cone.atom) - 1)

    def fit(self, key: int) -> Fit:
        """The residuals that the columns of a key leave; worked out once where fits are kept."""
        kept = {} if self.fits is None else self.fits
        support = key // len(self.design.deviations)
        if support not in kept:
            kept[support] = self._fitted(key)
        return kept[support]

    def _fitted(self, key: int) -> Fit:
        cone = self._cone(key)
        if cone is not None:
            return self._within(cone)
        tilted = self._tilted(key)
        if tilted is not None:
            return self._tilted_fit(tilted)
        roots, squares = self._roots
        basis, least = _basis(self._columns(key))
        width = self._width(key)
        if width is not None:
            means = np.concatenate(roots)  # of rows that share one
            counts = self.checkpoints.astype(np.float64)
            near, off = (counts * each for each in width.energies(means / np.sqrt(counts)[:, None], self._columns(key)))
            scatter = np.maximum(squares - (np.abs(means) ** 2).sum(axis=1), 0.0)
            off = np.asarray(off + 32.0 * _EPS * (len(basis) + self.checkpoints + 8) * squares)
            return Fit((squares - scatter)[:, None], scatter + near, off, len(basis) - basis.shape[1])
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
            rest = rest + counts * rise
            error = error + counts * off
        return Fit(np.maximum(inside, 0.0), rest, np.asarray(error), len(basis) - basis.shape[1])

    def mean(self, key: int) -> tuple[Field, float]:
        """(q,) the mean that fits all rows best, and the variance of a real coordinate: known, or as fits best."""
        columns = self._columns(key)
        count = int(self.checkpoints[-1])
        width = self._width(key)
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

    def profile(self, key: int, column: int) -> Profile | None:
        """The likelihood as a function of the coefficient of an active column; None where it has no closed form.

        Bounds of the other coefficients are left out, which can only raise the likelihood.
        """
        if self.is_complex or self.design.rows != "same mean" or self._width(key) is not None:
            return None
        counts = self.checkpoints.astype(np.float64)
        means = np.concatenate(self._roots[0]) / np.sqrt(counts)[:, None]
        columns = self._columns(key)
        fit = self.fit(key)
        sigma = self.design.deviations[key % len(self.design.deviations)]
        place = self._active(key).tolist().index(column)
        bounds = self._bounds(key)
        above = np.zeros(len(counts)) if bounds is None else counts * np.sum(bounds.rises(means, columns), axis=0)
        variance = None if sigma is None else float(sigma) ** 2
        return profile_of(columns, place, means, counts, Residual(fit.rest + fit.error, above), variance)

    def covariance(self, key: int) -> Point:
        """The covariance of sources and the noise that fit all rows best."""
        cone = self._cone(key)
        root = self._roots[0][-1]
        tilted = self._tilted(key)
        columns = self._columns(key) if tilted is None else tilted.gains(root.T @ root.conj())[2]
        basis, _ = _basis(columns if cone is None else cone.best(root.T @ root.conj())[1][:, None])
        within = self._roots[0][-1] @ basis.conj()
        count = int(self.checkpoints[-1])
        values, vectors = np.linalg.eigh(within.T @ within.conj() / count)
        values = np.maximum(values[::-1], 0.0)
        rest = self.fit(key).rest[-1] / count
        sigma = self.design.deviations[key % len(self.design.deviations)]
        noise = sigma**2 if sigma else float(best_noise(values, rest, len(basis) - len(values)))
        kept = np.flatnonzero(values > noise)
        return covariance_point(basis @ vectors[:, ::-1][:, kept], values[kept] - noise, noise)

    def opponent(self, keys: IntArray) -> Mixture:
        """Keys that fit these rows about as well, by their likelihood, and with half the weight the rows' own law.

        That is their mean or, where every row has coefficients of its own, the leading eigenvectors of their second
        moments: then likelihoods and fits are those of random coefficients, as a density has to predict them.  With a
        family of covariances of the noise, of which the bank has no member, the rows' own laws oppose alone.
        """
        shape = self.design.noise_shape
        if shape is not None and shape.kind == "ar":
            return self._correlated_opponent(keys)
        if shape is not None:
            own = free_mixture(self._roots[0][-1], int(self.checkpoints[-1]))
            return own if shape.kind != "diagonal" else self._independent_opponent(keys, own)
        is_mean = self.design.rows == "same mean"
        scored = (self if is_mean else self._random()).log_likelihood(keys)
        is_known = np.isfinite(scored.errors[:, -1])
        # With width there may be explanations that fit everything, and oppose nothing.
        if not (is_known.all() if self.design.radii is None else is_known.any()):
            remedy = "Give the noise, or leave more rows to propose."
            raise MisuseError(
                "proposal rows", "leave a residual to take the noise from", Clause("none is left"), remedy
            )
        scores = np.where(is_known, scored.values[:, -1], -np.inf)
        if not is_mean:
            leading = leading_point(self._roots[0][-1], int(self.checkpoints[-1]))
            return likely_mixture(scores, lambda i: self.covariance(int(keys[i])), leading)
        best = self.mean(int(keys[np.argmax(scores)]))[1]
        free = mean_point(np.concatenate([*self.rows.blocks()]).mean(axis=0), best)
        return likely_mixture(scores, lambda i: self._point(*self.mean(int(keys[i]))), free)

    def _independent_opponent(self, keys: IntArray, free: Mixture) -> Mixture:
        """Covariances of independent noise that fit about as well, and with half the weight the rows' own laws."""
        found = [self.independent(int(key)) for key in keys]
        fitted = [(each.cost, each.covariance) for each in found if each.covariance is not None]
        if not fitted:
            return free
        scores = np.array([-0.5 * self.parts * self.checkpoints[-1] * cost for cost, _ in fitted])
        (leading, *sampled) = free.parts
        assert isinstance(leading, Point)
        likely = likely_mixture(scores, lambda i: whole_point(fitted[i][1]), leading)
        weights = (*likely.weights[:-1], *(0.5 * weight for weight in free.weights))
        return Mixture((*likely.parts, *sampled), weights)

    def _random(self) -> "LinearStream":
        """The same rows and fits with coefficients that are random."""
        return replace(self, design=replace(self.design, is_random=True))

    def _point(self, mean: Field, variance: float) -> Point:
        return mean_point(as_pairs(mean[:, None], axis=0)[:, 0] if self.is_complex else mean, variance)

    def log_likelihood(self, keys: IntArray) -> Scores:
        """(k, c), fits of equal supports made once, and those of one dimension and noise scored together."""
        shape = self.design.noise_shape
        if shape is not None:
            return self._correlated_scores(keys) if shape.kind == "ar" else self._shaped_scores(shape, keys)
        count = len(self.design.deviations)
        score = self._random_score if self.design.is_random else self._score
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
        n = self.parts * self.checkpoints * len(self.design.columns)
        energy = fit.rest
        error = fit.error
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
        counts = self.checkpoints.astype(np.float64)
        q = len(self.design.columns)
        scaled = (fit.inside / counts[:, None], fit.rest / counts, fit.error / counts)
        cost, off = cost_bounds(*scaled, fit.n_outside, None if sigma is None else sigma**2)
        half = 0.5 * self.parts * counts
        constant = q * np.log(2.0 * np.pi / self.parts)
        size = q * (np.abs(cost) / max(q, 1) + 8.0 + np.abs(np.log(np.maximum(scaled[1], 1e-300)))) + np.abs(cost)
        return -half * (constant + cost), half * (off + 64.0 * _EPS * q * size)

    def _shaped_scores(self, shape: NoiseShape, keys: IntArray) -> Scores:
        """(k, c) the bounds of a family of covariances of the noise; all errors are those of rounding."""
        q = len(self.design.columns)
        costs, errors = (
            np.zeros((len(keys), len(self.checkpoints))),
            np.full((len(keys), len(self.checkpoints)), np.inf),
        )
        for c in range(len(self.checkpoints)):
            found = [self._spectra(int(key), c) for key in keys]
            kinds = [(-1, -1) if each is None else (each.beside.shape[1], each.along.shape[1]) for each in found]
            for kind in {*kinds} - {(-1, -1)}:
                alike = [k for k, each in enumerate(kinds) if each == kind]
                costs[alike, c], errors[alike, c] = shape.costs([each for k in alike if (each := found[k]) is not None])
            if shape.kind == "diagonal":
                for k, key in enumerate(keys.tolist()):
                    costs[k, c], errors[k, c] = self._larger(costs[k, c], errors[k, c], self.independent(key, c))
        half = 0.5 * self.parts * self.checkpoints.astype(np.float64)
        constant = q * np.log(2.0 * np.pi / self.parts)
        errors = half * (errors + 16.0 * _EPS * (abs(constant) + np.abs(costs)))
        return Scores(np.where(np.isfinite(errors), -half * (constant + costs), 0.0), errors)

    def _correlated_scores(self, keys: IntArray) -> Scores:
        """(k, c) the bounds for noise that is correlated along the axis; all errors are those of rounding."""
        found = [[self._correlated(key, count) for count in self.checkpoints.tolist()] for key in keys.tolist()]
        costs, errors = (
            np.array([[getattr(each, part) for each in row] for row in found]) for part in ("cost", "error")
        )
        return Scores(np.where(np.isfinite(errors), -0.5 * costs, 0.0), 0.5 * errors)

    def _correlated(self, key: int, count: int) -> Correlated:
        """The bound for noise that is correlated along the axis, of the first rows."""
        shape = self.design.noise_shape
        assert shape is not None
        table = np.asarray(self._table[:count], dtype=np.float64)
        return autoregressive(table, np.asarray(self._columns(key)), shape.between)

    def _correlated_opponent(self, keys: IntArray) -> Mixture:
        """Fits that are about as likely and, with half the weight, the mean of the rows with their own noise."""
        found = [self._correlated(int(key), int(self.checkpoints[-1])) for key in keys]
        scores = np.array([-0.5 * each.cost if np.isfinite(each.error) else -np.inf for each in found])
        if not np.isfinite(scores).any():
            rule = "leave a residual to take the noise from"
            raise MisuseError(
                "proposal rows", rule, Clause("none is left"), "Leave more rows to propose, or take fewer columns."
            )
        best = found[int(scores.argmax())]
        mean = np.asarray(self._table.mean(axis=0), dtype=np.float64)
        count = int(self.checkpoints[-1])
        own = autoregressive(np.asarray(self._table - mean, dtype=np.float64), np.zeros((len(mean), 0)))
        is_seen = count > 1 and np.isfinite(own.error)
        noise = own.noise * count / (count - 1) if is_seen else best.noise
        free = correlated_point(mean, noise, own.correlation if is_seen else best.correlation)
        return likely_mixture(
            scores, lambda i: correlated_point(found[i].mean, found[i].noise, found[i].correlation), free
        )

    @staticmethod
    def _larger(cost: float, error: float, other: Independent) -> tuple[float, float]:
        """The larger of two lower bounds, of which one may be open."""
        if not np.isfinite(error) or (np.isfinite(other.error) and other.cost > cost):
            return other.cost, other.error
        return cost, error

    def _moments(self, c: int) -> tuple[Field, float]:
        """Mean second moments up to a checkpoint, and how far rounding may have moved them."""
        roots, squares = self._roots
        count = int(self.checkpoints[c])
        off = 32.0 * _EPS * (len(self.design.columns) + count + 8) * float(squares[c]) / count
        return roots[c].T @ roots[c].conj() / count, off

    def _spectra(self, key: int, c: int) -> Spectra | None:
        """The parts of a key that bounds of a family of covariances need; computed once."""
        place = (key // len(self.design.deviations), c)
        if place not in self.spectra:
            moments, off = self._moments(c)
            self.spectra[place] = Spectra.of(moments, self._columns(key), len(self._active(key)), off)
        return self.spectra[place]

    def independent(self, key: int, c: int = -1) -> Independent:
        """The bound for noise that is independent between channels."""
        moments, off = self._moments(c)
        return independent(moments, self._columns(key), off)

    def enclosure(self, key: int, bits: int) -> list[arb]:
        """By normal equations in balls; everything where columns are dependent.

        Families of covariances and tilted spans have the bounds of float64: what these leave open stays open.
        """
        if self.design.noise_shape is not None or self._tilted(key) is not None:
            scores = self.log_likelihood(np.array([key]))
            ends = zip(scores.values[0].tolist(), scores.errors[0].tolist(), strict=True)
            return [arb(value, error) for value, error in ends]
        score = self._random_ball if self.design.is_random else self._ball
        with ctx.workprec(bits):
            return [score(key, self._table[:t]) for t in self.checkpoints]

    def _ball(self, key: int, rows: Field) -> arb:
        """The log likelihood of rows (T, q) at the best coefficients."""
        table = np.concatenate([rows.real, rows.imag], axis=1) if self.is_complex else rows
        try:
            energy = self._energy_ball(key, rows, table)
        except ZeroDivisionError:
            return arb(0, float("inf"))
        sigma = self.design.deviations[key % len(self.design.deviations)]
        n = arb(rows.size * self.parts)
        if sigma is None:
            return -n / 2 * ((2 * arb.pi() * energy / n).log() + 1)
        variance = arb(sigma) ** 2 / self.parts
        return -(n * (2 * arb.pi() * variance).log() + energy / variance) / 2

    def _energy_ball(self, key: int, rows: Field, table: Array) -> arb:
        """The residual sum of squares; table: the rows as real numbers, real parts first."""
        whole = sum((arb(x) ** 2 for x in table.ravel().tolist()), arb(0))
        count = len(rows)
        cone = self._cone(key)
        if cone is not None:
            return whole - count * _most_explained(cone, rows)
        columns = self._columns(key)
        if not columns.shape[1]:
            return whole
        matrix = arb_mat(_real_columns(columns, is_complex=self.is_complex).tolist())
        measured = arb_mat(table.T.tolist())
        if self.design.rows != "same mean":
            return whole - normal_equations(matrix, measured)[0]
        total = measured * arb_mat([[1]] * count)
        width = self._width(key)
        if width is not None:
            mean = total / arb(count).sqrt()
            return whole - square(mean) + width.enclosed(matrix, mean)
        explained, fitted, inverse = normal_equations(matrix, total)
        bounds = self._bounds(key)
        if bounds is None:
            return whole - explained / count
        # Imaginary parts of coefficients stand below all real ones.
        below = columns.shape[1]
        bounded = range(len(bounds.low))
        scaled = fitted / count
        parts = [(scaled[j, 0], scaled[j + below, 0] if self.is_complex else arb(0)) for j in bounded]
        return whole - explained / count + count * bounds.enclosed(parts, [inverse[j, j] for j in bounded])

    def _random_ball(self, key: int, rows: Field) -> arb:
        """The same where coefficients are random, with one covariance that is open."""
        count = len(rows)
        table = ball_matrix(rows.T)
        rest = sum((x.real**2 + x.imag**2 for x in table.entries()), arb(0)) / count
        columns = self._columns(key)
        (q, r) = columns.shape
        values = []
        cone = self._cone(key)
        if cone is not None:
            values = [_most_explained(cone, rows)]
            rest -= values[0]
        elif r:
            adjoint = ball_matrix(columns.conj().T)
            products = adjoint * table  # (r, T)
            try:
                solved = (adjoint * ball_matrix(columns)).solve(products)
            except ZeroDivisionError:
                return arb(0, float("inf"))
            inside = solved * products.conjugate().transpose() / count  # of the eigenvalues that U* R U has
            values = [value.real for value in inside.eig(multiple=True)]
            rest = rest - inside.trace().real
        sigma = self.design.deviations[key % len(self.design.deviations)]
        cost = cost_ball(values, rest, q - r, None if sigma is None else arb(sigma) ** 2)
        enclosed: arb = -(q * (2 * arb.pi() / self.parts).log() + cost) * count * self.parts / 2
        return enclosed


def _most_explained(cone: Cone, rows: Field) -> arb:
    """The largest part of the mean second moments of rows (T, q) that a response within the angle explains."""
    count = len(rows)
    table = ball_matrix(rows.T)
    mu, _ = cone.best(rows.T @ rows.conj() / count)
    return cone.enclosed(table * table.conjugate().transpose() / count, mu)


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


def _real_columns(columns: Field, *, is_complex: bool) -> Array:
    """(q, r) columns whose real span is that of complex ones, real parts first."""
    if not is_complex:
        return np.asarray(columns, dtype=np.float64)
    turned = (columns, 1j * columns)
    return np.concatenate([np.concatenate([part.real, part.imag]) for part in turned], axis=1)
