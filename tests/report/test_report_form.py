"""A file that is no whole report is refused when it is read, in words, and not when it is looked at."""

import copy
import json

import numpy as np
import pytest

from physupport._errors import MisuseError
from physupport.aeb import FixedOrder
from physupport.analysis import AnalysisProtocol, report
from physupport.banks import table_regions
from physupport.judges import TableJudge
from physupport.questions import RegionalMap
from physupport.report import Report


@pytest.fixture(scope="module")
def document():
    seal = AnalysisProtocol(RegionalMap(table_regions({"R": ["a", "b", "c"]})), FixedOrder(), 0.05, 1.0).freeze(
        TableJudge(np.array([0, 0, 1]))
    )
    return report(seal, seal.run()).document


def look(found):
    """All that a report offers."""
    return found.text(), found.rows(), found.csv(), found._repr_html_(), found.versions, found.json()


def test_a_whole_report_is_read(document):
    assert look(Report.from_json(json.dumps(document)))


def test_what_is_left_when_any_part_is_missing_is_refused_or_not_needed(document):
    """Nothing but a MisuseError at the door; what passes can be looked at."""
    refused = 0
    for name, part in document.items():
        inner = [(name, key) for key in part] if isinstance(part, dict) else []
        inner += [(name, 0, key) for key in part[0]] if name == "fields" else []
        for path in [(name,), *inner]:
            cut = copy.deepcopy(document)
            here = cut
            for step in path[:-1]:
                here = here[step]
            del here[path[-1]]
            refused += is_refused(cut)
    assert refused > 25


def is_refused(document):
    try:
        found = Report.from_json(json.dumps(document))
    except MisuseError as error:
        return str(error).startswith("document")
    return not look(found)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("fields", 0, "label"), "SURE", "fields\\[0\\].label must be 'FINE' or"),
        (("fields", 0, "cell"), [1], r"fields\[0\].cell\[0\] must be a text, not 1"),
        (("fields", 0, "witnesses", 0, "margin"), [1.0], "margin must be two bounds"),
        (("fields", 0, "witnesses", 0, "margin"), ["x", 1.0], "margin must be two bounds"),
        (("fields", 0), "FINE", "document.fields\\[0\\] must be an object, not 'FINE'"),
        (("outcome", "queries"), True, "outcome.queries must be a whole number, not True"),
        (("protocol", "level"), "0.05", "protocol.level must be a number"),
        (("digests",), [], "document.digests must be an object"),
    ],
)
def test_what_stands_in_the_place_of_something_else_is_refused(document, path, value, words):
    changed = copy.deepcopy(document)
    here = changed
    for step in path[:-1]:
        here = here[step]
    here[path[-1]] = value
    with pytest.raises(MisuseError, match=words):
        Report.from_json(json.dumps(changed))


def test_numbers_beyond_float64_and_deep_nesting_are_refused(document):
    with pytest.raises(MisuseError, match="report must be strict JSON, not 1e999 is larger than any float64"):
        Report.from_json(json.dumps(document).replace('"level": 0.05', '"level": 1e999', 1))
    with pytest.raises(MisuseError, match="nested too deeply"):
        Report.from_json("[" * 200_000 + "]" * 200_000)
