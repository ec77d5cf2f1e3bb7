"""What a run read, for its reader: rows, elements, responses, and whatever else the project names."""

import os
import shlex
from collections.abc import Iterator
from hashlib import file_digest
from pathlib import Path
from typing import Any

from ..io import read_array, read_columns
from ._function import module_beside
from ._load import Project
from ._schema import Elements
from ._sources import File, FunctionResponse, NearFieldResponse

Entry = dict[str, Any]


def file_entries(project: Project) -> list[Entry]:
    """An entry like those of the streams for every file that a project names beside its rows.

    Names are as in the project file.  sha256: of the file itself, as other programs give it.
    """
    return [*_element_entries(project, project.settings.elements), *_array_entries(project)]


def verify_command(project: Project) -> str | None:
    """What checks the report with its rows, in the output folder; None where the file alone does not say which."""
    if any(key.startswith("data") for key in project.overridden):
        return None
    try:
        path = os.path.relpath(project.path.resolve(), project.folder.resolve())
    except ValueError:  # on another drive
        return None
    return f"physupport verify report.json --project {shlex.quote(Path(path).as_posix())}"


def _element_entries(project: Project, elements: Elements) -> Iterator[Entry]:
    path = project.file(elements.file)
    entry = _entry("elements", elements.file, path)
    if path.suffix.lower() != ".npz":
        columns = read_columns(path)
        entry["shape"] = [len(next(iter(columns.values()))), len(columns)]
    yield entry
    if isinstance(elements.response, FunctionResponse):
        path_of = module_beside(project, elements.response.function.partition(":")[0])
        if path_of is not None:
            name = path_of.relative_to(project.path.resolve().parent).as_posix()
            yield _entry("elements.response.function", name, path_of)


def _array_entries(project: Project) -> Iterator[Entry]:
    elements, calibration = project.settings.elements, project.settings.data.calibration
    sensors = elements.response.sensors if isinstance(elements.response, NearFieldResponse) else None
    given: dict[str, File | None] = {
        "elements.responses": elements.responses,
        "elements.response.sensors": sensors,
        "elements.shared": elements.shared,
        "data.calibration.codes": None if calibration is None else calibration.codes,
    }
    for key, spec in given.items():
        if spec is not None:
            values = read_array(project.file(spec.file), spec.member)
            kind = {"member": spec.member, "shape": list(values.shape), "dtype": values.dtype.name}
            yield _entry(key, spec.file, project.file(spec.file)) | kind


def _entry(key: str, name: str, path: Path) -> Entry:
    with path.open("rb") as file:
        digest = file_digest(file, "sha256").hexdigest()
    return {
        "stream": key,
        "path": name,
        "member": None,
        "shape": [],
        "dtype": "text",
        "unit": "",
        "channels": [],
        "sha256": digest,
        "proposal_rows": None,
        "held_out_rows": None,
    }
