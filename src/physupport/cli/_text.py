"""Text that the commands read from files and show on a terminal."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from .. import project as projects
from .._errors import MisuseError, visible
from ._app import PROJECT_FILE

if TYPE_CHECKING:
    from ..project import Project
    from ..report import Details, FieldReport, Report


def report_path(path: str) -> str:
    """A report, which may be named by its folder; - is standard input."""
    return str(Path(path) / "report.json") if path != "-" and os.path.isdir(path) else path


def load_project_at(path: Path, overrides: "dict[str, object] | None" = None, *, trust: bool = False) -> "Project":
    """The project of a file, which may be named by its folder."""
    # Unlike the method of a path, this function takes a name that no file can have for what is not there.
    return projects.load_project(path / PROJECT_FILE if os.path.isdir(path) else path, overrides, trust=trust)


def load_counted(path: Path, overrides: "dict[str, object] | None" = None, *, trust: bool = False) -> "Project":
    """The same of who will build its bank; one too large is refused before anything is loaded to build it with."""
    loaded = load_project_at(path, overrides, trust=trust)
    projects.check_size(loaded)
    return loaded


SIGNAL = "signal-"  # how folders of reports on signals of a map begin


def signal_rows(folder: Path) -> Path:
    """Where the rows of a signal of a map are, beside the folder of its report."""
    return folder.with_name(f"{folder.name}.npy")


def rows_at(path: Path) -> dict[str, object]:
    """Overrides by which a project reads its deployment rows from such a file."""
    given = {"file": str(path.absolute()), "channels": 1, "member": None, "header": None}
    return {f"data.deployment.{key}": value for key, value in given.items()}


def check_ends(name: str, path: Path) -> None:
    """Refuse what may never end; what is not there, or is a folder, is told by who opens it."""
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        raise MisuseError(name, "be a file", "a device or a pipe")


# Characters of standard input, which may never end either, and of what is read at once.
_MOST_TEXT = 2**28
_PIECE = 2**20


def _standard_input(name: str) -> str:
    pieces: list[str] = []
    stream = typer.get_text_stream("stdin")
    while piece := stream.read(_PIECE):
        pieces.append(piece)
        if len(pieces) * _PIECE > _MOST_TEXT:
            rule = f"have at most {_MOST_TEXT:,} characters on standard input"
            raise MisuseError(name, rule, "more", "Name the file instead.")
    return "".join(pieces)


def read_text(name: str, path: str) -> str:
    """The text of a file; - is standard input."""
    try:
        if path == "-":
            return _standard_input(name)
        check_ends(f"{name} {path}", Path(path))
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise MisuseError(f"{name} {path}", "be a readable text file", error) from None


_MOST_SHOWN = 8


def show_report(report: "Report", details: "Details | None" = None) -> None:
    """The answers, the map as a table, then why, and how sure it is.  details: may cast doubt on all of it."""
    console = Console(highlight=False, markup=False)
    width = None if console.is_terminal else 10_000
    doubts = [report.doubt] if report.doubt else details.doubts if details is not None else []
    named = str if details is None else details.named
    show_lines([*map(named, doubts), *report.answers, *report.width])
    console.print()
    table = Table("region", "label", "in words", "what may be there", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for answer in report.fields:
        table.add_row(Text(visible(answer.field)), str(answer.label), answer.plain, Text(visible(_cell(answer))))
    console.print(table, width=width)
    console.print()
    show_lines([f"- {said}" for said in (*(answer.sentence for answer in report.fields), named(report.sentence))])
    show_lines(report.text().split("\n")[-1:])


def _cell(field: "FieldReport") -> str:
    """The names kept, the first few of many, least evidence against them first; and those not asked about."""
    if field.label == "EMPTY":
        return "no explanation survives"
    if field.within:
        n_unasked = len([name for name in field.not_asked if name is not None])
        nothing = " or nothing" if field.numbers.get("possible_absent") else ""
        return f"{field.within}{nothing}" + (f"; not asked: {n_unasked} of these" if n_unasked else "")
    has_set = bool(field.kept or field.not_asked)  # reports of before it was told have the cell alone
    kept = [name for name in field.kept if name is not None] if has_set else field.cell
    named = f" (group {field.group})" if field.group and len(field.cell) > 1 else ""
    is_absent = None in field.kept if has_set else bool(field.numbers.get("possible_absent"))
    shown = " or ".join(filter(None, (few(kept), "nothing" if is_absent else "")))
    unasked = few([name or "nothing" for name in field.not_asked])
    said = f"{shown or ('none kept' if unasked else 'nothing')}{named}"
    return f"{said}; not asked: {unasked}" if unasked else said


def few(names: "Sequence[str]", most: int = _MOST_SHOWN) -> str:
    """The first of many names, and how many there are in all."""
    more = f", ... ({len(names)} in all)" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def show_lines(lines: Iterable[str]) -> None:
    """Lines that break at words on a terminal, and nowhere elsewhere."""
    console = Console(highlight=False, markup=False)
    for line in lines:
        console.print(Text(visible(line)), soft_wrap=not console.is_terminal)
