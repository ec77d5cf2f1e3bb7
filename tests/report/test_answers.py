"""The short answers: what is left in plain words, with units, and never more than the certificate allows."""

import json

import numpy as np
import pytest

from physupport._codec import array_json
from physupport.aeb import FixedOrder
from physupport.analysis import AnalysisProtocol, StreamPlan, analyse
from physupport.banks import JOINT, Library, bank_regions, library_bank
from physupport.judges.rotation import ByRotation
from physupport.questions import RegionalMap, RegionRule
from physupport.report import Report
from physupport.report._diagnosis import misfit_doubts
from physupport.report._fields import answers
from physupport.report._outcome import doubt_sentence, opposed, outcome_sentence, remarks
from physupport.report._words import in_words


def document(kept, *, label="GROUP", group=None, unit="", is_set=False, witnesses=2, spread=12.04, absent=0.0):
    """As much of a report as its answers are made from."""
    entry = {
        "field": "line", "label": label, "cell": [*kept], "group": group, "certificate": "universal",
        "witnesses": [{}] * witnesses, "excluded": None,
        "set": {"kept": [{"name": name} for name in kept], "not_asked": [], "extent": spread},
        "numbers": {"possible_spread": spread, "possible_absent": absent, "possible_present": 1.0},
    }  # fmt: skip
    regions = [{"region": "line", "count": [1, 2]}] if is_set else []
    states = {"kind": "library settings", "base": {"unit": unit}} if unit else {}
    return {
        "fields": [entry], "question": {"kind": "regional map"}, "bank": {"states": states},
        "protocol": {"question": {"regions": regions}, "streams": []}, "outcome": {}, "gate": None,
    }  # fmt: skip


def answer(*kept, **options):
    return answers(document(kept, **options))[0]


def test_a_distance_is_told_with_its_unit_and_rounded_upwards():
    assert answer("a", "b", unit="mm") == (
        "Line: a or b, at most 12.1 mm apart; one of them is there, and these data cannot tell which."
    )
    assert "apart" not in answer("a", "b")  # nobody said what coordinates are measured in


def placed(places, *kept, **options):
    made = document(kept, unit="nm", **options)
    made["bank"]["states"]["base"] |= {"ids": [*places], "coordinates": array_json(np.array([*places.values()]))}
    return answers(made)[0]


def test_an_answer_says_where_in_the_unit_of_the_coordinates_and_rounds_outwards():
    line = {"a": [1085.0], "b": [1086.12345678], "c": [990.0]}
    assert placed(line, "b", label="FINE", witnesses=0) == "Line: b is there, at 1086.12 nm."
    assert placed(line, "a", "b", label="FINE", witnesses=0) == "Line: a or b, between 1085 and 1086.13 nm."
    assert placed(line, "a", label="SUPPORT_AMBIGUOUS", absent=1.0).endswith("it is a, at 1085 nm.")
    space = {"a": [-40.0, 0.0, 20.5], "b": [0.0, 0.0, 1.0]}
    assert placed(space, "a", label="FINE", witnesses=0) == "Line: a is there, at (-40, 0, 20.5) nm."
    assert ", at most 12.1 nm apart" in placed(space, "a", "b")  # of three coordinates there are no ends
    assert placed({"a": [1.0], "b": [2.0]}, "a + b", label="FINE", is_set=True) == "Line: a and b are there."


def test_elements_that_are_names_alone_are_told_without_distances():
    assert answer("a", label="FINE", witnesses=0) == "Line: a is there."
    names = {"a": np.zeros(0), "b": np.zeros(0)}
    assert (
        placed(names, "a", "b", spread=None, group="both") == "Line: both (a or b), and these data cannot tell which."
    )


def test_without_witnesses_nobody_says_that_the_data_cannot_tell():
    assert answer("a", "b", witnesses=0) == "Line: a or b; one of them is there."


@pytest.mark.parametrize(
    ("unasked", "said"),
    [((), ""), (("b", None), " (not tested: b, nothing)"), ("bcde", " (4 of these not tested)")],
)
def test_what_was_not_asked_about_is_not_said_in_the_words_for_what_is_kept(unasked, said):
    asked = document("a", witnesses=0)
    asked["fields"][0]["cell"] += [name for name in unasked if name]
    asked["fields"][0]["set"]["not_asked"] = [*unasked]
    (found,) = answers(asked)
    assert found.endswith(f"{said}.")
    assert ("not tested" in found) == bool(unasked)


def test_what_elements_are_called_changes_no_sentence():
    ends = answer("one of a kind", "b"), answer("a kind", "b")
    assert all(end.partition("; ")[2] == ends[0].partition("; ")[2] != "" for end in ends)


def test_a_group_is_told_by_its_name():
    assert answer("a", "b", group="both") == "Line: both (a or b), and these data cannot tell which."
    assert answer("a", "b", group="line").startswith("Line: a or b; ")  # the region itself is no news


def test_many_elements_are_counted_where_their_distance_says_enough():
    names = [f"e{i}" for i in range(40)]
    assert answer(*names, unit="mm") == (
        "Line: one of 40 elements, at most 12.1 mm apart, and these data cannot tell which."
    )
    assert answer(*names).startswith("Line: e0, e1, ")


@pytest.mark.parametrize(
    ("sets", "said"),
    [
        (["a", "b", "a + b"], "at least one of a and b is there"),
        (["a", "a + b", "a + c"], "a; perhaps also b or c"),
        (["a + b", "a + c"], "a; also at least one of these: b or c"),
    ],
)
def test_sets_are_told_by_what_all_of_them_have(sets, said):
    """Each statement is true of every set: checked by its definition."""
    assert answer(*sets, is_set=True) == f"Line: {said}, and these data cannot tell which."
    members = [set(each.split(JOINT)) for each in sets]
    common = set.intersection(*members)
    if said.startswith("at least one"):
        assert not common
        assert all(each & {"a", "b"} for each in members)
    else:
        assert common == {"a"}
        assert ("also at least one" in said) == all(each - common for each in members)


def test_presence_that_is_open_comes_first():
    text = answer("a", label="SUPPORT_AMBIGUOUS", absent=1.0)
    assert text == "Line: presence is undecided; if something is there, it is a."
    assert answer("line", label="SUPPORT_AMBIGUOUS", absent=1.0) == "Line: presence is undecided."


def line_report(unit):
    axis, places = np.linspace(0.0, 1.0, 24), np.linspace(0.3, 0.7, 5)
    waves = np.exp(-0.5 * ((axis[:, None] - places) / 0.1) ** 2)
    library = Library(
        [f"p{i}" for i in range(5)], ["line"] * 5, places[:, None], waves / np.linalg.norm(waves, axis=0), unit
    )
    bank = library_bank(library, [["line"]], {"line": [1.0]})
    rows = 4.0 * library.responses[:, 2] + np.random.default_rng(3).standard_normal((1, 24))
    protocol = AnalysisProtocol(
        RegionalMap(bank_regions(bank), {"line": RegionRule(0.01)}), FixedOrder(), level=0.05, budget=1.0, bank=bank,
        streams={"deployment": StreamPlan("gaussian", 0.5)}, judge=ByRotation(),
    )  # fmt: skip
    return analyse(protocol, {"deployment": rows}).report


def test_a_unit_of_the_library_reaches_answer_and_document_and_changes_the_hash_of_the_bank():
    with_unit, without = line_report("mm"), line_report("")
    assert ", between 0.4 and 0.7 mm; " in with_unit.fields[0].answer
    assert "between" not in without.fields[0].answer
    assert " mm apart" in with_unit.fields[0].sentence
    assert Report.from_json(with_unit.json()).fields == with_unit.fields
    assert with_unit.digests["bank"] != without.digests["bank"]
    assert "unit" not in without.document["bank"]["states"]


def test_a_gate_whose_level_the_error_lowered_has_no_power_and_says_so():
    document = json.loads(line_report("mm").json())
    assert "standard deviations of the noise could go unnoticed" in outcome_sentence(document)
    document["gate"]["level"] = 1e-9
    said = outcome_sentence(document)
    assert "no power at this error of the responses" in said
    assert "standard deviations of the noise" not in said


def test_a_misfit_stands_before_all_answers():
    facts = {"stream": "deployment", "statistic": 30.0, "expected": 10.0, "is_misfit": True}
    (said,) = misfit_doubts({"misfit": [facts]})
    assert said.startswith("The deployment rows do not look as the laws say")
    assert "3 times the energy" in said
    assert misfit_doubts({"misfit": [facts | {"is_misfit": False}]}) == []
    gate = {"findings": [{"part": "fit", "place": "", "p": 1e-5}], "is_best_rejected": True, "is_withheld": False}
    assert doubt_sentence({"outcome": {"status": "REPORT"}, "gate": gate}).startswith("The rows are improbable under")
    assert doubt_sentence({"outcome": {"status": "REPORT"}, "gate": gate | {"is_best_rejected": False}}) == ""


COLUMNS = array_json(np.eye(3))
BANKS = {
    "of a library": ({"ids": ["L1", "L2"], "shared": COLUMNS}, ["element L2", "element shared 2"]),
    "of settings": ({"base": {"ids": ["L1"], "shared": COLUMNS}}, ["element L1", "element shared 0"]),
    "of arrays": ({"elements": COLUMNS}, ["element element 2"]),
    "of strangers": (
        {"ids": ["L1"], "shared": COLUMNS},
        ["element of surprise", "element L2", "element shared 3", "L1"],
    ),
}


@pytest.mark.parametrize("name", BANKS)
def test_elements_of_the_bank_are_told_from_strangers_by_the_bank_and_not_by_their_name(name):
    states, places = BANKS[name]
    for place in places:
        gate = {"findings": [{"part": "columns", "place": place, "p": 1e-5}], "is_best_rejected": True}
        said = doubt_sentence({"outcome": {"status": "EMPTY"}, "gate": gate, "bank": {"states": states}})
        own = f"point to {place} in a combination, or with a coefficient, that no explanation considered has (p"
        other = f"The residuals of the best fit point to something that the bank does not contain, at {place} (p"
        assert (own in said, other in said) == ((False, True) if name == "of strangers" else (True, False))


@pytest.mark.parametrize(("law", "has_fits"), [("mean", True), ("covariance", False)])
def test_a_likelihood_that_is_not_unusual_is_said_to_be_no_more_than_that(law, has_fits):
    """Rows are to be compared with fits where the page has a picture of both: rows of a covariance have no mean."""
    gate = {"findings": [{"part": "fit", "place": "", "p": 0.52}], "is_best_rejected": False, "is_withheld": False}
    streams = [{"name": "deployment", "law": {"kind": law}}]
    said = remarks({"outcome": {"status": "REPORT"}, "protocol": {"streams": streams}, "gate": gate})
    assert said.startswith(
        "The likelihood of all rows together is not unusual for a remaining explanation (p = 0.52). "
    )
    assert "a misfit in strength, place or shape can go unnoticed" in said
    assert said.endswith(": compare the measured rows with the fits.") == has_fits
    assert "look like" not in said


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ({"possible_present": 2.0, "absence_threshold": 3.0}, "nothing as strong as 3"),
        ({"possible_present": 0.0, "absence_threshold": 3.0}, "nothing there"),
        ({"possible_present": 0.0}, "nothing there"),
    ],
)
def test_absence_beyond_a_threshold_is_not_called_nothing(numbers, words):
    assert in_words("ABSENT", numbers) == words


def covered(*kept, unasked=(), ends=None, **options):
    """Cells of 0.1 mm along x from 0 on, by their numbers; ends: of further coordinates, of all cells alike."""
    made, n, others = document([f"c{i}" for i in kept], unit="mm", **options), 20, dict(ends or {})
    places = np.column_stack([0.05 + 0.1 * np.arange(n), *(np.full(n, sum(end) / 2) for end in others.values())])
    halves = np.column_stack([np.full(n, 0.05), *(np.full(n, (end[1] - end[0]) / 2) for end in others.values())])
    made["bank"]["states"]["base"] |= {
        "ids": [f"c{i}" for i in range(n)], "coordinates": array_json(places), "extents": array_json(halves),
    }  # fmt: skip
    made["protocol"]["cover"] = {"coordinates": ["x", *others], "unit": "mm"}
    entry = made["fields"][0]
    box = [[0.1 * min(kept), 0.1 * (max(kept) + 1)], *map(list, others.values())]
    entry["set"] |= {"box": box, "not_asked": [*unasked]}
    entry["cell"] = sorted(entry["cell"])
    return answers(made)[0]


def test_cells_are_told_by_their_extent_and_not_one_by_one():
    assert covered(3, 2, 4, label="FINE", witnesses=0) == "Line: within x 0.2 to 0.5 mm (3 cells)."
    assert covered(3, label="FINE", witnesses=0) == "Line: within x 0.3 to 0.4 mm."
    assert covered(3, 2) == "Line: within x 0.2 to 0.4 mm (2 cells), and these data cannot tell where."
    assert covered(3, 2, ends={"y": (5.0, 6.0)}, group="left") == (
        "Line: left, within x 0.2 to 0.4 mm, y 5 to 6 mm (2 cells), and these data cannot tell where."
    )
    assert covered(3, 2, label="SUPPORT_AMBIGUOUS") == (
        "Line: presence is undecided; if something is there, it is within x 0.2 to 0.4 mm (2 cells)."
    )
    assert covered(3, 2, label="ABSTAIN", absent=1.0, unasked=["c2", None]) == (
        "Line: no answer yet; x 0.2 to 0.4 mm (2 cells) or nothing is possible "
        "(not tested: 1 of these cells and nothing)."
    )


def test_cells_that_lie_apart_are_not_told_as_if_all_between_were_left():
    assert covered(1, 2, 7, label="LOCAL_AMBIGUOUS") == (
        "Line: within x 0.1 to 0.3 mm or x 0.7 to 0.8 mm (3 cells), and these data cannot tell where."
    )
    assert "within x 0.1 to 1.6 mm, with 4 gaps (5 cells)" in covered(1, 5, 9, 12, 15, label="LOCAL_AMBIGUOUS")


@pytest.mark.parametrize(("label", "placed", "named"), [
    ("FINE", "located", "identified"),
    ("LOCAL_AMBIGUOUS", "present, place undecided", "present, element undecided"),
    ("GROUP", "present: one of a group", "present: one of a group"),
])  # fmt: skip
def test_what_is_a_name_alone_is_not_called_located(label, placed, named):
    assert in_words(label, {}) == placed
    assert in_words(label, {}, has_places=False) == named


@pytest.mark.parametrize(
    ("count", "said"), [(0, "no source at all"), (1, "1 independent direction,"), (4, "4 independent directions,")]
)
def test_the_directions_of_a_free_opponent_are_counted(count, said):
    point = {"covariance_point": {"strengths": array_json(np.ones(count)), "noise": 0.25}}
    numerator = {"mixture": [{"weight": 0.5, "law": {"key": 0}}, {"weight": 0.5, "law": point}]}
    streams = [{"name": "deployment", "numerator": numerator}]
    assert said in opposed({"protocol": {"streams": streams}})


def test_an_element_that_is_called_as_its_region_is_named_once():
    assert answer("line", label="FINE", witnesses=0) == "Line is there."
    assert placed({"line": [2.0]}, "line", label="FINE", witnesses=0) == "Line is there, at 2 nm."
