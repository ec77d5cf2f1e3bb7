"""The studies by name. A study is imported when it is asked for: the names alone load none."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Generic, TypeVar, cast, final

from .._checks import check_count
from .._errors import MisuseError
from ._published import Progress, Study

STUDIES = MappingProxyType({"mechanism": "mechanism", "four-region": "four_region", "global": "global_bank"})


JUDGED = ("four-region", "global")  # studies that judge a bank


def check_study(name: str) -> str:
    """The name, if it is one."""
    if name not in STUDIES:
        raise MisuseError("study", f"be one of {', '.join(STUDIES)}", name)
    return name


def load_study(name: str) -> Study:
    """The study of that name.

    >>> sorted(STUDIES)
    ['four-region', 'global', 'mechanism']
    """
    return cast(Study, import_module(f".{STUDIES[check_study(name)]}", __package__))


def check_judge(judge: str, names: Iterable[str]) -> None:
    """Refuse a judge that is not known, or studies that judge nothing."""
    if judge not in ("evidence", "simulation"):
        raise MisuseError("judge", "be evidence or simulation", judge)
    for name in names:
        if judge != "evidence" and name not in JUDGED:
            raise MisuseError("judge", f"be left out for {name}, which judges no bank", judge)


def split_seed(data_seed: int) -> int:
    """The seed of the split: the data seed with its leading digit replaced by 9.

    >>> split_seed(2026091011)
    9026091011
    """
    return int("9" + str(data_seed)[1:])


Case = TypeVar("Case")
Result = TypeVar("Result")


@final
@dataclass(frozen=True, slots=True)
class Task(Generic[Result]):
    """One piece of work and how long it takes, in any unit that all pieces share."""

    work: Callable[[], Result]
    size: int = 1


@contextmanager
def kernel_threads(jobs: int) -> Iterator[None]:
    """At most jobs threads in the kernels that this thread calls, and never more than the process started with."""
    import numba

    before = numba.get_num_threads()
    _use_threads(check_count("jobs", jobs))
    try:
        yield
    finally:
        numba.set_num_threads(before)


def _use_threads(jobs: int) -> None:
    import numba

    numba.set_num_threads(min(jobs, int(numba.config.NUMBA_NUM_THREADS)))  # type: ignore[attr-defined]


def one_by_one(
    cases: Sequence[Case], work: Callable[[Case], Result], jobs: int, progress: Progress | None = None
) -> Iterator[Result]:
    """What the work gives for each case, one after the other, the kernels of each on jobs threads."""
    with kernel_threads(jobs):
        for done, case in enumerate(cases, 1):
            yield work(case)
            if progress is not None:
                progress(done, len(cases))


def run_tasks(tasks: Sequence[Task[Result]], jobs: int, progress: Progress | None = None) -> list[Result]:
    """What each task returns."""
    results = dict(finished(tasks, jobs, progress))
    return [results[i] for i in range(len(tasks))]


def finished(
    tasks: Sequence[Task[Result]], jobs: int, progress: Progress | None = None
) -> Iterator[tuple[int, Result]]:
    """The number of each task and what it returns, as they end; what is handed over is not kept.

    Threads suffice: compiled kernels and NumPy's generators let go of the interpreter.  Balls have one precision for
    all threads, so work with them is left to the caller.  progress: hears (size done, size in all) after every task.
    """
    total, done = sum(task.size for task in tasks), 0
    # numba counts the threads of each thread apart: a new one would start with all of them.  Tasks side by side need
    # no threads of their own; fewer tasks than jobs share them.
    threads = max(1, check_count("jobs", jobs) // max(1, len(tasks)))
    with ThreadPoolExecutor(jobs, initializer=_use_threads, initargs=(threads,)) as pool:
        # Long pieces first, so that no thread is left alone with one at the end.
        order = sorted(range(len(tasks)), key=lambda i: -tasks[i].size)
        numbers = {pool.submit(tasks[i].work): i for i in order}
        try:
            for future in as_completed([*numbers]):
                i = numbers.pop(future)
                yield i, future.result()
                done += tasks[i].size
                if progress is not None:
                    progress(done, total)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
