"""Grids that speak for everything between their points: a cover of a box of places."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from .._checks import check_array, check_count, check_open, check_positive
from .._errors import MisuseError
from .._typing import Array
from ..io import as_pairs
from ..responses import Response
from ._library import Library

MOST_CELLS = 2**20
# Relative, of all that is rounded on the way to eta.
_ROUNDING = 1e-9


@final
@dataclass(frozen=True, slots=True, eq=False)
class Cover:
    r"""Places whose cells fill a box, so near that rows of any place in a cell are like those of its centre.

    The mean of all rows together, in units of the noise, moves by at most :math:`\eta` from the centre to anywhere in a
    cell.  Whatever rejects the centre with probability at most a' if it made the rows rejects it with probability at
    most :math:`\Phi(\Phi^{-1}(a') + \eta)` if a place of the cell did (Neyman and Pearson: no test tells two normal
    laws that far apart any better).  With :math:`a' = \Phi(\Phi^{-1}(a) - \eta)` this is a: a judge that runs at
    `level(a)` keeps the cell of the truth with probability at least 1 - a, wherever in the box the truth lies.
    """

    response: Response
    places: Array  # (E, d) centres
    half: Array  # (d,) from a centre to the sides of its cell
    eta: float  # at most this, by the bounds of the slopes

    def level(self, alpha: float) -> float:
        """At which to run what shall hold at this level everywhere in the box."""
        return float(ndtr(ndtri(check_open("alpha", alpha, 0.0, 1.0)) - self.eta))

    def cell_of(self, place: ArrayLike) -> int:
        """The cell that a place of the box lies in."""
        point = check_array("place", place, (self.places.shape[1],))
        outside = (np.abs(self.places - point) / np.where(self.half > 0.0, self.half, 1.0)).max(axis=1)
        if outside.min() > 1.0 + _ROUNDING:
            raise MisuseError("place", "lie in the box of the cover", point.tolist())
        return int(outside.argmin())

    def library(self, region: str) -> Library:
        """One element for each cell, called by its extent; complex answers become pairs (Re, Im)."""
        answers = np.asarray(self.response(self.places))
        columns = as_pairs(answers, axis=0) if np.iscomplexobj(answers) else answers
        ids = tuple(" x ".join(map(_extent, place, self.half)) for place in self.places)
        return Library(ids, (region,) * len(ids), self.places, columns / np.linalg.norm(columns, axis=0))


def cover_box(
    response: Response,
    box: Sequence[tuple[float, float]],
    *,
    snr: float,
    eta: float = 0.5,
    active: int = 1,
    slopes: ArrayLike | None = None,
) -> Cover:
    r"""The coarsest product grid over a box whose cells move the rows by at most eta.

    box: (low, high) of every coordinate.  snr: the largest :math:`\sqrt T|x|/\sigma` that is thought possible, T rows,
    x the coefficient of an element of unit norm, and :math:`\sigma` the deviation of a real entry.  active: elements of
    the cover that may be active at once; each moves the rows.  slopes: (d,) bounds of the derivatives of the answer at
    unit norm, for responses that have no proven ones.
    """
    low, high = check_array("box", box, (None, 2)).T
    if not (low < high).all():
        raise MisuseError("box", "have low below high", np.column_stack([low, high]).tolist())
    allowed = check_positive("eta", eta) / (check_positive("snr", snr) * check_count("active", active))
    bounds = _slopes(response, low, high) if slopes is None else check_array("slopes", slopes, (len(low),))
    if bounds.min() < 0.0:
        raise MisuseError("slopes", "be at least 0", bounds.min())
    counts = _counts((high - low) / 2.0 * bounds * (1.0 + _ROUNDING) * len(low) / allowed)
    half = (high - low) / (2.0 * counts)
    axes = [start + side * (2.0 * np.arange(n) + 1.0) for start, side, n in zip(low, half, counts, strict=True)]
    places = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
    return Cover(response, places, half, float(half @ bounds) * (1.0 + _ROUNDING) * eta / allowed)


def _slopes(response: Response, low: Array, high: Array) -> Array:
    """(d,) what the response proves of itself."""
    if not hasattr(response, "slopes"):
        remedy = "Give slopes: bounds of the derivatives of its answer at unit norm, not differences of samples."
        raise MisuseError("response", "bound its own slopes, as built-in ones do", type(response).__name__, remedy)
    return check_array("slopes of the response", response.slopes(low, high), (len(low),))


def _counts(steps: Array) -> Array:
    """(d,) cells along every coordinate; steps: how many at least."""
    total = prod(max(1.0, step) for step in steps.tolist())
    if not total <= MOST_CELLS:
        remedy = "Make the box smaller, or expect less of the signal."
        raise MisuseError("box", f"need at most {MOST_CELLS} cells", f"{total:.3g}", remedy)
    return np.maximum(np.ceil(steps), 1.0)


def _extent(centre: float, half: float) -> str:
    return f"{centre - half:.6g} to {centre + half:.6g}"
