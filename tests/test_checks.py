"""Checks at the door: what passes comes out as it went in, and what does not is named with its rule and value."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as arrays

from physupport import MisuseError
from physupport._checks import (
    Interval,
    as_float64,
    check_array,
    check_columns,
    check_count,
    check_indices,
    check_instance,
    check_nonnegative,
    check_number,
    check_open,
    check_order,
    check_positive,
    check_support,
    check_support_size,
    check_symmetric,
    check_unit_columns,
    check_whole,
    read_only,
    read_only_view,
)
from physupport._errors import MissingError, NotFiniteError, misuse_named, shortened, shown, visible
from physupport.local.shell import Condition, Membership

LONG = 10**5000


@given(arrays.arrays(st.sampled_from([np.float64, np.float32, np.int32, np.uint8]), arrays.array_shapes(max_dims=2)))
def test_numbers_that_float64_holds_come_out_as_they_went_in(values):
    if not np.isfinite(values).all():
        return
    found = check_array("values", values, (None,) * values.ndim)
    assert found.dtype == np.float64
    assert (found == values).all()


@given(st.integers(-(2**63), 2**63 - 1))
def test_whole_numbers_are_taken_exactly_or_refused(value):
    array = np.array([value], dtype=np.int64)
    if int(float(value)) == value:
        assert as_float64("x", array)[0] == float(value)
    else:
        with pytest.raises(MisuseError, match=r"x must be numbers that float64 holds exactly, not .* at index \(0,\)"):
            as_float64("x", array)


@given(st.integers(0, 2**70))
def test_numbers_that_only_python_holds_are_taken_exactly_or_refused(value):
    array = np.array([[0, value]], dtype=object)
    if int(float(value)) == value:
        assert as_float64("x", array)[0, 1] == float(value)
    else:
        with pytest.raises(MisuseError, match=r"at index \(4, 1\)"):
            as_float64("x", array, first=4)


def test_long_doubles_are_taken_exactly_or_refused():
    wide = np.array([1.0, 0.5], dtype=np.longdouble)
    assert as_float64("x", wide).tolist() == [1.0, 0.5]
    if np.finfo(np.longdouble).nmant > 52:
        with pytest.raises(MisuseError, match="float64 holds exactly"):
            as_float64("x", wide + np.finfo(np.longdouble).eps)
    assert np.isposinf(as_float64("x", np.array(np.inf, dtype=np.longdouble)))


@pytest.mark.parametrize(
    ("value", "shape", "message"),
    [
        ([1.0, 2.0], (None, None), r"x must have shape \(any, any\), not shape \(2,\)"),
        ([[1.0, 2.0]], (2, None), r"x must have shape \(2, any\), not shape \(1, 2\)"),
        ([1j], (None,), "x must be real, not complex numbers. Imaginary parts are never dropped"),
        (["a"], (None,), "x must be an array of real numbers, not list"),
        ([[1.0], [1.0, 2.0]], (None, None), "x must be an array of real numbers, not list"),
        ([1.0, np.nan], (None,), r"x must be finite, not nan at index \(1,\)"),
        ([[1.0, -np.inf]], (None, None), r"x must be finite, not -inf at index \(0, 1\)"),
        (None, (None,), "x must"),
    ],
)
def test_arrays_that_are_none_are_refused(value, shape, message):
    with pytest.raises(MisuseError, match=message):
        check_array("x", value, shape)


def test_columns_of_rows_of_different_lengths_are_refused_by_name():
    for ragged in ([[1.0], [1.0, 2.0]], [[1j], [1j, 2j]]):
        with pytest.raises(MisuseError, match="x must be an array of real numbers, not list"):
            check_columns("x", ragged, None)


def test_what_is_not_finite_is_told_apart_from_other_misuse():
    with pytest.raises(NotFiniteError):
        check_array("x", [np.nan], (None,))


@pytest.mark.parametrize("value", [True, "1", None, [1.0], np.array([1.0]), 1j, Decimal(1), Fraction(1, 2)])
def test_what_is_not_one_real_number_is_refused(value):
    with pytest.raises(MisuseError, match="x must be a real number"):
        check_number("x", value)


@given(st.one_of(st.integers(-(10**30), 10**30), st.floats(allow_nan=False)))
def test_one_number_is_taken_exactly_or_refused(value):
    try:
        is_exact = int(float(value)) == value if isinstance(value, int) else True
    except OverflowError:
        is_exact = False
    if is_exact:
        assert check_number("x", value) == value
    else:
        with pytest.raises(MisuseError, match="x must be a number that float64 holds exactly"):
            check_number("x", value)


def test_numbers_of_more_digits_than_python_writes_are_described():
    with pytest.raises(MisuseError, match="not a whole number of 16610 bits"):
        check_number("x", LONG)
    assert shown(LONG) == "a whole number of 16610 bits"
    deep = []
    for _ in range(100_000):
        deep = [deep]
    assert shown(deep) == "a list that is nested too deeply"
    assert str(MisuseError("x", "be small", LONG)) == "x must be small, not a whole number of 16610 bits."


def test_long_whole_numbers_are_shown_by_their_first_digits():
    assert shown(10**59) == str(10**59)
    assert shown(10**399 + 7) == "10000000000000000000... (400 digits)"
    assert shown(-(10**399)) == "-1000000000000000000... (400 digits)"
    assert str(MisuseError("x", "be small", 10**399)) == "x must be small, not 10000000000000000000... (400 digits)."


@given(st.floats(allow_nan=True))
def test_open_bounds_are_not_met_by_their_ends(value):
    if 0.0 < value < 2.0:
        assert check_open("x", value, 0.0, 2.0) == value
    else:
        with pytest.raises(MisuseError, match="x must lie strictly between 0 and 2"):
            check_open("x", value, 0.0, 2.0)
    if 0.0 < value < np.inf:
        assert check_positive("x", value) == check_nonnegative("x", value) == value
    elif value != 0.0:
        with pytest.raises(MisuseError, match="x must be finite and at least 0"):
            check_nonnegative("x", value)


@pytest.mark.parametrize(
    ("value", "least", "most", "message"),
    [
        (0, 1, None, "x must be a whole number at least 1, not 0"),
        (5, 1, 4, "x must be a whole number between 1 and 4, not 5"),
        (2.0, 1, None, r"x must be a whole number at least 1, not 2\.0"),
        (True, 0, None, "x must be a whole number at least 0, not True"),
        ("2", 0, None, "x must be a whole number at least 0, not '2'"),
    ],
)
def test_counts_that_are_none_are_refused(value, least, most, message):
    assert check_count("x", np.int32(3), 1, 4) == 3
    with pytest.raises(MisuseError, match=message):
        check_count("x", value, least, most)


def test_columns_have_norm_1_up_to_what_nine_digits_lose():
    columns = np.eye(3)
    assert check_unit_columns("x", columns * (1.0 + 1e-9)).shape == (3, 3)
    assert check_unit_columns("x", np.zeros((3, 0))).shape == (3, 0)
    with pytest.raises(MisuseError, match=r"x must have columns of norm 1, but the norm is 1\.00001 in column 2"):
        check_unit_columns("x", columns * [1.0, 1.0, 1.00001])
    with pytest.raises(MisuseError, match=r"x must have shape \(4, any\)"):
        check_unit_columns("x", columns, 4)


def test_symmetry_is_that_up_to_rounding_of_each_matrix():
    stack = np.stack([np.eye(3), 1e6 * np.eye(3)])
    stack[1, 0, 1] = 1e-7  # far below the entries of its own matrix
    assert check_symmetric("x", stack) is stack
    stack[0, 0, 1] = 1e-7
    with pytest.raises(MisuseError, match=r"x must be symmetric, but the asymmetry is 1e-07 in matrix \(0,\)"):
        check_symmetric("x", stack)
    with pytest.raises(MisuseError, match=r"x must be symmetric, but the asymmetry is 1\."):
        check_symmetric("x", np.array([[0.0, 1.0], [0.0, 0.0]]))
    for wrong in (np.zeros(3), np.zeros((2, 3))):
        with pytest.raises(MisuseError, match="x must be square"):
            check_symmetric("x", wrong)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ((), "x must hold at least one atom, but the support is empty"),
        ((1, 1), r"x must hold distinct atoms, not \(1, 1\)"),
        ((0, 3), r"x must hold indices from 0 to 2, not \(0, 3\)"),
        ((-1,), r"x must hold indices from 0 to 2, not \(-1,\)"),
        ((0.0, 1.5), r"x must hold whole numbers, not \(0.0, 1.5\)"),
    ],
)
def test_supports_that_are_none_are_refused(value, message):
    assert check_support("x", [2, 0], 3) == check_support("x", np.array([2, 0]), 3) == (0, 2)
    assert check_support("x", (), 3, least=0) == ()
    with pytest.raises(MisuseError, match=message):
        check_support("x", value, 3)


def test_sizes_of_supports_leave_a_direction_free():
    assert check_support_size(2, 3) == 2
    for wrong in (1, 3):
        with pytest.raises(MisuseError, match="r must be a whole number between 2 and 2"):
            check_support_size(wrong, 3)


def test_columns_are_real_or_complex_and_finite_in_both_parts():
    assert check_columns("x", np.eye(2), 2).dtype == np.float64
    assert check_columns("x", 1j * np.eye(2), None).dtype == np.complex128
    for wrong in (complex(np.nan, 0.0), complex(0.0, np.inf)):
        with pytest.raises(MisuseError, match="x must be finite"):
            check_columns("x", np.array([[wrong]]), None)


def test_types_are_told_by_name():
    check_instance("x", 1, int, str)
    with pytest.raises(MisuseError, match=r"x must be of type int or str, not float 1\.5"):
        check_instance("x", 1.5, int, str)


@pytest.mark.parametrize(("lower", "upper"), [(0.0, 1.0), (2.0, 1.0), (1.0, np.inf), (np.nan, 1.0)])
def test_intervals_are_of_positive_numbers_in_order(lower, upper):
    assert Interval(1.0, 1.0).contains(1.0)
    assert not Interval(1.0, 2.0).contains(2.5)
    with pytest.raises(MisuseError, match="interval must satisfy 0 < lower <= upper < inf"):
        Interval(lower, upper)


def test_what_is_frozen_is_a_copy_that_nobody_can_write_to():
    given_array = np.arange(6.0).reshape(2, 3)
    kept = read_only(given_array.T)
    given_array[:] = 0.0
    assert kept[2, 1] == 5.0
    with pytest.raises(ValueError, match="read-only"):
        kept[0, 0] = 1.0


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([0, 3], "x must lie from 0 to 2, not 3 at position 1"),
        ([-1], "x must lie from 0 to 2, not -1 at position 0"),
        ([0.0], r"x must be a list of whole numbers, not float64 of shape \(1,\)"),
        ([[0]], "x must be a list of whole numbers"),
        ([True], "x must be a list of whole numbers, not bool"),
        (np.array([2**63], dtype=np.uint64), "x must lie from 0 to 2"),
    ],
)
def test_indices_beyond_their_list_are_refused(value, message):
    assert check_indices("x", 2, 3).tolist() == [2]
    assert check_indices("x", [], 3).tolist() == []
    with pytest.raises(MisuseError, match=message):
        check_indices("x", value, 3)


def test_indices_may_begin_below_0_where_that_means_nothing():
    assert check_indices("x", [-1, 2], 3, least=-1).tolist() == [-1, 2]
    with pytest.raises(MisuseError, match="x must lie from -1 to 2, not -2 in row 1"):
        check_indices("x", [0, -2], 3, least=-1, place="in row")


def test_an_order_names_nothing_twice():
    assert check_order("x", [2, 0], 3).tolist() == [2, 0]
    assert check_order("x", [], 3).tolist() == []
    with pytest.raises(MisuseError, match="x must be distinct, but 1 appears more than once"):
        check_order("x", [1, 0, 1], 3)


def test_a_view_that_nobody_writes_through_shows_what_its_owner_writes():
    held = np.zeros(2)
    view = read_only_view(held)
    held[1] = 3.0
    assert view.tolist() == [0.0, 3.0]
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1.0


def test_whole_numbers_are_not_rounded():
    assert check_whole("x", [1, 2]).dtype == np.int64
    assert check_whole("x", []).size == 0
    with pytest.raises(MisuseError, match="x must be whole numbers, not values of type float64"):
        check_whole("x", [1.0])
    with pytest.raises(MisuseError, match=r"x must have 1 axes, not shape \(1, 1\)"):
        check_whole("x", [[1]])


# ------------------------------------------------------------------------------------------------------------ messages


def test_a_message_names_argument_rule_value_and_remedy_and_keeps_them():
    error = MisuseError("level", "lie in (0, 1)", 2, "Take 0.1.")
    assert str(error) == "level must lie in (0, 1), not 2. Take 0.1."
    assert (error.argument, error.rule, error.value, error.remedy) == ("level", "lie in (0, 1)", 2, "Take 0.1.")
    assert str(MisuseError("x", "be short", "a text.")) == "x must be short, not a text."
    assert str(MissingError("level", "be given", "nothing")) == "level is required."
    assert str(MissingError("level", "be given", "nothing", "Write level = 0.1.")).endswith("Write level = 0.1.")


@given(st.text(max_size=30), st.integers(0, 200))
def test_messages_stay_short_and_say_how_long_a_text_was(part, count):
    text = part * count
    found = shortened(text)
    assert len(found) <= 700
    assert found == text or f"({len(text)} characters)" in found


@given(st.text())
def test_no_character_that_a_terminal_obeys_is_left(text):
    found = visible(text)
    assert not {*found} & {*map(chr, [*range(32), 127, 0x202E, 0x2028])}
    if text.isprintable():
        assert found == text


def test_misuse_is_told_under_the_name_that_its_author_knows():
    with (
        pytest.raises(MisuseError, match=r"data\.noise must be above 0, not -1\. Raise it"),
        misuse_named(lambda name: f"data.{name}"),
    ):
        raise MisuseError("noise", "be above 0", -1, "Raise it.")
    with pytest.raises(NotFiniteError, match="other must be finite"), misuse_named(lambda name: "other"):
        raise NotFiniteError("x", "be finite", "nan")
    original = MisuseError("noise", "be above 0", -1)
    with pytest.raises(MisuseError) as caught, misuse_named(lambda name: name):
        raise original
    assert caught.value is original


def test_membership_names_what_is_missed_and_by_how_much():
    found = Membership((Condition("a", 1.0, 1.0), Condition("b", 2.0, 1.5), Condition("c", 0.0, 3.0)))
    assert not found.inside
    assert found.violated == ("b",)
    assert [condition.slack for condition in found.conditions] == [0.0, -0.5, 3.0]
    assert Membership(found.conditions[:1]).inside  # equality counts
