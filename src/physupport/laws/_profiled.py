"""Deployment with unknown source amplitudes: the likelihood of the best coefficients in a box."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self, final

import numpy as np
from numpy.typing import ArrayLike

from .._checks import read_only
from .._codec import Refusal, array_json, real
from .._typing import Array
from ..banks import Bank
from ..io import RowSource, as_pairs
from . import streams
from ._law import CoverSizes, Energy, Part, register
from ._noisy import NoisyLaw, chi_square, read_noises, squares
from ._opponents import Point, Proposal, mean_opponent
from ._stream import Stream


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
    opponents: ClassVar[tuple[str, ...]] = ("mean_point",)
    mixed: ClassVar[tuple[str, ...]] = ("mean_point",)
    takes_sets: ClassVar[bool] = False  # of a set no atom is the first, whose interval the box has

    box: tuple[ArrayLike, ArrayLike]

    def __post_init__(self) -> None:
        """Copies: a law must stay what it was when a protocol was frozen."""
        super().__post_init__()
        lower, upper = self.box
        object.__setattr__(self, "box", (read_only(lower), read_only(upper)))

    def sample(self, bank: Bank, explanation: int, rng: np.random.Generator, n_rows: int) -> Array:
        """(n_rows, q) rows with the strengths of an explanation as coefficients, moved into the box."""
        parts = bank.deployment_parts(bank.deployment_keys(explanation))
        residuals = streams.box_residuals(bank, self.box, self.variances, self.is_complex)
        elements, ends, nuisance = residuals.parts(bank.deployment_keys(explanation))
        wanted = np.zeros_like(ends[0, 0])
        wanted[:: residuals.bounds.shape[2]] = parts.strengths[0]
        active = elements[0] >= 0
        mean = np.clip(wanted, ends[0, 0], ends[1, 0])[active] @ residuals.table[elements[0, active]]
        return np.asarray(mean + np.sqrt(self.entry_noises(nuisance)) * rng.standard_normal((n_rows, len(mean))))

    def stream(self, bank: Bank, rows: RowSource, checkpoints: ArrayLike) -> Stream:
        """The rows (N, q), read once and scored under every deployment key at its best coefficients.

        Positive strengths only mark active atoms.  Of complex data real ends leave the coefficients real.
        """
        residuals = streams.box_residuals(bank, self.box, self.variances, self.is_complex)
        return streams.white_noise_stream((rows,), residuals, residuals.table.shape[1], checkpoints)

    def opponent(self, bank: Bank, proposal: Proposal, key: int) -> Point:  # noqa: ARG002
        """The law of a key at the coefficients that fit these rows best."""
        return streams.best_point(proposal.stream, key)

    def free_opponent(self, bank: Bank, proposal: Proposal, key: int) -> Point:  # noqa: ARG002
        """The mean of the rows, and their scatter."""
        return mean_opponent(proposal.rows, float(self.entry_noises().max()))

    def fitted(self, bank: Bank, explanation: int, rows: RowSource) -> Array:
        """(q,) the mean with the coefficients of the box that fit best."""
        point = streams.best_point(self.stream(bank, rows, [rows.n_rows]), int(bank.deployment_keys(explanation)[0]))
        return np.asarray(point.numbers["mean"])

    def energy(self, bank: Bank, explanation: int, rows: RowSource) -> Energy | None:
        r""":math:`\min_{x\in\text{box}}\sum_i\|z_i - Ax\|^2/\nu`: the scatter, and how far the mean is off the box.

        Chi-square with a degree of freedom less for every coefficient where these fit best inside the box; on its
        faces more are left, and the reference is a little too small.
        """
        elements, _, nuisance = streams.box_residuals(bank, self.box, self.variances, self.is_complex).parts(
            bank.deployment_keys(explanation)
        )
        freedom = rows.n_rows * rows.width - int(np.count_nonzero(elements[0] >= 0))
        if freedom < 1:
            return None
        (variance,) = self.entry_noises(nuisance)
        return chi_square(squares(rows, self.fitted(bank, explanation, rows), float(variance)), freedom)

    @property
    def cover_sizes(self) -> CoverSizes:
        """The mean moves by the sum of all; strengths are open."""
        return CoverSizes(0.5, 2, is_shift=True)

    def encode(self) -> dict[str, object]:
        """With the box: (2, n, 1) ends of real coefficients, or (2, n, 2) of complex ones as pairs (Re, Im)."""
        both = np.stack([np.asarray(end) for end in self.box])[:, :, None]
        ends = array_json(as_pairs(both) if both.dtype.kind == "c" else both.astype(np.float64))
        return super().encode() | {"box": ends}

    @classmethod
    def decode(cls, node: Mapping[str, object], stream: str = "the stream") -> Self:
        """Read what `encode` made."""
        ends = real(node["box"], 2, None, None)
        if ends.shape[2] not in (1, 2):
            raise Refusal(f"the box of {stream} is malformed")
        lower, upper = ends @ [1.0, 1.0j] if ends.shape[2] == 2 else ends[:, :, 0]
        return cls(noises=read_noises(node, stream), is_complex=bool(node["is_complex"]), box=(lower, upper))
