"""One data set of the four-region study, from its seeds to its maps."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import SeedSequence, default_rng

from ..._typing import Array
from ...aeb import Policy, WitnessFirst, elsewhere, presence, proposal_order
from ...analysis import AnalysisProtocol, Proposed, Seal, StreamPlan
from ...laws import GaussianCovariance, make_calibration
from .._case import Case
from .._tasks import split_seed
from . import _design as design


def examine(scene: design.Scene, data_seed: int, split: int | None = None) -> Case:
    """Simulate, split, propose on one part, freeze, judge on the other, and ask under the budget.

    split: the seed of the split; the study's rule unless given.
    """
    seed = split_seed(data_seed) if split is None else split
    seal = sealed(scene, data_seed, _policy, seed=seed, until_witnessed=False)
    return Case.judged(scene.name, data_seed, "regional map", seal, design.true_explanation(scene))


def sealed(
    scene: design.Scene,
    data_seed: int,
    policy: Policy | Callable[[Proposed], Policy],
    **others: Any,  # noqa: ANN401
) -> Seal:
    """A data set under the bank, question, level, budget and plans of the study.  others: fields of the protocol."""
    calibration, deployment = study_rows(scene, data_seed)
    plans = {
        "calibration": StreamPlan("latent", design.SHARES[0]),
        "deployment": StreamPlan("covariance", design.SHARES[1]),
    }
    question, bank = design.study_question(), design.study_bank()
    protocol = AnalysisProtocol(question, policy, design.LEVEL, design.BUDGET, bank, plans, **others)
    return protocol.read(calibration=calibration, deployment=deployment)


def study_rows(scene: design.Scene, seed: int) -> tuple[Array, Array]:
    """Calibration rows (N, 16) and deployment rows (T, 16)."""
    first, second = (default_rng(child) for child in SeedSequence(seed).spawn(2))
    truth = study_truth(scene)
    calibration = make_calibration(design.LAW, truth[0], design.CALIBRATION_NOISE, first, design.N_CALIBRATION)
    return calibration, GaussianCovariance(truth[1]).sample(second, design.N_DEPLOYMENT)


def study_truth(scene: design.Scene) -> tuple[Array, Array]:
    """The atoms (16, 5) and the deployment covariance (16, 16) of a scene."""
    member = design.study_bank().explanation(design.true_explanation(scene))
    active = member.atoms[:, list(member.positions)]
    covariance = design.DEPLOYMENT_NOISE * np.eye(design.N_SENSORS) + active * member.strengths @ active.T
    return member.atoms, covariance


def _policy(proposed: Proposed) -> WitnessFirst:
    """Witnesses without C and with C first, then the other place of A and all that has D."""
    question, supports = design.study_question(), len(design.SUPPORTS)
    everything, chosen = np.arange(question.view.n_explanations), proposed.best["deployment"]
    support = question.view.support(everything)
    stages = tuple(support == design.SUPPORTS.index(wanted) for wanted in ("AB", "ABC"))
    obligations = elsewhere(question, "A", chosen), presence(question, "D")
    states = [chosen // supports, proposed.best["calibration"] // supports]
    return WitnessFirst(stages, obligations, proposal_order(everything // supports, states))
