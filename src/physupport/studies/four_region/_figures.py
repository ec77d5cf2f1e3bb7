"""The figures of the four-region study, drawn from its tables."""

from collections.abc import Callable
from pathlib import Path

from .._writing import read_table, save_figure

WIDTH = 3.4  # inches, one column


def draw(folder: Path) -> list[Path]:
    """Responses, coherence, a representative map of weak C, and what the plug-in says too much."""
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..figures import plot_coherence, plot_plugin, plot_regional_map, plot_responses

    library, maps = read_table(folder, "library"), read_table(folder, "maps")
    drawings: dict[str, tuple[float, Callable[[Axes], Axes]]] = {
        "responses": (2.5, lambda ax: plot_responses(library, ax)),
        "coherence": (2.9, lambda ax: plot_coherence(library, ax)),
        "weak-c-map": (2.5, lambda ax: plot_regional_map(representative(maps), library, ax)),
        "plug-in": (1.9, lambda ax: plot_plugin(read_table(folder, "plugin"), ax)),
    }
    made = []
    for name, (height, plot) in drawings.items():
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        plot(figure.subplots())
        made += save_figure(figure, folder, name)
    return made


def representative(maps: list[dict[str, str]]) -> list[dict[str, str]]:
    """The first weak-C data set of which the plug-in denies C; the others differ in what it is certain of."""
    seeds = [
        row["data_seed"]
        for row in maps
        if (row["scene"], row["method"], row["region"], row["label"]) == ("weak-C", "plug-in", "C", "ABSENT")
    ]
    return [row for row in maps if row["data_seed"] == seeds[0]]
