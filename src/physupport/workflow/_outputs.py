"""The folder of a report: all of its files, or none."""

import csv
import io
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import mkdtemp

import numpy as np

from .._errors import MisuseError
from ..aeb import Trace
from ..coarsen import RegionalMap
from ..estimator import Result
from ..retain.evidence import Verdict

FILES = ("report.html", "report.json", "details.json", "fields.csv", "queries.csv")

# Explanations written out at a time.
_BLOCK = 65_536


def check_folder(name: str, folder: Path) -> None:
    """A folder that is not there yet, or holds an earlier report and nothing else: it will be replaced as a whole."""
    if not folder.exists():
        nearest = next(path for path in folder.absolute().parents if path.exists())
        if not (nearest.is_dir() and os.access(nearest, os.W_OK)):
            raise MisuseError(name, "be a folder that can be made", f"{folder}, in {nearest}")
        return
    if not folder.is_dir():
        raise MisuseError(name, "name a folder", f"{folder}, a file")
    others = sorted(path.name for path in folder.iterdir() if path.name not in FILES)
    if others:
        remedy = "It is replaced as a whole: name another folder."
        raise MisuseError(name, "hold nothing but an earlier report", f"{others[0]} in {folder}", remedy)


def write_folder(folder: Path, writers: Mapping[str, Callable[[Path], None]]) -> tuple[Path, ...]:
    """Write every file into a new folder beside, and put that in the place of the old one when it is complete."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = Path(mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        for name, write in writers.items():
            write(made / name)
        # Folders made for one moment only are private; a report may be read by whom the umask lets.
        made.chmod(0o777 & ~_umask())
        _replace(folder, made)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    return tuple(folder / name for name in writers)


def _replace(folder: Path, made: Path) -> None:
    """The old folder steps aside first: none can be renamed onto one that holds files."""
    if not folder.exists():
        made.rename(folder)
        return
    aside = Path(f"{made}-old")
    folder.rename(aside)
    try:
        made.rename(folder)
    except BaseException:
        aside.rename(folder)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def queries_csv(result: Result) -> str:
    """A line for every query in order: explanation, verdict, bounds of its margin, and what it says of each region."""
    text = io.StringIO()
    writer, trace, question = csv.writer(text, lineterminator="\n"), result.trace, result.seal.question
    regions = question.regions if isinstance(question, RegionalMap) else ()
    writer.writerow(["query", "explanation", "verdict", "margin_lower", "margin_upper", *regions])
    for start in range(0, len(trace), _BLOCK):
        stop = min(start + _BLOCK, len(trace))
        said = _said(question, trace, start, stop) if isinstance(question, RegionalMap) else [()] * (stop - start)
        for k, elements in zip(range(start, stop), said, strict=True):
            verdict = Verdict(int(trace.codes[k])).name
            lower, upper = (repr(float(bound)) for bound in trace.margins[k])
            writer.writerow([k, int(trace.queries[k]), verdict, lower, upper, *elements])
    return text.getvalue()


def _said(question: RegionalMap, trace: Trace, start: int, stop: int) -> list[tuple[str, ...]]:
    """The element of each region, empty where there is none."""
    slots = question.slots(trace.queries[start:stop])  # (k, R), -1 where absent
    columns = [
        np.array([*asked.elements, ""])[slots[:, j]].tolist()  # absence is -1, the last entry
        for j, asked in enumerate(question.asked)
    ]
    return list(zip(*columns, strict=True))
