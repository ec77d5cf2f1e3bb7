"""Standard streams that are closed, or take nothing: told in one message, as of any other file."""

import os
import sys
from io import BufferedWriter, FileIO, TextIOWrapper
from typing import TYPE_CHECKING, TextIO

from .._errors import MisuseError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class _Output(FileIO):
    """Standard output: what it does not take is told, and told once."""

    is_lost = False

    def write(self, data: "ReadableBuffer", /) -> int:
        """Misuse, except where the reader has gone away, which is none; what comes after it is dropped."""
        if self.is_lost:
            return memoryview(data).nbytes
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            self.is_lost = True
            raise MisuseError("standard output", "take what is written to it", error.strerror) from None


class _Messages(FileIO):
    """Standard error: there is nowhere to tell what it does not take, and the exit code says enough."""

    def write(self, data: "ReadableBuffer", /) -> int:
        """Messages that are lost change nothing else."""
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError:
            return memoryview(data).nbytes


def guard_streams() -> None:
    """Let failing standard streams raise misuse, closed ones included; streams that a caller put there stay."""
    if sys.platform == "win32":  # consoles there have streams of their own kind
        return
    # What stands for a closed stream cannot be used the way that stream is, and keeps its number from other files.
    if sys.stdin is None:
        sys.stdin = open(os.open(os.devnull, os.O_WRONLY), encoding="utf-8")  # noqa: SIM115  as long as the program
    if sys.stdout is sys.__stdout__:
        sys.stdout = _guarded(_Output, sys.stdout)
    if sys.stderr is sys.__stderr__:
        sys.stderr = _guarded(_Messages, sys.stderr)


def _guarded(kind: type[FileIO], stream: TextIO | None) -> TextIOWrapper:
    if stream is None:
        return TextIOWrapper(BufferedWriter(kind(os.open(os.devnull, os.O_RDONLY), "w")), "utf-8")
    raw, is_lined = kind(stream.fileno(), "w", closefd=False), bool(stream.line_buffering)
    return TextIOWrapper(BufferedWriter(raw), stream.encoding, stream.errors, line_buffering=is_lined)
