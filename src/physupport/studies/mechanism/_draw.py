"""Figures of the mechanism study, from its tables alone."""

from pathlib import Path
from typing import TYPE_CHECKING

from .._writing import read_columns, save_figure
from ._gates import TOLERANCE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WIDTH = 3.4  # inches, one column
_SHOWN_SCALE = 0.1
_GATES = {
    "explanation": ("deployment: which explanation?", r"$I_G = T r^2 \beta^2 / \sigma^2$"),
    "support": ("deployment: which atoms?", r"$I_S = T \beta^2 s^2 / \sigma^2$"),
    "orientation": ("calibration: where are they?", r"$I_D = N s^6$"),
}


def draw(folder: Path) -> list[Path]:
    """Scaling, deployment, the three gates and the collapse, as PNG and PDF in the folder of the tables."""
    return [path for name, make in PAGES.items() for path in save_figure(make(folder), folder, name)]


def _page(height: float) -> "Figure":
    from matplotlib.figure import Figure

    return Figure(figsize=(_WIDTH, height), layout="constrained")


def _scaling(folder: Path) -> "Figure":
    from ..figures import plot_scaling

    page, fits = _page(2.7), read_columns(folder, "fits")
    main = {name: float(fits[name][0]) for name in ("slope", "low", "high", "r2")}
    plot_scaling(read_columns(folder, "scaling"), main, page.subplots())
    return page


def _deployment(folder: Path) -> "Figure":
    from ..figures import plot_deployment

    page = _page(2.5)
    plot_deployment(read_columns(folder, "deployment"), _SHOWN_SCALE, page.subplots())
    return page


def _gates(folder: Path) -> "Figure":
    from ..figures import plot_affinities

    page, table = _page(5.2), read_columns(folder, "gates")
    axes = page.subplots(3, 1)
    for ax, (gate, (question, symbol)) in zip(axes, _GATES.items(), strict=True):
        here = table["gate"] == gate
        plot_affinities({name: column[here] for name, column in table.items()}, symbol, ax)
        ax.set_title(question, fontsize=8, loc="left")
    axes[0].legend(title="$s$", fontsize=6.5, title_fontsize=7, loc="lower left", ncols=2)
    return page


def _collapse(folder: Path) -> "Figure":
    from ..figures import plot_affinities, plot_spreads

    page, table = _page(4.0), read_columns(folder, "gates")
    upper, lower = page.subplots(2, 1)
    here = table["gate"] == "orientation"
    plot_affinities({name: column[here] for name, column in table.items()}, r"$I_D = N s^6$", upper)
    upper.legend(title="$s$", fontsize=6.5, title_fontsize=7, loc="lower left", ncols=2)
    plot_spreads(read_columns(folder, "collapse"), TOLERANCE, lower)
    return page


PAGES = {"scaling": _scaling, "deployment": _deployment, "gates": _gates, "collapse": _collapse}
