"""The tables of a project file about the question: regions and their groups, claims, supports and a resolution."""

from functools import partial
from math import inf
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BeforeValidator, Field, PlainValidator, model_validator

from .._errors import shown
from ._element_sections import Above, NotNegative
from ._sections import (
    Ends,
    Section,
    Text,
    broken,
    checked_ends,
    distinct,
    needed,
    some_of,
    table_in,
    told_as,
)
from ._streams import UNKNOWN, Amount, amount_of

# Tables within tables: more would exhaust the interpreter, and nobody asks for it.
_MOST_NESTED = 100


def _checked_groups(value: object, depth: int = 1) -> object:
    """Named lists of ids, nested to any depth."""
    if value != table_in(value):
        raise broken("be a table of named groups", shown(value))
    if depth > _MOST_NESTED:
        raise broken(f"be nested at most {_MOST_NESTED} deep", "more")
    for name, content in table_in(value).items():
        match content:
            case str() if depth == 1 and [*table_in(value)] == ["column"]:
                pass  # of the element list, whose cells name the groups
            case dict():
                _checked_groups(content, depth + 1)
            case [_, *_] if all(isinstance(member, str) for member in content):
                if len({*content}) < len(content):
                    raise broken("hold each element of a group once", f"{name} = {shown(content)}")
            case _:
                raise broken("be lists of element ids, or tables of such lists", f"{name} = {shown(content)}")
    return value


Ask: TypeAlias = Literal["fine", "group", "presence", "absence", "ambiguity"]
_ASK = told_as("be 'finest', 'nothing', or a list of fine, group, presence, absence, ambiguity")
COEFFICIENTS = {"free": (-inf, inf), ">= 0": (0.0, inf)}


def _coefficient(value: Any) -> tuple[float, float]:  # noqa: ANN401
    """The bounds of a coefficient."""
    return COEFFICIENTS.get(str(value)) or checked_ends(value)


def _count(value: Any) -> tuple[int, int]:  # noqa: ANN401
    """The most elements at once, or [least, most]."""
    match value:
        case [low, high]:
            pass
        case _:
            low, high = 1, value
    if not type(low) is type(high) is int or not 1 <= low <= high:
        raise ValueError
    return low, high


_STRENGTH = f"be '{UNKNOWN}', a number, a list of numbers, or {{ from, to, count }}"
_COEFFICIENT = told_as("be 'free', '>= 0', or [low, high] with low below high")


class Region(Section):
    """A region: what may be active there, and what is asked about it."""

    strength: Annotated[Amount, PlainValidator(partial(amount_of, kind=Amount, rule=_STRENGTH))] | None = None
    """numbers above 0, table or text: variance of the coefficient (`covariance`), or the coefficient (`mean`); required
    there. With [`cover`](#cover) also `{ between = [low, high] }`.
    [`"unknown"`](evidence.md#random-sources-of-unknown-strength) in all regions leaves them open, and `noise` may then
    be `"unknown"`, too
    """
    coefficient: Annotated[tuple[float, float], PlainValidator(_coefficient), _COEFFICIENT] | None = None
    """text or two numbers: with `gaussian`, `free` (default), `">= 0"`, or `[low, high]`, for responses of norm 1; with
    `poisson` only `">= 0"`, which holds anyway
    """
    count: Annotated[
        tuple[int, int],
        PlainValidator(_count),
        told_as("be a whole number from 1 on, or [least, most]"),
        Field(validate_default=True),
    ] = 1  # type: ignore[assignment]  # one or [1, 1] alike
    """whole number, or two: how many of its elements may be present at once, `2` is one or two, `[1, 3]` one to three,
    as unordered sets. `tolerance` is then the Hausdorff distance of sets, and a group holds every set of its elements.
    Not with calibration rows
    """
    presence: Literal["always", "optional"] = "always"
    """text: `always`, or `optional`: the region may be silent"""
    tolerance: NotNegative = 0.0
    """number: places within this distance count as one"""
    groups: Annotated[dict[str, Any] | None, BeforeValidator(_checked_groups)] = None
    """table: named lists of ids, or tables of such lists; or `{ column = "class" }`, a group for every text in this
    column of the element list, unless it holds one element or all
    """
    ask: Annotated[
        Literal["finest", "nothing"] | Annotated[tuple[Ask, ...], Field(strict=False, min_length=1)],
        _ASK,
        distinct("entry"),
    ] = "finest"
    """text or list: `nothing` omits the region from the report. A list of `fine`, `group`, `presence`, `absence`,
    `ambiguity` accepts the first of these labels; `absence` alone needs a region that may be absent
    """
    absence_threshold: Above | None = None
    """number above 0: ABSENT then means that nothing as strong as this is there; at most the largest strength. With
    `gaussian`, no absolute coefficient of a response of norm 1 reaches it
    """
    box: Annotated[dict[Text, Ends], Field(min_length=1)] | None = None
    """table: with `resolution`, instead of a list of elements: `{ x = [0, 5], y = [0, 4] }`, everywhere that something
    may lie. The elements are [cells](cells.md#between-the-places-of-a-grid) of it
    """
    resolution: Above | None = None
    """number above 0: the largest side of these cells"""

    @model_validator(mode="after")
    def _box_with_resolution(self) -> "Region":
        if (self.box is None) != (self.resolution is None):
            raise needed("resolution" if self.resolution is None else "box")
        return self

    @property
    def marks(self) -> tuple[float, ...]:
        """Strengths; of coefficients that are open, marks of what is active, and of what reaches the threshold."""
        if self.strength is not None:
            return self.strength.values or (1.0,)
        threshold = self.absence_threshold
        return (1.0,) if threshold is None else (0.5 * threshold, threshold)


# The table of this name says what holds of every region of the element list that has no table of its own.
EVERY: Final = "*"


class ClaimSpec(Section):
    """True if any, all or exactly one of several elements or groups is there."""

    any: list[Text] | None = None
    """list of texts: at least one of these is there"""
    all: list[Text] | None = None
    """list of texts: all of them are there"""
    exactly_one: list[Text] | None = None
    """list of texts: one of them is there, and no other of them"""

    _one_kind = some_of("any", "all", "exactly_one")


class AskedResolution(Section):
    """How far apart the places of a region are that the data leave possible, asked in the place of a map."""

    region: Text | None = None
    """text: the region in question, which must always be present; optional if there is only one"""
    fine: NotNegative
    """number: the largest diameter that is still FINE"""
    group: NotNegative
    """number: the largest diameter that is still a GROUP; at least `fine`"""

    @model_validator(mode="after")
    def _in_order(self) -> "AskedResolution":
        if self.fine > self.group:
            raise broken("have a key fine that is at most group", f"{self.fine!r} and {self.group!r}")
        return self


class Supports(Section):
    """Which regions may be active together."""

    max_active: Annotated[int, Field(ge=0)] | None = None
    """whole number: largest number of regions active at once"""
    choices: Annotated[list[list[Text]], Field(min_length=1)] | None = Field(default=None, alias="list")
    """list of lists: the combinations themselves, such as `[["A", "B"], ["A", "B", "C"]]`. They must agree with the
    keys `presence`
    """
    leave_one_out: bool = False
    """true or false: all regions together, and all but each optional one, in one test each: [which of many are
    certain](counts.md#which-elements-are-certain). With `poisson`, or `gaussian` and `judge = "evidence"`
    """

    _one_rule = some_of("max_active", "list", "leave_one_out", least=0)
