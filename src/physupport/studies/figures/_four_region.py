"""Pictures of the four-region study: its responses, their coherence, its maps, and what a point-valued method adds."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...report.plots._style import fixed
from ._style import SMALL, TEXT, Row, label_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Colours that stay apart for colour-blind readers (Okabe and Ito), one a region.
_COLORS = {"A": "#0072b2", "B": "#d55e00", "C": "#009e73", "D": "#cc79a7"}
_STYLES = ("-", "--", ":", "-.")
_OPEN: Any = {"marker": "o", "linestyle": "none", "mfc": "white", "mec": "0.6", "markersize": 4.5}
_WORDS = {
    "FINE": "fine",
    "GROUP": "group",
    "SUPPORT_AMBIGUOUS": "ambiguous",
    "LOCAL_AMBIGUOUS": "ambiguous",
    "ABSENT": "absent",
    "ABSTAIN": "abstain",
    "EMPTY": "empty",
}


def plot_responses(rows: Sequence[Row], ax: "Axes") -> "Axes":
    """Response over the sensors; colour is the region, the style of a line its place within the region.

    rows: region, place, sensor, response.
    """
    from matplotlib.lines import Line2D

    regions, handles = _places(rows), []
    deepest = max(len(members) for members in regions.values())
    for region, members in regions.items():
        for style, (place, response) in zip(_STYLES, members.items(), strict=False):
            sensors = (np.arange(len(response)) + 0.5) / len(response)
            handles += ax.plot(
                sensors, response, style, color=_COLORS[region], linewidth=1.2, label=f"{region} {place}"
            )
        # Blanks fill the column of the region.
        handles += [Line2D([], [], linestyle="none", label=" ") for _ in range(deepest - len(members))]
    label_axes(ax, "sensor position", "response, unit norm")
    ax.set_xlim(0.0, 1.0)
    ax.legend(handles=handles, fontsize=6, ncols=len(regions), loc="lower center", bbox_to_anchor=(0.5, 1.0),
              handlelength=2.2, columnspacing=1.0, frameon=False)  # fmt: skip
    return ax


def plot_coherence(rows: Sequence[Row], ax: "Axes") -> "Axes":
    """Absolute inner products of all responses, regions framed.  rows: region, place, sensor, response."""
    regions = _places(rows)
    atoms = np.array([response for members in regions.values() for response in members.values()])
    image = ax.imshow(np.abs(atoms @ atoms.T), cmap="cividis", vmin=0.0, vmax=1.0)
    start = 0
    for region, members in regions.items():
        middle, count = start + 0.5 * len(members) - 0.5, len(members)
        outline = np.array([[0, 0], [count, 0], [count, count], [0, count], [0, 0]]) + start - 0.5
        ax.plot(*outline.T, color="white", linewidth=1.5)
        ax.annotate(region, (middle, 1.0), (0, 3), xycoords=("data", "axes fraction"), textcoords="offset points",
                    ha="center", fontsize=TEXT, color=_COLORS[region], weight="bold")  # fmt: skip
        start += count
    names = [place for members in regions.values() for place in members]
    ax.set_xticks(range(len(names)), names, rotation=90, fontsize=SMALL)
    ax.set_yticks(range(len(names)), names, fontsize=SMALL)
    ax.set_xlabel("place", fontsize=TEXT)
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.85)
    bar.set_label("absolute coherence", fontsize=TEXT)
    bar.ax.tick_params(labelsize=SMALL)
    return ax


def plot_regional_map(rows: Sequence[Row], library: Sequence[Row], ax: "Axes") -> "Axes":
    """What each method says of each region: the places that it leaves possible, and the label below them.

    rows: method, region, label, places; of one data set.  library: region, place, sensor, response.
    """
    from matplotlib.lines import Line2D

    methods = list(dict.fromkeys(row["method"] for row in rows))
    everywhere = {region: [float(place) for place in members] for region, members in _places(library).items()}
    for row in rows:
        y, color = -float(methods.index(row["method"])), _COLORS[row["region"]]
        known, left = everywhere[row["region"]], [float(place) for place in row["places"].split()]
        ax.plot(known, [y] * len(known), **_OPEN)
        ax.plot(left, [y] * len(left), "o", color=color, markersize=4.5)
        ax.text(float(np.mean(known)), y - 0.28, _WORDS[row["label"]], ha="center", va="center", fontsize=6)
    for region, known in everywhere.items():
        ax.axvspan(known[0] - 0.036, known[-1] + 0.036, color=_COLORS[region], alpha=0.12, linewidth=0)
        ax.text(float(np.mean(known)), 0.42, region, ha="center", fontsize=TEXT, color=_COLORS[region], weight="bold")
    ax.set_yticks([-float(i) for i in range(len(methods))], methods, fontsize=TEXT)
    ax.set(ylim=(0.4 - len(methods), 0.75), xlim=(0.05, 1.01))
    label_axes(ax, "place", ticks="x")
    marks = [
        Line2D([], [], marker="o", color="0.2", linestyle="none", markersize=4.5, label="possible place"),
        Line2D([], [], label="other place", **_OPEN),
    ]
    ax.legend(handles=marks, fontsize=SMALL, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)
    return ax


def plot_plugin(rows: Sequence[Row], ax: "Axes") -> "Axes":
    """In how many data sets a method is more certain than all verdicts together.

    rows: region, label, datasets, method, count.
    """
    bars = [
        (region, method) for region in dict.fromkeys(row["region"] for row in rows) for method in ("plug-in", "AEB")
    ]
    hatches = {"FINE": "", "ABSENT": "////"}
    named: set[str] = set()
    for y, (region, method) in enumerate(bars):
        reached = 0
        for row in (row for row in rows if (row["region"], row["method"]) == (region, method)):
            count, word = (
                int(row["count"]),
                "said to be absent" if row["label"] == "ABSENT" else "said to be at one place",
            )
            label = None if word in named or not count else word
            named |= {word} if count else set()
            ax.barh(-y, count, left=reached, color="#56b4e9", edgecolor="black", linewidth=0.7, height=0.6,
                    hatch=hatches[row["label"]], label=label)  # fmt: skip
            reached += count
        ax.text(reached + 0.08, -y, f"{reached}/{rows[0]['datasets']}", va="center", fontsize=SMALL)
    ax.set_yticks([-y for y in range(len(bars))], [f"{region}: {method}" for region, method in bars], fontsize=TEXT)
    ax.set_xlim(0, int(rows[0]["datasets"]) + 0.8)
    label_axes(ax, "weak-C data sets with unsupported certainty", ticks="x")
    ax.legend(fontsize=SMALL, ncols=2, loc="lower center", bbox_to_anchor=(0.4, 1.0), frameon=False)
    return ax


def _places(rows: Sequence[Row]) -> dict[str, dict[str, list[float]]]:
    """Region -> place -> response over the sensors."""
    places = list(dict.fromkeys(row["place"] for row in rows))
    names = dict(zip(places, fixed(map(float, places)), strict=True))
    waves: dict[str, dict[str, list[float]]] = {}
    for row in sorted(rows, key=lambda row: int(row["sensor"])):
        waves.setdefault(row["region"], {}).setdefault(names[row["place"]], []).append(float(row["response"]))
    return {region: waves[region] for region in sorted(waves)}
