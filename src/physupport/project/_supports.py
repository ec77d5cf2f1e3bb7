"""Which regions of a project may be active together."""

from collections.abc import Iterable
from itertools import combinations
from typing import cast

from ..banks import region_supports
from ..judges import JudgeSpec
from ..laws import law_named
from ..questions import RegionalMap
from ._load import Project


def project_supports(project: Project, *, largest_first: bool = False) -> Iterable[tuple[str, ...]]:
    """Those listed, all regions and all but each optional one, or whatever the presence of the regions allows.

    largest_first: those with most regions first, each made when it is asked for.
    """
    supports = project.settings.supports
    if supports.choices is not None:
        listed = _listed(project, supports.choices)
        return sorted(listed, key=len, reverse=True) if largest_first else listed
    always, optional = _by_presence(project)
    if supports.leave_one_out:
        regions = tuple(project.settings.regions)
        if not optional:
            raise project.misuse("supports.leave_one_out", "go with optional regions", "none")
        return [regions, *(tuple(name for name in regions if name != out) for out in optional)]
    if not largest_first:
        return region_supports(always, optional, supports.max_active)
    most = len(optional) if supports.max_active is None else supports.max_active - len(always)
    return ((*always, *chosen) for size in range(most, -1, -1) for chosen in combinations(optional, size))


def most_active(project: Project) -> int:
    """Elements that are active at once, at most; where every combination of regions is a support, none is made."""
    counts = {name: region.count[1] for name, region in project.settings.regions.items()}
    supports = project.settings.supports
    if supports.choices is not None:
        return max(sum(counts[name] for name in support) for support in project_supports(project))
    if supports.leave_one_out or supports.max_active is None:
        return sum(counts.values())
    always, optional = _by_presence(project)
    largest = sorted((counts[name] for name in optional), reverse=True)
    return sum(counts[name] for name in always) + sum(largest[: supports.max_active - len(always)])


def _by_presence(project: Project) -> tuple[list[str], list[str]]:
    """Regions that are always there, and optional ones, after a look at how many there may be."""
    regions = project.settings.regions
    most = project.settings.supports.max_active
    always = [name for name, region in regions.items() if region.presence == "always"]
    if most is not None and not len(always) <= most <= len(regions):
        rule = f"lie between {len(always)}, the regions that are always there, and {len(regions)}, all of them"
        raise project.misuse("supports.max_active", rule, most)
    return always, [name for name, region in regions.items() if region.presence == "optional"]


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
    for name, region in settings.regions.items():
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
                    key, rule, f"{thing!r} of {count} regions", "Give each region its own name for it."
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
    regions = project.settings.regions
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
    return [tuple(support) for support in choices]
