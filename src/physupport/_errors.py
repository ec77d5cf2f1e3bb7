"""What the package raises. Outcomes of inference are values, not exceptions."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class PhysupportError(Exception):
    """Base of every exception raised by this package."""


class MisuseError(PhysupportError, ValueError):
    """An argument breaks a stated rule.

    The message names the argument, the rule and the value; the same three stand in the attributes.
    """

    def __init__(self, argument: str, rule: str, value: object, remedy: str = "") -> None:
        self.argument, self.rule, self.value, self.remedy = argument, rule, value, remedy
        # The value may be a message of its own with a full stop at its end; one is enough.
        found = re.sub(r"(?<=\w)\.$", "", str(value))
        super().__init__(f"{argument} must {rule}, got {found}." + (f" {remedy}" if remedy else ""))


class NotFiniteError(MisuseError):
    """A number that is NaN or infinite."""


@contextmanager
def misuse_named(rename: Callable[[str], str]) -> Iterator[None]:
    """Tell misuse met in here under another name of its argument, the one that its author knows."""
    try:
        yield
    except MisuseError as error:
        name = rename(error.argument)
        if name == error.argument:
            raise
        raise type(error)(name, error.rule, error.value, error.remedy) from None
