"""One row, or rows with a common mean: rotations of a vector, and the gate for what it leaves."""

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np
import scipy

from ..._typing import Array, Field, IntArray
from ...laws import RANK_TOLERANCE
from . import _thinned as thinned
from ._kernels import BLOCK, count, count_batch, longest, padded, screen_batch
from ._pairs import LEAST_BESIDE, Pairs
from ._rows import SCREEN_SHARE, Contest, Counts, Rotations, exceeding, most_rejected
from ._table import (
    EPS,
    LEAST_LEFT,
    OUTSIDERS,
    OWN_SHARE,
    RIVALS,
    ROUNDING,
    SCATTER,
    Draws,
    Finding,
    as_real,
    leading_share,
    leading_shares,
    near_together,
    turned,
)
from ._thinned import Thinned

if TYPE_CHECKING:
    from ._judge import Rotation

# Products of draws and bases are kept up to this many bytes, and made again in chunks of draws beyond.
_MOST_KEPT = 400_000_000
_CHUNK = 64
_BATCH_ENTRIES = 4_000_000
_MOST_GROUPS = 16  # of rivals that are kept


class Rivals(NamedTuple):
    """Rivals in blocks of near ones, filled up to whole blocks (M')."""

    places: IntArray  # (M,) where each explanation stands among them, -1 of those that are none
    flat: Array  # (r M', m) bases by component, so that slices over rivals are contiguous
    needed: Array  # (M',) energies that reach the statistic
    errors: Array  # (M',) of spans
    ranks: IntArray  # (M',)
    floors: Array  # (M',)
    products: Array | None  # (B, r, M') of all draws with all of them; None if they are too many for memory


@final
class MeanRows(Rotations):
    r"""T rows :math:`z_t = N_e\theta + \sigma\varepsilon_t`: they enter by :math:`\sqrt T\bar z` and their scatter S.

    Beside the background, real and imaginary parts side by side: the vector w (m,), Gaussian around the span of e with
    variance :math:`\sigma^2` in each coordinate, and :math:`S \sim \sigma^2\chi^2`.  Given
    :math:`(Pw, R^2 = |Qw|^2 + S)` the direction of the residual is uniform, so
    :math:`w^* = Pw + R\,Qg/\sqrt{|Qg|^2 + h}` with g normal and h chi-square is another draw of w.
    An atom alone whose coefficient has a sign, by the companions, fits as a rival to :math:`\max(0, u^Tw)^2`.
    """

    def __init__(self, spec: "Rotation", rows: Field) -> None:
        Rotations.__init__(self, spec, rows)
        sides = self._sides()
        self.bases = self._turned_bases(sides)  # (M, r, m) real orthonormal rows
        self._kept_rivals: dict[int, Rivals] = {}
        self.floors = np.where(sides != 0, 0.0, -np.inf)  # (M,) that the first product with a basis is raised to
        mean = self.rows.mean(axis=0)
        self.vector: Array = self.beside(np.sqrt(len(self.rows)) * mean[:, None])[0]  # (m,) w
        self.scatter = float((np.abs(self.rows - mean) ** 2).sum()) if len(self.rows) > 1 else 0.0  # S
        fits = self._fits(self.bases @ self.vector, self.floors)
        energy = float(self.vector @ self.vector) + self.scatter
        self.contest = Contest.of(fits, self.ranks, energy, self.freedom, spec.own_penalty, self.own_sigma)
        # Rounding error of an energy |P_j w*|^2 over the energy of the draw, spans apart.  Inner products of m terms
        # are off by at most m eps times both norms, 2 r of them enter with their squares, and the row itself, before
        # the background was taken off, by q eps of its own norm.
        terms = 16.0 * (len(self.vector) + 8) * self.bases.shape[1]
        ratio = (np.linalg.norm(self.rows) + 1e-300) / (np.linalg.norm(self.vector) + 1e-300)
        self.unit = float(EPS * (terms + 8.0 * (self.rows.shape[1] + len(self.rows)) * ratio))

    def _sides(self) -> IntArray:
        """(M,) signs of the coefficients of single atoms; 0 of other supports, and where pairs have their own way."""
        table = self.table
        sides = np.zeros(table.size, dtype=np.int64)
        if self.spec.companions is not None and self.parts == 1 and not table.has_pairs:
            alone = [e for e, support in enumerate(table.supports) if len(support) == 1]
            signs = self.spec.companions.signs(table.atoms.shape[1])
            sides[alone] = signs[[table.supports[e][0] for e in alone]]
        return sides

    def _turned_bases(self, sides: IntArray) -> Array:
        """Give the first row of each basis the sign that the fit must have, if any."""
        rows = self.table.bases
        rows = as_real(rows) if self.parts == 2 else rows
        signed = np.flatnonzero(sides)
        if not signed.size:
            return rows
        atoms = self.beside(self.table.atoms[:, [self.table.supports[e][0] for e in signed]])
        turns = np.ones(len(rows))
        turns[signed] = sides[signed] * np.sign((atoms * rows[signed, 0]).sum(axis=1))
        return np.asarray(rows * turns[:, None, None])

    def _fits(self, along: Array, floors: Array) -> Array:
        """(k,) energies of products (k, r) with bases."""
        return np.asarray(np.maximum(along[:, 0], floors) ** 2 + (along[:, 1:] ** 2).sum(axis=1))

    def beside(self, columns: Field) -> Array:
        """Columns (q, k) beside the background: (k, m), real coordinates."""
        left = (self.table.complement.conj().T @ columns).T
        return np.concatenate([left.real, left.imag], axis=-1) if self.parts == 2 else np.asarray(left)

    def residual(self, e: int) -> Array:
        """(m,) Qw."""
        return np.asarray(self.vector - (self.bases[e] @ self.vector) @ self.bases[e])

    def residuals(self, e: int) -> tuple[float, int]:
        """R^2 and its degrees of freedom."""
        left = self.residual(e)
        return float(left @ left) + self.scatter, self.freedom - int(self.ranks[e])

    def mean_and_atoms(self, support: list[int]) -> tuple[Field, Field]:
        """The mean, complex if the rows are, and the atoms as given."""
        size = self.table.complement.shape[1]
        native = self.vector[:size] + 1j * self.vector[size:] if self.parts == 2 else self.vector
        return native, self.table.complement.conj().T @ self.table.atoms[:, support]

    @property
    def sufficient(self) -> tuple[Field, float]:
        """The mean, and the scatter."""
        return self.mean_and_atoms([])[0][:, None], self.scatter

    @cached_property
    def normals(self) -> tuple[Array, Array, Array]:
        """(B, m) g, (B,) its squared norms, and (B,) h."""
        return self._drawn(RIVALS, self.spec.draws)

    def _drawn(self, purpose: int, count: int) -> tuple[Array, Array, Array]:
        drawn = Draws(self.spec.seed, purpose)
        normals = drawn.normal((count, len(self.vector)))
        scatter = drawn.chi_square(self.scatter_freedom, (count,))
        return normals, np.asarray((normals**2).sum(axis=1)), scatter

    @cached_property
    def _pairs(self) -> Pairs | None:
        """The way of pairs, where it is open."""
        if not self.table.has_pairs:
            return None
        rows = self.table.element_bases
        pairs = Pairs(self, as_real(rows) if self.parts == 2 else rows)
        return pairs if pairs.tables.steepest <= 1.0 / LEAST_BESIDE else None

    @cached_property
    def thinned(self) -> Thinned | None:
        """The groups of explanations whose rivals are thinned out; None where all meet all."""
        most = self.spec.rivals
        return None if most is None or most >= self.table.size else Thinned(self.bases, most)

    @cached_property
    def _all_rivals(self) -> Rivals:
        return self._among(np.arange(self.table.size))

    def _among(self, chosen: IntArray) -> Rivals:
        """These explanations as rivals."""
        order = chosen[near_together(self.bases[chosen], BLOCK)]
        filled = padded(self.bases[order].transpose(1, 2, 0))  # (r, m, M')
        flat = np.ascontiguousarray(filled.swapaxes(1, 2)).reshape(-1, len(self.vector))
        errors = self.table.errors
        slack = (self.unit + 8.0 * errors) * (self.vector @ self.vector)
        least = self.contest.least(slack, chosen)
        needed = (padded(least[order], np.inf), padded(errors[order]), padded(self.ranks[order], 0))
        places = np.full(self.table.size, -1)
        places[order] = np.arange(len(order))
        products = None
        if 8 * self.spec.draws * len(flat) <= _MOST_KEPT:
            products = (self.normals[0] @ flat.T).reshape(self.spec.draws, self.bases.shape[1], -1)
        return Rivals(places, flat, *needed, padded(self.floors[order], -np.inf), products)

    def stretches(self, explanations: IntArray) -> Array:
        r"""(k,) at least :math:`\sum_j|A_jx_j| / |\sum_jA_jx_j|` over the elements j of a support.

        Atoms of one name are columns of one element.  With :math:`U_j` a basis of each and s the least singular value
        of all together, it is the root of their number over s.
        """
        return np.array([self._stretch(int(e)) for e in explanations])

    def _stretch(self, e: int) -> float:
        support = self.table.supports[e]
        names = self.table.names or tuple(map(str, range(self.table.atoms.shape[1])))
        elements = [[i for i in support if names[i] == name] for name in dict.fromkeys(names[i] for i in support)]
        if len(elements) < 2:
            return 1.0
        columns = self.table.complement.conj().T @ self.table.atoms
        bases = [scipy.linalg.orth(columns[:, own], RANK_TOLERANCE) for own in elements]
        least = float(np.linalg.svd(np.hstack(bases), compute_uv=False)[-1])
        return float(np.sqrt(len(elements))) / max(least, EPS)

    def rounding(self, e: int) -> float:
        """Rounding error as a length: of the vector, and of the span that is taken off."""
        return float((self.unit + 8.0 * self.table.errors[e]) * np.linalg.norm(self.vector))

    def rivals(self, explanations: IntArray, level: float, *, is_full: bool = False) -> Counts:
        """Explanations in batches, and in each the draws in chunks that all share."""
        if self.thinned is not None:
            few = self._among_few(self.thinned, explanations, level, is_full=is_full)
            number = most_rejected(level * (1.0 - thinned.SHARE), self.spec.draws)
            counts = few[:2].astype(np.int64)
            return Counts(counts[0], counts[1], few[2] * (SCREEN_SHARE / thinned.SHARE), number)
        if self._pairs is not None:
            return self._pairs.counts(explanations, level, is_full=is_full)
        table = self._batches(self._all_rivals, explanations, level, is_full=is_full)
        return Counts(table[0].astype(np.int64), table[1].astype(np.int64), table[2])

    def _among_few(self, groups: Thinned, explanations: IntArray, level: float, *, is_full: bool) -> Array:
        """(3, k) what `_batches` counts, of each group among its own rivals; a screen in closed form comes first."""
        counted = np.empty((3, len(explanations)))
        own = groups.of[explanations]
        for number in np.unique(own).tolist():
            chosen = np.flatnonzero(own == number)
            rivals = self._group_rivals(groups, number)
            counted[:, chosen] = self._batches(rivals, explanations[chosen], level, is_full=is_full)
        return counted

    def _group_rivals(self, groups: Thinned, number: int) -> Rivals:
        """The rivals of one group; those of the last few groups are kept, as levels ask for them in turn."""
        if number not in self._kept_rivals:
            while len(self._kept_rivals) >= _MOST_GROUPS:
                self._kept_rivals.pop(next(iter(self._kept_rivals)))
            self._kept_rivals[number] = self._among(groups.rivals[number])
        return self._kept_rivals[number]

    def _batches(self, rivals: Rivals, explanations: IntArray, level: float, *, is_full: bool) -> Array:
        """(3, k) what `_batch` counts, of a number of explanations at a time."""
        size = max(1, _BATCH_ENTRIES // (self.bases.shape[1] * len(rivals.flat)))
        batches = [explanations[i : i + size] for i in range(0, len(explanations), size)]
        counted = [self._batch(rivals, batch, level, is_full=is_full) for batch in batches]
        return np.concatenate([np.empty((3, 0)), *counted], axis=1)

    def _batch(self, rivals: Rivals, explanations: IntArray, level: float, *, is_full: bool) -> Array:
        """(3, k) fewest and most exceedances, and bounds of the p-values; all draws exceed for what fits best.

        Under a rotation of e its own fit stays, so that of the best every draw reaches the statistic.
        """
        bases = self.bases[explanations]
        own_errors = self.table.errors[explanations][:, None]
        places, flat, needed, errors, ranks, floors, _ = rivals
        along = bases @ self.vector  # (k, r)
        left = self.vector - np.einsum("kr,krm->km", along, bases)
        radii = np.sqrt((left**2).sum(axis=1) + self.scatter)
        whole = (along**2).sum(axis=1) + radii**2
        least = needed - 8.0 * (errors + own_errors) * whole[:, None]  # (k, M')
        rows = np.arange(len(explanations))
        fits = self._fits(along, self.floors[explanations])
        is_best = ~(fits < least[rows, places[explanations]] - self.unit * whole)
        grams = (bases.reshape(-1, len(self.vector)) @ flat.T).reshape(*along.shape, along.shape[1], -1)
        bounds = np.full(len(explanations), np.inf)
        share = SCREEN_SHARE if self.thinned is None else thinned.SHARE
        limit = share * level
        if not is_full and self.thinned is not None:
            bounds = self.thinned.p_values(self, explanations, ~is_best)
        elif not is_full:
            is_known = self.own_sigma > 0.0
            slack = 2.0 * self.unit * whole
            lengths = np.full(len(radii), self.own_sigma) if is_known else radii
            settings = (slack, lengths, self.freedom - self.ranks[explanations], is_known, ~is_best, limit)
            screen_batch(grams, along, ranks, floors, least, *settings, bounds)
        counted = np.stack([np.where(is_best, self.spec.draws, 0), np.full(len(rows), self.spec.draws), bounds])
        chosen = np.flatnonzero(~is_best & ~(bounds <= limit))
        # p <= level exactly if fewer than `number` exceed; a full run neither has enough nor too few.
        number = most_rejected(level * (1.0 - share), self.spec.draws)
        if number == 0 and not is_full:  # no draws could reject at so small a level
            counted[0, chosen] = self.spec.draws
            return counted
        stops = (self.spec.draws + 1, 0) if is_full else (number, number)
        problem = (grams[chosen], along[chosen], floors, least[chosen], radii[chosen])
        counted[:2, chosen] = self._counted(rivals, bases[chosen], problem, stops)
        return counted

    def _counted(
        self, rivals: Rivals, bases: Array, problem: tuple[Array, Array, Array, Array, Array], stops: tuple[int, int]
    ) -> IntArray:
        """(2, k) fewest and most exceedances; problem: as `count_batch` takes it."""
        counted = np.zeros(len(bases), dtype=np.int64)
        remaining = np.full(len(bases), self.spec.draws)
        kept = rivals.products
        step = _CHUNK if kept is None else self.spec.draws
        for start in range(0, self.spec.draws if len(bases) else 0, step):
            chosen = slice(start, min(start + step, self.spec.draws))
            normals, squares, scatter = (drawn[chosen] for drawn in self.normals)
            products = kept
            if products is None:
                products = (normals @ rivals.flat.T).reshape(len(normals), self.bases.shape[1], -1)
            count_batch(
                products,
                bases @ normals.T,
                squares,
                scatter,
                *problem,
                self.own_sigma,
                self.unit,
                counted,
                remaining,
                *stops,
            )
        return np.stack([counted, counted + remaining])

    @cached_property
    def _gate_normals(self) -> tuple[Array, Array, Array]:
        return self._drawn(OUTSIDERS, self.spec.gate_draws)

    @cached_property
    def _directions(self) -> tuple[Array, Array, Array]:
        """(c, k, m) columns beside the background, by component; products with the draws (B, c, k'), and `longest`."""
        columns = self.gate.unit
        parts = [columns, 1j * columns] if self.parts == 2 else [columns]
        beside = np.stack([self.beside(part) for part in parts])
        flat = beside.reshape(-1, beside.shape[-1])
        products = padded((self._gate_normals[0] @ flat.T).reshape(self.spec.gate_draws, len(parts), -1))
        return beside, products, longest(products)

    def columns(self, e: int, enough: int) -> Finding:
        r"""Largest :math:`\langle Qw, b\rangle^2 / (|Qb|^2 R^2)`, with R left out where the noise is known."""
        (beside, products, tops) = self._directions
        (normals, squares, scatter) = self._gate_normals
        basis = self.bases[e]
        gram = np.einsum("lm,ckm->lck", basis, beside)
        left = (beside[0] ** 2).sum(axis=1) - (gram[:, 0] ** 2).sum(axis=0)  # (k,) |Qb|^2, the same of i b
        is_seen = left > LEAST_LEFT**2
        if not is_seen.any():
            return self.finding("columns", "nowhere")
        energy = ((beside @ self.residual(e)) ** 2).sum(axis=0)
        ratios = np.where(is_seen, energy / np.where(is_seen, left, 1.0), 0.0)
        place = int(ratios.argmax())
        # Inner products over m terms are off by m eps, relative to what is left of b.
        unit = 32.0 * EPS * (len(self.vector) + 8)
        # The residual is off by its rounding, and so is each part of it over what is left of b.
        lowest = (np.sqrt(ratios) - 2.0 * self.rounding(e) / np.sqrt(np.where(is_seen, left, np.inf))).max()
        largest = np.where(np.sqrt(self.residuals(e)[0]) > 2.0 * self.rounding(e), max(lowest, 0.0) ** 2, 0.0)
        least = np.where(is_seen, left * largest * (1.0 - unit / LEAST_LEFT**2), np.inf)
        counted, remaining = count(
            products,
            tops,
            basis @ normals.T,
            squares,
            scatter,
            padded(gram),
            np.zeros(len(basis)),
            np.full(products.shape[2], -np.inf),
            padded(least, np.inf),
            np.sqrt(self.residuals(e)[0]),
            self.own_sigma,
            unit,
            0,
            enough,
            0,
            self.spec.gate_draws,
        )
        is_own = bool(left[place] <= (1.0 - OWN_SHARE) * (beside[0, place] ** 2).sum())
        return self.finding("columns", self.gate.places[place], (counted, counted + remaining), is_own=is_own)

    def lags(self, e: int, enough: int, lags: tuple[int, ...] = ()) -> Finding:
        """Largest absolute autocorrelation of the residual's direction, along the channels."""
        basis = self.bases[e]
        normals = self._gate_normals[0]
        asked = lags or self.gate.lags
        observed = self._autocorrelations(self.residual(e)[None], asked)[0]
        least = observed.max() - ROUNDING - turned(self.rounding(e), self.residuals(e)[0])

        def reached(chosen: slice) -> int:
            drawn = normals[chosen] - (normals[chosen] @ basis.T) @ basis
            return int((~(self._autocorrelations(drawn, asked).max(axis=1) < least)).sum())

        place = f"lag {asked[int(observed.argmax())]}"
        return self.finding("lags", place, exceeding(self.spec.gate_draws, enough, reached))

    def _autocorrelations(self, left: Array, lags: tuple[int, ...]) -> Array:
        """(b, lags) of residuals (b, m)."""
        complement = self.table.complement
        size = complement.shape[1]
        native = left[:, :size] + 1j * left[:, size:] if self.parts == 2 else left
        channels = (native @ complement.T) / np.linalg.norm(left, axis=1)[:, None]
        return np.stack([np.abs((channels[:, lag:] * channels[:, :-lag].conj()).sum(axis=1)) for lag in lags], axis=1)

    @cached_property
    def _scatter_exceedances(self) -> int:
        rows = self.rows
        shape = (rows.shape[1], len(rows) - 1)
        drawn = leading_shares(self.spec.seed, self.spec.gate_draws, *shape, is_complex=self.parts == 2)
        off = self._scatter_rounding
        return int((~(drawn < leading_share((rows - rows.mean(axis=0)).T, off))).sum())

    @property
    def _scatter_rounding(self) -> float:
        return float(8.0 * EPS * (len(self.rows) + 8) * np.linalg.norm(self.rows))

    def spectrum(self, e: int, enough: int) -> Finding:  # noqa: ARG002
        """Leading eigenvalue of the scatter matrix over its trace, whose law is the same under all explanations."""
        return self.finding("spectrum", SCATTER, (self._scatter_exceedances, self._scatter_exceedances))

    def noise_energy(self, e: int) -> tuple[str, float, int, float]:
        """The scatter of several rows, which no explanation changes; the residual of e for a single row."""
        if len(self.rows) == 1:
            return Rotations.noise_energy(self, e)
        return SCATTER, self.scatter, self.scatter_freedom, self._scatter_rounding
