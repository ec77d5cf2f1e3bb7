"""Evidence about coefficients within bounds: never more of it than the best ones within them allow."""

from itertools import product

import numpy as np
import pytest
from flint import arb
from scipy.optimize import lsq_linear
from scipy.stats import binom

from physupport.banks import Library, library_bank
from physupport.io import ArrayRows, as_pairs
from physupport.judges import Verdict, bank_evidence, verdicts
from physupport.laws import Linear

Q, LEVEL, RUNS = 20, 0.1, 60
AXIS = np.arange(Q)
LINES = np.exp(-0.5 * ((AXIS[:, None] - np.linspace(3, 16, 4)) / 2.5) ** 2)
BASELINE = np.stack([np.ones(Q), AXIS - AXIS.mean()], axis=1)


def make_bank(columns=LINES, count=2, marks=(1.0,)):
    unit = columns / np.linalg.norm(columns, axis=0)
    library = Library([f"L{i}" for i in range(4)], ["line"] * 4, np.arange(4.0)[:, None], unit)
    return library_bank(library, [[], ["line"]], {"line": list(marks)}, counts={"line": (1, count)})


BANK, MARKED = make_bank(), make_bank(marks=(1.0, 2.0))
ATOMS = BANK.states.elements


def left_over(rows, active, low, high):
    """Residual sum of squares of coefficients within bounds, of rows that share them; a solver of its own."""
    columns, free = np.hstack([ATOMS[:, active], BASELINE]), np.full(2, np.inf)
    tall, seen = np.tile(columns, (len(rows), 1)), rows.ravel()
    ends = np.append(np.broadcast_to(low, len(active)), -free), np.append(np.broadcast_to(high, len(active)), free)
    return 2.0 * lsq_linear(tall, seen, ends, tol=1e-14).cost


def energies(law, bank, rows):
    """(keys,) with the noise known to be 1, and their proven errors."""
    scores = law.stream(bank, ArrayRows(rows), [len(rows)]).log_likelihood(np.arange(bank.n_deployment_keys))
    return -2.0 * scores.values[:, 0] - rows.size * np.log(2.0 * np.pi), 2.0 * scores.errors[:, 0]


@pytest.mark.parametrize("box", [(0.0, np.inf), (-np.inf, -1.0), (0.5, 1.5)])
@pytest.mark.parametrize("seed", range(5))
def test_one_bounded_coefficient_is_at_its_best_and_several_are_at_no_worse(box, seed):
    rng = np.random.default_rng(seed)
    rows = ATOMS @ rng.normal(0.0, 3.0, 4) + BASELINE @ [3.0, 0.2] + rng.standard_normal((5, Q))
    law = Linear(background=BASELINE, coefficients={"line": box}, noises=[1.0]).completed(BANK)
    found, errors = energies(law, BANK, rows)
    parts = BANK.deployment_parts(np.arange(BANK.n_deployment_keys))
    for key, support in enumerate(parts.elements):
        active = support[support >= 0]
        exact, free = (left_over(rows, active, *ends) for ends in (box, (-np.inf, np.inf)))
        assert free - errors[key] - 1e-7 <= found[key] <= exact + errors[key] + 1e-7  # the solver's own tolerance
        if len(active) < 2:
            assert found[key] == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("box", [None, (0.0, np.inf), (-3.0, 1.0)], ids=["free", "positive", "of one side only"])
def test_what_reaches_a_threshold_is_the_nearest_that_does(box):
    rng = np.random.default_rng(7)
    rows = 0.7 * ATOMS[:, 1] + BASELINE @ [3.0, 0.2] + rng.standard_normal((5, Q))
    boxes = {} if box is None else {"line": box}
    law = Linear(background=BASELINE, coefficients=boxes, thresholds={"line": 2.0}, noises=[1.0]).completed(MARKED)
    found, errors = energies(law, MARKED, rows)
    parts, (low, high) = MARKED.deployment_parts(np.arange(MARKED.n_deployment_keys)), box or (-np.inf, np.inf)
    sides = [ends for ends in ((max(low, 2.0), high), (low, min(high, -2.0))) if ends[0] <= ends[1]]
    rises = 0
    for key, (support, strengths) in enumerate(zip(parts.elements, parts.strengths, strict=True)):
        active, strong = support[support >= 0], np.flatnonzero(strengths[support >= 0] >= 2.0)
        choices = [left_over(rows, active, low, high)]
        if strong.size:  # one of them reaches it, on one side
            choices = []
            for j, (a, b) in product(strong, sides):
                lows, highs = np.full(len(active), low), np.full(len(active), high)
                lows[j], highs[j] = a, b
                choices.append(left_over(rows, active, lows, highs))
        assert found[key] <= min(choices) + errors[key] + 1e-7
        if len(active) == 1:
            assert found[key] == pytest.approx(min(choices), rel=1e-9)
        rises += bool(strong.size) and min(choices) > left_over(rows, active, -np.inf, np.inf) + 1.0
    assert rises > 4


def test_complex_coefficients_reach_a_threshold_at_any_phase():
    rng = np.random.default_rng(3)
    waves = np.exp(1j * np.outer(np.arange(6), [0.2, 0.9, 1.7, 2.6])) / np.sqrt(6.0)
    bank = make_bank(as_pairs(waves, axis=0), 1, (1.0, 2.0))
    mean = 0.8j * waves[:, 2] + 0.2 * (rng.standard_normal(6) + 1j * rng.standard_normal(6))
    rows = as_pairs(np.tile(mean, (3, 1)))
    law = Linear(thresholds={"line": 2.0}, noises=[2.0], is_complex=True).completed(bank)
    found, _ = energies(law, bank, rows)
    parts = bank.deployment_parts(np.arange(bank.n_deployment_keys))
    turned = 2.0 * np.exp(2j * np.pi * np.arange(20_000) / 20_000)
    for key in np.flatnonzero(parts.strengths[:, 0] >= 2.0).tolist():
        left = mean[:, None] - np.outer(waves[:, parts.elements[key, 0]], turned)
        assert found[key] == pytest.approx(3.0 * float((np.abs(left) ** 2).sum(axis=0).min()), rel=1e-6)


@pytest.mark.parametrize("noises", [None, [1.0]])
def test_proven_errors_hold_in_balls(noises):
    rows = np.random.default_rng(4).standard_normal((6, Q)) - 2.0 * ATOMS[:, 1]
    boxes = {"coefficients": {"line": (0.0, 9.0)}, "thresholds": {"line": 2.0}}
    law = Linear(background=BASELINE, noises=noises, **boxes).completed(MARKED)
    stream = law.stream(MARKED, ArrayRows(rows), [3, 6])
    keys = np.arange(MARKED.n_deployment_keys)
    scores = stream.log_likelihood(keys)
    assert (scores.errors < 1e-7).all()
    for key in keys.tolist():
        for c, ball in enumerate(stream.enclosure(key, 200)):
            assert abs(ball - arb(float(scores.values[key, c]))) <= arb(float(scores.errors[key, c]))


def test_dependent_columns_have_no_coefficients_to_hold():
    twice = make_bank(LINES[:, [0, 0, 1, 2]])
    law = Linear(coefficients={"line": (0.0, np.inf)}, noises=[1.0]).completed(twice)
    found, errors = energies(law, twice, np.random.default_rng(5).standard_normal((4, Q)))
    assert np.isfinite(found).all()
    assert (errors < 1e-6).all()


@pytest.mark.parametrize(("coefficient", "is_valid"), [(0.0, True), (2.0, True), (-1.5, False), (3.5, False)])
def test_a_truth_at_the_end_of_its_bounds_is_kept_and_one_beyond_is_lost(coefficient, is_valid):
    """Half of the rows propose; a coefficient beyond the bounds is the control."""
    law = Linear(background=BASELINE, coefficients={"line": (0.0, 2.0)}).completed(BANK)
    everything, lost = np.arange(BANK.size), 0
    truth = next(e for e in everything.tolist() if BANK.explanation(e).ids == ("L1",))
    for run in range(RUNS):
        rng = np.random.default_rng([6, run])
        rows = coefficient * ATOMS[:, 1] + BASELINE @ [3.0, 0.2] + rng.standard_normal((60, Q))
        proposal, held_out = ArrayRows(rows[::2]), ArrayRows(rows[1::2])
        stream = law.stream(BANK, held_out, [held_out.n_rows])
        numerator = law.opponent(BANK, law.proposed(BANK, proposal), 0).numerator(stream, held_out)
        found = verdicts(bank_evidence(BANK, deployment=(stream, numerator)), everything, LEVEL)
        lost += int(found.codes[truth] == Verdict.REJECTED)
    assert (binom.sf(lost - 1, RUNS, LEVEL) > 1e-6) == is_valid
