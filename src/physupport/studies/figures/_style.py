"""What the pictures of the studies share: sizes of letters, and the labels of axes."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Row = Mapping[str, str]

SMALL, TEXT = 7, 8  # points


def label_axes(ax: "Axes", x: str, y: str = "", ticks: Literal["x", "y", "both"] = "both") -> None:
    """Words beside the axes, and small numbers at their ticks."""
    ax.set_xlabel(x, fontsize=TEXT)
    if y:
        ax.set_ylabel(y, fontsize=TEXT)
    ax.tick_params(labelsize=SMALL, axis=ticks)
