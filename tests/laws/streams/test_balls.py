import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, strategies as st

from physupport.laws.streams import _sums as balls

# Every size from the reach of underflow to that of overflow, and everyday numbers, where cancellation is frequent.
values = st.one_of(
    st.floats(-10.0, 10.0),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, 1.0, -1.0, 1.0 + 2.0**-52, 5e-324, -(2.0**-1022), 2.0**-540, 1e308]),
)
errors = st.one_of(st.just(0.0), st.floats(0.0, 1.0), st.floats(0.0, 1e-9), st.floats(0.0, 1e300))
places = st.fractions(-1, 1, max_denominator=7)  # where in its ball a number lies; the ends are the hard cases


def member(v, e, place):
    return Fraction(v) + place * Fraction(e)


def contains(ball, exact):
    v, e = ball
    return e == math.inf or math.isnan(e) or abs(exact - Fraction(v)) <= Fraction(e)


@given(values, errors, places, values, errors, places)
def test_sum_difference_product_and_quotient_hold_every_member(a, ea, i, b, eb, j):
    x, y = member(a, ea, i), member(b, eb, j)
    assert contains(balls.add(a, ea, b, eb), x + y)
    assert contains(balls.sub(a, ea, b, eb), x - y)
    assert contains(balls.mul(a, ea, b, eb), x * y)
    quotient = balls.div(a, ea, b, eb)
    assert quotient[1] == math.inf if y == 0 else contains(quotient, x / y)


@given(values.map(abs), errors, places)
def test_a_root_holds_the_root_of_every_member(a, ea, i):
    x = member(a, ea, i)
    v, e = balls.sqrt(a, ea)
    # Squares compare exactly: max(v - e, 0)^2 <= x <= (v + e)^2.
    low, high = (
        max(Fraction(v) - Fraction(e), 0) if e < math.inf else 0,
        None if e == math.inf else Fraction(v) + Fraction(e),
    )
    assert x < 0 or (low**2 <= x and (high is None or x <= high**2))


@given(values.map(abs), errors, places)
def test_a_logarithm_holds_the_logarithm_of_every_member(a, ea, i):
    x = member(a, ea, i)
    v, e = balls.log(a, ea)
    if e < math.inf:
        with ctx.workprec(3000):  # 1 plus the smallest error differs from 1 in bit 1074
            exact = (arb(x.numerator) / arb(x.denominator)).log()
            assert abs(exact - arb(v)) <= arb(e)
    else:
        assert a == 0.0 or 2.0 * ea > a


def test_the_library_logarithm_keeps_the_assumed_accuracy_by_a_factor_of_two():
    rng = np.random.default_rng(0)
    points = np.concatenate([np.exp(rng.uniform(-700, 700, 2000)), 1.0 + rng.uniform(-1e-3, 1e-3, 2000)])
    with ctx.workprec(200):
        off = [abs(arb(balls.log(float(x), 0.0)[0]) - arb(float(x)).log()) for x in points]
        assert all(o <= balls.LOG_ERROR / 2 * abs(arb(float(x)).log()) for o, x in zip(off, points, strict=True))
        assert abs(arb(balls.LOG_TWO_PI) - (2 * arb.pi()).log()) <= balls.LOG_TWO_PI_ERROR


@given(st.lists(st.tuples(values, errors, places, values, errors, places), max_size=8))
def test_an_inner_product_holds_every_choice_of_members(entries):
    a, ea, _, b, eb, _ = (
        (np.array(column, dtype=float) for column in zip(*entries, strict=True)) if entries else [np.empty(0)] * 6
    )
    exact = sum((member(a, ea, i) * member(b, eb, j) for a, ea, i, b, eb, j in entries), Fraction(0))
    assert contains(balls.dot(a, ea, b, eb), exact)


@pytest.mark.parametrize("ball", [(math.inf, 1.0), (math.nan, 1.0), (1.0, math.nan), (1.0, math.inf)])
def test_what_is_not_finite_settles_to_the_whole_line(ball):
    assert balls.settle(*ball) == (0.0, math.inf)
