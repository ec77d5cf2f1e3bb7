"""Whether the rows fit the laws, and the outcome in words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite, isnan
from typing import final

import numpy as np
from scipy.special import chdtr, chdtrc

from ..._checks import check_count
from ..._typing import IntArray
from ...banks import Bank
from ...report._phrases import cut
from .._plans import ProposedStream
from .._result import Result

# Two-sided probability below which rows and law are said not to fit: by chance one stream in a thousand.
MISFIT = 1e-3
_SMALLEST = 1e-6  # smaller probabilities are not written out
_LARGEST = 1e6  # more standard deviations are written as a power of ten


@final
@dataclass(frozen=True, slots=True)
class Misfit:
    """The energy of the held-out rows of one stream under one explanation, and what that explanation expects of it.

    is_exact: whether the energy is chi-square if the explanation made the rows; of latent codes only mean and
    deviation are known.
    An energy beyond the range of double precision is infinite; one that cannot be computed is NaN, and with it z and
    the probability.
    """

    stream: str
    explanation: int
    statistic: float
    expected: float
    deviation: float  # standard deviation if the explanation made the rows
    is_exact: bool = True

    @property
    def z(self) -> float:
        """How many standard deviations the energy is too large."""
        return (self.statistic - self.expected) / self.deviation

    @property
    def probability(self) -> float:
        r"""Two-sided: twice the smaller tail, of an energy at least as far off if the explanation made the rows.

        The law is that of :math:`(\mu/f)\chi^2_f` with :math:`f = 2\mu^2/\sigma^2`, which has mean and deviation of
        the energy: the law itself where it is chi-square, with f = mu, and an approximation where `is_exact` is not.
        """
        freedom = 2.0 * (self.expected / self.deviation) ** 2
        scaled = freedom * self.statistic / self.expected
        return float(np.minimum(1.0, 2.0 * np.minimum(chdtr(freedom, scaled), chdtrc(freedom, scaled))))

    @property
    def is_misfit(self) -> bool:
        """Whether the energy is farther off than chance accounts for: its probability is below 0.001."""
        return self.probability < MISFIT

    @property
    def sentence(self) -> str:
        """In words."""
        if not isfinite(self.z):
            return self._why_not
        ratio = self.statistic / self.expected
        off = f"{self.z:+.1f}" if abs(self.z) < _LARGEST else f"{self.z:+.3g}"
        said = (
            f"The held-out {self.stream} rows have {ratio:.4g} times the energy that explanation {self.explanation} "
            f"expects of them ({off} standard deviations; two-sided probability {self._chance})"
        )
        if not self.is_misfit:
            return f"{said}: no sign of a misfit."
        if self.z > 0.0:
            return (
                f"{said}: the noise or the strengths of the bank are too small, or something active is missing in it."
            )
        return f"{said}: the noise or the strengths of the bank are too large, or the rows were scaled."

    @property
    def _why_not(self) -> str:
        """Why there is no number."""
        if isnan(self.z):
            return (
                f"Whether the held-out {self.stream} rows have the energy that explanation {self.explanation} expects "
                f"of them cannot be computed: its noise and its strengths are too many powers of ten apart for double "
                f"precision."
            )
        return (
            f"The held-out {self.stream} rows have more energy under explanation {self.explanation} than double "
            f"precision can hold, while it expects {self.expected:.4g}: rows and bank differ by many powers of ten, so "
            f"their units may be mixed up."
        )

    @property
    def _chance(self) -> str:
        if self.probability < _SMALLEST:
            return f"below {_SMALLEST:.0e}"
        return f"{'' if self.is_exact else 'about '}{self.probability:.2g}"


def misfit(result: Result, explanation: int | None = None) -> tuple[Misfit, ...]:
    r"""The energy of the held-out rows under one explanation, for each stream whose law knows one.

    Covariance, mean and known codes: :math:`\sum_i\|\Sigma^{-1/2}(z_i - \mu_i)\|^2`, which is chi-square with one
    degree of freedom for every number in the rows, if the explanation made them.  Latent codes:
    :math:`\sum_iy_i^\top C^{-1}y_i` with the covariance C of the whole mixture, of mean q a row and the variance of
    `latent_energy_variance`, both exact, while its tails are approximated.  Profiled mean: about the mean that fits
    best with coefficients of the box, which is chi-square with a degree of freedom less for every coefficient.

    explanation: the best of the proposal rows unless given, or, if that is not admissible, the admissible one with the
    least evidence against it.  The reference is exact for an explanation fixed without held-out rows.
    """
    bank = result.bank
    chosen = result.reference if explanation is None else check_count("explanation", explanation, 0, bank.size - 1)
    misfits = (_stream_misfit(part, bank, chosen) for part in result.seal.parts)
    return tuple(one for one in misfits if one is not None)


def _stream_misfit(part: ProposedStream, bank: Bank, explanation: int) -> Misfit | None:
    with np.errstate(over="ignore", invalid="ignore"):
        energy = part.law.energy(bank, explanation, part.judged)
    return None if energy is None else Misfit(part.name, explanation, *energy)


# A possible set of at least this share of the bank, and of this many explanations, calls for a word about its size.
_LARGE_SHARE, _LARGE = 0.25, 20
_BLOCK = 2**16


def outcome_sentences(result: Result, misfits: Sequence[Misfit] | None = None) -> tuple[str, ...]:
    """Why the outcome is what it is, with figures, and what would change it; the report's own sentence comes first.

    misfits: those of `misfit(result)`, worked out unless given.
    """
    known = misfit(result) if misfits is None else tuple(misfits)
    sentences = [result.report.sentence]
    match result.report.status:
        case "EMPTY":
            sentences += _empty(known)
        case "ABSTAIN":
            sentences += _abstain(result)
    if result.report.status != "EMPTY":
        sentences += _doubts(known)
        sentences += _size(result)
    return tuple(sentences)


def _empty(misfits: Sequence[Misfit]) -> Iterator[str]:
    yield from (one.sentence for one in misfits)
    off = [one for one in misfits if one.is_misfit]
    if any(one.z > 0.0 for one in off):
        yield (
            "Most often the noise variances are set too small: measure them on rows without a source, or give several. "
            "If they are right, the strengths are too small or elements are missing: widen the library."
        )
    elif off:
        yield (
            "The bank expects more energy than the rows have: lower the noise variances or the strengths, give several "
            "of them, and look for rows that were scaled, averaged or centred before they came here."
        )
    elif any(isnan(one.z) for one in misfits):
        yield "Give the noise variances and the strengths in the units of the rows: they are too far apart."
    elif misfits:
        yield (
            "The energy is right, so the noise is not the reason. Most often elements are missing where something is "
            "active, responses are off (add calibration parameters such as gain, width or position), or strengths are "
            "divided wrongly among the regions. It may also be the event that the level allows."
        )


def _abstain(result: Result) -> Iterator[str]:
    trace = result.trace
    unasked = trace.size - len(trace)
    if still_open := trace.open_fields():
        yield f"Not settled: {cut(still_open)}."
    if unasked and trace.ending.name in ("BUDGET", "STOPPED"):
        yield (
            f"{unasked} of {trace.size} explanations were not asked about. A budget of {trace.size} asks about all of "
            f"them, and only the rows then decide; what is certified already stays."
        )
    if trace.n_indeterminate:
        yield f"Verdicts that the arithmetic left undecided: {trace.n_indeterminate}."


def _doubts(misfits: Sequence[Misfit]) -> Iterator[str]:
    """A report rests on laws; say so where the rows contradict them."""
    for one in misfits:
        if one.is_misfit:
            yield f"Take care: {one.sentence[0].lower()}{one.sentence[1:]} Every label rests on these laws."


def _size(result: Result) -> Iterator[str]:
    trace = result.trace
    if trace.n_possible < max(_LARGE, _LARGE_SHARE * trace.size):
        return
    resolved, unresolved = _dimensions(result)
    yield (
        f"Of {trace.size} explanations {trace.n_witnessed + trace.n_indeterminate} are kept and "
        f"{trace.size - len(trace)} were not asked about. Unresolved: {cut(unresolved)}."
        + (f" Resolved: {cut(resolved)}." if resolved else "")
    )


def _dimensions(result: Result) -> tuple[list[str], list[str]]:
    """What all possible explanations agree on, and what not, with how many of the choices are left."""
    possible, everything = result.trace.brackets().possible(), np.arange(result.bank.size)
    resolved: list[str] = []
    unresolved: list[str] = []
    for (name, left), (_, whole) in zip(_counts(result, possible), _counts(result, everything), strict=True):
        if whole > 1:
            (resolved if left == 1 else unresolved).append(name if left == 1 else f"{name} ({left} of {whole})")
    return resolved, unresolved


def _counts(result: Result, index: IntArray) -> list[tuple[str, int]]:
    """Distinct values of each dimension of the bank among explanations."""
    seen: dict[str, set[int]] = {}
    for start in range(0, len(index), _BLOCK):
        for name, column in _columns(result, index[start : start + _BLOCK]).items():
            seen.setdefault(name, set()).update(np.unique(column).tolist())
    return [(name, len(values)) for name, values in seen.items()]


def _columns(result: Result, index: IntArray) -> dict[str, IntArray]:
    """(k,) the value of every dimension, by name; what the question says of a state may stand for its number."""
    columns = result.bank.split(index)
    parameters = result.bank.states.dimensions(columns.state)
    return {
        **result.predicates.dimensions(index, None if parameters else columns.state),
        **parameters,
        "the support with its strengths": columns.support,
        "the calibration nuisances": columns.calibration,
        "the deployment nuisances": columns.deployment,
    }
