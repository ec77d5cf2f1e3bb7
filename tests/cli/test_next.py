"""`physupport next`, and measurements of a project file beside the rows that `watch` reads."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from physupport.cli import app
from physupport.project import load_project

NEXT = """
[[next]]
name = "as much again"
seconds = 10
rows = 40

[[next]]
name = "sharp range"
seconds = 5
rows = 40
responses = "sharp.csv"
noise = 0.2
"""
PEAKS = np.exp(-0.5 * ((np.linspace(0, 1, 8)[:, None] - [0.2, 0.8]) / 0.15) ** 2)


@pytest.fixture
def folder(tmp_path, write_peaks):
    rows = np.random.default_rng(0).normal(size=(40, 8))
    two = "id,region,x\na1,A,0.45\na2,A,0.55\n"
    # The strengths of the project are given, and rows have a mean.
    changes = (('law = "covariance"', 'law = "mean"'), ("strength = 2.0", "strength = 0.2"))
    write_peaks(tmp_path, *changes, more=NEXT, elements=two, deployment=rows)
    np.savetxt(tmp_path / "sharp.csv", np.array([[1.0, 0.0], [0.0, 1.0], [0.1, 0.1]]), delimiter=",")
    return tmp_path


def called(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


def test_the_answer_names_pair_measurement_and_time(folder):
    answer = called("next", folder)
    assert answer.exit_code == 0, answer.stderr
    assert "A waits until" in answer.stdout
    assert "measure 'sharp range'" in answer.stdout
    found = json.loads(called("next", folder, "--json").stdout)
    assert found["measurement"] == "sharp range"
    assert found["seconds"]["as much again"] > found["seconds"]["sharp range"] > 0.0
    assert found["pair"]
    assert found["repeats"] >= 1


def test_rows_of_the_measurement_are_watched_beside_the_others_and_verified(folder):
    rng = np.random.default_rng(1)
    sharp = 0.2 * np.array([[1.0, 0.0, 0.1]]) / np.sqrt(1.01) + np.sqrt(0.2) * rng.standard_normal((400, 3))
    np.savetxt(folder / "sharp_rows.csv", sharp, delimiter=",")
    np.savetxt(folder / "arriving.csv", rng.normal(size=(5, 8)), delimiter=",")
    also = ["--also", f"sharp range={folder / 'sharp_rows.csv'}", "--look", "20"]
    answer = called("watch", folder / "arriving.csv", "--project", folder, "--until", "fine", *also)
    assert answer.exit_code == 0, answer.exception
    assert "Ended: the answer is certain: A FINE a1." in answer.stdout
    data = [f"deployment={folder / 'arriving.csv'}", f"sharp range={folder / 'sharp_rows.csv'}"]
    found = called("verify", folder / "watch", *[word for each in data for word in ("--data", each)])
    assert found.exit_code == 0, found.stderr
    assert "--also must be NAME=FILE" in str(called("watch", "-", "--project", folder, "--also", "x=y").exception)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("seconds = 5", "seconds = 0", "next[1].seconds"),
        ('name = "sharp range"', 'name = "as much again"', "a name of its own"),
        ('responses = "sharp.csv"\n', "", "responses"),
        ("seconds = 10", 'seconds = 10\nstream = "calibration"', "next[0].stream"),
        ('"sharp.csv"', '"elements.csv"', "next[1].responses"),
    ],
)
def test_measurements_that_cannot_be_are_refused_by_their_key(folder, old, new, words):
    path = folder / "project.toml"
    path.write_text(path.read_text().replace(old, new))
    assert words in str(called("next", folder).exception)


def test_a_project_without_any_is_told_what_to_write(folder):
    path = folder / "project.toml"
    path.write_text(path.read_text().replace(NEXT, ""))
    assert load_project(path).settings.next == []
    assert "Write a table for each: [[next]]" in str(called("next", folder).exception)
