"""The `physupport` program: how commands are registered, the options they share, its streams and its exit codes.

Exit codes: 0, the command ran, whatever the data said; 1, a fault of the program, shown with its traceback, or a
published count that `reproduce` misses or a level that `coverage` finds broken; 2, misuse (an unknown option, or an
argument or a key of a project file that breaks a rule, or a standard output that is full or closed), told in one
message; 3, a report that `verify` or `show` refuses; 4, `reproduce` misses only what the paper's own seeds contradict;
130, a `run` stopped by Ctrl-C before there was anything to report; 143, a `run` stopped by SIGTERM.
"""

import os
import sys
import warnings
from collections.abc import Callable, Mapping
from functools import wraps
from io import BufferedWriter, FileIO, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from .._errors import MisuseError, misuse_named, visible
from .._version import __version__

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

DIFFERS = 1
MISUSE = 2
REFUSED = 3
DIFFERS_AS_KNOWN = 4  # only in statements that the paper's own seeds contradict

PROJECT_FILE = Path("project.toml")
_PROJECT = "The project file, or the folder with project.toml in it."
_TRUST = "Allow the project to reach outside its folder, and to name a Python function, which is then run."
_THREADS = "Threads; all cores unless given. No number depends on it."

ProjectArgument = Annotated[Path, typer.Argument(help=_PROJECT)]
ProjectOption = Annotated[Path, typer.Option(help=_PROJECT)]
Trust = Annotated[bool, typer.Option("--trust", help=_TRUST)]
Threads = Annotated[int | None, typer.Option(help=_THREADS)]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print no progress and no result, only errors.")]

app = typer.Typer(
    no_args_is_help=True,
    # A fault of the program is reported as Python reports it: plain text that can be pasted into a bug report.
    pretty_exceptions_enable=False,
)


def register(command: Callable[..., None], options: Mapping[str, str], name: str | None = None) -> None:
    """Add a command; misuse of an argument is reported under the option that set it.

    options: option by argument; a key of the project file that an option overrides is written `override key`.
    """

    @wraps(command)
    def called(*arguments: Any, **values: Any) -> None:  # noqa: ANN401
        with misuse_named(lambda argument: options.get(argument, argument)):
            command(*arguments, **values)

    app.command(name)(called)


def exit_code(signal: int) -> int:
    """The exit code of a program that a signal ended, as shells count."""
    return 128 + signal


def use_threads(count: int | None, option: str) -> None:
    """Set the threads of the kernels before they start, or within what they started with."""
    # Before NumPy is loaded: its products are small here, and threads of its own would only wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if count is None:
        return
    if count < 1:
        raise MisuseError(option, "be a whole number at least 1", count)
    if "numba" not in sys.modules:
        os.environ["NUMBA_NUM_THREADS"] = str(count)
        return
    import numba

    most = int(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
    if count > most:
        raise MisuseError(option, f"be at most the {most} threads that this process has", count)
    numba.set_num_threads(count)


class _Stream(FileIO):
    """A standard stream: the first failure to write to standard output is misuse; messages that are lost are not."""

    is_lost = False
    is_output = True

    def write(self, data: "ReadableBuffer", /) -> int:
        """Write; a reader that has gone away is no misuse, and after a failure everything is dropped."""
        if not self.is_lost:
            try:
                return super().write(data)
            except BrokenPipeError:
                raise
            except OSError as error:
                self.is_lost = True
                if self.is_output:
                    raise MisuseError("standard output", "take what is written to it", error.strerror) from None
        return memoryview(data).nbytes


def _guard_streams() -> None:
    """Let failing standard streams raise misuse, closed ones included; streams that a caller put there stay."""
    if sys.platform == "win32":  # consoles there have streams of their own kind
        return
    # What stands for a closed stream cannot be used the way that stream is, and keeps its number from other files.
    if sys.stdin is None:
        sys.stdin = open(os.open(os.devnull, os.O_WRONLY), encoding="utf-8")  # noqa: SIM115  as long as the program
    if sys.stdout is sys.__stdout__:
        sys.stdout = _guarded(sys.stdout, is_output=True)
    if sys.stderr is sys.__stderr__:
        sys.stderr = _guarded(sys.stderr, is_output=False)


def _guarded(stream: TextIO | None, *, is_output: bool) -> TextIOWrapper:
    if stream is None:
        raw = _Stream(os.open(os.devnull, os.O_RDONLY), "w")
        guarded = TextIOWrapper(BufferedWriter(raw), "utf-8")
    else:
        raw = _Stream(stream.fileno(), "w", closefd=False)
        is_lined = bool(stream.line_buffering)
        guarded = TextIOWrapper(BufferedWriter(raw), stream.encoding, stream.errors, line_buffering=is_lined)
    raw.is_output = is_output
    return guarded


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
    _guard_streams()
    # Arithmetic that overflows gives no number, which is told in a message; a warning before it helps nobody.
    warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"(physupport|numpy|scipy)\.")
    try:
        app(prog_name="physupport")
    except MisuseError as error:
        typer.echo(f"physupport: {visible(str(error))}", err=True)
        raise SystemExit(MISUSE) from None
