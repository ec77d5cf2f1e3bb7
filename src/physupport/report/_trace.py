"""The queries of a run with their verdicts, as a document holds them."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._codec import array_json, bounds, bounds_json, whole
from .._errors import MisuseError
from .._typing import Array, IntArray
from ..judges import Verdict


class Columns(NamedTuple):
    """Queries in order."""

    queries: IntArray  # (k,)
    codes: IntArray  # (k,)
    margins: Array  # (k, 2)


def trace_json(queries: IntArray, codes: NDArray[np.integer], margins: Array) -> dict[str, object]:
    """The part of a document that `trace_columns` reads."""
    return {
        "queries": array_json(queries),
        "codes": array_json(codes.astype(np.int64)),
        "lower": bounds_json(margins[:, 0]),
        "upper": bounds_json(margins[:, 1]),
    }


def trace_columns(node: Mapping[str, object], size: int) -> Columns:
    """Every query about an explanation of its own, of so many, with a verdict that there is."""
    queries = whole(node["queries"], None)
    codes = whole(node["codes"], len(queries))
    margins = np.column_stack([bounds(node[side], len(queries)) for side in ("lower", "upper")])
    if queries.size and (queries.min() < 0 or queries.max() >= size):
        raise MisuseError(
            "trace", "ask about explanations of the bank", "a query about an explanation outside the bank"
        )
    if len(np.unique(queries)) < len(queries):
        raise MisuseError("trace", "ask about nothing twice", "an explanation that is asked about twice")
    if not np.isin(codes, [int(verdict) for verdict in Verdict]).all():
        raise MisuseError("trace", "hold verdicts", "a verdict with an unknown code")
    return Columns(queries, codes, margins)
