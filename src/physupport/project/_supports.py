"""Which regions of a project may be active together, and the size of a bank before it is built."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from math import comb, log10, prod
from types import MappingProxyType
from typing import NamedTuple, cast

import numpy as np

from .._errors import Clause
from ..banks import UNLISTED, region_supports
from ..judges import JudgeSpec
from ..laws import law_named
from ..questions import RegionalMap
from ._load import Project
from ._region_sections import Region
from ._schema import ProjectFile


def project_supports(project: Project, *, largest_first: bool = False) -> Iterable[tuple[str, ...]]:
    """The supports: those listed, or those of `leave_one_out`, or all that the presence of the regions allows.

    largest_first: those with most regions first, each made when it is asked for.
    """
    if project.settings.unlisted is None:
        return _listed_supports(project, largest_first)
    without = [*_listed_supports(project, largest_first)]
    both = [*without, *((*support, UNLISTED) for support in without)]
    return sorted(both, key=len, reverse=True) if largest_first else both


def _listed_supports(project: Project, largest_first: bool) -> Iterable[tuple[str, ...]]:
    """The supports without anything unlisted."""
    supports = project.settings.supports
    if supports.choices is not None:
        listed = _listed(project, supports.choices)
        return sorted(listed, key=len, reverse=True) if largest_first else listed
    always, optional = _by_presence(project)
    if supports.leave_one_out:
        regions = tuple(_listed_regions(project.settings, project.regions))
        if not optional:
            raise project.misuse("supports.leave_one_out", "go with optional regions", Clause("there is none"))
        return [regions, *(tuple(name for name in regions if name != out) for out in optional)]
    if not largest_first:
        most = supports.max_active
        return region_supports(always, optional, most and min(most, len(always) + len(optional)))
    most = len(optional) if supports.max_active is None else supports.max_active - len(always)
    return ((*always, *chosen) for size in range(most, -1, -1) for chosen in combinations(optional, size))


def most_active(project: Project) -> int:
    """Elements that are active at once, at most; where every combination of regions is a support, none is made."""
    settings = project.settings
    counts = {name: region.count[1] for name, region in project.regions.items()}
    supports = settings.supports
    if supports.choices is not None:
        return max(sum(counts[name] for name in support) for support in project_supports(project))
    if supports.leave_one_out or supports.max_active is None:
        return sum(counts.values())
    always, optional = _by_presence(project)
    largest = sorted((counts[name] for name in optional), reverse=True)
    beside = int(settings.unlisted is not None)
    return beside + sum(counts[name] for name in always) + sum(largest[: supports.max_active - len(always)])


def _listed_regions(settings: ProjectFile, regions: Mapping[str, Region]) -> dict[str, Region]:
    """The regions without that of anything unlisted."""
    return {name: region for name, region in regions.items() if settings.unlisted is None or name != UNLISTED}


def _by_presence(project: Project) -> tuple[list[str], list[str]]:
    """Regions that are always there, and optional ones, after a look at how many there may be."""
    regions = _listed_regions(project.settings, project.settings.regions)
    most = project.settings.supports.max_active
    always = [name for name, region in regions.items() if region.presence == "always"]
    if most is not None and not len(always) <= most <= len(regions):
        rule = f"lie between {len(always)}, the regions that are always there, and {len(regions)}, all of them"
        raise project.misuse("supports.max_active", rule, most)
    seen = _listed_regions(project.settings, project.regions)
    return [name for name, region in seen.items() if region.presence == "always"], [
        name for name, region in seen.items() if region.presence == "optional"
    ]


def check_left_out(project: Project, question: object, judge: JudgeSpec) -> None:
    """Raise if some combination of optional regions is not covered by the listed supports.

    A combination lies within all that hold it where coefficients may be 0, and with a common numerator there is no more
    evidence against these.  So one test of all but a region says whether that is certain, and all of them hold at once.
    """
    settings = project.settings
    if not settings.supports.leave_one_out:
        return
    law = law_named(settings.data.deployment.law)
    if not judge.has_common_numerator:
        rule = "be one that weighs evidence where regions are left out one by one: p-values do not hold together there"
        raise project.misuse("judge", rule, settings.judge or law.usual_judge, 'Write judge = "evidence".')
    if law.has_strengths:
        rule = "be left out where coefficients are given: without them no combination lies within another"
        raise project.misuse("supports.leave_one_out", rule, f"the law {law.name}")
    if settings.claims:
        _check_claims(project, cast(RegionalMap, question))  # a resolution has none
    for name, region in project.regions.items():
        if region.coefficient and not region.coefficient[0] <= 0.0 <= region.coefficient[1]:
            rule = "hold 0 with leave_one_out"
            raise project.misuse(f"regions.{name}.coefficient", rule, region.coefficient)


def _check_claims(project: Project, question: RegionalMap) -> None:
    """Every explanation lacks one region at most, so that one of two is always there, whatever the rows say."""
    for name, claim in dict(question.claimed or {}).items():
        key = f"claims.{name}.{claim.kind}"
        if claim.kind != "all" and len(claim.of) > 1:
            rule = "name one thing with leave_one_out, of which every explanation lacks one at most"
            raise project.misuse(key, rule, list(claim.of), "Ask for all, or for each by itself.")
        tables = claim.tables(question.asked_regions)
        for number, thing in enumerate(claim.of):
            count = sum(bool(table[:, number].any()) for table in tables)
            if count > 1:
                rule = "name what one region has with leave_one_out, of which every explanation lacks one at most"
                raise project.misuse(
                    key, rule, Clause(f"{thing!r} is in {count} regions"), "Give each region its own name for it."
                )


def left_out_note(project: Project) -> tuple[str, ...]:
    """Say what is covered beyond the listed explanations."""
    if not project.settings.supports.leave_one_out:
        return ()
    return (
        "Coefficients may be 0, so every combination of optional regions lies within an explanation: a region that all "
        "but it cannot explain is certain, and others may be there or not.",
    )


def _listed(project: Project, choices: list[list[str]]) -> list[tuple[str, ...]]:
    """The supports of the file, after a look at whether they fit what the regions say of themselves."""
    regions = _listed_regions(project.settings, project.settings.regions)
    for i, support in enumerate(choices):
        key = f"supports.list[{i}]"
        for name in support:
            if name not in regions:
                raise project.misuse(key, f"name regions of the file ({', '.join(regions)})", repr(name))
        if len({*support}) < len(support):
            raise project.misuse(key, "name each region once", support)
        if any({*support} == {*earlier} for earlier in choices[:i]):
            raise project.misuse("supports.list", "hold each support once", support)
    for name, region in regions.items():
        usual = "always" if all(name in support for support in choices) else "optional"
        if usual != region.presence:
            remedy = "The list of supports says so."
            raise project.misuse(f"regions.{name}.presence", f"be {usual!r}", repr(region.presence), remedy)
    return [*dict.fromkeys(seen for support in choices for seen in _seen(project, support))]


def _seen(project: Project, support: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """A listed support as the window shows it: a region of which some elements have no line there may be missing."""
    shown = [name for name in support if name in project.regions]
    partly = [name for name in shown if name in project.channels.hidden.values()]
    for size in range(len(partly) + 1):
        for missing in combinations(partly, size):
            yield tuple(name for name in shown if name not in missing)


# A bank is held as columns of its explanations; more than these would not fit the memory of one machine.
MOST_EXPLANATIONS = 200_000_000
_LEAST_ROUNDED = 10**15  # longer numbers are told by their length


class BankCounts(NamedTuple):
    """The size of a bank, counted before it is built."""

    elements: int
    sets: int  # of elements, over all regions
    choices: int  # of one set from each region
    settings: int  # of parameters, and variants that make states of their own
    supports: int  # with their strengths
    nuisances: int

    @property
    def explanations(self) -> int:
        """The number of all combinations."""
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
    if settings.data.states is not None and settings.data.states.activity is not None:
        nuisances.append(len(settings.data.states.activity))
    if settings.elements.variants == "states":
        grids.append(max(len(settings.elements.tables), 1, n_variants))
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
    if settings.unlisted is not None:
        listed = {"unlisted": None, "regions": _listed_regions(settings, settings.regions)}
        return 2 * _n_supports(settings.model_copy(update=listed), cells)
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
