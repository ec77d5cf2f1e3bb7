"""The guarantee, counted: of many data sets with known truths, few enough are told something false."""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

import numba
import numpy as np
import pytest
from scipy import stats

from physupport.aeb import EndpointPolicy, EvidenceJudge, Policy, Proposals, RegionalPolicy, TableJudge, Trace, run
from physupport.banks import Bank, Library, library_bank, product_grid, region_supports
from physupport.coarsen import Answer, Label, Question, RegionalMap, RegionRule, Resolution
from physupport.project import bank_regions
from physupport.retain.evidence import Evidence, Verdict, bank_evidence, best_explanation, split_rows, split_streams, verdicts
from physupport.retain.streams import ArrayRows, covariance_stream, known_code_stream, mean_stream

RUNS, LEVEL, BUDGET = 2000, 0.1, 0.75
# Of a study that keeps its promise fewer than one seed in a million fails; of a control, more than all but one passes.
UNLUCKY = 1e-6


@pytest.fixture(autouse=True)
def _one_thread():
    """Batches are tiny here: handing them to several threads costs more than the work."""
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    yield
    numba.set_num_threads(before)


def too_many(misses, runs=RUNS):
    return stats.binom.sf(misses - 1, runs, LEVEL) < UNLUCKY


class Case(NamedTuple):
    """One data set after its proposals are made: everything that a run needs, and the explanation behind the data."""

    truth: int
    evidence: Evidence
    question: Question
    policy: Policy
    proposals: Proposals


class Outcome(NamedTuple):
    """What was said at the end, whether something false was said at any prefix, and whether the truth was rejected."""

    labels: tuple[tuple[str, Label], ...]
    is_false: bool
    is_false_at_some_prefix: bool
    is_truth_rejected: bool

    @property
    def says_something(self):
        return any(label.is_truth_level for _, label in self.labels)


# A map.  Two persistent regions and an optional one, which counts as absent below the strength 1, seen through rows
# with random amplitudes.

PLACES = {"A": (0.0, 0.6), "B": (1.3, 1.5, 2.1), "C": (2.9, 3.6)}
GROUPS = {"low": ("B0", "B1")}
THRESHOLD, NOISE = 1.0, 0.5


def make_library(places, responses):
    ids = [f"{region}{i}" for region, found in places.items() for i in range(len(found))]
    x = np.concatenate([*places.values()])
    return Library(ids, [name[0] for name in ids], x[:, None], responses(x) / np.linalg.norm(responses(x), axis=0))


def array_response(x):
    return np.array([np.cos(x), np.sin(x), 0.7 * np.cos(2.0 * x), 0.7 * np.sin(2.0 * x)])


MAP_BANK = library_bank(
    make_library(PLACES, array_response), region_supports("AB", "C"), {"A": 2.0, "B": 2.0, "C": (0.3, 3.0)}
)
RULES = {
    "A": RegionRule(0.1),
    "B": RegionRule(0.1, groups={name: list(members) for name, members in GROUPS.items()}),
    "C": RegionRule(0.1, absence_threshold=THRESHOLD),
}
MAP = RegionalMap(bank_regions(MAP_BANK), RULES)
MAPN=(64,0.125,[4,8,14,20,28,40,56])


def make_map_case(seed, share, sees_all=False):
    """share: of the noise variance, what the likelihood claims."""
    rng = np.random.default_rng([1, seed])
    n,frac,stops=MAPN
    truth = int(rng.integers(MAP_BANK.size))
    law = MAP_BANK.explanation(truth)
    mixing = law.atoms[:, list(law.positions)] * np.sqrt(law.strengths)  # (4, r)
    rows = rng.standard_normal((n, mixing.shape[1])) @ mixing.T + np.sqrt(NOISE) * rng.standard_normal((n, 4))
    split = split_rows(n, frac, seed)
    stream = covariance_stream(ArrayRows(rows, split.held_out), MAP_BANK, [share * NOISE], stops)
    propose = stream if sees_all else covariance_stream(ArrayRows(rows, split.proposal), MAP_BANK, [share * NOISE], [len(split.proposal)])
    best = best_explanation(propose, MAP_BANK.size, MAP_BANK.deployment_keys)
    evidence = bank_evidence(MAP_BANK, deployment=(stream, (stream, best.key)))
    return Case(truth, evidence, MAP, RegionalPolicy(), Proposals((best.index,)))


def is_false_of_the_map(answer, truth):
    law = MAP_BANK.explanation(truth)
    here = {name[0]: (name, strength) for name, strength in zip(law.ids, law.strengths.tolist(), strict=True)}
    name, strength = here.get(answer.field, (None, 0.0))
    match answer.label:
        case Label.FINE:
            return name not in answer.cell
        case Label.GROUP:
            return name not in answer.cell or name not in GROUPS.get(answer.group, answer.cell)
        case Label.ABSENT:
            return strength >= THRESHOLD
        case _:
            return False


# A resolution.  A source of known strength at one of nine places, in noise of one of two sizes; every row is looked at.

ARC = np.linspace(0.0, 1.6, 9)
NOISES = np.array([1.0, 1.1])
ARC_BANK = library_bank(
    make_library({"S": tuple(ARC)}, lambda x: np.array([np.cos(x), np.sin(x)])), ["S"], {"S": 1.0}, deployment=product_grid(noise=NOISES)
)
DISTANCES = np.abs(ARC[:, None] - ARC)
RESOLUTIONS = [
    Resolution.of_states(ARC_BANK, DISTANCES, DISTANCES[best], delta_fine=0.45, delta_group=0.85) for best in range(9)
]
ARCN=((16,.125,[2,5,9,14]),(80,.05,[6,12,20,28,36,46,60,76]))


def make_arc_case(seed, share, sees_all=False):
    rng = np.random.default_rng([2, seed])
    (n,fn,ns),(m,fm,ms)=ARCN
    truth = int(rng.integers(ARC_BANK.size))
    law = ARC_BANK.explanation(truth)
    codes=rng.standard_normal((n,1))
    known=codes@law.atoms.T+rng.standard_normal((n,2))
    rows = law.atoms[:, 0] + np.sqrt(law.deployment["noise"]) * rng.standard_normal((m, 2))
    cal,dep = split_streams([n,m], [fn,fm], seed)
    def streams(cal,dep,ns,ms):
        return known_code_stream(ArrayRows(known,cal),ArrayRows(codes,cal),ARC_BANK.states,[share],ns), mean_stream(ArrayRows(rows, dep), ARC_BANK, share * NOISES, ms)
    held=streams(cal.held_out,dep.held_out,ns,ms)
    prop=held if sees_all else streams(cal.proposal,dep.proposal,[len(cal.proposal)],[len(dep.proposal)])
    b1 = best_explanation(prop[0], ARC_BANK.size, ARC_BANK.calibration_keys)
    best = best_explanation(prop[1], ARC_BANK.size, ARC_BANK.deployment_keys)
    evidence = bank_evidence(ARC_BANK, calibration=(held[0],(held[0],b1.key)),deployment=(held[1], (held[1], best.key)))
    place = int(ARC_BANK.split(best.index).state[0])
    return Case(truth, evidence, RESOLUTIONS[place], EndpointPolicy(), Proposals((best.index,)))


def is_false_of_the_arc(answer, truth):
    name = f"place {truth // len(NOISES)}"
    return answer.label.is_truth_level and name not in answer.cell


STUDIES = {"map": (make_map_case, is_false_of_the_map), "resolution": (make_arc_case, is_false_of_the_arc)}


def outcome(case, is_false):
    found = verdicts(case.evidence, np.arange(case.evidence.size), LEVEL)
    judge = TableJudge(found.codes[:, 0].astype(np.uint8), np.hstack(found.margins()))
    trace = run(judge, case.question, case.policy, BUDGET, proposals=case.proposals)

    def lies(answers):
        return any(is_false(answer, case.truth) for answer in answers)

    is_rejected = judge.codes[case.truth] == Verdict.REJECTED
    prefixes = range(len(trace)) if is_rejected else ()
    return Outcome(
        tuple((answer.field, answer.label) for answer in trace.answers),
        lies(trace.answers),
        lies(trace.answers) or any(lies(trace.at(k).answers) for k in prefixes),
        bool(is_rejected),
    )


@cache
def outcomes(study):
    make_case, is_false = STUDIES[study]
    return [outcome(make_case(seed, 1.0), is_false) for seed in range(RUNS)]
