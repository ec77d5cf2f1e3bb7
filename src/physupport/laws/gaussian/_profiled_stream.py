"""Rows about a mean in white noise, at the coefficients in a box that fit best."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from flint import fmpq
from numpy.typing import ArrayLike, NDArray

from ..._arrays import check_indices
from ..._errors import MisuseError
from ..._typing import Array, IntArray
from ...banks import Bank
from ...io import as_pairs
from ...io._rows import atom_table, doubled
from ._gaussian_exact import ExactMoments, exact_box_residual
from ._mean_point import MeanPoint
from ._profiled_kernels import profile_sums, profiled_residuals
from ._white_noise import ResidualMoments, Sums, WhiteNoiseStream, check_noises, filled


@final
@dataclass(frozen=True, slots=True, eq=False)
class ProfiledResiduals:
    r""":math:`z_i - \sum_jx_ja_j` at the coefficients in a box that make the sum of their squares least.

    As the denominator of an e-process the likelihood at these is at least the density of every single x in the box, so
    the process stays below the likelihood ratio against the true x, whatever that is: an explanation with its
    coefficients unknown is falsely rejected with probability at most alpha.
    """

    # A supremum of densities integrates to more than one, so it must never be a numerator.
    is_density: ClassVar[bool] = False

    bank: Bank
    noises: Array  # (m,), one for each deployment nuisance
    has_phase: bool  # complex coefficients: each atom has a real and an imaginary one
    bounds: Array  # (2, n, 1) or, with phase, (2, n, 2): lower and upper ends for each atom of a dictionary
    table: Array  # (E, q) or, with phase, (2 E, 2 q)

    @property
    def n_keys(self) -> int:
        """The deployment keys of the bank."""
        return self.bank.n_deployment_keys

    def sums(self, keys: IntArray, moments: ResidualMoments) -> Sums:
        """Between the attained and the least possible sum; one for each distinct problem."""
        elements, box, nuisance = self.parts(keys)
        # Neither noise nor strengths matter for the fit, so that many keys share one.
        first, which = _distinct(np.concatenate([elements.view(np.float64), box[0], box[1]], axis=1))

        def fit(part: slice, sums: Array, e_sums: Array) -> None:
            # Kernels are compiled for one memory order.
            ends = np.ascontiguousarray(box[:, first[part]])
            profiled_residuals(elements[first[part]], ends, self.table, moments.known, sums, e_sums)

        return Sums(*filled(len(first), moments, 8, fit), which, self.noises[nuisance])

    def exact(self, key: int, moments: ResidualMoments, exact: ExactMoments) -> tuple[list[fmpq], float]:
        """The least residual sums of squares as rational numbers."""
        active, (lower, upper), noise, coefficients = self.fit(key, moments)
        atoms = self.table[active]
        pairs = zip(coefficients, exact, strict=True)
        return [exact_box_residual(atoms, lower, upper, x, m) for x, m in pairs], noise

    def fit(self, key: int, moments: ResidualMoments) -> tuple[IntArray, Array, float, Array]:
        """Rows of the table (r,), box (2, r), noise, and best coefficients at every checkpoint (c, r), of one key."""
        elements, box, nuisance = self.parts(np.array([key]))
        active = elements[0, elements[0] >= 0]
        ends = box[:, 0, : len(active)]
        coefficients, unused = np.empty((len(moments.counts), len(active))), np.empty((2, len(moments.counts)))
        profile_sums(active, ends[0], ends[1], self.table, moments.known, coefficients, unused[0], unused[1])
        return active, ends, float(self.noises[nuisance[0]]), coefficients

    def parts(self, keys: IntArray) -> tuple[IntArray, Array, IntArray]:
        """Rows of the table (k, r), box (2, k, r) and nuisance (k,) of each key."""
        parts = self.bank.deployment_parts(keys)
        most = parts.elements.shape[1]
        atoms = np.array([(*active, *[0] * (most - len(active))) for active in self.bank.positions], dtype=np.int64)
        box = self.bounds[:, atoms.reshape(-1, most)[parts.support]]  # (2, k, r, 1 or 2)
        box = np.where(parts.elements[:, :, None] < 0, 0.0, box)
        box = np.ascontiguousarray(box.reshape(2, len(keys), -1))
        return doubled(parts.elements) if self.has_phase else parts.elements, box, parts.nuisance


def box_residuals(
    bank: Bank, box: tuple[ArrayLike, ArrayLike], variances: Array, is_complex: bool
) -> ProfiledResiduals:
    """Of all keys of a bank; box: lower and upper end of every atom's coefficient."""
    bounds = _check_box(*box, bank.states.n_atoms, is_complex)
    has_phase = bounds.shape[2] == 2
    table = atom_table(bank.states.elements, is_complex, has_phase)
    return ProfiledResiduals(bank, check_noises(variances, is_complex, len(bank.deployment)), has_phase, bounds, table)


def best_point(stream: WhiteNoiseStream[ProfiledResiduals], key: int) -> MeanPoint:
    """The mean (q,) that fits all rows best, with the noise variance of a real entry."""
    key = int(check_indices("keys", [key], stream.n_keys)[0])
    active, _, noise, coefficients = stream.residuals.fit(key, stream.moments)
    return MeanPoint(coefficients[-1] @ stream.residuals.table[active], noise)


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
