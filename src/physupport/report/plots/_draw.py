"""Pictures on the axes of matplotlib: roles become styles, and the layout makes room for texts."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, assert_never

from ..._errors import MisuseError
from .._words import label_words
from ..pictures import _model as model
from ..pictures._model import COLUMN, spread_apart

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
# Of series side by side (Okabe and Ito); shapes and hatches keep them apart in grey as well.
SERIES = "#0072b2", "#d55e00", "#009e73", "#cc79a7"

# points
TINY = 6
SMALL = 7
TEXT = 8

SIGNS: dict[str, dict[str, Any]] = {
    "kept": {"marker": "o", "color": BLUE, "markeredgewidth": 1.3, "zorder": 4.3},
    "not-asked": {"marker": "o", "color": "white", "markeredgecolor": BLUE, "markeredgewidth": 1.3, "zorder": 4.2},
    "excluded": {"marker": "x", "color": STRONG_LINE, "markeredgewidth": 1.1, "zorder": 4.1},
    "plug-in": {"marker": "v", "color": AMBER, "zorder": 5},
    **{f"series-{k}": {"marker": "osD"[k], "color": SERIES[k], "zorder": 3} for k in range(3)},
    "series-3": {"marker": "x", "color": INK, "zorder": 4, "markersize": 7.5},  # around a disc in the same place
    "hollow": {"marker": "D", "color": "white", "markeredgecolor": INK, "zorder": 4, "markersize": 4},
    "series-4": {"marker": "^", "color": "#e69f00", "zorder": 3},
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
    "cell": {"color": TINT, "solid_capstyle": "round"},
    "guide": {"color": STRONG_LINE, "linestyle": "--", "linewidth": 1.2},
    "level": {"color": INK, "linewidth": 1.5},
    **{f"line-{k}": {"color": color, "linewidth": 1.1} for k, color in enumerate(SERIES)},
    # Hollow, and ever smaller: points in one place are all seen.
    **{
        f"nested-{k}": {
            "color": color,
            "linewidth": 0.8,
            "marker": "osD^vP"[k],
            "markersize": 7.5 - k,
            "markerfacecolor": "none",
        }
        for k, color in enumerate((INK, BLUE, TEAL, AMBER, RED, GREY))
    },
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
    "zone": {"color": f"{LINE}80", "linewidth": 0},
    **{
        f"part-{k}": {"facecolor": color, "hatch": hatch, "edgecolor": "black", "linewidth": 0.7}
        for k, (color, hatch) in enumerate(
            (
                ("#0072b2", ""),
                ("#56b4e9", "///"),
                ("#e69f00", ""),
                ("#009e73", "\\\\\\"),
                ("#e0e0e0", ""),
                ("#ffffff", "xxx"),
                ("#d55e00", "xxx"),
            )
        )
    },
}
# Of texts; the kinds of labels among them.
INKS = {
    "certain": BLUE, "absent": BLUE, "group": TEAL, "ambiguous": AMBER, "empty": RED, "open": GREY, "axis-text": MUTED,
    "muted": MUTED, "count": INK, "on-dark": "white",
}  # fmt: skip
SIZES = {"axis-text": TINY}


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


def draw(picture: model.Picture, ax: "Axes | None") -> "Axes":
    """The picture on the given axes, or on those of a new figure of its size."""
    axes = _axes(ax, picture.size[1] / 72.0)
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


def _axes(ax: "Axes | None", height: float) -> "Axes":
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError as error:
        remedy = 'Install it with pip install "physupport[plot]".'
        raise MisuseError("the picture", "be drawn with matplotlib", "none installed", remedy) from error
    return plt.subplots(figsize=(COLUMN.width / 72.0, height), layout="constrained")[1]


def _panel(axes: "Axes", panel: model.Panel) -> None:
    if panel.y.bend is not None:
        axes.set_yscale("asinh", linear_width=panel.y.bend)
    for mark in panel.marks:
        _mark(axes, mark, panel)
    _ends(axes, [mark for mark in panel.marks if isinstance(mark, model.End)], panel.y)
    letters = TINY if panel.is_dense else TEXT
    has_cells = any(isinstance(mark, model.Cells) for mark in panel.marks)
    for axis, side, drawn in ((panel.x, "bottom", axes.xaxis), (panel.y, "left", axes.yaxis)):
        drawn.set_ticks([tick.value for tick in axis.ticks], [plain(tick.text) for tick in axis.ticks],
                        fontsize=letters if axis.is_named else SMALL)  # fmt: skip
        drawn.set_ticks([], minor=True)
        drawn.set_tick_params(color=STRONG_LINE, length=0 if axis.is_named else 3.0)
        axes.spines[side].set_visible(has_cells or not axis.is_named)
        axes.spines[side].set_color(STRONG_LINE)
    for side in ("right", "top"):
        axes.spines[side].set_visible(has_cells)
    if has_cells:
        axes.tick_params(axis="x", rotation=90)
    if any(isinstance(mark, model.Points) and mark.shares and min(mark.xs) < 0.0 for mark in panel.marks):
        axes.tick_params(axis="y", pad=12)  # signs stand between the names and the axes
    axes.set(xlim=(panel.x.low, panel.x.high), ylim=(panel.y.low, panel.y.high))
    axes.set_ylabel(plain(panel.y.name), fontsize=TEXT)


def _place(axes: "Axes", shares: model.Shares) -> "Transform":
    return {"": axes.transData, "x": axes.get_yaxis_transform(), "xy": axes.transAxes}[shares]


def _lifted(axes: "Axes", place: "Transform", points: float) -> "Transform":
    from matplotlib.transforms import ScaledTranslation

    return place + ScaledTranslation(0.0, points / 72.0, axes.figure.dpi_scale_trans)


def _mark(axes: "Axes", mark: model.Mark, panel: model.Panel) -> None:
    match mark:
        case model.Points():
            _points(axes, mark, panel.is_dense)
        case model.Line():
            _line(axes, mark, panel.is_dense)
        case model.Area():
            step = "post" if mark.is_stepped else None
            axes.fill_between(mark.xs, mark.lower, mark.upper, step=step, zorder=0, **FILLS[mark.role])  # type: ignore[arg-type]
        case model.Rule():
            axes.axhline(mark.y, zorder=1, **LINES[mark.role])
        case model.Bars():
            starts = mark.starts or 0.0
            style = {"label": plain(mark.name)} | FILLS[mark.role]
            if mark.is_upright:
                axes.bar(mark.places, mark.lengths, mark.thickness, bottom=starts, **style)
            else:
                axes.barh(mark.places, mark.lengths, mark.thickness, left=starts, **style)
        case model.Text():
            _text(axes, mark)
        case model.Label():
            words = label_words(mark.label) if panel.is_dense else label_words(mark.label).replace(" ", "\n")
            axes.text(mark.x, mark.y, words, transform=_place(axes, "x"), va="center_baseline", linespacing=0.95,
                      fontsize=TINY if panel.is_dense else SMALL, color=INKS[mark.kind])  # fmt: skip
        case model.Cells():
            _cells(axes, mark)
        case model.End():
            pass  # all of them are placed together
        case _:
            assert_never(mark)


def _points(axes: "Axes", mark: model.Points, is_dense: bool) -> None:
    place = _place(axes, mark.shares)
    size = 3.5 if is_dense else 5.0
    name = mark.sign.replace("-", " ")
    if mark.sign.startswith("series") and is_dense:
        size = 2.4  # several stand in one place
    if mark.sign == "plug-in":
        place = _lifted(axes, place, 4.2 if is_dense else 5.5)
        size = 3.2
        name = "point-valued method"
    style = {"markersize": size} | SIGNS[mark.sign]
    axes.plot(mark.xs, mark.ys, linestyle="none", label=name, clip_on=False, transform=place, **style)


def _line(axes: "Axes", mark: model.Line, is_dense: bool) -> None:
    style = dict(LINES[mark.role])
    if mark.role == "cell":
        style["linewidth"] = 6.3 if is_dense else 9.0
    if mark.dash is not None:
        style["linestyle"] = DASHES[mark.dash]
    drawstyle = "steps-post" if mark.is_stepped else "default"
    axes.plot(mark.xs, mark.ys, label=plain(mark.name), zorder=mark.depth, drawstyle=drawstyle, **style)


def _text(axes: "Axes", mark: model.Text) -> None:
    from matplotlib import patheffects

    role = mark.role.split()[-1]
    align = {"start": "left", "middle": "center", "end": "right"}[mark.anchor]
    drawn = axes.text(mark.x, mark.y, plain(mark.text), ha=align, va="bottom" if mark.lift else "center", zorder=6,
                      transform=_lifted(axes, _place(axes, mark.shares), 0.7 * mark.lift), color=INKS[role],
                      fontsize=SIZES.get(role, SMALL))  # fmt: skip
    if mark.role.startswith("halo"):
        drawn.set_path_effects([patheffects.withStroke(linewidth=2.0, foreground="white")])


def _ends(axes: "Axes", ends: Sequence[model.End], vertical: model.Axis) -> None:
    height = axes.get_window_extent().height / axes.figure.dpi * 72.0
    places = spread_apart([vertical.share(end.y) for end in ends], _LINE / height, 0.0, 1.0)
    for end, place in zip(ends, places, strict=True):
        leader: Any = {"arrowstyle": "-", "color": LINE, "shrinkA": 0, "shrinkB": 3} if end.has_leader else None
        color = LINES[end.role]["color"] if end.role in LINES else INKS[end.role]
        axes.annotate(plain(end.text), (end.x, end.y), (1.06 if end.has_leader else 1.02, place), color=color,
                      textcoords="axes fraction", va="center", annotation_clip=False, arrowprops=leader,
                      fontsize=TINY if end.has_leader else SMALL)  # fmt: skip


def _cells(axes: "Axes", mark: model.Cells) -> None:
    """From paper to the blue of the page: one hue that only darkens."""
    from matplotlib.colors import LinearSegmentedColormap

    shades = LinearSegmentedColormap.from_list("page", ["white", BLUE])
    image = axes.imshow(mark.values, cmap=shades, vmin=0.0, vmax=1.0)
    for i, row in enumerate(mark.values if mark.has_numbers else ()):
        for j, value in enumerate(row):
            ink = "white" if value > 0.6 else INK
            axes.text(j, i, f"{value:.2f}", ha="center", va="center", fontsize=TINY, color=ink)
    bar = axes.figure.colorbar(image, ax=axes, shrink=0.85)
    bar.set_label(plain(mark.name), fontsize=TEXT)
    bar.ax.tick_params(labelsize=SMALL)


def _legend(axes: "Axes", picture: model.Picture) -> None:
    """On top of the axes, where it covers nothing; beside names it grows to the left, over them."""
    texts = [mark for mark in picture.panel.marks if isinstance(mark, model.Text)]
    has_heading = any(text.shares == "xy" and text.y >= 1.0 for text in texts)
    longest = max(len(key.text) + len(key.note) for key in picture.keys)
    at_right = picture.panel.y.is_named and not has_heading
    axes.legend(
        handles=[_handle(key) for key in picture.keys], title=plain(picture.heading),
        loc="lower right" if at_right else "lower left", bbox_to_anchor=(float(at_right), 1.0),
        bbox_transform=_lifted(axes, axes.transAxes, 9.0 if has_heading else 0.0),
        ncols=3 if longest < 10 else 2 if longest < 20 else 1, fontsize=SMALL, title_fontsize=TEXT, alignment="left",
        frameon=False, borderpad=0.2, borderaxespad=0.2, handletextpad=0.5, columnspacing=1.2,
    )  # fmt: skip


def _handle(key: model.Key) -> "Artist":
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    text = plain(f"{key.note}: {key.text}" if key.note else key.text)
    if key.role in FILLS:
        return Patch(label=text, **FILLS[key.role])
    if key.role in SIGNS:
        style = {"markersize": 3.2 if key.role == "plug-in" else 5.0} | SIGNS[key.role]
        return Line2D([], [], linestyle="none", label=text, **style)
    style = dict(LINES[key.role]) | ({} if key.dash is None else {"linestyle": DASHES[key.dash]})
    return Line2D([], [], label=text, **style)
