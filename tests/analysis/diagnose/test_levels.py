"""The same verdicts at other levels."""

import numpy as np
import pytest

from physupport import MisuseError
from physupport.aeb import FixedOrder, run
from physupport.analysis.diagnose import other_levels
from physupport.analysis.diagnose._fields import moved_codes
from physupport.banks import bank_regions, table_regions
from physupport.judges import TableJudge, Verdict, verdicts
from physupport.questions import Label, Progress, Question, RegionalMap, exhaustive_answers

LEVELS = (0.001, 0.01, 0.05, 0.2, 0.7)


def test_the_codes_are_those_that_the_rows_prove_at_each_level(result):
    trace = result.trace
    evidence = result.seal.judge.evidence
    proven = np.column_stack([verdicts(evidence, trace.queries, level).codes for level in LEVELS])
    moved = np.column_stack([moved_codes(trace, 0.05, level) for level in LEVELS])
    assert np.array_equal(moved, proven)


def test_the_level_of_the_run_gives_its_answers(result):
    assert other_levels(result.trace, 0.05, [0.05]) == {0.05: result.trace.answers}


def test_exhaustive_runs_read_as_exhaustive_answers_at_every_level(kit, bank):
    whole = kit.run(bank, ("latent", "covariance"), (120, 60), policy=FixedOrder())
    question = RegionalMap(bank_regions(bank), whole.seal.question.rules)
    evidence, everything = whole.seal.judge.evidence, np.arange(bank.size)
    # A run may stop before it has asked about all; ask about the rest here.
    table = verdicts(evidence, everything, 0.05)
    judge = TableJudge(table.codes, table.margins())
    full = run(judge, _Never(question), FixedOrder(), 1.0)
    assert len(full) == bank.size
    for level, answers in other_levels(full, 0.05, LEVELS).items():
        codes = verdicts(evidence, everything, level).codes
        assert answers == exhaustive_answers(question, codes)


class _Never(Question):
    """A question that is never satisfied, so that a run asks about everything."""

    def __init__(self, question):
        self._question = question

    @property
    def n_explanations(self):
        return self._question.n_explanations

    def begin(self):
        return _Restless(self._question.begin())

    def describe(self):
        return {}


class _Restless(Progress):
    is_certified = False

    def __init__(self, progress):
        self._progress = progress

    def witness(self, e):
        self._progress.witness(e)

    def reject(self, e):
        self._progress.reject(e)

    def answers(self):
        return self._progress.answers()


def make_trace(margins, codes, asked):
    question = RegionalMap(table_regions({"A": ["a", "b", "c"]}))
    return run(TableJudge(np.array(codes, dtype=np.uint8), np.array(margins)), question, FixedOrder(asked), 1.0)


def test_a_margin_that_straddles_is_undecided_and_what_was_not_asked_stays_possible():
    trace = make_trace([[-1.0, -0.5], [0.1, 0.2], [0.0, 9.0]], [0, 1, 1], [0, 1])
    # At 0.1 the margins move by log 2 = 0.693: the first straddles, the second stays rejected.
    assert moved_codes(trace, 0.05, 0.1).tolist() == [Verdict.INDETERMINATE, Verdict.REJECTED]
    up, down = other_levels(trace, 0.05, [0.1, 0.025]).values()
    assert (up[0].cell, up[0].label) == (("a", "c"), Label.GROUP)
    # At 0.025 they move by as much downwards: both are admissible.
    assert down[0].certificate.witnesses == (0, 1)


def test_unbounded_margins_stay_unbounded():
    trace = make_trace([[-np.inf, 0.0], [0.0, np.inf], [0.0, 1.0]], [0, 1, 1], [0, 1])
    assert moved_codes(trace, 0.05, 0.06).tolist() == [Verdict.INDETERMINATE, Verdict.REJECTED]
    assert moved_codes(trace, 0.05, 0.04).tolist() == [Verdict.ADMISSIBLE, Verdict.INDETERMINATE]


def test_a_margin_that_moves_onto_zero_is_left_undecided():
    """The shift is the rounded difference of two rounded logarithms, so that the sign of the sum proves nothing."""
    shift = np.log(0.1) - np.log(0.05)
    trace = make_trace([[-shift, -shift], [shift, shift], [0.0, 1.0]], [0, 1, 1], [0, 1])
    assert moved_codes(trace, 0.05, 0.1)[0] == Verdict.INDETERMINATE
    assert moved_codes(trace, 0.1, 0.05)[1] == Verdict.INDETERMINATE
    # Farther away than the rounding, they are decided.
    apart = make_trace([[-shift - 1e-12] * 2, [shift, shift], [0.0, 1.0]], [0, 1, 1], [0, 1])
    assert moved_codes(apart, 0.05, 0.1)[0] == Verdict.ADMISSIBLE


@pytest.mark.parametrize("level", [0.0, 1.0, float("nan")])
def test_a_level_lies_between_0_and_1(result, level):
    with pytest.raises(MisuseError, match="levels must lie strictly between 0 and 1"):
        other_levels(result.trace, 0.05, [level])
