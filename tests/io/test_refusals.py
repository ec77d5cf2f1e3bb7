"""Readers refuse ambiguous files; the message has the name and the content found."""

import sys

import h5py
import numpy as np
import pytest
from scipy.io import savemat
from scipy.sparse import csc_array

from physupport import MisuseError
from physupport._checks import check_array, check_number
from physupport.io import (
    ArrayRows,
    Source,
    Table,
    as_pairs,
    as_table,
    read_archive,
    read_array,
    read_columns,
    read_table,
)

TABLE = np.arange(6.0).reshape(2, 3)


def refusal(call, *arguments, **options):
    with pytest.raises(MisuseError) as caught:
        call(*arguments, **options)
    return str(caught.value)


def saved(tmp_path, values):
    np.save(tmp_path / "data.npy", values)
    return tmp_path / "data.npy"


@pytest.mark.parametrize("name", ["data.npy", "data.npz", "data.csv", "data.mat", "data.h5"])
def test_a_missing_an_empty_and_a_damaged_file(tmp_path, name):
    path = tmp_path / name
    message = refusal(read_table, path, channels=1, label="calibration")
    assert message == f"calibration {path} must be a file that can be read, not No such file or directory."
    path.touch()
    assert "but it is empty" in refusal(read_table, path, channels=1, label="calibration")
    path.write_bytes(bytes(range(256)))
    assert refusal(read_array, path).startswith(f"file {path} must be")


@pytest.mark.parametrize("name", ["data.npy", "data.npz", "data.mat", "data.h5"])
def test_a_file_that_was_cut_off(tmp_path, name):
    path, values = tmp_path / name, np.random.default_rng(0).normal(size=(50, 4))
    match path.suffix:
        case ".npy":
            np.save(path, values)
        case ".npz":
            np.savez(path, data=values)
        case ".mat":
            savemat(path, {"data": values})
        case ".h5":
            with h5py.File(path, "w") as file:
                file["data"] = values
    path.write_bytes(path.read_bytes()[:-200])
    assert str(path) in refusal(read_table, path, channels=1, label="calibration")


def test_a_folder_and_an_unknown_ending(tmp_path):
    (tmp_path / "data.npy").mkdir()
    assert refusal(read_array, tmp_path / "data.npy").endswith("must be a file, not a folder.")
    (tmp_path / "data.xlsx").touch()
    message = refusal(read_array, tmp_path / "data.xlsx")
    assert "must end in one of .npy, .npz, .csv, .mat, .h5, .hdf5, .spe, " in message
    assert ", .wav, .dx, .jdx, .jcamp, " in message
    assert "not no ending" in refusal(read_array, tmp_path / "data")
    assert "Is a directory" in refusal(read_columns, tmp_path)


def test_a_numpy_file_under_the_ending_of_an_archive_and_the_other_way_round(tmp_path):
    saved(tmp_path, TABLE).rename(tmp_path / "data.npz")
    assert "must be an .npz archive" in refusal(read_array, tmp_path / "data.npz")
    (tmp_path / "data.npz").unlink()
    np.savez(tmp_path / "data.npz", TABLE)
    (tmp_path / "data.npz").rename(tmp_path / "data.npy")
    assert "must be a sound .npy file" in refusal(read_array, tmp_path / "data.npy")


@pytest.mark.parametrize("damage", ["renamed", "cut off", "inside", "missing", "empty"])
def test_an_archive_that_is_damaged_is_one_message(tmp_path, damage):
    path = tmp_path / "data.npz"
    match damage:
        case "renamed":
            saved(tmp_path, TABLE).rename(path)
        case "empty":
            path.touch()
        case "cut off" | "inside":
            np.savez(path, first=TABLE, second=TABLE)
            content = bytearray(path.read_bytes())
            if damage == "inside":
                content[60:90] = bytes(30)  # the directory at the end stays whole
            path.write_bytes(content if damage == "inside" else content[:-50])
    for message in (refusal(read_archive, path), refusal(read_array, path, "first")):
        assert message.startswith(f"file {path} must ")


def test_a_whole_archive_has_numbers_and_texts(tmp_path):
    np.savez(tmp_path / "data.npz", x=TABLE, id=["a", "b"])
    found = read_archive(tmp_path / "data.npz")
    assert {name: values.tolist() for name, values in found.items()} == {"x": TABLE.tolist(), "id": ["a", "b"]}


class Trap:
    """An object whose pickle would run a program."""

    def __reduce__(self):
        return (pytest.fail, ("a pickle was loaded",))


def test_pickles_are_never_loaded(tmp_path):
    trap = np.array([[Trap()]], dtype=object)
    assert "Python objects" in refusal(read_array, saved(tmp_path, trap))
    np.savez(tmp_path / "data.npz", data=trap)
    assert "allow_pickle=False" in refusal(read_array, tmp_path / "data.npz")
    assert "allow_pickle=False" in refusal(read_archive, tmp_path / "data.npz")


@pytest.mark.parametrize(
    "values",
    [np.array([["a", "b"]]), np.array([[True]]), np.zeros((2, 2), "M8[s]"), np.zeros((2, 2), [("x", "f8")])],
    ids=["texts", "truth values", "dates", "records"],
)
def test_what_is_not_a_number(tmp_path, values):
    rule = "must hold real or complex numbers, not dtype"
    assert rule in refusal(read_table, saved(tmp_path, values), channels=1, label="calibration")
    assert rule in refusal(read_array, tmp_path / "data.npy")
    assert rule in refusal(as_table, values, channels=1, label="calibration")


@pytest.mark.parametrize("shape", [(), (6,)])
def test_tables_have_two_axes(tmp_path, shape):
    values = np.ones(shape)
    for message in (
        refusal(read_table, saved(tmp_path, values), channels=0, label="calibration"),
        refusal(as_table, values, channels=0, label="calibration"),
    ):
        assert f"must have two axes, rows and channels, not shape {shape}" in message


def test_an_array_of_an_image_is_no_table():
    assert "must have two axes, rows and channels, not shape (1, 2, 3)" in refusal(
        as_table, np.ones((1, 2, 3)), channels=0, label="calibration"
    )


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_a_table_without_entries(tmp_path, shape):
    assert "calibration" in refusal(read_table, saved(tmp_path, np.ones(shape)), channels=1, label="calibration")
    assert "hold at least one number" in refusal(as_table, np.ones(shape), channels=1, label="calibration")


@pytest.mark.parametrize("axis", [2, -1, "columns", True, 1.0, None])
def test_an_axis_that_a_plain_array_does_not_have(tmp_path, axis):
    rule = "must be read with channels one of its axes, 0 or 1, not"
    assert rule in refusal(read_table, saved(tmp_path, TABLE), channels=axis, label="calibration")
    assert rule in refusal(as_table, TABLE, channels=axis, label="calibration")


def test_a_wrong_axis_name_is_answered_with_the_right_ones(tmp_path):
    (tmp_path / "data.csv").write_text("1,2\n3,4\n")
    message = refusal(read_table, tmp_path / "data.csv", channels="column", label="calibration")
    assert "one of its axes, 0, 'rows', 'columns' or 1, not 'column'" in message


def test_two_axes_of_one_name(tmp_path):
    with h5py.File(tmp_path / "data.h5", "w") as file:
        file["data"] = TABLE
        for dimension in file["data"].dims:
            dimension.label = "sensor"
    message = refusal(read_table, tmp_path / "data.h5", channels="sensor", label="calibration")
    assert "'sensor' names two of them" in message


def containers(folder):
    np.savez(folder / "data.npz", first=TABLE, second=TABLE + 1)
    savemat(folder / "data.mat", {"first": TABLE, "second": TABLE + 1, "text": "a", "sparse": csc_array(TABLE)})
    with h5py.File(folder / "data.h5", "w") as file:
        file["first"], file["second"], file["text"] = TABLE, TABLE + 1, "a"
    return [folder / f"data.{ending}" for ending in ("npz", "mat", "h5")]


def test_a_container_of_several_arrays_needs_a_member(tmp_path):
    for path in containers(tmp_path):
        assert "but it has the members 'first', 'second'." in refusal(read_array, path)
        assert "hold the member 'third'" in refusal(read_array, path, "third")
        np.testing.assert_array_equal(read_array(path, "second"), TABLE + 1)
    for path in containers(tmp_path)[1:]:
        assert "hold the member 'text' as an array of numbers" in refusal(read_array, path, "text")
    assert "hold the member 'sparse'" in refusal(read_array, tmp_path / "data.mat", "sparse")


def test_a_member_of_a_file_that_has_none(tmp_path):
    (tmp_path / "data.csv").write_text("1,2\n")
    for path in (saved(tmp_path, TABLE), tmp_path / "data.csv"):
        assert "without a member" in refusal(read_array, path, "data")


def test_hdf5_records_that_are_no_complex_numbers(tmp_path):
    with h5py.File(tmp_path / "data.h5", "w") as file:
        file["data"] = np.zeros((2, 2), [("real", "f8"), ("imag", "f4")])
    assert "the members none" in refusal(read_array, tmp_path / "data.h5")


def test_an_empty_matlab_matrix_is_not_its_shape(tmp_path):
    """MATLAB 7.3 stores the shape of an empty matrix as if it were the matrix."""
    path = tmp_path / "data.mat"
    with h5py.File(path, "w", userblock_size=512) as file:
        file["data"] = np.array([0, 3], dtype=np.uint64)
        file["data"].attrs["MATLAB_class"], file["data"].attrs["MATLAB_empty"] = np.bytes_("double"), 1
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
    assert "'data' has no entries" in refusal(read_array, path)


def test_a_missing_package_is_named_with_its_extra(tmp_path, monkeypatch):
    path = containers(tmp_path)[2]
    monkeypatch.setitem(sys.modules, "h5py", None)
    assert 'pip install "physupport[io]"' in refusal(read_array, path, "first")


def test_masks():
    assert "have no mask" in refusal(as_table, np.ma.masked_less(TABLE, 1.0), channels=1, label="calibration")


def test_a_table_whose_channels_do_not_fit():
    source = Source("calibration", None, None, (2, 3), "float64")
    assert "name each of its 3 channels, not 2 names" in refusal(Table, TABLE, ("a", "b"), source)
    assert "'a' appears more than once" in refusal(Table, TABLE, ("a", "b", "a"), source)
    assert "number 2 has no name" in refusal(Table, TABLE, ("a", "", "c"), source)
    assert "have two axes" in refusal(Table, TABLE[0], ("a", "b", "c"), source)


@pytest.mark.parametrize("values", [np.array([[2**53 + 1]]), np.array([[2**63 + 1]], dtype=np.uint64)])
def test_whole_numbers_that_float64_does_not_hold_are_refused(values):
    """9007199254740993 would have become 9007199254740992 without a word."""
    words = f"numbers that float64 holds exactly, not {values[0, 0]} at index"
    assert words in refusal(check_array, "rows", values, (None, None))
    assert words in refusal(check_array, "rows", values.tolist(), (None, None))
    assert words in refusal(lambda: [*ArrayRows(values).blocks()])
    assert "float64 holds exactly" in refusal(check_number, "x", int(values[0, 0]))
    assert "float64 holds exactly" in refusal(check_number, "x", values[0, 0])
    exact = values // 2**12 * 2**12
    assert check_array("rows", exact, (1, 1))[0, 0] == exact[0, 0]
    assert next(ArrayRows(exact).blocks())[0, 0] == exact[0, 0]


@pytest.mark.skipif(np.finfo(np.longdouble).eps == np.finfo(np.float64).eps, reason="long doubles are doubles here")
def test_long_doubles_that_float64_does_not_hold_are_refused():
    tenth = np.ones((1, 2), dtype=np.longdouble) / 10
    assert "float64 holds exactly" in refusal(check_array, "rows", tenth, (None, None))
    assert "at index (0, 0)" in refusal(lambda: [*ArrayRows(tenth).blocks()])
    assert "float64 holds exactly" in refusal(as_pairs, tenth + 1j * tenth)
    assert "float64 holds exactly" in refusal(check_number, "x", tenth[0, 0])
    assert check_array("rows", np.ones((1, 2), dtype=np.longdouble) / 2, (1, 2)).tolist() == [[0.5, 0.5]]
