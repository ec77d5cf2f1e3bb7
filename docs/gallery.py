"""Draw the pictures of the documentation from the examples, `python docs/gallery.py`; the same bytes every time."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib as mpl

from physupport.project import load_project, run_project, write_example
from physupport.report import Details
from physupport.report.plots import plot_brackets, plot_evidence, plot_library, plot_map, plot_rows

FOLDER = Path(__file__).parent / "pictures"
# Example, picture, and how it is drawn.
PICTURES: tuple[tuple[str, str, Callable[[Details], object]], ...] = (
    ("four-region", "four-region-map", plot_map),
    ("four-region", "four-region-evidence", plot_evidence),
    ("four-region", "four-region-queries", plot_brackets),
    ("four-region", "four-region-library", plot_library),
    ("array", "array-map", plot_map),
    ("xrf", "xrf-rows", plot_rows),
    ("raman", "raman-map", plot_map),
    ("raman", "raman-rows", plot_rows),
    ("eeg", "eeg-map", plot_map),
    ("eeg", "eeg-side", partial(plot_map, plane=(1, 2))),
    ("eeg", "eeg-rows", plot_rows),
)


def main() -> None:
    """Run every example once, and write what it shows."""
    mpl.use("svg")
    # Without a date, and with ids that depend on the content alone.
    mpl.rcParams.update({"svg.hashsalt": "physupport", "svg.fonttype": "none", "font.family": "sans-serif"})
    FOLDER.mkdir(exist_ok=True)
    details: dict[str, Details] = {}
    with TemporaryDirectory() as folder:
        for example, name, draw in PICTURES:
            if example not in details:
                project = Path(folder) / example
                write_example(project, example)
                details[example] = run_project(load_project(project / "project.toml")).details
            figure = draw(details[example]).figure  # type: ignore[attr-defined]
            figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None}, bbox_inches="tight")


if __name__ == "__main__":
    main()
