"""Independent pieces of work on several threads; their results stand in the order of the pieces."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar, final

import numba

from .._checks import check_count

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
    before = numba.get_num_threads()
    _use_threads(check_count("jobs", jobs))
    try:
        yield
    finally:
        numba.set_num_threads(before)


def _use_threads(jobs: int) -> None:
    numba.set_num_threads(min(jobs, int(numba.config.NUMBA_NUM_THREADS)))  # type: ignore[attr-defined]


def run_tasks(
    tasks: Sequence[Task[Result]], jobs: int, progress: Callable[[int, int], None] | None = None
) -> list[Result]:
    """What each task returns. Threads suffice: compiled kernels and NumPy's generators let go of the interpreter.

    progress: hears (size done, size in all) after every task.
    """
    total, done = sum(task.size for task in tasks), 0
    # numba counts the threads of each thread apart: a new one would start with all of them.
    with ThreadPoolExecutor(check_count("jobs", jobs), initializer=_use_threads, initargs=(jobs,)) as pool:
        # Long pieces first, so that no thread is left alone with one at the end.
        order = sorted(range(len(tasks)), key=lambda i: -tasks[i].size)
        futures = {pool.submit(tasks[i].work): i for i in order}
        try:
            for future in as_completed(futures):
                future.result()
                done += tasks[futures[future]].size
                if progress is not None:
                    progress(done, total)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    results = {i: future.result() for future, i in futures.items()}
    return [results[i] for i in range(len(tasks))]
