"""A report: what may be said, why, and everything needed to check it without the program that wrote it."""

import csv
import io
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, final

from .._codec import bound_json, dumped, loaded
from ..questions import Label
from ._schema import check_document, document_hash
from ._sentences import field_sentences, outcome_sentence

COLUMNS = ("field", "label", "cell", "group", "certificate", "witnesses", "excluded", "margin", "sentence")


@final
@dataclass(frozen=True, slots=True)
class FieldReport:
    """What is said of one field and what forces it."""

    field: str
    label: Label
    sentence: str
    cell: tuple[str, ...]
    group: str | None
    numbers: dict[str, float]
    certificate: str  # universal, witnesses or open
    witnesses: tuple[int, ...]  # retained explanations that force the label, or that keep a GROUP from being finer
    excluded: int | None  # the nearest rejected explanation that would change a universal label
    margin: tuple[float, float] | None  # bounds of its margin


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
        """REPORT, EMPTY or ABSTAIN."""
        return str(self.document["outcome"]["status"])

    @property
    def sentence(self) -> str:
        """The outcome as a whole, in words."""
        return outcome_sentence(self.document)

    @property
    def level(self) -> float:
        """The probability alpha with which the truth may be rejected."""
        return float(self.document["protocol"]["level"])

    @property
    def queries(self) -> int:
        """How many explanations were asked about."""
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
        """Whether the content has the hash that was written with it; only `verify` finds who changed both."""
        return document_hash(self.document) == self.digests["document"]

    @property
    def versions(self) -> dict[str, str]:
        """Of the programs that made the report; no claim depends on them."""
        return dict(self.document["program"])

    @property
    def fields(self) -> tuple[FieldReport, ...]:
        """One for each field of the question."""
        sentences = field_sentences(self.document)
        return tuple(_field(entry, said) for entry, said in zip(self.document["fields"], sentences, strict=True))

    def rows(self) -> list[dict[str, str]]:
        """The table: a row for each field, all entries as text."""
        return [_row(field) for field in self.fields]

    def csv(self) -> str:
        """The table as comma-separated text with a line of names."""
        text = io.StringIO()
        writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows())
        return text.getvalue()

    def text(self) -> str:
        """A sentence for each field, the outcome, and how it was found."""
        return "\n".join([*(field.sentence for field in self.fields), self.sentence, self._footing()])

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        heads = "".join(f"<th>{name}</th>" for name in COLUMNS)
        lines = ["".join(f"<td>{escape(row[name])}</td>" for name in COLUMNS) for row in self.rows()]
        body = "".join(f"<tr>{line}</tr>" for line in lines)
        table = f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
        return f"<div><p>{escape(self.sentence)}</p>{table}<p>{escape(self._footing())}</p></div>"

    def _footing(self) -> str:
        outcome, size = self.document["outcome"], self.document["protocol"]["size"]
        return (
            f"Level {self.level!r}; {self.queries} of {size} explanations asked about (budget {outcome['budget']}), "
            f"{outcome['witnessed']} admissible, {outcome['possible']} possible; seed {self.seed}; "
            f"report {self.digests['document'][:16]}."
        )

    def json(self) -> str:
        """The document as strict JSON; docs/report-format.md says what is where."""
        return dumped(self.document)

    def save(self, path: str | Path) -> None:
        """Write the JSON."""
        Path(path).write_text(self.json(), encoding="utf-8", newline="\n")

    @classmethod
    def from_json(cls, text: str) -> "Report":
        """Read the JSON."""
        return cls(loaded(text))

    @classmethod
    def load(cls, path: str | Path) -> "Report":
        """Read a file that `save` wrote."""
        return cls.from_json(Path(path).read_text(encoding="utf-8"))


def _field(entry: dict[str, Any], sentence: str) -> FieldReport:
    excluded = entry["excluded"]
    return FieldReport(
        field=entry["field"],
        label=Label(entry["label"]),
        sentence=sentence,
        cell=tuple(entry["cell"]),
        group=entry["group"],
        numbers=dict(entry["numbers"]),
        certificate=entry["certificate"],
        witnesses=tuple(witness["explanation"] for witness in entry["witnesses"]),
        excluded=None if excluded is None else excluded["explanation"],
        margin=None if excluded is None else (float(excluded["margin"][0]), float(excluded["margin"][1])),
    )


def _row(entry: FieldReport) -> dict[str, str]:
    lower = None if entry.margin is None else bound_json(entry.margin[0])
    values = {
        "field": entry.field,
        "label": str(entry.label),
        "cell": "; ".join(entry.cell),
        "group": entry.group or "",
        "certificate": entry.certificate,
        "witnesses": " ".join(map(str, entry.witnesses)),
        "excluded": "" if entry.excluded is None else str(entry.excluded),
        "margin": "" if lower is None else str(lower),
        "sentence": entry.sentence,
    }
    return {name: values[name] for name in COLUMNS}
