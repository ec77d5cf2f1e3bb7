"""Sampled constants: they are labelled estimates; what is tested is that no power of the scale is left in them."""

from functools import partial

import numpy as np
import pytest
from tests.local.theory.divergences import (
    dictionary_radius_ratio,
    differential_estimate,
    information_estimate,
    make_parameter_pair,
    moment_chord,
    orientation_chord_estimate,
    profile_radius_ratio,
    sampled_range,
    statistical_chord,
)
from tests.local.theory.invariants import invariant_coordinates, invariant_distance

from physupport import MisuseError
from physupport._checks import Interval
from physupport.laws import BernoulliGaussian, ExchangeableGaussian
from physupport.local.regions import CalibrationClass
from physupport.local.shell import Frame, Shell, default_separated_atom

KNOWN = ExchangeableGaussian([0.1, 0.5, 0.2, 0.2, 0.0, 0.0], [1.0, 1.0, 0.8, 0.6, 1.0, 1.0])


def calibration(s, activity=None):
    frame = Frame.standard(4)
    shell = Shell(frame, s, 1.5, Interval(0.6, 1.2), default_separated_atom(frame), 0.8, Interval(0.3, 1.0))
    return CalibrationClass(shell, Interval(0.1, 0.4) if activity is None else activity)


def moment_chords(kept, rng, n_pairs):
    return sampled_range(moment_chord, kept, rng, n_pairs)


def statistical_chords(kept, rng, n_pairs, n_draws):
    return sampled_range(partial(statistical_chord, rng=rng, n_draws=n_draws), kept, rng, n_pairs)


def profile_radii(kept, rng, n_pairs):
    return sampled_range(profile_radius_ratio, kept, rng, n_pairs)


def dictionary_radii(kept, rng, n_pairs):
    return sampled_range(partial(dictionary_radius_ratio, scale=kept.shell.scale), kept, rng, n_pairs)


def estimate(function, s, *arguments, activity=None):
    return function(calibration(s, activity), np.random.default_rng(5), *arguments)


@pytest.mark.parametrize("activity", [None, KNOWN])
@pytest.mark.parametrize("kind", [0, 1, 2])
def test_sampled_pairs_lie_in_the_class_and_are_of_their_kind(kind, activity):
    rng, kept = np.random.default_rng(2), calibration(0.05, activity)
    for _ in range(20):
        first, second = make_parameter_pair(kept, rng, kind)
        assert kept.membership(first).inside
        assert kept.membership(second).inside
        if kind == 2:
            gap = first.dictionary.block.shape @ first.dictionary.block.shape.T
            assert np.abs(gap - second.dictionary.block.shape @ second.dictionary.block.shape.T).max() < 1e-16
            assert first.noise == second.noise


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (moment_chords, (60,)),
        (statistical_chords, (30, 4000)),
        (differential_estimate, (20,)),
        (information_estimate, (3, 4000)),
        (profile_radii, (60,)),
        (dictionary_radii, (60,)),
    ],
)
def test_both_constants_are_positive_finite_and_the_same_at_scales_ten_times_apart(function, arguments):
    large, small = (estimate(function, s, *arguments) for s in (0.1, 0.01))
    for found in (large, small):
        assert 0.0 < found[0] <= found[1] < np.inf
    # The sampled shapes are the same; a left-over power of s would show as a factor of ten or more.
    assert 1.0 / 3.0 < large[0] / small[0] < 3.0
    assert 1.0 / 3.0 < large[1] / small[1] < 3.0


def test_the_known_law_has_a_chord_of_its_own():
    large, small = (estimate(statistical_chords, s, 30, 4000, activity=KNOWN) for s in (0.1, 0.01))
    assert 0.0 < small[0] < small[1] < np.inf
    assert 1.0 / 3.0 < large[0] / small[0] < 3.0
    assert 1.0 / 3.0 < large[1] / small[1] < 3.0


@pytest.mark.parametrize("law", [BernoulliGaussian(0.2), KNOWN])
def test_on_the_balanced_block_divergence_is_the_sixth_power_times_the_squared_turn(law):
    found = []
    for s in (0.1, 0.02):
        rng = np.random.default_rng(6)
        found.append(
            orientation_chord_estimate(Frame.standard(4), law, 0.5, rng, scale=s, stretch=0.9, n_pairs=12, n_draws=4000)
        )
    assert 0.0 < found[1][0] < found[1][1] < np.inf
    # A factor five in s is 15625 in its sixth power.
    assert 1.0 / 3.0 < found[0][0] / found[1][0] < 3.0
    assert 1.0 / 3.0 < found[0][1] / found[1][1] < 3.0


def test_estimates_are_reproducible_from_their_seed():
    assert estimate(moment_chords, 0.05, 9) == estimate(moment_chords, 0.05, 9)


def test_the_moment_chord_contains_the_ratio_of_a_further_pair_of_the_same_kinds():
    found = estimate(moment_chords, 0.05, 300)
    rng, kept = np.random.default_rng(77), calibration(0.05)
    inside = 0
    for pair in range(60):
        first, second = make_parameter_pair(kept, rng, pair % 3)
        here, there = (invariant_coordinates(theta.dictionary, theta.noise) for theta in (first, second))
        moments = [
            np.concatenate([[theta.noise], *(_powers(theta.dictionary.atoms, order) for order in (2, 4))])
            for theta in (first, second)
        ]
        ratio = np.linalg.norm(moments[0] - moments[1]) / invariant_distance(here, there)
        inside += found[0] <= ratio <= found[1]
    assert inside >= 54  # a fresh pair beats 300 others in either direction with probability below one in a hundred


def _powers(atoms, order):
    dense = atoms.T
    for _ in range(order - 1):
        dense = np.einsum("na,nb->nab", dense, atoms.T).reshape(len(dense), -1)
    return dense.sum(axis=0)


def test_misuse_is_named():
    with pytest.raises(MisuseError, match="n_pairs must be a whole number at least 1"):
        estimate(moment_chords, 0.05, 0)
    assert isinstance(calibration(0.05, KNOWN).sample(np.random.default_rng(0)).law, ExchangeableGaussian)
