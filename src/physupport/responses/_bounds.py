"""How far an answer at unit norm can move with places and parameters: bounds that hold all over a box."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._checks import check_array
from .._errors import MisuseError
from .._typing import Array
from ._base import Response
from ._formula import Bounds, form_bounds
from ._settings import Parameter

_REMEDY = "Give bounds of the derivatives of its answer at unit norm, not differences of samples."
# Between channels an answer that is shifted is interpolated, of which nothing is proven.
_SHIFTED = "Of a peak or a formula take 'position' in its place, which moves the elements by as much."


def box_bounds(
    response: Response, low: Array, high: Array, parameters: Sequence[Parameter] = (), *, second: bool = False
) -> Bounds:
    """(d + p) slopes and, if asked for, bends: of places first, then of parameters anywhere between their values."""
    d, own, factors, offsets = len(low), np.zeros(len(parameters)), [], []
    moved_low, moved_high, widths = low.copy(), high.copy(), (1.0, 1.0)
    names = {parameter.name for parameter in parameters}
    q = len(np.asarray(response(low[None]))) if names & {"gain", "phase", "offset"} else 0
    for number, parameter in enumerate(parameters):
        least, most = float(parameter.values.min()), float(parameter.values.max())
        match parameter.name:
            case "position":
                moved_low[parameter.coordinate] += least
                moved_high[parameter.coordinate] += most
            case "width":
                widths = least, most
            case "gain" | "phase" if not second:
                own[number], range_of_factors = _channel_slope(parameter, q, least, most)
                factors.append(range_of_factors)
            case "offset" if not second:
                offsets = [(number, max(abs(least), abs(most)))]
            case kind:
                rule = "be position or width" if second else "be position, width, gain, phase or offset"
                remedy = _SHIFTED if kind == "shift" else _REMEDY
                raise MisuseError(
                    f"parameter {parameter.label!r}", f"{rule} to have a proven slope", repr(kind), remedy
                )
    base = _of_places(response, moved_low, moved_high, widths, second)
    ratio, own = _in_channels(factors, offsets, own, q)
    places = [
        parameter.coordinate if parameter.name == "position" else d if parameter.name == "width" else -1
        for parameter in parameters
    ]
    chosen = np.array([*range(d), *places])
    slopes = np.append(base.slopes, [0.0] * (d + 2 - len(base.slopes)))  # the last stands for what has one of its own
    bends = np.zeros((d + 2, d + 2))
    bends[: len(base.bends), : len(base.bends)] = base.bends
    return Bounds(ratio * slopes[chosen] + np.append(np.zeros(d), own), bends[np.ix_(chosen, chosen)])


class _Factors(NamedTuple):
    """Of channels: the smallest and the largest there may be, and their largest ratio at any one value."""

    least: float
    most: float
    ratio: float


def _channel_slope(parameter: Parameter, q: int, least: float, most: float) -> tuple[float, _Factors]:
    r"""Of a gain or a phase v with a pattern w: its slope, and the factors of channels.

    Factors :math:`1 + vw_c` have slopes of at most :math:`\max_c|w_c/(1 + vw_c)|`, phases of :math:`\max_c|w_c|`.
    """
    pattern = parameter.channel_pattern(q)
    if parameter.name == "phase":
        return float(np.abs(pattern).max()), _Factors(1.0, 1.0, 1.0)
    factors = 1.0 + np.outer([least, most], pattern)
    if not factors.min() > 0.0:
        raise MisuseError(f"parameter {parameter.label!r}", "leave a factor above 0 in every channel", factors.min())
    ratio = float((factors.max(axis=1) / factors.min(axis=1)).max())
    return float((np.abs(pattern) / factors).max()), _Factors(float(factors.min()), float(factors.max()), ratio)


def _in_channels(
    factors: Sequence[_Factors], offsets: Sequence[tuple[int, float]], own: Array, q: int
) -> tuple[float, Array]:
    r"""By how much factors and an offset make other slopes larger, and the slopes (p,) of all these.

    Factors do by at most their ratio.  An offset v adds the vector :math:`v\max_c|r_c|` of q equal entries, which is no
    longer than :math:`v\sqrt q|r|` and moves by no more than :math:`v\sqrt q` times what r does: of an answer that
    factors leave at least g and at most G of, slopes have :math:`G + v\sqrt q` where they had G, and all are over
    :math:`g - v\sqrt q`.
    """
    least, most, ratio = (float(np.prod([getattr(part, name) for part in factors])) for name in _Factors._fields)
    for number, largest in offsets:
        length = largest * q**0.5
        if not length < least:
            rule = f"stay below {least / q**0.5:.3g} of the largest channel, or it might cancel an answer"
            raise MisuseError("parameter 'offset'", rule, f"{largest:g}", _REMEDY)
        own = own * most / (least - length)
        own[number] = q**0.5 / (least - length)
        ratio = (most + length) / (least - length)
    return ratio, own


def _of_places(response: Response, low: Array, high: Array, widths: tuple[float, float], second: bool) -> Bounds:
    """What the response proves of itself: in closed form, or by its formula."""
    has_widths = widths != (1.0, 1.0)
    if hasattr(response, "slopes") and not second and not has_widths:
        slopes = check_array("slopes of the response", response.slopes(low, high), (len(low),))
        if slopes.min() < 0.0:
            raise MisuseError("slopes of the response", "be at least 0", slopes.min())
        return Bounds(slopes, np.zeros((len(low), len(low))))
    if not hasattr(response, "form"):
        known = "bends, as formulas do" if second else "slopes, as built-in ones do"
        raise MisuseError("response", f"bound its own {known}", type(response).__name__, _REMEDY)
    ends = (low, high) if not has_widths else (np.append(low, widths[0]), np.append(high, widths[1]))
    return form_bounds(response.form(), *ends)
