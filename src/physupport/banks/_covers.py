"""Grids that speak for everything between their points: covers of boxes of places and parameters."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, NotRequired, final

import numpy as np
from numpy.typing import ArrayLike
from typing_extensions import TypedDict

from .._checks import check_array, check_count, check_positive
from .._codec import Real, Refusal, array_json, check_form, real
from .._errors import Clause, MisuseError
from .._typing import Array, IntArray
from ..responses import (
    Bounds,
    Parameter,
    Response,
    Settings,
    box_bounds,
    decode_parameter,
    decode_response,
    encode_parameter,
    encode_response,
    settings_grid,
)
from ._library import Library
from ._moves import MOST_CELLS, ROUNDING, Moved, Range, Scaled, range_steps, shift

_Reals = list[Real]
_Parameter = TypedDict("_Parameter", {
    "kind": str, "values": _Reals, "pattern": _Reals | None, "coordinate": int, "called": str,
})  # fmt: skip
_Region = TypedDict("_Region", {
    "region": str, "low": _Reals, "high": _Reals, "cells": list[int], "half": _Reals, "slopes": _Reals,
    "bends": dict[str, Any],
})  # fmt: skip
_Range = TypedDict("_Range", {
    "region": str | None, "low": Real, "high": Real, "cells": int, "size": Real, "is_shift": bool, "most": int,
})  # fmt: skip
CoverForm = TypedDict("CoverForm", {
    "asked": Real, "eta": Real, "kappa": Real, "is_shift": bool, "snr": Real, "active": int, "unit_kappa": Real,
    "move": Real, "tangents": bool, "coordinates": list[str], "unit": str, "regions": list[_Region],
    "parameters": list[_Parameter], "parameter_cells": list[int], "parameter_half": _Reals, "fixed": list[_Parameter],
    "response": dict[str, Any] | None, "bounds": Literal["given", "proven"], "axis": dict[str, Any] | None,
    "ranges": NotRequired[list[_Range]],
})  # fmt: skip


@final
@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """A box in equal cells, so many along every coordinate."""

    low: Array  # (d,)
    high: Array  # (d,)
    counts: IntArray  # (d,)
    bounds: Bounds  # of the answer at unit norm, along the coordinates and then along parameters

    @property
    def half(self) -> Array:
        """(d,) from the middle of a cell to its sides."""
        return np.asarray((self.high - self.low) / (2.0 * self.counts))

    @property
    def places(self) -> Array:
        """(E, d) the middles, the first coordinate slowest."""
        mesh = np.meshgrid(*_middles(self.low, self.high, self.counts), indexing="ij")
        return np.stack([axis.ravel() for axis in mesh], axis=1)

    def cell_of(self, place: ArrayLike) -> int:
        """The cell that a place of the box lies in."""
        point = check_array("place", place, (len(self.low),))
        outside = np.maximum(self.low - point, point - self.high) / self.half
        if outside.max() > ROUNDING:
            raise MisuseError("place", "lie in the box of the cover", point.tolist())
        along = np.clip((point - self.low) // (2.0 * self.half), 0, self.counts - 1)
        return int(np.ravel_multi_index(tuple(along.astype(np.int64)), tuple(self.counts.tolist())))


def _middles(low: Array, high: Array, counts: IntArray) -> list[Array]:
    """The middles of cells along each coordinate."""
    half = (high - low) / (2.0 * counts)
    return [a + h * (2.0 * np.arange(n) + 1.0) for a, h, n in zip(low, half, counts, strict=True)]


def _cell_move(half: Array, bounds: Bounds, tangents: bool) -> float:
    r"""Bound of :math:`|u(c + s) - u(c)|` over a cell :math:`|s_k| \le h_k`, of the least that tangents leave of it.

    Without tangents :math:`\sum_kh_ks_k`.  Tangents are differences over the cell by its length, the means of
    :math:`\partial_ku` along it; as :math:`\partial_ku` is off its mean by at most :math:`M_{kk}(t^2 + h_k^2)/2h_k` at
    t, and by :math:`M_{kl}|s_l|` beside it, they leave
    :math:`\frac23\sum_kM_{kk}h_k^2 + \sum_{k<l}M_{kl}h_kh_l`.
    """
    first = float(half @ bounds.slopes)
    if not tangents:
        return first * (1.0 + ROUNDING)
    product = np.outer(half, half) * bounds.bends
    return min(first, float(0.5 * product.sum() + np.trace(product) / 6.0)) * (1.0 + ROUNDING)


def _cell_counts(
    sides: Array, bounds: Bounds, allowed: float, tangents: bool, given: Sequence[int] | None = None
) -> Array:
    """(d,) the smallest numbers of cells along each coordinate that keep moves of responses within the allowed one.

    sides: half sides of the box.  given: the numbers along the first coordinates, if they are fixed.
    """
    if tangents:
        own = np.sqrt(np.diagonal(bounds.bends))
        steps = sides * own * np.sqrt(len(sides) * (len(sides) + 1 / 3) / (2.0 * allowed))
    else:
        steps = sides * bounds.slopes * len(sides) / allowed
    counts = np.maximum(np.ceil(steps * (1.0 - ROUNDING)), 1.0)
    while counts.prod() <= MOST_CELLS and _cell_move(sides / counts, bounds, tangents) > allowed * (1.0 + ROUNDING):
        counts = np.ceil(counts * 1.05 + ROUNDING)
    if counts.prod() > MOST_CELLS:
        remedy = "Make the box smaller, or expect less of the signal."
        raise MisuseError("box", f"need at most {MOST_CELLS} cells", f"{counts.prod():.3g}", remedy)
    if given is not None:
        counts[: len(given)] = given
        move = _cell_move(sides / counts, bounds, tangents)
        if move > allowed:
            raise MisuseError("cells", f"be small enough to move an answer by at most {allowed:.4g}", f"{move:.4g}")
    return np.asarray(counts)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Cover:
    r"""Places whose cells fill boxes, so near that rows of any place in a cell are like those of its middle.

    The law of all rows together moves by at most `moved` from the middle of a cell to anywhere in it: the mean of
    Gaussian rows by :math:`\eta` in units of the noise, other laws by a divergence.  Whatever rejects the middle with
    probability at most `level(a)` if it made the rows rejects it with probability at most a if a place of the cell did:
    a judge that runs at `level(a)` keeps the cell of the truth with probability at least 1 - a, wherever it lies.

    Ranges of strengths and noise have cells likewise.  From the truth rows move first to the middle place at the true
    strengths and noise, then to middle strengths, then to middle noise; each of the `steps` takes part of the level.
    """

    response: Response | None  # None: nobody here can work it out
    regions: Mapping[str, Cells]
    parameters: tuple[Parameter, ...]  # between the two values of each
    counts: IntArray  # (p,) their cells
    fixed: tuple[Parameter, ...]  # of which all values are tried
    snr: float
    active: int
    unit: Moved  # by a move of 1 of every active element
    tangents: bool = False
    coordinates: tuple[str, ...] = ()
    measure: str = ""  # the unit of the coordinates
    is_given: bool = False  # whether the bounds were given, and not proven here
    axis: Array | None = None  # (q,) what channels stand for
    ranges: tuple[Range, ...] = ()  # of strengths and noise

    @property
    def halves(self) -> Array:
        """(p,) from the middle of a parameter's cell to its ends."""
        low, high = _ends(self.parameters)
        return np.asarray((high - low) / (2.0 * self.counts))

    @property
    def move(self) -> float:
        """The largest move of an answer at unit norm within a cell."""
        return max(
            _cell_move(np.concatenate([cells.half, self.halves]), cells.bounds, self.tangents)
            for cells in self.regions.values()
        )

    @property
    def moved(self) -> Moved:
        """An upper bound of the change of the law of all rows within a cell."""
        return self.unit.times(self.snr * self.move)

    @property
    def eta(self) -> float:
        """The same as a shift in units of the noise."""
        return self.moved.eta

    @property
    def steps(self) -> tuple[Moved | Scaled, ...]:
        """The moves from the truth to the explanation of its cell: of places, strengths and noise."""
        return self.moved, *range_steps(self.ranges, self.active)

    def level(self, alpha: float) -> float:
        """The level at which to run a judge so that the given level holds everywhere in the boxes and ranges."""
        for step in self.steps:
            alpha = step.level(alpha)
        return alpha

    @property
    def noises(self) -> Array | None:
        """The middles of the cells of the noise, if it has a range."""
        return next((each.values for each in self.ranges if each.region is None), None)

    @property
    def strengths(self) -> dict[str, Array]:
        """The same of the strengths of regions that have a range."""
        return {each.region: each.values for each in self.ranges if each.region is not None}

    def grid(self) -> list[Parameter]:
        """The parameters at the middles of their cells."""
        values = _middles(*_ends(self.parameters), self.counts)
        return [replace(each, values=middle) for each, middle in zip(self.parameters, values, strict=True)]

    @property
    def extents(self) -> Array:
        """(E, d) half the sides of every cell, in the order of the regions."""
        return np.concatenate([np.tile(cells.half, (len(cells.places), 1)) for cells in self.regions.values()])

    def library(self) -> Library:
        """One element for each cell, called by its extent; complex answers become pairs (Re, Im)."""
        answers = settings_grid(self.known_response, self.places, (), self.axis).responses[0]
        return Library(self.names(), self._regions_of_cells, self.places, answers, self.measure, self.extents)

    def settings(self) -> Settings:
        """The answers of all cells under every combination of parameters, the covered ones first."""
        return settings_grid(self.known_response, self.places, [*self.grid(), *self.fixed], self.axis)

    def tangent_columns(self) -> Array:
        """(d + p, q, K * E) differences of the settings over cells by their length, as `_cell_move` takes them."""
        d = len(self.coordinates)
        found = []
        for number, move in enumerate(np.eye(d + len(self.parameters))):
            along = move[:d]
            half = self.extents @ along if number < d else np.full(len(self.places), self.halves[number - d])
            ends = []
            for sign in (1.0, -1.0):
                moves = sign * self.halves * move[d:]
                grid = [replace(each, values=each.values + by) for each, by in zip(self.grid(), moves, strict=True)]
                places = self.places + sign * self.extents * along
                ends.append(settings_grid(self.known_response, places, [*grid, *self.fixed], self.axis).responses)
            slopes = (ends[0] - ends[1]) / (2.0 * half)  # (K, q, E)
            found.append(slopes.transpose(1, 0, 2).reshape(slopes.shape[1], -1))
        return np.array(found)

    @property
    def half_steps(self) -> Array:
        """(d + p,) what the tangents may be of an element's own coefficient, at most, in any region."""
        return np.concatenate([np.max([cells.half for cells in self.regions.values()], axis=0), self.halves])

    @property
    def known_response(self) -> Response:
        """The response, where anybody can work it out."""
        if self.response is None:
            raise MisuseError("cover", "have a response that can be worked out", Clause("it has none"))
        return self.response

    @property
    def is_complex(self) -> bool | None:
        """True if answers are complex, by that of the first cell; None where nobody here can work it out."""
        if self.response is None:
            return None
        return settings_grid(self.response, self.places[:1], (), self.axis).is_complex

    @property
    def places(self) -> Array:
        """(E, d) the middles of all cells."""
        return np.concatenate([cells.places for cells in self.regions.values()])

    def proven(self) -> dict[str, Bounds]:
        """The bounds of slopes that the response itself proves, for every region."""
        d = len(self.coordinates) + len(self.parameters)
        parameters = [*self.parameters, *self.fixed]
        return {
            name: box_bounds(self.known_response, cells.low, cells.high, parameters, second=self.tangents).first(d)
            for name, cells in self.regions.items()
        }

    def encode(self) -> dict[str, object]:
        """The definition of the cover, with eta, kappa and the sizes of its cells."""
        content: dict[str, object] = {
            "eta": self.eta,
            "kappa": self.moved.kappa,
            "is_shift": self.unit.is_shift,
            "snr": self.snr,
            "active": self.active,
            "unit_kappa": self.unit.kappa,
            "move": self.move,
            "tangents": self.tangents,
            "coordinates": list(self.coordinates),
            "unit": self.measure,
            "regions": [
                {
                    "region": name,
                    "low": cells.low.tolist(),
                    "high": cells.high.tolist(),
                    "cells": cells.counts.tolist(),
                    "half": cells.half.tolist(),
                    "slopes": cells.bounds.slopes.tolist(),
                    "bends": array_json(cells.bounds.bends),
                }
                for name, cells in self.regions.items()
            ],
            "parameters": [encode_parameter(each) for each in self.parameters],
            "parameter_cells": self.counts.tolist(),
            "parameter_half": self.halves.tolist(),
            "fixed": [encode_parameter(each) for each in self.fixed],
            "response": None if self.response is None else encode_response(self.response),
            "bounds": "given" if self.is_given else "proven",
            "axis": None if self.axis is None else array_json(self.axis),
        }
        if self.ranges:
            content["ranges"] = [
                {"cells" if key == "count" else key: of for key, of in asdict(each).items()} for each in self.ranges
            ]
        return content

    @classmethod
    def decode(cls, node: Mapping[str, Any]) -> "Cover":
        """Read what `encode` wrote, and what a protocol adds; anything else is refused."""
        check_form(node, CoverForm, "the cover")
        d = len(node["coordinates"])
        p = len(node["parameters"])
        regions = {each["region"]: _decoded_cells(each, d, p) for each in node["regions"]}
        if not regions or len(regions) < len(node["regions"]) or len(node["parameter_cells"]) != p:
            raise Refusal("the cover has no region, one of them twice, or another number of cells than parameters")
        sizes = (node["snr"], node["active"], node["unit_kappa"], *node["parameter_cells"])
        if not min(sizes) > 0.0:
            raise Refusal("the cover has sizes that no cover has")
        return cls(
            response=None if node["response"] is None else decode_response(node["response"]),
            regions=regions,
            parameters=tuple(map(decode_parameter, node["parameters"])),
            counts=np.array(node["parameter_cells"], dtype=np.int64),
            fixed=tuple(map(decode_parameter, node["fixed"])),
            snr=node["snr"],
            active=node["active"],
            unit=Moved(node["unit_kappa"], node["is_shift"]),
            tangents=node["tangents"],
            coordinates=tuple(node["coordinates"]),
            measure=node["unit"],
            is_given=node["bounds"] == "given",
            axis=None if node["axis"] is None else real(node["axis"], None),
            ranges=tuple(map(_decoded_range, node.get("ranges", ()))),
        )

    def names(self) -> tuple[str, ...]:
        """(E,) the extents of the cells in the unit of the coordinates, see `cell_names`."""
        return cell_names(self._regions_of_cells, self.places, self.extents, self.measure)

    @property
    def _regions_of_cells(self) -> tuple[str, ...]:
        """(E,) the region of every cell."""
        return tuple(name for name, cells in self.regions.items() for _ in cells.places)


def _box_ends(name: str, box: Sequence[Sequence[float]]) -> tuple[Array, Array]:
    """(d,) the lower and the upper ends of the box of a region."""
    low, high = check_array(f"box of {name!r}", box, (None, 2)).T
    if not len(low) or not (low < high).all():
        raise MisuseError(f"box of {name!r}", "have low below high", np.column_stack([low, high]).tolist())
    return low, high


def cell_names(regions: Sequence[str], places: Array, halves: Array, measure: str = "") -> tuple[str, ...]:
    """(E,) the extents of cells in a unit; with the region where several have the same.

    Numbers have as many digits as tell the ends of a cell apart, and two more.
    """
    unit = f" {measure}" if measure else ""
    low, high = places - halves, places + halves
    shares = np.maximum(np.abs(low), np.abs(high)) / np.where(halves > 0.0, halves, np.inf)
    digits = max(6, int(np.ceil(np.log10(np.maximum(shares, 1.0)).max(initial=0.0))) + 2)
    ends = [
        " x ".join(f"{a:.{digits}g} to {b:.{digits}g}{unit}" for a, b in zip(*sides, strict=True))
        for sides in zip(low.tolist(), high.tolist(), strict=True)
    ]
    if len({*ends}) == len(ends):
        return tuple(ends)
    return tuple(f"{region}: {name}" for region, name in zip(regions, ends, strict=True))


def cover_boxes(
    response: Response | None,
    boxes: Mapping[str, Sequence[Sequence[float]]],
    *,
    snr: float,
    eta: float = 0.5,
    active: int = 1,
    parameters: Sequence[Parameter] = (),
    fixed: Sequence[Parameter] = (),
    tangents: bool = False,
    slopes: ArrayLike | None = None,
    bends: ArrayLike | None = None,
    unit: Moved | None = None,
    coordinates: Sequence[str] = (),
    measure: str = "",
    axis: ArrayLike | None = None,
    cells: Mapping[str, Sequence[int]] | None = None,
) -> Cover:
    r"""The coarsest product grids over boxes whose cells move the rows by at most eta.

    boxes: of every region, (low, high) of every coordinate.  snr: the largest :math:`\sqrt T|x|/\sigma` that is thought
    possible, T rows, x the coefficient of an element of unit norm, and :math:`\sigma` the deviation of a real entry.
    active: elements that may be active at once; each moves the rows.  parameters: uncertain ones, anywhere between the
    two values of each; fixed: those of which all values are tried.  tangents: whether explanations have derivatives
    along all of these as further free columns, which leaves moves of second order.  slopes: (d + p,) bounds of the
    derivatives of the answer at unit norm, and bends: (d + p, d + p) of its second ones, for responses without proven
    ones.  unit: how far rows move if every active element moves by 1 in units of the noise; a shift of their mean
    unless given.  coordinates, measure: their names and unit.  axis: as in `settings_grid`.  cells:
    how many there are along every coordinate, where that is no choice, as in a table of responses.
    """
    law = shift(check_count("active", active)) if unit is None else unit
    allowed = check_positive("eta", eta) / (check_positive("snr", snr) * law.eta)
    found: dict[str, Cells] = {}
    counts = np.ones(len(parameters))
    lowest, highest = _ends(parameters)
    for name, box in boxes.items():
        low, high = _box_ends(name, box)
        d = len(low)
        if slopes is not None:
            bounds = _declared_bounds(slopes, bends, d + len(parameters), tangents)
        elif response is not None:
            bounds = box_bounds(response, low, high, [*parameters, *fixed], second=tangents).first(d + len(parameters))
        else:
            raise MisuseError("slopes", "be given where the response is a table", Clause("there are none"))
        sides = np.concatenate([high - low, highest - lowest]) / 2.0
        chosen = _cell_counts(sides, bounds, allowed, tangents, None if cells is None else cells[name])
        found[name] = Cells(low, high, chosen[:d].astype(np.int64), bounds)
        counts = np.maximum(counts, chosen[d:])
    if not found:
        raise MisuseError("boxes", "be of at least one region", Clause("there is none"))
    return Cover(
        response=response,
        regions=found,
        parameters=tuple(parameters),
        counts=counts.astype(np.int64),
        fixed=tuple(fixed),
        snr=float(snr),
        active=int(active),
        unit=law,
        tangents=tangents,
        coordinates=tuple(coordinates) or tuple(f"x{k}" for k in range(d)),
        measure=measure,
        is_given=slopes is not None,
        axis=None if axis is None else np.asarray(axis, dtype=np.float64),
    )


def _declared_bounds(slopes: ArrayLike, bends: ArrayLike | None, d: int, tangents: bool) -> Bounds:
    """Bounds that the user answers for."""
    if tangents and bends is None:
        raise MisuseError("bends", "be given with slopes where there are tangents", Clause("there are none"))
    first = check_array("slopes", slopes, (d,))
    second = np.zeros((d, d)) if bends is None else check_array("bends", bends, (d, d))
    if first.min() < 0.0 or second.min() < 0.0 or (second != second.T).any():
        raise MisuseError("slopes and bends", "be at least 0, and bends symmetric", Clause("they are not"))
    return Bounds(first, second)


def _ends(parameters: Sequence[Parameter]) -> tuple[Array, Array]:
    """(p,) what parameters lie between."""
    for each in parameters:
        if len(each.values) != 2 or not each.values[0] < each.values[1]:
            rule = "have two values, a lower and an upper end"
            raise MisuseError(f"parameter {each.label!r}", rule, each.values.tolist())
    pairs = np.array([each.values for each in parameters]).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def _decoded_range(node: Mapping[str, Any]) -> Range:
    """The range that a document holds, if its sizes are those of a range."""
    sizes = (node["low"], node["high"] - node["low"], node["size"], node["cells"], node["most"])
    if not min(sizes) > 0 or node["cells"] > MOST_CELLS:
        raise Refusal(f"the range of {node['region'] or 'the noise'} has sizes that no range has")
    return Range(**{"count" if key == "cells" else key: value for key, value in node.items()})


def _decoded_cells(node: Mapping[str, Any], d: int, p: int) -> Cells:
    """The cells that a document holds, if they fill a box."""
    low = np.array(node["low"])
    high = np.array(node["high"])
    counts = np.array(node["cells"], dtype=np.int64)
    slopes = np.array(node["slopes"])
    bends = real(node["bends"], d + p, d + p)
    is_whole = len(low) == len(high) == len(counts) == d and len(slopes) == d + p
    if not is_whole or not (low < high).all() or counts.min() < 1 or slopes.min() < 0.0 or bends.min() < 0.0:
        raise Refusal(f"the cells of region {node['region']!r} do not fill a box")
    return Cells(low, high, counts, Bounds(slopes, bends))
