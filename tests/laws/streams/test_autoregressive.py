"""Noise that is correlated along the axis: the likelihood over all correlations, bounded from above."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import binom, multivariate_normal

from physupport import MisuseError
from physupport.banks import array_bank
from physupport.io import ArrayRows
from physupport.judges import ByEvidence, Sealed, SealedStream, Verdict
from physupport.laws import Linear
from physupport.laws._autoregressive import autoregressive
from physupport.laws._opponents import correlated_point

Q, LEVEL, TRUTH, SHAPE = 40, 0.1, 1, {"kind": "ar", "order": 1}
LINES = np.exp(-0.5 * ((np.arange(Q)[:, None] - [8.0, 16.0, 20.0, 32.0]) / 3.0) ** 2)
LINES /= np.linalg.norm(LINES, axis=0)
BANK = array_bank(LINES[None], [(i,) for i in range(4)])
BACKGROUND = np.linspace(-1.0, 1.0, Q)[:, None] ** np.arange(2)


def covariance(correlation):
    lags = np.abs(np.subtract.outer(np.arange(Q), np.arange(Q)))
    return correlation**lags / (1.0 - correlation**2)


def drawn(rng, correlation, n_rows, strength=12.0):
    noise = rng.standard_normal((n_rows, Q)) @ np.linalg.cholesky(covariance(correlation)).T
    return strength * LINES[:, TRUTH] + BACKGROUND @ [3.0, 1.0] + noise


def profiled(rows, columns, correlation):
    """-2 log L at the best coefficients and level, by the covariance itself."""
    precision = np.linalg.inv(covariance(correlation))
    mean = rows.mean(axis=0)
    fitted = columns @ np.linalg.solve(columns.T @ precision @ columns, columns.T @ precision @ mean)
    left = rows - fitted
    variance = np.einsum("tq,qp,tp->", left, precision, left) / rows.size
    return -2.0 * multivariate_normal.logpdf(left, cov=variance * covariance(correlation)).sum()


@pytest.mark.parametrize("correlation", [-0.6, 0.0, 0.5, 0.95])
def test_the_bound_is_below_every_correlation_and_hardly_below_the_best(correlation):
    rng = np.random.default_rng(1)
    rows, columns = drawn(rng, correlation, 6), np.hstack([LINES[:, [TRUTH]], BACKGROUND])
    found = autoregressive(rows, columns)
    tried = [profiled(rows, columns, rho) for rho in np.linspace(-0.985, 0.985, 198)]
    best = minimize_scalar(lambda rho: profiled(rows, columns, rho), bounds=(-0.985, 0.985), method="bounded").fun
    assert found.error < 1e-4
    assert found.cost - found.error <= min(tried)
    assert best - 0.6 < found.cost <= best + found.error


def test_the_opponent_is_the_density_of_its_covariance():
    rng = np.random.default_rng(2)
    rows, mean = drawn(rng, 0.5, 5), rng.standard_normal(Q)
    law = Linear(noise_shape=SHAPE).completed(BANK)
    stream = law.stream(BANK, ArrayRows(rows), [2, 5])
    point = correlated_point(mean, 1.7, -0.4)
    numerator, key = point.numerator(stream, ArrayRows(rows))
    expected = [multivariate_normal.logpdf(rows[:n], mean, 1.7 * covariance(-0.4)).sum() for n in (2, 5)]
    assert numerator.log_likelihood(np.array([key])).values[0] == pytest.approx(expected)
    assert [float(ball.mid()) for ball in numerator.enclosure(key, 128)] == pytest.approx(expected)


def codes(rng, correlation, seed, further=0.0):
    law = Linear(noise_shape=SHAPE, background=BACKGROUND).completed(BANK)
    rows = drawn(rng, correlation, 12) + further * LINES[:, 3]
    stream = SealedStream("deployment", ArrayRows(rows), law, law.keys(BANK), lambda: None)
    return ByEvidence("rows", 2).open(Sealed(BANK, LEVEL, (stream,), seed)).verdicts(np.arange(4)).codes


@pytest.mark.parametrize("correlation", [0.0, 0.6])
def test_the_truth_is_kept_whatever_the_correlation_and_others_are_rejected(correlation):
    rng, runs = np.random.default_rng(3), 30
    found = np.array([codes(rng, correlation, seed) for seed in range(runs)])
    assert binom.sf((found[:, TRUTH] == Verdict.REJECTED).sum() - 1, runs, LEVEL) > 1e-6
    assert (np.delete(found, TRUTH, axis=1) == Verdict.REJECTED).mean() > 0.5


def test_negative_control_a_further_element_loses_what_was_the_truth():
    rng, runs = np.random.default_rng(4), 15
    lost = sum(codes(rng, 0.6, seed, further=30.0)[TRUTH] == Verdict.REJECTED for seed in range(runs))
    assert binom.sf(lost - 1, runs, LEVEL) < 1e-6


def test_what_it_does_not_go_with_is_refused():
    with pytest.raises(MisuseError, match=r"noise\.order must be 1"):
        Linear(noise_shape={"kind": "ar", "order": 2})
    with pytest.raises(MisuseError, match="real rows about one mean"):
        Linear(rows="random", noise_shape=SHAPE)
    with pytest.raises(MisuseError, match="coefficients are free"):
        Linear(noise_shape=SHAPE, coefficients={"line": (0.0, 1.0)})
