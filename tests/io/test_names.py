"""Names along axes: every format that has them gives them, and they are matched or refused, never ignored."""

import h5py
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, strategies as st
from scipy.io import savemat

from physupport import MisuseError
from physupport.io import (
    Axis,
    ReaderOutput,
    as_reader_output,
    check_apart,
    in_order,
    order_of,
    read_file,
    read_names,
    read_table,
)
from physupport.io._names import is_unit, measure, root_unit, same_unit

CHANNELS, IDS = ("c0", "c1", "c2"), ("e0", "e1", "e2")
VALUES = np.arange(9.0).reshape(3, 3)  # square, so that lengths tell nothing
AXES = (Axis("channels", CHANNELS, "the rows"), Axis("elements", IDS, "the list"))
BACK = [2, 0, 1]  # another order


@given(st.permutations(range(6)))
def test_names_in_any_order_are_brought_into_the_one_that_is_wanted(shuffled):
    wanted = [f"e{i}" for i in range(6)]
    order = order_of("x", Axis("elements", wanted), [wanted[i] for i in shuffled])
    assert [[wanted[i] for i in shuffled][i] for i in order] == wanted


@pytest.mark.parametrize(
    ("given_names", "complaint"),
    [
        (("e0", "e1", "x2"), "x must name its elements as the list does, not no 'e2' and the unknown 'x2'."),
        (("e0", "e1"), "x must name its elements as the list does, not no 'e2'."),
        ((*IDS, "e3"), "x must name its elements as the list does, not the unknown 'e3'."),
        (("e0", "e1", "\u04352"), "differ in LATIN SMALL LETTER E, CYRILLIC SMALL LETTER IE."),
        (("e0", "e0", "e1"), "x must have elements of distinct names, but 'e0' appears more than once."),
    ],
)
def test_other_names_are_refused_with_what_is_missing_and_what_is_unknown(given_names, complaint):
    with pytest.raises(MisuseError) as caught:
        order_of("x", AXES[1], given_names)
    assert str(caught.value).endswith(complaint)


def test_names_that_read_the_same_match_and_names_that_only_count_say_nothing():
    axis = Axis("elements", ["caf\u00e9 au lait", "b"])
    assert order_of("x", axis, [" b", "cafe\u0301  au lait "]).tolist() == [1, 0]
    for counted in (["0", "1"], ["1", "2"], None):
        assert order_of("x", axis, counted) is None
    assert order_of("x", Axis("elements", ["2", "1", "3"]), ["1", "2", "3"]).tolist() == [1, 0, 2]


def test_places_match_by_their_numbers_in_whatever_unit():
    axis = Axis("channels", ["400 nm", "401 nm", "402.50 nm"], "the rows")
    assert order_of("x", axis, ["0.4025 um", "0.4 um", "0.401 um"]).tolist() == [1, 2, 0]
    assert order_of("x", axis, ["401.0", "4e2", "402.5"]).tolist() == [1, 0, 2]  # without a unit: the same
    assert order_of("x", axis, ["400.09", "401", "402.5"]).tolist() == [0, 1, 2]  # rounded
    for given_names, words in (
        (["400.5", "401.5", "402.5"], r"one of its channels at 400 nm, as in the rows, not 400\.5\. Give the units"),
        (["0.4", "0.401", "0.4025"], "Give the units of both if they are not the same"),
        (["400 keV", "401 keV", "402.5 keV"], "channels in the unit nm, as in the rows, not keV"),
        (["400 nm", "401 nm", "500 nm"], r"at 402\.5 nm, as in the rows, not 500 nm\.$"),
    ):
        with pytest.raises(MisuseError, match=words):
            order_of("x", axis, given_names)


def test_units_are_the_same_by_what_they_measure():
    assert measure("keV") == ("eV", 1e3)
    for one, other in (("mV", "millivolts"), ("\u00b5V", "uV"), ("\u03bcV", "uV"), ("Nanometers", "nm"), ("V", "")):
        assert same_unit(one, other)
    for one, other in (("mV", "V"), ("eV", "keV"), ("nm", "um"), ("counts", "V"), ("mT", "MT")):
        assert not same_unit(one, other)
    assert [root_unit(unit) for unit in ("V^2", "V\u00b2", "uV**2", "V2", "V", "counts")] == [
        "V", "V", "uV", "V", "V", "counts",
    ]  # fmt: skip
    assert [is_unit(text) for text in ("keV", "Micrometers", "cm-1", "2 x Cr", "energy")] == [True] * 3 + [False] * 2


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (("a1", "\u04301"), "CYRILLIC SMALL LETTER A"),
        (("quartz", "quartz "), "SPACE"),
        (("quartz", "quart\u200bz"), "ZERO WIDTH SPACE"),
        (("caf\u00e9", "cafe\u0301"), "COMBINING ACUTE ACCENT"),
        (("Fe\u2082", "Fe2"), "SUBSCRIPT TWO"),
        (("x-1", "x\u22121"), "MINUS SIGN"),
        (("\u039a", "K"), "GREEK CAPITAL LETTER KAPPA"),
    ],
)
def test_names_that_look_alike_are_refused_with_what_tells_them_apart(names, told):
    with pytest.raises(MisuseError, match=f"ids must have names that look different.*{told}"):
        check_apart("ids", names)


def test_names_that_look_different_are_not_refused():
    check_apart("ids", ("Co", "CO", "co", "1l", "11", "O0", "\u03b1", "a", "x y", "xy", "e\u0301", "e"))


def written(path, kind, values, rows, columns):
    """A file of this kind with names along both axes, or of those that have one, along the second."""
    if kind == "csv":
        lines = [["", *columns], *([name, *map(repr, row)] for name, row in zip(rows, values.tolist(), strict=True))]
        path.write_text("".join(",".join(line) + "\n" for line in lines))
    elif kind == "npy":
        np.save(path, np.array([tuple(row) for row in values.tolist()], dtype=[(name, "f8") for name in columns]))
    elif kind == "npz":
        np.savez(path, data=values, rows=np.array(rows), columns=np.array(columns))
    elif kind == "mat":
        cells = {"rows": np.array(rows, dtype=object), "columns": np.array(columns, dtype=object)}
        savemat(path, {"data": values, **cells})
    elif kind == "h5":
        with h5py.File(path, "w") as file:
            file["data"] = values
            for axis, (scale, names) in enumerate((("channel", rows), ("element", columns))):
                file[scale] = [*names]
                file[scale].make_scale()
                file["data"].dims[axis].attach_scale(file[scale])
    elif kind == "hdr":
        keys = {"samples": 3, "lines": 3, "bands": 1, "data type": 5, "file type": "ENVI Spectral Library",
                "spectra names": f"{{{', '.join(rows)}}}", "wavelength": f"{{{', '.join(columns)}}}"}  # fmt: skip
        path.write_text("ENVI\n" + "".join(f"{key} = {value}\n" for key, value in keys.items()))
        path.with_suffix(".sli").write_bytes(values.astype("<f8").tobytes())
    return path


KINDS = ("csv", "npy", "npz", "mat", "h5", "hdr")


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_with_names_in_another_order_is_put_in_order(tmp_path, kind):
    rows, columns = ([CHANNELS[i] for i in BACK] if kind != "npy" else [*CHANNELS]), [IDS[i] for i in BACK]
    shuffled = VALUES[BACK if kind != "npy" else slice(None)][:, BACK]
    held = read_file(written(tmp_path / f"data.{kind}", kind, shuffled, rows, columns))
    assert held.headings == (None if kind == "npy" else tuple(rows), tuple(columns))
    np.testing.assert_array_equal(in_order("x", held, AXES), VALUES)


@pytest.mark.parametrize("kind", KINDS)
def test_a_square_table_that_was_turned_is_turned_back_where_its_names_say_so(tmp_path, kind):
    held = read_file(written(tmp_path / f"data.{kind}", kind, VALUES.T, IDS, CHANNELS))
    np.testing.assert_array_equal(in_order("x", held, AXES), VALUES)


@pytest.mark.parametrize("kind", KINDS)
def test_names_are_known_before_the_entries_are_read(tmp_path, kind):
    path = written(tmp_path / f"data.{kind}", kind, VALUES, CHANNELS, IDS)
    channels, rows = read_names(path, channels=1, label="x")
    assert channels == IDS == read_table(path, channels=1, label="x").channels
    assert rows == (None if kind in ("npy", "csv") else CHANNELS)


def test_names_in_a_matlab_7_3_file_are_the_cells_beside_the_matrix(tmp_path):
    with h5py.File(tmp_path / "data.mat", "w", userblock_size=512) as file:
        file["data"] = VALUES[:, BACK].T
        file["data"].attrs["MATLAB_class"] = np.bytes_("double")
        for i, name in enumerate(IDS[k] for k in BACK):
            file[f"#refs#/{i}"] = np.array([[ord(letter)] for letter in name], dtype=np.uint16)
            file[f"#refs#/{i}"].attrs["MATLAB_class"] = np.bytes_("char")
        file["columns"] = np.array([[file[f"#refs#/{i}"].ref] for i in range(3)], dtype=h5py.ref_dtype)
        file["columns"].attrs["MATLAB_class"] = np.bytes_("cell")
    with open(tmp_path / "data.mat", "r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
    np.testing.assert_array_equal(in_order("x", read_file(tmp_path / "data.mat"), AXES), VALUES)


def test_labelled_arrays_in_memory_are_put_in_order_and_turned():
    frame = pd.DataFrame(VALUES, CHANNELS, IDS)
    array = xr.DataArray(VALUES, dims=("channel", "element"), coords={"channel": [*CHANNELS], "element": [*IDS]})
    shuffled = array.isel(channel=BACK, element=BACK)
    for value in (frame, frame.iloc[BACK, BACK], frame.T, array, shuffled, shuffled.T):
        np.testing.assert_array_equal(in_order("x", as_reader_output("x", value), AXES), VALUES)
    np.testing.assert_array_equal(in_order("x", as_reader_output("x", frame["e1"].iloc[BACK]), AXES[:1]), VALUES[:, 1])
    plain = pd.DataFrame(VALUES)  # an index that only counts
    np.testing.assert_array_equal(in_order("x", as_reader_output("x", plain), AXES), VALUES)
    with pytest.raises(MisuseError, match="name its elements as the list does, not no 'e0' and the unknown 'q'"):
        in_order("x", as_reader_output("x", frame.rename(columns={"e0": "q"})), AXES)


def test_names_beside_an_array_are_of_the_axis_that_has_as_many(tmp_path):
    path = tmp_path / "data.npz"
    np.savez(path, responses=np.zeros((3, 2)), noise=np.eye(3), channels=np.array(CHANNELS), id=np.array(["a", "b"]))
    assert read_file(path, "responses").headings == (CHANNELS, ("a", "b"))
    assert read_file(path, "noise").headings == (CHANNELS, CHANNELS)
    assert read_table(path, channels="channels", label="x", member="responses").channels == CHANNELS
    np.savez(path, responses=VALUES, channels=np.array(CHANNELS), elements=np.array(IDS))
    with pytest.raises(MisuseError, match=r"tell which names are of which axis.*Call the names of its first axis rows"):
        read_file(path)
    np.savez(path, responses=VALUES, channels=np.array(["a", "b"]))
    with pytest.raises(MisuseError, match="as many names in 'channels' as entries along an axis, not 2 names"):
        read_file(path)


def test_a_first_column_of_names_is_no_column_of_numbers(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("name,x,y\nE1,1,2\nE2,3,4\n")
    held = read_file(path)
    assert (held.values.tolist(), held.headings) == ([[1.0, 2.0], [3.0, 4.0]], (("E1", "E2"), ("x", "y")))
    path.write_text("E1,1,2\nE2,3,4+1j\n")
    assert read_file(path, header=False).headings == (("E1", "E2"), None)
    path.write_text("name,x,y\nE1,1,2\n2,3,4\n")
    with pytest.raises(MisuseError, match="a name in the first column of every line, or a number, not '2' in line 3"):
        read_file(path)


def test_an_array_without_names_stays_as_it_is():
    values = np.zeros((2, 2))
    assert in_order("x", ReaderOutput(values), AXES) is values
