"""The settings of an instrument that calibration leaves open, and the answers in each of them.

Sources that were measured at known places say how far responses may lie from theirs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from itertools import product
from math import prod
from typing import Final, NamedTuple, final

import numpy as np
import scipy
from numpy.typing import ArrayLike

from .._checks import check_array, check_count, check_instance, read_only
from .._errors import Clause, MisuseError
from .._typing import Array, BoolArray, Field
from ..io import ReaderOutput, as_pairs, as_reader_output
from ._base import ComplexArray, Response, check_answers

# Of the squares of a response: where less of it is left on the axis, another shift or scale was meant.
LEAST_SEEN: Final = 0.01


def check_axis(axis: ArrayLike | None, n_channels: int) -> Array:
    """(q,) increasing; the numbers of the channels unless given."""
    channels = check_array("axis", np.arange(n_channels) if axis is None else axis, (n_channels,))
    if not (np.diff(channels) > 0.0).all():
        raise MisuseError("axis", "increase from channel to channel", Clause("it does not"), "Sort the channels.")
    return channels


def moved_along(
    axis: Array, answers: Array | ComplexArray, shift: float | None, scale: float | None
) -> Array | ComplexArray:
    """(q, E) the answers in channel x become those at (x - shift) / scale; beyond the ends they stay as they are there.

    Without either they stay altogether, which those of 0 and 1 do but for rounding.
    A response that is moved off the axis is refused: what would stay of it is its value at an end, in every channel.
    """
    if shift is None and scale is None:
        return answers
    shift = shift or 0.0
    scale = 1.0 if scale is None else scale
    places = (axis - shift) / scale
    sizes = np.abs(answers)
    squares = np.square(sizes / np.maximum(sizes.max(axis=0), np.finfo(np.float64).tiny))
    seen = squares[(axis >= places[0]) & (axis <= places[-1])].sum(axis=0)
    lost = np.flatnonzero(seen < LEAST_SEEN * squares.sum(axis=0))
    if len(lost):
        rule = f"leave a share of {LEAST_SEEN:g} or more of the squares of every response on the axis"
        setting = f"shift = {shift:g}" if scale == 1.0 else f"shift = {shift:g} and scale = {scale:g}"
        raise MisuseError("parameters", rule, Clause(f"{setting} leaves less of response {lost[0]}"))
    where = np.clip(places, axis[0], axis[-1])
    if np.iscomplexobj(answers):
        return interpolated(axis, answers.real, where) + 1j * interpolated(axis, answers.imag, where)
    return interpolated(axis, answers.real, where)


def widened(axis: Array, answers: Array | ComplexArray, factor: float) -> Array | ComplexArray:
    """Every answer stretched about its own centre, the mean place along the axis, by a factor."""
    if factor == 1.0:
        return answers
    sizes = np.abs(answers)
    centres = axis @ sizes / np.maximum(sizes.sum(axis=0), np.finfo(np.float64).tiny)
    columns = zip(answers.real.T, centres.tolist(), strict=True)
    wheres = ((np.clip(c + (axis - c) / factor, axis[0], axis[-1]), column) for column, c in columns)
    return np.stack([interpolated(axis, column, where) for where, column in wheres], axis=1)


def interpolated(axis: Array, values: Array, where: Array) -> Array:
    """Values between the channels, by cubic pieces that rise and fall only where the values do.

    Each piece lies between the values at its two ends; rounding beyond these, which may be negative, is cut off.
    """
    with np.errstate(over="ignore"):  # far from a line, one over a slope may overflow: the slope is then taken as 0
        between = scipy.interpolate.PchipInterpolator(axis, values)(where)
    left = np.clip(np.searchsorted(axis, where, side="right") - 1, 0, len(axis) - 2)
    ends = values[left], values[left + 1]
    return np.asarray(np.clip(between, np.minimum(*ends), np.maximum(*ends)))


def in_window(axis: ArrayLike, window: ArrayLike) -> BoolArray:
    """(q,) True for the channels of an axis that lie in a window [low, high], or in one of several; ends are inside.

    A window may also be (q,) truth values, which are returned.

    >>> in_window([9.0, 10.5, 12.0, 14.0], [10.0, 12.0]).tolist()
    [False, True, True, False]
    """
    places = check_array("axis", axis, (None,))
    if np.asarray(window).dtype == np.bool_ and np.shape(window) == places.shape:
        return np.asarray(window)
    ends = np.atleast_2d(np.asarray(window, dtype=np.float64))
    if ends.ndim != 2 or ends.shape[1] != 2 or not (ends[:, 0] < ends[:, 1]).all():
        rule = "be [low, high] with low below high, or a list of these"
        raise MisuseError("window", rule, np.asarray(window).tolist())
    is_inside = ((places >= ends[:, :1]) & (places <= ends[:, 1:])).any(axis=0)
    if not is_inside.any():
        span = f"{places.min():g} to {places.max():g}" if places.size else "none"
        rule = f"hold at least one channel of the axis, which goes from {span}"
        raise MisuseError("window", rule, np.asarray(window).tolist())
    return np.asarray(is_inside, dtype=np.bool_)


KINDS: Final[Mapping[str, str]] = {
    "gain": "multiplies channel c by 1 + v w, with its pattern w; 0 changes nothing",
    "offset": "adds v times the largest modulus of the response to all channels; 0 changes nothing",
    "phase": "multiplies channel c by exp(i v w), complex responses only; 0 changes nothing",
    "width": "multiplies the width of a peak, or of all `lines`, at fixed positions; stretches and interpolates "
    "responses of files, of one line each within the axis, about their middle; 1 changes nothing",
    "conductivity": "multiplies that of the skull of a head; 1 changes nothing",
    "position": "moves all elements by v; responses by formula only; 0 changes nothing",
    "shift": "moves all responses by v along the axis of the channels, interpolated; also of files. One that leaves "
    "less than a hundredth of the squares of a response on the axis is refused; 0 changes nothing",
    "scale": "replaces the response in channel x of the axis by that at x / v, interpolated; also of files; 1 changes "
    "nothing",
}
FACTORS: Final = ("width", "conductivity")  # of the field of this name that a response has
WITH_PATTERN: Final = ("gain", "phase")


@final
@dataclass(frozen=True, slots=True, eq=False)
class Parameter:
    r"""One unknown of the instrument and the values that it may take.

    | name | value v | what it does to the answer r | leaves it unchanged |
    |---|---|---|---|
    | gain | any | channel c times :math:`1 + v w_c` | 0 |
    | offset | any | adds v times the largest modulus of the element's answer to all channels | 0 |
    | phase | radians | channel c times :math:`e^{i v w_c}`; complex answers only | 0 |
    | width | above 0 | multiplies the width of a peak or of `Lines`; tabulated answers of one line are stretched | 1 |
    | conductivity | above 0 | multiplies that of the skull of a head | 1 |
    | position | any | moves every element by v along one coordinate | 0 |
    | shift | units of the axis | the answer in channel x becomes that at x - v | 0 |
    | scale | above 0 | the answer in channel x becomes that at x / v | 1 |

    The pattern w is one number for each channel, from -1 at the first to 1 at the last unless given.  Several
    parameters of one name, each with a pattern or a coordinate of its own, are told apart by what they are called.
    """

    name: str
    values: Array  # (k,) distinct
    pattern: Array | None = field(default=None, repr=False)  # (q,) of gain or phase
    coordinate: int = 0  # of position
    called: str = ""  # in settings and reports; the name unless given

    def __post_init__(self) -> None:
        if self.name not in KINDS:
            raise MisuseError("name", f"be one of {', '.join(map(repr, KINDS))}", repr(self.name))
        values = check_array(f"values of {self.name}", self.values, (None,))
        if values.size == 0 or len(np.unique(values)) < len(values):
            raise MisuseError(f"values of {self.name}", "be distinct, and at least one", values.tolist())
        if self.name in (*FACTORS, "scale") and values.min() <= 0.0:
            raise MisuseError(f"values of {self.name}", "be factors above 0", values.min())
        check_count("coordinate", self.coordinate, 0)
        if self.name != "position" and self.coordinate != 0:
            raise MisuseError("coordinate", "be left out unless the name is 'position'", self.coordinate)
        if self.pattern is not None:
            if self.name not in WITH_PATTERN:
                raise MisuseError("pattern", "be left out unless the name is 'gain' or 'phase'", repr(self.name))
            object.__setattr__(self, "pattern", read_only(check_array("pattern", self.pattern, (None,))))
        object.__setattr__(self, "values", read_only(values))

    @property
    def label(self) -> str:
        """The name in reports; unless given the kind, and for positions along a later coordinate its number too."""
        return self.called or (f"{self.name} {self.coordinate}" if self.coordinate else self.name)

    def channel_pattern(self, n_channels: int) -> Array:
        """(q,) how much each channel takes part."""
        if self.pattern is None:
            return np.linspace(-1.0, 1.0, n_channels)
        return check_array(f"pattern of {self.name}", self.pattern, (n_channels,))


def encode_parameter(parameter: Parameter) -> dict[str, object]:
    """Write the whole parameter as JSON."""
    return {
        "kind": parameter.name,
        "values": parameter.values.tolist(),
        "pattern": None if parameter.pattern is None else parameter.pattern.tolist(),
        "coordinate": parameter.coordinate,
        "called": parameter.called,
    }


def decode_parameter(node: Mapping[str, object]) -> Parameter:
    """The parameter that `encode_parameter` wrote."""
    pattern = None if node["pattern"] is None else np.array(node["pattern"])
    values = np.array(node["values"], dtype=np.float64)
    coordinate = int(str(node["coordinate"]))
    return Parameter(str(node["kind"]), values, pattern, coordinate, str(node["called"]))


Chosen = Sequence[tuple[Parameter, float]]

# Numbers of all settings together: more are refused before one is worked out.
MOST_ENTRIES: Final = 2**26

# Of its largest number: what is above belongs to a line of a response.
_LINE_SHARE: Final = 0.05

# Of the largest value of a response: one that is nowhere larger than this in a window has no line there.
NO_LINE: Final = 1e-9

# Where gain and offset cancel the answer down to this share of it, what is left is rounding error.
SMALLEST_SHARE: Final = 1e-12


@final
@dataclass(frozen=True, slots=True, eq=False)
class Settings:
    """K settings of the instrument; complex answers stand as adjacent pairs (Re, Im) of channels."""

    names: tuple[str, ...]  # (p,)
    values: Array  # (K, p), the first parameter slowest
    responses: Array = field(repr=False)  # (K, q, E) or, of q complex channels, (K, 2 q, E); unit columns
    is_complex: bool
    headings: tuple[tuple[str, ...] | None, ...] = (
        None,
        None,
    )  # names of channels and elements, where answers had some
    visible: BoolArray | None = None  # (E,) elements with a line in the window; all without one

    def of_visible(self) -> "Settings":
        """The settings of the elements that have a line in the window."""
        if self.visible is None or self.visible.all():
            return self
        channels, elements = self.headings
        names = elements and tuple(name for name, seen in zip(elements, self.visible, strict=True) if seen)
        responses = read_only(self.responses[:, :, self.visible])
        return replace(self, responses=responses, headings=(channels, names), visible=None)


def settings_grid(
    response: Response | ArrayLike,
    places: ArrayLike,
    parameters: Sequence[Parameter] = (),
    axis: ArrayLike | None = None,
    window: ArrayLike | None = None,
) -> Settings:
    """The answers of E elements under every combination of the parameters, each column brought to unit norm.

    response: a response, any function of that kind, or the (q, E) nominal answers themselves, which no parameter can
    move to other places; names along their axes are matched by the bank to those of its library.
    places: (E, d).  axis: (q,) what channels stand for, increasing, for shift, scale and the width of a response that
    has none of its own; their numbers unless given.  window: [low, high] on the axis, or several.  Answers are worked
    out on the whole axis, so that lines may move into the window; then only its channels are left.  An element has no
    line there if its answer is at most 1e-9 of its largest value, whatever the setting: if N counts are in its highest
    channel, it adds at most N / 1e9 to a channel of the window.  Its columns are 0; `Settings.of_visible` drops them.

    Whatever the order of the parameters, factors and position act first, then width, scale and shift along the axis (by
    monotone cubics between channels, so that nothing becomes negative), then gain and phase, and the offset is added
    last.  Without parameters there is one setting.

    >>> grid = settings_grid([[3.0], [4.0]], [[0.0]], [Parameter("gain", [0.0, 0.5], pattern=[0.0, 1.0])])
    >>> grid.names, grid.values.tolist(), grid.responses[0].tolist()
    (('gain',), [[0.0], [0.5]], [[0.6], [0.8]])
    """
    where = check_array("places", places, (None, None))
    if not len(where) or (callable(response) and not where.shape[1]):  # names alone have answers, but not by formula
        raise MisuseError("places", "hold at least one place with coordinates", f"shape {where.shape}")
    held = ReaderOutput(np.empty(0)) if callable(response) else as_reader_output("response", response)
    # A function of the user's own gets a copy that it cannot change: the places are what a report speaks of.
    nominal = check_answers("response", response(read_only(where)) if callable(response) else held.values, len(where))
    labels = _labels(parameters)
    for parameter in parameters:
        _check_applies(parameter, response, where, nominal)

    channels = check_axis(axis, len(nominal))
    n_settings = prod(len(parameter.values) for parameter in parameters)
    if n_settings * nominal.size > MOST_ENTRIES:
        rule = f"give at most {MOST_ENTRIES:,} numbers, settings times channels times elements"
        raise MisuseError("parameters", rule, f"{n_settings:,} settings of {len(nominal)} x {len(where)}")
    grid = list(product(*(parameter.values.tolist() for parameter in parameters)))
    is_complex = bool(np.iscomplexobj(nominal))
    chosen = [list(zip(parameters, point, strict=True)) for point in grid]
    inside = np.ones(len(channels), dtype=np.bool_) if window is None else in_window(channels, window)
    pairs = [_answers(response, where, nominal, channels, each) for each in chosen]
    visible = None
    if window is not None:
        shares = [np.abs(a[inside]).max(axis=0) > NO_LINE * np.abs(a).max(axis=0) for a, _ in pairs]
        visible = read_only(np.any(shares, axis=0), np.bool_)
        held = replace(held, headings=(_of_window(held.headings[0], inside), *held.headings[1:]))
    columns = [
        _unit_columns(answers[inside], base[inside], visible, each)
        for (answers, base), each in zip(pairs, chosen, strict=True)
    ]
    stacked = np.stack([as_pairs(answers, axis=0) if is_complex else answers.real for answers in columns])
    values = np.array(grid, dtype=np.float64).reshape(len(grid), len(labels))
    return Settings(labels, read_only(values), read_only(stacked), is_complex, held.headings, visible)


def _of_window(names: tuple[str, ...] | None, inside: BoolArray) -> tuple[str, ...] | None:
    return names and tuple(name for name, is_inside in zip(names, inside, strict=True) if is_inside)


def _labels(parameters: Sequence[Parameter]) -> tuple[str, ...]:
    for parameter in parameters:
        check_instance("parameters", parameter, Parameter)
    labels = tuple(parameter.label for parameter in parameters)
    if len(set(labels)) < len(labels):
        raise MisuseError("parameters", "be distinct", ", ".join(map(repr, labels)))
    acts: dict[object, str] = {}  # what each does -> its label
    for parameter in parameters:
        pattern = None if parameter.pattern is None else tuple(parameter.pattern.tolist())
        twin = acts.setdefault((parameter.name, parameter.coordinate, pattern), parameter.label)
        if twin != parameter.label:
            rule = "differ in pattern or coordinate where they are of one kind"
            raise MisuseError("parameters", rule, f"{twin!r} and {parameter.label!r}")
    return labels


def _check_applies(
    parameter: Parameter, response: Response | ArrayLike, places: Array, nominal: Array | ComplexArray
) -> None:
    """Refuse what could only be left without effect."""
    name = f"parameter {parameter.label!r}"
    match parameter.name:
        case "conductivity" if not _has(response, parameter.name):
            raise MisuseError(name, f"go with a response that has a {parameter.name}", type(response).__name__)
        case "width" if not _has(response, parameter.name):
            _check_lines(name, nominal)
        case "position" if not callable(response):
            raise MisuseError(name, "go with a response that can be asked at other places", "fixed nominal answers")
        case "position" if parameter.coordinate >= places.shape[1]:
            raise MisuseError(name, f"move along one of the {places.shape[1]} coordinates", parameter.coordinate)
        case "phase" if not np.iscomplexobj(nominal):
            raise MisuseError(name, "go with a complex response", "real answers")
        case "shift" | "scale" if len(nominal) < 2:
            raise MisuseError(name, "go with two channels or more", len(nominal))
        case "gain" | "phase":
            parameter.channel_pattern(len(nominal))


def _check_lines(name: str, nominal: Array | ComplexArray) -> None:
    """Refuse responses that would not only widen: several lines would move apart, and one at an end from there."""
    if np.iscomplexobj(nominal) or len(nominal) < 2:
        raise MisuseError(
            name, "go with a peak, or with real responses along an axis", Clause("the response is another")
        )
    is_high = np.abs(nominal) > _LINE_SHARE * np.abs(nominal).max(axis=0)
    starts = np.diff(is_high.astype(np.int8), axis=0, prepend=0) == 1
    is_other = (starts.sum(axis=0) > 1) | is_high[0] | is_high[-1]
    if is_other.any():
        remedy = (
            'Give their lines: response = { kind = "lines", ... }; or the responses at other widths as variants: '
            "responses = [file, file]."
        )
        rule = "go with responses of one line each within the axis, which it stretches"
        raise MisuseError(name, rule, Clause(f"column {int(is_other.argmax())} has others"), remedy)


def _has(response: object, name: str) -> bool:
    return is_dataclass(response) and name in {entry.name for entry in fields(response)}


def _answers(
    response: Response | ArrayLike, places: Array, nominal: Array | ComplexArray, axis: Array, chosen: Chosen
) -> tuple[Array | ComplexArray, Array | ComplexArray]:
    """(q, E) under one setting, and the same before gain, phase and offset."""
    moved = _moved(response, places, nominal, chosen)
    values = {parameter.name: value for parameter, value in chosen}
    if not _has(response, "width"):
        moved = widened(axis, moved, values.get("width", 1.0))
    base = moved_along(axis, moved, values.get("shift"), values.get("scale"))
    largest = np.abs(base).max(axis=0)  # (E,)
    answers = base
    offset = 0.0
    for parameter, value in chosen:
        if parameter.name == "gain":
            answers = answers * (1.0 + value * parameter.channel_pattern(len(base)))[:, None]
        elif parameter.name == "phase":
            answers = answers * np.exp(1j * value * parameter.channel_pattern(len(base)))[:, None]
        elif parameter.name == "offset":
            offset = value
    return answers + offset * largest, base


def _unit_columns(
    answers: Array | ComplexArray, base: Array | ComplexArray, visible: BoolArray | None, chosen: Chosen
) -> Array | ComplexArray:
    """(q, E) brought to unit norm, 0 for elements that are not visible; base: before gain, phase and offset."""
    scale = np.abs(answers).max(axis=0)
    is_lost = (scale <= SMALLEST_SHARE * np.abs(base).max(axis=0)) | (scale < np.finfo(np.float64).tiny)
    if visible is not None:
        scale = np.where(visible, scale, np.inf)
    lost = np.flatnonzero(is_lost & np.isfinite(scale))
    if len(lost):
        setting = ", ".join(f"{parameter.label} = {value:g}" for parameter, value in chosen)
        absence = f"none for place {lost[0]}" + (f" with {setting}" if setting else "")
        remedy = "" if visible is None else "Widen the window: other values of the parameters have a line in it."
        raise MisuseError("response", "be an answer above 0 in some channel for every place", absence, remedy)
    scaled = answers / scale  # squares of the entries neither overflow nor vanish
    return np.asarray(scaled / np.where(np.isfinite(scale), np.linalg.norm(scaled, axis=0), 1.0))


def _moved(
    response: Response | ArrayLike, places: Array, nominal: Array | ComplexArray, chosen: Chosen
) -> Array | ComplexArray:
    """The answers with the width and at the places of a setting."""
    moved = places.copy()
    for parameter, value in chosen:
        if parameter.name in FACTORS and _has(response, parameter.name):
            # `_has` has found it to be a dataclass with this field.
            response = replace(response, **{parameter.name: getattr(response, parameter.name) * value})  # type: ignore[type-var]
        elif parameter.name == "position":
            moved[:, parameter.coordinate] += value
    if not callable(response) or not {parameter.name for parameter, _ in chosen} & {*FACTORS, "position"}:
        return nominal
    answers = check_answers("response", response(read_only(moved)), len(moved), len(nominal))
    if np.iscomplexobj(answers) and not np.iscomplexobj(nominal):
        raise MisuseError("response", "be real everywhere or complex everywhere", "both, depending on the place")
    return answers


class SourceErrors(NamedTuple):
    """Sines of S sources, each in the state that fits the others best; and the state that fits all of them best."""

    sines: Array  # (S,)
    state: int


def source_errors(
    states: ArrayLike, measured: Sequence[ArrayLike], background: ArrayLike | None = None
) -> SourceErrors:
    r"""Sines of the angles between S responses and what was measured of them, leave one out.

    A source has rows (n, q), in each of which its response may have another coefficient: their leading singular vector
    h is what was measured.  With Q the projection beside the background, the least :math:`|d|/|a|` with which a + d
    explains it is :math:`\sin\angle(Qh, Qa)\,|Qa|/|a|`, which noise enlarges on average.  Of several states of the
    instrument, the one with the least largest sine over the other sources counts for a source.  If sources are
    exchangeable with a further one, that lies beyond the largest of them with probability at most 1 / (S + 1), where
    there is one state.

    states: (V, q, S) the responses of these sources.  measured: rows of each, real or complex as these.
    """
    columns = np.asarray(states)
    if columns.ndim != 3 or columns.shape[2] != len(measured) or len(measured) < 2:
        rule = "have shape (states, channels, sources), of two sources or more"
        raise MisuseError("states", rule, f"shape {columns.shape} and {len(measured)} measured")
    q = columns.shape[1]
    basis = _basis(np.zeros((q, 0)) if background is None else np.asarray(background), q)
    directions = np.array([_direction(np.atleast_2d(np.asarray(rows)), basis, i) for i, rows in enumerate(measured)]).T
    beside = columns - basis @ (basis.conj().T @ columns)
    left = beside - directions * (directions.conj() * beside).sum(axis=1, keepdims=True)
    sines = np.linalg.norm(left, axis=1) / np.linalg.norm(columns, axis=1)  # (V, S)
    chosen = [int(np.delete(sines, i, axis=1).max(axis=1).argmin()) for i in range(len(measured))]
    return SourceErrors(read_only(sines[chosen, np.arange(len(measured))]), int(sines.max(axis=1).argmin()))


def _basis(background: Field, q: int) -> Field:
    if background.ndim != 2 or len(background) != q:
        raise MisuseError("background", f"have {q} rows, one for each channel", f"shape {background.shape}")
    left, values, _ = np.linalg.svd(background, full_matrices=False)
    return np.asarray(left[:, values > 1e-10 * values.max(initial=0.0)])


def _direction(rows: Field, basis: Field, source: int) -> Field:
    """(q,) of norm 1: the response in rows (n, q), beside the background."""
    if rows.ndim != 2 or rows.shape[1] != len(basis) or not np.isfinite(rows).all():
        raise MisuseError(f"rows of source {source}", f"be finite, with {len(basis)} channels", f"shape {rows.shape}")
    left = rows - (rows @ basis.conj()) @ basis.T
    if not np.linalg.norm(left) > 1e-12 * np.linalg.norm(rows):
        raise MisuseError(
            f"rows of source {source}", "have something beside the background", Clause("there is nothing")
        )
    return np.asarray(np.linalg.svd(left, full_matrices=False)[2][0])
