"""Every format gives back what was written, whatever its number type, byte order and layout."""

import h5py
import numpy as np
import pytest
from scipy.io import savemat

from physupport import MisuseError
from physupport.io import read_array, read_shape, read_table

REAL = np.random.default_rng(3).normal(size=(7, 3))
KINDS = {
    "float64": REAL,
    "float32": REAL.astype(np.float32),
    "big-endian": REAL.astype(">f8"),
    "Fortran order": np.asfortranarray(REAL),
    "whole numbers": np.arange(21, dtype=np.int16).reshape(7, 3),
    "complex": REAL + 1j * REAL[::-1],
    "complex64": (REAL + 1j * REAL[::-1]).astype(np.complex64),
}


def write_73(path, **matrices):
    """A MATLAB 7.3 file: a user block of 512 bytes that says so, and every matrix transposed."""
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, (values, kind) in matrices.items():
            stored = np.ascontiguousarray(np.asarray(values).T)
            if stored.dtype.kind == "c":
                part = np.dtype(stored.real.dtype)
                stored = stored.view([("real", part), ("imag", part)])
            file.create_dataset(name, data=stored).attrs["MATLAB_class"] = np.bytes_(kind)
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")


def write(path, values, how):
    match how:
        case "npy":
            np.save(path, values)
        case "npz":
            np.savez(path, data=values)
        case "compressed npz":
            np.savez_compressed(path, data=values)
        case "csv":
            path.write_text("\n".join(",".join(map(repr, row)) for row in values.tolist()))
        case "mat 5":
            savemat(path, {"data": values})
        case "mat 5 compressed":
            savemat(path, {"data": values}, do_compression=True)
        case "mat 7.3":
            write_73(path, data=(values, "single" if values.dtype == np.float32 else "double"))
        case "h5" | "hdf5":
            with h5py.File(path, "w") as file:
                file["data"] = values
        case "chunked h5":
            with h5py.File(path, "w") as file:
                file.create_dataset("data", data=values, chunks=(2, 2), compression="gzip", shuffle=True)


HOW = ["npy", "npz", "compressed npz", "csv", "mat 5", "mat 5 compressed", "mat 7.3", "h5", "hdf5", "chunked h5"]
MAPPED = ("npy", "h5", "hdf5", "mat 7.3")


def ending(how):
    return {"mat 5": "mat", "mat 5 compressed": "mat", "mat 7.3": "mat"}.get(how, how.split()[-1])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", HOW)
def test_what_was_written_is_read_with_either_axis_as_channels(tmp_path, how, kind):
    path, values = tmp_path / f"data.{ending(how)}", KINDS[kind]
    write(path, values, how)
    by_columns = read_table(path, channels=1, label="calibration", unit="V")
    by_rows = read_table(path, channels=0, label="calibration")

    np.testing.assert_array_equal(by_columns.values, values)
    np.testing.assert_array_equal(by_rows.values, values.T)
    np.testing.assert_array_equal(read_array(path), values)
    assert by_columns.channels == ("0", "1", "2")
    assert by_rows.channels == tuple("0123456")
    source = by_columns.source
    assert (source.label, source.path, source.shape, source.unit) == ("calibration", str(path), (7, 3), "V")
    assert source.member == (None if how in ("npy", "csv") else "data")
    if how != "csv":
        assert source.dtype == values.dtype.name


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", HOW)
def test_the_shape_is_known_before_anything_is_unpacked(tmp_path, monkeypatch, how, kind):
    path = tmp_path / f"data.{ending(how)}"
    write(path, KINDS[kind], how)
    for unpack in ("numpy.lib.npyio.NpzFile.__getitem__", "scipy.io.loadmat", "h5py.Dataset.__getitem__"):
        monkeypatch.setattr(unpack, lambda *_, **__: pytest.fail("unpacked"))
    expected = {1: (7, 3), 0: (3, 7)} if how != "csv" else {1: None, 0: None}
    assert {axis: read_shape(path, channels=axis, label="calibration") for axis in (0, 1)} == expected
    if how != "csv":
        with pytest.raises(MisuseError, match="must be read with channels one of its axes"):
            read_shape(path, channels="sensors", label="calibration")


def test_what_does_not_fit_into_memory_is_refused_unless_it_is_mapped(tmp_path, monkeypatch):
    paths = {how: tmp_path / f"{how.replace(' ', '-')}.{ending(how)}" for how in HOW if how != "csv"}
    for how, path in paths.items():
        write(path, REAL, how)
    monkeypatch.setattr("os.sysconf", lambda key: {"SC_PHYS_PAGES": 1}.get(key, 8 * REAL.size - 1))
    for how, path in paths.items():
        if how in MAPPED:
            assert read_array(path).shape == REAL.shape
        else:
            with pytest.raises(
                MisuseError, match=r"hold '/?data' of a size that fits into memory, but it needs 168 bytes"
            ):
                read_array(path)


@pytest.mark.parametrize("how", MAPPED)
@pytest.mark.parametrize("kind", ["float64", "big-endian", "complex"])
def test_an_array_that_lies_in_one_piece_is_mapped_not_read(tmp_path, how, kind):
    path = tmp_path / f"data.{ending(how)}"
    write(path, KINDS[kind], how)
    for channels in (0, 1):
        assert isinstance(read_table(path, channels=channels, label="calibration").values, np.memmap)
    assert isinstance(read_array(path), np.memmap)


@pytest.mark.parametrize("how", HOW)
def test_a_table_cannot_be_written_to(tmp_path, how):
    path = tmp_path / f"data.{ending(how)}"
    write(path, REAL, how)
    table = read_table(path, channels=1, label="calibration")
    with pytest.raises(ValueError, match="read-only"):
        table.values[0, 0] = 1.0


def test_endings_may_be_written_large(tmp_path):
    write(tmp_path / "data.npy", REAL, "npy")
    (tmp_path / "data.npy").rename(tmp_path / "data.NPY")
    np.testing.assert_array_equal(read_array(tmp_path / "data.NPY"), REAL)


def test_an_array_without_axis_meaning_may_have_any_number_of_axes(tmp_path):
    for shape in ((5,), (2, 3, 4)):
        values = np.arange(np.prod(shape), dtype=float).reshape(shape)
        np.save(tmp_path / "data.npy", values)
        np.testing.assert_array_equal(read_array(tmp_path / "data.npy"), values)


def test_an_array_of_other_bit_layout_is_read_and_not_mapped(tmp_path):
    """A 16-bit whole number in 4 bytes has the name of a NumPy type but not its bytes."""
    path = tmp_path / "data.h5"
    stored = h5py.h5t.STD_I32LE.copy()
    stored.set_precision(16)
    stored.set_offset(8)
    with h5py.File(path, "w") as file:
        h5py.Dataset(h5py.h5d.create(file.id, b"data", stored, h5py.h5s.create_simple((2, 2))))[...] = [[1, 2], [3, -4]]
    values = read_table(path, channels=1, label="calibration").values
    assert not isinstance(values, np.memmap)
    assert values.tolist() == [[1, 2], [3, -4]]


def test_an_hdf5_array_that_was_never_written_holds_its_fill_value(tmp_path):
    with h5py.File(tmp_path / "data.h5", "w") as file:
        file.create_dataset("data", shape=(2, 3), dtype="f8", fillvalue=4.0)
    assert (read_array(tmp_path / "data.h5") == 4.0).all()


@pytest.fixture
def labelled_file(tmp_path):
    path = tmp_path / "data.h5"
    with h5py.File(path, "w") as file:
        file["group/data"] = REAL.T
        file["group/data"].attrs["units"] = "mV"
        file["sensor"] = ["left", "middle", "right"]
        file["sensor"].make_scale("sensor name")
        file["when"] = np.arange(7.0) / 4
        file["when"].make_scale()
        file["remark"] = "texts are no arrays"
        data = file["group/data"]
        data.dims[0].attach_scale(file["sensor"])
        data.dims[1].label = "time"
        data.dims[1].attach_scale(file["when"])
    return path


@pytest.mark.parametrize("axis", ["sensor", "sensor name", 0])
def test_labels_and_scales_of_an_hdf5_file_name_axes_and_channels(labelled_file, axis):
    table = read_table(labelled_file, channels=axis, label="calibration")
    np.testing.assert_array_equal(table.values, REAL)
    assert table.channels == ("left", "middle", "right")
    assert (table.source.member, table.source.unit, table.source.shape) == ("group/data", "mV", (3, 7))


def test_the_other_axis_has_names_too_with_the_unit_of_its_scale(labelled_file):
    for axis in ("time", "when"):
        table = read_table(labelled_file, channels=axis, label="calibration", member="/group/data", unit="mV")
        np.testing.assert_array_equal(table.values, REAL.T)
        assert table.channels == ("0.0", "0.25", "0.5", "0.75", "1.0", "1.25", "1.5")
    with h5py.File(labelled_file, "a") as file:
        file["when"].attrs["units"] = "ms"
    table = read_table(labelled_file, channels="time", label="calibration")
    assert table.channels[:2] == ("0.0 ms", "0.25 ms")


def test_a_unit_that_contradicts_that_of_the_file_is_refused(labelled_file):
    with pytest.raises(MisuseError, match=r"must have the unit mV, which it states itself, not 'V'"):
        read_table(labelled_file, channels="time", label="calibration", unit="V")
    for same in ("mV", "millivolts"):
        assert read_table(labelled_file, channels="time", label="calibration", unit=same).source.unit == same


def test_a_matlab_file_may_hold_other_things_beside_its_one_matrix(tmp_path):
    savemat(tmp_path / "data.mat", {"data": REAL, "remark": "text", "cells": np.array([1, "a"], dtype=object)})
    write_73(
        tmp_path / "new.mat",
        data=(REAL, "double"),
        remark=([[104, 105]], "char"),
        ok=([[1]], "logical"),
        **{"#refs#/a": (REAL, "double")},
    )
    for path in ("data.mat", "new.mat"):
        np.testing.assert_array_equal(read_table(tmp_path / path, channels="columns", label="x").values, REAL)
        np.testing.assert_array_equal(read_table(tmp_path / path, channels="rows", label="x").values, REAL.T)
