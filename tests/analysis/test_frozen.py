"""A frozen protocol does not change if the arrays it was made from change."""

import numpy as np
import pytest

from physupport.aeb import EndpointPolicy, FixedOrder, Obligation, Proposals, RegionalPolicy, WitnessFirst
from physupport.analysis import AnalysisProtocol, StreamPlan, report
from physupport.banks import Library, bank_regions, library_bank, listed_regions, product_grid
from physupport.judges import TableJudge
from physupport.laws import ExchangeableGaussian, latent_point
from physupport.questions import RegionalMap, RegionRule
from physupport.verify import verify

ATOMS = np.linalg.qr(np.random.default_rng(4).standard_normal((4, 4)))[0]


@pytest.fixture
def bank():
    library = Library(["a1", "a2", "b"], ["A", "A", "B"], [[0.0], [1.0], [0.0]], ATOMS[:, :3])
    nuisances = {"calibration": product_grid(p=[0.2], noise=[0.3]), "deployment": product_grid(noise=[0.5, 0.7])}
    return library_bank(library, ["A", "AB"], {"A": 1.0, "B": 1.0}, **nuisances)


def spoil(array):
    array[...] = array[::-1].copy() if array.dtype == np.bool_ else array[::-1] + 1
    return array


def test_a_stream_plan_keeps_its_own_noises_checkpoints_box_and_laws(bank):
    noises, stops, lower, upper = np.array([0.5, 0.7]), np.array([5, 10]), np.array([-1.0, -2.0]), np.array([1.0, 2.0])
    plan = StreamPlan("profiled mean", 0.5, noises=noises, checkpoints=stops, box=(lower, upper))
    sizes, variances = np.array([0.5, 0.3, 0.2]), np.array([0.0, 1.0, 2.0])
    latent = StreamPlan("latent", 0.5, laws=[ExchangeableGaussian(sizes, variances)])
    other = library_bank(bank.states.library, ["A"], {"A": 1.0}, calibration=product_grid(noise=[0.3]))
    before = plan.law.completed(bank).encode(), plan.stops(20).tolist(), latent.law.completed(other).encode()
    for array in (noises, stops, lower, upper, sizes, variances):
        spoil(array)
    assert (plan.law.completed(bank).encode(), plan.stops(20).tolist(), latent.law.completed(other).encode()) == before


def test_a_run_uses_the_noises_that_were_hashed(bank):
    """The plan alone says what is hashed and what is used, so the report is verified with its rows."""
    noises, points = np.array([0.5, 0.7]), []

    def propose(rows):
        points.append(ATOMS[:, [0, 2]].copy())
        return latent_point(points[0], 0.2, 0.3)

    plans = {
        "calibration": StreamPlan("latent", 0.5, propose=propose, checkpoints=[15]),
        "deployment": StreamPlan("covariance", 0.5, noises=noises, checkpoints=[15]),
    }
    rows = {name: np.random.default_rng(k).standard_normal((30, 4)) for k, name in enumerate(plans)}
    question = RegionalMap(bank_regions(bank), {"A": RegionRule(distances=1.0 - np.eye(2))})
    seal = AnalysisProtocol(question, RegionalPolicy(), 0.1, 1.0, bank, plans).read(**rows)
    spoil(noises)
    spoil(points[0])
    found = verify(report(seal, seal.run()).json(), rows, protocol=seal.digest)
    assert found.findings == ()
    assert found.notes == (
        "the numerator of calibration is a law off the bank: that it comes from the proposal rows alone is taken as it "
        "stands",
    )


@pytest.mark.parametrize("kind", [FixedOrder, EndpointPolicy, lambda order: WitnessFirst((), (), order)])
def test_an_order_is_copied(kind):
    order = np.array([2, 0, 1])
    policy = kind(order)
    before = policy.describe()
    spoil(order)
    assert policy.describe() == before
    with pytest.raises(ValueError, match="read-only"):
        policy.order[0] = 5


def test_stages_and_obligations_are_copied():
    stage, members = np.array([True, True, False]), np.array([False, True, True])
    policy = WitnessFirst((stage,), (Obligation("R", members),))
    before = policy.describe()
    spoil(stage)
    spoil(members)
    assert policy.describe() == before


def test_what_a_judge_proposals_and_a_view_hold_is_read_only():
    codes, margins, plausibility = np.array([0, 1]), np.array([[-1.0, 0.0], [1.0, 2.0]]), np.array([0.5, 0.1])
    judge, proposals = TableJudge(codes, margins), Proposals(plausibility=plausibility)
    elements, places = {"R": ("a", "b")}, {"R": np.array([[0.0], [1.0]])}
    view = listed_regions(elements, np.array([[0], [1]]), np.ones((2, 1)), places)
    digest = view.digest
    spoil(places["R"])
    elements["R"] = ("x", "y")
    assert view.digest == digest
    for array in (judge.codes, judge.margins, proposals.plausibility, view.sets["R"].coordinates):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_a_rule_keeps_its_own_distances_and_groups():
    distances, groups = np.array([[0.0, 1.0], [1.0, 0.0]]), {"near": ["a"], "outer": {"inner": ["b"]}}
    view = listed_regions({"R": ("a", "b")}, np.array([[0], [1]]), np.ones((2, 1)))
    question = RegionalMap(view, {"R": RegionRule(0.5, distances=distances, groups=groups)})
    before = question.reference().describe()
    distances[:] = 0.0
    groups["near"].append("b")
    groups["outer"]["inner"][0] = "a"
    assert question.reference().describe() == before == question.describe()
