"""The corollaries, each shown with numbers."""

import numpy as np
import pytest
from tests.local.theory.divergences import (
    information_along,
    midpoint_monte_carlo,
    orientation_information_quadrature,
    product_affinity_deficit,
)
from tests.local.theory.rates import (
    deployment_information,
    dictionary_radius,
    explanation_means,
    mean_pair_diameter,
    orientation_pair,
    restricted_orbit_rate,
    support_means,
    tangent_secant,
    three_scale_upper_bound,
    total_variation_from_affinity,
    two_point_diameter,
)

from physupport._checks import Interval
from physupport.laws import BernoulliGaussian, calibration_mixture
from physupport.local.planning import information_scales, optimal_resolution
from physupport.local.shell import (
    Amplitudes,
    Frame,
    LocalDictionary,
    Shell,
    balanced_dictionary,
    default_separated_atom,
    turned_block,
    two_atom_generator,
)
from physupport.studies import midpoint_quadrature

LAW, NOISE, ALPHA = BernoulliGaussian(0.2), 0.5, 0.1
STEPS = (0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.3)


def path(s, steps=STEPS):
    """Separations and one-row affinity deficits along the compensated path of two atoms, q = 4."""
    dictionary = balanced_dictionary(Frame.standard(4), s)
    here = calibration_mixture(LAW, dictionary.atoms, NOISE)
    found = []
    for h in steps:
        block, separation = orientation_pair(dictionary.block, (0, 1), h)
        turned = LocalDictionary(block, dictionary.separated)
        there = calibration_mixture(LAW, turned.atoms, NOISE)
        found.append((separation, midpoint_quadrature(here, there, 6).affinity_deficit))
    return found


def forced_diameter(points, n):
    """The best two-point bound on the path for n calibration rows."""
    return max(
        two_point_diameter(gap, total_variation_from_affinity(product_affinity_deficit(deficit, n)), ALPHA)
        for gap, deficit in points
    )


def test_the_calibration_limit_stays_when_an_oracle_tells_everything_but_the_orientation():
    for s in (0.1, 0.04):
        points = path(s)
        for information in (1e-3, 1.0, 10.0, 1e3, 3e3):
            n = round(information / s**6)
            ratio = forced_diameter(points, n) / optimal_resolution(n, s)
            # One constant over six decades of N: the largest step bounds it below one, a step of the grid costs two.
            assert 0.1 < ratio < 1.0


def test_more_deployment_data_cannot_move_the_oracle_bound_because_the_mean_is_the_same():
    dictionary = balanced_dictionary(Frame.standard(4), 0.1)
    turned, _ = orientation_pair(dictionary.block, (0, 1), 0.3)
    shift = np.linalg.norm((dictionary.block.atoms - turned.atoms)[:, :2].sum(axis=1))
    # T rows with noise level 1 would have to number 1e24 to see a shift at the level of rounding.
    assert 10**24 * shift**2 / 2.0 < 1e-5


def test_a_known_dictionary_resolves_what_a_learned_one_cannot():
    for s in (0.2, 0.1, 0.05):
        n, t = round(1.0 / s**6), round(400.0 / s**2)
        scales = information_scales(n_calibration=n, n_deployment=t, scale=s, r=2, weakest=1.0, noisiest=1.0)
        assert scales.orientation == pytest.approx(1.0, rel=1e-3)
        assert min(scales.support, scales.explanation) > 300.0
        dictionary = balanced_dictionary(Frame.standard(4), s)
        # With the dictionary known neither deployment pair forces any diameter ...
        assert mean_pair_diameter(support_means(dictionary.block, (0, 1), (0, 2), 1.0), 1.0, t, ALPHA) < 1e-6 * s
        assert mean_pair_diameter(explanation_means(dictionary, (0, 1), 1.0), 1.0, t, ALPHA) < 1e-6 * s
        # ... with the dictionary learned the orientation pair forces a fixed share of the block.
        assert forced_diameter(path(s, (0.16, 0.3)), n) > 0.1 * s


def test_upper_and_lower_bound_meet_at_the_same_rate_once_deployment_is_resolved():
    frame, s = Frame.standard(4), 0.02
    shell = Shell(frame, s, 1.2, Interval(0.8, 1.1), default_separated_atom(frame), 0.5, Interval(0.3, 1.0))
    amplitudes, points, ratios = Amplitudes(Interval(1.0, 1.1), Interval(0.5, 4.0)), path(s), []
    for information in (1e3, 1e5, 1e7):
        n = round(information / s**6)
        rho = dictionary_radius(s, 1.0 / np.sqrt(n), 1.0)
        bound = three_scale_upper_bound(shell, amplitudes, 2, dictionary_radius=rho, ball_radius=1e-5)
        assert bound[1:] == (0.0, 0.0)
        ratios.append(max(bound) / optimal_resolution(n, s))
    # All three terms of the radius are proportional to 1/sqrt(N) here, so one constant serves every N.
    assert ratios == pytest.approx([(1.0 + s + s**2) / np.sqrt(1.0 - (1.2 * s) ** 2)] * 3, rel=1e-9)
    assert forced_diameter(points, round(1e3 / s**6)) < ratios[0] * optimal_resolution(round(1e3 / s**6), s)


def isometry(rows, columns, seed):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((rows, columns)))[0]


@pytest.mark.parametrize("extra", [1, 2])
def test_orthogonal_further_atoms_leave_every_likelihood_ratio_of_the_path_alone(extra):
    dictionary = balanced_dictionary(Frame.standard(4), 0.1)
    turned, _ = orientation_pair(dictionary.block, (0, 1), 0.3)
    atoms = [dictionary.atoms, np.column_stack([turned.atoms, dictionary.separated])]
    square = isometry(6, 6, 3)
    embed, further = square[:, :4], square[:, 4 : 4 + extra]
    rows = 1.5 * np.random.default_rng(1).standard_normal((200, 6))
    small = [calibration_mixture(LAW, d, NOISE).log_density(rows @ embed) for d in atoms]
    large = [calibration_mixture(LAW, np.column_stack([embed @ d, further]), NOISE).log_density(rows) for d in atoms]
    # Row by row, up to rounding of log densities of size ten.
    assert np.abs((large[0] - large[1]) - (small[0] - small[1])).max() < 1e-13


def test_further_atoms_in_general_position_never_make_the_path_easier_to_see():
    dictionary = balanced_dictionary(Frame.standard(4), 0.15)
    turned, _ = orientation_pair(dictionary.block, (0, 1), 0.3)
    atoms = [dictionary.atoms, np.column_stack([turned.atoms, dictionary.separated])]
    embed = isometry(5, 4, 4)
    further = np.random.default_rng(5).standard_normal((5, 2))
    further /= np.linalg.norm(further, axis=0)
    alone = midpoint_quadrature(*(calibration_mixture(LAW, d, NOISE) for d in atoms), 8)
    laws = [calibration_mixture(LAW, np.column_stack([embed @ d, further]), NOISE) for d in atoms]
    within = midpoint_monte_carlo(*laws, np.random.default_rng(6), 40_000)
    # Data processing: the further coefficients are extra noise. Five standard errors.
    assert within.jeffreys < alone.jeffreys + 5.0 * within.jeffreys_error
    assert within.jeffreys > 0.1 * alone.jeffreys


def test_on_the_two_atom_orbit_both_informations_add_in_the_two_point_bound():
    s, sigma, contrast = 0.1, 0.5, 0.3
    dictionary = balanced_dictionary(Frame.standard(4), s)
    turn = two_atom_generator(dictionary.block.frame.template, (0, 1))
    x = np.array([1.0 + contrast / 2.0, 1.0 - contrast / 2.0])
    chi = tangent_secant(dictionary.block, (0, 1), x, turn, scale=s)[0]
    calibrated = information_along(
        orientation_information_quadrature(dictionary, LAW, NOISE, scale=s, order=6), turn, profile=False
    )
    for n, t in [(10**7, 1), (10**7, 10**5), (1, 10**6), (10**9, 10**6)]:
        total = n * calibrated + deployment_information(chi, scale=s, noise_level=sigma, n_deployment=t)
        angle = min(0.3, 1.0 / np.sqrt(total))
        turned = turned_block(dictionary.block, turn, angle)
        mean = dictionary.block.atoms[:, :2] @ x
        other = turned.atoms[:, :2] @ np.linalg.lstsq(turned.atoms[:, :2], mean, rcond=None)[0]
        here, there = (
            calibration_mixture(LAW, d.atoms, NOISE)
            for d in (dictionary, LocalDictionary(turned, dictionary.separated))
        )
        divergence = n * midpoint_quadrature(here, there, 6).jeffreys / 2.0
        divergence += t * np.sum((mean - other) ** 2) / (2.0 * sigma**2)
        # Half a squared step times the information, up to the curvature over a step of 0.3.
        assert divergence <= 0.5 * angle**2 * total * 1.05
        gap = np.abs(np.linalg.norm(dictionary.block.atoms[:, 0] - turned.atoms[:, 0]))
        rate = restricted_orbit_rate(n_calibration=n, n_deployment=t, scale=s, secant=chi, noise_level=sigma)
        forced = two_point_diameter(gap, np.sqrt(divergence / 2.0), ALPHA)
        assert 0.02 < forced / rate < 2.0
