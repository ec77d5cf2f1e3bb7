"""Responses that were counted themselves: the denominator against its definition, validity, and what noise would do."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import gammaln, logsumexp
from scipy.stats import binom

from physupport import MisuseError
from physupport.analysis import PhysicalSupport, StreamPlan
from physupport.banks import Library, library_bank
from physupport.judges import Verdict
from physupport.judges.counts import ByCounts, CountTable
from physupport.judges.counts._suprema import suprema_within
from physupport.laws import Poisson
from physupport.verify import verify

LEVEL, RUNS, UNLUCKY = 0.1, 100, 1e-6
CHANNELS = np.arange(60)
RATES = np.exp(-0.5 * ((CHANNELS[:, None] - [20.0, 25.0, 45.0]) / 4.0) ** 2) + 0.02
FLAT = np.ones((60, 1))
SUPPORTS = [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)]


def log_terms(k, count, x):
    """Log of binom(N + k, k) x^k / (1 + x)^(N + k), the denominator of one element and channel."""
    return gammaln(count + k + 1) - gammaln(count + 1) - gammaln(k + 1) + k * np.log(x) - (count + k) * np.log1p(x)


def log_denominator(counts, library, amounts, background):
    """The definition, up to log y!: the sum over all ways to divide the counts of each channel."""
    value = 0.0
    for y, recorded in zip(counts.astype(int), library.T, strict=True):
        k = np.arange(y + 1)
        divided = k * np.log(background) - background - gammaln(k + 1)
        divided = np.exp(divided)
        for count, x in zip(recorded, amounts, strict=True):
            divided = np.convolve(divided, np.exp(log_terms(k, count, x)))[: y + 1]
        value += np.log(divided[-1]) + gammaln(y + 1)
    return value


def supremum(counts, library, band=None):
    table = CountTable(library.T + 0.0, [tuple(range(len(library)))], np.ones((len(counts), 1)), band, library.T)
    return suprema_within(table, table.ends, counts, library, table.members)[0]


@pytest.mark.parametrize("seed", range(6))
def test_the_bound_is_above_the_definition_wherever_amounts_lie(seed):
    rng = np.random.default_rng(seed)
    library = rng.poisson(rng.choice([4.0, 40.0]) * rng.exponential(size=(2, 6))).astype(float) + 1.0
    counts = np.minimum(rng.poisson(rng.exponential(size=2) @ library * rng.choice([0.1, 1.0]) + 1.0), 60).astype(float)
    low, high = supremum(counts, library)
    assert low <= high < low + 1e-3

    def negative(logs):
        return -log_denominator(counts, library, np.exp(logs[:2]), np.exp(logs[2]))

    starts = rng.normal(-1.0, 1.5, (3, 3))
    best = -min(minimize(negative, start, method="Nelder-Mead", options={"maxiter": 80}).fun for start in starts)
    assert best <= high


def test_the_reciprocal_of_the_denominator_has_at_most_the_expectation_of_the_reciprocal_of_the_law():
    """Summed over all libraries of one element, for rates from faint to strong."""
    library = np.arange(2000)
    for rate in (0.3, 4.0, 200.0):
        chances = library * np.log(rate) - rate - gammaln(library + 1)
        for amount, k in ((0.1, 0), (0.1, 30), (2.0, 3), (2.0, 400)):
            law = k * np.log(amount * rate) - amount * rate - gammaln(k + 1)
            expected = logsumexp(chances - log_terms(k, library, amount))
            assert expected <= -law + 1e-9 * abs(law)


def test_a_library_of_very_many_counts_is_exact_and_one_of_few_fits_better():
    rng = np.random.default_rng(1)
    counts = rng.poisson(100.0 * RATES @ [1.0, 0.5, 0.0] + 3.0).astype(float)
    exact = CountTable(RATES, [(0, 1, 2)], FLAT)
    bounds = [supremum(counts, np.rint(total * RATES.T)) for total in (1e7, 1e5, 1e3, 1e2)]
    plain = suprema_within(exact, (exact.columns, exact.columns), counts, None, exact.members)[0]
    assert abs(bounds[0][1] - plain[1]) < 0.01
    for (low, _), (_, high) in pairwise([plain, *bounds]):
        assert low <= high + 1e-3


def test_an_error_beside_the_counting_noise_never_fits_worse():
    rng = np.random.default_rng(2)
    library = rng.poisson(200.0 * RATES.T).astype(float) + 1.0
    counts = rng.poisson(400.0 * RATES @ [1.0, 0.3, 0.2] * rng.uniform(0.9, 1.1, 60)).astype(float)
    bands = [None, *((library.T * (1.0 - e), library.T * (1.0 + e)) for e in (0.01, 0.1, 0.3))]
    bounds = [supremum(counts, library, band) for band in bands]
    for (low, _), (_, high) in pairwise(bounds):
        assert low <= high + 1e-6


def test_a_library_of_hardly_any_counts_bounds_nothing():
    library = np.zeros((1, 60))
    library[0, 3] = 1.0
    low, high = supremum(np.full(60, 1e4), library)
    assert (low, high) == (-np.inf, np.inf)


def test_amounts_have_no_bound_where_a_half_of_the_library_is_empty_or_a_rate_may_be_nothing():
    counts = np.zeros(60)
    counts[3] = 2.0
    columns = np.ones((60, 1))
    for low, library in ((columns, np.zeros((1, 60))), (0.0 * columns, np.full((1, 60), 50.0))):
        table = CountTable(columns, [(0,)], FLAT, (low, 2.0 * columns), columns)
        bounds = suprema_within(table, table.ends, counts, library, table.members)
        assert bounds.tolist() == [[-np.inf, np.inf]]


def drawn(rng, library_counts, strength):
    """The table of a library that was counted, the counts, and the true explanation."""
    truth = int(rng.integers(len(SUPPORTS)))
    library = rng.poisson(library_counts * RATES / RATES.sum(axis=0)) + 0
    means = RATES[:, SUPPORTS[truth]] @ (strength * rng.uniform(0.0, 1.0, len(SUPPORTS[truth]))) + rng.uniform(0.5, 4.0)
    return library, rng.poisson(means), truth


@pytest.mark.slow
@pytest.mark.parametrize("library_counts", [300, 10**4])
def test_the_truth_is_lost_in_at_most_the_level_of_the_data_sets(library_counts):
    lost = 0
    for run in range(RUNS):
        rng = np.random.default_rng([run, library_counts])
        library, counts, truth = drawn(rng, library_counts, 10 ** rng.uniform(0.0, 4.0))
        judge = ByCounts(n_splits=1).judge(CountTable.from_recorded(library, SUPPORTS, FLAT), counts, LEVEL, seed=run)
        lost += judge.verdicts(np.array([truth])).codes[0] == Verdict.REJECTED
    assert binom.sf(lost - 1, RUNS, LEVEL) > UNLUCKY


def test_negative_control_a_recorded_library_taken_for_exact_loses_the_truth():
    lost, runs = 0, 40
    for run in range(runs):
        library, counts, truth = drawn(np.random.default_rng(run), 10**4, 1e4)
        table = CountTable(library + 1e-6, SUPPORTS, FLAT)
        judge = ByCounts(n_splits=1).judge(table, counts, LEVEL, seed=run)
        lost += judge.verdicts(np.array([truth])).codes[0] == Verdict.REJECTED
    assert binom.sf(lost - 1, runs, LEVEL) < UNLUCKY


def test_a_report_has_the_noise_of_the_library_and_verifies():
    rng = np.random.default_rng(5)
    recorded = rng.poisson(5000.0 * RATES)
    library = Library(
        ["a", "b", "c"], ["line"] * 3, np.arange(3.0)[:, None], recorded / np.linalg.norm(recorded, axis=0)
    )
    bank = library_bank(library, [["line"]], {"line": [1.0]})
    rows = rng.poisson(10000.0 * RATES[:, 1] + 30.0)[None]
    reports = []
    for counted in (None, recorded.sum(axis=0)):
        plan = StreamPlan("poisson", background=FLAT, counted=counted)
        reports.append(PhysicalSupport(bank, {"line": 0.5}, calibration=None, deployment=plan).fit().report(rows))
    assert reports[0].fields[0].cell == ()
    assert reports[1].fields[0].cell == ("b",)
    assert "whose noise is allowed for" in reports[1].text()
    assert reports[1].staircase()[0]["fields"][0]["label"] == "FINE"
    assert verify(reports[1].json(), {"deployment": rows}).is_verified


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"counted": [30.5, 40.0, 50.0]}, "whole number of counts"),
        ({"counted": [300.0]}, "counted must have one number for each of 3 elements"),
        ({"counted": [300.0] * 3, "error": 0.1}, "error must be left out where responses were counted"),
        ({"counted": [300.0] * 3, "relative_error": np.full((60, 3), 0.1)}, "relative_error must have one axis"),
        ({"counted": [300.0] * 3, "variants": RATES[None]}, "counted must be left out beside variants"),
    ],
)
def test_what_is_no_recorded_library_is_refused(options, message):
    library = Library(["a", "b", "c"], ["line"] * 3, np.arange(3.0)[:, None], RATES / np.linalg.norm(RATES, axis=0))
    with pytest.raises(MisuseError, match=message):
        Poisson(**options).design(library_bank(library, [["line"]], {"line": [1.0]}))


def test_a_table_of_counts_needs_whole_numbers():
    with pytest.raises(MisuseError, match="recorded must be counts"):
        CountTable.from_recorded(RATES, SUPPORTS, FLAT)
