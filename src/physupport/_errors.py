"""Exceptions of the package. Outcomes of inference are values, not exceptions."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import final
from unicodedata import category


class PhysupportError(Exception):
    """Base of every exception raised by this package."""


# Of each part of a message, in characters; and of a whole number, in digits.
_LONGEST = 600
_MOST_DIGITS = 60


def shortened(text: str) -> str:
    """Shorten a text for a terminal: a long one to its beginning and its length."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 3]}... ({len(text)} characters)"


def shown(value: object) -> str:
    """Write a value for a message; a long whole number by its first digits, or by its length."""
    try:
        written = repr(value)
        if isinstance(value, int) and len(written) > _MOST_DIGITS:
            return f"{written[: _MOST_DIGITS // 3]}... ({len(written.lstrip('-'))} digits)"
        return shortened(written)
    except RecursionError:
        return f"a {type(value).__name__} that is nested too deeply"
    except ValueError:
        bits = value.bit_length() if isinstance(value, int) else 0
        return f"a whole number of {bits} bits" if bits else f"a {type(value).__name__} that cannot be written out"


def _text(value: object) -> str:
    try:
        return shown(value) if type(value) is int else str(value)
    except ValueError:
        return shown(value)


# Control characters, invisible marks that turn the direction of text, halves of characters, and line separators.
_OBEYED = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def visible(text: str) -> str:
    r"""The text with every character that a terminal, a browser or a spreadsheet obeys or cannot print as an escape.

    >>> visible("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    if text.isprintable():
        return text
    return "".join(map(_escaped, text))


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii") if category(character) in _OBEYED else character


@final
class Clause(str):
    """A clause that says what is wrong, such as "line 3 has none"; in place of a value that breaks a rule."""

    __slots__ = ()


def _objection(value: object) -> str:
    """The end of a message: the clause, or the value that is refused."""
    # The value may be a message of its own with a full stop at its end; one is enough.
    told = re.sub(r"(?<=\w)\.$", "", shortened(_text(value)))
    return f", but {told}" if isinstance(value, Clause) else f", not {told}"


class MisuseError(PhysupportError, ValueError):
    """An argument breaks a stated rule.

    The message names the argument, the rule, the value and, if known, a remedy. The attributes hold the same.
    """

    def __init__(self, argument: str, rule: str, value: object, remedy: str = "") -> None:
        self.argument, self.rule, self.value, self.remedy = argument, rule, value, remedy
        message = f"{shortened(argument)} must {shortened(rule)}{_objection(value)}."
        super().__init__(message + (f" {shortened(remedy)}" if remedy else ""))

    def __reduce__(self) -> tuple[object, ...]:  # it may come from another process
        return type(self), (self.argument, self.rule, self.value, self.remedy)


class MissingError(MisuseError):
    """A required argument or key is missing."""

    def __str__(self) -> str:
        return f"{shortened(self.argument)} is required." + (f" {self.remedy}" if self.remedy else "")


class NotFiniteError(MisuseError):
    """A number that is NaN or infinite."""


@contextmanager
def misuse_named(rename: Callable[[str], str]) -> Iterator[None]:
    """Rename the argument in errors raised inside, to the name that the user knows."""
    try:
        yield
    except MisuseError as error:
        name = rename(error.argument)
        if name == error.argument:
            raise
        raise type(error)(name, error.rule, error.value, error.remedy) from None
