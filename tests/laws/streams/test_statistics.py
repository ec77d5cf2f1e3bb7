from fractions import Fraction

import numpy as np
from hypothesis import given, strategies as st

from physupport.io import ArrayRows, ReadRows
from physupport.laws.streams._sums import exact_moments, pieces_in_step, prefix_moments

U = 2.0**-53


def cross(rows, codes):
    return [(rows, codes), (rows.reshape(-1, 1), rows.reshape(-1, 1))]


def own(rows):
    return [(rows, rows)]


def fractions(matrix):
    return [[Fraction(float(v)) for v in row] for row in matrix]


def exact_sums(left, right):
    left, right = fractions(left), fractions(right)
    pairs = list(zip(left, right, strict=True))
    return [[sum(x[a] * y[b] for x, y in pairs) for b in range(len(right[0]))] for a in range(len(left[0]))]


sizes = st.sampled_from([1.0, 1e-8, 1e6, 1e-150, 1e150, 2.0**-537])


@given(st.integers(0, 10**6), st.integers(1, 30), sizes, sizes)
def test_sums_hold_the_exact_ones_within_their_errors(seed, n_rows, one, other):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n_rows, 2)) * rng.choice([one, other, -one], (n_rows, 1))
    x = np.concatenate([x, -x[: n_rows // 2]])  # Part of the sums of odd functions cancels exactly.
    y = rng.standard_normal((len(x), 3)) * rng.choice([one, other], (len(x), 3))
    points = np.unique(rng.integers(1, len(x) + 1, 3))
    found, energy = prefix_moments([ArrayRows(x), ArrayRows(y)], points, cross)
    values, errors = found.rounded()
    for k, t in enumerate(points):
        exact = exact_sums(x[:t], y[:t])
        for a, b in np.ndindex(2, 3):
            pair = Fraction(found.high[k, a, b]) + Fraction(found.low[k, a, b])
            assert abs(pair - exact[a][b]) <= Fraction(found.error[k, a, b])
            assert abs(Fraction(values[k, a, b]) - exact[a][b]) <= Fraction(errors[k, a, b])
        (total,), (error,) = energy.rounded()[0][k], energy.rounded()[1][k]
        assert abs(Fraction(total[0]) - sum(v * v for row in fractions(x[:t]) for v in row)) <= Fraction(error[0])


def test_the_error_of_a_long_sum_is_that_of_rounding_it_once():
    rows = np.random.default_rng(0).standard_normal((20_000, 3)) + 5.0
    values, errors = prefix_moments([ArrayRows(rows)], np.array([20_000]), own)[0].rounded()
    # 3 (n u)^2 is 1.5e-23 of the absolute sum, far below u = 1.1e-16: one part in a thousand is left for it.
    assert (errors <= 1.001 * U * np.abs(values)).all()


def test_sums_do_not_depend_on_the_blocks():
    rng = np.random.default_rng(1)
    rows, codes = rng.standard_normal((500, 4)), rng.standard_normal((500, 2))
    points = np.array([1, 99, 400])
    found = [
        prefix_moments([ArrayRows(rows, block_rows=a), ArrayRows(codes, block_rows=b)], points, cross)
        for a, b in [(8192, 8192), (1, 7), (64, 100), (500, 3)]
    ]
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            assert np.array_equal(one.high, two.high)
            assert np.array_equal(one.low, two.low)
            assert np.array_equal(one.error, two.error)


def test_sources_are_read_in_step_once_and_no_further_than_the_last_checkpoint():
    opened, read = [], []

    def open_rows():
        opened.append(1)
        for start in range(0, 100, 10):
            read.append(start)
            yield np.arange(start, start + 10.0)[:, None]

    codes = ArrayRows(np.arange(100.0)[:, None], block_rows=7)
    pieces = list(pieces_in_step([ReadRows(open_rows, 100, 1), codes], np.array([5, 33])))
    assert all(np.array_equal(x, y) for (x, y), _ in pieces)
    assert sum(len(x) for (x, _), _ in pieces) == 33
    assert max(len(x) for (x, _), _ in pieces) <= 7
    assert [sum(len(x) for (x, _), _ in pieces[: i + 1]) for i, (_, ends) in enumerate(pieces) if ends] == [5, 33]
    assert (opened, read) == ([1], [0, 10, 20, 30])


@given(st.integers(0, 10**6), st.lists(st.sampled_from([0.0, 5e-324, 1e-8, 1.0, 1e6, 1e300]), min_size=2, max_size=6))
def test_exact_moments_are_the_rational_sums(seed, scales):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((len(scales), 2)) * np.array(scales)[:, None]
    found = exact_moments([ArrayRows(rows, block_rows=2)], np.array([1, len(rows)]), own)
    for (moment,), t in zip(found, [1, len(rows)], strict=True):
        exact = exact_sums(rows[:t], rows[:t])
        assert [[Fraction(int(v.p), int(v.q)) for v in row] for row in moment.tolist()] == exact


def test_a_sum_that_overflows_has_no_finite_error():
    moments = prefix_moments([ArrayRows(np.full((2, 1), 1e200))], np.array([2]), own)[0]
    assert moments.error[0, 0, 0] == np.inf
    assert np.isfinite(moments.high).all()
