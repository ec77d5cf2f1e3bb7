"""Arrays in memory, with and without labels."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from physupport import MisuseError
from physupport.io import as_table

VALUES = np.random.default_rng(5).normal(size=(4, 3))


def test_a_plain_array_is_viewed_not_copied():
    table = as_table(VALUES, channels=0, label="calibration", unit="T")
    np.testing.assert_array_equal(table.values, VALUES.T)
    assert np.shares_memory(table.values, VALUES)
    assert VALUES.flags.writeable
    assert table.channels == ("0", "1", "2", "3")
    assert (table.source.path, table.source.member) == (None, None)
    assert (table.source.shape, table.source.dtype, table.source.unit) == ((4, 3), "float64", "T")


def test_a_memory_map_stays_one(tmp_path):
    np.save(tmp_path / "data.npy", VALUES)
    mapped = np.load(tmp_path / "data.npy", mmap_mode="r")
    assert isinstance(as_table(mapped, channels=1, label="calibration").values, np.memmap)


def test_lists_are_arrays_and_ragged_ones_are_not():
    assert as_table([[1, 2], [3, 4]], channels=1, label="calibration").values.tolist() == [[1, 2], [3, 4]]
    with pytest.raises(MisuseError, match="calibration must be an array, not list"):
        as_table([[1, 2], [3]], channels=1, label="calibration")


@pytest.mark.parametrize("channels", [None, 1, "columns"])
def test_the_columns_of_a_frame_are_channels(channels):
    frame = pd.DataFrame({"left": [1, 2], 7: [0.5, 1.5]}, index=["monday", "tuesday"])
    table = as_table(frame, channels=channels, label="calibration")
    assert table.channels == ("left", "7")
    assert table.values.tolist() == [[1.0, 0.5], [2.0, 1.5]]


def test_a_frame_of_nullable_numbers_has_its_gaps_as_nan():
    frame = pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "b": pd.array([0.5, 2.0], dtype="Float64")})
    values = as_table(frame, channels=None, label="calibration").values
    np.testing.assert_array_equal(values, [[1.0, 0.5], [np.nan, 2.0]])
    assert values.dtype == np.float64


@pytest.mark.parametrize("column", [["x", "y"], [True, False], pd.to_datetime(["2026-01-01", "2026-01-02"])])
def test_a_column_that_holds_no_numbers_is_named(column):
    with pytest.raises(MisuseError, match="in column 'b'"):
        as_table(pd.DataFrame({"a": [1.0, 2.0], "b": column}), channels=None, label="calibration")


@pytest.mark.parametrize("channels", [0, "rows", "a", True])
def test_a_frame_is_never_turned(channels):
    with pytest.raises(MisuseError, match="have its channels in columns"):
        as_table(pd.DataFrame({"a": [1.0]}), channels=channels, label="calibration")


def test_columns_of_one_name_are_refused():
    with pytest.raises(MisuseError, match="'a' appears more than once"):
        as_table(pd.DataFrame(VALUES[:, :2], columns=["a", "a"]), channels=None, label="calibration")


def test_a_labelled_array_is_turned_by_the_name_of_its_dimension():
    array = xr.DataArray(VALUES.T, dims=("sensor", "time"), coords={"sensor": ["l", "m", "r"]}, attrs={"units": "fT"})
    table = as_table(array, channels="sensor", label="calibration")
    np.testing.assert_array_equal(table.values, VALUES)
    assert table.channels == ("l", "m", "r")
    assert (table.source.unit, table.source.shape) == ("fT", (3, 4))
    other = as_table(array, channels="time", label="calibration")
    assert (other.channels, other.source.unit) == (("0", "1", "2", "3"), "fT")
    with pytest.raises(MisuseError, match="have the unit fT, which it states itself, not 'T'"):
        as_table(array, channels="time", label="calibration", unit="T")


def test_coordinates_that_repeat_are_no_names_and_names_that_repeat_are_refused():
    array = xr.DataArray(VALUES, dims=("time", "angle"), coords={"angle": [0.5, 0.5, 1.0]})
    assert as_table(array, channels="angle", label="calibration").channels == ("0", "1", "2")
    array = xr.DataArray(VALUES, dims=("time", "sensor"), coords={"sensor": ["a", "a", "b"]})
    with pytest.raises(MisuseError, match="have channels of distinct names, but 'a' appears more than once"):
        as_table(array, channels="sensor", label="calibration")
    array = xr.DataArray(VALUES, dims=("time", "angle"), coords={"angle": [0.5, 0.7, 1.0]})
    assert as_table(array, channels="angle", label="calibration").channels == ("0.5", "0.7", "1.0")


@pytest.mark.parametrize("channels", [None, 0, "channel"])
def test_a_labelled_array_needs_a_name_that_it_has(channels):
    with pytest.raises(MisuseError, match=r"one of its dimensions, 'time', 'sensor', (not|but)"):
        as_table(xr.DataArray(VALUES, dims=("time", "sensor")), channels=channels, label="calibration")


def test_a_labelled_array_of_three_dimensions_is_no_table():
    with pytest.raises(MisuseError, match="have two axes"):
        as_table(xr.DataArray(np.zeros((2, 2, 2)), dims=("a", "b", "c")), channels="a", label="calibration")
