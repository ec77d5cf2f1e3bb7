"""Rows with coefficients of their own, such as snapshots of unknown waveforms: rotations of second moments."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, final

import numpy as np
from scipy.special import betainc, chdtrc

from ..._typing import Array, Field, IntArray
from ...laws import noise_ratio, two_sided
from ._outsiders import LEAST_LEFT, LEFT, ROUNDING, Outsiders, Seen, exceeding, leading_share, leading_shares, turned
from ._table import EPS, OUTSIDERS, RIVALS, SCREEN_SHARE, Contest, Counts, Draws, Rotations, most_rejected

_CHUNK = 128
_ENTRIES = 8_000_000


def hermitian_coordinates(matrices: Field) -> Array:
    """Hermitian matrices (..., m, m) as (..., k) real coordinates with tr(A B) as inner product."""
    size = matrices.shape[-1]
    rows, columns = np.triu_indices(size, 1)
    index = np.arange(size)
    upper = np.sqrt(2.0) * matrices[..., rows, columns]
    parts = [matrices[..., index, index].real, upper.real] + ([upper.imag] if np.iscomplexobj(matrices) else [])
    return np.concatenate(parts, axis=-1)


def _lower(matrix: Field) -> Field:
    """(k, min(k, n)) with the second moments of matrix (k, n)."""
    return np.asarray(np.linalg.qr(matrix.conj().T)[1].conj().T)


@final
@dataclass(frozen=True, slots=True, eq=False)
class MomentDraws:
    r"""B draws of :math:`GG^H` for G (m, T) normal, together with the first r columns of G.

    Whatever unitary turns the T rows of data, G has the same law; turned such that the r coefficients of e stand in the
    first r columns, only those columns of G meet them, and the others enter by their second moments alone.
    """

    first: Field  # (B, m, min(r, T))
    moments: Field  # (B, m, m)

    @classmethod
    def of(
        cls, seed: int, purpose: int, count: int, size: int, rank: int, rows: int, *, is_complex: bool
    ) -> "MomentDraws":
        """Draw with variance 1 in each real coordinate; the cost does not grow with the rows."""
        drawn = Draws(seed, purpose)
        first = drawn.field_normal((count, size, min(rank, rows)), is_complex)
        rest = drawn.wishart_factor(count, size, rows - min(rank, rows), is_complex)
        return cls(first, first @ first.conj().swapaxes(1, 2) + rest @ rest.conj().swapaxes(1, 2))


@final
@dataclass(frozen=True, eq=False)  # no slots: draws are made when first asked for
class FreeRows(Rotations):
    r"""T rows :math:`z_t = N_e\theta_t + \sigma\varepsilon_t`, all of it through their second moments.

    Beside the background W (m, T): given :math:`(PW, R = |QW|)` the direction of QW is uniform, and
    :math:`W^* = PW + R\,QG/|QG|` is another draw of it.  Fits are :math:`|P_jW|^2 = \mathrm{tr}(P_jWW^H)`.
    """

    has_common_mean: ClassVar[bool] = False

    @property
    def freedom(self) -> int:
        """Real coordinates of W."""
        return self.parts * int(self.table.complement.shape[1]) * len(self.rows)

    @cached_property
    def ranks(self) -> IntArray:
        """(M,) real coordinates of the coefficients of all rows."""
        return self.table.ranks * self.parts * len(self.rows)

    @cached_property
    def reduced(self) -> Field:
        """(m, min(m, T)) with the second moments of W."""
        beside = self.table.complement.conj().T @ self.rows.T  # (m, T)
        if beside.shape[0] >= beside.shape[1]:
            return np.asarray(beside)
        return _lower(beside)

    def columns(self, e: int) -> Field:
        """(m, r) orthonormal basis of e."""
        return np.asarray(self.table.bases[e, : self.table.ranks[e]].T)

    @cached_property
    def contest(self) -> Contest:
        """The fits of all explanations, and how they compete."""
        along = self.table.bases.conj() @ self.reduced  # (M, r, p)
        fits = (np.abs(along) ** 2).sum(axis=(1, 2))
        energy = float((np.abs(self.reduced) ** 2).sum())
        return Contest.of(fits, self.ranks, energy, self.freedom, self.penalty, self.own_sigma)

    @property
    def scores(self) -> Array:
        """(M,) the statistic of every explanation as a rival."""
        return self.contest.scores

    def residual(self, e: int) -> Field:
        """(m, p) QW, reduced."""
        basis = self.columns(e)
        return np.asarray(self.reduced - basis @ (basis.conj().T @ self.reduced))

    def residuals(self, e: int) -> tuple[float, int]:
        """R^2 and its degrees of freedom."""
        return float((np.abs(self.residual(e)) ** 2).sum()), self.freedom - int(self.ranks[e])

    @cached_property
    def _unit(self) -> float:
        """Over the energy: inner products of m^2 terms, second moments of m + T, and rows before their background."""
        unit = EPS * 32.0 * (self.table.complement.shape[1] ** 2 + len(self.rows) + 16)
        return float(unit * (1.0 + np.linalg.norm(self.rows) / (np.linalg.norm(self.reduced) + 1e-300)))

    def rounding(self, e: int) -> float:
        """Rounding error as a length: of the rows, and of the span that is taken off."""
        return float((self._unit + 8.0 * self.table.errors[e]) * np.linalg.norm(self.reduced))

    def coefficients(self, e: int, weights: Array | None = None) -> tuple[Field, Array]:  # noqa: ARG002
        """Return no coefficients: every row has its own."""
        return np.empty(0), np.empty(0)

    @cached_property
    def moment_draws(self) -> MomentDraws:
        """The draws that all explanations share."""
        size = self.table.complement.shape[1]
        rank = int(self.table.ranks.max())
        shape = (self.draws, size, rank, len(self.rows))
        return MomentDraws.of(self.seed, RIVALS, *shape, is_complex=self.is_complex)

    def rotated(self, e: int, drawn: MomentDraws, chosen: slice, *, is_residual: bool = False) -> Field:
        """(b, m, m) second moments of W*, or of its residual R QG/|QG| alone."""
        basis = self.columns(e)
        first = drawn.first[chosen]
        moments = drawn.moments[chosen]
        across = moments @ basis  # (b, m, r)
        inner = basis @ (basis.conj().T @ across) @ basis.conj().T
        swung = across @ basis.conj().T
        left = moments - swung - swung.conj().swapaxes(1, 2) + inner  # Q G G^H Q
        trace = np.einsum("bii->b", left).real
        energy = self.residuals(e)[0]
        scale = np.full(len(left), self.own_sigma) if self.own_sigma > 0.0 else np.sqrt(energy / trace)
        left = scale[:, None, None] ** 2 * left
        if is_residual or not basis.shape[1]:
            return np.asarray(left)
        kept = basis @ _lower(basis.conj().T @ self.reduced)  # (m, at most r)
        beside = first - basis @ (basis.conj().T @ first)
        cross = kept @ (scale[:, None, None] * beside[:, :, : kept.shape[1]]).conj().swapaxes(1, 2)
        return np.asarray(kept @ kept.conj().T + cross + cross.conj().swapaxes(1, 2) + left)

    def _projectors(self, start: int, stop: int) -> Array:
        bases = self.table.bases[start:stop]
        projectors = bases.swapaxes(1, 2) @ bases.conj()
        return hermitian_coordinates(projectors.astype(np.complex128) if self.is_complex else projectors)

    @cached_property
    def _kept(self) -> tuple[Array, ...]:
        """All projectors, in blocks; made again each time if there are too many to keep."""
        return tuple(self._projectors(i, i + self._step) for i in range(0, self.table.size, self._step))

    @property
    def _step(self) -> int:
        return max(1, _ENTRIES // int(self.table.complement.shape[1]) ** 2)

    def _is_reached(self, moments: Field, least: Array) -> IntArray:
        """(b,) 1 where a rival reaches its least energy (M,)."""
        entries = hermitian_coordinates(moments)
        hit = np.zeros(len(entries), dtype=bool)
        is_kept = self.table.size <= 8 * self._step
        for i, start in enumerate(range(0, self.table.size, self._step)):
            block = self._kept[i] if is_kept else self._projectors(start, start + self._step)
            hit |= ~(entries @ block.T < least[start : start + self._step]).all(axis=1)
        return hit.astype(np.int64)

    def rivals(self, explanations: IntArray, level: float, *, is_full: bool = False) -> Counts:
        """One explanation after the other, its draws in chunks."""
        counted = [self._counted(int(e), level, is_full=is_full) for e in explanations]
        table = np.array(counted, dtype=np.float64).reshape(-1, 3)
        return Counts(table[:, 0].astype(np.int64), table[:, 1].astype(np.int64), table[:, 2])

    def _counted(self, e: int, level: float, *, is_full: bool) -> tuple[int, int, float]:
        energy, freedom = self.residuals(e)
        whole = float(self.contest.fits[e]) + energy
        slack = self._unit + 8.0 * (self.table.errors + self.table.errors[e])
        least = self.contest.least(slack * whole)
        if not self.contest.fits[e] < least[e] - slack[e] * whole:
            return self.draws, self.draws, np.inf
        number = most_rejected(level * (1.0 - SCREEN_SHARE), self.draws)
        bound = np.inf if is_full else self._bound(e, least - 2.0 * slack * whole, energy, freedom)
        if bound <= SCREEN_SHARE * level:
            return 0, self.draws, bound
        counted = 0
        done = 0
        while done < self.draws:
            if not is_full and (counted >= number or counted + self.draws - done < number):
                break
            chosen = slice(done, min(done + _CHUNK, self.draws))
            moments = self.rotated(e, self.moment_draws, chosen)
            most = max(whole, float(np.einsum("bii->b", moments).real.max()))
            counted += int(self._is_reached(moments, least - slack * most).sum())
            done = chosen.stop
        return counted, counted + self.draws - done, bound

    def _bound(self, e: int, least: Array, energy: float, freedom: int) -> float:
        """The sum over rivals of Beta (chi-square) tails, as for a vector of m T coordinates."""
        basis = self.columns(e)
        gram = self.table.bases.conj() @ basis  # (M, r, l)
        reach = np.sqrt((np.abs(gram @ (basis.conj().T @ self.reduced)) ** 2).sum(axis=(1, 2)))
        spread = np.minimum(1.0, np.maximum(self.table.ranks - (np.abs(gram) ** 2).sum(axis=(1, 2)), 0.0) + 1e-12)
        need = np.maximum(np.sqrt(np.maximum(least, 0.0)) * (1.0 - 1e-13) - reach * (1.0 + 1e-13), 0.0)
        half = 0.5 * np.maximum(self.ranks, 1)
        if self.own_sigma > 0.0:
            return float(np.sum(chdtrc(2.0 * half, need**2 / (self.own_sigma**2 * spread))))
        rest = 0.5 * freedom - half
        u = np.clip(need**2 / (energy * spread), 0.0, 1.0)
        tails = np.where(rest > 0.0, betainc(np.maximum(rest, 0.5), half, 1.0 - u), 1.0)
        return float(tails.sum())


@final
@dataclass(frozen=True, eq=False)  # no slots: draws are made when first asked for
class FreeOutsiders:
    """Rotates the residual second moments by draws of its own."""

    outsiders: Outsiders
    rows: FreeRows
    draws: int

    @cached_property
    def _moments(self) -> MomentDraws:
        shape = (self.draws, self.rows.table.complement.shape[1], 0, len(self.rows.rows))
        return MomentDraws.of(self.rows.seed, OUTSIDERS, *shape, is_complex=self.rows.is_complex)

    def columns(self, e: int, enough: int) -> Seen:
        """Largest part of the residual energy along what e leaves of a column."""
        rows = self.rows
        basis = self.rows.columns(e)
        beside = rows.table.complement.conj().T @ self.outsiders.unit  # (m, k)
        left = beside - basis @ (basis.conj().T @ beside)
        norms = np.linalg.norm(left, axis=0)
        seen = np.flatnonzero(norms > LEAST_LEFT)
        if not seen.size:
            return Seen("nowhere", self.draws, self.draws)
        unit = (left[:, seen] / norms[seen]).T  # (k, m)
        projectors = unit[:, :, None] * unit.conj()[:, None, :]
        entries = hermitian_coordinates(projectors.astype(np.complex128) if rows.is_complex else projectors)
        observed = (np.abs(unit.conj() @ rows.residual(e)) ** 2).sum(axis=1)
        energy = rows.residuals(e)[0]
        least = observed.max() - (ROUNDING / LEAST_LEFT + turned(rows.rounding(e), energy)) * energy

        def reached(chosen: slice) -> int:
            rotated = rows.rotated(e, self._moments, chosen, is_residual=True)
            return int((~((hermitian_coordinates(rotated) @ entries.T).max(axis=1) < least)).sum())

        place = self.outsiders.places[int(seen[observed.argmax()])]
        return Seen(place, *exceeding(self.draws, enough, reached))

    @cached_property
    def _shares(self) -> dict[int, Array]:
        """By rank, (B,)."""
        size = self.rows.table.complement.shape[1]
        n_rows = len(self.rows.rows)
        seed = self.rows.seed
        is_complex = self.rows.is_complex
        ranks = np.unique(self.rows.table.ranks).tolist()
        return {rank: leading_shares(seed, self.draws, size - rank, n_rows, is_complex) for rank in ranks}

    def spectrum(self, e: int, enough: int) -> Seen:  # noqa: ARG002
        """Leading eigenvalue of the residual second moments over their trace; its law depends on dimensions alone."""
        least = leading_share(self.rows.residual(e), self.rows.rounding(e))
        exceedances = int((~(self._shares[int(self.rows.table.ranks[e])] < least)).sum())
        return Seen("a direction of its own", exceedances, exceedances)

    def noise(self, e: int, enough: int) -> Seen:  # noqa: ARG002
        r"""The energy that e leaves of all rows, :math:`\sigma^2\chi^2` if it made them."""
        rows = self.rows
        variance = self.rows.own_sigma**2
        energy, freedom = rows.residuals(e)
        p = float(two_sided(energy, freedom, variance, rows.rounding(e)))
        return Seen(LEFT, self.draws, self.draws, closed=p, ratio=noise_ratio(energy, freedom, variance))
