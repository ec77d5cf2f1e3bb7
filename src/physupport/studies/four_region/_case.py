"""One data set of the four-region study, from its seeds to its three maps."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.random import SeedSequence, default_rng

from ..._typing import Array, IntArray
from ...aeb import Trace, WitnessFirst, elsewhere, presence, proposal_order, run
from ...io import ArrayRows, split_streams
from ...judges import TableJudge, Verdict, bank_evidence, best_explanation, best_key, doubling_checkpoints, verdicts
from ...laws import (
    CovarianceStream,
    GaussianCovariance,
    LatentStream,
    covariance_stream,
    latent_stream,
    make_calibration,
)
from ...questions import Answer, exhaustive_answers, plugin_answers
from .._coverage import Reported
from .._tasks import kernel_threads, split_seed
from . import _design as design


@final
@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """What the data of one seed allow: asked step by step, asked in full, and as a point-valued method reads them."""

    scene: design.Scene
    data_seed: int
    trace: Trace
    exhaustive: tuple[Answer, ...]
    plug_in: tuple[Answer, ...]
    is_empty: bool  # whether the exhaustive profile is
    is_truth_kept: bool  # whether the explanation that generated the data is admissible

    def false_regions(self) -> tuple[str, ...]:
        """Regions about which the report says something that is not true of the data's origin."""
        return tuple(answer.field for answer in self.trace.answers if self._is_false(answer))

    def _is_false(self, answer: Answer) -> bool:
        if not answer.label.is_truth_level:
            return False
        element = f"{answer.field} {design.TRUTH[answer.field]:g}"
        is_there = answer.field in self.scene.support
        return is_there if answer.label.value == "ABSENT" else not (is_there and element in answer.cell)


def examine(scene: design.Scene, data_seed: int, split: int | None = None) -> Case:
    """Simulate, split, propose on one part, judge on the other, ask under the budget, and compare.

    split: the seed of the split; the study's rule unless given.
    """
    bank, question = design.study_bank(), design.study_question()
    rows = study_rows(scene, data_seed)
    parts = split_streams(
        [len(part) for part in rows], design.SHARES, split_seed(data_seed) if split is None else split
    )
    (y, c), (z, d) = zip(rows, parts, strict=True)

    proposing = _calibration(y, c.proposal, [len(c.proposal)]), _deployment(z, d.proposal, [len(d.proposal)])
    state = best_key(proposing[0]).key
    chosen = best_explanation(proposing[1], bank.size, bank.deployment_keys)

    calibration = _calibration(y, c.held_out, doubling_checkpoints(len(c.held_out)))
    deployment = _deployment(z, d.held_out, doubling_checkpoints(len(d.held_out)))
    evidence = bank_evidence(
        bank, calibration=(calibration, (calibration, state)), deployment=(deployment, (deployment, chosen.key))
    )
    codes = verdicts(evidence, np.arange(bank.size), design.LEVEL).codes[:, 0]
    trace = run(TableJudge(codes), question, _policy(chosen.index, state), design.BUDGET, until_witnessed=False)
    return Case(
        scene,
        data_seed,
        trace,
        exhaustive_answers(question, codes),
        plugin_answers(question, chosen.index, bank.size),
        is_empty=not bool((codes == Verdict.ADMISSIBLE).any()),
        is_truth_kept=bool(codes[design.true_explanation(scene)] == Verdict.ADMISSIBLE),
    )


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


def _calibration(rows: Array, order: IntArray, checkpoints: list[int] | IntArray) -> LatentStream:
    source = ArrayRows(rows, order)
    return latent_stream(source, design.study_bank().states, [design.LAW], [design.CALIBRATION_NOISE], checkpoints)


def _deployment(rows: Array, order: IntArray, checkpoints: list[int] | IntArray) -> CovarianceStream:
    return covariance_stream(ArrayRows(rows, order), design.study_bank(), [design.DEPLOYMENT_NOISE], checkpoints)


def _policy(chosen: int, state: int) -> WitnessFirst:
    """Witnesses without C and with C first, then the other place of A and all that has D."""
    question, supports = design.study_question(), len(design.SUPPORTS)
    everything = np.arange(question.view.n_explanations)
    support = question.view.support(everything)
    stages = tuple(support == design.SUPPORTS.index(wanted) for wanted in ("AB", "ABC"))
    obligations = elsewhere(question, "A", chosen), presence(question, "D")
    return WitnessFirst(stages, obligations, proposal_order(everything // supports, [chosen // supports, state]))


def reports(
    seeds: Sequence[tuple[int, int]], jobs: int = 1, progress: Callable[[int, int], None] | None = None
) -> list[Reported]:
    """Scenes in turn; four regions each.  Data sets come one by one, the scoring of each on jobs threads."""
    found: list[Reported] = []
    with kernel_threads(jobs):
        for i, (data_seed, split_seed) in enumerate(seeds):
            case = examine(design.SCENES[i % len(design.SCENES)], data_seed, split_seed)
            found += _reported(case, split_seed)
            if progress is not None:
                progress(i + 1, len(seeds))
    return found


def _reported(case: Case, split_seed: int) -> list[Reported]:
    false = case.false_regions()
    return [
        Reported(
            scene=case.scene.name,
            data_seed=case.data_seed,
            split_seed=split_seed,
            profile="regional map",
            level=design.LEVEL,
            field=answer.field,
            label=answer.label.value,
            is_false=answer.field in false,
            is_truth_rejected=not case.is_truth_kept,
            has_no_witness=not case.trace.n_witnessed,
        )
        for answer in case.trace.answers
    ]
