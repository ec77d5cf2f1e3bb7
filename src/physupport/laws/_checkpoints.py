"""At which prefixes of its rows a stream is looked at."""

import numpy as np
from numpy.typing import ArrayLike

from .._arrays import check_whole
from .._checks import check_count
from .._errors import MisuseError
from .._typing import IntArray


def check_checkpoints(checkpoints: ArrayLike, n_rows: int) -> IntArray:
    """Given prefix lengths, positive, increasing and within the rows."""
    lengths = check_whole("checkpoints", checkpoints)
    n = check_count("n_rows", n_rows)
    if len(lengths) == 0:
        raise MisuseError("checkpoints", "hold at least one prefix length", "none")
    if lengths[0] < 1:
        raise MisuseError("checkpoints", "be positive", f"{lengths[0]}")
    if np.any(np.diff(lengths) <= 0):
        raise MisuseError("checkpoints", "increase", lengths.tolist())
    if lengths[-1] > n:
        raise MisuseError("checkpoints", f"lie within the {n} rows", f"checkpoint {lengths[-1]}")
    return lengths
