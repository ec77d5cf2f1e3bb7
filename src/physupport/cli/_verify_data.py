"""The rows that `physupport verify` scores again: from an archive, from files by stream, or as a project says."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._errors import MisuseError
from ._files import project_path

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..project import Project

    Rows = NDArray[np.generic]


def read_data(report: str, data: list[str] | None, project: Path | None) -> "dict[str, Rows]":
    """The table of each stream by name, complex numbers as pairs (Re, Im)."""
    tables: dict[str, Rows] = {} if project is None else _project_rows(project)
    for given in data or ():
        name, _, path = given.partition("=")
        found = {name: _stream_rows(report, name, path)} if path else _archive_rows(Path(given))
        for stream, table in found.items():
            if stream in tables:
                raise MisuseError(f"data {given}", "name each stream once", repr(stream))
            tables[stream] = table
    for name in _declared_shapes(report):
        if name not in tables:
            option = "--data" if project is None else "--project"
            raise MisuseError(option, f"give the rows of every stream of the report, also of {name}", "none of it")
    return tables


def project_notes(report: str, path: Path) -> tuple[str, ...]:
    """Where a report that was verified was made otherwise than a project file says."""
    from ..project import protocol_notes

    return protocol_notes(_project(path), json.loads(report)["protocol"])


def _project_rows(path: Path) -> "dict[str, Rows]":
    from ..project import read_tables

    return {name: _real(table.values) for name, table in read_tables(_project(path)).items()}


def _project(path: Path) -> "Project":
    from ..project import load_project

    return load_project(project_path(path))


def _stream_rows(report: str, name: str, path: str) -> "Rows":
    """The table in a file, turned so that its rows are those of the report; hashes decide whether they are."""
    from ..io import read_array

    values = read_array(path)
    if values.ndim != 2:
        raise MisuseError(f"data {name}={path}", "have two axes, rows and channels", f"shape {values.shape}")
    declared = _declared_shapes(report).get(name)
    upright, turned = _real(values), _real(values.T)
    if declared == upright.shape == turned.shape:
        remedy = "Give --project, which says, or an .npz file of tables by stream, in which rows come first."
        raise MisuseError(
            f"data {name}={path}", "tell its rows from its channels by their numbers", f"shape {values.shape}", remedy
        )
    return turned if declared == turned.shape else upright


def _declared_shapes(report: str) -> dict[str, tuple[int, int]]:
    """What the report says of its streams, if it says anything; whether it is sound is for the verification to say."""
    try:
        streams: Any = json.loads(report)["protocol"]["streams"]
        return {str(each["name"]): (each["rows"], each["width"]) for each in streams}
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}


def _archive_rows(path: Path) -> "dict[str, Rows]":
    from ..io import read_archive

    if path.suffix.lower() != ".npz":
        remedy = "Other files are given by stream, as calibration=FILE."
        raise MisuseError(f"data {path}", "be an .npz file of tables", repr(path.suffix), remedy)
    found = read_archive(path, "data")
    for name, table in found.items():
        if table.ndim != 2 or table.dtype.kind not in "fiuc":
            raise MisuseError(f"data {path}", "hold a table of numbers for each stream", repr(name))
    return {name: _real(table) for name, table in found.items()}


def _real(values: "Rows") -> "Rows":
    from ..io import as_pairs

    return as_pairs(values) if values.dtype.kind == "c" else values
