"""What a run read, for its reader: elements, responses, and whatever else the project names beside its rows."""

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._errors import MisuseError
from .._hashes import file_hash
from ..io import part_of, read_array
from ._load import Entry, Project, named_by_key
from ._sections import File

Numbers: TypeAlias = NDArray[np.generic]


@contextmanager
def recorded(project: Project, key: str, name: str, path: Path) -> Iterator[Entry]:
    """Read a file inside: it is entered into what the project has read, as the streams are, once it is read.

    The entry is for the reader to complete.  sha256: of the file itself, as other programs give it; a file that
    changes meanwhile is refused, so that the hash is of what was used.  name: as in the project file.
    """
    digest = _digest(path)
    entry: Entry = {
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
    yield entry
    if _digest(path) != digest:
        remedy = "Run again when nothing writes to it."
        raise MisuseError(project.name(key), "stay as it is while it is read", f"a change of {name}", remedy)
    project.read[key] = entry


def read_recorded(project: Project, key: str, spec: File) -> Numbers:
    """The numbers of a file, in memory: what changes in the file afterwards does not matter."""
    path = project.file(key, spec.file)
    with recorded(project, key, spec.file, path) as entry:
        with named_by_key(project, key):
            values = np.array(part_of(read_array(path, spec.member, header=spec.header)))
        entry |= {"member": spec.member, "shape": list(values.shape), "dtype": values.dtype.name}
    return values


def _digest(path: Path) -> str | None:
    """None for a file that cannot be read, or that may never end: whoever reads it says why."""
    if not path.is_file():
        return None
    try:
        return file_hash(path)
    except OSError:
        return None


def verify_command(project: Project) -> str | None:
    """What checks the report with its rows, in the output folder; None where the file alone does not say which."""
    if any(key.startswith("data") for key in project.overridden):
        return None
    try:
        path = os.path.relpath(project.path.resolve(), project.folder.resolve())
    except ValueError:  # on another drive
        return None
    return f"physupport verify report.json --project {shlex.quote(Path(path).as_posix())}"
