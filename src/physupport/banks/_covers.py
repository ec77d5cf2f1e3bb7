"""Grids that speak for everything between their points: covers of boxes of places and parameters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_array, check_count, check_positive
from .._errors import MisuseError
from .._typing import Array, IntArray
from ..responses import Bounds, Parameter, Response, Settings, box_bounds, settings_grid
from ._cells import Cells, cell_counts, cell_move, checked_box, middles
from ._cover_form import cover_parts, encoded_cover
from ._library import Library
from ._moved import Moved, Scaled, shift
from ._ranges import Range, range_steps


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

    @classmethod
    def decode(cls, node: Mapping[str, Any]) -> "Cover":
        """What `encode` wrote, and what a protocol adds."""
        return cls(**cover_parts(node))

    @property
    def halves(self) -> Array:
        """(p,) from the middle of a parameter's cell to its ends."""
        low, high = _ends(self.parameters)
        return np.asarray((high - low) / (2.0 * self.counts))

    @property
    def move(self) -> float:
        """The largest move of an answer at unit norm within a cell."""
        return max(cells.move(self.halves, self.tangents) for cells in self.regions.values())

    @property
    def moved(self) -> Moved:
        """By how much the law of all rows moves within a cell, at most."""
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
        """At which to run what shall hold at this level everywhere in the boxes, and in the ranges."""
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
        values = middles(*_ends(self.parameters), self.counts)
        return [replace(each, values=middle) for each, middle in zip(self.parameters, values, strict=True)]

    @property
    def extents(self) -> Array:
        """(E, d) half the sides of every cell, in the order of the regions."""
        return np.concatenate([np.tile(cells.half, (len(cells.places), 1)) for cells in self.regions.values()])

    def library(self) -> Library:
        """One element for each cell, called by its extent; complex answers become pairs (Re, Im)."""
        names = [name for name, cells in self.regions.items() for _ in cells.places]
        answers = settings_grid(self.known_response, self.places, (), self.axis).responses[0]
        return Library(self.names(), tuple(names), self.places, answers, self.measure, self.extents)

    def settings(self) -> Settings:
        """The answers of all cells under every combination of parameters, the covered ones first."""
        return settings_grid(self.known_response, self.places, [*self.grid(), *self.fixed], self.axis)

    def tangent_columns(self) -> Array:
        """(d + p, q, K * E) differences of the settings over cells by their length, as `cell_move` takes them."""
        moves = np.eye(len(self.coordinates) + len(self.parameters))
        return np.array([self._difference(k, move[: len(self.coordinates)]) for k, move in enumerate(moves)])

    def _difference(self, number: int, along: Array) -> Array:
        """(q, K * E) along one coordinate or parameter."""
        which = number - len(self.coordinates)
        half = self.extents @ along if which < 0 else np.full(len(self.places), self.halves[which])
        ends = []
        for sign in (1.0, -1.0):
            grid = [
                replace(each, values=each.values + sign * self.halves[k] * (k == which))
                for k, each in enumerate(self.grid())
            ]
            places = self.places + sign * self.extents * along
            ends.append(settings_grid(self.known_response, places, [*grid, *self.fixed], self.axis).responses)
        slopes = (ends[0] - ends[1]) / (2.0 * half)  # (K, q, E)
        return np.asarray(slopes.transpose(1, 0, 2).reshape(slopes.shape[1], -1))

    @property
    def half_steps(self) -> Array:
        """(d + p,) what the tangents may be of an element's own coefficient, at most, in any region."""
        return np.concatenate([np.max([cells.half for cells in self.regions.values()], axis=0), self.halves])

    @property
    def known_response(self) -> Response:
        """The response, where anybody can work it out."""
        if self.response is None:
            raise MisuseError("cover", "have a response that can be worked out", "none")
        return self.response

    @property
    def is_complex(self) -> bool | None:
        """Whether answers are complex, by that of the first cell; None where nobody here can work it out."""
        return (
            None if self.response is None else settings_grid(self.response, self.places[:1], (), self.axis).is_complex
        )

    @property
    def places(self) -> Array:
        """(E, d) the middles of all cells."""
        return np.concatenate([cells.places for cells in self.regions.values()])

    def proven(self) -> dict[str, Bounds]:
        """Of every region, the bounds that the response proves of itself."""
        d, found = len(self.coordinates) + len(self.parameters), {}
        for name, cells in self.regions.items():
            parameters = [*self.parameters, *self.fixed]
            bounds = box_bounds(self.known_response, cells.low, cells.high, parameters, second=self.tangents)
            found[name] = bounds.first(d)
        return found

    def encode(self) -> dict[str, object]:
        """All that it was made of and what follows from it, for a document."""
        return encoded_cover(self)

    def names(self) -> tuple[str, ...]:
        """(E,) the extents of the cells; with that of the region where several have the same."""
        digits = max(6, *(_digits(cells) for cells in self.regions.values()))
        ends = [
            extent_name(place, cells.half, self.measure, digits)
            for cells in self.regions.values()
            for place in cells.places
        ]
        if len({*ends}) == len(ends):
            return tuple(ends)
        regions = [name for name, cells in self.regions.items() for _ in cells.places]
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
    ends, found, counts = _ends(parameters), {}, np.ones(len(parameters))
    for name, box in boxes.items():
        low, high = checked_box(f"box of {name!r}", box)
        d = len(low) + len(parameters)
        if slopes is None:
            if response is None:
                raise MisuseError("slopes", "be given where the response is a table", "none")
            bounds = box_bounds(response, low, high, [*parameters, *fixed], second=tangents).first(d)
        else:
            bounds = _declared_bounds(slopes, bends, d, tangents)
        sides = np.concatenate([high - low, ends[1] - ends[0]]) / 2.0
        chosen = cell_counts(sides, bounds, allowed, tangents)
        if cells is not None:
            chosen = _had(np.array([*cells[name], *chosen[len(low) :]]), sides, bounds, allowed, tangents)
        found[name] = Cells(low, high, chosen[: len(low)].astype(np.int64), bounds)
        counts = np.maximum(counts, chosen[len(low) :])
    if not found:
        raise MisuseError("boxes", "be of at least one region", "none")
    return Cover(
        response,
        found,
        tuple(parameters),
        counts.astype(np.int64),
        tuple(fixed),
        float(snr),
        int(active),
        law,
        tangents,
        tuple(coordinates) or tuple(f"x{k}" for k in range(len(next(iter(found.values())).low))),
        measure,
        slopes is not None,
        None if axis is None else np.asarray(axis, dtype=np.float64),
    )


def _had(counts: Array, sides: Array, bounds: Bounds, allowed: float, tangents: bool) -> Array:
    """Cells that there are anyway, where they are small enough."""
    move = cell_move(sides / counts, bounds, tangents)
    if move > allowed:
        raise MisuseError("cells", f"be small enough to move an answer by at most {allowed:.4g}", f"{move:.4g}")
    return counts


def _declared_bounds(slopes: ArrayLike, bends: ArrayLike | None, d: int, tangents: bool) -> Bounds:
    """Bounds that the user answers for."""
    if tangents and bends is None:
        raise MisuseError("bends", "be given with slopes where there are tangents", "none")
    first = check_array("slopes", slopes, (d,))
    second = np.zeros((d, d)) if bends is None else check_array("bends", bends, (d, d))
    if first.min() < 0.0 or second.min() < 0.0 or (second != second.T).any():
        raise MisuseError("slopes and bends", "be at least 0, and bends symmetric", "others")
    return Bounds(first, second)


def _ends(parameters: Sequence[Parameter]) -> tuple[Array, Array]:
    """(p,) what parameters lie between."""
    for each in parameters:
        if len(each.values) != 2 or not each.values[0] < each.values[1]:
            rule = "have two values, a lower and an upper end"
            raise MisuseError(f"parameter {each.label!r}", rule, each.values.tolist())
    pairs = np.array([each.values for each in parameters]).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def _digits(cells: Cells) -> int:
    """Of a number, as many as tell the ends of a cell apart, and two more."""
    largest = np.maximum(np.abs(cells.low), np.abs(cells.high))
    return int(np.ceil(np.log10(np.maximum(largest / cells.half, 1.0)).max())) + 2


def extent_name(place: Array, half: Array, measure: str, digits: int) -> str:
    """A cell by its ends, in the unit of the coordinates."""
    unit, sides = f" {measure}" if measure else "", zip((place - half).tolist(), (place + half).tolist(), strict=True)
    return " x ".join(f"{low:.{digits}g} to {high:.{digits}g}{unit}" for low, high in sides)
