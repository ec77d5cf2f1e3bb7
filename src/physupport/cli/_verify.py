"""`physupport verify`: a second opinion on a saved report."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .._errors import MisuseError
from ._app import app

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

REFUSED = 3


@app.command()
def verify(
    report: Annotated[str, typer.Argument(help="A saved report (JSON); - reads it from standard input.")],
    data: Annotated[
        list[Path] | None,
        typer.Option(help="An .npz file with the table of rows of each stream under its name; may be given again."),
    ] = None,
    protocol: Annotated[
        str | None, typer.Option(help="The hash of the protocol, as it was known before the data were read.")
    ] = None,
) -> None:
    """Derive every label of a report again from its trace, and, with data, score every verdict again.

    Exit codes: 0, verified; 3, refused, one line for each finding; 2, misuse.
    """
    from ..verify import verify as check

    found = check(_text(report), _tables(data) if data else None, protocol=protocol)
    for line in found.findings:
        typer.echo(f"refused: {line}", err=True)
    for line in found.notes:
        typer.echo(f"note: {line}", err=True)
    if not found.is_verified:
        raise typer.Exit(REFUSED)
    typer.echo("verified: every label follows from the trace" + (", every verdict from the rows." if data else "."))


def _text(path: str) -> str:
    if path == "-":
        return typer.get_text_stream("stdin").read()
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise MisuseError(f"report {path}", "be a readable text file", error) from None


def _tables(paths: list[Path]) -> "dict[str, NDArray[np.generic]]":
    from zipfile import BadZipFile

    import numpy as np

    tables: dict[str, NDArray[np.generic]] = {}
    for path in paths:
        try:
            with np.load(path, allow_pickle=False) as archive:
                found = {name: archive[name] for name in archive.files}
        except (OSError, ValueError, AttributeError, BadZipFile) as error:
            raise MisuseError(f"data {path}", "be an .npz file of tables", error) from None
        for name, table in found.items():
            if name in tables or table.ndim != 2 or table.dtype.kind not in "fiu":
                raise MisuseError(f"data {path}", "hold a table of real numbers once for each stream", repr(name))
            tables[name] = table
    return tables
