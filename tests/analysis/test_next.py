"""What to measure next: divergences minimised over what is open, the pair that decides, and the level of choices."""

import importlib

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import binom

from physupport import MisuseError, PhysicalSupport
from physupport.analysis import Candidate, Seen, divergences, next_measurement
from physupport.banks import Library, library_bank, product_grid
from physupport.laws import Linear, Mean, Poisson

AXIS = np.arange(20)
ATOMS = np.exp(-0.5 * ((AXIS[:, None] - np.array([5.0, 7.0, 14.0])) / 2.0) ** 2)
ATOMS /= np.linalg.norm(ATOMS, axis=0)
BACKGROUND = np.ones((20, 1))


def bank_of(atoms=ATOMS, **options):
    library = Library(["a", "b", "c"], ["line"] * 3, np.arange(3.0)[:, None], atoms)
    return library_bank(library, [["line"]], {"line": [1.0]}, **options)


def test_of_counts_it_is_the_divergence_from_the_nearest_means():
    bank, amounts = bank_of(), np.array([30.0, 4.0])
    law = Poisson(background=BACKGROUND).completed(bank)
    mean = ATOMS[:, 0] * amounts[0] + 4.0
    found = divergences(Candidate("more", 1.0, bank, law), 0, np.arange(3), Seen(bank, law, mean, 50.0))

    def divergence(theta, other):
        means = np.maximum(ATOMS[:, other] * theta[0] + theta[1], 1e-9)
        return float((mean * np.log(mean / means) - mean + means).sum())

    wanted = [
        minimize(divergence, [20.0, 5.0], args=(other,), bounds=[(0.0, None)] * 2, method="L-BFGS-B").fun
        for other in range(3)
    ]
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-3)  # a search, and a fit of the gap 1e-6 of counts
    assert found[0] < 1e-3 < found[1] < found[2]


@pytest.mark.parametrize("noise", [0.5, None])
def test_around_a_mean_it_is_the_energy_that_the_other_columns_miss(noise):
    bank = bank_of(deployment=None if noise is None else product_grid(noise=[noise]))
    law = Linear(background=BACKGROUND, rows="same mean").completed(bank)
    rows = 3.0 * ATOMS[:, 0] + 1.0 + 0.05 * np.random.default_rng(0).standard_normal((400, 20))
    seen = Seen(bank, law, rows.mean(axis=0), 400.0)
    found = divergences(Candidate("more", 1.0, bank, law), 0, np.arange(3), seen)
    missed = []
    for other in range(3):
        columns = np.stack([ATOMS[:, other], np.ones(20)], axis=1)
        rest = 3.0 * ATOMS[:, 0] - columns @ np.linalg.lstsq(columns, 3.0 * ATOMS[:, 0], rcond=None)[0]
        missed.append(rest @ rest)
    wanted = np.array(missed) / 2.0 / 0.5 if noise else 10.0 * np.log1p(np.array(missed) / 20.0 / 0.05**2)
    # Amplitudes are known to 0.05 / 20 of 3, and the level of the noise from the 18 numbers that a fit leaves.
    np.testing.assert_allclose(found, wanted, rtol=0.02 if noise else 0.3, atol=1e-3)


def test_of_a_law_without_closed_form_it_is_averaged(monkeypatch):
    bank = bank_of(deployment=product_grid(noise=[1.0]))
    candidate = Candidate("more", 1.0, bank, Mean().completed(bank))
    closed = divergences(candidate, 0, np.arange(3))
    monkeypatch.setattr(Mean, "divergences", lambda *_: None)
    drawn = divergences(Candidate("again", 1.0, bank, candidate.law), 0, np.arange(3))
    # The log ratio has the mean D and the variance 2 D; six standard errors of 512 rows.
    assert (np.abs(drawn - closed) <= 6.0 * np.sqrt(2.0 * closed / 512)).all()
    assert drawn[1:].min() > 0.0


def detectors():
    """One parts a from b, the other c from both; what made the rows is a."""
    pairs = [(0, 1), (0, 2)]
    atoms = []
    for first, second in pairs:
        columns = np.repeat(ATOMS[:, [0]], 3, axis=1)
        columns[:, max(first, second)] = ATOMS[:, max(first, second)]
        atoms.append(columns)
    banks = [bank_of(each, deployment=product_grid(noise=[1.0])) for each in atoms]
    return [
        Candidate(name, cost, bank, Mean().completed(bank), 5.0)
        for name, cost, bank in zip(["parts b", "parts c"], [1.0, 7.0], banks, strict=True)
    ]


def test_the_pair_that_takes_longest_decides_and_the_cheapest_that_parts_it_is_named():
    offered = detectors()
    bank = offered[0].bank
    model = PhysicalSupport(bank, {"line": 0.5}, calibration=None, deployment="mean", judge="evidence").fit()
    result_rows = np.zeros((4, 20)) + 0.5 * ATOMS[:, 0]
    model.report(result_rows)
    answer = next_measurement(model.result_, offered)
    assert answer.measurement == "parts c"  # seven times as dear, and nothing else parts c
    assert "c" in answer.sentence
    assert dict(answer.seconds)["parts b"] == np.inf
    alone = model.result_.next(offered[:1])
    assert alone.measurement == "parts b"
    assert alone.unparted > 0
    with pytest.raises(MisuseError, match="hold at least one measurement"):
        model.result_.next([])


def test_a_judge_of_one_report_is_named_as_such():
    offered = detectors()
    rows = np.random.default_rng(0).standard_normal((4, 20)) + 0.5 * ATOMS[:, 0]
    answers = {}
    for judge in ("evidence", "simulation"):
        model = PhysicalSupport(offered[0].bank, {"line": 0.5}, calibration=None, deployment="mean", judge=judge).fit()
        model.report(rows)
        answers[judge] = model.result_.next(offered)
    assert answers["evidence"].is_anytime
    assert not answers["simulation"].is_anytime
    assert "holds for one report" in answers["simulation"].sentence


def test_a_certain_label_waits_for_nothing():
    offered = detectors()
    model = PhysicalSupport(
        bank_of(deployment=product_grid(noise=[0.01])), {"line": 0.5}, calibration=None, deployment="mean"
    ).fit()
    model.report(np.random.default_rng(0).standard_normal((40, 20)) * 0.1 + ATOMS[:, 0])
    answer = model.result_.next(offered)
    assert answer.measurement is None
    assert answer.sentence == "No label waits for a measurement that was named."


benchmark = importlib.import_module("benchmarks.next_level")


def test_choices_do_not_cost_the_level_and_save_half_of_the_time():
    setting, rng = benchmark.in_ranges(), np.random.default_rng(3)
    chosen = [benchmark.run(setting, rng, True) for _ in range(24)]
    assert binom.sf(sum(lost for _, lost in chosen) - 1, 24, benchmark.LEVEL) > 1e-6
    equal = [benchmark.run(setting, rng, False)[0] for _ in range(12)]
    assert np.median([seconds for seconds, _ in chosen]) <= 0.5 * np.median(equal)


def test_negative_control_the_same_count_exposes_noise_that_is_stated_too_small():
    setting, rng = benchmark.in_ranges(), np.random.default_rng(4)
    lost = [benchmark.run(setting, rng, True, wrong=1.0)[1] for _ in range(24)]
    assert binom.sf(sum(lost) - 1, 24, benchmark.LEVEL) < 1e-6
