"""The elements of a project, their responses in every setting of the instrument, and how many explanations follow."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb, log10, prod
from types import MappingProxyType
from typing import final

import numpy as np

from .._errors import MisuseError
from .._typing import Array
from ..banks import Cover, Library
from ..io import as_pairs
from ..responses import Settings, settings_grid
from ._cover import Table, cover_tangents, project_cover, project_parameters, table_library
from ._element_list import read_element_file
from ._inputs import Numbers
from ._load import Project, named_by_key
from ._responses import nominal_responses, read_atoms
from ._schema import ProjectFile, Region
from ._variants import (
    check_variants,
    check_width,
    columns_of,
    joined_settings,
    parameter_notes,
    read_axis,
    read_tangents,
)

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
    cover: Cover | None = None  # what made the library, where its elements are cells

    @property
    def n_channels(self) -> int:
        """Channels of the instrument, complex ones counted once."""
        entries = len(self.library.responses)
        return entries // 2 if self.is_complex else entries


def read_elements(project: Project) -> Physical:
    """The elements that a list has, or the cells of a cover."""
    if project.settings.cover is None:
        return _read_list(project)
    table = None if project.settings.elements.file is None else _read_table(project)
    cover = project_cover(project, table[0] if table else None)
    check_cover_size(project, cover)
    with named_by_key(project, "cover"):
        library = cover.library() if table is None else table_library(project, cover, table[0])
        settings = cover.settings() if table is None else table[1]
    is_complex = settings.is_complex
    shared = _shared(project, len(library.responses), is_complex)
    return Physical(
        library=library,
        settings=settings if len(settings.names) else None,
        is_complex=is_complex,
        shared=shared,
        variants=cover_tangents(cover, shared),
        half_steps=cover.half_steps if cover.tangents else None,
        outline=getattr(cover.response, "outline", None),
        notes=(*parameter_notes(project),),
        cover=cover,
    )


def _read_table(project: Project) -> tuple[Table, Settings]:
    """Elements of a list with their columns."""
    listed = read_element_file(project)
    columns, *more = nominal_responses(project, listed.lines)
    if more:
        raise MisuseError(project.name("elements.responses"), "be one file beside a cover", f"{1 + len(more)} of them")
    with named_by_key(project, "elements"):
        plain = settings_grid(columns, listed.coordinates, [], read_axis(project))
    return Table(listed.ids, listed.regions, listed.coordinates, plain.responses[0]), plain


def _read_list(project: Project) -> Physical:
    """Read the elements, work out their responses, and apply the parameters."""
    check_width(project)
    listed = read_element_file(project)
    check_bank_size(project, Counter(listed.regions), len(listed.lines))
    coordinates, parameters, axis = listed.coordinates, project_parameters(project), read_axis(project)
    responses = nominal_responses(project, listed.lines)
    is_mixed = check_variants(project, len(responses))
    with named_by_key(project, "elements"):
        plain = settings_grid(responses[0], coordinates, [], axis)
    with named_by_key(project, "parameters"):
        grids = [settings_grid(response, coordinates, parameters, axis) for response in responses]
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


def check_bank_size(
    project: Project,
    regions: Mapping[str, int],
    n_variants: int = 1,
    cells: Sequence[int] = (),
    strengths: Mapping[str, int] = MappingProxyType({}),
) -> None:
    """Refuse a bank that is too large while it is only numbers: states, supports with strengths, and nuisances.

    regions: elements of each.  cells: of each covered parameter, and of the noise.  strengths: cells of those of
    regions, where they are known.
    """
    settings = project.settings
    grids = [spec.points for spec in settings.parameters.values() if spec.between is None]
    grids += [(0.0,) * count for count in cells]
    data = [spec for spec in (settings.data.calibration, settings.data.deployment) if spec is not None]
    grids += [spec.noise for spec in data if isinstance(spec.noise, tuple)]
    if settings.data.calibration is not None and settings.data.calibration.activity is not None:
        grids.append(settings.data.calibration.activity)
    if settings.elements.variants == "states":
        files = settings.elements.responses
        grids.append((0.0,) * (len(files) if isinstance(files, tuple) else n_variants))
    states = prod(_n_sets(project, name, count) for name, count in regions.items())
    size = states * _n_supports(settings, strengths) * prod(map(len, grids))
    if size > MOST_EXPLANATIONS:
        remedy = "Fewer elements, supports, strengths, parameter values or noise values make fewer."
        many = f"{size:,} or more" if size < _LEAST_ROUNDED else f"about 10^{log10(size):.0f}"
        raise MisuseError(project.name(""), f"describe at most {MOST_EXPLANATIONS:,} explanations", many, remedy)


def check_cover_size(project: Project, cover: Cover) -> None:
    """The same of a cover, by its cells of places, of parameters and, where they are known, of ranges."""
    regions = {name: int(cells.counts.prod()) for name, cells in cover.regions.items()}
    counts = {each.region: each.count for each in cover.ranges}
    strengths = {name: count for name, count in counts.items() if name is not None}
    check_bank_size(project, regions, cells=[*cover.counts.tolist(), counts.get(None, 1)], strengths=strengths)


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


def _n_supports(settings: ProjectFile, cells: Mapping[str, int]) -> int:
    """Supports, each with every combination of the strengths of its regions; none of them is made."""
    levels = {name: cells.get(name, _n_strengths(region)) for name, region in settings.regions.items()}
    listed: Sequence[Sequence[str]] | None = settings.supports.choices
    if settings.supports.leave_one_out:
        optional = sum(region.presence == "optional" for region in settings.regions.values())
        listed = [[*settings.regions]] * (1 + optional)
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


def _n_strengths(region: Region) -> int:
    """Of an open coefficient, two marks if there is a threshold; of a range, one before its cells are known."""
    if region.strength is None:
        return 1 + (region.absence_threshold is not None)
    return len(region.strength) if isinstance(region.strength, tuple) else 1


def _shared(project: Project, entries: int, is_complex: bool) -> Array:
    """Columns that every dictionary has, scaled to norm 1."""
    spec = project.settings.elements.shared
    if spec is None:
        return np.zeros((entries, 0))
    key, q = "elements.shared", entries // 2 if is_complex else entries
    columns = read_atoms(project, key, spec, q, is_complex=is_complex)
    real = as_pairs(columns, axis=0) if is_complex else columns.astype(np.float64)
    norms = np.linalg.norm(real, axis=0)
    if not norms.all():
        raise MisuseError(project.name(key), "have columns other than 0", f"0 in column {int(norms.argmin())}")
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
