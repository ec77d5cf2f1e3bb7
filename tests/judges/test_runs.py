"""A verdict of a judge must come with bounds of its margin that prove it."""

import numpy as np
import pytest

from physupport import MisuseError
from physupport.aeb import FixedOrder, run
from physupport.banks import table_regions
from physupport.judges import Judge, TableJudge, Verdicts
from physupport.questions import RegionalMap


@pytest.fixture
def question():
    return RegionalMap(table_regions({"place": ["a", "a", "b", "b"]}))


class Saying(Judge):
    """A judge that gives one ruling on everything."""

    size, level = 4, None

    def __init__(self, *ruling):
        self.ruling = ruling

    def verdicts(self, explanations):
        return Verdicts(*(np.full(len(explanations), part) for part in self.ruling))


@pytest.mark.parametrize(
    "ruling",
    [
        (1, np.nan, 1.0),
        (0, -1.0, np.nan),
        (2, np.nan, np.nan),
        (1, 2.0, 1.0),
        (0, -1.0, 1e-9),
        (1, -1e-9, 1.0),
        (2, 0.5, 1.0),
    ],
)
def test_a_ruling_that_its_bounds_do_not_prove_is_refused_when_it_is_given(question, ruling):
    with pytest.raises(MisuseError, match=r"margins of the judge must prove their verdicts.*for explanation 0"):
        run(Saying(*ruling), question, FixedOrder(), 1.0)


@pytest.mark.parametrize("ruling", [(3, -1.0, 1.0), (-1, -1.0, 0.0)])
def test_a_code_that_is_no_verdict_is_refused_when_it_is_given(question, ruling):
    with pytest.raises(MisuseError, match=r"verdict must be one of the codes \[0, 1, 2\]"):
        run(Saying(*ruling), question, FixedOrder(), 1.0)


@pytest.mark.parametrize("ruling", [(1, 0.0, 1e-300), (0, -np.inf, 0.0), (2, 0.0, 1.0), (2, -np.inf, np.inf)])
def test_bounds_may_touch_zero_where_they_still_prove_the_verdict(question, ruling):
    assert len(run(Saying(*ruling), question, FixedOrder(), 1.0))


def test_margins_are_kept_with_the_queries(question):
    margins = np.array([[-1.0, -0.5], [0.1, 0.2], [0.3, 0.3], [2.0, np.inf]])
    trace = run(TableJudge(np.array([0, 1, 1, 1]), margins), question, FixedOrder([3, 0]), 1.0)
    assert trace.verdicts.margins().tolist() == [[2.0, np.inf], [-1.0, -0.5]]


@pytest.mark.parametrize(
    ("table", "margins", "message"),
    [
        ([3], None, "codes must"),
        ([], None, "codes must"),
        ([0.0], None, "codes must"),
        ([0], [[1.0, 0.0]], "margins must"),
        ([2, 0], [[-1.0, 1.0], [-1.0, 1e-9]], r"margins must prove their verdicts, .*explanation 1"),
        ([1], [[-1e-9, 1.0]], "margins must prove their verdicts"),
        ([2], [[1e-9, 1.0]], "margins must prove their verdicts, and those of an indeterminate one leave both open"),
        ([2], [[-1.0, 0.0]], "margins must prove their verdicts"),
    ],
)
def test_a_table_of_verdicts_is_checked(table, margins, message):
    with pytest.raises(MisuseError, match=message):
        TableJudge(np.array(table), margins)
