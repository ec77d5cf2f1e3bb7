"""Means whose responses are known up to an angle: distances against brute force, and the truth on the edge."""

import numpy as np
import pytest
from flint import arb
from scipy.optimize import minimize
from scipy.stats import binom

from physupport import MisuseError
from physupport.banks import array_bank
from physupport.io import ArrayRows, as_pairs
from physupport.judges import ByEvidence, Sealed, SealedStream, Verdict
from physupport.judges.rotation import ByRotation
from physupport.laws import Linear, LinearStream
from physupport.laws.streams._widths import Ball, Bounded

Q, ERROR, LEVEL = 16, 0.2, 0.1
AXIS = np.arange(Q)
LINES = np.exp(-0.5 * ((AXIS[:, None] - np.linspace(3, 13, 4)) / 1.5) ** 2)
ATOMS = LINES / np.linalg.norm(LINES, axis=0)
BACKGROUND = np.ones((Q, 1))
FREE = np.array([np.inf])


def brute(target, columns, radii, lows, starts):
    """The least |z - Ax - B b| - sum e |x| by a general minimiser, which knows nothing of signs or closed forms."""
    n = columns.shape[1]
    is_complex = np.iscomplexobj(columns)

    def value(x):
        native = x[:n] + 1j * x[n:] if is_complex else x
        return np.linalg.norm(target - columns @ native) - radii @ np.abs(native)

    bounds = [(low, None) for low in lows] if not is_complex else None
    scale = np.linalg.norm(target)
    tries = np.random.default_rng(0).uniform(-scale, scale, (starts, n * (1 + is_complex)))
    if bounds is not None:
        tries = np.maximum(tries, np.where(np.isfinite(lows), lows, -np.inf))
    options = {"xatol": 1e-10, "fatol": 1e-12, "maxiter": 20000, "maxfev": 20000}
    return min(minimize(value, x, method="Nelder-Mead", bounds=bounds, options=options).fun for x in tries)


@pytest.mark.parametrize("low", [-np.inf, 0.0])
@pytest.mark.parametrize("active", [(1,), (1, 2)])
def test_the_distance_is_the_least_that_any_response_within_the_angle_leaves(active, low):
    columns = np.column_stack([ATOMS[:, active], BACKGROUND])
    radii, lows = np.append(np.full(len(active), ERROR), 0.0), np.append(np.full(len(active), low), -np.inf)
    ball = Ball.of(radii, lows, np.full(len(radii), np.inf), is_complex=False)
    targets = np.random.default_rng(1).standard_normal((3, Q)) + 3.0 * ATOMS[:, 1] - 2.0 * ATOMS[:, 2]
    squares, errors = ball.energies(targets, columns)
    for target, square, error in zip(targets, squares, errors, strict=True):
        least = max(0.0, brute(target, columns, radii, lows, 6))
        assert error < 1e-9  # of numbers about 4, squared
        if low == 0.0:
            # Signs are used, and that coefficients end at 0 is not: the distance may be less, never more.
            assert square <= least**2 + 1e-6
        else:
            assert square == pytest.approx(least**2, abs=1e-6)  # what Nelder and Mead leave
        mean = ball.nearest(target, columns)
        assert np.linalg.norm(target - mean) ** 2 == pytest.approx(square, abs=1e-9)


@pytest.mark.parametrize("active", [(1,), (1, 2)])
def test_bounds_of_coefficients_hold_within_the_ball_and_never_add_too_much(active):
    """Exact where one bound is broken; with no radius it is the rise that exact responses have."""
    columns, count = np.column_stack([ATOMS[:, active], BACKGROUND]), len(active)
    targets = np.random.default_rng(1).standard_normal((4, Q)) - 3.0 * ATOMS[:, 1] + 2.0 * ATOMS[:, 2]
    lows, highs = np.append(np.zeros(count), -np.inf), np.full(count + 1, np.inf)
    bounds = Bounded(lows[:count], highs[:count], np.zeros(count), np.arange(count))
    radii = np.append(np.full(count, ERROR), 0.0)
    squares, errors = Ball.of(radii, lows, highs, False, bounds).energies(targets, columns)
    open_squares, _ = Ball.of(radii, lows, highs, False).energies(targets, columns)
    assert (squares > open_squares + 0.1).any()
    for target, square, error in zip(targets, squares, errors, strict=True):
        least = max(0.0, brute(target, columns, radii, lows, 6)) ** 2
        assert error < 1e-9
        assert square <= least + 1e-6
        assert square == pytest.approx(least, abs=1e-6) or count > 1
    exact, _ = Ball.of(0.0 * radii, lows, highs, False).energies(targets, columns)
    narrow, _ = Ball.of(0.0 * radii, lows, highs, False, bounds).energies(targets, columns)
    assert narrow - exact == pytest.approx(bounds.rises(targets, columns)[0], abs=1e-9)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_least_absolute_value_holds_on_either_side_within_the_ball(sign):
    columns, radii = ATOMS[:, 1:2], np.array([ERROR])
    target = (0.5 * sign * ATOMS[:, 1] + 0.1 * np.random.default_rng(1).standard_normal(Q))[None]
    bounds = Bounded(np.array([-np.inf]), np.array([np.inf]), np.array([4.0]), np.zeros(1, dtype=np.int64))
    ((square,), _) = Ball.of(radii, -np.inf * radii, np.inf * radii, False, bounds).energies(target, columns)
    least = min(np.linalg.norm(target[0] - x * ATOMS[:, 1]) - ERROR * abs(x) for x in (-4.0, 4.0))
    assert square == pytest.approx(least**2, rel=1e-9)


def test_complex_coefficients_have_any_phase():
    turns = np.exp(0.7j * AXIS)[:, None]
    rng = np.random.default_rng(2)
    target = (2.0 - 1.0j) * ATOMS[:, 1] * turns[:, 0] + 0.7 * (rng.standard_normal((2, Q)) * [[1], [1j]]).sum(axis=0)
    for active, is_exact in (((1,), True), ((1, 2), False)):
        columns, radii = ATOMS[:, active] * turns, np.full(len(active), ERROR)
        ball = Ball.of(radii, -np.inf * radii, np.inf * radii, is_complex=True)
        ((square,), _), least = ball.energies(target[None], columns), brute(target, columns, radii, None, 6)
        assert square == pytest.approx(least**2, abs=1e-6) if is_exact else 0.5 * least**2 < square <= least**2
        assert np.linalg.norm(target - ball.nearest(target, columns)) ** 2 >= square - 1e-9


def test_a_ball_that_holds_everything_is_at_no_distance():
    twins = np.column_stack([ATOMS[:, 1], ATOMS[:, 1] + 0.1 * ATOMS[:, 2]])
    radii = np.full(2, ERROR)
    target = np.random.default_rng(3).standard_normal((1, Q))
    for columns in (twins, np.column_stack([ATOMS[:, 1], ATOMS[:, 1]])):
        squares, errors = Ball.of(radii, -np.inf * radii, np.inf * radii, is_complex=False).energies(target, columns)
        assert squares - errors <= 0.0
    # Of coefficients that cannot be of opposite signs, neither is large without the mean being so.
    squares, errors = Ball.of(radii, 0.0 * radii, np.inf * radii, is_complex=False).energies(target, twins)
    assert squares - errors > 1.0


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("noises", [[0.5], None])
def test_scores_lie_within_their_errors_of_exact_ones(is_complex, noises):
    turns = np.exp(0.7j * AXIS)[:, None] if is_complex else 1.0
    as_columns = (lambda x: as_pairs(x, axis=0)) if is_complex else (lambda x: x)
    bank = array_bank(as_columns(ATOMS * turns)[None], [(0,), (0, 1), (2, 3), (1, 2, 3)])
    law = Linear(background=as_columns(BACKGROUND + 0.0 * turns), noises=noises, is_complex=is_complex, error=ERROR)
    law = law.completed(bank)
    rows = np.random.default_rng(4).standard_normal((6, Q * (1 + is_complex))) + as_columns(ATOMS * turns)[:, 1]
    stream = law.stream(bank, ArrayRows(rows), [3, 6])
    scores = stream.log_likelihood(np.arange(4))
    plain = Linear(background=law.background, noises=noises, is_complex=is_complex).completed(bank)
    assert (scores.values > plain.stream(bank, ArrayRows(rows), [3, 6]).log_likelihood(np.arange(4)).values).all()
    for key in range(4):
        for value, error, ball in zip(scores.values[key], scores.errors[key], stream.enclosure(key, 128), strict=True):
            assert error < 1e-8 or not np.isfinite(error)
            assert abs(arb(float(value)) - ball) <= arb(float(error))


def response(rng, atom, sine):
    """A response at this angle from an atom, in any direction."""
    aside = rng.standard_normal(Q)
    aside -= (aside @ atom) * atom
    return np.sqrt(1.0 - sine**2) * atom + sine * aside / np.linalg.norm(aside)


def lost(sine, spec, noises, n_rows, runs, supports=((0,), (1,), (2,), (0, 3))):
    bank = array_bank(ATOMS[None], supports)
    law, count = Linear(background=BACKGROUND, noises=noises, error=ERROR).completed(bank), 0
    for run in range(runs):
        rng = np.random.default_rng([5, run])
        truth = int(rng.integers(bank.size))
        at = sine(rng)
        mean = rng.normal(0.0, 5.0) + sum(rng.uniform(20, 40) * response(rng, ATOMS[:, j], at) for j in supports[truth])
        rows = mean + rng.standard_normal((n_rows, Q))
        stream = SealedStream("deployment", ArrayRows(rows), law, law.keys(bank), lambda: None)
        judge = spec.open(Sealed(bank, LEVEL, (stream,), run))
        count += int(judge.verdicts(np.array([truth])).codes[0] == Verdict.REJECTED)
    return count


@pytest.mark.parametrize(
    ("spec", "noises", "n_rows"), [(ByEvidence("fission", 2), [1.0], 1), (ByEvidence("rows", 2), None, 6)]
)
def test_the_truth_within_the_ball_or_on_its_edge_is_kept_and_outside_it_is_lost(spec, noises, n_rows):
    runs = 40
    for sine in (lambda rng: ERROR * rng.uniform(), lambda rng: ERROR):
        assert binom.sf(lost(sine, spec, noises, n_rows, runs) - 1, runs, LEVEL) > 1e-6
    assert binom.sf(lost(lambda rng: 0.5, spec, noises, n_rows, runs) - 1, runs, LEVEL) < 1e-6


def test_evidence_tells_elements_apart_that_lie_further_than_the_error():
    bank = array_bank(ATOMS[None], [(i,) for i in range(4)])
    law = Linear(background=BACKGROUND, noises=[1.0], error=ERROR).completed(bank)
    rng = np.random.default_rng(6)
    row = 60.0 * response(rng, ATOMS[:, 2], ERROR) + rng.standard_normal(Q)
    stream = SealedStream("deployment", ArrayRows(row[None]), law, law.keys(bank), lambda: None)
    for used, left in ((law, [2]), (Linear(background=BACKGROUND, noises=[1.0]).completed(bank), [])):
        sealed = Sealed(bank, LEVEL, (SealedStream("deployment", stream.rows, used, stream.keys_of, lambda: None),), 1)
        codes = ByEvidence("fission").open(sealed).verdicts(np.arange(4)).codes
        # Exact responses explain nothing: the answer of a bank without width is empty, or worse.
        assert np.flatnonzero(codes != Verdict.REJECTED).tolist() == left


def test_a_covariance_of_the_noise_widens_the_ball_to_hold_its_ellipsoid():
    deviations = np.linspace(0.5, 2.0, Q)
    bank = array_bank(ATOMS[None], [(0,), (1,)])
    law = Linear(noises=[1.0], covariance=deviations**2, error=ERROR).completed(bank)
    rng = np.random.default_rng(7)
    design = law.design(bank)
    for _ in range(20):
        mean = 5.0 * response(rng, ATOMS[:, 1], ERROR) / deviations
        stream = LinearStream(design, ArrayRows(mean[None]), np.array([1]), False)
        _, energy, error, _ = stream.fit(1)
        assert energy[0] <= error[0]


def test_what_does_not_go_with_it_is_refused_with_what_does():
    for given, said in (
        ({"error": 1.0}, "error must lie in \\(0, 1\\)|error must"),
        ({"error": 0.1, "variants": np.zeros((1, Q, 4))}, "Leave error out, or take variants as states"),
    ):
        with pytest.raises(MisuseError, match=said):
            Linear(**given)
    bank = array_bank(ATOMS[None], [(0,)])
    with pytest.raises(MisuseError, match='Write judge = "evidence"'):
        ByRotation().rotations(Linear(error=0.1).completed(bank).design(bank), 1, Q, 1)
    law = Linear(error=0.1).completed(bank)
    assert Linear.decode(law.encode()).error == 0.1


@pytest.mark.parametrize("low", [-np.inf, 0.0])
@pytest.mark.parametrize("seed", range(5))
def test_the_nearest_mean_lies_at_the_distance_of_the_ball_and_in_it(seed, low):
    rng = np.random.default_rng(seed)
    columns = rng.standard_normal((9, 2))
    columns /= np.linalg.norm(columns, axis=0)
    target = columns @ [3.0, -2.0] + rng.standard_normal(9)
    ball = Ball.of(np.array([0.1, 0.0]), np.array([low, -np.inf]), np.full(2, np.inf), is_complex=False)
    mean = ball.nearest(target, columns)
    (distance,), _ = ball.energies(target[None], columns)
    assert distance > 0.1
    assert ((target - mean) ** 2).sum() == pytest.approx(distance, rel=1e-9)
    assert ball.energies(mean[None], columns)[0][0] < 1e-20
