"""The simulation judge: its level on every way of drawing, what its draws share, and what it refuses."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom, norm

from physupport import MisuseError
from physupport.aeb import RegionalPolicy
from physupport.analysis import AnalysisProtocol, StreamPlan, analyse
from physupport.banks import Library, array_bank, bank_regions, library_bank, product_grid
from physupport.io import ArrayRows
from physupport.judges import Sealed, SealedStream, Verdict, decoded
from physupport.judges.simulation import BySimulation, _simulated
from physupport.judges.simulation._simulated import nearest, neighbours, ratio, score
from physupport.laws import Covariance, KnownCodes, Latent, Linear, Mean, Poisson, ProfiledMean
from physupport.local.shell import orbit_bank
from physupport.questions import RegionalMap
from physupport.verify import verify

RUNS, LEVEL = 200, 0.1
UNLUCKY = 1e-6  # fewer than one in a million seeds would fail a valid test, or save a broken one
SKEW = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
ATOMS = np.array([[0.6, 0.0], [0.0, 0.8], [0.8, 0.6]])
TURNED = orbit_bank(
    ATOMS, SKEW, np.arange(5) * 0.3, supports=[(0, 1)], calibration=product_grid(p=[0.2, 0.4], noise=[0.3, 0.4])
)
PLACES = np.linspace(0.1, 0.9, 5)
WAVES = np.exp(-0.5 * ((np.linspace(0.0, 1.0, 6)[:, None] - PLACES) / 0.2) ** 2)
LIBRARY = Library([f"p{i}" for i in range(5)], ["line"] * 5, PLACES[:, None], WAVES / np.linalg.norm(WAVES, axis=0))
LINE = library_bank(LIBRARY, [[], ["line"]], {"line": [0.5]}, deployment=product_grid(noise=[0.3, 0.4]))


def opened(bank, laws, tables, spec, seed, level=LEVEL):
    streams = tuple(
        SealedStream(name, ArrayRows(table), law.completed(bank), law.keys(bank), lambda: None)
        for (name, table), law in zip(tables.items(), laws, strict=True)
    )
    return spec.open(Sealed(bank, level, streams, seed))


def sampled(bank, law, explanation, seed, n_rows, scale=1.0):
    return scale * law.completed(bank).sample(bank, explanation, np.random.default_rng(seed), n_rows)


def losses(bank, law, spec, truth, n_rows, scale=1.0):
    lost = 0
    for run in range(RUNS):
        rows = sampled(bank, law, truth, [3, run], n_rows, scale)
        judge = opened(bank, [law], {law.part: rows}, spec, run)
        lost += judge.verdicts(np.array([truth])).codes[0] == Verdict.REJECTED
    return lost


SENSORS = np.random.default_rng(0).standard_normal((8, 5))  # four complex channels as pairs
SNAPSHOTS = library_bank(
    Library(LIBRARY.ids, LIBRARY.regions, LIBRARY.coordinates, SENSORS / np.linalg.norm(SENSORS, axis=0)),
    [[], ["line"]], {"line": [0.5]}, deployment=product_grid(noise=[0.3, 0.4]),
    calibration=product_grid(noise=[0.3, 0.5]),
)  # fmt: skip
CASES = {
    "second moments": (LINE, Covariance(), BySimulation("ratio", draws=99), 14, 20),
    "means and scatter": (LINE, Mean(), BySimulation("ratio", draws=99), 14, 4),
    "rows of every draw": (TURNED, Latent(), BySimulation("score", draws=39), 10, 40),
    "pieces that change places": (TURNED, Latent(), BySimulation("score", draws=99, copies=6), 10, 60),
    "fewer rows than channels": (LINE, Covariance(), BySimulation("ratio", draws=99), 14, 3),
    "complex second moments": (SNAPSHOTS, Covariance(is_complex=True), BySimulation("ratio", draws=99), 31, 12),
    "codes that are seen": (SNAPSHOTS, KnownCodes(is_complex=True), BySimulation("ratio", draws=99), 31, 3),
}


@pytest.mark.parametrize("name", CASES)
def test_the_truth_is_lost_in_at_most_the_level_of_the_data_sets(name, monkeypatch):
    if name.startswith("pieces"):
        monkeypatch.setattr(_simulated, "_MOST_ROWS", 0)
    lost = losses(*CASES[name])
    assert binom.sf(lost - 1, RUNS, LEVEL) > UNLUCKY
    assert lost > RUNS * LEVEL / 4  # it is no judge that keeps everything


def test_negative_control_the_same_count_exposes_rows_that_the_bank_does_not_hold():
    lost = losses(*CASES["second moments"], scale=1.3)
    assert binom.sf(lost - 1, RUNS, LEVEL) < UNLUCKY


def test_negative_control_sharing_that_is_assumed_and_not_checked_is_exposed(monkeypatch):
    """Draws with the smaller noise serve the larger one, too."""
    monkeypatch.setattr(_simulated.SimulatedStream, "models", lambda self, tuples: tuples[:, 0] - tuples[:, 0] % 2)
    bank, law, spec, _, n_rows = CASES["rows of every draw"]
    lost = losses(bank, law, spec, 11, 4 * n_rows)
    assert binom.sf(lost - 1, RUNS, LEVEL) < UNLUCKY


def test_turned_dictionaries_share_draws_and_others_do_not():
    law = Latent().completed(TURNED)
    everything = np.arange(TURNED.size)
    tuples = np.column_stack([everything, neighbours(TURNED, everything, 0)])
    keys = law.keys(TURNED)
    stream = _simulated.SimulatedStream(0, TURNED, law, ArrayRows(np.ones((9, 3))), keys, 1, 9, 2)
    models = stream.models(tuples).reshape(5, 4)  # states by nuisances
    assert (models[2:4] == models[1]).all()
    assert len(np.unique(models[1])) == 4
    # The ends have a neighbour on one side only, so that their tuples are others.
    assert not np.isin(models[[0, 4]], models[1]).any()
    dictionaries = np.stack([TURNED.explanation(4 * k).atoms for k in range(5)])
    dictionaries[3, :, 0] = dictionaries[3, :, 0] + [0.0, 1e-6, 0.0]
    dictionaries[3, :, 0] /= np.linalg.norm(dictionaries[3, :, 0])
    bent = array_bank(dictionaries, [(0, 1)], calibration=TURNED.calibration)
    other = _simulated.SimulatedStream(0, bent, law, stream.rows, law.keys(bent), 1, 9, 2).models(tuples).reshape(5, 4)
    assert (other[3] == 12 + np.arange(4)).all()


def test_log_likelihoods_of_a_model_are_those_of_turned_rows():
    law = Latent().completed(TURNED)
    rows = sampled(TURNED, law, 4, 1, 50)
    angle = 0.3
    turn = np.array([[np.cos(angle), -np.sin(angle), 0.0], [np.sin(angle), np.cos(angle), 0.0], [0.0, 0.0, 1.0]])
    first, second = np.array([4, 0, 8, 5]), np.array([8, 4, 12, 9])
    here = law.stream(TURNED, ArrayRows(rows), [50]).log_likelihood(first).values
    there = law.stream(TURNED, ArrayRows(rows @ turn.T), [50]).log_likelihood(second).values
    assert np.abs(here - there).max() < 1e-10 * np.abs(here).max()


def test_a_draw_of_pieces_is_made_of_pieces_of_data_and_copies(monkeypatch):
    monkeypatch.setattr(_simulated, "_MOST_ROWS", 0)
    judge = opened(TURNED, [Latent()], {"calibration": sampled(TURNED, Latent(), 9, 0, 70)}, CASES[[*CASES][3]][2], 0)
    (stream,) = judge.streams
    e = int(judge.left[0])
    found = judge._log_likelihoods(e)
    tuples = np.concatenate([[e], judge._rivals[0]])
    data = stream.law.stream(TURNED, stream.rows, [70]).log_likelihood(np.unique(tuples)).values[:, 0]
    assert np.allclose(found[0], data[np.searchsorted(np.unique(tuples), tuples)], rtol=1e-12)
    pool = np.concatenate([stream.observed[1][tuples][None], stream._found[e]])
    assert pool.shape == (7, 7, 16)
    assert (found[1:] <= pool.max(axis=0).sum(axis=1) + 1e-9).all()
    assert (found[1:] >= pool.min(axis=0).sum(axis=1) - 1e-9).all()
    assert len(np.unique(found[:, 0])) == 100


def test_the_score_is_that_of_its_definition():
    rng = np.random.default_rng(2)
    x = rng.standard_normal((400, 3)) @ np.array([[1.0, 0.6, 0.0], [0.0, 1.0, 0.5], [0.0, 0.0, 1.0]])
    pairs = np.stack([np.zeros_like(x), x], axis=2).reshape(400, 6)
    covariance = np.cov(x.T, bias=True)
    centred = x - x.mean(axis=0)
    inverse = np.linalg.inv(covariance)
    z = centred @ inverse[:, 0] / np.sqrt(inverse[0, 0])  # the inverse holds what is uncorrelated with the rest
    q = np.einsum("bi,ij,bj->b", centred[:, 1:], np.linalg.inv(covariance[1:, 1:]), centred[:, 1:])
    expected = -np.log(np.minimum(2.0 * norm.sf(np.abs(z)) / 0.9, np.exp(-q / 2.0) / 0.1))
    assert np.allclose(score(pairs, 0.0)[0], expected, atol=1e-10)
    # An axis without neighbours changes nothing, and errors move the statistic by no more than is said.
    assert np.allclose(score(np.hstack([pairs, np.zeros((400, 2))]), 0.0)[0], expected, atol=1e-10)
    moved = score(pairs + 1e-6 * rng.uniform(-1.0, 1.0, pairs.shape), 0.0)[0]
    assert (np.abs(moved - expected) <= score(pairs, 1e-6)[1]).all()


def test_the_ratio_is_floored_at_its_own_explanation():
    values, errors = ratio(np.array([[0.0, -1.0, -2.0], [0.0, 0.5, -3.0], [0.0, -0.05, -3.0]]), 0.1)
    assert values.tolist() == [0.0, 0.5, 0.0]
    assert errors.tolist() == [0.0, 0.1, 0.1]  # only of the first it is certain that no rival is ahead


def test_what_no_rival_comes_near_is_admissible_and_not_undecided():
    judge = opened(LINE, [Mean()], {"deployment": sampled(LINE, Mean(), 14, 5, 4000)}, BySimulation(draws=99), 0)
    found = judge.verdicts(np.arange(LINE.size))
    assert np.flatnonzero(found.codes == Verdict.ADMISSIBLE).tolist() == [14]
    assert np.flatnonzero(found.codes == Verdict.INDETERMINATE).size == 0


def test_rivals_differ_in_state_support_or_one_nuisance():
    rivals = nearest(LINE, np.array([9]), 2)[0]  # p2, nothing active, noise 0.4
    columns = LINE.split(rivals)
    assert columns.state.tolist() == [2, 1, 3, 2, 2, 2]
    assert columns.support.tolist() == [0, 0, 0, 1, 0, 0]
    assert columns.deployment.tolist() == [1, 1, 1, 1, 0, 1]  # nothing lies above the largest noise


def test_verdicts_do_not_depend_on_what_else_is_asked_and_fit_tells_other_rows():
    rows = sampled(LINE, Mean(), 14, 5, 30)
    judge, again = (opened(LINE, [Mean()], {"deployment": rows}, BySimulation(draws=99), 1) for _ in range(2))
    whole, single = judge.verdicts(np.arange(LINE.size)), again.verdicts(np.array([17, 14]))
    assert single.codes.tolist() == whole.codes[[17, 14]].tolist()
    assert single.lower.tolist() == whole.lower[[17, 14]].tolist()
    assert whole.are_proven().all()
    assert judge.fit(14) > 0.05
    loud = opened(LINE, [Mean()], {"deployment": 1.5 * (rows - rows.mean(axis=0)) + rows.mean(axis=0)}, judge.spec, 1)
    assert max(loud.fit(int(e)) for e in loud.left) == 2.0 / 100.0
    assert loud.facts(np.arange(LINE.size))["findings"][0]["p"] == 2.0 / 100.0
    assert not judge.facts(np.array([14, 15]))["is_best_rejected"]
    assert judge.facts(np.array([], dtype=int))["best"] == 14


def test_a_run_is_written_and_verified_from_all_rows(monkeypatch):
    spec = BySimulation(draws=99)
    rows = sampled(LINE, Mean(), 14, 5, 30)
    question = RegionalMap(bank_regions(LINE))
    plans = {"deployment": StreamPlan("mean", 0.5)}
    protocol = AnalysisProtocol(question, RegionalPolicy(), LEVEL, 1.0, LINE, plans, judge=spec)
    result = analyse(protocol, {"deployment": rows})
    stream = result.report.document["protocol"]["streams"][0]
    assert (stream["rows"], stream["fraction"]) == (30, 0.0)
    assert decoded(result.report.document["protocol"]["judge"]) == replace(spec, statistic="ratio")
    found = verify(result.report.json(), {"deployment": rows})
    assert found.is_verified
    assert not any("NumPy" in note for note in found.notes)
    monkeypatch.setattr(np, "__version__", "9.0")
    assert any("NumPy, 9.0 here and" in note for note in verify(result.report.json(), {"deployment": rows}).notes)
    other = rows.copy()
    other[0, 0] += 1.0
    assert not verify(result.report.json(), {"deployment": other}).is_verified


def test_what_cannot_be_simulated_is_refused():
    rows = sampled(LINE, Mean(), 14, 5, 30)
    free = ProfiledMean(box=(np.zeros(1), np.ones(1)))
    with pytest.raises(MisuseError, match="simple explanations"):
        opened(LINE, [free], {"deployment": rows}, BySimulation(), 0).verdicts(np.array([0]))
    with pytest.raises(MisuseError, match="'rotation' where coefficients are free"):
        opened(LINE, [Linear()], {"deployment": rows}, BySimulation(), 0)
    with pytest.raises(MisuseError, match="'counts' where coefficients are free"):
        opened(LINE, [Poisson()], {"deployment": rows}, BySimulation(), 0)
    with pytest.raises(MisuseError, match="'ratio' for a bank of several supports"):
        opened(LINE, [Mean()], {"deployment": rows}, BySimulation("score"), 0).verdicts(np.arange(LINE.size))
    with pytest.raises(MisuseError, match="draws must be at least"):
        opened(LINE, [Mean()], {"deployment": rows}, BySimulation(draws=5), 0)
    with pytest.raises(MisuseError, match="one of score, ratio"):
        BySimulation("best")
    with pytest.raises(MisuseError, match="statistic must be one of score, ratio to be written"):
        BySimulation().encode()
    content = BySimulation("ratio").encode()
    with pytest.raises(MisuseError, match="pieces"):
        decoded(content | {"pieces": [1, 1]})
