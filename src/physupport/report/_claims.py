"""The short answer for programs: what may be said, word for word and at which level, and what may not be said."""

from typing import TYPE_CHECKING, Any, Final

from ..questions import Label
from ._fields import claims_in_words
from ._words import listed

if TYPE_CHECKING:
    from ._report import FieldReport, Report

_FORMAT: Final = "physupport answer"
_VERSION: Final = 1
_MOST_STATEMENTS: Final = 20  # that are named of a field, of those that are not supported
_SILENT: Final = ("EMPTY", "WITHHELD")


def short_answer(report: "Report") -> dict[str, Any]:
    """The stable form of `physupport run --json`.

    claims: sentences that may be said as they stand; all of them are true at once with probability at least 1 - level,
    under what `assumes` says.  not supported: statements that a reader might take from the same data, and why nobody
    may make them.
    """
    silent = report.status in _SILENT
    said = [] if silent else [_claim(field, report.level) for field in report.fields if _is_said(field)]
    unsaid = [each for field in report.fields for each in _unsupported(field, report)]
    names = [entry["claim"] for entry in report.document.get("claims", ())]
    values = [entry["value"] for entry in report.document.get("claims", ())]
    words = [sentence for sentence, _ in claims_in_words(report.document)]
    for name, value, sentence in zip(names, values, words, strict=True):
        if value in ("true", "false") and not silent:
            said.append({"about": name, "says": sentence, "label": value, "elements": [], "level": report.level})
        else:
            unsaid.append({"about": name, "statement": f"{name} holds, or does not", "why": sentence})
    return {
        "format": _FORMAT,
        "version": _VERSION,
        "status": report.status,
        "level": report.level,
        "claims": said,
        "not supported": unsaid,
        "assumes": report.sentence,
        "doubt": report.doubt or None,
        "digest": report.digests["document"],
    }


def _is_said(field: "FieldReport") -> bool:
    """True if something is certain, or a complete list of what may be there can be told."""
    return field.label.is_truth_level or bool(field.kept and not field.not_asked)


def _claim(field: "FieldReport", level: float) -> dict[str, Any]:
    elements = field.cell if field.label.is_truth_level else _names(field)
    label = str(field.label)
    return {"about": field.field, "says": field.answer, "label": label, "elements": list(elements), "level": level}


def _names(field: "FieldReport") -> list[str]:
    return [name or "nothing" for name in (*field.kept, *field.not_asked)]


def _unsupported(field: "FieldReport", report: "Report") -> list[dict[str, str]]:
    """List the statements that the report does not support: each element alone, or any statement."""
    if report.status in _SILENT:
        why = report.doubt or report.sentence
        return [{"about": field.field, "statement": f"anything about {field.field}", "why": why}]
    if field.label in (Label.FINE, Label.ABSENT):
        return []
    names = _names(field)
    alone = [
        {
            "about": field.field,
            "statement": f"{field.field}: {name}",
            "why": f"possible as well: {listed([other for other in names if other != name][:_MOST_STATEMENTS])}",
        }
        for name in names[:_MOST_STATEMENTS]
        if len(names) > 1
    ]
    return alone or [{"about": field.field, "statement": f"anything about {field.field}", "why": field.sentence}]
