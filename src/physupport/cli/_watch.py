"""`physupport watch`: rows keep arriving in a file or in several, and every look at them is valid."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .. import analysis, judges, project as projects, report as reports
from .._errors import Clause, MisuseError, misuse_named, visible
from ..analysis import diagnose
from ..report import page
from . import _later
from ._app import PROJECT_FILE, ProjectOption, Trust
from ._arriving import as_they_come, blocks, in_turn
from ._text import few, interruptible, load_counted, read_text, save_report, show_lines, show_report

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .._typing import Array
    from ..analysis import AnalysisProtocol, Candidate, Result
    from ..judges import RunningEvidence, RunningStream
    from ..report import Report

_MOST_IN_LINE = 4  # elements of a region that the line of a look names
_MOST_KEPT = 2**24  # numbers of rows that are kept for a look at their energy, 128 MiB: a stream may never end
_CERTAIN = ("FINE", "ABSENT")
_ROWS = (
    "Text file that grows, one row of numbers a line; - is stdin. A complex channel is two columns, real and then "
    "imaginary part, or one, as 1+2j."
)
_OUT = "Folder for report.json and live.html of the last look; watch beside the project file unless given."
_CALIBRATION = "Text file of calibration rows that grows as well, in place of the project's."
_COUNTS = "Meaning of a row of counts: increments, snapshots of one spectrum so far, or events: time and channel."
_UNTIL = "Stop once the answer is certain: fine for all regions, fine=lead,tin for some."
_ALSO = "Rows of a measurement of [[next]] that has responses of its own, as NAME=FILE; may be given again."
_RESUME = "Go on from the report in the folder: its looks are repeated on the same files first."

WATCH_OPTIONS = {"form": "--counts", "path": "--resume"}


def watch(
    rows: Annotated[str, typer.Argument(help=_ROWS)],
    project: ProjectOption = PROJECT_FILE,
    look: Annotated[int, typer.Option(min=1, help="Rows between two looks.")] = 100,
    follow: Annotated[bool, typer.Option("--follow", help="Wait for more rows, until Ctrl-C.")] = False,
    calibration: Annotated[str | None, typer.Option(help=_CALIBRATION)] = None,
    also: Annotated[list[str] | None, typer.Option(help=_ALSO)] = None,
    counts: Annotated[str, typer.Option(help=_COUNTS)] = "increments",
    until: Annotated[str | None, typer.Option(help=_UNTIL)] = None,
    resume: Annotated[bool, typer.Option("--resume", help=_RESUME)] = False,
    out: Annotated[Path | None, typer.Option(help=_OUT)] = None,
    trust: Trust = False,
) -> None:
    """Answer the question of a project while its rows arrive, one line a look, and report at the end.

    The level holds for all looks together: what was rejected once stays rejected, and one may stop at any time.  The
    deployment file of the project is not read.  Rows have their columns in the order of the channels, or as a header
    names them, between commas or blanks; each complex channel is two adjacent columns, re,im,re,im and so on, or one
    column as 1+2j, as the first row has it.  Counts may have their live time before the channels.  A first line
    without a number is a header, a last line without an end no row.  The report says at its end if the rows do not fit
    the laws; no label depends on that.  The report of every look replaces the one before, in report.json, which verify
    and show take; live.html beside it shows in a browser what is left, and loads itself anew.  Exit codes: 0, the rows
    have ended, the answer is certain or Ctrl-C was pressed; 2, misuse.
    """
    if resume and counts == "events":  # the last look ended with the file, at a moment that no rule fixed beforehand
        remedy = "Begin anew: all events are read again."
        raise MisuseError("--resume", "come without --counts events", Clause("both are given"), remedy)
    loaded = load_counted(project, trust=trust)
    assembled = projects.assemble(loaded)
    protocol = assembled.protocol
    folder = loaded.path.parent / "watch" if out is None else out
    recorded = _recorded(folder / "report.json") if resume else None
    table = assembled.tables.get("calibration") if calibration is None else None
    with assembled.project.named_run():
        proposed = None if table is None else protocol.propose("calibration", table.values)
        offered = projects.candidates(assembled) if assembled.project.settings.next else ()
        more = _files(also or [], [each.name for each in offered if each.bank is not assembled.bank])
        others = {each.name: (each.bank, each.law) for each in offered if each.name in more}
        forms = dict.fromkeys(["deployment", *more], counts)
        evidence = analysis.begin_running(protocol, forms=forms, others=others)
    files = {"deployment": rows} | ({} if calibration is None else {"calibration": calibration}) | more
    sources = {
        name: _arrays(evidence.streams[name], name, file, look, follow, recorded, protocol.checked_bank.channels)
        for name, file in files.items()
    }
    kept = list["Array"]()
    sources["deployment"] = _keeping(sources["deployment"], kept)
    if table is not None:
        first = _real(table.values)
        evidence = evidence if recorded else evidence.after(first, "calibration")
        sources |= {"calibration": iter([first])} if recorded else {}
    shown = _Shown(protocol, folder, _goal(until), offered)
    evidence = shown.look_at(_looks(evidence, sources, recorded, follow), evidence)
    if shown.result is None:
        typer.echo("No row came, so there is nothing to report.", err=True)
        return
    shown.end()
    details = diagnose.running_details(shown.result, evidence, _later.np.concatenate(kept), proposed)
    show_report(shown.result.report, details)
    show_lines(details.notes)
    typer.echo(f"\nWritten to {visible(str(folder / 'report.json'))}.")


@dataclass
class _Shown:
    """The output of every look: a line, the saved report, and the page that loads itself anew."""

    protocol: "AnalysisProtocol"
    folder: Path
    goal: "tuple[str, ...] | None"  # regions that shall be certain, all if there are none; None: no goal
    offered: "tuple[Candidate, ...]" = ()  # measurements that could be made next
    reason: str = "the rows have ended"
    next: str = ""
    result: "Result | None" = None
    history: "list[tuple[str, dict[str, tuple[str, ...]]]]" = field(default_factory=list)

    def look_at(self, looks: "Iterator[RunningEvidence]", evidence: "RunningEvidence") -> "RunningEvidence":
        """Show all looks until one reaches the goal, or Ctrl-C; return the evidence of the last, as given if none."""
        try:
            with interruptible():
                for looked in looks:
                    evidence = looked
                    if self.look(evidence):
                        break
        except KeyboardInterrupt:
            self.reason = "Ctrl-C was pressed"
            typer.echo("Stopped.", err=True)
        return evidence

    def look(self, evidence: "RunningEvidence") -> bool:
        """Show a look; return True if it reached the goal."""
        self.result = analysis.running_result(self.protocol, evidence)
        report = self.result.report
        save_report(report, self.folder / "report.json")
        told = (f"{said.field} {said.label} {few(said.cell, _MOST_IN_LINE)}" for said in report.fields)
        name = _counted(evidence)
        typer.echo(visible(f"{name}: {'; '.join(told)}"))
        sets = {said.field: (*said.kept, *said.not_asked) for said in report.fields}
        self.history.append((name, {key: tuple(each or "nothing" for each in left) for key, left in sets.items()}))
        if self.offered:
            self.next = analysis.next_measurement(
                self.result, self.offered, analysis.Seen.of_running(evidence)
            ).sentence
        page.write_live(self.folder / "live.html", report, self.history, next_=self.next)
        ended = None if self.goal is None else _ended(report, self.goal)
        self.reason = ended or self.reason
        return ended is not None

    def end(self) -> None:
        """Write the page for the last time, and say why there will be no more looks."""
        assert self.result is not None
        page.write_live(self.folder / "live.html", self.result.report, self.history, self.reason, self.next)
        typer.echo(f"\nEnded: {visible(self.reason)}.\n")
        if self.next:
            typer.echo(f"{visible(self.next)}\n")


def _counted(evidence: "RunningEvidence") -> str:
    """Count the rows of each stream that were read."""
    first = f"{evidence.streams['deployment'].n_rows} rows"
    others = [f"{stream.n_rows} of {name}" for name, stream in evidence.streams.items() if name != "deployment"]
    return " and ".join([first, *others]) if len({name for name, _, _ in evidence.looks}) > 1 else first


def _files(also: list[str], known: list[str]) -> dict[str, str]:
    """The files of further measurements, by their names."""
    found = {}
    for each in also:
        name, _, file = each.partition("=")
        if name not in known or not file:
            rule = f"be NAME=FILE, of measurements of [[next]] with responses: {', '.join(known) or 'there are none'}"
            raise MisuseError("--also", rule, repr(each))
        found[name] = file
    return found


def _goal(until: str | None) -> tuple[str, ...] | None:
    """The regions that shall be certain; all of them, if none is named."""
    if until is None:
        return None
    label, _, names = until.partition("=")
    if label != "fine":
        raise MisuseError("--until", "be fine, or fine=REGION,REGION", repr(until))
    return tuple(name for part in names.split(",") if (name := part.strip()))


def _ended(report: "Report", goal: tuple[str, ...]) -> str | None:
    """State why no more rows are needed; None if more are."""
    fields = {each.field: each for each in report.fields}
    unknown = [name for name in goal if name not in fields]
    if unknown:
        raise MisuseError("--until", f"name regions that are asked about, {', '.join(fields)}", unknown[0])
    if report.status == "EMPTY":
        return "no explanation considered fits, and more rows cannot change that"
    asked = [fields[name] for name in goal or fields]
    if all(str(each.label) in _CERTAIN for each in asked):
        return f"the answer is certain: {'; '.join(f'{e.field} {e.label} {few(e.cell, _MOST_IN_LINE)}' for e in asked)}"
    return None


def _recorded(path: Path) -> "dict[str, Any]":
    """The rows and looks that a saved report of this command tells of."""
    with misuse_named(lambda argument: f"--resume: {argument}"):
        content = reports.Report.from_json(read_text("report", str(path))).document["protocol"]["judge"]
    if content.get("judge") != judges.RUNNING:
        raise MisuseError("--resume", "find a report of watch", str(path))
    return dict(content)


def _arrays(
    stream: "RunningStream",
    name: str,
    file: str,
    look: int,
    follow: bool,
    recorded: "Mapping[str, Any] | None",
    channels: tuple[str, ...] | None,
) -> "Iterator[Array]":
    """The rows of a stream by looks, those of a record first."""
    looks = [] if recorded is None else recorded["looks"]
    earlier = chain.from_iterable([size] * times for stream_name, size, times in looks if stream_name == name)
    read = blocks(file, look, follow, stream.widths, stream.law.is_complex, channels, earlier)
    return (_later.np.array(block) for block in read)


def _real(values: "NDArray[np.generic]") -> "Array":
    """Rows as real numbers, complex ones as pairs."""
    real: Array = _later.np.asarray(_later.io.as_pairs(values) if values.dtype.kind == "c" else values, dtype=float)
    return real


def _keeping(blocks_read: "Iterator[Array]", kept: "list[Array]") -> "Iterator[Array]":
    """The same; the first of them are kept as well, whole blocks, until there is no room for the next."""
    n_kept = 0
    for block in blocks_read:
        n_kept += block.size
        if n_kept <= _MOST_KEPT or not kept:
            kept.append(block)
        yield block


def _looks(
    evidence: "RunningEvidence",
    sources: "dict[str, Iterator[Array]]",
    recorded: "Mapping[str, Any] | None",
    follow: bool,
) -> "Iterator[RunningEvidence]":
    """The evidence after each look; those of a record are repeated first, and count as one."""
    if recorded is not None:
        for name, _, times in recorded["looks"]:
            for _ in range(times):
                block = next(sources[name], None)
                evidence = evidence if block is None else evidence.after(block, name)
        if _later.codec.described("judge", evidence.encode()) != recorded:
            raise MisuseError(
                "--resume", "find the rows that the saved report was made from", Clause("the rows are others")
            )
        yield evidence
    arriving = as_they_come if follow and len(sources) > 1 else in_turn
    for name, block in arriving(sources):
        evidence = evidence.after(block, name)
        yield evidence
