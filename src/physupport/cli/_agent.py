"""`physupport agent`: three tools for programs that reason, over standard input and output or on this machine alone."""

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from .. import analysis, project as projects, report as reports, verify as verifier
from .._errors import Clause, MisuseError
from . import _later
from ._app import use_threads

_PORT = "Serve streamable HTTP at 127.0.0.1 and this port, instead of standard input and output."
_FOLDER = "Folder that the tools may read; nothing outside of it is opened, and nothing is written."
_LOOPBACK = "127.0.0.1"


def agent(
    folder: Annotated[Path, typer.Argument(help=_FOLDER)] = Path(),
    port: Annotated[int | None, typer.Option(min=1, max=65535, help=_PORT)] = None,
) -> None:
    """Serve the tools identify, verify and next by the Model Context Protocol; needs the extra `agent`.

    Standard input and output are the default, the loopback address the only other way.  Every answer says what may be
    said word for word, at which level, and what may not.  Exit codes: 0; 2, misuse.
    """
    use_threads(None, "--workers")
    try:
        made = import_module("mcp.server.mcpserver").MCPServer("physupport")
    except ImportError:
        remedy = 'Install it with pip install "physupport[agent]".'
        raise MisuseError(
            "agent", "have the package mcp, version 2 or newer", Clause("it is not installed"), remedy
        ) from None
    for tool in tools(folder):
        made.add_tool(_answering(tool))
    if port is None:
        made.run("stdio")
    else:
        made.run("streamable-http", host=_LOOPBACK, port=port)


def _answering(tool: "Callable[..., dict[str, Any]]") -> "Callable[..., dict[str, Any]]":
    """The same tool; misuse is an answer, so that who asked can do better."""

    @wraps(tool)
    def called(*arguments: Any, **values: Any) -> dict[str, Any]:  # noqa: ANN401
        try:
            return tool(*arguments, **values)
        except MisuseError as error:
            return {"error": str(error)}

    return called


def tools(folder: Path) -> "tuple[Callable[..., dict[str, Any]], ...]":
    """The three tools, which read nothing outside of a folder."""
    root = folder.resolve()

    def within(name: str) -> Path:
        path = (root / name).resolve()
        if not path.is_relative_to(root):
            raise MisuseError("file", f"lie in {root}", repr(name))
        return path

    def identify(file: str, nuclides: list[str] | None = None) -> dict[str, Any]:
        """Answer a project file (or its folder), or identify nuclides in a gamma spectrum.

        Say only what stands under "claims", word for word with its level; nothing under "not supported" may be said.
        """
        path = within(file)
        if path.is_dir() or path.suffix == ".toml":
            return reports.short_answer(_analysed(path).report)
        return reports.short_answer(projects.identify_nuclides(path, nuclides=tuple(nuclides or ())))

    def verify(report: str, rows: dict[str, str] | None = None) -> dict[str, Any]:
        """Check a saved report.json; rows: files of rows by stream, from which every verdict is scored again."""
        tables = {name: _later.io.read_array(str(within(file))) for name, file in (rows or {}).items()}
        found = verifier.verify(within(report), tables or None)
        content = {"verified": found.is_verified, "rows scored": found.are_verdicts_scored}
        return content | {"findings": list(found.findings), "notes": list(found.notes)}

    def next_(project: str) -> dict[str, Any]:
        """Say which measurement that a project file offers in [[next]] decides the open label at least cost."""
        assembled = projects.assemble(projects.load_project(_file(within(project))))
        result = analysis.analyse(assembled.protocol, assembled.tables)
        answer = result.next(projects.candidates(assembled))
        return {"measurement": answer.measurement, "sentence": answer.sentence}

    next_.__name__ = "next"
    return identify, verify, next_


def _file(path: Path) -> Path:
    return path / "project.toml" if path.is_dir() else path


def _analysed(path: Path) -> "analysis.Result":
    assembled = projects.assemble(projects.load_project(_file(path)))
    return analysis.analyse(assembled.protocol, assembled.tables)
