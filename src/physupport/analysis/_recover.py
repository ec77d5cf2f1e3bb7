"""A run that goes on from its saved report: the trace is read back from the document."""

from dataclasses import replace
from typing import Any

from .._errors import MisuseError
from .._hashes import content_hash
from ..aeb import Ending, Trace
from ..aeb._trace import replayed
from ..report import Report, trace_columns
from ._protocol import Seal


def recovered_trace(seal: Seal, report: Report) -> Trace:
    """The trace in a report of this very protocol and these very rows, for `Seal.resume` to go on with.

    Queries and verdicts are taken as the document has them; `Seal.resume` asks its judge for the verdicts again.
    """
    document = report.document
    _check_same(seal, document)
    size = seal.question.n_explanations
    queries, verdicts = trace_columns(document["trace"], size)
    budget, digests = int(document["outcome"]["budget"]), (("protocol", seal.digest),)
    begun = Trace.begun(seal.question, size, budget, seal.protocol.until_witnessed, digests, seal.protocol.stop)
    return replayed(replace(begun, queries=queries, verdicts=verdicts), Ending.STOPPED)


_FOLLOWING = ("plausibility", "proposals", "proposal_rows", "numerator")


def _check_same(seal: Seal, document: dict[str, Any]) -> None:
    """Refuse a report of another protocol, or about other rows, by the parts that differ."""
    differing = _differences(seal.content, document["protocol"])
    remedy = "Only the budget may change: start anew for anything else."
    if differing:
        # What follows from another part, or from other rows, is named only where nothing else is.
        differing = [part for part in differing if part.rpartition(".")[2] not in _FOLLOWING] or differing
        raise MisuseError("report", "be of the same protocol", f"another: {', '.join(differing)}", remedy)
    rows = [name for name, digest in seal.data.items() if document["data"].get(name) != digest]
    if rows or {*document["data"]} != {*seal.data}:
        raise MisuseError("report", "be about the same rows", f"others: {', '.join(rows) or 'streams'}", remedy)


def _differences(own: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """The parts of a protocol, or of one of its streams, that another has not or has otherwise."""
    names = sorted({*own, *other} - {"streams"})
    parts = [name for name in names if content_hash([own.get(name)]) != content_hash([other.get(name)])]
    ours, theirs = _streams(own), _streams(other)
    if [*ours] != [*theirs]:
        return [*parts, "streams"]
    return [*parts, *(f"{name}.{part}" for name in ours for part in _differences(ours[name], theirs[name]))]


def _streams(protocol: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {str(part.get("name")): part for part in protocol.get("streams", ()) if isinstance(part, dict)}
