"""The example on the page about asking runs and prints what it says."""

import contextlib
import inspect
import io
import re
from pathlib import Path

import numpy as np

from physupport.aeb import FixedOrder, run
from physupport.analysis import PhysicalSupport
from physupport.banks import table_regions
from physupport.judges import TableJudge
from physupport.project._schema import ProjectFile
from physupport.questions import Label, RegionalMap, RegionRule

PAGE = Path(__file__).parents[2] / "docs" / "asking.md"


def page_code():
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    return code


def test_the_example_prints_what_the_page_says():
    code = page_code()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})
    expected = re.findall(r"^print.*\n# (.*)$", code, flags=re.MULTILINE)
    assert printed.getvalue().splitlines() == expected


def test_the_first_paragraphs_say_which_rule_asks_about_everything_and_which_is_the_papers():
    """The page's sentences, and the facts behind them on a bank whose labels are certified before its end."""
    opening = PAGE.read_text().partition("\n## ")[0]
    assert "**By default a report asks about everything.**" in opening
    assert '`stop = "label"` is the paper\'s rule' in opening
    assert inspect.signature(PhysicalSupport).parameters["stop"].default == ProjectFile.model_fields["stop"].default
    assert inspect.signature(PhysicalSupport).parameters["stop"].default == "set"
    assert inspect.signature(run).parameters["stop"].default == "label"
    question = RegionalMap(table_regions({"source": ["s1", "s2", "s3", None]}), {"source": RegionRule(0.0)})
    judge = TableJudge(np.array([0, 1, 0, 0]))
    asked = {stop: run(judge, question, FixedOrder([3, 0, 1, 2]), 1.0, stop=stop) for stop in ("set", "label")}
    assert {stop: trace.queries.tolist() for stop, trace in asked.items()} == {"set": [3, 0, 1, 2], "label": [3, 0]}
    assert asked["set"].answers[0].label is asked["label"].answers[0].label is Label.SUPPORT_AMBIGUOUS
    unseen = RegionalMap(table_regions({"source": ["s1", "s2"]}), {"source": RegionRule(0.0)})
    whole = [
        run(TableJudge(np.array([1, 0])), unseen, FixedOrder([0, 1]), 1.0, until_witnessed=wanted)
        for wanted in (True, False)
    ]
    assert [len(trace) for trace in whole] == [2, 1]
