"""The figures of the four-region study, drawn from its tables."""

from pathlib import Path

from .._writing import draw_figures, read_table


def draw(folder: Path) -> list[Path]:
    """Responses, coherence, a representative map of weak C, and what the plug-in says too much."""
    from ..figures import plot_coherence, plot_plugin, plot_regional_map, plot_responses

    library, maps = read_table(folder, "library"), read_table(folder, "maps")
    drawings = {
        "responses": (2.5, lambda page: plot_responses(library, page.subplots())),
        "coherence": (2.9, lambda page: plot_coherence(library, page.subplots())),
        "weak-c-map": (2.5, lambda page: plot_regional_map(representative(maps), library, page.subplots())),
        "plug-in": (1.9, lambda page: plot_plugin(read_table(folder, "plugin"), page.subplots())),
    }
    return draw_figures(folder, drawings)


def representative(maps: list[dict[str, str]]) -> list[dict[str, str]]:
    """The first weak-C data set of which the plug-in denies C; the others differ in what it is certain of."""
    seeds = [
        row["data_seed"]
        for row in maps
        if (row["scene"], row["method"], row["region"], row["label"]) == ("weak-C", "plug-in", "C", "ABSENT")
    ]
    return [row for row in maps if row["data_seed"] == seeds[0]]
