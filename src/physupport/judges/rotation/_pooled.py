r"""Noise of an unknown covariance, of which there is an estimate: it is pooled with the rows, and rotated with them.

Beside the columns of e, let A be the second moments of n rows of noise alone and B those of t rows that e made: all are
normal with one covariance.  Then :math:`S = A + B` is independent of :math:`H = S^{-1/2}BS^{-1/2}`, whose law depends
on dimensions alone.  Of a further column a, with :math:`d = S^{-1/2}a / |S^{-1/2}a|`, the likelihood ratio is

.. math:: \frac{a^HA^{-1}a}{a^HS^{-1}a} = d^H(1 - H)^{-1}d.

Given S the directions d are fixed, so the same statistic of draws of H has the law of that of the rows: exact, however
few rows gave the estimate.  Its inverse is Beta((n - m + 1) / 2, t / 2), the F test of one further column.
"""

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np
from scipy.special import betainc, betaincc

from ..._errors import MisuseError
from ..._typing import Array, Field, IntArray
from ._kernels import BLOCK
from ._rows import LEAST_FREEDOM, SCREEN_SHARE, Rotations, exceeding, most_rejected
from ._table import EPS, LEFT, OUTSIDERS, OWN_SHARE, RIVALS, SCATTER, SPECTRA, Draws, Finding, near_together

if TYPE_CHECKING:
    from ._judge import Rotation

# Of a column, what is left beside an explanation; less is taken for rounding.
_LEAST_LEFT = 1e-6
# Of ratios of draws: far more than their rounding.
_ROUNDING = 1e-10
_CHUNK = 1024  # explanations at a time


class Ratios(NamedTuple):
    """Likelihood ratios of further columns, lowered by their rounding, and the directions d of these."""

    values: Array  # (k,)
    directions: Field  # (m, k)
    chosen: IntArray  # (k,) which of the columns
    shares: Array  # (k,) of each, what is left beside the explanation

    @property
    def least(self) -> float:
        """The largest ratio."""
        return float(self.values.max())


def drawn_roots(draws: Draws, count: int, size: int, n_rows: int, degrees: int, *, is_complex: bool) -> Field:
    """(count, k, size) matrices V with 1 + V^H V as (1 - H)^{-1}, of so many rows beside so many of noise alone."""
    noise = draws.wishart_factor(count, size, degrees, is_complex)
    rows = draws.wishart_factor(count, size, n_rows, is_complex)
    pooled = noise @ noise.conj().swapaxes(1, 2) + rows @ rows.conj().swapaxes(1, 2)
    share = np.linalg.solve(np.linalg.cholesky(pooled), rows)  # (count, size, k) S^{-1/2} Y
    left = np.eye(share.shape[2]) - share.conj().swapaxes(1, 2) @ share
    return np.asarray(np.linalg.solve(np.linalg.cholesky(left), share.conj().swapaxes(1, 2)))


@final
class PooledRows(Rotations):
    r"""Rows that were whitened by an estimate of the covariance with so many degrees of freedom.

    Of T rows with a common mean :math:`\sqrt T\bar z` is one row, and their scatter adds T - 1 degrees to the estimate.
    All is turned to coordinates beside the background in which A is the identity.
    """

    def __init__(self, spec: "Rotation", rows: Field) -> None:
        Rotations.__init__(self, spec, rows)
        size = int(self.table.complement.shape[1])
        self.degrees = spec.covariance_freedom or 0
        self.n_noise = self.degrees + len(self.rows) - self.n_signal  # n: of noise alone, those of the scatter included
        if self.n_noise - size < LEAST_FREEDOM:
            least = size + LEAST_FREEDOM - (self.n_noise - self.degrees)
            rule = f"have at least {least} degrees of freedom for {size} dimensions beside the background"
            remedy = "Record more rows without a signal, or more rows of the same mean."
            raise MisuseError("the estimate of the covariance", rule, self.degrees, remedy)
        beside = self.table.complement.conj().T @ self.rows.T
        self.scatter: Field = beside - beside.mean(axis=1, keepdims=True)  # (m, T) rows beside their mean
        moments = self.degrees * np.eye(size)
        if self.has_common_mean:
            moments = moments + self.scatter @ self.scatter.conj().T
        self._root: Field = np.linalg.inv(np.linalg.cholesky(moments))  # (m, m) makes A the identity
        self._atoms = self.beside(self.table.atoms)
        self._further = self._thinned_atoms()
        self.signal = self._signal()
        # Rounding of the rows, and that of a span over the angle by which it is turned.
        values = np.linalg.svd(self._root, compute_uv=False)
        terms = 32.0 * EPS * (len(values) + len(self.rows) + 16)
        self._unit = float(terms * values[0] * np.linalg.norm(self.rows))
        self._turn = float(8.0 * values[0] / values[-1] * np.linalg.norm(self.signal))
        self._roots: dict[tuple[int, int], tuple[Field, Array]] = {}

    def _thinned_atoms(self) -> IntArray:
        """(k,) the atoms that are tried as further columns: all, or those of explanations that are spread over all."""
        most = self.spec.rivals
        if most is None or most >= self.table.size:
            return np.arange(self.table.atoms.shape[1])
        real = np.concatenate([self.table.bases.real, self.table.bases.imag], axis=2)
        order = near_together(real, BLOCK)[:: -(-self.table.size // most)]
        return np.unique(np.concatenate([np.array(self.table.supports[e], dtype=np.int64) for e in order.tolist()]))

    def beside(self, columns: Field) -> Field:
        """Columns (q, k) beside the background (m, k), A being the identity."""
        return np.asarray(self._root @ (self.table.complement.conj().T @ columns))

    def _signal(self) -> Field:
        """(m, k) rows with a signal, or as few columns with their second moments."""
        rows = np.sqrt(len(self.rows)) * self.rows.mean(axis=0, keepdims=True) if self.has_common_mean else self.rows
        beside = self.beside(rows.T)
        if beside.shape[1] <= beside.shape[0]:
            return beside
        return np.asarray(np.linalg.qr(beside.conj().T)[1].conj().T)

    def _split(self, e: int) -> tuple[Field, Field]:
        """Orthonormal bases (m, r) and (m, m - r) of what e spans, and of all that it leaves."""
        rank = int(self.table.ranks[e])
        basis = np.linalg.qr(self._root @ self.table.bases[e, :rank].T, mode="complete")[0]
        return basis[:, :rank], basis[:, rank:]

    def residual(self, e: int) -> Field:
        """(m - r, k) what e leaves of the rows."""
        return np.asarray(self._split(e)[1].conj().T @ self.signal)

    def ratios(self, e: int, columns: Field) -> Ratios:
        """Likelihood ratios of columns (m, k) as `beside` makes them, but for those that e spans."""
        across = self._split(e)[1].conj().T
        left = across @ columns
        whole = np.linalg.norm(columns, axis=0)
        norms = np.linalg.norm(left, axis=0)
        seen = np.flatnonzero(norms > _LEAST_LEFT * whole)
        rows = across @ self.signal
        pooled = np.linalg.cholesky(np.eye(len(rows)) + rows @ rows.conj().T)
        turned = np.linalg.solve(pooled, left[:, seen])
        sizes = np.linalg.norm(turned, axis=0)
        # The root of 1 / ratio is the least of |a - Yx|, |x| together: with Y off by E it is off by |E| of itself.
        values = (norms[seen] / sizes) ** 2 / (1.0 + self.rounding(e)) ** 2
        return Ratios(np.nan_to_num(values, nan=0.0), turned / sizes, seen, (norms[seen] / whole[seen]) ** 2)

    def residuals(self, e: int) -> tuple[float, int]:
        r"""The variance of coefficients: :math:`1 + |y|^2` and degrees of freedom, y the residual.

        Given all that e leaves, coefficients are normal with :math:`1 + |y|^2` times a covariance of which n - m
        degrees of freedom are left: t tests of them are exact, and independent of what is rotated.
        """
        left = self.residual(e)
        return 1.0 + float((np.abs(left) ** 2).sum()), self.parts * (self.n_noise - len(left))

    def mean_and_atoms(self, support: list[int]) -> tuple[Field, Field]:
        """The mean and the atoms in coordinates in which A is the identity."""
        return self.signal[:, 0], self._atoms[:, support]

    def rounding(self, e: int) -> float:
        """Rounding error as a length: of rows before their background was taken off, and of the span taken off."""
        return float(self._unit + self._turn * (self.table.errors[e] + len(self._root) * EPS))

    @cached_property
    def scores(self) -> Array:
        """(M,) log likelihoods at their best, less the penalty of their ranks."""
        determinants = np.empty(self.table.size)
        moments = np.eye(self.signal.shape[1])
        for rank in np.unique(self.table.ranks).tolist():
            alike = np.flatnonzero(self.table.ranks == rank)
            for chosen in np.array_split(alike, -(-len(alike) // _CHUNK)):
                bases = np.linalg.qr(self._root @ self.table.bases[chosen, :rank].swapaxes(1, 2))[0]
                left = self.signal - bases @ (bases.conj().swapaxes(1, 2) @ self.signal)
                determinants[chosen] = np.linalg.slogdet(moments + left.conj().swapaxes(1, 2) @ left)[1]
        count = self.parts * (self.n_noise + self.n_signal)
        return np.asarray(-0.5 * count * determinants - self.spec.own_penalty * self.ranks)

    def roots(self, e: int, count: int, purpose: int) -> tuple[Field, Array]:
        """(count, k, m) `drawn_roots` of all explanations of one rank, and their singular values (count, k)."""
        rank = int(self.table.ranks[e])
        if (rank, purpose) not in self._roots:
            shape = (len(self._root) - rank, self.n_signal, self.n_noise)
            draws = Draws(self.spec.seed, purpose + 16 * rank)
            roots = drawn_roots(draws, count, *shape, is_complex=self.is_complex)
            self._roots[rank, purpose] = roots, np.linalg.svd(roots, compute_uv=False)
        return self._roots[rank, purpose]

    def count(self, e: int, level: float, *, is_full: bool) -> tuple[int, int, float]:
        """Every atom of the table is a further column of each explanation; the one that fits best counts."""
        found = self.ratios(e, self._atoms[:, self._further])
        if not found.chosen.size:
            return self.spec.draws, self.spec.draws, np.inf
        bound = np.inf if is_full else self.tail(e, found.least) * len(found.values)
        if bound <= SCREEN_SHARE * level:
            return 0, self.spec.draws, bound
        enough = self.spec.draws + 1 if is_full else most_rejected(level * (1.0 - SCREEN_SHARE), self.spec.draws)
        return *self.exceedances(e, found, self.spec.draws, enough, RIVALS), bound

    def further(self, e: int) -> Finding | None:
        """The atom that fits best beside e."""
        found = self.ratios(e, self._atoms[:, self._further])
        if not found.chosen.size:
            return None
        place = int(found.values.argmax())
        atom = int(self._further[found.chosen[place]])
        name = self.table.names[atom] if self.table.names else f"atom {atom}"
        counted = self.exceedances(e, found, self.spec.draws, self.spec.draws + 1, RIVALS)
        is_own = bool(found.shares[place] <= 1.0 - OWN_SHARE)
        return Finding("columns", f"element {name}", *counted, self.spec.draws, is_own)

    def tail(self, e: int, ratio: float) -> float:
        """The probability that one column, chosen beforehand, has a ratio as large as this."""
        size = len(self._root) - int(self.table.ranks[e])
        degrees = 0.5 * self.parts * (self.n_noise - size + 1)
        return float(betainc(degrees, 0.5 * self.parts * self.n_signal, min(1.0, 1.0 / max(ratio, 1e-300))))

    def exceedances(self, e: int, found: Ratios, count: int, enough: int, purpose: int) -> tuple[int, int]:
        """The fewest and most of so many draws whose largest ratio is that of the rows."""
        roots, _ = self.roots(e, count, purpose)
        least = found.least * (1.0 - _ROUNDING)

        def reached(chosen: slice) -> int:
            along = (np.abs(roots[chosen] @ found.directions) ** 2).sum(axis=1)  # (b, k)
            return int((~(1.0 + along.max(axis=1) < least)).sum())

        return exceeding(count, enough, reached)

    @cached_property
    def _columns(self) -> Field:
        return self.beside(self.gate.unit)

    def columns(self, e: int, enough: int) -> Finding:
        """Largest likelihood ratio of a further column."""
        found = self.ratios(e, self._columns)
        if not found.chosen.size:
            return self.finding("columns", "nowhere")
        place = int(found.values.argmax())
        counted = self.exceedances(e, found, self.spec.gate_draws, enough, OUTSIDERS)
        is_own = bool(found.shares[place] <= 1.0 - OWN_SHARE)
        return self.finding("columns", self.gate.places[int(found.chosen[place])], counted, is_own=is_own)

    def spectrum(self, e: int, enough: int) -> Finding:  # noqa: ARG002
        """Leading eigenvalue of B over A: of what e leaves of free rows, or of the scatter of others."""
        if self.has_common_mean:
            return self.finding("spectrum", SCATTER, (self._scatter_exceedances, self._scatter_exceedances))
        largest = np.linalg.norm(self.residual(e), 2) - self.rounding(e)
        _, drawn = self.roots(e, self.spec.gate_draws, OUTSIDERS)
        exceedances = int((~(drawn[:, 0] < largest * (1.0 - _ROUNDING))).sum())
        return self.finding("spectrum", "strongest single direction", (exceedances, exceedances))

    @cached_property
    def _scatter_exceedances(self) -> int:
        """Exceedances of the scatter, the same for all explanations: no mean enters."""
        shape = (len(self.scatter), len(self.rows) - 1, self.degrees)
        drawn = drawn_roots(Draws(self.spec.seed, SPECTRA), self.spec.gate_draws, *shape, is_complex=self.is_complex)
        off = 8.0 * EPS * (len(self.rows) + 8) * np.linalg.norm(self.rows)
        largest = (np.linalg.norm(self.scatter, 2) - off) / np.sqrt(self.degrees)
        return int((~(np.linalg.norm(drawn, 2, axis=(1, 2)) < largest * (1.0 - _ROUNDING))).sum())

    def noise(self, e: int, enough: int) -> Finding:  # noqa: ARG002
        """Compare the residual of e with the noise of the estimate: two-sided, by the determinant of 1 - H."""
        left = self.residual(e)
        values = np.linalg.svd(left, compute_uv=False)
        off = self.rounding(e)
        above, below = (float(np.log1p(ends**2).sum()) for ends in (np.maximum(values - off, 0.0), values + off))
        if self.n_signal == 1:
            half = 0.5 * self.parts
            shape = (half * (self.n_noise - len(left) + 1), half * len(left))
            p = 2.0 * min(float(betainc(*shape, np.exp(-above))), float(betaincc(*shape, np.exp(-below))))
        else:
            drawn = np.log1p(self.roots(e, self.spec.gate_draws, OUTSIDERS)[1] ** 2).sum(axis=1)
            counts = (~(drawn < above * (1.0 - _ROUNDING))).sum(), (~(drawn > below * (1.0 + _ROUNDING))).sum()
            p = 2.0 * (1 + int(min(counts))) / (1 + self.spec.gate_draws)
        expected = self.n_signal * len(left) / max(self.n_noise - len(left) - 1, 1)
        return self.finding("noise", LEFT, closed=min(1.0, p), ratio=float((values**2).sum() / expected))

    def whiteness(self, e: int) -> Finding | None:  # noqa: ARG002
        """None: a test of whiteness would find the errors of the estimate."""
        return None
