"""The short answer: sentences that may be said stand there word for word, and those that may not say why."""

import numpy as np

from physupport import PhysicalSupport
from physupport.banks import Library, bank_regions, library_bank, product_grid
from physupport.questions import Claim, RegionalMap
from physupport.report import short_answer

ATOMS = np.eye(6)[:, :3] + 0.5 * np.eye(6)[:, [3, 3, 4]]
ATOMS /= np.linalg.norm(ATOMS, axis=0)


def model_of():
    library = Library(["a", "b", "c"], ["line"] * 3, np.arange(3.0)[:, None], ATOMS)
    bank = library_bank(library, [["line"]], {"line": [1.0]}, deployment=product_grid(noise=[1.0]))
    question = RegionalMap(bank_regions(bank), None, {"a or b": Claim("any", ("a", "b"))})
    return PhysicalSupport(bank, question, calibration=None, deployment="mean", alpha=0.1).fit()


def report_of(n_rows):
    return model_of().update(np.random.default_rng(0).standard_normal((n_rows, 6)) + ATOMS[:, 0])


def test_what_is_certain_may_be_said_as_it_stands():
    report = report_of(400)
    answer = short_answer(report)
    (claim, held) = answer["claims"]
    assert claim["says"] == report.answers[0]
    assert (claim["label"], claim["elements"], claim["level"]) == ("FINE", ["a"], 0.1)
    assert (held["about"], held["label"]) == ("a or b", "true")
    assert answer["not supported"] == []
    assert answer["digest"] == report.digests["document"]
    assert (answer["format"], answer["version"], answer["status"]) == ("physupport answer", 1, "REPORT")


def test_of_several_possible_elements_none_may_be_said_alone():
    report = report_of(1)
    answer = short_answer(report)
    assert answer["claims"][0]["elements"] == ["a", "b", "c"]
    unsaid = {each["statement"]: each["why"] for each in answer["not supported"]}
    assert unsaid["line: a"] == "possible as well: c, b"
    assert {"line: a", "line: b", "line: c"} <= {*unsaid}


def test_where_nothing_fits_nothing_may_be_said():
    """The first look rejects all but one element, and the second that one."""
    model = model_of()
    model.update(np.tile(20.0 * ATOMS[:, 0], (20, 1)))
    report = model.update(np.tile(60.0 * ATOMS[:, 2], (20, 1)))
    answer = short_answer(report)
    assert answer["status"] == "EMPTY"
    assert answer["claims"] == []
    assert {each["about"] for each in answer["not supported"]} == {"line", "a or b"}
