"""The width of responses from sources at known places: what is measured, leave one out, and what is written."""

import os
import tomllib
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from physupport import MisuseError
from physupport._files import hidden_beside
from physupport.cli import app
from physupport.project import load_project, response_error, run_project, write_error
from physupport.project._response_error import with_error
from physupport.responses import source_errors

Q, PLACES = 40, np.array([8.0, 14.0, 20.0, 26.0, 32.0])
AXIS = np.arange(Q)
LINES = np.exp(-0.5 * ((AXIS[:, None] - PLACES) / 2.5) ** 2)
UNIT = LINES / np.linalg.norm(LINES, axis=0)
PROJECT = """# what came first stays
level = 0.05
judge = "evidence"

[data.deployment]
file = "row.npy"
channels = 1
law = "gaussian"
noise = 1.0
split = "fission"

[elements]   # five of them
file = "elements.csv"
coordinates = ["place"]
responses = "lines.npy"

[regions.left]
presence = "optional"
coefficient = ">= 0"

[regions.right]
presence = "optional"
coefficient = ">= 0"

[supports]
list = [["left"], ["right"]]
"""


def turned(column, sine, rng):
    aside = rng.standard_normal(Q)
    aside -= (aside @ column) * column
    return np.sqrt(1.0 - sine**2) * column + sine * aside / np.linalg.norm(aside)


SINES = (0.05, 0.1195, 0.08, 0.1, 0.02)


@pytest.fixture
def folder(tmp_path):
    def made(text=PROJECT, sources=None):
        rng = np.random.default_rng(1)
        (tmp_path / "project.toml").write_bytes(text.encode())
        np.save(tmp_path / "lines.npy", LINES)
        np.save(tmp_path / "row.npy", 300.0 * turned(UNIT[:, 1], 0.1, rng)[None] + rng.standard_normal((1, Q)))
        listed = [f"L{i},{'left' if i < 3 else 'right'},{place}" for i, place in enumerate(PLACES)]
        (tmp_path / "elements.csv").write_text("\n".join(["id,region,place", *listed]))
        lines = ["element," + ",".join(f"c{i}" for i in range(Q))]
        for i, sine in enumerate(SINES):
            lines.append(f"L{i}," + ",".join(map(repr, (7.0 * turned(UNIT[:, i], sine, rng)).tolist())))
        (tmp_path / "sources.csv").write_text("\n".join(lines) if sources is None else sources)
        return tmp_path / "project.toml"

    return made


def test_sines_are_those_of_the_angles_by_source_and_by_region(folder):
    found = response_error(load_project(folder()))
    np.testing.assert_allclose(found.sines, SINES, atol=1e-9)
    assert found.error == 0.12
    assert found.by_region == {"left": (pytest.approx(0.1195), 3), "right": (pytest.approx(0.1), 2)}
    assert found.lines()[0].startswith("error = 0.12: the largest sine of the angle between a response and 5 sources")


def test_the_command_writes_the_key_and_nothing_else_and_the_project_then_runs(folder):
    path = folder()
    before = path.read_bytes()
    measured = CliRunner().invoke(app, ["response-error", str(path), "--dry-run"])
    assert measured.exit_code == 0
    assert path.read_bytes() == before
    told = CliRunner().invoke(app, ["response-error", str(path)])
    assert told.exit_code == 0
    assert "right: largest 0.1 of 2" in told.output
    after = path.read_bytes()
    assert after == before.replace(b"# five of them\n", b"# five of them\nerror = 0.12\n")
    drawn = ElementTree.fromstring((path.parent / "response-error.svg").read_text())
    assert sum(each.get("class") == "kept" for each in drawn.iter()) == len(SINES)
    (left, _) = run_project(load_project(path)).result.report.fields
    assert left.cell == ("L1",)
    again = CliRunner().invoke(app, ["response-error", str(path)])
    assert again.exit_code == 0
    assert path.read_bytes() == after


def test_a_project_file_is_replaced_in_one_step_and_stays_what_it_was_where_that_fails(folder, monkeypatch):
    """Whoever is killed between two writes finds the old file or the new one."""
    path = folder()
    before, replace_in_one_step = path.read_bytes(), os.replace
    path.chmod(0o640)
    hidden_beside(path).write_text("of a run that was killed")

    def failing(source, target, **more):
        assert Path(source).read_bytes() != before  # all of the new one is there
        assert path.read_bytes() == before
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(MisuseError, match="must be a file that can be written"):
        write_error(load_project(path), response_error(load_project(path)))
    assert path.read_bytes() == before
    monkeypatch.setattr(os, "replace", replace_in_one_step)
    write_error(load_project(path), response_error(load_project(path)))
    assert b"error = 0.12" in path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o640
    assert not hidden_beside(path).exists()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"[elements]\r\nfile = 'e'\r\n", b"[elements]\r\nerror = 0.05\r\nfile = 'e'\r\n"),
        (b"[elements]\nfile = 'e'\nerror=0.2 # old\n[x]\nerror = 1\n",
         b"[elements]\nfile = 'e'\nerror=0.05 # old\n[x]\nerror = 1\n"),
        (b"[x]\nerror = 1.0\n[elements]", b"[x]\nerror = 1.0\n[elements]\nerror = 0.05"),
    ],
)  # fmt: skip
def test_all_other_bytes_stay(text, expected):
    assert with_error(text, 0.05) == expected
    assert tomllib.loads(expected.decode())["elements"]["error"] == 0.05


@pytest.mark.parametrize(
    "text", [b"elements = { file = 'e' }\n", b"elements.file = 'e'\n", b"t = '''\n[elements]\n'''\n"]
)
def test_files_of_another_form_are_left_to_their_owner(text):
    with pytest.raises(MisuseError, match=r"Write error = 0\.05 there yourself"):
        with_error(text, 0.05)


def test_a_project_that_takes_no_width_is_refused_and_stays_as_it_is(folder):
    path = folder(PROJECT.replace('judge = "evidence"', 'judge = "rotation"').replace('split = "fission"\n', ""))
    before = path.read_bytes()
    told = CliRunner().invoke(app, ["response-error", str(path)])
    assert "be 'evidence' where responses have an error" in str(told.exception)
    assert "error = 0.12" in told.output  # what was measured is told all the same
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        ("element,c0\nL0,1\n", "and either file or one for each of 40 channels"),
        ("element,file\nL9,a.npy\n", "name elements of the list, not 'L9'"),
        ("element,file\nL0,row.npy\n", "have two sources or more, as each is left out in turn"),
    ],
)
def test_sources_that_say_something_else_are_refused(folder, sources, message):
    with pytest.raises(MisuseError, match=message):
        response_error(load_project(folder(sources=sources)))


def test_a_source_is_measured_in_the_state_that_fits_the_others():
    rng = np.random.default_rng(2)
    states = np.stack([UNIT, np.roll(UNIT, 1, axis=0)])  # an axis that may be off by a channel
    rows = [turned(states[1, :, i], 0.03, rng) for i in range(5)]
    found = source_errors(states, rows)
    assert found.state == 1
    np.testing.assert_allclose(found.sines, 0.03, atol=1e-9)
    rows[0] = turned(states[0, :, 0], 0.01, rng)  # this one contradicts the others, which choose for it
    assert source_errors(states, rows).sines[0] > 0.1


def test_snapshots_of_unknown_waveforms_and_a_background_leave_the_direction():
    rng = np.random.default_rng(3)
    atoms = UNIT * np.exp(0.5j * AXIS)[:, None]
    waves = rng.standard_normal((20, 2)) @ [1.0, 1.0j]
    truth = atoms[:, 0] + 0.1 * atoms[:, 3] / np.linalg.norm(atoms[:, 3])
    measured = [waves[:, None] * truth, waves[:, None] * atoms[:, 1]]
    found = source_errors(atoms[None, :, :2], measured).sines
    np.testing.assert_allclose(found, [0.1 / np.sqrt(1.01), 0.0], atol=1e-6)  # atoms 0 and 3 hardly overlap
    background = np.ones((Q, 1))
    shifted = [1.0 * UNIT[:, i] + 5.0 for i in range(3)]
    np.testing.assert_allclose(source_errors(UNIT[None, :, :3], shifted, background).sines, 0.0, atol=1e-7)


def test_the_measured_width_holds_a_further_source_as_often_as_is_said():
    rng, beyond, runs = np.random.default_rng(4), 0, 400
    for _ in range(runs):
        sines = np.abs(rng.normal(0.0, 0.1, 10))
        rows = [turned(UNIT[:, i % 5], sine, rng) for i, sine in enumerate(sines)]
        found = source_errors(UNIT[None][:, :, [i % 5 for i in range(9)]], rows[:9]).sines
        beyond += sines[9] > found.max()
    # One in ten; four deviations of a count of 400.
    assert abs(beyond - runs / 10) < 4.0 * np.sqrt(runs * 0.09)
