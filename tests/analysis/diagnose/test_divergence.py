"""The evidence expected of a row, against quadrature, and the laws it is expected of, against the streams."""

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss
from scipy.stats import multivariate_normal

from physupport.io import ArrayRows
from physupport.laws import covariance_divergences, mean_divergences


def expected_log_ratio(mean, covariance, other_mean, other_covariance):
    """E of log p - log q under p by a product rule; exact, because the log ratio is a polynomial of degree 2."""
    nodes, weights = hermegauss(3)
    grid = np.stack(np.meshgrid(*[nodes] * len(mean), indexing="ij"), axis=-1).reshape(-1, len(mean))
    mass = np.prod(np.stack(np.meshgrid(*[weights] * len(mean), indexing="ij"), axis=-1), axis=-1).ravel()
    rows = mean + grid @ np.linalg.cholesky(covariance).T
    ratio = multivariate_normal(mean, covariance).logpdf(rows)
    ratio -= multivariate_normal(other_mean, other_covariance).logpdf(rows)
    return float(mass @ ratio / mass.sum())


def make_covariances(rng, count, q):
    roots = rng.standard_normal((count, q, q))
    return roots @ np.swapaxes(roots, 1, 2) + 0.3 * np.eye(q)


def test_the_divergence_of_covariances_is_the_expected_log_ratio():
    first, *others = make_covariances(np.random.default_rng(0), 4, 3)
    expected = [expected_log_ratio(np.zeros(3), first, np.zeros(3), other) for other in others]
    # Sums of 27 terms of order 10.
    np.testing.assert_allclose(covariance_divergences(first, others), expected, rtol=1e-11)


def test_the_divergence_of_means_is_the_expected_log_ratio():
    rng = np.random.default_rng(1)
    mean, means, variances = rng.standard_normal(3), rng.standard_normal((4, 3)), rng.uniform(0.3, 2.0, 4)
    expected = [
        expected_log_ratio(mean, 0.7 * np.eye(3), other, variance * np.eye(3))
        for other, variance in zip(means, variances, strict=True)
    ]
    np.testing.assert_allclose(mean_divergences(mean, 0.7, means, variances), expected, rtol=1e-11)


def test_nothing_cancels_where_laws_almost_agree():
    (first,) = make_covariances(np.random.default_rng(2), 1, 4)
    d = np.array([1e-5, 1e-7])
    # Scaling by 1 / (1 + d) makes every eigenvalue d, and d - log(1 + d) is d^2 / 2 - d^3 / 3 + ...
    expected = 4 / 2 * (d**2 / 2 - d**3 / 3)
    # 1 / (1 + d) is rounded at 1e-16, a relative 1e-9 of the smaller d; the eigenvalues add a small multiple.
    np.testing.assert_allclose(covariance_divergences(first, first / (1 + d)[:, None, None]), expected, rtol=1e-6)


def test_equal_laws_have_divergence_zero_exactly():
    (first,) = make_covariances(np.random.default_rng(2), 1, 4)
    assert covariance_divergences(first, first[None]).tolist() == [0.0]
    assert mean_divergences([1.0, 2.0], 0.5, [[1.0, 2.0]], [0.5]).tolist() == [0.0]


@pytest.mark.parametrize("is_complex", [False, True])
def test_covariances_written_out_are_those_that_the_stream_scores(kit, is_complex):
    bank = kit.make_bank(is_complex, noise=(0.4, 0.9))
    part = kit.run(bank, ("covariance",), (40,), is_complex=is_complex).seal.parts[0]
    keys = np.arange(bank.n_deployment_keys)
    scores = part.law.stream(bank, ArrayRows(part.table[:30]), [30]).log_likelihood(keys).values[:, 0]
    laws = part.law.covariances(bank, keys)
    expected = [multivariate_normal(cov=law).logpdf(part.table[:30]).sum() for law in laws]
    np.testing.assert_allclose(scores, expected, rtol=1e-11)


@pytest.mark.parametrize("is_complex", [False, True])
def test_means_written_out_are_those_that_the_stream_scores(kit, is_complex):
    bank = kit.make_bank(is_complex, noise=(0.4, 0.9))
    part = kit.run(bank, ("mean",), (40,), is_complex=is_complex).seal.parts[0]
    keys = np.arange(bank.n_deployment_keys)
    scores = part.law.stream(bank, ArrayRows(part.table[:30]), [30]).log_likelihood(keys).values[:, 0]
    eye = np.eye(part.table.shape[1])
    pairs = zip(*part.law.means(bank, keys), strict=True)
    expected = [multivariate_normal(mean, nu * eye).logpdf(part.table[:30]).sum() for mean, nu in pairs]
    np.testing.assert_allclose(scores, expected, rtol=1e-11)


@pytest.mark.parametrize("kind", ["covariance", "mean"])
def test_rows_of_a_law_give_the_expected_evidence_against_the_others(kit, bank, kind):
    part = kit.run(bank, (kind,), (40,)).seal.parts[0]
    truth, keys = int(bank.deployment_keys(kit.true_explanation(bank))[0]), np.arange(bank.n_deployment_keys)
    rows = kit.make_rows(bank, kind, np.random.default_rng(5), 20_000)
    blocks = [part.law.stream(bank, ArrayRows(rows[k::100].copy()), [200]) for k in range(100)]
    scores = np.array([stream.log_likelihood(keys).values[:, 0] for stream in blocks]) / 200  # (100, keys)
    ratios = scores[:, [truth]] - scores
    error = ratios.std(axis=0, ddof=1) / 10
    # Five standard errors for each of a dozen laws, with 99 degrees of freedom: less than one in 10^4.
    rates = part.law.divergences(bank, truth, keys)
    assert np.all(np.abs(ratios.mean(axis=0) - rates) <= 5 * error + 1e-15)
    assert rates[truth] == 0.0
    assert (np.delete(rates, truth) > 0.0).all()
