"""Check a report: make its parts again, compare them, and derive its labels; each finding is one line."""

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from .._codec import Node, Refusal, chain_hash, check_written, content_hash, described, differences, loaded
from .._errors import MisuseError
from .._version import __version__
from ..aeb import Ending, Trace, replayed
from ..banks import Bank
from ..judges import RUNNING, Verdict, Verdicts
from ..laws import Law
from ..questions import Question
from ..report import (
    MOST_EXPLANATIONS,
    Details,
    Report,
    check_document,
    contents,
    document_hash,
    field_lines,
    is_complete,
    is_withheld,
    query_lines,
    rebuilt_bank,
    rebuilt_question,
    trace_columns,
)
from ..report.page import page_html
from ._data import data_findings, running_findings, unsaid
from ._labels import derived_labels, question_notes
from ._protocol import (
    bank_findings,
    cover_findings,
    cover_notes,
    gate_findings,
    judge_of,
    laws_of,
    protocol_findings,
    protocol_notes,
    withheld_findings,
)

# What a malformed document may raise on the way through checks that expect a sound one.
_MALFORMED = (
    Refusal, MisuseError, KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, StopIteration,
    RecursionError, MemoryError, zlib.error
)  # fmt: skip


@final
@dataclass(frozen=True, slots=True)
class Verification:
    """The findings of a check: a report is verified if there is none.

    notes: what was not checked, or is worth knowing, and is no reason to refuse.
    """

    findings: tuple[str, ...]
    notes: tuple[str, ...]
    are_verdicts_scored: bool = False  # every verdict was asked for again from the rows

    @property
    def is_verified(self) -> bool:
        """True if nothing speaks against the report."""
        return not self.findings


def verify(
    report: str | Path | Mapping[str, Any],
    rows: Mapping[str, NDArray[np.generic]] | None = None,
    *,
    protocol: str | None = None,
    question: Question | None = None,
    opponents: Mapping[str, str] | None = None,
) -> Verification:
    """Check a saved report.

    report: JSON text, the path of a file (also as text, which does not begin with a brace), or the document itself.
    rows: (n, width) the whole table of each stream, complex or as pairs, to score verdicts.  protocol: the hash of the
    protocol as it was known before the data were read.
    question: needed for a question of one's own, whose methods no document can hold.
    opponents: the name of that of each stream, `bank` or `free`, where it is known what was planned: the numerators
    must then be those.  Without it one of both will do, and one off the bank is taken as it stands.
    """
    notebook = _Notebook([])
    document = notebook.attempt(lambda: _document(report))
    if document is None:
        return Verification(tuple(notebook.findings), ())
    frozen = document["protocol"]
    notes = [*_notes(document, rows is not None)]
    notebook.collect(lambda: _digest_findings(document, protocol))
    judge = notebook.attempt(lambda: judge_of(frozen))
    laws = notebook.attempt(lambda: laws_of(frozen))
    notebook.collect(lambda: gate_findings(document, judge))
    if laws is not None:
        notebook.collect(lambda: protocol_findings(document, judge, laws))
    sound_bank = notebook.attempt(lambda: [_bank(document)])  # in a list, since a document may soundly have none
    bank = None if sound_bank is None else sound_bank[0]
    if bank is not None and laws is not None:
        notebook.collect(lambda: bank_findings(document, bank, judge, laws))
        notebook.collect(lambda: cover_findings(frozen, bank, laws))
    elif bank is None and frozen.get("cover") is not None:
        notebook.collect(lambda: ["the protocol has a cover, and no bank that it could be of"])
    columns = notebook.attempt(lambda: _trace(document))
    asked = None if sound_bank is None else notebook.attempt(lambda: _question(document, bank, question))
    if columns is not None:
        possible = np.ones(frozen["size"], dtype=np.bool_)
        possible[columns[0][columns[1].codes == Verdict.REJECTED]] = False
        notebook.collect(lambda: _chain_findings(document["digests"], *columns))
        notebook.collect(lambda: withheld_findings(document, judge, bank, possible))
    if columns is not None and asked is not None:
        notebook.collect(lambda: _claims(document, asked, columns, possible, bank, laws or ()))
        notebook.attempt(lambda: notes.extend(question_notes(asked, document["question"]["kind"], bank)))
    scored: list[str] = []
    is_running = frozen["judge"].get("judge") == RUNNING
    if rows is not None and is_running and bank is not None and columns is not None:
        notebook.collect(lambda: running_findings(document, bank, columns, rows))
    elif rows is not None and bank is not None and columns is not None and laws is not None:
        notebook.collect(
            lambda: data_findings(document, bank, judge, laws, columns, asked, possible, rows, scored, opponents)
        )
    elif rows is not None:
        notebook.findings.append("the rows cannot be scored: the report has no sound bank, laws or trace")
    notes.extend(protocol_notes(frozen, judge, bank, laws or ()))
    notes.extend(cover_notes(frozen))
    if protocol is None:
        notes.append("the protocol is taken as it stands: give its hash from before the data were read to compare them")
    are_scored = rows is not None and (is_running or (judge is not None and bool(frozen["streams"])))
    return Verification(tuple(dict.fromkeys(notebook.findings)), (*notes, *scored), are_scored)


T = TypeVar("T")


@final
@dataclass(frozen=True, slots=True)
class _Notebook:
    """Findings, whichever way a check comes upon them."""

    findings: list[str]

    def attempt(self, action: Callable[[], T]) -> T | None:
        """The result of an action, or a finding."""
        try:
            return action()
        except _MALFORMED as error:
            text = str(error) if isinstance(error, Refusal | MisuseError) else f"{type(error).__name__}: {error}"
            known = {RecursionError: "nested too deeply", MemoryError: "there is not enough memory to check it"}
            self.findings.append(" ".join(known.get(type(error), text).split()))
            return None

    def collect(self, action: Callable[[], Iterable[str]]) -> None:
        """Collect the findings of an action, and the one that ended it."""
        self.attempt(lambda: self.findings.extend(action()))


def _document(report: str | Path | Mapping[str, Any]) -> dict[str, Any]:
    """The document, if all holds that must hold before anything else can be looked at."""
    document: dict[str, Any]
    match report:
        case Mapping():
            document = dict(report)
        case str() if report.lstrip()[:1] in ("{", "[", "") or "\n" in report:
            document = loaded(report)
        case _:
            try:
                document = loaded(Path(report).read_text(encoding="utf-8"))
            except OSError as error:
                raise Refusal(f"neither JSON nor a readable file: {error.strerror}") from None
    check_document(document)
    size = document["protocol"]["size"]
    if not 1 <= size <= MOST_EXPLANATIONS:  # no array could hold more
        raise Refusal(f"the size {size} does not lie from 1 to {MOST_EXPLANATIONS}")
    return document


def _notes(document: Node, has_rows: bool) -> Iterator[str]:
    planned = document["protocol"]["budget"]
    allowed = document["outcome"]["budget"]
    if allowed > planned:
        raised = f"from {planned} to {allowed}"
        yield f"the budget was raised {raised} after the protocol was frozen; labels are safe at any budget"
    is_running = document["protocol"]["judge"].get("judge") == RUNNING
    if is_running and not has_rows:
        yield "verdicts are taken as they stand: give the rows in the order in which they arrived to score them again"
    elif not is_running and not document["protocol"]["streams"]:
        yield "verdicts are taken as they stand: they come from a judge whose data are not part of the report"
    elif not is_running and not has_rows:
        what = "verdicts, and what the judge says of the answer as a whole," if document["gate"] else "verdicts"
        yield f"{what} are taken as they stand: give the rows to score them again"
        if "staircase" in document:
            yield (
                "answers at other errors of the responses are taken as they stand, and only their order is checked: "
                "give the rows to find them again"
            )
        if document.get("amounts", {}).get("elements"):
            yield "amounts are taken as they stand: give the rows to find them again"


def _digest_findings(document: Node, protocol: str | None) -> Iterator[str]:
    digests = document["digests"]
    if protocol is not None and digests["protocol"] != protocol:
        yield f"the protocol is {digests['protocol']}, not {protocol}"
    for name, digest in {
        "document": document_hash(document),
        "protocol": content_hash(document["protocol"]),
        "question": content_hash(document["protocol"]["question"]),
        "data": content_hash(document["data"]),
    }.items():
        if digests[name] != digest:
            yield f"the {name} does not match its hash"


def _bank(document: Node) -> Bank | None:
    declared = document["digests"]["bank"]
    if document["protocol"]["bank"] != declared:
        raise Refusal("the bank does not match its hash in the protocol")
    bank = rebuilt_bank(document["bank"])
    if bank is not None:
        check_written("the bank", document["bank"], bank.encode(), "bank")
    if declared != (None if bank is None else bank.digest):
        raise Refusal("the bank does not match its hash")
    if bank is not None and bank.size != document["protocol"]["size"]:
        raise Refusal(f"the bank has {bank.size} explanations, not {document['protocol']['size']}")
    return bank


def _question(document: Node, bank: Bank | None, own: Question | None) -> Question:
    """The question that the document holds, or the one given, if it writes what stands in the document."""
    frozen = document["protocol"]["question"]
    content = document["question"]
    if content["kind"] != "own":
        if frozen.get("question") != content["kind"]:
            raise Refusal("the question is written out as another kind than it was asked")
        question = rebuilt_question(frozen, content, bank)
        check_written("the question", frozen, question.describe(), "protocol.question")
        check_written("the question", content, described("question", question.encode()), "question")
    else:
        if own is None:
            raise Refusal("the question is one of the author's own: give it to verify to derive the labels again")
        if described("question", own.describe()) != frozen or described("question", own.encode()) != content:
            raise Refusal("the question given is not the one that was asked")
        question = own
    if question.n_explanations != document["protocol"]["size"]:
        raise Refusal(
            f"the question is about {question.n_explanations} explanations, not {document['protocol']['size']}"
        )
    return question


Columns = tuple[NDArray[np.int64], Verdicts]


def _trace(document: Node) -> Columns:
    """Queries and verdicts, each of which its own margin has to prove, in the order that the chain has."""
    queries, verdicts = trace_columns(document["trace"], document["protocol"]["size"])
    wrong = np.flatnonzero(~verdicts.are_proven())
    if wrong.size:
        name = Verdict(int(verdicts.codes[wrong[0]])).name
        raise Refusal(f"the verdict on explanation {queries[wrong[0]]} is {name} although its margin does not prove it")
    return queries, verdicts


def _chain_findings(digests: Node, queries: NDArray[np.int64], verdicts: Verdicts) -> Iterator[str]:
    stored = queries, verdicts.codes, verdicts.margins()
    if digests["chain"] != chain_hash(digests["protocol"], digests["data"], *stored):
        yield "queries, verdicts or margins were changed, deleted or put in another order: the chain is broken"


def _claims(
    document: Node,
    question: Question,
    columns: Columns,
    possible: NDArray[np.bool_],
    bank: Bank | None,
    laws: Sequence[Law],
) -> Iterator[str]:
    """All that the document says of its trace, written again and compared; then the labels by rules of their own."""
    frozen, outcome, gate = (document[name] for name in ("protocol", "outcome", "gate"))
    queries, verdicts = columns
    begun = Trace.begun(question, frozen["size"], outcome["budget"], frozen["until_witnessed"], (), frozen["stop"])
    trace = replayed(replace(begun, queries=queries, verdicts=verdicts), Ending.STOPPED)
    found = document.get("contradiction")
    names = [stream["name"] for stream in frozen["streams"]]
    is_due = len(names) > 1 and not trace.n_possible
    if (found is not None) != is_due or (found and [each["stream"] for each in found["streams"]] != names):
        yield "what each stream keeps by itself is told where something is left, or not told where nothing is"
        found = None
    if found and not all(0 <= each["nearest"] < trace.size for each in found["streams"]):
        yield "what a stream keeps lies outside the bank"
        found = None
    again = contents(trace, gate, bank, laws, unsaid(found))
    if outcome["ending"] in _endings(trace):
        again["outcome"]["ending"] = outcome["ending"]
    for name, part in again.items():
        yield from differences(document[name], part, name, "the trace gives")
    yield from _step_findings(document)
    if not len(trace) <= outcome["budget"] <= trace.size:
        yield f"the budget {outcome['budget']} does not fit {len(trace)} queries of {trace.size} explanations"
    if is_withheld(gate) and not trace.n_possible:
        yield "labels are withheld although nothing is possible"
    if len(trace):
        before = trace.at(len(trace) - 1)
        is_over = before.is_certified and (before.n_witnessed or not before.until_witnessed) and before.stop == "label"
        if is_over or not before.n_possible:
            yield "the last queries came after the run was over"
    witnessed = np.zeros_like(possible)
    witnessed[queries[verdicts.codes == Verdict.ADMISSIBLE]] = True
    derived = derived_labels(frozen["question"], document["question"], question, possible, witnessed)
    for number, (entry, (label, _)) in enumerate(zip(document["fields"], derived, strict=bool(derived))):
        wanted = "GROUP" if label == "FINE" and not is_complete(gate) else label
        wanted = "ABSTAIN" if is_withheld(gate) and label != "EMPTY" else wanted
        if entry["label"] != wanted:
            yield f"fields[{number}].label: the report says {entry['label']!r}, but its rules give {wanted!r}"
    if derived and outcome["is_certified"] != (bool(possible.any()) and all(each.is_settled for each in derived)):
        yield f"outcome.is_certified: the report says {outcome['is_certified']}, but its rules give the opposite"


_STATEMENT = ("field", "label", "cell", "group")


def _step_findings(document: Node) -> Iterator[str]:
    """Check that the step of the stated error agrees with the report, that errors grow, and that cells never shrink.

    Answers at other errors have no verdicts in the trace: only rows prove them.
    """
    steps = document.get("staircase", {}).get("steps", ())
    if not steps:
        return
    stated = document["staircase"].get("error", steps[0]["least"])
    own = next((number for number, step in enumerate(steps) if step["least"] <= stated <= step["most"]), None)
    if own is None:
        yield f"staircase.error: no step has the error {stated} that the report states"
        return
    computed, reported = (
        [{name: each[name] for name in _STATEMENT} for each in part["fields"]] for part in (steps[own], document)
    )
    yield from differences(computed, reported, f"staircase.steps[{own}].fields", "the report says")
    claims = {entry["claim"]: entry["value"] for entry in document["claims"]}
    yield from differences(steps[own]["claims"], claims, f"staircase.steps[{own}].claims", "the report says")
    for number, (before, after) in enumerate(pairwise(steps)):
        cells = zip(before["fields"], after["fields"], strict=True)
        is_nested = all({*small["cell"]} <= {*large["cell"]} for small, large in cells)
        if not before["least"] <= before["most"] < after["least"] <= after["most"] or not is_nested:
            yield f"staircase.steps[{number + 1}] lacks elements of the step before, or its errors are not larger"


def _endings(trace: Trace) -> tuple[str, ...]:
    """The endings that a run with this trace may have."""
    if not trace.n_possible:
        return ("NO_SURVIVOR",)
    # Whether a policy had nothing left to ask, or someone stopped it, cannot be seen from a trace.
    spent = ("BUDGET",) if len(trace) == trace.budget else ()
    is_report = trace.is_certified and trace.n_witnessed > 0
    is_over = is_report or (trace.is_certified and not trace.until_witnessed)
    if trace.stop == "set" and len(trace) < trace.size:
        return (*spent, "STOPPED")
    if is_report:
        return ("CERTIFIED",)
    return (*spent, "STOPPED", "CERTIFIED" if is_over else "NOTHING_LEFT")


def verify_beside(report: str, folder: Path) -> Verification:
    """Check that `report.html`, `fields.csv` and `queries.csv` in a folder are those of a verified report.

    Each is made again and compared as a whole.  A page needs the details that it was made from; a file that is not
    there is not missed.
    """
    rebuilt = Report.from_json(report)
    found = [*_beside_findings(rebuilt, folder)]
    theirs = rebuilt.versions["physupport"]
    note = (
        f"the report was written by version {theirs}, and this is {__version__}, which may put things in other words: "
        "`physupport show --html` makes the page anew, and a new run makes the tables"
    )
    return Verification(tuple(found), (note,) if found and theirs != __version__ else ())


def _beside_findings(report: Report, folder: Path) -> Iterator[str]:
    document = report.document
    if _text(folder, "fields.csv") not in (None, "".join(field_lines(report))):
        yield "fields.csv does not say what the report says"
    queries = _text(folder, "queries.csv")
    if queries is not None:
        says = _question(document, _bank(document), None).says
        if queries != "".join(query_lines(*trace_columns(document["trace"], document["protocol"]["size"]), says)):
            yield "queries.csv does not list the queries of the report"
    page = _text(folder, "report.html")
    details = _text(folder, "details.json")
    if details is None:
        if page is not None:
            yield "report.html cannot be compared: details.json, which it was made from, is not beside it"
        return
    try:
        rebuilt = page_html(report, Details.from_json(details))
    except Exception as error:  # details have no schema: what was forged may fail anywhere
        yield f"details.json is none of the report: {error}"
        return
    if page not in (None, rebuilt):
        yield "report.html is not the page of the report"


def _text(folder: Path, name: str) -> str | None:
    try:
        return (folder / name).read_bytes().decode("utf-8") if (folder / name).is_file() else None
    except (OSError, UnicodeDecodeError):
        return ""  # which is no file of ours
