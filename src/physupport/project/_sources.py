"""How a project file names what lies elsewhere: files, members of files, responses."""

from collections.abc import Mapping
from inspect import signature
from typing import Annotated, Any, TypeAlias, get_type_hints

from pydantic import AfterValidator, BeforeValidator, Field, InstanceOf, create_model

from .._typing import Array, Count, Positive
from ..responses import RESPONSES
from ._sections import Section, as_values, broken

# Of each part of a path, in bytes: what common file systems allow.
_LONGEST_NAME = 255


def _nameable(name: str) -> str:
    """A name that a file may have; others would be met by a fault of the operating system in the middle of a run."""
    if "\0" in name:
        raise broken("be the name of a file, without the character NUL", ascii(name))
    if any(len(part.encode("utf-8", "replace")) > _LONGEST_NAME for part in name.replace("\\", "/").split("/")):
        raise broken(f"have at most {_LONGEST_NAME} bytes in each part of the path", f"{name[:40]}... in {len(name)}")
    return name


FileName = Annotated[str, Field(min_length=1), AfterValidator(_nameable)]


class File(Section):
    """A file, and which of its arrays where it holds several."""

    file: FileName
    member: Annotated[str, Field(min_length=1)] | None = None


def _as_file(given: object) -> object:
    return {"file": given} if isinstance(given, str) else given


FileSpec = Annotated[File, BeforeValidator(_as_file)]


class FunctionResponse(Section):
    """A function of the user's own, `module:function`."""

    function: Annotated[str, Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")]


class RegisteredResponse(Section):
    """What every response of a kind has; its parameters are further keys."""

    kind: str


def _response(entry: object) -> Section:
    """The table of a response, checked by the parameters of what its kind makes."""
    if isinstance(entry, dict) and "function" in entry:
        return FunctionResponse.model_validate(entry)
    if not isinstance(entry, dict):
        return RegisteredResponse.model_validate(entry)
    kind = entry.get("kind")
    if kind not in RESPONSES:
        raise broken(f"have a kind among {', '.join(sorted(RESPONSES))}, or a function", repr(kind))
    return _section(kind).model_validate(entry)


def _section(kind: str) -> type[RegisteredResponse]:
    make = RESPONSES[kind]
    types = get_type_hints(make, include_extras=True)
    fields: dict[str, Any] = {
        name: (_FORMS.get(types[name], types[name]), ... if parameter.default is parameter.empty else parameter.default)
        for name, parameter in signature(make).parameters.items()
    }
    return create_model(kind, __base__=RegisteredResponse, **fields)


def _numbers(entry: object) -> "tuple[float, ...] | File":
    """Numbers, in one of their spellings, or the name of a file that holds them."""
    is_file = isinstance(entry, str) or (isinstance(entry, dict) and "file" in entry)
    return File.model_validate(_as_file(entry)) if is_file else as_values(entry)


# How a project file spells what a response takes.
_FORMS: Mapping[object, object] = {
    Array: Annotated[tuple[float, ...] | File, BeforeValidator(_numbers)],
    Positive: Annotated[float, Field(gt=0.0)],
    Count: Annotated[int, Field(ge=1)],
}
ResponseSpec: TypeAlias = Annotated[InstanceOf[Section], BeforeValidator(_response)]
