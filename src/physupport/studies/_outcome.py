"""The outcome of a study beside what the paper printed, how it reaches the disk, and the pieces that studies share."""

import csv
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from types import MappingProxyType, ModuleType
from typing import Any, Final, TypeVar, final

import numba
import numpy as np
from numpy.typing import NDArray

from .._checks import check_count
from .._errors import Clause, MisuseError
from .._files import to_disk
from ..local.shell import Frame, LocalDictionary, balanced_dictionary

# Residuals of a few products of numbers near 1 in float64; any value below says "zero up to rounding".
ROUNDING_LEVEL = 1e-13
# Half a unit in the last printed digit, with room for writing that bound itself in binary.
_ROOM = 1.0 + 1e-9
# The note of the first line about judges.
JUDGES_NOTE = "The judge of the paper, evidence, remains the default of this study."

Progress = Callable[[int, int], None]  # hears (steps done, steps in all)


@final
@dataclass(frozen=True, slots=True)
class Line:
    """One printed statement of the paper and the same statement computed here."""

    name: str
    published: str
    here: str
    agrees: bool
    note: str = ""
    is_known: bool = False  # a difference that the paper's own seeds show


@final
@dataclass(frozen=True, slots=True)
class Outcome:
    """The results of a study: its comparison with the paper, its numbers, its tables, the names of its figures."""

    study: str
    lines: tuple[Line, ...]
    summary: Mapping[str, object]  # strict JSON: plain numbers, words, lists and mappings, all finite
    tables: Mapping[str, Sequence[Mapping[str, object]]] = field(default_factory=dict)  # name of the CSV -> its rows
    figures: tuple[str, ...] = ()  # names without ending; each is drawn as PNG and as PDF

    def __post_init__(self) -> None:
        for name, rows in self.tables.items():
            if not rows or any(list(row) != list(rows[0]) for row in rows):
                raise MisuseError(f"table {name}", "have rows, all with the same columns in the same order", len(rows))

    @property
    def agrees(self) -> bool:
        """True if every published statement is met; a known difference is a difference."""
        return all(line.agrees for line in self.lines)


def number_line(name: str, published: str, value: float) -> Line:
    """A printed decimal: agrees within half a unit of its last digit.

    >>> number_line("slope", "5.94", 5.9355).agrees, number_line("slope", "5.94", 5.9349).agrees
    (True, False)
    """
    exponent = Decimal(published).as_tuple().exponent
    decimals = -exponent if isinstance(exponent, int) else 0
    # Two more digits than printed, so that a close call can be judged by eye.
    here = f"{value:.{max(decimals, 0) + 2}f}"
    return Line(name, published, here, abs(value - float(published)) <= 0.5 * 10.0**-decimals * _ROOM)


def range_line(name: str, published: tuple[str, str], value: tuple[float, float]) -> Line:
    """A printed range: agrees where both of its ends do."""
    ends = [number_line(name, printed, end) for printed, end in zip(published, value, strict=True)]
    shown = [f"[{', '.join(texts)}]" for texts in (published, [end.here for end in ends])]
    return Line(name, shown[0], shown[1], all(end.agrees for end in ends))


def rounding_line(name: str, published: str, value: float) -> Line:
    """A printed residual at rounding level: agrees with every value at that level."""
    return Line(name, published, f"{value:.1e}", abs(value) < ROUNDING_LEVEL, "Any value at rounding level agrees.")


def judges_line(name: str, rows: Sequence[Mapping[str, Any]], column: str, decimals: int, note: str = "") -> Line:
    """The mean of a column by simulation beside that by evidence, the judge of the paper; nothing has to agree."""
    evidence, simulation = (
        f"{mean(row[column] for row in rows if row['judge'] == judge):.{decimals}f} by {judge}"
        for judge in ("evidence", "simulation")
    )
    return Line(name, evidence, simulation, True, note)


def word_line(name: str, published: str, here: str, note: str = "") -> Line:
    """A printed count, fraction or word: agrees when it reads the same.

    >>> word_line("A fine", "10/11", f"{10}/{11}").agrees
    True
    """
    return Line(name, published, here, published == here, note)


def make_folder(path: Path) -> Path:
    """The folder, made if it is not there, and one that files can be written to."""
    with _can_be_written(path):
        path.mkdir(parents=True, exist_ok=True)
        # Permissions alone do not tell: a disk may be read-only, or full.
        with TemporaryDirectory(dir=path, prefix=".physupport-"):
            pass
    return path


@contextmanager
def _can_be_written(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        rule = "be one that can be made and written to"
        raise MisuseError("the folder for the output", rule, Clause(f"{path} is not ({error})")) from None


def make_output(parent: Path, studies: Iterable[str]) -> None:
    """Make the parent, and refuse what `write_outcome` could not write, before a study is run.

    The folders of the studies are made when there is something to put into them.
    """
    make_folder(parent)
    for path in (parent / study for study in studies):
        if os.path.lexists(path):
            make_folder(path)


def write_outcome(outcome: Outcome, parent: Path, draw: Callable[[Path], object] | None = None) -> list[Path]:
    """Write parent/<study>/: summary.json, published.csv, every table, and the figures that draw makes of them.

    All is made in a hidden folder beside the target and moved in only when it is complete, so a fault leaves no
    partial output; files that the study does not write are left alone.
    """
    make_folder(parent)
    target = parent / outcome.study
    with _can_be_written(target), TemporaryDirectory(dir=parent, prefix=f".{outcome.study}-") as scratch:
        stage = Path(scratch)
        summary = json.dumps(dict(outcome.summary), indent=2, allow_nan=False)
        (stage / "summary.json").write_text(f"{summary}\n", encoding="utf-8")
        _write_table(stage / "published.csv", [asdict(line) for line in outcome.lines])
        for name, rows in outcome.tables.items():
            _write_table(stage / f"{name}.csv", rows)
        if draw is not None:
            draw(stage)
        made = sorted(stage.iterdir())
        for path in made:
            to_disk(path)
        make_folder(target)
        for path in made:
            os.replace(path, target / path.name)
        to_disk(target)
    return [target / path.name for path in made]


def read_table(folder: Path, name: str) -> list[dict[str, str]]:
    """The rows of one CSV, every cell as text."""
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def read_columns(folder: Path, name: str) -> dict[str, NDArray[Any]]:
    """The columns of one CSV: numbers where every cell is one, words elsewhere."""
    rows = read_table(folder, name)
    columns: dict[str, NDArray[Any]] = {}
    for column in rows[0]:
        words = np.array([row[column] for row in rows])
        try:
            columns[column] = words.astype(np.float64)
        except ValueError:
            columns[column] = words
    return columns


def _write_table(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


STUDIES = MappingProxyType({"mechanism": "mechanism", "four-region": "four_region", "global": "global_bank"})
JUDGED = ("four-region", "global")  # studies that judge a bank

ACTIVE: Final = (0, 1)
# The first two vertices have their sum on the first axis, about which the block turns.
FRAME: Final = Frame.standard(4, np.array([[1, 1, -1, -1], [1, -1, 1, -1], [1, -1, -1, 1]]) / np.sqrt(3.0))

Case = TypeVar("Case")
Result = TypeVar("Result")
Task = tuple[Callable[[], Result], int]  # work, and how long it takes, in any unit that all pieces share


def check_study(name: str) -> str:
    """The name, if it is one."""
    if name not in STUDIES:
        raise MisuseError("study", f"be one of {', '.join(STUDIES)}", name)
    return name


def load_study(name: str) -> ModuleType:
    """The module of the study of that name.

    `run(jobs, progress)` gives its outcome from its seeds, which does not depend on jobs; `draw(folder)` writes its
    figures, as PNG and PDF, from the tables in the folder.  Studies that judge a bank have two more functions:
    `compare(outcome, jobs, progress)` adds the answers of another judge to the same data, and
    `reports(seeds, jobs, progress)` gives reports on fresh data, scenes in turn, from seeds of data and split.

    >>> sorted(STUDIES)
    ['four-region', 'global', 'mechanism']
    """
    return import_module(f".{STUDIES[check_study(name)]}", __package__)


def check_judge(judge: str, names: Iterable[str]) -> None:
    """Refuse a judge that is not known, or studies that judge nothing."""
    if judge not in ("evidence", "simulation"):
        raise MisuseError("judge", "be evidence or simulation", judge)
    for name in names:
        if judge != "evidence" and name not in JUDGED:
            raise MisuseError("judge", f"be left out for {name}, which judges no bank", judge)


def balanced(scale: float) -> LocalDictionary:
    """The block at angle 0 and its separated atom; atoms (4, 5)."""
    return balanced_dictionary(FRAME, scale)


def split_seed(data_seed: int) -> int:
    """The seed of the split: the data seed with its leading digit replaced by 9.

    >>> split_seed(2026091011)
    9026091011
    """
    return int("9" + str(data_seed)[1:])


@contextmanager
def kernel_threads(jobs: int) -> Iterator[None]:
    """At most jobs threads in the kernels that this thread calls, and never more than the process started with."""
    before = numba.get_num_threads()
    _use_threads(check_count("jobs", jobs))
    try:
        yield
    finally:
        numba.set_num_threads(before)


def _use_threads(jobs: int) -> None:
    numba.set_num_threads(min(jobs, int(numba.config.NUMBA_NUM_THREADS)))  # type: ignore[attr-defined]


def one_by_one(
    cases: Sequence[Case], work: Callable[[Case], Result], jobs: int, progress: Progress | None = None
) -> Iterator[Result]:
    """The results for the cases, one after the other, the kernels of each on jobs threads."""
    with kernel_threads(jobs):
        for done, case in enumerate(cases, 1):
            yield work(case)
            if progress is not None:
                progress(done, len(cases))


def finished(
    tasks: Sequence[Task[Result]], jobs: int, progress: Progress | None = None
) -> Iterator[tuple[int, Result]]:
    """The number of each task and its result, as they end; what is handed over is not kept.

    Threads suffice: compiled kernels and NumPy's generators let go of the interpreter.  Balls have one precision for
    all threads, so work with them is left to the caller.  progress: hears (size done, size in all) after every task.
    """
    sizes = [size for _, size in tasks]
    done = 0
    # numba counts the threads of each thread apart: a new one would start with all of them.  Tasks side by side need
    # no threads of their own; fewer tasks than jobs share them.
    threads = max(1, check_count("jobs", jobs) // max(1, len(tasks)))
    with ThreadPoolExecutor(jobs, initializer=_use_threads, initargs=(threads,)) as pool:
        # Long pieces first, so that no thread is left alone with one at the end.
        order = sorted(range(len(tasks)), key=lambda i: -sizes[i])
        numbers = {pool.submit(tasks[i][0]): i for i in order}
        try:
            for future in as_completed([*numbers]):
                i = numbers.pop(future)
                yield i, future.result()
                done += sizes[i]
                if progress is not None:
                    progress(done, sum(sizes))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
