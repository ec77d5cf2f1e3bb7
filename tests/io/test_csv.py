"""Text tables: names, numbers, and exact complaints about everything else."""

import numpy as np
import pytest

from physupport import MisuseError
from physupport.io import read_array, read_columns, read_table


@pytest.fixture
def file(tmp_path):
    def write(content):
        path = tmp_path / "data.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def table(path, channels="columns"):
    return read_table(path, channels=channels, label="deployment")


@pytest.mark.parametrize("before", ["", "\ufeff"], ids=["plain", "byte order mark"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_header_names_the_channels(file, before, newline):
    found = table(file(before + newline.join(["left, right", "1,2e3", " -3 ,.5", ""])))
    assert found.channels == ("left", "right")
    assert found.values.tolist() == [[1.0, 2000.0], [-3.0, 0.5]]


def test_a_first_line_of_numbers_is_data(file):
    found = table(file("\ufeff1,2\n3,4\n"))
    assert found.channels == ("0", "1")
    assert found.values.tolist() == [[1.0, 2.0], [3.0, 4.0]]


EIGHT = "402.1,402.9,403.8,404.6,405.5,406.2,407.1,408"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("400,410,420", "7,9,8"),  # even
        ("3,2,1", "7,9,8"),
        (EIGHT, "1,2,3,4,3,4,5,6"),  # ordered above what is not
        (EIGHT, "1,2,3,4,5,6,7,9"),  # ordered, and elsewhere than what is ordered, too
        ("0,1", "0.5,0.25"),  # a count of the columns
        ("1,2,3", "0.5,1.0,1.5"),
    ],
)
def test_a_header_of_numbers_is_asked_about(file, first, second):
    path = file(f"{first}\n{second}\n{second}\n")
    with pytest.raises(MisuseError, match=r"what its first line of numbers is, not .* Set header = true if"):
        table(path)
    names, values = tuple(first.split(",")), [float(cell) for cell in second.split(",")]
    found = read_table(path, channels=1, label="deployment", header=True)
    assert (found.channels, found.values.tolist()) == (names, [values, values])
    assert read_array(path, header=False).tolist() == [[float(cell) for cell in names], values, values]


@pytest.mark.parametrize(
    "content",
    [
        "400,410,420\n",  # nothing below
        "400,410,420\n400,410,420\n",  # even as well
        "5,7,9.5\n1,4,3\n",  # too few in order to be remarkable
        "1,2,3,4,5,6,7,8.5\n2,3,4,5,6,7,8,9.5\n",  # rising over the same numbers
        "1,1,1,1,1,1,1,1\n2,1,2,1,2,1,2,1\n",
        "nan,1,2\n1,3,2\n",
        "1+1j,2+1j,3+1j\n1,3,2\n",
    ],
)
def test_a_first_line_like_the_second_is_data(file, content):
    assert len(read_array(file(content))) == content.count("\n")


def test_a_header_is_given_for_text_only(file, tmp_path):
    np.save(tmp_path / "data.npy", np.eye(2))
    with pytest.raises(MisuseError, match=r"without a header, which only \.csv files have, but header is True"):
        read_array(tmp_path / "data.npy", header=True)
    with pytest.raises(MisuseError, match="must hold numbers, not 'a' in line 1, column 1"):
        read_array(file("a,b\n1,2\n"), header=False)


def test_channels_in_rows_have_no_names(file):
    found = table(file("t0,t1,t2\n1,2,3\n4,5,6\n"), "rows")
    assert found.channels == ("0", "1")
    assert found.values.tolist() == [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]


def test_one_column_and_one_line(file):
    assert read_array(file("7")).tolist() == [[7.0]]
    assert read_array(file("x\n7\n8\n\n\n")).tolist() == [[7.0], [8.0]]


def test_every_number_comes_back_to_the_last_bit(file):
    values = np.random.default_rng(1).normal(size=(40, 3)) * 10.0 ** np.arange(-20, 20)[:, None]
    lines = [",".join(map(repr, row)) for row in values.tolist()]
    np.testing.assert_array_equal(read_array(file("\n".join(lines))), values)


def test_entries_that_are_not_finite_are_left_to_the_streams(file):
    values = read_array(file("a,b\nnan,1\ninf,-inf\n"))
    np.testing.assert_array_equal(values, [[np.nan, 1.0], [np.inf, -np.inf]])


def test_one_complex_number_makes_a_table_complex(file):
    values = read_array(file("i,j\n1,2\n(1-2j),-3j\n"))
    assert values.tolist() == [[1, 2], [1 - 2j, -3j]]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("a,b\n1,2\n3\n", "must have 2 cells in every line, as in the first, not 1 cells in line 3."),
        ("1,2\n3,4,5\n", "must have 2 cells in every line, as in the first, not 3 cells in line 2."),
        ("a,b\n1,2\n3,x\n", "must hold numbers, not 'x' in line 3, column 2."),
        ("a,b\n1,2\n,4\n", "must hold numbers, not no cell in line 3, column 1."),
        ("1+1j,2\n3,x\n", "must hold numbers, not 'x' in line 2, column 2."),
        ("a,b\n1,2\n3,1_000\n", "must hold numbers, not '1_000' in line 3, column 2."),
        ("1,2\n1_0,2\n", "must hold numbers, not '1_0' in line 2, column 1."),
        ("1,2\n1+1j,1_0\n", "must hold numbers, not '1_0' in line 2, column 2."),
        ("1+1j,2\n1_0+1j,2\n", "must hold numbers, not '1_0+1j' in line 2, column 1."),
        ("1+1j,2\n3,j\n", "must hold numbers, not 'j' in line 2, column 2."),
        ("1;2\n3;4\n", "must hold numbers, not '3;4' in line 2, column 1. Commas separate cells"),
        ("a,1\n3,4\n", "must hold only numbers, or only names, in its first line, not 'a' beside '1'."),
        ("a,b\n", "must hold at least one line of numbers, but it has a header and nothing below it."),
        ("a,a\n1,2\n", "must have columns of distinct names, but 'a' appears more than once."),
        ("a,\n1,2\n", "must name all of its columns, but number 2 has no name."),
        ("1\n\n2\n", "must have no empty lines, but one comes before line 3."),
        ("\n\n", "must hold at least one line, but it is empty."),
        ("\ufeff", "must hold at least one line, but it is empty."),
        ("größe\n1\n".encode("latin-1"), "must be UTF-8 text, not the byte 0xf6."),
        ("a\n1\n".encode("utf-16"), "must be UTF-8 text, not the byte 0xff."),
        ('a\n"1\n', "must be a CSV file, not unexpected end of data."),
    ],
)
def test_a_complaint_names_the_file_the_place_and_what_is_there(file, content, complaint):
    path = file(content)
    with pytest.raises(MisuseError) as caught:
        table(path)
    assert str(caught.value).startswith(f"deployment {path} {complaint}")


def test_columns_of_texts_keep_their_order_and_lose_their_margins(file):
    columns = read_columns(file('\ufeffid, region,x\nA1 ,A,0.1\n"A,2",B, 0.2\n'))
    assert list(columns) == ["id", "region", "x"]
    assert columns == {"id": ["A1", "A,2"], "region": ["A", "B"], "x": ["0.1", "0.2"]}


def test_columns_without_lines_are_empty(file):
    assert read_columns(file("id,x\n")) == {"id": [], "x": []}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("A1,A,0.1\nA2,A,0.2\n", "must name its columns in the first line, not 'A1,A,0.1'."),
        ("id,id\na,b\n", "must have columns of distinct names, but 'id' appears more than once."),
        ("id, \na,b\n", "must name all of its columns, but number 2 has no name."),
        ("id,x\na\n", "must have 2 cells in every line, as in the first, not 1 cells in line 2."),
        ("", "must hold at least one line, but it is empty."),
    ],
)
def test_columns_are_strict(file, content, complaint):
    path = file(content)
    with pytest.raises(MisuseError) as caught:
        read_columns(path)
    assert str(caught.value) == f"file {path} {complaint}"


def test_columns_of_a_missing_file(tmp_path):
    with pytest.raises(MisuseError, match="No such file"):
        read_columns(tmp_path / "none.csv")
