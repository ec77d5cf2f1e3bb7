"""`physupport show` and `physupport verify`: a saved report as it says, and a second opinion on it."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .. import project as projects, report as reports, verify as verifier
from .._errors import Clause, MisuseError, misuse_named, visible
from ..report import page
from . import _later
from ._app import REFUSED, Trust
from ._text import SIGNAL, load_project_at, read_text, report_path, rows_at, show_report, signal_rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..project import Project
    from ..report import Details, Report
    from ..verify import Verification

    Rows = NDArray[np.generic]

_SavedReport = Annotated[
    str, typer.Argument(help="A saved report (JSON), or the folder with report.json in it; - reads standard input.")
]


_HTML = "Write the page into this file; details.json must lie beside the report."


def show(
    report: _SavedReport,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole report as JSON.")] = False,
    html: Annotated[Path | None, typer.Option(help=_HTML)] = None,
) -> None:
    """Show what a saved report says: the map, a sentence for each region, and the outcome.

    Only the hash of the content is checked here: `physupport verify` checks the content.

    Exit codes: 0; 2, misuse; 3, the report was changed after it was written.
    """
    report = report_path(report)
    text = read_text("report", report)
    with misuse_named(lambda argument: f"report {report}: {argument}"):
        shown = reports.Report.from_json(text)
    if not shown.is_unchanged:
        changed = "this report was changed after it was written; physupport verify says where"
        typer.echo(f"physupport: {visible(report)}: {changed}.", err=True)
        raise typer.Exit(REFUSED)
    if html is not None:
        with _sound_facts(report):
            _write_page(shown, report, html)
        typer.echo(f"Page written to {visible(str(html))}.", err=True)
    if as_json:
        typer.echo(shown.json(), nl=False)
    elif html is None:
        with _sound_facts(report):
            show_report(shown, _beside(shown, report))


def _beside(report: "Report", path: str) -> "Details | None":
    """The details beside a report, if they are there, sound, and its own."""
    try:
        details = None if path == "-" else reports.Details.load(Path(path).parent / "details.json")
    except (OSError, ValueError):  # misuse is a ValueError, too
        return None
    return details if details is not None and details.report == report.digests["document"] else None


@contextmanager
def _sound_facts(path: str) -> Iterator[None]:
    """One message where facts of a document contradict each other so that no words can be made of them."""
    try:
        yield
    except MisuseError:
        raise
    except Exception as error:  # details have no schema: what is missing in them may be met anywhere
        rule = "hold facts that fit together"
        remedy = "physupport verify says which do not."
        raise MisuseError(
            f"report {path}", rule, Clause(f"they do not ({type(error).__name__}: {error})"), remedy
        ) from None


def _write_page(report: "Report", path: str, html: Path) -> None:
    beside = Path(path).parent / "details.json"
    if path == "-" or not beside.is_file():
        raise MisuseError("--html", "come with details.json beside the report", Clause(f"there is none at {beside}"))
    details = reports.Details.from_json(read_text("details", str(beside)))
    if html.is_dir() or not html.parent.is_dir():
        raise MisuseError("--html", "name a file in a folder that exists", repr(str(html)))
    try:
        page.write_page(html, report, details)
    except OSError as error:
        raise MisuseError(
            "--html", "name a file that can be written", Clause(f"{str(html)!r} cannot ({error.strerror})")
        ) from None


_DATA = (
    "The rows of a stream, as calibration=FILE (.npy, .npz, .csv, .mat, .h5); or an .npz file with the table of each "
    "stream under its name, rows first.  May be given again."
)
_PROJECT = (
    "A project file: the rows are read as it says, instead of --data, and the report must be of the protocol that it "
    "describes."
)
_DEPLOYMENT = (
    "With --project: deployment rows to take instead of those that it names, such as those of a signal of a map (.npy, "
    "rows first)."
)
_PROTOCOL = "The hash of the protocol, as it was known before the data were read."
_CALIBRATION = "the places that calibration rows leave are taken as they stand: give --project to find them again"
_DETAILS = "details.json, and what the page shows of it, is taken as it stands: give --project to make it again"


def verify(
    report: _SavedReport,
    data: Annotated[list[str] | None, typer.Option(help=_DATA)] = None,
    project: Annotated[Path | None, typer.Option(help=_PROJECT)] = None,
    deployment: Annotated[Path | None, typer.Option(help=_DEPLOYMENT)] = None,
    trust: Trust = False,
    protocol: Annotated[str | None, typer.Option(help=_PROTOCOL)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was found as JSON.")] = False,
) -> None:
    """Derive every label of a report again from its trace, and, with data, score every verdict again.

    Page and tables beside a report.json are made again, and must be the same.

    Exit codes: 0, verified; 3, refused, one line for each finding; 2, misuse.
    """
    if data and project is not None:
        raise MisuseError("--project", "come without --data", project)
    if deployment is not None and project is None:
        raise MisuseError("--deployment", "come with --project", deployment, "Else give --data deployment=FILE.")
    path = report_path(report)
    text = read_text("report", path)
    others = {} if deployment is None else rows_at(deployment)
    loaded = None if project is None else load_project_at(project, others, trust=trust)
    rows = _read_data(text, data, loaded) if data or project is not None else None
    opponents = None if loaded is None else projects.planned_opponents(loaded)
    found = verifier.verify(text, rows, protocol=protocol, opponents=opponents)
    if found.is_verified:
        found = _with_files(found, text, Path(path), loaded)
    if loaded is not None:
        found = replace(found, notes=(*found.notes, *_rows_notes(path, deployment)))
    if as_json:
        content = {"verified": found.is_verified, "rows_scored": found.are_verdicts_scored}
        typer.echo(json.dumps(content | {"findings": found.findings, "notes": found.notes}, indent=2))
    else:
        _show(found)
    if not found.is_verified:
        raise typer.Exit(REFUSED)


def _with_files(found: "Verification", text: str, path: Path, project: "Project | None") -> "Verification":
    """Compare the files beside a verified report, and the project if it is given, with the report."""
    is_saved = path.name == "report.json"
    if is_saved:
        beside = verifier.verify_beside(text, path.parent)
        found = replace(found, findings=beside.findings, notes=(*found.notes, *beside.notes))
    if project is None:
        gate = reports.Report.from_json(text).document["gate"] or {}
        notes = [_CALIBRATION] if "calibration" in gate else []
        notes += [_DETAILS] if is_saved and (path.parent / "details.json").is_file() else []
        return replace(found, notes=(*found.notes, *notes))
    if not found.is_verified:
        return found
    report = reports.Report.from_json(text)
    made = projects.report_differences(project, report, _beside(report, str(path)) if is_saved else None)
    return replace(found, findings=made.findings, notes=(*found.notes, *made.notes))


def _rows_notes(path: str, given: Path | None) -> Iterator[str]:
    """Which rows were taken in place of the project's, or that those beside the report on a signal were not."""
    folder = Path(path).absolute().parent
    beside = signal_rows(folder)
    if given is not None:
        yield f"deployment rows are those of {given}, not those that the project file names"
    elif folder.name.startswith(SIGNAL) and os.path.isfile(beside):
        yield f"deployment rows are those of the project file: --deployment takes others, such as {beside.name} beside"


def _show(verification: "Verification") -> None:
    for line in verification.findings:
        typer.echo(f"refused: {visible(line)}", err=True)
    for line in verification.notes:
        typer.echo(f"note: {visible(line)}", err=True)
    if verification.is_verified:
        scored = ", every verdict from the rows." if verification.are_verdicts_scored else "."
        typer.echo(f"verified: every label follows from the trace{scored}")


def _read_data(report: str, data: list[str] | None, project: "Project | None") -> "dict[str, Rows]":
    """The table of each stream by name, complex numbers as pairs (Re, Im)."""
    read = {} if project is None else projects.read_tables(project)
    tables = {name: _real(table.values) for name, table in read.items()}
    known = _declared_shapes(report)
    for source in data or ():
        name, _, path = source.partition("=")
        part = {name: _stream_rows(report, name, path)} if path else _archive_rows(Path(source))
        for stream, table in part.items():
            if known and stream not in known:
                raise MisuseError(f"data {source}", f"name streams of the report, {', '.join(known)}", repr(stream))
            if stream in tables:
                raise MisuseError(f"data {source}", "name each stream once", repr(stream))
            tables[stream] = table
    for name in known:
        if name not in tables:
            option = "--data" if project is None else "--project"
            raise MisuseError(
                option, f"give the rows of every stream of the report, also of {name}", Clause("they are missing")
            )
    return tables


def _stream_rows(report: str, name: str, path: str) -> "Rows":
    """The table in a file, turned so that its rows are those of the report; hashes decide whether they are."""
    values = _later.io.read_array(path)
    if values.ndim != 2:
        raise MisuseError(f"data {name}={path}", "have two axes, rows and channels", f"shape {values.shape}")
    declared = _declared_shapes(report).get(name)
    upright = _real(values)
    turned = _real(values.T)
    if declared == upright.shape == turned.shape:
        remedy = "Give --project, which says, or an .npz file of tables by stream, in which rows come first."
        raise MisuseError(
            f"data {name}={path}",
            "tell its rows from its channels by their numbers",
            Clause(f"its shape is {values.shape}"),
            remedy,
        )
    return turned if declared == turned.shape else upright


def _declared_shapes(report: str) -> dict[str, tuple[int, int]]:
    """The shapes of the streams that the report declares; empty if it declares none."""
    try:
        streams: Any = json.loads(report)["protocol"]["streams"]
        return {str(stream["name"]): (stream["rows"], stream["width"]) for stream in streams}
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}


def _archive_rows(path: Path) -> "dict[str, Rows]":
    if path.suffix.lower() != ".npz":
        remedy = "Other files are given by stream, as calibration=FILE."
        raise MisuseError(f"data {path}", "be an .npz file of tables", repr(path.suffix), remedy)
    tables = _later.io.read_archive(path, "data")
    for name, table in tables.items():
        if table.ndim != 2 or table.dtype.kind not in "fiuc":
            raise MisuseError(f"data {path}", "hold a table of numbers for each stream", repr(name))
    return {name: _real(table) for name, table in tables.items()}


def _real(values: "Rows") -> "Rows":
    return _later.io.as_pairs(values) if values.dtype.kind == "c" else values
