"""The view of a page: words and pictures that the template shows beside the documents of report and details.

Plain words for every code and term are told on the page where they are met: on hover, on tap and on focus.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from markupsafe import Markup, escape

from .. import pictures
from .._amounts import amounts_of, amounts_sentence, missing_sentence
from .._assumptions import promised_level, where_truth_is, withheld_in_short
from .._causes import cause_sentences
from .._diagnosis import (
    axis_named,
    field_notes,
    misfit_doubts,
    misfit_sentence,
    outcome_notes,
    refine_sentences,
)
from .._fields import answers, claim_answers, field_sentences, gathered_answers, has_evidence
from .._outcome import doubt_sentence, outcome_sentence
from .._remedies import remedy_sentences
from .._where import where_of
from .._width import complete_sentences, is_answered_by_width, width_sentences, with_reach
from .._words import (
    BELOW_THRESHOLD,
    LABELS,
    STATUSES,
    Entry,
    gate_of,
    has_places,
    in_words,
    judge_line,
    kind_of,
    more_words,
    percent,
    sentence_of,
)
from ..pictures import COMPACT, SMALL, WIDE
from ..pictures._curves import MOST_CURVES
from ..pictures._map import NEVER_ABSENT, nothing_there
from ._svg import svg, tag

_MOST_ANSWERS = 6  # that stand at the top
_PRESENT = ("FINE", "GROUP", "LOCAL_AMBIGUOUS")
_MOST_BELOW = 3  # of those below a sentence that gathers all
_MOST_ROWS = 6  # explanations of one element, ...
_MOST_UNASKED = 2  # ... and of these such as were not tested
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
    "witnesses": "Admissible explanations contradict each other, so no finer label is safe.",
    "open": "Nothing is claimed.",
}


def page_view(report: Entry, details: Entry) -> dict[str, Any]:
    """The values that the template shows beside both documents, by their names."""
    fields = _fields(report, details)
    protocol = report["protocol"]
    doubt = doubt_sentence(report, is_short=True)
    by_width = is_answered_by_width(report)
    said = amounts_sentence(report)
    width = width_sentences(report)
    gathered = gathered_answers(report)
    told = [*answers(report)]
    if gathered:  # which of those that are there
        told = [text for text, field in zip(told, fields, strict=True) if field["label"] in _PRESENT]
    most = _MOST_BELOW if gathered else _MOST_ANSWERS
    shown = width
    if not by_width:
        shown, width = with_reach((*told[:most], *claim_answers(report)), width)
        shown = (*gathered, *shown, *([said] if said else []))
    rows = details.get("rows")
    learnt = gate_of(report).get("calibration")
    evidence = details["evidence"]
    return {
        "title": details["title"] or "Physical support report",
        "status_kind": kind_of(report["outcome"]["status"]),
        "status_words": STATUSES[report["outcome"]["status"]],
        "is_answered_by_width": by_width,
        "answers": shown,
        "width": () if by_width else (*complete_sentences(report), *width),
        "is_gathered": bool(gathered) and "staircase" in report,
        "n_more": 0 if by_width else max(0, len(fields) - min(most, len(told))),
        # Where there is no doubt, streams whose rows lack the expected energy.
        "doubts": [axis_named(doubt, details)] if doubt else misfit_doubts(details),
        "now": [axis_named(sentence_of(f"{cause}."), details) for cause in cause_sentences(report)]
        + remedy_sentences(details),
        "sentence": axis_named(outcome_sentence(report), details),
        "notes": outcome_notes(details),
        "judge": judge_line(protocol.get("judge")),
        "is_evidence": has_evidence(report),
        "level": promised_level(protocol),
        "level_percent": percent(promised_level(protocol)),
        "truth_is": where_truth_is(protocol),
        "fields": fields,
        "tally": _tally(fields),
        "shown": {part["state"] for field in fields for part in (*field["elements"], field["absent"]) if part},
        "never_absent": NEVER_ABSENT
        if len({field["absent"] is None for field in fields if field["elements"]}) > 1
        else "",
        "is_long": len(fields) > _MOST_PRINTED,
        "stairs": _twice("stairs", pictures.staircase_picture, report["staircase"]) if "staircase" in report else None,
        "maps": _maps(fields),
        "where": [where.words for where in where_of(report) if where.n_sets > 1 and where.is_news],
        "amounts": _twice("amounts", pictures.amounts_picture, amounts_of(report)) if amounts_of(report) else None,
        "no_amounts": missing_sentence(report),
        "learnt": _twice("learnt", lambda facts, room: pictures.learnt_picture(facts, report["fields"], room), learnt)
        if pictures.is_on_line(learnt)
        else None,
        "rows": _twice("rows", pictures.rows_picture, rows) if rows and rows["fits"] else None,
        "spectrum": _twice("spectrum", pictures.spectrum_picture, details["spectrum"])
        if details.get("spectrum")
        else None,
        "evidence": _twice("evidence", pictures.evidence_picture, evidence)
        if evidence["curves"] and evidence["steps"]
        else None,
        "most_curves": MOST_CURVES,
        "brackets": _twice("brackets", pictures.brackets_picture, details["brackets"])
        if details["brackets"]["queries"]
        else None,
        "library": _library(details, fields),
        "misfit": [{**entry, "sentence": misfit_sentence(entry)} for entry in details["misfit"]],
    }


def _fields(report: Entry, details: Entry) -> list[dict[str, Any]]:
    known = {entry["field"]: entry for entry in details["fields"]}
    prefix = "Region " if report["question"]["kind"] == "regional map" else ""
    withheld = withheld_in_short(report)
    room = min(_MOST_FIELD_ROWS, _MOST_PAGE_ROWS // max(1, len(report["fields"])))
    return [
        _field(i, entry, known[entry["field"]], withheld, room)
        | {"sentence": sentence, "name": f"{prefix}{entry['field']}"}
        for i, (entry, sentence) in enumerate(zip(report["fields"], field_sentences(report), strict=True))
    ]


def _field(i: int, entry: Entry, details: Entry, withheld: str, room: int) -> dict[str, Any]:
    label = entry["label"]
    elements = details["elements"]
    shown = elements
    if len(elements) > _MOST_ELEMENTS:
        shown = [element for element in elements if element["state"] != "excluded"][:_MOST_LEFT]
    coherence = details["coherence"]
    picture: Markup | None = None
    if coherence is not None and 1 < len(coherence["ids"]) <= _MOST_SHADED:
        drawn = pictures.coherence_picture(coherence, f"Coherence of the elements of {entry['field']}", SMALL)
        picture = svg(drawn, f"coherence-{i}")
    extent = (entry.get("set") or {}).get("extent")
    members = pictures.members_picture(entry, COMPACT)
    pairs = pictures.pairs_picture({**details, **entry}, COMPACT)
    return {
        **details,
        **entry,
        "key": f"field-{i}",
        "plug_in": details["plug_in"] or details.get("best_fit"),
        "refine": refine_sentences(details),
        "notes": field_notes({**details, "label": label}),
        # The largest distance within what is kept, where there are distances.
        "numbers": entry["numbers"] | ({} if extent is None else {"extent": extent}),
        "kind": kind_of(label),
        "plain": in_words(label, entry["numbers"], has_places=has_places(entry), withheld=withheld),
        "is_weak": label == "ABSENT" and any(element["state"] != "excluded" for element in elements),
        "reason": _CERTIFICATES.get(entry["certificate"]) or f"Nothing is claimed, because {withheld}.",
        "parts": _parts(shown, details["absent"], room),
        "n_hidden": len(elements) - len(shown),
        "has_settings": any(row["setting"] for element in elements for row in element["explanations"]),
        "coherence_picture": picture,
        "pairs": None if pairs is None else svg(pairs, f"pairs-{i}"),
        "members": None if members is None else svg(members, f"members-{i}"),
    }


def _parts(elements: Sequence[Entry], absent: Entry | None, room: int) -> list[dict[str, Any]]:
    """Elements, and absence as the last, each with the explanations that are shown; room goes to survivors first."""
    parts = [{**part} for part in (*elements, *([] if absent is None else [nothing_there(absent)]))]
    for part in sorted(parts, key=lambda part: bool(part["state"] == "excluded")):
        listed = part["explanations"]
        unasked = [row for row in listed if row["verdict"] == "not asked"]
        judged = [row for row in listed if row["verdict"] != "not asked"][:_MOST_ROWS]
        rows = (judged + unasked[: min(_MOST_UNASKED, _MOST_ROWS - len(judged))])[:room]
        room -= len(rows)
        part |= {"rows": rows, "more": more_words(len(rows), len(listed), part.get("n_explanations", len(listed)))}
    return parts


def _tally(fields: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Count how often each label occurs, in the order of the labels."""
    counts = Counter(field["label"] for field in fields)
    plain = {field["label"]: in_words(field["label"], {}, has_places=has_places(field)) for field in fields}
    has_threshold = any(field["label"] == "ABSENT" and field["absence_threshold"] is not None for field in fields)
    glosses = LABELS | ({"ABSENT": BELOW_THRESHOLD} if has_threshold else {})
    return [
        {"label": label, "kind": kind_of(label), "plain": plain[label], "gloss": gloss, "count": counts[label]}
        for label, gloss in glosses.items()
        if counts[label]
    ]


def _twice(key: str, draw: Callable[[Any, pictures.Room], pictures.Picture], facts: Any) -> dict[str, Any]:  # noqa: ANN401
    """Draw a picture for wide and for small screens, with one legend."""
    wide, compact = (draw(facts, room) for room in (WIDE, COMPACT))
    return {"pictures": [svg(wide, f"{key}-wide"), svg(compact, f"{key}-compact")], "legend": wide.keys}


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


def _library(details: Entry, fields: list[dict[str, Any]]) -> dict[str, Any] | None:
    library = details["library"]
    if library is None or not library["ids"]:
        return None
    everything = range(len(library["ids"]))
    regions = []
    for k, (region, indices) in enumerate(pictures.members_of(library).items()):
        drawn = pictures.responses_picture(library, fields, indices, SMALL, everything)
        # Of many keys those of what is not excluded come first.
        keys = sorted(drawn.keys, key=lambda key: key.note == "excluded")
        regions.append({"region": region, "picture": svg(drawn, f"responses-{k}"), "legend": keys[:_MOST_KEYS],
                        "more": max(0, len(keys) - _MOST_KEYS)})  # fmt: skip
    coherence = details["library_coherence"]
    picture = None
    if coherence is not None and len({*coherence["regions"]}) > 1:  # that of one region stands with its field
        title = "Coherence of the response library"
        picture = svg(pictures.coherence_picture(coherence, title, SMALL, coherence["regions"]), "coherence-all")
    known = {field["field"] for field in fields}
    return {
        **library,
        "regions": regions,
        "coherence": picture,
        "has_unasked": not known.issuperset(library["regions"]),
        "has_states": any(field["elements"] for field in fields),
    }


# What a reader may stop at.  Codes stand as they are written, terms in small letters.
GLOSSARY = {
    **{label: f"{words}." for label, words in LABELS.items()},
    "REPORT": "every field has a label that is proven from the answers to the queries.",
    "WITHHELD": "no label is given, because even the best explanation does not fit the data.",
    "ADMISSIBLE": "tested and not rejected: the data may have arisen in this way.",
    "REJECTED": "contradicted by the data at the stated level.",
    "INDETERMINATE": "the arithmetic could not decide, so the explanation is not rejected.",
    "bank": "the list of the explanations considered, fixed beforehand. What is not in it cannot be found.",
    "certificate": "the reason why a label is safe: it holds for everything still possible, or the data contradict it.",
    "checkpoint": "a number of rows after which the evidence is looked at.",
    "coherence": "how alike two responses are: 0 is not at all, 1 cannot be told apart.",
    "explanation": "one complete candidate for how the data arose: elements, strengths and state of the instrument.",
    "field": "one part of the question, such as a region.",
    "held-out rows": "the part of the data that only judges; nothing was chosen by looking at it.",
    "kept": "tested and not rejected.",
    "level": "alpha, the largest probability of rejecting the truth by bad luck.",
    "log evidence": "how strongly the rows contradict an explanation; it is rejected from the threshold on.",
    "margin": "by how much an explanation misses the threshold of rejection; above 0 it is rejected.",
    "not asked": "not tested, and therefore possible: the budget was spent first, or the label was already settled.",
    "best fit": "the explanation that fits best; a method that reports it alone takes it for the truth.",
    "response": "what the instrument shows of an element.",
    "setting": "values of what is uncertain about the instrument.",
    "witness": "a tested explanation that is not rejected and rules out a finer label.",
}
# Whole words; a plural counts as its word.
_TERMS = re.compile(r"\b(" + "|".join(sorted(map(re.escape, GLOSSARY), key=len, reverse=True)) + r")(?!\w*_)(e?s)?\b")


def term(name: str, shown: str | None = None) -> Markup:
    """A term that was looked up; another name stays as it is."""
    text = name if shown is None else shown
    if name not in GLOSSARY:
        return escape(text)
    return tag("dfn", text, class_="term", tabindex="0", aria_describedby=_key(name))


def glossed(text: str) -> Markup:
    """A text with its terms marked, each where it first stands."""
    told = set[str]()
    pieces: list[str] = []
    end = 0
    for match in _TERMS.finditer(text):
        is_new = match[1] not in told
        told.add(match[1])
        pieces += [text[end : match.start()], term(match[1], match[0]) if is_new else match[0]]
        end = match.end()
    return Markup("").join([*pieces, text[end:]])


def words_in(page: str) -> list[tuple[str, str, str]]:
    """Id, term and meaning of all terms that a page marks, in alphabetical order."""
    names = sorted(GLOSSARY, key=str.lower)
    return [(_key(name), name, GLOSSARY[name]) for name in names if f'aria-describedby="{_key(name)}"' in page]


def _key(name: str) -> str:
    return "word-" + re.sub(r"\W+", "-", name.lower())
