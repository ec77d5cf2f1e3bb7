"""Exact tests of a stated noise level, whatever explanation is true, and of the strengths of explanations."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np

from .._typing import Array, BoolArray, Field
from . import streams
from ._design import RANK_TOLERANCE, Design

if TYPE_CHECKING:
    from ._law import Law


_EPS = float(np.finfo(np.float64).eps)
# Ratios beyond this are not told: JSON has no infinities.
_MOST_RATIO = 1e300
SCATTER = "the scatter of the rows"
BESIDE = "what no element can explain"


class NoiseSeen(NamedTuple):
    """Where rows show their noise alone, and what that says of every noise setting (s,)."""

    place: str
    p: tuple[float, ...]  # two-sided, exact
    ratio: tuple[float, ...]  # energy over that of the noise that is stated


@final
@dataclass(frozen=True, slots=True, eq=False)
class NoiseLook:
    r"""Coordinates of T rows in which there is noise alone, whatever their coefficients are.

    Of rows with a common mean :math:`\sum_t|z_t - \bar z|^2 \sim \sigma^2\chi^2` with p (T - 1) degrees of freedom.  Of
    a single row, or of rows with coefficients of their own, :math:`\sum_t|K^Hz_t|^2` with those of K, a basis of all
    that neither an element nor the background reaches.  Complex rows have two real coordinates for each.

    Beside noise at most `reach` of the length of the rows lies in K, where coefficients of unit columns are together
    no longer than the rows.  Huge ones that cancel, of columns that are dependent to 1e-8, leave more of them there: a
    noise that is right may then be refuted, which withholds labels and makes none.
    """

    freedom: int
    parts: int  # real coordinates of a number: 2 if complex
    complement: Field | None  # (p, k) K; None of rows with a common mean
    reach: float  # how far rounding, or a column taken for dependent, may have turned K

    @classmethod
    def of(cls, design: Design, n_rows: int) -> "NoiseLook | None":
        """None where no noise is stated, where its covariance comes from rows itself, or where nothing is left."""
        if design.covariance_freedom is not None or None in design.deviations:
            return None
        parts = 2 if np.iscomplexobj(design.columns) else 1
        size = len(design.columns)
        if design.rows == "same mean" and n_rows > 1:
            return cls(parts * size * (n_rows - 1), parts, None, 0.0)
        if design.radii is not None:  # the response itself may lie beside its column
            return None
        columns = np.hstack([design.columns, design.background])
        sizes = np.linalg.norm(columns, axis=0)
        left, values, _ = np.linalg.svd(columns[:, sizes > 0.0] / sizes[sizes > 0.0])
        rank = int((values > RANK_TOLERANCE).sum())
        least = float(values[rank - 1]) if rank else 1.0
        reach = RANK_TOLERANCE * bool(rank < len(values)) + 8.0 * size * _EPS * np.sqrt(columns.shape[1]) / least
        return cls(parts * (size - rank) * n_rows, parts, left[:, rank:], reach) if rank < size else None

    @property
    def place(self) -> str:
        """The name of what is looked at."""
        return SCATTER if self.complement is None else BESIDE

    def energies(self, rows: Field) -> tuple[Array, Array]:
        """(S,) energies of noise alone in signals (S, T, p), and how long a part of each may be rounding."""
        whole = np.linalg.norm(rows.reshape(len(rows), -1), axis=1)
        unit = 8.0 * _EPS * (rows.shape[1] + rows.shape[2] + 8)
        left = rows - rows.mean(axis=1, keepdims=True) if self.complement is None else rows @ self.complement.conj()
        return np.asarray((np.abs(left) ** 2).sum(axis=(1, 2))), np.asarray((unit + self.reach) * whole)

    def p_values(self, rows: Field, deviation: float) -> Array:
        """(S,) two-sided, of signals (S, T, p) with noise of this deviation, that of a whole entry if it is complex."""
        energy, rounding = self.energies(rows)
        return streams.two_sided(energy, self.freedom, deviation**2 / self.parts, rounding)

    def seen(self, rows: Field, deviations: tuple[float, ...]) -> NoiseSeen:
        """Test every noise setting on rows (T, p)."""
        energy = float(self.energies(rows[None])[0][0])
        p = tuple(float(self.p_values(rows[None], sigma)[0]) for sigma in deviations)
        return NoiseSeen(self.place, p, tuple(noise_ratio(energy, self.freedom, s**2 / self.parts) for s in deviations))


def agreement(p: float, ratio: float) -> tuple[float, float]:
    """Larger the less a noise is refuted: by its p-value, and where that is 0, by how near the ratio is to 1."""
    return p, -abs(float(np.log(max(ratio, 1.0 / _MOST_RATIO))))


def noise_ratio(energy: float, freedom: int, variance: float) -> float:
    """How many times the variance that is stated an energy with so many degrees of freedom is."""
    with np.errstate(over="ignore"):
        return float(np.minimum(np.float64(energy) / freedom / variance, _MOST_RATIO))


# What rows say of strengths that explanations have.


class Strength(NamedTuple):
    """The test of the strengths of one explanation: a p-value of all its atoms, and how the worst is off."""

    p: float
    is_weaker: bool = False  # the rows are weaker than the explanation says

    @classmethod
    def of(cls, p_values: Array, is_weaker: BoolArray) -> "Strength":
        """Combine p-values of atoms (r,): the smallest times their number, at most 1, valid whatever they share."""
        if not len(p_values):
            return cls(1.0)
        worst = int(np.argmin(p_values))
        return cls(float(min(1.0, len(p_values) * p_values[worst])), bool(is_weaker[worst]))


# From an explanation to what the rows say of its strengths.
StrengthsSeen = Callable[[int], Strength]


def tells_strengths(laws: "Sequence[Law]") -> bool:
    """True if any deployment law uses the strengths of the bank."""
    return any(law.part == "deployment" and law.has_strengths for law in laws)
