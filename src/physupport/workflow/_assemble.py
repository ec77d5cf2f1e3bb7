"""A project with everything that it names: the protocol, and the tables that it will read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import final

from ..aeb import (
    FarthestFirst,
    FixedOrder,
    Policy,
    Protocol,
    RandomOrder,
    RegionalPolicy,
    StreamPlan,
    regional_distances,
)
from ..banks import Bank
from ..coarsen import RegionalMap
from ..io import Table
from ._bank import project_bank
from ._elements import Physical, read_elements
from ._load import Project
from ._question import project_question
from ._tables import checked_tables, stream_specs


@final
@dataclass(frozen=True, slots=True, eq=False)
class Assembled:
    """What `analyse` needs, and what a reader should know about how it came about."""

    project: Project
    protocol: Protocol = field(repr=False)
    bank: Bank = field(repr=False)
    question: RegionalMap = field(repr=False)
    tables: Mapping[str, Table] = field(repr=False)
    notes: tuple[str, ...]

    @property
    def title(self) -> str:
        """What the report is called."""
        return self.project.title


def assemble(project: Project, *, trust: bool = False) -> Assembled:
    """Read and check every file that a project names; of the data, only kind and shape are looked at.

    trust: whether a response may be a function of the user's own, which is then imported and called.
    """
    physical = read_elements(project, trust=trust)
    tables = checked_tables(project, physical, len(project.settings.regions) + physical.shared.shape[1])
    bank = project_bank(project, physical)
    question = project_question(project, physical, bank)
    settings = project.settings
    protocol = Protocol(
        question=question,
        policy=_policy(project, question),
        level=settings.level,
        budget=settings.budget,
        bank=bank,
        streams=_plans(project, physical),
        seed=settings.seed,
    )
    return Assembled(project, protocol, bank, question, tables, physical.notes)


def _plans(project: Project, physical: Physical) -> dict[str, StreamPlan]:
    return {
        name: StreamPlan(spec.law, spec.proposal, is_complex=physical.is_complex, first=spec.first_checkpoint)
        for name, spec in stream_specs(project).items()
    }


def _policy(project: Project, question: RegionalMap) -> Policy:
    match project.settings.policy:
        case "fixed":
            return FixedOrder()
        case "random":
            return RandomOrder(project.settings.seed)
        case "farthest":
            return FarthestFirst(regional_distances(question), "regional")
        case _:
            return RegionalPolicy()
