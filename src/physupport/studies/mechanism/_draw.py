"""Figures of the mechanism study, from its tables alone."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from .._writing import draw_figures, read_columns
from ._measures import TOLERANCE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SHOWN_SCALE = 0.1
_GATES = {
    "explanation": ("deployment: which explanation?", r"$I_G = T r^2 \beta^2 / \sigma^2$"),
    "support": ("deployment: which atoms?", r"$I_S = T \beta^2 s^2 / \sigma^2$"),
    "orientation": ("calibration: where are they?", r"$I_D = N s^6$"),
}


def draw(folder: Path) -> list[Path]:
    """Scaling, deployment, the three gates and the collapse, as PNG and PDF in the folder of the tables."""
    return draw_figures(folder, {name: (height, partial(fill, folder)) for name, (height, fill) in PAGES.items()})


def _scaling(folder: Path, page: "Figure") -> None:
    from ..figures import plot_scaling

    fits = read_columns(folder, "fits")
    main = {name: float(fits[name][0]) for name in ("slope", "low", "high", "r2")}
    plot_scaling(read_columns(folder, "scaling"), main, page.subplots())


def _deployment(folder: Path, page: "Figure") -> None:
    from ..figures import plot_deployment

    plot_deployment(read_columns(folder, "deployment"), _SHOWN_SCALE, page.subplots())


def _gates(folder: Path, page: "Figure") -> None:
    axes = page.subplots(3, 1)
    for ax, (gate, (question, _)) in zip(axes, _GATES.items(), strict=True):
        _gate(folder, gate, ax)
        ax.set_title(question, fontsize=8, loc="left")
    _scale_legend(axes[0])


def _collapse(folder: Path, page: "Figure") -> None:
    from ..figures import plot_spreads

    upper, lower = page.subplots(2, 1)
    _gate(folder, "orientation", upper)
    _scale_legend(upper)
    plot_spreads(read_columns(folder, "collapse"), TOLERANCE, lower)


def _gate(folder: Path, gate: str, ax: "Axes") -> None:
    from ..figures import plot_affinities

    table = read_columns(folder, "gates")
    here = table["gate"] == gate
    plot_affinities({name: column[here] for name, column in table.items()}, _GATES[gate][1], ax)


def _scale_legend(ax: "Axes") -> None:
    ax.legend(title="$s$", fontsize=6.5, title_fontsize=7, loc="lower left", ncols=2)


PAGES = {
    "scaling": (2.7, _scaling),
    "deployment": (2.5, _deployment),
    "gates": (5.2, _gates),
    "collapse": (4.0, _collapse),
}
