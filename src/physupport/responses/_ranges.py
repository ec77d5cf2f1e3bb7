r"""Elements anywhere in cells of places, with parameters anywhere in a box: balls that hold all their responses.

With u the answer at unit norm and :math:`s_k` bounds of :math:`|\partial_ku|` over a cell, u lies within
:math:`\sum_kh_ks_k` of the answer in the middle, :math:`h_k` half the sides of the cell.  Of complex answers this is
meant up to a phase, which coefficients have anyway.

Two elements along one coordinate x whose cells meet may be as alike as one likes, and no ball around their two answers
excludes anything.  Their span has another basis, half the sum of both answers and the mean of :math:`\partial_xu` along
the way from one place to the other, which is their difference over that of the places.  From the middles of the cells
to any of their points the sum moves by at most :math:`\frac12(h_1s_1 + h_2s_2)` and the mean by at most
:math:`\frac12M(h_1 + h_2)`, with M a bound of :math:`|\partial_x^2u|` between them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, Self, final

import numpy as np
from typing_extensions import TypedDict

from .._checks import check_array, read_only
from .._codec import Refusal, array_json, check_form, real
from .._errors import MisuseError
from .._typing import Array, Field, IntArray
from ..io import as_complex
from ._base import Response, decode_response, encode_response
from ._cells import Cell
from ._formula import Bounds, box_bounds
from ._settings import Parameter, decode_parameter, encode_parameter, settings_grid

# Of unit answers: far more than their rounding.
_ROUNDING: Final = 1e-12
# Bounds that are kept, one of each box that was asked about.
_MOST_KEPT: Final = 2**14

_Form = TypedDict("_Form", {
    "response": dict[str, Any], "places": dict[str, Any], "halves": dict[str, Any], "parameters": list[dict[str, Any]],
})  # fmt: skip


class Balls(NamedTuple):
    """Columns (q, k), of norm 1 unless they are differences, and how far (k,) each may be off."""

    columns: Field
    radii: Array


@final
@dataclass(frozen=True, slots=True, eq=False)
class Ranges:
    """Responses of E elements, each anywhere in a cell of its own, with parameters anywhere between their ends.

    A cell of an explanation has the coordinates of its elements, one after the other, and then the parameters, which
    are the same for all elements.  The response proves bounds of its derivatives (see `box_bounds`).
    places, halves: (E, d) the middles of the cells of elements, and half their sides, 0 where a place is known.
    """

    response: Response
    places: Array
    halves: Array
    parameters: Sequence[Parameter] = ()
    box: Cell = field(init=False)  # all values of all parameters
    _kept: dict[tuple[bytes, bool], Bounds] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "places", read_only(check_array("places", self.places, (None, None))))
        object.__setattr__(self, "halves", read_only(check_array("halves", self.halves, self.places.shape)))
        object.__setattr__(self, "parameters", tuple(self.parameters))
        if self.halves.min(initial=0.0) < 0.0:
            raise MisuseError("halves", "be at least 0", self.halves.min())
        for parameter in self.parameters:
            if len(parameter.values) != 2:
                rule = "have two values, the ends of its range"
                raise MisuseError(f"parameter {parameter.label!r}", rule, parameter.values.tolist())
        ends = np.array([[parameter.values.min(), parameter.values.max()] for parameter in self.parameters])
        object.__setattr__(self, "box", Cell(*ends.reshape(-1, 2).T))
        if not self.parameters and not self.halves.any():
            raise MisuseError("halves", "be above 0 somewhere unless a parameter has a range", "0")
        self._whole(second=False)  # a response that proves nothing is refused here

    @property
    def names(self) -> tuple[str, ...]:
        """(p,) what the parameters are called."""
        return tuple(parameter.label for parameter in self.parameters)

    @property
    def has_bends(self) -> bool:
        """True if elements lie along one coordinate, of which the response proves bounds of second derivatives."""
        names = {parameter.name for parameter in self.parameters}
        return (
            self.places.shape[1] == 1
            and getattr(self.response, "form", None) is not None
            and names <= {"position", "width"}
        )

    def root(self, groups: IntArray) -> Cell:
        """The smallest cell that holds those of all these explanations, (n, k) elements of each."""
        low = (self.places - self.halves)[groups].min(axis=0).ravel()
        high = (self.places + self.halves)[groups].max(axis=0).ravel()
        return Cell(np.append(low, self.box.low), np.append(high, self.box.high))

    def weights(self, root: Cell) -> Array:
        """(k d + p,) how much a unit of every coordinate and parameter moves the responses, at most."""
        d = self.places.shape[1]
        slopes = [self._bounds(low, high, second=False).slopes for low, high in self._places_of(root)]
        table = np.array(slopes).reshape(-1, d + len(self.parameters))
        return np.append(table[:, :d], table[:, d:].sum(axis=0))

    def columns(self, point: Array) -> Field:
        """(q, k) the unit answers at a point of a cell."""
        (q,) = self.box.low.shape
        places = point[: len(point) - q].reshape(-1, self.places.shape[1])
        if not self.parameters:
            answers = np.asarray(self.response(read_only(places)))
            return np.asarray(answers / np.linalg.norm(answers, axis=0))
        values = point[len(point) - q :].tolist()
        at = [replace(each, values=np.array([value])) for each, value in zip(self.parameters, values, strict=True)]
        settings = settings_grid(self.response, places, at)
        return as_complex(settings.responses[0]) if settings.is_complex else settings.responses[0]

    def balls(self, cell: Cell, root: Cell | None) -> Balls:
        """The answers in the middle of a cell of k elements, by bounds within a root; None: within all cells."""
        half = 0.5 * cell.sides
        d = self.places.shape[1]
        own = half[: len(half) - len(self.parameters)].reshape(-1, d)
        shared = half[own.size :]
        if root is None:
            slopes = np.tile(self._whole(second=False).slopes, (len(own), 1))
        else:
            slopes = np.array([self._bounds(low, high, second=False).slopes for low, high in self._places_of(root)])
        radii = (slopes[:, :d] * own).sum(axis=1) + slopes[:, d:] @ shared
        return Balls(self.columns(cell.middle), radii + _ROUNDING * (1.0 + radii))

    def merged(self, cell: Cell) -> Balls:
        """The other basis of the span of two answers, see above; requires `has_bends` and different middles."""
        half = 0.5 * cell.sides
        middle = cell.middle
        bounds = self._whole(second=True)  # slopes of answers as they are: a phase of each alone would change the sum
        slopes = bounds.slopes
        bends = bounds.bends[0]
        first, second = self.columns(middle).T
        columns = np.stack([0.5 * (first + second), (second - first) / (middle[1] - middle[0])], axis=1)
        apart = 0.5 * (half[0] + half[1])
        radii = np.array([apart * slopes[0] + half[2:] @ slopes[1:], apart * bends[0] + half[2:] @ bends[1:]])
        return Balls(columns, radii * (1.0 + _ROUNDING) + _ROUNDING * np.array([1.0, 2.0 / abs(middle[1] - middle[0])]))

    def _places_of(self, cell: Cell) -> list[tuple[Array, Array]]:
        """The ends of the places of every element of a cell."""
        count = len(cell.low) - len(self.parameters)
        low, high = (end[:count].reshape(-1, self.places.shape[1]) for end in (cell.low, cell.high))
        return [*zip(low, high, strict=True)]

    def _whole(self, *, second: bool) -> Bounds:
        """Those over the smallest box that holds all cells."""
        low, high = (self.places - self.halves).min(axis=0), (self.places + self.halves).max(axis=0)
        return self._bounds(low, high, second=second)

    def _bounds(self, low: Array, high: Array, *, second: bool) -> Bounds:
        """The bounds that the response proves over a box of places and all parameters."""
        key = low.tobytes() + high.tobytes(), second
        if key not in self._kept:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            self._kept[key] = box_bounds(self.response, low, high, self.parameters, second=second, is_turned=not second)
        return self._kept[key]

    def encode(self) -> dict[str, object]:
        """Write the whole object as JSON."""
        node = encode_response(self.response)
        if node is None:
            raise MisuseError("response", "be of a kind that is registered", type(self.response).__name__)
        return {
            "response": node,
            "places": array_json(self.places),
            "halves": array_json(self.halves),
            "parameters": [encode_parameter(parameter) for parameter in self.parameters],
        }

    @classmethod
    def decode(cls, node: Mapping[str, Any]) -> Self:
        """Read what `encode` wrote."""
        check_form(node, _Form, "the ranges")
        parameters = [decode_parameter(each) for each in node["parameters"]]
        places, halves = (real(node[name], None, None) for name in ("places", "halves"))
        if places.shape != halves.shape:
            raise Refusal("the ranges have other sides than places")
        return cls(decode_response(node["response"]), places, halves, parameters)
