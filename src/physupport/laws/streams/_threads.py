"""Kernels on several threads.

A kernel is a serial loop over its items that lets go of the interpreter's lock, and threads share the items.  numba's
own parallel loops do the same at run time, but take twice as long to compile, which a new user waits for.
"""

import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from numba import get_num_threads

# More pieces than threads, because items differ in cost.
_PIECES_PER_THREAD = 8


def in_pieces(count: int, work: Callable[[slice], None], least: int = 1) -> None:
    """Call work on slices that make up 0 .. count - 1, on as many threads as numba may use.

    Each item must be computed alone, so that the result does not depend on the pieces.  least: items worth a piece of
    their own; taking one is a call of Python's, and waking a thread takes some ten microseconds once a call.
    """
    n_threads = get_num_threads()
    n_pieces = min(count // least, _PIECES_PER_THREAD * n_threads) if n_threads > 1 else 1
    if n_pieces < 2:
        work(slice(0, count))
        return
    edges = [piece * count // n_pieces for piece in range(n_pieces + 1)]
    pieces = list(map(slice, edges, edges[1:]))

    def take() -> None:
        while pieces:
            try:
                part = pieces.pop()
            except IndexError:  # another thread took the last one
                return
            work(part)

    helpers = [_pool(n_threads).submit(take) for _ in range(min(n_threads, n_pieces) - 1)]
    try:
        take()  # the thread that asks works too, and need not wait for one that has not come to its first piece
    finally:
        pieces.clear()
        started = [helper for helper in helpers if not helper.cancel()]
        errors = [helper.exception() for helper in started]
    for error in errors:
        if error is not None:
            raise error


@cache
def _pool(n_threads: int) -> ThreadPoolExecutor:
    """Kept, because making threads takes longer than many a call."""
    return ThreadPoolExecutor(n_threads, thread_name_prefix="physupport")


# A forked process has none of its parent's threads, and would wait for them forever.
if sys.platform != "win32":
    os.register_at_fork(after_in_child=_pool.cache_clear)
