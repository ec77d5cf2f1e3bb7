"""The point-adapted chart, the profiled orientation information and the cubic score."""

import numpy as np
import pytest
from scipy.linalg import expm, polar
from tests.local.theory.divergences import (
    differential_range,
    information_along,
    known_nuisance,
    mixed_range,
    orientation_information_quadrature,
    orientation_information_sampled,
    profiled,
    profiled_range,
)
from tests.local.theory.expansions import cubic_density_score, invariant_differentials
from tests.local.theory.invariants import cubic_invariant, shape_invariant
from tests.local.theory.moments import symmetric_basis

from physupport import MisuseError
from physupport._checks import Interval
from physupport.laws import BernoulliGaussian, ExchangeableGaussian, calibration_mixture, calibration_tangent
from physupport.local.planning import orientation_information, tangent_chart
from physupport.local.planning._design import skew_coordinates
from physupport.local.shell import (
    Block,
    Frame,
    LocalDictionary,
    Shell,
    atom_velocities,
    balanced_dictionary,
    default_separated_atom,
    offset_basis,
    separated_atom,
    skew_basis,
    turned_block,
    two_atom_generator,
)
from physupport.studies import midpoint_quadrature


def known_law(q):
    sizes, variances = np.zeros(q + 2), np.ones(q + 2)
    sizes[:4], variances[:4] = [0.1, 0.5, 0.2, 0.2], [1.0, 1.0, 0.8, 0.6]
    return ExchangeableGaussian(sizes, variances)


def general_dictionary(s=0.2, q=4, seed=0):
    frame = Frame.standard(q)
    inside = Shell(frame, s, 1.4, Interval(0.6, 1.2), default_separated_atom(frame), 0.8, Interval(0.3, 1.0))
    return inside.sample(np.random.default_rng(seed))


def moved(dictionary, t, *, center=None, offset=None, stretch=None, turn=None):
    """The dictionary along the path of eq:sm-tech-s10-2, written out from the polar factors."""
    block, across = dictionary.block, dictionary.q - 1
    zero = np.zeros((across, across))
    rotation, stretched = polar(block.shape)
    shape = (
        rotation @ (stretched + t * (zero if stretch is None else stretch)) @ expm(t * (zero if turn is None else turn))
    )
    b = block.center + t * (0.0 if center is None else center)
    a = dictionary.separated if offset is None else separated_atom(dictionary.separated, t * offset)
    return LocalDictionary(Block(block.frame, b, shape), a)


@pytest.mark.parametrize("dimension", [2, 3, 5])
def test_the_bases_are_orthonormal_and_complete(dimension):
    both = np.concatenate([skew_basis(dimension), symmetric_basis(dimension, 2)])
    gram = np.einsum("kij,lij->kl", both, both)
    assert np.abs(gram - np.eye(dimension**2)).max() < 1e-15
    assert np.array_equal(skew_basis(dimension), -skew_basis(dimension).swapaxes(1, 2))


@pytest.mark.parametrize("q", [4, 5])
def test_every_direction_of_the_chart_is_the_derivative_of_its_path(q):
    dictionary = general_dictionary(q=q)
    chart, across = tangent_chart(dictionary, 0.2, free_probability=True), q - 1
    paths = [{}, {}]
    paths += [{"center": row} for row in np.eye(across)]
    paths += [{"offset": column / np.sqrt(2.0)} for column in offset_basis(dictionary.separated).T]
    paths += [{"stretch": matrix} for matrix in symmetric_basis(across, 2)]
    paths += [{"turn": matrix} for matrix in skew_basis(across)]
    assert len(paths) == len(chart.sizes)
    step = 1e-5
    for number, path in enumerate(paths):
        sides = [moved(dictionary, sign * step, **path).atoms for sign in (1.0, -1.0)]
        # Central difference: step^2 and rounding over step, both below 1e-9.
        assert np.abs((sides[0] - sides[1]) / (2.0 * step) - chart.d_atoms[number]).max() < 1e-9
    assert np.array_equal(chart.d_probability, np.eye(len(chart.sizes))[0])
    assert np.array_equal(chart.d_noise, np.eye(len(chart.sizes))[1])
    assert len(chart.sizes) - chart.n_nuisance == across * (across - 1) // 2


def test_the_separated_directions_have_unit_projector_speed_and_the_known_law_has_no_activity_direction():
    dictionary = general_dictionary()
    chart = tangent_chart(dictionary, 0.2, free_probability=False)
    assert chart.d_probability is None
    a = dictionary.separated
    for velocity in chart.d_atoms[4:7, :, -1]:
        assert np.linalg.norm(np.outer(a, velocity) + np.outer(velocity, a)) == pytest.approx(1.0, rel=1e-14)


@pytest.mark.parametrize("q", [4, 5])
def test_the_differentials_of_the_invariants_are_those_of_the_path(q):
    dictionary, rng = general_dictionary(q=q), np.random.default_rng(q)
    template = dictionary.block.frame.template
    stretch, turn = (a + sign * a.T for a, sign in zip(rng.standard_normal((2, q - 1, q - 1)), (1, -1), strict=True))
    second, third = invariant_differentials(dictionary.block, stretch, turn)
    step = 1e-5
    shapes = [moved(dictionary, sign * step, stretch=stretch, turn=turn).block.shape for sign in (1.0, -1.0)]
    for found, invariant in ((second, shape_invariant), (third, lambda shape: cubic_invariant(shape, template))):
        change = (invariant(shapes[0]) - invariant(shapes[1])) / (2.0 * step)
        assert np.abs(found - change).max() < 1e-8  # step^2 times third derivatives of size one
    rotation, stretched = polar(dictionary.block.shape)
    expected = rotation @ (stretch @ stretched + stretched @ stretch) @ rotation.T
    assert np.abs(second - expected).max() < 1e-14
    assert np.abs(invariant_differentials(dictionary.block, np.zeros_like(turn), turn)[0]).max() < 1e-15


@pytest.mark.parametrize("q", [4, 6])
def test_on_the_balanced_block_the_cubic_moves_by_the_orbit_differential(q):
    turn = skew_basis(q - 1)[0] * 1.7
    block = balanced_dictionary(Frame.standard(q), 0.1).block
    _, third = invariant_differentials(block, np.zeros_like(turn), turn)
    expected = 0.1**3 * np.sqrt(3.0 * (q / (q - 1)) ** 3) * 1.7
    assert np.linalg.norm(third) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("q", [4, 5])
def test_the_mixed_norm_is_that_of_the_invariants_on_the_balanced_block(q):
    # G = I: the shape differential is 2 s S and the orbit differential 3 (q/(q-1))^3; the rest is of order s.
    lowest, largest = differential_range(balanced_dictionary(Frame.standard(q), 1e-5), 1e-5)
    assert lowest == 1.0
    assert largest == pytest.approx(max(4.0, 3.0 * (q / (q - 1)) ** 3), rel=1e-3)


def test_the_profiled_information_is_the_infimum_over_the_nuisance():
    found = orientation_information_quadrature(general_dictionary(), BernoulliGaussian(0.2), 0.5, scale=0.2, order=6)
    start, information = found.chart.n_nuisance, found.information
    unit = np.sqrt(np.diagonal(information))
    scaled = information / np.outer(unit, unit)
    for turn in skew_basis(3):
        weights = skew_coordinates(turn, 3) * unit[start:]
        # Least squares on a root of the information matrix: the infimum of eq:sm-tech-s10-16, by another route.
        values, vectors = np.linalg.eigh(scaled)
        root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
        target = root[:, start:] @ weights
        best = np.linalg.lstsq(root[:, :start], target, rcond=None)[0]
        infimum = np.sum((target - root[:, :start] @ best) ** 2)
        assert information_along(found, turn, profile=True) == pytest.approx(infimum, rel=1e-9)
        assert infimum <= information_along(found, turn, profile=False)
    assert np.linalg.eigvalsh(known_nuisance(found) - profiled(found))[0] > -1e-15


@pytest.mark.parametrize("law", [BernoulliGaussian(0.2), known_law(4)])
def test_monte_carlo_and_quadrature_agree_on_the_information(law):
    dictionary = balanced_dictionary(Frame.standard(4), 0.1)
    exact = orientation_information_quadrature(dictionary, law, 0.5, scale=0.1, order=9)
    sampled = orientation_information_sampled(
        dictionary, law, 0.5, scale=0.1, rng=np.random.default_rng(1), n_draws=60_000
    )
    # Two percent for the draws and two for the order of the rule, three times over.
    assert np.array(profiled_range(sampled)) == pytest.approx(np.array(profiled_range(exact)), rel=0.1)


@pytest.mark.parametrize("q", [4, 5])
@pytest.mark.parametrize("kind", ["Bernoulli-Gaussian", "known law"])
def test_the_orientation_information_grows_with_the_sixth_power_of_the_scale(q, kind):
    law, frame = BernoulliGaussian(0.2) if kind == "Bernoulli-Gaussian" else known_law(q), Frame.standard(q)
    # Small enough for the cubic term to lead (the next is smaller by s), large enough for scores of size s^3 to stand
    # far above rounding; the same draws at every scale.
    scales = np.array([0.02, 0.04, 0.08])
    ranges = []
    for s in scales:
        dictionary = balanced_dictionary(frame, s)
        rng = np.random.default_rng(8)
        found = orientation_information_sampled(dictionary, law, 0.5, scale=s, rng=rng, n_draws=8000)
        ranges.append(profiled_range(found))
    slopes = np.polyfit(np.log(scales), np.log(ranges), 1)[0]
    assert np.abs(slopes - 6.0).max() < 0.1
    assert np.min(ranges[0]) > 0.1 * scales[0] ** 6


def test_the_information_in_mixed_coordinates_is_bounded_at_every_scale():
    for s in (0.2, 0.02, 0.002):
        dictionary, rng = general_dictionary(s=s), np.random.default_rng(3)
        found = orientation_information_sampled(dictionary, BernoulliGaussian(0.2), 0.5, scale=s, rng=rng, n_draws=8000)
        lowest, largest = mixed_range(found)
        # No power of s is left: the same decade at scales a hundred times apart.
        assert 2e-3 < lowest < largest < 30.0


def test_the_divergence_along_the_path_is_the_information_times_the_squared_step():
    dictionary, law, h = balanced_dictionary(Frame.standard(4), 0.1), BernoulliGaussian(0.2), 0.01
    turn = two_atom_generator(dictionary.block.frame.template, (0, 1))
    turned = LocalDictionary(turned_block(dictionary.block, turn, h), dictionary.separated)
    laws = [calibration_mixture(law, d.atoms, 0.5) for d in (dictionary, turned)]
    found = information_along(
        orientation_information_quadrature(dictionary, law, 0.5, scale=0.1, order=8), turn, profile=False
    )
    # J = I h^2 + O(h^4); both sides by the same rule, with nodes that differ by h.
    assert midpoint_quadrature(*laws, order=8).jeffreys == pytest.approx(found * h**2, rel=2e-3)


@pytest.mark.parametrize("kind", ["Bernoulli-Gaussian", "known law"])
def test_the_density_derivative_is_cubic_with_the_stated_coefficient(kind):
    q, frame = 4, Frame.standard(4)
    law = BernoulliGaussian(0.2) if kind == "Bernoulli-Gaussian" else known_law(q)
    rng = np.random.default_rng(4)
    rotation = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    turn = np.einsum("k,kij->ij", rng.standard_normal(3), skew_basis(3))
    rows = 1.3 * rng.standard_normal((1000, q))
    errors = []
    for s in (0.02, 0.01, 0.005):
        dictionary = balanced_dictionary(frame, 0.9 * s, rotation)
        velocity = atom_velocities(dictionary.block, (dictionary.block.shape @ turn @ frame.template)[None])
        tangent = calibration_tangent(
            law, dictionary.atoms, d_noise=[0.0], d_atoms=np.concatenate([velocity, np.zeros((1, q, 1))], axis=2)
        )
        mixture = calibration_mixture(law, dictionary.atoms, 0.5)
        derivative = mixture.score(rows, tangent)[:, 0] * np.exp(mixture.log_density(rows))
        leading, collapsed = cubic_density_score(dictionary, law, 0.5, turn, rows, scale=s)
        gap, size = ((x / collapsed) for x in (derivative / s**3 - leading, leading))
        errors.append(np.linalg.norm(gap) / np.linalg.norm(size))
    # The remainder is of relative order s: it halves with s.
    assert errors[2] < 0.01
    assert np.array(errors[:-1]) / errors[1:] == pytest.approx(np.full(2, 2.0), rel=0.1)


def test_the_collapsed_density_is_the_law_at_scale_zero():
    rows = np.random.default_rng(0).standard_normal((50, 4))
    dictionary = balanced_dictionary(Frame.standard(4), 1e-9)
    _, collapsed = cubic_density_score(dictionary, BernoulliGaussian(0.3), 0.5, skew_basis(3)[0], rows, scale=1e-9)
    exact = calibration_mixture(BernoulliGaussian(0.3), dictionary.atoms, 0.5).log_density(rows)
    assert np.abs(np.log(collapsed) - exact).max() < 1e-8  # the block is 1e-9 wide


def test_misuse_is_named():
    dictionary, law, rng = general_dictionary(), BernoulliGaussian(0.2), np.random.default_rng(0)
    with pytest.raises(MisuseError, match="n_draws must be a whole number at least"):
        orientation_information(dictionary, law, 0.5, scale=0.1, rng=rng, n_draws=10)
    with pytest.raises(MisuseError, match="generator must be square and skew"):
        skew_coordinates(np.eye(3), 3)
    with pytest.raises(MisuseError, match="dictionary must be centred and balanced"):
        cubic_density_score(dictionary, law, 0.5, skew_basis(3)[0], np.zeros((1, 4)), scale=0.2)
