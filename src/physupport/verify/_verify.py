"""All checks of a report, in order; each finding is one line."""

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from .._codec import loaded
from .._errors import MisuseError
from .._hashes import chain_hash, content_hash
from .._stored import Node, Refusal
from ..banks import Bank
from ..questions import Question, encoded
from ..report import check_document, document_hash, rebuilt_bank
from ._claims import budget_notes, check_digest, claim_findings, field_findings, outcome_findings
from ._cover import cover_findings, cover_notes
from ._data import data_findings
from ._edges import edge_findings, edge_notes
from ._protocol import (
    bank_findings,
    check_size,
    completed_findings,
    gate_findings,
    gate_notes,
    judge_of,
    protocol_findings,
    protocol_notes,
)
from ._regional import regional_rules
from ._resolution import own_rules, resolution_rules
from ._trace import ReadTrace, read_trace
from ._view import Rules

# What a malformed document may raise on the way through checks that expect a sound one.
_MALFORMED = (
    Refusal, MisuseError, KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError,
    RecursionError, MemoryError, zlib.error
)  # fmt: skip


@final
@dataclass(frozen=True, slots=True)
class Verification:
    """What a check of a report found: it is verified if there is no finding.

    notes: what was not checked, or is worth knowing, and is no reason to refuse.
    """

    findings: tuple[str, ...]
    notes: tuple[str, ...]
    are_verdicts_scored: bool = False  # every verdict was asked for again from the rows

    @property
    def is_verified(self) -> bool:
        """Whether nothing speaks against the report."""
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
    question: needed for a question of one's own, whose predicates no document can hold.
    opponents: with rows, `bank` or `free` by stream, as it was planned: the numerators must be what that gives on the
    proposal rows.  Without it either will do, and a law off the bank is taken as it stands.

    Alone: every label follows from the trace, and nothing was changed since the hashes were made.  With the hash of
    the protocol: bank, question, level, split and numerators are those of before.  With rows: every verdict, too, is
    what the judge gives at the declared level, from rows with the declared hashes; of a judge that is not known here
    only the rows are checked, which a note and `are_verdicts_scored` say.
    """
    notebook = _Notebook([])
    document = notebook.attempt(lambda: _document(report))
    if document is None or not notebook.passes(lambda: _check_whole(document)):
        return Verification(tuple(notebook.findings), ())
    notebook.collect(lambda: _digest_findings(document, protocol))
    notebook.collect(lambda: protocol_findings(document["protocol"], document["data"]))
    judge = notebook.attempt(lambda: judge_of(document["protocol"]))
    notebook.collect(lambda: gate_findings(document, judge))
    held = notebook.attempt(lambda: _bank(document))
    if held is not None and held.bank is not None:
        bank = held.bank
        notebook.collect(lambda: bank_findings(document["protocol"], bank))
        notebook.collect(lambda: completed_findings(document, judge, bank))
        notebook.collect(lambda: cover_findings(document["protocol"], bank))
    elif document["protocol"].get("cover") is not None:
        notebook.collect(lambda: ["the protocol has a cover, and no bank that it could be of"])
    trace = notebook.attempt(lambda: read_trace(document["trace"], document["protocol"]["size"]))
    rules = None if held is None else notebook.attempt(lambda: _rules(document, held.bank, question, trace))
    if trace is not None:
        notebook.passes(lambda: _check_chain(document["digests"], trace))
    if trace is not None and rules is not None:
        notebook.collect(lambda: _claims(document, None if held is None else held.bank, trace, rules))
    scored: list[str] = []
    if held is not None:
        scored += notebook.attempt(lambda: [*edge_notes(document, held.bank, trace)]) or []
    if rows is not None:
        notebook.collect(lambda: _scored(document, None if held is None else held.bank, trace, rows, scored, opponents))
    bank_held = None if held is None else held.bank
    told = _notes(document, rows is not None, protocol_notes(document["protocol"], judge, bank_held), protocol)
    notes = *told, *gate_notes(document, judge), *(() if rules is None else rules.notes), *scored
    are_scored = rows is not None and judge is not None and bool(document["protocol"]["streams"])
    return Verification(tuple(dict.fromkeys(notebook.findings)), notes, are_scored)


def _check_whole(document: Mapping[str, Any]) -> None:
    """What must hold before anything else can be looked at."""
    check_document(document)
    check_size(document["protocol"])


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
            self.findings.append(_text_of(error))
            return None

    def passes(self, action: Callable[[], None]) -> bool:
        """Whether an action comes upon nothing."""
        before = len(self.findings)
        self.attempt(action)
        return len(self.findings) == before

    def collect(self, action: Callable[[], Iterable[str]]) -> None:
        """All findings of an action, and the one that broke it off."""
        self.attempt(lambda: self.findings.extend(action()))


def _notes(
    document: Mapping[str, Any], has_rows: bool, of_protocol: Iterable[str], protocol: str | None
) -> Iterator[str]:
    yield from budget_notes(document["outcome"], document["protocol"])
    if not document["protocol"]["streams"]:
        yield "verdicts are taken as they stand: they come from a judge whose data are not part of the report"
    elif not has_rows:
        what = "verdicts, and what the judge says of the answer as a whole," if document.get("gate") else "verdicts"
        yield f"{what} are taken as they stand: give the rows to score them again"
    yield from of_protocol
    yield from cover_notes(document["protocol"])
    if protocol is None:
        yield "the protocol is taken as it stands: give its hash from before the data were read to compare them"


def _digest_findings(document: Mapping[str, Any], protocol: str | None) -> Iterator[str]:
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


def _scored(
    document: Mapping[str, Any],
    bank: Bank | None,
    trace: ReadTrace | None,
    rows: Mapping[str, NDArray[np.generic]],
    notes: list[str],
    opponents: Mapping[str, str] | None,
) -> Iterable[str]:
    if bank is None or trace is None:
        raise Refusal("the rows cannot be scored: the report has no sound bank or trace")
    return data_findings(document, bank, trace, rows, notes, opponents)


def _document(report: str | Path | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(report, Mapping):
        return dict(report)
    if isinstance(report, str) and (report.lstrip()[:1] in ("{", "[", "") or "\n" in report):
        return loaded(report)
    try:
        return loaded(Path(report).read_text(encoding="utf-8"))
    except OSError as error:
        raise Refusal(f"neither JSON nor a readable file: {error.strerror}") from None


class _Held(NamedTuple):
    """A sound bank, or soundly none."""

    bank: Bank | None


def _bank(document: Mapping[str, Any]) -> _Held:
    declared = document["digests"]["bank"]
    if document["protocol"]["bank"] != declared:
        raise Refusal("the bank does not match its hash in the protocol")
    bank = rebuilt_bank(document["bank"])
    check_digest("bank", declared, None if bank is None else bank.digest)
    if bank is not None and bank.size != document["protocol"]["size"]:
        raise Refusal(f"the bank has {bank.size} explanations, not {document['protocol']['size']}")
    return _Held(bank)


def _check_chain(digests: Mapping[str, str], trace: ReadTrace) -> None:
    stored = trace.queries, trace.codes, trace.verdicts.margins()
    if digests["chain"] != chain_hash(digests["protocol"], digests["data"], *stored):
        raise Refusal("queries, verdicts or margins were changed, deleted or put in another order: the chain is broken")


# The label rules that are written here a second time, by kind of question.
_RULES: Mapping[str, Callable[[Node, Node, Bank | None, int], Rules]] = {
    "regional map": regional_rules,
    "resolution": resolution_rules,
}


def _rules(document: Mapping[str, Any], bank: Bank | None, own: Question | None, trace: ReadTrace | None) -> Rules:
    frozen, content = document["protocol"]["question"], document["question"]
    size, kind = document["protocol"]["size"], content["kind"]
    if kind == "own":
        if own is None:
            raise Refusal("the question is one of the author's own: give it to verify to derive the labels again")
        # As JSON: a description may hold tuples, of which a document makes lists.
        if json.loads(json.dumps(own.describe())) != frozen or encoded(own) != content:
            raise Refusal("the question given is not the one that was asked")
        if own.n_explanations != size:
            raise Refusal(f"the question is about {own.n_explanations} explanations, not {size}")
        if trace is None:
            raise Refusal("the question cannot be asked again without a sound trace")
        return own_rules(own, trace)
    if frozen.get("question") != kind:
        raise Refusal("the question is written out as another kind than it was asked")
    if kind not in _RULES:
        raise Refusal(f"a question of the unknown kind {kind!r}; known are {', '.join(_RULES)}")
    return _RULES[kind](frozen, content, bank, size)


def rules_of(document: Mapping[str, Any]) -> Rules:
    """The label rules of a verified document that holds its question."""
    return _rules(document, _bank(document).bank, None, None)


def _claims(document: Mapping[str, Any], bank: Bank | None, trace: ReadTrace, rules: Rules) -> Iterable[str]:
    outcome, is_withheld = document["outcome"], bool((document.get("gate") or {}).get("is_withheld"))
    if bank is not None:
        yield from edge_findings(document, bank, trace)
    if is_withheld and not trace.possible(len(trace)).any():
        yield "labels are withheld although nothing is possible"
    yield from outcome_findings(outcome, document["protocol"], trace, rules, is_withheld)
    yield from claim_findings(document, trace, rules, is_withheld)
    yield from field_findings(document["fields"], document["protocol"], trace, rules, is_withheld)


def _text_of(error: Exception) -> str:
    """An exception in one line."""
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, MemoryError):
        return "there is not enough memory to check it"
    known: tuple[type[Exception], ...] = (Refusal, MisuseError)
    text = str(error) if isinstance(error, known) else f"{type(error).__name__}: {error}"
    return " ".join(text.split())
