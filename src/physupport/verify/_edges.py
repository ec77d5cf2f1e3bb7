"""Ends of grids that are touched, derived again."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._errors import MisuseError
from .._stored import Node, Refusal
from ..banks import Bank, grid_edges
from ..laws import decode_law, tells_strengths
from ._protocol import COMPLETE
from ._trace import ReadTrace


def edge_findings(document: Node, bank: Bank, trace: ReadTrace) -> Iterator[str]:
    """Others than the trace gives; earlier programs told none of strengths, see `edge_notes`."""
    if "edges" not in document and "stop" not in document["protocol"]:
        return
    before, today = _both(document, bank, trace)
    if document.get("edges") not in ([today] if document["version"] >= COMPLETE else [before, today]):
        yield "the ends of grids that are touched are not those that the trace gives"


def edge_notes(document: Node, bank: Bank | None, trace: ReadTrace | None) -> Iterator[str]:
    """Ends of strengths that are touched and not told."""
    if bank is None or trace is None:
        return
    before, today = _both(document, bank, trace)
    if document.get("edges") == before != today:
        touched = ", ".join(f"{edge['of']} ({edge['value']:.6g})" for edge in today[len(before) :])
        yield f"what is kept touches ends of grids of which the report does not tell: {touched}"


def _both(document: Node, bank: Bank, trace: ReadTrace) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Without ends of strengths, and with them."""
    kept = np.flatnonzero(trace.possible(len(trace)) & np.isin(np.arange(trace.size), trace.queries))
    return grid_edges(bank, kept), grid_edges(bank, kept, has_strengths=_has_strengths(document))


def _has_strengths(document: Node) -> bool:
    """As the laws say; a stream that is refused anyway says nothing."""
    try:
        return tells_strengths(
            [decode_law(stream["law"], stream["name"]) for stream in document["protocol"]["streams"]]
        )
    except (Refusal, MisuseError):
        return False
