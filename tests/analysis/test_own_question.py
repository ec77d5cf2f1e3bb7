"""A question defined outside answers for itself everywhere: policy, report, details, tables and verification."""

import csv
from dataclasses import dataclass

import numpy as np
import pytest

from physupport import MisuseError
from physupport.analysis import PhysicalSupport, StreamPlan
from physupport.analysis.diagnose import diagnose, rows_needed
from physupport.analysis.diagnose._misfit import _dimensions
from physupport.banks import Bank, Library, library_bank
from physupport.questions import (
    Answer,
    Certificate,
    Contradictions,
    FieldElements,
    FieldValues,
    Label,
    Progress,
    Question,
)
from physupport.report import query_lines
from physupport.verify import verify

NAMES = ("low", "high")


@dataclass(frozen=True)
class Half(Question):
    """In which half of a line the source lies."""

    bank: Bank
    border: float = 0.5

    policies = ("random", "farthest")

    @property
    def n_explanations(self):
        return self.bank.size

    def half(self, index):
        library = self.bank.states.library
        return (library.coordinates[self.bank.location(index)[:, 0], 0] > self.border).astype(np.int64)

    def begin(self):
        return HalfSoFar(self)

    def describe(self):
        return {"question": "half", "border": self.border, "bank": self.bank.digest}

    def says(self, index):
        return {"half": FieldValues(NAMES, self.half(index))}

    def excluded(self, answer, index):
        return self.half(index) != NAMES.index(answer.cell[0])

    def contradictions(self, number, reference):
        return Contradictions(int(self.half(np.array([reference]))[0]), np.not_equal.outer, self.half)

    def elements(self, number):
        return FieldElements(NAMES, np.array([[0.25], [0.75]]), tolerance=0.0, is_finest=True)

    def dimensions(self, index, state):
        return {"the half": self.half(index)}

    def farness(self):
        halves = self.half(np.arange(self.bank.size))
        return "halves", lambda e: np.abs(halves - halves[e]).astype(float)

    def encode(self):
        return {"kind": "own", "names": NAMES}

    def check_bank(self, bank):
        if bank is not self.bank:
            raise MisuseError("question", "be about its own bank", "another")

    def unanswerable(self):
        if len({*self.half(np.arange(self.bank.size)).tolist()}) == 1:
            yield "half", "border", "have elements on either side", str(self.border)


class HalfSoFar(Progress):
    def __init__(self, question):
        self.halves = question.half(np.arange(question.bank.size)).tolist()
        self.possible, self.first = [self.halves.count(0), self.halves.count(1)], {}

    def witness(self, e):
        self.first.setdefault(self.halves[e], e)

    def reject(self, e):
        self.possible[self.halves[e]] -= 1

    @property
    def label(self):
        if not any(self.possible):
            return Label.EMPTY
        if not all(self.possible):
            return Label.FINE
        return Label.AMBIGUOUS if len(self.first) > 1 else Label.ABSTAIN

    @property
    def is_certified(self):
        return self.label in (Label.FINE, Label.AMBIGUOUS)

    def answers(self):
        kind = {Label.AMBIGUOUS: "witnesses", Label.ABSTAIN: "open"}.get(self.label, "universal")
        witnesses = tuple(self.first.values()) if self.label is Label.AMBIGUOUS else ()
        cell = tuple(name for name, count in zip(NAMES, self.possible, strict=True) if count)
        return (Answer("half", self.label, cell, None, (), Certificate(kind, witnesses)),)


@pytest.fixture(scope="module")
def bank():
    places = np.linspace(0.1, 0.9, 6)
    waves = np.exp(-0.5 * ((np.linspace(0.0, 1.0, 8)[:, None] - places) / 0.2) ** 2)
    waves /= np.linalg.norm(waves, axis=0)
    library = Library([f"p{i}" for i in range(6)], ["line"] * 6, places[:, None], waves)
    return library_bank(library, [["line"]], {"line": [1.0, 2.0]})


def asked(bank, n_rows, policy=None, question=None):
    rng = np.random.default_rng(4)
    atom = bank.states.library.responses[:, :1]
    rows = rng.normal(size=(n_rows, 1)) @ atom.T + 0.7 * rng.normal(size=(n_rows, 8))
    model = PhysicalSupport(
        bank,
        Half(bank) if question is None else question,
        policy=policy,
        calibration=None,
        deployment=StreamPlan("covariance", 0.4, noises=[0.49], first=8),
        alpha=0.05,
    ).fit()
    model.report(rows)
    return model.result_, rows


@pytest.mark.parametrize(("n_rows", "label"), [(300, "FINE"), (8, "AMBIGUOUS")])
def test_the_report_and_its_verification_say_what_the_question_says(bank, n_rows, label):
    result, rows = asked(bank, n_rows)
    (field,) = result.report.document["fields"]
    assert field["label"] == label
    assert result.report.document["question"] == {"kind": "own", "names": [*NAMES]}
    assert result.report.document["protocol"]["policy"]["policy"] == "random order"
    named = [*field["witnesses"], *([field["excluded"]] if field["excluded"] else [])]
    assert named
    halves = Half(bank).half(np.arange(bank.size))
    assert [each["says"] for each in named] == [{"half": NAMES[halves[each["explanation"]]]} for each in named]
    if label == "FINE":
        assert field["excluded"]["says"] == {"half": "high"}
    found = verify(result.report.json(), {"deployment": rows}, question=Half(bank))
    assert found.findings == ()
    assert any("author's own" in note for note in found.notes)
    assert "give it to verify" in verify(result.report.json()).findings[0]


def test_a_report_with_another_excluded_explanation_or_saying_is_refused(bank):
    result, _ = asked(bank, 300)
    excluded = result.report.document["fields"][0]["excluded"]
    before = excluded["says"]
    excluded["says"] = {"half": "low"}
    findings = verify(result.report.document, question=Half(bank)).findings
    assert any("fields[0].excluded.says.half" in finding for finding in findings)
    excluded["says"] = before
    result.report.document["fields"][0]["excluded"] = None
    findings = verify(result.report.document, question=Half(bank)).findings
    assert any(finding.startswith("fields[0].excluded: the report says None") for finding in findings)


def test_details_count_what_the_question_says_and_rows_would_tell_its_sides_apart(bank):
    result, _ = asked(bank, 8)
    (field,) = diagnose(result).document["fields"]
    assert [element["id"] for element in field["elements"]] == [*NAMES]
    possible = result.trace.brackets().possible()
    counts = [element["n_kept"] + element["n_not_asked"] for element in field["elements"]]
    assert counts == np.bincount(Half(bank).half(possible)).tolist()
    assert all(entry["says"] == {"half": "low"} for entry in field["elements"][0]["explanations"])
    assert rows_needed(result)
    assert field["refine"]
    dimensions = _dimensions(result)
    assert next(dimension for dimension in dimensions if dimension[1] > 1) == ["the half", 2, 2]
    assert "the dictionary state" not in [name for name, _, _ in dimensions]


def test_queries_are_written_with_what_they_say(bank):
    result, _ = asked(bank, 300)
    trace, says = result.trace, result.question.says
    lines = [*csv.DictReader(query_lines(trace.queries, trace.verdicts, says))]
    halves = Half(bank).half(result.trace.queries)
    assert [line["half"] for line in lines] == [NAMES[half] for half in halves]


def test_its_policies_are_the_only_ones_by_name_and_its_bank_the_only_one(bank):
    result, _ = asked(bank, 300, "farthest")
    assert result.report.document["protocol"]["policy"] == {"policy": "farthest first", "distances": "halves"}
    with pytest.raises(MisuseError, match="policy must be random or farthest for this question, not 'fixed'"):
        asked(bank, 300, "fixed")
    other = library_bank(bank.states.library, [["line"]], {"line": [1.0, 3.0]})
    with pytest.raises(MisuseError, match="question must be about its own bank, not another"):
        asked(bank, 300, question=Half(other))
    with pytest.raises(MisuseError, match=r"border of question\['half'\] must have elements on either side, not 2.0"):
        asked(bank, 300, question=Half(bank, 2.0))
