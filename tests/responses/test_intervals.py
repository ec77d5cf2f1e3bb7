"""Intervals hold every value in between, jets every derivative, and formulas are only formulas."""

from functools import partial

import numpy as np
import pytest

from physupport import MisuseError
from physupport.responses import Formula
from physupport.responses._expression import Enclosure, Jet, floats, jets, parsed, worked

FORMULAS = [
    "exp(-((t - x) / y)**2 / 2)",
    "sin(7 * x) * cos(t * y) - x**3 / (2 + y)",
    "sqrt(x**2 + y**2) / (t + log(3 + x))",
    "-x**-2 + 1 / (1 + ((t - x) / y)**2)",
]


def boxes(rng, count):
    middle, half = rng.uniform([0.4, 0.4], [1.5, 1.5], (count, 2)).T, rng.uniform(1e-6, 0.3, (2, count))
    return middle - half, middle + half


@pytest.mark.parametrize("text", FORMULAS)
def test_values_and_derivatives_in_a_box_lie_within_their_intervals(text):
    rng, formula, t = np.random.default_rng(1), parsed(text), 0.7
    low, high = boxes(rng, 40)
    x, y = (Jet.variable(Enclosure(low[k], high[k]), k, 2) for k in range(2))
    jet = worked(formula, {"t": Jet.constant(Enclosure.of(t), 2), "x": x, "y": y}, partial(jets, 2))
    step = 1e-4  # of differences, whose error is below a part in 10^6 of the derivatives' own size here

    def at(a, b):
        return worked(formula, {"t": t, "x": a, "y": b}, floats)

    for _ in range(30):
        a, b = low + rng.uniform(size=low.shape) * (high - low)
        first = (at(a + step, b) - at(a - step, b)) / (2 * step), (at(a, b + step) - at(a, b - step)) / (2 * step)
        mixed = (at(a + step, b + step) - at(a + step, b - step) - at(a - step, b + step) + at(a - step, b - step)) / (
            4 * step**2
        )
        own = (at(a + step, b) - 2 * at(a, b) + at(a - step, b)) / step**2
        pairs = [(jet.value, at(a, b)), *zip(jet.first, first, strict=True)]
        for interval, value in [*pairs, (jet.second[1][0], mixed), (jet.second[0][0], own)]:
            slack = 1e-4 * (1.0 + np.abs(value))
            assert (interval.low <= value + slack).all()
            assert (interval.high >= value - slack).all()


def test_a_point_has_narrow_intervals_and_what_is_not_defined_none_that_end():
    point = Jet.variable(Enclosure.of(np.array([0.3])), 0, 1)
    found = worked(parsed("exp(sin(x)) / (1 + x**2)"), {"x": point}, partial(jets, 1))
    exact = np.exp(np.sin(0.3)) / 1.09
    assert found.value.low < exact < found.value.high
    assert found.value.high - found.value.low < 1e-12
    wide = Jet.variable(Enclosure(np.array([-1.0]), np.array([1.0])), 0, 1)
    with np.errstate(all="ignore"):
        assert np.isinf(worked(parsed("1 / x"), {"x": wide}, partial(jets, 1)).value.high).all()
        assert np.isinf(worked(parsed("log(x)"), {"x": wide}, partial(jets, 1)).value.low).all()
    assert (worked(parsed("x**2"), {"x": wide}, partial(jets, 1)).value.low == 0.0).all()
    assert (worked(parsed("sin(9 * x)"), {"x": wide}, partial(jets, 1)).value.high == 1.0).all()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("__import__('os')", "made of numbers"),
        ("x.real", "made of numbers"),
        ("x**0.5", "whole numbers up to 64 as powers"),
        ("x + ", "be a formula"),
        ("2 + 3", "depend on something"),
        ("+".join(["(x" for _ in range(80)]) + ")" * 80, "nested at most"),
        ("x + 1e999", "made of numbers"),
        ("x + " + "9" * 400, "made of numbers that float64 holds"),
        ("-" * 1500 + "x", "nested at most|be a formula"),  # parsers of some versions refuse it themselves
        ("x**" + "-" * 1500 + "y", "whole numbers up to 64 as powers|be a formula"),
    ],
)
def test_what_is_no_formula_is_refused_and_never_run(text, words):
    with pytest.raises(MisuseError, match=words.replace("*", r"\*")):
        parsed(text)


def test_a_formula_is_a_response_with_its_own_width():
    formula = Formula("exp(-((t - x) / width)**2 / 2)", axis=np.linspace(0.0, 1.0, 5), width=0.2)
    assert np.allclose(
        formula([[0.5], [0.6]]), np.exp(-0.5 * ((np.linspace(0, 1, 5)[:, None] - [0.5, 0.6]) / 0.2) ** 2)
    )
    wave = Formula("cos(t * x + y)", [1.0, 2.0], places="x y", imaginary="sin(t * x + y)")
    assert np.allclose(wave([[0.3, 0.1]])[:, 0], np.exp(1j * (np.array([1.0, 2.0]) * 0.3 + 0.1)))
    for given, words in ((("z", [0.0]), "no other names"), (("x", [0.0], "t"), "names other than t")):
        with pytest.raises(MisuseError, match=words):
            Formula(*given)


@pytest.mark.parametrize("places", ["pi", "x pi", "exp", "x x"])
def test_a_place_that_a_formula_could_not_mean_is_refused(places):
    with pytest.raises(MisuseError, match="places must be distinct names other than t, width, pi, exp, log"):
        Formula("exp(-(t - pi)**2)", [0.0, 1.0], places=places)


def test_a_fault_of_the_imaginary_part_is_told_under_its_own_key():
    for text in ("x + " + "9" * 400, "x + y"):
        with pytest.raises(MisuseError, match=r"^imaginary must"):
            Formula("x * t", [0.0, 1.0], imaginary=text)
