"""Deployment with unknown source amplitudes: the likelihood of the best coefficients in a box."""

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from flint import arb
from numpy.typing import ArrayLike, NDArray

from ..._errors import MisuseError
from ..._typing import Array, IntArray
from ...banks import Bank
from ...io import RowSource, as_pairs
from ...io._complex import atom_table, doubled
from .._base import Scores
from .._threads import in_pieces
from ._gaussian_exact import ExactMoments, exact_box_residual, exact_moments, white_noise_enclosure
from ._profiled_kernels import profile_sums, profiled_residuals
from ._residuals import (
    ResidualMoments,
    check_noises,
    check_width,
    mean_products,
    residual_moments,
    white_noise_likelihood,
)
from ._statistics import check_checkpoints, check_keys


@final
@dataclass(frozen=True, eq=False)  # no slots: the exact moments are worked out when first asked for
class ProfiledMeanStream:
    r"""Rows with a common mean :math:`\sum_jx_ja_j`, the coefficients anywhere in a box.

    :math:`\sup_x\log L_t(x) = -\tfrac{tq}2\log(2\pi\nu) - \tfrac1{2\nu}\min_x\sum_{i\le t}\|z_i - \sum_jx_ja_j\|^2`.
    As the denominator of an e-process it is at least the density of every single x in the box, so the process stays
    below the likelihood ratio against the true x, whatever that is: an explanation with its coefficients unknown is
    falsely rejected with probability at most alpha.
    """

    rows: RowSource
    bank: Bank
    noises: Array  # (m,), one for each deployment nuisance
    checkpoints: IntArray
    has_phase: bool  # complex coefficients: each atom has a real and an imaginary one
    bounds: Array  # (2, n, 1) or, with phase, (2, n, 2): lower and upper ends for each atom of a dictionary
    table: Array  # (E, q) or, with phase, (2 E, 2 q)
    moments: ResidualMoments

    @property
    def is_density(self) -> bool:
        """No: a supremum of densities integrates to more than one, so it must never be a numerator."""
        return False

    @property
    def n_keys(self) -> int:
        """The deployment keys of the bank."""
        return self.bank.n_deployment_keys

    def log_likelihood(self, keys: IntArray) -> Scores:
        """Prefix log likelihoods at the best coefficients, between the attained and the greatest possible value."""
        elements, box, nuisance = self._parts(check_keys(keys, self.n_keys))
        # Neither noise nor strengths matter for the fit, so that many keys share one.
        problems = np.concatenate([elements.view(np.float64), box[0], box[1]], axis=1)
        first, which = _distinct(problems)
        sums, e_sums = np.empty((2, len(first), len(self.checkpoints)))
        m = self.moments

        def fit(part: slice) -> None:
            here = first[part]
            known = (self.table, m.reference, m.energy, m.cross, m.gram)
            # Kernels are compiled for one memory order.
            ends = np.ascontiguousarray(box[:, here])
            profiled_residuals(elements[here], ends, *known, sums[part], e_sums[part])

        in_pieces(len(first), fit, least=8)
        return white_noise_likelihood(sums, e_sums, which, self.noises[nuisance], m.counts)

    def enclosure(self, key: int, bits: int) -> list[arb]:
        """Prefix log likelihoods of one key at the exactly best coefficients, as balls."""
        active, (lower, upper), noise, coefficients = self._fit(key)
        counts = (self.checkpoints * self.rows.width).tolist()
        found = zip(coefficients, self._exact, counts, strict=True)
        return [
            white_noise_enclosure(exact_box_residual(self.table[active], lower, upper, x, moments), noise, count, bits)
            for x, moments, count in found
        ]

    def best_point(self, key: int) -> tuple[Array, float]:
        """The mean (q,) that fits all rows best, and the noise variance of a real entry, as `point_stream` takes them.

        Over proposal rows it gives the numerator against explanations whose coefficients are profiled.
        """
        active, _, noise, coefficients = self._fit(key)
        return coefficients[-1] @ self.table[active], noise

    def _fit(self, key: int) -> tuple[IntArray, Array, float, Array]:
        """Rows of the table (r,), box (2, r), noise, and best coefficients at every checkpoint (c, r), of one key."""
        elements, box, nuisance = self._parts(check_keys([key], self.n_keys))
        active = elements[0, elements[0] >= 0]
        ends = box[:, 0, : len(active)]
        coefficients = np.empty((len(self.checkpoints), len(active)))
        m, unused = self.moments, np.empty((2, len(self.checkpoints)))
        known = (self.table, m.reference, m.energy, m.cross, m.gram)
        profile_sums(active, ends[0], ends[1], *known, coefficients, unused[0], unused[1])
        return active, ends, float(self.noises[nuisance[0]]), coefficients

    def _parts(self, keys: IntArray) -> tuple[IntArray, Array, IntArray]:
        """Rows of the table (k, r), box (2, k, r) and nuisance (k,) of each key."""
        parts = self.bank.deployment_parts(keys)
        most = parts.elements.shape[1]
        atoms = np.array([(*active, *[0] * (most - len(active))) for active in self.bank.positions], dtype=np.int64)
        box = self.bounds[:, atoms.reshape(-1, most)[parts.support]]  # (2, k, r, 1 or 2)
        box = np.where(parts.elements[:, :, None] < 0, 0.0, box)
        box = np.ascontiguousarray(box.reshape(2, len(keys), -1))
        return doubled(parts.elements) if self.has_phase else parts.elements, box, parts.nuisance

    @cached_property
    def _exact(self) -> ExactMoments:
        return exact_moments([self.rows], self.checkpoints, mean_products)


def profiled_mean_stream(
    rows: RowSource,
    bank: Bank,
    noises: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    checkpoints: ArrayLike,
    *,
    is_complex: bool = False,
) -> ProfiledMeanStream:
    """The stream of rows with a common mean and coefficients in a box; positive strengths only mark active atoms.

    rows: (N, q).  noises: (number of deployment nuisances,).  lower, upper: (n,) ends for each atom of a dictionary,
    of any sign.  If complex, rows and elements hold pairs (Re, Im) and the noise is circular; complex ends then bound
    the real and the imaginary part of complex coefficients, real ends leave the coefficients real.
    The data are read once here.
    """
    bounds = _check_box(lower, upper, bank.states.n_atoms, is_complex)
    has_phase = bounds.shape[2] == 2
    table = atom_table(bank.states.elements, is_complex, has_phase)
    check_width(rows, table.shape[1])
    points = check_checkpoints(checkpoints, rows.n_rows)
    variances = check_noises(noises, is_complex, len(bank.deployment))
    moments = residual_moments([rows], points)
    return ProfiledMeanStream(rows, bank, variances, points, has_phase, bounds, table, moments)


def _check_box(lower: ArrayLike, upper: ArrayLike, n_atoms: int, is_complex: bool) -> Array:
    ends = [np.asarray(end) for end in (lower, upper)]
    for name, end in zip(("lower", "upper"), ends, strict=True):
        if end.shape != (n_atoms,) or end.dtype.kind not in "iufc" or not np.isfinite(end).all():
            raise MisuseError(name, f"hold a finite number for each of {n_atoms} atoms", end.tolist())
    has_phase = any(end.dtype.kind == "c" for end in ends)
    if has_phase and not is_complex:
        raise MisuseError("lower and upper", "be real for real data", "complex numbers")
    bounds: NDArray[np.float64] = np.stack(
        [as_pairs(end[:, None]) if has_phase else end[:, None].astype(np.float64) for end in ends]
    )
    if (bounds[0] > bounds[1]).any():
        raise MisuseError("lower", "be at most upper for every atom", [end.tolist() for end in ends])
    return bounds


def _distinct(rows: Array) -> tuple[IntArray, IntArray]:
    """First place of each distinct row, compared bit by bit, and the number of every row's distinct row."""
    if not rows.size:
        return np.zeros(min(len(rows), 1), dtype=np.int64), np.zeros(len(rows), dtype=np.int64)
    whole = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.itemsize * rows.shape[1])))[:, 0]
    _, first, which = np.unique(whole, return_index=True, return_inverse=True)
    return first, which.ravel()
