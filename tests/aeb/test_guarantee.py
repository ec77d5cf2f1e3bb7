"""The guarantee, counted: of many data sets with known truths, few enough are told something false.

Every data set goes the whole way: split, proposal, certified verdicts on held-out rows, adaptive run, labels.
"""

from collections import Counter
from functools import cache
from typing import NamedTuple

import numba
import numpy as np
import pytest
from scipy import stats

from physupport.aeb import EndpointPolicy, EvidenceJudge, Policy, Proposals, RegionalPolicy, TableJudge, run
from physupport.banks import Library, library_bank, product_grid, region_supports
from physupport.coarsen import Label, Question, RegionalMap, RegionRule, Resolution
from physupport.project import bank_regions
from physupport.retain.evidence import Evidence, Verdict, bank_evidence, best_explanation, split_rows, verdicts
from physupport.retain.streams import ArrayRows, covariance_stream, mean_stream

RUNS, LEVEL, BUDGET = 2000, 0.05, 0.9
# Where the bound holds, fewer than one seed in a million fails; a control must be that unlikely under the bound.
UNLUCKY = 1e-6
# The least number of misses that 2000 runs at this level are too unlikely to have.
TOO_MANY = next(k for k in range(RUNS) if stats.binom.sf(k - 1, RUNS, LEVEL) < UNLUCKY)
# Claiming half the standard deviation of the noise is claiming a quarter of its variance.
HALF_NOISE = 0.25

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _one_thread():
    """Batches are tiny here: handing them to several threads costs more than the work."""
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    yield
    numba.set_num_threads(before)


class Case(NamedTuple):
    """A data set after its proposal: all that a run needs, and the explanation that made the data."""

    truth: int
    evidence: Evidence
    question: Question
    policy: Policy
    proposals: Proposals


def make_library(places, response):
    """places: region -> coordinates; elements are A0, A1, ..."""
    ids = [f"{region}{i}" for region, found in places.items() for i in range(len(found))]
    x = np.concatenate([*places.values()])
    columns = response(x)
    return Library(ids, [name[0] for name in ids], x[:, None], columns / np.linalg.norm(columns, axis=0))


# A map: a persistent and an optional region in rows with random amplitudes.  The optional one may be so weak that it
# counts as absent.

GROUPS = {"low": ["A0", "A1"], "high": ["A2", "A3"]}
THRESHOLD, NOISE = 1.0, 1.0
MAP_BANK = library_bank(
    make_library(
        {"A": (0.0, 0.5, 2.0, 2.5), "C": (3.9, 4.4)},
        lambda x: np.array([np.cos(x), np.sin(x), 0.7 * np.cos(2.0 * x), 0.7 * np.sin(2.0 * x)]),
    ),
    region_supports("A", "C"),
    {"A": 1.5, "C": (0.1, 2.0)},
)
MAP = RegionalMap(
    bank_regions(MAP_BANK),
    {"A": RegionRule(0.1, groups=GROUPS), "C": RegionRule(0.1, absence_threshold=THRESHOLD)},
)
SCENES = [MAP_BANK.explanation(e) for e in range(MAP_BANK.size)]


def make_map_case(seed, claimed=1.0):
    """claimed: which share of the noise variance the likelihood claims."""
    rng, n = np.random.default_rng([1, seed]), 100
    truth = int(rng.integers(MAP_BANK.size))
    mixing = SCENES[truth].atoms[:, list(SCENES[truth].positions)] * np.sqrt(SCENES[truth].strengths)  # (4, r)
    rows = rng.standard_normal((n, mixing.shape[1])) @ mixing.T + np.sqrt(NOISE) * rng.standard_normal((n, 4))
    split = split_rows(n, 0.05, seed)
    proposing = covariance_stream(ArrayRows(rows, split.proposal), MAP_BANK, [claimed * NOISE], [5])
    best = best_explanation(proposing, MAP_BANK.size, MAP_BANK.deployment_keys)
    stops = [2, 4, 8, 16, 32, 64, 95]
    judging = covariance_stream(ArrayRows(rows, split.held_out), MAP_BANK, [claimed * NOISE], stops)
    evidence = bank_evidence(MAP_BANK, deployment=(judging, (judging, best.key)))
    return Case(truth, evidence, MAP, RegionalPolicy(), Proposals((best.index,)))


def is_false_of_the_map(answer, e):
    """Whether explanation e contradicts a label."""
    here = {name[0]: (name, strength) for name, strength in zip(SCENES[e].ids, SCENES[e].strengths, strict=True)}
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


# A resolution: a weak source of known strength at one of four places, in noise of one of two sizes.

ARC = 0.6 * np.arange(4)
NOISES = np.array([1.0, 1.02])
ARC_BANK = library_bank(
    make_library({"S": ARC}, lambda x: np.array([np.cos(x), np.sin(x)])),
    ["S"],
    {"S": 0.5},
    deployment=product_grid(noise=NOISES),
)
DISTANCES = np.abs(ARC[:, None] - ARC)
RESOLUTIONS = [
    Resolution.of_states(ARC_BANK, DISTANCES, DISTANCES[place], delta_fine=0.65, delta_group=1.25) for place in range(4)
]
SOURCES = [ARC_BANK.explanation(e) for e in range(ARC_BANK.size)]


def make_resolution_case(seed, claimed=1.0):
    rng, n = np.random.default_rng([2, seed]), 100
    truth = int(rng.integers(ARC_BANK.size))
    source = SOURCES[truth]
    deviation = np.sqrt(source.deployment["noise"])
    rows = 0.5 * source.atoms[:, 0] + deviation * rng.standard_normal((n, 2))
    split = split_rows(n, 0.02, seed)
    proposing = mean_stream(ArrayRows(rows, split.proposal), ARC_BANK, claimed * NOISES, [2])
    best = best_explanation(proposing, ARC_BANK.size, ARC_BANK.deployment_keys)
    # Close together where they are few: then the evidence passes 1/alpha without overshooting far.
    stops = [2, 4, 7, 12, 20, 34, 58, 98]
    judging = mean_stream(ArrayRows(rows, split.held_out), ARC_BANK, claimed * NOISES, stops)
    evidence = bank_evidence(ARC_BANK, deployment=(judging, (judging, best.key)))
    question = RESOLUTIONS[SOURCES[best.index].state]
    return Case(truth, evidence, question, EndpointPolicy(), Proposals((best.index,)))


def is_false_of_the_resolution(answer, e):
    """A diameter that is FINE or GROUP is that of places of which one is true."""
    return answer.label.is_truth_level and f"place {SOURCES[e].state}" not in answer.cell


STUDIES = {
    "map": (make_map_case, is_false_of_the_map, MAP_BANK.size),
    "resolution": (make_resolution_case, is_false_of_the_resolution, ARC_BANK.size),
}


class Outcome(NamedTuple):
    """What a run said that some explanation of the bank contradicts, and how that stands to the truth."""

    said: frozenset[tuple[str, Label]]
    is_false: bool  # at the end of the budget
    is_false_early: bool  # at the prefix where an adversary who knows the truth would stop, the end included
    is_truth_rejected: bool


def table_judge(case):
    """All verdicts from one scoring; one by one they cost many times as much."""
    codes = verdicts(case.evidence, np.arange(case.evidence.size), LEVEL).codes[:, 0]
    return TableJudge(codes.astype(np.uint8))


def ran(case, judge):
    return run(judge, case.question, case.policy, BUDGET, proposals=case.proposals)


def outcome(study, seed, claimed=1.0):
    make_case, is_false, size = STUDIES[study]
    case = make_case(seed, claimed)
    judge = table_judge(case)
    trace = ran(case, judge)

    def misleads(answers):
        return any(is_false(answer, case.truth) for answer in answers)

    said = {(a.field, a.label) for a in trace.answers if any(is_false(a, e) for e in range(size))}
    is_rejected = bool(judge.codes[case.truth] == Verdict.REJECTED)
    # While the truth stands nothing false can be said: seeing that in some of the runs is enough.
    prefixes = range(len(trace) if is_rejected or seed < 50 else 0)
    at_the_end = misleads(trace.answers)
    early = at_the_end or any(misleads(trace.at(k).answers) for k in prefixes)
    return Outcome(frozenset(said), at_the_end, early, is_rejected)


@cache
def outcomes(study):
    return [outcome(study, seed) for seed in range(RUNS)]


@pytest.mark.parametrize("study", STUDIES)
def test_false_truth_level_reports_are_at_most_as_frequent_as_the_level(study):
    found = outcomes(study)
    assert sum(each.is_false for each in found) < TOO_MANY
    # Not by silence: many say something that the bank could contradict.
    assert sum(bool(each.said) for each in found) > RUNS / 3


def test_labels_of_every_kind_are_put_to_the_test():
    counts = Counter(label for study in STUDIES for each in outcomes(study) for label in each.said)
    every = [("A", Label.FINE), ("A", Label.GROUP), ("C", Label.FINE), ("C", Label.GROUP), ("C", Label.ABSENT)]
    every += [("resolution", Label.FINE), ("resolution", Label.GROUP)]
    assert {*counts} == {*every}
    assert min(counts.values()) >= RUNS / 40


@pytest.mark.parametrize("study", STUDIES)
def test_the_truth_is_rejected_at_most_as_often_as_the_level_whenever_one_stops(study):
    found = outcomes(study)
    # It does happen, or the bound would say nothing.
    assert 0 < sum(each.is_truth_rejected for each in found) < TOO_MANY
    # Even stopped at its worst prefix, a run is wrong only if the truth is rejected.
    assert all(each.is_truth_rejected for each in found if each.is_false_early)


@pytest.mark.parametrize("study", STUDIES)
def test_negative_control_the_same_counts_expose_a_likelihood_that_claims_half_the_noise(study):
    false = rejected = 0
    for seed in range(RUNS):
        each = outcome(study, seed, HALF_NOISE)
        false, rejected = false + each.is_false, rejected + each.is_truth_rejected
        # More runs can only add to a count that is too large already.
        if min(false, rejected) >= TOO_MANY:
            break
    assert false >= TOO_MANY
    assert rejected >= TOO_MANY


@pytest.mark.parametrize("claimed", [1.0, HALF_NOISE])
@pytest.mark.parametrize("study", STUDIES)
def test_runs_that_ask_for_one_verdict_at_a_time_are_the_same(study, claimed):
    for seed in range(8):
        case = STUDIES[study][0](seed, claimed)
        here, there = ran(case, EvidenceJudge(case.evidence, LEVEL)), ran(case, table_judge(case))
        assert here.queries.tolist() == there.queries.tolist()
        assert here.codes.tolist() == there.codes.tolist()
        assert here.answers == there.answers
        assert here.status is there.status
