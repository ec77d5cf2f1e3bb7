"""The tables of a report."""

import csv
import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from .._errors import visible
from ..aeb import Trace
from ..analysis import Result
from ..judges import Verdict
from ..questions import Predicates, predicates
from ..report import Report

# Explanations written out at a time.
_BLOCK = 65_536


def queries_csv(path: Path, result: Result) -> None:
    """A line for every query in order: explanation, verdict, bounds of its margin, and what it says of each region."""
    question = predicates(result.seal.question)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        said = question.says(result.trace.queries[:0])
        writer.writerow(map(_plain, ("query", "explanation", "verdict", "margin_lower", "margin_upper", *said)))
        for start in range(0, len(result.trace), _BLOCK):
            file.writelines(_query_lines(result.trace, question, start))


def fields_csv(path: Path, report: Report) -> None:
    """A line for every field, as `Report.csv` has it."""
    with path.open("w", encoding="utf-8", newline="") as file:
        lines = csv.reader(io.StringIO(report.csv()))
        csv.writer(file, lineterminator="\n").writerows(map(_plain, line) for line in lines)


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


def _query_lines(trace: Trace, question: Predicates, start: int) -> Iterator[str]:
    """A block of lines, made column by column: a million queries are not rare."""
    part = slice(start, min(start + _BLOCK, len(trace)))
    names = {int(verdict): verdict.name for verdict in Verdict}
    verdicts = [names[code] for code in trace.codes[part].tolist()]
    columns = [
        replace(said, names=tuple(map(_quoted, said.names))) for said in question.says(trace.queries[part]).values()
    ]
    numbers = map(str, range(part.start, part.stop)), map(str, trace.queries[part].tolist())
    margins = (map(repr, bounds) for bounds in trace.margins[part].T.tolist())
    texts = (said.texts(nothing="") for said in columns)
    return (f"{','.join(cells)}\n" for cells in zip(*numbers, verdicts, *margins, *texts, strict=True))


def _quoted(name: str) -> str:
    """A name as a cell, which is looked at once instead of on every line."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow([_plain(name)])
    return text.getvalue()[:-1]
