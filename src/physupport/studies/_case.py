"""One data set of a study under one protocol: asked as the protocol says, asked in full, and held against the truth."""

from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import NDArray

from ..aeb import Trace, budget_queries
from ..analysis import Seal
from ..judges import Verdict
from ..questions import Answer, Label, exhaustive_answers, plugin_answers


@final
@dataclass(frozen=True, slots=True)
class Reported:
    """One field of one report on one fresh data set; the true explanation is a member of the bank."""

    scene: str
    data_seed: int
    split_seed: int
    profile: str
    level: float
    field: str
    label: str
    is_false: bool  # a FINE, GROUP or ABSENT that does not hold for the explanation that generated the data
    is_truth_rejected: bool
    has_no_witness: bool  # nothing was found admissible within the budget: the report as a whole abstains


@final
@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """What the data of one seed allow under one frozen protocol."""

    scene: str
    data_seed: int
    profile: str
    seal: Seal
    truth: int  # the explanation that generated the data
    trace: Trace
    codes: NDArray[np.uint8]  # (M,) verdicts on the whole bank
    exhaustive: tuple[Answer, ...]
    _prefixes: dict[float, Trace] = field(init=False, repr=False, default_factory=dict)  # by budget

    @classmethod
    def judged(cls, scene: str, data_seed: int, profile: str, seal: Seal, truth: int) -> "Case":
        """Have the whole bank judged, then ask; a run sees the verdicts that it asks for and no others."""
        codes = seal.verdicts().codes
        return cls(scene, data_seed, profile, seal, truth, seal.run(), codes, exhaustive_answers(seal.question, codes))

    @property
    def n_survivors(self) -> int:
        """Admissible explanations of the whole bank."""
        return int((self.codes == Verdict.ADMISSIBLE).sum())

    @property
    def is_truth_kept(self) -> bool:
        """Whether the explanation that generated the data is admissible."""
        return bool(self.codes[self.truth] == Verdict.ADMISSIBLE)

    def at(self, budget: float) -> Trace:
        """What a run with this share of the bank says."""
        if budget not in self._prefixes:
            self._prefixes[budget] = self.trace.at(budget_queries(budget, self.trace.size))
        return self._prefixes[budget]

    def false_fields(self, trace: Trace) -> tuple[str, ...]:
        """Fields about which a report says something that is not true of the data's origin."""
        true = plugin_answers(self.seal.question, self.truth, self.trace.size)
        return tuple(said.field for said, fact in zip(trace.answers, true, strict=True) if _is_false(said, fact))

    def reported(self, trace: Trace) -> list[Reported]:
        """A report, field by field."""
        false, protocol = self.false_fields(trace), self.seal.protocol
        return [
            Reported(
                scene=self.scene,
                data_seed=self.data_seed,
                split_seed=protocol.seed,
                profile=self.profile,
                level=protocol.level,
                field=answer.field,
                label=answer.label.value,
                is_false=answer.field in false,
                is_truth_rejected=not self.is_truth_kept,
                has_no_witness=not trace.n_witnessed,
            )
            for answer in trace.answers
        ]


def _is_false(said: Answer, fact: Answer) -> bool:
    """Whether a statement about the truth leaves it out; fact: the answer if nothing but the truth survives."""
    if not said.label.is_truth_level:
        return False
    if Label.ABSENT in (said.label, fact.label):
        return said.label is not fact.label
    return not {*fact.cell} <= {*said.cell}
