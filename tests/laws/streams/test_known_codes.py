import numpy as np
import pytest
from scipy import stats

from physupport._errors import MisuseError
from physupport.banks import array_states
from physupport.io import ArrayRows, ReadRows
from physupport.laws import known_code_stream

NOISES, POINTS = np.array([0.5, 2.0]), np.array([1, 10, 60])


def setting(seed=0, n_states=6, q=4, n=3, n_rows=60):
    rng = np.random.default_rng(seed)
    dictionaries = rng.standard_normal((n_states, q, n))
    dictionaries /= np.linalg.norm(dictionaries, axis=1, keepdims=True)
    codes = rng.standard_normal((n_rows, n))
    return dictionaries, codes @ dictionaries[0].T + rng.standard_normal((n_rows, q)), codes


def stream(dictionaries, rows, codes, noises=NOISES, points=POINTS):
    return known_code_stream(ArrayRows(rows), ArrayRows(codes), array_states(dictionaries), noises, points)


def test_scores_are_the_summed_normal_log_densities_of_the_residuals():
    dictionaries, rows, codes = setting()
    found = stream(dictionaries, rows, codes)
    assert found.n_keys == 12
    scores = found.log_likelihood(np.arange(12))
    for key in range(12):
        state, noise = divmod(key, 2)
        each = stats.norm.logpdf(rows - codes @ dictionaries[state].T, scale=np.sqrt(NOISES[noise])).sum(axis=1)
        # 60 sums of four terms below 100 each: rounding of the comparison itself stays below 1e-12 of the total.
        np.testing.assert_allclose(scores.values[key], np.cumsum(each)[POINTS - 1], rtol=1e-12)


def test_keys_come_back_in_the_order_asked_for_and_alone_as_in_company():
    found = stream(*setting())
    everything = found.log_likelihood(np.arange(12))
    for keys in ([7, 2, 11, 3], [5]):
        some = found.log_likelihood(np.array(keys))
        assert np.array_equal(some.values, everything.values[keys])
        assert np.array_equal(some.errors, everything.errors[keys])


def test_the_rows_are_read_once_however_many_keys_are_scored():
    dictionaries, rows, codes = setting()
    readings = []

    def open_rows():
        readings.append(1)
        yield rows

    found = known_code_stream(ReadRows(open_rows, 60, 4), ArrayRows(codes), array_states(dictionaries), NOISES, POINTS)
    for key in range(12):
        found.log_likelihood(np.array([key]))
    assert readings == [1]


def test_a_strong_signal_costs_no_accuracy_near_the_fit():
    dictionaries, _, codes = setting()
    rows = 1e6 * codes @ dictionaries[0].T + 1e-2 * np.random.default_rng(1).standard_normal((60, 4))
    scores = stream(dictionaries, rows, 1e6 * codes, np.array([1e-4])).log_likelihood(np.array([0]))
    # The plain sums of squares are 1e16 times the residual: their difference would be all rounding.
    assert (scores.errors < 1e-3 * np.abs(scores.values)).all()


def test_codes_that_never_occur_are_allowed():
    dictionaries, rows, codes = setting()
    codes[:, 1] = 0.0
    scores = stream(dictionaries, rows, codes).log_likelihood(np.arange(12))
    each = stats.norm.logpdf(rows - codes @ dictionaries[2].T, scale=np.sqrt(0.5)).sum(axis=1)
    np.testing.assert_allclose(scores.values[4], np.cumsum(each)[POINTS - 1], rtol=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": np.zeros((60, 3))}, "rows must have 4 entries, as the atoms have, not 3"),
        ({"codes": np.zeros((60, 2))}, "codes must have 3 entries for each of 60 rows, not 2 entries and 60 rows"),
        ({"codes": np.zeros((59, 3))}, "not 3 entries and 59 rows"),
        ({"noises": [0.0]}, "noises must be positive"),
        ({"noises": [-1.0, 1.0]}, "noises must be positive"),
        ({"noises": [np.nan]}, "noises must be finite"),
        ({"noises": []}, "noises must be positive variances, at least one"),
        ({"rows": np.full((60, 4), np.nan)}, "rows must be finite, not nan in row 0, column 0"),
        ({"points": [61]}, "checkpoints must lie within the 60 rows"),
    ],
)
def test_misuse_names_what_is_wrong(change, message):
    dictionaries, rows, codes = setting()
    arguments = {"rows": rows, "codes": codes} | change
    with pytest.raises(MisuseError, match=message):
        stream(dictionaries, **arguments)


@pytest.mark.parametrize("keys", [[12], [-1], [0.5], [[0]]])
def test_keys_outside_the_stream_are_refused(keys):
    found = stream(*setting())
    with pytest.raises(MisuseError, match="keys must"):
        found.log_likelihood(np.array(keys))
