"""Arrays and texts that are written to files of any kind come back as they were, entry by entry."""

import csv
from fractions import Fraction

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from hypothesis.extra import numpy as arrays
from scipy.io import savemat

from physupport import MisuseError
from physupport.io import (
    ArrayRows,
    ReaderOutput,
    ReadRows,
    as_complex,
    as_pairs,
    atom_table,
    doubled,
    mean_row,
    read_archive,
    read_array,
    read_columns,
    read_table,
    register_reader,
    split_rows,
    turned,
    undivided_rows,
)
from physupport.io._read import FORMATS
from physupport.io._table import MATRIX_AXES

FINITE = st.floats(allow_nan=False, allow_infinity=False)
TABLES = arrays.arrays(np.float64, st.tuples(st.integers(1, 5), st.integers(1, 4)), elements=FINITE)
NUMBERS = st.complex_numbers(allow_nan=False, allow_infinity=False, max_magnitude=1e100)
COMPLEX = arrays.arrays(np.complex128, st.tuples(st.integers(1, 4), st.integers(1, 3)), elements=NUMBERS)
# One file a test, written again for each example.
FILES = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


def save(path, values):
    match path.suffix:
        case ".npy":
            np.save(path, values)
        case ".npz":
            np.savez_compressed(path, only=values)
        case ".h5":
            with h5py.File(path, "w") as file:
                file["only"] = values
        case ".mat":
            savemat(path, {"only": values})


@pytest.mark.parametrize("ending", [".npy", ".npz", ".h5", ".mat"])
@FILES
@given(values=TABLES)
def test_tables_come_back_bit_by_bit(tmp_path, ending, values):
    path = tmp_path / f"table{ending}"
    save(path, values)
    found = read_array(path)
    assert found.shape == values.shape
    assert found.astype(np.float64).tobytes() == values.tobytes()
    table = read_table(path, channels=1, label="rows")
    assert table.values.tobytes() == values.tobytes()
    other = read_table(path, channels=0, label="rows")
    assert (np.asarray(other.values) == values.T).all()


@pytest.mark.parametrize("ending", [".npy", ".npz", ".h5", ".mat"])
@FILES
@given(values=COMPLEX)
def test_complex_tables_come_back(tmp_path, ending, values):
    path = tmp_path / f"table{ending}"
    save(path, values)
    found = read_array(path)
    if np.iscomplexobj(found):
        assert (found == values).all()
    else:  # MATLAB's format drops an imaginary part of zeros
        assert ending == ".mat"
        assert (found == values.real).all()
        assert not values.imag.any()


@FILES
@given(values=TABLES, names=st.booleans(), newline=st.sampled_from(["\n", "\r\n"]))
def test_numbers_in_text_come_back_to_the_last_bit(tmp_path, values, names, newline):
    path = tmp_path / "table.csv"
    lines = [",".join(f"c{i}" for i in range(values.shape[1]))] if names else []
    lines += [",".join(repr(value) for value in row) for row in values.tolist()]
    path.write_bytes((newline.join(lines) + newline).encode())
    table = read_table(path, channels=1, label="rows", header=names)
    assert np.ascontiguousarray(table.values).tobytes() == values.tobytes()


CELLS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=6).map(str.strip)


@FILES
@given(rows=st.lists(st.tuples(CELLS, CELLS), max_size=6), mark=st.sampled_from(["", "\ufeff"]))
def test_texts_with_commas_and_quotes_come_back(tmp_path, rows, mark):
    path = tmp_path / "list.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        file.write(mark)
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([("first", "second"), *rows])
    found = read_columns(path)
    assert [*found] == ["first", "second"]
    assert [*zip(found["first"], found["second"], strict=True)] == rows


@FILES
@given(values=st.dictionaries(st.sampled_from(["a", "b", "c"]), TABLES, min_size=1))
def test_archives_hold_what_was_put_in(tmp_path, values):
    np.savez(tmp_path / "all.npz", **values)
    found = read_archive(tmp_path / "all.npz")
    assert {name: array.tolist() for name, array in found.items()} == {
        name: array.tolist() for name, array in values.items()
    }


# ---------------------------------------------------------------------------------------------------------------- rows


@settings(max_examples=40)
@given(TABLES, st.data())
def test_rows_come_in_their_order_and_all_of_them(values, data):
    order = np.array(data.draw(st.permutations(range(len(values)))), dtype=np.int64)
    rows = ArrayRows(values, order)
    assert (rows.n_rows, rows.width) == values.shape
    assert np.concatenate([*rows.blocks()]).tobytes() == values[order].tobytes()
    np.testing.assert_allclose(mean_row(ArrayRows(values / 1e300)), (values / 1e300).mean(axis=0), rtol=1e-12)


@given(st.integers(2, 200), st.floats(0.05, 0.95), st.integers(0, 2**40))
def test_a_split_is_a_partition_that_depends_on_its_seed_alone(n_rows, fraction, seed):
    if not 1 <= int(Fraction(repr(fraction)) * n_rows) <= n_rows - 1:
        with pytest.raises(MisuseError, match=r"fraction|rows|proposal"):
            split_rows(n_rows, fraction, seed)
        return
    split = split_rows(n_rows, fraction, seed)
    assert len(split.proposal) == int(Fraction(repr(fraction)) * n_rows)
    both = np.concatenate([split.proposal, split.held_out])
    assert sorted(both.tolist()) == list(range(n_rows))
    again = split_rows(n_rows, fraction, seed)
    assert again.proposal.tolist() == split.proposal.tolist()
    assert undivided_rows(n_rows).held_out.tolist() == list(range(n_rows))


@settings(max_examples=50)
@given(COMPLEX)
def test_pairs_are_complex_numbers_and_turning_is_a_factor_i(values):
    pairs = as_pairs(values)
    assert pairs.shape == (values.shape[0], 2 * values.shape[1])
    np.testing.assert_array_equal(as_complex(pairs.T).T, values)
    np.testing.assert_array_equal(as_complex(turned(pairs).T).T, 1j * values)
    # Real inner products of pairs are the real parts of complex ones.
    np.testing.assert_allclose(pairs[0] @ pairs[-1], np.vdot(values[-1], values[0]).real, rtol=1e-9)


def test_atoms_with_a_phase_of_their_own_stand_with_their_turned_ones():
    atoms = as_pairs(np.array([[1.0 + 2.0j, 0.5j], [3.0, 1.0 - 1.0j]]), axis=0)  # (4, 2)
    table = atom_table(atoms, is_complex=True, has_phase=True)
    assert table.shape == (4, 4)
    plain = atom_table(atoms, is_complex=True, has_phase=False)
    assert (plain == atoms.T).all()
    rows = {tuple(row) for row in table.tolist()}
    assert {tuple(row) for row in plain.tolist()} <= rows
    assert {tuple(row) for row in turned(plain).tolist()} <= rows
    # The rows of the elements in an index are those of the doubled one, each with its own turned one.
    index = doubled(np.array([[1, -1]]))
    chosen = [tuple(table[i]) for i in index[0] if i >= 0]
    assert {*chosen} == {tuple(plain[1]), tuple(turned(plain)[1])}
    with pytest.raises(MisuseError, match="elements must have an even number of entries"):
        atom_table(atoms[:3], is_complex=True, has_phase=True)


def test_blocks_of_a_reader_have_the_width_and_number_declared():
    def reading(*blocks):
        return ReadRows(lambda: iter([np.array(block, dtype=float) for block in blocks]), 3, 2)

    assert len(np.concatenate([*reading([[1, 2]], [[3, 4], [5, 6]]).blocks()])) == 3
    with pytest.raises(MisuseError, match=r"block must have shape \(any, 2\), not shape \(1, 3\) at row 1"):
        [*reading([[1, 2]], [[3, 4, 5]]).blocks()]
    with pytest.raises(MisuseError, match="rows must number 3 as declared, not at least 4"):
        [*reading([[1, 2]] * 2, [[3, 4]] * 2).blocks()]
    with pytest.raises(MisuseError, match="rows must number 3 as declared, not 1 in this reading"):
        [*reading([[1, 2]]).blocks()]
    with pytest.raises(MisuseError, match=r"rows must be finite, not nan in row 1, column 1"):
        [*reading([[1, 2]], [[3, np.nan]]).blocks()]


def test_a_reader_of_ones_own_is_asked_for_its_ending_and_its_faults_are_one_message(tmp_path):
    def reader(name, path, member):
        if "bad" in path.read_text():
            raise RuntimeError("no such format")
        return ReaderOutput(np.array([[float(cell) for cell in path.read_text().split()]]), axes=MATRIX_AXES)

    try:
        register_reader(".row", reader)
        (tmp_path / "rows.row").write_text("1 2 3")
        assert read_array(tmp_path / "rows.row").tolist() == [[1.0, 2.0, 3.0]]
        (tmp_path / "rows.row").write_text("bad")
        with pytest.raises(MisuseError, match="no such format"):
            read_array(tmp_path / "rows.row")
        for wrong in (".row", ".ROW", "row", ".csv"):
            with pytest.raises(MisuseError, match="ending must be new, in small letters, and begin with a dot"):
                register_reader(wrong, reader)
    finally:
        FORMATS.pop(".row", None)
