"""The details beside a report, as one JSON document, and the facts of these in sentences.

The sentences tell whether rows fit the laws, what would refine a field, and the outcome.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, NotRequired, Protocol, final, runtime_checkable

from typing_extensions import TypedDict

from .._checks import MOST_ROWS
from .._codec import Hash, Real, check_form, content_hash, dumped, loaded
from .._errors import Clause, MisuseError
from .._files import write_whole
from ._remedies import remedy_sentences
from ._words import Entry, cut, explanation_words, plain, sentence_of

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
        return f"{said[:-1]}, threshold {MISFIT:g}): no sign of a misfit in their energy."
    size, other = ("small", "something active is missing in it") if z > 0.0 else ("large", "the rows were scaled")
    beside = entry.get("beside", "")
    if beside != ("weaker" if z > 0.0 else "stronger"):
        return f"{said}: the noise or the strengths of the bank are too {size}, or {other}."
    # Strengths that are off the other way along an element do not explain what all rows have.
    return (
        f"{said}, although along one of its elements they are {beside} than expected: the noise of the bank is too "
        f"{size}, or {other}."
    )


def _judging(entry: Entry) -> str:
    """The rows that judge: held out from those that propose, those that `rows` names, or all."""
    which = entry.get("rows") or ("" if entry.get("is_all") else "held-out")
    return " ".join(filter(None, ("the", which, entry["stream"], "rows")))


def _no_energy(entry: Entry) -> str:
    """State why the energy has no number."""
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
    """Explain the outcome with figures, and what would change it, beyond the report's own sentence."""
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
            f"{unasked} of {outcome['size']} explanations were not tested. A budget of {outcome['size']} asks "
            f"about all of them, and only the rows then decide. Certified labels stay."
        )
    if outcome["indeterminate"]:
        yield f"The arithmetic left {outcome['indeterminate']} verdicts undecided."


def _doubts(misfits: Sequence[Entry]) -> Iterator[str]:
    """Warn where the rows contradict the laws on which the report rests."""
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
        f"Of {outcome['size']} explanations {outcome['witnessed'] + outcome['indeterminate']} are not rejected and "
        f"{outcome['size'] - outcome['queries']} are not tested. Unresolved: {cut(unresolved)}."
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
        else "they were tested, but the arithmetic leaves them open, and more queries would not settle them"
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
    """State why elements of a settled field were not tested."""
    names = [element["id"] for element in field["elements"] if element["state"] == "not asked"]
    if not names or not field["is_settled"]:
        return []
    it, were = ("it", "was") if len(names) == 1 else ("them", "were")
    is_final = field["is_finest"] or field["label"] in ("FINE", "ABSENT")
    reason = f"no verdict on {it} would change the label" if is_final else "the label stays true whatever the verdict"
    return [f"{cut(names)} {were} not tested: {reason}."]


FORMAT = "physupport details"
VERSION = 4

_Facts = dict[str, Any]
_Field = TypedDict("_Field", {
    "field": str, "label": str, "cell": list[str], "is_optional": bool, "coordinate_names": list[str],
    "tolerance": Real | None, "absence_threshold": Real | None, "groups": list[Any], "is_settled": bool,
    "is_finest": bool, "elements": list[_Facts], "absent": _Facts | None, "coherence": _Facts | None,
    "plug_in": _Facts | None, "refine": list[_Facts], "levels": list[_Facts], "outline": Real | None,
    "remedies": NotRequired[list[_Facts]], "best_fit": NotRequired[_Facts | None],
})  # fmt: skip
# Rows that keep arriving have the first parts alone.
_Document = TypedDict("_Document", {
    "format": str, "version": int, "report": Hash, "inputs": list[_Facts], "outcome": _Facts, "misfit": list[_Facts],
    "title": NotRequired[str], "seconds": NotRequired[dict[str, Real]], "fields": NotRequired[list[_Field]],
    "rows": NotRequired[_Facts | None], "library": NotRequired[_Facts | None],
    "library_coherence": NotRequired[_Facts | None], "evidence": NotRequired[_Facts], "brackets": NotRequired[_Facts],
    "verify": NotRequired[str | None], "spectrum": NotRequired[_Facts | None], "remedies": NotRequired[list[_Facts]],
})  # fmt: skip


@final
@dataclass(frozen=True, slots=True, eq=False)
class Details:
    """The document; no label depends on anything in it, and `report` names the report it belongs to."""

    document: dict[str, Any] = field(repr=False)

    def __post_init__(self) -> None:
        if self.document.get("format") != FORMAT or self.document.get("version") != VERSION:
            value = f"{self.document.get('format')!r}, version {self.document.get('version')!r}"
            raise MisuseError("document", f"be {FORMAT!r}, version {VERSION}", value, "Run the project again.")
        check_form(self.document, _Document, "details")

    @classmethod
    def about(cls, report: str, **parts: Any) -> "Details":  # noqa: ANN401
        """The details with these parts; report: the hash of the document that they belong to."""
        return cls({"format": FORMAT, "version": VERSION, "report": report, **parts})

    @property
    def report(self) -> str:
        """The hash of the report's document."""
        return str(self.document["report"])

    def details(self) -> "Details":
        """The details themselves, so that pictures accept a result or its details."""
        return self

    @property
    def doubts(self) -> list[str]:
        """The evidence in the rows against the laws, on which every label rests."""
        return misfit_doubts(self.document)

    @property
    def notes(self) -> list[str]:
        """Explain the outcome with figures, and what would change it, beyond the report's own sentence."""
        return outcome_notes(self.document)

    def named(self, text: str) -> str:
        """A sentence about channels with what the rows call these, such as energies."""
        return axis_named(text, self.document)

    @property
    def remedies(self) -> list[str]:
        """The changes that matter most to the answers, in numbers: the first for each field, or where nothing fits."""
        return remedy_sentences(self.document)

    def __repr__(self) -> str:
        return f"Details({self.document.get('title') or 'untitled'}, of report {self.report[:16]})"

    def _repr_html_(self) -> str:
        """Show in notebooks the outcome in words, what is left, and the measured row with its fits."""
        from ._words import STATUSES
        from .page import pictures_html

        status = f"The report is {STATUSES[self.document['outcome']['status']]}."
        said = "".join(f"<li>{escape(sentence)}</li>" for sentence in (*self.doubts, status, *self.notes))
        return f"<div><p>{escape(repr(self))}</p>{pictures_html(self.document)}<ul>{said}</ul></div>"

    def json(self) -> str:
        """The document as strict JSON, one line for each of its parts, the last one its hash."""
        return dumped(self.document | {"sha256": content_hash(self.document)})

    def save(self, path: str | Path) -> None:
        """Write the JSON."""
        write_whole(Path(path), self.json().encode("utf-8"))

    @classmethod
    def from_json(cls, text: str) -> "Details":
        """Read the JSON; NaN, infinities and what was changed after it was written are refused."""
        document = loaded(text, "details")
        digest = document.pop("sha256", None)
        if digest != content_hash(document):
            raise MisuseError("details", "be as they were written", Clause("their content does not match its hash"))
        return cls(document)

    @classmethod
    def load(cls, path: str | Path) -> "Details":
        """Read a file that `save` wrote."""
        return cls.from_json(Path(path).read_text(encoding="utf-8"))


_CHANNELS = re.compile(r"channels? (\d+)(?: to (\d+))?")


def axis_named(text: str, details: Mapping[str, Any]) -> str:
    """A sentence about channels with what the deployment rows call these, such as energies, where they have names."""
    names = next((entry["channels"] for entry in details["inputs"] if entry["stream"] == "deployment"), ())

    def told(match: re.Match[str]) -> str:
        ends = [int(number) for number in match.groups() if number]
        if max(ends) >= len(names) or any(names[end] == str(end) for end in ends):
            return match[0]
        return f"{match[0]} ({' to '.join(plain(names[end]) for end in ends)})"

    return _CHANNELS.sub(told, text)


def misfit_doubts(details: Mapping[str, Any]) -> list[str]:
    """Streams whose rows do not have the energy that the laws expect; every label rests on these."""
    return [
        f"The {plain(entry['stream'])} rows do not look as the laws say, so that what is said may be wrong: they have "
        f"{entry['statistic'] / entry['expected']:.3g} times the energy that is expected."
        for entry in details["misfit"]
        if entry.get("is_misfit") and entry["statistic"] is not None
    ]


@runtime_checkable
class Detailed(Protocol):
    """An object that has details, such as a result."""

    def details(self) -> Details:
        """The details that are shown beside the report."""
