import numpy as np
import pytest
from flint import acb, acb_mat, arb, ctx
from scipy.optimize import lsq_linear

from physupport._errors import MisuseError
from physupport.banks import Bank, array_states, product_grid
from physupport.io import ArrayRows, as_pairs, turned
from physupport.laws import Covariance, Mean, ProfiledMean, known_code_stream

NOISES, POINTS = np.array([0.5, 2.0]), np.array([1, 6, 20])
STRENGTHS = np.array([[1.0, 0.5, 0.0], [2.0, 1.0, 0.1], [0.0, 0.0, 0.0]])
BITS = 200


def complex_normal(rng, *shape):
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)) / np.sqrt(2)


def setting(seed=0, n_states=3, q=3, n=3, n_rows=20):
    rng = np.random.default_rng(seed)
    dictionaries = complex_normal(rng, n_states, q, n)
    dictionaries /= np.linalg.norm(dictionaries, axis=1, keepdims=True)
    states = array_states(as_pairs(dictionaries, axis=1))
    bank = Bank(states, STRENGTHS, deployment=product_grid(noise=NOISES))
    codes = complex_normal(rng, n_rows, n)
    return dictionaries, bank, codes @ dictionaries[0].T + complex_normal(rng, n_rows, q), codes


def vectors(matrix):
    """Columns of complex numbers as ball matrices, exact."""
    return [acb_mat(len(row), 1, [acb(float(v.real), float(v.imag)) for v in row]) for row in matrix]


def log_density_sums(residuals, covariance):
    """Prefix sums of log of pi^-q |Sigma|^-1 exp(-z* Sigma^-1 z), in complex ball arithmetic."""
    q = covariance.nrows()
    constant = -(q * acb.pi().log() + covariance.det().log())
    inverse = covariance.inv()
    sums, total = [], acb(0)
    for z in residuals:
        conjugate = acb_mat(1, q, [v.conjugate() for v in z.entries()])
        total += constant - (conjugate * inverse * z)[0, 0]
        sums.append(total)
    return [sums[t - 1] for t in POINTS]


def white(q, noise):
    return acb_mat(q, q, [acb(noise) if i == j else acb(0) for i in range(q) for j in range(q)])


def agrees(stream, key, expected):
    """The exact path meets the complex formula to 40 digits, and the fast path holds it within its error."""
    with ctx.workprec(BITS):
        scores = stream.log_likelihood(np.array([key]))
        for k, (ball, value) in enumerate(zip(stream.enclosure(int(key), BITS), expected, strict=True)):
            assert abs(ball - value.real) < arb(10) ** -40
            assert abs(value.real - arb(scores.values[0, k])) <= arb(scores.errors[0, k])
        assert (scores.errors < 1e-11).all()
    return True


def combination(atoms, coefficients):
    total = acb_mat(atoms[0].nrows(), 1)
    for atom, x in zip(atoms, coefficients, strict=True):
        total += atom * acb(float(np.real(x)), float(np.imag(x)))
    return total


def test_known_codes_follow_the_circular_density():
    dictionaries, bank, rows, codes = setting()
    stream = known_code_stream(
        ArrayRows(as_pairs(rows)), ArrayRows(as_pairs(codes)), bank.states, NOISES, POINTS, is_complex=True
    )
    for key in range(stream.n_keys):
        state, noise = divmod(key, 2)
        with ctx.workprec(BITS):
            atoms, targets = vectors(dictionaries[state].T), vectors(rows)
            residuals = [z - combination(atoms, c) for z, c in zip(targets, codes, strict=True)]
            expected = log_density_sums(residuals, white(3, NOISES[noise]))
        assert agrees(stream, key, expected)


def test_covariances_follow_the_circular_density():
    dictionaries, bank, rows, _ = setting()
    stream = Covariance(noises=NOISES, is_complex=True).stream(bank, ArrayRows(as_pairs(rows)), POINTS)
    for index in range(bank.size):
        state, support, _, noise = (int(column[0]) for column in bank.split(index))
        with ctx.workprec(BITS):
            covariance = white(3, NOISES[noise])
            for atom, strength in zip(vectors(dictionaries[state].T), STRENGTHS[support], strict=True):
                conjugate = acb_mat(1, 3, [v.conjugate() for v in atom.entries()])
                covariance += atom * conjugate * acb(strength)
            expected = log_density_sums(vectors(rows), covariance)
        assert agrees(stream, bank.deployment_keys(index)[0], expected)


def test_means_follow_the_circular_density():
    dictionaries, bank, rows, _ = setting()
    stream = Mean(noises=NOISES, is_complex=True).stream(bank, ArrayRows(as_pairs(rows)), POINTS)
    for index in range(bank.size):
        state, support, _, noise = (int(column[0]) for column in bank.split(index))
        with ctx.workprec(BITS):
            mean = combination(vectors(dictionaries[state].T), STRENGTHS[support])
            expected = log_density_sums([z - mean for z in vectors(rows)], white(3, NOISES[noise]))
        assert agrees(stream, bank.deployment_keys(index)[0], expected)


@pytest.mark.parametrize("has_phase", [False, True])
def test_profiles_find_the_best_real_or_complex_coefficients(has_phase):
    dictionaries, bank, rows, _ = setting()
    lower, upper = np.array([-0.5, 0.1, -1.0]), np.array([0.5, 0.2, 1.0])
    box = (lower - 0.3j, upper + 0.1j) if has_phase else (lower, upper)
    stream = ProfiledMean(noises=NOISES, box=box, is_complex=True).stream(bank, ArrayRows(as_pairs(rows)), POINTS)
    for index in range(bank.size):
        state, support, _, noise = (int(column[0]) for column in bank.split(index))
        active = STRENGTHS[support] > 0
        scores = stream.log_likelihood(bank.deployment_keys(index))
        for k, t in enumerate(POINTS):
            residual = rows[:t].copy()
            if active.any():
                atoms = dictionaries[state][:, active]
                columns = np.hstack([atoms, 1j * atoms]) if has_phase else atoms
                ends = [np.concatenate([e[active].real, e[active].imag]) if has_phase else e[active] for e in box]
                stacked = np.vstack([columns.real, columns.imag])
                target = residual.mean(axis=0)
                x = lsq_linear(stacked, np.concatenate([target.real, target.imag]), ends, tol=1e-14).x
                residual = residual - columns @ x
            expected = -3 * t * np.log(np.pi * NOISES[noise]) - (np.abs(residual) ** 2).sum() / NOISES[noise]
            # The reference solver stops at a relative change of 1e-14 of the loss.
            np.testing.assert_allclose(scores.values[0, k], expected, rtol=1e-11)


def test_pairs_are_exact_and_turning_is_multiplication_by_i():
    z = complex_normal(np.random.default_rng(0), 4, 3, 2)
    pairs = as_pairs(z, axis=1)
    assert pairs.shape == (4, 6, 2)
    assert np.array_equal(pairs[:, ::2], z.real)
    assert np.array_equal(pairs[:, 1::2], z.imag)
    assert np.array_equal(turned(as_pairs(z)), as_pairs(1j * z))


def test_an_odd_number_of_entries_is_no_list_of_pairs():
    bank = Bank(array_states(np.array([[[1.0], [0.0], [0.0]]])), [[1.0]])
    with pytest.raises(MisuseError, match="elements must have an even number of entries, pairs"):
        Covariance(noises=[1.0], is_complex=True).stream(bank, ArrayRows(np.zeros((4, 3))), [4])


def test_complex_codes_come_in_pairs():
    _, bank, rows, codes = setting()
    with pytest.raises(MisuseError, match="codes must have 6 entries for each of 20 rows, not 3 entries"):
        known_code_stream(
            ArrayRows(as_pairs(rows)), ArrayRows(codes.real), bank.states, NOISES, POINTS, is_complex=True
        )
