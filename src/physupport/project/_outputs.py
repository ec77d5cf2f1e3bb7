"""The folder of a report: all of its files, or none."""

import csv
import errno
import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp

import numpy as np

from .._errors import MisuseError
from ..aeb import Trace
from ..analysis import Result
from ..judges import Verdict
from ..questions import RegionalMap
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


def queries_csv(result: Result) -> str:
    """A line for every query in order: explanation, verdict, bounds of its margin, and what it says of each region."""
    return _csv(_query_lines(result))


def fields_csv(report: Report) -> str:
    """A line for every field, as `Report.csv` has it."""
    return _csv(csv.reader(io.StringIO(report.csv())))


def _csv(lines: Iterable[Iterable[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([_plain(cell) for cell in line] for line in lines)
    return text.getvalue()


def _plain(cell: str) -> str:
    """A spreadsheet must not take a name for a formula: text that begins like one gets an apostrophe before it."""
    if not cell.startswith(("=", "+", "-", "@", "\t", "\r")):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def _query_lines(result: Result) -> Iterator[list[str]]:
    trace, question = result.trace, result.seal.question
    regions = question.regions if isinstance(question, RegionalMap) else ()
    yield ["query", "explanation", "verdict", "margin_lower", "margin_upper", *regions]
    for start in range(0, len(trace), _BLOCK):
        stop = min(start + _BLOCK, len(trace))
        said = _said(question, trace, start, stop) if isinstance(question, RegionalMap) else [()] * (stop - start)
        for k, elements in zip(range(start, stop), said, strict=True):
            verdict = Verdict(int(trace.codes[k])).name
            lower, upper = (repr(float(bound)) for bound in trace.margins[k])
            yield [str(k), str(int(trace.queries[k])), verdict, lower, upper, *elements]


def _said(question: RegionalMap, trace: Trace, start: int, stop: int) -> list[tuple[str, ...]]:
    """The element of each region, empty where there is none."""
    slots = question.slots(trace.queries[start:stop])  # (k, R), -1 where absent
    columns = [
        np.array([*asked.elements, ""])[slots[:, j]].tolist()  # absence is -1, the last entry
        for j, asked in enumerate(question.asked)
    ]
    return list(zip(*columns, strict=True))
