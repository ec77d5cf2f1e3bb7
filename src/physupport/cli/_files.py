"""Text files and standard input, as the commands read them."""

import os
from pathlib import Path

import typer

from .._errors import MisuseError


def report_path(given: str) -> str:
    """A report, which may be named by its folder; - is standard input."""
    return str(Path(given) / "report.json") if given != "-" and os.path.isdir(given) else given


def project_path(given: Path) -> Path:
    """A project file, which may be named by its folder."""
    from ..project import PROJECT_FILE

    # Unlike the method of a path, this function takes a name that no file can have for what is not there.
    return given / PROJECT_FILE if os.path.isdir(given) else given


def read_text(name: str, path: str) -> str:
    """The text of a file; - is standard input."""
    if path == "-":
        return typer.get_text_stream("stdin").read()
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise MisuseError(f"{name} {path}", "be a readable text file", error) from None
