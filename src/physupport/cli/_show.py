"""How the commands show a plan: sentences, JSON, a picture."""

from pathlib import Path
from typing import TYPE_CHECKING

from .._errors import MisuseError

if TYPE_CHECKING:
    from ..theory import Design, Plan


def show_sentences(design: "Design", found: "Plan") -> None:
    """One sentence an item; lines break at words on a terminal, and only between sentences elsewhere."""
    from rich.console import Console

    from ..theory import plan_sentences

    console = Console(highlight=False)
    for sentence in plan_sentences(design, found):
        console.print(f"- {sentence}", soft_wrap=not console.is_terminal, markup=False)


def as_json(design: "Design", found: "Plan") -> str:
    """The plan as strict JSON: what is infinite or absent is null."""
    import json
    from dataclasses import asdict

    from ..theory import plan_sentences

    fields = asdict(found)
    for gate in ("explanation", "support"):
        fields[gate]["is_open"] = getattr(found, gate).is_open
        fields[gate]["stays_open"] = getattr(found, gate).stays_open
    return json.dumps(_finite(fields | {"sentences": plan_sentences(design, found)}), indent=2, allow_nan=False)


def _finite(value: object) -> object:
    from math import isfinite

    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    return None if isinstance(value, float) and not isfinite(value) else value


def draw_map(design: "Design", path: Path) -> None:
    """The resolution around the planned N and s; a bar on standard error shows how far it is."""
    import numpy as np
    from rich.console import Console
    from rich.progress import track

    from ..theory import map_scales, resolution_map

    try:
        import matplotlib
    except ModuleNotFoundError:
        rule, remedy = "be drawn with matplotlib", 'Install it with pip install "physupport[plot]".'
        raise MisuseError("the picture", rule, "an installation without it", remedy) from None
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    from ..plots import plot_resolution

    scales = map_scales(design, 13)
    rows = design.n_calibration * np.geomspace(1e-4, 1e4, 49)
    console = Console(stderr=True)
    found = resolution_map(
        design, scales, rows, lambda each: track(list(each), "Drawing", console=console, transient=True)
    )
    figure, axes = plt.subplots(figsize=(3.4, 2.5), layout="constrained")
    plot_resolution(found, axes)
    try:
        figure.savefig(path, dpi=200)
    except (OSError, ValueError) as error:
        raise MisuseError("the picture", "be a writable .png, .pdf or .svg file", f"{path} ({error})") from None
    finally:
        plt.close(figure)
