"""Cells that fill a box, and how far an answer moves within one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_array
from .._errors import MisuseError
from .._typing import Array, IntArray
from ..responses import Bounds

MOST_CELLS = 2**20
# Relative, of all that is rounded on the way to a distance.
ROUNDING = 1e-9


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
        mesh = np.meshgrid(*middles(self.low, self.high, self.counts), indexing="ij")
        return np.stack([axis.ravel() for axis in mesh], axis=1)

    def cell_of(self, place: ArrayLike) -> int:
        """The cell that a place of the box lies in."""
        point = check_array("place", place, (len(self.low),))
        outside = np.maximum(self.low - point, point - self.high) / self.half
        if outside.max() > ROUNDING:
            raise MisuseError("place", "lie in the box of the cover", point.tolist())
        along = np.clip((point - self.low) // (2.0 * self.half), 0, self.counts - 1)
        return int(np.ravel_multi_index(tuple(along.astype(np.int64)), tuple(self.counts.tolist())))

    def move(self, more: Array, tangents: bool) -> float:
        """How far the answer moves within a cell at most; more: half the cells of parameters."""
        return cell_move(np.concatenate([self.half, more]), self.bounds, tangents)


def middles(low: Array, high: Array, counts: IntArray) -> list[Array]:
    """Of cells along each coordinate."""
    half = (high - low) / (2.0 * counts)
    return [a + h * (2.0 * np.arange(n) + 1.0) for a, h, n in zip(low, half, counts, strict=True)]


def cell_move(half: Array, bounds: Bounds, tangents: bool) -> float:
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


def cell_counts(sides: Array, bounds: Bounds, allowed: float, tangents: bool) -> Array:
    """(d,) cells along each coordinate, as few as keep moves within what is allowed; sides: half of the box."""
    if tangents:
        own = np.sqrt(np.diagonal(bounds.bends))
        steps = sides * own * np.sqrt(len(sides) * (len(sides) + 1 / 3) / (2.0 * allowed))
    else:
        steps = sides * bounds.slopes * len(sides) / allowed
    counts = np.maximum(np.ceil(steps * (1.0 - ROUNDING)), 1.0)
    while counts.prod() <= MOST_CELLS and cell_move(sides / counts, bounds, tangents) > allowed * (1.0 + ROUNDING):
        counts = np.ceil(counts * 1.05 + ROUNDING)
    if counts.prod() > MOST_CELLS:
        remedy = "Make the box smaller, or expect less of the signal."
        raise MisuseError("box", f"need at most {MOST_CELLS} cells", f"{counts.prod():.3g}", remedy)
    return np.asarray(counts)


def checked_box(name: str, box: Sequence[Sequence[float]]) -> tuple[Array, Array]:
    """(d,) the low and the high ends."""
    low, high = check_array(name, box, (None, 2)).T
    if not len(low) or not (low < high).all():
        raise MisuseError(name, "have low below high", np.column_stack([low, high]).tolist())
    return low, high
