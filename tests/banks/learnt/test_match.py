"""Atoms are matched whatever their order and sign."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from physupport import MisuseError
from physupport.banks._learnt import match_atoms


def unit(rng, q, n):
    atoms = rng.standard_normal((q, n))
    return atoms / np.linalg.norm(atoms, axis=0)


@given(st.permutations(range(4)), st.lists(st.sampled_from([-1.0, 1.0]), min_size=4, max_size=4), st.integers(0, 99))
def test_a_permuted_and_flipped_dictionary_comes_back(order, signs, seed):
    atoms = unit(np.random.default_rng(seed), 5, 4)
    shuffled = atoms[:, order] * signs
    distance, permutation, signs = match_atoms(atoms, shuffled)
    assert distance < 1e-15  # a line is at most a rounding from itself
    assert np.array_equal(shuffled[:, permutation] * signs, atoms)


@given(st.integers(0, 200))
def test_the_match_has_the_least_largest_distance_and_then_the_least_sum(seed):
    rng = np.random.default_rng(seed)
    first, second = unit(rng, 3, 4), unit(rng, 3, 4)
    sines = np.sqrt(1.0 - np.minimum(1.0, (first.T @ second) ** 2))
    costs = [sines[np.arange(4), list(order)] for order in permutations(range(4))]
    least = min(cost.max() for cost in costs)
    total = min(cost.sum() for cost in costs if cost.max() <= least + 1e-12)
    distance, permutation, signs = match_atoms(first, second)
    # The sine through 1 - cos^2 loses half the digits where lines are close, and random lines never are that close.
    assert distance == pytest.approx(least, abs=1e-12)
    assert sines[np.arange(4), permutation].sum() == pytest.approx(total, abs=1e-12)
    assert (np.einsum("qj,qj->j", first, second[:, permutation] * signs) >= 0.0).all()


def test_dictionaries_of_different_sizes_are_refused():
    with pytest.raises(MisuseError, match="second must have 2 atoms, as the first has, not 3"):
        match_atoms(np.eye(3)[:, :2], np.eye(3))
    with pytest.raises(MisuseError, match=r"second must have shape \(3, any\)"):
        match_atoms(np.eye(3), np.eye(2))
