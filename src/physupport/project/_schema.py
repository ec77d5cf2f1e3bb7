"""The project file: every key that it may have, its type and its rule."""

from collections.abc import Iterator
from functools import partial
from math import inf
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, PlainValidator, Tag, model_validator

from .._errors import shown
from ..aeb import Stop
from ..analysis import PolicyName
from ..judges import JUDGES
from ..laws import LAWS, law_named
from ..responses import KINDS
from ._sections import (
    Ends,
    FileName,
    FileSpec,
    Grid,
    Options,
    ResponseSpec,
    Section,
    Text,
    Values,
    VariantFiles,
    broken,
    checked_ends,
    checked_values,
    distinct,
    known_name,
    nearest,
    needed,
    some_of,
    told_as,
)
from ._streams import UNKNOWN, Amount, Data, Share, amount_of, check_of_law, may_propose

NotNegative = Annotated[float, Field(ge=0.0)]
Above = Annotated[float, Field(gt=0.0)]
_MOST_DEVIATIONS = 100  # each is a judgement of its own


class RelativeError(Section):
    """The error of responses as a share of their value in every channel."""

    relative: Share


ResponseErrors = Annotated[
    Annotated[Share, Tag("<number>")] | Annotated[RelativeError, Tag("<table>")],
    Discriminator(lambda value: "<table>" if isinstance(value, dict | RelativeError) else "<number>"),
]


class Elements(Section):
    """The elements: where they lie, and how the instrument answers to them."""

    file: FileName | None = None
    coordinates: Annotated[list[Text], distinct("name")] = []  # noqa: RUF012  pydantic copies it
    unit: str = ""
    responses: VariantFiles | None = None
    response: ResponseSpec | None = None
    variants: Literal["states", "span", "cone"] = "states"
    tangents: Annotated[list[Text], Field(min_length=1), distinct("name")] | None = None
    error: ResponseErrors | None = None
    replicates: FileName | None = None
    replicate_unit: Text | None = None
    replicate_share: Annotated[float, Field(ge=0.0, lt=1.0)] | None = None
    replicate_noise: (
        Annotated[tuple[float, ...], PlainValidator(partial(checked_values, least=0.0, most=_MOST_DEVIATIONS))] | None
    ) = None
    pool: Literal["size"] | None = None
    axis: FileSpec | None = None
    axis_unit: str = ""
    shared: FileSpec | None = None

    _one_origin = some_of("responses", "response")

    @model_validator(mode="after")
    def _go_together(self) -> "Elements":
        if self.axis_unit and self.axis is None:
            raise broken("be left out without axis: channels are then counted", shown(self.axis_unit), key="axis_unit")
        if self.replicates is not None and self.replicate_unit is None:
            raise needed("replicate_unit")
        keys = ("replicate_unit", "replicate_share", "replicate_noise", "pool")
        stray = next((key for key in keys if getattr(self, key) is not None), None)
        if self.replicates is None and stray is not None:
            raise broken("be left out without replicates", "a value", key=stray)
        return self


class CoverSpec(Section):
    """A box of places, and of parameters with a key between, everywhere in which the level shall hold."""

    snr: Above
    eta: Above = 0.5
    tangents: bool = False
    slopes: Values | None = None
    bends: Annotated[list[list[float]], Field(min_length=1)] | None = None
    box: Annotated[dict[Text, dict[Text, Ends]], Field(min_length=1)]


class Parameter(Section):
    """An uncertain parameter of the instrument: every value, or every cell, makes dictionary states of its own."""

    kind: Annotated[str, known_name(lambda: KINDS, "be one of {}", ", ")]
    values: Grid | None = None
    between: Ends | None = None
    pattern: Values | None = None
    coordinate: Text | None = None

    _one_way = some_of("values", "between")

    @property
    def points(self) -> tuple[float, ...]:
        """The values; of a range, its ends."""
        return self.between or self.values or ()


def _kinds(tables: object) -> object:
    """Named tables; one without a kind is of the kind that it is named after."""
    if not isinstance(tables, dict):
        return tables
    named = {name: {"kind": name} | table if isinstance(table, dict) else table for name, table in tables.items()}
    for name, table in named.items():
        if isinstance(table, dict) and table["kind"] == name and name not in KINDS:
            rule = f"be named {', '.join(KINDS)}, or have a key kind that is one of these"
            raise broken(rule, name, nearest(name, KINDS))
    return named


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


Ask: TypeAlias = Literal["fine", "group", "presence", "absence", "ambiguity"]
_ASK = told_as("be 'finest', 'nothing', or a list of fine, group, presence, absence, ambiguity")
_COEFFICIENTS = {"free": (-inf, inf), ">= 0": (0.0, inf)}


def _coefficient(value: Any) -> tuple[float, float]:  # noqa: ANN401
    """The bounds of a coefficient."""
    return _COEFFICIENTS[value] if isinstance(value, str) and value in _COEFFICIENTS else checked_ends(value)


def _count(value: Any) -> tuple[int, int]:  # noqa: ANN401
    """The most elements at once, or [least, most]."""
    low, high = value if isinstance(value, list) else (1, value)
    if not type(low) is type(high) is int or not 1 <= low <= high:
        raise ValueError
    return low, high


_STRENGTH = f"be '{UNKNOWN}', a number, a list of numbers, or {{ from, to, count }}"
_COEFFICIENT = told_as("be 'free', '>= 0', or [low, high] with low below high")


class Region(Section):
    """A region: what may be active there, and what is asked about it."""

    strength: Annotated[Amount, PlainValidator(partial(amount_of, kind=Amount, rule=_STRENGTH))] | None = None
    coefficient: Annotated[tuple[float, float], PlainValidator(_coefficient), _COEFFICIENT] | None = None
    count: Annotated[
        tuple[int, int],
        PlainValidator(_count),
        told_as("be a whole number from 1 on, or [least, most]"),
        Field(validate_default=True),
    ] = 1  # type: ignore[assignment]  # one or [1, 1] alike
    presence: Literal["always", "optional"] = "always"
    tolerance: NotNegative = 0.0
    groups: Annotated[dict[str, Any] | None, BeforeValidator(_checked_groups)] = None
    ask: Annotated[
        Literal["finest", "nothing"] | Annotated[tuple[Ask, ...], Field(strict=False, min_length=1)],
        _ASK,
        distinct("entry"),
    ] = "finest"
    absence_threshold: Above | None = None

    @property
    def marks(self) -> tuple[float, ...]:
        """Strengths; of coefficients that are open, marks of what is active, and of what reaches the threshold."""
        if self.strength is not None:
            return self.strength.values or (1.0,)
        threshold = self.absence_threshold
        return (1.0,) if threshold is None else (0.5 * threshold, threshold)


class ClaimSpec(Section):
    """True if any, all or exactly one of several elements or groups is there."""

    any: list[Text] | None = None
    all: list[Text] | None = None
    exactly_one: list[Text] | None = None

    _one_kind = some_of("any", "all", "exactly_one")


class AskedResolution(Section):
    """How far apart the places of a region are that the data leave possible, asked in the place of a map."""

    region: Text | None = None
    fine: NotNegative
    group: NotNegative

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

    _one_rule = some_of("max_active", "list", "leave_one_out", least=0)


class Background(Section):
    """Columns that are always there and never asked about."""

    polynomial: Annotated[int, Field(ge=0, le=50)] | None = None
    splines: Annotated[int, Field(ge=4, le=1000)] | None = None
    atoms: FileSpec | None = None
    reference: bool = False

    _something = some_of("polynomial", "splines", "atoms", "reference", most=4)


class OutsiderSpec(Section):
    """The scan for something that is not in the bank."""

    elements: Literal["rest", "none"] = "rest"
    share: Share = 0.2


class Output(Section):
    """Where the report goes, and the map of many signals."""

    folder: FileName = "report"
    map: FileName = "map"


def _seed(value: int) -> int:
    """A seed is written into every report, as a number that any program reads."""
    if value >= 2**128:
        raise broken("be below 2^128", shown(value))
    return value


class ProjectFile(Section):
    """The whole file."""

    title: str = ""
    level: Share
    # 1 is one query, 1.0 is all of them.
    budget: Annotated[
        Annotated[int, Field(ge=0)] | Annotated[float, Field(ge=0.0, le=1.0)],
        told_as("be a whole number of queries, or a share between 0.0 and 1.0"),
    ] = 1.0
    seed: Annotated[int, Field(ge=0), AfterValidator(_seed)] = 0
    judge: Annotated[str, known_name(lambda: JUDGES)] | None = None
    judge_options: Options = {}  # noqa: RUF012  pydantic copies it
    draws: Annotated[int, Field(ge=1, le=10**6)] | None = None
    statistic: Literal["ratio", "score"] | None = None
    policy: PolicyName | None = None
    stop: Stop = "set"
    output: Output = Output()
    data: Data
    elements: Elements
    # States run over every combination of the values of parameters, the first of the file slowest.
    parameters: Annotated[dict[Text, Parameter], BeforeValidator(_kinds)] = Field(default_factory=dict)
    regions: Annotated[dict[str, Region], Field(min_length=1)]
    supports: Supports = Supports()
    claims: Annotated[dict[str, ClaimSpec], Field(default_factory=dict)]
    resolution: AskedResolution | None = None
    background: Background | None = None
    outsiders: OutsiderSpec | None = None
    cover: CoverSpec | None = None

    @model_validator(mode="before")
    @classmethod
    def _with_open_strengths(cls, file: Any) -> Any:  # noqa: ANN401
        """A file whose regions all have strength = 'unknown', in the words of the law that leaves coefficients open.

        Rows then are scored at their best; who judges them stays the usual judge of the law that the file names.
        """
        try:
            strengths = {name: region.get("strength") for name, region in file["regions"].items()}
            rows = file["data"]["deployment"]
            law = LAWS[rows["law"]]
        except (KeyError, TypeError, AttributeError):
            return file  # not yet a file: what is wrong with it is found below
        if UNKNOWN not in strengths.values():
            return file
        if "rows" in rows and law.if_unknown:
            raise broken(f"be left out with the law {law.name}", shown(rows["rows"]), key="data.deployment.rows")
        for region, strength in strengths.items():
            place = f"regions.{region}.strength"
            if not law.if_unknown:
                raise broken(f"be left out or numbers with the law {law.name}", f"'{UNKNOWN}'", key=place)
            if strength != UNKNOWN:
                rule = f"be '{UNKNOWN}' as in other regions, or numbers in all of them"
                raise broken(rule, shown(strength), key=place)
        regions = {
            name: {k: v for k, v in region.items() if k != "strength"} for name, region in file["regions"].items()
        }
        data = {**file["data"], "deployment": {**rows, **law.if_unknown}}
        return {"judge": law.usual_judge, **file, "regions": regions, "data": data}

    @model_validator(mode="after")
    def _cover_or_list(self) -> "ProjectFile":
        """Elements come from a list, or from a cover, which also covers parameters."""
        elements = self.elements
        if self.cover is None and elements.file is None:
            raise needed("elements.file")
        if self.cover is None and (ranged := next(self._ranged(), None)):
            raise broken("go with a table cover", "between", key=f"{ranged}.between")
        if self.cover is not None and (elements.file is None) != (elements.responses is None):
            rule = "be left out beside a cover unless responses is a file, whose columns it lists"
            raise broken(rule, shown(elements.file), key="elements.file")
        return self

    def _ranged(self) -> Iterator[str]:
        """Keys of parameters, noise and strengths that may lie anywhere in a range."""
        yield from (f"parameters.{name}" for name, spec in self.parameters.items() if spec.between)
        if self.data.deployment.noise and self.data.deployment.noise.between:
            yield "data.deployment.noise"
        for name, region in self.regions.items():
            if region.strength and region.strength.between:
                yield f"regions.{name}.strength"

    @model_validator(mode="after")
    def _left_out_beside_others(self) -> "ProjectFile":
        """Raise if a table or key is given beside another that excludes it."""
        elements = self.elements
        rows = self.data.deployment.rows
        is_table = self.cover is not None and elements.file is not None
        thresholds = {
            f"regions.{name}.absence_threshold": each.absence_threshold for name, each in self.regions.items()
        }
        of_maps = {
            f"regions.{name}.{key}": key in region.model_fields_set
            for name, region in self.regions.items()
            for key in ("tolerance", "groups", "ask", "absence_threshold")
        }
        parameters = {"parameters": self.parameters}
        tangents = {"elements.tangents": elements.tangents}
        widths = {"elements.error": elements.error} | tangents
        others = {"data.calibration": self.data.calibration, "elements.replicates": elements.replicates}
        for reason, why, keys in (
            (self.cover, "beside a cover", others | tangents | {"resolution": self.resolution}),
            (is_table, "beside a cover", {"cover.tangents": self.cover and self.cover.tangents} | parameters),
            (self.data.calibration, "with calibration rows, whose laws have exact responses", widths),
            (elements.replicates, "with replicates, which have a width of their own", widths | parameters),
            (rows in ("free", "random"), "where every row has coefficients of its own", tangents),
            (elements.variants != "states", "unless variants are states", tangents),
            (elements.tangents, "with tangents, which have coefficients of their own", thresholds),
            (self.supports.leave_one_out, "with leave_one_out, of which every coefficient may be 0", thresholds),
            (self.resolution, "beside a resolution, which asks for no map", {"claims": self.claims} | of_maps),
        ):
            stray = next((key for key, value in keys.items() if value), None)
            if reason and stray is not None:
                raise broken(f"be left out {why}", "a value", key=stray)
        return self

    @model_validator(mode="after")
    def _places_where_they_count(self) -> "ProjectFile":
        """Raise if elements have no coordinates although the question or the responses need them."""
        has_tolerance = any(region.tolerance > 0.0 for region in self.regions.values())
        counts = has_tolerance or self.elements.response or self.cover or self.resolution
        if counts and not self.elements.coordinates:
            raise needed("elements.coordinates")
        return self

    @model_validator(mode="after")
    def _law_has_what_it_needs(self) -> "ProjectFile":
        for name, stream in self.data.streams.items():
            is_needed = stream.proposal is None and law_named(stream.law).file_keys.get("proposal", False)
            if is_needed and may_propose(self.judge, stream.law):  # the judge takes long to load, and is asked last
                raise needed(f"data.{name}.proposal")
        law = self.data.deployment.law
        check_of_law("background", "background", law, self.background is not None)
        for key in ("tangents", "error"):
            check_of_law(f"elements.{key}", f"elements.{key}", law, getattr(self.elements, key) is not None)
        check_of_law("cover.tangents", "cover.tangents", law, self.cover is not None and self.cover.tangents)
        for name, region in self.regions.items():
            for key in ("strength", "coefficient"):
                check_of_law(f"regions.{key}", f"regions.{name}.{key}", law, getattr(region, key) is not None)
            is_range = region.strength is not None and region.strength.between is not None
            check_of_law("regions.strength.between", f"regions.{name}.strength.between", law, is_range)
        return self
