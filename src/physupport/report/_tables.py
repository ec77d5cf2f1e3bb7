"""The tables beside a report, as lines of CSV that a spreadsheet shows and does not obey."""

import csv
import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from .._errors import visible
from .._typing import IntArray
from ..judges import Verdict, Verdicts
from ..questions import Said
from ._report import COLUMNS, Report

# Queries written out at a time.
_BLOCK = 65_536


def query_lines(queries: IntArray, verdicts: Verdicts, says: Callable[[IntArray], Mapping[str, Said]]) -> Iterator[str]:
    """A line for every query in order: explanation, verdict, bounds of its margin, and what it says of each region.

    queries, verdicts: (k,).  says: what explanations say, by the names of the columns.
    """
    yield _line("query", "explanation", "verdict", "margin_lower", "margin_upper", *says(queries[:0]))
    names = {int(verdict): verdict.name for verdict in Verdict}
    for start in range(0, len(queries), _BLOCK):  # column by column: a million queries are not rare
        part = slice(start, min(start + _BLOCK, len(queries)))
        columns = [replace(said, names=tuple(map(_cell, said.names))) for said in says(queries[part]).values()]
        numbers = map(str, range(part.start, part.stop)), map(str, queries[part].tolist())
        codes = [names[code] for code in verdicts.codes[part].tolist()]
        bounds = (map(repr, side[part].tolist()) for side in (verdicts.lower, verdicts.upper))
        texts = (said.texts(nothing="") for said in columns)
        yield from (f"{','.join(cells)}\n" for cells in zip(*numbers, codes, *bounds, *texts, strict=True))


def field_lines(report: Report) -> Iterator[str]:
    """A line for every field, as `Report.csv` has it."""
    return (_line(*cells) for cells in (COLUMNS, *(row.values() for row in report.rows())))


def _line(*cells: str) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(map(_plain, cells))
    return text.getvalue()


def _cell(name: str) -> str:
    """A name as a cell, which is looked at once instead of on every line."""
    return _line(name)[:-1]


def _plain(cell: str) -> str:
    """A spreadsheet must not take a name for a formula: text that begins like one gets an apostrophe before it.

    What would not be shown is written as an escape.
    """
    cell = visible(cell)
    if not cell.startswith(("=", "+", "-", "@")):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell
