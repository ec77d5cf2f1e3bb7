"""One row, or rows with a common mean: rotations of a vector."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, final

import numpy as np

from ..._typing import Array, Field, IntArray
from ._contest import EPS, SCREEN_SHARE, Contest, Counts, check_freedom, most_rejected
from ._draws import RIVALS, Draws
from ._kernels import BLOCK, count_batch, screen_batch
from ._pairs import Pairs, has_pairs
from ._table import RotationTable, check_rows

# Products of draws and bases are kept up to this many bytes, and made again in chunks of draws beyond.
_MOST_KEPT, _CHUNK = 400_000_000, 64
_BATCH_ENTRIES = 4_000_000


def real_rows(bases: Field) -> Array:
    """(..., r, m) rows u as (..., 2r, 2m) real ones that span the same if complex; real rows as they are."""
    if not np.iscomplexobj(bases):
        return np.asarray(bases, dtype=np.float64)
    plain = np.concatenate([bases.real, bases.imag], axis=-1)
    turned = np.concatenate([-bases.imag, bases.real], axis=-1)
    return np.concatenate([plain, turned], axis=-2)


@final
@dataclass(frozen=True, eq=False)  # no slots: products are made when first asked for
class MeanRows:
    r"""T rows :math:`z_t = N_e\theta + \sigma\varepsilon_t`: they enter by :math:`\sqrt T\bar z` and their scatter S.

    Beside the background, real and imaginary parts side by side: the vector w (m,), Gaussian around the span of e with
    variance :math:`\sigma^2` in each coordinate, and :math:`S \sim \sigma^2\chi^2`.  Given
    :math:`(Pw, R^2 = |Qw|^2 + S)` the direction of the residual is uniform, so
    :math:`w^* = Pw + R\,Qg/\sqrt{|Qg|^2 + h}` with g normal and h chi-square is another draw of w.
    sigma: standard deviation of a row's noise if it is known, of complex noise :math:`E|\varepsilon|^2 = \sigma^2`.
    """

    has_common_mean: ClassVar[bool] = True

    table: RotationTable
    rows: Field  # (T, q)
    draws: int
    seed: int
    penalty: float
    sigma: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", check_rows(self.table, self.rows))
        check_freedom(self.freedom - int(self.ranks.max()))

    @property
    def parts(self) -> int:
        """Real coordinates of a number."""
        return 2 if self.table.is_complex or np.iscomplexobj(self.rows) else 1

    @cached_property
    def own_sigma(self) -> float:
        """Standard deviation of a real coordinate; 0 where it is not known."""
        return 0.0 if self.sigma is None else self.sigma / float(np.sqrt(self.parts))

    @cached_property
    def bases(self) -> Array:
        """(M, r, m) real orthonormal rows."""
        bases = self.table.bases
        return real_rows(bases.astype(np.complex128) if self.parts == 2 else bases)

    @cached_property
    def ranks(self) -> IntArray:
        """(M,) in real coordinates."""
        return self.table.ranks * self.parts

    def beside(self, columns: Field) -> Array:
        """Columns (q, k) beside the background: (k, m), real coordinates."""
        left = (self.table.complement.conj().T @ columns).T
        return np.concatenate([left.real, left.imag], axis=-1) if self.parts == 2 else np.asarray(left)

    @cached_property
    def vector(self) -> Array:
        """(m,) w."""
        return np.asarray(self.beside(np.sqrt(len(self.rows)) * self.rows.mean(axis=0)[:, None])[0])

    @cached_property
    def scatter(self) -> float:
        """S."""
        return float((np.abs(self.rows - self.rows.mean(axis=0)) ** 2).sum()) if len(self.rows) > 1 else 0.0

    @property
    def scatter_freedom(self) -> int:
        """Of S."""
        return self.parts * int(self.rows.shape[1]) * (len(self.rows) - 1)

    @property
    def freedom(self) -> int:
        """Real coordinates beside the background, scatter included."""
        return self.parts * int(self.table.complement.shape[1]) + self.scatter_freedom

    @cached_property
    def contest(self) -> Contest:
        """The fits of all explanations, and how they compete."""
        fits = ((self.bases @ self.vector) ** 2).sum(axis=1)
        energy = float(self.vector @ self.vector) + self.scatter
        return Contest.of(fits, self.ranks, energy, self.freedom, self.penalty, self.own_sigma)

    @property
    def scores(self) -> Array:
        """(M,) the statistic of every rival."""
        return self.contest.scores

    def residual(self, e: int) -> Array:
        """(m,) Qw."""
        return np.asarray(self.vector - (self.bases[e] @ self.vector) @ self.bases[e])

    def residuals(self, e: int) -> tuple[float, int]:
        """R^2 and its degrees of freedom."""
        left = self.residual(e)
        return float(left @ left) + self.scatter, self.freedom - int(self.ranks[e])

    def coefficients(self, e: int, weights: Array | None = None) -> tuple[Field, Array]:
        """Fitted coefficients (r,) of the atoms as given; none of dependent atoms, which have no coefficients.

        weights: (k, r), for k sums of coefficients with these weights.
        """
        support = list(self.table.supports[e])
        if int(self.table.ranks[e]) < len(support):
            return np.empty(0), np.empty(0)
        columns = self.table.complement.conj().T @ self.table.atoms[:, support]
        inverse = np.linalg.pinv(np.sqrt(len(self.rows)) * columns)  # (r, m)
        inverse = inverse if weights is None else weights @ inverse
        size = self.table.complement.shape[1]
        native = self.vector[:size] + 1j * self.vector[size:] if self.parts == 2 else self.vector
        return np.asarray(inverse @ native), np.linalg.norm(inverse, axis=1)

    @cached_property
    def normals(self) -> tuple[Array, Array, Array]:
        """(B, m) g, (B,) its squared norms, and (B,) h."""
        drawn = Draws(self.seed, RIVALS)
        normals = drawn.normal((self.draws, len(self.vector)))
        scatter = drawn.chi_square(self.scatter_freedom, (self.draws,))
        return normals, np.asarray((normals**2).sum(axis=1)), scatter

    @cached_property
    def _pairs(self) -> Pairs | None:
        """The way of pairs, where it is open."""
        if self.parts == 2 or not has_pairs(self.table):
            return None
        pairs = Pairs(self)
        return pairs if pairs.is_safe else None

    @cached_property
    def _flat(self) -> Array:
        """(r M, m) bases by component, so that slices over rivals are contiguous."""
        return np.ascontiguousarray(self.bases.swapaxes(0, 1)).reshape(-1, len(self.vector))

    @cached_property
    def _kept(self) -> Array:
        return self.normals[0] @ self._flat.T

    def _products(self, start: int, stop: int) -> Array:
        """(b, r, M) of draws from start to stop."""
        kept = self._kept[start:stop] if self._is_kept else self.normals[0][start:stop] @ self._flat.T
        return kept.reshape(stop - start, -1, self.table.size)

    @property
    def _is_kept(self) -> bool:
        return 8 * self.draws * len(self._flat) <= _MOST_KEPT

    def rounding(self, e: int) -> float:
        """As a length: of the vector, and of the span that is taken off."""
        return float((self.unit + 8.0 * self.table.errors[e]) * np.linalg.norm(self.vector))

    @cached_property
    def unit(self) -> float:
        """Rounding error of an energy |P_j w*|^2 over the energy of the draw, spans apart.

        Inner products of m terms are off by at most m eps times both norms, 2 r of them enter with their squares, and
        the row itself, before the background was taken off, by q eps of its own norm.
        """
        rows, vector = np.linalg.norm(self.rows) + 1e-300, np.linalg.norm(self.vector) + 1e-300
        terms = 16.0 * (len(self.vector) + 8) * self.bases.shape[1]
        return float(EPS * (terms + 8.0 * (self.rows.shape[1] + len(self.rows)) * rows / vector))

    def rivals(self, explanations: IntArray, level: float, *, is_full: bool = False) -> Counts:
        """Explanations in batches, and in each the draws in chunks that all share."""
        if self._pairs is not None:
            return self._pairs.counts(explanations, level, is_full=is_full)
        width = self.bases.shape[1]
        size = max(1, _BATCH_ENTRIES // (width * len(self._flat)))
        found = [
            self._batch(explanations[i : i + size], level, is_full=is_full) for i in range(0, len(explanations), size)
        ]
        least, most, bound = (
            np.concatenate([getattr(part, name) for part in found]) if found else np.empty(0)
            for name in ("least", "most", "bound")
        )
        return Counts(least.astype(np.int64), most.astype(np.int64), bound)

    def _batch(self, explanations: IntArray, level: float, *, is_full: bool) -> Counts:
        """Screens, unless an explanation fits best: then every rotation counts, as P_e w stays."""
        bases, errors = self.bases[explanations], self.table.errors
        along = bases @ self.vector  # (k, r)
        left = self.vector - np.einsum("kr,krm->km", along, bases)
        fits, energy = (along**2).sum(axis=1), (left**2).sum(axis=1) + self.scatter
        whole = fits + energy
        own = self.contest.least((self.unit + 8.0 * errors) * (self.vector @ self.vector))
        least = own - 8.0 * (errors + errors[explanations][:, None]) * whole[:, None]  # (k, M)
        is_best = ~(fits < least[np.arange(len(explanations)), explanations] - self.unit * whole)
        grams = (bases.reshape(-1, len(self.vector)) @ self._flat.T).reshape(*along.shape, -1, self.table.size)
        radii, freedom = np.sqrt(energy), self.freedom - self.ranks[explanations]
        lift = np.ones((len(explanations), -(-self.table.size // BLOCK)))
        bounds = np.full(len(explanations), np.inf)
        if not is_full:
            is_known = self.own_sigma > 0.0
            lengths = np.full(len(radii), self.own_sigma) if is_known else radii
            slack = 2.0 * self.unit * whole
            screen_batch(grams, along, self.ranks, least, slack, lengths, freedom, is_known, ~is_best, lift, bounds)
        counted, remaining = np.where(is_best, self.draws, 0), np.where(is_best, 0, self.draws)
        number = most_rejected(level * (1.0 - SCREEN_SHARE), self.draws)
        # p <= level exactly if fewer than `number` exceed; a full run neither has enough nor too few.
        enough, fewest = (self.draws + 1, 0) if is_full else (number, number)
        is_open = ~is_best & ~(bounds <= SCREEN_SHARE * level)
        orders, n_live = np.argsort(-lift, axis=1, kind="stable"), (lift > 0.0).sum(axis=1)
        step = self.draws if self._is_kept else _CHUNK
        for start in range(0, self.draws if is_open.any() else 0, step):
            chosen = slice(start, min(start + step, self.draws))
            products = self._products(chosen.start, chosen.stop)
            own = np.ascontiguousarray(np.moveaxis(products[:, :, explanations], 2, 0))  # (k, b, r)
            squares, scatter = self.normals[1][chosen], self.normals[2][chosen]
            limits = (radii, self.own_sigma, self.unit, orders, n_live, is_open, counted, remaining, enough, fewest)
            count_batch(products, own, squares, scatter, grams, along, least, *limits)
        return Counts(counted, counted + remaining, bounds)
