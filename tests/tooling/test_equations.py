"""The page of equations names functions and tests that exist, and every label once."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "equations.md").read_text()
ROWS = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in PAGE.splitlines() if line.startswith("| `")]
LABELS = [row[0].strip("`") for row in ROWS]


def test_every_row_has_its_four_cells():
    assert [row for row in ROWS if len(row) != 4] == []


def test_no_label_stands_twice():
    assert len(set(LABELS)) == len(LABELS)


def test_the_number_of_labels_is_known():
    assert len(LABELS) == 161


def test_labels_are_those_of_statements():
    assert [label for label in LABELS if not re.fullmatch(r"(eq|lem|thm|prop|cor|ass|rem):[\w-]+", label)] == []


@pytest.mark.parametrize("row", ROWS, ids=LABELS)
def test_a_row_names_functions_and_tests_that_exist(row, resolve, defined_in):
    paths = re.findall(r"`(physupport\.[\w.]+)`", row[2])
    assert paths or row[2].startswith("proof step")
    for path in paths:
        assert resolve(path) is not None
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", row[3])
    assert named
    for path, name in named:
        assert name.startswith("test_")
        assert name in defined_in(path), f"no test {name} in {path}"


def test_what_is_defined_over_all_procedures_is_not_called_a_function():
    """A two-point bound lies below the minimax risk; it is not the risk."""
    bounded = {row[0].strip("`") for row in ROWS if row[2].startswith("definition")}
    assert bounded == {"eq:honest-class", "eq:minimax-diameter-risk"}
    for label in ("eq:target-space-main", "eq:target-space"):
        row = ROWS[LABELS.index(label)]
        assert row[2].startswith("its elements `physupport.local.regions.PhysicalTarget`, its metric")
