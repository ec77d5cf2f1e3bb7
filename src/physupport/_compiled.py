r"""Compile loops, and decide when machine code cached on disk is too old; powers of two and logarithms for these loops.

Both functions have proven errors; u = 2^-53 throughout.  They are a few multiplications and additions on plain doubles,
so a loop over rows becomes packed machine code, and the same result follows whether or not the compiler fuses a
multiplication with an addition.
"""

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeVar, cast

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

from ._typing import Array

Function = TypeVar("Function", bound=Callable[..., object])


def cached_njit(**options: object) -> Callable[[Function], Function]:
    """Compiles a function at its first call and keeps the machine code on disk, until any module with kernels changes.

    numba alone compiles anew only if the function's own file changes.  But constants and functions of other modules are
    built into the machine code, and the old one would run on work arrays of the new one's shape.  options: numba's.
    """

    def compiled(function: Function) -> Function:
        dispatcher = njit(cache=True, **options)(function)  # type: ignore[call-overload]  # it types each option
        # Where these are not what they have been since 0.59, or nothing is compiled, numba's own rule remains.
        file = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
        if file is not None and hasattr(file, "_source_stamp"):
            file._source_stamp = (file._source_stamp, kernels_stamp())
        return cast(Function, dispatcher)

    return compiled


def inner_njit(fastmath: set[str] | None = None) -> Callable[[Function], Function]:
    """Compiles what only compiled functions call: no way in from Python, no file of its own, in two thirds of the time.

    A new user waits for it.  fastmath: which liberties the compiler has with sums and products.
    """
    options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "fastmath": fastmath or False}
    return cast(Callable[[Function], Function], njit(**options))  # type: ignore[call-overload]  # two are not in its types


@cache
def kernels_stamp() -> str:
    """A digest of all modules with kernels: those that import from this one."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        text = path.read_bytes()
        if b"._compiled import" in text:
            digest.update(text)
    return digest.hexdigest()


U = 2.0**-53
# Adding this rounds a number below 2^51 in size to the nearest whole one, and leaves that in the lowest bits.
SHIFTER = 1.5 * 2.0**52
# Arguments beyond this are treated as this: 2^-1000 is a normal number and weighs nothing.
LARGEST_POWER = 1000.0
# Relative error of `exp2_minus`; see there.
EXP2_ERROR = 4.0 * U
# Absolute error of `log_mantissa`; see there.
LOG_ERROR = 8.0 * U
LN2 = 0.6931471805599453
LN2_ERROR = 2.0**-55
LOG2_E = 1.4426950408889634

# 2^f on [-1/2, 1/2]: the polynomial of degree 11 with the least relative error, 3.1e-18, its coefficients rounded.
C1 = 0.6931471805599453
C2 = 0.24022650695910155
C3 = 0.055504108664819925
C4 = 0.009618129107588335
C5 = 0.001333355814678995
C6 = 0.00015403530462514614
C7 = 1.5252733489960805e-05
C8 = 1.321543308959463e-06
C9 = 1.0178198033328528e-07
C10 = 7.074105626245659e-09
C11 = 4.4352809446103363e-10

_MANTISSA = 0x000FFFFFFFFFFFFF
_ONE = 0x3FF0000000000000


def _reinterpretation(source: types.Type, target: types.Type) -> Callable[..., object]:
    """The typing rule of a function that keeps the 64 bits and changes what they mean."""

    def rule(typing_context: object, x: object) -> object:  # noqa: ARG001
        emit = lambda context, builder, _, values: builder.bitcast(values[0], context.get_value_type(target))  # noqa: E731
        return target(source), emit

    return rule


# The 64 bits of a double as an integer, and the double that has these bits.
bits_of: Callable[[float], int] = intrinsic(_reinterpretation(types.float64, types.int64))
number_of: Callable[[int], float] = intrinsic(_reinterpretation(types.int64, types.float64))


@cached_njit(inline="always")
def exp2_minus(r: float) -> float:
    r""":math:`2^{-\min(r, 1000)}` for r >= 0, with relative error at most 4u.

    With n the whole number next to r, f = n - r is exact (a multiple of the last bit of r that is not larger than r)
    and \|f\| <= 1/2.  The rounded coefficients change the polynomial by less than 0.31u relative to :math:`2^f`.
    Horner's scheme :math:`s_k = c_k + f s_{k+1}`, rounding product and sum, errs by :math:`e_k \le |f| e_{k+1} +
    u(|f s_{k+1}| + |s_k|)` to first order.  With s_1 <= 0.83, s_2 <= 0.28, s_3 <= 0.062, s_4 <= 0.011 this gives e_3 <=
    0.07u, e_2 <= 0.35u, e_1 <= 1.15u, and :math:`e_0/2^f \le u + |f|(1.15 + 0.83)u/2^f`, at most 2.5u.  The power of
    two is put into the exponent bits and rounds nothing.
    """
    r = min(r, LARGEST_POWER)
    shifted = SHIFTER - r
    f = (SHIFTER - shifted) - r
    s = C11 * f + C10
    s = s * f + C9
    s = s * f + C8
    s = s * f + C7
    s = s * f + C6
    s = s * f + C5
    s = s * f + C4
    s = s * f + C3
    s = s * f + C2
    s = s * f + C1
    s = s * f + 1.0
    return number_of(bits_of(s) + (bits_of(shifted) << 52))


@cached_njit(inline="always")
def mantissa_of(x: float) -> float:
    """The factor in [1, 2) of a positive normal number; the rest is a power of two."""
    return number_of((bits_of(x) & _MANTISSA) | _ONE)


@cached_njit(inline="always")
def exponent_of(x: float) -> int:
    """The power of two of a positive normal number."""
    return (bits_of(x) >> 52) - 1023


@cached_njit()
def log_mantissa(m: float) -> float:
    r""":math:`\log m` for 1 <= m < 2, with absolute error at most 8u.

    :math:`\log m = [m > \sqrt2]\log 2 + 2\,\mathrm{artanh}\,z,\ z = (m' - 1)/(m' + 1)` with m' = m or m/2, so that
    \|z\| <= 0.1716.  The series stops after :math:`z^{21}/21`; the rest is below 3e-19.
    m' - 1 is exact, m' + 1 and the quotient round once each, the series by less than 1.2u relative, the last product
    once: below 4.4u times \|2 artanh z\| <= 0.35.  log 2 errs by less than u/4 and the final sum by 0.7u.
    """
    high = m > 1.4142135623730951
    if high:
        m = 0.5 * m
    z = (m - 1.0) / (m + 1.0)
    square = z * z
    series = 0.0
    for k in range(10, -1, -1):
        series = series * square + 1.0 / (2 * k + 1)
    value = 2.0 * z * series
    return value + LN2 if high else value


@cached_njit()
def log_mantissas(m: Array) -> Array:
    """`log_mantissa` of every entry."""
    values = np.empty_like(m)
    for i in range(m.size):
        values.flat[i] = log_mantissa(m.flat[i])
    return values
