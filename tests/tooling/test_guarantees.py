"""The page of guarantees names functions and tests that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "guarantees.md").read_text()
HEAD = "| statement | assumes | proved in | function | test |"
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and line != HEAD
]


def test_every_table_has_the_same_head_and_every_row_five_cells():
    assert PAGE.count(HEAD) == PAGE.count("\n|---|")
    assert [row for row in ROWS if len(row) != 5] == []
    assert len(ROWS) > 30


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0].strip("*")[:50])
def test_a_row_names_labels_functions_and_tests_that_exist(row, resolve, defined_in):
    for label in re.findall(r"`(\w+:[^`]+)`", row[2]):
        assert re.fullmatch(r"(eq|lem|thm|prop|cor|ass|rem):[\w-]+", label)
    functions = [path for path in re.findall(r"`([\w.]+)`", row[3]) if "." in path]
    assert functions
    for path in functions:
        assert resolve(path) is not None
    _check_tests(row[4], defined_in)


def _check_tests(cell, defined_in):
    """Tests as file::name; a name alone is of the file before it."""
    named = re.findall(r"`([\w/]+\.py)?(?:::(\w+))?`", cell)
    assert named
    path = ""
    for file, name in named:
        path = file or path
        assert not name or name.startswith("test_")
        assert not name or name in defined_in(path), f"no test {name} in {path}"
        assert any(each.startswith("test_") for each in defined_in(path))
