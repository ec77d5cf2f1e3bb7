"""Report and details brought together in the form that the template walks through."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from markupsafe import Markup

from .. import pictures
from .._assumptions import promised_level, where_truth_is, withheld_in_short
from .._details import axis_named, misfit_doubts
from .._diagnosis import LEVELS_NOTE, field_notes, misfit_sentence, outcome_notes, refine_sentences
from .._fields import answers, claim_answers, field_sentences, has_evidence, sharper_sentences
from .._outcome import doubt_sentence, outcome_sentence
from .._words import (
    BELOW_THRESHOLD,
    LABELS,
    STATUSES,
    Entry,
    has_places,
    in_words,
    judge_line,
    kind_of,
    more_words,
    number,
    percent,
)
from ..pictures import COMPACT, SMALL, WIDE
from ..pictures._curves import MOST_CURVES
from ..pictures._map import nothing_there
from ..pictures._model import Key
from ._svg import svg

_MOST_ANSWERS = 6  # that stand at the top
_MOST_REFINED = 4
_MOST_ROWS = 6  # explanations of one element, ...
_MOST_UNASKED = 2  # ... and of these such as were not asked about
_MOST_FIELD_ROWS = 60  # explanations of one field; beyond, excluded elements show their counts alone, ...
_MOST_PAGE_ROWS = 1200  # ... and of all fields, so that a page with many stays light
_MOST_PRINTED = 8  # fields that are printed with all that is behind them; of more, those that are open
# elements of a field that are listed; of more, so many that are not excluded
_MOST_ELEMENTS = 60
_MOST_LEFT = 400
_MOST_SHADED = 60  # elements whose coherence is drawn
_MOST_KEYS = 6  # responses that are named below a picture

_CERTIFICATES = {
    "universal": "It holds for every explanation that is still possible.",
    "witnesses": "Admissible explanations contradict each other, so nothing finer may be said.",
    "open": "Nothing is claimed.",
}
_NO_DETAILS: dict[str, Any] = {
    "is_optional": False, "coordinate_names": [], "tolerance": None, "elements": [], "absent": None, "groups": [],
    "absence_threshold": None, "plug_in": None, "coherence": None, "refine": [], "levels": [], "is_settled": False,
}  # fmt: skip


def page_view(report: Entry, details: Entry) -> dict[str, Any]:
    """Everything the template shows, by the names it uses.  Both arguments are documents."""
    fields = _fields(report, details)
    outcome = report["outcome"]
    protocol = report["protocol"]
    return {
        "title": details["title"] or "Physical support report",
        "status": outcome["status"],
        "status_kind": kind_of(outcome["status"]),
        "status_words": STATUSES[outcome["status"]],
        "answers": (*answers(report)[:_MOST_ANSWERS], *claim_answers(report)),
        "n_more": max(0, len(fields) - _MOST_ANSWERS),
        "doubts": _doubts(report, details),
        "refine": _refinements(fields, sharper_sentences(report)),
        "rows": _rows(details.get("rows")),
        "sentence": axis_named(outcome_sentence(report), details),
        "notes": outcome_notes(details),
        "outcome": outcome,
        "protocol": protocol,
        "judge": judge_line(protocol.get("judge")),
        "is_evidence": has_evidence(report),
        "level": promised_level(protocol),
        "level_percent": percent(promised_level(protocol)),
        "truth_is": where_truth_is(protocol),
        "fields": fields,
        "tally": _tally(fields),
        "is_long": len(fields) > _MOST_PRINTED,
        "levels_note": LEVELS_NOTE,
        "maps": _maps(fields),
        "has_plug_in": any(field["plug_in"] is not None for field in fields),
        "evidence": _evidence(details["evidence"]),
        "brackets": _brackets(details["brackets"]),
        "library": _library(details, fields),
        "misfit": [{**entry, "sentence": misfit_sentence(entry)} for entry in details["misfit"]],
        "inputs": details["inputs"],
        "seconds": details["seconds"],
        "digests": report["digests"],
        "program": report["program"],
        "commands": _commands(report, details["verify"]),
    }


def _refinements(fields: list[dict[str, Any]], others: Sequence[str]) -> list[str]:
    """The first of what would refine any field, each with its name; the fields learn which of theirs these are."""
    own = [f"{field['name']}: {text[0].lower()}{text[1:]}" for field in fields for text in field["refine"]]
    told = [*own, *others][:_MOST_REFINED]
    left = len(told)
    for field in fields:
        field["n_told"] = min(left, len(field["refine"]))
        left -= field["n_told"]
    return told


def _doubts(report: Entry, details: Entry) -> list[str]:
    """The doubts before all answers; if there is none, streams whose rows lack the expected energy."""
    doubt = doubt_sentence(report)
    return [axis_named(doubt, details)] if doubt else misfit_doubts(details)


def _fields(report: Entry, details: Entry) -> list[dict[str, Any]]:
    known = {entry["field"]: entry for entry in details["fields"]}
    is_map = report["question"]["kind"] == "regional map"
    withheld = withheld_in_short(report)
    room = min(_MOST_FIELD_ROWS, _MOST_PAGE_ROWS // max(1, len(report["fields"])))
    return [
        _field(
            i,
            {**entry, "sentence": sentence, "withheld": withheld},
            {**_NO_DETAILS, **known.get(entry["field"], {})},
            is_map,
            room,
        )
        for i, (entry, sentence) in enumerate(zip(report["fields"], field_sentences(report), strict=True))
    ]


def _field(i: int, entry: Entry, details: Entry, is_map: bool, room: int) -> dict[str, Any]:
    coherence = details["coherence"]
    shown = _worth_showing(details["elements"])
    picture: Markup | None = None
    if coherence is not None and 1 < len(coherence["ids"]) <= _MOST_SHADED:
        drawn = pictures.coherence_picture(coherence, f"Coherence of the elements of {entry['field']}", SMALL)
        picture = svg(drawn, f"coherence-{i}")
    return {
        **details,
        **entry,
        "refine": refine_sentences(details),
        "notes": field_notes({**details, "label": entry["label"]}),
        "numbers": entry["numbers"] | _extent(entry),
        "key": f"field-{i}",
        "name": f"Region {entry['field']}" if is_map else entry["field"],
        "kind": kind_of(entry["label"]),
        "plain": in_words(entry["label"], entry["numbers"], has_places=has_places(entry), withheld=entry["withheld"]),
        "weak": _weak(entry["label"], details),
        "reason": _CERTIFICATES.get(entry["certificate"]) or f"Nothing is claimed, because {entry['withheld']}.",
        "named_groups": [(name, members) for name, members in details["groups"] if name != entry["field"]],
        "parts": [*_parts(shown, details["absent"], room)],
        "n_hidden": len(details["elements"]) - len(shown),
        "has_settings": any(
            row["setting"] for element in details["elements"] for row in element.get("explanations", ())
        ),
        "coherence_picture": picture,
    }


def _extent(entry: Entry) -> dict[str, float]:
    """The largest distance within what is kept, where there are distances."""
    extent = (entry.get("set") or {}).get("extent")
    return {} if extent is None else {"extent": extent}


def _weak(label: str, details: Entry) -> str:
    """Why elements of an ABSENT field may be left nevertheless; empty where none is."""
    if label != "ABSENT" or all(element["state"] == "excluded" for element in details["elements"]):
        return ""
    return (
        f"Only what is as strong as the threshold {number(details['absence_threshold'])} counts as something there. "
        f"Elements that are kept or not asked about are so with strengths below it."
    )


def _worth_showing(elements: Sequence[Entry]) -> Sequence[Entry]:
    """The elements that are listed: all, or of very many those that are not excluded."""
    if len(elements) <= _MOST_ELEMENTS:
        return elements
    return [element for element in elements if element["state"] != "excluded"][:_MOST_LEFT]


def _parts(elements: Sequence[Entry], absent: Entry | None, room: int) -> Iterator[dict[str, Any]]:
    """Elements, and absence as the last, each with the explanations that are shown."""
    everything = [*elements]
    if absent is not None:
        everything.append(nothing_there(absent))
    left = room
    # Room goes to what survives first.
    order = sorted(range(len(everything)), key=lambda k: everything[k]["state"] == "excluded")
    rows: dict[int, list[Entry]] = {}
    for k in order:
        rows[k] = _shown(everything[k].get("explanations", []))[:left]
        left -= len(rows[k])
    for k, element in enumerate(everything):
        listed = len(element.get("explanations", ()))
        yield {
            **element,
            "rows": rows[k],
            "more": more_words(len(rows[k]), listed, element.get("n_explanations", listed)),
        }


def _shown(explanations: list[Entry]) -> list[Entry]:
    unasked = [row for row in explanations if row["verdict"] == "not asked"]
    judged = [row for row in explanations if row["verdict"] != "not asked"][:_MOST_ROWS]
    return judged + unasked[: min(_MOST_UNASKED, _MOST_ROWS - len(judged))]


def _tally(fields: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """How often each label occurs, in the order of the labels."""
    counts = Counter(field["label"] for field in fields)
    has_threshold = any(field["label"] == "ABSENT" and field["absence_threshold"] is not None for field in fields)
    glosses = LABELS | ({"ABSENT": BELOW_THRESHOLD} if has_threshold else {})
    return [
        {"label": label, "kind": kind_of(label), "gloss": gloss, "count": counts[label]}
        for label, gloss in glosses.items()
        if counts[label]
    ]


def _twice(key: str, draw: Callable[[pictures.Room], pictures.Picture]) -> dict[str, Any]:
    """For wide and for small screens, with the legend of both."""
    drawn = {room: draw(room) for room in (WIDE, COMPACT)}
    shown = [svg(picture, f"{key}-{room.key}") for room, picture in drawn.items()]
    return {"pictures": shown, "legend": drawn[WIDE].keys}


def _maps(fields: list[dict[str, Any]]) -> list[list[list[Markup]]]:
    """Sets of pictures side by side, each for wide and for small screens."""
    sets = zip(*(pictures.map_pictures(fields, room) for room in (WIDE, COMPACT)), strict=True)
    return [
        [
            [svg(wide, f"map-{i}-{k}-wide"), svg(compact, f"map-{i}-{k}-compact")]
            for k, (wide, compact) in enumerate(zip(*both, strict=True))
        ]
        for i, both in enumerate(sets)
    ]


def _rows(rows: Entry | None) -> dict[str, Any] | None:
    if not rows or not rows["fits"]:
        return None
    return {"is_kept": rows["is_kept"], **_twice("rows", lambda room: pictures.rows_picture(rows, room))}


def _evidence(evidence: Entry | None) -> dict[str, Any] | None:
    if evidence is None or not evidence["curves"] or not evidence["steps"]:
        return None
    return {
        **evidence,
        **_twice("evidence", lambda room: pictures.evidence_picture(evidence, room)),
        "shown": evidence["curves"][:MOST_CURVES],
        "left_out": max(0, len(evidence["curves"]) - MOST_CURVES),
    }


def _brackets(brackets: Entry) -> dict[str, Any] | None:
    """None without queries."""
    return _twice("brackets", lambda room: pictures.brackets_picture(brackets, room)) if brackets["queries"] else None


def _library(details: Entry, fields: list[dict[str, Any]]) -> dict[str, Any] | None:
    library = details["library"]
    coherence = details["library_coherence"]
    if library is None or not library["ids"]:
        return None
    everything = range(len(library["ids"]))
    picture = None
    drawn = {region: pictures.responses_picture(library, fields, indices, SMALL, everything)
             for region, indices in pictures.members_of(library).items()}  # fmt: skip
    if coherence is not None and len({*coherence.get("regions", ())}) > 1:  # that of one region stands with its field
        title = "Coherence of the response library"
        regions = coherence.get("regions", ())
        picture = svg(pictures.coherence_picture(coherence, title, SMALL, regions), "coherence-all")
    known = {field["field"] for field in fields}
    return {
        **library,
        "envelopes": library.get("envelopes", {}),
        "regions": [
            {"region": region, "picture": svg(responses, f"responses-{k}"), "legend": _few(responses.keys),
             "more": max(0, len(responses.keys) - _MOST_KEYS)}
            for k, (region, responses) in enumerate(drawn.items())
        ],
        "coherence": picture,
        "has_unasked": any(region not in known for region in library["regions"]),
        "has_states": any(field["elements"] for field in fields),
    }  # fmt: skip


def _few(keys: Sequence[Key]) -> list[Key]:
    """The first keys, those of what is not excluded before others."""
    return sorted(keys, key=lambda key: key.note == "excluded")[:_MOST_KEYS]


def _commands(report: Entry, verify: str | None) -> list[tuple[str, str]]:
    """The commands that check the report, each with what it shows."""
    plain = "physupport verify report.json"
    commands = [
        (plain, "Every label, sentence and hash follows from the trace in the report."),
        (
            f"{plain} --protocol {report['digests']['protocol']}",
            "The same, and the protocol is the one whose hash was known before the data were read.",
        ),
    ]
    if verify is not None:
        commands.append(
            (verify, "Every label follows from the trace, and every verdict is scored again from the rows.")
        )
    return commands
