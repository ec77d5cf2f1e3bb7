"""The digest is that of the content, wherever and however it is stored."""

import hashlib
import struct

import numpy as np
import pytest

from physupport import MisuseError
from physupport._codec import rows_hash
from physupport.io import ArrayRows, HashedRows, _table, as_table, read_table

VALUES = np.random.default_rng(2).integers(-9, 9, size=(50, 3)).astype(np.float64)


def digest(values, channels=1):
    return as_table(values, channels=channels, label="calibration").digest()


def test_it_is_the_hash_that_reports_hold_of_all_rows():
    assert digest(VALUES) == rows_hash(ArrayRows(VALUES).blocks(), VALUES.shape)


def test_it_is_written_out_by_hand():
    content = struct.pack("<2q", 2, 1) + struct.pack("<4d", 1.0, 2.0, 0.0, -1.0)
    assert digest([[1 + 2j], [complex(0.0, -1.0)]]) == hashlib.sha256(content).hexdigest()
    assert digest([[7]]) == hashlib.sha256(struct.pack("<2qd", 1, 1, 7.0)).hexdigest()


@pytest.mark.parametrize("dtype", ["f4", ">f8", "i2", ">i4"])
def test_number_type_byte_order_and_layout_do_not_matter(dtype):
    assert digest(VALUES.astype(dtype)) == digest(np.asfortranarray(VALUES)) == digest(VALUES.T, 0) == digest(VALUES)


def test_the_sign_of_a_zero_does_not_matter():
    assert digest([[0.0, -0.0]]) == digest([[0.0, 0.0]])
    assert digest([[complex(-0.0, -0.0)]]) == digest([[0j]])


def test_the_file_does_not_matter(tmp_path):
    np.save(tmp_path / "data.npy", VALUES)
    np.savetxt(tmp_path / "data.csv", VALUES, delimiter=",")
    for name in ("data.npy", "data.csv"):
        assert read_table(tmp_path / name, channels=1, label="calibration").digest() == digest(VALUES)


def test_the_size_of_the_blocks_does_not_matter(monkeypatch):
    whole = digest(VALUES)
    monkeypatch.setattr(_table, "BLOCK_ENTRIES", 10)
    assert digest(VALUES) == whole


def test_shape_and_entries_do_matter():
    changed = VALUES.copy()
    changed[-1, -1] += 1.0
    assert len({digest(VALUES), digest(VALUES.reshape(3, 50)), digest(VALUES.T), digest(changed)}) == 4


def test_rows_keep_the_hash_of_the_numbers_that_were_read_and_refuse_others():
    values = np.arange(12.0).reshape(6, 2)
    rows = HashedRows("deployment", ArrayRows(values, np.array([4, 0, 5]), block_rows=2))
    reader = rows.blocks()
    assert [next(reader).tolist(), next(reader).tolist()] == [[[8.0, 9.0], [0.0, 1.0]], [[10.0, 11.0]]]
    # Read to the last row, though nobody asked for more: the hash is known without another reading.
    values[5] = -1.0
    assert rows.digest() == digest(np.array([[8.0, 9.0], [0.0, 1.0], [10.0, 11.0]]))
    with pytest.raises(MisuseError, match="deployment must stay what they are while they are in use"):
        list(rows.blocks())
    assert HashedRows("deployment", rows.rows).digest() != rows.digest()
