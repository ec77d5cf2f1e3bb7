"""How the commands show a plan beyond its sentences: JSON, a picture."""

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from .._errors import MisuseError

if TYPE_CHECKING:
    from ..local.rates import Design, Plan

_SUFFIXES = (".png", ".pdf", ".svg")


def as_json(design: "Design", planned: "Plan") -> str:
    """The plan as strict JSON: what is infinite or absent is null, and `beyond_search` tells the two apart."""
    import json
    from dataclasses import asdict
    from math import inf

    from ..local.rates import plan_sentences

    fields = asdict(planned)
    for gate in ("explanation", "support"):
        fields[gate]["is_open"] = getattr(planned, gate).is_open
        fields[gate]["stays_open"] = getattr(planned, gate).stays_open
    if planned.remedies is not None:
        counts = ("n_calibration", "n_deployment")
        fields["remedies"]["beyond_search"] = [name for name in counts if getattr(planned.remedies, name) == inf]
    return json.dumps(_finite(fields | {"sentences": plan_sentences(design, planned)}), indent=2, allow_nan=False)


def _finite(value: object) -> object:
    from math import isfinite

    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    return None if isinstance(value, float) and not isfinite(value) else value


def check_picture(path: Path | None) -> None:
    """Refuse a picture that could not be drawn, if one is wanted, before anything is computed."""
    if path is None:
        return
    if path.suffix.lower() not in _SUFFIXES or path.is_dir() or not path.parent.is_dir():
        rule = f"name a {', '.join(_SUFFIXES[:-1])} or {_SUFFIXES[-1]} file in a folder that exists"
        raise MisuseError("--picture", rule, repr(str(path)))
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError:
        rule, remedy = "be drawn with matplotlib", 'Install it with pip install "physupport[plot]".'
        raise MisuseError("--picture", rule, "an installation without it", remedy) from None


def draw_map(design: "Design", path: Path) -> None:
    """The resolution around the planned N and s; a bar on standard error shows how far it is."""
    import matplotlib
    import numpy as np
    from rich.console import Console
    from rich.progress import track

    from ..local.rates import map_scales, resolution_map

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    from .._files import write_whole
    from ..report.plots import plot_resolution

    scales = map_scales(design, 13)
    rows = design.n_calibration * np.geomspace(1e-4, 1e4, 49)
    console = Console(stderr=True)
    resolutions = resolution_map(
        design, scales, rows, lambda each: track(list(each), "Drawing", console=console, transient=True)
    )
    figure, axes = plt.subplots(figsize=(3.4, 2.5), layout="constrained")
    plot_resolution(resolutions, axes)
    try:
        drawn = BytesIO()
        figure.savefig(drawn, dpi=200, format=path.suffix[1:])
        write_whole(path, drawn.getvalue())
    except (OSError, ValueError) as error:
        raise MisuseError("--picture", "be a writable file", f"{path} ({error})") from None
    finally:
        plt.close(figure)
