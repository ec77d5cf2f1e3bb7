"""Everything that is shown of a result, collected."""

from collections.abc import Sequence
from typing import Any

from ...report import Details
from .._analyse import Result
from ._fields import fields_json, other_levels
from ._misfit import misfit, outcome_json
from ._pictures import brackets_json, evidence_json, library_coherence_json, library_json, rows_json

MOST_CHANNEL_NAMES = 4096


def diagnose(
    result: Result,
    *,
    levels: Sequence[float] = (0.01, 0.05, 0.1, 0.2),
    title: str = "",
    coordinate_names: Sequence[str] = (),
    outline: float | None = None,
    verify: str | None = None,
) -> Details:
    """The details of a result: what is behind each field, what would refine it, and whether the laws fit the rows.

    levels: at which the verdicts are read again, beside that of the protocol.  coordinate_names: what the coordinates
    of the elements are called; x, y, z unless given.  outline: the radius of a head around the origin, which pictures
    of three coordinates (right, front, up) draw.  verify: the command that checks the saved report against its
    rows, as typed in the folder of the page; a page without it shows how to check the report alone.  Nothing here
    changes the report.  All are facts, which page and terminal put into sentences; a number that cannot be computed is
    null.
    """
    level = float(result.seal.protocol.level)
    # Margins of an e-process are log evidence, and can be compared with any threshold.
    # Of a cover every level has a run of its own.
    is_compared = result.has_evidence and result.seal.protocol.cover is None
    again = other_levels(result.trace, level, sorted({level, *levels}) if is_compared else [level])
    fields = [entry | {"outline": outline} for entry in fields_json(result, again, coordinate_names)]
    possible = {part["id"] for entry in fields for part in entry["elements"] if part["state"] != "excluded"}
    parts: dict[str, Any] = {
        "title": title,
        "inputs": _inputs(result),
        "seconds": {part: float(seconds) for part, seconds in result.seconds.items()},
        "fields": fields,
        "rows": rows_json(result),
        "library": library_json(result, possible),
        "library_coherence": library_coherence_json(result),
        "evidence": evidence_json(result),
        "brackets": brackets_json(result),
        "misfit": [one.json() for one in misfit(result)],
        "outcome": outcome_json(result),
        "verify": verify,
    }
    return Details.from_json(Details.about(result.report.digests["document"], **parts).json())


def _inputs(result: Result) -> list[dict[str, Any]]:
    entries = []
    for part in result.seal.parts:
        table = result.tables[part.name]
        source = table.source
        entries.append(
            {
                "stream": part.name,
                "path": source.path,
                "member": source.member,
                "shape": list(source.shape),
                "dtype": source.dtype,
                "unit": source.unit,
                "channels": list(table.channels[:MOST_CHANNEL_NAMES]),
                "sha256": table.digest(),
                "proposal_rows": len(part.split.proposal),
                "held_out_rows": len(part.split.held_out),
            }
        )
    return entries
