from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.local.theory.moments import (
    dense_tensor,
    double_contraction,
    invert_moments,
    sample_fourth_moment,
    sample_second_moment,
)

from physupport._errors import MisuseError
from physupport.laws import BernoulliGaussian, make_calibration
from physupport.local.regions import (
    fourth_cumulant,
    fourth_moment,
    power_coordinates,
    projector_square_sum,
    projector_sum,
    sample_cumulant,
    second_moment,
    squared_norm_moments,
    symmetrized_square,
)
from physupport.local.regions._moments import matrix_coordinates

# Sums over at most 2^6 active sets of products of order one.
ROUNDING = 1e-13


def components(law, atoms, noise):
    """Weight and covariance of every active set, straight from the definition of the law."""
    q, n = atoms.shape
    weights, variances = law.subset_weights(n), law.active_variances(n)
    for active in product((0, 1), repeat=n):
        chosen = atoms[:, np.array(active, dtype=bool)]
        k = sum(active)
        yield weights[k], noise * np.eye(q) + variances[k] * chosen @ chosen.T


def gaussian_fourth_moment(c):
    outer = np.multiply.outer(c, c)
    return outer + outer.transpose(0, 2, 1, 3) + outer.transpose(0, 2, 3, 1)


@pytest.fixture(params=["bernoulli", "known"])
def law(request, known_law):
    return lambda n: BernoulliGaussian(0.3) if request.param == "bernoulli" else known_law(n)


@pytest.mark.parametrize(("q", "n"), [(3, 4), (4, 5), (5, 6), (4, 2), (3, 6)])
def test_moments_are_those_of_the_mixture_over_all_active_sets(law, random_atoms, q, n):
    atoms, noise = random_atoms(q, n), 0.3
    parts = list(components(law(n), atoms, noise))
    m2 = sum(w * c for w, c in parts)
    m4 = sum(w * gaussian_fourth_moment(c) for w, c in parts)
    assert np.allclose(second_moment(law(n), atoms, noise), m2, atol=ROUNDING)
    assert np.allclose(dense_tensor(fourth_moment(law(n), atoms, noise), q, 4), m4, atol=ROUNDING)
    k4 = m4 - gaussian_fourth_moment(m2)
    assert np.allclose(dense_tensor(fourth_cumulant(law(n), atoms), q, 4), k4, atol=ROUNDING)


def test_bernoulli_gaussian_codes_have_a_cumulant_of_single_atoms_only(random_atoms):
    atoms, p = random_atoms(4, 5), 0.2
    fourfold = np.einsum("ia,ja,ka,la->ijkl", atoms, atoms, atoms, atoms)
    assert np.allclose(dense_tensor(projector_square_sum(atoms), 4, 4), fourfold, atol=ROUNDING)
    cumulant = fourth_cumulant(BernoulliGaussian(p), atoms)
    assert np.allclose(dense_tensor(cumulant, 4, 4), 3.0 * p * (1.0 - p) * fourfold, atol=ROUNDING)
    assert double_contraction(cumulant, 4) / (3.0 * 5) == pytest.approx(p * (1.0 - p), rel=1e-13)


def test_a_million_rows_agree_within_their_standard_errors(law, random_atoms):
    atoms, noise, n_rows = random_atoms(3, 4), 0.3, 1_000_000
    rows = make_calibration(law(4), atoms, noise, np.random.default_rng(1), n_rows)
    for order, exact in (
        (2, matrix_coordinates(second_moment(law(4), atoms, noise))),
        (4, fourth_moment(law(4), atoms, noise)),
    ):
        powers = power_coordinates(rows, order)
        error = powers.std(axis=0) / np.sqrt(n_rows)
        # 21 coordinates within 5 standard errors: fewer than 2 in 100000 seeds fail by chance.
        assert np.all(np.abs(powers.mean(axis=0) - exact) < 5.0 * error)


def test_relabelled_and_reflected_atoms_have_the_same_moments(law, random_atoms):
    atoms = random_atoms(4, 5)
    changed = atoms[:, [3, 1, 4, 0, 2]] * np.array([1.0, -1.0, -1.0, 1.0, 1.0])
    assert np.allclose(second_moment(law(5), atoms, 0.1), second_moment(law(5), changed, 0.1), atol=ROUNDING)
    assert np.allclose(fourth_cumulant(law(5), atoms), fourth_cumulant(law(5), changed), atol=ROUNDING)


@given(st.floats(0.01, 0.49), st.floats(0.01, 10.0), st.integers(3, 5), st.integers(0, 20))
def test_moments_give_back_activity_noise_and_projector_sums(p, noise, q, seed):
    atoms = np.random.default_rng(seed).standard_normal((q, q + 1))
    atoms /= np.linalg.norm(atoms, axis=0)
    law = BernoulliGaussian(p)
    found = invert_moments(second_moment(law, atoms, noise), fourth_cumulant(law, atoms), q + 1)
    activity, variance, second, fourth = found
    # dp = du/(1 - 2p), at most 50-fold here; the projector sums divide by p, another 100-fold of a noise of up to 10.
    assert activity == pytest.approx(p, rel=1e-12)
    assert variance == pytest.approx(noise, abs=1e-12 * max(1.0, noise))
    assert np.allclose(second, projector_sum(atoms), atol=1e-10)
    assert np.allclose(fourth, projector_square_sum(atoms), atol=1e-12)


def test_the_inversion_keeps_its_digits_at_rare_activity(random_atoms):
    atoms, law = random_atoms(3, 4), BernoulliGaussian(1e-9)
    cumulant = 3.0 * 1e-9 * (1.0 - 1e-9) * projector_square_sum(atoms)
    assert invert_moments(second_moment(law, atoms, 1.0), cumulant, 4)[0] == pytest.approx(1e-9, rel=1e-13)


def test_cumulants_beyond_the_model_are_refused():
    square = symmetrized_square(np.eye(3))
    with pytest.raises(MisuseError, match=r"cumulant must have Tr_2\(K_4\)/\(3n\) = p\(1-p\) above 0 and at most 1/4"):
        invert_moments(np.eye(3), 10.0 * square, 4)
    with pytest.raises(MisuseError, match=r"not -0\.4"):
        invert_moments(np.eye(3), -square, 4)
    with pytest.raises(MisuseError, match=r"cumulant must have shape \(15\)"):
        invert_moments(np.eye(3), np.ones(3), 4)


@pytest.mark.parametrize("n_rows", [1, 7, (1 << 14) + 5])
def test_sample_moments_are_means_of_outer_products(n_rows):
    rows = np.random.default_rng(n_rows).standard_normal((n_rows, 3))
    m2, m4 = np.einsum("ni,nj->ij", rows, rows) / n_rows, np.einsum("ni,nj,nk,nl->ijkl", *[rows] * 4) / n_rows
    assert np.allclose(sample_second_moment(rows), m2, atol=ROUNDING)
    assert np.allclose(dense_tensor(sample_fourth_moment(rows), 3, 4), m4, atol=1e-12)
    k4 = m4 - gaussian_fourth_moment(m2)
    cumulant = sample_cumulant(sample_second_moment(rows), sample_fourth_moment(rows))
    assert np.allclose(dense_tensor(cumulant, 3, 4), k4, atol=1e-12)


@pytest.mark.parametrize(("q", "n"), [(3, 1), (3, 2), (2, 3), (3, 4), (4, 5), (5, 6)])
def test_norm_moments_are_those_of_all_quadratic_forms(law, random_atoms, q, n):
    atoms, noise = random_atoms(q, n, seed=2), 0.4
    fourth = eighth = 0.0
    for weight, c in components(law(n), atoms, noise):
        t1, t2, t3, t4 = (np.trace(np.linalg.matrix_power(c, k)) for k in (1, 2, 3, 4))
        fourth += weight * (t1**2 + 2.0 * t2)
        eighth += weight * (t1**4 + 12.0 * t1**2 * t2 + 12.0 * t2**2 + 32.0 * t1 * t3 + 48.0 * t4)
    assert squared_norm_moments(law(n), atoms, noise) == pytest.approx((fourth, eighth), rel=1e-13)


def test_norm_moments_of_white_noise_are_those_of_chi_square(random_atoms):
    # With activity 1e-12 the row is noise alone up to 1e-11.
    q, moments = 4, squared_norm_moments(BernoulliGaussian(1e-12), random_atoms(4, 5), 2.0)
    assert moments == pytest.approx((4.0 * q * (q + 2), 16.0 * q * (q + 2) * (q + 4) * (q + 6)), rel=1e-9)


def test_norm_moments_need_no_list_of_active_sets(random_atoms):
    atoms, law, noise = random_atoms(6, 60, seed=3), BernoulliGaussian(0.1), 0.2
    squared = np.sum(make_calibration(law, atoms, noise, np.random.default_rng(5), 200_000) ** 2, axis=1)
    for power, exact in zip((2, 4), squared_norm_moments(law, atoms, noise), strict=True):
        error = (squared**power).std() / np.sqrt(len(squared))
        assert abs((squared**power).mean() - exact) < 5.0 * error


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: projector_sum([[2.0], [0.0]]), "atoms must have columns of norm 1"),
        (lambda: second_moment(BernoulliGaussian(0.2), np.eye(3), -1.0), "noise must lie strictly between 0 and inf"),
        (lambda: sample_second_moment(np.empty((0, 3))), "rows must hold at least one row and one column"),
        (lambda: sample_cumulant(np.eye(3), np.ones(4)), r"fourth must have shape \(15\)"),
    ],
)
def test_misuse_is_named(call, message):
    with pytest.raises(MisuseError, match=message):
        call()
