"""Something that is not in the library is excluded by mistake in at most the level of the data sets."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from physupport.judges.conformal import ByConformal, Replicates

LEVEL, RUNS, CHANNELS = 0.2, 300, 24
# Fewer than one in a million seeds would fail a valid judge, or save a broken one.
UNLUCKY = 1e-6


def library(run, n_groups, *, are_twins=False, is_listed=False):
    """Replicates of groups drawn alike, and a signal of one more group, or of the first of them.

    are_twins: groups come in pairs that are alike, and the signal is that of one whose twin is in the library.
    """
    rng = np.random.default_rng([run, n_groups, are_twins])
    shapes = rng.standard_normal((n_groups + 1, CHANNELS))
    if are_twins:
        shapes = np.repeat(shapes[: (n_groups + 2) // 2], 2, axis=0)[: n_groups + 1]
        shapes = shapes + 0.05 * rng.standard_normal(shapes.shape)
    if is_listed:
        shapes[-1] = shapes[0]
    shapes = shapes[np.append(rng.permutation(n_groups), n_groups)]
    listed = [(g, k) for g in range(n_groups) for k in range(2) for _ in range(1 + (g + k) % 2)]
    spectra = [shapes[g] + 0.1 * rng.standard_normal(CHANNELS) for g, _ in listed]
    data = Replicates(np.array(spectra), tuple(f"g{g}" for g, _ in listed), tuple(f"{g} {k}" for g, k in listed))
    return ByConformal(data, seed=run, noise=(0.0,)).judge(shapes[-1] + 0.1 * rng.standard_normal(CHANNELS), LEVEL)


def excluded(**options):
    return sum(library(run, 9, **options).p_unlisted <= Fraction(LEVEL) for run in range(RUNS))


@pytest.mark.parametrize("are_twins", [False, True])
def test_a_group_that_is_not_in_the_library_is_excluded_in_at_most_the_level_of_the_data_sets(are_twins):
    assert binom.sf(excluded(are_twins=are_twins) - 1, RUNS, LEVEL) > UNLUCKY


def test_negative_control_a_signal_whose_group_is_in_the_library_has_it_excluded_far_more_often():
    assert binom.sf(excluded(is_listed=True) - 1, RUNS, LEVEL) < UNLUCKY


@pytest.mark.parametrize(("n_groups", "smallest"), [(1, Fraction(1)), (9, Fraction(1, 5)), (19, Fraction(1, 10))])
def test_the_smallest_p_value_follows_from_the_number_of_groups(n_groups, smallest):
    found = [library(run, n_groups, is_listed=True) for run in range(40)]
    assert {judge.smallest_unlisted for judge in found} == {smallest}
    assert min(judge.p_unlisted for judge in found) == smallest


def test_mixtures_of_two_elements_are_never_told_from_something_unlisted():
    judge = library(1, 19, is_listed=True)
    both = judge.spec.judge(judge.signal, LEVEL, [(0, 1)])
    assert (both.p_unlisted, both.smallest_unlisted) == (1, 1)
