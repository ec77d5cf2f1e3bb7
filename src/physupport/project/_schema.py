"""The project file: every key that it may have, its type and its rule."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, InstanceOf, model_validator

from .._errors import shown
from ..aeb import Stop
from ..analysis import PolicyName
from ..judges import JUDGES
from ._element_sections import CoverSpec, Elements, Parameters
from ._sections import (
    Between,
    FileName,
    FileSpec,
    Section,
    as_values,
    broken,
    needed,
    one_of,
    variances,
)
from ._streams import UNKNOWN, Data, Share, Text, check_of_law, lacks_proposal, with_open_strengths


def _budget(value: object) -> object:
    """A whole number counts queries, a decimal one is a share: 1 is one query, 1.0 is all of them."""
    is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    if not is_count and not (isinstance(value, float) and 0.0 <= value <= 1.0):
        raise broken("be a whole number of queries, or a share between 0.0 and 1.0", shown(value))
    return value


ASKS = ("fine", "group", "presence", "absence", "ambiguity")


def _judge(value: object) -> object:
    if not isinstance(value, str) or value not in JUDGES:
        raise broken(f"be {' or '.join(map(repr, JUDGES))}", shown(value))
    return value


def _ask(value: object) -> object:
    if value in ("finest", "nothing"):
        return value
    if isinstance(value, list) and value and all(label in ASKS for label in value):
        if len({*value}) < len(value):
            raise broken("hold each entry once", shown(value))
        return tuple(value)
    raise broken(f"be 'finest', 'nothing', or a list of {', '.join(ASKS)}", shown(value))


# A seed is written into every report, as a number that any program reads.
_MOST_SEED = 2**128 - 1


def _seed(value: int) -> int:
    if value > _MOST_SEED:
        raise broken("be below 2^128", shown(value))
    return value


Budget = Annotated[int | float, BeforeValidator(_budget)]


Ask: TypeAlias = Literal["fine", "group", "presence", "absence", "ambiguity"]


# Tables within tables: more would exhaust the interpreter, and nobody asks for it.
_MOST_NESTED = 100


def _checked_groups(value: object, depth: int = 1) -> object:
    """Named lists of ids, nested to any depth."""
    if not isinstance(value, dict):
        raise broken("be a table of named groups", shown(value))
    if depth > _MOST_NESTED:
        raise broken(f"be nested at most {_MOST_NESTED} deep", "more")
    for name, content in value.items():
        if isinstance(content, dict):
            _checked_groups(content, depth + 1)
        elif not isinstance(content, list) or not content or not all(isinstance(member, str) for member in content):
            raise broken("be lists of element ids, or tables of such lists", f"{name} = {shown(content)}")
        elif len({*content}) < len(content):
            raise broken("hold each element of a group once", f"{name} = {shown(content)}")
    return value


def _coefficient(value: object) -> object:
    if value in ("free", ">= 0"):
        return value
    if isinstance(value, list) and len(value) == 2:
        low, high = as_values(value)
        if low < high:
            return low, high
    raise broken("be 'free', '>= 0', or [low, high] with low below high", shown(value))


Coefficient = Annotated[Literal["free", ">= 0"] | tuple[float, float], BeforeValidator(_coefficient)]


class Background(Section):
    """Columns that are always there and never asked about."""

    polynomial: Annotated[int, Field(ge=0, le=50)] | None = None
    splines: Annotated[int, Field(ge=4, le=1000)] | None = None
    atoms: FileSpec | None = None
    reference: bool = False

    @model_validator(mode="after")
    def _something(self) -> "Background":
        if self.polynomial is None and self.splines is None and self.atoms is None and not self.reference:
            raise broken("have one of the keys polynomial, splines, atoms and reference", "none")
        return self


class OutsiderSpec(Section):
    """The scan for something that is not in the bank."""

    elements: Literal["rest", "none"] = "rest"
    share: Share = 0.2


def _count(value: object) -> object:
    """The most elements at once, or [least, most]."""
    entries: list[Any] = value if isinstance(value, list) else [1, value]
    is_whole = all(isinstance(entry, int) and not isinstance(entry, bool) for entry in entries)
    if not is_whole or len(entries) != 2 or not 1 <= entries[0] <= entries[1]:
        raise broken("be a whole number from 1 on, or [least, most]", shown(value))
    return tuple(entries)


Count = Annotated[tuple[int, int], BeforeValidator(_count)]


def _strength(value: object) -> tuple[float, ...] | Between:
    if isinstance(value, dict) and "between" in value:
        return Between.model_validate(value)
    if isinstance(value, str):
        raise broken(f"be '{UNKNOWN}', a number, a list of numbers, or {{ from, to, count }}", shown(value))
    return variances(value, (*Between.model_fields,))


class Region(Section):
    """A region: what may be active there, and what is asked about it."""

    strength: Annotated[InstanceOf[Between] | tuple[float, ...], BeforeValidator(_strength)] | None = None
    coefficient: Coefficient | None = None
    count: Annotated[Count, Field(validate_default=True)] = 1  # type: ignore[assignment]  # one or [1, 1] alike
    presence: Literal["always", "optional"] = "always"
    tolerance: Annotated[float, Field(ge=0.0)] = 0.0
    groups: Annotated[dict[str, Any] | None, BeforeValidator(lambda value: _checked_groups(value))] = None
    ask: Annotated[Literal["finest", "nothing"] | tuple[Ask, ...], BeforeValidator(_ask)] = "finest"
    absence_threshold: Annotated[float, Field(gt=0.0)] | None = None


class ClaimSpec(Section):
    """True if any, all or exactly one of several elements or groups is there."""

    any: list[Text] | None = None
    all: list[Text] | None = None
    exactly_one: list[Text] | None = None

    _one_kind = one_of("any", "all", "exactly_one")


class AskedResolution(Section):
    """How far apart the places of a region are that the data leave possible, asked in the place of a map."""

    region: Text | None = None
    fine: Annotated[float, Field(ge=0.0)]
    group: Annotated[float, Field(ge=0.0)]

    @model_validator(mode="after")
    def _in_order(self) -> "AskedResolution":
        if self.fine > self.group:
            raise broken("have a key fine that is at most group", f"{self.fine!r} and {self.group!r}")
        return self


class Supports(Section):
    """Which regions may be active together."""

    max_active: Annotated[int, Field(ge=0)] | None = None
    choices: Annotated[list[list[Text]], Field(min_length=1)] | None = Field(default=None, alias="list")
    leave_one_out: bool = False

    _one_rule = one_of("max_active", "list", "leave_one_out", least=0)


class Output(Section):
    """Where the report goes, and the map of many signals."""

    folder: FileName = "report"
    map: FileName = "map"


class ProjectFile(Section):
    """The whole file."""

    title: str = ""
    level: Share
    budget: Budget = 1.0
    seed: Annotated[int, Field(ge=0), AfterValidator(_seed)] = 0
    judge: Annotated[str, BeforeValidator(_judge)] | None = None
    draws: Annotated[int, Field(ge=1, le=10**6)] | None = None
    statistic: Literal["ratio", "score"] | None = None
    policy: PolicyName | None = None
    stop: Stop = "set"
    output: Output = Output()
    data: Data
    elements: Elements
    parameters: Parameters = Field(default_factory=dict)
    regions: Annotated[dict[str, Region], Field(min_length=1)]
    supports: Supports = Supports()
    claims: Annotated[dict[str, ClaimSpec], Field(default_factory=dict)]
    resolution: AskedResolution | None = None
    background: Background | None = None
    outsiders: OutsiderSpec | None = None
    cover: CoverSpec | None = None

    @model_validator(mode="after")
    def _cover_or_list(self) -> "ProjectFile":
        """Elements come from a list, or from a cover, which also covers parameters."""
        elements = self.elements
        named = [name for name, spec in self.parameters.items() if spec.between is not None]
        if self.cover is None and elements.file is None:
            raise needed("elements.file")
        ranged = [f"parameters.{name}.between" for name in named] + [*self._ranged()]
        if self.cover is None and ranged:
            raise broken("go with a table cover", "between", key=ranged[0])
        if self.cover is not None and (elements.file is None) != (elements.responses is None):
            rule = "be left out beside a cover unless responses is a file, whose columns it lists"
            raise broken(rule, shown(elements.file), key="elements.file")
        return self

    def _ranged(self) -> Iterator[str]:
        """Keys of strengths and noise that may lie anywhere in a range."""
        if isinstance(self.data.deployment.noise, Between):
            yield "data.deployment.noise.between"
        yield from (
            f"regions.{name}.strength.between"
            for name, region in self.regions.items()
            if isinstance(region.strength, Between)
        )

    @model_validator(mode="after")
    def _places_where_they_count(self) -> "ProjectFile":
        """Elements may be names alone, unless something is asked or computed of where they lie."""
        has_tolerance = any(region.tolerance > 0.0 for region in self.regions.values())
        counts = has_tolerance or self.elements.response or self.cover or self.resolution
        if counts and not self.elements.coordinates:
            raise needed("elements.coordinates")
        return self

    _open = model_validator(mode="before")(with_open_strengths)

    @model_validator(mode="after")
    def _law_has_what_it_needs(self) -> "ProjectFile":
        for name, stream in (("calibration", self.data.calibration), ("deployment", self.data.deployment)):
            if stream is not None and lacks_proposal(stream, self.judge):
                raise needed(f"data.{name}.proposal")
        law = self.data.deployment.law
        check_of_law("background", "background", law, self.background is not None)
        for key in ("tangents", "error"):
            check_of_law(f"elements.{key}", f"elements.{key}", law, getattr(self.elements, key) is not None)
        check_of_law("cover.tangents", "cover.tangents", law, self.cover is not None and self.cover.tangents)
        for name, region in self.regions.items():
            for key in ("strength", "coefficient"):
                check_of_law(f"regions.{key}", f"regions.{name}.{key}", law, getattr(region, key) is not None)
            is_range = isinstance(region.strength, Between)
            check_of_law("regions.strength.between", f"regions.{name}.strength.between", law, is_range)
        return self
