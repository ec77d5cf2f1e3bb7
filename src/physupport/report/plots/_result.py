"""What the pictures of a result share: the details they are drawn from, colours, signs and words."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..._errors import MisuseError
from .._details import Detailed, Details

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.container import Container
    from matplotlib.transforms import Transform

# An entry of the details, as JSON gives it.
Entry = Mapping[str, Any]
Point = tuple[float, float]

# The colours of the report page on paper. Colour-blind readers tell them apart, and shapes or words say the same.
INK, MUTED, LINE, STRONG_LINE = "#1c1e22", "#5a5e66", "#dedad2", "#8b8880"
BLUE, TEAL, AMBER, RED, GREY = "#0a5f9e", "#0b6e57", "#9a5300", "#b0261c", "#646870"
TINT, RED_TINT = "#0a5f9e1c", "#b0261c0d"

COLUMN = 3.35  # inches: a journal column of 85 mm
TINY, SMALL, TEXT = 6, 7, 8  # points

# Witnessed is a disc, possible a ring, excluded a cross.
SIGNS: dict[str, dict[str, Any]] = {
    "witnessed": {"marker": "o", "color": BLUE, "markeredgewidth": 1.3, "zorder": 4},
    "possible": {"marker": "o", "color": "white", "markeredgecolor": BLUE, "markeredgewidth": 1.3, "zorder": 3},
    "excluded": {"marker": "x", "color": STRONG_LINE, "markeredgewidth": 1.1, "zorder": 2},
}
_LABEL_COLORS = {"FINE": BLUE, "ABSENT": BLUE, "GROUP": TEAL, "EMPTY": RED}


def document_of(result: Detailed | Details) -> Entry:
    """The details' document; those of a result are made first, which costs more than the picture."""
    if isinstance(result, Details):
        return result.document
    if not isinstance(result, Detailed):
        raise MisuseError("result", "be of type Result or Details", f"{type(result).__name__} {result!r}")
    return result.details().document


def axes_for(ax: "Axes | None", height: float) -> "Axes":
    """The given axes, or those of a new figure as wide as a column and so many inches high."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError as error:
        remedy = 'Install it with pip install "physupport[plot]".'
        raise MisuseError("the picture", "be drawn with matplotlib", "none installed", remedy) from error
    return plt.subplots(figsize=(COLUMN, height), layout="constrained")[1]


def labels_of(document: Entry) -> dict[str, str]:
    """Field -> its label."""
    return {entry["field"]: entry["label"] for entry in document["fields"]}


def fields_with_elements(document: Entry, chosen: Sequence[str] | None = None) -> list[Entry]:
    """Entries of the chosen fields, or of all; a question without elements has nothing to draw."""
    known = {entry["field"]: entry for entry in document["fields"] if entry["elements"]}
    if not known:
        remedy = "Only maps of regions have elements; plot_evidence and plot_brackets work for every question."
        raise MisuseError("result", "have fields with elements", "none", remedy)
    if chosen is None:
        return [*known.values()]
    unknown = [name for name in chosen if name not in known]
    if unknown or not chosen:
        raise MisuseError("fields", f"be among {', '.join(known)}", ", ".join(map(repr, unknown)) or "none")
    return [known[name] for name in chosen]


def label_color(label: str) -> str:
    """The colour of a label's word, as on the page."""
    return AMBER if label.endswith("AMBIGUOUS") else _LABEL_COLORS.get(label, GREY)


def label_words(label: str) -> str:
    """A label as words.

    >>> label_words("SUPPORT_AMBIGUOUS")
    'support ambiguous'
    """
    return label.replace("_", " ").lower()


def plain(name: str, most: int = 24) -> str:
    r"""A name as text, never as mathematics; a long one is cut in the middle, since many differ at the end alone.

    >>> plain("US$ and A$"), plain("mineral of kind 17", 12)
    ('US\\$ and A\\$', 'minera…nd 17')
    """
    tail = (most - 1) // 2
    short = name if len(name) <= most else f"{name[: most - 1 - tail]}…{name[-tail:]}"
    return short.replace("$", r"\$")


def grouped(count: int) -> str:
    """A count with a space between thousands.

    >>> grouped(1234567)
    '1 234 567'
    """
    return f"{count:,}".replace(",", " ")


def plug_in_signs(axes: "Axes", points: Sequence[Point], base: "Transform", lift: float = 5.5) -> "list[Artist]":
    """Triangles that point down to what a point-valued method says, lifted above the points by so many 1/72 inch."""
    from matplotlib.transforms import ScaledTranslation

    place = base + ScaledTranslation(0.0, lift / 72.0, axes.figure.dpi_scale_trans)
    style: dict[str, Any] = {"marker": "v", "color": AMBER, "markersize": 3.2, "linestyle": "none", "zorder": 5}
    label = "point-valued method"
    return [*axes.plot(*columns(points), label=label, transform=place, clip_on=False, **style)] if points else []


def columns(points: Sequence[Point]) -> tuple[list[float], list[float]]:
    """Points as their x and their y."""
    return [x for x, _ in points], [y for _, y in points]


def state_keys() -> "list[Artist]":
    """The signs of the three states, for a legend."""
    from matplotlib.lines import Line2D

    return [Line2D([], [], linestyle="none", markersize=5, label=state, **style) for state, style in SIGNS.items()]


def legend_above(
    axes: "Axes",
    handles: "Sequence[Artist | Container]",
    n_columns: int,
    *,
    lift: float = 0.0,
    title: str = "",
    at_right: bool = False,
) -> None:
    """A legend on top of the axes, where it covers nothing.  lift: inches that something else takes there.

    at_right: it grows to the left, over the names beside narrow axes.
    """
    from matplotlib.transforms import ScaledTranslation

    place = axes.transAxes + ScaledTranslation(0.0, lift, axes.figure.dpi_scale_trans)
    axes.legend(
        handles=[*handles], title=title, loc="lower right" if at_right else "lower left",
        bbox_to_anchor=(float(at_right), 1.0), bbox_transform=place,
        ncols=n_columns, fontsize=SMALL, title_fontsize=TEXT, alignment="left", frameon=False, borderpad=0.2,
        borderaxespad=0.2, handletextpad=0.5, columnspacing=1.2,
    )  # fmt: skip


def whole_numbers(*axis: "Axis") -> None:
    """Ticks of counts, large ones as 200k or 3M."""
    from matplotlib.ticker import EngFormatter, MaxNLocator

    for each in axis:
        each.set_major_locator(MaxNLocator(5, integer=True))
        each.set_major_formatter(EngFormatter(sep=""))


def quiet_frame(axes: "Axes", *kept: str) -> None:
    """Only the sides of the frame that carry numbers."""
    for side in ("left", "right", "top", "bottom"):
        axes.spines[side].set_visible(side in kept)
        axes.spines[side].set_color(STRONG_LINE)
    axes.tick_params(labelsize=SMALL, color=STRONG_LINE)
