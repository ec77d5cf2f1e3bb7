"""Page and tables beside a report, made again from it and compared."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from .._typing import IntArray
from .._version import __version__
from ..questions import Said
from ..report import Details, Report, field_lines, query_lines
from ..report.page import page_html
from ._page import shows
from ._trace import read_trace
from ._verify import Verification, rules_of
from ._view import Rules


def verify_beside(report: str, folder: Path) -> Verification:
    """Whether `report.html`, `fields.csv` and `queries.csv` in a folder say what a verified report says.

    Found is what says something else, and a page without the details that it was made from, which cannot be compared;
    else what is not there is not missed.  Words may be others in another version: of such a page labels and facts are
    compared, of the table all but the sentences, and a note says so.
    """
    rebuilt = Report.from_json(report)
    is_same = rebuilt.versions.get("physupport") == __version__
    findings = [*_table_findings(rebuilt, folder, is_same), *_query_findings(rebuilt, folder)]
    findings.extend(_page_findings(rebuilt, folder, is_same))
    note = (
        f"sentences and pictures beside the report were not compared, labels and facts were: they are of another "
        f"version than {__version__}"
    )
    return Verification(tuple(findings), () if is_same else (note,))


def _text(folder: Path, name: str) -> str | None:
    try:
        return (folder / name).read_bytes().decode("utf-8") if (folder / name).is_file() else None
    except (OSError, UnicodeDecodeError):
        return ""  # which is no file of ours


def _table_findings(report: Report, folder: Path, is_same: bool) -> Iterator[str]:
    text, lines = _text(folder, "fields.csv"), [*field_lines(report)]
    if text is None or text == "".join(lines):
        return
    if is_same or _without_sentences(text) != _without_sentences("".join(lines)):
        yield "fields.csv does not say what the report says"


def _without_sentences(text: str) -> list[dict[str, str]] | None:
    """The cells by their columns, but those that hold words; None where a column is there twice."""
    table = csv.DictReader(io.StringIO(text, newline=""))
    columns = table.fieldnames or ()
    if len({*columns}) < len(columns):
        return None
    try:
        return [{name: row[name] for name in row if name not in ("sentence", "remarks")} for row in table]
    except csv.Error:
        return None


def _query_findings(report: Report, folder: Path) -> Iterator[str]:
    text, document = _text(folder, "queries.csv"), report.document
    if text is None:
        return
    rules = rules_of(document)
    trace = read_trace(document["trace"], document["protocol"]["size"])
    if text != "".join(query_lines(trace.queries, trace.verdicts, lambda index: _says(rules, index))):
        yield "queries.csv does not list the queries of the report"


def _says(rules: Rules, index: IntArray) -> dict[str, Said]:
    """What explanations say, by the names that the rules have for it."""
    columns = {name: rules.column(name) for name in rules.says(0)}
    return {name: Said(column.names, column.numbers[index]) for name, column in columns.items() if column is not None}


def _page_findings(report: Report, folder: Path, is_same: bool) -> Iterator[str]:
    page, details = _text(folder, "report.html"), _text(folder, "details.json")
    if page is None:
        return
    if details is None:
        yield "report.html cannot be compared: details.json, which it was made from, is not beside it"
        return
    try:
        read = Details.from_json(details)
        # Of another version the page is not made again, but its details must be those of the report all the same.
        rebuilt = page_html(report, read) if is_same or read.report != report.digests["document"] else None
    except Exception as error:  # details have no schema: what was forged may fail anywhere
        yield f"details.json is none of the report: {error}"
        return
    if rebuilt is None and not shows(page, report.document):
        yield "report.html does not show the labels of the report"
    if rebuilt is not None and rebuilt != page:
        yield "report.html is not the page of the report"
