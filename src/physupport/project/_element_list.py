"""The list of elements that a project names: ids, regions and places."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import final

import numpy as np

from .._errors import Clause, MisuseError, misuse_named
from .._typing import Array, Field, IntArray
from ..banks import UNLISTED
from ..io import Axis, check_apart, read_archive, read_columns
from ._cells import box_columns, has_boxes
from ._library import library_spectra
from ._load import Project, named_by_key
from ._region_sections import EVERY
from ._tables import recorded


@final
@dataclass(frozen=True, slots=True, eq=False)
class ElementList:
    """E physical things, each with a region and a place."""

    ids: tuple[str, ...]
    regions: tuple[str, ...]
    coordinates: Array  # (E, d), d = 0 of names alone
    lines: IntArray  # (V, E) of the file, from 0 on, by variant
    axes: tuple[Axis, ...]  # what the columns of a file may be named by, in the order of the lines


def read_element_file(project: Project) -> ElementList:
    """Read and check the list; every element has a region of the project, and every region an element."""
    columns = element_columns(project)
    file = _file(project)
    ids, regions = (_texts(file, columns, name) for name in ("id", "region"))
    lines = _lines(project, columns, ids)
    _check_regions(project, ids, regions)
    places = np.zeros((len(ids), len(project.settings.elements.coordinates)))
    for number, name in enumerate(project.settings.elements.coordinates):
        if name not in columns:
            rule = f"have a column {name!r}, which {project.name('elements.coordinates')} names"
            raise MisuseError(file, rule, ", ".join(map(repr, columns)))
        rules = "have numbers as coordinates", "have finite coordinates"
        places[:, number] = column_numbers(file, name, columns[name], rules)
    first = lines[0].tolist()
    for line, same in zip(lines.ravel().tolist(), first * len(lines), strict=True):
        if regions[line] != regions[same] or (places[line] != places[same]).any():
            repeated = f"others of {ids[line]!r} in lines {same + 2} and {line + 2}"
            raise MisuseError(file, "have the region and place of an element alike in its variants", repeated)
    distinct = tuple(ids[i] for i in first)
    with misuse_named(lambda _: file):
        check_apart("ids", distinct)
        check_apart("regions", tuple(project.settings.regions))
    axes = _axes(project, columns, ids, places, lines)
    return ElementList(distinct, tuple(regions[i] for i in first), places[first], lines, axes)


# What stands between an id and its variant in the name of a column.
_JOINTS = (" ", "_", "-", "/", ":", ".", ", ")


def _axes(
    project: Project, columns: dict[str, list[str]], ids: tuple[str, ...], places: Array, lines: IntArray
) -> tuple[Axis, ...]:
    """Ids, each with its variant where there are several; or the one coordinate of places that differ."""
    source = f"{project.settings.elements.file}"
    if len(lines) > 1:
        pairs = [*zip(ids, columns["variant"], strict=True)]
        return tuple(Axis("elements", [joint.join(pair) for pair in pairs], source) for joint in _JOINTS)
    axes = [Axis("elements", ids, source)]
    if places.shape[1] == 1 and len(np.unique(places)) == len(places):
        unit = project.settings.elements.unit
        axes.append(Axis("elements", [f"{place!r} {unit}".rstrip() for place in places[:, 0].tolist()], source))
    return tuple(axes)


def _lines(project: Project, columns: dict[str, list[str]], ids: tuple[str, ...]) -> IntArray:
    """(V, E) lines of the file: one of each element, or as many as a column `variant` tells apart."""
    first = {name: line for line, name in reversed([*enumerate(ids)])}
    again = next((line for line, name in enumerate(ids) if first[name] < line), None)
    if again is None:
        return np.arange(len(ids))[None]
    if "variant" not in columns:
        twice = f"{ids[again]!r} in lines {first[ids[again]] + 2} and {again + 2}"
        raise MisuseError(_file(project), "have distinct ids", twice)
    if len(project.settings.elements.tables) != 1:
        rule = "have distinct ids unless responses is one file, with a column for each line"
        raise MisuseError(_file(project), rule, Clause("it has several lines of an element"))
    variants = _texts(_file(project), columns, "variant")
    at = {pair: line for line, pair in enumerate(zip(variants, ids, strict=True))}
    by_variant = dict.fromkeys(variants)
    by_id = dict.fromkeys(ids)
    missing = [pair for pair in product(by_variant, by_id) if pair not in at]
    if missing or len(at) < len(ids):
        fault = "none of {!r} for {!r}".format(*missing[0]) if missing else "one of them twice"
        raise MisuseError(_file(project), "have a line for each variant of each element", fault)
    return np.array([[at[variant, name] for name in by_id] for variant in by_variant])


def element_columns(project: Project) -> dict[str, list[str]]:
    """The columns of the list as texts; of a library without a list, its names, each a region unless there is one."""
    made = project.settings.elements.kind
    if made is not None:
        return dict(made.columns(project))
    if has_boxes(project):
        return box_columns(project)
    name = project.settings.elements.file or ""
    if not name:
        names = [*dict.fromkeys(spectrum.name for spectrum in library_spectra(project))]
        declared = [region for region in project.settings.regions if region != UNLISTED]
        is_one = len(declared) == 1 and declared != [EVERY] and declared[0] not in names
        return {"id": names, "region": declared * len(names) if is_one else names}
    path = project.file("elements.file", name)
    is_archive = path.suffix.lower() == ".npz"
    with recorded(project, "elements", name, path) as entry:
        with named_by_key(project, "elements.file"):
            columns = _archive_columns(path) if is_archive else read_columns(path)
        entry["shape"] = [] if is_archive else [len(next(iter(columns.values()))), len(columns)]
    if not next(iter(columns.values()), []):
        raise project.misuse("elements.file", "list at least one element", Clause(f"{path.name} has none"))
    return columns


def _archive_columns(path: Path) -> dict[str, list[str]]:
    """The one-dimensional arrays of an archive as texts, a column each."""
    flat = {name: values.tolist() for name, values in read_archive(path).items() if values.ndim == 1}
    if len({len(values) for values in flat.values()}) != 1:
        raise MisuseError(f"file {path}", "hold columns of one length", {name: len(flat[name]) for name in flat})
    return {name: [cell if isinstance(cell, str) else repr(cell) for cell in values] for name, values in flat.items()}


def _file(project: Project) -> str:
    if project.settings.elements.kind is not None:
        return project.name("elements")
    if project.settings.elements.file is None:
        return project.name("regions" if has_boxes(project) else "elements.responses")
    return f"{project.name('elements.file')}: elements file {project.settings.elements.file}"


def _texts(file: str, columns: dict[str, list[str]], name: str) -> tuple[str, ...]:
    if name not in columns:
        raise MisuseError(file, f"have a column {name!r}", ", ".join(map(repr, columns)))
    if "" in columns[name]:
        line = columns[name].index("") + 2
        raise MisuseError(file, f"give every element its {name}", Clause(f"line {line} has none"))
    return tuple(columns[name])


def column_numbers(
    file: str, column: str, texts: Sequence[str], rules: tuple[str, str], *, is_complex: bool = False
) -> Field:
    """The cells of a column, below a header; rules: what a cell breaks that is no number, or not a finite one."""
    kind: type[complex] | type[float] = complex if is_complex else float
    numbers = np.empty(len(texts), dtype=kind)
    for i, text in enumerate(texts):
        where = f"{text!r} in line {i + 2}, column {column!r}"
        try:
            numbers[i] = kind(text)
        except ValueError:
            raise MisuseError(file, rules[0], where) from None
        if "_" in text:  # Python reads 1_000 as a number, and nothing else does
            raise MisuseError(file, rules[0], where)
        if not np.isfinite(numbers[i]):
            raise MisuseError(file, rules[1], where)
    return numbers


def _check_regions(project: Project, ids: tuple[str, ...], regions: tuple[str, ...]) -> None:
    """Every element in a declared region, and every declared region with an element."""
    declared = project.settings.regions
    file = project.settings.elements.file or "the list"
    for name, region in zip(ids, regions, strict=True):
        if region not in declared:
            remedy = f"Add a table [regions.{region}], or correct the region of the element."
            rule = f"declare the region of every element of {file}"
            raise project.misuse("regions", rule, Clause(f"region {region!r} of element {name!r} is missing"), remedy)
    named = {*regions}
    for region in declared:
        if region not in named and (region != UNLISTED or project.settings.unlisted is None):
            raise project.misuse(f"regions.{region}", f"have at least one element in {file}", Clause("there is none"))
