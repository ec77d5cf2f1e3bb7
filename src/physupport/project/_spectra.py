"""Tables with a line for each measured spectrum: whose it is, and its numbers in columns or in a file of its own."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from .._errors import MisuseError
from .._typing import Field
from ..io import read_columns
from ._element_list import column_numbers
from ._elements import Physical
from ._inputs import read_recorded, recorded
from ._load import Project, named_by_key
from ._sections import File

_ELEMENT, _FILE = "element", "file"


@final
@dataclass(frozen=True, slots=True, eq=False)
class Spectra:
    """S lines: the element of each, what further columns say, and its rows."""

    elements: tuple[str, ...]
    texts: tuple[tuple[str, ...], ...]  # of every further column, in the order asked for
    rows: tuple[Field, ...]  # (n, q) each, n = 1 where they are columns of the table


def read_spectra(project: Project, key: str, file: str, further: Sequence[str], physical: Physical) -> Spectra:
    """The columns element and those asked for, in any order; and either file, or one for each channel in its order."""
    path, name = project.file(key, file), project.name(key)
    with recorded(project, key, file, path) as entry:
        with named_by_key(project, key):
            columns = read_columns(path)
        entry |= {"shape": [len(next(iter(columns.values()))), len(columns)]}
    own = (_ELEMENT, *further)
    rest = [column for column in columns if column not in own]
    is_by_file = rest == [_FILE]
    if any(column not in columns for column in own) or not (is_by_file or len(rest) == physical.n_channels):
        rule = f"have the columns {', '.join(own)}, and either file or one for each of {physical.n_channels} channels"
        raise MisuseError(name, rule, f"{', '.join([*columns][:3])} and so on, {len(columns)} in all")
    elements = tuple(columns[_ELEMENT])
    if not elements:
        raise MisuseError(name, "have a line for each spectrum", "none")
    other = next((cell for cell in elements if cell not in physical.library.ids), None)
    if other is not None:
        raise MisuseError(name, "name elements of the list", repr(other))
    texts = tuple(tuple(columns[column]) for column in further)
    if is_by_file:
        return Spectra(elements, texts, tuple(_of_file(project, key, cell, physical) for cell in columns[_FILE]))
    rules, is_complex = ("hold numbers", "hold finite numbers"), physical.is_complex
    values = [column_numbers(name, cell, columns[cell], rules, is_complex=is_complex) for cell in rest]
    return Spectra(elements, texts, tuple(np.column_stack(values)[:, None]))


def _of_file(project: Project, key: str, file: str, physical: Physical) -> Field:
    """(n, q) rows of a file that a line names, relative to the project file."""
    try:
        spec = File(file=file)
    except ValueError:  # of its name, as pydantic tells it
        raise MisuseError(project.name(key), "name files", repr(file)) from None
    values = read_recorded(project, f"{key}[{file}]", spec)
    rows = np.atleast_2d(values if values.ndim != 2 or values.shape[1] != 1 else values.T)
    if rows.ndim != 2 or rows.shape[1] != physical.n_channels or not np.isfinite(rows).all():
        rule = f"name files with {physical.n_channels} finite numbers in every row, one for each channel"
        raise MisuseError(project.name(key), rule, f"{file} of shape {values.shape}")
    if np.iscomplexobj(rows) and not physical.is_complex:
        raise MisuseError(project.name(key), "name files with real rows, as the responses are", file)
    return np.asarray(rows, dtype=np.complex128 if physical.is_complex else np.float64)
