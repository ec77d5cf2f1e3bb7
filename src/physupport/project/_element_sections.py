"""The tables of a project file about the elements: responses, parameters, covers, and the columns beside them."""

from functools import partial
from typing import Annotated, Literal

from pydantic import BeforeValidator, Discriminator, Field, PlainValidator, Tag, model_validator

from .._errors import shown
from ..responses import KINDS
from ._generated import Generated
from ._line_elements import LineElements
from ._sections import (
    Ends,
    File,
    FileName,
    FileSpec,
    Grid,
    ResponseSpec,
    Section,
    SpectraFiles,
    Text,
    Values,
    VariantFiles,
    as_file,
    broken,
    checked_ends,
    checked_values,
    distinct,
    known_name,
    nearest,
    needed,
    some_of,
    table_in,
    told_as,
)
from ._streams import Share

NotNegative = Annotated[float, Field(ge=0.0)]
Above = Annotated[float, Field(gt=0.0)]
_Part = Annotated[float, Field(ge=0.0, lt=1.0)]
_MOST_DEVIATIONS = 100  # each is a judgement of its own


def _error_kind(value: object) -> str:
    """The tag of an error: one number, one for each element, a file, or a table of shares of values."""
    match value:
        case File() | {"file": _}:
            return "<file>"
        case RelativeError() | dict():
            return "<table>"
        case list() | tuple():
            return "<list>"
    return "<number>"


_Errors = (
    Annotated[Share, Tag("<number>")]
    | Annotated[tuple[_Part, ...], Field(strict=False, min_length=1), Tag("<list>")]
    | Annotated[File, Tag("<file>")]
)


class RelativeError(Section):
    """The error of responses as a share of their value in every channel."""

    relative: Annotated[_Errors, Discriminator(_error_kind)]


ResponseErrors = Annotated[_Errors | Annotated[RelativeError, Tag("<table>")], Discriminator(_error_kind)]


class Counted(Section):
    """Responses that were counted themselves: the live time of all of them, or of each."""

    live_time: Values

    @model_validator(mode="after")
    def _above_zero(self) -> "Counted":
        if min(self.live_time) <= 0.0:
            raise broken("be above 0", f"{min(self.live_time):g}", key="live_time")
        return self


class Elements(Section):
    """The elements: where they lie, and how the instrument answers to them."""

    file: FileName | None = None
    kind: Generated | None = None
    coordinates: Annotated[list[Text], distinct("name")] = []  # noqa: RUF012  pydantic copies it
    unit: str = ""
    responses: VariantFiles | None = None
    response: ResponseSpec | None = None
    exact: bool = True
    variants: Literal["states", "span", "cone", "between"] = "states"
    tangents: Annotated[list[Text], Field(min_length=1), distinct("name")] | None = None
    error: ResponseErrors | None = None
    counted: Counted | None = None
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

    @model_validator(mode="after")
    def _one_origin(self) -> "Elements":
        given = [key for key in ("responses", "response") if getattr(self, key) is not None]
        if self.has_lines and given:
            raise broken("be left out beside a kind that makes responses", "a value", key=given[0])
        if not self.has_lines and len(given) != 1:
            raise broken("have one of the keys responses and response", " and ".join(given) or "neither")
        others = ("error", "tangents", "replicates", "shared", "axis")
        stray = next((key for key in others if self.has_lines and getattr(self, key) is not None), None)
        if stray is not None:
            remedy = "Widen the ranges of its detector: [elements.detector] ratio = 1.0." if stray == "error" else ""
            raise broken("be left out beside a kind that makes responses", "a value", remedy, key=stray)
        return self

    @property
    def has_lines(self) -> bool:
        """True if the elements are made of lines, and have responses of their own."""
        return isinstance(self.kind, LineElements)

    @property
    def are_listed(self) -> bool:
        """True if the elements come from a list: of a file, of a library of spectra, or one that is made."""
        return self.file is not None or self.kind is not None or self.library is not None

    @property
    def library(self) -> SpectraFiles | None:
        """The library of spectra that responses come from, if they do."""
        return self.responses if isinstance(self.responses, SpectraFiles) else None

    @property
    def tables(self) -> tuple[File, ...]:
        """The tables of responses, one for each variant; none of a library of spectra or a formula."""
        return self.responses if isinstance(self.responses, tuple) else ()

    @property
    def is_error_relative(self) -> bool:
        """True if the error of responses is a share of their value in every channel."""
        return isinstance(self.error, RelativeError)

    @property
    def error_size(self) -> float | tuple[float, ...] | File | None:
        """The error, of whichever kind it is a share: one number, one for each element, or those of a file."""
        match self.error:
            case RelativeError():
                return self.error.relative
        return self.error

    @property
    def has_errors(self) -> bool:
        """True if the error is not one number."""
        return isinstance(self.error_size, tuple | File)

    @model_validator(mode="after")
    def _go_together(self) -> "Elements":
        if self.file is not None and self.kind is not None:
            raise broken("be left out beside a kind, which makes the list", shown(self.file), key="file")
        if self.axis_unit and self.axis is None and not self.has_lines:
            raise broken("be left out without axis: channels are then counted", shown(self.axis_unit), key="axis_unit")
        if self.replicates is not None and self.replicate_unit is None:
            raise needed("replicate_unit")
        keys = ("replicate_unit", "replicate_share", "replicate_noise", "pool")
        stray = next((key for key in keys if getattr(self, key) is not None), None)
        if self.replicates is None and stray is not None:
            raise broken("be left out without replicates", "a value", key=stray)
        if self.counted is not None and self.responses is None:
            raise needed("responses")
        if self.counted is not None and self.error is not None and not self.is_error_relative:
            remedy = "Rates near 0 are not known to within a share of the largest one."
            raise broken("be { relative = ... } beside counted", shown(self.error), remedy, key="error")
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


def named_kinds(tables: object) -> object:
    """Named tables; one without a kind is of the kind that it is named after."""
    named = {}
    for name, table in table_in(tables).items():
        named[name] = {"kind": name} | table if table == table_in(table) else table
        if table_in(named[name]).get("kind") == name and name not in KINDS:
            rule = f"be named {', '.join(KINDS)}, or have a key kind that is one of these"
            raise broken(rule, name, nearest(name, KINDS))
    return named or tables


Energies = Annotated[tuple[float, ...], PlainValidator(partial(checked_values, above=0.0, most=20))]


def _counts_or_file(value: object) -> object:
    """True for the counts outside of the window, or a spectrum in a file."""
    if type(value) in (bool, int, float) and value is not True:
        raise broken("be true, for the counts outside of the window, or a file", shown(value))
    return as_file(value)


class Background(Section):
    """Columns that are always there and never asked about."""

    polynomial: Annotated[int, Field(ge=0, le=50)] | None = None
    local: Annotated[int, Field(ge=0, le=10)] | None = None
    splines: Annotated[int, Field(ge=4, le=1000)] | None = None
    atoms: FileSpec | None = None
    reference: bool = False
    pile_up: Annotated[Literal[True] | File, BeforeValidator(_counts_or_file)] | None = None
    escape: Energies | None = None
    tail: Energies | None = None

    _something = some_of("polynomial", "local", "splines", "atoms", "reference", "pile_up", "escape", "tail", most=8)

    @property
    def needs_axis(self) -> bool:
        """True if columns are made along the axis of the channels."""
        return self.pile_up is not None or self.escape is not None or self.tail is not None


class Peaks(Section):
    """Lines at every place of the axis, as wide as the instrument resolves them."""

    width: Annotated[Above | Literal["resolution"], told_as("be a number above 0, or 'resolution'")]


class Bumps(Section):
    """Smooth bumps at every place of the axis."""

    width: Above


def _directions(value: object) -> bool | tuple[float, float]:
    """All of an array, or the two ends of a range."""
    if value is True or value is False:
        return value
    return checked_ends(value)


class Unlisted(Section):
    """Generic responses of a source that the list of elements lacks."""

    peaks: Peaks | None = None
    bumps: Bumps | None = None
    directions: Annotated[bool | tuple[float, float], PlainValidator(_directions)] | None = None
    atoms: FileSpec | None = None

    _one_way = some_of("peaks", "bumps", "directions", "atoms")
