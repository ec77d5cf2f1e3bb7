"""The values behind the options of `physupport plan`; what breaks a rule is refused by the name of its option."""

from pathlib import Path
from typing import TYPE_CHECKING

from .._errors import MisuseError
from ._text import check_ends

if TYPE_CHECKING:
    from ..local.shell import Amplitudes, LocalDictionary

# The calibration mixture has 2^(q + 1) components: one atom more takes about three times as long, eight some seconds.
MOST_ATOMS = 8

# Options by the arguments behind them.
OPTIONS = {
    "n_calibration": "--calibration",
    "n_deployment": "--deployment",
    "alpha_calibration": "--alpha",
    "alpha_deployment": "--alpha",
} | {name: f"--{name}" for name in ("p", "noise", "sigma", "support", "coefficients", "wanted", "dictionary")}


def read_dictionary(path: Path) -> "LocalDictionary":
    """A block and its separated atom from a text file, one atom a column."""
    import numpy as np

    from .._checks import check_unit_columns
    from ..local.shell import Block, Frame, LocalDictionary

    name = f"--dictionary {path}"
    table = np.array(_table(name, path))
    q, columns = table.shape
    if not 3 <= q <= MOST_ATOMS or columns != q + 1:
        rule = f"have q rows, 3 to {MOST_ATOMS}, and q + 1 columns, the separated atom last"
        raise MisuseError(name, rule, f"{q} rows and {columns} columns")
    table = check_unit_columns(name, table)
    frame = Frame.around(table[:, :-1])
    return LocalDictionary(Block.from_columns(frame, table[:, :-1]), table[:, -1])


def _table(name: str, path: Path) -> list[list[float]]:
    """The numbers of a text file, equally many in every row; blank lines and comments after # do not count."""
    check_ends(name, path)
    try:
        # Spreadsheets write a byte-order mark, which this encoding drops.
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise MisuseError(name, "be a readable file", error.strerror) from None
    except UnicodeDecodeError:
        raise MisuseError(name, "be a text file", "bytes that are not UTF-8") from None
    table: list[list[float]] = []
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].replace(",", " ").split()
        try:
            row = [float(word) for word in words]
        except ValueError:
            raise MisuseError(name, "hold numbers only", f"{line.strip()!r} in line {number}") from None
        if row and table and len(row) != len(table[0]):
            rule = f"have equally many numbers in every row, {len(table[0])} as in the first"
            raise MisuseError(name, rule, f"{len(row)} in line {number}")
        table += [row] if row else []
    if not table:
        raise MisuseError(name, "hold a table of numbers", "an empty file")
    return table


def check_active(r: int, support: str | None, q: int) -> tuple[int, ...]:
    """The active atoms of r coefficients: the first ones, unless given."""
    if not 2 <= r <= q - 1:
        raise MisuseError("--coefficients", f"be 2 to {q - 1} numbers for {q} atoms", r)
    if support is None:
        return tuple(range(r))
    active = numbers("--support", support)
    for j in active:
        if not j.is_integer():
            raise MisuseError("--support", "be whole numbers", repr(j))
    if len(active) != r:
        raise MisuseError("--support", f"hold as many atoms as --coefficients, {r}", len(active))
    return tuple(int(j) for j in active)


def amplitude_ranges(block: str, separated: str | None, r: int) -> "Amplitudes":
    """The ranges of the coefficients; that of the separated atom goes from one of the weakest to r of the strongest."""
    from .._checks import Interval
    from ..local.shell import Amplitudes

    low, high = _range("--amplitudes", block)
    rival = (low, r * high) if separated is None else _range("--separated", separated)
    return Amplitudes(Interval(low, high), Interval(*rival))


def _range(name: str, text: str) -> tuple[float, float]:
    ends = numbers(name, text)
    if len(ends) != 2 or not 0.0 < ends[0] <= ends[1] < float("inf"):
        raise MisuseError(name, "be two numbers LOW,HIGH with 0 < LOW <= HIGH", repr(text))
    return ends[0], ends[1]


def numbers(name: str, text: str) -> list[float]:
    """Numbers separated by commas."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise MisuseError(name, "be numbers separated by commas", repr(text)) from None


def rows(name: str, value: float) -> int:
    """A number of rows, which may be written like 1e6."""
    from ..local.rates import MOST_ROWS

    if not 1.0 <= value <= MOST_ROWS or not value.is_integer():
        raise MisuseError(name, f"be a whole number from 1 to {MOST_ROWS:.0e}".replace("e+", "e"), repr(value))
    return int(value)


def checked(name: str, value: float, lower: float, upper: float) -> float:
    """A number within closed bounds."""
    if not lower <= value <= upper:
        raise MisuseError(name, f"lie between {lower:g} and {upper:g}", repr(value))
    return value
