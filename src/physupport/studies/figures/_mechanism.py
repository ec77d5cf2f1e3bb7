"""Pictures of the mechanism study: how calibration and deployment see a turn of the block."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...report.plots._style import fixed
from ._style import label_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Columns = Mapping[str, NDArray[Any]]  # the columns of a table, of equal length

# Blue, orange and green that colour-blind readers tell apart; shapes of markers say the same once more.
_BLUE, _ORANGE, _GREEN = "#0072b2", "#d55e00", "#009e73"
_MARKERS = "osD^vP"


def plot_scaling(table: Columns, fit: Mapping[str, float], ax: "Axes") -> "Axes":
    """Jeffreys divergence over the separation scale, with the power 6 through the middle of the points.

    table: s, jeffreys, jeffreys_low, jeffreys_high, quadrature_14.  fit: slope, low, high, r2 of the fitted power.
    """
    s, mean = table["s"], table["jeffreys"]
    guide = np.exp(np.mean(np.log(mean) - 6.0 * np.log(s))) * s**6
    bars = np.stack([mean - table["jeffreys_low"], table["jeffreys_high"] - mean])
    ax.plot(s, guide, "--", color="0.45", linewidth=1.2, label="$s^6$", zorder=1)
    within = f"[{fit['low']:.3f}, {fit['high']:.3f}], $R^2$ = {fit['r2']:.5f}"
    label = f"Monte Carlo: slope {fit['slope']:.3f}\n{within}"
    ax.errorbar(s, mean, bars, fmt="o", color=_BLUE, markersize=5, capsize=3, label=label)
    ax.plot(s, table["quadrature_14"], "x", color=_ORANGE, markersize=8, label="quadrature, order 14")
    ax.set(xscale="log", yscale="log")
    _place_ticks(ax, s, fixed(s))
    label_axes(ax, "separation scale $s$", "Jeffreys divergence")
    ax.legend(loc="upper left", fontsize=7)
    return ax


def plot_deployment(table: Columns, scale: float, ax: "Axes") -> "Axes":
    """Residual of the deployment mean after a turn, at one scale: points, with the closed form as lines.

    table: s, contrast, angle, residual, closed_form.
    """
    for contrast, color, marker in zip(np.unique(table["contrast"]), (_BLUE, _ORANGE, _GREEN), _MARKERS, strict=False):
        here = (table["s"] == scale) & (table["contrast"] == contrast)
        angle = table["angle"][here]
        name = "equal coefficients" if contrast == 0.0 else f"contrast {contrast:g}"
        ax.plot(angle, table["closed_form"][here], color=color, linewidth=1.0)
        ax.plot(angle[::2], table["residual"][here][::2], marker, color=color, markersize=4, label=name)
    label_axes(ax, r"turn $\phi$", f"residual of the mean, $s = {scale:g}$")
    ax.set_ylim(bottom=-0.002)
    title = "points: least squares\nlines: closed form"
    ax.legend(loc="upper left", fontsize=7, title=title, title_fontsize=7, alignment="left")
    return ax


def plot_affinities(table: Columns, symbol: str, ax: "Axes") -> "Axes":
    """Affinity of two experiments over their information, one curve a separation scale.

    Curves that agree collapse into one, so the picture says how far apart they are.
    table: information, s, affinity.  symbol: the name of the information on the axis.
    """
    from matplotlib import colormaps

    scales = np.unique(table["s"])
    # cividis looks alike to every eye; its last, pale part would fade on paper.
    colors = colormaps["cividis"](np.linspace(0.0, 0.85, len(scales)))
    for i, (s, color) in enumerate(zip(scales, colors, strict=True)):
        here = table["s"] == s
        x, y = table["information"][here], table["affinity"][here]
        # Hollow, and ever smaller: markers in one place are all seen.
        style: dict[str, Any] = {
            "marker": _MARKERS[i % len(_MARKERS)],
            "markersize": 7.5 - i,
            "markerfacecolor": "none",
        }
        ax.plot(x, y, color=color, linewidth=0.8, label=f"{s:.3f}", **style)
    ax.set(xscale="log", ylim=(-0.06, 1.06), yticks=[0.0, 0.5, 1.0])
    _information_ticks(ax, np.unique(table["information"])[::2])
    label_axes(ax, symbol, "affinity")
    ax.text(0.97, 0.92, _gap_words(table), transform=ax.transAxes, ha="right", va="top", fontsize=7)
    return ax


def plot_spreads(table: Columns, tolerance: float, ax: "Axes") -> "Axes":
    """Spread of the affinities over the scales at each budget, the transition band, and the tolerance for its median.

    table: information, spread, in_band.
    """
    x, spread, inside = table["information"], table["spread"], table["in_band"] == 1
    ax.axvspan(x[inside].min() / 2**0.5, x[inside].max() * 2**0.5, color="0.9", label="transition band")
    ax.axhline(tolerance, linestyle="--", color=_ORANGE, linewidth=1.2, label=f"tolerance {tolerance:g}")
    median = float(np.median(spread[inside]))
    ax.axhline(median, color=_GREEN, linewidth=1.2, label=f"median in the band {median:.4f}")
    ax.plot(x, spread, "o", color=_BLUE, markersize=4.5, label="spread over $s$")
    # Below 0, so that no point is cut by the edge.
    ax.set(xscale="log", ylim=(-0.06 * spread.max(), 1.9 * spread.max()))
    _information_ticks(ax, x[::2])
    label_axes(ax, r"$I_D = N s^6$", "spread of affinity")
    ax.legend(loc="upper left", fontsize=7, framealpha=1.0)
    return ax


def _gap_words(table: Columns) -> str:
    """How many curves there are, and their largest distance at equal information."""
    information, affinity = table["information"], table["affinity"]
    gap = max(float(np.ptp(affinity[information == value])) for value in np.unique(information))
    shown = f"up to {gap:.4f}" if gap >= 5e-5 else "less than 0.0001"
    return f"{len(np.unique(table['s']))} curves,\n{shown} apart"


def _information_ticks(ax: "Axes", values: NDArray[np.float64]) -> None:
    _place_ticks(ax, values, [f"{value:g}" for value in values])


def _place_ticks(ax: "Axes", values: NDArray[np.float64], names: list[str]) -> None:
    """Names at the given places of a logarithmic axis, and no others."""
    ax.set_xticks([], minor=True)
    ax.set_xticks(values, names)
