"""Evidence over the checkpoints, and what is witnessed and possible over the queries."""

from collections.abc import Sequence
from math import ceil, floor, log10
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._errors import MisuseError
from ..._typing import Array
from .._details import Detailed, Details
from ._result import (
    BLUE,
    INK,
    LINE,
    MUTED,
    RED,
    RED_TINT,
    SMALL,
    STRONG_LINE,
    TEXT,
    TINT,
    TINY,
    Entry,
    axes_for,
    document_of,
    grouped,
    legend_above,
    plain,
    quiet_frame,
    whole_numbers,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

_ROLES: dict[str, dict[str, Any]] = {
    "proposal": {"color": INK, "linestyle": ":", "marker": "s"},
    "witness": {"color": BLUE, "linestyle": "-", "marker": "o"},
    "nearest excluded": {"color": RED, "linestyle": "--", "marker": "^"},
}
_MOST_CURVES = 24  # whose names still fit beside them
_MOST_TICKS = 6
_LINE = 8.0  # points from one name beside a curve to the next


def plot_evidence(result: Detailed | Details, ax: "Axes | None" = None) -> "Axes":
    """Log evidence against explanations at each checkpoint, and the threshold from which they are rejected.

    One curve an explanation, in the middle of its certified bounds, which lie closer together than the line is wide;
    beside it the number of the explanation and the fields it stands for.  Beyond eight thresholds the scale turns
    logarithmic.
    """
    evidence: Entry | None = document_of(result)["evidence"]
    if evidence is None or not evidence["curves"] or not evidence["steps"]:
        remedy = "Explanations are drawn that the run asked about."
        raise MisuseError("result", "have evidence at checkpoints", "none", remedy)
    curves = evidence["curves"]
    shown = curves[:_MOST_CURVES]
    axes = axes_for(ax, max(2.6, 1.0 + _LINE / 72.0 * len(shown)))
    values = [middle(curve) for curve in shown]
    line = _scale(axes, float(evidence["threshold"]), np.concatenate(values))
    handles: dict[str, Any] = {}
    for curve, ys in zip(shown, values, strict=True):
        (drawn,) = axes.plot(ys, markersize=2.8, linewidth=1.2, label=curve["role"], **_ROLES[curve["role"]])
        handles.setdefault(curve["role"], drawn)
    _end_names(axes, shown, values)
    _step_axis(axes, evidence, len(curves) - len(shown))
    legend_above(axes, [line, *handles.values()], 2)
    return axes


def middle(curve: Entry) -> Array:
    """(steps,) the middle of the bounds; NaN where they are infinite, which the details write as null."""
    bounds = np.array([curve["lower"], curve["upper"]], dtype=np.float64)  # None becomes NaN
    return np.asarray(bounds.mean(axis=0))


def _scale(axes: "Axes", threshold: float, values: Array) -> "Line2D":
    """Limits around the values, zero and the threshold, and the part in which explanations are rejected."""
    known = values[np.isfinite(values)]
    low, high = min([0.0, *known]), max([1.2 * threshold, *known])
    is_bent = max(-low, high) > 8.0 * threshold
    if is_bent:
        axes.set_yscale("asinh", linear_width=threshold)
        ticks = round_values(low, high, threshold)
        axes.set_yticks(ticks, [f"{tick:g}".replace("-", "−") for tick in ticks])
        axes.set_yticks([], minor=True)
    bottom, top = (np.arcsinh(x / threshold) if is_bent else x for x in (low, high))
    padded = np.array([bottom - 0.06 * (top - bottom), top + 0.06 * (top - bottom)])
    axes.set_ylim(*(threshold * np.sinh(padded) if is_bent else padded))
    axes.axhspan(threshold, axes.get_ylim()[1], color=RED_TINT, linewidth=0, zorder=0)
    line = axes.axhline(threshold, color=RED, linewidth=1.0, zorder=1, label=f"rejected above {threshold:.3g}")
    quiet_frame(axes, "left", "bottom")
    axes.set_ylabel("log evidence against", fontsize=TEXT)
    return line


def round_values(low: float, high: float, smallest: float) -> list[float]:
    """Zero and round values from about the smallest on, few enough to be read on a logarithmic scale.

    >>> round_values(-20.0, 900.0, 3.0)
    [-10.0, 0.0, 10.0, 100.0]
    """
    decades = range(floor(log10(smallest)), ceil(log10(max(-low, high))) + 1)
    every = max(1, ceil(len(decades) / 5))
    within = (1.0, 3.0) if len(decades) <= 3 else (1.0,)
    sizes = [m * 10.0**k for k in decades[::every] for m in within if m * 10.0**k >= smallest]
    return [value for value in (*(-size for size in reversed(sizes)), 0.0, *sizes) if low <= value <= high]


def _end_names(axes: "Axes", curves: Sequence[Entry], values: Sequence[Array]) -> None:
    """Explanation and fields beside the end of each curve, moved apart so that all can be read."""
    ends = [_end(ys) for ys in values]
    on_paper = (axes.transScale + axes.transLimits).transform(np.array(ends))[:, 1]  # (n,) in heights of the axes
    height = axes.get_window_extent().height / axes.figure.dpi * 72.0
    places = spread_apart(on_paper.tolist(), _LINE / height)
    for curve, end, place in zip(curves, ends, places, strict=True):
        where = f" {', '.join(curve['fields'])}" if curve["fields"] else ""
        color = _ROLES[curve["role"]]["color"]
        axes.annotate(plain(f"{curve['explanation']}{where}", 16), end, (1.06, place), textcoords="axes fraction",
                      va="center", fontsize=TINY, color=color, annotation_clip=False,
                      arrowprops={"arrowstyle": "-", "color": LINE, "shrinkA": 0, "shrinkB": 3})  # fmt: skip


def _end(ys: Array) -> tuple[float, float]:
    """The last known point of a curve."""
    known = np.flatnonzero(np.isfinite(ys))
    return (float(known[-1]), float(ys[known[-1]])) if known.size else (0.0, 0.0)


def spread_apart(wanted: Sequence[float], gap: float) -> list[float]:
    """Places between 0 and 1 near the wanted ones, in their order, `gap` apart as far as there is room.

    >>> spread_apart([0.5, 0.5, 0.9], 0.25)
    [0.25, 0.5, 0.9]
    """
    order = np.argsort(wanted, kind="stable")
    gap = min(gap, 1.0 / max(1, len(wanted) - 1))
    offsets = gap * np.arange(len(wanted))
    # Without the gaps, the wanted places must only not fall: from above, then from below.
    bare = np.minimum.accumulate((np.asarray(wanted)[order] - offsets)[::-1])[::-1]
    placed = np.clip(bare, 0.0, 1.0 - offsets[-1]) + offsets
    found = np.empty(len(wanted))
    found[order] = placed
    return [float(x) for x in found]


def _step_axis(axes: "Axes", evidence: Entry, n_left_out: int) -> None:
    steps = evidence["steps"]
    shown = sorted({*np.linspace(0, len(steps) - 1, min(len(steps), _MOST_TICKS)).round().astype(int).tolist()})
    axes.set_xticks(shown, ["\n".join(str(rows) for rows in steps[i]) for i in shown])
    axes.set_xlim(-0.5 if len(steps) == 1 else -0.03 * (len(steps) - 1), 1.03 * (len(steps) - 1) or 0.5)
    streams = " and ".join(plain(name) for name in evidence["streams"])
    note = f"\n{n_left_out} more curves not drawn" if n_left_out else ""
    axes.set_xlabel(f"held-out rows of {streams}{note}", fontsize=TEXT)


def plot_brackets(result: Detailed | Details, ax: "Axes | None" = None) -> "Axes":
    """Explanations witnessed and possible after each query; the exhaustive set lies between them.

    The low strip above shows how many fields are still open.
    """
    brackets = document_of(result)["brackets"]
    queries, witnessed, possible = (brackets[name] for name in ("queries", "witnessed", "possible"))
    axes = axes_for(ax, 2.6)
    axes.fill_between(queries, witnessed, possible, step="post", color=TINT, linewidth=0)
    style: dict[str, Any] = {"drawstyle": "steps-post", "linewidth": 1.3}
    axes.plot(queries, possible, color=INK, linestyle="--", label="possible", **style)
    axes.plot(queries, witnessed, color=BLUE, label="witnessed", **style)
    last = max(1, queries[-1])
    axes.set(xlim=(0.0, last), ylim=(0.0, 1.05 * max(1, *possible)))
    _bracket_names(axes, possible[-1], witnessed[-1])
    quiet_frame(axes, "left", "bottom")
    axes.set_xlabel("explanations asked about", fontsize=TEXT)
    axes.set_ylabel("explanations", fontsize=TEXT)
    whole_numbers(axes.xaxis, axes.yaxis)
    _open_fields(axes, queries, brackets["open"])
    return axes


def _bracket_names(axes: "Axes", possible: int, witnessed: int) -> None:
    height = axes.get_window_extent().height / axes.figure.dpi * 72.0
    top = axes.get_ylim()[1]
    places = spread_apart([witnessed / top, possible / top], 9.0 / height)
    for name, value, color, place in (
        ("witnessed", witnessed, BLUE, places[0]),
        ("possible", possible, INK, places[1]),
    ):
        axes.text(1.02, place, f"{grouped(value)} {name}", transform=axes.transAxes, va="center", fontsize=SMALL,
                  color=color)  # fmt: skip


def _open_fields(axes: "Axes", queries: Sequence[int], counts: Sequence[int]) -> None:
    strip = axes.inset_axes((0.0, 1.06, 1.0, 0.16), sharex=axes)
    strip.fill_between(queries, counts, step="post", color=LINE, linewidth=0)
    strip.plot(queries, counts, drawstyle="steps-post", color=STRONG_LINE, linewidth=0.8, label="open")
    strip.set_ylim(0.0, 1.1 * max(1, *counts))
    quiet_frame(strip, "left")
    strip.tick_params(axis="x", length=0, labelbottom=False)
    strip.set_yticks([0, max(1, *counts)])
    strip.text(1.02, 0.0, f"{counts[-1]} fields open" if counts[-1] != 1 else "1 field open", fontsize=SMALL,
               transform=strip.transAxes, color=MUTED)  # fmt: skip
