"""Formulas as texts: evaluated in floating point for answers, and in intervals for bounds of derivatives."""

import ast
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final, final

import numpy as np

from .._errors import MisuseError
from .._typing import Array

# Far more than the functions of numpy are off, a few units in the last place.
_FUNCTION_ERROR = 1e-14
# Relative, four times the rounding of a sum or product; and more than what numbers too small for that are off.
_ROUNDING = 2.0**-51
_TINY = float(np.finfo(np.float64).tiny)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Enclosure:
    """Numbers between two bounds, entry by entry; what is not defined everywhere in between has bounds without end."""

    low: Array
    high: Array

    @classmethod
    def between(cls, low: Array, high: Array) -> "Enclosure":
        """The bounds, each further out than a rounding; NaN, which only infinite bounds lead to, is without end."""
        lower = low - (_ROUNDING * np.abs(low) + _TINY)
        upper = high + (_ROUNDING * np.abs(high) + _TINY)
        if np.isnan(lower.sum() + upper.sum()):
            return cls(np.where(np.isnan(lower), -np.inf, lower), np.where(np.isnan(upper), np.inf, upper))
        return cls(lower, upper)

    @classmethod
    def of(cls, value: "Array | float") -> "Enclosure":
        """A number is between itself and itself."""
        return cls(np.asarray(value), np.asarray(value))

    def __add__(self, other: "Enclosure") -> "Enclosure":
        return Enclosure.between(self.low + other.low, self.high + other.high)

    def __mul__(self, other: "Enclosure") -> "Enclosure":
        ends = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Enclosure.between(reduce(np.minimum, ends), reduce(np.maximum, ends))

    def scaled(self, factor: float) -> "Enclosure":
        """Times a number."""
        return self * Enclosure.of(factor)

    def power(self, n: int) -> "Enclosure":
        """Raise to a whole power; even powers are not below 0."""
        if n < 0:
            return self.power(-n).reciprocal()
        ends = self._widened(self.low**n), self._widened(self.high**n)
        low = np.minimum(ends[0].low, ends[1].low)
        high = np.maximum(ends[0].high, ends[1].high)
        holds_zero = (self.low <= 0.0) & (self.high >= 0.0)
        return Enclosure(np.where(holds_zero & (n % 2 == 0) & (n > 0), 0.0, low), high)

    def reciprocal(self) -> "Enclosure":
        """One over it; without end where it may be 0."""
        holds_zero = (self.low <= 0.0) & (self.high >= 0.0)
        inverse = Enclosure.between(1.0 / self.high, 1.0 / self.low)
        return Enclosure(np.where(holds_zero, -np.inf, inverse.low), np.where(holds_zero, np.inf, inverse.high))

    def rising(self, function: Callable[[Array], Array]) -> "Enclosure":
        """A function that rises; where it is not defined, without end."""
        return Enclosure(self._widened(function(self.low)).low, self._widened(function(self.high)).high)

    def wave(self, turns: float) -> "Enclosure":
        """The sine of it and so many quarter turns more: 1 and -1 where a crest or a trough may lie in between."""
        low = self.low + turns * (np.pi / 2.0)
        high = self.high + turns * (np.pi / 2.0)
        slack = _FUNCTION_ERROR * (1.0 + np.abs(low) + np.abs(high))
        ends = np.sin(low), np.sin(high)

        def meets(phase: float) -> Array:
            first = (low - slack - phase) / (2.0 * np.pi)
            last = (high + slack - phase) / (2.0 * np.pi)
            return np.asarray(np.floor(last) >= np.ceil(first))

        lowest = np.minimum(*ends) - slack
        highest = np.maximum(*ends) + slack
        return Enclosure(
            np.where(meets(-np.pi / 2.0), -1.0, np.maximum(np.nan_to_num(lowest, nan=-1.0), -1.0)),
            np.where(meets(np.pi / 2.0), 1.0, np.minimum(np.nan_to_num(highest, nan=1.0), 1.0)),
        )

    @staticmethod
    def _widened(value: Array) -> "Enclosure":
        off = _FUNCTION_ERROR * np.abs(value) + _TINY
        return Enclosure.between(value - off, value + off)

    @property
    def largest(self) -> Array:
        """The largest absolute value."""
        return np.maximum(np.abs(self.low), np.abs(self.high))

    @property
    def smallest(self) -> Array:
        """The smallest absolute value."""
        return np.maximum(np.maximum(self.low, -self.high), 0.0)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Jet:
    """A number with its d first and (d, d) second derivatives, all of them intervals."""

    value: Enclosure
    first: tuple[Enclosure, ...]
    second: tuple[tuple[Enclosure, ...], ...]  # row k has the columns 0 .. k

    @classmethod
    def constant(cls, value: Enclosure, d: int) -> "Jet":
        """A number that does not depend on the variables."""
        zero = Enclosure.of(0.0)
        return cls(value, (zero,) * d, tuple((zero,) * (k + 1) for k in range(d)))

    @classmethod
    def variable(cls, value: Enclosure, number: int, d: int) -> "Jet":
        """An expression that is a single variable of the formula."""
        still = cls.constant(value, d)
        first = tuple(Enclosure.of(float(k == number)) for k in range(d))
        return cls(value, first, still.second)

    def __add__(self, other: "Jet") -> "Jet":
        first = tuple(a + b for a, b in zip(self.first, other.first, strict=True))
        rows = zip(self.second, other.second, strict=True)
        return Jet(self.value + other.value, first, tuple(tuple(map(Enclosure.__add__, a, b)) for a, b in rows))

    def __mul__(self, other: "Jet") -> "Jet":
        a = self.value
        b = other.value
        first = tuple(a * y + b * x for x, y in zip(self.first, other.first, strict=True))
        second = tuple(
            tuple(
                a * other.second[k][m]
                + b * self.second[k][m]
                + self.first[k] * other.first[m]
                + self.first[m] * other.first[k]
                for m in range(k + 1)
            )
            for k in range(len(first))
        )
        return Jet(a * b, first, second)

    def chained(self, value: Enclosure, slope: Enclosure, bend: Enclosure) -> "Jet":
        """A function of it, with the first two derivatives of the function."""
        second = tuple(
            tuple(bend * self.first[k] * self.first[m] + slope * self.second[k][m] for m in range(k + 1))
            for k in range(len(self.first))
        )
        return Jet(value, tuple(slope * derivative for derivative in self.first), second)

    def power(self, n: int) -> "Jet":
        """Raise to a whole power."""
        x = self.value
        slope = x.power(n - 1).scaled(n) if n else Enclosure.of(0.0)
        bend = x.power(n - 2).scaled(n * (n - 1)) if n * (n - 1) else Enclosure.of(0.0)
        return self.chained(x.power(n), slope, bend)

    def exp(self) -> "Jet":
        """The exponential, which is its own derivative; never below 0."""
        value = self.value.rising(np.exp)
        value = Enclosure(np.maximum(value.low, 0.0), value.high)
        return self.chained(value, value, value)

    def log(self) -> "Jet":
        """The natural logarithm."""
        inverse = self.value.reciprocal()
        return self.chained(self.value.rising(np.log), inverse, inverse.power(2).scaled(-1.0))

    def sqrt(self) -> "Jet":
        """The square root."""
        root = self.value.rising(np.sqrt)
        slope = root.reciprocal().scaled(0.5)
        return self.chained(root, slope, (slope * self.value.reciprocal()).scaled(-0.5))

    def sin(self) -> "Jet":
        """The sine."""
        value = self.value.wave(0.0)
        return self.chained(value, self.value.wave(1.0), value.scaled(-1.0))

    def cos(self) -> "Jet":
        """The cosine."""
        value = self.value.wave(1.0)
        return self.chained(value, self.value.wave(0.0).scaled(-1.0), value.scaled(-1.0))


_FUNCTIONS: Final = ("exp", "log", "sqrt", "sin", "cos")
_SIGNS: Final[Mapping[type[ast.operator], str]] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
# Names that a formula has already.
RESERVED: Final = ("t", "width", "pi", *_FUNCTIONS)
# Texts nest at most so deep: more would exhaust the interpreter.
_MOST_NESTED: Final = 60
_LARGEST: Final = sys.float_info.max


def parsed(text: str) -> ast.expr:
    """A formula of named numbers: + - * / **, the functions exp, log, sqrt, sin and cos, and pi.

    Powers are whole numbers; others are exp and log.  Nothing of the text is run as a program: `worked` evaluates it.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise MisuseError("formula", "be a formula such as exp(-((t - x) / 0.1)**2 / 2)", repr(text)) from None
    if not names_in(tree, text):
        raise MisuseError("formula", "depend on something", repr(text))
    return tree


def names_in(node: ast.expr, text: str = "", depth: int = 0) -> frozenset[str]:
    """The names of the numbers that a formula depends on; anything that a formula has not is refused."""
    if depth > _MOST_NESTED:
        raise MisuseError("formula", f"be nested at most {_MOST_NESTED} deep", repr(text))
    match node:
        case ast.Constant(value=int() | float() as value) if type(value) is not bool and abs(value) <= _LARGEST:
            return frozenset()
        case ast.Name(id=name):
            return frozenset() if name == "pi" else frozenset([name])
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=inner):
            return names_in(inner, text, depth + 1)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            _exponent(right, text)
            return names_in(left, text, depth + 1)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _SIGNS:
            return names_in(left, text, depth + 1) | names_in(right, text, depth + 1)
        case ast.Call(func=ast.Name(id=name), args=[inner], keywords=[]) if name in _FUNCTIONS:
            return names_in(inner, text, depth + 1)
    rule = f"be made of numbers that float64 holds, names, pi, + - * / ** and {', '.join(_FUNCTIONS)}"
    raise MisuseError("formula", rule, repr(ast.unparse(node)))


def _exponent(node: ast.expr, text: str) -> int:
    """A whole number, perhaps negative."""
    sign = 1
    while isinstance(node, ast.UnaryOp) and type(node.op) is ast.USub:  # a call for each would exhaust the interpreter
        sign = -sign
        node = node.operand
    match node:
        case ast.Constant(value=int() as n) if type(n) is int and abs(n) <= 64:
            return sign * n
    remedy = "Write others with exp, log or sqrt."
    raise MisuseError("formula", "have whole numbers up to 64 as powers", repr(text), remedy)


def floats(name: str, *values: Any) -> Any:  # noqa: ANN401
    """One step in floating point."""
    match name:
        case "number":
            return float(values[0])
        case "**":
            return np.asarray(values[0], dtype=np.float64) ** values[1]
        case "negative":
            return -values[0]
    return getattr(np, {"+": "add", "-": "subtract", "*": "multiply", "/": "divide"}.get(name, name))(*values)


def jets(d: int, name: str, *values: Any) -> Any:  # noqa: ANN401
    """One step in jets of d variables."""
    match name:
        case "number":
            return Jet.constant(Enclosure.of(values[0]), d)
        case "+":
            return values[0] + values[1]
        case "*":
            return values[0] * values[1]
        case "negative":
            return values[0] * jets(d, "number", -1.0)
        case "-":
            return values[0] + jets(d, "negative", values[1])
        case "/":
            return values[0] * values[1].power(-1)
        case "**":
            return values[0].power(values[1])
    return getattr(values[0], name)()


def worked(node: ast.expr, values: Mapping[str, Any], step: Callable[..., Any]) -> Any:  # noqa: ANN401
    """The value of a checked formula, step by step; step: what makes numbers and joins values."""
    match node:
        case ast.Constant(value=value):
            return step("number", value)
        case ast.Name(id=name):
            return step("number", np.pi) if name == "pi" else values[name]
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return step("negative", worked(inner, values, step))
        case ast.UnaryOp(operand=inner):
            return worked(inner, values, step)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return step("**", worked(left, values, step), _exponent(right, ""))
        case ast.BinOp(left=left, op=op, right=right):
            return step(_SIGNS[type(op)], worked(left, values, step), worked(right, values, step))
        case ast.Call(func=ast.Name(id=name), args=[inner]):
            return step(name, worked(inner, values, step))
    raise AssertionError(ast.dump(node))  # `names_in` has seen all kinds of nodes
