"""Rows are parted once, looked at where announced, and several streams are read along one path."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.random import SeedSequence

from physupport import MisuseError
from physupport.io import split_rows, split_streams
from physupport.judges import doubling_checkpoints, joint_path
from physupport.laws import check_checkpoints

FOUR_REGION_PATH = [[128, 0], [256, 0], [512, 0], [1024, 0], [2048, 0], [2253, 116]]


@given(st.integers(2, 300), st.floats(0.5, 0.99), st.integers(0, 2**40))
def test_every_row_is_in_exactly_one_part(n_rows, fraction, seed):
    parts = split_rows(n_rows, fraction, seed)
    assert sorted([*parts.proposal, *parts.held_out]) == list(range(n_rows))
    assert len(parts.proposal) >= 1
    assert len(parts.held_out) >= 1
    assert parts.n_rows == n_rows


def test_the_split_is_the_permutation_of_the_seed_cut_at_the_floor():
    order = np.random.default_rng(11).permutation(4096)
    parts = split_rows(4096, 0.45, 11)
    np.testing.assert_array_equal(parts.proposal, order[:1843])
    np.testing.assert_array_equal(parts.held_out, order[1843:])


def test_the_split_of_two_streams_uses_the_children_of_one_seed():
    calibration, deployment = split_streams((4096, 192), (0.45, 0.40), 9026091001)
    children = SeedSequence(9026091001).spawn(2)
    orders = [np.random.default_rng(child).permutation(n) for child, n in zip(children, (4096, 192), strict=True)]
    np.testing.assert_array_equal(np.concatenate([calibration.proposal, calibration.held_out]), orders[0])
    np.testing.assert_array_equal(np.concatenate([deployment.proposal, deployment.held_out]), orders[1])
    assert (len(calibration.proposal), len(calibration.held_out)) == (1843, 2253)
    assert (len(deployment.proposal), len(deployment.held_out)) == (76, 116)


def test_a_seed_sequence_that_has_spawned_gives_the_same_split_again():
    seed = SeedSequence(5)
    first = split_streams((10, 10), (0.5, 0.5), seed)
    seed.spawn(3)
    again = split_streams((10, 10), (0.5, 0.5), seed)
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one.held_out, other.held_out)


@given(st.integers(1, 99), st.integers(1, 50))
def test_the_fraction_is_the_decimal_number_as_written(percent, hundreds):
    assert len(split_rows(100 * hundreds, percent / 100, 0).proposal) == percent * hundreds


@pytest.mark.parametrize("fraction", [0.0, 1.0, -0.2, float("nan")])
def test_a_fraction_that_empties_a_part_is_refused(fraction):
    with pytest.raises(MisuseError, match="fraction must lie strictly between 0 and 1"):
        split_rows(10, fraction, 0)


def test_a_record_too_short_to_propose_is_refused():
    with pytest.raises(MisuseError, match=r"split must leave rows to the proposal, but 0.3 of 3 rows leaves none"):
        split_rows(3, 0.3, 0)


@pytest.mark.parametrize("seed", [-1, 1.5, None])
def test_a_seed_that_is_no_whole_number_is_refused(seed):
    with pytest.raises(MisuseError, match="seed must be a whole number"):
        split_rows(10, 0.5, seed)


def test_as_many_fractions_as_streams():
    with pytest.raises(MisuseError, match="fractions must number as many as the streams"):
        split_streams((10, 10), (0.5,), 0)


@pytest.mark.parametrize(
    ("n_rows", "expected"),
    [(1, [1]), (116, [116]), (128, [128]), (129, [128, 129]), (2253, [128, 256, 512, 1024, 2048, 2253])],
)
def test_checkpoints_double_up_to_the_last_row(n_rows, expected):
    assert doubling_checkpoints(n_rows).tolist() == expected


@pytest.mark.parametrize(
    ("checkpoints", "message"),
    [
        ([], "hold at least one"),
        ([0, 5], "be positive, not 0"),
        ([5, 5], "increase"),
        ([5, 3], "increase"),
        ([5, 11], "lie within the 10 rows, not checkpoint 11"),
        ([2.5], "be whole numbers"),
        ([[1, 2]], "have 1 axes"),
    ],
)
def test_checkpoints_that_no_prefix_matches_are_refused(checkpoints, message):
    with pytest.raises(MisuseError, match=f"checkpoints must {message}"):
        check_checkpoints(checkpoints, 10)


def test_the_four_region_study_has_the_six_pairs_of_the_paper():
    prefixes, steps = joint_path([doubling_checkpoints(2253), doubling_checkpoints(116)])
    assert prefixes.tolist() == FOUR_REGION_PATH
    assert steps.tolist() == [[0, -1], [1, -1], [2, -1], [3, -1], [4, -1], [5, 0]]


def test_one_stream_is_read_at_its_own_checkpoints():
    prefixes, steps = joint_path([[3, 5, 8]])
    assert prefixes.tolist() == [[3], [5], [8]]
    assert steps.tolist() == [[0], [1], [2]]


def test_shares_are_compared_exactly():
    # One third of 3 k rows and of 3 m rows is one share, though 1/3 has no float64.
    _, steps = joint_path([[10**15, 3 * 10**15], [7, 21], [7 * 10**14, 21 * 10**14]])
    assert steps.tolist() == [[0, 0, 0], [1, 1, 1]]


lengths = st.lists(st.integers(1, 60), min_size=1, max_size=6, unique=True).map(sorted)


@given(st.lists(lengths, min_size=1, max_size=4))
def test_at_each_share_every_stream_stands_at_its_latest_checkpoint(streams):
    shares = sorted({Fraction(t, stream[-1]) for stream in streams for t in stream})
    expected = [tuple(max((t for t in s if Fraction(t, s[-1]) <= x), default=0) for s in streams) for x in shares]
    expected = [pair for i, pair in enumerate(expected) if pair not in expected[:i]]
    assert [tuple(row) for row in joint_path(streams)[0].tolist()] == expected


def test_a_path_needs_streams():
    with pytest.raises(MisuseError, match="checkpoints must be those of at least one stream"):
        joint_path([])
