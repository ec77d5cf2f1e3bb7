"""The `physupport` program: its commands, its options and its exit codes.

Exit codes: 0, the command ran, whatever the data said; 1, a fault of the program, shown with its traceback, or a
published count that `reproduce` misses or a level that `coverage` finds broken; 2, misuse (an unknown option, or an
argument or a key of a project file that breaks a rule, or a standard output that is full or closed), told in one
message; 3, a report that `verify` or `show` refuses; 130, a `run` stopped by Ctrl-C before there was anything to
report; 143, a `run` stopped by SIGTERM.
"""

import warnings
from typing import Annotated

import typer

from .._errors import MisuseError, visible
from .._version import __version__
from ._streams import guard_streams

MISUSE, REFUSED = 2, 3

app = typer.Typer(
    no_args_is_help=True,
    # A fault of the program is reported as Python reports it: plain text that can be pasted into a bug report.
    pretty_exceptions_enable=False,
)


def exit_code(signal: int) -> int:
    """As shells count them."""
    return 128 + signal


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"physupport {__version__}")
        raise typer.Exit


@app.callback()
def _program(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Say the finest physical thing that the data allow, and no finer."""


def main() -> None:
    """Run the program; an argument that breaks a rule ends it with one message and exit code 2, no traceback."""
    # Arithmetic that overflows gives no number, which is told in a message; a warning before it helps nobody.
    guard_streams()
    warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"(physupport|numpy|scipy)\.")
    try:
        app(prog_name="physupport")
    except MisuseError as error:
        typer.echo(f"physupport: {visible(str(error))}", err=True)
        raise SystemExit(MISUSE) from None
