"""The list of elements that a project names: ids, regions, coordinates."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import comb, log10, prod
from pathlib import Path
from typing import final

import numpy as np

from .._errors import MisuseError
from .._typing import Array, Field, IntArray
from ..banks import Library
from ..io import as_pairs, read_archive, read_columns
from ..responses import Parameter, Settings, settings_grid
from ._inputs import Numbers, recorded
from ._load import Project, named_by_key
from ._responses import nominal_responses, read_numbers
from ._schema import ProjectFile
from ._sections import File
from ._variants import (
    check_error,
    check_variants,
    columns_of,
    joined_settings,
    parameter_notes,
    read_axis,
    read_tangents,
)


@final
@dataclass(frozen=True, slots=True, eq=False)
class ElementList:
    """E physical things, each with a region and a place."""

    ids: tuple[str, ...]
    regions: tuple[str, ...]
    coordinates: Array  # (E, d)
    lines: IntArray  # (V, E) of the file, from 0 on, by variant


def read_element_file(project: Project) -> ElementList:
    """Read and check the list; every element has a region of the project, and every region an element."""
    columns = _columns(project)
    ids, regions = _texts(project, columns, "id"), _texts(project, columns, "region")
    lines = _lines(project, columns, ids)
    _check_regions(project, ids, regions)
    places = np.column_stack([_numbers(project, columns, name) for name in project.settings.elements.coordinates])
    first = lines[0].tolist()
    for line, same in zip(lines.ravel().tolist(), first * len(lines), strict=True):
        if regions[line] != regions[same] or (places[line] != places[same]).any():
            found = f"others of {ids[line]!r} in lines {same + 2} and {line + 2}"
            raise MisuseError(_file(project), "have the region and place of an element alike in its variants", found)
    return ElementList(tuple(ids[i] for i in first), tuple(regions[i] for i in first), places[first], lines)


def _lines(project: Project, columns: dict[str, list[str]], ids: tuple[str, ...]) -> IntArray:
    """(V, E) lines of the file: one of each element, or as many as a column `variant` tells apart."""
    if "variant" not in columns or len({*ids}) == len(ids):
        _check_ids(project, ids)
        return np.arange(len(ids))[None]
    if not isinstance(project.settings.elements.responses, File):
        rule = "have distinct ids unless responses is one file, with a column for each line"
        raise MisuseError(_file(project), rule, "several lines of an element")
    variants = _texts(project, columns, "variant")
    at = {pair: line for line, pair in enumerate(zip(variants, ids, strict=True))}
    by_variant, by_id = dict.fromkeys(variants), dict.fromkeys(ids)
    missing = [pair for pair in product(by_variant, by_id) if pair not in at]
    if missing or len(at) < len(ids):
        found = "none of {!r} for {!r}".format(*missing[0]) if missing else "one of them twice"
        raise MisuseError(_file(project), "have a line for each variant of each element", found)
    return np.array([[at[variant, name] for name in by_id] for variant in by_variant])


def _columns(project: Project) -> dict[str, list[str]]:
    path = project.file("elements.file", project.settings.elements.file)
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
    rules = "have numbers as coordinates", "have finite coordinates"
    return np.real(column_numbers(_file(project), name, columns[name], rules))


def column_numbers(
    file: str, column: str, texts: Sequence[str], rules: tuple[str, str], *, is_complex: bool = False
) -> Field:
    """The cells of a column, below a header; rules: what a cell breaks that is no number, or not a finite one."""
    kind: type[complex] | type[float] = complex if is_complex else float
    found = np.empty(len(texts), dtype=kind)
    for i, text in enumerate(texts):
        where = f"{text!r} in line {i + 2}, column {column!r}"
        try:
            found[i] = kind(text)
        except ValueError:
            raise MisuseError(file, rules[0], where) from None
        if "_" in text:  # Python reads 1_000 as a number, and nothing else does
            raise MisuseError(file, rules[0], where)
        if not np.isfinite(found[i]):
            raise MisuseError(file, rules[1], where)
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


# Columns whose norms agree to this were meant to have the same.
_NORM_TOLERANCE = 1e-6


@final
@dataclass(frozen=True, slots=True, eq=False)
class Physical:
    """What there may be, where, and how the instrument answers to it in every setting."""

    library: Library  # nominal responses (q, E), or pairs (2 q, E)
    settings: Settings | None  # what the uncertain parameters make of them, if there are any
    is_complex: bool
    shared: Array  # (q or 2 q, m), unit columns
    variants: Array | None  # (V, q or 2 q, columns of the states) that mix with those of the states
    half_steps: Array | None  # (V,) of variants that are derivatives along parameters
    outline: float | None  # radius of a sphere that the response says to lie around the elements
    notes: tuple[str, ...]

    @property
    def n_channels(self) -> int:
        """Channels of the instrument, complex ones counted once."""
        entries = len(self.library.responses)
        return entries // 2 if self.is_complex else entries


def read_elements(project: Project) -> Physical:
    """Read the elements, work out their responses, and apply the parameters."""
    listed = read_element_file(project)
    check_bank_size(project, listed.regions, len(listed.lines))
    coordinates, parameters, axis = listed.coordinates, _parameters(project), read_axis(project)
    responses = nominal_responses(project, listed.lines)
    is_mixed = check_variants(project, len(responses))
    check_error(project)
    with named_by_key(project, "elements"):
        plain = settings_grid(responses[0], coordinates, [], axis)
    with named_by_key(project, "parameters"):
        grids = [settings_grid(given, coordinates, parameters, axis) for given in responses]
        first, *others = [joined_settings([grid]) for grid in grids] if is_mixed else [joined_settings(grids)]
    settings = first if len(first.names) else None
    is_complex = plain.is_complex if settings is None else settings.is_complex
    nominal = plain.responses[0]
    shared = _shared(project, len(nominal), is_complex)
    further = np.array([columns_of(grid, shared) for grid in others]) if others else None
    half_steps = None
    if project.settings.elements.tangents is not None:
        further, half_steps = read_tangents(project, responses, coordinates, parameters, axis, shared)
    return Physical(
        library=Library(listed.ids, listed.regions, coordinates, nominal, project.settings.elements.unit),
        settings=settings,
        is_complex=is_complex,
        shared=shared,
        variants=further,
        half_steps=half_steps,
        outline=getattr(responses[0], "outline", None),
        notes=(*_notes(project, responses[0]), *parameter_notes(project)),
    )


# A bank is held as columns of its explanations; more than these would not fit the memory of one machine.
MOST_EXPLANATIONS = 200_000_000
_LEAST_ROUNDED = 10**15  # longer numbers are told by their length


def check_bank_size(project: Project, regions: Sequence[str], n_variants: int = 1) -> None:
    """Refuse a bank that is too large while it is only numbers: states, supports with strengths, and nuisances.

    regions: of each element.
    """
    settings = project.settings
    grids = [spec.values for spec in settings.parameters.values()]
    data = [spec for spec in (settings.data.calibration, settings.data.deployment) if spec is not None]
    grids += [spec.noise for spec in data if isinstance(spec.noise, tuple)]
    if settings.data.calibration is not None and settings.data.calibration.activity is not None:
        grids.append(settings.data.calibration.activity)
    if settings.elements.variants == "states":
        given = settings.elements.responses
        grids.append((0.0,) * (len(given) if isinstance(given, tuple) else n_variants))
    states = prod(_n_sets(project, name, count) for name, count in Counter(regions).items())
    size = states * _n_supports(settings) * prod(map(len, grids))
    if size > MOST_EXPLANATIONS:
        remedy = "Fewer elements, supports, strengths, parameter values or noise values make fewer."
        many = f"{size:,} or more" if size < _LEAST_ROUNDED else f"about 10^{log10(size):.0f}"
        raise MisuseError(project.name(""), f"describe at most {MOST_EXPLANATIONS:,} explanations", many, remedy)


def _n_sets(project: Project, region: str, count: int) -> int:
    """Sets of its elements that a region may have, as many elements each as the file says."""
    low, high = project.settings.regions[region].count
    if high > count:
        key = project.name(f"regions.{region}.count")
        raise MisuseError(key, f"be at most {count}, the number of its elements", high)
    sets = 0
    for size in range(low, high + 1):
        sets += comb(count, size)
        if sets > MOST_EXPLANATIONS:  # binomials of thousands of elements take long, and one is enough
            break
    return sets


def _n_supports(settings: ProjectFile) -> int:
    """Supports, each with every combination of the strengths of its regions; none of them is made."""
    # Of an open coefficient, two marks if there is a threshold.
    levels = {
        name: 1 + (region.absence_threshold is not None) if region.strength is None else len(region.strength)
        for name, region in settings.regions.items()
    }
    listed = settings.supports.choices
    if listed is not None:
        return sum(prod(levels.get(name, 1) for name in support) for support in listed)
    always = [levels[name] for name, region in settings.regions.items() if region.presence == "always"]
    counts = [prod(always)]  # by the number of optional regions that are active
    for name, region in settings.regions.items():
        if region.presence == "optional":
            more = [0, *(count * levels[name] for count in counts)]
            counts = [a + b for a, b in zip([*counts, 0], more, strict=True)]
    most = settings.supports.max_active
    return sum(counts if most is None else counts[: max(0, most - len(always)) + 1])


def _parameters(project: Project) -> list[Parameter]:
    """The parameters in the order of the file; a coordinate is named there and numbered here."""
    found, names = [], project.settings.elements.coordinates
    for name, given in project.settings.parameters.items():
        if given.coordinate is not None and given.coordinate not in names:
            key = project.name(f"parameters.{name}.coordinate")
            raise MisuseError(key, f"be one of {', '.join(names)}", repr(given.coordinate))
        coordinate = 0 if given.coordinate is None else names.index(given.coordinate)
        pattern = None if given.pattern is None else np.array(given.pattern)
        with named_by_key(project, f"parameters.{name}"):
            called = "" if name == given.kind else name
            found.append(Parameter(given.kind, np.array(given.values), pattern, coordinate, called))
    return found


def _shared(project: Project, entries: int, is_complex: bool) -> Array:
    """Columns that every dictionary has, scaled to norm 1."""
    spec = project.settings.elements.shared
    if spec is None:
        return np.zeros((entries, 0))
    key, q = project.name("elements.shared"), entries // 2 if is_complex else entries
    columns = read_numbers(project, "elements.shared", spec)
    if columns.ndim != 2 or len(columns) != q:
        raise MisuseError(key, f"have {q} rows, one for each channel, and a column for each atom", columns.shape)
    if np.iscomplexobj(columns) and not is_complex:
        raise MisuseError(key, "be real as the responses are", "complex numbers")
    real = as_pairs(columns, axis=0) if is_complex else columns.astype(np.float64)
    norms = np.linalg.norm(real, axis=0)
    if not norms.all():
        raise MisuseError(key, "have columns other than 0", f"0 in column {int(norms.argmin())}")
    return np.asarray(real / norms)


def _notes(project: Project, nominal: object) -> tuple[str, ...]:
    """Strengths and bounds refer to responses of norm 1: say so where those of a file had another."""
    if not isinstance(nominal, np.ndarray):
        return ()
    columns: Numbers = nominal
    norms = np.linalg.norm(columns, axis=0)
    if np.abs(norms - 1.0).max() <= _NORM_TOLERANCE:
        return ()
    has_strengths = any(region.strength is not None for region in project.settings.regions.values())
    what = "strengths" if has_strengths else "bounds of coefficients"
    return (
        f"Responses were scaled to norm 1 (they had {norms.min():.4g} to {norms.max():.4g}); {what} refer to these.",
    )
