"""One data set of the global study, from its seeds to three traces."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.random import default_rng

from ..._typing import Array
from ...aeb import EndpointPolicy, Trace, budget_queries, nuisance_order, run
from ...banks import ArrayStates
from ...io import ArrayRows, Split, SplitRows
from ...judges import TableJudge, Verdict, bank_evidence, doubling_checkpoints, verdicts
from ...laws import BernoulliGaussian, LatentObjective, LatentPoint, latent_stream, make_calibration, propose_continuous
from ...questions import Answer, Resolution, exhaustive_answers
from .._tasks import balanced, split_seed
from . import _design as design


@final
@dataclass(frozen=True, slots=True, eq=False)
class Proposal:
    """The data of one seed, and the law that predicts its proposal part best; it may lie off the bank."""

    condition: design.Condition
    data_seed: int
    rows: Array  # (N, 4)
    split: SplitRows
    angle: float
    point: LatentPoint
    log_likelihood: float


@final
@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One data set under one profile."""

    condition: design.Condition
    data_seed: int
    profile: design.Profile
    trace: Trace
    exhaustive: Answer
    n_survivors: int
    is_truth_kept: bool  # whether the explanation that generated the data is admissible

    def at(self, budget: float) -> Trace:
        """What a run with this share of the bank says."""
        return self.trace.at(budget_queries(budget, self.trace.size))

    def is_false(self, budget: float) -> bool:
        """Whether the report at this budget leaves out the orientation that generated the data."""
        (answer,) = self.at(budget).answers
        return answer.label.is_truth_level and f"place {design.true_place()}" not in answer.cell


def make_proposal(condition: design.Condition, data_seed: int, split: int | None = None) -> Proposal:
    """Simulate, split, and find the best law for the proposal part.

    split: the seed of the split; the study's rule unless given.
    """
    dictionary = balanced(condition.scale).atoms
    rng, law = default_rng(data_seed), BernoulliGaussian(design.TRUE_P)
    rows = make_calibration(law, dictionary, condition.noise, rng, condition.n_rows)
    parts = Split(design.SHARE, split_seed(data_seed) if split is None else split).rows(len(rows))
    objective = LatentObjective(rows[parts.proposal], dictionary, design.GENERATOR)
    best = propose_continuous(objective, design.BOX, value=objective.value)
    return Proposal(condition, data_seed, rows, parts, float(best.theta[0]), objective.point(best.theta), best.value)


def examine(proposal: Proposal) -> tuple[Case, ...]:
    """Judge the whole bank on the held-out part, then ask under each profile."""
    condition, point = proposal.condition, proposal.point
    bank, held_out = design.study_bank(condition), ArrayRows(proposal.rows, proposal.split.held_out)
    checkpoints = doubling_checkpoints(len(proposal.split.held_out))
    noises = bank.calibration.column("noise")
    stream = latent_stream(held_out, bank.states, design.laws(condition), noises, checkpoints)
    reference = latent_stream(
        held_out, ArrayStates(point.atoms[None]), [BernoulliGaussian(point.p)], [point.noise], checkpoints
    )
    evidence = bank_evidence(bank, calibration=(stream, (reference, 0)))
    levels = [profile.level for profile in design.PROFILES]
    codes = verdicts(evidence, np.arange(bank.size), levels).codes
    return tuple(_reported(proposal, profile, codes[:, i]) for i, profile in enumerate(design.PROFILES))


def _reported(proposal: Proposal, profile: design.Profile, codes: "np.ndarray[tuple[int], np.dtype[np.uint8]]") -> Case:
    """One run under one profile; every verdict is known beforehand, the policy sees those it asks for."""
    condition = proposal.condition
    bank = design.study_bank(condition)
    distances = design.place_distances(condition.scale)
    shell = float(distances.max())
    question = Resolution.of_states(
        bank,
        distances,
        design.proposal_distances(condition.scale, proposal.angle),
        delta_fine=profile.fine * shell,
        delta_group=profile.group * shell,
    )
    members = nuisance_order(bank.calibration.values, [proposal.point.p, proposal.point.noise])
    order = (np.arange(len(design.ANGLES))[:, None] * len(members) + members).ravel()
    trace = run(TableJudge(codes), question, EndpointPolicy(order), 1.0, until_witnessed=False)
    (exhaustive,) = exhaustive_answers(question, codes)
    kept = codes == Verdict.ADMISSIBLE
    truth = design.true_explanation(condition)
    return Case(condition, proposal.data_seed, profile, trace, exhaustive, int(kept.sum()), bool(kept[truth]))
