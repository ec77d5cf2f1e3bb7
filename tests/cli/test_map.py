"""`physupport map` and `physupport watch`, from project files to labels."""

import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from physupport.cli import app
from physupport.maps import SignalMap
from physupport.verify import verify

Q, PLACES = 60, np.linspace(8.0, 52.0, 9)
LINES = np.exp(-0.5 * ((np.arange(Q)[:, None] - PLACES) / 3.0) ** 2)
LINEAR = """
level = 0.1

[data.deployment]
file = "first.npy"
channels = 1
law = "gaussian"

[background]
polynomial = 1

[elements]
file = "lines.csv"
coordinates = ["place"]
responses = "lines.npy"

[regions.line]
coefficient = ">= 0"
presence = "optional"
tolerance = 6.0
"""
ARRIVING = """
level = 0.1

[data.deployment]
file = "first.npy"
channels = 1
law = "mean"
noise = [1.0]
proposal = 0.5

[elements]
file = "lines.csv"
coordinates = ["place"]
responses = "lines.npy"

[regions.line]
strength = [4.0]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("lines.npy", LINES)
    listed = [f"L{i},line,{place}" for i, place in enumerate(PLACES)]
    (tmp_path / "lines.csv").write_text("\n".join(["id,region,place", *listed]))
    return tmp_path


def test_an_image_is_labelled_and_one_pixel_reported_in_full(folder):
    rng = np.random.default_rng(3)
    image = rng.standard_normal((4, 5, Q)) + 30.0
    image[2:] += 15.0 * LINES[:, 4]
    np.save("image.npy", image)
    np.save("first.npy", image[0, :1])
    (folder / "project.toml").write_text(LINEAR)
    ran = CliRunner().invoke(app, ["map", "--signals", "image.npy", "--out", "out", "--rate", "0.2"])
    assert ran.exit_code == 0, ran.output
    assert "each signal by itself at level 0.1" in ran.output
    assert "Over the map, with an expected share of at most 0.2 of them false" in ran.output
    labels = SignalMap.open("out").labels("line")
    assert labels.shape == (4, 5)
    assert (labels[2:] == "FINE").mean() >= 0.8
    page = (folder / "out/map.html").read_text()
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
    assert data["shape"] == [4, 5]
    assert [data["names"][number] for number in data["first"][0]] == labels.ravel().tolist()
    assert data["sentences"][10] == SignalMap.open("out").sentence((2, 0))
    np.testing.assert_allclose(data["signals"][7], image[1, 2], rtol=1e-4)
    assert "http" not in page
    assert "max-width: 100%" in page  # on a telephone, too
    one = CliRunner().invoke(app, ["map", "--signals", "image.npy", "--out", "out", "--signal", "3,1", "--quiet"])
    assert one.exit_code == 0, one.output
    report = (folder / "out/signal-3-1/report.json").read_text()
    assert verify(report, {"deployment": image[3, 1][None]}).is_verified
    assert json.loads(report)["fields"][0]["label"] == labels[3, 1]
    wrong = CliRunner().invoke(app, ["map", "--signals", "image.npy", "--signal", "9,9"])
    assert "within the shape (4, 5)" in str(wrong.exception)


def test_rows_that_arrive_are_looked_at_again_and_again(folder):
    rng = np.random.default_rng(5)
    rows = 4.0 * LINES[:, 2] / np.linalg.norm(LINES[:, 2]) + rng.standard_normal((30, Q))
    np.save("first.npy", rows[:2])
    np.savetxt("arriving.csv", rows, delimiter=",", header="counts", comments="")
    (folder / "project.toml").write_text(ARRIVING)
    ran = CliRunner().invoke(app, ["watch", "arriving.csv", "--look", "10"])
    assert ran.exit_code == 0, ran.output
    assert [line.split()[0] for line in ran.output.splitlines()[:3]] == ["10", "20", "30"]
    assert "line FINE L2" in ran.output.splitlines()[2]
    (folder / "arriving.csv").write_text("1,2\n3,x\n")
    assert "line 2" in str(CliRunner().invoke(app, ["watch", "arriving.csv"]).exception)
    (folder / "arriving.csv").write_text("1,2\n3\n")
    assert "2 numbers in every line, as before, got 1 in line 2" in str(
        CliRunner().invoke(app, ["watch", "arriving.csv"]).exception
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"1,2\n3,4,5\n", "have 2 numbers in every line, as before, got 3 in line 2"),
        (b"\x93NUMPY", "be text, one row of numbers a line"),
    ],
)
def test_rows_that_are_no_table_are_refused_in_words(folder, content, message):
    np.save("first.npy", np.zeros((2, Q)))
    (folder / "project.toml").write_text(ARRIVING)
    (folder / "arriving.csv").write_bytes(content)
    assert message in str(CliRunner().invoke(app, ["watch", "arriving.csv"]).exception)


def test_no_rows_are_told(folder):
    np.save("first.npy", np.zeros((2, Q)))
    (folder / "project.toml").write_text(ARRIVING)
    (folder / "arriving.csv").write_text("")
    assert "No row came" in CliRunner().invoke(app, ["watch", "arriving.csv"]).stderr


def test_a_folder_that_is_no_map_is_not_written_into(folder):
    np.save("first.npy", np.zeros((2, Q)))
    (folder / "project.toml").write_text(LINEAR)
    ran = CliRunner().invoke(app, ["map", "--out", "."])
    assert "--out must be a new folder or an empty one, got .. Name another." in str(ran.exception)


def test_the_example_has_names_where_the_lines_are_strong(folder):
    assert CliRunner().invoke(app, ["init", "image", "--example", "map"]).exit_code == 0
    ran = CliRunner().invoke(app, ["map", "image", "--signals", "image/image.npy", "--out", "labels", "--rate", "0.1"])
    assert ran.exit_code == 0, ran.output
    found = SignalMap.open("labels")
    labels, kept = found.labels("line"), found.elements("line")
    assert (labels[7:10, 7:10] == "FINE").mean() > 0.8
    assert kept[7:10, 7:10, 3].mean() > 0.8
    assert kept[16:19, 26:29, 10].mean() > 0.8
    y, x = np.mgrid[:24, :32]
    is_bare = ((y - 8) ** 2 + (x - 8) ** 2 > 121) & ((y - 17) ** 2 + (x - 27) ** 2 > 121)
    stated = np.isin(found.labels("line", share=True), ["FINE", "GROUP"])
    assert is_bare.sum() > 100
    assert (stated & is_bare).sum() <= 0.1 * stated.sum()
