"""The guarantee, counted: of many data sets with known truths, few enough are told something false.

Every data set has proposal rows that choose the numerators and held-out rows that only judge, certified verdicts, an
adaptive run, and labels.  The map has two streams, calibration and deployment, the resolution has one.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import stats

from physupport.aeb import EndpointPolicy, Proposals, RegionalPolicy, run
from physupport.banks import Library, bank_regions, library_bank, product_grid, region_supports
from physupport.io import ArrayRows
from physupport.judges import (
    Evidence,
    EvidenceJudge,
    Factor,
    TableJudge,
    Verdict,
    best_explanation,
    verdicts,
)
from physupport.laws import Covariance, Mean, Scores, known_code_stream
from physupport.questions import Label, RegionalMap, RegionRule, Resolution

RUNS, LEVEL, BUDGET = 1000, 0.02, 0.9
# Where the bound holds, fewer than one seed in a million fails; a control must be that unlikely under the bound.
UNLUCKY = 1e-6
# The least number of misses that so many runs at this level are too unlikely to have.
TOO_MANY = next(k for k in range(RUNS) if stats.binom.sf(k - 1, RUNS, LEVEL) < UNLUCKY)
# The noise of a law is a variance, as in the paper; claiming half of it is less wrong than claiming half the deviation.
HALF_NOISE = 0.5

pytestmark = pytest.mark.slow


class Part(NamedTuple):
    """The rows that one stream has of all data sets, the first of each for the proposal."""

    make_stream: Callable[..., Any]  # rows, claimed noise as a share of the true one, checkpoints -> stream
    keys: np.ndarray  # (M,) of the explanations
    tables: list[np.ndarray]  # (D, n, width) each
    n_proposal: int
    stops: list[int]  # checkpoints, the last one that of all held-out rows


class Study(NamedTuple):
    truths: list[int]  # (D,) the explanation that made each data set
    size: int  # of the bank
    parts: list[Part]
    question: Callable[..., Any]  # of the explanation that the last part proposes
    policy: Any
    is_false: Callable[..., bool]  # whether an explanation contradicts an answer


@dataclass(frozen=True)
class Table:
    """A stream by its log likelihoods at the checkpoints."""

    values: np.ndarray  # (keys, c)
    errors: np.ndarray
    checkpoints: list[int]
    is_density = True

    @property
    def n_keys(self):
        return len(self.values)

    def log_likelihood(self, keys):
        return Scores(self.values[keys], self.errors[keys])

    def enclosure(self, key, bits):
        raise AssertionError("a margin within 1e-8 of 0: take another seed")


def scored(part, tables, claimed, stops):
    """Values and errors (B, keys, c) for each of B data sets, from one stream over all of them end to end.

    The log likelihood of a data set is that of the record up to its checkpoint less that of the record up to its start.
    """
    count, n = tables[0].shape[:2]
    ends = (n * np.arange(count))[:, None] + np.array(stops)  # (B, c)
    rows = [ArrayRows(table.reshape(count * n, -1)) for table in tables]
    stream = part.make_stream(rows, claimed, ends.ravel())
    scores = stream.log_likelihood(np.arange(stream.n_keys))
    values, errors = (column.reshape(-1, *ends.shape).swapaxes(0, 1) for column in (scores.values, scores.errors))
    return less(values, errors, *(np.pad(a[:-1, :, -1:], ((1, 0), (0, 0), (0, 0))) for a in (values, errors)))


def less(values, errors, others, other_errors):
    """Differences, with the errors of both and the roundings of difference and sum."""
    found = values - others
    return found, (errors + other_errors) * (1 + 1e-15) + np.spacing(np.abs(found))


class Case(NamedTuple):
    """A data set that was judged."""

    truth: int
    judge: Any
    chosen: int  # the explanation of lowest index that the last part proposes


def proposing(part, chosen):
    return [table[chosen, : part.n_proposal] for table in part.tables]


def judging(part, chosen):
    return [table[chosen, part.n_proposal :] for table in part.tables]


def cases(study, claimed=1.0, block=250):
    """Case by case, a block of data sets at a time in one evidence: explanation e of data set d is number d M + e.

    Log likelihoods are taken relative to the numerator of their data set, whose own is then 0.
    """
    for start in range(0, RUNS, block):
        chosen, factors = slice(start, start + block), []
        for number, part in enumerate(study.parts):
            best = scored(part, proposing(part, chosen), claimed, [part.n_proposal])[0][:, :, -1].argmax(axis=1)
            values, errors = scored(part, judging(part, chosen), claimed, part.stops)
            n_keys, at = values.shape[1], best[:, None, None]
            values, errors = less(values, errors, *(np.take_along_axis(a, at, 1) for a in (values, errors)))
            tables = [a.reshape(-1, len(part.stops)) for a in (values, errors)]
            keys = (n_keys * np.arange(block)[:, None] + part.keys).ravel()
            zero = Table(*np.zeros((2, 1, len(part.stops))), part.stops)
            factors.append(Factor(f"part {number}", Table(*tables, part.stops), keys.take, (zero, 0)))
        evidence = Evidence(block * study.size, factors)
        codes = verdicts(evidence, np.arange(evidence.size), LEVEL).codes.reshape(block, study.size).astype(np.uint8)
        favoured = np.argmax(study.parts[-1].keys == best[:, None], axis=1).tolist()
        yield from map(Case, study.truths[chosen], map(TableJudge, codes), favoured)


def lone_case(study, d, claimed):
    """One of them as a user would have it: streams of its own rows, and verdicts one at a time."""
    factors = []
    for number, part in enumerate(study.parts):
        own = part.make_stream([ArrayRows(t) for t in proposing(part, d)], claimed, [part.n_proposal])
        best, key = best_explanation(own, study.size, part.keys.take)
        stream = part.make_stream([ArrayRows(t) for t in judging(part, d)], claimed, part.stops)
        factors.append(Factor(f"part {number}", stream, part.keys.take, (stream, key)))
    evidence = Evidence(study.size, factors)
    return Case(study.truths[d], EvidenceJudge(evidence, LEVEL), best)


def make_library(places, response):
    """places: region -> coordinates; elements are A0, A1, ..."""
    ids = [f"{region}{i}" for region, found in places.items() for i in range(len(found))]
    x = np.concatenate([*places.values()])
    columns = response(x)
    return Library(ids, [name[0] for name in ids], x[:, None], columns / np.linalg.norm(columns, axis=0))


@cache
def map_study():
    """A persistent and an optional region; calibration with known codes, deployment with random amplitudes.

    The optional region may be so weak that it counts as absent.
    """
    groups, threshold = {"low": ["A0", "A1"], "high": ["A2", "A3"]}, 1.0
    library = make_library(
        {"A": (0.0, 0.5, 2.0, 2.5), "C": (3.9, 4.4)},
        lambda x: np.array([np.cos(x), np.sin(x), 0.7 * np.cos(2.0 * x), 0.7 * np.sin(2.0 * x)]),
    )
    bank = library_bank(library, region_supports("A", "C"), {"A": 1.5, "C": (0.1, 2.0)})
    rules = {"A": RegionRule(0.1, groups=groups), "C": RegionRule(0.1, absence_threshold=threshold)}
    question, scenes = RegionalMap(bank_regions(bank), rules), [bank.explanation(e) for e in range(bank.size)]
    rng, n = np.random.default_rng(1), (24, 100)
    truths = rng.integers(bank.size, size=RUNS)
    atoms, mixing = np.zeros((2, bank.size, 4, 2))
    for e, scene in enumerate(scenes):
        atoms[e] = scene.atoms
        mixing[e, :, : len(scene.strengths)] = scene.atoms[:, list(scene.positions)] * np.sqrt(scene.strengths)
    codes = 0.35 * rng.standard_normal((RUNS, n[0], 2))
    y = codes @ atoms[truths].transpose(0, 2, 1) + rng.standard_normal((RUNS, n[0], 4))
    sources = rng.standard_normal((RUNS, n[1], 2)) @ mixing[truths].transpose(0, 2, 1)
    z = sources + rng.standard_normal((RUNS, n[1], 4))

    def is_false(answer, e):
        here = {name[0]: (name, strength) for name, strength in zip(scenes[e].ids, scenes[e].strengths, strict=True)}
        name, strength = here.get(answer.field, (None, 0.0))
        match answer.label:
            case Label.FINE:
                return name not in answer.cell
            case Label.GROUP:
                return name not in answer.cell or name not in groups.get(answer.group, answer.cell)
            case Label.ABSENT:
                return strength >= threshold
            case _:
                return False

    def calibration(rows, claimed, stops):
        return known_code_stream(*rows, bank.states, [claimed], stops)

    def deployment(rows, claimed, stops):
        return Covariance(noises=[claimed]).stream(bank, *rows, stops)

    everything = np.arange(bank.size)
    parts = [
        Part(calibration, bank.calibration_keys(everything), [y, codes], 4, [5, 10, 20]),
        Part(deployment, bank.deployment_keys(everything), [z], 5, [2, 4, 8, 16, 32, 64, 95]),
    ]
    return Study(truths.tolist(), bank.size, parts, lambda chosen: question, RegionalPolicy(), is_false)


@cache
def resolution_study():
    """A weak source of known strength at one of four places, in noise of one of two sizes."""
    arc, noises = 0.6 * np.arange(4), np.array([1.0, 1.01])
    library = make_library({"S": arc}, lambda x: np.array([np.cos(x), np.sin(x)]))
    bank = library_bank(library, ["S"], {"S": 0.5}, deployment=product_grid(noise=noises))
    between = np.abs(arc[:, None] - arc)
    questions = [
        Resolution.of_states(bank, between, between[place], delta_fine=0.65, delta_group=1.25) for place in range(4)
    ]
    sources = [bank.explanation(e) for e in range(bank.size)]
    rng = np.random.default_rng(2)
    truths = rng.integers(bank.size, size=RUNS)
    means = np.array([0.5 * source.atoms[:, 0] for source in sources])
    deviations = np.sqrt([source.deployment["noise"] for source in sources])
    rows = means[truths][:, None] + deviations[truths][:, None, None] * rng.standard_normal((RUNS, 100, 2))

    def is_false(answer, e):
        """A diameter that is FINE or GROUP is that of places of which one is true."""
        return answer.label.is_truth_level and f"place {sources[e].state}" not in answer.cell

    def deployment(rows, claimed, stops):
        return Mean(noises=claimed * noises).stream(bank, *rows, stops)

    # Close together where they are few: then the evidence passes 1/alpha without overshooting far.
    stops = [2, 4, 6, 9, 12, 16, 20, 26, 34, 44, 58, 76, 98]
    parts, policy = [Part(deployment, bank.deployment_keys(np.arange(bank.size)), [rows], 2, stops)], EndpointPolicy()
    return Study(truths.tolist(), bank.size, parts, lambda chosen: questions[sources[chosen].state], policy, is_false)


STUDIES = {"map": map_study, "resolution": resolution_study}


class Outcome(NamedTuple):
    """What a run said that some explanation of the bank contradicts, and how that stands to the truth."""

    said: frozenset[tuple[str, Label]]
    is_false: bool  # at the end of the budget
    is_false_early: bool  # at the prefix where an adversary who knows the truth would stop, the end included
    is_truth_rejected: bool


def ran(study, case):
    return run(case.judge, study.question(case.chosen), study.policy, BUDGET, proposals=Proposals((case.chosen,)))


def outcome(study, case, is_watched=False):
    trace = ran(study, case)

    def misleads(answers):
        return any(study.is_false(answer, case.truth) for answer in answers)

    said = {(a.field, a.label) for a in trace.answers if any(study.is_false(a, e) for e in range(study.size))}
    is_rejected = bool(case.judge.codes[case.truth] == Verdict.REJECTED)
    # While the truth stands nothing false can be said: seeing that in some of the runs is enough.
    prefixes = range(len(trace) if is_rejected or is_watched else 0)
    at_the_end = misleads(trace.answers)
    early = at_the_end or any(misleads(trace.at(k).answers) for k in prefixes)
    return Outcome(frozenset(said), at_the_end, early, is_rejected)


@cache
def outcomes(name):
    study = STUDIES[name]()
    return [outcome(study, case, is_watched=number < 50) for number, case in enumerate(cases(study))]


@pytest.mark.parametrize("name", STUDIES)
def test_false_truth_level_reports_are_at_most_as_frequent_as_the_level(name):
    found = outcomes(name)
    assert len(found) == RUNS
    assert sum(each.is_false for each in found) < TOO_MANY
    # Not by silence: many say something that the bank could contradict.
    assert sum(bool(each.said) for each in found) > RUNS / 3


def test_labels_of_every_kind_are_put_to_the_test():
    counts = Counter(label for name in STUDIES for each in outcomes(name) for label in each.said)
    every = [("A", Label.FINE), ("A", Label.GROUP), ("C", Label.FINE), ("C", Label.GROUP), ("C", Label.ABSENT)]
    every += [("resolution", Label.FINE), ("resolution", Label.GROUP)]
    assert {*counts} == {*every}
    assert min(counts.values()) >= RUNS / 40


@pytest.mark.parametrize("name", STUDIES)
def test_the_truth_is_rejected_at_most_as_often_as_the_level_whenever_one_stops(name):
    found = outcomes(name)
    # It does happen, or the bound would say nothing.
    assert 0 < sum(each.is_truth_rejected for each in found) < TOO_MANY
    # Even stopped at its worst prefix, a run is wrong only if the truth is rejected.
    assert all(each.is_truth_rejected for each in found if each.is_false_early)


@pytest.mark.parametrize("name", STUDIES)
def test_negative_control_the_same_counts_expose_likelihoods_that_claim_half_the_noise_variance(name):
    study, false, rejected = STUDIES[name](), 0, 0
    for case in cases(study, HALF_NOISE):
        each = outcome(study, case)
        false, rejected = false + each.is_false, rejected + each.is_truth_rejected
        # More runs can only add to a count that is too large already.
        if min(false, rejected) >= TOO_MANY:
            break
    assert false >= TOO_MANY
    assert rejected >= TOO_MANY


@pytest.mark.parametrize("claimed", [1.0, HALF_NOISE])
@pytest.mark.parametrize("name", STUDIES)
def test_runs_that_score_their_own_rows_one_verdict_at_a_time_are_the_same(name, claimed):
    study = STUDIES[name]()
    for d, case in enumerate(islice(cases(study, claimed), 8)):
        here, there = ran(study, lone_case(study, d, claimed)), ran(study, case)
        assert here.queries.tolist() == there.queries.tolist()
        assert here.codes.tolist() == there.codes.tolist()
        assert here.answers == there.answers
        assert here.status is there.status
