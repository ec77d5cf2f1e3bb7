"""Regions of a bank and of a user's table say the same of the same explanations."""

import numpy as np
import pytest

from physupport import MisuseError
from physupport.banks import (
    Library,
    array_bank,
    bank_regions,
    check_distances,
    library_bank,
    listed_regions,
    product_grid,
    region_distances,
    table_regions,
)
from physupport.responses import Settings

IDS = ("l1", "r1", "l2", "r2", "r3", "t1")  # not sorted by region, as files are
REGIONS = ("left", "right", "left", "right", "right", "top")
SPOTS = np.array([[0.0, 0.0], [5.0, 1.0], [3.0, 4.0], [6.0, 1.0], [7.0, 3.0], [2.0, 9.0]])


def library():
    responses = np.random.default_rng(0).normal(size=(4, 6))
    return Library(IDS, REGIONS, SPOTS, responses / np.linalg.norm(responses, axis=0))


def bank():
    supports = [("left",), ("left", "right"), ("left", "right", "top")]
    return library_bank(
        library(), supports, {"left": 1.0, "right": (0.5, 2.0), "top": 0.1}, calibration=product_grid(p=[0.2, 0.3])
    )


def test_a_bank_is_read_as_each_of_its_explanations_is_written_out():
    everything, view = bank(), bank_regions(bank())
    assert view.n_explanations == everything.size
    located, strengths = view.locate(np.arange(everything.size)), view.strengths(np.arange(everything.size))
    for e in range(everything.size):
        written = everything.explanation(e)
        named = {
            region: view.sets[region].names[located[e, j]]
            for j, region in enumerate(view.regions)
            if located[e, j] >= 0
        }
        assert tuple(named.values()) == written.ids
        assert [REGIONS[IDS.index(name)] for name in named.values()] == [*named]
        assert strengths[e, located[e] >= 0].tolist() == written.strengths.tolist()
        assert not strengths[e, located[e] < 0].any()


def test_optional_regions_and_explanations_without_them_are_found():
    everything, view = bank(), bank_regions(bank())
    assert view.optional == ("right", "top")
    index = np.arange(everything.size)
    assert view.persistent_only(index).tolist() == [len(everything.explanation(e).ids) == 1 for e in index.tolist()]
    assert np.unique(view.support(index)).size == 5


def as_table(view):
    located = view.locate(np.arange(view.n_explanations))
    columns = {
        region: [view.sets[region].names[i] if i >= 0 else None for i in located[:, j]]
        for j, region in enumerate(view.regions)
    }
    spots = {
        region: dict(zip(view.sets[region].names, view.sets[region].coordinates, strict=True))
        for region in view.regions
    }
    strengths = view.strengths(np.arange(view.n_explanations))
    return table_regions(columns, coordinates=spots, strengths=dict(zip(view.regions, strengths.T, strict=True)))


def test_a_table_of_the_same_columns_says_the_same():
    view = bank_regions(bank())
    table, index = as_table(view), np.arange(view.n_explanations)
    assert (table.regions, table.optional, table.n_explanations) == (view.regions, view.optional, view.n_explanations)
    np.testing.assert_array_equal(table.locate(index), view.locate(index))
    np.testing.assert_array_equal(table.strengths(index), view.strengths(index))
    np.testing.assert_array_equal(table.persistent_only(index), view.persistent_only(index))
    # Supports of a bank also tell strengths apart; those of a table only which regions are present.
    pairs = {*zip(view.support(index).tolist(), table.support(index).tolist(), strict=True)}
    assert len(pairs) == 5
    assert len({number for _, number in pairs}) == 3
    for region in view.regions:
        assert table.sets[region].names == view.sets[region].names
        np.testing.assert_array_equal(region_distances(table, region), region_distances(view, region))


def test_single_explanations_may_be_asked_for_by_number():
    for view in (bank_regions(bank()), as_table(bank_regions(bank()))):
        assert view.locate(7).shape == view.strengths(7).shape == (1, 3)
        assert view.support(7).shape == view.persistent_only(7).shape == (1,)


def test_distances_come_from_one_coordinate_or_several_or_tell_elements_apart():
    assert region_distances(bank_regions(bank()), "left").tolist() == [[0.0, 5.0], [5.0, 0.0]]
    line = table_regions({"A": ["a", "b"]}, coordinates={"A": {"a": 0.1, "b": 0.4}})
    assert region_distances(line, "A")[0, 1] == 0.4 - 0.1
    assert region_distances(table_regions({"A": ["a", "b"]}), "A").tolist() == [[0.0, 1.0], [1.0, 0.0]]


def test_elements_that_never_occur_are_known_if_they_have_coordinates():
    view = table_regions({"A": ["b", "b"]}, coordinates={"A": {"a": 0.0, "b": 1.0}})
    assert view.sets["A"].names == ("a", "b")
    assert view.locate([0]).tolist() == [[1]]


def test_the_hash_follows_the_content():
    base = {"A": ["a", "b", None]}
    variants = [
        table_regions(base),
        table_regions({"A": ["b", "a", None]}),
        table_regions({"Z": ["a", "b", None]}),
        table_regions(base, coordinates={"A": {"a": 0.0, "b": 1.0}}),
        table_regions(base, coordinates={"A": {"a": 0.0, "b": 2.0}}),
        table_regions(base, strengths={"A": [1.0, 2.0, 0.0]}),
    ]
    assert len({view.digest for view in variants}) == len(variants)
    assert table_regions(base).digest == variants[0].digest
    assert bank_regions(bank()).digest == bank().digest


def test_a_table_is_a_copy_that_does_not_change():
    locations = np.array([[0], [1]])
    view = listed_regions({"A": ("a", "b")}, locations, np.ones((2, 1)))
    locations[:] = 1
    assert view.locate([0]).tolist() == [[0]]
    with pytest.raises(ValueError, match="read-only"):
        view.locations[0, 0] = 1


def test_a_bank_without_a_library_is_refused_with_a_remedy():
    arrays = array_bank(np.eye(2)[None], [(0,)])
    with pytest.raises(
        MisuseError, match=r"bank must have states drawn from a library, not dictionaries alone\. .*table_regions"
    ):
        bank_regions(arrays)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: table_regions({}), "columns must name at least one region"),
        (lambda: table_regions({"A": ["a"], "B": ["b", "b"]}), r"columns must be equally long, not lengths \[1, 2\]"),
        (lambda: table_regions({"A": [None]}), "elements must be distinct and at least one in region 'A'"),
        (lambda: table_regions({"A": ["a"]}, coordinates={"B": {"b": 1}}), r"coordinates must .* not 'B'"),
        (lambda: table_regions({"A": ["z"]}, coordinates={"A": {"a": 1}}), r"columns\['A'\] must hold None or one of"),
        (lambda: table_regions({"A": ["a", "b"]}, coordinates={"A": {"a": 1, "b": (1, 2)}}), "same number of entries"),
        (lambda: table_regions({"A": ["a"]}, coordinates={"A": {"a": np.nan}}), r"places\['A'\] must be finite"),
        (lambda: table_regions({"A": ["a"]}, strengths={"B": [1.0]}), r"strengths must .* not 'B'"),
        (lambda: table_regions({"A": ["a"]}, strengths={"A": [1.0, 2.0]}), "strengths must be equally long"),
        (lambda: table_regions({"A": ["a"]}, strengths={"A": [0.0]}), "represented must be positive where"),
        (lambda: table_regions({"A": ["a", None]}, strengths={"A": [1.0, -1.0]}), "represented must be positive where"),
        (lambda: listed_regions({"A": ("a",)}, np.array([[1]]), np.ones((1, 1))), "locations must lie from -1 to 0"),
        (lambda: listed_regions({"A": ("a",)}, np.array([[0.0]]), np.ones((1, 1))), "locations must be whole numbers"),
        (lambda: listed_regions({"A": ("a", "a")}, np.array([[0]]), np.ones((1, 1))), "elements must be distinct"),
        (lambda: check_distances("d", [[0.0, 1.0], [1.0, 0.0]], 3), r"d must have shape \(3, 3\)"),
    ],
)  # fmt: skip
def test_misuse_is_refused_by_name(call, message):
    with pytest.raises(MisuseError, match=message):
        call()


def test_a_setting_changes_the_response_and_not_the_place():
    responses = np.random.default_rng(1).normal(size=(3, 4, 6))
    settings = Settings(
        is_complex=False,
        names=("gain",),
        values=np.arange(3.0)[:, None],
        responses=responses / np.linalg.norm(responses, axis=1, keepdims=True),
    )
    supports, extra = [("left",), ("left", "right")], np.eye(4)[:, :1]
    plain, varied = (
        library_bank(library(), supports, {"left": 1.0, "right": 0.5}, regions=("right", "left"), extra=extra, **more)
        for more in ({}, {"settings": settings})
    )
    view, wide = bank_regions(plain), bank_regions(varied)
    index = np.arange(varied.size)
    assert varied.size == 3 * plain.size
    assert (wide.regions, wide.optional) == (view.regions, view.optional)
    np.testing.assert_array_equal(wide.locate(index), np.tile(view.locate(np.arange(plain.size)), (3, 1)))
    np.testing.assert_array_equal(wide.sets["left"].coordinates, view.sets["left"].coordinates)
    for e in (0, 7, varied.size - 1):
        named = {
            wide.sets[region].names[slot]
            for region, slot in zip(wide.regions, wide.locate(e)[0], strict=True)
            if slot >= 0
        }
        assert named == {*varied.explanation(e).ids}
