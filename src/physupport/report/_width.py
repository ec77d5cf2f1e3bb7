"""Sentences about the answer as a function of the error of the responses."""

from collections.abc import Sequence
from typing import Any

from ..questions import Label
from ._fields import answers, claim_answers
from ._words import Entry, above, below

# How a sentence names an error, by its scale.
_WITHIN = {
    "peak": "to within {} of their largest value",
    "value": "to within {} of their value in every channel",
    "angle": "to within an angle whose sine is {}",
}


def steps_of(document: Entry) -> list[dict[str, Any]]:
    """The steps of the staircase, from small errors to large ones; none if the report has no staircase."""
    return list(document.get("staircase", {}).get("steps", ()))


def ranges(document: Entry) -> list[tuple[float, float] | None]:
    """The range of errors over which the reported answer on each field holds; None without a staircase."""
    steps = steps_of(document)
    spans: list[tuple[float, float] | None] = []
    for number in range(len(document["fields"])):
        most = None
        for step in steps:
            if _statement(step["fields"][number]) != _statement(steps[0]["fields"][number]):
                break
            most = step["most"]
        spans.append(None if most is None else (steps[0]["least"], most))
    return spans


def read_error(steps: Sequence[Entry]) -> float | None:
    """Twice the smallest error at which something fits; None if something fits at the first error, or nothing at any.

    Just above the smallest error a false element may absorb a misfit.  At twice that error explanations without it
    usually fit as well, so that it is no longer certain.
    """
    fitting = [step["least"] for step in steps if not _is_empty(step)]
    return min(2.0 * fitting[0], steps[-1]["most"]) if fitting and _is_empty(steps[0]) else None


def width_sentences(document: Entry) -> tuple[str, ...]:
    """State up to which error the answers hold or, if nothing fits, from which error on something does."""
    steps = steps_of(document)
    if not steps:
        return ()
    fitting = [step for step in steps if not _is_empty(step)]
    if not fitting:
        return (f"Nothing fits even if responses are right only {_within(document, steps[-1]['most'])}.",)
    read = read_error(steps)
    if read is None:
        return tuple(_tolerances(document, steps))
    smallest = fitting[0]["least"]
    # A certain answer at a larger error holds at smaller ones, too: between two steps the sentences use the later one.
    step = next(step for step in steps if step["most"] >= read)
    sentences = [*answers(_at(document, step)), *claim_answers(_at(document, step))]
    largest_empty = max(step["most"] for step in steps if _is_empty(step))
    return (
        f"Every explanation is rejected if responses are right {_within(document, largest_empty)}; from an error of "
        f"{above(smallest)} on, some explanation is not. "
        f"If they are right {_within(document, read)} (twice that error):",
        *sentences,
    )


def _tolerances(document: Entry, steps: list[dict[str, Any]]) -> list[str]:
    """One sentence for each certain answer: the largest error at which it holds."""
    sentences = []
    for entry, span in zip(document["fields"], ranges(document), strict=True):
        if Label(entry["label"]).is_truth_level and span is not None:
            limit = " (no larger error was tried)" if span[1] == steps[-1]["most"] else ""
            sentences.append(
                f"{entry['field']}: this holds as long as responses are right {_within(document, span[1])}{limit}."
            )
    return sentences


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


def _within(document: Entry, error: float) -> str:
    if error == 0.0:
        return "exactly"
    return _WITHIN[document["staircase"]["scale"]].format(below(error))
