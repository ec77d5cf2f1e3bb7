"""Read, propose, freeze, ask, report: the result of an analysis, also of rows that keep arriving."""

import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import check_count
from .._codec import chain_hash, content_hash, described
from .._errors import Clause, MisuseError, NotFiniteError
from .._typing import IntArray
from .._version import __version__
from ..aeb import REJECTED, Ending, Tick, Trace, replayed
from ..banks import Bank
from ..io import Table
from ..judges import ByEvidence, RunningEvidence, Verdict
from ..laws import Law
from ..questions import Answer, Question, plugin_answers
from ..report import (
    FORMAT,
    VERSION,
    Details,
    Report,
    amounts_json,
    contents,
    diagnosis_json,
    document_hash,
    is_withheld,
    said_answers,
    staircase_json,
    trace_columns,
    trace_json,
    unlisted_json,
)
from ._plans import (
    ProposedStream,
    check_finite,
    check_same_channels,
    check_same_unit,
    check_separate,
    labelled,
    stream_rows,
    table_of,
)
from ._protocol import AnalysisProtocol, Seal

if TYPE_CHECKING:
    from ._next import Acquisition, Candidate

NOT_ASKED = "not asked"
_MOST_UNASKED = 50_000


@final
@dataclass(frozen=True, eq=False)  # no slots: what follows from the run is worked out once
class Result:
    """One finished analysis; `report` is what may be published, the rest is for looking closer."""

    seal: Seal = field(repr=False)
    trace: Trace = field(repr=False)
    report: Report
    tables: Mapping[str, Table] = field(repr=False)  # what was read, by stream
    seconds: Mapping[str, float] = field(repr=False)  # how long each part took; no part of the report

    def _repr_html_(self) -> str:
        """Show in notebooks the report, and the measured row with the fits that remain."""
        from ..report.page import pictures_html
        from .diagnose import rows_json

        rows = None if self.seal.protocol.bank is None else rows_json(self)
        return f"<div>{self.report._repr_html_()}{pictures_html({'rows': rows})}</div>"

    def details(self) -> Details:
        """The details beside the report, for pictures; `diagnose` has options."""
        from .diagnose import diagnose  # it is about results, and so stands above this module

        return diagnose(self)

    def next(self, candidates: "Sequence[Candidate]") -> "Acquisition":
        """Return which of these measurements to make next: see `next_measurement`."""
        from ._next import next_measurement  # it is about results, and so stands above this module

        return next_measurement(self, candidates)

    @property
    def bank(self) -> Bank:
        """The bank of the protocol."""
        return self.seal.protocol.checked_bank

    @property
    def question(self) -> Question:
        """The question of the protocol."""
        return self.seal.question

    @cached_property
    def best(self) -> int:
        """The explanation that predicts the proposal rows of all streams best, the first of equal ones.

        Found without held-out rows: whether it survives is for these to say.  Where nothing proposes, the one that
        the judge says fits best, or that least speaks against.
        """
        plausibility = self.seal.proposed.proposals.plausibility
        if plausibility is not None:
            return int(plausibility.argmax())
        if not len(self.trace):
            raise MisuseError(
                "result", "come from a protocol that ranks, or from a run with queries", Clause("it comes from neither")
            )
        gate = self.report.document.get("gate") or {}
        if "best" in gate:
            return int(gate["best"])
        return int(self.trace.queries[self.trace.verdicts.upper.argmin()])

    @cached_property
    def plug_in(self) -> tuple[Answer, ...] | None:
        """The reading of a point-valued method, which takes the best explanation for the truth; it has no guarantee.

        None where nothing was proposed.
        """
        if self.seal.proposed.proposals.plausibility is None:
            return None
        return plugin_answers(self.question, self.best, self.trace.size)

    @cached_property
    def best_fit(self) -> tuple[Answer, ...] | None:
        """The same where all rows judge and none proposes: the explanation that fits best, taken for the truth."""
        if self.seal.proposed.proposals.plausibility is not None or not len(self.trace):
            return None
        return plugin_answers(self.question, self.best, self.trace.size)

    @property
    def has_evidence(self) -> bool:
        """True if every stream has a numerator, so that verdicts are those of an e-process."""
        return all(part.opponent is not None for part in self.seal.parts)

    @cached_property
    def answers(self) -> tuple[Answer, ...]:
        """The answers, as in the report."""
        return said_answers(self.trace, self.report.document.get("gate"))

    @cached_property
    def places(self) -> IntArray:
        """(M,) the number of the query that asked about each explanation, -1 if none did."""
        return self.trace.places()

    @cached_property
    def open_fields(self) -> frozenset[str]:
        """The fields that still need verdicts."""
        return frozenset(self.trace.open_fields())

    def of_code(self, code: Verdict) -> IntArray:
        """Explanations with this verdict, the smallest upper bound of the margin first."""
        queries = np.flatnonzero(self.trace.codes == code)
        return self.trace.queries[queries[np.argsort(self.trace.verdicts.upper[queries], kind="stable")]]

    @cached_property
    def admissible(self) -> IntArray:
        """L, the one with the least evidence against it first."""
        return self.of_code(Verdict.ADMISSIBLE)

    @cached_property
    def unasked(self) -> IntArray:
        """Explanations that were not tested, the most plausible first; of very many these alone."""
        plausibility = self.seal.proposed.proposals.plausibility
        left = np.flatnonzero(self.places < 0)
        order = np.arange(len(left)) if plausibility is None else np.argsort(-plausibility[left], kind="stable")
        return left[order[:_MOST_UNASKED]]

    @cached_property
    def reference(self) -> int:
        """The explanation to compare others with: the best of the proposal rows.

        If that is not admissible, the admissible one with the least evidence against it; if there is none, the best of
        the proposal rows nevertheless.
        """
        best = self.best
        return int(self.admissible[0]) if self.admissible.size and best not in self.admissible else best

    def verdict(self, e: int) -> str:
        """ADMISSIBLE, REJECTED, INDETERMINATE or not asked."""
        query = int(self.places[e])
        return NOT_ASKED if query < 0 else Verdict(int(self.trace.codes[query])).name

    def margin(self, e: int) -> list[float | str] | None:
        """Bounds of the margin; infinite ones as texts, which JSON can hold."""
        query = int(self.places[e])
        return None if query < 0 else self.trace.verdicts.margin_json(query)

    def says(self, e: int) -> dict[str, str | None]:
        """Return the elements of an explanation by region asked about, or its place."""
        return self.question.says_of(e)


Callback = Callable[[Tick], bool | None]


def analyse(
    protocol: AnalysisProtocol,
    tables: "Mapping[str, ArrayLike | Table]",
    *,
    callback: Callback | None = None,
    earlier: Report | None = None,
    proposed: Mapping[str, ProposedStream] | None = None,
) -> Result:
    """Run a whole analysis under one protocol: split, propose, freeze and hash, ask, and report.

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
    laws = [part.law for part in seal.parts]
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
        **contents(trace, gate, bank, laws, contradiction),
        "gate": gate,
        "protocol": protocol,
        "data": seal.data,
        "trace": trace_json(trace.queries, verdicts),
        "question": described("question", seal.question.encode()),
        "bank": None if bank is None else bank.encode(),
        "digests": digests,
    }
    possible = trace.brackets().column() != REJECTED
    is_cover = seal.protocol.cover is not None
    held = amounts_json(seal.judge, bank, laws, possible, is_withheld=is_withheld(gate), is_cover=is_cover)
    if held is not None:
        document["amounts"] = held
    if (where := unlisted_json(document["fields"], laws, seal.judge, bank)) is not None:
        document["unlisted"] = where
    if (
        seal.protocol.at_errors
        and (
            stairs := staircase_json(
                seal.question, trace.queries, verdicts, seal.judge, gate, is_cover=seal.protocol.cover is not None
            )
        )
        is not None
    ):
        document["staircase"] = stairs
    if (found := diagnosis_json(document, bank, (part.diagnosed for part in seal.parts))) is not None:
        document["diagnosis"] = found
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


def begin_running(
    protocol: AnalysisProtocol,
    *,
    forms: Mapping[str, str] | None = None,
    others: Mapping[str, tuple[Bank, Law]] | None = None,
) -> RunningEvidence:
    """Before the first row of any stream, all rows of which will judge.

    forms: of streams of counts, what their rows are: increments, snapshots or events.  others: bank and law of further
    streams, such as those of another detector, whose explanations are those of the protocol's bank in their order.
    """
    bank = protocol.bank
    if bank is None or callable(protocol.question):
        rule = "have a bank, and a question that is fixed before rows arrive"
        raise MisuseError("protocol", rule, f"the streams {tuple(protocol.streams)}")
    _check_running(protocol)
    streams = {name: (bank, plan.law) for name, plan in protocol.streams.items()} | dict(others or {})
    widths = protocol.judge.encode().get("widths")
    options = {} if widths is None else {"widths": cast("list[float]", widths)}
    return RunningEvidence.begin(streams, protocol.run_level, forms, **options)


def _check_running(protocol: AnalysisProtocol) -> None:
    """Rows that arrive are judged by evidence of their own; who asks for more is told."""
    is_counted = any(plan.law.is_counted for plan in protocol.streams.values())
    kind = "counts" if is_counted else ByEvidence.kind
    if protocol.judge.encode()["judge"] != kind or (protocol.judge.are_e_values and not is_counted):
        raise MisuseError("judge", f"be {kind!r} for rows that keep arriving", repr(protocol.judge.encode()["judge"]))
    if any(plan.opponent != "bank" for plan in protocol.streams.values()):
        remedy = "Rows that arrive one by one have no proposal rows that could fix another."
        raise MisuseError("opponent", "be left out for rows that keep arriving", Clause("it is 'free'"), remedy)
    if protocol.cover is not None:
        remedy = "Its cells are small enough for a number of rows that is known, and more rows see more."
        raise MisuseError("cover", "be left out for rows that keep arriving", Clause("one is given"), remedy)


def running_result(protocol: AnalysisProtocol, evidence: RunningEvidence) -> Result:
    """The result of all rows so far, under a protocol of its own that names them; no table of rows is kept."""
    seal = replace(protocol, streams={}).freeze(evidence.judge(protocol.run_level))
    trace = seal.run()
    return Result(seal, trace, report(seal, trace), {}, {})
