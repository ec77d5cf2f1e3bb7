"""Powers of two and logarithms of the compiled loops against ball arithmetic."""

import re

import numpy as np
import pytest
from flint import arb, ctx
from llvmlite.binding import get_host_cpu_features
from numba import config, njit

from physupport import _compiled
from physupport.laws.streams import _latent_kernels as kernels

COEFFICIENTS = [1.0, *(getattr(_compiled, f"C{k}") for k in range(1, 12))]


@pytest.fixture(autouse=True)
def precise():
    before, ctx.prec = ctx.prec, 160
    yield
    ctx.prec = before


@njit
def plain(x):
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = _compiled.exp2_minus(x[i])
    return out


@njit(fastmath={"contract"})
def fused(x):
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = _compiled.exp2_minus(x[i])
    return out


def test_the_polynomial_is_within_a_third_of_a_rounding_of_the_power_on_the_whole_interval():
    # Balls of radius 1/1024 cover [-1/2, 1/2].  On each, the relative difference is bounded through its Taylor form of
    # order 14 about the centre: a plain evaluation on the ball would be much wider than the difference itself.
    ctx.prec = 300
    radius, log2, worst = arb(1) / 1024, arb(2).log(), 0.0
    for i in range(-511, 512, 2):
        centre = arb(i) / 1024
        power = (centre * log2).exp()
        shifted = [
            sum((arb(COEFFICIENTS[k]) * arb.bin_uiui(k, j) * centre ** (k - j) for k in range(j, 12)), arb(0))
            for j in range(12)
        ]
        terms = [(shifted[j] if j < 12 else arb(0)) - power * log2**j / arb.fac_ui(j) for j in range(15)]
        rest = power * 2 * (log2 * radius) ** 15 / arb.fac_ui(15)  # the tail of the exponential series
        bound = sum((abs(term) * radius**j for j, term in enumerate(terms)), arb(0)) + rest
        worst = max(worst, float((bound / (power * (-radius * log2).exp())).upper()))
    assert worst <= 0.4 * _compiled.U


@pytest.mark.parametrize("evaluate", [plain, fused])
def test_the_power_errs_by_less_than_its_bound_with_and_without_fused_operations(evaluate):
    rng = np.random.default_rng(1)
    x = np.concatenate(
        [rng.uniform(0.0, 1000.0, 4000), rng.uniform(0.0, 2.0, 4000), np.arange(1001) / 2.0, [0.0, 1000.0]]
    )
    worst = max(abs(float(arb(y) / arb(2) ** (-arb(t)) - 1)) for t, y in zip(x, evaluate(x), strict=True))
    assert worst <= 2.5 * _compiled.U  # what the docstring derives; the bound in use is 4


def test_arguments_beyond_the_range_count_as_its_end():
    assert plain(np.array([1000.0, 1e4, 1e300, np.inf])).tolist() == [2.0**-1000] * 4


def test_whole_arguments_give_exact_powers():
    assert plain(np.arange(1001.0)).tolist() == [2.0**-k for k in range(1001)]


def test_logarithms_of_mantissas_err_by_less_than_their_bound():
    rng = np.random.default_rng(2)
    m = np.concatenate(
        [1.0 + rng.random(5000), 1.0 + 2.0 ** -np.arange(1.0, 53.0), np.sqrt(2.0) + np.arange(-9, 9) * 2e-16]
    )
    errors = [abs(float(arb(v) - arb(t).log())) for t, v in zip(m, _compiled.log_mantissas(m), strict=True)]
    assert max(errors) <= 3.0 * _compiled.U  # what the docstring derives; the bound in use is 8


def test_mantissa_and_exponent_put_a_number_together_again():
    @njit
    def split(x):
        return _compiled.mantissa_of(x), _compiled.exponent_of(x)

    for x in [1.0, 1.5, 2.0**-900, 3.7e200, np.nextafter(2.0, 1.0)]:
        mantissa, exponent = split(x)
        assert 1.0 <= mantissa < 2.0
        assert mantissa * 2.0**exponent == x


def test_the_row_loop_compiles_to_packed_machine_code():
    features = get_host_cpu_features()
    if not (features.get("avx2") and features.get("fma")):
        pytest.skip("this processor has no wide registers or no fused operations")
    if config.CPU_NAME or config.CPU_FEATURES is not None:
        pytest.skip("NUMBA_CPU_NAME asks for code for another processor")
    if int(config.OPT) < 3:
        pytest.skip("NUMBA_OPT asks for code that is compiled sooner and not packed")
    compiled = njit(fastmath={"contract"})(kernels.nested_step.py_func)
    v, s = np.zeros(5 * kernels.S), np.zeros(4 * kernels.S)
    compiled(v, 0, np.ones((8, 2)), np.ones(8), 7, s, 0)
    (assembly,) = compiled.inspect_asm().values()
    assert "ymm" in assembly or "zmm" in assembly
    # Eight polynomials of degree 11, eight weights, seven squares and four turns.
    assert len(re.findall(r"vfn?m(?:add|sub)\w*pd|vmulpd", assembly)) >= 8 * 11 + 8 + 7 + 2 * 4
