"""The bank that a project describes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import final

from .._errors import misuse_named
from ..analysis import AnalysisProtocol, StreamPlan, named_policy
from ..banks import Bank, library_bank, product_grid
from ..io import Table
from ..judges import JudgeSpec, check_laws, make_judge
from ..judges.conformal import Replicates
from ..judges.rotation import Scan
from ..laws import Law, law_named
from ..questions import RegionalMap
from ._cover import cover_note
from ._elements import Physical, read_elements
from ._load import Project, named_by_key
from ._mixture import check_noises_told_apart, judge_note, mixture_options, noise_notes
from ._question import RegionResolution, project_question
from ._replicates import read_replicates, replicate_notes
from ._supports import check_left_out, left_out_note, project_supports
from ._tables import read_tables

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
    strengths = {name: region.marks for name, region in settings.regions.items()}
    if cover is not None:  # the middles of the cells of ranges
        noises = noises if cover.noises is None else tuple(cover.noises.tolist())
        strengths |= {name: tuple(values.tolist()) for name, values in cover.strengths.items()}
    if few is not None:
        strengths = {name: (max(values),) for name, values in strengths.items()}
    spec = settings.data.calibration
    calibration = None
    if spec is not None:
        values = {"p": spec.activity, "noise": (spec.noise and spec.noise.known) or ()}
        calibration = product_grid(**{name: grid for name, grid in values.items() if grid is not None})
    with named_by_key(project, "regions"):
        return library_bank(
            physical.library,
            project_supports(project) if few is None else few,
            strengths,
            regions=tuple(settings.regions),
            extra=physical.shared,
            settings=physical.settings,
            counts={name: region.count for name, region in settings.regions.items()},
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
    physical = read_elements(project)
    tables = read_tables(project, physical)
    check_noises_told_apart(project, physical)
    return physical, tables


def assembled_of(project: Project, physical: Physical, tables: Mapping[str, Table]) -> Assembled:
    """The same from what was read."""
    bank = project_bank(project, physical)
    question = project_question(project, physical, bank)
    replicates = read_replicates(project, physical)
    settings = project.settings
    plans = project_plans(project, physical, bank)
    project.channels.check_named(project.name)
    judge = project_judge(project, plans["deployment"].law, replicates)
    _check_judge(project, judge, plans, {name: len(table.values) for name, table in tables.items()})
    check_left_out(project, question, judge)
    if settings.policy is not None and settings.policy not in question.policies:
        raise project.misuse("policy", f"be one of {', '.join(question.policies)} here", repr(settings.policy))
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
    )
    is_usual = replicates is None and law_named(settings.data.deployment.law).usual_judge == Law.usual_judge
    chosen = () if settings.judge or is_usual else (judge_note(project, judge.encode()),)
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
    kind = settings.judge or (law.own_judge if replicates is None else "conformal")
    scan = settings.outsiders
    rows = settings.data.deployment
    spec = settings.elements
    options = {
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
    with misuse_named(lambda name: project.name(JUDGE_KEYS.get(name, f"judge: {name}"))):
        return make_judge(kind, options)


def _check_judge(
    project: Project, judge: JudgeSpec, plans: Mapping[str, StreamPlan], n_rows: Mapping[str, int]
) -> None:
    """Refuse a judge that does not take these laws, or not so many rows, or that would have nothing to tell of."""
    with misuse_named(project.name):
        check_laws(judge, [plan.law for plan in plans.values()])
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
