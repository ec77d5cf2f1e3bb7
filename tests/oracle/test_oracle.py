"""A slice of the frozen answers, and controls of the comparison; `make oracle` compares all answers."""

import copy
from functools import cache

import pytest

from . import adapter, projects
from .answers import arithmetic, entries, found_again, stored
from .compare import differences, rounded

SLICE = [f"project {number}" for number in range(0, projects.COUNT, 10)] + ["example array", "example soil"]

frozen = cache(stored)


@pytest.mark.slow
@pytest.mark.parametrize("entry", SLICE)
def test_the_answer_is_the_frozen_one(entry):
    is_loose = frozen()["arithmetic"] != arithmetic()
    answers = found_again(entry)
    assert {*answers} == {*frozen()[entry]}
    for part, answer in answers.items():
        assert [*differences(frozen()[entry][part], answer, is_loose=is_loose)] == []


def test_every_entry_has_a_frozen_answer_and_none_is_refused():
    assert {*frozen()} == {*entries(), "arithmetic"}
    assert [entry for entry in entries() if adapter.REFUSED in frozen()[entry].values()] == []


def named(value, key):
    """Texts that stand under a key anywhere in a document; tables of parameters are named after their kind."""
    match value:
        case dict():
            found = {value[key]} if isinstance(value.get(key), str) else set()
            return found.union(*(named(each, key) for each in value.values()))
        case list() | tuple():
            return set().union(*(named(each, key) for each in value))
        case _:
            return set()


def test_the_projects_name_all_that_a_project_file_may_name():
    documents = [projects.drafted(number).document for number in range(projects.COUNT)]
    parameters = {kind for document in documents for kind in document.get("parameters", ())}
    for key, names in adapter.known_names().items():
        found = named(documents, key) | (parameters if key == "kind" else set())
        assert names - found == set(), key


def test_a_number_gives_the_same_project_whenever_it_is_asked_for():
    one = projects.drafted(17)
    other = projects.drafted(17)
    assert one.document == other.document
    assert {name: values.tobytes() for name, values in one.arrays.items()} == {
        name: values.tobytes() for name, values in other.arrays.items()
    }


ANSWER = {
    "judge": "rotation",
    "is_drawn": True,
    "level": 0.1,
    "regions": ["A"],
    "asked": [0, 1, 2],
    "codes": "RAA",
    "margins": [[3.0, 3.0], [-2.0, -0.5], [-1.0, -1.0 + 2e-9]],
    "fields": {"A": {"label": "FINE", "cell": ["A1"], "group": None, "not_asked": [], "extent": 0.5, "box": None}},
    "gate": {"is_withheld": False, "findings": [{"part": "columns", "p": 0.25}]},
}
CHANGES = {
    "codes": "AAA",
    "asked": [0, 2, 1],
    "level": 0.1 * (1.0 + 3e-9),
    "margins": [[3.0 + 1e-8, 3.0 + 1e-8], [-2.0, -0.5], [-1.0, -1.0 + 2e-9]],
    "fields": {"A": {**ANSWER["fields"]["A"], "label": "GROUP"}},
    "gate": {"is_withheld": False, "findings": [{"part": "columns", "p": 0.2500001}]},
}


@pytest.mark.parametrize("key", CHANGES)
def test_a_change_is_told_with_its_field(key):
    lines = [*differences(rounded(ANSWER), {**ANSWER, key: CHANGES[key]})]
    assert any(line.startswith(key) for line in lines)


def test_rounding_and_narrow_bounds_that_overlap_are_no_change():
    other = copy.deepcopy(ANSWER)
    other["level"] = 0.1 * (1.0 + 1e-13)
    other["margins"][2] = [-1.0 + 1e-9, -1.0 + 3e-9]
    assert [*differences(rounded(ANSWER), other)] == []
    other["margins"][2] = [-1.0 + 3e-9, -1.0 + 4e-9]
    assert len([*differences(rounded(ANSWER), other)]) == 1


def test_other_draws_may_change_a_verdict_near_its_threshold_and_no_other():
    near = {**ANSWER, "codes": "RRA", "margins": [[3.0, 3.0], [0.3, 0.3], [-1.0, -1.0]]}
    far = {**ANSWER, "codes": "AAA", "margins": [[-3.0, -3.0], [-2.0, -0.5], [-1.0, -1.0]]}
    assert [*differences(rounded(ANSWER), near)] != []
    assert [*differences(rounded(ANSWER), near, is_loose=True)] == []
    assert [*differences(rounded(ANSWER), far, is_loose=True)] != []
    assert [*differences(rounded({**ANSWER, "is_drawn": False}), near, is_loose=True)] != []
