import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats
from scipy.optimize import lsq_linear

from physupport._errors import MisuseError
from physupport.banks import Bank, array_states, product_grid
from physupport.io import ArrayRows
from physupport.laws import Mean, ProfiledMean

NOISES, POINTS = np.array([0.5, 2.0]), np.array([1, 10, 60])
# The first two differ in strengths alone, which a profile ignores.
STRENGTHS = np.array([[1.0, 0.5, 0.0], [2.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
LOWER, UPPER = np.array([0.2, -1.0, 0.5]), np.array([2.0, 0.3, 0.5])


def setting(seed=0, n_states=5, q=4, n=3, n_rows=60):
    rng = np.random.default_rng(seed)
    dictionaries = rng.standard_normal((n_states, q, n))
    dictionaries /= np.linalg.norm(dictionaries, axis=1, keepdims=True)
    bank = Bank(array_states(dictionaries), STRENGTHS, deployment=product_grid(noise=NOISES))
    return dictionaries, bank, dictionaries[0] @ [1.0, 0.4, 0.5] + 0.7 * rng.standard_normal((n_rows, q))


def white(rows, mean, noise):
    return stats.norm.logpdf(rows - mean, scale=np.sqrt(noise)).sum()


def test_scores_are_the_likelihood_at_the_best_coefficients_of_each_prefix():
    dictionaries, bank, rows = setting()
    index = np.arange(bank.size)
    columns = bank.split(index)
    stream = ProfiledMean(noises=NOISES, box=(LOWER, UPPER)).stream(bank, ArrayRows(rows), POINTS)
    scores = stream.log_likelihood(bank.deployment_keys(index))
    for i in index:
        active = STRENGTHS[columns.support[i]] > 0
        atoms, noise = dictionaries[columns.state[i]][:, active], NOISES[columns.deployment[i]]
        for k, t in enumerate(POINTS):
            mean = np.zeros(4)
            if active.any():
                # The solver wants an interior: a fixed coefficient gets one of width 1e-13.
                box = (LOWER[active], UPPER[active] + 1e-13)
                mean = atoms @ lsq_linear(atoms, rows[:t].mean(axis=0), box, tol=1e-14).x
            np.testing.assert_allclose(scores.values[i, k], white(rows[:t], mean, noise), rtol=1e-11)


@given(st.integers(0, 10**6), st.sampled_from([None, 1e-2, 1e-7]), st.sampled_from([1e-8, 1.0, 1e6]))
def test_no_coefficients_in_the_box_beat_the_profile_and_some_attain_it(seed, gap, scale):
    rng = np.random.default_rng(seed)
    q, n, t = int(rng.integers(1, 6)), int(rng.integers(1, 5)), int(rng.integers(1, 20))
    atoms = rng.standard_normal((1, q, n))
    atoms = atoms if gap is None else atoms[:, :, :1] + gap * atoms
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    lower = scale * rng.uniform(-2, 2, n)
    upper = lower + scale * rng.choice([0.0, 1e-3, 1.0, 10.0], n)
    rows = scale * rng.standard_normal((t, q))
    states, noise = array_states(atoms), np.array([scale**2 * 0.3])
    profiled = ProfiledMean(noises=noise, box=(lower, upper)).stream(
        Bank(states, np.ones((1, n))), ArrayRows(rows), [t]
    )
    best = profiled.log_likelihood(np.array([0]))
    exact = profiled.enclosure(0, 128)[0]
    points = np.unique(np.abs(np.clip(lower + (upper - lower) * rng.uniform(0, 1, (8, n)), lower, upper)), axis=0)
    # A bank represents nonnegative coefficients; signs go to the atoms.
    signs = np.where((lower + upper) < 0, -1.0, 1.0)
    points = points[((points * signs >= lower) & (points * signs <= upper)).all(axis=1)]
    if len(points):
        single = Mean(noises=noise).stream(Bank(array_states(atoms * signs), points), ArrayRows(rows), [t])
        scores = single.log_likelihood(np.arange(single.n_keys))
        assert (scores.values - scores.errors <= best.values + best.errors).all()
        assert all(not single.enclosure(k, 128)[0] > exact for k in range(single.n_keys))
    # Attained: the interval is no wider than rounding makes it.
    assert best.errors[0, 0] <= 1e-9 * (1.0 + abs(best.values[0, 0]))


def test_a_box_that_is_a_point_gives_the_mean_stream():
    _, bank, rows = setting()
    keys = np.array([bank.deployment_keys([4])[0]])  # state 0, all three active
    profiled = ProfiledMean(noises=NOISES, box=([1.0] * 3, [1.0] * 3)).stream(bank, ArrayRows(rows), POINTS)
    fixed = Mean(noises=NOISES).stream(bank, ArrayRows(rows), POINTS)
    one, two = profiled.log_likelihood(keys), fixed.log_likelihood(keys)
    assert (np.abs(one.values - two.values) <= one.errors + two.errors).all()
    assert all(
        a.overlaps(b) for a, b in zip(profiled.enclosure(keys[0], 200), fixed.enclosure(keys[0], 200), strict=True)
    )


def test_supports_that_differ_in_strengths_alone_have_equal_profiles():
    _, bank, rows = setting()
    stream = ProfiledMean(noises=NOISES, box=(LOWER, UPPER)).stream(bank, ArrayRows(rows), POINTS)
    one, two = (stream.log_likelihood(bank.deployment_keys(bank.index(np.arange(5), u, 0, 1))) for u in (0, 1))
    assert np.array_equal(one.values, two.values)
    assert np.array_equal(one.errors, two.errors)


@pytest.mark.parametrize(
    ("lower", "upper", "message"),
    [
        ([0.0, 0.0], [1.0, 1.0], "lower must hold a finite number for each of 3 atoms"),
        ([0.0] * 3, [1.0, np.inf, 1.0], "upper must hold a finite number"),
        ([0.0] * 3, [1.0, np.nan, 1.0], "upper must hold a finite number"),
        ([0.0, 2.0, 0.0], [1.0] * 3, "lower must be at most upper"),
        ([0.0] * 3, [1j, 1.0, 1.0], "lower and upper must be real for real data"),
        (["a", "b", "c"], [1.0] * 3, "lower must hold a finite number"),
    ],
)
def test_misuse_of_the_box_names_what_is_wrong(lower, upper, message):
    _, bank, rows = setting()
    with pytest.raises(MisuseError, match=message):
        ProfiledMean(noises=NOISES, box=(lower, upper)).stream(bank, ArrayRows(rows), POINTS)
