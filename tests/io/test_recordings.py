"""Objects of mne as mne makes them, and its lead field of a sphere beside that of ours."""

import os

import numpy as np
import pytest
from scipy.stats import binom

from physupport import MisuseError
from physupport.analysis import PhysicalSupport
from physupport.banks import Library, forward_library, library_bank, product_grid
from physupport.io import as_table
from physupport.project import EXAMPLES
from physupport.responses import SphericalHead

os.environ.setdefault("MNE_USE_NUMBA", "false")  # to compile takes longer than all that is computed here
mne = pytest.importorskip("mne", reason="only environments of developers have it")
mne.set_log_level("ERROR")

EEG = EXAMPLES["eeg"]()
ELECTRODES = np.loadtxt(EEG["electrodes.csv"].splitlines(), delimiter=",", skiprows=1)  # millimetres
PLACES = np.loadtxt(EEG["places.csv"].splitlines(), delimiter=",", skiprows=1, usecols=(2, 3, 4))
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


def test_an_average_or_a_recording_of_several_times_asks_for_one_or_for_a_window(info):
    """175 times must not be read as 175 repeats of one mean."""
    for made in (mne.EvokedArray(DATA, info), mne.io.RawArray(DATA, info)):
        with pytest.raises(MisuseError, match=r"deployment must have one time, not 3 times\. Choose one: as_table"):
            as_table(made, channels=None, label="deployment")
        for channels in (None, "channels"):
            table = as_table(made, channels=channels, label="deployment", time=0.001)
            np.testing.assert_array_equal(table.values, DATA.T[[1]])
            assert (table.channels, table.source.unit) == (tuple(NAMES), "V")
        window = as_table(made, channels=None, label="deployment", time=(0.0005, 0.0025))
        np.testing.assert_allclose(window.values, DATA.T[1:].mean(axis=0)[None], rtol=1e-14)
        with pytest.raises(MisuseError, match=r"time must lie from 0 to 0\.002 seconds, not 0\.1"):
            as_table(made, channels=None, label="deployment", time=0.1)
    coils = mne.create_info(4, 1000.0, "mag")
    assert as_table(mne.EvokedArray(DATA[:4, :1], coils), channels=None, label="rows").source.unit == "T"
    with pytest.raises(MisuseError, match="time must be left out, as rows is no recording"):
        as_table(DATA, channels=1, label="rows", time=0.1)


def test_the_rows_of_epochs_are_epochs_at_one_time_or_over_a_window(info):
    made = mne.EpochsArray(np.random.default_rng(1).normal(size=(5, len(NAMES), 3)), info)
    for one in (made.copy().crop(0.001, 0.001), made):
        found = as_table(one, channels=None, label="rows", time=0.001).values
        np.testing.assert_array_equal(found, made.get_data()[:, :, 1])
    window = as_table(made, channels=None, label="rows", time=(0.001, 0.002)).values
    np.testing.assert_allclose(window, made.get_data()[:, :, 1:].mean(axis=2), rtol=1e-14)
    with pytest.raises(MisuseError, match=r"rows must have one time, not 3 times\. Choose one"):
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
    with pytest.raises(MisuseError, match=r"have channels of one unit, not T, V\. Pick channels of one kind"):
        as_table(mne.EvokedArray(DATA[:4, :1], mixed), channels=None, label="deployment")
    made = mne.EvokedArray(DATA[:, :1], info.copy())
    with pytest.raises(MisuseError, match="have its channels in columns, as frames and recordings do, not channels=0"):
        as_table(made, channels=0, label="deployment")
    made.info["bads"] = ["E2"]
    with pytest.raises(MisuseError, match="no channels that are marked as bad, not E2"):
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

    with pytest.raises(MisuseError, match="be channels of the forward solution, not 'T7'"):
        forward_library(fixed, channels=["T7"])
    short = fixed | {"sol": fixed["sol"] | {"data": fixed["sol"]["data"][:, :80]}}
    with pytest.raises(MisuseError, match="one column, or three, for each of its 85 sources, not 80 columns"):
        forward_library(short)


def kept(library, column, rng, noise=0.02):
    """What the report on a topography of this column in white noise keeps."""
    rows = column + noise * np.linalg.norm(column) / np.sqrt(len(column)) * rng.standard_normal((1, len(column)))
    model = PhysicalSupport(library, calibration=None, deployment="gaussian", alpha=0.1).fit()
    return model.report(rows).fields[0].cell


def test_a_dipole_that_points_anywhere_is_kept_by_the_span_of_its_columns(forward):
    """Ten dipoles of random direction at level .1; sources that all point along z, the control, lose most of them."""
    free, names = forward_library(forward, channels=NAMES), forward["sol"]["row_names"]
    assert free.variants.shape == (2, len(NAMES), 85)
    columns = forward["sol"]["data"][[names.index(name) for name in NAMES]].reshape(len(NAMES), 85, 3)
    for source in (0, 40):  # the three columns span what those of the solution do
        spanned = np.column_stack([free.responses[:, source], *free.variants[:, :, source]])
        left = columns[:, source] - spanned @ (spanned.T @ columns[:, source])
        assert np.linalg.norm(left) < 1e-6 * np.linalg.norm(columns[:, source])  # mne keeps single precision
    along_z = columns[:, :, 2] / np.linalg.norm(columns[:, :, 2], axis=0)
    fixed = Library(free.ids, free.regions, free.coordinates, along_z, "mm")
    lost = {"free": 0, "along z": 0}
    rng = np.random.default_rng(6)
    for source in rng.choice(85, 10, replace=False):
        truth = columns[:, source] @ rng.standard_normal(3)
        lost["free"] += free.ids[source] not in kept(free, truth, rng)
        lost["along z"] += free.ids[source] not in kept(fixed, truth, rng)
    assert binom.sf(lost["free"] - 1, 10, 0.1) > 1e-3
    assert binom.sf(lost["along z"] - 1, 10, 0.1) < 1e-3


def test_sources_in_a_volume_that_were_made_to_point_along_z_are_refused(info, forward):
    grid = mne.setup_volume_source_space(pos={"rr": PLACES / 1000.0, "nn": np.tile([0.0, 0.0, 1.0], (85, 1))})
    head = mne.make_sphere_model((0.0, 0.0, 0.0), 0.092)
    made = mne.make_forward_solution(info, None, grid, head, meg=False, mindist=0.0)
    forced = mne.convert_forward_solution(made, force_fixed=True, use_cps=False)
    with pytest.raises(
        MisuseError, match=r"orientations that are known, not \(0, 0, 1\) for all sources\. Give the solu"
    ):
        forward_library(forced)
    for each in (made, forward):  # nobody is told to force an orientation
        assert forward_library(each).variants is not None


def test_elements_whose_columns_mix_go_with_no_law_that_takes_one_of_each(forward):
    library = forward_library(forward)
    bank = library_bank(library, [["brain"]], {"brain": 1.0}, deployment=product_grid(noise=[1.0]))
    for law in ("mean", "covariance"):
        with pytest.raises(
            MisuseError, match=f"law must be 'gaussian' for elements with several columns.*, not {law!r}"
        ):
            PhysicalSupport(bank, calibration=None, deployment=law).fit()


def test_a_direction_that_no_sensor_sees_leaves_the_span_of_the_others(forward):
    """As along the radius of a sphere in MEG."""
    data = np.array(forward["sol"]["data"], dtype=np.float64)
    data[:, 2::3] = 0.0
    library = forward_library(forward | {"sol": forward["sol"] | {"data": data}}, channels=NAMES)
    np.testing.assert_array_equal(library.variants[1], library.responses)
    truth = library.responses[:, 7] + library.variants[0, :, 7]
    assert library.ids[7] in kept(library, truth, np.random.default_rng(7))


def test_an_average_is_reported_on_with_the_sources_of_its_forward_solution(forward, info):
    library = forward_library(
        mne.convert_forward_solution(forward, surf_ori=True, force_fixed=True), channels=NAMES[::-1]
    )
    bank = library_bank(library, [["brain"]], {"brain": [1.0]}, deployment=product_grid(noise=[1e-2]))
    data = library.responses[::-1, [7]] + 0.1 * np.random.default_rng(3).standard_normal((len(NAMES), 60))
    model = PhysicalSupport(bank, calibration=None, deployment="mean").fit()
    with pytest.raises(MisuseError, match="deployment must have one time, not 60 times"):
        model.report(mne.EvokedArray(data, info))
    # Channels of the library stand in another order than those of the recording, and are matched by their names.
    found = model.report(mne.EpochsArray(data.T[:, :, None], info))
    assert found.fields[0].cell == (library.ids[7],)
    assert model.result_.tables["deployment"].source.unit == "V"
