"""One data set of the global study, from its seeds to a frozen protocol for each profile."""

from dataclasses import replace
from functools import partial
from typing import cast

import numpy as np
from numpy.random import default_rng

from ..._typing import Array
from ...aeb import EndpointPolicy, nuisance_order
from ...analysis import AnalysisProtocol, Proposed, Seal, StreamPlan
from ...laws import BernoulliGaussian, LatentObjective, LatentPoint, make_calibration, propose_continuous
from ...questions import Resolution
from .._block import balanced
from .._case import Case
from .._tasks import split_seed
from . import _design as design

STREAM = "calibration"
_LEAST_ROWS, _PART = 2048, 32  # of the proposal rows, one in 32 is searched first, but not fewer than these


def study_seals(condition: design.Condition, data_seed: int, split: int | None = None) -> tuple[Seal, ...]:
    """Simulate, split, propose, and freeze each profile; the bank is scored here, once for all of them.

    split: the seed of the split; the study's rule unless given.
    """
    rows = study_rows(condition, data_seed)
    plan = StreamPlan("latent", design.SHARE, propose=partial(best_point, condition.scale))
    first, *others = design.PROFILES
    protocol = AnalysisProtocol(
        partial(_question, condition, first),
        partial(_policy, condition),
        first.level,
        budget=1.0,
        bank=design.study_bank(condition),
        streams={STREAM: plan},
        seed=split_seed(data_seed) if split is None else split,
        until_witnessed=False,
        ranks=False,  # the policy goes by the proposal alone
    )
    beside = [replace(protocol, question=partial(_question, condition, p), level=p.level) for p in others]
    part = protocol.propose(STREAM, rows)
    seals = tuple(plans.read(calibration=part) for plans in (protocol, *beside))
    seals[0].evidence.along_path(np.arange(seals[0].evidence.size))
    return seals


def study_rows(condition: design.Condition, data_seed: int) -> Array:
    """(N, 4) calibration rows."""
    law, rng = BernoulliGaussian(design.TRUE_P), default_rng(data_seed)
    return make_calibration(law, balanced(condition.scale).atoms, condition.noise, rng, condition.n_rows)


def judge(condition: design.Condition, data_seed: int, seals: tuple[Seal, ...]) -> list[Case]:
    """The whole bank judged, and asked about, under each profile."""
    truth, profiles = design.true_explanation(condition), zip(design.PROFILES, seals, strict=True)
    return [Case.judged(condition.name, data_seed, profile.name, seal, truth) for profile, seal in profiles]


def best_point(scale: float, rows: Array) -> LatentPoint:
    """The law of the largest likelihood over the box; it may lie off the bank.

    rows: in random order, so that the first of them are like all, and lead to where all of them climb on.
    """
    whole, part = (
        LatentObjective(chosen, balanced(scale).atoms, design.GENERATOR)
        for chosen in (rows, rows[: max(_LEAST_ROWS, len(rows) // _PART)])
    )
    return whole.point(propose_continuous(whole, design.BOX, value=part.value, first=part).theta)


def point_of(proposed: Proposed) -> LatentPoint:
    """What the proposal rows proposed."""
    return cast(LatentPoint, proposed.points[STREAM])


def _question(condition: design.Condition, profile: design.Profile, proposed: Proposed) -> Resolution:
    distances = design.place_distances(condition.scale)
    shell = float(distances.max())
    return Resolution.of_states(
        design.study_bank(condition),
        distances,
        design.proposal_distances(condition.scale, point_of(proposed).atoms),
        delta_fine=profile.fine * shell,
        delta_group=profile.group * shell,
    )


def _policy(condition: design.Condition, proposed: Proposed) -> EndpointPolicy:
    point, grid = point_of(proposed), design.nuisances(condition).values
    members = nuisance_order(grid, [point.p, point.noise])
    return EndpointPolicy((np.arange(len(design.ANGLES))[:, None] * len(members) + members).ravel())
