"""Replicates of the elements, and tables with a line for each measured spectrum."""

from fractions import Fraction
from math import ceil

import numpy as np

from .._errors import MisuseError
from .._typing import Field
from ..io import Axis, ReaderOutput, read_columns
from ..judges.conformal import Replicates
from ._element_list import column_numbers
from ._elements import Physical
from ._inputs import ordered, read_recorded, recorded
from ._load import Project, named_by_key
from ._mixture import background_columns
from ._sections import File

_ELEMENT = "element"
_FILE = "file"


def read_spectra(
    project: Project, key: str, file: str, unit: str | None, physical: Physical
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[Field, ...]]:
    """The element of each line, its unit, if a column for it is named, and its rows (n, q).

    The rows are in a file that the line names, or n = 1, in a column for each channel.
    """
    path = project.file(key, file)
    name = project.name(key)
    with recorded(project, key, file, path) as entry:
        with named_by_key(project, key):
            columns = read_columns(path)
        entry |= {"shape": [len(next(iter(columns.values()))), len(columns)]}
    own = (_ELEMENT, *([unit] if unit else []))
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
    units = tuple(columns[unit]) if unit else ()
    if is_by_file:
        return elements, units, tuple(_of_file(project, key, cell, physical) for cell in columns[_FILE])
    rules = ("hold numbers", "hold finite numbers")
    is_complex = physical.is_complex
    order = project.channels.order(name, key, rest)
    cells = rest if order is None else [rest[i] for i in order]
    values = [column_numbers(name, cell, columns[cell], rules, is_complex=is_complex) for cell in cells]
    return elements, units, tuple(np.column_stack(values)[:, None])


def _of_file(project: Project, key: str, file: str, physical: Physical) -> Field:
    """(n, q) rows of a file that a line names, relative to the project file."""
    try:
        spec = File(file=file)
    except ValueError:  # of its name, as pydantic tells it
        raise project.misuse(key, "name files", repr(file)) from None
    held = read_recorded(project, f"{key}[{file}]", spec)
    axes = (project.channels.axis, Axis("rows")) if _is_column(held) else (Axis("rows"), project.channels.axis)
    values = ordered(project, f"{key}[{file}]", held, axes)
    rows = np.atleast_2d(values.T if _is_column(held) else values)
    if rows.ndim != 2 or rows.shape[1] != physical.n_channels or not np.isfinite(rows).all():
        rule = f"name files with {physical.n_channels} finite numbers in every row, one for each channel"
        raise project.misuse(key, rule, f"{file} of shape {values.shape}")
    if np.iscomplexobj(rows) and not physical.is_complex:
        raise project.misuse(key, "name files with real rows, as the responses are", file)
    return np.asarray(rows, dtype=np.complex128 if physical.is_complex else np.float64)


def _is_column(held: ReaderOutput) -> bool:
    """True for a spectrum that stands in a column or a list."""
    return held.values.ndim == 1 or (held.values.ndim == 2 and held.values.shape[1] == 1)


_KEY = "elements.replicates"


def read_replicates(project: Project, physical: Physical) -> Replicates | None:
    """One spectrum a line, each from a unit; groups are those of the regions."""
    spec = project.settings.elements
    name = project.name(_KEY)
    if spec.replicates is None or spec.replicate_unit is None:
        return None
    if physical.is_complex:
        raise MisuseError(name, "be left out where responses are complex", "a file", "Replicates have real spectra.")
    elements, units, rows = read_spectra(project, _KEY, spec.replicates, spec.replicate_unit, physical)
    if any(len(each) != 1 for each in rows):
        raise MisuseError(name, "have one spectrum in every line", "a file with several rows")
    groups = _groups(project)
    background = background_columns(project, physical)
    with named_by_key(project, _KEY):
        spectra = np.concatenate(rows).astype(np.float64)
        return Replicates(spectra, elements, units, {e: groups.get(e, e) for e in elements}, background)


def _groups(project: Project) -> dict[str, str]:
    """The named group of each element that is in one, the outermost of nested ones."""
    group_of: dict[str, str] = {}
    for region in project.settings.regions.values():
        for name, content in (region.groups or {}).items():
            group_of |= dict.fromkeys(_members(content), name)
    return group_of


def _members(content: object) -> list[str]:
    if isinstance(content, dict):
        return [member for inner in content.values() for member in _members(inner)]
    return [str(member) for member in content] if isinstance(content, list) else []


def replicate_notes(project: Project, replicates: Replicates | None) -> list[str]:
    """Elements with too few units to be excluded at all, and the noise of the replicates where it is left open."""
    spec = project.settings.elements
    if replicates is None:
        return []
    notes = []
    if spec.replicate_noise is None:
        notes.append(
            "replicate_noise is left out: the noise of each signal and of the replicates is measured along the "
            "channels, and replicates that have less get as much before they are ranked."
        )
    if spec.pool is not None:
        return notes
    level = Fraction(project.settings.level) * (1 - Fraction(spec.replicate_share or 0.0))
    counts = replicates.n_units(replicates.group_of)[replicates.group_of].tolist()
    few = [f"{name} ({count})" for name, count in zip(replicates.names, counts, strict=True) if (count + 1) * level < 1]
    needed = ceil(1 / level - 1)
    if few:
        notes.append(f"Nothing can exclude {', '.join(few)}: {needed} units are needed at this level.")
    return notes
