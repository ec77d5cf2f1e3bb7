"""Regions that have several elements at once: unordered sets as numbers, their distances, and the bank of them."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from physupport import MisuseError
from physupport.banks import (
    Library,
    RegionPlaces,
    Subsets,
    bank_regions,
    library_bank,
    point_distances,
    product_grid,
)
from physupport.report import rebuilt_bank
from physupport.responses import Settings

ranges = st.integers(1, 9).flatmap(
    lambda n: st.integers(1, n).flatmap(lambda high: st.tuples(st.just(n), st.integers(1, high), st.just(high)))
)


def written_out(n, low, high):
    return [chosen for count in range(low, high + 1) for chosen in combinations(range(n), count)]


@given(ranges)
def test_numbers_are_the_sets_that_itertools_lists(given_range):
    subsets, expected = Subsets(*given_range), written_out(*given_range)
    assert subsets.size == len(expected)
    found = subsets.members(np.arange(subsets.size))
    assert [tuple(row[row >= 0].tolist()) for row in found] == expected
    assert all((np.diff((row < 0).astype(int)) >= 0).all() for row in found)  # what is not there comes last


def test_numbers_of_very_many_sets_are_worked_out_one_by_one():
    subsets = Subsets(2000, 1, 4)
    chosen = [0, 1999, 2000, subsets.size - 1]
    assert subsets.members(chosen).tolist() == [
        [0, -1, -1, -1], [1999, -1, -1, -1], [0, 1, -1, -1], [1996, 1997, 1998, 1999],
    ]  # fmt: skip


@settings(max_examples=60)
@given(ranges, st.integers(1, 3), st.randoms(use_true_random=False))
def test_distances_and_spread_are_those_of_hausdorff(given_range, d, random):
    n, low, high = given_range
    places = np.array([[random.randint(0, 6) / 4 for _ in range(d)] for _ in range(n)])
    sets = RegionPlaces(tuple(f"e{i}" for i in range(n)), places, Subsets(n, low, high))
    between = point_distances(places, places)
    listed = written_out(n, low, high)

    def hausdorff(one, other):
        there = max(min(between[i, j] for j in other) for i in one)
        return max(there, max(min(between[i, j] for i in one) for j in other))

    one = random.randrange(len(listed))
    assert sets.row(one).tolist() == [hausdorff(listed[one], other) for other in listed]
    chosen = random.sample(range(len(listed)), min(len(listed), 7))
    widest = max(hausdorff(listed[i], listed[j]) for i in chosen for j in chosen)
    assert sets.spread(np.array(chosen)) == widest


def make_bank(counts=None, settings=None, extra=None, regions="AAAABB"):
    rng = np.random.default_rng(3)
    responses = rng.standard_normal((7, len(regions)))
    library = Library(
        [f"{region}{i}" for i, region in enumerate(regions)],
        [*regions],
        np.arange(len(regions), dtype=float)[:, None],
        responses / np.linalg.norm(responses, axis=0),
    )
    supports = [["A"], ["A", "B"]]
    return library_bank(
        library, supports, {"A": [1.0, 2.0], "B": 0.5}, counts=counts, settings=settings, extra=extra,
        deployment=product_grid(noise=[0.1, 0.2]),
    )  # fmt: skip


def gains(q, count):
    """Two settings of one parameter."""
    columns = np.random.default_rng(4).standard_normal((2, q, count))
    responses = columns / np.linalg.norm(columns, axis=1, keepdims=True)
    return Settings(("gain",), np.array([[0.0], [1.0]]), responses, is_complex=False)


@pytest.mark.parametrize("has_settings", [False, True])
def test_a_bank_of_sets_holds_every_combination_once(has_settings):
    given_settings = gains(7, 6) if has_settings else None
    bank = make_bank({"A": (1, 3), "B": 2}, given_settings, np.eye(7)[:, :1])
    found = {}
    for e in range(bank.size):
        member = bank.explanation(e)
        key = (frozenset(member.ids), tuple(member.strengths), *member.settings.values(), *member.deployment.values())
        found.setdefault(key, []).append(e)
        assert len({*member.ids}) == len(member.ids)
        assert len(member.positions) == len(member.ids)
    sets_a, sets_b = written_out(4, 1, 3), written_out(2, 1, 2)
    assert bank.size == (2 if has_settings else 1) * len(sets_a) * len(sets_b) * 4 * 2
    without, with_b = 2 * len(sets_a), 2 * len(sets_a) * len(sets_b)
    assert bank.n_deployment_keys == len(found) == (2 if has_settings else 1) * (without + with_b) * 2
    assert {len({*bank.deployment_keys(explanations).tolist()}) for explanations in found.values()} == {1}


@pytest.mark.parametrize("has_settings", [False, True])
def test_parts_give_the_elements_of_a_set_first_and_padding_after(has_settings):
    bank = make_bank({"A": 3, "B": (1, 2)}, gains(7, 6) if has_settings else None)
    index = np.arange(bank.size)
    parts = bank.deployment_parts(bank.deployment_keys(index))
    for e in index.tolist():
        member, active = bank.explanation(e), parts.elements[e] >= 0
        assert active.tolist() == [True] * len(member.ids) + [False] * (5 - len(member.ids))
        assert bank.states.names(parts.elements[e, active]) == member.ids
        assert parts.strengths[e, active].tolist() == member.strengths.tolist()
        assert not parts.strengths[e, ~active].any()
        atoms = member.atoms[:, list(member.positions)]
        assert np.array_equal(bank.states.elements[:, parts.elements[e, active]], atoms)


def test_the_view_has_one_place_for_each_set():
    bank = make_bank({"A": 2})
    view = bank_regions(bank)
    names = view.sets["A"].names
    assert names[:5] == ("A0", "A1", "A2", "A3", "A0 + A1")
    assert len(names) == 10
    assert view.sets["B"].names == ("B4", "B5")
    located = view.locate(np.arange(bank.size))
    for e in range(bank.size):
        ids = bank.explanation(e).ids
        told = [name for j, region in enumerate("AB") for name in [view.sets[region].names[located[e, j]]]
                if located[e, j] >= 0]  # fmt: skip
        assert "+".join(ids) == "+".join(told).replace(" + ", "+")
    assert view.sets["A"].points is None
    assert view.sets["B"].is_single
    with pytest.raises(MisuseError, match="Use choice"):
        bank.location([0])


def test_counts_of_one_change_nothing_and_others_are_written_down():
    plain, one, two = make_bank(), make_bank({"A": 1, "B": (1, 1)}), make_bank({"A": 2})
    assert plain.digest == one.digest != two.digest
    assert plain.encode() == one.encode()
    for bank in (plain, two, make_bank({"A": 2}, gains(7, 6))):
        assert rebuilt_bank(bank.encode()).digest == bank.digest


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ({"A": 5}, "count of region 'A' must"),
        ({"A": (3, 2)}, "the least count of region 'A' must"),
        ({"A": 0}, "count of region 'A' must"),
        ({"C": 2}, "counts must name regions of the bank"),
    ],
)
def test_counts_that_no_region_can_have_are_refused(counts, words):
    with pytest.raises(MisuseError, match=words):
        make_bank(counts)


def test_two_regions_with_the_same_elements_are_refused_with_the_remedy():
    columns = np.eye(3)[:, [0, 1, 1, 0]]
    library = Library(["a", "b", "c", "d"], ["P", "P", "Q", "Q"], [[0.0], [1.0], [1.0], [0.0]], columns)
    with pytest.raises(MisuseError, match=r"'P' and 'Q' have the same\. Make one region of them, with the count 2"):
        library_bank(library, [["P", "Q"]], {"P": 1.0, "Q": 1.0})


def test_all_pairs_of_many_places_are_counted_before_anything_is_made():
    columns = np.tile(np.eye(4), 1000)
    library = Library([f"e{i}" for i in range(4000)], ["A"] * 4000, np.arange(4000.0)[:, None], columns)
    bank = library_bank(library, [["A"]], {"A": 1.0}, counts={"A": 3})
    assert bank.size == 4000 + 4000 * 3999 // 2 + 4000 * 3999 * 3998 // 6
    last = bank.explanation(bank.size - 1)
    assert last.ids == ("e3997", "e3998", "e3999")


def test_products_of_sets_and_single_elements_have_the_size_of_the_product():
    bank = make_bank({"A": (2, 2)})
    pairs = {bank.explanation(e).ids[:2] for e in range(bank.size)}
    assert pairs == {(f"A{i}", f"A{j}") for i, j in combinations(range(4), 2)}
    assert len([*product(pairs, range(2))]) * 4 * 2 == bank.size
