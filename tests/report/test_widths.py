"""Every width that responses have is said in the report, with how far its promise goes."""

import numpy as np
import pytest

from physupport.project import load_project, run_project

Q = 40
AXIS = np.arange(Q)
LINES = np.exp(-0.5 * ((AXIS[:, None] - [10.0, 20.0, 30.0]) / 3.0) ** 2)
PROJECT = """
level = 0.05
{top}

[data.deployment]
file = "rows.npy"
channels = 1
{rows}

[elements]
file = "lines.csv"
coordinates = ["place"]
{elements}

[regions.line]
{more}
"""
ROTATION, COUNTS = ("", 'law = "gaussian"'), ("", 'law = "poisson"')
EVIDENCE = ('judge = "evidence"', 'law = "gaussian"\nnoise = 1.0\nsplit = "fission"')
ONE, TWO = 'responses = "lines.npy"', 'responses = ["lines.npy", "wide.npy"]'
SHIFT = "[parameters.shift]\nvalues = [-1.0, 0.0, 1.0]"
VALUES, MIX = "shift is one of 3 values, -1 to 1", "each response is a mixture of the 2 variants of its element"
BALL = "each response differs from the listed one by at most an angle whose sine is 0.2, in any direction"
BETWEEN = "they may lie between these values, at most 0.5 from one, where responses are nearly linear"


@pytest.mark.parametrize(
    ("judge", "elements", "more", "said"),
    [
        (ROTATION, ONE, "", None),
        (ROTATION, ONE, SHIFT, VALUES),
        (COUNTS, TWO, "", "one of 2 variants is right, the same for all elements"),
        (COUNTS, TWO + '\nvariants = "cone"', SHIFT, f"{VALUES}; {MIX}, with nonnegative coefficients"),
        (EVIDENCE, TWO + '\nvariants = "cone"', "", f"{MIX}, with nonnegative coefficients"),
        (ROTATION, TWO + '\nvariants = "span"', "", f"{MIX}, with coefficients of either sign"),
        (ROTATION, ONE + '\ntangents = ["shift"]', SHIFT, f"{VALUES}; {BETWEEN}"),
        (EVIDENCE, ONE + "\nerror = 0.2", SHIFT, f"{VALUES}; {BALL}"),
    ],
)
def test_a_report_says_how_far_responses_may_be_off(tmp_path, judge, elements, more, said):
    top, rows = judge
    text = PROJECT.format(top=top, rows=rows, elements=elements, more=more)
    (tmp_path / "project.toml").write_text(text)
    (tmp_path / "lines.csv").write_text("id,region,place\na,line,10\nb,line,20\nc,line,30\n")
    np.save(tmp_path / "lines.npy", LINES)
    np.save(tmp_path / "wide.npy", np.exp(-0.5 * ((AXIS[:, None] - [10.0, 20.0, 30.0]) / 3.5) ** 2))
    rng, means = np.random.default_rng(1), 40.0 * LINES[:, 1]
    row = rng.poisson(means + 0.01) if judge is COUNTS else means + rng.standard_normal(Q)
    np.save(tmp_path / "rows.npy", row[None])
    report = run_project(load_project(tmp_path / "project.toml")).result.report
    assert report.fields[0].cell == ("b",)
    sentence = f"Assumed about the responses: {said}."
    assert (sentence in report.sentence) == (said is not None)
    assert said is not None or "responses" not in report.sentence
    assert "grid of variant" not in report.sentence


COVERED = """
level = 0.1

[data.deployment]
file = "rows.npy"
channels = 1
law = "gaussian"
noise = 0.25

[elements]
coordinates = ["x"]
response = { kind = "peak", axis = { from = 0, to = 1, count = 40 }, width = 0.08 }

[parameters.width]
between = [0.95, 1.05]

[cover]
snr = 30.0
tangents = true

[cover.box.line]
x = [0.4, 0.5]

[regions.line]
tolerance = 0.1
"""


def test_beside_a_cover_its_cells_alone_say_how_far_responses_go(tmp_path):
    (tmp_path / "project.toml").write_text(COVERED)
    wave = np.exp(-0.5 * ((np.linspace(0.0, 1.0, Q) - 0.4142) / 0.08) ** 2)
    noise = 0.5 * np.random.default_rng(3).standard_normal((50, Q))
    np.save(tmp_path / "rows.npy", 2.0 * wave / np.linalg.norm(wave) + noise)
    report = run_project(load_project(tmp_path / "project.toml")).result.report
    assert len(report.document["protocol"]["streams"][0]["law"]["half_steps"]) == 2  # tangents along x and the width
    assert report.document["outcome"]["status"] == "REPORT"
    assert "Elements are cells that fill the boxes (line: x 0.4 to 0.5; width 0.95 to 1.05)" in report.sentence
    assert "Assumed about the responses" not in report.sentence
    assert "between values" not in report.sentence
