"""Lines of text as rows of numbers: real ones, or complex ones as pairs or as 1+2j."""

from math import isfinite
from typing import NoReturn

import typer

from .._errors import MisuseError, visible

_NUMBERS = "be numbers between commas"
_MOST_SHOWN = 80  # characters of a line in a message


class Cells:
    """How lines are read: the first row decides whether complex numbers are pairs of columns or cells such as 1+2j."""

    def __init__(self, name: str, width: int | None = None, is_complex: bool = False) -> None:
        self._name, self._width, self._is_complex = f"rows {name}", width, is_complex
        self._may_name = True  # whether a header may come
        self._is_joined: bool | None = None  # whether a cell is a complex number; None before the first row

    def row(self, number: int, line: str) -> list[float] | None:
        """The numbers of a line, complex ones as pairs; None of a header, which is told."""
        from ..io._csv import read_pairs, read_reals

        text = line.removeprefix("\ufeff") if self._may_name else line
        cells = text.replace(",", " ").split()
        if self._may_name:
            self._may_name = False
            if self._is_header(number, text):
                return None
        if self._is_joined is None:
            self._begin(cells)
        try:
            row = read_pairs(cells) if self._is_joined else read_reals(cells)
        except ValueError:
            self._refuse(number, cells)
        if not row:
            raise MisuseError(self._name, _NUMBERS, f"none in line {number}")
        self._check_finite(number, row)
        return row

    def _refuse(self, number: int, cells: list[str]) -> NoReturn:
        """Name the cell that is no number, or no real one."""
        from ..io._csv import is_number

        odd, rule = next((cell for cell in cells if not is_number(cell)), None), _NUMBERS
        if odd is None:
            odd = next(cell for cell in cells if "j" in cell.lower())
            rule = "have complex numbers as 1+2j in all lines or in none" if self._is_complex else "be real numbers"
        raise MisuseError(self._name, rule, f"{_cut(odd)!r} in line {number}") from None

    def _is_header(self, number: int, text: str) -> bool:
        """Whether no cell of the first line is a number; one with some that are and some that are not is damaged."""
        from ..io._csv import is_number

        cells = [cell for cell in (text.split(",") if "," in text else text.split()) if cell.strip()]
        if not cells or any(map(is_number, cells)):
            return False
        told = visible(f"{self._name}: line {number} is taken for a header: {_cut(text.strip())}")
        typer.echo(f"note: {told}", err=True)
        return True

    def _begin(self, cells: list[str]) -> None:
        """Say how complex rows are read, which the columns do not tell by themselves."""
        self._is_joined = self._is_complex and any("j" in cell.lower() for cell in cells)
        if self._is_complex and self._width is not None:
            how = "each as one column, such as 1+2j" if self._is_joined else "each as two columns: real, imaginary"
            typer.echo(visible(f"read: {self._name}: {self._width // 2} channels, {how}"), err=True)

    def count(self, row: list[float]) -> int:
        """Columns of a row."""
        return len(row) // 2 if self._is_joined else len(row)

    def _check_finite(self, number: int, row: list[float]) -> None:
        if not all(map(isfinite, row)):
            place = next(i for i, value in enumerate(row) if not isfinite(value))
            column = (place // 2 if self._is_joined else place) + 1
            raise MisuseError(self._name, "be finite", f"{row[place]} in line {number}, column {column}")

    def check(self, row: list[float], number: int) -> None:
        """Refuse a row of another width than the bank describes."""
        if self._width is None or len(row) == self._width:
            return
        rule = f"have {self._width} columns, one for each channel"
        if self._is_complex:
            half = self._width // 2
            rule = f"have {self._width} columns: real and imaginary part of {half} channels, or {half} as 1+2j"
        raise MisuseError(self._name, rule, f"{self.count(row)} in line {number}")


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 3]}..."
