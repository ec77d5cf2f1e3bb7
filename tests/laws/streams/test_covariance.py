import numba
import numpy as np
import pytest
from scipy import stats

from physupport._errors import MisuseError
from physupport.banks import Bank, array_states, product_grid
from physupport.io import ArrayRows, ReadRows
from physupport.laws import Covariance

NOISES, POINTS = np.array([0.5, 2.0]), np.array([1, 10, 60])
STRENGTHS = np.array([[1.0, 0.5, 0.0], [2.0, 1.0, 0.1], [0.0, 0.0, 0.0]])


def setting(seed=0, n_states=5, q=4, n=3, n_rows=60):
    rng = np.random.default_rng(seed)
    dictionaries = rng.standard_normal((n_states, q, n))
    dictionaries /= np.linalg.norm(dictionaries, axis=1, keepdims=True)
    bank = Bank(array_states(dictionaries), STRENGTHS, deployment=product_grid(noise=NOISES))
    rows = rng.standard_normal((n_rows, n)) @ dictionaries[0].T + rng.standard_normal((n_rows, q))
    return dictionaries, bank, rows


def test_scores_are_the_summed_log_densities_of_the_dense_covariance():
    dictionaries, bank, rows = setting()
    stream = Covariance(noises=NOISES).stream(bank, ArrayRows(rows), POINTS)
    index = np.arange(bank.size)
    keys, columns = bank.deployment_keys(index), bank.split(index)
    # Five states, two active supports and one empty one, two noise variances.
    assert stream.n_keys == bank.n_deployment_keys == 5 * 2 * 2 + 2
    scores = stream.log_likelihood(keys)
    for i in index:
        atoms, noise = dictionaries[columns.state[i]], NOISES[columns.deployment[i]]
        covariance = noise * np.eye(4) + (atoms * STRENGTHS[columns.support[i]]) @ atoms.T
        each = stats.multivariate_normal(np.zeros(4), covariance).logpdf(rows)
        # Condition numbers below 10: the comparison itself is good to about 1e-14 a row.
        np.testing.assert_allclose(scores.values[i], np.cumsum(each)[POINTS - 1], rtol=1e-12)


def test_results_do_not_depend_on_threads_company_or_blocks():
    _, bank, rows = setting()
    everything = np.arange(bank.n_deployment_keys)
    before = numba.get_num_threads()
    found = []
    for threads, block in [(1, 8192), (numba.config.NUMBA_NUM_THREADS, 7)]:
        numba.set_num_threads(threads)
        found.append(
            Covariance(noises=NOISES).stream(bank, ArrayRows(rows, block_rows=block), POINTS).log_likelihood(everything)
        )
    numba.set_num_threads(before)
    assert np.array_equal(found[0].values, found[1].values)
    assert np.array_equal(found[0].errors, found[1].errors)
    alone = Covariance(noises=NOISES).stream(bank, ArrayRows(rows), POINTS).log_likelihood(everything[[3]])
    assert np.array_equal(alone.values[0], found[0].values[3])


def test_the_rows_are_read_once_however_many_keys_are_scored():
    _, bank, rows = setting()
    readings = []

    def open_rows():
        readings.append(1)
        yield rows

    stream = Covariance(noises=NOISES).stream(bank, ReadRows(open_rows, 60, 4), POINTS)
    for key in range(stream.n_keys):
        stream.log_likelihood(np.array([key]))
    assert readings == [1]


def test_data_that_overflow_leave_the_score_open_instead_of_wrong():
    _, bank, rows = setting()
    scores = Covariance(noises=NOISES).stream(bank, ArrayRows(1e200 * rows), POINTS).log_likelihood(np.arange(4))
    assert (scores.errors == np.inf).all()
    assert np.isfinite(scores.values).all()


def test_a_precision_that_cannot_invert_the_covariance_gives_the_whole_line():
    atoms = np.array([[[0.6], [0.8]]])
    stream = Covariance(noises=[2.0**-60]).stream(
        Bank(array_states(atoms), [[1.0]]), ArrayRows(np.array([[0.8, -0.6]])), [1]
    )
    # The determinant, 2^-60, is a difference of products near 0.23: 24 bits cannot tell it from 0.
    assert not stream.enclosure(0, 24)[0].is_finite()
    assert stream.enclosure(0, 300)[0].rad() < 1e-30


@pytest.mark.parametrize(
    ("noises", "rows", "message"),
    [
        ([0.5, 0.0], None, "noises must be positive"),
        ([0.5], None, r"noises must have shape \(2\)"),
        ([0.5, np.inf], None, "noises must be finite"),
        (NOISES, np.zeros((60, 5)), "rows must have 4 entries, as the atoms have, not 5"),
        (NOISES, np.full((60, 4), np.inf), "rows must be finite"),
    ],
)
def test_misuse_names_what_is_wrong(noises, rows, message):
    _, bank, own = setting()
    with pytest.raises(MisuseError, match=message):
        Covariance(noises=noises).stream(bank, ArrayRows(own if rows is None else rows), POINTS)
