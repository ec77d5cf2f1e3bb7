"""What the package raises. Outcomes of inference are values, not exceptions."""

import re


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
