"""The findings of `verify`, and their wording."""

import copy
import json
from dataclasses import dataclass

import numpy as np
import pytest

from physupport._codec import chain_hash
from physupport.aeb import FixedOrder
from physupport.analysis import AnalysisProtocol, report
from physupport.judges import TableJudge
from physupport.questions import Answer, Certificate, Label, Progress, Question
from physupport.report import trace_columns
from physupport.verify import verify
from physupport.verify._data import _differs

TOO_DEEP = "report must be strict JSON, not objects or lists nested too deeply."
COLUMNS = ("queries", "codes", "lower", "upper")


def columns(document):
    trace = document["trace"]
    return [trace["queries"]["values"], trace["codes"]["values"], trace["lower"], trace["upper"]]


def findings(document, *args, **options):
    return " / ".join(verify(document, *args, **options).findings)


@pytest.fixture
def document(four_regions):
    return copy.deepcopy(four_regions.report.document)


def test_honest_reports_are_verified(reports):
    for written in reports.values():
        assert verify(written.report.json()).findings == ()
        assert verify(written.report.json(), protocol=written.report.digests["protocol"]).is_verified


def test_a_real_run_is_verified_with_its_rows_and_says_what_was_not_checked_without(four_regions):
    assert verify(four_regions.report.document, four_regions.rows) == verify(
        four_regions.report.json(), four_regions.rows
    )
    frozen = four_regions.report.digests["protocol"]
    assert verify(four_regions.report.document, four_regions.rows, protocol=frozen).notes == ()
    assert "give its hash" in verify(four_regions.report.document, four_regions.rows).notes[0]
    assert "give the rows" in verify(four_regions.report.document).notes[0]


def test_a_finer_label_is_refused(document):
    number = [entry["label"] for entry in document["fields"]].index("GROUP")
    document["fields"][number]["label"] = "FINE"
    assert f"fields[{number}].label: the report says 'FINE', but the trace gives 'GROUP'" in findings(document)
    assert f"fields[{number}].label: the report says 'FINE', but its rules give 'GROUP'" in findings(document)


def test_a_smaller_cell_is_refused(document):
    entry = next(entry for entry in document["fields"] if len(entry["cell"]) > 1)
    name = entry["cell"].pop()
    assert f".cell[{len(entry['cell'])}]: the report says nothing, but the trace gives {name!r}" in findings(document)


@pytest.mark.parametrize("place", [0, 10, -1])
def test_a_deleted_query_is_refused(document, place):
    for column in columns(document):
        del column[place]
    document["trace"]["queries"]["shape"] = document["trace"]["codes"]["shape"] = [len(document["trace"]["lower"])]
    assert "the chain is broken" in findings(document)
    assert "outcome.queries: the report says" in findings(document)


def test_a_reordered_query_is_refused(document):
    for column in columns(document):
        column[3], column[4] = column[4], column[3]
    assert "the chain is broken" in findings(document)


def test_a_flipped_verdict_is_refused(document):
    _, codes, lower, upper = columns(document)
    place = codes.index(1)
    codes[place] = 0
    assert "ADMISSIBLE although its margin does not prove it" in findings(document)
    lower[place], upper[place] = -upper[place], -lower[place]
    assert "the chain is broken" in findings(document)


def test_a_flipped_verdict_with_everything_made_to_fit_is_refused_by_the_rows(make_report, four_regions, document):
    """A forger may rewrite everything but the rows: here the trace alone is forged, and its chain with it."""
    queries, codes, lower, upper = columns(document)
    place = codes.index(0)
    codes[place], lower[place], upper[place] = 1, -upper[place], -lower[place]
    digests = document["digests"]
    asked, verdicts = trace_columns(document["trace"], 216)
    margins = verdicts.margins()
    digests["chain"] = chain_hash(digests["protocol"], digests["data"], asked, verdicts.codes, margins)
    assert "chain" not in findings(document)
    assert f"the verdict on explanation {queries[place]} is not what the rows give" in findings(
        document, four_regions.rows
    )


def test_a_changed_level_is_refused(document, four_regions):
    document["protocol"]["level"] = 0.05
    assert "the protocol does not match its hash" in findings(document)
    assert "margins are not what the rows give" in findings(document, four_regions.rows)


def test_another_bank_is_refused(document):
    document["bank"]["strengths"]["values"][0] = 1.5
    assert "the bank does not match its hash" in findings(document)


def test_other_rows_are_refused(document, four_regions):
    rows = {name: table.copy() for name, table in four_regions.rows.items()}
    rows["deployment"][7, 3] += 1e-3
    assert "rows of deployment do not match their hash" in findings(document, rows)
    assert "the calibration rows have shape" in findings(document, rows | {"calibration": rows["calibration"][:-1]})
    assert "the streams are" in findings(document, {"calibration": rows["calibration"]})


def test_a_protocol_that_is_not_the_registered_one_is_refused(document):
    assert "the protocol is" in findings(document, protocol="0" * 64)


def test_a_witness_that_was_not_admissible_is_refused(document):
    entry = next(entry for entry in document["fields"] if entry["certificate"] == "witnesses")
    queries, codes, _, _ = columns(document)
    entry["witnesses"][0]["explanation"] = queries[codes.index(1)]
    assert "].witnesses[0].explanation: the report says" in findings(document)


def test_what_can_be_read_in_two_ways_is_refused(four_regions):
    text = four_regions.report.json()
    assert "stands twice" in findings(text.replace('"format":', '"format": "x", "format":', 1))
    assert "NaN is no JSON number" in findings(text.replace('"level": 0.077', '"level": NaN', 1))
    assert "must be strict JSON" in findings(text[:-20])
    assert "other names" in findings(json.dumps({**json.loads(text), "more": 1}))
    for version in (3, 5):
        assert "version 4, not" in findings(json.dumps({**json.loads(text), "version": version}))


def test_a_raised_budget_is_noted_and_not_refused(make_report):
    codes = np.zeros(12, dtype=np.uint8)
    judge = TableJudge(codes)
    question = make_question()
    seal = AnalysisProtocol(question, FixedOrder(), 0.1, 2).freeze(judge)
    longer = seal.resume(seal.run(), 12)
    found = verify(report(seal, longer).document, question=question)
    assert found.is_verified
    assert "raised from 2 to 12" in found.notes[0]


@dataclass(frozen=True)
class HowMany(Question):
    """How many sources are active; a question of one's own, as the page on questions shows it."""

    counts: tuple[int, ...]

    @property
    def n_explanations(self):
        return len(self.counts)

    def begin(self):
        return HowManySoFar(self.counts)

    def describe(self):
        return {"question": "how many", "counts": list(self.counts)}


class HowManySoFar(Progress):
    def __init__(self, counts):
        self.counts, self.possible, self.first = counts, {n: counts.count(n) for n in sorted(set(counts))}, {}

    def witness(self, e):
        self.first.setdefault(self.counts[e], e)

    def reject(self, e):
        self.possible[self.counts[e]] -= 1

    @property
    def label(self):
        left = [n for n, count in self.possible.items() if count]
        if len(left) < 2:
            return Label.FINE if left else Label.EMPTY
        return Label.AMBIGUOUS if len(self.first) > 1 else Label.ABSTAIN

    @property
    def is_certified(self):
        return self.label in (Label.FINE, Label.AMBIGUOUS)

    def answers(self):
        label = self.label
        kind = {Label.AMBIGUOUS: "witnesses", Label.ABSTAIN: "open"}.get(label, "universal")
        witnesses = tuple(self.first.values())[:2] if label is Label.AMBIGUOUS else ()
        cell = tuple(f"{n} sources" for n, count in self.possible.items() if count)
        return (Answer("number", label, cell, None, (), Certificate(kind, witnesses)),)


def make_question():
    return HowMany((1, 2, 2, 3, 1, 2, 2, 3, 1, 2, 2, 3))


@pytest.mark.parametrize("codes", [[1, 0, 0, 1] * 3, [0] * 12, [1] * 12, [2, 1, 1, 2] * 3])
def test_a_question_of_ones_own_is_checked_when_it_is_given(codes):
    question = make_question()
    seal = AnalysisProtocol(question, FixedOrder(), 0.1, 1.0).freeze(TableJudge(np.array(codes)))
    written = report(seal, seal.run())
    assert verify(written.json(), question=question).is_verified
    assert "one of the author's own" in findings(written.json())
    assert "not the one that was asked" in findings(written.json(), question=HowMany((1, 2)))
    finer = copy.deepcopy(written.document)
    finer["fields"][0]["label"] = "GROUP"
    assert "fields[0].label: the report says 'GROUP'" in findings(finer, question=question)


@dataclass(frozen=True)
class Smaller(HowMany):
    """Describes itself as another does, and counts fewer explanations."""

    @property
    def n_explanations(self):
        return len(self.counts) - 1


def test_a_question_of_ones_own_about_another_number_of_explanations_is_refused():
    question = make_question()
    seal = AnalysisProtocol(question, FixedOrder(), 0.1, 1.0).freeze(TableJudge(np.zeros(12, dtype=int)))
    found = findings(report(seal, seal.run()).json(), question=Smaller(question.counts))
    assert "the question is about 11 explanations, not 12" in found


@pytest.mark.parametrize(("code", "side", "value"), [(0, "upper", 1e-9), (1, "lower", -1e-9)])
def test_a_verdict_that_its_margin_does_not_prove_is_refused(document, code, side, value):
    document["trace"][side][document["trace"]["codes"]["values"].index(code)] = value
    assert "although its margin does not prove it" in findings(document)


def test_an_infinite_bound_is_near_to_nothing_but_itself():
    given, found = np.array([1.0, np.inf, np.inf, -np.inf, 2.0, 2.0]), np.array([np.inf, np.inf, 1.0, np.inf, 2.1, 2.0])
    assert _differs(given, found).tolist() == [True, False, True, True, True, False]


def test_a_report_nested_too_deeply_is_refused(document):
    depth = 200_000
    assert findings('{"a":' * depth + "1" + "}" * depth) == TOO_DEEP
    nested = []
    for _ in range(depth):
        nested = [nested]
    document["question"] = {"kind": "regional map", "view": nested}
    assert "nested too deeply" in findings(document)


def test_a_path_may_be_given_as_text(four_regions, tmp_path):
    four_regions.report.save(tmp_path / "report.json")
    assert verify(str(tmp_path / "report.json")).is_verified
    assert verify(tmp_path / "report.json").is_verified
    assert "neither JSON nor a readable file" in findings(str(tmp_path / "none.json"))
