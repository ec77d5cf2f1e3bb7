"""The figures of the global study, drawn from its tables."""

from pathlib import Path

from .._writing import draw_figures, read_table


def draw(folder: Path) -> list[Path]:
    """Status over the six budgets, and recovery at the two that the paper shows."""
    from ..figures import plot_recovery, plot_status

    drawings = {
        "status": (2.4, lambda page: plot_status(read_table(folder, "status"), page.subplots())),
        "recovery": (2.4, lambda page: plot_recovery(read_table(folder, "recovery"), page.subplots())),
    }
    return draw_figures(folder, drawings)
