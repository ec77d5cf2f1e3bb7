"""The order in which each policy asks."""

import numpy as np
import pytest

from physupport import MisuseError
from physupport.aeb import (
    EndpointPolicy,
    FarthestFirst,
    FixedOrder,
    Obligation,
    Proposals,
    RandomOrder,
    RegionalPolicy,
    Status,
    WitnessFirst,
    elsewhere,
    nuisance_order,
    presence,
    run,
)
from physupport.aeb._regional import plausible_order
from physupport.banks import listed_regions, table_regions
from physupport.judges import TableJudge
from physupport.questions import Label, RegionalMap, RegionRule, Resolution


@pytest.fixture
def line():
    """Four explanations on a line, at 0, 1, 2 and 10."""
    names = ["p0", "p1", "p2", "p10"]
    coordinates = {"where": dict(zip(names, (0.0, 1.0, 2.0, 10.0), strict=True))}
    return RegionalMap(table_regions({"where": names}, coordinates=coordinates), {"where": RegionRule(1.0)})


def asked(question, policy, codes, **options):
    return run(TableJudge(np.array(codes)), question, policy, 1.0, **options).queries.tolist()


def test_a_fixed_order_is_followed(line):
    assert asked(line, FixedOrder([2, 0]), [1, 1, 1, 1]) == [2, 0]
    assert asked(line, FixedOrder(), [1, 1, 1, 1]) == [0, 1, 2, 3]


def test_a_random_order_depends_on_its_seed_only(line):
    one, two = (asked(line, RandomOrder(seed), [1] * 4) for seed in (3, 3))
    assert one == two
    assert sorted(one) == [0, 1, 2, 3]
    assert len({tuple(asked(line, RandomOrder(seed), [1] * 4)) for seed in range(20)}) > 5


def test_farthest_first_spreads_out_from_the_proposal(line):
    policy = FarthestFirst(line.farness()[1])
    # From 1: farthest is 10; then 0 and 2 are both 1 away from what was asked, the lower index first.
    assert asked(line, policy, [1] * 4, proposals=Proposals((1,))) == [1, 3, 0, 2]


def test_regional_distance_is_one_where_only_one_of_two_has_a_region():
    places = {"here": {"a": 0.0, "b": 0.3}, "there": {"c": 0.0}}
    view = table_regions({"here": ["a", "b", "b"], "there": ["c", None, "c"]}, coordinates=places)
    assert RegionalMap(view).farness()[1](0).tolist() == [0.0, 1.0, 0.3]


def test_the_default_asks_the_proposals_first_then_what_agrees_with_them():
    view = table_regions({"u": ["a", "a", "b", "b"], "v": ["c", "d", "c", "d"]})
    order = plausible_order(RegionalMap(view), Proposals((3,)))
    assert order.tolist() == [3, 1, 2, 0]
    assert plausible_order(RegionalMap(view), Proposals((3,), np.array([1.0, 2.0, 2.0, 0.0]))).tolist() == [1, 2, 0, 3]


def test_the_default_moves_its_cell_to_where_the_witnesses_are(line):
    # 1 is admissible, 2 is within its tolerance but the cell 0..1 came first; 2 admissible moves the cell to 1..2.
    trace = run(TableJudge(np.array([1, 0, 0, 1])), line, RegionalPolicy(), 1.0, proposals=Proposals((1,)))
    assert trace.answers[0].label is Label.FINE
    assert {*trace.answers[0].cell} == {"p1", "p2"}


def test_the_default_leaves_alone_what_no_verdict_can_settle():
    names = [f"p{i}" for i in range(50)]
    question = RegionalMap(table_regions({"where": names}), {"where": RegionRule(asks=("fine",))})
    trace = run(TableJudge(np.zeros(50, dtype=np.uint8)), question, RegionalPolicy(), 1.0)
    assert (trace.queries.tolist(), trace.status) == ([0, 1], Status.ABSTAIN)


def test_the_default_goes_on_where_an_indeterminate_verdict_blocks_the_threshold():
    """The run leaves open if 1 reaches the threshold, but finds that the region may be there with less strength."""
    view = table_regions({"R": [None, "a", "a"]}, strengths={"R": [0.0, 2.0, 0.5]})
    question = RegionalMap(view, {"R": RegionRule(absence_threshold=1.0)})
    for policy in (RegionalPolicy(), RegionalPolicy(probes=0), FixedOrder()):
        trace = run(TableJudge(np.array([0, 2, 0])), question, policy, 1.0)
        assert trace.answers[0].label is Label.SUPPORT_AMBIGUOUS


def test_the_default_goes_on_where_an_indeterminate_verdict_blocks_the_cell():
    """As b is possible, neither a nor c is FINE; without c the smaller group is still certain."""
    view = table_regions({"R": ["a", "b", "c"]}, coordinates={"R": {"a": 0.0, "b": 5.0, "c": 0.1}})
    question = RegionalMap(view, {"R": RegionRule(1.0, groups={"two": ["a", "b"]})})
    trace = run(TableJudge(np.array([0, 2, 1])), question, RegionalPolicy(), 1.0)
    assert (trace.answers[0].label, trace.answers[0].group, len(trace)) == (Label.GROUP, "two", 3)


def test_the_default_leaves_alone_what_no_verdict_can_settle_also_when_one_was_indeterminate():
    names = [f"p{i}" for i in range(50)]
    question = RegionalMap(table_regions({"where": names}), {"where": RegionRule(asks=("fine",))})
    codes = np.zeros(50, dtype=np.uint8)
    codes[1] = 2
    trace = run(TableJudge(codes), question, RegionalPolicy(), 1.0)
    assert (trace.queries.tolist(), trace.status) == ([0, 1], Status.ABSTAIN)


def test_an_ambiguity_is_probed_before_a_large_opposition_is_worked_off():
    # 40 places, optional x: after the first witness, one probe with x settles presence; then the places follow.
    where = [f"p{i}" for i in range(40) for _ in range(2)]
    view = table_regions({"where": where, "extra": [None, "x"] * 40})
    codes = np.ones(80, dtype=np.uint8)
    codes[:2] = 0
    trace = run(TableJudge(codes), RegionalMap(view), RegionalPolicy(), 1.0)
    # The probe falls to the most plausible explanation that has x.
    assert trace.queries[:2].tolist() == [0, 1]
    assert len(trace) == 80
    assert [answer.label for answer in trace.answers] == [Label.FINE, Label.SUPPORT_AMBIGUOUS]


class ReferenceEndpoints:
    """The global study's policy in sets and loops."""

    def __init__(self, question, order, codes):
        self.question, self.codes = question, codes
        self.members = {p: [e for e in order if question.places[e] == p] for p in range(len(question.names))}
        self.asked = []

    def distance(self, i, j):
        if i == j:
            return 0.0
        if "proposal" in (i, j):
            return self.question.proposal_distances[j if i == "proposal" else i]
        return self.question.distances[i, j]

    def diameter(self, places):
        return max(self.distance(i, j) for i in places for j in places)

    def survivors(self):
        return [p for p in self.members if any(self.codes[e] == 0 for e in self.members[p] if e in self.asked)]

    def alive(self):
        gone = {e for e in self.asked if self.codes[e] == 1}
        return [p for p in self.members if set(self.members[p]) - gone]

    def unqueried(self, place):
        return [e for e in self.members[place] if e not in self.asked]

    def next_place(self):
        everything = ["proposal", *self.alive()]
        unknown = [p for p in self.alive() if p not in self.survivors() and self.unqueried(p)]
        upper, low = self.diameter(everything), ["proposal", *self.survivors()]
        pairs = [(i, j) for n, i in enumerate(everything) for j in everything[n + 1 :]]
        pair = next((x for x in pairs if self.distance(*x) >= upper - 1e-16), ())

        def gain(p):
            return self.diameter([*low, p]) - self.diameter(low)

        def drop(p):
            return upper - self.diameter([x for x in everything if x != p])

        ends = [p for p in pair if p in unknown]
        if ends:
            return min(
                ends, key=lambda p: (len(self.unqueried(p)), -gain(p), -drop(p), -self.distance("proposal", p), p)
            )
        return min(unknown, key=lambda p: (-drop(p), -gain(p), len(self.unqueried(p)), p), default=None)

    def trace(self, queries):
        while len(self.asked) < queries:
            place = self.next_place()
            while place not in self.survivors() and self.unqueried(place) and len(self.asked) < queries:
                self.asked.append(self.unqueried(place)[0])
        return self.asked


def test_endpoints_are_asked_as_a_direct_reading_of_the_rule_asks():
    rng = np.random.default_rng(11)
    for _ in range(60):
        count, size = int(rng.integers(1, 7)), int(rng.integers(7, 30))
        # Few distinct values, so that ties are common.
        x, origin = rng.integers(0, 5, count).astype(float), float(rng.integers(0, 5))
        places = rng.permutation(np.append(np.arange(count), rng.integers(0, count, size - count)))
        distances = np.abs(x[:, None] - x)
        question = Resolution(places, distances, np.abs(x - origin), 0.5, 2.5)
        codes = rng.choice([0, 1, 2], size, p=rng.dirichlet([0.5, 3.0, 0.2])).astype(np.uint8)
        order = rng.permutation(size)
        found = run(TableJudge(codes), question, EndpointPolicy(order), 1.0, until_witnessed=False).queries.tolist()
        assert found == ReferenceEndpoints(question, order.tolist(), codes).trace(len(found))


def test_nuisances_are_tried_from_the_proposal_the_middle_and_the_corners():
    grid = np.array([(p, nu) for p in (0.1, 0.2, 0.3, 0.4, 0.5) for nu in (1.0, 2.0, 3.0)])
    order = nuisance_order(grid, [0.22, 1.1])
    assert order[0] == 3  # (0.2, 1), the nearest
    assert order[1] == 7  # (0.3, 2), the middle
    assert {*order[2:6].tolist()} == {0, 2, 12, 14}
    assert order[2] == 0  # of the corners the nearest
    assert sorted(order.tolist()) == list(range(15))


def test_place_distances_are_those_of_the_places():
    question = Resolution(np.array([0, 1, 1]), np.array([[0.0, 2.0], [2.0, 0.0]]), np.zeros(2), 0.5, 1.0)
    assert question.farness()[1](0).tolist() == [0.0, 2.0, 2.0]


def test_policies_of_one_kind_of_question_refuse_the_other(line):
    resolution = Resolution(np.arange(4), np.zeros((4, 4)), np.zeros(4), 0.5, 1.0)
    for policy in (RegionalPolicy(), WitnessFirst((), ())):
        with pytest.raises(MisuseError, match="be a RegionalMap"):
            asked(resolution, policy, [0] * 4)
    with pytest.raises(MisuseError, match="be a Resolution"):
        asked(line, EndpointPolicy(), [0] * 4)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (FixedOrder([0, 0]), "distinct"),
        (FixedOrder([4]), "from 0 to 3"),
        (FixedOrder([0.5]), "whole numbers"),
        (WitnessFirst((np.ones(3, dtype=bool),), ()), "masks of shape"),
        (WitnessFirst((), (Obligation("nowhere", np.ones(4, dtype=bool)),)), "name regions among"),
    ],
)
def test_what_a_policy_is_made_of_is_checked(line, policy, message):
    with pytest.raises(MisuseError, match=message):
        asked(line, policy, [1] * 4)


def test_obligations_name_a_region_that_is_there(line):
    with pytest.raises(MisuseError, match="region must be one of"):
        presence(line, "nowhere")
    assert elsewhere(line, "where", 0).members.tolist() == [False, False, True, True]
    view = table_regions({"where": ["a", None]})
    with pytest.raises(MisuseError, match="have region 'where'"):
        elsewhere(RegionalMap(view), "where", 1)


def test_policies_describe_themselves_by_content(line):
    policies = [FixedOrder(), FixedOrder([0, 1]), FixedOrder([1, 0]), RandomOrder(1), RandomOrder(2), RegionalPolicy(),
                RegionalPolicy(1), EndpointPolicy(), EndpointPolicy(np.arange(4)), WitnessFirst((), ()),
                WitnessFirst((), (presence(line, "where"),)), FarthestFirst(line.farness()[1])]  # fmt: skip
    assert len({repr(policy.describe()) for policy in policies}) == len(policies)


def test_many_explanations_are_asked_about_until_the_map_is_certified():
    rng, size, widths = np.random.default_rng(0), 100_000, (20, 20, 10, 10)
    locations = np.column_stack([rng.integers(0, width, size) for width in widths])
    for optional in (2, 3):
        locations[rng.random(size) < 0.5, optional] = -1
    elements = {name: tuple(f"{name}{i}" for i in range(width)) for name, width in zip("ABCD", widths, strict=True)}
    places = {name: np.linspace(0.0, 1.0, width)[:, None] for name, width in zip("ABCD", widths, strict=True)}
    view = listed_regions(elements, locations, np.where(locations >= 0, 1.0, 0.0), places)
    question = RegionalMap(view, {name: RegionRule(0.06) for name in "ABCD"})
    codes = np.ones(size, dtype=np.uint8)
    codes[rng.integers(size)] = 0
    plausibility = rng.random(size)
    trace = run(TableJudge(codes), question, RegionalPolicy(), 1.0, proposals=Proposals(plausibility=plausibility))
    assert trace.status is Status.REPORT
    assert len(trace) > 90_000
