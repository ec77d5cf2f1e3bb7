"""The question of a project about its regions, and checks that some data could answer it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, final

import numpy as np

from .._errors import misuse_named
from .._typing import Array, Field
from ..analysis import Proposed
from ..banks import Bank, RegionalView, bank_regions, point_distances
from ..io import as_complex
from ..laws import law_named
from ..questions import CLAIM_KINDS, Claim, RegionalMap, RegionRule, Resolution
from ._elements import Physical
from ._load import Project
from ._schema import AskedResolution

# Unit columns that differ by less than this differ by rounding alone.
_EQUAL = 1e-12

# Cosines of columns as near as that lie above this.
_SUSPICIOUS = 1.0 - 1e-9

# Along a unit vector they differ by at most the root of 2 (1 - cosine); and columns that are compared at a time.
_NEIGHBOURS = 5e-5
_STEP = 256


@final
@dataclass(frozen=True, slots=True, eq=False)
class RegionResolution:
    """The resolution of a region around the explanation that the proposal rows favour, once that is known."""

    policies: ClassVar[tuple[str, ...]] = Resolution.policies

    view: RegionalView = field(repr=False)
    region: str
    delta_fine: float
    delta_group: float

    @property
    def regions(self) -> tuple[str, ...]:
        """The one that is asked about."""
        return (self.region,)

    def __call__(self, proposed: Proposed) -> Resolution:
        """Places are the elements of the region; the reference is the one of the best explanation, if rows propose."""
        best = next(iter(proposed.proposals.explanations), None)
        return Resolution.of_region(
            self.view, self.region, best, delta_fine=self.delta_fine, delta_group=self.delta_group
        )


def project_question(project: Project, physical: Physical, bank: Bank) -> RegionalMap | RegionResolution:
    """The question of the file: a map, or a resolution if it has a table `resolution`."""
    view = bank_regions(bank)
    spec = project.settings.resolution
    return _map(project, physical, view) if spec is None else _resolution(project, physical, view, spec)


def _map(project: Project, physical: Physical, view: RegionalView) -> RegionalMap:
    """A rule for every region that the file asks about."""
    rules = {}
    for name, region in project.settings.regions.items():
        if region.ask == "nothing":
            continue
        _check_groups(project, name, view.sets[name].ids)
        rules[name] = RegionRule(
            tolerance=region.tolerance,
            groups=region.groups,
            asks=region.ask,
            absence_threshold=region.absence_threshold,
        )
        if region.ask == "finest" or "fine" in region.ask:
            remedy = "make one element of them, or leave fine out of ask."
            _check_reachable(project, physical, name, f"regions.{name}.tolerance", region.tolerance, remedy)
    if not rules:
        raise project.misuse("regions", "ask about at least one region", "ask = 'nothing' for all of them")
    claims = {}
    for name, spec in project.settings.claims.items():
        (kind,) = (kind for kind in CLAIM_KINDS if getattr(spec, kind) is not None)  # it has one
        with misuse_named(lambda _, key=f"claims.{name}.{kind}": project.name(key)):  # type: ignore[misc]
            claims[name] = Claim(kind, tuple(getattr(spec, kind)))
    with misuse_named(lambda name: project.name(name if name == "claims" else f"regions: {name}")):
        question = RegionalMap(view, rules, claims)
    for name, entry, rule, value in question.unanswerable():
        key = f"regions.{name}.{'ask' if entry == 'asks' else entry}"
        raise project.misuse(key, rule, value)
    return question


def _resolution(project: Project, physical: Physical, view: RegionalView, spec: AskedResolution) -> RegionResolution:
    """One region that is always there, and nothing asked that only a map could answer."""
    regions = project.settings.regions
    chosen = next(iter(regions)) if spec.region is None and len(regions) == 1 else spec.region
    always = [name for name, region in regions.items() if region.presence == "always"]
    if chosen not in always:
        rule = f"name a region that is always there ({', '.join(always)})"
        raise project.misuse("resolution.region", rule, "none" if chosen is None else repr(chosen))
    if regions[chosen].count != (1, 1):
        raise project.misuse(f"regions.{chosen}.count", "be 1 beside a resolution", regions[chosen].count[1])
    _check_reachable(project, physical, chosen, "resolution.group", spec.group, "or make one element of them.")
    return RegionResolution(view, chosen, spec.fine, spec.group)


def _check_groups(project: Project, region: str, known: tuple[str, ...]) -> None:
    """Every group of elements of this region, by its key."""
    pending = [(f"regions.{region}.groups", project.settings.regions[region].groups or {})]
    while pending:
        key, groups = pending.pop()
        for name, content in groups.items():
            if isinstance(content, dict):
                pending.append((f"{key}.{name}", content))
                continue
            for member in content:
                if member not in known:
                    rule = f"hold elements of region {region} ({', '.join(known)})"
                    raise project.misuse(f"{key}.{name}", rule, repr(member))


def _check_reachable(
    project: Project, physical: Physical, region: str, key: str, tolerance: float, remedy: str
) -> None:
    """Refuse a tolerance that two elements with the same response in every setting keep from being met."""
    library = physical.library
    members = library.members(region)
    stacks = library.responses[None] if physical.settings is None else physical.settings.responses
    has_sign = law_named(project.settings.data.deployment.law).has_sign
    native = as_complex if physical.is_complex else np.asarray
    atoms = [native(columns[:, members]) for columns in stacks]
    for i, j, apart in _alike(atoms[0], library.places(members)):
        if apart > tolerance and all(_gap(columns[:, i], columns[:, j], has_sign) <= _EQUAL for columns in atoms):
            first, second = (library.ids[members[e]] for e in (i, j))
            rule = f"be at least {apart:.6g}, the distance of {first} and {second}, whose responses are equal"
            told = f"No data can tell the two apart: raise it, {remedy}"
            raise project.misuse(key, rule, f"{tolerance:g}", told)


def _alike(columns: Field, places: Array | None) -> Iterator[tuple[int, int, float]]:
    """Pairs i < j of unit columns (q, m) with |<a_i, a_j>| near 1, and the distance of their places (m, d), or 1.

    Such columns have nearly the same absolute value along any one direction: only neighbours there are compared.
    """
    direction = np.random.default_rng(0).standard_normal(len(columns))
    along = np.abs(direction @ columns) / np.linalg.norm(direction)
    order = np.argsort(along, kind="stable")
    ends = np.searchsorted(along[order], along[order] + _NEIGHBOURS, side="right")
    for start in range(0, len(order), _STEP):
        some = order[start : start + _STEP]
        near = order[start : ends[min(start + _STEP, len(order)) - 1]]
        alike = np.triu(np.abs(columns[:, some].conj().T @ columns[:, near]) >= _SUSPICIOUS, 1)
        apart = np.ones(alike.shape)
        if places is not None and alike.any():
            apart = point_distances(places[some], places[near])
        for i, j in np.argwhere(alike):
            yield int(min(some[i], near[j])), int(max(some[i], near[j])), float(apart[i, j])


def _gap(one: Field, other: Field, has_sign: bool) -> float:
    """How far a unit vector is from another, or from the line through it.

    Given coefficients have a sign and a phase; random ones have neither.
    """
    return float(np.linalg.norm(one - other if has_sign else one - other * np.vdot(other, one)))
