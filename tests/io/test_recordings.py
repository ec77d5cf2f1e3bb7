"""Objects as mne makes them, written here with the attributes that they have; mne itself is not needed."""

from types import SimpleNamespace

import numpy as np
import pytest

from physupport import MisuseError
from physupport.analysis import PhysicalSupport
from physupport.banks import forward_library, library_bank, product_grid
from physupport.io import as_table

NAMES = ["Fz", "Cz", "Pz", "Oz"]
DATA = np.random.default_rng(4).normal(size=(4, 3))  # channels, times


def info(units=(107, 107, 107, 107), bads=()):
    return {"chs": [{"unit": unit} for unit in units], "bads": [*bads]}


def evoked(**changes):
    return SimpleNamespace(**{"data": DATA, "times": np.arange(3), "ch_names": NAMES, "info": info()} | changes)


class Epochs:
    """Data on request, and no attribute `data`."""

    def __init__(self, data):
        self.ch_names, self.times, self.info, self._data = NAMES, np.arange(data.shape[2]), info(), data

    def get_data(self):
        return self._data


class Covariance(dict):
    @property
    def ch_names(self):
        return self["names"]

    @property
    def data(self):
        return self["data"]


def test_the_rows_of_an_average_are_its_times_in_volts():
    table = as_table(evoked(), channels=None, label="deployment")
    np.testing.assert_array_equal(table.values, DATA.T)
    assert (table.channels, table.source.unit) == (tuple(NAMES), "V")
    assert as_table(evoked(info=info((112,) * 4)), channels="channels", label="deployment").source.unit == "T"


def test_the_rows_of_epochs_are_epochs_at_one_time():
    epochs = np.random.default_rng(1).normal(size=(5, 4, 1))
    np.testing.assert_array_equal(as_table(Epochs(epochs), channels=None, label="rows").values, epochs[:, :, 0])
    with pytest.raises(MisuseError, match=r"have one time an epoch, got 2 times\. Crop"):
        as_table(Epochs(np.ones((5, 4, 2))), channels=None, label="rows")


def test_a_covariance_has_the_names_of_its_channels():
    full = np.cov(np.random.default_rng(2).normal(size=(4, 9)))
    for data, expected in ((full, full), (np.arange(1.0, 5.0), np.diag(np.arange(1.0, 5.0)))):
        table = as_table(Covariance(data=data, names=NAMES, diag=data.ndim == 1), channels=None, label="noise")
        np.testing.assert_array_equal(table.values, expected)
        assert table.channels == tuple(NAMES)


def test_what_a_recording_cannot_be_read_as():
    with pytest.raises(MisuseError, match=r"have channels of one unit, got T, V\. Pick channels of one kind"):
        as_table(evoked(info=info((107, 107, 112, 107))), channels=None, label="deployment")
    with pytest.raises(MisuseError, match="no channels that are marked as bad, got Cz"):
        as_table(evoked(info=info(bads=["Cz"])), channels=None, label="deployment")
    with pytest.raises(MisuseError, match="be read without an axis, as a recording names its channels, got channels=0"):
        as_table(evoked(), channels=0, label="deployment")


GAINS = np.random.default_rng(8).normal(size=(4, 3)) * 1e3


def forward(**changes):
    places = np.array([[0.0, 0.0, 0.05], [0.0, 0.02, 0.04], [0.01, 0.0, 0.06]])
    spaces = [{"vertno": np.array([4, 9])}, {"vertno": np.array([4])}]
    return {"sol": {"data": GAINS, "row_names": NAMES}, "source_rr": places, "src": spaces} | changes


def test_sources_are_elements_in_millimetres():
    library = forward_library(forward(), regions=["left", "left", "right"], channels=["Oz", "Fz", "Cz"])
    assert library.ids == ("lh 4", "lh 9", "rh 4")
    assert library.region_names == ("left", "right")
    np.testing.assert_allclose(library.coordinates[1], [0.0, 20.0, 40.0])
    picked = GAINS[[3, 0, 1]]
    np.testing.assert_allclose(library.responses, picked / np.linalg.norm(picked, axis=0), rtol=1e-12)

    with pytest.raises(MisuseError, match="one column for each of its 3 sources, got 9 columns"):
        forward_library(forward(sol={"data": np.ones((4, 9)), "row_names": NAMES}))
    with pytest.raises(MisuseError, match="be channels of the forward solution, got 'T7'"):
        forward_library(forward(), channels=["T7"])
    with pytest.raises(MisuseError, match="have a response of every source, got none of source 1"):
        forward_library(forward(sol={"data": GAINS * [1, 0, 1], "row_names": NAMES}))


def test_an_average_is_reported_on_with_the_sources_of_its_forward_solution():
    library = forward_library(forward())
    bank = library_bank(library, [["brain"]], {"brain": [1.0]}, deployment=product_grid(noise=[1e-4]))
    data = library.responses[:, [1]] + 0.01 * np.random.default_rng(3).standard_normal((4, 60))
    model = PhysicalSupport(bank, calibration=None, deployment="mean").fit()
    found = model.report(evoked(data=data, times=np.arange(60)))
    assert found.fields[0].cell == ("lh 9",)
    assert model.result_.tables["deployment"].source.unit == "V"
