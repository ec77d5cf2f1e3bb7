"""Whether rows that keep arriving fit the laws, and what the outcome of the last look leaves open."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._typing import IntArray
from ...io import ArrayRows
from ...judges import RunningEvidence, Verdict
from ...laws import Law
from ...report._details import FORMAT, VERSION, Details
from .._plans import ProposedStream
from .._result import Result
from ._misfit import Misfit, outcome_json, stream_misfit

# Laws whose energies are worked out, those with the least evidence against them first.
_MOST_LAWS = 64


def running_details(
    result: Result,
    evidence: RunningEvidence,
    rows: NDArray[np.generic],
    calibration: ProposedStream | None = None,
) -> Details:
    """What a look leaves open, and whether the rows fit the laws; no pictures, and no label depends on it.

    result: of `running_result` on this evidence.  rows: (n, width) the deployment rows so far, or the first of them if
    not all were kept, which the sentences then say.  The deployment rows are said not to fit if they fit none of the
    laws that are left: the explanation told is the one whose energy is the least off.  If the number of rows does not
    depend on them, that happens with probability at most 0.001 to a truth that is left.  Of more laws than 64 those
    with the least evidence against them are looked at.
    """
    order = np.argsort(evidence.peaks.upper, kind="stable")
    left = order[evidence.judge(result.seal.protocol.run_level).verdicts(order).codes != Verdict.REJECTED]
    asked = left if len(left) else order[:1]  # where nothing is left, by how much the best is off
    which = "watched" if len(rows) == evidence.n_rows else f"first {len(rows)}"
    found = _least_off(evidence, rows, asked)
    return Details(
        {
            "format": FORMAT,
            "version": VERSION,
            "report": result.report.digests["document"],
            "inputs": [],
            "outcome": outcome_json(result),
            "misfit": [*_calibration(calibration, asked), *(each.json() | {"rows": which} for each in found)],
        }
    )


def _calibration(part: ProposedStream | None, asked: IntArray) -> Iterator[dict[str, Any]]:
    """Under the best of the proposal rows, or, if that is not left, the first that is."""
    if part is not None:
        explanation = part.best if part.best is not None and part.best in asked else int(asked[0])
        found = stream_misfit(part, part.bank, explanation)
        if found is not None:
            yield found.json()


def _least_off(evidence: RunningEvidence, rows: NDArray[np.generic], asked: IntArray) -> list[Misfit]:
    """The first law that fits, or the one whose energy is the least off; none where the law knows no energy."""
    law, found = evidence.law, list[Misfit]()
    for explanation in _of_each_law(law, evidence, asked)[:_MOST_LAWS]:
        with np.errstate(over="ignore", invalid="ignore"):
            energy = law.energy(evidence.bank, explanation, ArrayRows(rows))
        if energy is None:
            return []
        found.append(Misfit("deployment", explanation, *energy))
        if not found[-1].is_misfit:
            return found[-1:]
    return [max(found, key=lambda each: (each.probability, -abs(each.z)))]


def _of_each_law(law: Law, evidence: RunningEvidence, asked: IntArray) -> list[int]:
    """The first explanation of each law, in their order: those of one law expect the same energy."""
    _, first = np.unique(law.keys(evidence.bank)(asked), return_index=True)
    return [int(asked[place]) for place in np.sort(first)]
