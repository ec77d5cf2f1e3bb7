"""Rows that keep arriving are said not to fit the laws if they fit none that is left."""

import numpy as np
from scipy.stats import binom, chi2

from physupport import PhysicalSupport
from physupport.analysis import begin_running, running_result
from physupport.analysis.diagnose import running_details
from physupport.banks import Library, library_bank, product_grid
from physupport.judges import Verdict
from physupport.report._diagnosis import MISFIT

WAVES = np.exp(-0.5 * ((np.linspace(0.0, 1.0, 8)[:, None] - np.array([0.1, 0.4, 0.6, 0.9])) / 0.15) ** 2)
LIBRARY = Library(
    ["p1", "p2", "p3", "p4"], ["line"] * 4, np.arange(4.0)[:, None], WAVES / np.linalg.norm(WAVES, axis=0)
)
STRENGTH, TRUTH, RUNS = 0.3, 1, 200


def protocol_of(noise):
    bank = library_bank(LIBRARY, [["line"]], {"line": [STRENGTH]}, deployment=product_grid(noise=[noise]))
    model = PhysicalSupport(bank, {"line": 0.5}, calibration=None, deployment="mean", alpha=0.1).fit()
    return model._fitted[1]


def rows_of(rng, n):
    return STRENGTH * LIBRARY.responses[:, TRUTH] + rng.standard_normal((n, 8))


def looked(protocol, rows, kept=None):
    """The evidence of all rows in two looks, and the details of the last one."""
    evidence = begin_running(protocol)
    for block in np.array_split(rows, 2):
        evidence = evidence.after(block)
    result = running_result(protocol, evidence)
    return evidence, running_details(result, evidence, rows[:kept])


def test_the_explanation_told_is_the_one_that_is_left_and_the_least_off():
    noise, rows = 0.25, rows_of(np.random.default_rng(1), 12)
    evidence, details = looked(protocol_of(noise), rows)
    left = np.flatnonzero(evidence.judge(0.1).codes != Verdict.REJECTED)
    assert len(left) > 1  # else there is no choice
    energies = ((rows - STRENGTH * LIBRARY.responses.T[:, None]) ** 2).sum(axis=(1, 2)) / noise
    (told,) = details.document["misfit"]
    assert told["explanation"] == left[energies[left].argmin()]  # all are too large
    # Both are sums of 96 squares: roundings of 1e-16 each, and far less than 1e-12 together.
    np.testing.assert_allclose(told["statistic"], energies[told["explanation"]], rtol=1e-12)
    np.testing.assert_allclose(told["probability"], 2.0 * chi2.sf(told["statistic"], rows.size), rtol=1e-9)
    assert told["is_misfit"]
    assert len(details.doubts) == 1


def times_told(noise):
    protocol, rng = protocol_of(noise), np.random.default_rng(8)
    return sum(bool(looked(protocol, rows_of(rng, 12))[1].doubts) for _ in range(RUNS))


def test_laws_that_made_the_rows_are_hardly_ever_doubted():
    """If the truth is left, the energy is chi-square; unlucky seeds are fewer than one in a million."""
    assert binom.sf(times_told(1.0) - 1, RUNS, MISFIT) > 1e-6


def test_negative_control_the_same_count_exposes_a_noise_that_is_stated_too_small():
    assert binom.sf(times_told(0.25) - 1, RUNS, MISFIT) < 1e-6


def test_where_not_all_rows_were_kept_the_sentence_says_which():
    rows = rows_of(np.random.default_rng(1), 12)
    _, details = looked(protocol_of(0.25), rows, kept=6)
    assert details.notes[-1].startswith("Take care: the first 6 deployment rows have ")
    _, details = looked(protocol_of(0.25), rows)
    assert details.notes[-1].startswith("Take care: the watched deployment rows have ")
    assert details.document["misfit"][0]["expected"] == rows.size


def test_where_nothing_is_left_it_is_told_how_far_off_the_best_is():
    """The first look rejects all but one, and the second that one: what was rejected stays so."""
    rows = np.repeat([20.0 * LIBRARY.responses[:, 0], 60.0 * LIBRARY.responses[:, 3]], 20, axis=0)
    evidence, details = looked(protocol_of(1.0), rows)
    assert details.document["outcome"]["status"] == "EMPTY"
    assert details.document["misfit"][0]["explanation"] == evidence.peaks.upper.argmin()
    assert details.notes[0].startswith("The watched deployment rows have ")
