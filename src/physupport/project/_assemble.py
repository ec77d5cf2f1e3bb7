"""A project with everything that it names: the protocol, and the tables that it will read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import final

from .._errors import MisuseError
from ..aeb import Policy
from ..analysis import Proposed, Protocol, StreamPlan, named_policy
from ..banks import Bank
from ..io import Table
from ..questions import RegionalMap
from ._bank import project_bank
from ._elements import Physical, read_elements
from ._load import Project
from ._question import RegionResolution, project_question
from ._tables import checked_tables, stream_specs


@final
@dataclass(frozen=True, slots=True, eq=False)
class Assembled:
    """What `analyse` needs, and what a reader should know about how it came about."""

    project: Project
    protocol: Protocol = field(repr=False)
    bank: Bank = field(repr=False)
    question: RegionalMap | RegionResolution = field(repr=False)
    tables: Mapping[str, Table] = field(repr=False)
    notes: tuple[str, ...]

    @property
    def title(self) -> str:
        """What the report is called."""
        return self.project.title


def assemble(project: Project, *, trust: bool = False) -> Assembled:
    """Read and check every file that a project names; of the rows, only kind and shape are looked at.

    Text files and archives are parsed whole, which they cannot be otherwise; no number of a row is used.

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


def _policy(project: Project, question: RegionalMap | RegionResolution) -> Policy | Callable[[Proposed], Policy]:
    name, seed = project.settings.policy, project.settings.seed
    if name is not None and name not in question.policies:
        raise MisuseError(project.name("policy"), f"be one of {', '.join(question.policies)} here", repr(name))
    return named_policy(name, question, seed)


def _plans(project: Project, physical: Physical) -> dict[str, StreamPlan]:
    return {
        name: StreamPlan(spec.law, spec.proposal, is_complex=physical.is_complex, first=spec.first_checkpoint)
        for name, spec in stream_specs(project).items()
    }
