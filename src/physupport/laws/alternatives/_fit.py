"""One linear fit of rows that no explanation fits, by least squares in channels of unit noise."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, final

import numpy as np

from ..._typing import Array, Field, IntArray
from ...banks import Bank
from ...io import RowSource
from .._law import Law
from .._nonnegative import nonnegative_coefficients

_MOST_COLUMNS = 3000  # of a library whose supports are all compared
_BLOCK = 1 << 12
_TOP = 8  # supports that alternatives start from
_LEAST_CHANNELS = 24  # of an axis
_SMOOTH = 0.5  # mean correlation of neighbouring channels along an axis


class Fit(NamedTuple):
    """A fit of columns (p, r): what is left of the rows, coefficients and the fitted rows."""

    rss: float  # in units of the noise
    coefficients: Field  # (r, m)
    fitted: Field  # (p, m) in measured channels


@final
@dataclass(frozen=True, eq=False)  # no slots: properties are worked out once
class LinearRows:
    r"""Rows to explain, :math:`y_t = A_S\theta_t + B\beta_t + \varepsilon_t`, columns by rows.

    weights make the noise white with variance 1: of counts by the root of their smoothed values.
    A record of one mean is its mean times the root of the number of rows.
    """

    columns: Field  # (p, E) in measured channels
    names: tuple[str, ...]  # (E,)
    regions: tuple[str, ...]  # (E,) of each column; empty for columns of none
    places: Array | None  # (E, d) coordinates
    supports: tuple[tuple[int, ...], ...]
    background: Field  # (p, b)
    measured: Field  # (p, m)
    weights: Field  # (p,) of every channel, or (w, p)
    is_known: bool  # whether the level of the noise is known
    is_counted: bool
    single: Field | None  # (p, T) the rows themselves where `measured` is their mean

    @property
    def parts(self) -> int:
        """Real coordinates of a number."""
        return 2 if np.iscomplexobj(self.measured) else 1

    @property
    def size(self) -> int:
        """Real numbers in the rows."""
        return self.parts * len(self.weights) * int(self.measured.shape[1])

    @cached_property
    def is_axis(self) -> bool:
        """True if channels lie along an axis: real, many, and alike in neighbours."""
        p, count = self.columns.shape
        if self.parts > 1 or p < _LEAST_CHANNELS or not count:
            return False
        centred = self.columns - self.columns.mean(axis=0)
        norms = (centred**2).sum(axis=0)
        lagged = (centred[1:] * centred[:-1]).sum(axis=0)
        return bool((lagged[norms > 0.0] / norms[norms > 0.0]).mean() > _SMOOTH)

    def white(self, columns: Field) -> Field:
        """Columns (p, k) in channels of unit noise (w, k)."""
        return np.asarray(self.weights[:, None] * columns if self.weights.ndim == 1 else self.weights @ columns)

    def scaled(self, deviation: float) -> "LinearRows":
        """The same rows with noise of this deviation."""
        return replace(self, weights=self.weights / deviation)

    def fit(self, columns: Field, channels: IntArray | None = None) -> Fit:
        """Fit these columns and the background; of counts no part is negative.

        channels: those of unit noise that are used; all unless given.
        """
        both = np.hstack([columns, self.background])
        design = self.white(both)
        target = self.white(self.measured)
        if channels is not None:
            design = design[channels]
            target = target[channels]
        if self.is_counted:
            coefficients = nonnegative_coefficients(design, target[:, 0])[:, None]
        else:
            coefficients = np.linalg.lstsq(design, target, rcond=1e-10)[0]
        rss = float((np.abs(target - design @ coefficients) ** 2).sum()) * self.parts
        return Fit(rss, coefficients, both @ coefficients)

    @cached_property
    def best(self) -> list[tuple[float, tuple[int, ...]]]:
        """The supports that fit best, with what they leave."""
        supports = self.supports
        if len(supports) > _TOP:
            left = self._screened()
            supports = tuple(supports[k] for k in np.argsort(left, kind="stable")[:_TOP].tolist())
        fitted = [(self.fit(self.columns[:, list(support)]).rss, support) for support in supports]
        return sorted(fitted, key=lambda each: each[0])

    def _screened(self) -> Array:
        """(K,) the squares that every support leaves, up to a constant, by normal equations with a small ridge."""
        width = max(map(len, self.supports))
        count = self.columns.shape[1]
        padded = np.full((len(self.supports), width), -1)
        for k, support in enumerate(self.supports):
            padded[k, : len(support)] = support
        white = self.white(self.columns)
        target = self.white(self.measured)
        if self.background.shape[1]:
            basis = np.linalg.qr(self.white(self.background))[0]
            white = white - basis @ (basis.conj().T @ white)
            target = target - basis @ (basis.conj().T @ target)
        white = np.hstack([white, np.zeros((len(white), 1))])
        gram = white.conj().T @ white
        along = white.conj().T @ target  # (E + 1, m)
        left = np.empty(len(padded))
        for start in range(0, len(padded), _BLOCK):
            part = np.where(padded[start : start + _BLOCK] < 0, count, padded[start : start + _BLOCK])
            matrices = gram[part[:, :, None], part[:, None, :]]
            ridge = 1e-10 * np.abs(gram).max() + (part == count)
            matrices = matrices + np.eye(width) * ridge[:, :, None]
            vectors = along[part]
            solved = np.linalg.solve(matrices, vectors)
            left[start : start + _BLOCK] = -(vectors.conj() * solved).real.sum(axis=(1, 2))
        return left

    def scan(self, columns: Field, candidates: Field) -> Array:
        """(c,) by how much one more column of candidates (p, c) would reduce what columns leave, to first order."""
        basis = np.linalg.qr(self.white(np.hstack([columns, self.background])))[0]
        white = self.white(candidates)
        white = white - basis @ (basis.conj().T @ white)
        rest = self.white(self.measured - self.fit(columns).fitted)
        norms = (np.abs(white) ** 2).sum(axis=0)
        along = white.conj().T @ rest  # (c, m)
        gains = self.parts * (np.abs(along) ** 2).sum(axis=1) / np.maximum(norms, 1e-300)
        is_open = norms > 1e-8 * (np.abs(self.white(candidates)) ** 2).sum(axis=0).max(initial=0.0)
        return np.where(is_open & ((along.real[:, 0] > 0.0) | (not self.is_counted)), gains, 0.0)


def linear_rows(law: Law, bank: Bank, rows: RowSource) -> LinearRows | None:
    """The rows of a law with a design as one linear fit; None of others, and of too many columns."""
    design = law.design(bank)
    if design is None or design.columns.shape[1] > _MOST_COLUMNS or rows.n_rows < 1 or design.bands > 1:
        return None
    table = design.whitened_rows(rows, law.is_complex).T  # (w, T)
    back = None if design.whitener is None else np.linalg.pinv(design.whitener)
    deviations = [sigma for sigma in design.deviations if sigma is not None]
    is_same = design.rows == "same mean"
    weights = np.ones(len(table)) if design.whitener is None else design.whitener
    is_known = bool(deviations) or law.is_counted
    n_rows = table.shape[1]
    measured = table if back is None else back @ table
    single = measured if is_same and n_rows > 1 else None
    if law.is_counted:
        measured = measured.sum(axis=1, keepdims=True)
        weights = 1.0 / np.sqrt(_count_variances(measured[:, 0]))
    elif is_same:
        measured = np.sqrt(n_rows) * measured.mean(axis=1, keepdims=True)
    if deviations:
        weights = weights / max(deviations)
    elif is_same and n_rows > 1 and not law.is_counted:
        scatter = (np.abs(table - table.mean(axis=1, keepdims=True)) ** 2).sum() / (table.shape[0] * (n_rows - 1))
        is_known = scatter > 0.0
        weights = weights / np.sqrt(scatter) if is_known else weights
    states = bank.states
    owners = np.tile(states.library_index, design.columns.shape[1] // states.elements.shape[1])
    library = states.library
    return LinearRows(
        columns=design.columns if back is None else back @ design.columns,
        names=design.names,
        regions=tuple("" if library is None or e < 0 else library.regions[e] for e in owners.tolist()),
        places=None if library is None or not library.coordinates.shape[1] else library.coordinates[owners],
        supports=tuple(dict.fromkeys(design.active)),
        background=design.background if back is None else back @ design.background,
        measured=measured,
        weights=weights,
        is_known=is_known,
        is_counted=law.is_counted,
        single=single,
    )


def _count_variances(counts: Array) -> Array:
    """(p,) the counts, smoothed over neighbours, at least 1."""
    padded = np.pad(counts, 1, mode="edge")
    return np.maximum((padded[:-2] + 2.0 * padded[1:-1] + padded[2:]) / 4.0, 1.0)
