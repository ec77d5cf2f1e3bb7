"""What a page says, whichever version made it: the labels that it shows, and the facts that it holds as JSON."""

import json
from html.parser import HTMLParser
from typing import Any

from .._errors import visible
from .._stored import Node

_FACTS = ("fields", "outcome", "digests")  # parts of the report that a page holds


def shows(page: str, document: Node) -> bool:
    """Whether a page has the status and, field by field, the name and the label of a report, and its facts.

    Its sentences and pictures are not looked at: words are those of the version that made them.
    """
    seen = _Seen()
    seen.feed(page)
    seen.close()
    fields, status = document["fields"], document["outcome"]["status"]
    labels = [str(field["label"]) for field in fields]
    if not labels == seen.labels == seen.words or len(seen.names) != len(fields):
        return False
    named = zip(fields, seen.names, strict=True)
    are_named = all(f" {name}".endswith(f" {visible(field['field'])}") for field, name in named)
    are_known = seen.status == [status] and {*seen.others} <= {status, *labels}
    return are_named and are_known and seen.facts == {name: document[name] for name in _FACTS}


class _Seen(HTMLParser):
    """Texts of the page by where they stand."""

    def __init__(self) -> None:
        super().__init__()
        self.labels: list[str] = []  # as attributes, by which a page is coloured ...
        self.words: list[str] = []  # ... and as words, of the fields,
        self.status: list[str] = []  # of the outcome,
        self.others: list[str] = []  # and anywhere else
        self.names: list[str] = []
        self.data: list[str] = []
        self._places = {"label": self.words, "status": self.status, "": self.others}
        self._paragraph = ""
        self._into: list[str] | None = None

    @property
    def facts(self) -> dict[str, Any] | None:
        """The parts of the report that the page holds; None if there is not one readable object that has them."""
        try:
            (text,) = self.data
            held = json.loads(text)
            return {name: held[name] for name in _FACTS}
        except (ValueError, LookupError, TypeError, RecursionError):
            return None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Where the text that follows belongs."""
        found = dict(attrs)
        kind = found.get("class") or ""
        if tag == "p":
            self._paragraph = kind if kind in self._places else ""
        if "data-label" in found:
            self.labels.append(found["data-label"] or "")
        if tag == "script" and found.get("id") == "data":
            self._begin(self.data)
        elif tag == "span" and kind == "word":
            self._begin(self._places[self._paragraph])
        elif tag == "span" and kind == "name":
            self._begin(self.names)

    def handle_endtag(self, tag: str) -> None:
        """A word may hold tags of its own, but no span."""
        if tag in ("span", "script"):
            self._into = None
        if tag == "p":
            self._paragraph = ""

    def handle_data(self, data: str) -> None:
        """A text may come in pieces."""
        if self._into is not None:
            self._into[-1] += data

    def _begin(self, into: list[str]) -> None:
        into.append("")
        self._into = into
