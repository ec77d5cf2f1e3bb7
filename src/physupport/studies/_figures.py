"""The figures of the studies, drawn by matplotlib from their tables, one column wide, as PNG and PDF.

Every drawing takes axes and the rows or the columns of a table.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..report import counted, label_words
from ..report.pictures import COLUMN, coherence_picture
from ..report.plots import draw, fixed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Row = Mapping[str, str]
Columns = Mapping[str, NDArray[Any]]  # the columns of a table, of equal length
Drawing = tuple[float, Callable[["Axes"], object]]  # the height in points, and what draws on the axes

_DOTS_AN_INCH = 200
_TEXT = 8
_SMALL = 7
# Okabe and Ito: colour-blind readers tell them apart; shapes, dashes and hatches keep them apart in grey as well.
_BLUE, _ORANGE, _GREEN, _PINK = _SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
_GUIDE: dict[str, Any] = {"color": "0.55", "linestyle": "--", "linewidth": 1.2}
_ZONE: dict[str, Any] = {"color": "0.93", "linewidth": 0}
_DASHES: tuple[Any, ...] = ("-", (0, (4, 2)), (0, (1.3, 1.6)), (0, (6, 2, 1.3, 2)))
# Fill and hatch of the parts of a bar.
_BLANK = "#e0e0e0", ""
_PARTS = ((_BLUE, ""), ("#56b4e9", "///"), ("#e69f00", ""), (_GREEN, "\\\\\\"), _BLANK, ("white", "xxx"))
_EVENTS = {"false report": _ORANGE, "true explanation rejected": _BLUE}
# The fill of a status, the ink of the count in it, and its name.
_STATUS = {
    "match": (_PARTS[0], "white", "match"),
    "safe_coarsening": (_PARTS[1], "black", "safe coarsening"),
    "abstention": (_BLANK, "black", "abstention"),
    "unsafe": ((_ORANGE, "xxx"), "black", "unsafe"),
}
_REFERENCES = {"AMBIGUOUS": _PARTS[2], "FINE": _PARTS[1]}
_SHOWN = (0.50, 0.75)
_BAR = 0.76  # width of a bar
_FITS = 3  # the smallest count whose part of a bar holds its number
_BUDGET = "query budget, share of the bank"


def write_figures(folder: Path, drawings: Mapping[str, Sequence[Drawing]]) -> list[Path]:
    """Write every figure as PNG and PDF.  drawings: name of the files -> drawings, one below the other."""
    return [path for name, parts in drawings.items() for path in save_figure(make_figure(parts), folder, name)]


def make_figure(parts: Sequence[Drawing]) -> "Figure":
    """A figure one column wide, with drawings one below the other, each in its height."""
    from matplotlib.figure import Figure

    heights = [height for height, _ in parts]
    figure = Figure(figsize=(3.4, sum(heights) / 72.0), layout="constrained")
    axes = figure.subplots(len(parts), 1, squeeze=False, height_ratios=heights)[:, 0]
    for ax, (_, drawing) in zip(axes, parts, strict=True):
        drawing(ax)
    return figure


def save_figure(figure: "Figure", folder: Path, name: str) -> list[Path]:
    """Write the figure as PNG and PDF; the same figure gives the same files, whatever the day."""
    png = folder / f"{name}.png"
    pdf = folder / f"{name}.pdf"
    figure.savefig(png, dpi=_DOTS_AN_INCH)
    figure.savefig(pdf, metadata={"CreationDate": None})
    return [png, pdf]


def _name_axes(axes: "Axes", x: str, y: str = "") -> None:
    axes.set_xlabel(x, fontsize=_TEXT)
    axes.set_ylabel(y, fontsize=_TEXT)
    axes.tick_params(labelsize=_SMALL)
    axes.spines[["top", "right"]].set_visible(False)


def _name_lanes(axes: "Axes", names: Sequence[str], x: str) -> None:
    """Name the lanes y = 0, -1, -2, ... from top to bottom."""
    _name_axes(axes, x)
    axes.set_yticks([-y for y in range(len(names))], names)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_ylim(0.4 - len(names), 0.6)


def _name_values(axes: "Axes", values: NDArray[np.float64], names: Sequence[str], x: str, y: str) -> None:
    """Make the horizontal axis logarithmic, with names at these values and no others."""
    _name_axes(axes, x, y)
    axes.set_xscale("log")
    axes.set_xticks(values, names)
    axes.set_xticks([], minor=True)


def _add_legend(axes: "Axes", title: str = "") -> None:
    """Add a legend on top of the axes, where it covers nothing."""
    longest = max(map(len, axes.get_legend_handles_labels()[1]))
    axes.legend(
        title=title, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3 if longest < 10 else 2 if longest < 20 else 1,
        fontsize=_SMALL, title_fontsize=_TEXT, alignment="left", frameon=False, borderpad=0.2, borderaxespad=0.2,
        handletextpad=0.5, columnspacing=1.2,
    )  # fmt: skip


def _part(fill: tuple[str, str]) -> dict[str, Any]:
    color, hatch = fill
    return {"facecolor": color, "hatch": hatch, "edgecolor": "black", "linewidth": 0.7}


def draw_scaling(axes: "Axes", table: Columns, fit: Mapping[str, float]) -> None:
    """Draw Jeffreys divergence over the separation scale, with the power 6 through the middle of the points.

    table: s, jeffreys, jeffreys_low, jeffreys_high, quadrature_14.  fit: slope, low, high, r2 of the fitted power.
    """
    s = table["s"]
    mean = table["jeffreys"]
    guide = np.exp(np.mean(np.log(mean) - 6.0 * np.log(s))) * s**6
    within = f"[{fit['low']:.3f}, {fit['high']:.3f}], R² = {fit['r2']:.5f}"
    axes.plot(s, guide, **_GUIDE, label="s⁶")
    axes.errorbar(s, mean, (mean - table["jeffreys_low"], table["jeffreys_high"] - mean), fmt="o", color=_BLUE,
                  markersize=5, label=f"Monte Carlo: slope {fit['slope']:.3f}\n{within}")  # fmt: skip
    axes.plot(s, table["quadrature_14"], "x", color="black", markersize=7.5, label="quadrature, order 14")
    axes.set_yscale("log")
    _name_values(axes, s, fixed(s), "separation scale s", "Jeffreys divergence")
    _add_legend(axes)


def draw_deployment(axes: "Axes", table: Columns, scale: float) -> None:
    """Draw the residual of the deployment mean after a turn, at one scale: points, with the closed form as lines.

    table: s, contrast, angle, residual, closed_form.
    """
    for number, contrast in enumerate(np.unique(table["contrast"]).tolist()):
        chosen = (table["s"] == scale) & (table["contrast"] == contrast)
        angle, closed, residual = (table[name][chosen] for name in ("angle", "closed_form", "residual"))
        name = "equal coefficients" if contrast == 0.0 else f"contrast {contrast:g}"
        axes.plot(angle, closed, color=_SERIES[number], linewidth=1.1)
        axes.plot(angle[::2], residual[::2], "osD"[number], color=_SERIES[number], markersize=5, label=name)
    axes.set_ylim(bottom=-0.002)
    _name_axes(axes, "turn φ", f"residual of the mean, s = {scale:g}")
    _add_legend(axes, "points: least squares; lines: closed form")


def draw_affinities(axes: "Axes", table: Columns, name: str, heading: str = "", *, has_keys: bool = True) -> None:
    """Draw the affinity of two experiments over their information, one curve a separation scale.

    Curves that agree collapse into one, so a text says how far apart they are.
    table: information, s, affinity.  name: that of the information.
    """
    information = table["information"]
    scales = np.unique(table["s"])
    for number, s in enumerate(scales.tolist()):
        chosen = table["s"] == s
        # Hollow, and ever smaller: points in one place are all seen.
        axes.plot(information[chosen], table["affinity"][chosen], marker="osD^vP"[number], markersize=7.5 - number,
                  color=f"C{number}", markerfacecolor="none", linewidth=0.8, label=f"s = {s:.3f}")  # fmt: skip
    values = np.unique(information)
    gap = max(float(np.ptp(table["affinity"][information == value])) for value in values)
    shown = f"up to {gap:.4f}" if gap >= 5e-5 else "less than 0.0001"
    axes.text(0.97, 0.85, f"{len(scales)} curves,\n{shown} apart", transform=axes.transAxes, ha="right", va="center",
              fontsize=_SMALL)  # fmt: skip
    axes.set_ylim(-0.06, 1.06)
    _name_values(axes, values, _every_second(values), name, "affinity")
    if has_keys:
        _add_legend(axes, heading)
    else:
        axes.set_title(heading, fontsize=_TEXT, loc="left")


def draw_spreads(axes: "Axes", table: Columns, tolerance: float) -> None:
    """Draw the spread of the affinities at each budget, the transition band, and the tolerance for its median.

    table: information, spread, in_band.
    """
    x = table["information"]
    inside = table["in_band"] == 1
    median = float(np.median(table["spread"][inside]))
    axes.axvspan(x[inside].min() / 2**0.5, x[inside].max() * 2**0.5, **_ZONE, label="transition band")
    axes.axhline(tolerance, **_GUIDE, label=f"tolerance {tolerance:g}")
    axes.axhline(median, color=_GREEN, linewidth=1.1, label=f"median there {median:.4f}")
    axes.plot(x, table["spread"], "o", color=_BLUE, markersize=5, label="spread over s")
    axes.set_ylim(bottom=-0.06 * float(table["spread"].max()))  # so that no point is cut by the edge
    _name_values(axes, x, _every_second(x), "information N s⁶", "spread of affinity")
    _add_legend(axes)


def _every_second(values: NDArray[np.float64]) -> list[str]:
    return [f"{value:g}" if i % 2 == 0 else "" for i, value in enumerate(values)]


def draw_responses(axes: "Axes", rows: Sequence[Row]) -> None:
    """Draw responses over the sensors; colour is the region, the dashes of a line its place within the region.

    rows: region, place, sensor, response.
    """
    for color, (region, members) in zip(_SERIES, _places(rows).items(), strict=True):
        name = f"{region}: {', '.join(members)}"
        for dash, response in zip(_DASHES, members.values(), strict=False):
            sensors = (np.arange(len(response)) + 0.5) / len(response)
            axes.plot(sensors, response, color=color, linestyle=dash, linewidth=1.1, label=name)
            name = "_"  # a legend leaves it out
    _name_axes(axes, "sensor position", "response, unit norm")
    _add_legend(axes, "places, in the order of the dashes")


def draw_coherence(axes: "Axes", rows: Sequence[Row]) -> None:
    """Draw absolute inner products of all responses, regions framed.  rows: region, place, sensor, response."""
    regions = _places(rows)
    atoms = np.array([response for members in regions.values() for response in members.values()])
    names = [place for members in regions.values() for place in members]
    matrix = {"ids": names, "matrix": np.abs(atoms @ atoms.T).tolist()}
    of = [region for region, members in regions.items() for _ in members]
    draw(coherence_picture(matrix, "Coherence of the responses", COLUMN, of), axes)
    axes.set_xlabel("place", fontsize=_TEXT)


def draw_regional_map(axes: "Axes", rows: Sequence[Row], library: Sequence[Row]) -> None:
    """Draw the places that each method leaves possible in each region, with its label below them.

    rows: method, region, label, places; of one data set.  library: region, place, sensor, response.
    """
    methods = list(dict.fromkeys(row["method"] for row in rows))
    everywhere = {region: [float(place) for place in members] for region, members in _places(library).items()}
    for region, known in everywhere.items():
        axes.axvspan(known[0] - 0.036, known[-1] + 0.036, **_ZONE)
        axes.text(sum(known) / len(known), 0.5, region, ha="center", va="center", fontsize=_SMALL)
    names = ["possible place", "other place"]
    for row in rows:
        y = -methods.index(row["method"])
        known = everywhere[row["region"]]
        left = [float(place) for place in row["places"].split()]
        others = [place for place in known if place not in left]
        axes.plot(left, [y] * len(left), "o", color=_BLUE, markersize=5, label=names[0])
        axes.plot(others, [y] * len(others), "x", color="0.55", markersize=5, label=names[1])
        names = ["_", "_"]  # a legend leaves them out
        said = label_words(row["label"]).split()[-1]  # both kinds of ambiguity in one word
        axes.text(sum(known) / len(known), y - 0.3, said, ha="center", va="center", fontsize=6)
    _name_lanes(axes, methods, "place")
    axes.set_ylim(top=0.75)
    _add_legend(axes)


def draw_plugin(axes: "Axes", rows: Sequence[Row]) -> None:
    """Draw in how many data sets a method is more certain than all verdicts together.

    rows: region, label, datasets, method, count.
    """
    regions = dict.fromkeys(row["region"] for row in rows)
    lanes = {bar: -y for y, bar in enumerate((r, m) for r in regions for m in ("plug-in", "AEB"))}
    reached = dict.fromkeys(lanes, 0)
    names = {"ABSENT": "said to be absent", "FINE": "said to be at one place"}
    for row in rows:
        bar = (row["region"], row["method"])
        count = int(row["count"])
        part = _part(_PARTS[1 if row["label"] == "ABSENT" else 0])
        if count:
            axes.barh(lanes[bar], count, 0.62, left=reached[bar], label=names.pop(row["label"], "_"), **part)
        reached[bar] += count
    n = int(rows[0]["datasets"])
    for bar, lane in lanes.items():
        axes.text(reached[bar] + 0.08, lane, f"{reached[bar]}/{n}", va="center", fontsize=_SMALL)
    _name_lanes(axes, [": ".join(bar) for bar in lanes], "weak-C data sets with unsupported certainty")
    axes.set_xlim(0, n + 0.8)
    _add_legend(axes)


def _places(rows: Sequence[Row]) -> dict[str, dict[str, list[float]]]:
    """Region -> place -> response over the sensors."""
    places = list(dict.fromkeys(row["place"] for row in rows))
    names = dict(zip(places, fixed(map(float, places)), strict=True))
    waves: dict[str, dict[str, list[float]]] = {}
    for row in sorted(rows, key=lambda row: int(row["sensor"])):
        waves.setdefault(row["region"], {}).setdefault(names[row["place"]], []).append(float(row["response"]))
    return {region: waves[region] for region in sorted(waves)}


def draw_status(axes: "Axes", rows: Sequence[Row]) -> None:
    """Draw the traces by how they compare with the exhaustive answer, one bar a budget.

    A count stands in its part of the bar, or beside it if the part is too small.
    rows: budget, match, safe_coarsening, abstention, unsafe.
    """
    starts = np.zeros(len(rows), dtype=np.int64)
    for name, (fill, ink, word) in _STATUS.items():
        counts = np.array([int(row[name]) for row in rows])
        label = word if counts.any() else f"{word} (never)"
        axes.bar(range(len(rows)), counts, _BAR, bottom=starts, label=label, **_part(fill))
        style: dict[str, Any] = {"va": "center", "fontsize": _SMALL}
        for x, (count, start) in enumerate(zip(counts.tolist(), starts.tolist(), strict=True)):
            if count >= _FITS:
                ground = {"color": "white", "pad": 0.4} if fill[1] else None  # hatches would hide a number
                axes.text(x, start + count / 2, str(count), ha="center", color=ink, bbox=ground, **style)
            elif count:
                axes.text(x + 0.55 * _BAR, start + count / 2, str(count), **style)
        starts += counts
    axes.set_xticks(range(len(rows)), [f"{float(row['budget']):.2f}" for row in rows])
    axes.set_xlim(-0.6, len(rows) - 0.4)
    axes.set_ylim(0, 1.05 * starts[0])
    _name_axes(axes, _BUDGET, f"reporting traces, of {starts[0]}")
    _add_legend(axes)


def draw_recovery(axes: "Axes", rows: Sequence[Row]) -> None:
    """Draw the share of the exhaustive ambiguous and fine labels that are reported at budgets 0.50 and 0.75.

    rows: budget, reference, recovered, traces.
    """
    width = 0.36
    counts = {(row["reference"], float(row["budget"])): (int(row["recovered"]), int(row["traces"])) for row in rows}
    for offset, (reference, fill) in zip((-0.5, 0.5), _REFERENCES.items(), strict=True):
        chosen = [counts[reference, budget] for budget in _SHOWN]
        places = [x + offset * width for x in range(len(_SHOWN))]
        shares = [recovered / traces if traces else 0.0 for recovered, traces in chosen]
        bars = axes.bar(places, shares, width, label=reference.lower(), **_part(fill))
        axes.bar_label(bars, [f"{recovered}/{traces}" for recovered, traces in chosen], padding=1, fontsize=_SMALL)
    axes.set_xticks(range(len(_SHOWN)), [f"{budget:.2f}" for budget in _SHOWN])
    axes.set(xlim=(-0.6, len(_SHOWN) - 0.4), ylim=(0.0, 1.12))
    _name_axes(axes, _BUDGET, "share of exhaustive labels found")
    _add_legend(axes, "exhaustive label")


def draw_rates(axes: "Axes", rows: Sequence[Row]) -> None:
    """Draw rates with their exact intervals, and the levels that they may not exceed.

    rows: profile, level, event, count, datasets, rate, lower, upper; one a profile and event.
    """
    for y, row in enumerate(rows):
        rate, level, lower, upper = (float(row[name]) for name in ("rate", "level", "lower", "upper"))
        color = _EVENTS[row["event"]]
        axes.plot((level, level), (-y - 0.4, 0.4 - y), color="black", linewidth=1.5, label="_" if y else "level")
        axes.plot((lower, upper), (-y, -y), color=color, linewidth=1.1)
        axes.plot((rate,), (-y,), "s" if color == _ORANGE else "o", color=color, markersize=5)
    names = [f"{row['event'].replace('true explanation', 'truth')}\n{row['profile']}" for row in rows]
    datasets = counted(int(rows[0]["datasets"]), "data set")
    _name_lanes(axes, names, f"rate over {datasets}, exact 95% interval")
    axes.set_xlim(left=min(-0.005, axes.get_xlim()[0]))
    _add_legend(axes)


def draw_label_rates(axes: "Axes", rows: Sequence[Row]) -> None:
    """Draw the share of each label, one bar a field; a diamond marks the share of reports without a witness.

    rows: scene, profile, field, datasets, a column a label, no_witness.
    """
    lanes = -np.arange(len(rows))
    starts = np.zeros(len(rows))
    for number, label in enumerate(name for name in rows[0] if name.isupper()):
        shares = np.array([float(row[label]) for row in rows])
        if shares.any():
            axes.barh(lanes, shares, 0.62, left=starts, label=label.lower(), **_part(_PARTS[number]))
        starts += shares
    unseen = np.array([float(row["no_witness"]) for row in rows])
    if unseen.any():
        axes.plot(unseen[unseen > 0], lanes[unseen > 0], "D", color="white", markeredgecolor="black", markersize=4,
                  label="no witness")  # fmt: skip
    # A region of a scene, or a profile under a condition.
    parts = [row["profile"] if row["field"] == "resolution" else row["field"] for row in rows]
    _name_lanes(axes, [f"{row['scene']}, {part}" for row, part in zip(rows, parts, strict=True)], "share of data sets")
    axes.set_xlim(0.0, 1.0)
    _add_legend(axes)
