"""Distances that are worked out where they are needed are those of the whole matrix, to the last bit."""

import tracemalloc

import numpy as np
import pytest

from physupport.banks import RegionPlaces, Subsets, table_regions
from physupport.project._assemble import _SUSPICIOUS, _alike
from physupport.questions import RegionalMap, RegionRule


def single_places(coordinates, count=None):
    count = len(coordinates) if count is None else count
    return RegionPlaces(tuple(f"e{i}" for i in range(count)), coordinates, Subsets(count, 1, 1))


def matrix(places):
    """By the definition: sums of squares in the order of the coordinates."""
    total = np.zeros((len(places), len(places)))
    for axis in places.T:
        total += (axis[:, None] - axis) ** 2
    return np.sqrt(total)


def clouds():
    rng = np.random.default_rng(5)
    angles = np.linspace(0.0, 2.0 * np.pi, 60, endpoint=False)
    yield "line", rng.uniform(size=(50, 1))
    yield "plane", rng.normal(size=(70, 2)) * [1.0, 1e-3]
    yield "circle, on which all points matter", np.column_stack([np.cos(angles), np.sin(angles)])
    yield "grid", np.stack(np.meshgrid(np.arange(7.0), np.arange(9.0)), -1).reshape(-1, 2) / 3.0
    yield "far from the origin", 1e8 + rng.uniform(size=(40, 3))
    yield "one place", np.full((5, 2), 0.1)
    yield "large numbers", rng.normal(size=(20, 2)) * 1e150
    yield "in blocks", rng.normal(size=(1600, 2))


CLOUDS = dict(clouds())


@pytest.mark.parametrize("name", CLOUDS)
def test_all_that_is_asked_of_places_is_as_in_their_matrix(name):
    places = CLOUDS[name]
    spacing = single_places(places)
    whole = matrix(places)
    given = spacing.with_distances(whole)
    every = np.arange(len(places))
    rng = np.random.default_rng(1)
    assert spacing.digest() == given.digest()
    assert np.array_equal(spacing.between(every, every), whole)
    for count in (0, 1, 2, len(places) // 2, len(places)):
        chosen = np.sort(rng.choice(len(places), count, replace=False))
        assert spacing.spread(chosen) == whole[np.ix_(chosen, chosen)].max(initial=0.0)
        assert given.spread(chosen) == spacing.spread(chosen)
        if count:
            assert np.array_equal(spacing.reach(chosen), whole[:, chosen].max(axis=1))
    assert np.array_equal(spacing.row(3), whole[3])
    assert spacing.is_finite


def test_without_places_any_two_are_1_apart():
    spacing = single_places(None, 3)
    assert spacing.between(np.arange(3), np.arange(3)).tolist() == [[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
    assert [spacing.spread(np.arange(count)) for count in range(4)] == [0.0, 0.0, 1.0, 1.0]


def test_places_too_far_apart_for_a_number_are_seen():
    assert not single_places(np.array([[-1e308], [0.0], [1e308]])).is_finite
    assert single_places(np.array([[-1e153], [1e153]])).is_finite


def test_a_map_of_many_elements_takes_no_memory_for_their_pairs():
    count = 4000
    names = [f"e{i}" for i in range(count)]
    places = np.random.default_rng(0).normal(size=(count, 2))
    view = table_regions({"A": names}, coordinates={"A": dict(zip(names, places, strict=True))})
    tracemalloc.start()
    question = RegionalMap(view, {"A": RegionRule(0.5)})
    question.describe()
    question.begin().answers()
    question.contradictions(0, 1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * count**2 / 4  # all pairs would take four times that, 128 MB


@pytest.mark.parametrize("is_complex", [False, True])
def test_equal_columns_are_found_as_among_all_pairs(is_complex):
    rng = np.random.default_rng(2)
    columns = rng.normal(size=(6, 700)) + 1j * rng.normal(size=(6, 700)) * is_complex
    columns[:, 300:340] = columns[:, :40] * np.exp(1j * rng.uniform(0.0, 6.0, 40) * is_complex) * -1.0
    columns[:, 400] = columns[:, 401] + 1e-5  # near, but not equal
    columns = columns / np.linalg.norm(columns, axis=0)
    places = rng.normal(size=(700, 2))
    found = {(i, j): apart for i, j, apart in _alike(columns, places)}
    wanted = np.argwhere(np.triu(np.abs(columns.conj().T @ columns) >= _SUSPICIOUS, 1))
    assert {*found} == {*map(tuple, wanted.tolist())}
    assert len(found) >= 40
    assert all(found[i, j] == matrix(places)[i, j] for i, j in found)
