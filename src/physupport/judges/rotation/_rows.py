"""Rows of any kind under a table of explanations: how explanations compete, their rotation tests, and the gate."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np

from ..._errors import MisuseError
from ..._typing import Array, Field, IntArray
from ...laws import noise_ratio, two_sided
from ._table import LEFT, Finding, Outsiders, check_rows, white_lags

if TYPE_CHECKING:
    from ._judge import Rotation

# Of the level of a rotation test, what the closed-form screen takes; the rest is for the draws.
SCREEN_SHARE = 0.01
LEAST_FREEDOM = 5
_LEAST_READ = 2.0**-30  # of smaller levels not even the inverse is told, which may overflow
# Of log c_j: the weights times any energy stay far from overflow.
_MOST_PENALISED = 300.0
_CHUNK = 128  # draws at a time


@final
@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """How many of B rotations reach the statistic of the data: between least and most (k,), and what else was found."""

    least: IntArray
    most: IntArray
    bound: Array  # (k,) of the exact p-value; inf where nothing was screened
    number: int | IntArray | None = None  # e is rejected if fewer exceed; None leaves that to its level


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

    def least(self, slack: Array, chosen: IntArray | slice = slice(None)) -> Array:
        """(M,) the energies at which a rival reaches the statistic of the data, the largest among the chosen ones.

        Fits are off by up to slack (M,).
        """
        lowest = self.scores - self.weights * slack
        return np.asarray((lowest[chosen].max() + self.offsets) / self.weights)


def most_rejected(level: float, draws: int) -> int:
    """K = floor(level (B + 1)): p <= level exactly if fewer than K draws exceed; none can if K is 0."""
    return int(Fraction(level) * (draws + 1))


def check_draws(level: float, draws: int) -> None:
    """Raise if there are too few draws to ever reject an explanation."""
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
    return np.maximum(lower, screened), np.maximum(upper, screened)


def check_freedom(freedom: int) -> None:
    """Raise if the residual has so few dimensions that its direction carries almost no information."""
    if freedom < LEAST_FREEDOM:
        raise MisuseError(
            "rows",
            f"leave a residual of at least {LEAST_FREEDOM} dimensions",
            freedom,
            "Measure more channels or rows, or take columns out of the background or the supports. A covariance of the "
            "noise that has not full rank leaves directions out.",
        )


def exceeding(draws: int, enough: int, reached: Callable[[slice], int], fewest: int = 0) -> tuple[int, int]:
    """Bounds of the number of draws that exceed, in chunks until `enough` do or `fewest` cannot be reached."""
    counted = 0
    done = 0
    while done < draws and counted < enough and counted + draws - done >= fewest:
        chosen = slice(done, min(done + _CHUNK, draws))
        counted += reached(chosen)
        done = chosen.stop
    return counted, counted + draws - done


class Rotations:
    """Rows of one kind under a table of explanations: their fits, their rotation test against rivals, and the gate.

    The tests of the gate are named as `Outsiders.parts`; each stops once enough draws exceed what the rows show.
    """

    contest: Contest  # the fits of all explanations, and how they compete

    def __init__(self, spec: "Rotation", rows: Field) -> None:
        """Check that table and gate fit these rows, and that residuals have enough dimensions."""
        table = spec.table
        self.spec = spec
        self.table = table
        self.rows = check_rows(table, rows)  # (T, q)
        self.is_complex = table.is_complex or bool(np.iscomplexobj(self.rows))
        self.parts = 2 if self.is_complex else 1  # real coordinates of a number
        # Of the noise in a real coordinate; 0 where it is not known.
        self.own_sigma = 0.0 if spec.sigma is None else spec.sigma / float(np.sqrt(self.parts))
        self.has_common_mean = spec.rows == "same mean"
        n_rows, n_channels = self.rows.shape
        self.n_signal = 1 if self.has_common_mean else n_rows  # rows that have coefficients of their own
        # The scatter about a common mean is rotated, too, unless it is pooled with an estimate of the covariance.
        is_known = spec.covariance_freedom is None
        self.scatter_freedom = self.parts * n_channels * (n_rows - self.n_signal) if is_known else 0
        # Real coordinates of all that is rotated, and (M,) those that an explanation fits.
        self.freedom = self.parts * table.complement.shape[1] * self.n_signal + self.scatter_freedom
        self.ranks = table.ranks * (self.parts * self.n_signal)
        check_freedom(self.freedom - int(self.ranks.max()))
        if spec.outsiders is not None:
            stated = self.own_sigma > 0.0 or not is_known
            facts = {"has_common_mean": self.has_common_mean, "is_noise_stated": stated, "is_complex": self.is_complex}
            spec.outsiders.check(n_rows, len(table.atoms), **facts)

    @property
    def gate(self) -> Outsiders:
        """The effects that the gate looks for; None without a gate."""
        assert self.spec.outsiders is not None
        return self.spec.outsiders

    @property
    def scores(self) -> Array:
        """(M,) the statistic of every explanation as a rival; the largest fits best."""
        return self.contest.scores

    def residuals(self, e: int) -> tuple[float, int]:
        """The residual sum of squares of e, and its degrees of freedom."""
        raise NotImplementedError

    def rounding(self, e: int) -> float:
        """How long a part of the residual of e may be rounding, of the rows as given included."""
        raise NotImplementedError

    def mean_and_atoms(self, support: list[int]) -> tuple[Field, Field]:
        """Root T times the mean (m,), and atoms (m, r), beside the background."""
        raise NotImplementedError

    @property
    def sufficient(self) -> tuple[Field, float]:
        """(m, k) columns beside the background with the second moments of the rows, and the scatter about their mean.

        Rows that share a mean have one column, root T times the mean; others have no scatter.
        """
        raise NotImplementedError

    def coefficients(self, e: int, weights: Array | None = None) -> tuple[Field, Array]:
        """(r,) fitted coefficients of e's atoms and (r,) their errors over those of a real coordinate.

        None for rows with coefficients of their own, and for dependent atoms.  weights: (k, r), for k sums of
        coefficients with these weights.
        """
        support = list(self.table.supports[e])
        if not self.has_common_mean or int(self.table.ranks[e]) < len(support):
            return np.empty(0), np.empty(0)
        mean, atoms = self.mean_and_atoms(support)
        inverse = np.linalg.pinv(np.sqrt(len(self.rows)) * atoms)  # (r, m)
        inverse = inverse if weights is None else weights @ inverse
        return np.asarray(inverse @ mean), np.linalg.norm(inverse, axis=1)

    def rivals(self, explanations: IntArray, level: float, *, is_full: bool = False) -> Counts:
        """Count exceedances of explanations (k,) at this level; is_full: without screen and early stop."""
        counted = [self.count(int(e), level, is_full=is_full) for e in explanations]
        table = np.array(counted, dtype=np.float64).reshape(-1, 3)
        return Counts(table[:, 0].astype(np.int64), table[:, 1].astype(np.int64), table[:, 2])

    def count(self, e: int, level: float, *, is_full: bool) -> tuple[int, int, float]:
        """The fewest and most exceedances of one explanation, and a bound of its p-value."""
        raise NotImplementedError

    def further(self, e: int) -> Finding | None:  # noqa: ARG002
        """The result of its rivals even if e fits best; None where they reject no best fit."""
        return None

    def columns(self, e: int, enough: int) -> Finding:
        """Look for the largest part of the residual along a column."""
        raise NotImplementedError

    def lags(self, e: int, enough: int, lags: tuple[int, ...] = ()) -> Finding:
        """Look for the largest autocorrelation of a single row's residual, at the gate's lags unless given."""
        raise NotImplementedError

    def spectrum(self, e: int, enough: int) -> Finding:
        """Compare the leading eigenvalue of the residuals with those of the draws."""
        raise NotImplementedError

    def noise(self, e: int, enough: int) -> Finding:  # noqa: ARG002
        r"""Compare an energy of the rows with the noise that is stated, :math:`\sigma^2\chi^2` if e made them."""
        place, energy, freedom, off = self.noise_energy(e)
        variance = self.own_sigma**2
        p = float(two_sided(energy, freedom, variance, off))
        return self.finding("noise", place, closed=p, ratio=noise_ratio(energy, freedom, variance))

    def noise_energy(self, e: int) -> tuple[str, float, int, float]:
        """The place, energy, degrees of freedom and rounding error of the noise: those of the residual of e."""
        return LEFT, *self.residuals(e), self.rounding(e)

    def finding(
        self,
        part: str,
        place: str,
        counted: tuple[int, int] | None = None,
        *,
        is_own: bool = False,
        closed: float | None = None,
        ratio: float | None = None,
    ) -> Finding:
        """A finding with these bounds of exceedances among the draws; those of the gate unless given."""
        least, most = counted or (self.spec.gate_draws, self.spec.gate_draws)
        return Finding(part, place, least, most, self.spec.gate_draws, is_own, closed, ratio)

    @np.errstate(divide="ignore", invalid="ignore")  # of residuals of 0; what is no number counts as an exceedance
    def findings(self, e: int, enough: int | None = None, parts: tuple[str, ...] | None = None) -> tuple[Finding, ...]:
        """Run parts of the gate, all of them unless given, each with all its draws or until enough exceed."""
        if self.spec.outsiders is None:
            return ()
        most = self.spec.gate_draws + 1 if enough is None else enough
        return tuple(getattr(self, part)(e, most) for part in (self.spec.outsiders.parts if parts is None else parts))

    def gate_counts(self, explanations: IntArray, outsiders: Outsiders, level: float) -> Counts:
        """Count exceedances of the part with fewest, which decides: enough of them retain, as all draws would.

        In a gate without draws all exceed.
        """
        number = most_rejected(level, self.spec.gate_draws)
        found = [self.findings(int(e), number, outsiders.drawn) for e in explanations]
        nothing = self.spec.gate_draws
        least = [min((part.exceedances for part in parts), default=nothing) for parts in found]
        most = [min((part.most for part in parts), default=nothing) for parts in found]
        return Counts(np.array(least, dtype=np.int64), np.array(most, dtype=np.int64), np.full(len(found), np.inf))

    @np.errstate(divide="ignore", invalid="ignore")
    def whiteness(self, e: int) -> Finding | None:
        """The test of the noise alone: autocorrelations of one row, the leading eigenvalue of three or more.

        None for two rows, which allow neither test.
        """
        lags = white_lags(len(self.rows), len(self.table.atoms), self.has_common_mean)
        if lags:
            return self.lags(e, self.spec.gate_draws + 1, lags)
        return self.spectrum(e, self.spec.gate_draws + 1) if len(self.rows) >= 3 else None
