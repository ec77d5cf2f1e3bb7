"""The design of the four-region study: places, responses, laws, bank, question, seeds, data, and the protocol."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, final

import numpy as np
from numpy.random import SeedSequence, default_rng

from .._typing import Array
from ..aeb import Policy, WitnessFirst, elsewhere, presence, proposal_order
from ..analysis import AnalysisProtocol, Proposed, Seal, StreamPlan
from ..banks import Bank, Library, bank_regions, library_bank, product_grid
from ..laws import BernoulliGaussian, make_calibration
from ..questions import RegionalMap, RegionRule
from ._case import Case
from ._outcome import split_seed

PLACES: Final = {"A": (0.10, 0.20), "B": (0.405, 0.435, 0.465, 0.495), "C": (0.64, 0.70, 0.76), "D": (0.86, 0.91, 0.96)}
TRUTH: Final = {"A": 0.10, "B": 0.465, "C": 0.70, "D": 0.91}
STRENGTHS: Final = {"A": 1.0, "B": 0.8, "C": 0.1, "D": 1.0}  # standard deviations tau_R
SUPPORTS: Final = ("AB", "ABC", "ABD")
N_SENSORS = 16
WIDTH = 0.085
N_CALIBRATION = 4096
N_DEPLOYMENT = 192
CALIBRATION_NOISE = 1.0
DEPLOYMENT_NOISE = 0.8
LAW: Final = BernoulliGaussian(0.2)
SHARES: Final = (0.45, 0.40)  # of the calibration and of the deployment rows that propose
LEVEL = 0.077
BUDGET = 0.75


@final
@dataclass(frozen=True, slots=True)
class Scene:
    """One kind of truth and the seeds of its data."""

    name: str
    support: str
    seeds: tuple[int, ...]


SCENES: Final = (
    Scene("persistent-only", "AB", tuple(range(2026091001, 2026091007))),
    Scene("weak-C", "ABC", tuple(range(2026091011, 2026091017))),
    Scene("D-present", "ABD", tuple(range(2026091021, 2026091024))),
)


def response(place: float) -> Array:
    r""":math:`e^{-(t - x)^2/2h^2} + 0.12\cos 2\pi(t - x)` at the sensors, scaled to unit norm; (16,)."""
    gap = (np.arange(N_SENSORS) + 0.5) / N_SENSORS - place
    wave = np.exp(-(gap**2) / (2.0 * WIDTH**2)) + 0.12 * np.cos(2.0 * np.pi * gap)
    return np.asarray(wave / np.linalg.norm(wave))


@cache
def library() -> Library:
    """Twelve elements in four regions."""
    placed = [(region, place) for region, places in PLACES.items() for place in places]
    return Library(
        tuple(f"{region} {place:g}" for region, place in placed),
        tuple(region for region, _ in placed),
        np.array([[place] for _, place in placed]),
        np.column_stack([response(place) for _, place in placed]),
    )


def spare_atom() -> Array:
    """The alternating vector made orthogonal to all responses: an atom that only the calibration meets; (16,)."""
    basis = np.linalg.qr(library().responses)[0]
    vector = (-1.0) ** np.arange(N_SENSORS)
    for _ in range(2):  # the second time removes what rounding left
        vector = vector - basis @ (basis.T @ vector)
    return np.asarray(vector / np.linalg.norm(vector))


@cache
def study_bank() -> Bank:
    """72 states with 3 supports each, 216 explanations (eq:supp-four-region-law)."""
    return library_bank(
        library(),
        SUPPORTS,
        {region: tau**2 for region, tau in STRENGTHS.items()},
        extra=spare_atom()[:, None],
        calibration=product_grid(p=[LAW.p], noise=[CALIBRATION_NOISE]),
        deployment=product_grid(noise=[DEPLOYMENT_NOISE]),
    )


@cache
def study_question() -> RegionalMap:
    """A is to be localised, B located at least as a group, C and D said to be there or not."""
    weak = RegionRule(0.035, asks=("fine", "group", "absence", "ambiguity"), absent_witness="persistent_only")
    return RegionalMap(
        bank_regions(study_bank()),
        {
            "A": RegionRule(0.035, asks=("fine", "ambiguity")),
            "B": RegionRule(0.020, asks=("fine", "group")),
            "C": weak,
            "D": RegionRule(0.030, asks=("fine", "group", "absence", "ambiguity")),
        },
    )


@cache
def true_state() -> int:
    """The dictionary state that generates all data."""
    wanted = tuple(f"{region} {place:g}" for region, place in TRUTH.items())
    states = study_bank().states
    numbers = range(states.n_states)
    return next(k for k in numbers if states.names(states.element_index([k])[0])[: len(wanted)] == wanted)


def true_explanation(scene: Scene) -> int:
    """The member of the bank that generates the data of a scene."""
    return len(SUPPORTS) * true_state() + SUPPORTS.index(scene.support)


def examine(scene: Scene, data_seed: int, split: int | None = None) -> Case:
    """Simulate, split, propose on one part, freeze, judge on the other, and ask under the budget.

    split: the seed of the split; the study's rule unless given.
    """
    seed = split_seed(data_seed) if split is None else split
    seal = sealed(scene, data_seed, _policy, seed=seed, until_witnessed=False)
    return Case.judged(scene.name, data_seed, "regional map", seal, true_explanation(scene))


def sealed(
    scene: Scene,
    data_seed: int,
    policy: Policy | Callable[[Proposed], Policy],
    **others: Any,  # noqa: ANN401
) -> Seal:
    """A data set under the bank, question, level, budget and plans of the study.  others: fields of the protocol."""
    calibration, deployment = study_rows(scene, data_seed)
    plans = {
        "calibration": StreamPlan("latent", SHARES[0]),
        "deployment": StreamPlan("covariance", SHARES[1]),
    }
    protocol = AnalysisProtocol(study_question(), policy, LEVEL, BUDGET, study_bank(), plans, **others)
    return protocol.read(calibration=calibration, deployment=deployment)


def study_rows(scene: Scene, seed: int) -> tuple[Array, Array]:
    """Calibration rows (N, 16) and deployment rows (T, 16)."""
    first, second = (default_rng(child) for child in SeedSequence(seed).spawn(2))
    atoms, covariance = study_truth(scene)
    calibration = make_calibration(LAW, atoms, CALIBRATION_NOISE, first, N_CALIBRATION)
    normals = second.standard_normal((N_DEPLOYMENT, len(covariance)))
    return calibration, normals @ np.linalg.cholesky(covariance).T


def study_truth(scene: Scene) -> tuple[Array, Array]:
    """The atoms (16, 5) and the deployment covariance (16, 16) of a scene."""
    member = study_bank().explanation(true_explanation(scene))
    active = member.atoms[:, list(member.positions)]
    covariance = DEPLOYMENT_NOISE * np.eye(N_SENSORS) + active * member.strengths @ active.T
    return member.atoms, covariance


def _policy(proposed: Proposed) -> WitnessFirst:
    """Witnesses without C and with C first, then the other place of A and all that has D."""
    question = study_question()
    everything = np.arange(question.view.n_explanations)
    chosen = proposed.best["deployment"]
    support = question.view.support(everything)
    stages = tuple(support == SUPPORTS.index(wanted) for wanted in ("AB", "ABC"))
    obligations = elsewhere(question, "A", chosen), presence(question, "D")
    states = [best // len(SUPPORTS) for best in (chosen, proposed.best["calibration"])]
    return WitnessFirst(stages, obligations, proposal_order(everything // len(SUPPORTS), states))
