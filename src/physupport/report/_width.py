"""Sentences about the answer as a function of the error of the responses."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ..banks import UNLISTED
from ..questions import Label
from ._amounts import amounts_sentence
from ._assumptions import detector_sentences
from ._fields import answers, claim_answers, gathered_answers
from ._words import Entry, below

# How a sentence names an error, by its scale.
_WITHIN = {
    "peak": "to within {} of their largest value",
    "value": "to within {} of their value in every channel",
    "angle": "to within an angle whose sine is {}",
    "noise": "and the noise in any direction beside them has at most {} of the conditional variance along them",
    "stated": "to within {}",
}


# What joins an answer and how exact responses must be for it.
_AS_LONG_AS = ", as long as"


def steps_of(document: Entry) -> list[dict[str, Any]]:
    """The steps of the staircase, from small errors to large ones; none if the report has no staircase."""
    return list(document.get("staircase", {}).get("steps", ()))


def stated_error(staircase: Entry) -> float:
    """The error at which the report gives its answers."""
    return float(staircase.get("error", staircase["steps"][0]["least"]))


def ranges(document: Entry) -> list[tuple[float, float] | None]:
    """The range of errors over which the reported answer on each field holds; None without a staircase."""
    steps = steps_of(document)
    if not steps:
        return [None] * len(document["fields"])
    own = _step_at(steps, stated_error(document["staircase"]))
    spans: list[tuple[float, float] | None] = []
    for number in range(len(document["fields"])):
        statements = [_statement(step["fields"][number]) for step in steps]
        first = own
        while first > 0 and statements[first - 1] == statements[own]:
            first -= 1
        spans.append((steps[first]["least"], steps[_last(statements, own)]["most"]))
    return spans


def read_error(staircase: Entry) -> tuple[float, str] | None:
    """The error at which the sentences read the staircase, and what it is; None if nothing fits at any error.

    It is the stated error or twice the smallest at which something fits, whichever is larger.  Just above the smallest
    error a false element may absorb a misfit.  At twice that error explanations without it usually fit as well, so that
    it is no longer certain.
    """
    steps = staircase["steps"]
    fitting = [step["least"] for step in steps if not _is_empty(step)]
    if not fitting:
        return None
    twice = min(2.0 * fitting[0], steps[-1]["most"])
    stated = stated_error(staircase)
    return (
        (stated, "the stated error") if stated >= twice else (twice, "twice the smallest error at which something fits")
    )


class Reach(NamedTuple):
    """A certain answer on a field or a claim: at which step, how far it reaches, and whether that is far enough."""

    number: int  # the step
    most: float  # the largest error at which it holds
    is_read: bool  # False if it does not hold at the error at which the staircase is read


def reaches(document: Entry) -> dict[str, Reach]:
    """By the name of a field or a claim, the certain answer at the error that is read, or else the last certain one.

    A certain answer at one error is true of all that is possible there, hence at every smaller error where something
    fits.
    """
    read = read_error(document["staircase"]) if steps_of(document) else None
    if read is None:
        return {}
    steps = steps_of(document)
    at = _step_at(steps, read[0])
    found = {}
    for name, statements in _certain_statements(document):
        number = next((i for i in range(at, -1, -1) if statements[i] is not None), None)
        if number is not None:
            found[name] = Reach(number, steps[_last(statements, number)]["most"], number == at)
    return found


def width_sentences(document: Entry) -> tuple[str, ...]:
    """State how exact responses must be for each certain answer and, if nothing fits exact ones, from where on it does.

    A limit that is the largest error tried says nothing about responses, and is left out.  Where nothing fits at the
    stated error, the first sentence says so, and at which error the others are read.
    """
    steps = steps_of(document)
    if not steps:
        return ()
    read = read_error(document["staircase"])
    if read is None:
        return (f"Nothing fits, even if responses are right only {_within(document, steps[-1]['most'])}.",)
    at = _step_at(steps, read[0])
    known = reaches(document)
    is_own = steps[at] is steps[_step_at(steps, stated_error(document["staircase"]))]
    sentences = []
    for number, (name, _) in enumerate(_certain_statements(document)):
        reach = known.get(name)
        if reach is not None and reach.most == steps[-1]["most"]:
            reach = None
        if not is_own or (reach is not None and reach.is_read):
            sentences.append(_answer(document, steps[at], number, reach if reach and reach.is_read else None))
        if reach is not None and not reach.is_read:
            sentences.append(_answer(document, steps[reach.number], number, reach))
    empty = [step["most"] for step in steps if _is_empty(step)]
    if is_answered_by_width(document):
        return (_lead(document, read, empty[-1]), *sentences)
    if empty:
        size = _size(document, read[0])
        where = size if size == read[1] else f"an error of {size}, {read[1]}"
        within = _within(document, empty[-1])
        sentences.append(f"Nothing fits if responses are right {within}; this answer assumes {where}.")
    return tuple(sentences)


def _lead(document: Entry, read: tuple[float, str], empty: float) -> str:
    """Say that nothing fits at the stated error, and at which error the answers that follow are read."""
    where = error_words(document)
    if empty > stated_error(document["staircase"]):
        where += f", nor if responses are right {_within(document, empty)}"
    first = next(step["least"] for step in steps_of(document) if not _is_empty(step))
    return (
        f"Nothing fits {where}; something fits from about {_size(document, first)} on. At "
        f"{'twice that error' if read[0] > first else 'that error'}, {_size(document, read[0])}:"
    )


def error_words(document: Entry) -> str:
    """The stated error of the responses, as the end of a sentence on what fits there."""
    stated = stated_error(document["staircase"])
    if stated == 0.0:
        return "if responses are exact"
    is_unit = document["staircase"]["scale"] == "stated"
    return "at the stated error" if is_unit else f"at the stated error, {_size(document, stated)}"


def is_answered_by_width(document: Entry) -> bool:
    """True if nothing fits at the stated error and something does at a larger one: the staircase has the answers."""
    is_empty = document["outcome"]["status"] == "EMPTY"
    return is_empty and bool(steps_of(document)) and read_error(document["staircase"]) is not None


def opening_sentences(document: Entry, doubts: Sequence[str]) -> tuple[str, ...]:
    """The sentences that an output opens with: doubts, then answers and how exact responses must be for them.

    Where nothing fits at the stated error, the first sentence says so; the answers at a larger one come before the
    doubts.
    """
    width = width_sentences(document)
    if is_answered_by_width(document):
        return (*width, *doubts, *detector_sentences(document["protocol"]))
    amounts = amounts_sentence(document)
    said, width = with_reach((*answers(document), *claim_answers(document)), width)
    return (
        *doubts,
        *gathered_answers(document),
        *said,
        *([amounts] if amounts else []),
        *complete_sentences(document),
        *width,
        *detector_sentences(document["protocol"]),
    )


def with_reach(said: Sequence[str], width: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Answers, with how exact responses must be where sentences of the width say so, and the rest of these.

    >>> with_reach(["Lead is there."], ["Lead is there, as long as responses are right exactly.", "Nothing fits."])
    (('Lead is there, as long as responses are right exactly.',), ('Nothing fits.',))
    """
    known = {f"{sentence.partition(_AS_LONG_AS)[0]}.": sentence for sentence in width if _AS_LONG_AS in sentence}
    joined = tuple(known.get(answer, answer) for answer in said)
    return joined, tuple(sentence for sentence in width if sentence not in joined)


def complete_sentences(document: Entry) -> tuple[str, ...]:
    """Say what holds if the library is complete, where that is more than what holds even if something is unlisted.

    An element that is certain only then may be replaced by something unlisted that looks like it.
    """
    if "complete" not in document or document["outcome"]["status"] == "EMPTY":
        return ()
    given = [entry for entry in document["complete"] if entry["field"] != UNLISTED]
    if all(entry["label"] == Label.EMPTY for entry in given):
        return ("If the library were complete, nothing would fit these data.",)
    copied = _at(document, {"fields": given, "claims": {}})
    said = {entry["field"]: _statement(entry) for entry in document["fields"]}
    sentences = []
    for entry, answer in zip(given, answers(copied), strict=True):
        if _statement(entry) == said.get(entry["field"]):
            continue
        is_certain = Label(entry["label"]).is_truth_level and entry["label"] != Label.ABSENT
        otherwise = "; otherwise something unlisted may look like it" if is_certain else ""
        sentences.append(f"If the library is complete: {entry['field'][:1]}{answer[1:-1]}{otherwise}.")
    return tuple(sentences)


def _answer(document: Entry, step: dict[str, Any], number: int, reach: Reach | None) -> str:
    """The sentence on a field or claim at a step, with the largest error at which it holds."""
    said = [*answers(_at(document, step)), *claim_answers(_at(document, step))][number]
    if reach is None:
        return said
    joined = _AS_LONG_AS if reach.is_read else ", but only if"
    return f"{said[:-1]}{joined} responses are right {_within(document, reach.most)}."


def _certain_statements(document: Entry) -> Iterator[tuple[str, list[Any]]]:
    """The name of each field and claim, and what each step says about it if that is certain, else None."""
    steps = steps_of(document)
    for number, entry in enumerate(document["fields"]):
        fields = [step["fields"][number] for step in steps]
        is_certain = [Label(field["label"]).is_truth_level for field in fields]
        yield (
            entry["field"],
            [_statement(each) if sure else None for each, sure in zip(fields, is_certain, strict=True)],
        )
    for entry in document["claims"]:
        values = [step["claims"][entry["claim"]] for step in steps]
        yield entry["claim"], [value if value in ("true", "false") else None for value in values]


def _step_at(steps: list[dict[str, Any]], error: float) -> int:
    """The step of an error; between two steps the later one, whose certain answers hold at smaller errors, too."""
    return next(number for number, step in enumerate(steps) if step["most"] >= error)


def _last(statements: list[Any], number: int) -> int:
    """The last step from this one on with the same statement."""
    while number + 1 < len(statements) and statements[number + 1] == statements[number]:
        number += 1
    return number


def _at(document: Entry, step: dict[str, Any]) -> dict[str, Any]:
    """A copy of the document with the answers of one step."""
    open_parts = {"excluded": None, "set": None}
    claims = [{"claim": name, "value": value, "witnesses": []} for name, value in step["claims"].items()]
    fields = [entry | open_parts for entry in step["fields"]]
    return dict(document) | {"fields": fields, "claims": claims, "gate": None}


def _statement(entry: Entry) -> tuple[object, ...]:
    return entry["label"], tuple(entry["cell"]), entry["group"]


def _is_empty(step: Entry) -> bool:
    return all(entry["label"] == Label.EMPTY for entry in step["fields"])


def within(scale: str, error: float) -> str:
    """How exact responses are, as the end of a sentence."""
    return "exactly" if error == 0.0 else _WITHIN[scale].format(error_size(scale, error))


def _within(document: Entry, error: float) -> str:
    return within(document["staircase"]["scale"], error)


def _size(document: Entry, error: float) -> str:
    return error_size(document["staircase"]["scale"], error)


def error_size(scale: str, error: float, rounded: Callable[[float, int], str] = below) -> str:
    """An error, rounded down unless told: in per cent, as the sine of an angle, or in units of the stated error."""
    if scale == "stated":
        return "the stated error" if error == 1.0 else f"{rounded(error, 3)} times the stated error"
    return rounded(error, 3) if scale == "angle" else f"{rounded(100.0 * error, 3)} %"
