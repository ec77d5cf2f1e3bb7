"""How many threads the kernels use; no number depends on it."""

import os
import sys

from .._errors import MisuseError


def use_workers(workers: int | None, option: str = "--workers") -> None:
    """Set the threads of the kernels before they start, or within what they started with."""
    # Before NumPy is loaded: its products are small here, and threads of its own would only wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if workers is None:
        return
    if workers < 1:
        raise MisuseError(option, "be a whole number at least 1", workers)
    if "numba" not in sys.modules:
        os.environ["NUMBA_NUM_THREADS"] = str(workers)
        return
    import numba

    most = int(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
    if workers > most:
        raise MisuseError(option, f"be at most the {most} threads that this process has", workers)
    numba.set_num_threads(workers)
