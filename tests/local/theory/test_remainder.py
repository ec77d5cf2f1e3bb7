"""The composed remainder of the calibration density: what is left beyond total degree three, at q = 4."""

from itertools import combinations

import numpy as np
import pytest
from tests.local.theory.expansions import stratum_polynomial

from physupport.laws import BernoulliGaussian
from physupport.local.shell import regular_simplex
from physupport.studies import gauss_hermite

Q, LAW, NOISE = 4, BernoulliGaussian(0.2), 0.5
AXIS = np.eye(Q)[:, -1]
SEPARATED = np.array([1.0, 0.0, 0.0, 1.0]) / np.sqrt(2.0)
# Only rates are compared, so a coarse rule does: order 8 gives the same exponents to 0.003.
NODES, NODE_WEIGHTS = gauss_hermite(Q, 6)


def projector_terms(z):
    """A_1, A_2, A_3 of one coordinate vector across the axis, and the projector increment itself."""
    lifted = np.append(z, 0.0)
    mixed = np.outer(AXIS, lifted) + np.outer(lifted, AXIS)
    square = z @ z
    atom = np.sqrt(1.0 - square) * AXIS + lifted
    axial = np.outer(AXIS, AXIS)
    terms = np.array([mixed, np.outer(lifted, lifted) - square * axial, -0.5 * square * mixed])
    return terms, np.outer(atom, atom) - axial


def density(rows, covariance):
    exponent = np.sum(rows * np.linalg.solve(covariance, rows.T).T, axis=1)
    return np.exp(-0.5 * exponent) / np.sqrt(np.linalg.det(2.0 * np.pi * covariance))


def stratum(rows, z, separated, noise, h, has_separated, degree):
    """Support-averaged density of one stratum and its remainder beyond the given total degree; z is (3, 4)."""
    base = noise * np.eye(Q) + h * np.outer(AXIS, AXIS) + has_separated * np.outer(separated, separated)
    subsets = list(combinations(range(Q), h))
    exact, polynomial = np.zeros(len(rows)), np.zeros(len(rows))
    for chosen in subsets:
        parts = [projector_terms(z[:, j]) for j in chosen]
        increments = sum((part[0] for part in parts), np.zeros((3, Q, Q)))
        exact += density(rows, base + sum((part[1] for part in parts), np.zeros((Q, Q))))
        polynomial += stratum_polynomial(rows, base, increments)[:, : degree + 1].sum(axis=1)
    return exact / len(subsets), (exact - polynomial) / len(subsets)


def weighted_norm(change, law_density, rows, reference):
    """The norm of change / sqrt(density) in L2, by quadrature against a Gaussian that is close to the density."""
    return np.sqrt(NODE_WEIGHTS @ (change**2 / (law_density * density(rows, reference))))


def remainder_rates(s, degree):
    """Weighted norms of the remainder's derivative in the atoms, and in the separated atom and the noise."""
    rng = np.random.default_rng(0)
    z, dz = s * rng.uniform(-0.5, 0.5, size=(3, Q)), rng.uniform(-0.5, 0.5, size=(3, Q))
    across = np.array([0.3, 0.7, -0.2, -0.3])
    base = NOISE * np.eye(Q) + 2.0 * np.outer(AXIS, AXIS) + np.outer(SEPARATED, SEPARATED)
    rows = NODES @ np.linalg.cholesky(base).T

    def left(step_z, step_rest):
        turned = (SEPARATED + step_rest * across) / np.linalg.norm(SEPARATED + step_rest * across)
        return stratum(rows, z + step_z * dz, turned, NOISE + step_rest, 2, 1, degree)[1]

    law_density = stratum(rows, z, SEPARATED, NOISE, 2, 1, degree)[0]
    # Central steps: relative truncation 1e-6, rounding eps / step, both far below s^4.
    steps = 1e-3 * s, 1e-3
    in_atoms = (left(steps[0], 0.0) - left(-steps[0], 0.0)) / (2 * steps[0])
    in_rest = (left(0.0, steps[1]) - left(0.0, -steps[1])) / (2 * steps[1])
    return [weighted_norm(change, law_density, rows, base) for change in (in_atoms, in_rest)]


@pytest.mark.parametrize("degree", [3, 2])
def test_remainder_derivatives_scale_as_the_first_omitted_degree(degree):
    # Degree three kept: s^3 in the atoms, s^4 in the rest. Keeping degree two only, each loses one power (control).
    fine, coarse = remainder_rates(0.02, degree), remainder_rates(0.04, degree)
    assert np.log2(coarse[0] / fine[0]) == pytest.approx(degree, abs=0.15)  # O(s) corrections to the exponent
    assert np.log2(coarse[1] / fine[1]) == pytest.approx(degree + 1, abs=0.15)


def invariants(center, shape, separated, noise):
    vertices = shape @ regular_simplex(Q)
    cubic = np.einsum("aj,bj,cj->abc", vertices, vertices, vertices)
    parts = [center, np.outer(separated, separated), shape @ shape.T, cubic, np.array([noise])]
    return np.concatenate([part.ravel() for part in parts])


def mixture_remainder(rows, parameter, degree):
    center, shape, separated, noise = parameter
    z = center[:, None] + shape @ regular_simplex(Q)
    total_density, total_remainder = np.zeros(len(rows)), np.zeros(len(rows))
    weights = LAW.subset_weights(Q + 1)
    for h in range(Q + 1):
        for has_separated in (0, 1):
            weight = weights[h + has_separated] * len(list(combinations(range(Q), h)))
            exact, left = stratum(rows, z, separated, noise, h, has_separated, degree)
            total_density += weight * exact
            total_remainder += weight * left
    return total_density, total_remainder


def remainder_ratio(s, move, degree):
    """Weighted norm of the change of the remainder over s times the invariant distance."""
    rng = np.random.default_rng(1)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    start = (0.2 * s * turn[0], s * turn, SEPARATED, NOISE)
    angle = np.array([[1.0, 0.0, 0.0], [0.0, np.cos(0.3), -np.sin(0.3)], [0.0, np.sin(0.3), np.cos(0.3)]])
    end = {
        "orientation": (start[0], start[1] @ angle, SEPARATED, NOISE),
        "shape": (start[0], start[1] @ np.diag([1.1, 1.0, 0.9]), SEPARATED, NOISE),
        "center": (1.3 * start[0], start[1], SEPARATED, NOISE),
        "noise": (start[0], start[1], SEPARATED, NOISE + 0.1 * s),
    }[move]
    # Heavier than every component up to O(s), so the quotient is integrable; the exact norm is not needed for a rate.
    wide = NOISE * np.eye(Q) + Q * np.outer(AXIS, AXIS) + np.outer(SEPARATED, SEPARATED)
    rows = NODES @ np.linalg.cholesky(wide).T
    law_density, left = mixture_remainder(rows, start, degree)
    change = left - mixture_remainder(rows, end, degree)[1]
    return weighted_norm(change, law_density, rows, wide) / (s * np.linalg.norm(invariants(*start) - invariants(*end)))


@pytest.mark.parametrize("move", ["orientation", "shape", "center", "noise"])
def test_the_remainder_changes_by_at_most_the_scale_times_the_invariant_distance(move):
    # Bounded as s falls; a change of order s^3, one power short, would double the ratio twice.
    assert remainder_ratio(0.02, move, 3) < 1.2 * remainder_ratio(0.08, move, 3)


def test_negative_control_leaving_the_cubic_term_in_the_remainder_breaks_the_bound():
    # The cubic term moves with G_3 itself, so the ratio grows as 1 / s.
    assert remainder_ratio(0.02, "orientation", 2) > 1.8 * remainder_ratio(0.04, "orientation", 2)
