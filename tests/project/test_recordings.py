"""Recordings and lists of directions or places in a project file, and the remedies of what is refused."""

import re

import numpy as np
import pytest
from scipy.io import wavfile
from tests.arrays.conftest import MICROPHONES, RATE, heard

from physupport import MisuseError
from physupport.io import Frames
from physupport.project import assemble, load_project, run_project
from physupport.verify import verify

PROJECT = """
level = 0.05

[data.deployment]
file = "one.wav"
frequencies = [900, 1500]
gap = 0

[elements]
kind = "directions"
from = 40
to = 100
step = 10
geometry = "mics.csv"
"""


@pytest.fixture
def folder(tmp_path):
    samples = heard([71.0])
    wavfile.write(tmp_path / "one.wav", RATE, (samples / np.abs(samples).max() * 30000).astype(np.int16))
    np.save(tmp_path / "one.npy", samples)
    lines = [f"mic {m},{x:g},{y:g}" for m, (x, y) in enumerate(MICROPHONES)]
    (tmp_path / "mics.csv").write_text("\n".join(["channel,x,y", *lines]))
    return tmp_path


def written(folder, *changes):
    text = PROJECT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    (folder / "project.toml").write_text(text)
    return load_project(folder / "project.toml")


def test_a_wav_and_a_geometry_are_a_project_of_a_dozen_lines(folder):
    finished = run_project(written(folder))
    report = finished.result.report
    assert "70 deg" in report.fields[0].cell
    assert len(report.fields[0].cell) <= 4
    law = report.document["protocol"]["streams"][0]["law"]
    assert (law["bands"], law["noise_shape"]["kind"]) == (2, "any")
    rows = finished.assembled.tables["deployment"].values
    assert verify(report.json(), {"deployment": np.array(rows)}).is_verified


def test_the_same_samples_in_another_file_give_the_same_snapshots(folder):
    of_wav = assemble(written(folder)).tables["deployment"].values
    other = written(folder, ('"one.wav"', f'"one.npy"\nchannels = 1\nsampling_rate = {RATE}'))
    of_table = assemble(other).tables["deployment"].values
    scale = np.vdot(of_table, of_wav).real / np.vdot(of_table, of_table).real
    assert np.abs(of_wav - scale * of_table).max() < 1e-3 * np.abs(of_wav).max()  # samples were rounded to 16 bits


def test_sensors_are_matched_to_the_channels_by_their_names(folder):
    samples = np.load(folder / "one.npy")[:, ::-1]
    table = [",".join(f"mic {m}" for m in (3, 2, 1, 0)), *(",".join(map(repr, row)) for row in samples[:9000].tolist())]
    (folder / "one.csv").write_text("\n".join(table))
    change = ('"one.wav"', f'"one.csv"\nchannels = 1\nsampling_rate = {RATE}')
    library = assemble(written(folder, change)).bank.states.library
    forward = assemble(written(folder)).bank.states.library
    blocks = [np.split(each.responses, 2) for each in (library, forward)]
    for named, plain in zip(*blocks, strict=True):
        assert np.abs(named.reshape(4, 2, -1)[::-1] - plain.reshape(4, 2, -1)).max() < 1e-12


def test_places_in_a_box_are_a_grid_of_coordinates(folder):
    old = 'kind = "directions"\nfrom = 40\nto = 100\nstep = 10'
    box = 'kind = "places"\nx = [0, 1]\ny = [1, 2]\nstep = 0.5\ncount = 2'
    assembled = assemble(written(folder, (old, box)))
    library = assembled.bank.states.library
    assert library.ids[:4] == ("(0, 1)", "(0, 1.5)", "(0, 2)", "(0.5, 1)")
    assert library.unit == "m"
    assert assembled.bank.size == 9 + 36  # one or two of nine places


def test_white_noise_keeps_its_variance_and_frames_are_independent():
    """Over frames, channels and frequencies four standard errors; the first lag and neighbouring frequencies."""
    frames = Frames.of(8000.0, [500.0, 1000.0, 1500.0])
    rows = frames.rows(np.random.default_rng(0).standard_normal((8000 * 60, 2)))
    n = rows.size
    assert abs(np.mean(np.abs(rows) ** 2) - 1.0) < 4.0 / np.sqrt(n)
    assert abs(np.mean(rows[1:] * rows[:-1].conj())) < 4.0 / np.sqrt(n)
    assert abs(np.mean(rows**2)) < 4.0 / np.sqrt(n)  # circular
    blocks = rows.reshape(len(rows), 3, 2)
    assert abs(np.mean(blocks[:, 1:] * blocks[:, :-1].conj())) < 4.0 / np.sqrt(n)


def test_negative_control_frequencies_nearer_than_is_allowed_are_dependent():
    near = [Frames.of(8000.0, [f], frame=256).rows(np.random.default_rng(0).standard_normal((8000 * 20, 1)))
            for f in (1000.0, 1031.25)]  # fmt: skip
    assert abs(np.mean(near[0] * near[1].conj())) > 0.5


# What is wrong, what is said, and the lines to paste, as the message has them.
REFUSED = [
    (("gap = 0", "sampling_rate = 44100"), "must be 8000, as one.wav states", ("sampling_rate = 44100", "")),
    (("frequencies = [900, 1500]\n", ""), "law is required", None),
    (("frequencies = [900, 1500]\ngap = 0", 'channels = 1\nlaw = "gaussian"\nrows = "random"'), "", None),
    (("[900, 1500]", "[900, 950]"), "at least 125 Hz apart", ("[900, 950]", "[900, 950]\nframe = {frame}")),
    (("[900, 1500]", "[40, 1500]"), "must lie between", ("[40, 1500]", "[40, 1500]\nframe = {frame}")),
    (("gap = 0", "frame = 4096"), "leave 10 frames or more", ("frame = 4096", "frame = {frame}\ngap = {gap}")),
    (("from = 40\nto = 100", "from = -9\nto = 9"), "on one side", ("from = -9\nto = 9", "from = {from}\nto = {to}")),
    (("step = 10", "step = 10\nstepp = 3"), "Did you mean step", ("stepp = 3", "")),
    (('"directions"', '"bearings"'), "elements.kind must be one of 'directions'", ('"bearings"', '"directions"')),
    (("step = 10\n", ""), "elements.step is required", ("to = 100", "to = 100\nstep = 10")),
]  # fmt: skip


@pytest.mark.parametrize(("change", "message", "mend"), REFUSED)
def test_every_refusal_has_a_remedy_that_works(folder, change, message, mend):
    with pytest.raises(MisuseError) as told:
        assemble(written(folder, change))
    assert message in str(told.value)
    if mend is not None:
        numbers = dict(re.findall(r"(frame|gap|from|to) = (\d+(?:\.\d+)?)", str(told.value)))
        pasted = mend[1].format(**numbers)
        (folder / "project.toml").write_text((folder / "project.toml").read_text().replace(mend[0], pasted, 1))
        assert assemble(load_project(folder / "project.toml")).bank.size > 1
