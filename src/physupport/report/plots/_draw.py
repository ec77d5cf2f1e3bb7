"""Pictures on the axes of matplotlib: roles become styles, and the layout makes room for texts."""

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ..._errors import MisuseError
from .._words import label_words
from ..pictures._model import COLUMN, MOST_NUMBERED, Axis, Key, Mark, Panel, Picture, spread_apart

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.transforms import Transform


# The colours of the report page. Colour-blind readers tell them apart, and shapes or words say the same.
INK = "#1c1e22"
MUTED = "#5a5e66"
LINE = "#dedad2"
STRONG_LINE = "#8b8880"
BLUE = "#0a5f9e"
TEAL = "#0b6e57"
AMBER = "#9a5300"
RED = "#b0261c"
GREY = "#646870"
TINT = "#0a5f9e1c"
RED_TINT = "#b0261c0d"
# Of series side by side (Okabe and Ito); shapes keep them apart in grey as well.
SERIES = "#0072b2", "#d55e00", "#009e73"

# points
TINY = 6
SMALL = 7
TEXT = 8

SIGNS: dict[str, dict[str, Any]] = {
    "kept": {"marker": "o", "color": BLUE, "markeredgewidth": 1.3},
    "not-asked": {"marker": "o", "color": "white", "markeredgecolor": BLUE, "markeredgewidth": 1.3},
    "excluded": {"marker": "x", "color": STRONG_LINE, "markeredgewidth": 1.1},
    # A triangle above its place, to which it points.
    "plug-in": {"marker": ((-3.6, 14.0), (3.6, 14.0), (0.0, 8.5), (-3.6, 14.0)), "color": AMBER, "markersize": 13.0},
    **{f"series-{k}": {"marker": "osD"[k], "color": color} for k, color in enumerate(SERIES)},
}
LINES: dict[str, dict[str, Any]] = {
    "proposal": {"color": INK, "linestyle": ":", "marker": "s", "markersize": 2.8, "linewidth": 1.2},
    "measured": {"color": "0.55", "linewidth": 0.9},
    "fit": {"color": BLUE, "linewidth": 1.2},
    "witness": {"color": BLUE, "marker": "o", "markersize": 2.8, "linewidth": 1.2},
    "nearest-excluded": {"color": RED, "linestyle": "--", "marker": "^", "markersize": 2.8, "linewidth": 1.2},
    "threshold": {"color": RED, "linewidth": 1.0},
    "bracket-possible": {"color": INK, "linestyle": "--", "linewidth": 1.3},
    "bracket-witnessed": {"color": BLUE, "linewidth": 1.3},
    "open-line": {"color": STRONG_LINE, "linewidth": 0.8},
    "response kept": {"color": BLUE, "linewidth": 1.9},
    "response not-asked": {"color": BLUE, "linewidth": 1.0},
    "response of-no-question": {"color": INK, "linewidth": 0.8},
    "response excluded": {"color": STRONG_LINE, "linewidth": 0.6},
    "region-frame": {"color": INK, "linewidth": 0.9},
    "lane": {"color": LINE, "linewidth": 0.7},
    "head": {"color": STRONG_LINE, "linewidth": 0.8},
    "grid": {"color": LINE, "linewidth": 0.7},
    "cell": {"color": TINT, "linewidth": 7.5, "solid_capstyle": "round"},
}
DASHES: tuple[Any, ...] = (
    "-", (0, (4, 2)), (0, (1.3, 1.6)), (0, (6, 2, 1.3, 2)), (0, (8, 3)), (0, (3, 1, 1, 1, 1, 1)),
)  # fmt: skip
FILLS: dict[str, dict[str, Any]] = {
    "rejected-zone": {"color": RED_TINT, "linewidth": 0},
    "band": {"color": TINT, "linewidth": 0},
    "open-fields": {"color": LINE, "linewidth": 0},
    "envelope": {"color": LINE, "linewidth": 0},
    "bar-not-asked": {"facecolor": "white", "edgecolor": BLUE, "linewidth": 1.0},
    "bar-kept": {"facecolor": BLUE, "edgecolor": BLUE, "linewidth": 1.0},
    "measured-bar": {"color": "0.8", "linewidth": 0},
}
# Of texts; the kinds of labels among them.
INKS = {
    "certain": BLUE, "absent": BLUE, "group": TEAL, "ambiguous": AMBER, "empty": RED, "open": GREY, "axis-text": MUTED,
    "axis-name": MUTED, "muted": MUTED, "name": INK, "count": INK,
}  # fmt: skip
SIZES = {"axis-text": TINY}
ALIGNED = {"start": "left", "middle": "center", "end": "right"}


def fixed(values: Iterable[float]) -> list[str]:
    """Numbers with as many decimals each as the longest of them needs at six digits.

    >>> fixed([0.1, 0.122])
    ['0.100', '0.122']
    """
    exact = [Decimal(f"{value:g}") for value in values]
    # A finite number has a whole exponent.
    decimals = max((-int(number.as_tuple().exponent) for number in exact), default=0)
    return [f"{number:.{max(decimals, 0)}f}" for number in exact]


_LINE = 8.5  # points from one name beside a curve to the next


def draw(picture: Picture, ax: "Axes | None") -> "Axes":
    """The picture on the given axes, or on those of a new figure of its size."""
    axes = new_axes(picture.size[1]) if ax is None else ax
    if picture.strip is not None:
        # First, because ticks of a shared axis are those that were set last.
        strip = axes.inset_axes((0.0, 1.06, 1.0, 0.16), sharex=axes)
        _panel(strip, picture.strip)
        strip.tick_params(axis="x", length=0, labelbottom=False)
        strip.spines["bottom"].set_visible(False)
    _panel(axes, picture.panel)
    axes.set_xlabel("\n".join(plain(text) for text in (picture.panel.x.name, *picture.notes) if text), fontsize=TEXT)
    if picture.is_equal:
        axes.set_aspect("equal")
    if picture.keys:
        _legend(axes, picture)
    elif picture.heading:
        axes.set_title(plain(picture.heading), fontsize=TEXT, loc="left")
    return axes


def plain(text: str) -> str:
    r"""A text that is never mathematics.

    >>> plain("US$ and A$")
    'US\\$ and A\\$'
    """
    return text.replace("$", r"\$")


def new_axes(height: float) -> "Axes":
    """Axes on a new figure one column wide.  height: in points."""
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError as error:
        remedy = 'Install it with pip install "physupport[plot]".'
        raise MisuseError("the picture", "be drawn with matplotlib", "none installed", remedy) from error
    return plt.subplots(figsize=(COLUMN.width / 72.0, height / 72.0), layout="constrained")[1]


def _panel(axes: "Axes", panel: Panel) -> None:
    if panel.y.bend is not None:
        axes.set_yscale("asinh", linear_width=panel.y.bend)
    for mark in panel.marks:
        _DRAWN[mark.kind](axes, mark, panel.is_dense)
    _ends(axes, [mark for mark in panel.marks if mark.kind == "end"], panel.y)
    letters = TINY if panel.is_dense else TEXT
    has_cells = any(mark.kind == "cells" for mark in panel.marks)
    for axis, side, drawn in ((panel.x, "bottom", axes.xaxis), (panel.y, "left", axes.yaxis)):
        drawn.set_ticks([tick.value for tick in axis.ticks], [plain(tick.text) for tick in axis.ticks],
                        fontsize=letters if axis.is_named else SMALL)  # fmt: skip
        drawn.set_ticks([], minor=True)
        drawn.set_tick_params(color=STRONG_LINE, length=0 if axis.is_named else 3.0)
        axes.spines[side].set_visible(has_cells or not axis.is_named)
        axes.spines[side].set_color(STRONG_LINE)
    axes.spines[["right", "top"]].set_visible(has_cells)
    if has_cells:
        axes.tick_params(axis="x", rotation=90)
    if any(mark.kind == "points" and mark.shares and min(mark.xs) < 0.0 for mark in panel.marks):
        axes.tick_params(axis="y", pad=12)  # signs stand between the names and the axes
    axes.set(xlim=(panel.x.low, panel.x.high), ylim=(panel.y.low, panel.y.high))
    axes.set_ylabel(plain(panel.y.name), fontsize=TEXT)


def _place(axes: "Axes", mark: Mark) -> "Transform":
    return {"": axes.transData, "x": axes.get_yaxis_transform(), "xy": axes.transAxes}[mark.shares]


def _points(axes: "Axes", mark: Mark, is_dense: bool) -> None:
    name = "point-valued method" if mark.role == "plug-in" else mark.role.replace("-", " ")
    style = {"markersize": 3.2 if is_dense else 5.0} | SIGNS[mark.role]
    axes.plot(mark.xs, mark.ys, linestyle="none", label=name, clip_on=False, transform=_place(axes, mark),
              zorder=mark.depth, **style)  # fmt: skip


def _line(axes: "Axes", mark: Mark, _is_dense: bool) -> None:
    style = LINES[mark.role] | ({} if mark.dash is None else {"linestyle": DASHES[mark.dash]})
    axes.plot(mark.xs, mark.ys, label=plain(mark.name), zorder=mark.depth, transform=_place(axes, mark),
              drawstyle="steps-post" if mark.is_stepped else "default", **style)  # fmt: skip


def _area(axes: "Axes", mark: Mark, _is_dense: bool) -> None:
    step: Any = "post" if mark.is_stepped else None
    axes.fill_between(mark.xs, mark.lower, mark.ys, step=step, zorder=0, transform=_place(axes, mark),
                      **FILLS[mark.role])  # fmt: skip


def _bars(axes: "Axes", mark: Mark, _is_dense: bool) -> None:
    style = {"label": plain(mark.name)} | FILLS[mark.role]
    if mark.kind == "columns":
        axes.bar(mark.xs, mark.ys, 0.66, **style)
    else:
        axes.barh(mark.ys, mark.xs, 0.66, **style)


def _words(axes: "Axes", mark: Mark, _is_dense: bool) -> None:
    role = mark.role.split()[-1]
    ground = {"color": "white", "alpha": 0.7, "pad": 0.5, "linewidth": 0} if mark.role.startswith("halo") else None
    axes.annotate(plain(mark.texts[0]), mark.place, (0.0, 0.5 * mark.lift), xycoords=_place(axes, mark),
                  textcoords="offset points", ha=ALIGNED[mark.anchor], va="bottom" if mark.lift else "center",
                  color=INKS[role], zorder=mark.depth, bbox=ground, annotation_clip=False,
                  fontsize=SIZES.get(role, SMALL))  # fmt: skip


def _label(axes: "Axes", mark: Mark, is_dense: bool) -> None:
    text = label_words(mark.texts[0])
    axes.text(*mark.place, text if is_dense else text.replace(" ", "\n"), transform=_place(axes, mark),
              va="center_baseline", linespacing=0.95, fontsize=TINY if is_dense else SMALL,
              color=INKS[mark.role])  # fmt: skip


def _ends(axes: "Axes", ends: Sequence[Mark], vertical: Axis) -> None:
    height = axes.get_window_extent().height / axes.figure.dpi * 72.0
    places = spread_apart([vertical.share(end.place[1]) for end in ends], _LINE / height, 0.0, 1.0)
    for end, place in zip(ends, places, strict=True):
        text, title = end.texts
        leader: Any = {"arrowstyle": "-", "color": LINE, "shrinkA": 0, "shrinkB": 3} if title else None
        color = LINES[end.role]["color"] if end.role in LINES else INKS[end.role]
        axes.annotate(plain(text), end.place, (1.06 if title else 1.02, place), color=color,
                      textcoords="axes fraction", va="center", annotation_clip=False, arrowprops=leader,
                      fontsize=TINY if title else SMALL)  # fmt: skip


def _cells(axes: "Axes", mark: Mark, _is_dense: bool) -> None:
    image = axes.imshow(mark.cells, cmap="Blues", vmin=0.0, vmax=1.0)
    for i, row in enumerate(mark.cells if len(mark.cells) <= MOST_NUMBERED else ()):
        for j, value in enumerate(row):
            ink = "white" if value > 0.6 else INK
            axes.text(j, i, f"{value:.2f}", ha="center", va="center", fontsize=TINY, color=ink)
    bar = axes.figure.colorbar(image, ax=axes, shrink=0.85)
    bar.set_label(plain(mark.name), fontsize=TEXT)
    bar.ax.tick_params(labelsize=SMALL)


_DRAWN: dict[str, Callable[["Axes", Mark, bool], None]] = {
    "points": _points, "line": _line, "area": _area, "bars": _bars, "columns": _bars, "text": _words, "label": _label,
    "cells": _cells, "end": lambda *_: None,  # all ends are placed together
}  # fmt: skip


def _legend(axes: "Axes", picture: Picture) -> None:
    """On top of the axes, where it covers nothing; beside names it grows to the left, over them."""
    texts = [mark for mark in picture.panel.marks if mark.kind == "text"]
    has_heading = any(text.shares == "xy" and text.place[1] >= 1.0 for text in texts)
    longest = max(len(key.text) + len(key.note) for key in picture.keys)
    at_right = picture.panel.y.is_named and not has_heading
    axes.legend(
        handles=[_handle(key) for key in picture.keys], title=plain(picture.heading),
        loc="lower right" if at_right else "lower left", bbox_to_anchor=(float(at_right), 1.0),
        ncols=3 if longest < 10 else 2 if longest < 20 else 1, fontsize=SMALL, title_fontsize=TEXT, alignment="left",
        frameon=False, borderpad=0.2, borderaxespad=1.5 if has_heading else 0.2, handletextpad=0.5, columnspacing=1.2,
    )  # fmt: skip


def _handle(key: Key) -> "Artist":
    from matplotlib import lines, patches

    text = plain(f"{key.note}: {key.text}" if key.note else key.text)
    if key.role in FILLS:
        return patches.Patch(label=text, **FILLS[key.role])
    if key.role in SIGNS:
        return lines.Line2D([], [], linestyle="none", label=text, **{"markersize": 5.0} | SIGNS[key.role])
    style = LINES[key.role] | ({} if key.dash is None else {"linestyle": DASHES[key.dash]})
    return lines.Line2D([], [], label=text, **style)
