"""A project from its file to the folder of its report.

Whenever the program is killed, the folder holds the earlier report or the new one, whole.
"""

import ctypes
import errno
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from .._errors import Clause, MisuseError
from .._files import hidden_beside, lock, to_disk
from ..aeb import Tick, budget_queries
from ..analysis import Result, analyse, diagnose
from ..report import Details, Report, field_lines, page, query_lines
from ._assemble import Assembled, assemble
from ._load import Project

FILES = ("report.html", "report.json", "details.json", "fields.csv", "queries.csv")


@final
@dataclass(frozen=True, slots=True)
class ReportFolder:
    """The place of a report, held by this run alone through a hidden folder beside it.

    A new report is written into the hidden folder, brought to the disk, and exchanged with the old one in a single
    step of the file system; what is left behind by a run that was killed is removed by the next one.
    """

    name: str  # of the folder in messages
    folder: Path  # as it was given
    place: Path  # where it really is
    hidden: Path

    @property
    def new(self) -> Path:
        """The folder in which the new report is written, and to which the old one is moved."""
        return self.hidden / "new"

    def make_room(self, n_bytes: int) -> None:
        """Take up so many bytes until the report is written: a full disk is found before the work, not after it."""
        try:
            with (self.hidden / "room").open("wb") as file:
                _allocate(file.fileno(), n_bytes)
        except OSError as error:
            room = f"{shutil.disk_usage(self.hidden).free:,} bytes free ({error.strerror})"
            raise MisuseError(self.name, f"be on a disk with room for a report, {n_bytes:,} bytes", room) from None

    def write(self, writers: Mapping[str, Callable[[], Iterable[str]]]) -> tuple[Path, ...]:
        """Write all files, each from pieces of text, then replace the old report in one step."""
        try:
            (self.hidden / "room").unlink(missing_ok=True)
            self.new.mkdir()
            for name, write in writers.items():
                with (self.new / name).open("w", encoding="utf-8", newline="") as file:
                    file.writelines(write())
                to_disk(self.new / name)
            to_disk(self.new)
            self._replace()
        except OSError as error:
            fault = f"{self.folder} ({error.strerror})"
            raise MisuseError(self.name, "be a folder that can be written", fault) from None
        return tuple(self.folder / name for name in writers)

    def _replace(self) -> None:
        if not self.place.exists():
            self.new.rename(self.place)
        elif not _exchanged(self.new, self.place):
            # Two steps where the system has no single one; the next run finishes what is cut between them.
            self.place.rename(self._aside)
            self.new.rename(self.place)
            self._aside.rename(self.new)
        to_disk(self.place.parent)
        if self.new.exists():
            for other in _others(self.new):  # came into the old folder during the run
                (self.new / other).rename(self.place / other)

    @property
    def _aside(self) -> Path:
        return self.hidden / "old"

    def restore(self) -> None:
        """Undo what an earlier run left: a report that stepped aside comes back, one that was not finished goes."""
        if self._aside.is_dir() and not self._aside.is_symlink() and not self.place.exists():
            self._aside.rename(self.place)
        self.clear()
        if left := _others(self.hidden):
            rule = "be free of what an earlier run left behind"
            leftover = f"{left[0]} in {self.hidden}"
            raise MisuseError(self.name, rule, leftover, "Look at it, and move it elsewhere.")

    def clear(self) -> None:
        """Remove all that runs write into the hidden folder, and nothing else: no run makes links."""
        for folder in (self.new, self._aside):
            for name in () if folder.is_symlink() else FILES:
                (folder / name).unlink(missing_ok=True)
            with suppress(OSError):
                folder.rmdir()
        (self.hidden / "room").unlink(missing_ok=True)


@contextmanager
def reserved(name: str, folder: Path) -> Iterator[ReportFolder]:
    """Hold a folder that is not there yet, or holds an earlier report and nothing else, until its report is written.

    A link is followed: what it leads to is looked at and replaced.  Nothing is left of what was not written.
    """
    place = Path(os.path.realpath(folder))
    held = ReportFolder(name, folder, place, hidden_beside(place))
    missing: list[Path] = []
    try:
        missing += [path for path in place.parents if not path.exists()]
        if place.exists():
            _check_replaceable(name, place)
        place.parent.mkdir(parents=True, exist_ok=True)
        opened = _locked(held)
    except OSError as error:
        fault = f"{str(place)[:200]} ({error.strerror})"
        raise MisuseError(name, "be a folder that can be made", fault) from None
    try:
        held.restore()
        yield held
    finally:
        with suppress(OSError):
            held.clear()
            held.hidden.rmdir()
        if opened is not None:
            os.close(opened)
        for path in missing:
            with suppress(OSError):
                path.rmdir()  # fails where the report was written


def _check_replaceable(name: str, folder: Path) -> None:
    if not folder.is_dir():
        raise MisuseError(name, "name a folder", Clause(f"{folder} is a file"))
    others = _others(folder)
    if others:
        remedy = "It is replaced as a whole: name another folder."
        raise MisuseError(
            name, "hold nothing but an earlier report", Clause(f"{folder} also holds {others[0]}"), remedy
        )
    if folder == Path.cwd():
        remedy = "It is replaced as a whole: name it from elsewhere, or name another one."
        raise MisuseError(name, "not be the folder that one is in", folder, remedy)


def _others(folder: Path) -> list[str]:
    """The names in a folder that are not files of a report."""
    return sorted(path.name for path in folder.iterdir() if path.name not in FILES)


def _locked(held: ReportFolder) -> int | None:
    """Hold the hidden folder against other runs."""
    while True:
        held.hidden.mkdir(mode=0o700, exist_ok=True)
        if held.hidden.is_symlink():
            rule = "have no link beside it by the name that a run keeps for itself"
            raise MisuseError(held.name, rule, str(held.hidden), "Look at it, and move it elsewhere.")
        try:
            opened = lock(held.hidden)
        except BlockingIOError:
            raise MisuseError(
                held.name, "be written by one run at a time", Clause(f"another one writes to {held.place}")
            ) from None
        if opened is None or (held.hidden.exists() and os.path.samestat(os.fstat(opened), held.hidden.stat())):
            return opened
        os.close(opened)  # of a folder that another run has just removed


def _allocate(file: int, n_bytes: int) -> None:
    """Reserve space on the disk, or fail; does nothing on systems that cannot reserve space."""
    try:
        if sys.platform == "linux":
            os.posix_fallocate(file, 0, n_bytes)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise


# Of renameat2 in Linux and of renamex_np in macOS; -100 stands for paths as they are.
_EXCHANGE = 2
_AT_CWD = -100


def _exchanged(one: Path, other: Path) -> bool:
    """True if two folders now have each other's names, which happens in one step or not at all."""
    paths = [os.fsencode(one), os.fsencode(other)]
    calls = {"linux": ("renameat2", _AT_CWD, paths[0], _AT_CWD, paths[1]), "darwin": ("renamex_np", *paths)}
    if sys.platform not in calls:
        return False
    name, *arguments = calls[sys.platform]
    function = getattr(ctypes.CDLL(None), str(name), None)  # not every system library has it
    return function is not None and function(*arguments, _EXCHANGE) == 0


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
        """The folder of the files."""
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
        _check_one_signal(assembled)
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
                "report.html": lambda: [page.page_html(report, details)],
                "report.json": lambda: [report.json()],
                "details.json": lambda: [details.json()],
                "fields.csv": lambda: field_lines(report),
                "queries.csv": lambda: query_lines(trace.queries, trace.verdicts, result.seal.question.says),
            }
        )
    return Finished(assembled, result, details, files)


def _check_one_signal(assembled: Assembled) -> None:
    """Raise for an image, which has a signal in every pixel."""
    shape = assembled.tables["deployment"].source.shape
    if len(shape) > 2:
        project = assembled.project
        pixel = ",".join("0" for _ in shape[1:])
        command = f"physupport map {shlex.quote(str(project.path))}"
        remedy = f"Ask about every pixel: {command}; about one of them in full: {command} --signal {pixel}."
        raise project.misuse(
            "data.deployment.file", "hold rows of one signal", Clause(f"it holds an image of shape {shape}"), remedy
        )


# More than reports were found to need: of any, of each query, and of each element.
_BYTES = 2**22
_BYTES_A_QUERY = 400
_BYTES_AN_ELEMENT = 2000


def _earlier(name: str, project: Project) -> Report:
    path = project.file("output.folder", str(Path(project.settings.output.folder) / "report.json"))
    if not path.is_file():
        remedy = "Run without --resume first."
        raise MisuseError(name, "hold the report to go on from", Clause(f"there is none in {path.parent}"), remedy)
    try:
        report = Report.load(path)
    except (MisuseError, UnicodeDecodeError) as error:
        raise MisuseError(name, "hold a sound report to go on from", Clause(f"{path} is not ({error})")) from None
    if not report.is_unchanged:
        raise MisuseError(name, "hold the report as it was written", Clause(f"{path} was changed"))
    return report


def project_details(assembled: Assembled, result: Result) -> Details:
    """The details from `diagnose`, with the other files that were read among the inputs."""
    project = assembled.project
    details = diagnose.diagnose(
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
