"""A protocol is frozen and hashed before the first held-out row is read."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from physupport import Interval
from physupport._errors import MisuseError
from physupport.aeb import EndpointPolicy, RegionalPolicy, run
from physupport.analysis import AnalysisProtocol, StreamPlan, report
from physupport.banks import Library, bank_regions, library_bank, product_grid
from physupport.io import ArrayRows, as_pairs, split_rows, split_streams
from physupport.judges import EvidenceJudge, TableJudge, bank_evidence, best_explanation, doubling_checkpoints
from physupport.laws import (
    BernoulliGaussian,
    Covariance,
    ExchangeableGaussian,
    LatentObjective,
    ProfiledMean,
    latent_box,
    latent_stream,
    make_calibration,
    point_stream,
    propose_continuous,
)
from physupport.local.shell import orbit_bank
from physupport.questions import RegionalMap, RegionRule, Resolution
from physupport.verify import verify
from physupport.verify._data import PLAUSIBILITY


class WatchedRows(np.ndarray):
    """An array that notes which of its rows are read; slices of rows come as plain arrays."""

    def __getitem__(self, chosen):
        rows = chosen[0] if isinstance(chosen, tuple) else chosen
        self.log.update(np.arange(len(self))[rows].ravel().tolist())
        return np.asarray(self)[chosen]


def watched(table):
    rows = np.array(table).view(WatchedRows)
    rows.log = set()
    return rows


ATOMS = np.linalg.qr(np.random.default_rng(4).standard_normal((5, 5)))[0]


@pytest.fixture(scope="module")
def bank():
    library = Library(["a1", "a2", "b1", "b2"], ["A", "A", "B", "B"], [[0.0], [1.0], [0.0], [1.0]], ATOMS[:, :4])
    nuisances = {"calibration": product_grid(p=[0.2], noise=[0.3]), "deployment": product_grid(noise=[0.5])}
    return library_bank(library, ["A", "AB"], {"A": 1.0, "B": 1.0}, **nuisances)


@pytest.fixture(scope="module")
def rows(bank):
    rng = np.random.default_rng(1)
    calibration = make_calibration(BernoulliGaussian(0.2), ATOMS[:, [0, 3]], 0.3, rng, 400)
    return {"calibration": calibration, "deployment": rng.standard_normal((60, 5)) @ np.diag([1.0, 1, 1, 1, 0.7])}


def make_protocol(bank, **changes):
    plans = {"calibration": StreamPlan("latent", 0.4), "deployment": StreamPlan("covariance", 0.5, first=16)}
    given = {"question": RegionalMap(bank_regions(bank)), "policy": RegionalPolicy(), "level": 0.1, "budget": 1.0}
    return AnalysisProtocol(**(given | {"bank": bank, "streams": plans, "seed": 7} | changes))


def assert_same_verdicts(one, other):
    mine, theirs = (judge.verdicts(np.arange(judge.size)) for judge in (one, other))
    assert mine.codes.tolist() == theirs.codes.tolist()
    assert mine.margins().tolist() == theirs.margins().tolist()


def test_no_held_out_row_is_read_before_the_freeze(bank, rows):
    tables = {name: watched(table) for name, table in rows.items()}
    seal = make_protocol(bank).read(**tables)
    splits = dict(zip(rows, split_streams([400, 60], [0.4, 0.5], 7), strict=True))
    for name, table in tables.items():
        assert table.log == {*splits[name].proposal.tolist()}
    assert len(seal.digest) == 64
    seal.run()
    for name, table in tables.items():
        assert table.log == set(range(len(rows[name])))


def test_the_hash_does_not_depend_on_held_out_rows_but_on_all_else(bank, rows):
    seal = make_protocol(bank).read(**rows)
    held_out = split_streams([400, 60], [0.4, 0.5], 7)[0].held_out
    other = rows["calibration"].copy()
    other[held_out] += 1.0
    assert make_protocol(bank).read(**(rows | {"calibration": other})).digest == seal.digest
    changes = (
        {"level": 0.2},
        {"budget": 3},
        {"seed": 8},
        {"policy": RegionalPolicy(probes=1)},
        {"question": RegionalMap(bank_regions(bank), {"A": RegionRule(0.1)})},
        {"until_witnessed": False},
        {"stop": "set"},
        {"streams": {"calibration": StreamPlan("latent", 0.4), "deployment": StreamPlan("covariance", 0.5)}},
    )
    digests = {make_protocol(bank, **change).read(**rows).digest for change in changes}
    assert len(digests | {seal.digest}) == len(changes) + 1
    proposal = rows["calibration"].copy()
    proposal[split_streams([400, 60], [0.4, 0.5], 7)[0].proposal[0]] += 1.0
    assert make_protocol(bank).read(**(rows | {"calibration": proposal})).digest != seal.digest


def test_the_judge_is_the_one_built_by_hand(bank, rows):
    seal = make_protocol(bank).read(**rows)
    c, d = split_streams([400, 60], [0.4, 0.5], 7)
    y, z = rows["calibration"], rows["deployment"]

    def latent(order, stops):
        return latent_stream(ArrayRows(y, order), bank.states, [BernoulliGaussian(0.2)], [0.3], stops)

    def covariance(order, stops):
        return Covariance(noises=[0.5]).stream(bank, ArrayRows(z, order), stops)

    first, first_key = best_explanation(latent(c.proposal, [160]), bank.size, bank.calibration_keys)
    second, second_key = best_explanation(covariance(d.proposal, [30]), bank.size, bank.deployment_keys)
    streams = latent(c.held_out, doubling_checkpoints(240)), covariance(d.held_out, doubling_checkpoints(30, 16))
    evidence = bank_evidence(
        bank, calibration=(streams[0], (streams[0], first_key)), deployment=(streams[1], (streams[1], second_key))
    )
    judge = EvidenceJudge(evidence, 0.1)
    assert_same_verdicts(seal.judge, judge)
    assert seal.proposed.best == {"calibration": first, "deployment": second}
    trace = run(judge, seal.question, seal.policy, 1.0, proposals=seal.proposed.proposals)
    assert trace.queries.tolist() == seal.run().queries.tolist()


def test_a_report_of_both_streams_is_verified_with_its_rows(bank, rows):
    seal = make_protocol(bank).read(**rows)
    found = report(seal, seal.run())
    assert verify(found.json(), rows, protocol=seal.digest).findings == ()
    assert found.digests["bank"] == bank.digest


@pytest.mark.parametrize("kind", ["mean", "known codes"])
def test_the_other_kinds_of_rows_are_scored_again_as_well(bank, kind):
    rng = np.random.default_rng(2)
    codes = rng.standard_normal((80, 2))
    measured = codes @ ATOMS[:, [0, 3]].T + 0.5 * rng.standard_normal((80, 5))
    table = np.hstack([measured, codes]) if kind == "known codes" else ATOMS[:, 0] + 0.7 * rng.standard_normal((80, 5))
    noises = [0.3] if kind == "known codes" else [0.5]
    plan = StreamPlan(kind, 0.5, noises=noises, checkpoints=[10, 40])
    seal = make_protocol(bank, streams={"one": plan}).read(one=table)
    found = report(seal, seal.run())
    assert verify(found.json(), {"one": table}).findings == ()
    assert "held-out rows of one do not match" in " ".join(verify(found.json(), {"one": table + 1.0}).findings)


@pytest.mark.parametrize("has_phase", [False, True])
def test_amplitudes_may_be_unknown_within_a_box(has_phase):
    """The numerator is the mean that fits the proposal rows best; against it the best coefficients of each stand."""
    rng = np.random.default_rng(3)
    wide = rng.standard_normal((6, 3)) + (1j * rng.standard_normal((6, 3)) if has_phase else 0.0)
    wide /= np.linalg.norm(wide, axis=0)
    elements = as_pairs(wide, axis=0) if has_phase else wide
    library = Library(["a1", "a2", "b"], ["A", "A", "B"], [[0.0], [1.0], [0.0]], elements)
    bank = library_bank(library, ["A", "AB"], {"A": 1.0, "B": 1.0}, deployment=product_grid(noise=[0.5, 0.6]))
    upper = np.array([1.2 + 3.0j, 2.0 + 2.0j] if has_phase else [1.2, 2.0])
    # An amplitude that nobody told the bank, here at the edge of the box, and for complex rows a phase as well.
    mean = as_pairs((1.2 + 0.9j) * wide[:, 0]) if has_phase else 1.2 * wide[:, 0]
    table = mean + 0.5 * rng.standard_normal((80, len(mean)))
    plan = StreamPlan("profiled mean", 0.5, is_complex=has_phase, checkpoints=[10, 40], box=(-upper, upper))
    seal = make_protocol(bank, streams={"one": plan}).read(one=table)
    split = split_rows(80, 0.5, 7)
    held_out = ArrayRows(table, split.held_out)
    best = bank.explanation(seal.proposed.best["one"])
    positions = list(best.positions)
    active, ends = best.atoms[:, positions], upper[positions]
    if has_phase:
        active = np.hstack([active, as_pairs(1j * (active[0::2] + 1j * active[1::2]), axis=0)])
        ends = np.append(ends.real, ends.imag)
    average = table[split.proposal].mean(axis=0)
    fit = lsq_linear(active, average, (-ends, ends), method="bvls", tol=1e-15)
    fitted = active @ fit.x
    assert np.isclose(fit.x[0], 1.2) == (not has_phase)  # one of the two fits ends at the edge
    point = seal.content["streams"][0]["numerator"]["mean_point"]
    np.testing.assert_allclose(point["mean"]["values"], fitted, atol=1e-12)  # condition of a handful of vectors
    assert point["noise"] in ((0.25, 0.3) if has_phase else (0.5, 0.6))  # of a real entry
    stream = ProfiledMean(noises=[0.5, 0.6], box=(-upper, upper), is_complex=has_phase).stream(bank, held_out, [10, 40])
    numerator = point_stream(held_out, point["mean"]["values"], point["noise"], [10, 40]), 0
    by_hand = EvidenceJudge(bank_evidence(bank, deployment=(stream, numerator)), 0.1)
    assert_same_verdicts(seal.judge, by_hand)
    found = report(seal, seal.run())
    assert found.fields[0].cell == ("a1",)
    assert verify(found.json(), {"one": table}, protocol=seal.digest).findings == ()
    assert "held-out rows of one do not match" in " ".join(verify(found.json(), {"one": table + 1.0}).findings)
    forged = json.loads(found.json())
    forged["protocol"]["streams"][0]["numerator"]["mean_point"]["mean"]["values"][0] += 1e-6
    better = "the numerator of one is not the best of the bank on the proposal rows"
    assert better in verify(forged, {"one": table}).findings


def test_an_absence_threshold_is_refused_where_coefficients_are_not_the_strengths_of_the_bank():
    """The bank says 0.5 of what the box allows to be 2: below a threshold of 1 nothing would be said to be there."""
    rng, library = np.random.default_rng(3), Library(["a", "b"], ["A", "B"], [[0.0], [0.0]], np.eye(3)[:, :2])
    bank = library_bank(library, ["A", "AB"], {"A": 1.0, "B": [0.5, 1.0]}, deployment=product_grid(noise=[0.1]))
    table = np.array([1.0, 2.0, 0.0]) + 0.3 * rng.standard_normal((80, 3))
    plan = StreamPlan("profiled mean", 0.5, box=([0.0, 0.0], [2.0, 2.0]))
    question = RegionalMap(bank_regions(bank), {"B": RegionRule(absence_threshold=0.8)})
    with pytest.raises(MisuseError, match="absence_threshold of region 'B' must be left out beside profiled mean rows"):
        make_protocol(bank, question=question, streams={"one": plan}).read(one=table)
    seal = make_protocol(bank, streams={"one": plan}).read(one=table)
    forged = json.loads(report(seal, seal.run()).json())
    forged["protocol"]["question"]["regions"][1]["absence_threshold"] = 0.8
    words = "region 'B' has an absence threshold, which profiled mean rows cannot reach"
    assert words in verify(forged).findings


def test_a_numerator_off_the_bank_and_a_question_around_it():
    """The global study in small: orientations, a continuous proposal, and distances from it."""
    atoms = np.array([[1.0, 0.8, 0.0], [0.0, 0.6, 1.0]])
    turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    angles = np.arange(-3, 4) * 0.15
    grid = product_grid(p=[0.15, 0.25], noise=[0.1])
    bank = orbit_bank(atoms, turn, angles, supports=[(0, 1)], calibration=grid)
    table = make_calibration(BernoulliGaussian(0.2), atoms, 0.1, np.random.default_rng(1), 500)

    def propose(rows):
        objective = LatentObjective(rows, atoms, turn)
        theta, _ = propose_continuous(objective, latent_box((-0.5, 0.5), Interval(0.1, 0.3), Interval(0.05, 0.3)))
        return objective.point(theta)

    def question(proposed):
        first = proposed.points["calibration"].numbers["atoms"][:, 0]
        away = np.abs(angles - np.arctan2(first[1], first[0]))
        between = np.abs(angles[:, None] - angles)
        return Resolution.of_states(bank, between, away, delta_fine=0.2, delta_group=0.5)

    plans = {"calibration": StreamPlan("latent", 0.45, propose=propose)}
    protocol = AnalysisProtocol(question, EndpointPolicy(), 0.1, 1.0, bank, plans, seed=3)
    seal = protocol.read(calibration=table)
    found = report(seal, seal.run())
    assert found.status == "REPORT"
    assert verify(found.json(), {"calibration": table}).findings == ()
    spared = replace(protocol, ranks=False).read(calibration=table)
    assert (seal.content["plausibility"] is None, spared.content["plausibility"]) == (False, None)
    again = report(spared, spared.run())
    assert again.document["fields"] == found.document["fields"]
    checked = verify(again.json(), {"calibration": table})
    assert checked.findings == ()
    assert PLAUSIBILITY not in checked.notes


def test_misuse_is_named(bank, rows):
    with pytest.raises(MisuseError, match="tables must be given for the streams"):
        make_protocol(bank).read(calibration=rows["calibration"])
    with pytest.raises(MisuseError, match="bank must be given with streams"):
        AnalysisProtocol(
            RegionalMap(bank_regions(bank)), RegionalPolicy(), 0.1, 1.0, streams={"one": StreamPlan("mean", 0.5)}
        )
    with pytest.raises(MisuseError, match="judge must come without streams"):
        make_protocol(bank).freeze(TableJudge(np.zeros(8, dtype=int)))
    with pytest.raises(MisuseError, match="level must lie strictly between 0 and 1"):
        make_protocol(bank, level=1.0)
    with pytest.raises(MisuseError, match=r"law must be one of .*covariance, known codes, "):
        StreamPlan("cauchy", 0.5)
    for kind, box in (("profiled mean", None), ("mean", ([0.0], [1.0]))):
        with pytest.raises(MisuseError, match="box must be given for 'profiled mean'"):
            StreamPlan(kind, 0.5, box=box)
    with pytest.raises(MisuseError, match="plan must be given what the bank's nuisances"):
        StreamPlan("latent", 0.5).law.completed(orbit_bank(ATOMS, np.eye(5)[None], supports=[(0,)]))


def test_laws_are_written_by_their_parameters(bank):
    law = ExchangeableGaussian(np.array([0.5, 0.3, 0.2]), np.array([0.0, 1.0, 2.0]))
    other = library_bank(bank.states.library, ["A"], {"A": 1.0}, calibration=product_grid(noise=[0.3]))
    described = StreamPlan("latent", 0.5, laws=[law], noises=[0.3]).law.completed(other).encode()
    assert described["laws"] == [
        {"law": "exchangeable gaussian", "size_probabilities": [0.5, 0.3, 0.2], "variances": [0.0, 1.0, 2.0]}
    ]


def test_a_view_of_another_bank_is_refused_when_the_protocol_is_frozen(bank, rows):
    """The two banks have the same size, and differ in a strength."""
    nuisances = {"calibration": bank.calibration, "deployment": bank.deployment}
    other = library_bank(bank.states.library, ["A", "AB"], {"A": 1.0, "B": 2.0}, **nuisances)
    assert other.size == bank.size
    with pytest.raises(MisuseError, match="question must be about the bank of the protocol"):
        make_protocol(bank, question=RegionalMap(bank_regions(other))).read(**rows)
    judge = TableJudge(np.zeros(bank.size, dtype=int))
    with pytest.raises(MisuseError, match="question must be about the bank of the protocol"):
        AnalysisProtocol(RegionalMap(bank_regions(bank)), RegionalPolicy(), 0.1, 1.0).freeze(judge)


def test_a_trace_scored_from_other_rows_is_refused(bank, rows):
    seal = make_protocol(bank).read(**rows)
    other = make_protocol(bank).read(calibration=rows["calibration"] * 1.1, deployment=rows["deployment"] * 1.1)
    forged = run(other.judge, seal.question, seal.policy, 1.0, digests=(("protocol", seal.digest),))
    with pytest.raises(MisuseError, match="trace must hold the verdicts of the judge"):
        report(seal, forged)


def test_a_judge_at_another_level_than_the_protocol_is_refused(bank, rows):
    judge = make_protocol(bank).read(**rows).judge
    with pytest.raises(MisuseError, match=r"judge must decide at the level 0.01 of the protocol, not 0.1"):
        AnalysisProtocol(RegionalMap(bank_regions(bank)), RegionalPolicy(), 0.01, 1.0, bank).freeze(judge)
