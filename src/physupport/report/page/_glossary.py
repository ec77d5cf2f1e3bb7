"""Plain words for every code and term, told on the page where they are met: on hover, on tap and on focus."""

import re

from markupsafe import Markup, escape

from .._words import LABELS
from ._svg import tag

# What a reader may stop at.  Codes stand as they are written, terms in small letters.
GLOSSARY = {
    **{label: f"{words}." for label, words in LABELS.items()},
    "REPORT": "every field has a label that is proven from the answers to the queries.",
    "WITHHELD": "no label is given, because even the best explanation does not fit the data.",
    "ADMISSIBLE": "asked about and not rejected: the data may have come about like this.",
    "REJECTED": "contradicted by the data at the stated level.",
    "INDETERMINATE": "the arithmetic could not decide; it is kept, to be safe.",
    "bank": "the list of all explanations that were considered, fixed beforehand. What is not in it cannot be found.",
    "certificate": "the reason why a label is safe: it holds for everything still possible, or the data contradict it.",
    "checkpoint": "a number of rows after which the evidence is looked at.",
    "coherence": "how alike two responses are: 0 is not at all, 1 cannot be told apart.",
    "explanation": "one complete story of how the data arose: what is there, how strong, seen by which instrument.",
    "field": "one thing that was asked about, such as a region.",
    "held-out rows": "the part of the data that only judges; nothing was chosen by looking at it.",
    "kept": "asked about and not rejected.",
    "level": "the largest probability with which the truth may be rejected by bad luck.",
    "log evidence": "how strongly the rows speak against an explanation; from the threshold on it is rejected.",
    "margin": "by how much an explanation misses the threshold of rejection; above 0 it is rejected.",
    "not asked": "possible, because nobody asked about it: the budget ended before, or the label was settled.",
    "point-valued method": "a method that takes its best explanation for the truth, as a best fit does.",
    "response": "what the instrument shows of an element.",
    "setting": "values of what is uncertain about the instrument.",
    "witness": "an explanation that is kept and shows that nothing finer can be said.",
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
