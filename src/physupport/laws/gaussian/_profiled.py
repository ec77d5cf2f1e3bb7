"""Deployment with unknown source amplitudes: the likelihood of the best coefficients in a box."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self, cast, final

import numpy as np
from flint import fmpq
from numpy.typing import ArrayLike, NDArray

from ..._arrays import check_indices, read_only
from ..._codec import array_json, real
from ..._errors import MisuseError
from ..._stored import Refusal, check_form
from ..._typing import Array, IntArray
from ...banks import Bank, Moved
from ...io import RowSource, as_pairs
from ...io._rows import atom_table, doubled
from .._base import Proposal
from .._law import Energy, Part, register
from .._mixture import kinds_with
from .._noisy import NOISY_FORM, NoisyLaw, chi_square, read_noises, squares
from ._gaussian_exact import ExactMoments, exact_box_residual
from ._mean_stream import MeanPoint, mean_opponent
from ._profiled_kernels import profile_sums, profiled_residuals
from ._white_noise import ResidualMoments, Sums, WhiteNoiseStream, check_noises, filled, white_noise_stream


@register
@final
@dataclass(frozen=True, eq=False, kw_only=True)
class ProfiledMean(NoisyLaw):
    """Rows about a mean whose coefficients are unknown: an explanation is as likely as its best ones in a box make it.

    The opponent, which has to be a density, is the best explanation of the proposal rows with the coefficients that fit
    these.  box: lower and upper end of every atom's coefficient, (n,) each; complex ends leave the phase open.
    """

    name: ClassVar[str] = "profiled mean"
    part: ClassVar[Part] = "deployment"
    has_strengths: ClassVar[bool] = False  # any in the box are; those of the bank are marks
    opponents = kinds_with("mean_point", mean_point=MeanPoint.decode)

    box: tuple[ArrayLike, ArrayLike]

    def __post_init__(self) -> None:
        """Copies: a law must stay what it was when a protocol was frozen."""
        super().__post_init__()
        lower, upper = self.box
        object.__setattr__(self, "box", (read_only(lower), read_only(upper)))

    @property
    def takes_sets(self) -> bool:
        """Its box has an interval for each atom, and of a set no atom is the first."""
        return False

    def sample(self, bank: Bank, explanation: int, rng: np.random.Generator, n_rows: int) -> Array:
        """(n_rows, q) rows with the strengths of an explanation as coefficients, moved into the box."""
        parts = bank.deployment_parts(bank.deployment_keys(explanation))
        residuals = self._residuals(bank)
        elements, ends, nuisance = residuals.parts(bank.deployment_keys(explanation))
        wanted = np.zeros_like(ends[0, 0])
        wanted[:: residuals.bounds.shape[2]] = parts.strengths[0]
        active = elements[0] >= 0
        mean = np.clip(wanted, ends[0, 0], ends[1, 0])[active] @ residuals.table[elements[0, active]]
        return np.asarray(mean + np.sqrt(self.entry_noises(nuisance)) * rng.standard_normal((n_rows, len(mean))))

    def stream(self, bank: Bank, rows: RowSource, checkpoints: ArrayLike) -> "WhiteNoiseStream[ProfiledResiduals]":
        """The rows (N, q), read once and scored under every deployment key at its best coefficients.

        Positive strengths only mark active atoms.  Of complex data real ends leave the coefficients real.
        """
        residuals = self._residuals(bank)
        return white_noise_stream((rows,), residuals, residuals.table.shape[1], checkpoints)

    def _residuals(self, bank: Bank) -> "ProfiledResiduals":
        bounds = _check_box(*self.box, bank.states.n_atoms, self.is_complex)
        has_phase = bounds.shape[2] == 2
        table = atom_table(bank.states.elements, self.is_complex, has_phase)
        noises = check_noises(self.variances, self.is_complex, len(bank.deployment))
        return ProfiledResiduals(bank, noises, has_phase, bounds, table)

    def opponent(self, bank: Bank, proposal: Proposal, key: int) -> MeanPoint:  # noqa: ARG002
        """The law of a key at the coefficients that fit these rows best."""
        return best_point(cast(WhiteNoiseStream[ProfiledResiduals], proposal.stream), key)

    def free_opponent(self, bank: Bank, proposal: Proposal, key: int) -> MeanPoint:  # noqa: ARG002
        """The mean of the rows, and their scatter."""
        return mean_opponent(proposal.rows, float(self.entry_noises(np.arange(len(self.variances))).max()))

    def fitted(self, bank: Bank, explanation: int, rows: RowSource) -> Array:
        """(q,) the mean with the coefficients of the box that fit best."""
        return best_point(self.stream(bank, rows, [rows.n_rows]), int(bank.deployment_keys(explanation)[0])).mean

    def energy(self, bank: Bank, explanation: int, rows: RowSource) -> Energy | None:
        r""":math:`\min_{x\in\text{box}}\sum_i\|z_i - Ax\|^2/\nu`: the scatter, and how far the mean is off the box.

        Chi-square with a degree of freedom less for every coefficient where these fit best inside the box; on its
        faces more are left, and the reference is a little too small.
        """
        elements, _, nuisance = self._residuals(bank).parts(bank.deployment_keys(explanation))
        freedom = rows.n_rows * rows.width - int(np.count_nonzero(elements[0] >= 0))
        if freedom < 1:
            return None
        (variance,) = self.entry_noises(nuisance)
        return chi_square(squares(rows, self.fitted(bank, explanation, rows), float(variance)), freedom)

    def moved(self, active: int) -> Moved:
        """The mean moves by the sum of all."""
        return Moved(0.5 * active**2, is_shift=True)

    def encode(self) -> dict[str, object]:
        """With the box: (2, n, 1) ends of real coefficients, or (2, n, 2) of complex ones as pairs (Re, Im)."""
        both = np.stack([np.asarray(end) for end in self.box])[:, :, None]
        ends = array_json(as_pairs(both) if both.dtype.kind == "c" else both.astype(np.float64))
        return super().encode() | {"box": ends}

    @classmethod
    def decode(cls, node: Mapping[str, object], stream: str = "the stream") -> Self:
        """What `encode` made."""
        check_form(node, NOISY_FORM | {"box": dict}, f"the law of {stream}")
        ends = real(node["box"], 2, None, None)
        if ends.shape[2] not in (1, 2):
            raise Refusal(f"the box of {stream} is malformed")
        lower, upper = ends @ [1.0, 1.0j] if ends.shape[2] == 2 else ends[:, :, 0]
        return cls(noises=read_noises(node, stream), is_complex=bool(node["is_complex"]), box=(lower, upper))


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
