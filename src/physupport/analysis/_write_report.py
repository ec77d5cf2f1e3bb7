"""The report of a run: its document, put together from the frozen protocol and the trace."""

import platform
from collections.abc import Mapping
from typing import Any

import numpy as np

from .._checks import check_number
from .._codec import dumped, loaded
from .._errors import MisuseError
from .._hashes import chain_hash, content_hash
from .._typing import IntArray
from .._version import __version__
from ..aeb import Trace
from ..banks import grid_edges
from ..judges import Verdict, judge_facts
from ..laws import tells_strengths
from ..questions import Answer, encoded, predicates, said_by, withheld
from ..report import FORMAT, VERSION, Report, document_hash, trace_json
from ._kept import claims_json, sets_json
from ._protocol import Seal


def fields_json(trace: Trace, answers: tuple[Answer, ...]) -> list[dict[str, Any]]:
    """An entry for each answer of a trace."""
    place = trace.places()
    entries = []
    _check_answers(answers, place)
    for answer, left in zip(answers, sets_json(trace), strict=True):
        excluded = nearest_excluded(trace, answer)
        entry: dict[str, Any] = {
            "field": answer.field,
            "label": str(answer.label),
            "cell": list(answer.cell),
            "group": answer.group,
            "numbers": {name: float(value) for name, value in answer.numbers},
            "certificate": answer.certificate.kind,
            "witnesses": [_explanation(trace, int(place[e])) for e in answer.certificate.witnesses],
            "excluded": None if excluded is None else _explanation(trace, excluded),
            "set": left,
        }
        entries.append(entry)
    return entries


def _check_answers(answers: tuple[Answer, ...], place: IntArray) -> None:
    """What a question of one's own may say; those of this package say nothing else."""
    fields = [answer.field for answer in answers]
    if len({*fields}) < len(fields):
        raise MisuseError("answers", "be about distinct fields", fields)
    for answer in answers:
        named = f"answer on {answer.field!r}"
        texts = (answer.field, *answer.cell, *(() if answer.group is None else (answer.group,)))
        if not all(isinstance(text, str) for text in texts):
            raise MisuseError(named, "name its field, cell and group by texts", texts)
        for name, value in answer.numbers:
            if not np.isfinite(check_number(f"{name} of the {named}", value)):
                raise MisuseError(f"{name} of the {named}", "be finite", value, "JSON has no other numbers.")
        strange = [e for e in answer.certificate.witnesses if not 0 <= e < len(place) or place[e] < 0]
        if strange:
            raise MisuseError(named, "name witnesses that were asked about", strange[0])


def nearest_excluded(trace: Trace, answer: Answer) -> int | None:
    """The query of the rejected explanation that came closest to changing a truth-level label or its group.

    Closest: smallest lower bound of the margin, then asked first.  None if no rejected one would change anything, as
    far as the question says.
    """
    rejected = np.flatnonzero(trace.codes == Verdict.REJECTED)
    if not answer.label.is_truth_level or not rejected.size:
        return None
    changing = rejected[predicates(trace.question).excluded(answer, trace.queries[rejected])]
    return int(changing[np.argmin(trace.verdicts.lower[changing])]) if changing.size else None


def _explanation(trace: Trace, query: int) -> dict[str, Any]:
    """An explanation with the bounds of its margin and what it says."""
    e = int(trace.queries[query])
    return {"explanation": e, "margin": trace.verdicts.margin_json(query), "says": said_by(trace.question, e)}


def report(seal: Seal, trace: Trace) -> Report:
    """The report of a run under a frozen protocol; `trace.at(k)` gives that of a smaller budget."""
    seal.check_trace(trace)
    protocol, bank, verdicts = seal.content, seal.protocol.bank, trace.verdicts
    content = encoded(seal.question)
    data, data_digest = seal.data, content_hash(seal.data)
    gate = judge_facts(seal.judge, trace.possible())
    digests = {
        "bank": protocol["bank"],
        "question": content_hash(protocol["question"]),
        "protocol": seal.digest,
        "data": data_digest,
        "chain": chain_hash(seal.digest, data_digest, trace.queries, verdicts.codes, verdicts.margins()),
    }
    document: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "program": {"physupport": __version__, "numpy": np.__version__, "python": platform.python_version()},
        "fields": fields_json(trace, said_answers(trace, gate)),
        "claims": claims_json(trace, is_withheld(gate)),
        "outcome": _outcome(trace, gate),
        "gate": gate,
        "edges": _edges(seal, trace),
        "protocol": protocol,
        "data": data,
        "trace": trace_json(trace.queries, verdicts),
        "question": content,
        "bank": None if bank is None else bank.encode(),
        "digests": digests,
    }
    document["digests"] = digests | {"document": document_hash(document)}
    return Report(loaded(dumped(document)))


def _edges(seal: Seal, trace: Trace) -> list[dict[str, object]]:
    """Ends of grids that are touched by what was asked about and is possible."""
    if seal.protocol.bank is None:
        return []
    kept = np.setdiff1d(trace.possible(), trace.brackets().unqueried())
    return grid_edges(seal.protocol.bank, kept, has_strengths=tells_strengths([part.law for part in seal.parts]))


def said_answers(trace: Trace, gate: Mapping[str, Any] | None) -> tuple[Answer, ...]:
    """What may be said: the answers of the trace, or none of them where the judge withholds labels."""
    return tuple(map(withheld, trace.answers)) if is_withheld(gate) else trace.answers


def is_withheld(gate: Mapping[str, Any] | None) -> bool:
    """Whether the facts of a judge keep all labels back."""
    return bool(gate and gate["is_withheld"])


def _outcome(trace: Trace, gate: Mapping[str, Any] | None) -> dict[str, Any]:
    return {
        "status": "WITHHELD" if is_withheld(gate) else trace.status.name,
        "ending": trace.ending.name,
        "is_certified": trace.is_certified,
        "queries": len(trace),
        "budget": trace.budget,
        "witnessed": trace.n_witnessed,
        "possible": trace.n_possible,
        "indeterminate": trace.n_indeterminate,
    }
