import numpy as np
import pytest
from scipy import stats
from scipy.linalg import expm
from scipy.optimize import lsq_linear, minimize
from tests.local.theory.divergences import OrientationInformation, information_along, profiled
from tests.local.theory.rates import crossover_contrast, deployment_information, tangent_secant

from physupport import Interval, MisuseError
from physupport.banks import hausdorff_distance
from physupport.laws import BernoulliGaussian, calibration_mixture, make_calibration
from physupport.local.planning import (
    Design,
    information_scales,
    map_scales,
    moment_region_rows,
    plan,
    plan_sentences,
    resolution_map,
    tangent_chart,
)
from physupport.local.planning._design import atom_distances, block_scale, explanation_gate, support_gate
from physupport.local.planning._planner import evidence_ratio, remedies, unlimited_deployment
from physupport.local.planning._resolution import (
    block_information,
    floor,
    joint_information,
    planned_resolution,
    two_point_distance,
    two_point_factor,
)
from physupport.local.regions import (
    CalibrationClass,
    CalibrationParameter,
    fourth_moment,
    inverted_median_of_means_region,
    median_distance_blocks,
    total_variances,
)
from physupport.local.shell import (
    Amplitudes,
    Block,
    Frame,
    LocalDictionary,
    Shell,
    balanced_dictionary,
    compensated_generator,
    default_separated_atom,
    turned_block,
)

FRAME = Frame.standard(4)
TURN = compensated_generator(FRAME.template, (0, 1))
RANGES = Amplitudes(Interval(0.5, 2.0), Interval(0.5, 4.0))


def make_design(**changes):
    fields = {
        "dictionary": balanced_dictionary(FRAME, 0.2),
        "law": BernoulliGaussian(0.2),
        "noise": 0.5,
        "n_calibration": 10**6,
        "n_deployment": 10**4,
        "sigma": 0.5,
        "support": (0, 1),
        "coefficients": np.array([1.0, 1.0]),
        "amplitudes": RANGES,
    }
    return Design(**(fields | changes))


DESIGN = make_design()
# Identities in the information hold whatever its Monte Carlo error.
INFORMATION = block_information(DESIGN, n_draws=5000)
CHART = tangent_chart(DESIGN.dictionary, block_scale(DESIGN.dictionary), free_probability=True)
CHARTED = OrientationInformation(CHART, INFORMATION)


def joint(design):
    return joint_information(INFORMATION, design)


def dense_covariance(design):
    """Inverse of the whole information of (chart, x), with no profiling and no modes."""
    directions = CHART.d_atoms[:, :, list(design.support)]
    k = len(directions)
    mean = np.vstack([directions @ design.coefficients, design.active.T])
    whole = design.n_deployment / design.sigma**2 * mean @ mean.T
    whole[:k, :k] += design.n_calibration * INFORMATION
    size = np.sqrt(np.diag(whole))
    return np.linalg.inv(whole / np.outer(size, size))[:k, :k] / np.outer(size, size)[:k, :k], directions


@pytest.mark.parametrize("x", [[1.0, 1.0], [1.3, 0.8], [0.5, 2.0]])
@pytest.mark.parametrize("n_deployment", [1, 10**4, 10**7])
def test_the_deviation_is_that_of_the_whole_inverse_information(x, n_deployment):
    design = make_design(coefficients=np.array(x), n_deployment=n_deployment)
    covariance, directions = dense_covariance(design)
    spread = np.einsum("kqj,kl,lpj->jqp", directions, covariance, directions)
    expected = np.sqrt(np.linalg.eigvalsh(spread).max())
    # The dense inverse loses the ratio of the largest to the smallest information, about 1e7 in the last case.
    assert joint(design).deviation(design.n_calibration, n_deployment) == pytest.approx(expected, rel=1e-7)


def test_without_deployment_the_turns_have_the_covariance_of_the_profiled_information():
    found = joint(DESIGN)
    inverse = np.linalg.inv(INFORMATION)
    start = CHART.n_nuisance
    turns = inverse[start:, start:]
    assert np.abs(turns @ profiled(CHARTED) - np.eye(len(turns))).max() < 1e-8  # condition of the matrix, about 1e7
    spread = np.einsum("jqk,jpk->jqp", found.moves, found.moves)
    velocity = CHART.d_atoms[:, :, [0, 1]]
    assert np.allclose(spread, np.einsum("kqj,kl,lpj->jqp", velocity, inverse, velocity), rtol=1e-8, atol=1e-8)
    tiny = found.deviation(10**6, 1e-9)
    assert tiny == pytest.approx(np.sqrt(np.linalg.eigvalsh(spread).max() / 10**6), rel=1e-10)


@pytest.mark.parametrize("contrast", [0.0, 0.1, 0.6])
def test_for_one_turn_calibration_and_deployment_information_add_as_the_theory_says(contrast):
    x = np.array([1.0 + contrast / 2, 1.0 - contrast / 2])
    design = make_design(turn=TURN, coefficients=x)
    block = design.dictionary.block
    secant = tangent_secant(block, (0, 1), x, TURN, scale=0.2)[0]
    deployment = deployment_information(secant, scale=0.2, noise_level=0.5, n_deployment=10**4)
    total = 10**6 * information_along(CHARTED, TURN, profile=False) + deployment
    step = 1e-6
    moved = hausdorff_distance(
        turned_block(block, TURN, step).atoms[:, :2], turned_block(block, TURN, -step).atoms[:, :2]
    )
    # A central difference of a smooth curve: error of the order of the squared step.
    assert joint(design).deviation(10**6, 10**4) == pytest.approx(moved / (2 * step) / np.sqrt(total), rel=1e-8)


def test_at_the_crossover_contrast_deployment_doubles_the_information_of_the_turn():
    edge = np.linalg.norm(FRAME.template[:, 0] - FRAME.template[:, 1])
    # The crossover counts in the angle of the two-atom turn; the compensated generator runs edge / 2 times slower.
    information = information_along(CHARTED, TURN, profile=False) * (edge / 2) ** 2
    d = crossover_contrast(
        n_calibration=10**6, n_deployment=10**4, noise_level=0.5, radius=0.2, edge=edge, information=information
    )
    found = joint(make_design(turn=TURN, coefficients=np.array([1 + d / 2, 1 - d / 2])))
    # The closed form belongs to the turn about the axis of the sum alone, exact on the balanced block.
    assert found.worth[0] * 10**4 / 10**6 == pytest.approx(1.0, rel=1e-9)


def test_equal_coefficients_hide_the_compensated_turn_however_many_rows_and_contrast_shows_it():
    hidden, shown = make_design(turn=TURN), make_design(turn=TURN, coefficients=np.array([1.2, 0.8]))
    assert joint(hidden).deviation(10**6, 10**16) == pytest.approx(joint(hidden).deviation(10**6, 1), rel=1e-12)
    assert joint(shown).deviation(10**6, 10**16) < 1e-4 * joint(shown).deviation(10**6, 1)


@pytest.mark.parametrize("x", [[1.0, 1.0], [1.4, 0.6]])
def test_with_the_whole_block_unknown_some_turn_about_the_mean_stays_hidden_at_every_contrast(x):
    design = make_design(coefficients=np.array(x))
    weighted = FRAME.template[:, :2] @ x
    axis = weighted / np.linalg.norm(weighted)
    about = np.cross(np.eye(3), axis)  # the skew matrix of the turn that fixes the weighted sum
    block = design.dictionary.block
    assert np.linalg.norm(turned_block(block, about, 0.5).atoms[:, :2] @ x - block.atoms[:, :2] @ x) < 1e-15
    assert joint(design).deviation(10**6, 10**18) > 0.5 * joint(design).deviation(10**6, 1)
    # A mode no deployment row sees, and as many seen ones as the mean has directions across the active atoms.
    assert np.sum(joint(design).worth > 1e-9) == 4 - 2


@pytest.mark.parametrize("q", [3, 5])
def test_every_size_of_block_and_support_is_planned(q):
    frame = Frame.standard(q)
    for r in range(2, q):
        design = make_design(
            dictionary=balanced_dictionary(frame, 0.2),
            support=tuple(range(1, r + 1)),
            coefficients=np.linspace(0.8, 1.2, r),
        )
        found = plan(design, 0.01, block_information(design, n_draws=2000))
        assert 0.0 < found.resolution.floor < found.resolution.attainable <= found.resolution.block
        assert found.remedies.n_calibration > design.n_calibration


def test_a_known_law_is_one_unknown_less():
    from physupport.laws import ExchangeableGaussian

    law = ExchangeableGaussian(np.array([0.3, 0.3, 0.2, 0.1, 0.06, 0.04]), np.ones(6))
    known = block_information(make_design(law=law), n_draws=2000)
    assert len(known) == len(INFORMATION) - 1
    assert planned_resolution(known, make_design(law=law)).attainable > 0.0


def test_the_maximum_likelihood_angle_has_the_planned_deviation():
    """A simulated experiment: both likelihoods, coefficients profiled out, the angle maximised."""
    # Little noise: 2000 rows know the angle to 0.01, the likelihood is a parabola, and both parts weigh the same.
    runs, rows, replicates, noise, x = 500, 2000, 20_000, 0.05, np.array([1.2, 0.8])
    design = make_design(dictionary=balanced_dictionary(FRAME, 0.5), noise=noise, turn=TURN, coefficients=x)
    deviation = joint_information(block_information(design), design).deviation(rows, replicates)
    spread = deviation / (0.5 * np.linalg.norm(TURN @ FRAME.template[:, 0]))  # both atoms turn across the axis
    angles = np.linspace(-3.0, 3.0, 7) * spread
    blocks = [turned_block(design.dictionary.block, TURN, angle).atoms for angle in angles]
    laws = [
        calibration_mixture(design.law, np.column_stack([atoms, design.dictionary.separated]), noise)
        for atoms in blocks
    ]
    rng = np.random.default_rng(3)
    sample = laws[3].sample(rng, runs * rows)
    calibration = np.stack([law.log_density(sample).reshape(runs, rows).sum(axis=1) for law in laws])  # (7, runs)
    mean = design.active @ x
    centres = mean + 0.5 / np.sqrt(replicates) * rng.standard_normal((runs, 4))
    frames = [np.linalg.qr(atoms[:, :2])[0] for atoms in blocks]
    missed = np.stack([np.sum((centres - centres @ f @ f.T) ** 2, axis=1) for f in frames])
    log_likelihood = calibration - replicates * missed / (2 * 0.25)
    # A parabola through seven points of a nearly quadratic curve has its top at the maximum.
    top = np.array([-b / (2 * a) for a, b, _ in np.polyfit(angles / spread, log_likelihood, 2).T])
    # The mean square of 500 standard normals, four standard deviations either way, and five percent for curvature.
    assert np.mean(top**2) == pytest.approx(1.0, abs=4 * np.sqrt(2 / runs) + 0.05)
    covered = np.mean(np.abs(top) <= np.sqrt(stats.chi2.ppf(1 - design.level, 1)))
    assert covered == pytest.approx(1 - design.level, abs=4 * np.sqrt(design.level / runs))


def test_the_diameter_falls_with_the_root_of_n_and_with_the_square_of_the_scale():
    scales = np.array([0.02, 0.04, 0.08])
    # Deployment is kept out of it by a single row of much noise.
    lonely = make_design(n_deployment=1, sigma=1e3)
    found = resolution_map(lonely, scales, [1e6, 1e8, 1e10])
    assert np.diff(np.log(found.relative), axis=1) == pytest.approx(-np.log(10.0), abs=1e-6)
    widths = [atom_distances(balanced_dictionary(FRAME, s)).max() for s in scales]
    slopes = np.diff(np.log(found.relative[:, 0] * widths)) / np.diff(np.log(scales))
    assert np.abs(slopes + 2.0).max() < 0.15
    assert np.ptp(np.log(found.onset * scales**6)) < 0.3  # N s^6 is the same on the frontier, up to higher orders


def test_half_the_scale_needs_64_times_the_rows_only_where_the_scale_is_small():
    lonely = make_design(n_deployment=1, sigma=1e3)
    onset = resolution_map(lonely, np.array([0.01, 0.02, 0.2, 0.4]), [1e6]).onset
    assert onset[0] / onset[1] == pytest.approx(64.0, rel=0.03)  # higher orders are of the order of the scale
    assert onset[2] / onset[3] < 20.0


def test_the_onset_is_where_the_relative_diameter_is_one():
    found = resolution_map(DESIGN, [0.1, 0.2], [1e6])
    again = resolution_map(DESIGN, [0.1, 0.2], found.onset)
    assert np.diag(again.relative) == pytest.approx(1.0, abs=1e-8)
    assert found.planned == (10**6, pytest.approx(0.2))


def test_deployment_that_sees_the_turn_by_itself_leaves_no_frontier():
    seen = make_design(turn=TURN, coefficients=np.array([1.4, 0.6]), n_deployment=10**8)
    assert resolution_map(seen, [0.2, 0.3], [1e6]).frontier == 0.0


def test_the_scales_of_a_map_stay_within_reach():
    wide = make_design(dictionary=balanced_dictionary(FRAME, 0.6))
    assert map_scales(wide, 5)[-1] == pytest.approx(0.9)
    assert map_scales(DESIGN, 5)[[0, -1]] == pytest.approx([0.08, 0.5])
    with pytest.raises(MisuseError, match="scales must keep every atom within 1 of the axis"):
        resolution_map(DESIGN, [1.5], [1e6])


def test_the_floor_is_the_best_two_point_bound_within_half_the_spacing():
    for n in (10**3, 10**6, 10**10):
        design = make_design(n_calibration=n)
        deviation = joint(design).deviation(n, design.n_deployment)
        kappa = np.linspace(0.0, min(6.0, 0.5 * atom_distances(design.dictionary).max() / deviation), 200_001)
        bounds = kappa * deviation * np.maximum(0.0, 2 * (1 - design.level) - 2 * stats.norm.cdf(kappa / 2))
        # A grid misses a smooth maximum by the square of its step.
        assert planned_resolution(INFORMATION, design).floor == pytest.approx(bounds.max(), rel=1e-8)


def held_deviation(design, held):
    """Worst deviation from the whole inverse information with some coefficients known."""
    directions = CHART.d_atoms[:, :, list(design.support)]
    k, free = len(directions), [j for j in range(len(held)) if not held[j]]
    mean = np.vstack([directions @ design.coefficients, design.active[:, free].T])
    whole = design.n_deployment / design.sigma**2 * mean @ mean.T
    whole[:k, :k] += design.n_calibration * INFORMATION
    size = np.sqrt(np.diag(whole))
    covariance = (np.linalg.inv(whole / np.outer(size, size)) / np.outer(size, size))[:k, :k]
    spread = np.einsum("kqj,kl,lpj->jqp", directions, covariance, directions)
    return np.sqrt(np.linalg.eigvalsh(spread).max())


@pytest.mark.parametrize(
    ("x", "held"),
    [
        ([1.0, 1.0], [0, 0]),
        ([0.5, 0.5], [1, 1]),
        ([2.0, 1.0], [1, 0]),
        ([0.5, 2.0], [1, 1]),
        ([0.5 + 1e-9, 1.0], [1, 0]),
    ],
)
def test_the_floor_holds_coefficients_that_would_leave_their_range(x, held):
    """On the edge, and so near it that the least favourable pair would cross it."""
    design = make_design(coefficients=np.array(x))
    deviation = held_deviation(design, held)
    expected = deviation * two_point_factor(design.level, atom_distances(design.dictionary).max() / 2 / deviation)
    # The dense inverse loses digits to the spread of the informations.
    assert floor(INFORMATION, design) == pytest.approx(expected, rel=1e-6)
    assert floor(INFORMATION, design) <= joint(design).deviation(10**6, 10**4) * two_point_factor(design.level)


def test_both_points_of_the_floor_are_allowed():
    """The pair itself: coefficients in their range, atoms the stated distance apart, information as stated."""
    for x in ([1.0, 1.0], [0.52, 1.0], [0.5, 1.9], [0.5, 2.0]):
        for n in (10**4, 10**6, 10**9):
            design = make_design(coefficients=np.array(x), n_calibration=n)
            held = np.zeros(2, dtype=bool)
            for _ in range(3):
                known = joint_information(INFORMATION, design, held)
                deviation = known.deviation(n, 10**4)
                kappa = two_point_distance(design.level, atom_distances(design.dictionary).max() / 2 / deviation)
                moved = kappa / 2 * known.coefficient_shift(n, 10**4)
                held |= (np.minimum(x - moved, x + moved) < 0.5) | (np.maximum(x - moved, x + moved) > 2.0)
            assert np.all(moved[held] == 0.0)
            expected = deviation * two_point_factor(
                design.level, atom_distances(design.dictionary).max() / 2 / deviation
            )
            # Every distance of the balanced block is the same, up to rounding.
            assert floor(INFORMATION, design) == pytest.approx(expected, rel=1e-12)


def test_no_floor_is_left_at_level_one_half():
    assert two_point_factor(0.5) == 0.0
    assert two_point_factor(0.9) == 0.0
    assert two_point_factor(0.05, 1e-9) == pytest.approx(0.9e-9)


def test_the_resolution_is_never_coarser_than_the_block():
    coarse = planned_resolution(INFORMATION, make_design(n_calibration=10))
    assert coarse.attainable == coarse.block
    assert not coarse.sees_inside
    assert planned_resolution(INFORMATION, DESIGN).sees_inside


def box_distance(mean, atoms, low, high):
    solved = lsq_linear(atoms, mean, bounds=(low, high), method="bvls", tol=1e-14)
    return np.linalg.norm(atoms @ solved.x - mean)


@pytest.mark.parametrize("x", [[1.0, 1.0], [0.5, 2.0], [1.9, 0.6]])
def test_gates_are_exact_distances_to_the_rival_means(x):
    design = make_design(coefficients=np.array(x))
    atoms, mean = design.dictionary.block.atoms, design.active @ x
    rivals = [box_distance(mean, atoms[:, pair], 0.5, 2.0) for pair in ([0, 2], [0, 3], [1, 2], [1, 3], [2, 3])]
    # Two solvers of one convex problem.
    assert support_gate(design).separation == pytest.approx(min(rivals), rel=1e-9)
    away = box_distance(mean, design.dictionary.separated[:, None], 0.5, 4.0)
    assert explanation_gate(design).separation == pytest.approx(away, rel=1e-9)


def test_a_gate_opens_at_the_rows_it_names():
    gate = support_gate(DESIGN)
    below, above = (support_gate(make_design(n_deployment=int(gate.rows_needed) + extra)) for extra in (0, 1))
    assert not below.is_open
    assert above.is_open


def test_an_open_gate_keeps_every_rival_out_whenever_the_ball_holds_the_truth():
    gate = support_gate(DESIGN)
    design = make_design(n_deployment=int(gate.rows_needed) + 1)
    rng = np.random.default_rng(5)
    mean, radius = design.active @ design.coefficients, support_gate(design).radius
    for _ in range(50):
        away = rng.standard_normal(4)
        centre = mean + radius * away / np.linalg.norm(away)
        for pair in ([0, 2], [0, 3], [1, 2], [1, 3], [2, 3]):
            assert box_distance(centre, design.dictionary.block.atoms[:, pair], 0.5, 2.0) > radius


def test_a_gate_with_a_rival_of_the_same_mean_never_opens():
    block = Block.balanced(FRAME, 0.2)
    mean = block.atoms[:, :2].sum(axis=1)
    twin = LocalDictionary(block, mean / np.linalg.norm(mean))
    gate = explanation_gate(make_design(dictionary=twin))
    assert gate.separation == 0.0
    assert not gate.is_open
    assert gate.rows_needed == np.inf
    sentences = plan_sentences(make_design(dictionary=twin), plan(make_design(dictionary=twin), None, INFORMATION))
    assert sentences[0].endswith("Not resolved, whatever T: a competing explanation makes the very same mean.")


def test_a_separation_is_never_above_the_distance_of_any_rival_mean():
    """Rivals that all but coincide with the planned mean: the bound may be too small, never too large."""
    rng, block = np.random.default_rng(4), Block.balanced(FRAME, 0.2)
    mean = block.atoms[:, :2].sum(axis=1)
    for exponent in range(-17, -3):
        away = mean / np.linalg.norm(mean) + 10.0**exponent * rng.standard_normal(4)
        twin = LocalDictionary(block, away / np.linalg.norm(away))
        # The best coefficient in exact arithmetic is the inner product; its residual comes from the difference itself.
        exact = np.linalg.norm(mean - (mean @ twin.separated) * twin.separated)
        assert explanation_gate(make_design(dictionary=twin)).separation <= exact


@pytest.mark.parametrize("doubt", [1e-3, 0.02, 0.1])
def test_a_gate_that_stays_open_rejects_the_rivals_of_every_dictionary_within_the_doubt(doubt):
    rng, design = np.random.default_rng(6), make_design(n_deployment=10**6)
    known = support_gate(design)
    mean, atoms = design.active @ design.coefficients, design.dictionary.block.atoms
    gate = support_gate(design, doubt)
    assert (gate.separation, gate.radius, known.shift) == (known.separation, known.radius, 0.0)
    assert gate.stays_open == (doubt < 0.05)
    moved_towards = np.inf
    for _ in range(200):
        steps = rng.standard_normal((4, 4))
        moved = atoms + doubt * steps / np.linalg.norm(steps, axis=0)
        for pair in ([0, 2], [1, 3], [2, 3]):
            moved_towards = min(moved_towards, box_distance(mean, moved[:, pair], 0.5, 2.0))
    assert moved_towards >= gate.separation - gate.shift
    assert moved_towards < gate.separation  # the doubt does bring rivals nearer
    far = explanation_gate(design, doubt)
    assert far.shift == pytest.approx(4.0 * doubt)
    assert far.stays_open


def test_the_doubt_of_the_gates_is_that_of_the_whole_inverse_information():
    covariance, _ = dense_covariance(DESIGN)
    every = CHART.d_atoms
    spread = np.einsum("kqj,kl,lpj->jqp", every, covariance, every)
    deviations = np.sqrt(np.linalg.eigvalsh(spread).max(axis=1))
    reach = 2.0 * np.sqrt(stats.chi2.isf(DESIGN.level, len(every)))
    found = plan(DESIGN, information=INFORMATION)
    # The dense inverse loses digits to the spread of the informations.
    assert found.support.shift == pytest.approx(2 * 2.0 * reach * deviations[:4].max(), rel=1e-7)
    assert found.explanation.shift == pytest.approx(4.0 * reach * deviations[4], rel=1e-7)
    assert found.explanation.stays_open
    assert found.support.is_open
    assert not found.support.stays_open
    assert plan(make_design(n_calibration=10**9), information=INFORMATION).support.stays_open


@pytest.mark.parametrize("turn", [None, TURN])
@pytest.mark.parametrize("x", [[1.0, 1.0], [1.2, 0.8]])
@pytest.mark.parametrize("wanted", [0.12, 0.03, 0.005])
def test_remedies_reach_the_wanted_resolution_and_nothing_less_does(turn, x, wanted):
    design = make_design(turn=turn, coefficients=np.array(x))
    found, known = remedies(INFORMATION, design, wanted), joint(design)

    def reached(n=design.n_calibration, t=design.n_deployment):
        return known.diameter(design.level, n, t) <= wanted

    n, t = found.n_calibration, found.n_deployment
    assert reached(n=n)
    assert n == design.n_calibration or not reached(n=n - 1)
    if t is None:
        assert not reached(t=10**18)
        assert found.best_by_deployment > wanted
    else:
        assert reached(t=t)
        assert t == design.n_deployment or not reached(t=t - 1)
    widths = [
        joint(design.with_contrast(d)).diameter(design.level, design.n_calibration, design.n_deployment)
        for d in (design.widest_contrast, found.contrast or design.widest_contrast)
    ]
    if found.contrast is None:
        assert found.best_by_contrast > wanted
        assert widths[0] > wanted
    elif found.contrast > design.contrast:
        assert widths[1] == pytest.approx(wanted, rel=1e-6)
    else:
        assert widths[1] <= wanted


def test_every_kind_of_answer_occurs_among_the_remedies():
    shown = make_design(turn=TURN, coefficients=np.array([1.2, 0.8]))
    assert remedies(INFORMATION, shown, 0.005).n_deployment > 10**4
    assert remedies(INFORMATION, make_design(turn=TURN), 0.03).contrast > 0.0
    assert remedies(INFORMATION, make_design(turn=TURN), 0.03).n_deployment is None
    assert remedies(INFORMATION, DESIGN, 0.005).contrast is None


def test_a_larger_contrast_keeps_the_mean_coefficient_and_the_range():
    design = make_design(coefficients=np.array([1.3, 0.9]))
    changed = design.with_contrast(design.widest_contrast)
    assert changed.coefficients.mean() == pytest.approx(1.1)
    assert changed.coefficients.min() == pytest.approx(0.5, abs=1e-8)
    assert changed.contrast == pytest.approx(1.2, abs=1e-8)
    assert make_design(coefficients=np.array([0.5, 2.0])).widest_contrast == pytest.approx(1.5)
    # Coefficients on the edge are not pushed over it by rounding; beyond it they are refused.
    for low, high in ((0.5, 1.7), (0.5, 1.3), (0.7, 2.0), (0.5, 0.9)):
        edge = make_design(coefficients=np.array([low, high]))
        assert edge.with_contrast(edge.contrast).coefficients == pytest.approx([low, high])
        assert edge.with_contrast(edge.widest_contrast).coefficients == pytest.approx([low, high])
    with pytest.raises(MisuseError, match="coefficients must lie in"):
        edge.with_contrast(1.1)
    three = make_design(support=(0, 1, 2), coefficients=np.ones(3)).with_contrast(0.6)
    assert three.coefficients == pytest.approx([1.2, 0.6, 1.2])


def test_the_plan_reports_the_scales_of_the_theory():
    found = plan(DESIGN, information=INFORMATION)
    assert found.scales == information_scales(
        n_calibration=10**6, n_deployment=10**4, scale=block_scale(DESIGN.dictionary), r=2, weakest=0.5, noisiest=0.5
    )
    assert found.scales.orientation == pytest.approx(64.0)
    assert found.remedies is None


def test_the_plan_is_the_same_in_any_coordinates():
    rng = np.random.default_rng(8)
    rotation = expm((a := rng.standard_normal((4, 4))) - a.T)
    moved = rotation @ DESIGN.dictionary.atoms
    frame = Frame.around(moved[:, :4])
    turned = make_design(dictionary=LocalDictionary(Block.from_columns(frame, moved[:, :4]), moved[:, 4]))
    here, there = (plan(design, information=block_information(design)) for design in (DESIGN, turned))
    assert there.support.separation == pytest.approx(here.support.separation, rel=1e-12)
    # Other rows are drawn: half a percent each.
    assert there.resolution.attainable == pytest.approx(here.resolution.attainable, rel=0.03)


def test_evidence_leaves_as_much_more_than_an_efficient_set_as_simulated_gaussian_likelihoods_say():
    """A coordinate with a normal likelihood: the width that evidence leaves, against z times the standard error."""
    level, share, rng = 0.077, 0.45, np.random.default_rng(1)
    proposal = rng.standard_normal(40000) / np.sqrt(share)
    others = rng.standard_normal(40000) / np.sqrt(1.0 - share)
    squares = (proposal - others) ** 2 + 2.0 * np.log(1.0 / level) / (1.0 - share)
    found = np.sqrt(squares).mean() / stats.norm.isf(level / 2.0)
    assert evidence_ratio(level) == pytest.approx(found, rel=0.03)  # a root of a mean and a mean of roots differ


def test_sentences_say_what_is_open_and_what_to_raise():
    sentences = plan_sentences(DESIGN, plan(DESIGN, 0.05, INFORMATION))
    text = "\n".join(sentences)
    assert "Which local explanation is supported? Resolved at T = 10,000 for a known dictionary" in text
    assert "so it stays resolved" in sentences[0]
    assert "Which atoms participate? Resolved at T = 10,000 for a known dictionary" in text
    assert "Not shown for the planned calibration" in sentences[1]
    assert "Once the questions above are resolved: How precisely" in text
    assert (
        "by an efficient confidence set, one from the likelihood. The moment regions of this package are wider" in text
    )
    assert "leaves about 2 times as much" in text
    assert "N alone: raise it from 1,000,000 to " in text
    assert "T alone: impossible. However large T" in text
    assert "N s^6 = 64" in text
    # The bound is of local asymptotics, and the sentence says so.
    assert "No procedure valid near the planned point at level" in text
    assert "on average in the worst case there, at these N and T: a bound for large ones, which falls as N gr" in text
    # The likelihood judges every orientation, not only those of a bank.
    assert "`orbit_bracket`, by evidence too, speaks of every orientation between the members of a bank" in text
    assert all(sentence[0].isupper() and sentence.endswith(".") for sentence in sentences)


@pytest.mark.parametrize(
    ("changes", "wanted", "expected"),
    [
        ({"n_deployment": 100}, None, "Not resolved at T = 100"),
        ({"n_deployment": 100}, None, "T = 120 resolves it for a known dictionary."),
        ({"n_calibration": 100}, None, "No finer than the whole block, 0.322 wide"),
        ({}, 0.5, "The wanted 0.5 is wider than the block, 0.322"),
        ({}, 0.2, "The wanted 0.2 is reached: nothing to raise."),
        ({"turn": TURN}, 0.01, "because with equal coefficients only calibration shows this turn"),
        ({"turn": TURN}, 0.03, "with the contrast of the coefficients alone: raise it from 0 to 0."),
        ({"turn": TURN, "coefficients": np.array([1.2, 0.8])}, 0.01, "T alone: raise it from 10,000 to 1"),
        ({}, 0.05, "impossible; coefficients from 0.5 to 2 reach"),
    ],
)
def test_every_outcome_has_its_sentence(changes, wanted, expected):
    design = make_design(**changes)
    assert expected in "\n".join(plan_sentences(design, plan(design, wanted, INFORMATION)))


def test_what_a_remedy_leaves_is_never_wider_than_the_block():
    """Of so few rows the ellipsoid is: it holds every turn, and then no distance is told."""
    design = make_design(n_calibration=100, n_deployment=50)
    found = plan(design, 0.001, INFORMATION)
    assert unlimited_deployment(joint(design), design) > 2.0 * found.resolution.block
    assert found.remedies.best_by_deployment == found.remedies.best_by_contrast == found.resolution.block
    text = "\n".join(plan_sentences(design, found))
    assert "T alone: impossible. However large T, the whole block remains, because" in text
    assert "coefficients from 0.5 to 2 reach nothing finer than the whole block." in text
    assert found.remedies.n_deployment is found.remedies.contrast is None


def test_the_bound_on_all_procedures_falls_as_calibration_rows_grow():
    few, many = (plan(make_design(n_calibration=n), None, INFORMATION).resolution.floor for n in (10**6, 10**8))
    assert 0.0 < many < few


def test_counts_are_shown_rounded_upwards():
    design = make_design(n_calibration=10**5)
    found = plan(design, 0.05, INFORMATION)
    shown = next(s for s in plan_sentences(design, found) if "N alone" in s).rsplit(" ", 1)[1].strip(".")
    assert 0 <= int(shown.replace(",", "")) - found.remedies.n_calibration < 0.01 * found.remedies.n_calibration


def test_bounds_are_shown_rounded_to_their_safe_side():
    for wanted in (0.02, 0.025, 0.03, 0.035):
        design = make_design(turn=TURN)
        found = plan(design, wanted, INFORMATION)
        sentences = plan_sentences(design, found)
        contrast = float(next(s for s in sentences if "contrast" in s).rsplit(" ", 1)[1].strip("."))
        assert found.remedies.contrast <= contrast <= min(found.remedies.contrast * 1.001, design.widest_contrast)
        changed = joint(design.with_contrast(contrast))
        assert changed.diameter(design.level, design.n_calibration, design.n_deployment) <= wanted
        reach = float(next(s for s in sentences if "To within" in s).split("To within ")[1].split(",")[0])
        assert found.resolution.attainable <= reach <= 1.01 * found.resolution.attainable
        least = float(next(s for s in sentences if "No procedure" in s).split("below ")[1].split(" ")[0])
        assert 0.9 * found.resolution.floor <= least <= found.resolution.floor


def least_visible_turn(design):
    """The turn of the block that the fourth moment sees least for the way its active atoms go, by search."""
    block, law, rng = design.dictionary.block, design.law, np.random.default_rng(0)

    def moment(turn, angle):
        atoms = np.column_stack([turned_block(block, turn, angle).atoms, design.dictionary.separated])
        return fourth_moment(law, atoms, design.noise)

    def visibility(weights):
        a, b, c = weights / np.linalg.norm(weights)
        turn = np.array([[0, a, b], [-a, 0, c], [-b, -c, 0]])
        shift = np.linalg.norm(moment(turn, 1e-4) - moment(turn, -1e-4))
        there, here = (turned_block(block, turn, angle).atoms[:, :2] for angle in (1e-4, -1e-4))
        return shift / np.linalg.norm(there - here, axis=0).max()

    starts = rng.standard_normal((6, 3))
    return min(minimize(visibility, start, method="Nelder-Mead", options={"xatol": 1e-7}).fun for start in starts)


def test_the_moment_region_needs_the_rows_at_which_its_radius_is_the_shift_of_the_least_visible_turn():
    size = 0.01
    rows = moment_region_rows(DESIGN, size)
    _, rows_a_block, multiplier = median_distance_blocks(rows, DESIGN.alpha_calibration / 2)
    theta = CalibrationParameter(DESIGN.law, DESIGN.dictionary, DESIGN.noise)
    radius = multiplier * np.sqrt(total_variances(theta)[1] / rows_a_block)
    # Differences with step 1e-4 and a search without derivatives.
    assert radius == pytest.approx(least_visible_turn(DESIGN) * size, rel=1e-4)
    assert moment_region_rows(DESIGN, 2 * size) == pytest.approx(rows / 4, rel=1e-9)
    # A single turn is at least as visible as the least visible one.
    assert moment_region_rows(make_design(turn=TURN), size) <= rows
    found = plan(DESIGN, information=INFORMATION)
    assert found.moment_rows == moment_region_rows(DESIGN, found.resolution.attainable)
    assert plan(make_design(n_calibration=10), information=INFORMATION).moment_rows is None


def test_the_moment_region_keeps_the_turn_at_a_quarter_of_these_rows_and_rejects_it_at_four_times_as_many():
    design = make_design(dictionary=balanced_dictionary(FRAME, 0.5), noise=0.05, turn=TURN)
    block, away, rng = design.dictionary.block, design.dictionary.separated, np.random.default_rng(2)
    angle = 0.3
    other = LocalDictionary(turned_block(block, TURN, angle), away)
    size = float(np.linalg.norm(other.block.atoms[:, :2] - block.atoms[:, :2], axis=0).max())
    rows = moment_region_rows(design, size)
    shell = Shell(FRAME, 0.5, 1.2, Interval(0.8, 1.2), away, 0.5, Interval(0.01, 0.1))
    allowed = CalibrationClass(shell, Interval(0.1, 0.3))
    kept = {}
    for factor in (0.25, 4.0):
        sample = make_calibration(design.law, design.dictionary.atoms, 0.05, rng, int(factor * rows))
        region = inverted_median_of_means_region(sample, allowed, 0.05)
        assert region.membership(CalibrationParameter(design.law, design.dictionary, 0.05)).inside
        kept[factor] = region.membership(CalibrationParameter(design.law, other, 0.05)).inside
    assert kept == {0.25: True, 4.0: False}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"support": (1, 0)}, "support must be in increasing order"),
        ({"support": (0,), "coefficients": np.ones(1)}, "r must be a whole number between 2 and 3"),
        ({"coefficients": np.array([1.0, 3.0])}, r"coefficients must lie in \[0.5, 2\]"),
        ({"coefficients": np.ones(3)}, r"coefficients must have shape \(2\)"),
        ({"noise": 0.0}, "noise must lie strictly"),
        ({"sigma": -1.0}, "sigma must lie strictly"),
        ({"n_calibration": 0}, "n_calibration must be a whole number"),
        ({"n_deployment": 1.5}, "n_deployment must be a whole number"),
        ({"alpha_calibration": 1.0}, "alpha_calibration must lie strictly"),
        (
            {
                "dictionary": LocalDictionary(
                    Block(FRAME, np.zeros(3), np.diag([0.2, 0.2, 0.0])), default_separated_atom(FRAME)
                )
            },
            "dictionary must have linearly independent coherent atoms",
        ),
    ],
)
def test_a_design_that_breaks_a_rule_is_refused(changes, message):
    with pytest.raises(MisuseError, match=message):
        make_design(**changes)


def test_what_cannot_be_planned_is_refused():
    with pytest.raises(MisuseError, match="wanted must lie strictly"):
        plan(DESIGN, 0.0, INFORMATION)
    with pytest.raises(MisuseError, match="turn must move the block"):
        joint(make_design(turn=np.zeros((3, 3))))
    with pytest.raises(MisuseError, match="dictionary must let calibration data see every direction"):
        joint_information(np.ones_like(INFORMATION), DESIGN)
