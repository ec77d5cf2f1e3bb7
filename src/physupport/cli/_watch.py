"""`physupport watch`: rows keep arriving in a file, and every look at them is valid."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from .._errors import MisuseError, visible
from ._app import app
from ._cells import Cells
from ._options import Trust
from ._progress import interruptible
from ._text import few, load_counted, show_lines, show_report

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_SECONDS_BETWEEN = 0.5
_MOST_IN_LINE = 4  # elements of a region that the line of a look names


@app.command()
def watch(
    rows: Annotated[
        str,
        typer.Argument(
            help="Text file that grows, one row of numbers a line; - is stdin. A complex channel is two columns, real "
            "and then imaginary part, or one, as 1+2j."
        ),
    ],
    project: Annotated[Path, typer.Option(help="The project file, or the folder with project.toml in it.")] = Path(
        "project.toml"
    ),
    look: Annotated[int, typer.Option(min=1, help="Rows between two looks.")] = 100,
    follow: Annotated[bool, typer.Option("--follow", help="Wait for more rows, until Ctrl-C.")] = False,
    trust: Trust = False,
) -> None:
    """Answer the question of a project while its deployment rows arrive, one line a look, and report at the end.

    The level holds for all looks together: what was rejected once stays rejected, and one may stop at any time.  The
    deployment file of the project is not read.  Rows have their columns in the order of the channels, between commas or
    blanks; each complex channel is two adjacent columns, re,im,re,im and so on, or one column as 1+2j, as the first row
    has it.  A first line without a number is a header.  The report says at its end if the rows do not fit the laws;
    no label depends on that.  Exit codes: 0, the rows have ended or Ctrl-C was pressed; 2, misuse.
    """
    loaded = load_counted(project, trust=trust)
    import numpy as np

    from ..analysis import begin_running, running_result
    from ..analysis.diagnose import running_details
    from ..project import assemble

    assembled = assemble(loaded)
    protocol, tables = assembled.protocol, assembled.tables
    calibration = tables.get("calibration")
    with assembled.named():
        proposed = None if calibration is None else protocol.propose("calibration", calibration.values)
        evidence, result, first = begin_running(protocol, proposed), None, _First()
        law = evidence.law
    try:
        with interruptible():
            for block in _blocks(rows, look, follow, law.width(evidence.bank), law.is_complex):
                read = np.array(block)
                evidence = evidence.after(read)
                first.add(read)
                result = running_result(protocol, evidence)
                told = "; ".join(
                    f"{found.field} {found.label} {few(found.cell, _MOST_IN_LINE)}" for found in result.report.fields
                )
                typer.echo(visible(f"{evidence.n_rows} rows: {told}"))
    except KeyboardInterrupt:
        typer.echo("Stopped.", err=True)
    if result is None:
        typer.echo("No row came, so there is nothing to report.", err=True)
        return
    typer.echo("")
    details = running_details(result, evidence, first.rows(), proposed)
    show_report(result.report, details)
    show_lines(details.notes)


_MOST_KEPT = 2**24  # numbers of rows that are kept for a look at their energy, 128 MiB: a stream may never end


class _First:
    """Whole blocks of rows as they come, until there is no room for the next; the first is always kept."""

    def __init__(self) -> None:
        self._blocks: list[NDArray[np.float64]] = []
        self._is_full = False

    def add(self, block: "NDArray[np.float64]") -> None:
        """Keep it, or none from here on."""
        held = sum(each.size for each in self._blocks)
        self._is_full = self._is_full or bool(held and held + block.size > _MOST_KEPT)
        if not self._is_full:
            self._blocks.append(block)

    def rows(self) -> "NDArray[np.float64]":
        """(n, width) all that are kept."""
        import numpy as np

        return np.concatenate(self._blocks)


def _blocks(
    name: str, size: int, follow: bool, width: int | None = None, is_complex: bool = False
) -> Iterator[list[list[float]]]:
    """Rows in blocks of this size, the last one shorter; a first line without a number is a header.

    width: real numbers of a row.  is_complex: whether they are pairs (Re, Im), which may be written as 1+2j, too.
    """
    cells, block, begin = Cells(name, width, is_complex), list[list[float]](), 0
    for number, line in enumerate(_lines(name, follow), 1):
        row = cells.row(number, line) if line.strip() else None
        if row is None:
            continue
        if block and len(row) != len(block[0]):
            rule = f"have {cells.count(block[0])} numbers in every line, as before"
            raise MisuseError(f"rows {name}", rule, f"{cells.count(row)} in line {number}")
        begin = begin if block else number
        block.append(row)
        if len(block) == size:
            cells.check(block[0], begin)
            yield block
            block = []
    if block:
        cells.check(block[0], begin)
        yield block


def _lines(name: str, follow: bool) -> Iterator[str]:
    """Whole lines, blank ones too, so that they can be counted; one that is still being written waits for its end."""
    is_stdin = name == "-"
    try:
        file = sys.stdin if is_stdin else open(name, encoding="utf-8")  # noqa: SIM115  closed below, after the last line
    except OSError as error:
        raise MisuseError(f"rows {name}", "be a readable file", error.strerror) from None
    try:
        yield from _growing(name, file, follow and not is_stdin)
    except OSError as error:
        raise MisuseError(f"rows {name}", "be a readable file", error.strerror) from None
    except UnicodeDecodeError:
        raise MisuseError(f"rows {name}", "be text, one row of numbers a line", "another kind of file") from None
    finally:
        if not is_stdin:
            file.close()


_LONGEST = 2**24  # characters of a line: a device may never end one


def _growing(name: str, file: TextIO, follow: bool) -> Iterator[str]:
    rest = ""
    while True:
        line = file.readline(_LONGEST)
        rest += line
        if len(rest) >= _LONGEST:
            raise MisuseError(f"rows {name}", f"be lines of fewer than {_LONGEST:,} characters", "a longer one")
        if rest.endswith("\n") or (not line and rest and not follow):
            yield rest
            rest = ""
        elif not line:
            if not follow:
                return
            time.sleep(_SECONDS_BETWEEN)
