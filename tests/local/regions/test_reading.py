from itertools import combinations, pairwise, permutations, product

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.local.theory.means import deployment_mean, measurements, separated_mean

from physupport._checks import Interval
from physupport.banks import projective_distances
from physupport.laws import BernoulliGaussian, make_calibration
from physupport.local.orbit import OrbitBracket
from physupport.local.regions import (
    CalibrationClass,
    CalibrationParameter,
    Correspondence,
    Retained,
    Stage,
    deployment_ball,
    inverted_median_of_means_region,
    reading,
)
from physupport.local.shell import Amplitudes, Block, Frame, LocalDictionary, Shell, default_separated_atom

FRAME, LAW, NOISE, SIGMA = Frame.standard(4), BernoulliGaussian(0.2), 0.02, 0.1
AWAY = default_separated_atom(FRAME)
SHELL = Shell(FRAME, 0.3, 1.2, Interval(0.8, 1.2), AWAY, 0.5, Interval(0.01, 0.1))
SAID = ("at least ", "at most ", ", of ")
AMPLITUDES = Amplitudes(Interval(0.5, 2.0), Interval(0.5, 4.0))


def turned(angle, order=(0, 1, 2, 3), tilt=0.0):
    turn = np.eye(3)
    turn[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    z = Block.balanced(FRAME, 0.3, turn).coordinates[:, list(order)]
    separated = AWAY + tilt * FRAME.basis[:, 1]
    return LocalDictionary(Block.from_coordinates(FRAME, z), separated / np.linalg.norm(separated))


def parameter(*args, **kwargs):
    return CalibrationParameter(LAW, turned(*args, **kwargs), NOISE)


@pytest.fixture(scope="module")
def read():
    """Read what real data leave of some candidates, with the true mean and the number of measurements given."""
    rows = make_calibration(LAW, turned(0.0).atoms, NOISE, np.random.default_rng(0), 20_000)
    region = inverted_median_of_means_region(rows, CalibrationClass(SHELL, Interval(0.1, 0.3)), 0.025)

    def retain(candidates, mean, n_rows, sigma=SIGMA):
        ball = deployment_ball(measurements(mean, sigma**2, np.random.default_rng(1), n_rows), sigma, 0.025)
        return Correspondence(region, ball, AMPLITUDES, 2).retain(candidates)

    return retain


BLOCK_MEAN = deployment_mean(turned(0.0).atoms, (0, 1), [1.0, 1.4])


def test_much_data_name_one_support_and_its_spread(read):
    retained = read([parameter(angle) for angle in (0.0, 0.01, -0.02)], BLOCK_MEAN, 10_000)
    found = reading(retained)
    assert retained.kept[:, 0].sum() > 1
    assert found.stage is Stage.BLOCK_MAPPING
    assert found.supports == ((0, 1),)
    assert found.is_matched
    assert 0.0 < found.diameter < 0.02
    assert found.sentence.startswith(
        "One support, {0, 1}: over all surviving dictionaries its physical elements agree to within 0.0"
    )


def test_few_measurements_leave_several_supports(read):
    found = reading(read([parameter(0.0), parameter(0.01)], BLOCK_MEAN, 3, sigma=0.3))
    assert found.stage is Stage.ATOM_SUPPORT
    assert found.is_matched
    assert len(found.supports) > 1
    assert "could be any of {0, 1}" in found.sentence


def test_a_mean_that_both_explain_leaves_the_local_explanation_open(read):
    found = reading(read([parameter(0.0)], 0.6 * (FRAME.axis + AWAY), 5, sigma=0.5))
    assert found.stage is Stage.LOCAL_EXPLANATION
    assert None in found.supports
    assert len(found.supports) > 1
    assert found.sentence.startswith("Local explanation unresolved")


def test_a_separated_signal_is_read_as_the_separated_atom(read):
    retained = read([parameter(0.0), parameter(0.0, tilt=0.01)], separated_mean(AWAY, 2.0), 100)
    found = reading(retained)
    assert found.stage is Stage.SEPARATED_MAPPING
    assert found.supports == (None,)
    assert retained.kept.sum() == 2
    # Lines tilted by about 0.01 apart.
    assert found.diameter == pytest.approx(0.01, rel=1e-3)
    assert "it agrees to within 0.01 " in found.sentence


def test_nothing_left_says_so_with_the_level(read):
    found = reading(read([parameter(0.0)], -5.0 * FRAME.axis, 100))
    assert found.stage is Stage.EMPTY
    assert found.supports == ()
    assert found.diameter == 0.0
    assert "probability at most 0.049375" in found.sentence


def test_another_order_of_the_same_atoms_is_the_same_support(read):
    found = reading(read([parameter(0.0), parameter(0.0, order=(2, 3, 1, 0))], BLOCK_MEAN, 10_000))
    assert found.stage is Stage.BLOCK_MAPPING
    assert found.supports == ((0, 1),)
    assert found.diameter == pytest.approx(0.0, abs=1e-14)  # the same atoms up to rounding


def test_dictionaries_without_a_unique_matching_coarsen_the_reading(read):
    """Each of the two alone has one support; together their atoms cannot be told apart, so none is named."""
    # Turned by a third of a right angle in the plane of two coordinates, where partners are not closest any more.
    other = parameter(0.9)
    mean = deployment_mean(other.dictionary.atoms, (0, 1), [1.0, 1.4])
    candidates = [parameter(0.0), other]
    each = [read([theta], m, 10_000) for theta, m in zip(candidates, (BLOCK_MEAN, mean), strict=True)]
    assert all(reading(one).stage is Stage.BLOCK_MAPPING for one in each)
    found = reading(
        Retained(
            tuple(candidates),
            each[0].supports,
            np.vstack([one.loss_bounds for one in each]),
            np.vstack([one.kept for one in each]),
            each[0].level,
        )
    )
    assert found.stage is Stage.ATOM_SUPPORT
    assert not found.is_matched
    assert "differ too much" in found.sentence
    assert "{" not in found.sentence


def test_adding_survivors_never_refines_the_reading(read):
    """Order of the stages from fine to coarse; more candidates can only coarsen, and never shrink the diameter."""
    coarseness = [Stage.EMPTY, Stage.BLOCK_MAPPING, Stage.ATOM_SUPPORT, Stage.LOCAL_EXPLANATION]
    rng = np.random.default_rng(5)
    candidates = [parameter(angle, order=rng.permutation(4)) for angle in rng.uniform(-1.0, 1.0, 12)]
    for n_rows in (1, 30, 1000):
        readings = [reading(read(candidates[: k + 1], BLOCK_MEAN, n_rows)) for k in range(len(candidates))]
        for finer, coarser in pairwise(readings):
            assert coarseness.index(finer.stage) <= coarseness.index(coarser.stage)
            assert finer.diameter <= coarser.diameter


def kept(candidates, supports=((0, 1),), separated=False):
    """All candidates survive with these supports."""
    every = (*combinations(range(4), 2), None)
    mask = np.tile([support in supports or (support is None and separated) for support in every], (len(candidates), 1))
    return Retained(tuple(candidates), every, np.zeros(mask.shape), mask, 0.05)


def facts(candidates, **kwargs):
    found = reading(kept(candidates, **kwargs))
    return found.stage, found.is_matched, found.diameter


def test_two_dictionaries_that_match_a_third_need_not_match_each_other():
    """Turns by -0.5 and 0.5 are both near no turn, yet too far from each other: a third survivor must not join them."""
    apart, between = [parameter(-0.5), parameter(0.5)], parameter(0.0)
    assert reading(kept([apart[0], between])).is_matched
    assert reading(kept([between, apart[1]])).is_matched
    assert facts(apart)[:2] == (Stage.ATOM_SUPPORT, False)
    for candidates in permutations([*apart, between]):
        assert facts(candidates) == facts([*apart, between])
        assert facts(candidates)[:2] == (Stage.ATOM_SUPPORT, False)


def test_matchings_around_a_circle_of_turns_must_agree():
    """Every step is a close matching, but the whole way round exchanges the atoms; the long chords expose it."""
    circle = [parameter(angle) for angle in np.linspace(0.0, 2.0 * np.pi / 3.0, 9)]
    assert all(reading(kept(pair)).is_matched for pair in pairwise(circle))
    assert not reading(kept(circle)).is_matched


def brute_force_labels(candidates):
    """Every pair has one permutation closer than half a spacing, and they compose; nothing vectorised."""
    blocks, q = [candidate.dictionary.block.atoms for candidate in candidates], 4
    found = {}
    for (k, one), (m, two) in product(enumerate(blocks), repeat=2):
        d = projective_distances(one, two)
        spacing = min(projective_distances(b, b)[~np.eye(q, dtype=bool)].min() for b in (one, two))
        close = [order for order in permutations(range(q)) if max(d[i, order[i]] for i in range(q)) < spacing / 2.0]
        if len(close) != 1:
            return None
        found[k, m] = close[0]
    n = len(blocks)
    agree = all(found[k, m] == tuple(found[0, m][found[k, 0][i]] for i in range(q)) for k in range(n) for m in range(n))
    return [found[k, 0] for k in range(n)] if agree else None


@pytest.mark.parametrize(("width", "expected_outcomes"), [(0.1, {True}), (0.8, {True, False})])
def test_labels_are_those_of_matching_every_pair_by_brute_force(width, expected_outcomes):
    rng, outcomes = np.random.default_rng(8), set()
    for _ in range(12):
        candidates = [parameter(angle, order=rng.permutation(4)) for angle in rng.uniform(-width, width, 4)]
        expected, found = brute_force_labels(candidates), reading(kept(candidates))
        assert found.is_matched == (expected is not None)
        if expected is not None:
            assert set(found.supports) == {tuple(sorted((order[0], order[1]))) for order in expected}
        outcomes.add(found.is_matched)
    assert outcomes == expected_outcomes


@given(st.lists(st.floats(-0.7, 0.7), min_size=1, max_size=5), st.booleans(), st.randoms(use_true_random=False))
def test_order_does_not_matter_and_survivors_put_anywhere_never_refine(angles, separated, random):
    coarseness = [Stage.BLOCK_MAPPING, Stage.ATOM_SUPPORT, Stage.LOCAL_EXPLANATION]
    candidates = [parameter(angle, order=random.sample(range(4), 4)) for angle in angles]
    stage, is_matched, diameter = facts(candidates, separated=separated)
    shuffled = random.sample(candidates, len(candidates))
    assert facts(shuffled, separated=separated) == (stage, is_matched, diameter)
    place = random.randint(0, len(candidates))
    more = [*shuffled[:place], parameter(random.uniform(-0.7, 0.7)), *shuffled[place:]]
    coarser = facts(more, separated=separated)
    assert coarseness.index(stage) <= coarseness.index(coarser[0])
    assert is_matched >= coarser[1]
    assert diameter <= coarser[2]


def test_hundreds_of_survivors_are_matched():
    rng = np.random.default_rng(3)
    many = [parameter(angle, order=rng.permutation(4)) for angle in rng.uniform(-0.05, 0.05, 300)]
    assert reading(kept(many, supports=((0, 1), (2, 3)))).is_matched


def test_an_unmatched_reading_names_no_support_of_the_block():
    found = reading(kept([parameter(-0.5), parameter(0.5)], separated=True))
    assert found.stage is Stage.LOCAL_EXPLANATION
    assert found.supports == (None,)


@pytest.mark.parametrize("angle", np.linspace(0.011, 0.047, 7))
def test_the_sentence_never_says_less_than_the_diameter(angle):
    found = reading(kept([parameter(0.0), parameter(angle)]))
    said = float(found.sentence.split("within ")[1].split()[0])
    assert found.diameter <= said <= 1.01 * found.diameter


@pytest.mark.parametrize("scale", [1.0, 0.3337, 1e-3])
def test_the_brackets_of_an_orbit_are_told_rounded_outwards(scale):
    inner, outer = 0.123_456 * scale, 0.234_567 * scale
    orbit = OrbitBracket(inner, outer, scale, 0.1, np.zeros((1, 2, 3)), 7)
    found = reading(kept([parameter(0.0)]), orbit)
    assert found.orbit is orbit
    assert found.sentence.startswith(reading(kept([parameter(0.0)])).sentence)
    least, most, whole = (float(found.sentence.split(word)[-1].split()[0].strip(",")) for word in SAID)
    assert 0.99 * inner <= least <= inner
    assert outer <= most <= 1.01 * outer
    assert scale <= whole <= 1.01 * scale
    assert "at level 0.1" in found.sentence
