"""The page of equations names functions and tests that exist, and every label once."""

import csv
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "equations.md").read_text()
with (ROOT / "docs" / "equations.csv").open(encoding="utf-8", newline="") as file:
    PARTS, ROWS = [], []
    for part, *row in list(csv.reader(file))[1:]:
        PARTS.append(part)
        ROWS.append(row)
LABELS = [row[0] for row in ROWS]


def test_every_row_has_its_four_cells_and_its_part_of_the_page(reference):
    assert [row for row in ROWS if len(row) != 4 or not all(row)] == []
    shown = reference.EQUATIONS.sub(lambda mark: reference.equations(*mark.groups()), PAGE)
    assert re.findall(r"^### (.+)\n\n\| label", shown, re.MULTILINE) == list(dict.fromkeys(PARTS))
    assert re.findall(r"^\| `(.+?)` \|", shown, re.MULTILINE) == LABELS


def test_no_label_stands_twice():
    assert len(set(LABELS)) == len(LABELS)


def test_the_number_of_labels_is_known():
    assert len(LABELS) == 188


def test_sections_two_to_four_and_every_part_of_the_supplement_are_there(reference):
    assert re.findall(r"^## (.*?):", PAGE, re.MULTILINE) == [
        "Section 2", "Section 3", "Section 4", "Supplement A", "Supplement B",
    ]  # fmt: skip
    (mark,) = reference.EQUATIONS.finditer(PAGE.partition("## Supplement B")[2])
    parts = re.findall(r"^### (.*)$", reference.equations(*mark.groups()), re.MULTILINE)
    assert parts == [
        "Theory-guided numerical diagnostics",
        "Finite-bank evaluator and certificate implementation",
        "Global finite-bank evaluation protocol",
        "Four-region application protocol",
    ]


def test_labels_are_those_of_statements():
    kinds = "eq|lem|thm|prop|cor|ass|rem|alg|tab|supp-tab"
    assert [label for label in LABELS if not re.fullmatch(rf"({kinds}):[\w-]+", label)] == []


@pytest.mark.parametrize("row", ROWS, ids=LABELS)
def test_a_row_names_functions_and_tests_that_exist(row, resolve, defined_in):
    paths = re.findall(r"`((?:physupport|tests)\.[\w.]+)`", row[2])
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


@pytest.mark.parametrize(
    ("label", "functions"),
    [
        (
            "eq:supp-group-pair-KL",
            {"rates.MeanPair.divergence", "explanation_pair"},
        ),  # a pair of means is no divergence
        ("eq:restricted-orbit", {"balanced_dictionary", "turned_block"}),  # of dictionaries, not of blocks
        ("eq:supp-affinity-midpoint", {"affinity_midpoint", "midpoint_monte_carlo", "midpoint_quadrature"}),
        ("ass:frozen-shell", {"CalibrationClass", "Shell", "Amplitudes"}),  # codes as well as geometry
    ],
)
def test_a_statement_with_several_parts_has_a_function_for_each(label, functions):
    paths = re.findall(r"`((?:physupport|tests)\.[\w.]+)`", ROWS[LABELS.index(label)][2])
    assert {re.sub(r"(physupport|tests)\.(local\.)?[a-z_]+\.(divergences\.)?", "", path) for path in paths} == functions


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("eq:sm-tech-s6-2", "one atom as support"),  # else it is the distance of the sets
        ("eq:sm-tech-s13-4", "the root of"),
        ("eq:sm-tech-s13-5", "the root of"),
        ("eq:sm-tech-s12-16", "in the place of s_0"),
        ("eq:test-mean-secant", "over all real coefficients"),
        ("eq:profiled-orientation-information", "at one parameter"),
        ("eq:sm-tech-s10-17", "at one parameter"),
    ],
)
def test_where_a_function_is_not_the_whole_statement_the_row_says_so(label, words):
    assert words in " ".join(ROWS[LABELS.index(label)][1:3])
