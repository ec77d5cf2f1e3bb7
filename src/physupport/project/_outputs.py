"""The folder of a report: all of its files, or none."""

import csv
import errno
import io
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp

from .._errors import MisuseError
from ..aeb import Trace
from ..analysis import Result
from ..judges import Verdict
from ..questions import Predicates, predicates
from ..report import Report

FILES = ("report.html", "report.json", "details.json", "fields.csv", "queries.csv")

# Explanations written out at a time.
_BLOCK = 65_536


def check_folder(name: str, folder: Path) -> None:
    """A folder that is not there yet, or holds an earlier report and nothing else: it will be replaced as a whole.

    A link is followed: what it leads to is looked at and replaced.
    """
    nearest = folder = folder.resolve()
    try:
        if folder.exists():
            _check_replaceable(name, folder)
        nearest = next(path for path in folder.parents if path.exists())
        Path(mkdtemp(prefix=_prefix(folder), dir=nearest)).rmdir()
    except OSError as error:
        rule, found = "be a folder that can be made", f"{str(folder)[:200]}, in {str(nearest)[:200]}"
        raise MisuseError(name, rule, f"{found} ({error.strerror})") from None


def _prefix(folder: Path) -> str:
    """How the folder is called in which a new one is made; a long name has no room for more."""
    return f".{folder.name[:40]}-"


def _check_replaceable(name: str, folder: Path) -> None:
    if not folder.is_dir():
        raise MisuseError(name, "name a folder", f"{folder}, a file")
    others = _others(folder)
    if others:
        remedy = "It is replaced as a whole: name another folder."
        raise MisuseError(name, "hold nothing but an earlier report", f"{others[0]} in {folder}", remedy)
    if folder == Path.cwd():
        remedy = "It is replaced as a whole: name it from elsewhere, or name another one."
        raise MisuseError(name, "not be the folder that one is in", folder, remedy)


def write_folder(folder: Path, writers: Mapping[str, Callable[[Path], None]]) -> tuple[Path, ...]:
    """Write every file into a new folder beside, and put that in the place of the old one when it is complete.

    A file of someone else's that came into the old folder since it was checked stays there, and so does what is new.
    """
    place = folder.resolve()
    place.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(mkdtemp(prefix=_prefix(place), dir=place.parent))
    made, aside = beside / "new", beside / "old"
    try:
        made.mkdir()
        for name, write in writers.items():
            write(made / name)
        _replace(place, made, aside)
    except FileExistsError:
        raise
    except BaseException:
        _remove(made)
        _remove(beside)
        raise
    _remove(aside)
    _remove(beside)
    return tuple(folder / name for name in writers)


def _replace(folder: Path, made: Path, aside: Path) -> None:
    """The old folder steps aside first: none can be renamed onto one that holds files."""
    if not folder.exists():
        made.rename(folder)
        return
    folder.rename(aside)
    try:
        others = _others(aside)
        if others:
            came = f"{others[0]} came into it during the run; the new report is in {made}"
            raise FileExistsError(errno.EEXIST, came, str(folder))
        made.rename(folder)
    except BaseException:
        aside.rename(folder)
        raise


def _others(folder: Path) -> list[str]:
    """What is in a folder beside the files of a report."""
    return sorted(path.name for path in folder.iterdir() if path.name not in FILES)


def _remove(folder: Path) -> None:
    """Remove a folder with the files of a report; anything else that is in it stays, and the folder with it."""
    with suppress(OSError):
        for name in FILES:
            (folder / name).unlink(missing_ok=True)
        folder.rmdir()


def queries_csv(path: Path, result: Result) -> None:
    """A line for every query in order: explanation, verdict, bounds of its margin, and what it says of each region."""
    question = predicates(result.seal.question)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        said = question.says(result.trace.queries[:0])
        writer.writerow(map(_plain, ("query", "explanation", "verdict", "margin_lower", "margin_upper", *said)))
        for start in range(0, len(result.trace), _BLOCK):
            file.writelines(_query_lines(result.trace, question, start))


def fields_csv(path: Path, report: Report) -> None:
    """A line for every field, as `Report.csv` has it."""
    with path.open("w", encoding="utf-8", newline="") as file:
        lines = csv.reader(io.StringIO(report.csv()))
        csv.writer(file, lineterminator="\n").writerows(map(_plain, line) for line in lines)


def _plain(cell: str) -> str:
    """A spreadsheet must not take a name for a formula: text that begins like one gets an apostrophe before it."""
    if not cell.startswith(("=", "+", "-", "@", "\t", "\r")):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def _query_lines(trace: Trace, question: Predicates, start: int) -> Iterator[str]:
    """A block of lines, made column by column: a million queries are not rare."""
    part = slice(start, min(start + _BLOCK, len(trace)))
    names = {int(verdict): verdict.name for verdict in Verdict}
    verdicts = [names[code] for code in trace.codes[part].tolist()]
    columns = [
        replace(said, names=tuple(map(_quoted, said.names))) for said in question.says(trace.queries[part]).values()
    ]
    numbers = map(str, range(part.start, part.stop)), map(str, trace.queries[part].tolist())
    margins = (map(repr, bounds) for bounds in trace.margins[part].T.tolist())
    texts = (said.texts(nothing="") for said in columns)
    return (f"{','.join(cells)}\n" for cells in zip(*numbers, verdicts, *margins, *texts, strict=True))


def _quoted(name: str) -> str:
    """A name as a cell, which is looked at once instead of on every line."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow([_plain(name)])
    return text.getvalue()[:-1]
