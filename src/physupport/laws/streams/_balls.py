r"""Value and error arithmetic for compiled kernels: a pair (v, e) stands for every real x with \|x - v\| <= e.

The arithmetic of the machine is binary64, rounded to nearest: with u = 2^-53 a computed sum, product, quotient or
root v misses the real result of the same operands by at most u \|v\|, plus at most 2^-1022 where it underflows.  Each
function adds to what it propagates the term u \|v\|, and then makes the error safe against its own evaluation:

- every error is a sum of nonnegative terms reached through at most eight roundings, each of which can lower it by a
  factor 1 - u, and (1 - u)^8 (1 + 16 u) >= 1, so the factor UP = 1 + 16 u undoes them all;
- products that underflow inside an error lose less than 2^-1022 each, and TINY = 2^-500 outweighs thousands of these.

A value that overflows, a divisor that may be small beyond half its size, a root or logarithm of what may not be
positive: all give the error infinity (or no number, which `settle` turns into infinity), never a false bound.
"""

import numpy as np

from ..._compiled import cached_njit
from ..._typing import Array

U = 2.0**-53
UP = 1.0 + 2.0**-49
TINY = 2.0**-500
# The C library's logarithm errs by less than 2 units in the last place (glibc, musl, Apple and Microsoft state at most
# 1); a unit in the last place of v is at most 2 u |v|.  Twice the assumption.
LOG_ERROR = 8.0 * U
LOG_TWO_PI = 1.8378770664093456
LOG_TWO_PI_ERROR = 2.0**-53


@cached_njit(inline="always")
def add(a: float, ea: float, b: float, eb: float) -> tuple[float, float]:
    """Sum: the errors add."""
    v = a + b
    return v, UP * (ea + eb + U * abs(v)) + TINY


@cached_njit(inline="always")
def sub(a: float, ea: float, b: float, eb: float) -> tuple[float, float]:
    """Difference: the errors add."""
    v = a - b
    return v, UP * (ea + eb + U * abs(v)) + TINY


@cached_njit(inline="always")
def mul(a: float, ea: float, b: float, eb: float) -> tuple[float, float]:
    r"""Product: :math:`xy - ab = a(y - b) + (x - a)(b + (y - b))`."""
    v = a * b
    return v, UP * (abs(a) * eb + ea * (abs(b) + eb) + U * abs(v)) + TINY


@cached_njit(inline="always", error_model="numpy")
def div(a: float, ea: float, b: float, eb: float) -> tuple[float, float]:
    r"""Quotient: :math:`x/y - a/b = ((x - a) - (a/b)(y - b))/y` and :math:`|y| \ge |b| - e_b`.

    Needs :math:`e_b \le |b|/2` and :math:`|b| \ge 2^{-400}`, so that what underflows above the fraction line, less than
    2^-1022, stays below TINY after the division, and so does that of a/b, multiplied by :math:`e_b/(|b| - e_b) \le 1`.
    """
    if not (2.0 * eb <= abs(b) and abs(b) >= 2.0**-400):
        return 0.0, np.inf
    v = a / b
    return v, UP * ((ea + abs(v) * eb) / (abs(b) - eb) + U * abs(v)) + TINY


@cached_njit(inline="always", error_model="numpy")
def sqrt(a: float, ea: float) -> tuple[float, float]:
    r"""Root: :math:`|\sqrt x - \sqrt a| = |x - a|/(\sqrt x + \sqrt a) \le e_a/\sqrt a` for x >= 0; needs a > 0."""
    if not a > 0.0:
        return 0.0, np.inf
    v = np.sqrt(a)
    return v, UP * (ea / v + U * v) + TINY


@cached_njit(inline="always", error_model="numpy")
def log(a: float, ea: float) -> tuple[float, float]:
    r"""Logarithm: :math:`|\log x - \log a| \le e_a/(a - e_a)`, the mean value theorem; needs :math:`e_a \le a/2`."""
    if not (a > 0.0 and 2.0 * ea <= a):
        return 0.0, np.inf
    v = np.log(a)
    return v, UP * (ea / (a - ea) + LOG_ERROR * abs(v)) + TINY


@cached_njit()
def dot(a: Array, ea: Array, b: Array, eb: Array) -> tuple[float, float]:
    """Inner product of two vectors of balls, in the order of the entries.

    The errors are those of `mul` and `add` summed once: n + 8 roundings, undone by the factor 1 + 2 (n + 8) u.
    """
    v = 0.0
    e = 0.0
    for i in range(len(a)):
        product = a[i] * b[i]
        v += product
        e += abs(a[i]) * eb[i] + ea[i] * (abs(b[i]) + eb[i]) + U * (abs(product) + abs(v))
    return v, e * (1.0 + 2.0 * U * (len(a) + 8)) + (len(a) + 1) * TINY


@cached_njit(inline="always")
def settle(v: float, e: float) -> tuple[float, float]:
    """The same ball, or the whole line where value or error left the finite numbers."""
    if np.isfinite(v) and e < np.inf:
        return v, e
    return 0.0, np.inf
