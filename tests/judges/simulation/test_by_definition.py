"""The simulation judge step by step: the gate as a mean of likelihood ratios, rivals by hand, ranks by counting."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.special import logsumexp
from scipy.stats import binom, multivariate_normal, norm

from physupport import MisuseError
from physupport.banks import Library, all_supports, array_bank, library_bank, product_grid
from physupport.io import ArrayRows
from physupport.judges import Sealed, SealedStream, Verdict
from physupport.judges.simulation import BySimulation, _simulated
from physupport.judges.simulation._judge import GATE_SHARE
from physupport.judges.simulation._simulated import nearest, neighbours, ratio, score
from physupport.laws import Covariance, Mean

PLACES = np.linspace(0.1, 0.9, 6)
WAVES = np.exp(-0.5 * ((np.linspace(0.0, 1.0, 7)[:, None] - PLACES) / 0.15) ** 2)
ATOMS = WAVES / np.linalg.norm(WAVES, axis=0)
LIBRARY = Library([f"p{i}" for i in range(6)], ["line"] * 6, PLACES[:, None], ATOMS)
BANK = library_bank(LIBRARY, [[], ["line"]], {"line": [0.8]}, deployment=product_grid(noise=[0.3, 0.5]))
LEVEL = 0.1


def opened(law, rows, seed=0, level=LEVEL, **options):
    spec = BySimulation(**{"draws": 99} | options)
    stream = SealedStream("deployment", ArrayRows(rows), law.completed(BANK), law.keys(BANK), lambda: None)
    return spec.open(Sealed(BANK, level, (stream,), seed))


def made_rows(law, explanation, seed=1, n_rows=25):
    return law.completed(BANK).sample(BANK, explanation, np.random.default_rng(seed), n_rows)


def densities(name, rows):
    """(M,) log likelihoods of all rows by scipy."""
    found = np.empty(BANK.size)
    parts = BANK.split(np.arange(BANK.size))
    for e in range(BANK.size):
        atom = ATOMS[:, parts.state[e]] * (parts.support[e] == 1)
        noise = [0.3, 0.5][parts.deployment[e]]
        mean = 0.8 * atom if name == "mean" else np.zeros(7)
        covariance = noise * np.eye(7) + (0.8 * np.outer(atom, atom) if name == "covariance" else 0.0)
        found[e] = multivariate_normal(mean, covariance).logpdf(rows).sum()
    return found


LAWS = {"mean": Mean(), "covariance": Covariance()}


@pytest.mark.parametrize("name", LAWS)
def test_the_gate_is_the_mean_of_all_likelihoods_over_that_of_an_explanation(name):
    rows = made_rows(LAWS[name], 15)
    judge, logs = opened(LAWS[name], rows), densities(name, rows)
    expected = logsumexp(logs) - np.log(BANK.size) - logs + np.log(GATE_SHARE * LEVEL)
    assert (judge.gate.lower <= expected + 1e-9).all()
    assert (expected - 1e-9 <= judge.gate.upper).all()
    assert (judge.gate.upper - judge.gate.lower <= 1e-6).all()
    assert judge.left.tolist() == np.flatnonzero(expected <= 0.0).tolist()
    rejected = np.setdiff1d(np.arange(BANK.size), judge.left)
    if len(rejected):
        assert (judge.verdicts(rejected).codes == Verdict.REJECTED).all()


@pytest.mark.parametrize("name", LAWS)
def test_a_rank_is_one_more_than_the_draws_that_reach_the_rows(name):
    rows = made_rows(LAWS[name], 15)
    judge = opened(LAWS[name], rows)
    assert len(judge.left) > 1
    for e in judge.left.tolist():
        likelihoods = judge._log_likelihoods(e)
        assert likelihoods.shape == (100, 1 + judge._rivals.shape[1])
        # The first line is of the rows themselves.
        own = densities(name, rows)
        row = int(np.searchsorted(judge.left, e))
        np.testing.assert_allclose(likelihoods[0], own[[e, *judge._rivals[row]]], rtol=1e-9)
        values = np.maximum((likelihoods[:, 1:] - likelihoods[:, :1]).max(axis=1), 0.0)
        counted = int((values[1:] >= values[0]).sum())
        found = judge.counts(np.array([e]))
        assert found.least[0] <= counted <= found.most[0]
        p = (1 + counted) / 100
        code = judge.verdicts(np.array([e])).codes[0]
        if found.least[0] == found.most[0]:
            assert (code == Verdict.REJECTED) == (p <= 0.99 * LEVEL)


@pytest.mark.parametrize("name", LAWS)
def test_draws_of_an_explanation_have_its_law(name):
    """Log likelihoods of 4000 draws under their own explanation against those of 4000 data sets: five deviations."""
    law, e = LAWS[name], 15
    drawn = opened(law, made_rows(law, e), draws=3999)._log_likelihoods(e)[1:, 0]
    rng, bank_law = np.random.default_rng(3), law.completed(BANK)
    parts = BANK.split(np.array([e]))
    atom, noise = ATOMS[:, parts.state[0]] * parts.support[0], [0.3, 0.5][parts.deployment[0]]
    covariance = noise * np.eye(7) + (0.8 * np.outer(atom, atom) if name == "covariance" else 0.0)
    density = multivariate_normal(0.8 * atom if name == "mean" else np.zeros(7), covariance)
    others = [density.logpdf(bank_law.sample(BANK, e, rng, 25)).sum() for _ in range(400)]
    off = (np.mean(others) - drawn.mean()) / (drawn.std() * np.sqrt(1 / 400 + 1 / 3999))
    assert abs(off) < 5.0
    assert abs(np.log(np.std(others) / drawn.std())) < 5.0 / np.sqrt(2.0 * 400)


@pytest.mark.parametrize("count", [1, 3, 9])
def test_rivals_are_the_nearest_states_the_other_supports_and_the_neighbouring_noises(count):
    everything = np.arange(BANK.size)
    found = nearest(BANK, everything, count)
    parts = BANK.split(everything)
    for e in everything.tolist():
        state, support, deployment = int(parts.state[e]), int(parts.support[e]), int(parts.deployment[e])
        distances = np.round(((ATOMS - ATOMS[:, [state]]) ** 2).sum(axis=0), 9)
        others = sorted((s for s in range(6) if s != state), key=lambda s: (distances[s], s))[:count]
        columns = [(s, support, deployment) for s in others]
        columns += [(state, 1 - support, deployment), (state, support, 1 - deployment)]
        expected = {e, *(int(BANK.index(s, u, 0, d)[0]) for s, u, d in columns)}
        assert {*found[e].tolist()} == expected


def test_neighbours_stand_below_and_above_and_an_end_is_its_own():
    states = np.stack([np.eye(4)[:, [i]] for i in range(4)])
    bank = array_bank(states, [(0,)], deployment=product_grid(noise=[0.1, 0.2, 0.4]))
    found = neighbours(bank, np.arange(bank.size), 0)
    for e in range(bank.size):
        state, noise = divmod(e, 3)
        assert found[e].tolist() == [
            3 * max(state - 1, 0) + noise, 3 * min(state + 1, 3) + noise,
            3 * state + max(noise - 1, 0), 3 * state + min(noise + 1, 2),
        ]  # fmt: skip
    with pytest.raises(MisuseError, match="statistic must be 'ratio' for a bank of several supports"):
        neighbours(BANK, np.arange(2), 0)


def test_near_supports_are_found_without_a_table_of_all_pairs_and_atoms(monkeypatch):
    """For 4096 supports of 12 atoms such a table has 1.6 GB; blocks of distances have 64 MiB."""
    bank = array_bank(np.eye(12)[None], all_supports(12, up_to=12, least=0))
    asked = np.array([5, 4000, 77])
    tracemalloc.start()
    found = nearest(bank, asked, 16)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**28
    active = bank.strengths > 0.0
    for e, rivals in zip(asked.tolist(), found.tolist(), strict=True):
        apart = (active != active[e]).sum(axis=1)
        others = sorted((u for u in range(len(active)) if u != e), key=lambda u: (apart[u], u))[:16]
        assert rivals == [e, *others]
    monkeypatch.setattr(_simulated, "_ENTRIES", 1)
    assert nearest(bank, asked, 16).tolist() == found.tolist()


@pytest.mark.parametrize("name", LAWS)
def test_draws_that_find_no_room_are_made_again(name, monkeypatch):
    rows = made_rows(LAWS[name], 15)
    whole = opened(LAWS[name], rows)
    expected = whole.verdicts(np.arange(BANK.size))
    assert len(whole.streams[0]._found) > 1
    monkeypatch.setattr(_simulated, "_MOST_HELD", 0)
    judge = opened(LAWS[name], rows)
    found = judge.verdicts(np.arange(BANK.size))
    assert len(judge.streams[0]._found) == 1
    assert (found.codes == expected.codes).all()
    assert (found.lower == expected.lower).all()


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), scale=st.floats(0.1, 10.0))
def test_statistics_do_not_care_for_the_order_of_draws_or_the_unit_of_a_score(seed, scale):
    rng = np.random.default_rng(seed)
    ratios, order = rng.standard_normal((30, 4)), rng.permutation(30)
    for statistic in (ratio, score):
        values = statistic(ratios, 0.0)[0]
        np.testing.assert_allclose(statistic(ratios[order], 0.0)[0], values[order], rtol=1e-9, atol=1e-9)
    # Scores are standardised: the length of a step along an axis does not matter, nor does its direction.
    scaled = ratios * np.array([scale, scale, 3.0, 3.0])
    np.testing.assert_allclose(score(scaled, 0.0)[0], score(ratios, 0.0)[0], rtol=1e-6, atol=1e-6)
    swapped = ratios[:, [1, 0, 2, 3]]
    np.testing.assert_allclose(score(swapped, 0.0)[0], score(ratios, 0.0)[0], rtol=1e-9, atol=1e-9)


def test_one_coordinate_alone_has_the_score_of_a_standardised_number():
    x = np.random.default_rng(4).standard_normal(50)
    z = (x - x.mean()) / x.std()
    values = score(np.stack([np.zeros(50), x], axis=1), 0.0)[0]
    expected = np.maximum(-np.log(2.0 * norm.sf(np.abs(z)) / 0.9), np.log(0.1))
    np.testing.assert_allclose(values, expected, rtol=1e-9)


def test_fits_tell_rows_that_are_too_quiet_from_rows_that_look_right():
    rows = made_rows(Mean(), 15, seed=2)
    judge = opened(Mean(), rows)
    mean = 0.8 * ATOMS[:, BANK.split(np.array([15])).state[0]]
    quiet = opened(Mean(), mean + 0.05 * (rows - mean))
    assert judge.fit(15) > 0.05
    assert quiet.fit(int(quiet.left[0])) <= 0.02
    outside = int(np.setdiff1d(np.arange(BANK.size), quiet.left)[0])
    with pytest.raises(MisuseError, match="explanation must be one that the gate leaves"):
        quiet.fit(outside)


def test_the_p_value_of_the_fit_is_at_most_t_in_at_most_t_of_the_data_sets():
    """In 300 data sets: fewer than one seed in a million loses more."""
    small = sum(opened(Mean(), made_rows(Mean(), 15, [5, run], 6), run, draws=39).fit(15) <= 0.2 for run in range(300))
    assert binom.sf(small - 1, 300, 0.2) > 1e-6
    assert small > 0.1 * 300  # nor is it far from that


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"statistic": "mean"}, "statistic must be one of score, ratio, not 'mean'"),
        ({"draws": 0}, "draws must be a whole number at least 1"),
        ({"copies": 1}, "copies must be a whole number at least 2"),
        ({"rivals": 0}, "rivals must be a whole number at least 1"),
    ],
)
def test_a_judge_of_no_sense_is_refused(options, message):
    with pytest.raises(MisuseError, match=message):
        BySimulation(**options)


def test_too_few_draws_to_reject_anything_are_refused():
    with pytest.raises(MisuseError, match="draws must be at least"):
        opened(Mean(), made_rows(Mean(), 15), level=0.001, draws=99)
