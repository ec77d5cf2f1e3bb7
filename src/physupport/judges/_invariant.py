r"""Evidence that no coefficient, no background and no noise level of an explanation changes.

Rows of an explanation are :math:`X = U\theta + \sigma\varepsilon` with :math:`\theta` and :math:`\sigma` open; X is
:math:`\sqrt T` times the mean of rows that share one, or the rows themselves where each has coefficients of its own.
With Q = 1 - P beside the columns of e, the largest invariant of :math:`X \to c(X + U\tau)` is the direction of the
residual QX, joined by the scatter S of rows that share a mean.  It has :math:`n` real coordinates.  Under e it is
uniform on the sphere, whatever :math:`\theta` and :math:`\sigma` are.  Let V be an orthonormal basis of what a rival
adds to e, with :math:`d` real coordinates, and let its coefficients be normal with variance :math:`g\sigma^2`.
The residual then has covariance :math:`\sigma^2(1 + gVV^*)`, and its direction has, over the uniform law, the density

.. math:: E = (1 + g)^{-d/2}\Big(1 - \frac g{1 + g}\frac{|V^*X|^2}{R^2}\Big)^{-n/2},\qquad R^2 = |QX|^2 + S.

Its mean under e is exactly 1.  If :math:`\sigma` is known, the residual itself is invariant, and
:math:`E = (1 + g)^{-d/2}\exp(\frac g{1 + g}|V^*X|^2 / 2\sigma^2)`.  A coefficient with a sign has the positive half of
its normal law.  With :math:`h = g/(1 + g)` and :math:`c = v^TX/R` that multiplies E by
:math:`2F_n(\sqrt{nh}\,c/\sqrt{1 - hc^2})`, F Student's distribution; with known noise by
:math:`2\Phi(\sqrt h\,v^TX/\sigma)`.

Weights of rivals and of g follow from the bank and the number of rows alone, so their mean is an e-value.  It has mean
1 given :math:`(PX, R)`, and given PX where :math:`\sigma` is known.  Tests of these alone, of the bounds that
coefficients have (`Companions`), may therefore be multiplied with it as e-values.

Every explanation has a numerator of its own: a larger explanation may have more evidence against it than a smaller one
within it, so that nothing follows from inclusion, and e-values of successive rows may not be multiplied.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, final

import numpy as np
from scipy.special import log_ndtr, logsumexp, ndtr, stdtr

from .._typing import Array, BoolArray, Field, IntArray
from ..laws import Design
from ._amounts import columns_by_name
from ._evidence import Bounds
from .rotation._judge import Rotation
from .rotation._rows import Rotations
from .rotation._table import EPS, RotationTable

# Directions of a rival that an explanation spans up to this square of a sine are left out.
LEAST_SINE2 = 1e-6
# Share of the evidence for the bounds of coefficients.
_BOUNDS_SHARE = 0.1
# Weights of g over the one at which a rival of as many coordinates begins to tell.
_SCALES: Final = ((0.75, 1.0), (0.25, 8.0))
# What a rival tells when it begins to, in nats.
_TELLING = 6.0
# Of a log, far more than the rounding of its special functions, and of sums relative to their terms.
_CLOSED_ERROR = 1e-9
_SUM_ERROR = 1e-12
_ENTRIES = 2_000_000
_SHARED_ENTRIES = 400_000  # of explanations and rivals of some data sets: they stay in the cache


def rival_blocks(design: Design) -> list[tuple[int, ...]]:
    """The columns that each element adds where it is active: the rivals, in the order in which supports have them."""
    names = design.names or [*map(str, range(design.columns.shape[1]))]
    return [*dict.fromkeys(block for each in design.active for block in columns_by_name(each, names).values())]


def left_of(columns: Field, background: Field) -> Field | None:
    """Columns (q, k) of which the background leaves something."""
    basis = np.linalg.svd(background, full_matrices=False)[0] if background.shape[1] else background
    left = np.linalg.norm(columns - basis @ (basis.conj().T @ columns), axis=0)
    seen = columns[:, left > np.sqrt(LEAST_SINE2) * np.linalg.norm(columns, axis=0)]
    return seen if seen.shape[1] else None


@final
@dataclass(frozen=True, slots=True, eq=False)
class Rivals:
    """Spans beside the background, with the signs that single coefficients have."""

    bases: Field  # (J, s, m) orthonormal rows; rows of zeros fill up
    signs: Array  # (J,) 1 or -1 where the coefficient of the first row has this sign, else 0

    @classmethod
    def of(
        cls,
        table: RotationTable,
        columns: Field,
        blocks: Sequence[tuple[int, ...]],
        signs: IntArray | None = None,
    ) -> "Rivals":
        """Blocks of columns (q, E) beside the background of a table; signs (E,) of their coefficients, 0 for either."""
        spans = RotationTable(columns, tuple(blocks) or ((),), table.background, table.tolerance)
        return cls(spans.bases, _sides(spans, table.complement.T @ columns, signs))


def _sides(table: RotationTable, beside: Field, signs: IntArray | None) -> Array:
    """(M,) the signs along the basis that coefficients have, of supports of one column (m, E); 0 for either."""
    sides = np.zeros(table.size)
    if signs is None:
        return sides
    for number, support in enumerate(table.supports):
        if len(support) == 1:
            column = support[0]
            sides[number] = signs[column] * np.sign(table.bases[number, 0] @ beside[:, column])
    return sides


class Contrast(NamedTuple):
    """The part that rivals (J,) add to explanations (k,) with bases (k, r, m); no row enters."""

    across: Field  # (k, J, s, r) products of both bases
    turned: Field  # (k, J, s, s) the directions that each rival adds, unscaled
    inverse: Array  # (k, J, s) 1 over the squares of their sines, 0 of those that are left out
    slack: Array  # (k, J) of lengths along them, of a unit rounding error of the residual
    dimensions: IntArray  # (k, J) how many they are
    log_weights: Array  # (k, J) of rivals, -inf of those that add nothing

    @classmethod
    def of(cls, own: Field, rivals: Rivals) -> "Contrast":
        """Those of explanations with orthonormal rows own (k, r, m)."""
        (count, width, size) = rivals.bases.shape
        flat = rivals.bases.conj().reshape(-1, size)
        across = (flat @ own.swapaxes(1, 2)).reshape(len(own), count, width, own.shape[1])
        within = rivals.bases.conj() @ rivals.bases.swapaxes(1, 2)
        sines2 = within - across @ across.conj().swapaxes(2, 3)  # (k, J, s, s)
        if width == 1:
            values, turned = sines2[..., 0].real, np.ones((1, 1, 1, 1))
        else:
            values, turned = np.linalg.eigh(sines2)
        kept = values > LEAST_SINE2
        with np.errstate(divide="ignore"):
            inverse = np.where(kept, 1.0 / values, 0.0)
        found = kept.sum(axis=2)
        mean = np.where(kept, values, 0.0).sum(axis=2) / np.maximum(found, 1)
        return cls(across, turned, inverse, np.sqrt(inverse.sum(axis=2)), found, _log_weights(mean, found > 0))

    def lengths(self, rivals: Rivals, columns: Field, along: Field) -> Array:
        """(S, k, J) lengths of the residuals of columns (S, m, p), with along (S, k, r, p) in the explanations.

        Where the coefficient of a rival has a sign, so has the length.
        """
        sizes = (rivals.bases.conj() @ columns[:, None])[:, None] - self.across @ along[:, :, None]  # (S, k, J, s, p)
        if self.turned.shape[-1] > 1:
            sizes = self.turned.conj().swapaxes(2, 3) @ sizes
        lengths = np.sqrt(((np.abs(sizes) ** 2).sum(axis=4) * self.inverse).sum(axis=3))
        if not rivals.signs.any():
            return np.asarray(lengths)
        sides = np.sign(sizes[..., 0, 0].real) * rivals.signs
        return np.asarray(np.where(rivals.signs == 0.0, lengths, lengths * sides))


class DataSets(NamedTuple):
    """Rows of S data sets beside the background, and what explanations (k,) have in them."""

    columns: Field  # (S, m, p) X, with a single column where rows share a mean
    scatter: Array  # (S,) of rows that share a mean, else 0
    errors: Array  # (S, k) how long a part of the residual may be rounding
    freedom: IntArray  # (k,) n
    coordinates: int  # real coordinates of all rows along one direction
    sigma: float  # of a real coordinate of the noise; 0 where it is not known

    def radii(self, own: Field, along: Field) -> Array:
        """(S, k) R of explanations with bases own (k, r, m), along which the columns are along (S, k, r, p)."""
        left = self.columns[:, None] - own.swapaxes(1, 2) @ along
        return np.asarray(np.sqrt((np.abs(left) ** 2).sum(axis=(2, 3)) + self.scatter[:, None]))


Group = tuple[float, Rivals, Contrast]  # the share of the evidence, which add up to 1


@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def log_evidence(own: Field, groups: Sequence[Group], signals: DataSets) -> Array:
    """(2, S, k) lower and upper bounds of the logs of the e-values of explanations with bases own (k, r, m)."""
    along = own.conj() @ signals.columns[:, None]  # (S, k, r, p)
    radii = signals.radii(own, along)
    logs = np.empty((2, len(groups), *radii.shape))
    for number, (share, rivals, contrast) in enumerate(groups):
        lengths = contrast.lengths(rivals, signals.columns, along)
        for side, sign in enumerate((-1.0, 1.0)):
            moved = lengths + sign * contrast.slack * signals.errors[:, :, None]
            moved = np.where(rivals.signs == 0.0, np.maximum(moved, 0.0), moved)
            cosines = _cosines(moved, radii, signals, sign)
            logs[side, number] = np.log(share) + _mixed(contrast, cosines, rivals.signs, signals)
    total = np.logaddexp.reduce(logs, axis=1)
    slack = 2.0 * _CLOSED_ERROR + _SUM_ERROR * (np.abs(total) + signals.freedom)
    bounds = total + slack * np.array([-1.0, 1.0])[:, None, None]
    return np.asarray(np.where(np.isnan(bounds), np.array([-np.inf, np.inf])[:, None, None], bounds))


def _cosines(moved: Array, radii: Array, signals: DataSets, sign: float) -> Array:
    """(S, k, J) lengths over the residual, or over the noise if it is known, at one end of its rounding errors."""
    if signals.sigma > 0.0:
        return np.asarray(moved / signals.sigma)
    shorter = np.maximum(radii - signals.errors, 0.0)[:, :, None]
    longer = (radii + signals.errors)[:, :, None]
    cosines = np.clip(moved / np.where(sign * moved > 0.0, shorter, longer), -1.0, 1.0)
    return np.asarray(np.where(np.isnan(cosines), sign, cosines))


def contrasted(own: Field, groups: Sequence[tuple[float, Rivals]]) -> list[Group]:
    """Shares and rivals with what they add to explanations with bases own (k, r, m)."""
    return [(share, rivals, Contrast.of(own, rivals)) for share, rivals in groups]


@final
@dataclass(frozen=True, eq=False)
class InvariantEvidence:
    """The e-values of explanations from the rows of one stream, at one noise setting."""

    rows: Rotations
    groups: tuple[tuple[float, Rivals], ...]

    def log_evidence(self, explanations: IntArray) -> Bounds:
        """Bounds (k,) of the logs of the e-values."""
        widest = max(rivals.bases.shape[0] * rivals.bases.shape[1] for _, rivals in self.groups)
        rank = max(self.rows.table.bases.shape[1], self.rows.sufficient[0].shape[1])
        size = max(1, _ENTRIES // (widest * rank))
        parts = [self._batch(explanations[i : i + size]) for i in range(0, len(explanations), size)]
        return Bounds(*np.concatenate([np.empty((2, 0)), *parts], axis=1))

    def _batch(self, chosen: IntArray) -> Array:
        """(2, k) lower and upper bounds."""
        rows = self.rows
        own = rows.table.bases[chosen]
        errors = 2.0 * np.array([[rows.rounding(e) for e in chosen.tolist()]])
        columns, scatter = rows.sufficient
        freedom = rows.freedom - rows.ranks[chosen]
        coordinates = rows.parts * rows.n_signal
        signals = DataSets(columns[None], np.array([scatter]), errors, freedom, coordinates, rows.own_sigma)
        bounds = log_evidence(own, contrasted(own, self.groups), signals)[:, 0]
        companions = rows.spec.companions
        if companions is None:
            return np.asarray(bounds)
        p_values = np.array([companions.p_value(rows, e) for e in chosen.tolist()])
        return np.asarray(bounds + log_bounds_factor(p_values))


@final
@dataclass(frozen=True, slots=True, eq=False)
class SharedEvidence:
    """The evidence of many data sets, each of real rows of one mean, against explanations of one atom at most."""

    spec: Rotation
    groups: tuple[Group, ...]

    def lower(self, rows: Array, vectors: Array, scatter: Array, along: Array) -> tuple[Array, Array]:
        """Lower bounds (S, M) of the logs of the e-values of rows (S, T, p), and (S, M) deviations that fits leave.

        vectors: (S, m) root T times the means, beside the background.  scatter: (S,) about the means.  along: (S, M) of
        the vectors in the explanations.
        """
        signals = self._data_sets(rows, vectors, scatter)
        evidence = np.empty(along.shape)
        size = max(1, _SHARED_ENTRIES // sum(vectors.shape[1] + each.dimensions.size for _, _, each in self.groups))
        for start in range(0, len(rows), size):
            part = slice(start, start + size)
            few = signals._replace(columns=signals.columns[part], scatter=scatter[part], errors=signals.errors[part])
            evidence[part] = log_evidence(self.spec.table.bases, self.groups, few)[0]
        energy = (vectors**2).sum(axis=1) + scatter
        residual = np.sqrt(np.maximum(energy[:, None] - along**2, 0.0) / signals.freedom)
        return evidence + self._bounds(along, residual, signals), residual

    def _data_sets(self, rows: Array, vectors: Array, scatter: Array) -> DataSets:
        """The data sets beside the background, with the rounding errors of a report."""
        table = self.spec.table
        n_rows, n_channels = rows.shape[1:]
        whole = np.sqrt((rows**2).sum(axis=(1, 2)))
        lengths = np.sqrt((vectors**2).sum(axis=1))
        ratio = (whole + 1e-300) / (lengths + 1e-300)
        units = EPS * (16.0 * (vectors.shape[1] + 8) + 8.0 * (n_channels + n_rows) * ratio)
        errors = 2.0 * (units[:, None] + 8.0 * table.errors) * lengths[:, None]
        freedom = vectors.shape[1] + n_channels * (n_rows - 1) - table.ranks
        return DataSets(vectors[:, :, None], scatter, errors, freedom, 1, self.spec.sigma or 0.0)

    def _bounds(self, along: Array, residual: Array, signals: DataSets) -> Array:
        """(S, M) logs of the factors of the signs that coefficients have; along, residual: (S, M)."""
        companions = self.spec.companions
        table = self.spec.table
        if companions is None:
            return np.zeros(along.shape)
        sides = _sides(table, table.complement.T @ table.atoms, companions.signs(table.atoms.shape[1]))
        with np.errstate(divide="ignore", invalid="ignore"):
            fitted = (sides * along + 0.5 * signals.errors) / (signals.sigma or residual)
        tails = ndtr(fitted) if signals.sigma > 0.0 else stdtr(signals.freedom, fitted)
        p_values = np.where(sides == 0.0, 1.0, np.nan_to_num(tails, nan=1.0))
        return log_bounds_factor(p_values)


def log_bounds_factor(p_values: Array) -> Array:
    """Logs of the factors of p-values of what bounds the coefficients."""
    return np.asarray(np.log1p(_BOUNDS_SHARE * (calibrated(p_values) - 1.0)))


def _log_weights(sines2: Array, is_rival: BoolArray) -> Array:
    """(k, J) logs of weights: half for all rivals alike, half by how near they are, as 1 over the square of the sine.

    Rivals that are told from an explanation with difficulty are its neighbours, of which there are few.
    """
    with np.errstate(divide="ignore"):
        nearness = np.where(is_rival, 1.0 / sines2, 0.0)
        alike = is_rival / np.maximum(is_rival.sum(axis=1, keepdims=True), 1)
        near = nearness / np.maximum(nearness.sum(axis=1, keepdims=True), 1.0)
        return np.asarray(np.log(0.5 * alike + 0.5 * near))


def telling_scale(coordinates: int) -> float:
    r"""The g at which a rival with so many real coordinates has :math:`\frac d2(g - \log(1 + g))` = 6 nats."""
    low, high = np.log(1e-9), np.log(1e3)
    for _ in range(60):
        middle = 0.5 * (low + high)
        g = np.exp(middle)
        is_below = 0.5 * coordinates * (g - np.log1p(g)) < _TELLING
        low, high = (middle, high) if is_below else (low, middle)
    return float(np.exp(low))


def _mixed(contrast: Contrast, cosines: Array, signs: Array, signals: DataSets) -> Array:
    """(S, k) logs of the mean e-values over rivals and g; 0 where nothing is a rival."""
    dimensions = contrast.dimensions
    counts = range(1, int(dimensions.max(initial=1)) + 1)
    scales = np.array([1.0, *(telling_scale(signals.coordinates * count) for count in counts)])
    n = signals.freedom[:, None].astype(np.float64)
    is_known = signals.sigma > 0.0
    terms = []
    for weight, factor in _SCALES:
        g = factor * scales[dimensions]
        h = g / (1.0 + g)
        cost = -0.5 * signals.coordinates * dimensions * np.log1p(g)
        left = 1.0 - h * cosines**2
        gain = 0.5 * h * cosines**2 if is_known else -0.5 * n * np.log(left)
        if signs.any():
            at = np.sqrt(h) * cosines
            half = log_ndtr(at) if is_known else np.log(stdtr(n, at * np.sqrt(n / left)))
            gain = gain + np.where(signs == 0.0, 0.0, np.log(2.0) + half)
        terms.append(np.log(weight) + cost + gain)
    found = logsumexp(contrast.log_weights + np.logaddexp.reduce(terms, axis=0), axis=2)
    return np.asarray(np.where(dimensions.any(axis=1), found, 0.0))


def calibrated(p_values: Array) -> Array:
    r"""E-values of p-values: :math:`(e^L - 1 - L) / L^2` with :math:`L = -\log p`, whose mean is 1 if p is uniform."""
    logs = np.minimum(-np.log(p_values), 700.0)
    return np.asarray(np.where(logs > 1e-4, (np.expm1(logs) - logs) / np.maximum(logs, 1e-4) ** 2, 0.5 + logs / 6.0))
