"""Generic responses of a source that the library lacks: peaks that mix, or families of which it has one."""

from collections.abc import Callable
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_array, check_number, check_positive
from .._errors import Clause, MisuseError
from .._typing import Array, Field
from ..io import as_pairs
from ._base import Response, check_channels

# Generic peaks: a fit costs the cube of their number.
MOST_PEAKS: Final = 600
# The deviation of a generic peak, in those of lines: of the variance it lacks a third of the square of a step, w / 2.
PEAK_WIDTH: Final = float(np.sqrt(1.0 - 1.0 / 12.0))
# Further columns of every cell of bumps, and of directions.
_OF_BUMPS: Final = 2
_OF_DIRECTIONS: Final = 1
_MOST_SINE: Final = 0.005
_MOST_CELLS: Final = 2000
# Responses of a cell that make its columns, and three times as many that measure what these leave.
_SAMPLES: Final = 9
# Cells in the width of a bump.
_CELLS: Final = 3.0
# A bump may be wider or narrower by this share.
_OTHER_WIDTH: Final = 0.03


class GenericPeaks(NamedTuple):
    """Peaks at every place of an axis, for a source of which nothing else is known."""

    columns: Array  # (q, G)
    places: Array  # (2, G) between which a line may lie that has a part in the column


def generic_peaks(axis: ArrayLike, width: ArrayLike) -> GenericPeaks:
    r"""Peaks such that a line of standard deviation w, or a wider one, anywhere on the axis is a mix of neighbours.

    Peaks lie a step :math:`h = w/2` apart and have the variance :math:`w^2 - h^2/3`.  Mixed with the values of the
    cubic B-spline of step h about x, which are not negative, they have the sum, mean, variance and third moment of a
    Gaussian of deviation w at x.  Fourth moments differ by at most :math:`h^4/15`, so that the mix differs from the
    line by at most :math:`(h/w)^4/360` times the Hermite polynomial :math:`\mathrm{He}_4`, 0.0009 of the line (root
    mean square).  A line of N counts then moves log likelihoods by :math:`N\,0.0009^2/2`, 0.04 of 100 000 counts.  Its
    mix has no part farther off than 2h.  Where w changes along the axis, it has to be nearly the same within a few h.

    axis: (q,) of the channels.  width: one number, or (q,) of every channel; above half of the largest step.
    """
    channels = check_channels(axis)
    deviations = np.broadcast_to(np.asarray(width, dtype=np.float64), channels.shape)
    order = np.argsort(channels)
    spacing = float(np.diff(channels[order]).max(initial=0.0))
    if not (np.isfinite(deviations) & (deviations >= 0.5 * spacing) & (deviations > 0.0)).all():
        rule = f"be at least {0.5 * spacing:g}, half of the largest step of the axis"
        raise MisuseError("width", rule, f"{deviations.min():g}")
    centres = [float(channels.min() - deviations[order[0]])]
    end = float(channels.max() + deviations[order[-1]])
    while centres[-1] < end and len(centres) <= MOST_PEAKS:
        centres.append(centres[-1] + 0.5 * float(np.interp(centres[-1], channels[order], deviations[order])))
    if len(centres) > MOST_PEAKS:
        remedy = "Use a window of the axis."
        raise MisuseError(
            "width", f"make at most {MOST_PEAKS} peaks", Clause(f"{deviations.min():g} makes more"), remedy
        )
    places = np.array(centres)
    wide = np.interp(places, channels[order], deviations[order])
    own = PEAK_WIDTH * wide
    columns = np.exp(-0.5 * ((channels[:, None] - places) / own) ** 2)
    return GenericPeaks(columns, np.stack([places - wide, places + wide]))


class GenericFamily(NamedTuple):
    """Cells of responses, of which a source that the library lacks has one: any mix of the columns of one cell."""

    columns: Array  # (q, G) the middle of each cell, of norm 1; of complex responses pairs (Re, Im)
    further: Array  # (V, q, G) what the responses of a cell have beside it
    places: Array  # (2, G) between which the responses of each cell lie
    sine: float  # of the largest angle between a response of the family and the columns of its cell, as sampled


def generic_bumps(axis: ArrayLike, width: float) -> GenericFamily:
    """Gaussian bumps of a standard deviation, within 3 % of it, anywhere on an axis and up to one width beside it.

    axis: (q,) of the channels.  width: above half of the largest step of the axis.
    """
    channels = check_channels(axis)
    wide = check_positive("width", width)
    spacing = float(np.diff(np.sort(channels)).max(initial=0.0))
    if wide < 0.5 * spacing:
        raise MisuseError("width", f"be at least {0.5 * spacing:g}, half of the largest step of the axis", f"{wide:g}")

    def bumps(places: Array) -> Array:
        deviations = wide * np.array([1.0, 1.0 - _OTHER_WIDTH, 1.0 + _OTHER_WIDTH])
        return np.exp(-0.5 * ((channels[:, None, None] - places[:, None]) / deviations) ** 2)

    low, high = float(channels.min()) - wide, float(channels.max()) + wide
    return _family(bumps, np.linspace(low, high, int(np.ceil(_CELLS * (high - low) / wide)) + 1), _OF_BUMPS)


def generic_directions(response: Response, low: float, high: float) -> GenericFamily:
    """Responses to a source anywhere between two places along the one coordinate of a response, such as an array's.

    Cells are as many as it takes for a sine of at most 0.005.
    """
    if not check_number("low", low) < check_number("high", high):
        raise MisuseError("low", "be below high", (low, high))

    def at(places: Array) -> Field:
        return np.asarray(response(places[:, None]))[:, :, None]

    count = 8
    while count <= _MOST_CELLS:
        family = _family(at, np.linspace(low, high, count + 1), _OF_DIRECTIONS)
        if family.sine <= _MOST_SINE:
            return family
        count = -(-count * 5 // 4)
    rule = f"need at most {_MOST_CELLS} cells for a sine of {_MOST_SINE:g}"
    raise MisuseError("directions", rule, f"{low:g} to {high:g}", "Give a shorter range.")


def generic_atoms(columns: ArrayLike) -> GenericFamily:
    """Responses of one's own (q, G), each exact and a cell by itself; of complex ones pairs (Re, Im) of rows."""
    atoms = check_array("atoms", columns, (None, None))
    norms = np.linalg.norm(atoms, axis=0)
    if not atoms.shape[1] or not norms.all():
        raise MisuseError("atoms", "have columns that are not 0", f"shape {atoms.shape}")
    numbers = np.arange(atoms.shape[1], dtype=np.float64)
    return GenericFamily(atoms / norms, np.zeros((0, *atoms.shape)), np.stack([numbers, numbers]), 0.0)


def _family(response: Callable[[Array], Field], edges: Array, n_further: int) -> GenericFamily:
    """The cells between edges (G + 1,) of a response: places (k,) to (q, k, w), w of each, the nominal one first.

    A cell has the column of its middle, and the leading directions of all that its responses have beside it.
    """
    middles = []
    others = []
    sine = 0.0
    for low, high in pairwise(edges):
        middle = _unit(response(np.array([0.5 * (low + high)]))[:, 0, :1])
        samples = _unit(_flat(response(np.linspace(low, high, _SAMPLES))))
        beside = samples - middle @ (middle.conj().T @ samples)
        further = np.linalg.svd(beside, full_matrices=False)[0][:, :n_further]
        basis = np.linalg.qr(np.hstack([middle, further]))[0]
        checked = _unit(_flat(response(np.linspace(low, high, 3 * _SAMPLES + 1))))
        left = checked - basis @ (basis.conj().T @ checked)
        sine = max(sine, float(np.linalg.norm(left, axis=0).max()))
        middles.append(middle[:, 0])
        others.append(further.T)
    columns = np.stack(middles, axis=1)
    beside = np.stack(others, axis=2)
    if np.iscomplexobj(columns):
        columns = as_pairs(columns, axis=0)
        beside = as_pairs(beside, axis=1)
    return GenericFamily(columns, beside, np.stack([edges[:-1], edges[1:]]), sine)


def _flat(responses: Field) -> Field:
    return responses.reshape(len(responses), -1)


def _unit(columns: Field) -> Field:
    norms = np.linalg.norm(columns, axis=0)
    if not (np.isfinite(norms) & (norms > 0.0)).all():
        raise MisuseError("generic responses", "be finite and not 0 at every place", Clause("they are not"))
    return np.asarray(columns / norms)
