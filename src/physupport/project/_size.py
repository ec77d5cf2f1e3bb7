"""The size of a bank before it is built: how many states, supports and nuisances a project describes."""

from collections.abc import Mapping, Sequence
from math import comb, log10, prod
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from ._load import Project
from ._schema import ProjectFile

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
    ranges: Mapping[str | None, int] = MappingProxyType({}),
) -> BankCounts:
    """Count states, supports with strengths, and nuisances, and refuse a bank that is too large.

    regions: elements of each.  cells: of each covered parameter.  ranges: cells of the strengths of a region, and by
    None of the noise, where they are known.
    """
    settings = project.settings
    grids = [*cells, *(len(spec.points) for spec in settings.parameters.values() if spec.between is None)]
    stated = [spec.noise for spec in settings.data.streams.values() if spec.noise]
    nuisances = [ranges.get(None, 1), *(len(noise.values) or 1 for noise in stated)]
    if settings.data.calibration is not None and settings.data.calibration.activity is not None:
        nuisances.append(len(settings.data.calibration.activity))
    if settings.elements.variants == "states":
        grids.append(max(len(settings.elements.responses or ()), n_variants))
    sets = [_n_sets(project, name, count) for name, count in regions.items()]
    supports = _n_supports(settings, ranges)
    counts = BankCounts(sum(regions.values()), sum(sets), prod(sets), prod(grids), supports, prod(nuisances))
    size = counts.explanations
    if size > MOST_EXPLANATIONS:
        remedy = "Fewer elements, supports, strengths, parameter values or noise values make fewer."
        many = f"{size:,} or more" if size < _LEAST_ROUNDED else f"about 10^{log10(size):.0f}"
        raise project.misuse("", f"describe at most {MOST_EXPLANATIONS:,} explanations", many, remedy)
    return counts


def _n_sets(project: Project, region: str, count: int) -> int:
    """Sets of its elements that a region may have, as many elements each as the file says."""
    low, high = project.settings.regions[region].count
    if high > count:
        raise project.misuse(f"regions.{region}.count", f"be at most {count}, the number of its elements", high)
    sets = 0
    for size in range(low, high + 1):
        sets += comb(count, size)
        if sets > MOST_EXPLANATIONS:  # binomials of thousands of elements take long, and one is enough
            break
    return sets


def _n_supports(settings: ProjectFile, cells: Mapping[str | None, int]) -> int:
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
