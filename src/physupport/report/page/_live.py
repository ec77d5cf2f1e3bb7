"""The page of rows that keep arriving: one file that loads itself anew, with what is left after every look."""

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from ..._errors import visible
from ..._files import write_whole
from .._words import unit_of
from ._page import table_html

if TYPE_CHECKING:
    from .._report import Report

_SECONDS = 2  # between two loads
_MOST_NAMES = 200  # of a field
_MOST_LOOKS = 500
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "td,th{text-align:left;padding:.2rem .8rem .2rem 0}del{color:#767676}svg{width:100%;height:6rem}"
    "polyline{fill:none;stroke:#1f5fa8;stroke-width:2;vector-effect:non-scaling-stroke}"
)

# What was read by a look, and the elements that it leaves in each field.
Look = tuple[str, Mapping[str, Sequence[str]]]


def live_html(report: "Report", looks: Sequence[Look], ended: str | None = None, next_: str = "") -> str:
    """The page after these looks; ended: why there will be no more of them, so that the page stays as it is.

    next_: what to measure next, in words.
    """
    reload = "" if ended else f'<meta http-equiv="refresh" content="{_SECONDS}">'
    state = f"Ended: {ended}." if ended else f"Watching. This page loads itself every {_SECONDS} seconds."
    parts = [
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">{reload}<title>physupport watch</title>',
        f"<style>{_STYLE}</style></head><body><h1>{escape(looks[-1][0])}</h1><p>{escape(state)}</p>",
        f"<p><strong>{escape(next_)}</strong></p>" if next_ else "",
        table_html(report.fields, unit_of(report.document)),
        *(_field(name, looks) for name in looks[-1][1]),
        f"<p>{escape(report.sentence)}</p><p>All looks hold at the level {report.level:g} together, and what was ",
        "excluded once stays excluded.</p></body></html>",
    ]
    return visible("".join(parts))


def write_live(
    path: str | Path, report: "Report", looks: Sequence[Look], ended: str | None = None, next_: str = ""
) -> None:
    """Write the page as a whole, so that a browser never loads half of it."""
    write_whole(Path(path), live_html(report, looks, ended, next_).encode("utf-8"))


def _field(name: str, looks: Sequence[Look]) -> str:
    """Show how many elements remained after each look, which ones, and when the others were excluded."""
    counts = [len(left[name]) for _, left in looks][-_MOST_LOOKS:]
    most = max(max(counts), 1)
    points = " ".join(f"{i},{most - count}" for i, count in enumerate(counts))
    box = f'viewBox="0 0 {max(len(counts) - 1, 1)} {most}" preserveAspectRatio="none"'
    curve = f'<svg {box}><polyline points="{points}"/></svg>'
    last = looks[-1][1][name]
    items = [f"<li>{escape(element)}</li>" for element in last]
    gone = [element for element in looks[0][1][name] if element not in last]
    for element in gone:
        when = next(told for told, left in looks if element not in left[name])
        items.append(f"<li><del>{escape(element)}</del>, excluded at {escape(when)}</li>")
    more = f"<li>and {len(items) - _MOST_NAMES} more</li>" if len(items) > _MOST_NAMES else ""
    return (
        f"<h2>{escape(name)}: {len(last)} left</h2>{curve if len(counts) > 1 else ''}"
        f"<ul>{''.join(items[:_MOST_NAMES])}{more}</ul>"
    )
