"""A disk that is full ends every command in one message, and what was written before stays as it was."""

import os

import numpy as np
import pytest
from typer.testing import CliRunner

from physupport import MisuseError
from physupport.cli import app
from physupport.project import load_project, run_project, write_example
from physupport.studies import Outcome, write_outcome
from physupport.studies._outcome import Line

Q, PLACES = 60, np.linspace(8.0, 52.0, 9)
LINES = np.exp(-0.5 * ((np.arange(Q)[:, None] - PLACES) / 3.0) ** 2)


@pytest.fixture(scope="module")
def written(tmp_path_factory, write_lines):
    """A project with its report, and a map of nine signals with its page, in the folder that one is in."""
    folder = tmp_path_factory.mktemp("project")
    signals = np.random.default_rng(3).standard_normal((9, Q)) + 30.0
    changes = ("level = 0.05", "level = 0.1"), ("polynomial = 2", "polynomial = 1")
    path = write_lines(folder, PLACES, *changes, rows=signals[:1], lines=LINES)
    np.save(folder / "signals.npy", signals)
    run_project(load_project(path))
    before = os.getcwd()
    os.chdir(folder)
    ran = CliRunner().invoke(app, ["map", "--signals", "signals.npy", "--out", "map", "--quiet"])
    assert ran.exit_code == 0, ran.output
    (folder / "page.html").write_bytes((folder / "report/report.html").read_bytes() + b"<!-- earlier -->")
    yield folder
    os.chdir(before)


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize(
    ("arguments", "most", "named"),
    [
        (["map", "--signals", "signals.npy", "--out", "map", "--quiet"], 10_000, "--out must be .*map/map.html"),
        (["map", "--signals", "signals.npy", "--out", "map", "--signal", "3", "--quiet"], 200, "--out must be"),
        (["show", "report", "--html", "page.html"], 10_000, "--html must name a file that can be written, but 'page"),
        (["run", "--quiet"], 10_000, "output.folder must be"),
        (["init", "made/here"], 10_000, "folder must be one that can be written"),
    ],
)
def test_what_is_there_stays_and_the_message_names_it(written, small_files, arguments, most, named):
    before = contents(written)
    with small_files(most):
        error = CliRunner().invoke(app, arguments).exception
    assert isinstance(error, MisuseError), error
    assert error.__suppress_context__
    assert contents(written) == before
    with pytest.raises(MisuseError, match=rf"{named}.*too large"):
        raise error
    assert not (written / "made").exists()


def test_an_example_is_written_as_a_whole_or_not_at_all(tmp_path, small_files):
    (tmp_path / "mine.txt").write_text("mine")
    with small_files(10_000), pytest.raises(MisuseError, match=r"folder must be one that can be written, but .*large"):
        write_example(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    assert (tmp_path / "project.toml") in write_example(tmp_path)


def test_tables_of_a_study_stay_as_they_were(tmp_path, small_files):
    def outcome(n_rows):
        line = Line("rows", str(n_rows), str(n_rows), agrees=True)
        return Outcome("mechanism", (line,), {"rows": n_rows}, {"cases": [{"seed": i} for i in range(n_rows)]})

    write_outcome(outcome(3), tmp_path)
    before = contents(tmp_path)
    with small_files(1000), pytest.raises(MisuseError, match=r"folder for the output must be one that .*too large"):
        write_outcome(outcome(3000), tmp_path)
    assert contents(tmp_path) == before


def test_a_map_whose_folder_was_damaged_is_told_by_option_and_file_and_done_again(written):
    arguments = ["map", "--signals", "signals.npy", "--out", "map", "--quiet"]
    before = contents(written)
    (written / "map/first_hashes.npy").write_bytes(b"")
    error = CliRunner().invoke(app, arguments).exception
    assert isinstance(error, MisuseError)
    assert str(error) == (
        "--out: map/first_hashes.npy must be as the map was written, not 0 bytes instead of 160. "
        "Delete it: the same call does all blocks again."
    )
    (written / "map/first_hashes.npy").unlink()
    (written / "map/map.zarr/label/0.0").write_bytes(b"cut")
    assert CliRunner().invoke(app, arguments).exit_code == 0
    assert contents(written) == before
