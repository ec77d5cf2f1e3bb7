"""Rows with coefficients of their own, such as snapshots of unknown waveforms: rotations of second moments."""

from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np
from scipy.special import betainc, chdtrc

from ..._typing import Array, Field, IntArray
from ._rows import SCREEN_SHARE, Contest, Rotations, exceeding, most_rejected
from ._table import EPS, LEAST_LEFT, OUTSIDERS, RIVALS, ROUNDING, Draws, Finding, leading_share, leading_shares, turned

if TYPE_CHECKING:
    from ._judge import Rotation

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
class FreeRows(Rotations):
    r"""T rows :math:`z_t = N_e\theta_t + \sigma\varepsilon_t`, all of it through their second moments.

    Beside the background W (m, T): given :math:`(PW, R = |QW|)` the direction of QW is uniform, and
    :math:`W^* = PW + R\,QG/|QG|` is another draw of it.  Fits are :math:`|P_jW|^2 = \mathrm{tr}(P_jWW^H)`.
    """

    def __init__(self, spec: "Rotation", rows: Field) -> None:
        Rotations.__init__(self, spec, rows)
        beside = self.table.complement.conj().T @ self.rows.T  # (m, T)
        # (m, min(m, T)) with the second moments of W.
        self.reduced: Field = np.asarray(beside) if beside.shape[0] >= beside.shape[1] else _lower(beside)
        along = self.table.bases.conj() @ self.reduced  # (M, r, p)
        fits = (np.abs(along) ** 2).sum(axis=(1, 2))
        energy = float((np.abs(self.reduced) ** 2).sum())
        self.contest = Contest.of(fits, self.ranks, energy, self.freedom, spec.own_penalty, self.own_sigma)
        # Rounding over the energy: inner products of m^2 terms, second moments of m + T, rows before their background.
        unit = EPS * 32.0 * (len(beside) ** 2 + len(self.rows) + 16)
        self._unit = float(unit * (1.0 + np.linalg.norm(self.rows) / (np.linalg.norm(self.reduced) + 1e-300)))

    def span(self, e: int) -> Field:
        """(m, r) orthonormal basis of e."""
        return np.asarray(self.table.bases[e, : self.table.ranks[e]].T)

    @property
    def sufficient(self) -> tuple[Field, float]:
        """The rows, reduced."""
        return self.reduced, 0.0

    def residual(self, e: int) -> Field:
        """(m, p) QW, reduced."""
        basis = self.span(e)
        return np.asarray(self.reduced - basis @ (basis.conj().T @ self.reduced))

    def residuals(self, e: int) -> tuple[float, int]:
        """R^2 and its degrees of freedom."""
        return float((np.abs(self.residual(e)) ** 2).sum()), self.freedom - int(self.ranks[e])

    def rounding(self, e: int) -> float:
        """Rounding error as a length: of the rows, and of the span that is taken off."""
        return float((self._unit + 8.0 * self.table.errors[e]) * np.linalg.norm(self.reduced))

    @cached_property
    def moment_draws(self) -> tuple[Field, Field]:
        """The draws that all explanations share."""
        return self._moment_draws(RIVALS, self.spec.draws, int(self.table.ranks.max()))

    def _moment_draws(self, purpose: int, count: int, rank: int) -> tuple[Field, Field]:
        r"""Draws of :math:`GG^H` (B, m, m) for G (m, T) normal, with the first r columns of G, (B, m, min(r, T)).

        Whatever unitary turns the T rows of data, G has the same law; turned such that the r coefficients of e stand in
        the first r columns, only those columns of G meet them, and the others enter by their second moments alone.
        The variance is 1 in each real coordinate, and the cost does not grow with the rows.
        """
        size = self.table.complement.shape[1]
        n_rows = len(self.rows)
        drawn = Draws(self.spec.seed, purpose)
        first = drawn.field_normal((count, size, min(rank, n_rows)), self.is_complex)
        rest = drawn.wishart_factor(count, size, n_rows - min(rank, n_rows), self.is_complex)
        return first, first @ first.conj().swapaxes(1, 2) + rest @ rest.conj().swapaxes(1, 2)

    def rotated(self, e: int, drawn: tuple[Field, Field], chosen: slice, *, is_residual: bool = False) -> Field:
        """(b, m, m) second moments of W*, or of its residual R QG/|QG| alone."""
        basis = self.span(e)
        first, moments = (part[chosen] for part in drawn)
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

    def count(self, e: int, level: float, *, is_full: bool) -> tuple[int, int, float]:
        """Screen the explanations, then count exceedances in chunks of draws."""
        energy, freedom = self.residuals(e)
        whole = float(self.contest.fits[e]) + energy
        slack = self._unit + 8.0 * (self.table.errors + self.table.errors[e])
        least = self.contest.least(slack * whole)
        if not self.contest.fits[e] < least[e] - slack[e] * whole:
            return self.spec.draws, self.spec.draws, np.inf
        bound = np.inf if is_full else self._bound(e, least - 2.0 * slack * whole, energy, freedom)
        if bound <= SCREEN_SHARE * level:
            return 0, self.spec.draws, bound

        def reached(chosen: slice) -> int:
            moments = self.rotated(e, self.moment_draws, chosen)
            most = max(whole, float(np.einsum("bii->b", moments).real.max()))
            return int(self._is_reached(moments, least - slack * most).sum())

        number = most_rejected(level * (1.0 - SCREEN_SHARE), self.spec.draws)
        enough, fewest = (self.spec.draws + 1, 0) if is_full else (number, number)
        return *exceeding(self.spec.draws, enough, reached, fewest), bound

    def _bound(self, e: int, least: Array, energy: float, freedom: int) -> float:
        """The sum over rivals of Beta (chi-square) tails, as for a vector of m T coordinates."""
        basis = self.span(e)
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

    @cached_property
    def _gate_moments(self) -> tuple[Field, Field]:
        return self._moment_draws(OUTSIDERS, self.spec.gate_draws, 0)

    def columns(self, e: int, enough: int) -> Finding:
        """Largest part of the residual energy along what e leaves of a column."""
        basis = self.span(e)
        beside = self.table.complement.conj().T @ self.gate.unit  # (m, k)
        left = beside - basis @ (basis.conj().T @ beside)
        norms = np.linalg.norm(left, axis=0)
        seen = np.flatnonzero(norms > LEAST_LEFT)
        if not seen.size:
            return self.finding("columns", "nowhere")
        unit = (left[:, seen] / norms[seen]).T  # (k, m)
        projectors = unit[:, :, None] * unit.conj()[:, None, :]
        entries = hermitian_coordinates(projectors.astype(np.complex128) if self.is_complex else projectors)
        observed = (np.abs(unit.conj() @ self.residual(e)) ** 2).sum(axis=1)
        energy = self.residuals(e)[0]
        least = observed.max() - (ROUNDING / LEAST_LEFT + turned(self.rounding(e), energy)) * energy

        def reached(chosen: slice) -> int:
            rotated = self.rotated(e, self._gate_moments, chosen, is_residual=True)
            return int((~((hermitian_coordinates(rotated) @ entries.T).max(axis=1) < least)).sum())

        place = self.gate.places[int(seen[observed.argmax()])]
        return self.finding("columns", place, exceeding(self.spec.gate_draws, enough, reached))

    @cached_property
    def _shares(self) -> dict[int, Array]:
        """The shares by rank, (B,)."""
        size = self.table.complement.shape[1]
        n_rows = len(self.rows)
        seed = self.spec.seed
        is_complex = self.is_complex
        ranks = np.unique(self.table.ranks).tolist()
        return {rank: leading_shares(seed, self.spec.gate_draws, size - rank, n_rows, is_complex) for rank in ranks}

    def spectrum(self, e: int, enough: int) -> Finding:  # noqa: ARG002
        """Leading eigenvalue of the residual second moments over their trace; its law depends on dimensions alone."""
        least = leading_share(self.residual(e), self.rounding(e))
        exceedances = int((~(self._shares[int(self.table.ranks[e])] < least)).sum())
        return self.finding("spectrum", "strongest single direction", (exceedances, exceedances))
