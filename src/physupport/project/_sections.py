"""The base of all tables of a project file: strict types, known keys only, numbers in three spellings."""

import sys
from collections.abc import Mapping
from difflib import get_close_matches
from inspect import signature
from typing import Annotated, Any, TypeAlias, get_type_hints

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    InstanceOf,
    create_model,
    model_validator,
)
from pydantic_core import PydanticCustomError

from .._errors import shown
from .._typing import Array, Count, Positive
from ..responses import RESPONSES

# The most values a range may have: more are a slip of the keyboard, and every one multiplies the bank.
MOST_VALUES = 10_000
_FEW = 100  # each is a judgement of its own


def broken(rule: str, value: object, remedy: str = "", key: str = "") -> PydanticCustomError:
    """A rule of our own that a key breaks, in the words of a `MisuseError`; key: within the table that is checked."""
    return PydanticCustomError("rule", "{rule}", {"rule": rule, "value": str(value), "remedy": remedy, "key": key})


def needed(key: str) -> PydanticCustomError:
    """A key that is required here, within the table that is checked."""
    return PydanticCustomError("needed", "required", {"key": key})


def one_of(*keys: str, least: int = 1) -> Any:  # noqa: ANN401  a validator of pydantic
    """For a table that has exactly one of these keys, or with least = 0 at most one."""

    def check(table: "Section") -> "Section":
        values = {field.alias or name: getattr(table, name) for name, field in type(table).model_fields.items()}
        present = [key for key in keys if values[key] is not None and values[key] is not False]
        if not least <= len(present) <= 1:
            rule = f"have {'one' if least else 'at most one'} of the keys {', '.join(keys[:-1])} and {keys[-1]}"
            raise broken(rule, " and ".join(present) or ("none" if len(keys) > 2 else "neither"))
        return table

    return model_validator(mode="after")(check)


class Section(BaseModel):
    """One table of the file; a key that it does not know is refused, with the nearest that it does."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, data: object) -> object:
        known = [field.alias or name for name, field in cls.model_fields.items()]
        for key in data if isinstance(data, dict) else ():
            if key not in known:
                near = get_close_matches(key, known, 1)
                remedy = f"Did you mean {near[0]}?" if near else ""
                raise broken(f"have no other keys than {', '.join(known)}", key, remedy)
        return data


def as_values(value: object, others: tuple[str, ...] = ()) -> tuple[float, ...]:
    """A number, a list of numbers, or {from, to, count}: all become the list.

    others: keys of tables that may stand in their place, for who misspells one of these.
    """
    if isinstance(value, dict):
        return _spread(value, others)
    entries = value if isinstance(value, list | tuple) else [value]
    if not entries:
        raise broken("hold at least one number", "none")
    return tuple(_number(entry) for entry in entries)


def _number(entry: object) -> float:
    if not isinstance(entry, int | float) or not _is_finite(entry):
        raise broken("be a number, a list of numbers, or { from, to, count }", shown(entry))
    # Python compares whole numbers with floats without rounding.
    if abs(entry) > sys.float_info.max or float(entry) != entry:
        raise broken("be a number that float64 holds exactly", shown(entry))
    return float(entry)


def _is_finite(entry: object) -> bool:
    return isinstance(entry, int | float) and not isinstance(entry, bool) and abs(entry) < float("inf")


def _spread(table: dict[str, Any], others: tuple[str, ...]) -> tuple[float, ...]:
    """Equally many steps from one end to the other, both included."""
    keys = ("from", "to", "count")
    if {*table} != {*keys}:
        stray = [key for key in table if key not in keys]
        near = get_close_matches(stray[0], [*keys, *others], 1) if stray else []
        remedy = f"Did you mean {near[0]}?" if near else ""
        raise broken("have the keys from, to and count", ", ".join(map(str, table)) or "none", remedy)
    for key in ("from", "to"):
        if isinstance(table[key], list | dict):
            raise broken(f"have a number as {key}", shown(table[key]))
    first, last = (_number(table[key]) for key in ("from", "to"))
    count = table["count"]
    if isinstance(count, bool) or not isinstance(count, int) or not 2 <= count <= MOST_VALUES:
        raise broken(f"have a whole count between 2 and {MOST_VALUES}", shown(count))
    return tuple(first + (last - first) * i / (count - 1) for i in range(count))


def _positive(values: tuple[float, ...]) -> tuple[float, ...]:
    for value in values:
        if not value > 0.0:
            raise broken("be above 0", f"{value:g}")
    return values


def _not_negative(values: tuple[float, ...]) -> tuple[float, ...]:
    for value in values:
        if value < 0.0:
            raise broken("be 0 or more", f"{value:g}")
    return values


def _distinct(values: tuple[float, ...]) -> tuple[float, ...]:
    if len({*values}) < len(values):
        raise broken("hold each number once", ", ".join(f"{value:g}" for value in values))
    return values


def _few(values: tuple[float, ...]) -> tuple[float, ...]:
    if len(values) > _FEW:
        raise broken(f"hold at most {_FEW} numbers", len(values))
    return values


def _below_one(values: tuple[float, ...]) -> tuple[float, ...]:
    for value in values:
        if not value < 1.0:
            raise broken("be below 1", f"{value:g}")
    return values


def _ends(value: object) -> object:
    """Two numbers, the lower one first."""
    if not isinstance(value, list) or len(value) != 2:
        raise broken("be [low, high]", shown(value))
    if not all(map(_is_finite, value)):
        raise broken("be [low, high], two numbers that are finite", shown(value))
    low, high = as_values(value)
    if not low < high:
        raise broken("be [low, high] with low below high", shown(value))
    return low, high


Ends = Annotated[tuple[float, float], BeforeValidator(_ends)]


class Between(Section):
    """A number above 0 that may lie anywhere between two, of which a cover makes cells."""

    between: Annotated[Ends, AfterValidator(_positive)]


def _checked(*checks: Any) -> BeforeValidator:  # noqa: ANN401
    def validate(value: object) -> tuple[float, ...]:
        values = as_values(value)
        for check in checks:
            values = check(values)
        return values

    return BeforeValidator(validate)


def variances(value: object, others: tuple[str, ...] = ()) -> tuple[float, ...]:
    """Distinct numbers above 0, in one of their spellings; others: as in `as_values`."""
    return _distinct(_positive(as_values(value, others)))


Values = Annotated[tuple[float, ...], _checked()]
Grid = Annotated[tuple[float, ...], _checked(_distinct)]
Deviations = Annotated[tuple[float, ...], _checked(_not_negative, _distinct, _few)]
Probabilities = Annotated[tuple[float, ...], _checked(_positive, _below_one, _distinct)]


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
    """A file, which of its arrays where it holds several, and whether its first line is a header."""

    file: FileName
    member: Annotated[str, Field(min_length=1)] | None = None
    header: bool | None = None


def _as_file(value: object) -> object:
    return {"file": value} if isinstance(value, str) else value


FileSpec = Annotated[File, BeforeValidator(_as_file)]


def _variants(value: object) -> object:
    """One file as it is; several, in a list, are variants."""
    if not isinstance(value, list):
        return File.model_validate(_as_file(value))
    if len(value) < 2:
        raise broken("be one file, or a list of two or more", shown(value))
    return tuple(File.model_validate(_as_file(file)) for file in value)


VariantFiles = Annotated[InstanceOf[File] | tuple[InstanceOf[File], ...], BeforeValidator(_variants)]


class FunctionResponse(Section):
    """A function of the user's own, `module:function`."""

    function: Annotated[str, Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")]


class RegisteredResponse(Section):
    """A response of a registered kind; its parameters are further keys."""

    kind: str


def _response(entry: object) -> Section:
    """The table of a response, checked by the parameters of what its kind makes."""
    if isinstance(entry, dict) and "function" in entry:
        return FunctionResponse.model_validate(entry)
    if not isinstance(entry, dict):
        return RegisteredResponse.model_validate(entry)
    kind = entry.get("kind")
    if not isinstance(kind, str) or kind not in RESPONSES:
        raise broken(f"have a kind among {', '.join(sorted(RESPONSES))}, or a function", shown(kind))
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
