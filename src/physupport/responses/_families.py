r"""Responses whose parameters may lie anywhere in a box: what they are at most, and at least, in any cell of it.

Enclosures are interval arithmetic with every rounding outwards: each channel of the response lies between the two ends
for every value of the parameters in the cell.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, NamedTuple, Self, final

import numpy as np
import scipy
from numpy.typing import ArrayLike
from typing_extensions import TypedDict

from .._checks import check_array, read_only
from .._codec import Refusal, array_json, check_form, real
from .._errors import Clause, MisuseError
from .._typing import Array, BoolArray
from ._base import Response, decode_response, encode_response
from ._cells import Cell
from ._detector import Lines
from ._expression import Enclosure, Jet, jets, worked
from ._formula import Form
from ._settings import Parameter, check_axis, decode_parameter, encode_parameter

# Kinds of parameters whose effect has an enclosure.
_KINDS: Final = ("position", "width", "shift", "scale", "gain")
_ALONG: Final = ("shift", "scale")
# Of the largest value of a tabulated response: far more than the rounding of its interpolation.
_TABLE_ERROR: Final = 1e-13
# The cell by which the moves of parameters are compared, as a share of the box.
_SMALL: Final = 1.0 / 64.0

_Family = TypedDict("_Family", {
    "response": dict[str, Any] | None, "columns": dict[str, Any] | None, "places": dict[str, Any],
    "parameters": list[dict[str, Any]], "axis": list[float] | None, "inside": list[int] | None,
    "norms": list[float],
})  # fmt: skip


class Ends(NamedTuple):
    """The least and the largest value (q, E) of each entry of the responses."""

    low: Array
    high: Array


@final
@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """Real responses of E elements, with every parameter anywhere between the ends of its values.

    A response on an axis of its own is asked at the moved channels, (t - shift) / scale of channel t.  A table (q, E)
    is interpolated there by the monotone cubics of `settings_grid`, and stays as it is beyond its ends; `width`
    stretches each of its columns about its centre.

    >>> from ._instruments import Peak
    >>> peak = Peak([0.0, 1.0, 2.0], width=1.0)
    >>> family = Family(peak, [[1.0]], [Parameter("width", [0.5, 1.0])], norms=np.ones(1))
    >>> family.ends(Cell([0.5], [1.0])).high.round(3).ravel().tolist()
    [0.607, 1.0, 0.607]
    """

    response: Response | ArrayLike
    places: Array  # (E, d)
    parameters: Sequence[Parameter]
    axis: ArrayLike | None = field(default=None, repr=False)  # (q,) of a table
    inside: BoolArray | None = field(default=None, repr=False)  # (q,) channels that are kept; all unless given
    norms: Array | None = None  # (E,) by which answers are divided: those at the middle of the box, unless given

    def __post_init__(self) -> None:
        object.__setattr__(self, "places", read_only(check_array("places", self.places, (None, None))))
        object.__setattr__(self, "parameters", tuple(self.parameters))
        if not callable(self.response):
            columns = check_array("response", self.response, (None, len(self.places)))
            object.__setattr__(self, "response", read_only(columns))
            object.__setattr__(self, "axis", read_only(check_axis(self.axis, len(columns))))
        if self.inside is not None:
            object.__setattr__(self, "inside", read_only(np.asarray(self.inside), np.bool_))
        self._check_parameters()
        if self.norms is None:
            object.__setattr__(self, "norms", np.ones(len(self.places)))
            middle = self.ends(Cell.at(self.box.middle))
            norms = np.linalg.norm(0.5 * (middle.low + middle.high), axis=0)
            if not norms.min() > 0.0:
                raise MisuseError("response", "be above 0 in some channel for every place", Clause("it is 0"))
            object.__setattr__(self, "norms", read_only(norms))

    def _check_parameters(self) -> None:
        labels = [parameter.label for parameter in self.parameters]
        if not labels or len({*labels}) < len(labels):
            raise MisuseError("parameters", "be at least one, with different names", labels)
        for parameter in self.parameters:
            name = f"parameter {parameter.label!r}"
            if parameter.name not in _KINDS:
                raise MisuseError(name, f"be {', '.join(_KINDS)} to lie anywhere in a range", repr(parameter.name))
            if len(parameter.values) != 2:
                raise MisuseError(name, "have two values, the ends of its range", parameter.values.tolist())
            is_table = not callable(self.response)
            if parameter.name == "position" and is_table:
                raise MisuseError(name, "go with a response that can be asked at other places", "a table")
            if parameter.name in _ALONG and not is_table and "t" not in self._channels:
                raise MisuseError(name, "go with a response along an axis", type(self.response).__name__)

    @property
    def box(self) -> Cell:
        """The box of all parameter values."""
        ends = np.array([[parameter.values.min(), parameter.values.max()] for parameter in self.parameters])
        return Cell(*ends.reshape(-1, 2).T)

    @property
    def names(self) -> tuple[str, ...]:
        """(p,) what the parameters are called."""
        return tuple(parameter.label for parameter in self.parameters)

    @property
    def weights(self) -> Array:
        """(p,) how much a unit of each parameter moves the responses, about the middle of the box."""
        box = self.box
        small = box.sides * _SMALL
        moves = np.zeros(len(small))
        for k in np.flatnonzero(small > 0.0).tolist():
            middle = box.middle
            low, high = self.ends(Cell.at(middle).cut(k, middle[k] - 0.5 * small[k], middle[k] + 0.5 * small[k]))
            moves[k] = float(((high - low).sum(axis=0) / np.maximum(high.sum(axis=0), 1e-300)).mean()) / small[k]
        return moves

    def ends(self, cell: Cell) -> Ends:
        """The ends of the responses in the channels that are kept, over all values of the cell."""
        values = {kind: Enclosure.of({"width": 1.0, "scale": 1.0}.get(kind, 0.0)) for kind in _KINDS}
        places = [Enclosure.of(self.places[None, :, k]) for k in range(self.places.shape[1])]
        factor = Enclosure.of(1.0)
        channels = self._all_channels
        for parameter, low, high in zip(self.parameters, cell.low, cell.high, strict=True):
            value = Enclosure(np.asarray(low), np.asarray(high))
            if parameter.name == "gain":
                pattern = Enclosure.of(parameter.channel_pattern(len(channels))[:, None])
                factor = factor * (Enclosure.of(1.0) + value * pattern)
            elif parameter.name == "position":
                places[parameter.coordinate] = places[parameter.coordinate] + value
            else:
                values[parameter.name] = value
        moved = Enclosure.of(channels[:, None])
        if {*_ALONG} & {parameter.name for parameter in self.parameters}:
            moved = (moved + values["shift"].scaled(-1.0)) * values["scale"].reciprocal()
        answers = self._answers(moved, places, values["width"]) * factor
        assert self.norms is not None
        answers = answers * Enclosure.of(1.0 / self.norms)
        shape = len(channels), len(self.places)
        low, high = (np.broadcast_to(end, shape) for end in (answers.low, answers.high))
        inside = slice(None) if self.inside is None else self.inside
        return Ends(low[inside], high[inside])

    @property
    def _channels(self) -> Mapping[str, Array]:
        """The numbers of the channels of a response by formula."""
        if isinstance(self.response, Lines):
            return {"t": self.response.axis}
        return self._form.channels

    @property
    def _form(self) -> Form:
        own = getattr(self.response, "form", None)
        form: Form | None = None if own is None else own()
        if form is None or len(form.parts) > 1:
            rule = "be a table, lines, a peak or a real formula, which have an enclosure"
            raise MisuseError("response", rule, type(self.response).__name__)
        return form

    @property
    def _all_channels(self) -> Array:
        """(q,) where channels lie, or their numbers."""
        if callable(self.response):
            channels = self._channels
            return channels["t"] if "t" in channels else np.arange(len(next(iter(channels.values()))), dtype=np.float64)
        return np.asarray(self.axis)

    def _answers(self, moved: Enclosure, places: Sequence[Enclosure], width: Enclosure) -> Enclosure:
        """The responses at moved channels."""
        if isinstance(self.response, Lines):
            return _lines_between(self.response, moved, self.places, places, width)
        if callable(self.response):
            form = self._form
            values = {name: _constant(Enclosure.of(column[:, None])) for name, column in form.channels.items()}
            if "t" in values:
                values["t"] = _constant(moved)
            named = {name: _constant(place) for name, place in zip(form.places, places, strict=True)}
            own_width = values.get("width", _constant(Enclosure.of(form.width)))
            values |= named | {"width": own_width * _constant(width)}
            with np.errstate(all="ignore"):
                jet: Jet = worked(form.parts[0], values, partial(jets, 0))
            if not (np.isfinite(jet.value.low).all() and np.isfinite(jet.value.high).all()):
                raise MisuseError("response", "be finite all over its box", Clause("the formula is not"))
            return jet.value
        assert self.axis is not None
        return _table_between(np.asarray(self.axis), np.asarray(self.response), moved, width)

    def encode(self) -> dict[str, object]:
        """Write the whole object as JSON."""
        is_table = not callable(self.response)
        node = None if is_table else encode_response(self.response)  # type: ignore[arg-type]
        if not is_table and node is None:
            raise MisuseError("response", "be a table, or of a kind that is registered", type(self.response).__name__)
        assert self.norms is not None
        return {
            "response": node,
            "columns": array_json(np.asarray(self.response)) if is_table else None,
            "places": array_json(self.places),
            "parameters": [encode_parameter(parameter) for parameter in self.parameters],
            "axis": None if self.axis is None else np.asarray(self.axis).tolist(),
            "inside": None if self.inside is None else np.flatnonzero(self.inside).tolist(),
            "norms": self.norms.tolist(),
        }

    @classmethod
    def decode(cls, node: Mapping[str, Any]) -> Self:
        """Read what `encode` wrote."""
        check_form(node, _Family, "the parameters")
        response: Response | Array
        if node["response"] is None:
            response = real(node["columns"], None, None)
            n_channels = len(response)
        else:
            response = decode_response(node["response"])
            n_channels = len(np.asarray(response(real(node["places"], None, None))))
        inside = None
        if node["inside"] is not None:
            inside = np.zeros(n_channels, dtype=np.bool_)
            inside[node["inside"]] = True
        parameters = [decode_parameter(each) for each in node["parameters"]]
        norms = np.array(node["norms"], dtype=np.float64)
        family = cls(response, real(node["places"], None, None), parameters, node["axis"], inside, norms)
        if norms.shape != (len(family.places),) or not (norms > 0.0).all():
            raise Refusal("the parameters have norms that are not above 0")
        return family


def _constant(value: Enclosure) -> Jet:
    return Jet(value, (), ())


def _lines_between(
    lines: Lines, moved: Enclosure, own: Array, places: Sequence[Enclosure], width: Enclosure
) -> Enclosure:
    r"""Lines of widths and channels in ranges: :math:`h/\sigma\,e^{-d^2/2\sigma^2}` over distances d and widths.

    It falls with d, and along sigma it rises up to d and falls from there.
    """
    if any((place.low != place.high).any() for place in places):
        raise MisuseError(
            "parameter 'position'",
            "be left out with lines, which have energies",
            Clause("it has a range"),
            "Take shift.",
        )
    energies = lines.lines[:, -2]
    with np.errstate(all="ignore"):
        away = moved + Enclosure.of(-energies[None])
        near, far = away.smallest, away.largest
        deviations = width * Enclosure.of(lines.deviations(energies)[None])

        def height(distance: Array, deviation: Array) -> Enclosure:
            """A Gaussian peak, up to its factor, with every rounding outwards."""
            size = Enclosure.of(deviation)
            exponent = (Enclosure.of(distance) * size.reciprocal()).power(2).scaled(-0.5)
            return exponent.rising(np.exp) * size.reciprocal()

        least = np.minimum(height(far, deviations.low).low, height(far, deviations.high).low)
        best = np.clip(near, deviations.low, deviations.high)
        most = height(near, best).high
    heights = lines.lines[:, -1]
    is_own = (lines.lines[:, None, :-2] == own).all(axis=2).astype(np.float64)  # (L, E)
    slack = 2.0**-50 * (len(heights) + 2.0)  # of sums of numbers that are not negative
    low = (np.maximum(least, 0.0) * heights) @ is_own * (1.0 - slack)
    high = (np.nextafter(most, np.inf) * heights) @ is_own * (1.0 + slack)
    return Enclosure(low, high)


def _table_between(axis: Array, columns: Array, moved: Enclosure, width: Enclosure) -> Enclosure:
    """Columns (q, E) interpolated between channels, each over all places that a channel may have moved to.

    Monotone cubics have their extremes at nodes, so that the ends and the nodes of an interval bound them.
    """
    low = np.empty((len(moved.low), columns.shape[1]))
    high = np.empty_like(low)
    is_stretched = bool((width.low != 1.0) | (width.high != 1.0))
    for j, column in enumerate(columns.T):
        where = moved
        if is_stretched:
            centre = Enclosure.of(float(axis @ np.abs(column) / np.abs(column).sum()))
            where = centre + (moved + centre.scaled(-1.0)) * width.reciprocal()
        ends = [np.clip(end.ravel(), axis[0], axis[-1]) for end in (where.low, where.high)]
        with np.errstate(over="ignore"):
            values = scipy.interpolate.PchipInterpolator(axis, column)(np.array(ends))
        least, most = values.min(axis=0), values.max(axis=0)
        first = np.searchsorted(axis, ends[0])
        count = np.searchsorted(axis, ends[1], side="right") - first
        for step in range(int(count.max(initial=0))):
            node = column[np.minimum(first + step, len(axis) - 1)]
            least = np.where(step < count, np.minimum(least, node), least)
            most = np.where(step < count, np.maximum(most, node), most)
        slack = _TABLE_ERROR * np.abs(column).max()
        low[:, j] = least - slack
        high[:, j] = most + slack
    return Enclosure(low, high)
