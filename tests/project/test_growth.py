"""How work and files grow with the number of regions: by lines of the program that are run, and by bytes."""

import json
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import physupport
from physupport.analysis import AnalysisProtocol, freeze
from physupport.cli import app
from physupport.project import assemble, forecast, load_project, run_project, write_example
from physupport.project._assemble import project_bank
from physupport.project._elements import check_size, read_elements
from physupport.questions import abridged
from physupport.report._words import explanation_words
from physupport.verify import verify

HOME = str(Path(physupport.__file__).parent)
# Twice as many regions run twice as many lines, and four times as many where pairs of regions are looked at.
LINEAR = 2.6


@pytest.fixture
def regions(tmp_path, write_peaks):
    """Write a project of so many regions, of which none or one is active."""

    def written(count, supports="max_active = 1", presence="optional"):
        folder = tmp_path / f"{count}-{presence}-{len(supports)}"
        folder.mkdir()
        each = f'strength = 1.0\npresence = "{presence}"\n'
        more = f"[supports]\n{supports}\n" + "".join(f"[regions.r{i}]\n{each}" for i in range(count))
        elements = "id,region,x\n" + "".join(f"e{i},r{i},{i / count}\n" for i in range(count))
        replaced = ("[regions.A]\nstrength = 2.0\ntolerance = 0.01\n", "")
        rows = np.random.default_rng(0).normal(size=(20, 8))
        return load_project(write_peaks(folder, replaced, more=more, elements=elements, deployment=rows))

    return written


def lines_run(call):
    """How many lines of the program a call runs."""
    count = 0

    def local(frame, event, argument):
        nonlocal count
        count += event == "line"
        return local

    def entered(frame, event, argument):
        return local if frame.f_code.co_filename.startswith(HOME) else None

    before = sys.gettrace()
    sys.settrace(entered)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("supports", ["max_active = 1", "leave_one_out = true", "max_active = 2"])
def test_counting_a_bank_takes_lines_in_proportion_to_its_regions(regions, supports):
    few, many = regions(100, supports), regions(200, supports)
    assert lines_run(lambda: check_size(many)) < LINEAR * lines_run(lambda: check_size(few))


@pytest.mark.parametrize("presence", ["optional", "always"])
def test_building_a_bank_takes_lines_in_proportion_to_its_regions(regions, presence):
    def built(count):
        project = regions(count, presence=presence, supports="" if presence == "always" else "max_active = 1")
        physical = read_elements(project)
        return lines_run(lambda: project_bank(project, physical))

    assert built(200) < LINEAR * built(100)


def test_negative_control_a_loop_over_pairs_is_seen():
    source = "def pairs(n):\n    for i in range(n):\n        for j in range(n):\n            pass\n"
    held = {}
    exec(compile(source, f"{HOME}/pairs.py", "exec"), held)
    assert lines_run(lambda: held["pairs"](200)) > LINEAR * lines_run(lambda: held["pairs"](100))


def test_a_field_takes_as_many_bytes_however_many_regions_there_are(regions):
    """An explanation is told with nine regions at most; longer names of regions add a few bytes."""

    def bytes_each(count):
        finished = run_project(regions(count))
        assert verify(finished.result.report.document).is_verified
        documents = finished.result.report.document, finished.details.document
        return [len(json.dumps(document["fields"])) / count for document in documents]

    for few, many in zip(bytes_each(20), bytes_each(80), strict=True):
        assert many < 1.2 * few


def test_what_is_told_of_many_regions_has_the_one_in_question_and_can_say_that_there_are_more():
    says = {f"r{i}": f"e{i}" if i % 2 else None for i in range(40)}
    told = abridged(says, "r30")
    assert told == {"r30": None} | {f"r{i}": f"e{i}" for i in range(1, 16, 2)}
    assert explanation_words(5, told, "r30").startswith("explanation 5 (r30: nothing, r1: e1, ")
    assert explanation_words(5, told, "r30").endswith(", r9: e9 and more)")
    few = {name: says[name] for name in ("r0", "r1")}
    assert abridged(few, "r0") == few
    assert abridged(dict.fromkeys(says)) == dict.fromkeys([*says][:9])


def peak_bytes(call):
    """The most that a call holds at once, of what Python and NumPy allocate."""
    tracemalloc.start()
    try:
        result = call()
        return result, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


# Bytes of arrays and objects; compiled kernels and libraries take another 220 MB at most.
DRY = 150e6


def test_a_dry_run_of_thousands_of_regions_counts_them_and_holds_no_table_of_supports(regions):
    project = regions(6_000)
    found, held = peak_bytes(lambda: forecast(project))
    assert found.explanations == 6_001
    assert held < DRY  # the strengths of all supports are 290 MB
    assert found.protocol is None
    assert "--dry-run --hash" in found.sentences()[-1]
    assert len(max(found.sentences(), key=len)) < 1000


@pytest.mark.parametrize("snr", [100.0, 300.0])
def test_a_dry_run_of_pairs_of_cells_holds_a_few_of_them(tmp_path, write_cover, snr):
    """575,128 and 5,166,505 pairs, each two columns of 20 channels."""
    free = ('judge = "simulation"\n', ""), ('law = "mean"', 'law = "gaussian"'), ("proposal = 0.5\n", "")
    open_strength = (("strength = 1.0\n", ""), ("tolerance = 0.2", "tolerance = 0.2\ncount = 2"))
    rows = np.random.default_rng(3).standard_normal((50, 20))
    changes = (*free, *open_strength, ("snr = 8.1", f"snr = {snr}"), ("eta = 0.8", "eta = 0.5"))
    project = load_project(write_cover(tmp_path, rows, *changes))
    found, held = peak_bytes(lambda: forecast(project))
    assert found.explanations > 100_000
    assert held < DRY
    assert found.seconds > 0.0


def judged(call):
    """How many explanations judges are opened for in a call, over all its trials."""
    opened, read = [], AnalysisProtocol.read

    def counted(protocol, **tables):
        opened.append(protocol.bank.size)
        return read(protocol, **tables)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AnalysisProtocol, "read", counted)
        result = call()
    return result, opened


def test_a_dry_run_opens_its_judge_for_few_of_many_explanations(tmp_path, write_peaks):
    elements = "id,region,x\n" + "".join(f"{r}{i},{r},{i / 100 + (r == 'B')}\n" for r in "AB" for i in range(100))
    more = "\n[regions.B]\nstrength = 1.0\n"
    simulation = ("level = 0.1", 'level = 0.1\njudge = "simulation"')
    rows = np.random.default_rng(0).normal(size=(20, 8))
    project = load_project(write_peaks(tmp_path, simulation, more=more, elements=elements, deployment=rows))
    found, opened = judged(lambda: forecast(project))
    assert found.explanations == 10_000
    # The last is that of the hash, for which no verdict is asked.
    assert max(opened[:-1]) <= 1024
    assert found.seconds > 0.0
    assert found.protocol == freeze(assemble(project).protocol, assemble(project).tables).digest


def test_a_dry_run_where_all_regions_but_one_are_active_fits_few_combinations(tmp_path):
    count, channels = 120, 260
    lines = np.exp(-0.5 * ((np.arange(channels)[:, None] - np.linspace(5, 255, count)) / 1.5) ** 2)
    np.save(tmp_path / "lines.npy", lines)
    np.save(tmp_path / "rows.npy", np.random.default_rng(1).poisson(20.0 + 50.0 * lines[:, ::7].sum(axis=1))[None])
    names = [f"E{i}" for i in range(count)]
    (tmp_path / "lines.csv").write_text("id,region,place\n" + "".join(f"{n},{n},{i}\n" for i, n in enumerate(names)))
    parts = [
        'level = 0.1\n[data.deployment]\nfile = "rows.npy"\nchannels = 1\nlaw = "poisson"',
        '[background]\npolynomial = 1\n[elements]\nfile = "lines.csv"\ncoordinates = ["place"]',
        'responses = "lines.npy"\n[supports]\nleave_one_out = true\n[regions]',
        *(f'{name} = {{ presence = "optional" }}' for name in names),
    ]
    (tmp_path / "project.toml").write_text("\n".join(parts))
    project = load_project(tmp_path / "project.toml")
    found, opened = judged(lambda: forecast(project))
    assert found.explanations == 121
    assert sum(opened[:-1]) < 121  # all trials together, for which every combination is fitted
    assert found.protocol is not None


@pytest.mark.parametrize("name", ["raman", "four-region", "xrf"])
def test_the_time_and_the_hash_of_an_example_are_told(tmp_path, name):
    write_example(tmp_path, name)
    found = forecast(load_project(tmp_path / "project.toml"))
    assert found.seconds > 0.0
    assert found.protocol is not None


def test_laws_of_thousands_of_active_elements_are_not_tried(regions):
    found = forecast(regions(600, supports="", presence="always"))
    assert found.seconds is None
    assert "The computing time was not measured" in " ".join(found.sentences())
    assert forecast(regions(20, supports="", presence="always")).seconds > 0.0


def test_the_hash_of_a_large_bank_is_worked_out_where_it_is_asked_for(tmp_path, write_peaks, monkeypatch):
    rows = np.random.default_rng(0).normal(size=(20, 8))
    path = write_peaks(tmp_path, deployment=rows)
    monkeypatch.setattr("physupport.project._forecast._MOST_SETS", 1)
    assert forecast(load_project(path)).protocol is None
    project = load_project(path)
    digest = freeze(assemble(project).protocol, assemble(project).tables).digest
    assert forecast(load_project(path), has_hash=True).protocol == digest
    told = CliRunner().invoke(app, ["run", str(path), "--dry-run", "--hash"])
    assert digest in told.stdout
    assert "--hash must come with --dry-run" in str(CliRunner().invoke(app, ["run", str(path), "--hash"]).exception)
