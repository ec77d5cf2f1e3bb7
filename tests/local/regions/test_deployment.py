import numpy as np
import pytest
from scipy import stats

from physupport._errors import MisuseError
from physupport.local.regions import DeploymentBall, deployment_ball, deployment_radius

RUNS, ALPHA, MEAN = 4000, 0.1, np.array([1.0, -2.0, 0.5])


def misses(sigma, sigma_max=2.0, n_rows=3):
    data = MEAN + sigma * np.random.default_rng(3).standard_normal((RUNS, n_rows, 3))
    return sum(not deployment_ball(rows, sigma_max, ALPHA).contains(MEAN) for rows in data)


def test_the_mean_is_missed_exactly_as_often_as_stated_at_the_largest_noise():
    count = misses(2.0)
    assert stats.binomtest(count, RUNS, ALPHA).pvalue > 1e-6  # unlucky seeds: fewer than one in a million


def test_less_noise_misses_less_and_more_noise_is_exposed():
    assert stats.binom.sf(misses(1.5) - 1, RUNS, ALPHA) > 1.0 - 1e-6
    assert stats.binom.sf(misses(2.4) - 1, RUNS, ALPHA) < 1e-6


def test_the_radius_holds_the_stated_probability_of_a_chi_square():
    radius = deployment_radius(5, 20, 0.3, 0.05)
    assert stats.chi2.sf(20 * (radius / 0.3) ** 2, 5) == pytest.approx(0.05, rel=1e-12)


def test_the_ball_is_closed():
    ball = DeploymentBall(np.zeros(2), 1.0, ALPHA)
    assert ball.contains([1.0, 0.0])
    assert not ball.contains([1.0, 1e-7])


def test_a_ball_holds_plain_numbers_and_its_level():
    ball = deployment_ball([[1.0, 2.0]], np.float32(0.5), 0.1)
    assert type(ball.radius) is float
    assert ball.alpha == 0.1
    assert type(DeploymentBall([0, 1], np.float64(2.0), 0.1).radius) is float
    assert DeploymentBall([0, 1], 1, 0.1).center.dtype == np.float64


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: deployment_ball(np.empty((0, 3)), 1.0, 0.1), "rows must hold at least one row"),
        (lambda: deployment_ball(np.ones((2, 3)), 0.0, 0.1), "sigma_max must lie strictly between 0"),
        (lambda: deployment_ball(np.ones((2, 3)), 1.0, 1.0), "alpha must lie strictly between 0 and 1"),
        (lambda: DeploymentBall(np.zeros(2), 1.0, ALPHA).contains([0.0]), r"mean must have shape \(2\)"),
    ],
)
def test_misuse_is_named(call, message):
    with pytest.raises(MisuseError, match=message):
        call()
