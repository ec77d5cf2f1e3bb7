"""Figures of the mechanism study, from its tables alone."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from .._writing import draw_figures, read_columns
from ._measures import TOLERANCE

if TYPE_CHECKING:
    from ...report.pictures import Picture

_SHOWN_SCALE = 0.1
# The question of a gate, and its information.
_GATES = {
    "explanation": ("deployment: which explanation?", "information T r² β² / σ²"),
    "support": ("deployment: which atoms?", "information T β² s² / σ²"),
    "orientation": ("calibration: where are they?", "information N s⁶"),
}


def draw(folder: Path) -> list[Path]:
    """Scaling, deployment, the three gates and the collapse, as PNG and PDF in the folder of the tables."""
    return draw_figures(folder, {name: pictures(folder) for name, pictures in PAGES.items()})


def _scaling(folder: Path) -> "list[Picture]":
    from ..figures import scaling_picture

    fits = read_columns(folder, "fits")
    main = {name: float(fits[name][0]) for name in ("slope", "low", "high", "r2")}
    return [scaling_picture(read_columns(folder, "scaling"), main)]


def _deployment(folder: Path) -> "list[Picture]":
    from ..figures import deployment_picture

    return [deployment_picture(read_columns(folder, "deployment"), _SHOWN_SCALE)]


def _gates(folder: Path) -> "list[Picture]":
    return [_gate(folder, gate, heading, gate == "explanation") for gate, (heading, _) in _GATES.items()]


def _collapse(folder: Path) -> "list[Picture]":
    from ..figures import spreads_picture

    return [_gate(folder, "orientation"), spreads_picture(read_columns(folder, "collapse"), TOLERANCE)]


def _gate(folder: Path, gate: str, heading: str = "", has_keys: bool = True) -> "Picture":
    from ..figures import affinities_picture

    table = read_columns(folder, "gates")
    chosen = table["gate"] == gate
    columns = {name: column[chosen] for name, column in table.items()}
    return affinities_picture(columns, _GATES[gate][1], heading, has_keys=has_keys)


PAGES: "dict[str, Callable[[Path], list[Picture]]]" = {
    "scaling": _scaling,
    "deployment": _deployment,
    "gates": _gates,
    "collapse": _collapse,
}
