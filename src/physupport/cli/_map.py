"""A report on the terminal: the map as a table, and its sentences."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ._visible import visible

if TYPE_CHECKING:
    from ..report import FieldReport, Report

_MOST_SHOWN = 8


def show_report(report: "Report") -> None:
    """The map as a table, then a sentence for each field and for the whole."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False, markup=False)
    width = None if console.is_terminal else 10_000
    table = Table("region", "label", "what may be there", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for found in report.fields:
        table.add_row(Text(visible(found.field)), str(found.label), Text(visible(_cell(found))))
    console.print(table, width=width)
    console.print()
    show_lines([f"- {sentence}" for sentence in (*(found.sentence for found in report.fields), report.sentence)])
    show_lines(report.text().split("\n")[-1:])


def _cell(found: "FieldReport") -> str:
    """The elements left, the first few of many, and whether there may be nothing as well."""
    if found.label == "EMPTY":
        return "no explanation survives"
    cell, group = found.cell, found.group
    shown = ", ".join(cell[:_MOST_SHOWN]) + (f", ... ({len(cell)} in all)" if len(cell) > _MOST_SHOWN else "")
    named = f" (group {group})" if group and len(cell) > 1 else ""
    absent = " or nothing" if found.numbers.get("possible_absent") else ""
    return f"{shown}{named}{absent}" if shown else "nothing"


def show_lines(lines: Iterable[str]) -> None:
    """Lines that break at words on a terminal, and nowhere elsewhere."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, markup=False)
    for line in lines:
        console.print(Text(visible(line)), soft_wrap=not console.is_terminal)
