"""What explanations are measured against: a law fixed on proposal rows, as numerator of the evidence."""

from dataclasses import dataclass
from typing import Protocol, Self, final

from .._stored import Refusal, check_form
from ..io import RowSource
from ._base import Stream


class Opponent(Protocol):
    """A density that may be the numerator of evidence."""

    @property
    def is_of_bank(self) -> bool:
        """Whether bank and proposal rows give it again."""

    def numerator(self, denominator: Stream, rows: RowSource) -> tuple[Stream, int]:
        """A stream over held-out rows and the key in it; denominator: that of the explanations over these rows."""

    def encode(self) -> dict[str, object]:
        """Its only entry says which kind it is."""

    def agrees(self, other: "Opponent") -> bool:
        """Whether another is the same law, up to the rounding of another machine."""


@final
@dataclass(frozen=True, slots=True)
class BankKey:
    """A law of the bank."""

    key: int

    @property
    def is_of_bank(self) -> bool:
        """Yes."""
        return True

    def numerator(self, denominator: Stream, rows: RowSource) -> tuple[Stream, int]:  # noqa: ARG002
        """The stream of the explanations itself."""
        return denominator, self.key

    def encode(self) -> dict[str, object]:
        """By its number."""
        return {"key": self.key}

    @classmethod
    def decode(cls, node: object, where: str) -> Self:
        """What `encode` wrote under `key`."""
        check_form(node, int, f"{where}.key")
        key = int(str(node))
        if key < 0:
            raise Refusal(f"{where} lies outside the bank")
        return cls(key)

    def agrees(self, other: Opponent) -> bool:
        """The same key."""
        return self == other
