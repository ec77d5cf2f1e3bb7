"""What a study found, next to what the paper printed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, final

from .._errors import MisuseError

if TYPE_CHECKING:
    from ._case import Reported

# Residuals of a few products of numbers near 1 in float64; any value below says "zero up to rounding".
ROUNDING_LEVEL = 1e-13

# Half a unit in the last printed digit, with room for writing that bound itself in binary.
_ROOM = 1.0 + 1e-9


@final
@dataclass(frozen=True, slots=True)
class Line:
    """One printed statement of the paper and the same statement computed here."""

    name: str
    published: str
    here: str
    agrees: bool
    note: str = ""
    is_known: bool = False  # a difference that the paper's own seeds show: told as one, and no failure of a run

    @property
    def is_met(self) -> bool:
        """Whether the statement agrees, or differs as it is known to."""
        return self.agrees or self.is_known


@final
@dataclass(frozen=True, slots=True)
class Outcome:
    """All that a study gives: its comparison with the paper, its numbers, its tables, the names of its figures."""

    study: str
    lines: tuple[Line, ...]
    summary: Mapping[str, object]  # strict JSON: plain numbers, words, lists and mappings, all finite
    tables: Mapping[str, Sequence[Mapping[str, object]]] = field(default_factory=dict)  # name of the CSV -> its rows
    figures: tuple[str, ...] = ()  # names without ending; each is drawn as PNG and as PDF

    def __post_init__(self) -> None:
        for name, rows in self.tables.items():
            if not rows or any(list(row) != list(rows[0]) for row in rows):
                raise MisuseError(f"table {name}", "have rows, all with the same columns in the same order", len(rows))

    @property
    def agrees(self) -> bool:
        """Whether every published statement is met, or differs as it is known to."""
        return all(line.is_met for line in self.lines)


Progress = Callable[[int, int], None]  # hears (steps done, steps in all)


class Study(Protocol):
    """A module that runs one study of the paper and draws its figures."""

    @staticmethod
    def run(jobs: int, progress: Progress | None) -> Outcome:
        """The study from its seeds; the outcome does not depend on jobs."""
        ...

    @staticmethod
    def compare(outcome: Outcome, jobs: int, progress: Progress | None) -> Outcome:
        """The outcome with what another judge says of the same data; only of studies that judge a bank."""
        ...

    @staticmethod
    def draw(folder: Path) -> list[Path]:
        """Figures, as PNG and PDF, from the summary and the tables in the folder, into the folder."""
        ...

    @staticmethod
    def reports(seeds: Sequence[tuple[int, int]], jobs: int, progress: Progress | None) -> "list[Reported]":
        """Reports on fresh data, scenes in turn, from seeds of data and split; only of studies that report."""
        ...


def number_line(name: str, published: str, value: float) -> Line:
    """A printed decimal: agrees within half a unit of its last digit.

    >>> number_line("slope", "5.94", 5.9355).agrees, number_line("slope", "5.94", 5.9349).agrees
    (True, False)
    """
    exponent = Decimal(published).as_tuple().exponent
    decimals = -exponent if isinstance(exponent, int) else 0
    # Two more digits than printed, so that a close call can be judged by eye.
    here = f"{value:.{max(decimals, 0) + 2}f}"
    return Line(name, published, here, abs(value - float(published)) <= 0.5 * 10.0**-decimals * _ROOM)


def range_line(name: str, published: tuple[str, str], value: tuple[float, float]) -> Line:
    """A printed range: agrees where both of its ends do."""
    ends = [number_line(name, printed, end) for printed, end in zip(published, value, strict=True)]
    shown = [f"[{', '.join(texts)}]" for texts in (published, [end.here for end in ends])]
    return Line(name, shown[0], shown[1], all(end.agrees for end in ends))


def rounding_line(name: str, published: str, value: float) -> Line:
    """A printed residual at rounding level: agrees with every value at that level."""
    return Line(name, published, f"{value:.1e}", abs(value) < ROUNDING_LEVEL, "Any value at rounding level agrees.")


def judges_line(name: str, shown: Mapping[str, str], note: str = "") -> Line:
    """What simulation leaves beside what evidence, the judge of the paper, does; there is nothing to agree with."""
    evidence, simulation = (f"{shown[judge]} by {judge}" for judge in ("evidence", "simulation"))
    return Line(name, evidence, simulation, True, note)


# Stands with the first of these lines.
JUDGES_NOTE = "The judge of the paper, evidence, remains the default of this study."


def word_line(name: str, published: str, here: str, note: str = "") -> Line:
    """A printed count, fraction or word: agrees when it reads the same.

    >>> word_line("A fine", "10/11", f"{10}/{11}").agrees
    True
    """
    return Line(name, published, here, published == here, note)
