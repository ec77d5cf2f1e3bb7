"""Picture of the attainable resolution over calibration size and coherence scale."""

from typing import TYPE_CHECKING

import numpy as np

from ..theory import ResolutionMap

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_resolution(result: ResolutionMap, ax: "Axes | None" = None) -> "Axes":
    """Relative resolution as colour and contours, with the frontier N s^6 = K above which the block is resolved."""
    import matplotlib.pyplot as plt
    from matplotlib.colors import LogNorm

    axes = plt.subplots(figsize=(5.2, 3.8), layout="constrained")[1] if ax is None else ax
    shown = np.minimum(result.relative, 1.0)
    mesh = axes.pcolormesh(
        result.rows, result.scales, shown, norm=LogNorm(0.01, 1.0), cmap="cividis_r", shading="gouraud"
    )
    lines = axes.contour(result.rows, result.scales, result.relative, [0.03, 0.1, 0.3], colors="white", linewidths=0.8)
    axes.clabel(lines, fmt=lambda level: f"{level:g}", fontsize=8)
    frontier = (result.frontier / result.rows) ** (1.0 / 6.0)
    axes.plot(result.rows, frontier, "--", color="black", label=rf"$N s^6 = {result.frontier:.3g}$")
    axes.set(xscale="log", yscale="log", xlabel="calibration rows $N$", ylabel="coherence scale $s$")
    axes.set(xlim=(result.rows[0], result.rows[-1]), ylim=(result.scales[0], result.scales[-1]))
    axes.legend(loc="lower left", framealpha=0.9)
    axes.figure.colorbar(mesh, ax=axes, label="resolution / block diameter")
    return axes
