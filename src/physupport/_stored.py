"""Stored values read strictly: anything that could be read in two ways is refused."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, final

from ._codec import told
from ._errors import MisuseError, PhysupportError

# An object of a document.
Node = Mapping[str, Any]


class Check(NamedTuple):
    """A form that is none of the others: what a value must be, in words, and whether it is."""

    words: str
    fits: Callable[[Any], bool]


# A form is a type, a check, a tuple of forms of which one must fit, a list with the form of all entries, a table of
# forms by name, or a constant that must stand there as it is.
Form = Any
ANY = Check("anything", lambda _: True)
HASH = Check(
    "a SHA-256 in hexadecimal",
    lambda value: isinstance(value, str) and len(value) == 64 and {*value} <= {*"0123456789abcdef"},
)
_WORDS = {
    str: "a text", int: "a whole number", float: "a number", bool: "true or false", dict: "an object", list: "a list",
}  # fmt: skip


class Refusal(PhysupportError):
    """A finding: the document does not bear out what it says."""


@final
@dataclass(frozen=True, slots=True)
class Maybe:
    """The form of a value whose name may be missing in a table."""

    form: Form


def check_form(value: object, form: Form, where: str = "document") -> Any:  # noqa: ANN401  what the form says
    """The value, if it has exactly this form: no name may be missing, and none may be added."""
    if not _fits(value, form):
        raise MisuseError(where, f"be {_words(form)}", told(value))
    if isinstance(form, dict) and isinstance(value, dict):
        required = {name for name, inner in form.items() if not isinstance(inner, Maybe)}
        if not required <= value.keys() <= form.keys():
            missing = [name for name in form if name in required - value.keys()]
            more = [name for name in value if name not in form]
            differing = [*(f"no {name}" for name in missing), *(f"also {told(name)}" for name in more)]
            raise MisuseError(where, f"have no other names than {', '.join(form)}", ", ".join(differing))
        for name, inner in form.items():
            if name in value:
                check_form(value[name], inner.form if isinstance(inner, Maybe) else inner, f"{where}.{name}")
    elif isinstance(form, list) and isinstance(value, list):
        for number, entry in enumerate(value):
            check_form(entry, form[0], f"{where}[{number}]")
    return value


def _fits(value: object, form: Form) -> bool:
    """Of a table or a list, whether the value is one; of a choice, whether it wholly fits one of them."""
    if isinstance(form, Check):
        return form.fits(value)
    if isinstance(form, tuple):
        return any(_fits_wholly(value, choice) for choice in form)
    if isinstance(form, type):
        return type(value) is form  # True is an int, but not a number here
    if isinstance(form, dict | list):
        return isinstance(value, type(form))
    return type(value) is type(form) and value == form


def _fits_wholly(value: object, form: Form) -> bool:
    try:
        check_form(value, form)
    except MisuseError:
        return False
    return True


def _words(form: Form) -> str:
    if isinstance(form, Check):
        return form.words
    if isinstance(form, tuple):
        return " or ".join(_words(choice) for choice in form)
    if isinstance(form, dict | list):
        return _WORDS[type(form)]
    return _WORDS[form] if isinstance(form, type) else "null" if form is None else repr(form)
