"""What pictures are drawn from: the library, evidence along its path, and what is left after each query."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from ..._typing import Array
from ...io._rows import as_complex
from ...judges import Verdict
from ...questions import inform, open_fields
from .._result import Result
from ._fields import MOST_COHERENT, coherence_json, is_complex

MOST_SHOWN = 120  # elements of the library
MOST_LINES = 12  # of a region; of more an envelope is told as well
MOST_CHANNELS = 1024
MOST_POINTS = 1000


def library_json(result: Result, possible: Collection[str]) -> dict[str, Any] | None:
    """Responses in the first setting, complex ones by their real part.

    If there are too many: first those of possible elements, then others, evenly chosen.  Of a region with many
    elements also the smallest and the largest response of all of them, channel by channel.
    """
    states, library = result.bank.states, result.bank.states.library
    if library is None:
        return None
    chosen = _chosen(library.ids, possible)
    everything = states.elements[:, : len(library.ids)]
    if is_complex(result):
        everything = as_complex(everything).real
    kept = _even(len(everything), MOST_CHANNELS)
    responses, names = everything[:, chosen], _channels(result, len(everything))
    members = {region: library.members(region) for region in library.region_names}
    return {
        "envelopes": {
            region: [[_short(x) for x in side] for side in _envelope(everything[kept][:, index])]
            for region, index in members.items()
            if len(index) > MOST_LINES
        },
        "ids": [library.ids[i] for i in chosen],
        "regions": [library.regions[i] for i in chosen],
        "channels": [names[i] for i in kept],
        "responses": [[_short(x) for x in column] for column in responses[kept].T.tolist()],
        "is_complex": is_complex(result),
        "setting": dict(states.setting(0)),
        "shown": len(chosen),
        "of": len(library.ids),
    }


def _chosen(ids: Sequence[str], possible: Collection[str]) -> list[int]:
    """Numbers of the elements that are shown, in the order of the library."""
    if len(ids) <= MOST_SHOWN:
        return list(range(len(ids)))
    first = [i for i, name in enumerate(ids) if name in possible][: MOST_SHOWN // 2]
    return sorted({*first, *_even(len(ids), MOST_SHOWN - len(first))})


def _envelope(responses: Array) -> tuple[list[float], list[float]]:
    """(q, e) -> the smallest and the largest in every channel."""
    return responses.min(axis=1).tolist(), responses.max(axis=1).tolist()


def library_coherence_json(result: Result) -> dict[str, Any] | None:
    """Between the elements of the library, evenly chosen if there are too many."""
    library = result.bank.states.library
    if library is None:
        return None
    chosen = _even(len(library.ids), MOST_COHERENT)
    return coherence_json(result, chosen) | {"regions": [library.regions[i] for i in chosen]}


def evidence_json(result: Result) -> dict[str, Any]:
    """Log evidence against explanations that were asked about, at every step of the path."""
    if not result.has_evidence:
        return {"streams": [], "steps": [], "threshold": float(-np.log(result.seal.protocol.run_level)), "curves": []}
    evidence = result.seal.evidence
    chosen = _curves(result)
    curves: list[dict[str, Any]] = []
    if chosen:
        path = evidence.along_path(np.array([*chosen]))
        for row, (e, (role, fields)) in enumerate(chosen.items()):
            curve = {"explanation": e, "role": role, "fields": fields}
            curve |= {"verdict": result.verdict(e), "says": result.says(e)}
            curves.append(curve | {"lower": _finite(path.lower[row]), "upper": _finite(path.upper[row])})
    return {
        "streams": [factor.name for factor in evidence.factors],
        "steps": evidence.path.prefixes.tolist(),
        "threshold": float(-np.log(result.seal.protocol.run_level)),
        "curves": curves,
    }


def _curves(result: Result) -> dict[int, tuple[str, list[str]]]:
    """Which explanations, each in its first part and with the fields in which it has one; only such as were asked."""
    best, chosen = result.best, dict[int, tuple[str, list[str]]]()
    if result.places[best] >= 0:
        chosen[best] = "proposal", []
    for field in result.report.fields:
        parts = [(e, "witness") for e in field.witnesses]
        parts += [] if field.excluded is None else [(field.excluded, "nearest excluded")]
        for e, role in parts:
            fields = chosen.setdefault(e, (role, []))[1]
            if field.field not in fields:
                fields.append(field.field)
    return chosen


def brackets_json(result: Result) -> dict[str, list[int]]:
    """How many explanations are witnessed and possible, and how many fields are open, after so many queries."""
    trace = result.trace
    points, progress, n_open, done = _even(len(trace) + 1, MOST_POINTS), trace.question.begin(), list[int](), 0
    for k in points:
        inform(progress, trace.queries[done:k], trace.codes[done:k])
        n_open.append(len(open_fields(progress)))
        done = k
    n_witnessed, n_rejected = (
        np.append(0, np.cumsum(trace.codes == code))[points] for code in (Verdict.ADMISSIBLE, Verdict.REJECTED)
    )
    possible = (trace.size - n_rejected).tolist()
    return {"queries": points, "witnessed": n_witnessed.tolist(), "possible": possible, "open": n_open}


def _channels(result: Result, count: int) -> list[str]:
    """The names of the last stream that has as many; those of a deployment say what is measured now."""
    for table in reversed([*result.tables.values()]):
        if len(table.channels) == count:
            return list(table.channels)
    return [str(i) for i in range(count)]


def _even(count: int, most: int) -> list[int]:
    """At most so many of the numbers 0 .. count - 1, evenly, the first and the last among them."""
    return (
        list(range(count)) if count <= most else np.unique(np.linspace(0, count - 1, most).round()).astype(int).tolist()
    )


def finite(value: float) -> float | None:
    """A number that JSON can hold, or None."""
    return float(value) if np.isfinite(value) else None


def _finite(values: Array) -> list[float | None]:
    return [finite(x) for x in values.tolist()]


def _short(value: float) -> float:
    """Six digits, enough for a picture."""
    return float(f"{value:.6g}")
