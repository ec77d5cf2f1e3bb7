"""Everything that is shown of a result, collected; misfit of rows and laws, and what an outcome leaves open."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isinf
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtr, chdtrc

from ..._checks import check_count
from ..._typing import IntArray
from ...aeb import REJECTED
from ...banks import Bank
from ...io import ArrayRows
from ...judges import RunningEvidence, Verdict
from ...laws import Law
from ...report import MISFIT, Details, misfit_sentence, outcome_notes, strengths_beside
from .._analyse import Result
from .._plans import ProposedStream
from ._fields import fields_json, other_levels
from ._pictures import (
    brackets_json,
    evidence_json,
    finite,
    library_coherence_json,
    library_json,
    rows_json,
    spectrum_json,
)
from ._remedies import empty_json


@final
@dataclass(frozen=True, slots=True)
class Misfit:
    """The energy of the held-out rows of one stream under one explanation, and what that explanation expects of it.

    is_exact: whether the energy is chi-square if the explanation made the rows; of latent codes only mean and
    deviation are known.  is_all: whether no row proposed, so that all of them judge.  beside: weaker or stronger, where
    the judge says that the rows are this along an element of what is left; empty elsewhere.
    An energy beyond the range of double precision is infinite; one that cannot be computed is NaN, and with it z and
    the probability.
    """

    stream: str
    explanation: int
    statistic: float
    expected: float
    deviation: float  # standard deviation if the explanation made the rows
    is_exact: bool = True
    is_all: bool = False
    beside: str = ""

    @property
    def z(self) -> float:
        """The number of standard deviations by which the energy is too large."""
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
        """True if the energy is farther off than chance accounts for: its probability is below 0.001."""
        return self.probability < MISFIT

    def json(self) -> dict[str, Any]:
        """The facts as details hold them; what is not a finite number is null."""
        return {
            "stream": self.stream,
            "explanation": self.explanation,
            "statistic": finite(self.statistic),
            "expected": self.expected,
            "deviation": finite(self.deviation),
            "z": finite(self.z),
            "probability": finite(self.probability),
            "is_exact": self.is_exact,
            "is_misfit": self.is_misfit,
            "is_all": self.is_all,
            "beside": self.beside,
            "is_beyond_range": isinf(self.z),  # more energy than double precision can hold
        }

    @property
    def sentence(self) -> str:
        """Return the same as a sentence."""
        return misfit_sentence(self.json())


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
    beside = strengths_beside(result.report.document)
    parts = result.seal.parts
    if any(part.law.has_cells for part in parts):  # the middles of cells fit no rows
        return ()
    misfits = (stream_misfit(part, bank, chosen, beside) for part in parts)
    return tuple(one for one in misfits if one is not None)


def stream_misfit(part: ProposedStream, bank: Bank, explanation: int, beside: str = "") -> Misfit | None:
    """Return the misfit of the judging rows of one stream; None where its law knows no energy."""
    with np.errstate(over="ignore", invalid="ignore"):
        energy = part.law.energy(bank, explanation, part.judged)
    if energy is None:
        return None
    is_all = not len(part.split.proposal)
    return Misfit(
        part.name, explanation, *energy, is_all=is_all, beside=beside if part.law.part == "deployment" else ""
    )


# A possible set of at least this share of the bank, and of this many explanations, calls for a word about its size.
_LARGE_SHARE = 0.25
_LARGE = 20
_BLOCK = 2**16


def outcome_sentences(result: Result, misfits: Sequence[Misfit] | None = None) -> tuple[str, ...]:
    """Explain the outcome with figures, and what would change it; the report's own sentence comes first.

    misfits: those of `misfit(result)`, worked out unless given.
    """
    known = misfit(result) if misfits is None else misfits
    facts = {"outcome": outcome_json(result), "misfit": [one.json() for one in known]}
    return (result.report.sentence, *outcome_notes(facts))


def outcome_json(result: Result) -> dict[str, Any]:
    """The outcome of the report with what is still open, and which dimensions of the bank a large set leaves open.

    dimensions: name, choices that are possible, and choices of the bank, of those with more than one; null of a small
    set, whose members are few enough to be named.
    """
    trace = result.trace
    outcome = result.report.document["outcome"]
    is_large = trace.n_possible >= max(_LARGE, _LARGE_SHARE * trace.size)
    return {
        **{name: outcome[name] for name in ("status", "ending", "queries", "witnessed", "possible", "indeterminate")},
        "size": trace.size,
        "open": list(trace.open_fields()),
        "dimensions": _dimensions(result) if is_large and outcome["status"] != "EMPTY" else None,
    }


def _dimensions(result: Result) -> list[list[str | int]]:
    """Dimensions of the bank with the number of their values among possible explanations, and among all."""
    is_possible = result.trace.brackets().column() != REJECTED
    values: dict[str, tuple[set[int], set[int]]] = {}
    for start in range(0, result.bank.size, _BLOCK):
        index = np.arange(start, min(start + _BLOCK, result.bank.size))
        for name, column in _columns(result, index).items():
            left, whole = values.setdefault(name, (set(), set()))
            left.update(np.unique(column[is_possible[index]]).tolist())
            whole.update(np.unique(column).tolist())
    return [[name, len(left), len(whole)] for name, (left, whole) in values.items() if len(whole) > 1]


def _columns(result: Result, index: IntArray) -> dict[str, IntArray]:
    """(k,) the value of every dimension, by name; what the question says of a state may stand for its number."""
    columns = result.bank.split(index)
    parameters = result.bank.states.dimensions(columns.state)
    return {
        **result.question.dimensions(index, None if parameters else columns.state),
        **parameters,
        "the support with its strengths": columns.support,
        "the calibration nuisances": columns.calibration,
        "the deployment nuisances": columns.deployment,
    }


# Laws whose energies are worked out, those with the least evidence against them first.
_MOST_LAWS = 64


def running_details(
    result: Result,
    evidence: RunningEvidence,
    rows: NDArray[np.generic],
    calibration: ProposedStream | None = None,
) -> Details:
    """Return outcome and misfit of a look; no pictures, and no label depends on it.

    result: of `running_result` on this evidence.  rows: (n, width) the deployment rows so far, or the first of them if
    not all were kept, which the sentences then say.  The deployment rows are said not to fit if they fit none of the
    laws that are left: the explanation told is the one whose energy is the least off.  If the number of rows does not
    depend on them, that happens with probability at most 0.001 to a truth that is left.  Of more laws than 64 those
    with the least evidence against them are looked at.
    """
    order = np.argsort(evidence.peaks.upper, kind="stable")
    left = order[evidence.judge(result.seal.protocol.run_level).verdicts(order).codes != Verdict.REJECTED]
    asked = left if len(left) else order[:1]  # where nothing is left, by how much the best is off
    which = "watched" if len(rows) == evidence.streams["deployment"].n_rows else f"first {len(rows)}"
    found = _least_off(evidence.streams["deployment"].law, result.bank, rows, asked)
    misfits = [each.json() | {"rows": which} for each in found]
    if calibration is not None:
        # Under the best of the proposal rows, or, if that is not left, the first that is.
        best = calibration.best
        explanation = best if best is not None and best in asked else int(asked[0])
        at_calibration = stream_misfit(calibration, calibration.bank, explanation)
        if at_calibration is not None:
            misfits.insert(0, at_calibration.json())
    parts = {"inputs": [], "outcome": outcome_json(result), "misfit": misfits}
    return Details.about(result.report.digests["document"], **parts)


def _least_off(law: Law, bank: Bank, rows: NDArray[np.generic], asked: IntArray) -> list[Misfit]:
    """The first law that fits, or the one whose energy is the least off; none where the law knows no energy."""
    found = list[Misfit]()
    # The first explanation of each law, in their order: those of one law expect the same energy.
    _, first = np.unique(law.keys(bank)(asked), return_index=True)
    for explanation in asked[np.sort(first)][:_MOST_LAWS].tolist():
        with np.errstate(over="ignore", invalid="ignore"):
            energy = law.energy(bank, explanation, ArrayRows(rows))
        if energy is None:
            return []
        found.append(Misfit("deployment", explanation, *energy))
        if not found[-1].is_misfit:
            return found[-1:]
    return [max(found, key=lambda each: (each.probability, -abs(each.z)))]


MOST_CHANNEL_NAMES = 4096
_LEVELS = (0.01, 0.05, 0.1, 0.2)  # at which verdicts are read again, beside that of the protocol


def diagnose(
    result: Result,
    *,
    title: str = "",
    coordinate_names: Sequence[str] = (),
    outline: float | None = None,
    verify: str | None = None,
) -> Details:
    """The details of a result: what is behind each field, what would refine it, and whether the laws fit the rows.

    coordinate_names: what the coordinates of the elements are called; x, y, z unless given.  outline: the radius of a
    head around the origin, which pictures of three coordinates (right, front, up) draw.  verify: the command that
    checks the saved report against its rows, as typed in the folder of the page; a page without it shows how to check
    the report alone.  Nothing here changes the report.  All are facts, which page and terminal put into sentences; a
    number that cannot be computed is null.
    """
    level = float(result.seal.protocol.level)
    # Margins of an e-process are log evidence, and can be compared with any threshold.
    # Of a cover every level has a run of its own.
    is_compared = result.has_evidence and result.seal.protocol.cover is None
    again = other_levels(result.trace, level, sorted({level, *_LEVELS}) if is_compared else [level])
    fields = [entry | {"outline": outline} for entry in fields_json(result, again, coordinate_names)]
    possible = {part["id"] for entry in fields for part in entry["elements"] if part["state"] != "excluded"}
    parts: dict[str, Any] = {
        "title": title,
        "inputs": _inputs(result),
        "seconds": {part: float(seconds) for part, seconds in result.seconds.items()},
        "fields": fields,
        "remedies": empty_json(result),
        "rows": rows_json(result),
        "spectrum": spectrum_json(result),
        "library": library_json(result, possible),
        "library_coherence": library_coherence_json(result),
        "evidence": evidence_json(result),
        "brackets": brackets_json(result),
        "misfit": [one.json() for one in misfit(result)],
        "outcome": outcome_json(result),
        "verify": verify,
    }
    return Details.from_json(Details.about(result.report.digests["document"], **parts).json())


def _inputs(result: Result) -> list[dict[str, Any]]:
    entries = []
    for part in result.seal.parts:
        table = result.tables[part.name]
        source = table.source
        entries.append(
            {
                "stream": part.name,
                "path": source.path,
                "member": source.member,
                "shape": list(source.shape),
                "dtype": source.dtype,
                "unit": source.unit,
                "channels": list(table.channels[:MOST_CHANNEL_NAMES]),
                "sha256": table.digest(),
                "proposal_rows": len(part.split.proposal),
                "held_out_rows": len(part.split.held_out),
            }
        )
    return entries
