"""Outsiders of one row, or of rows with a common mean."""

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from ..._typing import Array
from ...laws import noise_ratio, two_sided
from ._contest import EPS
from ._draws import OUTSIDERS, Draws
from ._kernels import count, longest, padded
from ._mean import MeanRows
from ._outsiders import (
    LEAST_LEFT,
    LEFT,
    OWN_SHARE,
    ROUNDING,
    SCATTER,
    Outsiders,
    Seen,
    exceeding,
    leading_share,
    leading_shares,
    turned,
)


@final
@dataclass(frozen=True, eq=False)  # no slots: draws are made when first asked for
class MeanOutsiders:
    """Rotates the direction of the residual, scatter included, by draws of its own."""

    outsiders: Outsiders
    rows: MeanRows
    draws: int

    @cached_property
    def _normals(self) -> tuple[Array, Array, Array]:
        drawn = Draws(self.rows.seed, OUTSIDERS)
        normals = drawn.normal((self.draws, len(self.rows.vector)))
        scatter = drawn.chi_square(self.rows.scatter_freedom, (self.draws,))
        return normals, np.asarray((normals**2).sum(axis=1)), scatter

    @cached_property
    def _directions(self) -> tuple[Array, Array, Array]:
        """(c, k, m) columns beside the background, by component; products with the draws (B, c, k'), and `longest`."""
        columns = self.outsiders.unit
        parts = [columns, 1j * columns] if self.rows.parts == 2 else [columns]
        beside = np.stack([self.rows.beside(part) for part in parts])
        flat = beside.reshape(-1, beside.shape[-1])
        products = padded((self._normals[0] @ flat.T).reshape(self.draws, len(parts), -1))
        return beside, products, longest(products)

    def columns(self, e: int, enough: int) -> Seen:
        r"""Largest :math:`\langle Qw, b\rangle^2 / (|Qb|^2 R^2)`, with R left out where the noise is known."""
        rows, (beside, products, tops), (normals, squares, scatter) = self.rows, self._directions, self._normals
        basis = rows.bases[e]
        gram = np.einsum("lm,ckm->lck", basis, beside)
        left = (beside[0] ** 2).sum(axis=1) - (gram[:, 0] ** 2).sum(axis=0)  # (k,) |Qb|^2, the same of i b
        is_seen = left > LEAST_LEFT**2
        if not is_seen.any():
            return Seen("nowhere", self.draws, self.draws)
        energy = ((beside @ rows.residual(e)) ** 2).sum(axis=0)
        ratios = np.where(is_seen, energy / np.where(is_seen, left, 1.0), 0.0)
        place = int(ratios.argmax())
        # Inner products over m terms are off by m eps, relative to what is left of b.
        unit = 32.0 * EPS * (len(rows.vector) + 8)
        # The residual is off by its rounding, and so is each part of it over what is left of b.
        lowest = (np.sqrt(ratios) - 2.0 * rows.rounding(e) / np.sqrt(np.where(is_seen, left, np.inf))).max()
        largest = np.where(np.sqrt(rows.residuals(e)[0]) > 2.0 * rows.rounding(e), max(lowest, 0.0) ** 2, 0.0)
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
            np.sqrt(rows.residuals(e)[0]),
            rows.own_sigma,
            unit,
            0,
            enough,
            0,
            self.draws,
        )
        is_own = bool(left[place] <= (1.0 - OWN_SHARE) * (beside[0, place] ** 2).sum())
        return Seen(self.outsiders.places[place], counted, counted + remaining, is_own)

    def lags(self, e: int, enough: int) -> Seen:
        """Largest absolute autocorrelation of the residual's direction, along the channels."""
        basis, normals = self.rows.bases[e], self._normals[0]
        observed = self._autocorrelations(self.rows.residual(e)[None])[0]
        least = observed.max() - ROUNDING - turned(self.rows.rounding(e), self.rows.residuals(e)[0])

        def reached(chosen: slice) -> int:
            drawn = normals[chosen] - (normals[chosen] @ basis.T) @ basis
            return int((~(self._autocorrelations(drawn).max(axis=1) < least)).sum())

        place = f"lag {self.outsiders.lags[int(observed.argmax())]}"
        return Seen(place, *exceeding(self.draws, enough, reached))

    def _autocorrelations(self, left: Array) -> Array:
        """(b, lags) of residuals (b, m)."""
        complement = self.rows.table.complement
        size = complement.shape[1]
        native = left[:, :size] + 1j * left[:, size:] if self.rows.parts == 2 else left
        channels = (native @ complement.T) / np.linalg.norm(left, axis=1)[:, None]
        lags = [np.abs((channels[:, lag:] * channels[:, :-lag].conj()).sum(axis=1)) for lag in self.outsiders.lags]
        return np.stack(lags, axis=1)

    @cached_property
    def _scatter_exceedances(self) -> int:
        rows = self.rows.rows
        shape = (rows.shape[1], len(rows) - 1)
        drawn = leading_shares(self.rows.seed, self.draws, *shape, is_complex=self.rows.parts == 2)
        off = self._scatter_rounding
        return int((~(drawn < leading_share((rows - rows.mean(axis=0)).T, off))).sum())

    @property
    def _scatter_rounding(self) -> float:
        return float(8.0 * EPS * (len(self.rows.rows) + 8) * np.linalg.norm(self.rows.rows))

    def spectrum(self, e: int, enough: int) -> Seen:  # noqa: ARG002
        """Leading eigenvalue of the scatter matrix over its trace, whose law is the same under all explanations."""
        return Seen(SCATTER, self._scatter_exceedances, self._scatter_exceedances)

    def noise(self, e: int, enough: int) -> Seen:  # noqa: ARG002
        r"""The scatter, :math:`\sigma^2\chi^2` under all explanations; of a single row the energy that e leaves."""
        rows, variance = self.rows, self.rows.own_sigma**2
        energy, freedom, off, place = rows.scatter, rows.scatter_freedom, self._scatter_rounding, SCATTER
        if len(rows.rows) == 1:
            (energy, freedom), off, place = rows.residuals(e), rows.rounding(e), LEFT
        p = float(two_sided(energy, freedom, variance, off))
        return Seen(place, self.draws, self.draws, closed=p, ratio=noise_ratio(energy, freedom, variance))
