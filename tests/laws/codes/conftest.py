"""Shared material: the balanced block of the studies, random mixtures, and densities in 60-digit arithmetic."""

from decimal import Decimal, localcontext

import numpy as np
import pytest

from physupport.laws import GaussianMixture, Tangent
from physupport.local.shell import Block, Frame, LocalDictionary, default_separated_atom

TETRAHEDRON = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]).T / np.sqrt(3.0)


def _balanced_atoms(scale, angle=0.0):
    frame = Frame.standard(4, TETRAHEDRON)
    c, s = np.cos(angle), np.sin(angle)
    block = Block.balanced(frame, scale, np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]]))
    return LocalDictionary(block, default_separated_atom(frame)).atoms


def _random_mixture(seed, m=4, q=3):
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(m, q, q))
    return GaussianMixture(rng.dirichlet(np.ones(m)), roots @ np.swapaxes(roots, 1, 2) + 0.3 * np.eye(q))


def _random_tangent(seed, m=4, q=3, k=5):
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(k, m))
    covariances = rng.normal(size=(k, m, q, q))
    return Tangent(weights - weights.mean(axis=1, keepdims=True), covariances + np.swapaxes(covariances, 2, 3))


def _solve_exactly(covariance, row):
    """Gaussian elimination in Decimal: the determinant and y' C^-1 y."""
    q = len(row)
    table = [[*covariance[a], row[a]] for a in range(q)]
    determinant, quadratic = Decimal(1), Decimal(0)
    for a in range(q):
        pivot = table[a][a]
        determinant *= pivot
        quadratic += table[a][q] ** 2 / pivot  # eliminated right-hand side, as in the LDL' factorisation
        for b in range(a + 1, q):
            ratio = table[b][a] / pivot
            table[b] = [x - ratio * y for x, y in zip(table[b], table[a], strict=True)]
    return determinant, quadratic


def _decimal_log_density(weights, covariances, row):
    pi = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899")
    density = Decimal(0)
    for weight, covariance in zip(weights, covariances, strict=True):
        determinant, quadratic = _solve_exactly(covariance, row)
        density += weight * (-quadratic / 2).exp() / (determinant * (2 * pi) ** len(row)).sqrt()
    return density.ln()


def _decimals(array):
    return np.vectorize(Decimal, otypes=[object])(np.asarray(array, dtype=np.float64))


def _exact_log_density(mixture, rows):
    """The log density at exactly these float64 inputs, correct to rounding."""
    with localcontext() as context:
        context.prec, context.Emin = 60, -(10**17)
        weights, covariances = _decimals(mixture.weights), _decimals(mixture.covariances).tolist()
        return np.array([float(_decimal_log_density(weights, covariances, row.tolist())) for row in _decimals(rows)])


def _exact_score(mixture, tangent, rows):
    """Central differences with step 1e-20 in 60 digits: right to 1e-35, far beyond float64."""
    step = Decimal("1e-20")
    scores = np.empty((len(rows), tangent.n_directions))
    with localcontext() as context:
        context.prec, context.Emin = 60, -(10**17)
        weights, covariances = _decimals(mixture.weights), _decimals(mixture.covariances)
        for k in range(tangent.n_directions):
            d_weights, d_covariances = _decimals(tangent.weights[k]), _decimals(tangent.covariances[k])
            for n, row in enumerate(_decimals(rows)):
                ahead, behind = (
                    _decimal_log_density(
                        weights + h * d_weights, (covariances + h * d_covariances).tolist(), row.tolist()
                    )
                    for h in (step, -step)
                )
                scores[n, k] = float((ahead - behind) / (2 * step))
    return scores


@pytest.fixture
def balanced_atoms():
    return _balanced_atoms


@pytest.fixture
def random_mixture():
    return _random_mixture


@pytest.fixture
def random_tangent():
    return _random_tangent


@pytest.fixture
def exact_log_density():
    return _exact_log_density


@pytest.fixture
def exact_score():
    return _exact_score
