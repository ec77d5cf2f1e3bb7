"""Parts of files are what the memory map has there, and a file that becomes shorter ends in a message."""

import subprocess
import sys

import h5py
import numpy as np
import pytest

from physupport import MisuseError
from physupport.io import ArrayRows, part_of, read_array, read_table

SHAPE = (500, 7)
KINDS = {"float64": "<f8", "big-endian": ">f4", "complex": "<c16", "bytes": "|u1"}
VIEWS = {
    "as it is": lambda values: values,
    "turned": lambda values: values.T,
    "backwards": lambda values: values[::-1, ::-1],
    "thinned out": lambda values: values[3:, 1::5],
    "one column": lambda values: values[:, 2:3],
}


def held(kind):
    numbers = np.random.default_rng(3).integers(0, 200, SHAPE).astype(KINDS[kind])
    return numbers + 1j * numbers[::-1] if numbers.dtype.kind == "c" else numbers


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_part_holds_the_numbers_that_the_map_has_there(tmp_path, kind, view, order):
    np.save(tmp_path / "rows.npy", np.array(held(kind), order=order))
    values, expected = VIEWS[view](read_array(tmp_path / "rows.npy")), VIEWS[view](held(kind))
    count = len(expected)
    scattered = np.random.default_rng(4).permutation(count)[: count // 2 + 1]
    parts = [slice(None), slice(1, 4), slice(2, 2), (slice(1, 5), slice(0, 1)), scattered, np.arange(count),
             np.array([count - 1, 0, 0]), np.empty(0, np.int64)]  # fmt: skip
    for where in parts:
        found = part_of(values, where)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected[where])
        assert not np.shares_memory(found, values)


def test_rows_far_from_each_other_are_read_one_by_one(tmp_path):
    """Gaps of more than a page lie between most of these, and of less between some."""
    rows = np.arange(40_000.0).reshape(-1, 40)
    np.save(tmp_path / "rows.npy", rows)
    order = np.array([999, 0, 13, 500, 12, 488, 501, 1])
    for values, expected in ((read_array(tmp_path / "rows.npy"), rows), (read_array(tmp_path / "rows.npy").T, rows.T)):
        which = order % len(expected)
        np.testing.assert_array_equal(part_of(values, which), expected[which])


SCRIPT = """
import os, sys
from physupport.io import ArrayRows, read_table
table = read_table(sys.argv[1], channels=1, label="deployment")
blocks = ArrayRows(table.values, block_rows=5000).blocks()
first = next(blocks)
os.truncate(sys.argv[1], 4096)
print(first.sum())
"""


def save(path, rows):
    """As the ending of the name says."""
    if path.suffix == ".npy":
        np.save(path, rows)
    else:
        with h5py.File(path, "w") as file:
            file["rows"] = rows


@pytest.mark.parametrize("ending", ["npy", "h5"])
def test_rows_that_were_read_do_not_go_with_the_file(tmp_path, ending):
    """In a program of its own: whoever reads a map of what is gone is ended by the system."""
    path, rows = tmp_path / f"rows.{ending}", np.ones((20_000, 4))
    save(path, rows)
    found = subprocess.run([sys.executable, "-c", SCRIPT, path], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout) == (0, "20000.0\n"), found.stderr


@pytest.mark.parametrize("ending", ["npy", "h5"])
@pytest.mark.parametrize("channels", [0, 1])
def test_a_file_that_became_shorter_is_told_whatever_is_read_of_it(tmp_path, ending, channels):
    path, rows = tmp_path / f"rows.{ending}", np.ones((2_000, 4))
    save(path, rows)
    table = read_table(path, channels=channels, label="deployment")
    with path.open("r+b") as file:
        file.truncate(8192)
    last = np.array([len(table.values) - 1, 0])
    scattered = ArrayRows(table.values, last)
    for use in (lambda: part_of(table.values, last), lambda: next(scattered.blocks()), table.digest):
        with pytest.raises(
            MisuseError, match=rf"rows.{ending} must keep its length while it is in use, but it now has 8,192 by"
        ):
            use()
