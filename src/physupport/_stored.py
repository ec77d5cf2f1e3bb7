"""Stored values read strictly by pydantic: anything that could be read in two ways is refused."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import zip_longest
from math import log
from typing import Annotated, Any, TypeVar, cast

from pydantic import ConfigDict, Field, InstanceOf, TypeAdapter, ValidationError, ValidatorFunctionWrapHandler
from pydantic.functional_validators import WrapValidator
from pydantic_core import PydanticCustomError
from typing_extensions import TypedDict

from ._codec import described, told
from ._errors import MisuseError, PhysupportError

# An object of a document.
Node = Mapping[str, Any]

# What pydantic calls a broken rule, and how we say it.
_WORDS = {
    "string_type": "a text", "int_type": "a whole number", "is_instance_of": "a number", "bool_type": "true or false",
    "dict_type": "an object", "list_type": "a list", "form": "{words}", "greater_than": "above {gt}",
}  # fmt: skip


class Refusal(PhysupportError):
    """A finding: the document does not bear out what it says."""


def in_words(words: str) -> WrapValidator:
    """Name a form as a whole in messages: "two numbers" instead of what is wrong with the second."""

    def check(value: object, handler: ValidatorFunctionWrapHandler) -> object:
        try:
            return handler(value)
        except ValidationError:
            raise PydanticCustomError("form", "{words}", {"words": words}) from None

    return WrapValidator(check)


# pydantic takes a whole number for a float; a document does not.
Real = InstanceOf[float]
TWO = Field(min_length=2, max_length=2)
NONE = Field(max_length=0)
Hash = Annotated[str, Field(pattern="^[0-9a-f]{64}$"), in_words("a SHA-256 in hexadecimal")]


def check_form(value: object, form: object, where: str = "document") -> Any:  # noqa: ANN401  what the form says
    """The value, if it has exactly this form: no name may be missing, and none may be added.

    form: a type for pydantic, or the types of a table by name.
    """
    try:
        _reader(TypedDict("Node", form) if type(form) is dict else form).validate_python([value])  # type: ignore[operator]
    except ValidationError as error:
        details = error.errors(include_url=False)[0]
        _, *place = details["loc"]
        if details["type"] in ("missing", "extra_forbidden"):
            name = place.pop()
            rule = "have no other names than the format has"
            found = f"no {name}" if details["type"] == "missing" else f"also {told(name)}"
        else:
            words = "{expected}" if details["type"] == "literal_error" else _WORDS.get(details["type"], details["msg"])
            rule = f"be {words.format(**details.get('ctx', {})).replace(', ', ' or ')}"
            found = told(details["input"])
        path = "".join(f".{step}" if type(step) is str else f"[{step}]" for step in place)
        raise MisuseError(f"{where}{path}", rule, found) from None
    return value


@cache
def _reader(form: object) -> TypeAdapter[Any]:
    """A list of this form, since the configuration of a list holds for the tables in it as well."""
    return TypeAdapter(list[form], config=ConfigDict(strict=True, extra="forbid"))  # type: ignore[valid-type]


# Both bounds of a margin are proven, so they need not agree to the last digit between machines; where they differ by
# more than their usual width of about 1e-9, they are not those of the same rows.
MARGIN_TOLERANCE = 1e-6
# Other facts follow from protocol and rows up to the last digits; p-values are as near as margins, in their logarithm.
_FACT_TOLERANCE = 1e-12
_LEAST_P = 1e-300
_MISSING = object()


def differences(stored: Any, derived: Any, path: str, source: str, *, rounds: bool = False) -> Iterator[str]:  # noqa: ANN401
    """A sentence for each entry that is not the derived one, with its path.

    source: what the derived value comes from, in words.  rounds: numbers may differ by what another machine rounds.
    """
    if type(stored) is type(derived) is dict:
        for name in dict.fromkeys([*stored, *derived]):
            entries = stored.get(name, _MISSING), derived.get(name, _MISSING)
            yield from differences(*entries, f"{path}.{name}" if path else name, source, rounds=rounds)
    elif type(stored) is type(derived) is list:
        for number, entries in enumerate(zip_longest(stored, derived, fillvalue=_MISSING)):
            yield from differences(*entries, f"{path}[{number}]", source, rounds=rounds)
    elif derived is _MISSING:
        yield f"{path}: the report says {told(stored)}, but {source} nothing"
    elif stored is _MISSING:
        yield f"{path}: the report says nothing, but {source} {told(derived)}"
    elif (type(stored) is not type(derived) or stored != derived) and not (
        rounds and _is_near(stored, derived, is_p="p" in path.replace("[", ".").split("."))
    ):
        yield f"{path}: the report says {told(stored)}, but {source} {told(derived)}"


def _is_near(mine: object, other: object, *, is_p: bool) -> bool:
    """True if rounding may lie between two numbers.

    Of p-values the logarithm is compared, as that of a margin is: they are shares of draws, or tails and evidence whose
    exponent is known to so many digits.  One draw more or less is refused, as it is where it changes a margin: it would
    have to lie within rounding of the rows.
    """
    if type(mine) is not float or type(other) is not float:
        return False
    if is_p and min(mine, other) >= 0.0:
        mine, other = (log(max(p, _LEAST_P)) for p in (mine, other))
        return abs(mine - other) <= MARGIN_TOLERANCE * (1.0 + abs(other))
    return abs(mine - other) <= _FACT_TOLERANCE * max(abs(other), 1.0)


Made = TypeVar("Made")


def read_back(what: str, stored: Node, read: Callable[[Any], Made]) -> Made:
    """Return what is read from a stored value, if that writes the same value again; refuse it otherwise.

    This finds names that are missing or added, and values of another type: no form of its own is needed.
    """
    try:
        made = read(stored)
        check_written(what, stored, cast(Any, made).encode(), "")
    except (KeyError, TypeError, AttributeError) as error:
        raise MisuseError(what, "be as a run writes it", f"{type(error).__name__}: {error}") from None
    return made


def check_written(what: str, stored: Node, again: dict[str, object], path: str) -> None:
    """Raise if an object is written otherwise than a run writes it: what decides nothing is shown to readers, too.

    again: what the object that was made of the stored value writes.
    """
    for difference in differences(stored, described(what, again), path, "a run writes"):
        raise MisuseError(what, "be as a run writes it", difference)
