"""Objects of mne as mne makes them, and its lead field of a sphere beside that of ours."""

import os

import numpy as np
import pytest

from physupport import MisuseError
from physupport.analysis import PhysicalSupport
from physupport.banks import forward_library, library_bank, product_grid
from physupport.io import as_table
from physupport.project._example_eeg import _electrodes, _places
from physupport.responses import SphericalHead

os.environ.setdefault("MNE_USE_NUMBA", "false")  # to compile takes longer than all that is computed here
mne = pytest.importorskip("mne", reason="only environments of developers have it")
mne.set_log_level("ERROR")

ELECTRODES, PLACES = _electrodes(), _places()  # millimetres
NAMES = [f"E{i + 1}" for i in range(len(ELECTRODES))]
SKULL = 1.0 / 80.0
DATA = 1e-6 * np.random.default_rng(4).normal(size=(len(NAMES), 3))  # volts; channels, times


@pytest.fixture(scope="module")
def info():
    found = mne.create_info(NAMES, 1000.0, "eeg")
    positions = dict(zip(NAMES, ELECTRODES / 1000.0, strict=True))
    return found.set_montage(mne.channels.make_dig_montage(positions, coord_frame="head"))


@pytest.fixture(scope="module")
def forward(info):
    """Of free orientations, on three spheres as wide as ours."""
    conducts = (0.33, 0.33 * SKULL, 0.33)
    head = mne.make_sphere_model((0.0, 0.0, 0.0), 0.092, relative_radii=(80 / 92, 85 / 92, 1.0), sigmas=conducts)
    outwards = PLACES / np.linalg.norm(PLACES, axis=1)[:, None]
    source = mne.setup_volume_source_space(pos={"rr": PLACES / 1000.0, "nn": outwards})
    return mne.make_forward_solution(info, None, source, head, meg=False, mindist=0.0)


def apart(forward, conductivity):
    """(3 E,) how far each column of ours is from that of mne, as a part of it, up to one factor and the reference."""
    head = SphericalHead(ELECTRODES, conductivity=conductivity, orientation="free")
    ours = np.stack([axis(PLACES) for axis in head.variants], axis=2).reshape(len(NAMES), -1)
    mine, theirs = (each - each.mean(axis=0) for each in (ours, forward["sol"]["data"]))
    scale = np.vdot(mine, theirs) / np.vdot(mine, mine)
    return np.linalg.norm(scale * mine - theirs, axis=0) / np.linalg.norm(theirs, axis=0)


def test_our_head_of_three_spheres_answers_as_that_of_mne(forward):
    """Within a part in a hundred: mne stands for every source by three in one sphere, which is close and not exact."""
    assert apart(forward, SKULL).max() < 0.01
    assert apart(forward, SKULL / 2).max() > 0.05  # a negative control: another skull is noticed


def test_the_rows_of_an_average_and_of_a_recording_are_their_times_in_volts(info):
    for made in (mne.EvokedArray(DATA, info), mne.io.RawArray(DATA, info)):
        for channels in (None, "channels"):
            table = as_table(made, channels=channels, label="deployment")
            np.testing.assert_array_equal(table.values, DATA.T)
            assert (table.channels, table.source.unit) == (tuple(NAMES), "V")
    coils = mne.create_info(4, 1000.0, "mag")
    assert as_table(mne.EvokedArray(DATA[:4], coils), channels=None, label="rows").source.unit == "T"


def test_the_rows_of_epochs_are_epochs_at_one_time(info):
    made = mne.EpochsArray(np.random.default_rng(1).normal(size=(5, len(NAMES), 3)), info)
    one = made.copy().crop(0.001, 0.001)
    np.testing.assert_array_equal(as_table(one, channels=None, label="rows").values, made.get_data()[:, :, 1])
    with pytest.raises(MisuseError, match=r"have one time an epoch, got 3 times\. Crop"):
        as_table(made, channels=None, label="rows")


def test_a_covariance_has_the_names_of_its_channels(info):
    epochs = mne.EpochsArray(np.random.default_rng(2).normal(size=(20, len(NAMES), 8)), info)
    full = mne.compute_covariance(epochs)
    for made, expected in ((full, full["data"]), (full.copy().as_diag(), np.diag(np.diag(full["data"])))):
        table = as_table(made, channels=None, label="noise")
        np.testing.assert_array_equal(table.values, expected)
        assert table.channels == tuple(NAMES)


def test_what_a_recording_cannot_be_read_as(info):
    mixed = mne.create_info(4, 1000.0, ["eeg", "eeg", "mag", "eeg"])
    with pytest.raises(MisuseError, match=r"have channels of one unit, got T, V\. Pick channels of one kind"):
        as_table(mne.EvokedArray(DATA[:4], mixed), channels=None, label="deployment")
    made = mne.EvokedArray(DATA, info.copy())
    with pytest.raises(MisuseError, match="be read without an axis, as a recording names its channels, got channels=0"):
        as_table(made, channels=0, label="deployment")
    made.info["bads"] = ["E2"]
    with pytest.raises(MisuseError, match="no channels that are marked as bad, got E2"):
        as_table(made, channels=None, label="deployment")


def test_sources_are_elements_in_millimetres(forward):
    fixed = mne.convert_forward_solution(forward, surf_ori=True, force_fixed=True)
    sides = ["left" if x < 0.0 else "right" for x in PLACES[:, 0]]
    library = forward_library(fixed, regions=sides, channels=["E3", "E1", "E2"])
    assert library.region_names == ("left", "right")
    np.testing.assert_allclose(library.coordinates, PLACES, atol=1e-3)
    picked = fixed["sol"]["data"][[2, 0, 1]].astype(float)
    np.testing.assert_allclose(library.responses, picked / np.linalg.norm(picked, axis=0), rtol=1e-12)
    assert repr(library) == "Library(85 elements in left, right, 3 channels, places in mm)"

    with pytest.raises(MisuseError, match="one column for each of its 85 sources, got 255 columns"):
        forward_library(forward)
    with pytest.raises(MisuseError, match="be channels of the forward solution, got 'T7'"):
        forward_library(fixed, channels=["T7"])


def test_an_average_is_reported_on_with_the_sources_of_its_forward_solution(forward, info):
    library = forward_library(mne.convert_forward_solution(forward, surf_ori=True, force_fixed=True), channels=NAMES)
    bank = library_bank(library, [["brain"]], {"brain": [1.0]}, deployment=product_grid(noise=[1e-2]))
    data = library.responses[:, [7]] + 0.1 * np.random.default_rng(3).standard_normal((len(NAMES), 60))
    model = PhysicalSupport(bank, calibration=None, deployment="mean").fit()
    found = model.report(mne.EvokedArray(data, info))
    assert found.fields[0].cell == (library.ids[7],)
    assert model.result_.tables["deployment"].source.unit == "V"
