"""The rival statistic, and what a count of exceedances proves."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Protocol, final

import numpy as np

from ..._errors import MisuseError
from ..._typing import Array, Field, IntArray
from ._table import RotationTable, check_rows

EPS = float(np.finfo(np.float64).eps)
# Of the level of a rotation test, what the closed-form screen takes; the rest is for the draws.
SCREEN_SHARE = 0.01
LEAST_FREEDOM = 5
_LEAST_READ = 2.0**-30  # of smaller levels not even the inverse is told, which may overflow
# Of log c_j: the weights times any energy stay far from overflow.
_MOST_PENALISED = 300.0


@final
@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """How many of B rotations reach the statistic of the data: between least and most (k,), and what else was found."""

    least: IntArray
    most: IntArray
    bound: Array  # (k,) of the exact p-value; inf where nothing was screened
    number: int | None = None  # e is rejected if fewer exceed; None leaves that to its level
    glanced: Array | None = None  # (k,) margin of a look at the first draws; -inf where it rejects nothing


@dataclass(frozen=True, eq=False)  # no slots: kinds of rows inherit, and keep what they work out
class Rotations(Protocol):
    """Rows of one kind under a table of explanations: their fits, and their rotation test against rivals."""

    has_common_mean: ClassVar[bool]

    table: RotationTable
    rows: Field  # (T, q)
    draws: int
    seed: int
    penalty: float
    sigma: float | None = None

    def __post_init__(self) -> None:
        """Rows that the table can be about, and a residual of some dimensions."""
        object.__setattr__(self, "rows", check_rows(self.table, self.rows))
        check_freedom(self.freedom - int(self.ranks.max()))

    @property
    def is_complex(self) -> bool:
        """Whether rows or columns are."""
        return self.table.is_complex or bool(np.iscomplexobj(self.rows))

    @property
    def parts(self) -> int:
        """Real coordinates of a number: 2 if complex."""
        return 2 if self.is_complex else 1

    @property
    def own_sigma(self) -> float:
        """Standard deviation of the noise in a real coordinate; 0 where it is not known."""
        return 0.0 if self.sigma is None else self.sigma / float(np.sqrt(self.parts))

    @property
    def freedom(self) -> int:
        """Real coordinates of the rows beside the background."""

    @property
    def ranks(self) -> IntArray:
        """(M,) real coordinates that an explanation fits."""

    @property
    def contest(self) -> "Contest":
        """The fits of all explanations, and how they compete."""

    @property
    def scores(self) -> Array:
        """(M,) the statistic of every explanation as a rival; the largest fits best."""
        return self.contest.scores

    def coefficients(self, e: int, weights: Array | None = None) -> tuple[Field, Array]:
        """(r,) fitted coefficients of e's atoms and (r,) their errors over those of a real coordinate; none if open.

        weights: (k, r), for k sums of coefficients with these weights.
        """

    def residuals(self, e: int) -> tuple[float, int]:
        """The residual sum of squares of e, and its degrees of freedom."""

    def rounding(self, e: int) -> float:
        """How long a part of the residual of e may be rounding, of the rows as given included."""

    def rivals(self, explanations: IntArray, level: float, *, is_full: bool = False) -> Counts:
        """Of each explanation (k,) at this level; is_full: without screen and early stop."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Contest:
    r"""The rival statistic :math:`\max_j \frac n2\log(RSS_e/RSS_j) - \lambda(r_j - r_e)`, j = e included.

    Under a rotation of e, :math:`RSS_e` and the energy :math:`E = |z|^2` stay, so it ranks as the largest
    :math:`c_j(|P_j z|^2 - E)`, :math:`c_j = e^{2\lambda r_j/n}`; of equal ranks as the largest :math:`|P_j z|^2`.
    With known noise it is :math:`|P_j z|^2 - 2\sigma^2\lambda r_j`.  Ranks and n count real coordinates.
    """

    fits: Array  # (M,) |P_j z|^2
    weights: Array  # (M,) c_j
    offsets: Array  # (M,) c_j E, or 2 sigma^2 lambda r_j

    @classmethod
    def of(cls, fits: Array, ranks: IntArray, energy: float, freedom: int, penalty: float, sigma: float) -> "Contest":
        """freedom: n; sigma: 0 where it is not known."""
        if sigma > 0.0:
            return cls(fits, np.ones(len(fits)), np.asarray(2.0 * sigma**2 * penalty * ranks, dtype=np.float64))
        exponents = 2.0 * penalty * (ranks - ranks.min()) / freedom
        if exponents.max() > _MOST_PENALISED:
            rule = f"make at most {_MOST_PENALISED / 2:g} times {freedom}, the coordinates, of the largest rank"
            raise MisuseError("penalty", rule, penalty)
        weights = np.exp(exponents)
        return cls(fits, weights, weights * energy)

    @property
    def scores(self) -> Array:
        """(M,) the statistic of each rival."""
        return self.weights * self.fits - self.offsets

    def least(self, slack: Array) -> Array:
        """(M,) the energies at which a rival reaches the statistic of the data, whose fits are off by up to slack."""
        return np.asarray(((self.scores - self.weights * slack).max() + self.offsets) / self.weights)


def most_rejected(level: float, draws: int) -> int:
    """K = floor(level (B + 1)): p <= level exactly if fewer than K draws exceed; none can if K is 0."""
    return int(Fraction(level) * (draws + 1))


def check_draws(level: float, draws: int) -> None:
    """Refuse so few draws that nothing is ever rejected."""
    if most_rejected(level, draws) < 1:
        least = int(1 / max(level, _LEAST_READ))
        raise MisuseError("draws", f"be at least {least} to reject at level {level:g}", draws, "Or raise the level.")


def count_margins(counts: Counts, level: float, draws: int, *, is_screened: bool = True) -> tuple[Array, Array]:
    r"""Bounds (k,) of the margin :math:`\log\frac{K + 1/2}{1 + \#}`, positive exactly if fewer than K draws exceed.

    The screen rejects at 1 % of the level and the draws at 99 %, K unless the counts say another; its margin is the log
    of its level over its bound.
    """
    number = counts.number
    if number is None:
        number = most_rejected(level * (1.0 - SCREEN_SHARE) if is_screened else level, draws)
    lower = np.log((number + 0.5) / (1.0 + counts.most))
    upper = np.log((number + 0.5) / (1.0 + counts.least))
    if not is_screened:
        return lower, upper
    with np.errstate(divide="ignore"):
        screened = np.log(SCREEN_SHARE * level) - np.log(counts.bound) - 1e-9  # far more than the bound's rounding
    ahead = screened if counts.glanced is None else np.maximum(screened, counts.glanced)
    return np.maximum(lower, ahead), np.maximum(upper, ahead)


def check_freedom(freedom: int) -> None:
    """Refuse a residual of too few dimensions: its direction says next to nothing."""
    if freedom < LEAST_FREEDOM:
        raise MisuseError(
            "rows",
            f"leave a residual of at least {LEAST_FREEDOM} dimensions",
            freedom,
            "Measure more channels or rows, or take columns out of the background or the supports. A covariance of the "
            "noise that has not full rank leaves directions out.",
        )
