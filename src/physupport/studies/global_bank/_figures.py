"""The figures of the global study, drawn from its tables."""

from pathlib import Path

from .._writing import read_table, save_figure

WIDTH = 3.4  # inches, one column


def draw(folder: Path) -> list[Path]:
    """Status over the six budgets, and recovery at the two that the paper shows."""
    from matplotlib.figure import Figure

    from ..figures import plot_recovery, plot_status

    made = []
    for name, plot in {"status": plot_status, "recovery": plot_recovery}.items():
        figure = Figure(figsize=(WIDTH, 2.4), layout="constrained")
        plot(read_table(folder, name), figure.subplots())
        made += save_figure(figure, folder, name)
    return made
