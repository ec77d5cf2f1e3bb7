"""The facts of details in sentences: whether rows fit the laws, what would refine a field, and the outcome."""

from collections.abc import Iterator, Sequence

from ..local.planning import MOST_ROWS
from ._words import Entry, cut, explanation_words, sentence_of

LEVELS_NOTE = (
    "The level was fixed before the held-out rows were read, and only its labels carry the guarantee. The other levels "
    "show how firm they are; a level chosen after the data carries no guarantee. Explanations that were not asked "
    "about stay possible at every level, so a run at another level may say more."
)

# Two-sided probability below which rows and law are said not to fit: by chance one stream in a thousand.
MISFIT = 1e-3
_SMALLEST = 1e-6  # smaller probabilities are not written out
_LARGEST = 1e6  # more standard deviations are written as a power of ten


def misfit_sentence(entry: Entry) -> str:
    """The energy of the judging rows of a stream beside what an explanation expects of it.

    Of rows that arrived without a split, `rows` says which they are.
    """
    if entry["z"] is None:
        return _no_energy(entry)
    ratio = entry["statistic"] / entry["expected"]
    z = entry["z"]
    off = f"{z:+.1f}" if abs(z) < _LARGEST else f"{z:+.3g}"
    said = (
        f"{sentence_of(_judging(entry))} have {ratio:.4g} times the energy that explanation "
        f"{entry['explanation']} expects of them ({off} standard deviations; two-sided probability {_chance(entry)})"
    )
    if not entry["is_misfit"]:
        return f"{said[:-1]}, told below {MISFIT:g}): no sign of a misfit in their energy."
    size, other = ("small", "something active is missing in it") if z > 0.0 else ("large", "the rows were scaled")
    beside = entry.get("beside", "")
    if beside != ("weaker" if z > 0.0 else "stronger"):
        return f"{said}: the noise or the strengths of the bank are too {size}, or {other}."
    # Strengths that are off the other way along an element do not explain what all rows have.
    return (
        f"{said}, though along an element of what is left they are {beside} than it says: the noise of the bank is too "
        f"{size}, or {other}."
    )


def _judging(entry: Entry) -> str:
    """The rows that judge: held out from those that propose, those that `rows` names, or all."""
    which = entry.get("rows") or ("" if entry.get("is_all") else "held-out")
    return " ".join(filter(None, ("the", which, entry["stream"], "rows")))


def _no_energy(entry: Entry) -> str:
    """Why there is no number."""
    if entry["is_beyond_range"]:
        return (
            f"{sentence_of(_judging(entry))} have more energy under explanation {entry['explanation']} than "
            f"double precision can hold, while it expects {entry['expected']:.4g}: rows and bank differ by many powers "
            f"of ten, so their units may be mixed up."
        )
    return (
        f"Whether {_judging(entry)} have the energy that explanation {entry['explanation']} expects "
        f"of them cannot be computed: its noise and its strengths are too many powers of ten apart for double "
        f"precision."
    )


def _chance(entry: Entry) -> str:
    if entry["probability"] < _SMALLEST:
        return f"below {_SMALLEST:.0e}"
    return f"{'' if entry['is_exact'] else 'about '}{entry['probability']:.2g}"


def outcome_notes(details: Entry) -> list[str]:
    """Why the outcome is what it is, with figures, and what would change it, beyond the report's own sentence."""
    outcome = details["outcome"]
    misfits = details["misfit"]
    if outcome["status"] == "EMPTY":
        return [*map(misfit_sentence, misfits), *_why_empty(misfits)]
    why = _why_abstain(outcome) if outcome["status"] == "ABSTAIN" else ()
    return [*why, *_doubts(misfits), *_large(outcome)]


def _why_empty(misfits: Sequence[Entry]) -> Iterator[str]:
    off = [entry for entry in misfits if entry["is_misfit"]]
    if any(entry["is_beyond_range"] or entry["z"] > 0.0 for entry in off):
        yield (
            "Most often the noise variances are set too small: measure them on rows without a source, or give several. "
            "If they are right, the strengths are too small or elements are missing: widen the library."
        )
    elif off:
        yield (
            "The bank expects more energy than the rows have: lower the noise variances or the strengths, give several "
            "of them, and look for rows that were scaled, averaged or centred before they came here."
        )
    elif any(entry["z"] is None for entry in misfits):
        yield "Give the noise variances and the strengths in the units of the rows: they are too far apart."
    elif misfits:
        yield (
            "The energy is right, so the noise is not the reason. Most often elements are missing where something is "
            "active, responses are off (add calibration parameters such as gain, width or position), or strengths are "
            "divided wrongly among the regions. It may also be the event that the level allows."
        )


def _why_abstain(outcome: Entry) -> Iterator[str]:
    unasked = outcome["size"] - outcome["queries"]
    if outcome["open"]:
        yield f"Not settled: {cut(outcome['open'])}."
    if unasked and outcome["ending"] in ("BUDGET", "STOPPED"):
        yield (
            f"{unasked} of {outcome['size']} explanations were not asked about. A budget of {outcome['size']} asks "
            f"about all of them, and only the rows then decide; what is certified already stays."
        )
    if outcome["indeterminate"]:
        yield f"Verdicts that the arithmetic left undecided: {outcome['indeterminate']}."


def _doubts(misfits: Sequence[Entry]) -> Iterator[str]:
    """A report rests on laws; say so where the rows contradict them."""
    for said in (misfit_sentence(entry) for entry in misfits if entry["is_misfit"]):
        yield f"Take care: {said[0].lower()}{said[1:]} Every label rests on these laws."


def _large(outcome: Entry) -> Iterator[str]:
    """The dimensions of the bank that a large possible set leaves open."""
    dimensions = outcome["dimensions"]
    if dimensions is None:
        return
    resolved = [name for name, left, _ in dimensions if left == 1]
    unresolved = [f"{name} ({left} of {whole})" for name, left, whole in dimensions if left > 1]
    yield (
        f"Of {outcome['size']} explanations {outcome['witnessed'] + outcome['indeterminate']} are kept and "
        f"{outcome['size'] - outcome['queries']} were not asked about. Unresolved: {cut(unresolved)}."
        + (f" Resolved: {cut(resolved)}." if resolved else "")
    )


def refine_sentences(field: Entry) -> list[str]:
    """The rows or the queries that would make a field finer."""
    return [refine_sentence(fact) for fact in field["refine"]]


def refine_sentence(fact: Entry) -> str:
    """One of these: rows that would be expected to reject a rival, or explanations that are not decided."""
    if "undecided" in fact:
        return _undecided(fact)
    return _no_rows(fact) if fact["rows"] is None else _more_rows(fact)


def _undecided(fact: Entry) -> str:
    count = fact["undecided"]
    who = "1 explanation that contradicts" if count == 1 else f"{count} explanations that contradict"
    least = "" if fact["is_exact"] else "At least "
    what = (
        "more queries may settle this before more rows do"
        if fact["can_ask"]
        else "asked about, but the arithmetic leaves it open, and more queries would not settle it"
    )
    is_undecided = "is" if count == 1 else "are"
    return f"{least}{who} explanation {fact['reference']} here {is_undecided} not decided: {what}."


def _more_rows(fact: Entry) -> str:
    rows = fact["rows"]
    rate = fact["rate"]
    rival = explanation_words(fact["rival"], fact["says"])
    if not rows:
        return (
            f"The held-out rows so far would rule out {rival} if explanation {fact['reference']} had been proposed: a "
            f"larger share of proposal rows, or more rows, may do."
        )
    added = "more than double precision can hold," if isinstance(rate, str) else f"{rate:.3g}"
    how = "in closed form" if fact["basis"] == "closed form" else "on average over the held-out rows so far"
    hardest = "" if fact["n_rivals"] == 1 else f", the hardest of {fact['n_rivals']} to rule out,"
    return (
        f"About {rows} more held-out {fact['stream']} {'row' if rows == 1 else 'rows'} ({fact['measured']} measured at "
        f"this split) would be expected to rule out {rival}{hardest} in favour of explanation {fact['reference']}: "
        f"{fact['missing']:.3g} of log evidence is missing and a row adds {added} {how}. This is an expectation, not a "
        f"guarantee."
    )


def _no_rows(fact: Entry) -> str:
    stream = fact["stream"]
    rate = fact["rate"]
    rival = explanation_words(fact["rival"], fact["says"])
    if rate is None:
        return (
            f"How many more {stream} rows would be expected to rule out {rival} cannot be computed: its noise and its "
            f"strengths are too many powers of ten apart for double precision."
        )
    opening = f"No number of {stream} rows is expected to rule out {rival}:"
    reference = fact["reference"]
    if fact["is_same_key"] and fact["part"] == "calibration":
        return (
            f"{opening} it has the same dictionary state and calibration nuisance as explanation {reference}, and "
            f"calibration rows do not tell what is active."
        )
    if fact["is_same_law"]:
        return (
            f"{opening} it gives the {stream} rows the same law as explanation {reference}, to all digits of double "
            f"precision."
        )
    if rate <= 0.0:
        return f"{opening} the held-out rows so far do not favour explanation {reference} on average."
    return f"{opening} a row adds {rate:.3g} of log evidence, so more than {MOST_ROWS:.0e} would be needed."


def field_notes(field: Entry) -> list[str]:
    """Why elements of a settled field were not asked about."""
    names = [element["id"] for element in field["elements"] if element["state"] == "not asked"]
    if not names or not field["is_settled"]:
        return []
    it, were = ("it", "was") if len(names) == 1 else ("them", "were")
    is_final = field["is_finest"] or field["label"] in ("FINE", "ABSENT")
    reason = f"no verdict on {it} would change the label" if is_final else "the label stays true whatever the verdict"
    return [f"{cut(names)} {were} not asked about: {reason}."]
