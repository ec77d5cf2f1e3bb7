"""A project from its file to the folder of its report."""

import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from .._errors import MisuseError
from ..aeb import Tick, budget_queries
from ..analysis import Result, analyse
from ..analysis.diagnose import diagnose
from ..report import Details, Report, field_lines, query_lines
from ..report.page import page_html
from ._assemble import Assembled, assemble
from ._folder import reserved
from ._load import Project


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
    project: Project,
    *,
    resume: bool = False,
    callback: Callable[[Tick], bool | None] | None = None,
    stage: Callable[[str], None] = lambda _: None,
) -> Finished:
    """Read, propose, freeze, ask, report, and write the folder; a misuse anywhere leaves the folder as it was.

    resume: go on from the report in the folder, which must be of the same protocol and rows; only the budget may be
    another one.
    callback: told after every query; returns False to stop, and the report says what is certified by then.
    stage: told which part of the run begins.
    """
    name = project.name("output.folder")
    with reserved(name, project.folder) as held:
        earlier = _earlier(name, project) if resume else None
        stage("Reading files")
        assembled = assemble(project)
        bank = assembled.bank
        queries = budget_queries(assembled.protocol.budget, bank.size)
        held.make_room(_BYTES + _BYTES_A_QUERY * queries + _BYTES_AN_ELEMENT * bank.states.elements.shape[1])
        stage("Looking at proposal rows")
        with project.named_run():
            result = analyse(assembled.protocol, assembled.tables, callback=callback, earlier=earlier)
        stage("Writing the report")
        details = project_details(assembled, result)
        report = result.report
        trace = result.trace
        files = held.write(
            {
                "report.html": lambda: [page_html(report, details)],
                "report.json": lambda: [report.json()],
                "details.json": lambda: [details.json()],
                "fields.csv": lambda: field_lines(report),
                "queries.csv": lambda: query_lines(trace.queries, trace.verdicts, result.seal.question.says),
            }
        )
    return Finished(assembled, result, details, files)


# More than reports were found to need: of any, of each query, and of each element.
_BYTES = 2**22
_BYTES_A_QUERY = 400
_BYTES_AN_ELEMENT = 2000


def _earlier(name: str, project: Project) -> Report:
    path = project.file("output.folder", str(Path(project.settings.output.folder) / "report.json"))
    if not path.is_file():
        remedy = "Run without --resume first."
        raise MisuseError(name, "hold the report to go on from", f"none in {path.parent}", remedy)
    try:
        report = Report.load(path)
    except (MisuseError, UnicodeDecodeError) as error:
        raise MisuseError(name, "hold a sound report to go on from", f"{path} ({error})") from None
    if not report.is_unchanged:
        raise MisuseError(name, "hold the report as it was written", f"{path}, which was changed")
    return report


def project_details(assembled: Assembled, result: Result) -> Details:
    """The details from `diagnose`, with the other files that were read among the inputs."""
    project = assembled.project
    details = diagnose(
        result,
        title=project.title,
        coordinate_names=project.settings.elements.coordinates,
        outline=assembled.outline,
        verify=_verify_command(project),
    )
    return Details(details.document | {"inputs": [*details.document["inputs"], *project.read.values()]})


def _verify_command(project: Project) -> str | None:
    """The command that verifies the report with its rows; None if the project file alone does not name the rows."""
    if any(key.startswith("data") for key in project.overridden):
        return None
    try:
        path = os.path.relpath(project.path.resolve(), project.folder.resolve())
    except ValueError:  # on another drive
        return None
    return f"physupport verify report.json --project {shlex.quote(Path(path).as_posix())}"
