"""`count`: up to so many elements of a region at once, from the file to the checked report."""

import json

import numpy as np
import pytest

from physupport import MisuseError
from physupport.project import assemble, load_project, run_project
from physupport.verify import verify

PROJECT = """\
level = 0.1

[data.deployment]
file = "deployment.npy"
channels = 1
law = "gaussian"

[elements]
file = "elements.csv"
exact = true
coordinates = ["x"]
response = { kind = "peak", axis = { from = 0, to = 1, count = 30 }, width = 0.05 }

[regions.line]
count = 2
tolerance = 0.05

[regions.line.groups]
left = ["e0", "e1", "e2", "e3"]
"""
PLACES = np.linspace(0.0, 1.0, 9)


@pytest.fixture
def folder(tmp_path):
    waves = np.exp(-0.5 * ((np.linspace(0.0, 1.0, 30)[:, None] - PLACES) / 0.05) ** 2)
    rows = 9.0 * waves[:, 1] + 7.0 * waves[:, 6] + np.random.default_rng(5).standard_normal((6, 30))
    np.save(tmp_path / "deployment.npy", rows)
    (tmp_path / "elements.csv").write_text(
        "id,region,x\n" + "".join(f"e{i},line,{x!r}\n" for i, x in enumerate(PLACES.tolist()))
    )
    return tmp_path


def write(folder, text=PROJECT):
    (folder / "project.toml").write_text(text)
    return load_project(folder / "project.toml")


def test_two_sources_in_one_region_are_found_with_nothing_known_of_their_strengths(folder):
    finished = run_project(write(folder))
    (line,) = finished.result.report.fields
    assert finished.assembled.bank.size == 9 + 36
    assert (str(line.label), line.cell, line.not_asked) == ("FINE", ("e1 + e6",), ())
    assert line.sentence.startswith("Region line: e1 and e6.")
    rows = {"deployment": np.load(folder / "deployment.npy")}
    assert verify(folder / "report" / "report.json", rows).findings == ()
    document = json.loads((folder / "report" / "report.json").read_text())
    assert document["protocol"]["question"]["regions"][0]["count"] == [1, 2]
    assert document["bank"]["states"]["counts"] == [[1, 2]]
    assert "e1 + e6" in (folder / "report" / "fields.csv").read_text()


@pytest.mark.parametrize(("count", "size"), [("[2, 3]", 36 + 84), ("3", 9 + 36 + 84), ("1", 9), ("[1, 1]", 9)])
def test_a_count_is_a_number_or_a_range(folder, count, size):
    project = write(folder, PROJECT.replace("count = 2", f"count = {count}"))
    assert assemble(project).bank.size == size


@pytest.mark.parametrize("count", ["0", "[2, 1]", "1.5", "true", '"two"', "[1, 2, 3]", "[]"])
def test_other_counts_are_refused(folder, count):
    with pytest.raises(MisuseError, match=r"regions\.line\.count must be a whole number from 1 on, or \[least, most\]"):
        write(folder, PROJECT.replace("count = 2", f"count = {count}"))


def test_more_than_there_are_elements_is_refused(folder):
    with pytest.raises(MisuseError, match=r"regions\.line\.count must be at most 9, the number of its"):
        run_project(write(folder, PROJECT.replace("count = 2", "count = 10")))


def test_two_regions_with_the_same_elements_are_refused_with_the_remedy(folder):
    text = (folder / "elements.csv").read_text()
    again = text.splitlines()[1:]
    twice = text + "".join(f"f{line[1:].replace('line', 'other')}\n" for line in again)
    (folder / "elements.csv").write_text(twice)
    project = write(folder, PROJECT.replace("count = 2\n", "") + "\n[regions.other]\n")
    with pytest.raises(MisuseError, match="Make one region of them, with the count 2"):
        run_project(project)


def test_what_reaches_the_threshold_is_not_absent_because_of_a_weaker_element_beside_it(folder):
    waves = np.exp(-0.5 * ((np.linspace(0.0, 1.0, 30)[:, None] - PLACES) / 0.05) ** 2)
    noise = np.random.default_rng(6).standard_normal((6, 30))
    text = PROJECT.replace("count = 2\n", 'count = 2\npresence = "optional"\nabsence_threshold = 8.0\n')
    for strengths, label in (((12.0, 3.0), "FINE"), ((3.0, 2.5), "ABSENT")):
        np.save(folder / "deployment.npy", waves[:, [1, 6]] @ strengths + noise)
        (line,) = run_project(write(folder, text)).result.report.fields
        assert str(line.label) == label
