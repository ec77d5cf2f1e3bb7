"""How a study reaches the disk: all of it, or nothing."""

import csv
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from .._errors import MisuseError
from .._files import to_disk
from ._published import Outcome

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from ..report.pictures import Picture

_COLUMN, _DOTS = 3.4, 200  # inches, and dots an inch


def make_folder(path: Path) -> Path:
    """The folder, made if it is not there, and one that files can be written to."""
    with _can_be_written(path):
        path.mkdir(parents=True, exist_ok=True)
        # Permissions alone do not tell: a disk may be read-only, or full.
        with TemporaryDirectory(dir=path, prefix=".physupport-"):
            pass
    return path


@contextmanager
def _can_be_written(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        rule = "be one that can be made and written to"
        raise MisuseError("the folder for the output", rule, f"{path} ({error})") from None


def make_output(parent: Path, studies: Iterable[str]) -> None:
    """Make the parent, and refuse what `write_outcome` could not write, before a study is run.

    The folders of the studies are made when there is something to put into them.
    """
    make_folder(parent)
    for path in (parent / study for study in studies):
        if os.path.lexists(path):
            make_folder(path)


def write_outcome(outcome: Outcome, parent: Path, draw: Callable[[Path], object] | None = None) -> list[Path]:
    """Write parent/<study>/: summary.json, published.csv, every table, and what draw makes of them.

    All is made in a hidden folder beside the target and moved in only when it is complete, so a fault leaves no
    partial output; files that the study does not write are left alone.
    """
    parent, target = make_folder(parent), parent / outcome.study
    with _can_be_written(target), TemporaryDirectory(dir=parent, prefix=f".{outcome.study}-") as scratch:
        stage = Path(scratch)
        _write_json(stage / "summary.json", outcome.summary)
        _write_table(stage / "published.csv", [asdict(line) for line in outcome.lines])
        for name, rows in outcome.tables.items():
            _write_table(stage / f"{name}.csv", rows)
        if draw is not None:
            draw(stage)
        made = sorted(stage.iterdir())
        for path in made:
            to_disk(path)
        make_folder(target)
        for path in made:
            os.replace(path, target / path.name)
        to_disk(target)
    return [target / path.name for path in made]


def read_table(folder: Path, name: str) -> list[dict[str, str]]:
    """The rows of one CSV, every cell as text."""
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def read_columns(folder: Path, name: str) -> "dict[str, NDArray[Any]]":
    """The columns of one CSV: numbers where every cell is one, words elsewhere."""
    import numpy as np

    rows = read_table(folder, name)
    columns: dict[str, NDArray[Any]] = {}
    for column in rows[0]:
        words = np.array([row[column] for row in rows])
        try:
            columns[column] = words.astype(np.float64)
        except ValueError:
            columns[column] = words
    return columns


def draw_figures(folder: Path, drawings: "Mapping[str, Sequence[Picture]]") -> list[Path]:
    """Figures one column wide, as PNG and PDF.  drawings: name of the files -> pictures, one below the other."""
    return [path for name, pictures in drawings.items() for path in save_figure(drawn(pictures), folder, name)]


def drawn(pictures: "Sequence[Picture]") -> "Figure":
    """Pictures one below the other, each in its height, on a figure one column wide."""
    from matplotlib.figure import Figure

    from ..report.plots._draw import draw

    heights = [picture.size[1] for picture in pictures]
    figure = Figure(figsize=(_COLUMN, sum(heights) / 72.0), layout="constrained")
    axes = figure.subplots(len(pictures), 1, squeeze=False, height_ratios=heights)
    for picture, ax in zip(pictures, axes[:, 0], strict=True):
        draw(picture, ax)
    return figure


def save_figure(figure: "Figure", folder: Path, name: str) -> list[Path]:
    """The figure as PNG and PDF; the same figure gives the same files, whatever the day."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_pdf import FigureCanvasPdf

    png, pdf = folder / f"{name}.png", folder / f"{name}.pdf"
    figure.dpi = _DOTS
    # Figure.savefig would draw everything twice, the first time only to find its places.
    FigureCanvasAgg(figure).print_png(png)  # type: ignore[no-untyped-call]
    figure.set_layout_engine("none")  # everything has its place now, and finding it takes as long as drawing
    FigureCanvasPdf(figure).print_pdf(pdf, metadata={"CreationDate": None})  # type: ignore[no-untyped-call]
    return [png, pdf]


def _write_json(path: Path, content: Mapping[str, object]) -> None:
    path.write_text(json.dumps(dict(content), indent=2, allow_nan=False) + "\n", encoding="utf-8")


def _write_table(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    rows = list(rows)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
