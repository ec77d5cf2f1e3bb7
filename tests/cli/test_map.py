"""`physupport map` and `physupport watch`, from project files to labels."""

import csv
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time

import numpy as np
import pytest
from scipy.stats import binom
from typer.testing import CliRunner

from physupport import MisuseError
from physupport.cli import app
from physupport.maps import SignalMap, _map
from physupport.verify import verify

Q, PLACES = 60, np.linspace(8.0, 52.0, 9)
LINES = np.exp(-0.5 * ((np.arange(Q)[:, None] - PLACES) / 3.0) ** 2)
# The project of lines as a map takes it, and as rows that arrive do.
LINEAR = (
    ("level = 0.05", "level = 0.1"),
    ("polynomial = 2", "polynomial = 1"),
    ("[regions.line]", '[regions.line]\ncoefficient = ">= 0"\ntolerance = 6.0'),
)
ARRIVING = (
    ("level = 0.05", "level = 0.1"),
    ('law = "gaussian"', 'law = "mean"\nnoise = [1.0]\nproposal = 0.5'),
    ("[background]\npolynomial = 2\n", ""),
    ('presence = "optional"', "strength = [4.0]"),
)
EMPTY = np.zeros((2, Q))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def write(folder, write_lines):
    return lambda rows, *changes: write_lines(folder, PLACES, *changes, rows=rows, lines=LINES)


def test_an_image_is_labelled_and_one_pixel_reported_in_full(folder, write):
    rng = np.random.default_rng(3)
    image = rng.standard_normal((4, 5, Q)) + 30.0
    image[2:] += 15.0 * LINES[:, 4]
    np.save("image.npy", image)
    write(image[0, :1], *LINEAR)
    ran = CliRunner().invoke(app, ["map", "--signals", "image.npy", "--out", "out", "--rate", "0.2"])
    assert ran.exit_code == 0, ran.output
    assert "each signal by itself at level 0.1" in ran.output
    assert "expected share of false ones (FDR) is at most 0.2" in ran.output
    table = [*csv.reader((folder / "out/map.csv").read_text().splitlines())]
    assert table[0][2:] == ["line label", "line class", "line possible", "line amounts", "line shares"]
    assert table[11][:5] == ["2", "0", "FINE", "L4", "L4"]
    assert re.fullmatch(r"L4 [\d.]+ \(fit, without a guarantee\)", table[11][5])
    header = (folder / "out/map.hdr").read_text()
    assert "samples = 5\nlines = 4\n" in header
    numbers = np.fromfile("out/map.img", dtype="<i2").reshape(4, 5)
    classes = re.search(r"class names = \{(.*)\}", header)[1].split(", ")
    assert classes[numbers[2, 0]] == "L4"
    labels = SignalMap.open("out").labels("line")
    assert labels.shape == (4, 5)
    assert (labels[2:] == "FINE").mean() >= 0.8
    page = (folder / "out/map.html").read_text()
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
    assert data["shape"] == [4, 5]
    (region,) = data["regions"]
    assert [data["names"][number] for number in region["first"]["labels"]] == labels.ravel().tolist()
    shown = np.array([region["classes"][number] for number in region["first"]["elements"]]).reshape(4, 5)
    assert (shown[labels == "FINE"] == "L4").mean() > 0.8  # the element, or the group, instead of the label
    assert (shown[labels == "GROUP"] == "one of line").all()
    assert (shown[labels == "SUPPORT_AMBIGUOUS"] == "SUPPORT_AMBIGUOUS").all()
    assert data["kept"][10] == [["L4"]]
    assert data["amounts"][10] == table[11][5]
    assert region["sizes"][10] > 10.0 * region["sizes"][0]
    says, fit = data["fits"][10][0]
    columns = np.stack([LINES[:, 4], np.ones(Q), np.arange(Q)], axis=1)
    assert says == [4]
    np.testing.assert_allclose(fit, columns @ np.linalg.lstsq(columns, image[2, 0], rcond=None)[0], rtol=1e-3)
    assert data["sentences"][10] == SignalMap.open("out").sentence((2, 0))
    np.testing.assert_allclose(data["signals"][7], image[1, 2], rtol=1e-4)
    assert "http" not in page
    assert "max-width: 100%" in page  # on a telephone, too
    one = CliRunner().invoke(app, ["map", "--signals", "image.npy", "--out", "out", "--signal", "3,1", "--quiet"])
    assert one.exit_code == 0, one.output
    report = (folder / "out/signal-3-1/report.json").read_text()
    assert verify(report, {"deployment": image[3, 1][None]}).is_verified
    assert json.loads(report)["fields"][0]["label"] == labels[3, 1]
    command = ["verify", "out/signal-3-1", "--project", ".", "--deployment", "out/signal-3-1.npy"]
    checked = CliRunner().invoke(app, command)
    assert checked.exit_code == 0, checked.output
    assert "every verdict from the rows" in checked.output
    assert "note: deployment rows are those of out/signal-3-1.npy, not those that the project" in checked.stderr
    np.save("out/signal-3-1.npy", image[3, 2][None])  # rows of another pixel are not taken for those of the report
    assert CliRunner().invoke(app, command).exit_code == 3
    wrong = CliRunner().invoke(app, ["map", "--signals", "image.npy", "--signal", "9,9"])
    assert "within the shape (4, 5)" in str(wrong.exception)


def test_rows_that_arrive_are_looked_at_again_and_again(folder, write):
    rng = np.random.default_rng(5)
    rows = 4.0 * LINES[:, 2] / np.linalg.norm(LINES[:, 2]) + rng.standard_normal((30, Q))
    write(rows[:2], *ARRIVING)
    np.savetxt("arriving.csv", rows, delimiter=",", header="counts", comments="")
    ran = CliRunner().invoke(app, ["watch", "arriving.csv", "--look", "10"])
    assert ran.exit_code == 0, ran.output
    assert [line.split()[0] for line in ran.stdout.splitlines()[:3]] == ["10", "20", "30"]
    assert "line FINE L2" in ran.stdout.splitlines()[2]
    assert ran.stderr == "note: rows arriving.csv: line 1 is taken for a header: counts\n"
    (folder / "arriving.csv").write_text("1,2\n3,x\n")
    assert "line 2" in str(CliRunner().invoke(app, ["watch", "arriving.csv"]).exception)
    (folder / "arriving.csv").write_text("1,2\n3\n")
    assert "2 numbers in every line, as before, not 1 in line 2" in str(
        CliRunner().invoke(app, ["watch", "arriving.csv"]).exception
    )


@pytest.mark.parametrize("noise", [0.25, 1.0])
def test_rows_that_arrive_and_do_not_fit_the_laws_are_told_as_run_tells_it(folder, write, noise):
    """The variance of the noise is 1; where it is stated as a quarter of that, the energy is four times as expected."""
    rows = 4.0 * LINES[:, 2] / np.linalg.norm(LINES[:, 2]) + np.random.default_rng(5).standard_normal((60, Q))
    write(rows, *[(old, new.replace("noise = [1.0]", f"noise = [{noise}]")) for old, new in ARRIVING])
    np.savetxt("arriving.csv", rows, delimiter=",")
    watched = (
        CliRunner().invoke(app, ["watch", "arriving.csv", "--look", "10"]).stdout.splitlines()[:-2]
    )  # but where it is saved
    ran = CliRunner().invoke(app, ["run", "--out", "out"]).stdout
    doubt = "The deployment rows do not look as the laws say, so that what is said may be wrong: they have "
    is_off = noise < 1.0
    assert ran.startswith(doubt) == is_off
    doubts = [line for line in watched if line.startswith(doubt)]
    assert bool(doubts) == is_off
    assert watched[-1].startswith("Take care: the watched deployment rows have ") == is_off
    if is_off:
        line = LINES[:, 2] / np.linalg.norm(LINES[:, 2])
        ratio = np.sum((rows - 4.0 * line) ** 2) / noise / rows.size
        assert doubts[0] == f"{doubt}{ratio:.3g} times the energy that is expected."


def test_the_line_of_a_look_says_how_many_elements_are_left_beside_those_it_names(folder, write):
    """Rows of zeros with noise far above all lines reject nothing, so that every line is left."""
    loud = [(old, new.replace("noise = [1.0]", "noise = [1e6]")) for old, new in ARRIVING]
    write(EMPTY, *loud)
    np.savetxt("arriving.csv", EMPTY, delimiter=",")
    first = CliRunner().invoke(app, ["watch", "arriving.csv"]).stdout.splitlines()[0]
    named, _, count = first.partition(", ... (")
    assert len(named.split(", ")) == 4
    assert count == f"{len(PLACES)} in all)"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"1,2\n3,4,5\n", "have 2 numbers in every line, as before, not 3 in line 2"),
        (b"\x93NUMPY", "be text, one row of numbers a line"),
        (bytes(2**24), "be lines of fewer than 16,777,216 characters"),
    ],
)
def test_rows_that_are_no_table_are_refused_in_words(folder, write, content, message):
    write(EMPTY, *ARRIVING)
    (folder / "arriving.csv").write_bytes(content)
    for answer in (
        CliRunner().invoke(app, ["watch", "arriving.csv"]),
        CliRunner().invoke(app, ["watch", "-"], input=content),
    ):
        assert message in str(answer.exception)


def test_a_report_from_standard_input_that_is_no_text_is_refused():
    for command in ("show", "verify"):
        answer = CliRunner().invoke(app, [command, "-"], input=b"\xff\xfe\x00")
        assert "be a readable text file" in str(answer.exception)


def test_ctrl_c_ends_the_waiting_and_the_report_follows(folder, write):
    """As the installed program does it, which lets Ctrl-C end it at once wherever nothing is to be said."""
    rows = 4.0 * LINES[:, 2] / np.linalg.norm(LINES[:, 2]) + np.random.default_rng(5).standard_normal((30, Q))
    write(rows[:2], *ARRIVING)
    np.savetxt("arriving.csv", rows, delimiter=",")
    command = [sys.executable, "-m", "physupport", "watch", "arriving.csv", "--look", "10", "--follow"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watching:
        looks = [watching.stdout.readline() for _ in range(3)]
        watching.send_signal(signal.SIGINT)
        out, err = watching.communicate(timeout=60)
    assert [line.split()[0] for line in looks] == ["10", "20", "30"]
    assert (watching.returncode, err) == (0, "Stopped.\n")
    assert "FINE" in out
    assert "L2" in out


def test_ctrl_c_in_a_map_says_how_to_go_on_and_another_rate_is_told_to_be_another_map(folder, write):
    image = np.random.default_rng(8).standard_normal((40_000, Q))
    write(image[:1], *LINEAR)
    np.save("image.npy", image)
    command = [sys.executable, "-m", "physupport", "map", "--signals", "image.npy", "--quiet"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as mapping:
        while not (folder / "map" / "map.json").exists() and mapping.poll() is None:
            time.sleep(0.01)
        mapping.send_signal(signal.SIGINT)
        _, err = mapping.communicate(timeout=60)
    assert (mapping.returncode, err) == (
        -signal.SIGINT,
        "Stopped. Finished blocks are kept: repeat the command to continue.\n",
    )
    error = CliRunner().invoke(app, [*command[3:], "--rate", "0.2"]).exception
    assert "that of the same map: signals, bank, question, judge, level and rate" in str(error)


def test_a_map_whose_description_is_no_file_is_refused(folder, write):
    write(EMPTY)
    np.save("image.npy", np.zeros((2, Q)))
    (folder / "map").mkdir()
    os.mkfifo(folder / "map" / "map.json")
    error = CliRunner().invoke(app, ["map", "--signals", "image.npy"]).exception
    assert "must have a file map.json" in str(error)


def test_no_rows_are_told(folder, write):
    write(EMPTY, *ARRIVING)
    (folder / "arriving.csv").write_text("")
    assert "No row came" in CliRunner().invoke(app, ["watch", "arriving.csv"]).stderr


def test_a_folder_that_is_no_map_is_not_written_into(folder, write):
    write(EMPTY, *LINEAR)
    ran = CliRunner().invoke(app, ["map", "--out", "."])
    assert "--out must be a new folder or an empty one, not .. Name another." in str(ran.exception)


@pytest.mark.parametrize("one", [[], ["--signal", "1"]])
def test_a_folder_that_cannot_be_made_is_refused(folder, write, one):
    write(EMPTY, *LINEAR)
    ran = CliRunner().invoke(app, ["map", "--out", "rows.npy/inside", *one])
    assert "--out must be a folder that can be made and written to, but rows.npy/inside" in str(ran.exception)


def test_a_scheduler_that_does_not_answer_is_refused_after_seconds(write, monkeypatch):
    write(EMPTY, *LINEAR)
    assert _map._ANSWER == 5  # as the page on maps says; Dask itself waits 30
    monkeypatch.setattr(_map, "_ANSWER", 1)
    with socket.socket() as taken:  # nobody listens there, nor can anybody begin to
        taken.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        ran = CliRunner().invoke(app, ["map", "--scheduler", address])
    assert f"answers, not {address} (Timed out trying to connect to {address} after 1 s)" in str(ran.exception)
    assert isinstance(ran.exception, MisuseError)


def test_what_listens_and_never_speaks_is_no_scheduler(write, monkeypatch):
    """In a process of its own, which ends although Dask waits on."""
    write(EMPTY, *LINEAR)
    program = "from physupport.maps import _map; from physupport.cli import main; _map._ANSWER = 0.5; main()"
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        command = [sys.executable, "-c", program, "map", "--scheduler", address]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 2
    assert f"address of one that answers, not {address} (no answer after 1.0 s)" in ran.stderr


def test_a_scheduler_that_has_no_address_is_refused(write):
    write(EMPTY, *LINEAR)
    ran = CliRunner().invoke(app, ["map", "--scheduler", "nowhere"])
    assert "scheduler must be local, or the address of one that answers, not nowhere" in str(ran.exception)


@pytest.fixture(scope="module")
def raman(tmp_path_factory):
    """The map of the example, beside its project, and what is truly in every pixel."""
    folder = tmp_path_factory.mktemp("raman") / "image"
    assert CliRunner().invoke(app, ["init", str(folder), "--example", "map"]).exit_code == 0
    arguments = [str(folder), "--signals", str(folder / "image.npy"), "--rate", "0.1", "--quiet"]
    ran = CliRunner().invoke(app, ["map", *arguments])
    assert ran.exit_code == 0, ran.output
    return SignalMap.open(folder / "map"), np.load(folder / "truth.npy")


def statements(raman, share):
    """(24, 32) where something is stated of a pixel, and where that is true."""
    found, truth = raman
    labels, kept = found.labels("sample", share=share), found.elements("sample", share=share)
    known = np.clip(truth - 1, 0, 5)
    is_kept = np.take_along_axis(kept, known[..., None], axis=-1)[..., 0] & (truth >= 1) & (truth <= 6)
    states = np.isin(labels, ["FINE", "GROUP", "ABSENT"]) & (found.array("gate") == 0)
    return states, is_kept | ((truth == 0) & (labels == "ABSENT"))


def test_measured_spectra_are_named_where_they_are_strong(raman):
    found, truth = raman
    labels, kept = found.labels("sample"), found.elements("sample")
    for element, (y, x) in {1: (6, 7), 2: (18, 8), 6: (6, 24)}.items():
        near = np.s_[y - 1 : y + 2, x - 1 : x + 2]
        assert (truth[near] == element).all()
        assert (labels[near] == "FINE").mean() > 0.7
        assert kept[near][..., element - 1].mean() > 0.7
    weak = np.s_[17:20, 23:26]  # a wafer too weak to be told from the others
    assert (labels[weak] == "GROUP").mean() > 0.5
    assert not kept[weak][..., :2].any()  # and never taken for calcite


def test_what_the_library_lacks_is_seen_to_be_missing(raman):
    found, truth = raman
    assert (truth[11:14, 15:18] == 7).all()
    assert (found.array("gate")[11:14, 15:18] != 0).all()
    assert "not in the bank is at channels" in found.sentence((12, 16))


def test_statements_about_measured_spectra_are_false_as_often_as_stated(raman):
    states, is_true = statements(raman, share=False)
    truth = raman[1]
    on_bank = truth <= 6
    # Every pixel has its level, so that false statements are at most that share of all pixels.
    assert binom.sf((states & ~is_true & on_bank).sum() - 1, on_bank.sum(), 0.1) > 1e-6
    made, true = statements(raman, share=True)
    assert made.sum() > 250
    assert (made & ~true).sum() <= 0.1 * made.sum()


def test_evidence_repeated_rows_and_another_axis_come_from_the_command_line(folder, write):
    rng = np.random.default_rng(4)
    cube = rng.standard_normal((4, Q, 3)) + 20.0  # signals, channels, repeated rows
    cube[2:] += 9.0 * LINES[:, [6]]
    np.save("cube.npy", cube)
    noisy = ('law = "gaussian"', 'law = "gaussian"\nnoise = [1.0]\nsplit = "fission"\nsplits = 4')
    write(cube[0, :, :1].T, *LINEAR, noisy, ("level = 0.1", 'level = 0.1\njudge = "evidence"'))
    arguments = ["map", "--signals", "cube.npy", "--channels", "1", "--repeats", "2", "--rate", "0.3"]
    ran = CliRunner().invoke(app, arguments)
    assert ran.exit_code == 0, ran.output
    found = SignalMap.open("map")
    assert found.about["are_e_values"]
    assert found.about["repeats"] == 3
    assert found.labels("line").tolist()[2:] == ["FINE", "FINE"]
    assert (folder / "map/map.npz").is_file()
    one = CliRunner().invoke(app, [*arguments[:-2], "--signal", "3"])
    assert one.exit_code == 0, one.output
    told = shlex.split(re.search("Check it: physupport (.*)", one.stdout)[1])
    assert told[-2:] == ["--deployment", str(folder / "map/signal-3.npy")]
    checked = CliRunner().invoke(app, told)
    assert checked.exit_code == 0, checked.output
