"""Formulas as texts: worked out in floating point for answers, and in intervals for bounds of derivatives."""

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import add, mul
from typing import Any, Final, final

import numpy as np

from .._errors import MisuseError
from .._typing import Array
from ._intervals import Enclosure, Jet

_FUNCTIONS: Final = ("exp", "log", "sqrt", "sin", "cos")
_SIGNS: Final[Mapping[type[ast.operator], str]] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
# Texts nest at most so deep: more would exhaust the interpreter.
_MOST_NESTED: Final = 60


@final
@dataclass(frozen=True, slots=True)
class Expression:
    """A formula of named numbers: + - * / **, the functions exp, log, sqrt, sin and cos, and pi.

    Powers are whole numbers; others are exp and log.  Nothing of the text is run as a program.
    """

    text: str
    _tree: ast.expr = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        try:
            tree = ast.parse(self.text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise MisuseError("formula", "be a formula such as exp(-((t - x) / 0.1)**2 / 2)", repr(self.text)) from None
        if not _checked(tree, self.text):
            raise MisuseError("formula", "depend on something", repr(self.text))
        object.__setattr__(self, "_tree", tree)

    @property
    def names(self) -> frozenset[str]:
        """What it depends on."""
        return _checked(self._tree, self.text)

    def at(self, values: Mapping[str, Array | float]) -> Array:
        """Its value in floating point."""
        return np.asarray(_worked(self._tree, values, _floats), dtype=np.float64)

    def jet(self, values: Mapping[str, Jet], d: int) -> Jet:
        """Its value and derivatives along d variables, as intervals."""
        value: Jet = _worked(self._tree, values, _Jets(d))
        return value


def _checked(node: ast.expr, text: str, depth: int = 0) -> frozenset[str]:
    """The names in a formula; anything that a formula has not is refused."""
    if depth > _MOST_NESTED:
        raise MisuseError("formula", f"be nested at most {_MOST_NESTED} deep", repr(text))
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool) and np.isfinite(float(value)):
            return frozenset()
        case ast.Name(id=name):
            return frozenset() if name == "pi" else frozenset([name])
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=inner):
            return _checked(inner, text, depth + 1)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            _exponent(right, text)
            return _checked(left, text, depth + 1)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _SIGNS:
            return _checked(left, text, depth + 1) | _checked(right, text, depth + 1)
        case ast.Call(func=ast.Name(id=name), args=[inner], keywords=[]) if name in _FUNCTIONS:
            return _checked(inner, text, depth + 1)
    rule = f"be made of numbers, names, pi, + - * / ** and {', '.join(_FUNCTIONS)}"
    raise MisuseError("formula", rule, repr(ast.unparse(node)))


def _exponent(node: ast.expr, text: str) -> int:
    """A whole number, perhaps negative."""
    match node:
        case ast.Constant(value=int() as n) if not isinstance(n, bool) and abs(n) <= 64:
            return n
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_exponent(inner, text)
    rule, remedy = "have whole numbers up to 64 as powers", "Write others with exp, log or sqrt."
    raise MisuseError("formula", rule, repr(text), remedy)


def _floats(name: str, *values: Any) -> Any:  # noqa: ANN401
    """One step in floating point."""
    match name:
        case "number":
            return float(values[0])
        case "**":
            return np.asarray(values[0], dtype=np.float64) ** values[1]
        case "negative":
            return -values[0]
    return getattr(np, {"+": "add", "-": "subtract", "*": "multiply", "/": "divide"}.get(name, name))(*values)


@final
@dataclass(frozen=True, slots=True)
class _Jets:
    """One step in jets of d variables."""

    d: int

    def __call__(self, name: str, *values: Any) -> Any:  # noqa: ANN401
        match name:
            case "number":
                return Jet.constant(Enclosure.of(values[0]), self.d)
            case "+" | "*":
                return reduce({"+": add, "*": mul}[name], values)
            case "negative":
                return values[0] * self("number", -1.0)
            case "-":
                return values[0] + self("negative", values[1])
            case "/":
                return values[0] * values[1].power(-1)
            case "**":
                return values[0].power(values[1])
        return getattr(values[0], name)()


def _worked(node: ast.expr, values: Mapping[str, Any], step: Callable[..., Any]) -> Any:  # noqa: ANN401
    """The value of a checked formula, step by step; step: what makes numbers and joins values."""
    match node:
        case ast.Constant(value=value):
            return step("number", value)
        case ast.Name(id=name):
            return step("number", np.pi) if name == "pi" else values[name]
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return step("negative", _worked(inner, values, step))
        case ast.UnaryOp(operand=inner):
            return _worked(inner, values, step)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return step("**", _worked(left, values, step), _exponent(right, ""))
        case ast.BinOp(left=left, op=op, right=right):
            return step(_SIGNS[type(op)], _worked(left, values, step), _worked(right, values, step))
        case ast.Call(func=ast.Name(id=name), args=[inner]):
            return step(name, _worked(inner, values, step))
    raise AssertionError(ast.dump(node))  # `_checked` has seen all kinds of nodes
