"""The four-region study from its seeds: the paper's policy query by query, and what the default policy does instead."""

from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest

from physupport.aeb import Ending, RegionalPolicy, Status, Trace, WitnessFirst, elsewhere, presence, proposal_order, run
from physupport.banks import table_regions
from physupport.judges import TableJudge
from physupport.questions import Answer, Comparison, Label, RegionalMap, RegionRule, compare_all
from physupport.studies import _four_region as design
from physupport.studies.four_region import SCENES, examine


class Run(NamedTuple):
    """A data set of the study: asked in the paper's order, asked by the default policy, and asked in full."""

    support: str
    seed: int
    theirs: Trace
    ours: Trace
    exhaustive: tuple[Answer, ...]

    @property
    def is_empty(self):
        return all(answer.label is Label.EMPTY for answer in self.exhaustive)


def examined(scene, seed):
    """The default policy on the certified verdicts of the study, one at a time; its rows are scored once for both."""
    theirs = examine(scene, seed)
    protocol = replace(theirs.seal.protocol, policy=RegionalPolicy(), until_witnessed=True)
    ours = protocol.read(**{part.name: part for part in theirs.seal.parts}).run()
    return Run(scene.support, seed, theirs.trace, ours, theirs.exhaustive)


@pytest.fixture(scope="module")
def runs():
    return [examined(scene, seed) for scene in SCENES for seed in scene.seeds]


def labels(answers):
    return {answer.field: answer.label for answer in answers}


def recovered(runs, which, field, label, supports):
    """How many of the sets with this exhaustive label have it in the trace, and of how many."""
    eligible = [each for each in runs if each.support in supports and labels(each.exhaustive)[field] is label]
    return sum(labels(getattr(each, which).answers)[field] is label for each in eligible), len(eligible)


@pytest.mark.slow
def test_the_papers_policy_gives_the_published_counts(runs):
    assert np.median([len(each.theirs) for each in runs]) == 148
    assert sum(not each.is_empty for each in runs) == 14
    assert recovered(runs, "theirs", "A", Label.FINE, ("AB", "ABC")) == (10, 11)
    assert recovered(runs, "theirs", "D", Label.ABSENT, ("AB", "ABC")) == (10, 10)
    assert recovered(runs, "theirs", "C", Label.SUPPORT_AMBIGUOUS, ("ABC",)) == (5, 5)
    assert recovered(runs, "theirs", "B", Label.GROUP, ("ABC",)) == (5, 5)
    assert not any(labels(each.theirs.answers)["D"] is Label.ABSENT for each in runs if each.support == "ABD")


@pytest.mark.slow
def test_the_empty_profile_and_the_controls_end_at_the_budget_without_a_witness(runs):
    unwitnessed = [each for each in runs if not each.theirs.n_witnessed]
    assert [each.seed for each in unwitnessed] == [2026091015, 2026091021, 2026091022, 2026091023]
    for each in unwitnessed:
        trace = each.theirs
        assert (len(trace), trace.n_possible) == (162, 54)
        assert (trace.status, trace.ending) == (Status.ABSTAIN, Ending.BUDGET)
        assert labels(trace.answers) == {"A": Label.ABSTAIN, "B": Label.GROUP, "C": Label.ABSENT, "D": Label.GROUP}


@pytest.mark.slow
def test_the_default_policy_asks_no_more_and_recovers_every_fine_location(runs):
    assert np.median([len(each.ours) for each in runs]) <= 148
    assert recovered(runs, "ours", "A", Label.FINE, ("AB", "ABC")) == (11, 11)
    assert recovered(runs, "ours", "D", Label.ABSENT, ("AB", "ABC")) == (10, 10)
    assert recovered(runs, "ours", "C", Label.SUPPORT_AMBIGUOUS, ("ABC",)) == (5, 5)


@pytest.mark.slow
def test_the_default_policy_is_nowhere_coarser_than_the_papers_and_never_unsafe(runs):
    for each in runs:
        assert Comparison.UNSAFE not in compare_all(each.ours.answers, each.exhaustive)
        if not each.is_empty:
            ranks = zip(labels(each.ours.answers).values(), labels(each.theirs.answers).values(), strict=True)
            assert all(here.rank >= there.rank for here, there in ranks)


@pytest.mark.slow
def test_the_default_policy_spends_the_least_that_any_policy_could(runs):
    # A at one place and no D: 108 + 72 - 36 explanations must be rejected, and C needs two witnesses.
    certified = [each.ours for each in runs if labels(each.ours.answers)["D"] is Label.ABSENT]
    assert [len(ours) for ours in certified] == [144 + 2] * 10


@pytest.mark.slow
def test_the_verdicts_that_were_asked_for_are_those_of_the_study(runs):
    for each in runs:
        known = dict(zip(each.theirs.queries.tolist(), each.theirs.codes.tolist(), strict=True))
        ours = zip(each.ours.queries.tolist(), each.ours.codes.tolist(), strict=True)
        assert all(known.get(e, code) == code for e, code in ours)


def make_four_regions(places):
    """Explanation 3 * state + support, as in the study."""
    states = list(product(*(range(len(found)) for found in places.values())))
    columns = {
        region: [
            f"{region}{state[j]}" if region in support else None for state in states for support in design.SUPPORTS
        ]
        for j, region in enumerate(places)
    }
    named = {region: {f"{region}{i}": x for i, x in enumerate(found)} for region, found in places.items()}
    optional = ("fine", "group", "absence", "ambiguity")
    rules = {
        "A": RegionRule(0.035, asks=("fine", "ambiguity")),
        "B": RegionRule(0.020, asks=("fine", "group")),
        "C": RegionRule(0.035, asks=optional, absent_witness="persistent_only"),
        "D": RegionRule(0.030, asks=optional),
    }
    return RegionalMap(table_regions(columns, coordinates=named), rules)


class Reference:
    """The study's policy in sets and loops, with labels of its own."""

    def __init__(self, places, deployment, calibration, codes):
        self.slots = [
            tuple(state[j] if region in support else None for j, region in enumerate("ABCD"))
            for state in np.ndindex(*map(len, places.values()))
            for support in ("AB", "ABC", "ABD")
        ]
        self.places, self.tolerance = list(places.values()), (0.035, 0.020, 0.035, 0.030)
        self.deployment, self.codes, self.size = deployment, codes, len(self.slots)
        rank = {calibration: 1, deployment // 3: 0}
        self.order = sorted(range(self.size), key=lambda e: (rank.get(e // 3, 2), e))

    def spread(self, members, j):
        found = [self.places[j][self.slots[e][j]] for e in members if self.slots[e][j] is not None]
        return max(found) - min(found) if found else 0.0

    def labels(self, low, up):
        fine = [self.spread(up, j) <= self.tolerance[j] for j in range(4)]
        first = "FINE" if fine[0] else "LOCAL_AMBIGUOUS" if self.spread(low, 0) > self.tolerance[0] else "ABSTAIN"
        return [first, "FINE" if fine[1] else "GROUP", *(self.optional(low, up, j, fine[j]) for j in (2, 3))]

    def optional(self, low, up, j, is_fine):
        here = [e for e in low if self.slots[e][j] is not None]
        gone = [e for e in low if self.slots[e][j] is None and (j == 3 or e % 3 == 0)]
        if here and gone:
            return "SUPPORT_AMBIGUOUS"
        if all(self.slots[e][j] is None for e in up):
            return "ABSENT"
        if any(self.slots[e][j] is None for e in up):
            return "ABSTAIN"
        return "FINE" if is_fine else "GROUP"

    def rank(self, low, up):
        ranks = {"ABSTAIN": 0, "SUPPORT_AMBIGUOUS": 1, "LOCAL_AMBIGUOUS": 2, "GROUP": 3, "ABSENT": 4, "FINE": 4}
        return sum(ranks[label] for label in self.labels(low, up))

    def diameter(self, up):
        kinds = [{self.slots[e][j] is None for e in up} for j in range(4)]
        return max(1.0 if len(kinds[j]) == 2 else self.spread(up, j) for j in range(4))

    def choose(self, low, up, asked):
        for support in (0, 1):
            if not any(e % 3 == support for e in low):
                for e in self.order:
                    if e % 3 == support and e not in asked:
                        return e
        now, duties = self.labels(low, up), []
        here = self.places[0][self.slots[self.deployment][0]]
        if now[0] == "ABSTAIN":
            duties.append({e for e in up if abs(self.places[0][self.slots[e][0]] - here) > self.tolerance[0]})
        if now[3] == "ABSTAIN":
            duties.append({e for e in up if e % 3 == 2})

        def key(e):
            mine, rest = [duty for duty in duties if e in duty], up - {e}
            gain = self.rank(low, rest) - self.rank(low, up)
            return -len(mine), sum(map(len, mine)), -gain, self.diameter(rest) - self.diameter(up), e

        return min({e for duty in duties for e in duty if e not in asked}, key=key, default=None)

    def trace(self, budget):
        low, up, asked = set(), set(range(self.size)), []
        while len(asked) < budget and "ABSTAIN" in self.labels(low, up):
            e = self.choose(low, up, asked)
            if e is None:
                break
            asked.append(e)
            if self.codes[e] == 0:
                low.add(e)
            elif self.codes[e] == 1:
                up.discard(e)
        return asked


def test_the_papers_policy_asks_what_a_direct_reading_of_it_asks():
    places = {"A": (0.10, 0.20), "B": (0.405, 0.465), "C": (0.64, 0.70), "D": (0.86, 0.96)}
    question, rng = make_four_regions(places), np.random.default_rng(5)
    support = np.tile(np.arange(3), 16)
    for _ in range(60):
        deployment, calibration = int(rng.integers(48)), int(rng.integers(16))
        codes = rng.choice([0, 1, 2], 48, p=rng.dirichlet([0.3, 3.0, 0.1])).astype(np.uint8)
        order = proposal_order(np.arange(48) // 3, [deployment // 3, calibration])
        obligations = (elsewhere(question, "A", deployment), presence(question, "D"))
        policy = WitnessFirst((support == 0, support == 1), obligations, order)
        found = run(TableJudge(codes), question, policy, 1.0, until_witnessed=False)
        assert found.queries.tolist() == Reference(places, deployment, calibration, codes).trace(48)
