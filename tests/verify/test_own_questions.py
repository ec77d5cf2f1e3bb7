"""Questions of one's own: what they may say is checked when the report is made, and honest ones are verified."""

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from physupport._errors import MisuseError
from physupport.aeb import FixedOrder
from physupport.analysis import AnalysisProtocol, report
from physupport.judges import TableJudge
from physupport.questions import Answer, Certificate, Label, Progress, Question
from physupport.verify import verify


@dataclass(frozen=True)
class Parity(Question):
    """A question for the parity of the number of the explanation, described with a tuple and with numbers for names."""

    size: int = 6
    numbers: tuple[tuple[str, Any], ...] = (("left", 3),)
    cell: tuple[Any, ...] = ("even", "odd")
    said: Any = (1, 2)

    @property
    def n_explanations(self):
        return self.size

    def begin(self):
        return ParitySoFar(self)

    def describe(self):
        return {"question": "parity", "said": self.said, "by number": {10: "ten", 9: "nine"}}


class ParitySoFar(Progress):
    def __init__(self, question):
        self.question, self.left, self.seen = question, set(range(question.size)), []

    def witness(self, e):
        self.seen.append(e)

    def reject(self, e):
        self.left.discard(e)

    @property
    def is_certified(self):
        return self.label in (Label.FINE, Label.AMBIGUOUS)

    @property
    def label(self):
        if not self.left:
            return Label.EMPTY
        if len({e % 2 for e in self.left}) == 1:
            return Label.FINE
        return Label.AMBIGUOUS if len({e % 2 for e in self.seen}) == 2 else Label.ABSTAIN

    def answers(self):
        kind = {Label.AMBIGUOUS: "witnesses", Label.ABSTAIN: "open"}.get(self.label, "universal")
        pair = (self.seen[0], next((e for e in self.seen if (e - self.seen[0]) % 2), -1)) if self.seen else ()
        witnesses = {Label.AMBIGUOUS: pair, Label.FINE: tuple(self.seen[:1])}.get(self.label, ())
        question = self.question
        return (Answer("parity", self.label, question.cell, None, question.numbers, Certificate(kind, witnesses)),)


def written(codes, order=(4, 1, 0, 2, 3, 5), **changes):
    question = Parity(**changes)
    seal = AnalysisProtocol(question, FixedOrder(list(order)), 0.1, 1.0).freeze(TableJudge(np.array(codes)))
    return question, report(seal, seal.run())


@pytest.mark.parametrize("codes", [[0, 1, 1, 1, 0, 1], [0] * 6, [1] * 6, [2, 1, 0, 2, 2, 1]])
def test_tuples_numbers_for_names_and_whole_numbers_come_back_as_they_were(codes):
    question, found = written(codes)
    assert verify(found.json(), question=question).findings == ()
    assert found.fields[0].numbers == {"left": 3.0}
    assert "not the one that was asked" in verify(found.json(), question=Parity(said=(1, 3))).findings[0]


def test_witnesses_of_a_label_that_holds_for_all_are_those_that_the_question_names():
    """FINE does not rest on them, so that they are admissible is not enough."""
    question, found = written([0, 1, 0, 1, 0, 1])
    assert (str(found.fields[0].label), found.fields[0].witnesses) == ("FINE", (4,))
    others = copy.deepcopy(found.document)
    (named,) = others["fields"][0]["witnesses"]
    assert named["explanation"] == 4
    named["explanation"] = 2
    wrong = "fields[0].witnesses[0].explanation: the report says 2, but the trace gives 4"
    assert wrong in verify(others, question=question).findings
    others["fields"][0]["witnesses"] = []
    missing = "fields[0].witnesses[0]: the report says nothing, but the trace gives dict"
    assert missing in verify(others, question=question).findings


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"numbers": (("left", float("inf")),)}, r"left of the answer on 'parity' must be finite, not inf"),
        ({"numbers": (("left", np.nan),)}, "must be finite, not nan"),
        ({"numbers": (("left", "3"),)}, "must be a real number"),
        ({"cell": (0, 1)}, r"answer on 'parity' must name its field, cell and group by texts"),
        ({"said": {1, 2}}, "question must describe itself in what JSON can hold"),
        ({"said": float("inf")}, "question must describe itself in what JSON can hold"),
    ],
)
def test_what_no_document_can_hold_is_refused_when_the_report_is_made(changes, message):
    with pytest.raises(MisuseError, match=message):
        written([0] * 6, **changes)
