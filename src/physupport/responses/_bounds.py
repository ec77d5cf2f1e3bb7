"""How far an answer at unit norm can move with places and parameters: bounds that hold all over a box."""

from collections.abc import Sequence

import numpy as np

from .._checks import check_array
from .._errors import MisuseError
from .._typing import Array
from ._base import Response
from ._formula import Bounds, form_bounds
from ._settings import Parameter

_REMEDY = "Give bounds of the derivatives of its answer at unit norm, not differences of samples."


def box_bounds(
    response: Response, low: Array, high: Array, parameters: Sequence[Parameter] = (), *, second: bool = False
) -> Bounds:
    r"""(d + p) slopes and, if asked for, bends: of places first, then of parameters anywhere between their values.

    Factors w of channels, :math:`1 + vw_c`, have slopes of at most :math:`\max_c|w_c/(1 + vw_c)|`, and make
    those of all else larger by at most the ratio of the largest factor to the smallest.  Phases have
    :math:`\max_c|w_c|`.
    """
    d = len(low)
    moved_low, moved_high, widths, own, ratio = low.copy(), high.copy(), (1.0, 1.0), [0.0] * len(parameters), 1.0
    for number, parameter in enumerate(parameters):
        least, most = float(parameter.values.min()), float(parameter.values.max())
        match parameter.name:
            case "position":
                moved_low[parameter.coordinate] += least
                moved_high[parameter.coordinate] += most
            case "width":
                widths = least, most
            case "gain" | "phase" if not second:
                own[number], stretch = _channel_slope(parameter, len(np.asarray(response(low[None]))), least, most)
                ratio *= stretch
            case kind:
                rule = "be position or width" if second else "be position, width, gain or phase"
                raise MisuseError(
                    f"parameter {parameter.label!r}", f"{rule} to have a proven slope", repr(kind), _REMEDY
                )
    base = _of_places(response, moved_low, moved_high, widths, second)
    places = [
        parameter.coordinate if parameter.name == "position" else d if parameter.name == "width" else -1
        for parameter in parameters
    ]
    chosen = np.array([*range(d), *places])
    slopes = np.append(base.slopes, [0.0] * (d + 2 - len(base.slopes)))  # the last stands for what has one of its own
    bends = np.zeros((d + 2, d + 2))
    bends[: len(base.bends), : len(base.bends)] = base.bends
    return Bounds(ratio * slopes[chosen] + np.array([0.0] * d + own), bends[np.ix_(chosen, chosen)])


def _channel_slope(parameter: Parameter, q: int, least: float, most: float) -> tuple[float, float]:
    """Of a gain or a phase: its slope, and the ratio of the largest factor of a channel to the smallest."""
    pattern = parameter.channel_pattern(q)
    if parameter.name == "phase":
        return float(np.abs(pattern).max()), 1.0
    factors = 1.0 + np.outer([least, most], pattern)
    if not factors.min() > 0.0:
        raise MisuseError(f"parameter {parameter.label!r}", "leave a factor above 0 in every channel", factors.min())
    return float((np.abs(pattern) / factors).max()), float((factors.max(axis=1) / factors.min(axis=1)).max())


def _of_places(response: Response, low: Array, high: Array, widths: tuple[float, float], second: bool) -> Bounds:
    """What the response proves of itself: in closed form, or by its formula."""
    has_widths = widths != (1.0, 1.0)
    if hasattr(response, "slopes") and not second and not has_widths:
        found = check_array("slopes of the response", response.slopes(low, high), (len(low),))
        if found.min() < 0.0:
            raise MisuseError("slopes of the response", "be at least 0", found.min())
        return Bounds(found, np.zeros((len(low), len(low))))
    if not hasattr(response, "form"):
        known = "bends, as formulas do" if second else "slopes, as built-in ones do"
        raise MisuseError("response", f"bound its own {known}", type(response).__name__, _REMEDY)
    ends = (low, high) if not has_widths else (np.append(low, widths[0]), np.append(high, widths[1]))
    return form_bounds(response.form(), *ends)
