"""The protocol that a project describes: its bank, and its question with checks that some data could answer it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, final

import numpy as np

from .._errors import Clause, misuse_named
from .._typing import Array, Field
from ..analysis import AnalysisProtocol, Proposed, StreamPlan, named_policy
from ..banks import Bank, RegionalView, bank_regions, library_bank, point_distances, product_grid
from ..io import Table, as_complex
from ..judges import JudgeSpec, make_judge
from ..judges.conformal import Replicates
from ..judges.rotation import Scan
from ..laws import Law, law_named
from ..questions import CLAIM_KINDS, Claim, RegionalMap, RegionRule, Resolution
from ._cover import cover_note
from ._elements import Physical, read_elements
from ._load import Project, named_by_key
from ._mixture import (
    check_noises_told_apart,
    check_own_options,
    judge_note,
    mixture_options,
    noise_notes,
    read_replicates,
    replicate_notes,
)
from ._region_sections import AskedResolution
from ._supports import check_left_out, left_out_note, project_supports
from ._tables import read_tables

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


def _map(project: Project, physical: Physical, view: RegionalView) -> RegionalMap:
    """A rule for every region that the file asks about."""
    rules = {}
    for name, region in project.regions.items():
        if region.ask == "nothing":
            continue
        _check_groups(project, name, view.sets[name].ids)
        rules[name] = RegionRule(
            tolerance=region.tolerance,
            groups=_visible_groups(region.groups, project.channels.hidden),
            asks=region.ask,
            absence_threshold=region.absence_threshold,
        )
        if region.ask == "finest" or "fine" in region.ask:
            _check_reachable(project, physical, name, f"regions.{name}.tolerance", region.tolerance)
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
    regions = project.regions
    chosen = next(iter(regions)) if spec.region is None and len(regions) == 1 else spec.region
    always = [name for name, region in regions.items() if region.presence == "always"]
    if chosen not in always:
        rule = f"name a region that is always there ({', '.join(always)})"
        raise project.misuse("resolution.region", rule, Clause("there is none") if chosen is None else repr(chosen))
    if regions[chosen].count != (1, 1):
        raise project.misuse(f"regions.{chosen}.count", "be 1 beside a resolution", regions[chosen].count[1])
    _check_reachable(project, physical, chosen, "resolution.group", spec.group)
    return RegionResolution(view, chosen, spec.fine, spec.group)


def _check_groups(project: Project, region: str, known: tuple[str, ...]) -> None:
    """Every group of elements of this region, by its key."""
    pending = [(f"regions.{region}.groups", project.regions[region].groups or {})]
    while pending:
        key, groups = pending.pop()
        for name, content in groups.items():
            if isinstance(content, dict):
                pending.append((f"{key}.{name}", content))
                continue
            for member in content:
                if member not in known and project.channels.hidden.get(member) != region:
                    rule = f"hold elements of region {region} ({', '.join(known)})"
                    raise project.misuse(f"{key}.{name}", rule, repr(member))


def _visible_groups(groups: Any, hidden: Mapping[str, str]) -> Any:  # noqa: ANN401  lists or tables of them
    """The groups without elements that have no line in the window; None and empty groups are left out."""
    if not hidden or groups is None:
        return groups
    if not isinstance(groups, dict):
        return [member for member in groups if member not in hidden]
    kept = {name: _visible_groups(content, hidden) for name, content in groups.items()}
    return {name: content for name, content in kept.items() if content} or None


def _check_reachable(project: Project, physical: Physical, region: str, key: str, tolerance: float) -> None:
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
            once = f"list one of them only, by an id such as {first}_or_{second}."
            if not library.coordinates.shape[1]:  # names alone have no distance that a tolerance could reach
                rule = f"not list both {first} and {second}, whose responses are equal"
                raise project.misuse("elements", rule, "both", f"No data can tell the two apart: {once}")
            rule = f"be at least {apart:.6g}, the distance of {first} and {second}, whose responses are equal"
            raise project.misuse(key, rule, f"{tolerance:g}", f"No data can tell the two apart: raise it, or {once}")


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
    """The distance of a unit vector from another one, or from the line through it.

    Given coefficients have a sign and a phase; random ones have neither.
    """
    return float(np.linalg.norm(one - other if has_sign else one - other * np.vdot(other, one)))


# The share of rows that propose where a project leaves it out, as it does where none need to.
_HALF = 0.5


def project_bank(project: Project, physical: Physical, few: Sequence[Sequence[str]] | None = None) -> Bank:
    """States from elements and parameters, supports from regions, nuisances from the laws.

    few: supports to take in place of all, each with the largest strengths alone.
    """
    settings = project.settings
    cover = physical.cover
    noise = settings.data.deployment.noise
    noises = None if noise is None else noise.known
    strengths = {name: region.marks for name, region in project.regions.items()}
    if cover is not None:  # the middles of the cells of ranges
        noises = noises if cover.noises is None else tuple(cover.noises.tolist())
        strengths |= {name: tuple(values.tolist()) for name, values in cover.strengths.items()}
    if few is not None:
        strengths = {name: (max(values),) for name, values in strengths.items()}
    spec = settings.data.states
    calibration = None
    if spec is not None:
        values = {"p": spec.activity, "noise": (spec.noise and spec.noise.known) or ()}
        calibration = product_grid(**{name: grid for name, grid in values.items() if grid is not None})
    with named_by_key(project, "regions"):
        return library_bank(
            physical.library,
            project_supports(project) if few is None else few,
            strengths,
            regions=tuple(project.regions),
            extra=physical.shared,
            settings=physical.settings,
            counts={name: region.count for name, region in project.regions.items()},
            calibration=calibration,
            deployment=None if noises is None else product_grid(noise=noises),
        )


@final
@dataclass(frozen=True, slots=True, eq=False)
class Assembled:
    """The input of `analyse`, with notes on how it came about."""

    project: Project
    protocol: AnalysisProtocol = field(repr=False)
    bank: Bank = field(repr=False)
    question: RegionalMap | RegionResolution = field(repr=False)
    tables: Mapping[str, Table] = field(repr=False)
    notes: tuple[str, ...]
    outline: float | None = None  # radius of what pictures draw around the elements


def assemble(project: Project) -> Assembled:
    """Read and check every file that a project names; of the rows, only kind and shape are looked at.

    Text files and archives are parsed whole, which they cannot be otherwise; no number of a row is used.
    """
    return assembled_of(project, *read_parts(project))


def read_parts(project: Project) -> tuple[Physical, dict[str, Table]]:
    """The elements with their answers, and the rows, of which kind and shape are looked at."""
    project.read.clear()  # what was read before, in whatever order, is read again
    if project.learnt is not None:
        project.read.update(project.learnt.inputs)
    physical = read_elements(project)
    tables = read_tables(project, physical)
    check_noises_told_apart(project, physical)
    return physical, tables


def assembled_of(project: Project, physical: Physical, tables: Mapping[str, Table]) -> Assembled:
    """The same from what was read."""
    bank = project_bank(project, physical)
    settings = project.settings
    view = bank_regions(bank)
    asked = settings.resolution
    question = _map(project, physical, view) if asked is None else _resolution(project, physical, view, asked)
    replicates = read_replicates(project, physical)
    plans = project_plans(project, physical, bank)
    project.channels.check_named(project.name)
    judge = project_judge(project, plans["deployment"].law, replicates)
    if settings.policy is not None and settings.policy not in question.policies:
        raise project.misuse("policy", f"be one of {', '.join(question.policies)} here", repr(settings.policy))
    with misuse_named(project.name):
        protocol = AnalysisProtocol(
            question=question,
            policy=named_policy(settings.policy, question, settings.seed),
            level=settings.level,
            budget=settings.budget,
            bank=bank,
            streams=plans,
            seed=settings.seed,
            stop=settings.stop,
            judge=judge,
            cover=physical.cover,
            window=project.channels.window_facts,
        )
    _check_judge(project, judge, plans, {name: len(table.values) for name, table in tables.items()})
    check_left_out(project, question, judge)
    is_usual = replicates is None and law_named(settings.data.deployment.law).usual_judge == Law.usual_judge
    chosen = (
        ()
        if settings.judge or is_usual or project.learnt is not None
        else (judge_note(project, protocol.judge.encode()),)
    )
    covers = () if physical.cover is None else (cover_note(project, physical.cover),)
    notes = (*covers, *physical.notes, *noise_notes(project), *chosen)
    notes = (*notes, *replicate_notes(project, replicates), *left_out_note(project))
    return Assembled(project, protocol, bank, question, tables, notes, physical.outline)


# Where a file has the options of a judge.
JUDGE_KEYS = {
    "draws": "draws",
    "statistic": "statistic",
    "split": "data.deployment.split",
    "n_splits": "data.deployment.splits",
    "proposal": "data.deployment.proposal",
    "outsiders": "outsiders",
    "replicates": "elements.replicates",
    "share": "elements.replicate_share",
    "noise": "elements.replicate_noise",
    "pool": "elements.pool",
}


def project_judge(project: Project, law: Law, replicates: Replicates | None) -> JudgeSpec:
    """The judge with all that the file says of its options; law: of the deployment."""
    settings = project.settings
    if project.learnt is not None:
        return project.learnt.judge
    kind = settings.judge or (law.own_judge if replicates is None else "conformal")
    scan = settings.outsiders
    rows = settings.data.deployment
    spec = settings.elements
    options: dict[str, object] = {
        "draws": settings.draws,
        "statistic": settings.statistic,
        "outsiders": None if scan is None else Scan(scan.elements, scan.share),
        "split": rows.split,
        "n_splits": rows.splits,
        # Other laws leave it to the protocol alone, whoever judges.
        "proposal": rows.proposal if law_named(rows.law).is_linear else None,
        "replicates": replicates,
        "share": spec.replicate_share,
        "noise": spec.replicate_noise,
        "pool": spec.pool,
    }
    check_own_options(project, "judge_options", settings.judge_options, options)
    with misuse_named(lambda name: project.name(JUDGE_KEYS.get(name, f"judge_options.{name}"))):
        return make_judge(kind, options | settings.judge_options)


def _check_judge(
    project: Project, judge: JudgeSpec, plans: Mapping[str, StreamPlan], n_rows: Mapping[str, int]
) -> None:
    """Refuse a judge that does not take so many rows, or that would have nothing to tell of."""
    for name, plan in plans.items():
        with named_by_key(project, f"data.{name}"):
            judge.check_rows(plan.law, n_rows[name])
    # Where no rows propose, only queries say which explanation is best, which the pages of a report show.
    if not project.settings.budget and not all(judge.splits(plan.law) for plan in plans.values()):
        rule = "allow at least one query with a judge that sets no rows aside to propose"
        raise project.misuse("budget", rule, project.settings.budget)


def project_plans(project: Project, physical: Physical, bank: Bank) -> dict[str, StreamPlan]:
    """How the rows of each stream are read: their law, completed with the bank, and their share that proposes."""
    plans = {}
    options = {"deployment": mixture_options(project, physical)}
    for name, spec in project.settings.data.streams.items():
        shared = {"is_complex": physical.is_complex, "first": spec.first_checkpoint, **options.get(name, {})}
        if spec.opponent is not None:
            shared["opponent"] = spec.opponent
        with named_by_key(project, f"data.{name}"):
            plans[name] = StreamPlan(spec.law, spec.proposal or _HALF, **shared)  # type: ignore[arg-type]
            plans[name].law.completed(bank)
    return plans
