"""The record of all files that a run reads beside its rows, and the order of their channels."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._hashes import file_hash
from .._typing import IntArray
from ..io import Axis, ReaderOutput, in_order, order_of, part_of, read_file, read_names
from ._channels import CHANNELS
from ._load import Entry, Project, named_by_key
from ._sections import File


def begin_channels(project: Project) -> None:
    """Take the order of the channels from the deployment rows, where these name them; no entry is read."""
    project.channels.begin()
    for name, spec in reversed(project.settings.data.streams.items()):
        key = f"data.{name}.file"
        with named_by_key(project, key):
            names, rows = read_names(
                project.file(key, spec.file),
                channels=spec.channels,
                label=name,
                member=spec.member,
                header=spec.header,
            )
        if rows is not None:
            project.channels.rows[name] = rows
        if name == "deployment":
            project.channels.order(project.name(key), key, names)


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
        raise project.misuse(key, "stay as it is while it is read", f"a change of {name}", remedy)
    project.read[key] = entry


def read_recorded(project: Project, key: str, spec: File) -> ReaderOutput:
    """The numbers of a file, in memory: what changes in the file afterwards does not matter."""
    path = project.file(key, spec.file)
    with recorded(project, key, spec.file, path) as entry:
        with named_by_key(project, key):
            held = read_file(path, spec.member, header=spec.header)
            values = np.array(part_of(held.values))
        entry |= {"member": spec.member, "shape": list(values.shape), "dtype": values.dtype.name, "unit": held.unit}
    return replace(held, values=values)


def ordered(project: Project, key: str, held: ReaderOutput, axes: Sequence[Axis]) -> Numbers:
    """The numbers with the channels of the project, and whatever else is named, in their order."""

    def order(name: str, axis: Axis, given: Sequence[str] | None) -> IntArray | None:
        return project.channels.order(name, key, given) if axis.what == CHANNELS else order_of(name, axis, given)

    return in_order(project.name(key), held, axes, order)


def _digest(path: Path) -> str | None:
    """None for a file that cannot be read, or that may never end: whoever reads it says why."""
    if not path.is_file():
        return None
    try:
        return file_hash(path)
    except OSError:
        return None
