"""How alike responses are; shown to a reader, never used to leave anything out."""

from typing import Any

import numpy as np

from ..._typing import Array
from ...io._rows import as_complex
from ...judges import Verdict
from ...questions import open_fields
from ._asked import Asked, finite
from ._fields import MOST_COHERENT, coherence_json, is_complex

MOST_SHOWN = 120  # elements of the library
MOST_CHANNELS = 1024
MOST_POINTS = 1000


def library_json(asked: Asked) -> dict[str, Any] | None:
    """Responses in the first setting, evenly chosen if there are too many; complex ones by their real part."""
    states, library = asked.bank.states, asked.bank.states.library
    if library is None:
        return None
    chosen = _even(len(library.ids), MOST_SHOWN)
    responses = states.elements[:, chosen]
    if is_complex(asked):
        responses = as_complex(responses).real
    kept = _even(len(responses), MOST_CHANNELS)
    names = _channels(asked, len(responses))
    return {
        "ids": [library.ids[i] for i in chosen],
        "regions": [library.regions[i] for i in chosen],
        "channels": [names[i] for i in kept],
        "responses": [[_short(x) for x in column] for column in responses[kept].T.tolist()],
        "is_complex": is_complex(asked),
        "setting": dict(states.setting(0)),
        "shown": len(chosen),
        "of": len(library.ids),
    }


def library_coherence_json(asked: Asked) -> dict[str, Any] | None:
    """Between the elements of the library, evenly chosen if there are too many."""
    library = asked.bank.states.library
    return None if library is None else coherence_json(asked, _even(len(library.ids), MOST_COHERENT))


def evidence_json(asked: Asked) -> dict[str, Any]:
    """Log evidence against explanations that were asked about, at every step of the path."""
    evidence = asked.evidence
    chosen = _curves(asked)
    curves: list[dict[str, Any]] = []
    if chosen:
        path = evidence.along_path(np.array([*chosen]))
        for row, (e, (role, fields)) in enumerate(chosen.items()):
            curve = {"explanation": e, "role": role, "fields": fields}
            curve |= {"verdict": asked.verdict(e), "says": asked.says(e)}
            curves.append(curve | {"lower": _finite(path.lower[row]), "upper": _finite(path.upper[row])})
    return {
        "streams": [factor.name for factor in evidence.factors],
        "steps": evidence.path.prefixes.tolist(),
        "threshold": float(-np.log(asked.result.seal.protocol.level)),
        "curves": curves,
    }


def _curves(asked: Asked) -> dict[int, tuple[str, list[str]]]:
    """Which explanations, each in its first part and with the fields in which it has one; only such as were asked."""
    best, chosen = asked.result.best, dict[int, tuple[str, list[str]]]()
    if best in asked.place:
        chosen[best] = "proposal", []
    for found in asked.result.report.fields:
        parts = [(e, "witness") for e in found.witnesses]
        parts += [] if found.excluded is None else [(found.excluded, "nearest excluded")]
        for e, role in parts:
            fields = chosen.setdefault(e, (role, []))[1]
            if found.field not in fields:
                fields.append(found.field)
    return chosen


def brackets_json(asked: Asked) -> dict[str, list[int]]:
    """How many explanations are witnessed and possible, and how many fields are open, after so many queries."""
    trace = asked.result.trace
    progress = trace.question.begin()
    codes, points = trace.codes.tolist(), set(_even(len(trace) + 1, MOST_POINTS))
    found: dict[str, list[int]] = {"queries": [], "witnessed": [], "possible": [], "open": []}
    witnessed, possible = 0, trace.size
    for k in range(len(trace) + 1):
        if k:
            e, code = int(trace.queries[k - 1]), codes[k - 1]
            if code == Verdict.REJECTED:
                progress.reject(e)
                possible -= 1
            elif code == Verdict.ADMISSIBLE:
                progress.witness(e)
                witnessed += 1
        if k in points:
            for name, value in zip(found, (k, witnessed, possible, len(open_fields(progress))), strict=True):
                found[name].append(value)
    return found


def _channels(asked: Asked, count: int) -> list[str]:
    """The names of the last stream that has as many; those of a deployment say what is measured now."""
    for table in reversed([*asked.result.tables.values()]):
        if len(table.channels) == count:
            return list(table.channels)
    return [str(i) for i in range(count)]


def _even(count: int, most: int) -> list[int]:
    """At most so many of the numbers 0 .. count - 1, evenly, the first and the last among them."""
    return (
        list(range(count)) if count <= most else np.unique(np.linspace(0, count - 1, most).round()).astype(int).tolist()
    )


def _finite(values: Array) -> list[float | None]:
    return [finite(x) for x in values.tolist()]


def _short(value: float) -> float:
    """Six digits, enough for a picture."""
    return float(f"{value:.6g}")
