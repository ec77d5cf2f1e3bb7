"""A project from its file to the folder of its report."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from .._errors import MisuseError
from ..aeb import Tick
from ..diagnose import Details, diagnose
from ..estimator import Result, analyse
from ..page import write_page
from ._assemble import Assembled, assemble
from ._load import Project
from ._outputs import check_folder, queries_csv, write_folder


@final
@dataclass(frozen=True, slots=True, eq=False)
class Finished:
    """A report, what explains it, and where both were written."""

    assembled: Assembled = field(repr=False)
    result: Result
    details: Details = field(repr=False)
    files: tuple[Path, ...]

    @property
    def folder(self) -> Path:
        """Where the files are."""
        return self.files[0].parent


def run_project(
    project: Project, *, trust: bool = False, callback: Callable[[Tick], bool | None] | None = None
) -> Finished:
    """Read, propose, freeze, ask, report, and write the folder; a misuse anywhere leaves the folder as it was.

    callback: told after every query; returns False to stop, and the report says what is certified by then.
    """
    name = project.name("output.folder")
    check_folder(name, project.folder)
    assembled = assemble(project, trust=trust)
    result = analyse(assembled.protocol, assembled.tables, callback=callback)
    details = diagnose(result, title=assembled.title, coordinate_names=project.settings.elements.coordinates)
    report = result.report
    try:
        files = write_folder(
            project.folder,
            {
                "report.html": lambda path: write_page(path, report, details),
                "report.json": report.save,
                "details.json": details.save,
                "fields.csv": lambda path: _write(path, report.csv()),
                "queries.csv": lambda path: _write(path, queries_csv(result)),
            },
        )
    except OSError as error:
        raise MisuseError(name, "be a folder that can be written", f"{project.folder} ({error.strerror})") from None
    return Finished(assembled, result, details, files)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="")
