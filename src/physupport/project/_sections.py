"""The base of all tables of a project file: strict types, known keys only, numbers in three spellings, files."""

import sys
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from inspect import signature
from pathlib import Path
from typing import Annotated, Any, ClassVar, get_type_hints

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    create_model,
    model_validator,
)
from pydantic_core import PydanticCustomError

from .._errors import Clause, shown
from .._typing import Array, Count, LineTable, Positive
from ..io import SPECTRA_ENDINGS
from ..responses import RESPONSES

# The most values a range may have: more are a slip of the keyboard, and every one multiplies the bank.
_MOST_VALUES = 10_000
# Of each part of a path, in bytes: what common file systems allow.
_LONGEST_NAME = 255


def broken(rule: str, value: object, remedy: str = "", key: str = "") -> PydanticCustomError:
    """Make the error for a broken rule, as a `MisuseError` words it; key: within the table that is checked."""
    return PydanticCustomError("rule", "{rule}", {"rule": rule, "value": value, "remedy": remedy, "key": key})


def needed(key: str) -> PydanticCustomError:
    """Make the error for a required key, within the table that is checked."""
    return PydanticCustomError("needed", "required", {"key": key})


def nearest(word: str, known: Iterable[str]) -> str:
    """Suggest the nearest known word for a misspelt one; empty if none is near."""
    near = get_close_matches(word, [*known], 1)
    return f"Did you mean {near[0]}?" if near else ""


def told_as(rule: str) -> WrapValidator:
    """Make a validator that reports every fault of a type in the same words."""

    def validate(value: object, inner: ValidatorFunctionWrapHandler) -> object:
        try:
            return inner(value)
        except ValidationError:
            raise broken(rule, shown(value)) from None

    return WrapValidator(validate)


def known_name(names: Callable[[], Iterable[str]], rule: str = "be {}", joint: str = " or ") -> BeforeValidator:
    """Make a validator of names in a registry, which is read only when a file is checked."""

    def validate(value: object) -> object:
        known = [*names()]
        if value not in known:
            told = map(repr, known) if joint == " or " else known
            raise broken(rule.format(joint.join(told)), shown(value))
        return value

    return BeforeValidator(validate)


def distinct(what: str) -> AfterValidator:
    """Make a validator that refuses a list with equal entries; a single word is not a list."""

    def validate(entries: Any) -> Any:  # noqa: ANN401
        if not isinstance(entries, str) and len({*entries}) < len(entries):
            raise broken(f"hold each {what} once", shown([*entries]))
        return entries

    return AfterValidator(validate)


def some_of(*keys: str, least: int = 1, most: int = 1) -> Any:  # noqa: ANN401  a validator of pydantic
    """Make a validator of tables that have between `least` and `most` of these keys, one unless given."""

    def check(table: "Section") -> "Section":
        values = {field.alias or name: getattr(table, name) for name, field in type(table).model_fields.items()}
        present = [key for key in keys if values[key] is not None and values[key] is not False]
        if not least <= len(present) <= most:
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
        for key in table_in(data):
            if key not in known:
                raise broken(f"have no other keys than {', '.join(known)}", key, nearest(key, known))
        return data


def table_in(file: object, *keys: str) -> dict[str, Any]:
    """The table at these keys of a file that is not checked yet; empty where there is none."""
    for key in keys:
        file = table_in(file).get(key)
    return file if isinstance(file, dict) else {}


def as_values(value: object, others: Iterable[str] = ()) -> tuple[float, ...]:
    """A number, a list of numbers, or {from, to, count}: all become the list.

    others: keys of tables that may stand in their place, for who misspells one of these.
    """
    match value:
        case dict():
            return _spread(value, others)
        case []:
            raise broken("hold at least one number", Clause("there is none"))
        case list() | tuple():
            return tuple(map(_number, value))
    return (_number(value),)


def _number(entry: Any) -> float:  # noqa: ANN401
    if type(entry) not in (int, float) or not abs(entry) < float("inf"):
        raise broken("be a number, a list of numbers, or { from, to, count }", shown(entry))
    # Python compares whole numbers with floats without rounding.
    if abs(entry) > sys.float_info.max or float(entry) != entry:
        raise broken("be a number that float64 holds exactly", shown(entry))
    return float(entry)


def _spread(table: dict[str, Any], others: Iterable[str]) -> tuple[float, ...]:
    """Equally many steps from one end to the other, both included."""
    keys = ("from", "to", "count")
    if {*table} != {*keys}:
        stray = next((key for key in table if key not in keys), None)
        remedy = "" if stray is None else nearest(stray, (*keys, *others))
        raise broken("have the keys from, to and count", ", ".join(map(str, table)) or "none", remedy)
    for key in ("from", "to"):
        if type(table[key]) in (list, dict):
            raise broken(f"have a number as {key}", shown(table[key]))
    first, last = (_number(table[key]) for key in ("from", "to"))
    count = table["count"]
    if type(count) is not int or not 2 <= count <= _MOST_VALUES:
        raise broken(f"have a whole count between 2 and {_MOST_VALUES}", shown(count))
    return tuple(first + (last - first) * i / (count - 1) for i in range(count))


def checked_values(
    value: object,
    others: Iterable[str] = (),
    *,
    above: float = -float("inf"),
    least: float = -float("inf"),
    below: float = float("inf"),
    most: int = _MOST_VALUES,
) -> tuple[float, ...]:
    """Distinct numbers within bounds, in one of their spellings; others: as in `as_values`; most: how many."""
    values = as_values(value, others)
    for number in values:
        if not (above < number < below and number >= least):
            rule = (
                "be 0 or more"
                if number < least
                else f"be above {above:g}"
                if number <= above
                else f"be below {below:g}"
            )
            raise broken(rule, f"{number:g}")
    if len({*values}) < len(values):
        raise broken("hold each number once", ", ".join(f"{number:g}" for number in values))
    if len(values) > most:
        raise broken(f"hold at most {most} numbers", len(values))
    return values


Values = Annotated[tuple[float, ...], PlainValidator(as_values)]
Grid = Annotated[tuple[float, ...], PlainValidator(checked_values)]


def checked_ends(value: Any, *, above: float = -float("inf")) -> tuple[float, float]:  # noqa: ANN401
    """Two numbers, the lower one first."""
    match value:
        case [*ends] if len(ends) == 2:
            pass
        case _:
            raise broken("be [low, high]", shown(value))
    if not all(type(end) in (int, float) and abs(end) < float("inf") for end in ends):
        raise broken("be [low, high], two numbers that are finite", shown(value))
    low, high = as_values(ends)
    if not low < high:
        raise broken("be [low, high] with low below high", shown(value))
    if not low > above:
        raise broken(f"be above {above:g}", f"{low:g}")
    return low, high


Ends = Annotated[tuple[float, float], PlainValidator(checked_ends)]


def _windows(value: object) -> tuple[tuple[float, float], ...]:
    """One [low, high], or a list of these."""
    match value:
        case [[*_], *_]:
            return tuple(map(checked_ends, value))
    return (checked_ends(value),)


Windows = Annotated[tuple[tuple[float, float], ...], PlainValidator(_windows)]


def _nameable(name: str) -> str:
    """A name that a file may have; others would be met by a fault of the operating system in the middle of a run."""
    if "\0" in name:
        raise broken("be the name of a file, without the character NUL", ascii(name))
    if any(len(part.encode("utf-8", "replace")) > _LONGEST_NAME for part in name.replace("\\", "/").split("/")):
        raise broken(f"have at most {_LONGEST_NAME} bytes in each part of the path", f"{name[:40]}... in {len(name)}")
    return name


Text = Annotated[str, Field(min_length=1)]
# Options by name, of a law or a judge that brings options of its own.
Options = dict[Text, bool | int | float | str | list[float]]
FileName = Annotated[Text, AfterValidator(_nameable)]


class File(Section):
    """A file, which of its arrays where it holds several, and whether its first line is a header."""

    file: FileName
    member: Text | None = None
    header: bool | None = None


def as_file(value: object) -> object:
    """The table of a file that is given by its name alone; anything else as it is."""
    return {"file": value} if isinstance(value, str) else value


FileSpec = Annotated[File, BeforeValidator(as_file)]


def _listed(value: object) -> object:
    """The list of one; a list as it is."""
    match value:
        case list() | tuple():
            return value
    return [value]


class SpectraFiles(Section):
    """A library with a spectrum for each element: files, folders and patterns; brought to the axis of the signal."""

    spectra: Annotated[
        Annotated[tuple[FileName, ...], Field(strict=False, min_length=1)],
        BeforeValidator(_listed),
    ]


def _is_of_spectra(name: object) -> bool:
    """True for a folder, a pattern, and a file of a type that holds spectra and their places on the axis."""
    return isinstance(name, str) and (Path(name).suffix.lower() in (*SPECTRA_ENDINGS, "") or "*" in name)


def _variants(value: object) -> object:
    """One file; several, in a list, are variants; spectra in files of their own are elements."""
    match value:
        case SpectraFiles() | {"spectra": _}:
            return SpectraFiles.model_validate(value)
        case [*files]:
            pass
        case _:
            files = [value]
    if files and all(map(_is_of_spectra, files)):
        return SpectraFiles.model_validate({"spectra": value})
    if len(files) < 2 and files == value:
        raise broken("be one file, or a list of two or more", shown(value))
    return tuple(File.model_validate(as_file(file)) for file in files)


VariantFiles = Annotated[tuple[File, ...] | SpectraFiles, PlainValidator(_variants)]


class FunctionResponse(Section):
    """A function of the user's own, `module:function`."""

    function: Annotated[str, Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")]


class RegisteredResponse(Section):
    """A response of a registered kind; its parameters are further keys."""

    kind: str
    function: ClassVar[str | None] = None


def _numbers(entry: object) -> "tuple[float, ...] | File":
    """Numbers, in one of their spellings, or the name of a file that holds them."""
    match entry:
        case str() | {"file": _}:
            return File.model_validate(as_file(entry))
    return as_values(entry)


# How a project file spells what a response takes.
_FORMS: dict[object, object] = {
    Array: Annotated[tuple[float, ...] | File, PlainValidator(_numbers)],
    Positive: Annotated[float, Field(gt=0.0)],
    Count: Annotated[int, Field(ge=1)],
    LineTable: FileSpec,
}


def takes_lines(kind: str, parameter: str) -> bool:
    """True if a parameter of a response is a file of lines, by the names of elements."""
    return bool(get_type_hints(RESPONSES[kind], include_extras=True)[parameter] == LineTable)


def response_section(kind: str) -> type[RegisteredResponse]:
    """The keys of a response, which are the parameters of what its kind makes."""
    make = RESPONSES[kind]
    types = get_type_hints(make, include_extras=True)
    fields: dict[str, Any] = {
        name: (_FORMS.get(types[name], types[name]), ... if parameter.default is parameter.empty else parameter.default)
        for name, parameter in signature(make).parameters.items()
    }
    return create_model(kind, __base__=RegisteredResponse, **fields)


def _response(entry: Any) -> FunctionResponse | RegisteredResponse:  # noqa: ANN401
    match entry:
        case {"function": _}:
            return FunctionResponse.model_validate(entry)
        case {"kind": str(kind)} if kind in RESPONSES:
            return response_section(kind).model_validate(entry)
        case dict():
            rule = f"have a kind among {', '.join(sorted(RESPONSES))}, or a function"
            raise broken(rule, shown(entry.get("kind")))
    return RegisteredResponse.model_validate(entry)


ResponseSpec = Annotated[FunctionResponse | RegisteredResponse, PlainValidator(_response)]
