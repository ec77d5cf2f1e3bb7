"""Stored values read strictly by pydantic: anything that could be read in two ways is refused."""

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any

from pydantic import ConfigDict, Field, InstanceOf, TypeAdapter, ValidationError, ValidatorFunctionWrapHandler
from pydantic.functional_validators import WrapValidator
from pydantic_core import PydanticCustomError
from typing_extensions import TypedDict

from ._codec import told
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
