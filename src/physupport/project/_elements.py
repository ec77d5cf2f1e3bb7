"""The elements of a project, their responses in every setting of the instrument, and how many explanations follow."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb, log10, prod
from types import MappingProxyType
from typing import NamedTuple, final

import numpy as np

from .._errors import MisuseError
from .._typing import Array
from ..banks import Cover, Library
from ..io import as_pairs
from ..responses import Settings, settings_grid
from ._cover import Table, cover_tangents, project_cover, project_parameters, table_library
from ._element_list import read_element_file
from ._inputs import Numbers, begin_channels
from ._load import Project, named_by_key
from ._responses import nominal_responses, read_atoms
from ._schema import ProjectFile
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
    """The elements, their places, and their responses in every setting of the instrument."""

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
    begin_channels(project)
    if project.settings.cover is None:
        return _read_list(project)
    table = None if project.settings.elements.file is None else _read_table(project)
    cover = project_cover(project, table[0] if table else None)
    cover_counts(project, cover)
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
    columns, *more = nominal_responses(project, listed)
    if more:
        raise project.misuse("elements.responses", "be one file beside a cover", f"{1 + len(more)} of them")
    with named_by_key(project, "elements"):
        plain = settings_grid(columns, listed.coordinates, [], read_axis(project))
    return Table(listed.ids, listed.regions, listed.coordinates, plain.responses[0]), plain


def _read_list(project: Project) -> Physical:
    """Read the elements, work out their responses, and apply the parameters."""
    check_width(project)
    listed = read_element_file(project)
    bank_counts(project, Counter(listed.regions), len(listed.lines))
    coordinates = listed.coordinates
    parameters = project_parameters(project)
    axis = read_axis(project)
    responses = nominal_responses(project, listed)
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
        library=Library(
            listed.ids,
            listed.regions,
            coordinates,
            nominal,
            project.settings.elements.unit,
            channels=_names(project, len(nominal), is_complex),
        ),
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


class BankCounts(NamedTuple):
    """How large a bank is, while it is only numbers."""

    elements: int
    sets: int  # of elements, over all regions
    choices: int  # of one set from each region
    settings: int  # of parameters, and variants that make states of their own
    supports: int  # with their strengths
    nuisances: int

    @property
    def explanations(self) -> int:
        """All combinations."""
        return self.choices * self.settings * self.supports * self.nuisances


def bank_counts(
    project: Project,
    regions: Mapping[str, int],
    n_variants: int = 1,
    cells: Sequence[int] = (),
    noises: int | None = None,
    strengths: Mapping[str, int] = MappingProxyType({}),
) -> BankCounts:
    """Count states, supports with strengths, and nuisances, and refuse a bank that is too large.

    regions: elements of each.  cells: of each covered parameter.  noises, strengths: cells of the ranges of the noise
    and of regions, where they are known.
    """
    settings = project.settings
    grids = [*cells, *(len(spec.points) for spec in settings.parameters.values() if spec.between is None)]
    stated = [spec.noise for spec in settings.data.streams.values() if spec.noise]
    nuisances = [noises or 1, *(len(noise.values) or 1 for noise in stated)]
    if settings.data.calibration is not None and settings.data.calibration.activity is not None:
        nuisances.append(len(settings.data.calibration.activity))
    if settings.elements.variants == "states":
        grids.append(max(len(settings.elements.responses or ()), n_variants))
    sets = [_n_sets(project, name, count) for name, count in regions.items()]
    supports = _n_supports(settings, strengths)
    counts = BankCounts(sum(regions.values()), sum(sets), prod(sets), prod(grids), supports, prod(nuisances))
    size = counts.explanations
    if size > MOST_EXPLANATIONS:
        remedy = "Fewer elements, supports, strengths, parameter values or noise values make fewer."
        many = f"{size:,} or more" if size < _LEAST_ROUNDED else f"about 10^{log10(size):.0f}"
        raise project.misuse("", f"describe at most {MOST_EXPLANATIONS:,} explanations", many, remedy)
    return counts


def cover_counts(project: Project, cover: Cover) -> BankCounts:
    """The same of a cover, by its cells of places, of parameters and, where they are known, of ranges."""
    regions = {name: int(cells.counts.prod()) for name, cells in cover.regions.items()}
    ranges = {each.region: each.count for each in cover.ranges}
    strengths = {name: count for name, count in ranges.items() if name is not None}
    return bank_counts(project, regions, 1, cover.counts.tolist(), ranges.get(None), strengths)


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
    levels = {name: cells.get(name, len(region.marks)) for name, region in settings.regions.items()}
    if settings.supports.choices is not None:
        return sum(prod(levels.get(name, 1) for name in support) for support in settings.supports.choices)
    always = [levels[name] for name, region in settings.regions.items() if region.presence == "always"]
    optional = [levels[name] for name, region in settings.regions.items() if region.presence == "optional"]
    if settings.supports.leave_one_out:
        together = prod(levels.values())
        return together + sum(together // level for level in optional)
    most = settings.supports.max_active
    if most is None:
        return prod(always) * prod(1 + level for level in optional)
    return prod(always) * _n_choices(optional, max(0, most - len(always)))


def _n_choices(levels: Sequence[int], most: int) -> int:
    """The sum of the products of at most so many of these numbers; of a sum beyond float64 its largest number."""
    counts = np.zeros(min(most, len(levels)) + 1)  # by how many are taken; whole, and exact up to 2^53
    counts[0] = 1.0
    with np.errstate(over="ignore"):
        for level in levels:
            counts[1:] = counts[1:] + counts[:-1] * level
        return int(min(counts.sum(), np.finfo(np.float64).max))


def _names(project: Project, entries: int, is_complex: bool) -> tuple[str, ...] | None:
    """The names of the channels, if the rows have as many channels as the responses."""
    names = project.channels.names
    return None if names is None or len(names) * (2 if is_complex else 1) != entries else names


def _shared(project: Project, entries: int, is_complex: bool) -> Array:
    """Columns that every dictionary has, scaled to norm 1."""
    spec = project.settings.elements.shared
    if spec is None:
        return np.zeros((entries, 0))
    key = "elements.shared"
    q = entries // 2 if is_complex else entries
    columns = read_atoms(project, key, spec, q, is_complex=is_complex)
    real = as_pairs(columns, axis=0) if is_complex else columns.astype(np.float64)
    norms = np.linalg.norm(real, axis=0)
    if not norms.all():
        raise project.misuse(key, "have columns other than 0", f"0 in column {int(norms.argmin())}")
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
