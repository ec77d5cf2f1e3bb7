"""A project from its file to the folder of its report."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

from .._errors import MisuseError
from ..aeb import Tick, budget_queries
from ..analysis import Protocol, Result, analyse
from ..analysis.diagnose import diagnose
from ..report import Details, Report
from ..report.page import write_page
from ._assemble import Assembled, assemble
from ._inputs import verify_command
from ._load import Project
from ._outputs import check_folder, fields_csv, queries_csv, write_folder
from ._sections import FunctionResponse


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
    trust: bool = False,
    resume: bool = False,
    callback: Callable[[Tick], bool | None] | None = None,
) -> Finished:
    """Read, propose, freeze, ask, report, and write the folder; a misuse anywhere leaves the folder as it was.

    trust: whether a response may be a function of the user's own, which is then imported and called.
    resume: go on from the report in the folder, which must be of the same protocol and rows; only the budget may be
    another one.
    callback: told after every query; returns False to stop, and the report says what is certified by then.
    """
    name = project.name("output.folder")
    check_folder(name, project.folder)
    earlier = _earlier(name, project.folder) if resume else None
    assembled = assemble(project, trust=trust)
    result = analyse(assembled.protocol, assembled.tables, callback=callback, earlier=earlier)
    details = _details(assembled, result)
    report = result.report
    try:
        files = write_folder(
            project.folder,
            {
                "report.html": lambda path: write_page(path, report, details),
                "report.json": lambda path: _write(path, report.json()),
                "details.json": lambda path: _write(path, details.json()),
                "fields.csv": lambda path: fields_csv(path, report),
                "queries.csv": lambda path: queries_csv(path, result),
            },
        )
    except OSError as error:
        raise MisuseError(name, "be a folder that can be written", f"{project.folder} ({error.strerror})") from None
    return Finished(assembled, result, details, files)


def _earlier(name: str, folder: Path) -> Report:
    path = folder / "report.json"
    if not path.is_file():
        raise MisuseError(name, "hold the report to go on from", f"none in {folder}", "Run without --resume first.")
    try:
        found = Report.load(path)
    except (MisuseError, UnicodeDecodeError) as error:
        raise MisuseError(name, "hold a sound report to go on from", f"{path} ({error})") from None
    if not found.is_unchanged:
        raise MisuseError(name, "hold the report as it was written", f"{path}, which was changed")
    return found


def _details(assembled: Assembled, result: Result) -> Details:
    """What `diagnose` finds, with the other files that were read among the inputs."""
    project = assembled.project
    found = diagnose(
        result,
        title=assembled.title,
        coordinate_names=project.settings.elements.coordinates,
        verify=verify_command(project),
    )
    return Details(found.document | {"inputs": [*found.document["inputs"], *project.read.values()]})


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="")


def protocol_notes(project: Project, protocol: Mapping[str, Any]) -> tuple[str, ...]:
    """Where the protocol of a report is another than the one that a project file describes, a sentence each.

    A report may well differ: options of `run` replace keys of the file.  Nothing is run for the comparison, so that of
    a project with a function of its own only level and seed are compared.
    """
    settings = project.settings
    notes = [
        f"the project file has the {name} {here!r}, the report {protocol.get(name)!r}"
        for name, here in {"level": settings.level, "seed": settings.seed}.items()
        if here != protocol.get(name)
    ]
    if isinstance(settings.elements.response, FunctionResponse):
        return (*notes, "elements and questions of the project file were not compared: they need its function")
    try:
        described = assemble(project).protocol
    except MisuseError as error:
        return (*notes, f"elements and questions of the project file could not be compared: {error}")
    parts = [name for name, here in _parts(described) if here != _told(name, protocol)]
    if parts:
        notes.append(f"the project file describes another protocol than the report has, with other {', '.join(parts)}")
    return tuple(notes)


def _parts(protocol: Protocol) -> Iterator[tuple[str, object]]:
    """What a protocol says of itself before any row is read, as JSON has it."""
    bank, question, policy = protocol.bank, protocol.question, protocol.policy
    if bank is not None:
        yield "bank", bank.digest
        yield "budget", budget_queries(protocol.budget, bank.size)
    for name, part in (("question", question), ("policy", policy)):
        if not callable(part):
            yield name, json.loads(json.dumps(part.describe()))
    yield "streams", {name: [plan.law.name, float(plan.fraction)] for name, plan in protocol.streams.items()}


def _told(name: str, protocol: Mapping[str, Any]) -> object:
    """The same part of the protocol in a report."""
    if name != "streams":
        return protocol.get(name)
    return {each["name"]: [each["law"]["kind"], each["fraction"]] for each in protocol["streams"]}
