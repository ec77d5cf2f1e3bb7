"""Text files and standard input, as the commands read them."""

from pathlib import Path

import typer

from .._errors import MisuseError


def read_text(name: str, path: str) -> str:
    """The text of a file; - is standard input."""
    if path == "-":
        return typer.get_text_stream("stdin").read()
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise MisuseError(f"{name} {path}", "be a readable text file", error) from None
