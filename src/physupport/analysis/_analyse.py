"""Read, propose, freeze, ask, report; and go on from a saved report."""

import platform
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import check_count
from .._codec import described
from .._errors import MisuseError, NotFiniteError
from .._hashes import chain_hash, content_hash
from .._version import __version__
from ..aeb import Ending, Tick, Trace, replayed
from ..io import Table
from ..report import FORMAT, VERSION, Report, contents, document_hash, staircase_json, trace_columns, trace_json
from ._plans import ProposedStream
from ._protocol import AnalysisProtocol, Seal
from ._result import Result
from ._rows import check_finite, check_same_channels, check_same_unit, check_separate, labelled, stream_rows, table_of

Callback = Callable[[Tick], bool | None]


def analyse(
    protocol: AnalysisProtocol,
    tables: "Mapping[str, ArrayLike | Table]",
    *,
    callback: Callback | None = None,
    earlier: Report | None = None,
    proposed: Mapping[str, ProposedStream] | None = None,
) -> Result:
    """All of it under one protocol: split, propose, freeze and hash, ask, and report.

    tables: one for each stream of the protocol, by name; arrays are rows by channels, labelled arrays name their
    channels in columns, and `physupport.io` reads files and other layouts.  Complex rows are taken as pairs (Re, Im).
    callback: told after every query; returns False to stop, and the report says what is certified by then.
    earlier: a report of this protocol on these rows, to go on from; nothing is asked twice.  The budget may be another
    one: the protocol then stays the earlier one, with its budget and its hash, and the outcome has the new budget.
    proposed: streams that were proposed before, from the same tables.
    """
    read = {name: table_of(name, value, protocol.checked_bank) for name, value in tables.items()}
    frozen = protocol
    if earlier is not None:  # all else has to be the same anyway
        before = earlier.document["protocol"].get("budget")
        frozen = replace(protocol, budget=check_count("budget of the report", before, 0))
    times = [perf_counter()]
    with located(read):
        seal = freeze(frozen, read, proposed)
        times.append(perf_counter())
        check_separate(read)  # only now: rows are looked at after all is frozen
        if earlier is None:
            trace = seal.run(callback=callback)
        else:
            trace = seal.resume(recovered_trace(seal, earlier), protocol.budget, callback=callback)
        times.append(perf_counter())
        made = report(seal, trace)
        times.append(perf_counter())
    seconds = dict(zip(("propose", "ask", "report"), np.diff(times).tolist(), strict=True))
    return Result(seal, trace, made, read, seconds)


def freeze(
    protocol: AnalysisProtocol, tables: Mapping[str, Table], proposed: Mapping[str, ProposedStream] | None = None
) -> Seal:
    """The protocol with what its proposal rows choose, and its hash; no number of a held-out row is used."""
    bank = protocol.checked_bank
    if {*tables} != {*protocol.streams}:
        raise MisuseError("tables", f"be given for the streams {tuple(protocol.streams)}", tuple(tables))
    check_same_channels(tables, protocol.streams, bank)
    check_same_unit(tables)
    rows: dict[str, NDArray[np.generic] | ProposedStream] = dict(proposed or {})
    for name, table in tables.items():
        if name not in rows:
            rows[name] = stream_rows(name, table, protocol.streams[name], bank)
    return protocol.read(**rows)


@contextmanager
def located(tables: Mapping[str, Table]) -> Iterator[None]:
    """Numbers that are not finite are met in the order of the split; say where in the table they stand."""
    try:
        yield
    except NotFiniteError as error:
        check_finite(tables)
        if error.argument not in tables:
            raise
        name = labelled(error.argument, tables[error.argument])
        raise NotFiniteError(name, error.rule, error.value, error.remedy) from None


def report(seal: Seal, trace: Trace) -> Report:
    """The report of a run under a frozen protocol; `trace.at(k)` gives that of a smaller budget."""
    seal.check_trace(trace)
    protocol = seal.content
    bank = seal.protocol.bank
    verdicts = trace.verdicts
    data_digest = content_hash(seal.data)
    facts = seal.judge.facts(trace.possible())
    gate = None if facts is None else described("facts", facts)
    contradiction = None if trace.n_possible else seal.contradiction()
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
        **contents(trace, gate, bank, [part.law for part in seal.parts], contradiction),
        "gate": gate,
        "protocol": protocol,
        "data": seal.data,
        "trace": trace_json(trace.queries, verdicts),
        "question": described("question", seal.question.encode()),
        "bank": None if bank is None else bank.encode(),
        "digests": digests,
    }
    if (stairs := staircase_json(seal.question, trace.queries, verdicts, seal.judge, gate)) is not None:
        document["staircase"] = stairs
    document["digests"] = digests | {"document": document_hash(document)}
    return Report(described("document", document))


def recovered_trace(seal: Seal, report: Report) -> Trace:
    """The trace in a report of this very protocol and these very rows, for `Seal.resume` to go on with.

    Queries and verdicts are taken as the document has them; `Seal.resume` asks its judge for the verdicts again.
    """
    document = report.document
    remedy = "Only the budget may change: start anew for anything else."
    differing = _differences(seal.content, document["protocol"])
    if differing:
        # What follows from another part, or from other rows, is named only where nothing else is.
        differing = [part for part in differing if part.rpartition(".")[2] not in _FOLLOWING] or differing
        raise MisuseError("report", "be of the same protocol", f"another: {', '.join(differing)}", remedy)
    rows = [name for name, digest in seal.data.items() if document["data"].get(name) != digest]
    if rows or {*document["data"]} != {*seal.data}:
        raise MisuseError("report", "be about the same rows", f"others: {', '.join(rows) or 'streams'}", remedy)
    return stored_trace(seal, report)


def stored_trace(seal: Seal, report: Report) -> Trace:
    """The same of a report that is known to be of this protocol and these rows."""
    document = report.document
    size = seal.question.n_explanations
    queries, verdicts = trace_columns(document["trace"], size)
    budget = int(document["outcome"]["budget"])
    digests = (("protocol", seal.digest),)
    begun = Trace.begun(seal.question, size, budget, seal.protocol.until_witnessed, digests, seal.protocol.stop)
    return replayed(replace(begun, queries=queries, verdicts=verdicts), Ending.STOPPED)


_FOLLOWING = ("plausibility", "proposals", "proposal_rows", "numerator")


def _differences(own: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """The parts of a protocol, or of one of its streams, that another has not or has otherwise."""
    names = sorted({*own, *other} - {"streams"})
    parts = [name for name in names if content_hash([own.get(name)]) != content_hash([other.get(name)])]
    ours, theirs = ({str(part.get("name")): part for part in each.get("streams", ())} for each in (own, other))
    if [*ours] != [*theirs]:
        return [*parts, "streams"]
    return [*parts, *(f"{name}.{part}" for name in ours for part in _differences(ours[name], theirs[name]))]
