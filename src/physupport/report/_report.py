"""A report: what may be said, why, and everything needed to check it without the program that wrote it."""

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from .._codec import bound_json, dumped, loaded
from .._errors import Clause, MisuseError, visible
from .._files import write_whole
from .._typing import IntArray
from ..judges import Verdict, Verdicts
from ..questions import FieldValues, Label
from ._amounts import Amount, amounts_of, field_amount, fractions_of
from ._assumptions import promised_level, withheld_in_short
from ._fields import answer, answers, claim_answers, field_views, gathered_answers, sentence
from ._outcome import doubt_sentence, outcome_sentence, remarks
from ._schema import check_document, document_hash
from ._where import Where, where_of
from ._widget import has_widgets, widget_bundle
from ._width import (
    complete_sentences,
    is_answered_by_width,
    opening_sentences,
    ranges,
    reaches,
    steps_of,
    width_sentences,
)
from ._words import Entry, has_places, in_words, unit_of

if TYPE_CHECKING:
    from pandas import DataFrame


# Named on one line, and said in full in a notebook.
_MOST_FIELDS = 6
_MOST_SENTENCES = 12

COLUMNS = (
    "field", "label", "cell", "kept", "not asked", "extent", "box", "group", "certificate", "witnesses", "excluded",
    "margin", "sentence", "remarks", "error from", "error to", "certain to", "if complete", "amount from", "amount to",
    "amount unit",
)  # fmt: skip


@final
@dataclass(frozen=True, slots=True)
class FieldReport:
    """The answer on one field and the explanations that force it.

    The cell is all that is possible, in two parts: kept, which was tested and not rejected, the least evidence
    against it first, and not asked.  None stands for nothing there.  Reports of before this was told have neither part.
    """

    field: str
    label: Label
    answer: str  # the same in one short sentence, without reasons
    sentence: str
    cell: tuple[str, ...]
    group: str | None
    numbers: dict[str, float]
    certificate: str  # universal, witnesses or open
    witnesses: tuple[int, ...]  # retained explanations that force the label, or that keep a GROUP from being finer
    excluded: int | None  # the nearest rejected explanation that would change a universal label
    margin: tuple[float, float] | None  # bounds of its margin
    kept: tuple[str | None, ...] = ()
    not_asked: tuple[str | None, ...] = ()
    extent: float | None = None  # largest distance within what is kept, in the unit of the coordinates
    box: tuple[tuple[float, float], ...] | None = None  # around all cells that are possible, where elements are cells
    within: str = ""  # the same in words, with names and unit of the coordinates
    has_places: bool = True  # whether there are distances between elements; of names alone there are none
    withheld: str = ""  # why no label is given, in a few words
    if_complete: tuple[str, tuple[str, ...]] | None = None  # label and cell if nothing unlisted is there
    errors: tuple[float, float] | None = None  # of the responses, between which the label stands; None if not known
    certain_to: float | None = None  # the largest error at which a certain answer holds; None if there is none
    amount: tuple[float, float, str] | None = None  # ends and unit of how much is there; None if nothing is known

    @property
    def plain(self) -> str:
        """The label in a few words; empty of labels of one's own."""
        return in_words(str(self.label), self.numbers, has_places=self.has_places, withheld=self.withheld)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """A finished run; the document is what is saved, and holds all facts of it.  The words are made from these.

    Made by `report`, or by `Report.load`, which checks the form only: `physupport verify` checks the content.
    """

    document: dict[str, Any] = field(repr=False)

    def __post_init__(self) -> None:
        check_document(self.document)

    @property
    def status(self) -> str:
        """REPORT, EMPTY, ABSTAIN or WITHHELD."""
        return str(self.document["outcome"]["status"])

    @property
    def sentence(self) -> str:
        """The outcome as a whole, in words."""
        return outcome_sentence(self.document)

    @property
    def doubt(self) -> str:
        """The doubt that comes before all answers where nothing fits; empty elsewhere."""
        return doubt_sentence(self.document)

    @property
    def level(self) -> float:
        """The probability alpha with which the truth may be rejected; of a cover, anywhere in its boxes."""
        return promised_level(self.document["protocol"])

    @property
    def queries(self) -> int:
        """The number of tested explanations."""
        return int(self.document["outcome"]["queries"])

    @property
    def seed(self) -> int:
        """The seed of the split."""
        return int(self.document["protocol"]["seed"])

    @property
    def digests(self) -> dict[str, str]:
        """Hashes of bank, question, protocol, data, chain of queries and document."""
        return dict(self.document["digests"])

    @property
    def is_unchanged(self) -> bool:
        """True if the content has the hash that was written with it; only `verify` detects a change of both."""
        return document_hash(self.document) == self.digests["document"]

    @property
    def versions(self) -> dict[str, str]:
        """The versions of the programs that made the report; no claim depends on them."""
        return dict(self.document["program"])

    @property
    def fields(self) -> tuple[FieldReport, ...]:
        """One for each field of the question."""
        withheld = withheld_in_short(self.document)
        told = zip(self.document["fields"], field_views(self.document), ranges(self.document), strict=True)
        known = self.tolerances()
        made = tuple(
            replace(
                _field(entry, view, errors, known.get(entry["field"]), withheld),
                amount=field_amount(self.document, entry["field"]),
            )
            for entry, view, errors in told
        )
        if "complete" not in self.document:
            return made
        given = [(entry["label"], tuple(entry["cell"])) for entry in self.document["complete"]]
        return tuple(replace(field, if_complete=said) for field, said in zip(made, given, strict=True))

    @property
    def answers(self) -> tuple[str, ...]:
        """A short sentence for each field, and one for each claim."""
        return (*answers(self.document), *claim_answers(self.document))

    @property
    def width(self) -> tuple[str, ...]:
        """Sentences on how exact responses must be for these answers; empty without a staircase."""
        return width_sentences(self.document)

    def opening(self, doubts: Sequence[str] = ()) -> tuple[str, ...]:
        """The sentences that every output opens with; doubts: of what is behind the report, where it has none itself.

        Where nothing fits at the stated error, the first says so; then follows what holds at a larger error.
        """
        return opening_sentences(self.document, [self.doubt] if self.doubt else doubts)

    @property
    def if_complete(self) -> tuple[str, ...]:
        """Sentences on what holds if nothing unlisted is there; empty without the unlisted, or if nothing more does."""
        return complete_sentences(self.document)

    def staircase(self) -> list[dict[str, Any]]:
        """The answers as a function of the error of the responses, from small errors to large ones.

        Each step has the `least` and the `most` error at which its `fields` and `claims` were computed; in between they
        are the same.  All steps are simultaneously true at the level of the report, each if responses are that exact.
        """
        return steps_of(self.document)

    def tolerances(self) -> dict[str, float]:
        """The largest error of the responses at which a certain answer holds, by the name of its field or claim.

        The answer is that at the error which `width` reads, or else the last certain one at a smaller error.
        """
        return {name: reach.most for name, reach in reaches(self.document).items()}

    def amounts(self, per: Mapping[str, float] | None = None) -> tuple[Amount, ...]:
        """The range of the amount of each element, simultaneously true with all labels at the level of the report.

        per: for some elements the net counts, or the coefficient, of one unit of it; their amounts are then in units.
        """
        return amounts_of(self.document, per)

    def fractions(
        self, among: Sequence[str] | None = None, per: Mapping[str, float] | None = None
    ) -> dict[str, tuple[float, float]]:
        """Bounds of the share of each element in the sum of all, or of those named; true whenever the amounts are."""
        return fractions_of(self.amounts(per), among)

    def where(self) -> tuple[Where, ...]:
        """The places that each field leaves: centre, extent along the axes, nearest element, and the share left."""
        return where_of(self.document)

    def rows(self) -> list[dict[str, str]]:
        """The table: a row for each field, all entries as text."""
        beside = remarks(self.document)
        return [_row(field, beside) for field in self.fields]

    def csv(self) -> str:
        """The table as comma-separated text with a line of names."""
        text = io.StringIO()
        writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows())
        return text.getvalue()

    def text(self) -> str:
        """The answers; then, field by field, why, the outcome, and how it was found."""
        views = field_views(self.document)
        return "\n".join([*self.opening(), "", *map(sentence, views), self.sentence, self._footing()])

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        named = [f"{entry['field']} {entry['label']}" for entry in self.document["fields"][:_MOST_FIELDS]]
        more = ["..."] if len(self.document["fields"]) > _MOST_FIELDS else []
        return f"Report({self.status}, level {self.level!r}: {', '.join([*named, *more])})"

    def _repr_html_(self) -> str:
        """Show in notebooks the statements, a picture of what is left, the map, and how it was found."""
        from .page._page import pictures_html, report_fields, table_html

        by_width = is_answered_by_width(self.document)
        gathered = gathered_answers(self.document)
        sentences = [*(self.width if by_width else (*gathered, *answers(self.document)))]
        if len(sentences) > _MOST_SENTENCES and not by_width:
            sentences[_MOST_SENTENCES:] = [f"and {len(sentences) - _MOST_SENTENCES} more, in the table"]
        sentences += () if by_width else claim_answers(self.document)
        said = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
        pictures = pictures_html(report_fields(self.document))
        table = table_html(self.fields, unit_of(self.document))
        parts = [f"<p><strong>{escape(self.doubt)}</strong></p>" if self.doubt else "", f"<ul>{said}</ul>"]
        said = "".join(reversed(parts) if by_width else parts)
        footing = f"<p>{escape(self.sentence)}</p><p><small>{escape(self._footing())}</small></p>"
        return f"<div>{said}{pictures}{table}{footing}</div>"

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any] | None:  # noqa: ANN401  of the notebook
        """Show the same in notebooks as a widget, if anywidget is installed."""
        return widget_bundle(self._repr_html_(), repr(self), options) if has_widgets() else None

    def to_frame(self) -> "DataFrame":
        """A tidy pandas DataFrame: a row for each element, or set of elements, that is possible in each field.

        A row for a field of which nothing is possible has no element; `nothing` stands for nothing there.
        """
        try:
            from pandas import DataFrame
        except ImportError as error:
            remedy = 'Install it with pip install "physupport[io]".'
            raise MisuseError("to_frame", "have pandas", Clause("that package is not installed"), remedy) from error
        return DataFrame([row for field in self.fields for row in self._members(field)])

    def _members(self, field: FieldReport) -> Iterator[dict[str, object]]:
        """The rows of a field: what is kept, the best fit first, and then what was not tested."""
        held = {amount.element: amount for amount in self.amounts() if amount.field == field.field}
        entry = next(entry for entry in self.document["fields"] if entry["field"] == field.field)
        kept = (entry["set"] or {"kept": ()})["kept"]
        margins = {part["name"]: float(part["margin"][1]) for part in kept}
        members = [*((name, "kept") for name in field.kept), *((name, "not asked") for name in field.not_asked)]
        for name, state in members or [(None, "")]:
            amount = held.get(name or "")
            yield {
                "field": field.field,
                "label": str(field.label),
                "element": "nothing" if name is None and state else name,
                "state": state,
                "margin": margins.get(name),
                "amount_from": None if amount is None else amount.least,
                "amount_to": None if amount is None else amount.most,
                "amount_unit": "" if amount is None else amount.unit,
                "is_certain": field.label == Label.FINE and name in field.cell,
            }

    def _footing(self) -> str:
        outcome = self.document["outcome"]
        protocol = self.document["protocol"]
        size = protocol["size"]
        queries = outcome["queries"]
        return (
            f"Level alpha = {self.level!r}; {queries} of {size} explanations (candidates) tested (budget "
            f"{outcome['budget']}), "
            f"{outcome['witnessed'] + outcome['indeterminate']} not rejected, {size - queries} not tested; "
            f"seed {protocol['seed']}; report {self.document['digests']['document'][:16]}."
        )

    def json(self) -> str:
        """The document as strict JSON; docs/report-format.md says what is where."""
        return dumped(self.document)

    def save(self, path: str | Path) -> None:
        """Write the JSON."""
        write_whole(Path(path), self.json().encode("utf-8"))

    @classmethod
    def from_json(cls, text: str) -> "Report":
        """Read the JSON."""
        return cls(loaded(text))

    @classmethod
    def load(cls, path: str | Path) -> "Report":
        """Read a file that `save` wrote."""
        return cls.from_json(Path(path).read_text(encoding="utf-8"))


def _field(
    entry: Entry, view: Entry, errors: tuple[float, float] | None, certain_to: float | None, withheld: str
) -> FieldReport:
    excluded = entry["excluded"]
    left = entry["set"] or {"kept": (), "not_asked": (), "extent": None}
    return FieldReport(
        field=entry["field"],
        label=Label(entry["label"]),
        answer=answer(view),
        sentence=sentence(view),
        cell=tuple(entry["cell"]),
        group=entry["group"],
        numbers=dict(entry["numbers"]),
        certificate=entry["certificate"],
        witnesses=tuple(witness["explanation"] for witness in entry["witnesses"]),
        excluded=None if excluded is None else excluded["explanation"],
        margin=None if excluded is None else (float(excluded["margin"][0]), float(excluded["margin"][1])),
        kept=tuple(part["name"] for part in left["kept"]),
        not_asked=tuple(left["not_asked"]),
        extent=left["extent"],
        box=tuple((low, high) for low, high in left["box"]) if "box" in left else None,
        within=view["cells"],
        has_places=has_places(entry),
        errors=errors,
        certain_to=certain_to,
        withheld=withheld,
    )


def _row(entry: FieldReport, beside: str) -> dict[str, str]:
    values = (
        entry.field,
        str(entry.label),
        "; ".join(entry.cell),
        "; ".join(name or "nothing" for name in entry.kept),
        "; ".join(name or "nothing" for name in entry.not_asked),
        "" if entry.extent is None else repr(entry.extent),
        "" if entry.box is None else "; ".join(f"{low!r} to {high!r}" for low, high in entry.box),
        entry.group or "",
        entry.certificate,
        " ".join(map(str, entry.witnesses)),
        "" if entry.excluded is None else str(entry.excluded),
        "" if entry.margin is None else str(bound_json(entry.margin[0])),
        entry.sentence,
        beside,
        *(("", "") if entry.errors is None else map(repr, entry.errors)),
        "" if entry.certain_to is None else repr(entry.certain_to),
        "" if entry.if_complete is None else "; ".join([entry.if_complete[0], *entry.if_complete[1]]),
        *(("", "", "") if entry.amount is None else (repr(entry.amount[0]), repr(entry.amount[1]), entry.amount[2])),
    )
    return dict(zip(COLUMNS, values, strict=True))


# Queries written out at a time.
_BLOCK = 65_536


def query_lines(
    queries: IntArray, verdicts: Verdicts, says: Callable[[IntArray], Mapping[str, FieldValues]]
) -> Iterator[str]:
    """A line for every query in order: explanation, verdict, bounds of its margin, and what it says of each region.

    queries, verdicts: (k,).  says: what explanations say, by the names of the columns.
    """
    yield _line("query", "explanation", "verdict", "margin_lower", "margin_upper", *says(queries[:0]))
    names = {int(verdict): verdict.name for verdict in Verdict}
    for start in range(0, len(queries), _BLOCK):  # column by column: a million queries are not rare
        part = slice(start, min(start + _BLOCK, len(queries)))
        columns = [replace(said, names=tuple(map(_cell, said.names))) for said in says(queries[part]).values()]
        numbers = map(str, range(part.start, part.stop)), map(str, queries[part].tolist())
        codes = [names[code] for code in verdicts.codes[part].tolist()]
        bounds = (map(repr, side[part].tolist()) for side in (verdicts.lower, verdicts.upper))
        texts = (said.texts(nothing="") for said in columns)
        yield from (f"{','.join(cells)}\n" for cells in zip(*numbers, codes, *bounds, *texts, strict=True))


def field_lines(report: Report) -> Iterator[str]:
    """A line for every field, as `Report.csv` has it."""
    return (_line(*cells) for cells in (COLUMNS, *(row.values() for row in report.rows())))


def _line(*cells: str) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(map(_plain, cells))
    return text.getvalue()


def _cell(name: str) -> str:
    """A name as a cell, which is looked at once instead of on every line."""
    return _line(name)[:-1]


def _plain(cell: str) -> str:
    """A spreadsheet must not take a name for a formula: text that begins like one gets an apostrophe before it.

    What would not be shown is written as an escape.
    """
    cell = visible(cell)
    if not cell.startswith(("=", "+", "-", "@")):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell
