"""A run writes the whole report or nothing, says the same with any number of threads, and can be checked."""

import csv
import json

import numba
import numpy as np
import pytest

from physupport import MisuseError
from physupport.project import FILES, load_project, read_tables, run_project
from physupport.report import Details, Report
from physupport.verify import verify


@pytest.fixture
def finished(write, small):
    return run_project(load_project(write(more=small.calibration)))


def test_all_files_are_written_and_belong_together(finished):
    folder = finished.folder
    assert {path.name for path in folder.iterdir()} == {*FILES}
    assert [path.name for path in folder.parent.iterdir() if path.name.startswith(".")] == []
    report, details = Report.load(folder / "report.json"), Details.load(folder / "details.json")
    assert details.report == report.digests["document"]
    assert details.document["title"] == "Small"
    assert (folder / "fields.csv").read_text() == report.csv()
    for name in FILES:
        assert b"\r" not in (folder / name).read_bytes()
    assert report.digests["document"] == finished.result.report.digests["document"]
    assert "Small" in (folder / "report.html").read_text()


def test_the_data_tell_what_made_them(finished):
    # Strong sources, far apart: places a1 and b1 generated the rows.
    assert {found.field: (str(found.label), found.cell) for found in finished.result.report.fields} == {
        "A": ("FINE", ("a1",)),
        "B": ("FINE", ("b1",)),
    }


def test_every_query_is_a_line_with_its_verdict_and_what_it_says(finished):
    with (finished.folder / "queries.csv").open() as file:
        lines = list(csv.DictReader(file))
    trace, bank = finished.result.trace, finished.assembled.bank
    assert [int(line["explanation"]) for line in lines] == trace.queries.tolist()
    assert [float(line["margin_lower"]) for line in lines] == trace.verdicts.margins()[:, 0].tolist()
    assert {line["verdict"] for line in lines} == {"ADMISSIBLE", "REJECTED"}
    for line in lines:
        said = [line[region] for region in "AB" if line[region]]
        assert tuple(said) == bank.explanation(int(line["explanation"])).ids


def test_a_second_check_with_the_rows_of_the_project_agrees(finished):
    rows = {name: table.values for name, table in read_tables(finished.assembled.project).items()}
    found = verify(finished.folder / "report.json", rows)
    assert found.findings == ()
    rows["deployment"] = rows["deployment"][::-1]
    assert any("do not match their hash" in line for line in verify(finished.folder / "report.json", rows).findings)


def test_an_earlier_report_is_replaced_and_other_files_are_never_touched(write):
    path = write()
    first = run_project(load_project(path)).folder / "report.json"
    before = first.read_bytes()
    run_project(load_project(path, {"level": 0.2}))
    assert Report.load(first).level == 0.2
    assert first.read_bytes() != before
    (first.parent / "notes.txt").write_text("mine")
    with pytest.raises(MisuseError, match=r"must hold nothing but an earlier report, but .* also holds notes.txt"):
        run_project(load_project(path))
    assert (first.parent / "notes.txt").read_text() == "mine"
    with pytest.raises(MisuseError, match=r"override output.folder must name a folder, but .*elements.csv is a file"):
        run_project(load_project(path, {"output.folder": str(path.parent / "elements.csv")}))


@pytest.mark.parametrize("ending", ["returns False", "Ctrl-C"])
def test_a_stopped_run_reports_what_is_certified_so_far(write, ending):
    def stop(tick):
        if tick.used == 2:
            if ending == "Ctrl-C":
                raise KeyboardInterrupt
            return False
        return None

    found = run_project(load_project(write()), callback=stop)
    assert (found.result.report.queries, found.result.trace.ending.name) == (2, "STOPPED")
    assert {path.name for path in found.folder.iterdir()} == {*FILES}
    assert verify(found.folder / "report.json").findings == ()


class TestResume:
    """A run goes on from the report in its folder."""

    @pytest.fixture
    def stopped(self, write, small):
        path = write(more=small.calibration)
        run_project(load_project(path), callback=lambda tick: tick.used < 2)
        return path

    def test_it_ends_with_the_files_of_an_uninterrupted_run(self, stopped):
        resumed = run_project(load_project(stopped), resume=True).folder
        found = {name: (resumed / name).read_bytes() for name in FILES if name not in ("details.json", "report.html")}
        whole = run_project(load_project(stopped)).folder
        assert found == {name: (whole / name).read_bytes() for name in found}
        assert Report.load(whole / "report.json").queries > 2

    @pytest.mark.parametrize(
        ("damage", "message"),
        [
            ("none", "must hold the report to go on from, but there is none in"),
            ("torn", "must hold a sound report to go on from, but .*report.json"),
            ("changed", "must hold the report as it was written, but .*report.json was changed"),
        ],
    )
    def test_it_needs_a_sound_report(self, stopped, small, damage, message):
        report = stopped.parent / "report" / "report.json"
        text = report.read_text()
        match damage:
            case "none":
                report.unlink()
            case "torn":
                report.write_text(text[:-9])
            case "changed":
                report.write_text(text.replace('"seed": 3', '"seed": 4'))
        before = small.contents(stopped.parent)
        with pytest.raises(MisuseError, match=f"project.toml: output.folder {message}"):
            run_project(load_project(stopped), resume=True)
        assert small.contents(stopped.parent) == before


@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="this process has one thread")
def test_the_number_of_threads_changes_nothing_but_the_time(write, small, request):
    request.addfinalizer(lambda: numba.set_num_threads(1))
    path, found = write(more=small.calibration), []
    for threads in (1, 2):
        numba.set_num_threads(threads)
        folder = run_project(load_project(path)).folder
        details = json.loads((folder / "details.json").read_text())
        assert details.pop("seconds")
        assert details.pop("sha256")  # covers the seconds
        found.append(
            (folder.joinpath("report.json").read_bytes(), details, folder.joinpath("queries.csv").read_bytes())
        )
    assert found[0] == found[1]


@pytest.mark.parametrize("policy", ["fixed", "random", "farthest"])
def test_every_policy_comes_to_the_same_labels(write, finished, policy):
    found = run_project(load_project(write(), {"policy": policy}))
    assert found.result.report.document["protocol"]["policy"]["policy"].split()[0] == policy
    labels = [(each.field, each.label, each.cell) for each in found.result.report.fields]
    assert labels == [(each.field, each.label, each.cell) for each in finished.result.report.fields]


def test_complex_rows_are_scored_as_pairs_and_verified(write, small):
    # A phase that all elements share is a change of coordinates: complex atoms, the same angles between them.
    rng, turn = np.random.default_rng(2), np.exp(1j * np.arange(8))
    atoms = small.columns([0.2, 0.7]) * turn[:, None]
    codes, noise = (rng.normal(size=(400, k, 2)) @ [1.0, 1.0j] for k in (2, 8))
    own = 'response = { kind = "peak", axis = { from = 0, to = 1, count = 8 }, width = 0.15 }'
    path = write(
        (own, 'responses = "responses.npy"'),
        responses=small.columns([0.2, 0.35, 0.7, 0.9]) * turn[:, None],
        deployment=codes @ atoms.T + 0.5 * noise,
    )
    found = run_project(load_project(path))
    assert [each.cell for each in found.result.report.fields] == [("a1",), ("b1",)]
    assert found.result.report.document["protocol"]["streams"][0]["width"] == 16
    rows = {"deployment": np.load(path.parent / "deployment.npy").view(np.float64)}
    assert verify(found.folder / "report.json", rows).findings == ()
