"""The sentences about the outcome as a whole: what holds, what is left open and why, and what else may be there."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..laws import LAWS, Law
from ._assumptions import (
    cell_sentence,
    cover_sentence,
    grid_end,
    is_of_scatter,
    left_sentences,
    noise_sentences,
    promised_level,
    refuted_noise,
    refuted_premises,
    refuted_sentence,
    replicate_noise_sentence,
    rests_on_stuck,
    strength_sentence,
    strengths_beside,
    stuck_sentence,
    threshold_words,
    unlisted_sentence,
    where_truth_is,
    why_open,
    width_sentence,
    window_sentence,
    withheld_by_noise,
)
from ._causes import diagnosis_sentences, likeliest_cause
from ._fields import claims_in_words
from ._learnt import learnt_failure, learnt_sentences
from ._width import error_words, is_answered_by_width
from ._words import (
    Entry,
    confidence,
    cut,
    element_places,
    explanation_words,
    gate_of,
    plain,
    probability,
    sentence_of,
)


def contradiction_sentence(document: Entry) -> str:
    """The sentence that names which stream rejects what another keeps; empty unless nothing is left of several."""
    found = document.get("contradiction")
    if not found:
        return ""
    size = document["protocol"]["size"]
    streams = found["streams"]
    alone = [f"the {plain(each['stream'])} rows alone {_kept_alone(each, streams, size)}" for each in streams]
    said = f"{'; '.join(alone)}."
    if not all(each["kept"] for each in streams):
        return f" {sentence_of(said)}"
    if found["common"]:
        return f" {sentence_of(said)} {found['common']} explanations survive each stream alone, but not all together."
    return f" The streams contradict each other, because each rejects every explanation that the others leave: {said}"


def _kept_alone(entry: Entry, streams: Sequence[Entry], size: int) -> str:
    nearest = explanation_words(entry["nearest"], entry["says"])
    if entry["kept"] < 2:
        return f"leave only {nearest}" if entry["kept"] else f"reject all {size} explanations"
    others = " and ".join(f"the {plain(each['stream'])} rows" for each in streams if each is not entry)
    return f"leave {entry['kept']} of {size} explanations; of these, {others} reject {nearest} least clearly"


def outcome_sentence(document: Entry) -> str:
    """The outcome as a whole: what it is, why there is no more, and what would change that."""
    said = "".join([f"{full} " for _, full in claims_in_words(document) if full])
    return said + _outcome(document) + _beside(document)


def remarks(document: Entry) -> str:
    """The remarks beside every label: residuals of the best fit, whiteness of the noise, and ends of grids."""
    return ((_missing(document) or contradiction_sentence(document) or _passed(document)) + _beside(document)).strip()


def _beside(document: Entry) -> str:
    """The remarks about strengths and noise, and a warning where what is kept touches the end of a grid."""
    said = (
        strength_sentence(document)
        + noise_sentences(document)
        + cell_sentence(document)
        + replicate_noise_sentence(document)
        + learnt_sentences(document)
    )
    # Variants are a list, in no order that would end somewhere.
    edges = [edge for edge in document.get("edges", ()) if edge["of"] != "variant"]
    touched = [f"{edge['of']} ({grid_end(document['protocol'], edge):.6g})" for edge in edges]
    if not touched or document["outcome"]["status"] == "EMPTY":
        return said
    return f"{said} The answer touches the end of the grid of {cut(touched)}: values beyond it were not tried."


def _outcome(document: Entry) -> str:
    outcome = document["outcome"]
    protocol = document["protocol"]
    level = promised_level(protocol)
    match outcome["status"]:
        case "REPORT":
            assumes = gate_of(document).get("assumes")
            assumed = f" Assumed: {plain(str(assumes))}." if assumes else ""
            return (
                f"If {where_truth_is(protocol)}, all statements about it are simultaneously true with probability at "
                f"least {confidence(level)}.{width_sentence(document)}{assumed}{left_sentences(outcome)}"
                f"{_passed(document)}{_ranked(gate_of(document))}{stuck_sentence(document)}"
                f"{unlisted_sentence(document)}{cover_sentence(protocol)}{window_sentence(protocol)}"
            )
        case "EMPTY":
            return (
                f"EMPTY: {learnt_failure(document) or 'no explanation survives.'} Either "
                f"{where_truth_is(protocol, is_there=False)} or a law is misspecified, or an event of probability at "
                f"most {level!r} has occurred. A wider bank, or laws that fit the rows, would change this; more "
                f"queries would not.{_missing(document)}{contradiction_sentence(document)}{opposed(document)}"
                f"{window_sentence(protocol)}"
            )
        case "WITHHELD":
            return f"No label is given: {_withheld(document)}"
    return f"ABSTAIN as a whole: {why_open(outcome)}"


def _withheld(document: Entry) -> str:
    rests = rests_on_stuck(document)
    noise = refuted_noise(gate_of(document))
    if rests:
        return f"{rests}.{stuck_sentence(document)}{unlisted_sentence(document)}"
    if noise:
        return (
            f"the rows refute {refuted_premises(noise)}, on which every verdict rests.{_missing(document)} "
            f"To change this, state the noise of the rows, or leave the noise unknown."
        )
    return (
        f"even the best-fitting explanation is rejected, so the remaining ones may remain by accident. A wider bank, "
        f"or laws that fit the rows, would change this.{_missing(document)}"
    )


def doubt_sentence(document: Entry, *, is_short: bool = False) -> str:
    """The doubt that comes before all answers: nothing fits, or what is left does not look like the rows.

    is_short: with the likeliest cause alone, where the others stand elsewhere.
    """
    status = document["outcome"]["status"]
    rests = rests_on_stuck(document)
    if rests:
        return f"No label is given: {rests}."
    diagnosis = diagnosis_sentences(document) if document.get("diagnosis") else ""
    if is_short:
        diagnosis = likeliest_cause(document)
    if status in ("EMPTY", "WITHHELD"):
        where = error_words(document) if is_answered_by_width(document) else "these data"
        first = f"No explanation considered fits {where}."
        if failure := learnt_failure(document):
            return failure
        if status == "WITHHELD":
            first = "Not even the best explanation considered fits these data, so no label is given."
        noise = withheld_by_noise(document)
        if noise and (is_of_scatter(noise) or status == "WITHHELD"):
            first = f"The rows refute {refuted_premises(noise)}, so no label is given."
        return first + (diagnosis or _missing(document)) + contradiction_sentence(document)
    doubts = [_passed(document)] if _is_unlike(gate_of(document)) else []
    doubts += [strength_sentence(document)] if strengths_beside(document) else []
    return " ".join(sentence_of(doubt.removeprefix(" But ")) for doubt in doubts) + diagnosis


# What the parts of a gate look along, and what stands out there is a sign of.
_PARTS = {
    "columns": "something that the bank does not contain, at {place}",
    "channels": "something that the bank does not contain, mostly at {place}",
    "lags": "noise or a baseline that neighbouring channels share ({place})",
    "spectrum": "{place}, such as another source or coloured noise",
}


def _missing(document: Entry) -> str:
    """The likely reason of the residuals, where the gate rejects the best fit."""
    gate = gate_of(document)
    if not gate.get("is_best_rejected"):
        return ""
    noise = refuted_noise(gate)
    others = [each for each in gate["findings"] if each["part"] != "noise"]
    said = refuted_sentence(noise) if noise else ""
    if noise and not any(each["p"] <= gate["level"] for each in others):
        return said
    finding = min(others or gate["findings"], key=lambda finding: finding["p"])
    sign = _PARTS.get(finding["part"], "{place}").format(place=finding["place"])
    if finding["part"] == "columns" and finding["place"] in element_places(document):
        sign = f"{finding['place']} in a combination, or with a coefficient, that no explanation considered has"
    elif finding.get("is_own"):
        sign += ", at the best fit itself: its place, width or shape differs, or it has a close neighbour"
    return f"{said} The residuals of the best fit point to {sign} ({probability(finding['p'])})."


def _is_unlike(gate: Entry) -> bool:
    """True if the likelihood of all rows together is unusual for every explanation left."""
    parts = {finding["part"] for finding in gate.get("findings") or ()}
    return parts == {"fit"} and bool(gate["is_best_rejected"])


# An error of the responses lowers the level of the gate; below this share of the level of a report it sees no misfit.
_POWERLESS = 1e-3


def _passed(document: Entry) -> str:
    """State which tests of the gate found nothing, and the misfit they could miss; or the test of all rows together."""
    gate = gate_of(document)
    if not gate.get("findings") or document["outcome"]["status"] == "EMPTY":
        return ""
    finding = min(gate["findings"], key=lambda each: each["p"])
    p = probability(finding["p"])
    parts = {each["part"] for each in gate["findings"]}
    if _is_unlike(gate):
        return (
            f" But the rows are improbable under every remaining explanation (p = {finding['p']:.2g}): a law or the "
            f"bank is probably wrong, and the statements above may be wrong too."
        )
    if parts == {"fit"}:
        return (
            f" The likelihood of all rows together is not unusual for a remaining explanation (p = {finding['p']:.2g}"
            f"{threshold_words(gate)}). This is a single test of all rows, so a misfit in strength, place or shape "
            f"can go unnoticed{_compared(document)}."
        )
    if parts == {"noise"}:
        return f" The stated noise agrees with {plain(str(finding['place']))} ({p}{threshold_words(gate)})."
    if "level" in gate and gate["level"] < _POWERLESS * document["protocol"]["level"]:
        return (
            f" The test of the residuals has little or no power at this error of the responses (smallest {p}, "
            f"threshold {gate['level']:.1g}): even a large misfit could go unnoticed."
        )
    # Standard deviations that a misfit needs to be seen: halves of the counts see less than all of them would.
    size = "7 to 9" if gate["findings"][0]["part"] == "channels" else "4 to 5"
    return (
        f" The residuals of the best fit show no sign of a misfit (smallest {p}{threshold_words(gate)}); a misfit "
        f"below {size} standard deviations of the noise could go unnoticed."
    )


def _compared(document: Entry) -> str:
    """Advise to compare rows with fits, if the deployment rows have a common mean and the page shows fits."""
    laws = [stream["law"] for stream in document["protocol"]["streams"] if stream["name"] == "deployment"]
    known = LAWS.get(laws[0].get("kind")) if laws else None
    has_fits = known is not None and known.fitted is not Law.fitted
    return ": compare the measured rows with the fits" if has_fits else ""


def _ranked(gate: Entry) -> str:
    """Among how many units replicates rank, and what that allows."""
    units = gate.get("units")
    smallest = gate.get("smallest_p")
    if not units or not smallest:
        return ""
    # Of two elements there are the units of each.
    counts = np.concatenate([np.atleast_1d(each) for each in units.values()])
    among = _between(f"{counts.min()}", f"{counts.max()}")
    least = [f"{p:.3g}" for p in sorted(smallest.values())]
    by = " by explanation" if " " in among else ""
    return (
        f" The signal is ranked among K = {among} units{by}, so no p-value can be below "
        f"{_between(least[0], least[-1])}. These ranks are the only test of misfit."
    )


def _between(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"


# What proposal rows look like, by the entry under which the law off the bank is written that they gave.
_FREE: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "covariance_point": lambda law: _directions(law["strengths"]["shape"][0]),
    "mean_point": lambda _: "a mean of their own",
    "correlated_point": lambda _: "a mean of their own, in noise that is correlated along the axis",
    "dictionary_point": lambda _: "another dictionary",
    "point": lambda law: f"another dictionary with an activity of {law['p']:.3g}",
}


def _directions(count: int) -> str:
    return f"sources along {count} independent direction{'' if count == 1 else 's'}" if count else "no source at all"


def opposed(document: Mapping[str, Any]) -> str:
    """The laws of free opponents, where nothing in the bank is left beside them."""
    said = ""
    for stream in document["protocol"]["streams"]:
        mixed = stream["numerator"].get("mixture", [])
        for kind, law in mixed[-1]["law"].items() if mixed else ():
            if kind in _FREE:
                what = f"{_FREE[kind](law)}, in noise of variance {law['noise']:.3g}"
                said += f" The {stream['name']} rows of the proposal look like {what}."
    return said
