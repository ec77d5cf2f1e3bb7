"""Values there and back through JSON, forms that admit one reading, and hashes that no two contents share."""

import hashlib
import json
from typing import Annotated, Any, Literal, NotRequired

import numpy as np
import pytest
from hypothesis import given, strategies as st
from pydantic import Field
from typing_extensions import TypedDict

from physupport import MisuseError
from physupport._codec import (
    MOST_LISTED,
    Hash,
    Real,
    array_digest,
    array_json,
    bound,
    bound_json,
    bounds,
    bounds_json,
    canonical,
    chain_hash,
    check_form,
    content_hash,
    described,
    dumped,
    in_words,
    loaded,
    pieces_hash,
    real,
    rows_hash,
    told,
    whole,
)

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | FLOATS | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


def through(node):
    """As a document is written and read."""
    return loaded(dumped({"node": node}))["node"]


@given(st.lists(FLOATS, max_size=20))
def test_real_arrays_come_back_bit_by_bit(values):
    array = np.array(values, dtype=np.float64)
    back = real(through(array_json(array)), None)
    assert back.tobytes() == array.tobytes()


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20))
def test_whole_arrays_come_back(values):
    array = np.array(values, dtype=np.int64)
    assert whole(through(array_json(array)), len(values)).tolist() == values


@pytest.mark.parametrize("is_real", [False, True])
@pytest.mark.parametrize("shape", [(MOST_LISTED + 1,), (3, 2000), (2, 0, 5), (0,), ()])
def test_long_arrays_are_packed_and_every_shape_comes_back(shape, is_real):
    rng = np.random.default_rng(0)
    array = rng.standard_normal(shape) if is_real else rng.integers(-9, 9, shape)
    array = np.asarray(array)
    node = array_json(array)
    assert ("packed" in node) == (array.size > MOST_LISTED)
    back = (real if is_real else whole)(through(node), *shape)
    assert back.shape == shape
    assert (back == array).all()
    # The order in memory is no part of it.
    assert array_json(np.array(array, order="F")) == node


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (3, "array must be of real numbers, with type, shape and values or packed, not 3"),
        ({"type": "whole", "shape": [0], "values": []}, "array must be of real numbers"),
        ({"type": "real", "shape": [0], "values": [], "more": 1}, "array must be of real numbers"),
        ({"type": "real", "shape": [-1], "values": []}, "array must have whole numbers for a shape"),
        ({"type": "real", "shape": [True], "values": [1.0]}, "array must have whole numbers for a shape"),
        ({"type": "real", "shape": [1, 1], "values": [1.0]}, r"array must have the shape \(any\), not \(1, 1\)"),
        (
            {"type": "real", "shape": [2], "values": [1.0]},
            "array must have the 2 entries that its shape declares, not 1",
        ),
        ({"type": "real", "shape": [1], "values": ["1"]}, "array must hold the real numbers that it declares"),
        ({"type": "real", "shape": [1], "values": [True]}, "array must hold the real numbers that it declares"),
        ({"type": "real", "shape": [1], "values": [10**400]}, "array must hold the real numbers that it declares"),
        ({"type": "real", "shape": [1], "values": [float("inf")]}, "array must be finite"),
        ({"type": "real", "shape": [1], "packed": "!"}, "array must hold the real numbers that it declares"),
        ({"type": "real", "shape": [1], "packed": 3}, "array must hold the real numbers that it declares"),
        ({"type": "real", "shape": [10**12], "packed": "eJwDAAAAAAE="}, "numbers packed into 8 bytes"),
    ],
)
def test_arrays_that_could_be_read_otherwise_are_refused(node, message):
    with pytest.raises(MisuseError, match=message):
        real(node, None)


@pytest.mark.parametrize("damage", ["longer", "shorter", "trailing"])
def test_packed_entries_are_exactly_those_of_the_shape(damage):
    import base64
    import zlib

    node = array_json(np.arange(float(MOST_LISTED + 1)))
    raw = zlib.decompress(base64.b64decode(node["packed"]))
    changed = {"longer": raw + raw[:8], "shorter": raw[:-8], "trailing": raw}[damage]
    packed = zlib.compress(changed) + (b"x" if damage == "trailing" else b"")
    with pytest.raises(MisuseError, match="array must hold the real numbers that it declares"):
        real(node | {"packed": base64.b64encode(packed).decode()}, None)


def test_arrays_with_what_is_no_number_are_not_written():
    with pytest.raises(MisuseError, match="array must be finite"):
        array_json(np.array([np.nan]))


@given(st.lists(st.floats(allow_nan=False), max_size=12))
def test_bounds_come_back_infinities_included(values):
    array = np.array(values, dtype=np.float64)
    assert bounds(through(bounds_json(array)), len(values)).tobytes() == array.tobytes()
    for value in values:
        assert bound(through(bound_json(value))) == value


def test_many_finite_bounds_are_packed_and_infinite_ones_are_listed():
    many = np.arange(MOST_LISTED + 1.0)
    assert isinstance(bounds_json(many), dict)
    many[3] = np.inf
    listed = bounds_json(many)
    assert listed[3] == "inf"
    assert bounds(through(listed), len(many))[3] == np.inf
    with pytest.raises(MisuseError, match="bounds must be 2, one for each query, not list"):
        bounds([0.0], 2)
    for wrong in (1, "nan", None):
        with pytest.raises(MisuseError, match="bound must be a number, 'inf' or '-inf'"):
            bound(wrong)


@given(JSON)
def test_descriptions_are_what_json_gives_back(value):
    if isinstance(value, dict):
        plain = described("x", value)
        assert plain == json.loads(json.dumps(value))
        assert described("x", plain) == plain
    else:
        with pytest.raises(MisuseError, match="x must describe itself as names with values"):
            described("x", value)


@pytest.mark.parametrize("value", [{"a": np.float64}, {"a": float("nan")}, {"a": {1, 2}}, {"a": float("inf")}])
def test_what_json_cannot_hold_is_refused(value):
    with pytest.raises(MisuseError, match="x must describe itself in what JSON can hold"):
        described("x", value)
    deep = {}
    deep["a"] = deep
    with pytest.raises(MisuseError, match="x must describe itself"):
        described("x", deep)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1, "a": 2}', "a name stands twice in one object"),
        ('{"a": NaN}', "NaN is no JSON number"),
        ('{"a": -Infinity}', "-Infinity is no JSON number"),
        ('{"a": 1e999}', "1e999 is larger than any float64"),
        ("[1]", "must be a JSON object, not list"),
        ("{", "must be strict JSON"),
        ("[" * 100_000, "nested too deeply|strict JSON"),
    ],
)
def test_texts_that_can_be_read_in_two_ways_are_refused(text, message):
    with pytest.raises(MisuseError, match=message):
        loaded(text)


def test_what_is_long_is_told_by_its_type():
    assert told("short") == "'short'"
    assert told("x" * 100) == "str"
    assert told([1]) == "list"


# --------------------------------------------------------------------------------------------------------------- forms


INNER = {"b": 1.0}
Inner = TypedDict("Inner", {"b": Real})


@pytest.mark.parametrize(
    ("value", "form"),
    [
        (1, int), (1.5, Real), ("a", str), (None, int | None), (3, str | int), ([1, 2], list[int]), ([], list[int]),
        ({"a": 1}, {"a": int}), ({"a": 1}, {"a": int, "b": NotRequired[str]}), ({"b": "x"}, {"b": NotRequired[str]}),
        ("one", Literal["one", "two"]), ({"a": [INNER]}, {"a": list[Inner]}), (object(), Any), ("ab" * 32, Hash),
    ],
)  # fmt: skip
def test_values_of_a_form_pass(value, form):
    check_form(value, form)


@pytest.mark.parametrize(
    ("value", "form", "message"),
    [
        (True, int, "document must be a whole number, not True"),
        (1, Real, "document must be a number, not 1"),
        ("three", Literal["one", "two"], "document must be 'one' or 'two', not 'three'"),
        (1, str | None, "document must be a text, not 1"),
        ({"a": 1}, {"a": str}, r"document\.a must be a text, not 1"),
        ({}, {"a": str}, "document must hold 'a', not none"),
        ({"a": "x", "b": 1}, {"a": str}, "document must have no other names than the format has, not also 'b'"),
        ([1, "x"], list[int], r"document\[1\] must be a whole number, not 'x'"),
        ({"a": [{"b": 1}]}, {"a": list[Inner]}, r"document\.a\[0\]\.b must be a number, not 1"),
        ({}, list, "document must be a list, not dict"),
        ("AB" * 32, Hash, "document must be a SHA-256 in hexadecimal"),
        ("ab" * 31, Hash, "document must be a SHA-256 in hexadecimal"),
        (5, Annotated[int, Field(lt=5), in_words("odd and small")], "document must be odd and small, not 5"),
    ],
)
def test_values_of_another_form_are_refused_with_their_place(value, form, message):
    with pytest.raises(MisuseError, match=message):
        check_form(value, form)


# -------------------------------------------------------------------------------------------------------------- hashes


@given(JSON)
def test_there_is_one_way_to_write_a_value(value):
    text = canonical(value)
    assert json.loads(text) == value
    assert canonical(json.loads(text)) == text
    if isinstance(value, dict):
        assert canonical(dict(reversed([*value.items()]))) == text
    assert content_hash(value) == hashlib.sha256(text).hexdigest()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {"a": -float("inf")}])
def test_what_is_no_number_has_no_hash(value):
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical(value)


def test_kind_and_shape_of_numbers_are_part_of_their_hash():
    numbers = np.arange(6)
    others = (numbers.astype(float), numbers.reshape(2, 3), numbers.reshape(3, 2), numbers[::-1])
    assert len({content_hash(array_digest(array)) for array in (numbers, *others)}) == 5
    assert array_digest(np.asfortranarray(numbers.reshape(2, 3))) == array_digest(numbers.reshape(2, 3))


@pytest.mark.parametrize("cuts", [[], [3], [1, 2, 5]])
def test_rows_have_one_hash_however_they_come_in_blocks(cuts):
    rows = np.random.default_rng(1).standard_normal((7, 3))
    blocks = np.split(rows, cuts)
    expected = hashlib.sha256(np.array([7, 3], dtype="<i8").tobytes() + rows.astype("<f8").tobytes()).hexdigest()
    assert rows_hash(blocks, (7, 3)) == expected
    assert rows_hash(blocks, (3, 7)) != expected
    assert rows_hash([rows.astype(">f8")], (7, 3)) == expected  # nor does the order of bytes in memory matter
    turned = rows_hash([rows[::-1]], (7, 3))
    assert turned != expected
    assert rows_hash([rows + 0j], (7, 3)) != expected


def test_each_link_of_a_chain_covers_all_before_it():
    queries, codes = np.array([3, 1, 2]), np.array([0, 1, 2], dtype=np.uint8)
    margins = np.array([[-1.0, -0.5], [0.25, np.inf], [-np.inf, 1.0]])
    link = hashlib.sha256(b"p|d").hexdigest()
    for e, code, (low, high) in zip(queries, codes, margins.tolist(), strict=True):
        link = hashlib.sha256(f"{link}|{e}|{code}|{low.hex()}|{high.hex()}".encode()).hexdigest()
    assert chain_hash("p", "d", queries, codes, margins) == link
    others = {
        chain_hash("q", "d", queries, codes, margins),
        chain_hash("p", "e", queries, codes, margins),
        chain_hash("p", "d", queries[::-1], codes, margins),
        chain_hash("p", "d", queries, codes[::-1], margins),
        chain_hash("p", "d", queries, codes, np.nextafter(margins, 9.0)),
        chain_hash("p", "d", queries[:2], codes[:2], margins[:2]),
    }
    assert len(others | {link}) == 7


def test_pieces_are_hashed_one_after_the_other():
    array = np.array([1, 2])
    expected = hashlib.sha256("é".encode() + array.astype("<i8").tobytes()).hexdigest()
    assert pieces_hash("é", array) == expected
    assert pieces_hash("é", array.astype(np.uint8)) == expected
    assert pieces_hash("é", array.astype(float)) != expected
