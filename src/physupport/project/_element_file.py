"""The list of elements that a project names: ids, regions, coordinates."""

from dataclasses import dataclass
from pathlib import Path
from typing import final

import numpy as np

from .._errors import MisuseError
from .._typing import Array
from ..io import read_archive, read_columns
from ._inputs import recorded
from ._load import Project
from ._named import named_by_key


@final
@dataclass(frozen=True, slots=True, eq=False)
class ElementList:
    """E physical things, each with a region and a place."""

    ids: tuple[str, ...]
    regions: tuple[str, ...]
    coordinates: Array  # (E, d)


def read_element_file(project: Project) -> ElementList:
    """Read and check the list; every element has a region of the project, and every region an element."""
    columns = _columns(project)
    ids, regions = _texts(project, columns, "id"), _texts(project, columns, "region")
    _check_ids(project, ids)
    _check_regions(project, ids, regions)
    places = [_numbers(project, columns, name) for name in project.settings.elements.coordinates]
    return ElementList(ids, regions, np.column_stack(places))


def _columns(project: Project) -> dict[str, list[str]]:
    path = project.file(project.settings.elements.file)
    is_archive = path.suffix.lower() == ".npz"
    with recorded(project, "elements", project.settings.elements.file, path) as entry:
        with named_by_key(project, "elements.file"):
            columns = _archive_columns(path) if is_archive else read_columns(path)
        entry["shape"] = [] if is_archive else [len(next(iter(columns.values()))), len(columns)]
    if not next(iter(columns.values()), []):
        raise MisuseError(project.name("elements.file"), "list at least one element", f"none in {path.name}")
    return columns


def _archive_columns(path: Path) -> dict[str, list[str]]:
    """The one-dimensional arrays of an archive as texts, a column each."""
    flat = {name: values.tolist() for name, values in read_archive(path).items() if values.ndim == 1}
    if len({len(values) for values in flat.values()}) != 1:
        raise MisuseError(f"file {path}", "hold columns of one length", {name: len(flat[name]) for name in flat})
    return {name: [each if isinstance(each, str) else repr(each) for each in values] for name, values in flat.items()}


def _file(project: Project) -> str:
    return f"elements file {project.settings.elements.file}"


def _texts(project: Project, columns: dict[str, list[str]], name: str) -> tuple[str, ...]:
    if name not in columns:
        raise MisuseError(_file(project), f"have a column {name!r}", ", ".join(map(repr, columns)))
    for line, text in enumerate(columns[name], 2):
        if not text:
            raise MisuseError(_file(project), f"give every element its {name}", f"an empty one in line {line}")
    return tuple(columns[name])


def _numbers(project: Project, columns: dict[str, list[str]], name: str) -> Array:
    if name not in columns:
        rule = f"have a column {name!r}, which {project.name('elements.coordinates')} names"
        raise MisuseError(_file(project), rule, ", ".join(map(repr, columns)))
    found = np.empty(len(columns[name]))
    for i, text in enumerate(columns[name]):
        where = f"{text!r} in line {i + 2}, column {name!r}"
        try:
            found[i] = float(text)
        except ValueError:
            raise MisuseError(_file(project), "have numbers as coordinates", where) from None
        if "_" in text:  # Python reads 1_000 as a number, and nothing else does
            raise MisuseError(_file(project), "have numbers as coordinates", where)
        if not np.isfinite(found[i]):
            raise MisuseError(_file(project), "have finite coordinates", where)
    return found


def _check_ids(project: Project, ids: tuple[str, ...]) -> None:
    seen: dict[str, int] = {}
    for line, name in enumerate(ids, 2):
        if name in seen:
            raise MisuseError(_file(project), "have distinct ids", f"{name!r} in lines {seen[name]} and {line}")
        seen[name] = line


def _check_regions(project: Project, ids: tuple[str, ...], regions: tuple[str, ...]) -> None:
    """Every element in a declared region, and every declared region with an element."""
    declared, file = project.settings.regions, project.settings.elements.file
    for name, region in zip(ids, regions, strict=True):
        if region not in declared:
            remedy = f"Add a table [regions.{region}], or correct the region of the element."
            rule = f"declare the region of every element of {file}"
            raise MisuseError(project.name("regions"), rule, f"none for {region!r} of element {name!r}", remedy)
    for region in declared:
        if region not in regions:
            raise MisuseError(project.name(f"regions.{region}"), f"have at least one element in {file}", "none")
