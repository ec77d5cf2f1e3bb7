"""Read, propose, freeze, ask, report."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from time import perf_counter

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import check_count
from .._errors import MisuseError, NotFiniteError
from ..aeb import Tick
from ..banks import Bank
from ..io import Table
from ..report import Report
from ._plans import ProposedStream
from ._protocol import AnalysisProtocol, Seal
from ._recover import recovered_trace
from ._result import Result
from ._rows import check_finite, check_same_channels, labelled, stream_rows, table_of
from ._write_report import report

Callback = Callable[[Tick], bool | None]


def analyse(
    protocol: AnalysisProtocol,
    tables: "Mapping[str, ArrayLike | Table]",
    *,
    callback: Callback | None = None,
    earlier: Report | None = None,
) -> Result:
    """All of it under one protocol: split, propose, freeze and hash, ask, and report.

    tables: one for each stream of the protocol, by name; arrays are rows by channels, labelled arrays name their
    channels in columns, and `physupport.io` reads files and other layouts.  Complex rows are taken as pairs (Re, Im).
    callback: told after every query; returns False to stop, and the report says what is certified by then.
    earlier: a report of this protocol on these rows, to go on from; nothing is asked twice.  The budget may be another
    one: the protocol then stays the earlier one, with its budget and its hash, and the outcome has the new budget.
    """
    read = {name: table_of(name, value) for name, value in tables.items()}
    return analyse_tables(protocol, read, {}, callback, earlier)


def analyse_tables(
    protocol: AnalysisProtocol,
    tables: Mapping[str, Table],
    proposed: Mapping[str, ProposedStream],
    callback: Callback | None = None,
    earlier: Report | None = None,
) -> Result:
    """The same for tables; streams in `proposed` are not proposed again."""
    seconds: dict[str, float] = {}
    with located(tables):
        with _timed("propose", seconds):
            seal = freeze(protocol if earlier is None else _as_before(protocol, earlier), tables, proposed)
        with _timed("ask", seconds):
            if earlier is None:
                trace = seal.run(callback=callback)
            else:
                trace = seal.resume(recovered_trace(seal, earlier), protocol.budget, callback=callback)
        with _timed("report", seconds):
            made = report(seal, trace)
    return Result(seal, trace, made, dict(tables), seconds)


def freeze(
    protocol: AnalysisProtocol, tables: Mapping[str, Table], proposed: Mapping[str, ProposedStream] | None = None
) -> Seal:
    """The protocol with what its proposal rows choose, and its hash; no number of a held-out row is used."""
    bank, streams, known = _bank(protocol), tuple(protocol.streams), proposed or {}
    if {*tables} != {*streams}:
        raise MisuseError("tables", f"be given for the streams {streams}", tuple(tables))
    check_same_channels(tables)
    rows: dict[str, NDArray[np.generic] | ProposedStream] = {
        name: known[name] if name in known else stream_rows(name, table, protocol.streams[name], bank)
        for name, table in tables.items()
    }
    return protocol.read(**rows)


def _as_before(protocol: AnalysisProtocol, earlier: Report) -> AnalysisProtocol:
    """The protocol with the budget that was frozen then; all else has to be the same anyway."""
    budget = earlier.document["protocol"].get("budget")
    return replace(protocol, budget=check_count("budget of the report", budget, 0))


@contextmanager
def located(tables: Mapping[str, Table]) -> Iterator[None]:
    """Numbers that are not finite are met in the order of the split; say where in the table they stand."""
    try:
        yield
    except NotFiniteError as error:
        check_finite(tables)
        if error.argument not in tables:
            raise
        name = labelled(error.argument, tables[error.argument])
        raise NotFiniteError(name, error.rule, error.value, error.remedy) from None


@contextmanager
def _timed(part: str, seconds: dict[str, float]) -> Iterator[None]:
    start = perf_counter()
    yield
    seconds[part] = perf_counter() - start


def _bank(protocol: AnalysisProtocol) -> Bank:
    if protocol.bank is None:
        raise MisuseError("protocol", "have a bank and streams", "neither")
    return protocol.bank
