"""The rows that `physupport verify` scores again: from an archive, from files by stream, or as a project says."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._errors import MisuseError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Rows = NDArray[np.generic]


def read_data(report: str, data: list[str] | None, project: Path | None) -> "dict[str, Rows]":
    """The table of each stream by name, complex numbers as pairs (Re, Im)."""
    if project is not None:
        return _project_rows(project)
    tables: dict[str, Rows] = {}
    for given in data or ():
        name, _, path = given.partition("=")
        found = {name: _stream_rows(report, name, path)} if path else _archive_rows(Path(given))
        for stream, table in found.items():
            if stream in tables:
                raise MisuseError(f"data {given}", "name each stream once", repr(stream))
            tables[stream] = table
    return tables


def _project_rows(path: Path) -> "dict[str, Rows]":
    from ..workflow import PROJECT_FILE, load_project, read_tables

    project = load_project(path / PROJECT_FILE if path.is_dir() else path)
    return {name: _real(table.values) for name, table in read_tables(project).items()}


def _stream_rows(report: str, name: str, path: str) -> "Rows":
    """The table in a file, turned so that its rows are those of the report; hashes decide whether they are."""
    from ..io import read_array

    values = read_array(path)
    if values.ndim != 2:
        raise MisuseError(f"data {name}={path}", "have two axes, rows and channels", f"shape {values.shape}")
    declared = _declared_shape(report, name)
    upright, turned = _real(values), _real(values.T)
    return turned if declared == turned.shape and declared != upright.shape else upright


def _declared_shape(report: str, name: str) -> tuple[int, int] | None:
    """What the report says of a stream, if it says anything; whether it is sound is for the verification to say."""
    try:
        streams: Any = json.loads(report)["protocol"]["streams"]
        return next((each["rows"], each["width"]) for each in streams if each["name"] == name)
    except (ValueError, KeyError, TypeError, StopIteration):
        return None


def _archive_rows(path: Path) -> "dict[str, Rows]":
    from zipfile import BadZipFile

    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as archive:
            found = {name: archive[name] for name in archive.files}
    except (OSError, ValueError, AttributeError, BadZipFile) as error:
        remedy = "Other files are given by stream, as calibration=FILE."
        raise MisuseError(f"data {path}", "be an .npz file of tables", error, remedy) from None
    for name, table in found.items():
        if table.ndim != 2 or table.dtype.kind not in "fiuc":
            raise MisuseError(f"data {path}", "hold a table of numbers for each stream", repr(name))
    return {name: _real(table) for name, table in found.items()}


def _real(values: "Rows") -> "Rows":
    from ..retain.streams import as_pairs

    return as_pairs(values) if values.dtype.kind == "c" else values
