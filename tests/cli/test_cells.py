"""Lines of rows that arrive: how they are read is told, and what is no row is named by its line."""

import numpy as np
import pytest
from typer.testing import CliRunner

from physupport import MisuseError
from physupport.cli import app
from physupport.cli._arriving import blocks

PROJECT = """level = 0.1
judge = "evidence"
[data.deployment]
file = "rows.npy"
channels = 1
proposal = 0.4
law = "covariance"
noise = 0.3
[elements]
file = "elements.csv"
coordinates = ["deg"]
unit = "degrees"
response = { kind = "uniform linear array", n_sensors = 4, spacing = 0.5 }
[regions.right]
strength = [1.0]
tolerance = 4.0
"""


@pytest.fixture
def rows(tmp_path, monkeypatch):
    """(40, 4) complex rows of an emitter at 30 degrees, in a folder with their project."""
    monkeypatch.chdir(tmp_path)
    rng, sensors = np.random.default_rng(7), np.arange(4)
    answer = np.exp(1j * np.pi * sensors * np.sin(np.deg2rad(30.0))) / 2.0
    draws = rng.standard_normal((2, 40, 5)) / 2**0.5
    drawn = draws[0] + 1j * draws[1]
    measured = drawn[:, :1] * answer + 0.3**0.5 * drawn[:, 1:]
    np.save("rows.npy", measured)
    (tmp_path / "elements.csv").write_text("id,region,deg\na,right,0\nb,right,30\nc,right,60\n")
    (tmp_path / "project.toml").write_text(PROJECT)
    return measured


def watched(text):
    return CliRunner().invoke(app, ["watch", "-", "--look", "20"], input=text)


def lines(rows, cell):
    return "".join(",".join(map(cell, row.tolist())) + "\n" for row in rows)


def test_complex_rows_are_pairs_of_columns_or_complex_cells_and_it_is_told_which(rows):
    pairs, joined = watched(lines(rows, lambda z: f"{z.real!r},{z.imag!r}")), watched(lines(rows, str))
    assert pairs.stderr == "read: rows -: 4 channels, each as two columns: real, imaginary\n"
    assert joined.stderr == "read: rows -: 4 channels, each as one column, such as 1+2j\n"
    assert pairs.stdout == joined.stdout
    assert "40 rows: right FINE b" in pairs.stdout


def test_help_says_how_complex_rows_stand(rows):
    assert "re,im,re,im" in " ".join(CliRunner().invoke(app, ["watch", "--help"]).stdout.split())


def test_another_width_is_told_in_columns_and_channels(rows):
    rule = "rows - must have 8 columns: real and imaginary part of 4 channels, or 4 as 1+2j, not 4 in line 2."
    assert str(watched("\n" + lines(rows, lambda z: repr(z.real))).exception) == rule
    few = str(watched(lines(rows[:, :3], str)).exception)
    assert few.endswith("not 3 in line 1.")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x1,2\n3,4\n", "be numbers between commas, not 'x1' in line 1"),
        ("a,b\n\n3,4\n5,x\n", "be numbers between commas, not 'x' in line 4"),
        ("a,b\nc,d\n", "be numbers between commas, not 'c' in line 2"),
        ("1,2\n\n3,nan\n", "be finite, not nan in line 3, column 2"),
        ("1,2\n1_0,2\n", "be numbers between commas, not '1_0' in line 2"),
        ("1,2\n,,\n", "be numbers between commas, but line 2 has none"),
        ("1,2\n1+2j,2\n", "be real numbers, not '1\\+2j' in line 2"),
    ],
)
def test_what_is_no_row_is_named_by_its_line(tmp_path, text, message):
    (tmp_path / "rows.csv").write_text(text)
    with pytest.raises(MisuseError, match=message):
        [*blocks(str(tmp_path / "rows.csv"), 1, follow=False)]


def test_complex_cells_in_some_lines_only_are_refused(tmp_path):
    (tmp_path / "rows.csv").write_text("1,2\n1+2j,2\n")
    with pytest.raises(MisuseError, match=r"as 1\+2j in all lines or in none, not '1\+2j' in line 2"):
        [*blocks(str(tmp_path / "rows.csv"), 1, follow=False, widths=(2,), is_complex=True)]


def test_later_rows_of_complex_cells_may_have_real_ones(tmp_path):
    (tmp_path / "rows.csv").write_text("1+2j,2\n3,4\n")
    read = [*blocks(str(tmp_path / "rows.csv"), 2, follow=False, widths=(4,), is_complex=True)]
    assert read == [[[1.0, 2.0, 2.0, 0.0], [3.0, 0.0, 4.0, 0.0]]]
