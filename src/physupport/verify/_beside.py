"""Page and tables beside a report, made again from it and compared."""

import csv
from collections.abc import Iterator
from pathlib import Path

from .._typing import IntArray
from .._version import __version__
from ..questions import Said
from ..report import Details, Report, field_lines, query_lines
from ..report.page import page_html
from ._trace import read_trace
from ._verify import Verification, rules_of
from ._view import Rules


def verify_beside(report: str, folder: Path) -> Verification:
    """Whether `report.html`, `fields.csv` and `queries.csv` in a folder say what a verified report says.

    Found is what says something else; what is not there is not missed.  Words may be others in another version: there
    the page, and the sentences of the table, are noted as not compared.
    """
    rebuilt = Report.from_json(report)
    is_same = rebuilt.versions.get("physupport") == __version__
    findings = [*_table_findings(rebuilt, folder, is_same), *_query_findings(rebuilt, folder)]
    if is_same:
        findings.extend(_page_findings(rebuilt, folder))
    note = f"page and sentences beside the report were not compared: they are of another version than {__version__}"
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
    if is_same or _without_sentences(text.splitlines()) != _without_sentences(lines):
        yield "fields.csv does not say what the report says"


def _without_sentences(lines: list[str]) -> list[dict[str, str]]:
    """The cells by their columns, but those that hold words."""
    return [{name: row[name] for name in row if name not in ("sentence", "remarks")} for row in csv.DictReader(lines)]


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


def _page_findings(report: Report, folder: Path) -> Iterator[str]:
    page, details = _text(folder, "report.html"), _text(folder, "details.json")
    if page is None or details is None:
        return
    try:
        rebuilt = page_html(report, Details.from_json(details))
    except Exception as error:  # details have no schema: what was forged may fail anywhere
        yield f"details.json is none of the report: {error}"
        return
    if rebuilt != page:
        yield "report.html is not the page of the report"
