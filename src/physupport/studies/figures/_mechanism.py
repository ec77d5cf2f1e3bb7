"""Pictures of the mechanism study: how calibration and deployment see a turn of the block."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...report.pictures import COLUMN, Picture
from ...report.pictures._model import Area, Axis, Key, Line, Mark, Panel, Points, Rule, Text, Tick
from ...report.pictures._rooms import logarithmic, numbered, padded
from ...report.plots._style import fixed

Columns = Mapping[str, NDArray[Any]]  # the columns of a table, of equal length

_MARGINS = (60.0, 10.0, 30.0, 50.0)


def scaling_picture(table: Columns, fit: Mapping[str, float]) -> Picture:
    """Jeffreys divergence over the separation scale, with the power 6 through the middle of the points.

    table: s, jeffreys, jeffreys_low, jeffreys_high, quadrature_14.  fit: slope, low, high, r2 of the fitted power.
    """
    s, mean, low, high = (table[name].tolist() for name in ("s", "jeffreys", "jeffreys_low", "jeffreys_high"))
    guide = np.exp(np.mean(np.log(table["jeffreys"]) - 6.0 * np.log(table["s"]))) * table["s"] ** 6
    within = f"[{fit['low']:.3f}, {fit['high']:.3f}], R² = {fit['r2']:.5f}"
    marks: list[Mark] = [Line(s, guide.tolist(), "guide", name="s⁶", depth=1)]
    marks += [Line((x, x), ends, "line-0") for x, *ends in zip(s, low, high, strict=True)]
    marks += [Points("series-0", s, mean), Points("series-3", s, table["quadrature_14"].tolist())]
    keys = [
        Key("series-0", f"Monte Carlo: slope {fit['slope']:.3f}\n{within}"),
        Key("series-3", "quadrature, order 14"),
        Key("guide", "s⁶"),
    ]
    vertical = logarithmic(min(low), max(high), name="Jeffreys divergence")
    panel = Panel(_named(s, fixed(s), "separation scale s"), vertical, marks)
    said = f"The divergence grows as the separation scale to the power {fit['slope']:.3f}, within {within}."
    return Picture("Scaling of the divergence", said, (COLUMN.width, 216.0), _MARGINS, panel, keys=keys)


def deployment_picture(table: Columns, scale: float) -> Picture:
    """Residual of the deployment mean after a turn, at one scale: points, with the closed form as lines.

    table: s, contrast, angle, residual, closed_form.
    """
    marks: list[Mark] = []
    keys: list[Key] = []
    for number, contrast in enumerate(np.unique(table["contrast"]).tolist()):
        chosen = (table["s"] == scale) & (table["contrast"] == contrast)
        angle, closed, residual = (table[name][chosen].tolist() for name in ("angle", "closed_form", "residual"))
        name = "equal coefficients" if contrast == 0.0 else f"contrast {contrast:g}"
        marks += [Line(angle, closed, f"line-{number}"), Points(f"series-{number}", angle[::2], residual[::2])]
        keys.append(Key(f"series-{number}", name))
    at = table["s"] == scale
    horizontal = numbered(*padded(table["angle"][at].tolist()), 6, name="turn φ")
    _, high = padded(table["residual"][at].tolist())
    panel = Panel(horizontal, numbered(-0.002, high, 5, name=f"residual of the mean, s = {scale:g}"), marks)
    said = f"Residuals at scale {scale:g}: {', '.join(key.text for key in keys)}."
    return Picture("Residual of the mean after a turn", said, (COLUMN.width, 200.0), _MARGINS, panel, keys=keys,
                   heading="points: least squares; lines: closed form")  # fmt: skip


def affinities_picture(table: Columns, symbol: str, heading: str = "", *, has_keys: bool = True) -> Picture:
    """Affinity of two experiments over their information, one curve a separation scale.

    Curves that agree collapse into one, so the picture says how far apart they are.
    table: information, s, affinity.  symbol: the name of the information on the axis.
    """
    marks: list[Mark] = []
    keys: list[Key] = []
    for number, s in enumerate(np.unique(table["s"]).tolist()):
        chosen = table["s"] == s
        xs, ys = (table[name][chosen].tolist() for name in ("information", "affinity"))
        marks.append(Line(xs, ys, f"nested-{number}", name=f"{s:.3f}", has_points=True))
        keys.append(Key(f"nested-{number}", f"s = {s:.3f}"))
    said = _gap_words(table)
    marks.append(Text(0.97, 0.85, said, "count", "end", "xy"))
    vertical = Axis(-0.06, 1.06, [Tick(y, f"{y:g}") for y in (0.0, 0.5, 1.0)], "affinity")
    panel = Panel(_information(np.unique(table["information"]), symbol), vertical, marks)
    return Picture("Affinities over information", said, (COLUMN.width, 130.0), _MARGINS, panel,
                   keys=keys if has_keys else [], heading=heading)  # fmt: skip


def spreads_picture(table: Columns, tolerance: float) -> Picture:
    """Spread of the affinities over the scales at each budget, the transition band, and the tolerance for its median.

    table: information, spread, in_band.
    """
    x, spread, inside = table["information"], table["spread"], table["in_band"] == 1
    median, top = float(np.median(spread[inside])), float(spread.max())
    low, high = -0.06 * top, 1.12 * top  # below 0, so that no point is cut by the edge
    ends = float(x[inside].min() / 2**0.5), float(x[inside].max() * 2**0.5)
    marks: list[Mark] = [
        Area(ends, (low, low), (high, high), "zone"),
        Rule(tolerance, "guide"),
        Rule(median, "line-2"),
        Points("series-0", x.tolist(), spread.tolist()),
    ]
    keys = [
        Key("series-0", "spread over s"),
        Key("zone", "transition band"),
        Key("guide", f"tolerance {tolerance:g}"),
        Key("line-2", f"median there {median:.4f}"),
    ]
    panel = Panel(_information(x, "information N s⁶"), numbered(low, high, 4, name="spread of affinity"), marks)
    said = f"In the transition band the median of the spread is {median:.4f}; the tolerance is {tolerance:g}."
    return Picture("Spread of the affinities", said, (COLUMN.width, 144.0), _MARGINS, panel, keys=keys)


def _gap_words(table: Columns) -> str:
    """How many curves there are, and their largest distance at equal information."""
    information, affinity = table["information"], table["affinity"]
    gap = max(float(np.ptp(affinity[information == value])) for value in np.unique(information))
    shown = f"up to {gap:.4f}" if gap >= 5e-5 else "less than 0.0001"
    return f"{len(np.unique(table['s']))} curves,\n{shown} apart"


def _information(values: NDArray[np.float64], name: str) -> Axis:
    return _named(values.tolist(), [f"{value:g}" if i % 2 == 0 else "" for i, value in enumerate(values)], name)


def _named(values: Sequence[float], texts: Sequence[str], name: str) -> Axis:
    """A logarithmic axis with names at its values, but where they are empty, and no others."""
    room = (max(values) / min(values)) ** 0.05
    ticks = [Tick(value, text) for value, text in zip(values, texts, strict=True) if text]
    return Axis(min(values) / room, max(values) * room, ticks, name, is_log=True)
