"""Picture of the attainable resolution over calibration size and separation scale."""

from typing import TYPE_CHECKING

from ...local.rates import ResolutionMap
from ._style import fixed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Bounds of the bands as fractions of the block, each about three times the one before.
_BOUNDS = (0.01, 0.03, 0.1, 0.3, 1.0)


def plot_resolution(result: ResolutionMap, ax: "Axes | None" = None) -> "Axes":
    """Relative resolution in bands, the frontier N s^6 = K above which the block is seen, and the plan."""
    import matplotlib.pyplot as plt

    axes = plt.subplots(figsize=(3.4, 2.8), layout="constrained")[1] if ax is None else ax
    # cividis looks alike to every eye, and its light end, where nothing is seen, lets the frontier stand out.
    colors = plt.get_cmap("cividis")([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    bands = axes.contourf(result.rows, result.scales, result.relative, _BOUNDS, colors=colors, extend="both")
    if result.frontier > 0.0:
        edge = (result.frontier / result.rows) ** (1.0 / 6.0)
        label = rf"resolved above $N s^6 \approx {result.frontier:.2g}$"
        axes.plot(result.rows, edge, "--", color="black", linewidth=1.5, label=label)
    axes.plot(*result.planned, "o", color="#d55e00", markeredgecolor="white", markersize=7, label="planned")
    _label(axes, result)
    bar = axes.figure.colorbar(bands, ax=axes)
    bar.set_label("resolution / block width", fontsize=8)
    bar.ax.set_yticks(_BOUNDS, fixed(_BOUNDS), fontsize=7)
    return axes


def _label(axes: "Axes", result: ResolutionMap) -> None:
    """Axes of powers of ten in N and of plain numbers in s, legible in a column of 3.4 inches."""
    low, high = float(result.scales[0]), float(result.scales[-1])
    ticks = [digit * 10.0**power for power in range(-9, 1) for digit in (1, 2, 5)]
    axes.set(xscale="log", yscale="log", xlim=(result.rows[0], result.rows[-1]), ylim=(low, high))
    axes.set_xlabel("calibration rows $N$", fontsize=8)
    axes.set_ylabel("separation scale $s$", fontsize=8)
    axes.set_yticks([], minor=True)
    shown = [tick for tick in ticks if low <= tick <= high]
    axes.set_yticks(shown, fixed(shown))
    axes.tick_params(labelsize=7)
    # Above the map: wherever the frontier runs, no corner of the map is free for sure.
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), fontsize=7, frameon=False, borderpad=0.2)
