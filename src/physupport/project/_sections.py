"""What the tables of a project file have in common: strict types, known keys only, numbers in three spellings."""

from difflib import get_close_matches
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator
from pydantic_core import PydanticCustomError

# The most values a range may have: more are a slip of the keyboard, and every one multiplies the bank.
MOST_VALUES = 10_000


def broken(rule: str, value: object, remedy: str = "") -> PydanticCustomError:
    """A rule of our own that a key breaks, in the words of a `MisuseError`."""
    return PydanticCustomError("rule", "{rule}", {"rule": rule, "value": str(value), "remedy": remedy})


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


def as_values(given: object) -> tuple[float, ...]:
    """A number, a list of numbers, or {from, to, count}: all become the list."""
    if isinstance(given, dict):
        return _spread(given)
    entries = given if isinstance(given, list | tuple) else [given]
    if not entries:
        raise broken("hold at least one number", "none")
    return tuple(_number(entry) for entry in entries)


def _number(entry: object) -> float:
    if isinstance(entry, bool) or not isinstance(entry, int | float) or not abs(entry) < float("inf"):
        raise broken("be a number, a list of numbers, or { from, to, count }", repr(entry))
    return float(entry)


def _spread(given: dict[str, Any]) -> tuple[float, ...]:
    """Equally many steps from one end to the other, both included."""
    if {*given} != {"from", "to", "count"}:
        raise broken("have the keys from, to and count", ", ".join(map(str, given)) or "none")
    for key in ("from", "to"):
        if isinstance(given[key], list | dict):
            raise broken(f"have a number as {key}", repr(given[key]))
    first, last = (_number(given[key]) for key in ("from", "to"))
    count = given["count"]
    if isinstance(count, bool) or not isinstance(count, int) or not 2 <= count <= MOST_VALUES:
        raise broken(f"have a whole count between 2 and {MOST_VALUES}", repr(count))
    return tuple(first + (last - first) * i / (count - 1) for i in range(count))


def _positive(values: tuple[float, ...]) -> tuple[float, ...]:
    for value in values:
        if not value > 0.0:
            raise broken("be above 0", f"{value:g}")
    return values


def _distinct(values: tuple[float, ...]) -> tuple[float, ...]:
    if len({*values}) < len(values):
        raise broken("hold each number once", ", ".join(f"{value:g}" for value in values))
    return values


def _below_one(values: tuple[float, ...]) -> tuple[float, ...]:
    for value in values:
        if not value < 1.0:
            raise broken("be below 1", f"{value:g}")
    return values


def _checked(*checks: Any) -> BeforeValidator:  # noqa: ANN401
    def validate(given: object) -> tuple[float, ...]:
        values = as_values(given)
        for check in checks:
            values = check(values)
        return values

    return BeforeValidator(validate)


Values = Annotated[tuple[float, ...], _checked()]
Grid = Annotated[tuple[float, ...], _checked(_distinct)]
Variances = Annotated[tuple[float, ...], _checked(_positive, _distinct)]
Probabilities = Annotated[tuple[float, ...], _checked(_positive, _below_one, _distinct)]
