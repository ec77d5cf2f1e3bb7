"""Pictures on the axes of matplotlib: roles look as on the page, and the layout makes room for texts."""

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ..._errors import Clause, MisuseError
from .._words import label_words
from ..pictures._model import COLUMN, MOST_NUMBERED, Axis, Key, Mark, Panel, Picture, spread_apart, style_of

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.transforms import Transform


# points
TINY = 6
SMALL = 7
TEXT = 8

INK = "#1c1e22"
EDGE = "#8b8880"
# Shape and size; plug-in is a triangle above its place, to which it points.
MARKERS: dict[str, tuple[Any, float]] = {
    "kept": ("o", 6.6),
    "not-asked": ("o", 5.6),
    "excluded": ("x", 4.8),
    "plug-in": (((-3.6, 14.0), (3.6, 14.0), (0.0, 8.5), (-3.6, 14.0)), 15.0),
    "series-0": ("o", 4.8),
    "series-1": ("s", 4.2),
    "series-2": ("D", 4.2),
}
ALIGNED = {"start": "left", "middle": "center", "end": "right"}
_POINT = 0.65  # points that a pixel of the style sheet is wide


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
        raise MisuseError(
            "the picture", "be drawn with matplotlib", Clause("that package is not installed"), remedy
        ) from error
    return plt.subplots(figsize=(COLUMN.width / 72.0, height / 72.0), layout="constrained")[1]


def _panel(axes: "Axes", panel: Panel) -> None:
    for axis, set_scale in ((panel.x, axes.set_xscale), (panel.y, axes.set_yscale)):
        if axis.bend is not None:
            set_scale("asinh", linear_width=axis.bend)
    for mark in panel.marks:
        _DRAWN[mark.kind](axes, mark, panel.is_dense)
    _ends(axes, [mark for mark in panel.marks if mark.kind == "end"], panel.y)
    letters = TINY if panel.is_dense else TEXT
    has_cells = any(mark.kind == "cells" for mark in panel.marks)
    for axis, side, drawn in ((panel.x, "bottom", axes.xaxis), (panel.y, "left", axes.yaxis)):
        drawn.set_ticks([tick.value for tick in axis.ticks], [plain(tick.text) for tick in axis.ticks],
                        fontsize=letters if axis.is_named else SMALL)  # fmt: skip
        drawn.set_ticks([], minor=True)
        drawn.set_tick_params(color=EDGE, length=0 if axis.is_named else 3.0)
        axes.spines[side].set_visible(has_cells or not axis.is_named)
        axes.spines[side].set_color(EDGE)
    axes.spines[["right", "top"]].set_visible(has_cells)
    if has_cells:
        axes.tick_params(axis="x", rotation=90)
    if any(mark.kind == "points" and mark.shares and min(mark.xs) < 0.0 for mark in panel.marks):
        axes.tick_params(axis="y", pad=12)  # signs stand between the names and the axes
    axes.set(xlim=(panel.x.low, panel.x.high), ylim=(panel.y.low, panel.y.high))
    axes.set_ylabel(plain(panel.y.name), fontsize=TEXT)


def _place(axes: "Axes", mark: Mark) -> "Transform":
    return {"": axes.transData, "x": axes.get_yaxis_transform(), "xy": axes.transAxes}[mark.shares]


def _sign_style(role: str, is_dense: bool = False) -> dict[str, Any]:
    style = style_of(role)
    fill = style["fill"] if style["fill"] != "none" else style["stroke"]
    marker, size = MARKERS[role]
    return {
        "linestyle": "none",
        "marker": marker,
        "markersize": size * (0.7 if is_dense else 1.0),
        "color": fill,
        "markeredgecolor": style.get("stroke", fill),
        "markeredgewidth": _POINT * float(style.get("stroke-width", 1.0)),
    }


def _line_style(role: str, dash: int | None, is_dense: bool = False) -> dict[str, Any]:
    style = style_of("curve", *role.split(), f"dash-{dash}")
    width = float(style["stroke-width"])
    dashes = tuple(float(length) / width for length in style.get("stroke-dasharray", "").split())
    return {
        "color": style["stroke"],
        "linewidth": _POINT * width * (0.6 if is_dense else 1.0),
        "linestyle": (0, dashes) if dashes else "-",
        "solid_capstyle": style.get("stroke-linecap", "projecting"),
    }


def _fill_style(role: str) -> dict[str, Any]:
    style = style_of(role)
    color = style["fill"]
    return {
        "facecolor": (color, float(style["fill-opacity"])) if "fill-opacity" in style else color,
        "edgecolor": style.get("stroke", "none"),
        "linewidth": 1.0 if "stroke" in style else 0.0,
    }


def _ink(*classes: str) -> str:
    return style_of(*classes).get("fill", INK)


def _points(axes: "Axes", mark: Mark, is_dense: bool) -> None:
    name = "best fit" if mark.role == "plug-in" else mark.role.replace("-", " ")
    axes.plot(mark.xs, mark.ys, label=name, clip_on=False, transform=_place(axes, mark), zorder=mark.depth,
              **_sign_style(mark.role, is_dense))  # fmt: skip


def _line(axes: "Axes", mark: Mark, is_dense: bool) -> None:
    points: dict[str, Any] = {"marker": "o", "markersize": 2.8} if mark.has_points else {}
    axes.plot(mark.xs, mark.ys, label=plain(mark.name), zorder=mark.depth, transform=_place(axes, mark),
              drawstyle="steps-post" if mark.is_stepped else "default", **points,
              **_line_style(mark.role, mark.dash, is_dense))  # fmt: skip


def _area(axes: "Axes", mark: Mark, _is_dense: bool) -> None:
    step: Any = "post" if mark.is_stepped else None
    axes.fill_between(mark.xs, mark.lower, mark.ys, step=step, zorder=0, transform=_place(axes, mark),
                      **_fill_style(mark.role))  # fmt: skip


def _bars(axes: "Axes", mark: Mark, _is_dense: bool) -> None:
    style = _fill_style(mark.role)
    if mark.kind == "columns":
        axes.bar(mark.xs, mark.ys, 0.66, label=plain(mark.name), **style)
    else:
        axes.barh(mark.ys, mark.xs, 0.66, label=plain(mark.name), **style)


def _words(axes: "Axes", mark: Mark, _is_dense: bool) -> None:
    is_halo = mark.role.startswith("halo")
    ground = {"color": "white", "alpha": 0.7, "pad": 0.5, "linewidth": 0} if is_halo else None
    axes.annotate(plain(mark.texts[0]), mark.place, (0.0, 0.5 * mark.lift), xycoords=_place(axes, mark),
                  textcoords="offset points", ha=ALIGNED[mark.anchor], va="bottom" if mark.lift else "center",
                  color=_ink(*mark.role.split()), zorder=mark.depth, bbox=ground, annotation_clip=False,
                  fontsize=TINY if mark.role == "axis-text" else SMALL)  # fmt: skip


def _label(axes: "Axes", mark: Mark, is_dense: bool) -> None:
    text = label_words(mark.texts[0])
    axes.text(*mark.place, text if is_dense else text.replace(" ", "\n"), transform=_place(axes, mark),
              va="center_baseline", linespacing=0.95, fontsize=TINY if is_dense else SMALL,
              color=_ink("label-text", mark.role))  # fmt: skip


def _ends(axes: "Axes", ends: Sequence[Mark], vertical: Axis) -> None:
    height = axes.get_window_extent().height / axes.figure.dpi * 72.0
    places = spread_apart([vertical.share(end.place[1]) for end in ends], _LINE / height, 0.0, 1.0)
    for end, place in zip(ends, places, strict=True):
        text, title = end.texts
        leader: Any = {"arrowstyle": "-", "color": "0.85", "shrinkA": 0, "shrinkB": 3} if title else None
        axes.annotate(plain(text), end.place, (1.06 if title else 1.02, place), color=_ink("end", end.role),
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
    """Draw the legend on top of the axes, where it covers nothing; beside names it grows to the left, over them."""
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
    if key.kind in ("bars", "columns"):
        return patches.Patch(label=text, **_fill_style(key.role))
    style = _sign_style(key.role) if key.kind == "points" else _line_style(key.role, key.dash)
    return lines.Line2D([], [], label=text, **style)
