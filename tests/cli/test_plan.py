"""`physupport plan` plans what it is told to, and points at what it cannot use."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from physupport import MisuseError
from physupport.cli import app
from physupport.local.shell import Frame, balanced_dictionary


def run(*arguments):
    return CliRunner().invoke(app, ["plan", *map(str, arguments)])


def plan_json(*arguments):
    answer = run(*arguments, "--json")
    assert answer.exit_code == 0, answer.exception
    return json.loads(answer.stdout, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


def test_a_plan_is_a_list_of_sentences():
    answer = run("--wanted", 0.05)
    assert answer.exit_code == 0
    lines = answer.stdout.splitlines()
    assert all(line.startswith("- ") and line.endswith(".") for line in lines)
    assert lines[1].startswith("- Which atoms participate? Resolved at T = 10,000")
    assert sum("To reach 0.05 with" in line for line in lines) == 3


def test_json_holds_the_gates_the_resolution_the_scales_and_the_remedies():
    found = plan_json("--wanted", 0.05)
    assert found["support"]["is_open"] is True
    assert found["resolution"]["floor"] < found["resolution"]["attainable"] < found["resolution"]["block"]
    assert found["scales"] == pytest.approx({"explanation": 40_000, "support": 400, "orientation": 64})
    assert found["remedies"]["n_deployment"] is None
    assert found["remedies"]["n_calibration"] > 10**6
    assert len(found["sentences"]) == 9


def test_too_many_rows_are_told_from_the_impossible():
    found = plan_json("--wanted", 1e-7)
    assert found["remedies"]["n_calibration"] is None
    assert found["remedies"]["n_deployment"] is None
    assert found["remedies"]["beyond_search"] == ["n_calibration"]
    assert "To reach 1e-07 with N alone: possible, but only with more than 1e18 rows." in found["sentences"]
    assert any(each.startswith("To reach 1e-07 with T alone: impossible.") for each in found["sentences"])


def test_a_bound_of_zero_is_not_told():
    assert not any("No procedure" in sentence for sentence in plan_json("--alpha", 0.5)["sentences"])


def test_the_largest_design_leaves_what_no_deployment_shows():
    largest = plan_json("--deployment", "1e18")["resolution"]["attainable"]
    rest = plan_json("--wanted", 0.05)["remedies"]["best_by_deployment"]
    # Deployment rows worth 1e18 leave 1e-6 of what they show at all.
    assert largest == pytest.approx(rest, rel=1e-6)


def test_the_same_question_has_the_same_answer():
    assert run("--json").stdout == run("--json").stdout


def test_only_one_turn_unknown_is_finer_and_deployment_helps():
    whole, turn = (
        plan_json("--coefficients", "1.2,0.8"),
        plan_json("--coefficients", "1.2,0.8", "--turn", "--wanted", 0.01),
    )
    assert turn["resolution"]["attainable"] < whole["resolution"]["attainable"]
    assert turn["remedies"]["n_deployment"] > 10**4


@pytest.fixture
def write(tmp_path):
    def written(table, delimiter=","):
        path = tmp_path / "mine.csv"
        np.savetxt(path, table, delimiter=delimiter, fmt="%.17g")
        return path

    return written


ATOMS = balanced_dictionary(Frame.standard(4), 0.2).atoms


@pytest.mark.parametrize("delimiter", [",", ", ", " ", "\t"])
def test_the_built_in_block_read_from_a_file_gives_the_same_plan(write, delimiter):
    mine, built_in = plan_json("--dictionary", write(ATOMS, delimiter)), plan_json()
    assert mine["support"]["separation"] == pytest.approx(built_in["support"]["separation"], rel=1e-12)
    assert mine["resolution"]["attainable"] == pytest.approx(built_in["resolution"]["attainable"], rel=1e-9)


def test_order_signs_and_support_of_own_atoms_are_respected(write):
    order = [2, 0, 3, 1, 4]
    mine = plan_json("--dictionary", write(ATOMS[:, order] * [1, -1, 1, -1, 1]), "--support", "1,3")
    assert mine["support"]["separation"] == pytest.approx(plan_json()["support"]["separation"], rel=1e-9)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            ATOMS[:, :4],
            "must have q rows, 3 to 8, and q + 1 columns, the separated atom last, not 4 rows and 4 columns",
        ),
        (2.0 * ATOMS, "must have columns of norm 1, but the norm is 2 in column"),
        (np.where(np.eye(4, 5) == 1, np.nan, ATOMS), "must be finite, not nan at index (0, 0)"),
        (ATOMS[:, [0, 0, 1, 2, 4]], "linearly independent"),
    ],
)
def test_a_table_that_breaks_a_rule_is_refused(write, table, message):
    error = run("--dictionary", write(table)).exception
    assert isinstance(error, MisuseError)
    assert message in str(error)


def test_a_file_that_is_no_table_is_refused_by_name(tmp_path):
    missing = run("--dictionary", tmp_path / "none.csv").exception
    assert isinstance(missing, MisuseError)
    assert str(missing).startswith(f"--dictionary {tmp_path / 'none.csv'} must be a readable file, not No such file")
    (tmp_path / "words.csv").write_text("1,2\n3,four\n")
    words = str(run("--dictionary", tmp_path / "words.csv").exception)
    assert words.endswith("must hold numbers only, not '3,four' in line 2.")
    (tmp_path / "ragged.csv").write_text("1,2\n3\n")
    ragged = str(run("--dictionary", tmp_path / "ragged.csv").exception)
    assert "must have equally many numbers in every row, 2 as in the first, not 1 in line 2." in ragged
    (tmp_path / "empty.csv").write_text("")
    empty = str(run("--dictionary", tmp_path / "empty.csv").exception)
    assert empty.endswith("must hold a table of numbers, but it is empty.")
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00")
    assert isinstance(run("--dictionary", tmp_path / "binary.csv").exception, MisuseError)


def test_a_byte_order_mark_is_no_part_of_the_table(write):
    path = write(ATOMS)
    path.write_text(path.read_text(), encoding="utf-8-sig")
    assert run("--dictionary", path).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--coefficients", "1,x"], "--coefficients must be numbers separated by commas, not '1,x'."),
        (["--amplitudes", "1"], "--amplitudes must be two numbers LOW,HIGH with 0 < LOW <= HIGH, not '1'."),
        (["--amplitudes", "2,1"], "--amplitudes must be two numbers LOW,HIGH with 0 < LOW <= HIGH"),
        (["--calibration", "10.5"], "--calibration must be a whole number from 1 to 1e18, not 10.5."),
        (["--deployment", "inf"], "--deployment must be a whole number from 1 to 1e18, not inf."),
        (["--deployment", "1e40"], "--deployment must be a whole number from 1 to 1e18, not 1e+40."),
        (["--sigma", "1e-300"], "--sigma must be within a factor 10^6 of the mean coefficient, 1, not 1e-300."),
        (["--sigma", "1e300"], "--sigma must be within a factor 10^6"),
        (["--noise", "1e-300"], "--noise must lie between 1e-06 and 1e+06"),
        (["--noise", "1e12"], "--noise must lie between 1e-06 and 1e+06"),
        (["--alpha", "2"], "--alpha must lie strictly between 0 and 1"),
        (["--coefficients", "1"], "--coefficients must be 2 to 3 numbers for 4 atoms, not 1."),
        (["--turn", "--atoms", "3"], "--turn must come with at least 4 atoms, not 3."),
        (["--support", "0"], "--support must hold as many atoms as --coefficients, 2, not 1."),
        (["--support", "0,0.5"], "--support must be whole numbers, not 0.5."),
        (["--support", "0,9"], "--support must hold indices from 0 to 3"),
        (["--atoms", "2"], "--atoms must be a whole number between 3 and 8"),
        (["--atoms", "30"], "--atoms must be a whole number between 3 and 8"),
        (["--scale", "1.5"], "--scale must lie strictly between 0 and 1"),
        (["--p", "0.7"], "--p must"),
        (
            ["--p", "1e-200"],
            "--p must be large enough for calibration rows to see the atoms, but the information is 0.",
        ),
        (["--p", "1e-320"], "--p must be large enough for calibration rows to see the atoms"),
        (["--wanted", "-1"], "--wanted must lie strictly"),
        (["--separated", "1,2,3"], "--separated must be two numbers"),
        (["--dictionary", "x.csv", "--scale", "0.1"], "--dictionary must come without --scale and --atoms"),
    ],
)
def test_an_option_that_breaks_a_rule_is_named(arguments, message):
    error = run(*arguments).exception
    assert isinstance(error, MisuseError)
    assert message in str(error)


def test_help_explains_every_option():
    answer = CliRunner().invoke(app, ["plan", "--help"], env={"COLUMNS": "200"})
    assert answer.exit_code == 0
    for option in ("--scale", "--dictionary", "--calibration", "--wanted", "--turn", "--picture", "--json"):
        assert option in answer.stdout


@pytest.mark.slow
def test_a_picture_is_drawn_where_asked(tmp_path):
    path = tmp_path / "map.png"
    answer = run("--picture", path)
    assert answer.exit_code == 0, answer.exception
    assert path.read_bytes().startswith(b"\x89PNG")
    assert f"Picture written to {path}." in answer.stderr


def test_a_picture_that_cannot_be_written_is_refused_before_anything_is_printed(tmp_path):
    for path in (tmp_path / "nowhere" / "map.png", tmp_path / "map.nonsense", ""):
        answer = run("--picture", path)
        assert isinstance(answer.exception, MisuseError)
        assert "--picture must name a .png, .pdf or .svg file in a folder that exists" in str(answer.exception)
        assert answer.stdout == ""


def test_without_matplotlib_the_remedy_is_told(tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    error = run("--picture", tmp_path / "map.png").exception
    assert 'pip install "physupport[plot]"' in str(error)
