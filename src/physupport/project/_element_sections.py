"""The tables of a project file about the elements: responses, parameters, covers, and the columns beside them."""

from functools import partial
from typing import Annotated, Literal

from pydantic import BeforeValidator, Discriminator, Field, PlainValidator, Tag, model_validator

from .._errors import Clause, shown
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
    """text: a CSV with the columns `id`, `region` and the coordinates, or an `.npz` with such arrays. A `kind`, a table
    [`cover`](#cover) and boxes of [regions](#regionsname) replace it
    """
    kind: Generated | None = None
    """text: a [list that is made](#lists-that-are-made) instead of a file, `directions`, `places`, `gamma lines` or
    `xray lines`
    """
    coordinates: Annotated[list[Text], distinct("name")] = []  # noqa: RUF012  pydantic copies it
    """list of texts: which columns are coordinates. Required by a response by formula, a `tolerance`, `resolution` or
    `cover`; elements without any are equally far apart
    """
    unit: str = ""
    """text: unit of the coordinates, such as `mm`; answers then have places and distances"""
    responses: VariantFiles | None = None
    """file or list of files: a row for each channel and a column for each element, matched by [names](#names) or in the
    order of the list. Several files are variants, such as other instruments. So are several lines of an id with a
    column `variant`, each with its column in one file, named as in `calcite_2`. [Files of spectra](#spectra), a folder
    or a pattern are a library
    """
    response: ResponseSpec | None = None
    """table: a response by formula; give exactly one of `responses` and `response`"""
    exact: bool | None = None
    """true or false: with `false`, each element lies [anywhere in its cell](cells.md#between-the-places-of-a-grid).
    This needs regular grids, a response by formula or built-in kind, and `judge = "evidence"`, with `gaussian` or with
    `covariance` and `strength = "unknown"`. With `true`, the truth is at one of the listed places. Default: `false` on
    a regular grid that evidence can judge so; else `true`, and a note says so
    """
    variants: Literal["states", "span", "cone", "between"] = "states"
    """text: `states` (one variant is right, for all elements alike); `span`, with `gaussian` (any mix of an element's
    variants); `cone`, with `poisson`, or `gaussian` and `judge = "evidence"` (any mix without negative parts, such as
    line ratios within bounds); `between`, with `poisson` (channel by channel [between the least and the
    largest](width.md#between-variants) variant, each scaled to norm 1 first)
    """
    tangents: Annotated[list[Text], Field(min_length=1), distinct("name")] | None = None
    """list of texts: parameters that may lie [between their values](#between-the-values-of-a-parameter), with
    `gaussian` and one mean
    """
    error: ResponseErrors | None = None
    """number between 0 and 1, or `{ relative = number }`; with `poisson` also a number for each element, or a file with
    a row for each channel: largest [error of each response](width.md). With `poisson`, a share of its largest value, or
    of its value in each channel. With `gaussian` and `judge = "evidence"`, or `covariance` and `strength = "unknown"`,
    the sine of the angle between a response and the truth
    """
    counted: Counted | None = None
    """`{ live_time = numbers }`: with `poisson`, `responses` are themselves
    [counts](width.md#a-library-that-was-counted), recorded in so many seconds (for the record only). Whole numbers, no
    rates, no background subtracted. `error` beside it is `{ relative = number }`
    """
    replicates: FileName | None = None
    """text: with `judge = "conformal"`, required: a CSV with a line for each measured spectrum. Its columns are
    `element`, the unit, and `file`, the file of the spectrum, or one for each channel. Not with parameters or other
    widths
    """
    replicate_unit: Text | None = None
    """text: column with the [unit](conformal.md) of each spectrum, such as `instrument`; required with `replicates`"""
    replicate_share: Annotated[float, Field(ge=0.0, le=1.0)] | None = None
    """number from 0 to 1: share of the level for the margin test, which separates the members of a group; default 1
    where elements have neither groups nor units in common, else 0
    """
    replicate_noise: (
        Annotated[tuple[float, ...], PlainValidator(partial(checked_values, least=0.0, most=_MOST_DEVIATIONS))] | None
    ) = None
    """numbers from 0 on: at most 100 standard deviations of noise that replicates lack; the largest p-value counts.
    [Measured](conformal.md#noise) by default
    """
    pool: Literal["ratio"] | None = None
    """text: `ratio` ranks among all elements with as many units or more; holds only on average over these"""
    axis: FileSpec | None = None
    """file: increasing places of the channels, such as energies; default 0, 1, 2 and so on. It must agree with places
    that name the channels of the rows
    """
    axis_unit: str = ""
    """text: unit of the axis, only with one; a unit in the heading of its file must agree"""
    shared: FileSpec | None = None
    """file: atoms that every dictionary has and only the calibration uses, a column each"""

    @model_validator(mode="after")
    def _one_origin(self) -> "Elements":
        given = [key for key in ("responses", "response") if getattr(self, key) is not None]
        if self.has_lines and given:
            raise broken("be left out beside a kind that makes responses", Clause("it is given"), key=given[0])
        if not self.has_lines and len(given) != 1:
            raise broken("have one of the keys responses and response", " and ".join(given) or "neither")
        others = ("error", "tangents", "replicates", "shared", "axis")
        stray = next((key for key in others if self.has_lines and getattr(self, key) is not None), None)
        if stray is not None:
            remedy = "Widen the ranges of its detector: [elements.detector] ratio = 1.0." if stray == "error" else ""
            raise broken("be left out beside a kind that makes responses", Clause("it is given"), remedy, key=stray)
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
            raise broken("be left out without replicates", Clause("it is given"), key=stray)
        if self.counted is not None and self.responses is None:
            raise needed("responses")
        if self.counted is not None and self.error is not None and not self.is_error_relative:
            remedy = "Rates near 0 are not known to within a share of the largest one."
            raise broken("be { relative = ... } beside counted", shown(self.error), remedy, key="error")
        return self


class CoverSpec(Section):
    """A box of places, and of parameters with a key between, everywhere in which the level shall hold."""

    snr: Above
    """number above 0: the largest possible signal-to-noise ratio, the square root of the number of rows, times the
    coefficient of an element, by the deviation of a real entry
    """
    eta: Above = 0.5
    """number above 0: largest move of rows within a cell, in units of the noise. A smaller one makes more cells and
    costs less level. Coordinates, parameters and [ranges](covers.md#ranges-of-strengths-and-noise) share it
    """
    tangents: bool = False
    """true or false: with `gaussian` and one mean, free columns along all coordinates and ranges make moves second
    order and cells fewer
    """
    slopes: Values | None = None
    """numbers: bounds of the derivatives of the response at norm 1, along coordinates, then parameters with `between`;
    required for tables and functions
    """
    bends: Annotated[list[list[float]], Field(min_length=1)] | None = None
    """list of lists of numbers: the same for second derivatives, with `tangents` and `slopes`"""
    box: Annotated[dict[Text, dict[Text, Ends]], Field(min_length=1)]
    """table: for every region a table `[cover.box.NAME]` with `[low, high]` of every coordinate"""


class Parameter(Section):
    """An uncertain parameter of the instrument: every value, or every cell, makes dictionary states of its own."""

    kind: Annotated[str, known_name(lambda: KINDS, "be one of {}", ", ")]
    """text: effect of the parameter, by the table below; NAME if it is one of these"""
    values: Grid | None = None
    """numbers: possible values, each once; give `values` or `between`"""
    between: Ends | None = None
    """`[low, high]`: anywhere in this range. With `poisson`, `gaussian`, or `covariance` and `strength = "unknown"`,
    the judge [tests the whole range](cells.md); a table [`cover`](#cover) chooses values
    """
    pattern: Values | None = None
    """numbers: of `gain` and `phase`, weight of each channel; default from -1 at the first to 1 at the last"""
    coordinate: Text | None = None
    """text: of `position`, along which coordinate; default the first"""

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
    """whole number: degree along the channels, by their numbers"""
    local: Annotated[int, Field(ge=0, le=10)] | None = None
    """whole number: degree along each piece of the [window](#windows), plus 1 for every 20 channels of the piece"""
    splines: Annotated[int, Field(ge=4, le=1000)] | None = None
    """whole number: so many cubic splines along the channels, at least 4"""
    atoms: FileSpec | None = None
    """file: columns of your own, a row for each channel"""
    reference: bool = False
    """true or false: one number that all channels share, such as a reference electrode"""
    pile_up: Annotated[Literal[True] | File, BeforeValidator(_counts_or_file)] | None = None
    """`true` or file: two photons counted as one, [pairs](counts.md#pile-up-escape-peaks-and-tails) of the counts
    outside of the [window](#windows), or of a spectrum in a file with all channels of the axis
    """
    escape: Energies | None = None
    """numbers above 0: every response again, lower on the axis by this energy: 1.74 keV of silicon, 9.89 keV of
    germanium
    """
    tail: Energies | None = None
    """numbers above 0: every response again with an exponential tail of this length towards lower energies; longer than
    a line is wide
    """

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
    """The directions: a whole array, or the two ends of a range."""
    if value is True or value is False:
        return value
    return checked_ends(value)


class Unlisted(Section):
    """Generic responses of a source that the list of elements lacks."""

    peaks: Peaks | None = None
    """table: with `poisson`, any number of lines anywhere on the axis. `{ width = 25.0 }` is their standard deviation
    in units of the axis, else channels; `{ width = "resolution" }` that of the response `peak` or `lines`, or the least
    of the detector
    """
    bumps: Bumps | None = None
    """table: with `gaussian`, one bump anywhere on the axis; `{ width = 25.0 }` is the same, to within 3 %"""
    directions: Annotated[bool | tuple[float, float], PlainValidator(_directions)] | None = None
    """`true` or `[low, high]`: with `gaussian` and `covariance`, one source anywhere along the one coordinate of a
    response by formula; `true` is all directions of an array
    """
    atoms: FileSpec | None = None
    """file: generic responses of your own, a row for each channel. For counts the source is any mix of them without
    negative parts, else one of them
    """

    _one_way = some_of("peaks", "bumps", "directions", "atoms")
