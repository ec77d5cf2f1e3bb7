"""Outsiders of rows with coefficients of their own."""

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from ..._typing import Array
from ...laws import noise_ratio, two_sided
from ._draws import OUTSIDERS
from ._free import FreeRows, MomentDraws, hermitian_coordinates
from ._outsiders import LEAST_LEFT, LEFT, ROUNDING, Outsiders, Seen, exceeding, leading_share, leading_shares, turned


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
        rows, basis = self.rows, self.rows.columns(e)
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
        size, n_rows = self.rows.table.complement.shape[1], len(self.rows.rows)
        seed, is_complex = self.rows.seed, self.rows.is_complex
        ranks = np.unique(self.rows.table.ranks).tolist()
        return {rank: leading_shares(seed, self.draws, size - rank, n_rows, is_complex) for rank in ranks}

    def spectrum(self, e: int, enough: int) -> Seen:  # noqa: ARG002
        """Leading eigenvalue of the residual second moments over their trace; its law depends on dimensions alone."""
        least = leading_share(self.rows.residual(e), self.rows.rounding(e))
        exceedances = int((~(self._shares[int(self.rows.table.ranks[e])] < least)).sum())
        return Seen("a direction of its own", exceedances, exceedances)

    def noise(self, e: int, enough: int) -> Seen:  # noqa: ARG002
        r"""The energy that e leaves of all rows, :math:`\sigma^2\chi^2` if it made them."""
        rows, variance = self.rows, self.rows.own_sigma**2
        energy, freedom = rows.residuals(e)
        p = float(two_sided(energy, freedom, variance, rows.rounding(e)))
        return Seen(LEFT, self.draws, self.draws, closed=p, ratio=noise_ratio(energy, freedom, variance))
