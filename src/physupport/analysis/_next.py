r"""Choose what to measure next: the pair of explanations that holds a label back, and what parts it at least cost.

Let e and j be kept, and let what j says keep the label of e from being certain.  If e is true, the log evidence against
j grows in a measurement c by about its divergence from e, minimised over all that j leaves open,

.. math:: D_c(e, j) = \min_{\theta_j} KL(P_c(e, \hat\theta_e)\,|\,P_c(j, \theta_j)) ,

with what e leaves open as the rows so far fit it best.  Each pair needs the evidence that is missing until j is
rejected, so that c takes this many times the seconds that it costs.  Of all pairs that some measurement parts, the one
whose cheapest takes longest decides, and that measurement is the answer.

- Counts: with m the means under e, :math:`D = \sum_i m_i\log m_i - m_i - \sup_{x\ge0}\sum_i m_i\log n_i(x) - n_i(x)`:
  the supremum of the judge, of means in place of counts.
- Rows around one mean with free coefficients, :math:`s = A_e\hat x`, Q projecting off the columns of j: :math:`|Qs|^2 /
  2\sigma^2` a row, or :math:`\frac p2\log(1 + |Qs|^2/p\sigma^2)` where the noise level is open.
- Laws without open parts: in closed form, or averaged over rows that are drawn.

Evidence with a common numerator keeps its level whatever is measured next, because numerators are fixed before their
rows.  Other judges keep it for one report, and the answer says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, inf, isfinite, log
from typing import Final, final

import numpy as np

from .._checks import check_number, read_only
from .._errors import Clause, MisuseError
from .._typing import Array, BoolArray, Field, IntArray
from ..banks import Bank
from ..io import ArrayRows, as_complex, mean_row
from ..judges import RunningEvidence
from ..judges.counts import CountTable, fitted, suprema_of
from ..laws import Design, Law
from ..questions import Question, abridged
from ._analyse import Result

_MOST_TRUTHS: Final = 24  # explanations that are taken for true in turn, those with the least evidence against them
_MOST_KEPT: Final = 1024  # divergences of a truth in a measurement, which are kept for the next look
_DRAWN: Final = 512  # rows of a law without closed form
# Counts in all that a supremum is worked out with, so that its gap is far less than any divergence that matters.
_COUNTS: Final = 1e6
# Evidence a measurement below which a pair counts as not parted: it would take more than ten thousand of them.
_LEAST: Final = 1e-4
_ONE_LOOK: Final = " The level of this judge holds for one report: fix now how many measurements to make."


@final
@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A measurement that could be made next.

    bank: the explanations of the analysis in their order, with the responses of this measurement.  law: of its rows,
    of which it gives so many, or so much live time of counts, in these seconds.  scale: (E,) by which coefficients of
    its elements exceed those of the same amounts in the rows so far; 1 unless given.
    """

    name: str
    seconds: float
    bank: Bank
    law: Law
    n_rows: float = 1.0
    scale: Array | None = None

    def __post_init__(self) -> None:
        for name in ("seconds", "n_rows"):
            value = check_number(name, getattr(self, name))
            if not (isfinite(value) and value > 0.0):
                raise MisuseError(f"{name} of {self.name!r}", "be above 0", value)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """The deployment rows so far, to which open parts are fitted: their mean a row, or a unit of live time."""

    bank: Bank
    law: Law  # completed
    mean: Array  # (q,)
    n_rows: float

    @classmethod
    def of(cls, result: Result) -> "Seen | None":
        """The rows of a finished analysis; None where it kept none."""
        part = next((part for part in result.seal.parts if part.name == "deployment"), None)
        if part is None:
            return None
        rows = ArrayRows(part.table)
        mean = mean_row(rows)
        design = part.law.design(part.bank)
        times = None if design is None else design.exposure
        exposure = 1.0 if times is None else float(times.mean())
        return cls(part.bank, part.law, mean / exposure, rows.n_rows * exposure)

    @classmethod
    def of_running(cls, evidence: RunningEvidence) -> "Seen | None":
        """The counts that arrived so far; None where laws leave nothing open, or before the first."""
        stream = evidence.streams.get("deployment")
        rates = None if stream is None else stream.rates
        return None if stream is None or rates is None else cls(stream.bank, stream.law, *rates)


@final
@dataclass(frozen=True, slots=True)
class Acquisition:
    """The answer: which pair holds a label back, and the measurement that parts it at least cost.

    pair: of explanations, in words; None if no label waits for a measurement.  seconds: by measurement, expected for
    this pair.  unparted: how many pairs no measurement parts.  is_anytime: True if the level of the judge covers all
    reports of growing data together.
    """

    field: str | None
    pair: tuple[str, str] | None
    measurement: str | None
    seconds: tuple[tuple[str, float], ...]
    repeats: int
    unparted: int
    is_anytime: bool = True

    @property
    def expected_seconds(self) -> float:
        """The expected time of the measurement until it separates the pair; infinite if no measurement does."""
        return dict(self.seconds).get(self.measurement or "", inf)

    @property
    def sentence(self) -> str:
        """The answer in words."""
        rest = f" No measurement that was named parts {self.unparted} other pairs." if self.unparted else ""
        if self.pair is None:
            told = "No label waits for a measurement that was named."
            return told + rest.replace("other ", "")
        first, second = self.pair
        times = "once" if self.repeats == 1 else f"{self.repeats} times"
        return (
            f"{self.field} waits until {first} and {second} are parted: measure {self.measurement!r} {times}, expected "
            f"{self.expected_seconds:.3g} s.{rest}{'' if self.is_anytime else _ONE_LOOK}"
        )


def next_measurement(result: Result, candidates: Sequence[Candidate], seen: Seen | None = None) -> Acquisition:
    """Which of these to make next.

    seen: the rows so far; those of the result unless given.  Laws whose coefficients are open need them.
    """
    kept = result.admissible
    missing = np.full(len(kept), -log(result.seal.protocol.run_level))
    if result.seal.protocol.judge.has_common_numerator:  # else margins are no evidence
        margins = result.trace.verdicts.upper[result.places[kept]]
        missing = np.where(np.isfinite(margins), -margins, missing)
    fields = tuple(answer.field for answer in result.answers)
    answer = next_to_part(result.question, fields, kept, missing, candidates, seen or Seen.of(result))
    return replace(answer, is_anytime=result.seal.protocol.judge.has_common_numerator)


def next_to_part(
    question: Question,
    fields: Sequence[str],
    kept: IntArray,
    missing: Array,
    candidates: Sequence[Candidate],
    seen: Seen | None = None,
) -> Acquisition:
    """The same of explanations (k,) that are kept, and the log evidence that each lacks until it is rejected.

    fields: the names of those of the question.  kept: first those with the least evidence against them.
    """
    if not candidates:
        raise MisuseError("candidates", "hold at least one measurement", Clause("there is none"))
    n_unparted = 0
    longest: tuple[float, str, int, int, Array] | None = None
    for truth in kept[:_MOST_TRUTHS].tolist():
        rivals = _held_back(question, fields, truth, kept)
        is_rival = np.any([*rivals.values()], axis=0) if rivals else np.zeros(len(kept), dtype=np.bool_)
        times = np.full((len(candidates), len(kept)), inf)
        for each, row in zip(candidates, times, strict=True):
            if is_rival.any():
                row[is_rival] = _seconds(each, seen, truth, kept[is_rival]) * np.maximum(missing[is_rival], _LEAST)
        for name, chosen in rivals.items():
            cheapest = np.where(chosen, times.min(axis=0), -inf)
            n_unparted += int(np.isposinf(cheapest).sum())
            k = int(np.where(np.isfinite(cheapest), cheapest, -inf).argmax())
            if np.isfinite(cheapest[k]) and (longest is None or cheapest[k] > longest[0]):
                longest = (float(cheapest[k]), name, truth, int(kept[k]), times[:, k])
    if longest is None:
        return Acquisition(None, None, None, (), 0, n_unparted)
    _, name, truth, rival, own = longest
    best = candidates[int(own.argmin())]
    listed = tuple((each.name, float(time)) for each, time in zip(candidates, own, strict=True))
    pair = pair_in_words(question, name, truth, rival)
    return Acquisition(name, pair, best.name, listed, max(ceil(own.min() / best.seconds), 1), n_unparted)


def _held_back(question: Question, fields: Sequence[str], truth: int, kept: IntArray) -> dict[str, BoolArray]:
    """Fields whose label this truth cannot have as long as others are kept, and which these are, (k,) each."""
    found = {}
    for number, name in enumerate(fields):
        known = question.contradictions(number, truth)
        if known is not None and (is_rival := known.contradict(kept)).any():
            found[name] = is_rival
    return found


def pair_in_words(question: Question, field: str, *explanations: int) -> tuple[str, str]:
    """The elements that two explanations name; of all regions where they say the same of the field."""
    said = [abridged(question.says_of(e), field) for e in explanations]
    differing = [name for name in said[0] if said[0][name] != said[1].get(name)] or [*said[0]]
    first, second = (", ".join(f"{name} {each.get(name) or 'nothing'}" for name in differing) for each in said)
    return first, second


def _seconds(candidate: Candidate, seen: Seen | None, truth: int, others: IntArray) -> Array:
    """(k,) the seconds that a nat of evidence against others is expected to take; infinite if there will be none."""
    gained = candidate.n_rows * divergences(candidate, truth, others, seen)
    with np.errstate(divide="ignore"):
        return np.where(gained > _LEAST, candidate.seconds / np.maximum(gained, _LEAST), inf)


def divergences(candidate: Candidate, truth: int, others: IntArray, seen: Seen | None = None) -> Array:
    """(k,) the expected log evidence of a row against others if one is true, minimised over what they leave open."""
    law = candidate.law
    bank = candidate.bank
    design = law.design(bank)
    if law.part == "calibration" or design is None:
        return _of_densities(candidate, truth)[others]
    if seen is None or (own := seen.law.design(seen.bank)) is None:
        rule = "be given for laws whose coefficients are open"
        raise MisuseError(
            "seen", rule, Clause("there are none"), "Coefficients are those that fit the rows so far best."
        )
    keys = law.keys(bank)
    if law.is_counted:
        steps = len(design.deviations)
        tables = tuple(_table(each) for each in (own, design))
        scale = np.ones(tables[0].atoms.shape[1]) if candidate.scale is None else candidate.scale
        return _of_counts(tables, scale, seen, int(keys(truth)[0]) // steps, keys(others) // steps)
    if design.rows != "same mean" or own.rows != "same mean":
        raise MisuseError("rows", "be 'same mean' for what to measure next", repr(design.rows))
    scale = np.ones(own.columns.shape[1]) if candidate.scale is None else candidate.scale
    return _of_mean(design, own, scale, seen, int(keys(truth)[0]), keys(others))


@lru_cache(maxsize=_MOST_KEPT)
def _of_densities(candidate: Candidate, truth: int) -> Array:
    """(M,) of laws without open parts, whatever the rows so far say."""
    law = candidate.law
    bank = candidate.bank
    keys = law.keys(bank)(np.arange(bank.size))
    own = int(keys[truth])
    distinct, where = np.unique(keys, return_inverse=True)
    found = law.divergences(bank, own, distinct)
    if found is not None:
        return read_only(found[where])
    rows = law.sample(bank, truth, np.random.default_rng(0), _DRAWN)
    scores = law.stream(bank, ArrayRows(rows), [_DRAWN]).log_likelihood(distinct).values[:, 0]
    return read_only(np.maximum(scores[where[truth]] - scores[where], 0.0) / _DRAWN)


def _table(design: Design) -> CountTable:
    return CountTable(design.columns, design.active, design.background, design.band)


def _of_counts(tables: tuple[CountTable, ...], scale: Array, seen: Seen, truth: int, others: IntArray) -> Array:
    """A unit of live time; the background of another instrument is taken to be as strong as that of this one."""
    own, other = tables
    amounts = fitted(own, seen.n_rows * seen.mean, own.members[[truth]])[0][0] / seen.n_rows
    active = own.members[truth][own.members[truth] >= 0]
    n_atoms = own.atoms.shape[1]
    is_atom = active < n_atoms
    rates = amounts[: len(active)] / own.sums[active]
    means = (rates[is_atom] * scale[active[is_atom]]) @ other.columns[active[is_atom]]
    shared = amounts[: len(active)][~is_atom]
    beside = other.columns[n_atoms:]
    if own.columns[n_atoms:].shape == beside.shape:
        means = means + (shared / own.sums[n_atoms:]) @ beside
    elif len(beside):
        means = means + shared.sum() * beside.sum(axis=0) / beside.sum()
    if not means.sum() > 0.0:
        return np.zeros(len(others))
    counts = means * (_COUNTS / means.sum())
    whole = float((counts * np.log(np.maximum(counts, 1e-300)) - counts).sum())
    distinct, where = np.unique(others, return_inverse=True)
    suprema = suprema_of(other, other.ends, counts, None, other.members[distinct])[:, 1]
    return np.asarray(np.maximum(whole - suprema, 0.0)[where] * (means.sum() / _COUNTS))


def _of_mean(design: Design, own: Design, scale: Array, seen: Seen, truth: int, others: IntArray) -> Array:
    """A row around a mean that is linear in free coefficients."""
    mean = as_complex(seen.mean[None])[0] if seen.law.is_complex else seen.mean
    settings = len(design.deviations)
    columns = _columns(own, truth // len(own.deviations))
    coefficients = np.linalg.lstsq(columns, own.whitened(mean), rcond=None)[0]
    rest = own.whitened(mean) - columns @ coefficients
    active = own.supports[truth // len(own.deviations)]
    active = active[active >= 0]
    signal = design.columns[:, active] @ (scale[active] * coefficients[: len(active)])
    parts = 2.0 if np.iscomplexobj(columns) else 1.0
    found = np.empty(len(others))
    for k, key in enumerate(others.tolist()):
        theirs = _columns(design, key // settings)
        missed = signal - theirs @ np.linalg.lstsq(theirs, signal, rcond=None)[0]
        energy = float((np.abs(missed) ** 2).sum())
        deviation = design.deviations[key % settings]
        if deviation is not None:
            found[k] = 0.5 * parts * energy / deviation**2
            continue
        free = max(len(rest) - columns.shape[1], 1)
        variance = seen.n_rows * float((np.abs(rest) ** 2).sum()) / free
        found[k] = 0.5 * parts * len(signal) * np.log1p(energy / max(len(signal) * variance, 1e-300))
    return found


def divergences_of_free(design: Design, rows: Field, truth: int, others: IntArray) -> Array:
    r"""(k,) the expected log evidence of a row (T, p) whose coefficients are its own, against other keys.

    With S the second moment of the rows within the columns of the truth, less the noise there, a row gains
    :math:`E = \mathrm{tr}(Q_jS)` over twice the noise, or :math:`\frac f2\log(1 + E/f\sigma^2)` with f channels beyond
    these columns where the noise level is open.
    """
    settings = len(design.deviations)
    own, _ = np.linalg.qr(_columns(design, truth // settings))
    free = max(rows.shape[1] - own.shape[1], 1)
    inside = rows.conj() @ own
    noise = float((np.abs(rows) ** 2).sum() - (np.abs(inside) ** 2).sum()) / (len(rows) * free)
    moment = inside.conj().T @ inside / len(rows) - noise * np.eye(own.shape[1])  # (r, r)
    parts = 2.0 if np.iscomplexobj(rows) else 1.0
    found = np.empty(len(others))
    for k, key in enumerate(others.tolist()):
        theirs, _ = np.linalg.qr(_columns(design, key // settings))
        shared = theirs.conj().T @ own
        missed = max(float((np.trace(moment) - np.trace(shared @ moment @ shared.conj().T)).real), 0.0)
        deviation = design.deviations[key % settings]
        if deviation is None:
            found[k] = 0.5 * parts * free * np.log1p(missed / max(free * noise, 1e-300))
        else:
            found[k] = 0.5 * parts * missed / deviation**2
    return found


def _columns(design: Design, support: int) -> Field:
    """(p, r) active columns and background."""
    active = design.supports[support]
    return np.hstack([design.columns[:, active[active >= 0]], design.background])
