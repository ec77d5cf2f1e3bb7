import numpy as np
import pytest
from scipy import stats

from physupport._errors import MisuseError
from physupport.banks import Bank, array_states, product_grid
from physupport.io import ArrayRows
from physupport.laws import Mean

NOISES, POINTS = np.array([0.5, 2.0]), np.array([1, 10, 60])
STRENGTHS = np.array([[1.0, 0.5, 0.0], [2.0, 1.0, 0.1], [0.0, 0.0, 0.0]])


def setting(seed=0, n_states=5, q=4, n=3, n_rows=60):
    rng = np.random.default_rng(seed)
    dictionaries = rng.standard_normal((n_states, q, n))
    dictionaries /= np.linalg.norm(dictionaries, axis=1, keepdims=True)
    bank = Bank(array_states(dictionaries), STRENGTHS, deployment=product_grid(noise=NOISES))
    return dictionaries, bank, dictionaries[0] @ STRENGTHS[1] + rng.standard_normal((n_rows, q))


def test_scores_are_the_summed_normal_log_densities_about_the_mean():
    dictionaries, bank, rows = setting()
    index = np.arange(bank.size)
    columns = bank.split(index)
    scores = Mean(noises=NOISES).stream(bank, ArrayRows(rows), POINTS).log_likelihood(bank.deployment_keys(index))
    for i in index:
        mean = dictionaries[columns.state[i]] @ STRENGTHS[columns.support[i]]
        each = stats.norm.logpdf(rows - mean, scale=np.sqrt(NOISES[columns.deployment[i]])).sum(axis=1)
        # 240 terms of moderate size: the comparison itself is good to about 1e-14.
        np.testing.assert_allclose(scores.values[i], np.cumsum(each)[POINTS - 1], rtol=1e-12)


def test_a_large_common_offset_costs_little_near_the_truth():
    _, bank, _ = setting()
    atoms = bank.states.elements[:, :3]
    rows = 1e6 * atoms @ STRENGTHS[1] + 1e-2 * np.random.default_rng(1).standard_normal((60, 4))
    large = Bank(bank.states, 1e6 * STRENGTHS)
    keys = large.deployment_keys([1])
    scores = Mean(noises=[1e-4]).stream(large, ArrayRows(rows), POINTS).log_likelihood(keys)
    # Sums of squares are 1e16 times the residual; their difference would be all rounding.
    assert (scores.errors < 1e-3 * np.abs(scores.values)).all()


@pytest.mark.parametrize(
    ("noises", "rows", "message"),
    [
        ([0.5, -1.0], None, "noises must be positive"),
        ([0.5, 0.5, 0.5], None, r"noises must have shape \(2\)"),
        (NOISES, np.zeros((60, 3)), "rows must have 4 entries"),
        (NOISES, np.full((60, 4), np.nan), "rows must be finite"),
    ],
)
def test_misuse_names_what_is_wrong(noises, rows, message):
    _, bank, own = setting()
    with pytest.raises(MisuseError, match=message):
        Mean(noises=noises).stream(bank, ArrayRows(own if rows is None else rows), POINTS)
