"""The details beside a report: all that a page or a picture shows, as one JSON document."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, Protocol, final, runtime_checkable

from .._codec import dumped, loaded
from .._errors import MisuseError
from .._files import write_whole
from .._hashes import content_hash
from ._diagnosis import outcome_notes
from ._words import plain

FORMAT = "physupport details"
VERSION = 3


@final
@dataclass(frozen=True, slots=True, eq=False)
class Details:
    """The document; no label depends on anything in it, and `report` names the report it belongs to."""

    document: dict[str, Any] = field(repr=False)

    def __post_init__(self) -> None:
        if self.document.get("format") != FORMAT or self.document.get("version") != VERSION:
            value = f"{self.document.get('format')!r}, version {self.document.get('version')!r}"
            raise MisuseError("document", f"be {FORMAT!r}, version {VERSION}", value, "Run the project again.")

    @classmethod
    def about(cls, report: str, **parts: Any) -> "Details":  # noqa: ANN401
        """The details with these parts; report: the hash of the document that they belong to."""
        return cls({"format": FORMAT, "version": VERSION, "report": report, **parts})

    @property
    def report(self) -> str:
        """The hash of the report's document."""
        return str(self.document["report"])

    @property
    def doubts(self) -> list[str]:
        """The evidence in the rows against the laws, on which every label rests."""
        return misfit_doubts(self.document)

    @property
    def notes(self) -> list[str]:
        """Why the outcome is what it is, with figures, and what would change it, beyond the report's own sentence."""
        return outcome_notes(self.document)

    def named(self, text: str) -> str:
        """A sentence about channels with what the rows call these, such as energies."""
        return axis_named(text, self.document)

    def __repr__(self) -> str:
        return f"Details({self.document.get('title') or 'untitled'}, of report {self.report[:16]})"

    def _repr_html_(self) -> str:
        """For notebooks: the outcome in words, what is left, and the measured row with its fits."""
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
            raise MisuseError("details", "be as they were written", "a content that does not match its hash")
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
        """All that is shown beside its report."""
