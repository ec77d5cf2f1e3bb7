"""Answers moved along the axis that channels stand for."""

from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_array
from .._errors import MisuseError
from .._typing import Array
from ._base import ComplexArray

# Of the squares of a response: where less of it is left on the axis, another shift or scale was meant.
LEAST_SEEN: Final = 0.01


def check_axis(axis: ArrayLike | None, n_channels: int) -> Array:
    """(q,) increasing; the numbers of the channels unless given."""
    channels = check_array("axis", np.arange(n_channels) if axis is None else axis, (n_channels,))
    if not (np.diff(channels) > 0.0).all():
        raise MisuseError("axis", "increase from channel to channel", "one that does not", "Sort the channels.")
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
    shift, scale = shift or 0.0, 1.0 if scale is None else scale
    places = (axis - shift) / scale
    sizes = np.abs(answers)
    squares = np.square(sizes / np.maximum(sizes.max(axis=0), np.finfo(np.float64).tiny))
    seen = squares[(axis >= places[0]) & (axis <= places[-1])].sum(axis=0)
    lost = np.flatnonzero(seen < LEAST_SEEN * squares.sum(axis=0))
    if len(lost):
        rule = f"leave a share of {LEAST_SEEN:g} or more of the squares of every response on the axis"
        setting = f"shift = {shift:g}" if scale == 1.0 else f"shift = {shift:g} and scale = {scale:g}"
        raise MisuseError("parameters", rule, f"{setting}, with less of response {lost[0]}")
    where = np.clip(places, axis[0], axis[-1])
    if np.iscomplexobj(answers):
        return _between(axis, answers.real, where) + 1j * _between(axis, answers.imag, where)
    return _between(axis, answers.real, where)


def widened(axis: Array, answers: Array | ComplexArray, factor: float) -> Array | ComplexArray:
    """Every answer stretched about its own centre, the mean place along the axis, by a factor."""
    if factor == 1.0:
        return answers
    sizes = np.abs(answers)
    centres = axis @ sizes / sizes.sum(axis=0)
    columns = zip(answers.real.T, centres.tolist(), strict=True)
    wheres = ((np.clip(c + (axis - c) / factor, axis[0], axis[-1]), column) for column, c in columns)
    return np.stack([_between(axis, column, where) for where, column in wheres], axis=1)


def _between(axis: Array, values: Array, where: Array) -> Array:
    """Values between the channels, by cubic pieces that rise and fall only where the values do."""
    from scipy.interpolate import PchipInterpolator  # slow to load, and few instruments move along an axis

    return np.asarray(PchipInterpolator(axis, values)(where))
