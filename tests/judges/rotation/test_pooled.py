"""Noise of an estimated covariance: exact however few rows gave the estimate, which is rotated with the rows."""

import os

import numpy as np
import pytest
from scipy.stats import binom, f, kstest

from physupport import MisuseError
from physupport.judges import Verdict
from physupport.judges.rotation import Companions, Outsiders, Rotation, RotationTable
from physupport.laws import whitening

LEVEL, RUNS = 0.1, int(os.environ.get("PHYSUPPORT_RUNS", "100"))
# Fewer than one in a million seeds would fail a valid judge, or save a broken one.
UNLUCKY = 1e-6
Q, SUPPORTS = 8, [*((i,) for i in range(12)), *((i, i + 1) for i in range(5))]


def normal(rng, shape, is_complex):
    real = rng.standard_normal(shape)
    return (real + 1j * rng.standard_normal(shape)) / np.sqrt(2.0) if is_complex else real


def data_set(run, n_empty, n_rows, kind="same mean", is_complex=False, strength=5.0):
    """Rows without a signal, rows with one of a known support, and the table, all in coloured noise."""
    fixed, rng = np.random.default_rng(5), np.random.default_rng([run, n_empty, n_rows])
    atoms = normal(fixed, (Q, 12), is_complex) + 2.0 * normal(fixed, (Q, 1), is_complex)
    colour, table = normal(fixed, (Q, Q), is_complex), RotationTable(atoms, SUPPORTS, np.ones((Q, 1)))
    truth, count = run % len(SUPPORTS), n_rows if kind == "free" else 1
    coefficients = strength * np.abs(normal(rng, (count, len(SUPPORTS[truth])), is_complex))
    signal = coefficients @ atoms[:, list(SUPPORTS[truth])].T + 3.0 * normal(rng, (count, 1), is_complex)
    rows = signal + normal(rng, (n_rows, Q), is_complex) @ colour.T
    return normal(rng, (n_empty, Q), is_complex) @ colour.T, rows, table, truth


def judged(empty, rows, table, kind="same mean", *, is_exact=True, seed=0, level=LEVEL, **options):
    left = empty - empty.mean(axis=0)
    whitener = whitening(left.T @ left.conj() / (len(empty) - 1))
    white = table.whitened(whitener)
    outsiders = Outsiders(white.atoms, spectrum=len(rows) >= 3, noise=is_exact)
    settings = {"draws": 199, "gate_draws": 399, "outsiders": outsiders} | options
    freedom = len(empty) - 1 if is_exact else None
    spec = Rotation(white, kind, seed=seed, covariance_freedom=freedom, **settings)
    return spec.judge(rows @ whitener.T, level)


def losses(n_empty, n_rows, kind="same mean", is_complex=False, **options):
    lost = 0
    for run in range(RUNS):
        *given, truth = data_set(run, n_empty, n_rows, kind, is_complex)
        judge = judged(*given, kind, seed=run, **options)
        lost += int(judge.verdicts(np.array([truth])).codes[0] == Verdict.REJECTED)
    return lost


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_empty", "n_rows", "kind", "is_complex"),
    [
        (16, 1, "same mean", False),
        (20, 10, "same mean", False),
        (80, 100, "free", False),
        (40, 32, "free", True),
    ],
)
def test_the_truth_is_lost_in_at_most_the_level_of_the_data_sets(n_empty, n_rows, kind, is_complex):
    assert binom.sf(losses(n_empty, n_rows, kind, is_complex) - 1, RUNS, LEVEL) > UNLUCKY


@pytest.mark.slow
@pytest.mark.parametrize(("n_empty", "n_rows", "kind"), [(80, 100, "free"), (20, 10, "same mean")])
def test_negative_control_an_estimate_that_is_taken_for_known_loses_it_far_more_often(n_empty, n_rows, kind):
    assert binom.sf(losses(n_empty, n_rows, kind, is_exact=False) - 1, RUNS, LEVEL) < UNLUCKY


def test_the_sign_of_a_coefficient_is_tested_exactly():
    """The fitted coefficient over its error is a t variable, whatever the rows without a signal were."""
    p_values = []
    for run in range(0, 300 * len(SUPPORTS), len(SUPPORTS)):
        empty, rows, table, truth = data_set(run, 16, 3, strength=0.0)
        judge = judged(empty, rows, table, companions=Companions(low=0.0))
        p_values.append(judge.spec.companions.p_value(judge.rows, truth))
    assert kstest(p_values, "uniform").pvalue > UNLUCKY


def contrasts(rows):
    """As many rows as there are degrees of freedom beside the mean."""
    return np.linalg.svd(np.ones((1, len(rows))))[2][1:] @ rows


@pytest.mark.parametrize(("n_rows", "kind"), [(1, "same mean"), (4, "same mean"), (5, "free")])
def test_p_values_are_those_of_rotating_all_rows_and_estimating_again(n_rows, kind):
    """By definition: rows without and with a signal are stacked, turned, and all is computed again from the stack."""
    draws, rng = 1000, np.random.default_rng(3)
    empty, rows, table, truth = data_set(4, 20, n_rows, kind)
    other = (truth + 3) % 12
    judge = judged(empty, rows, table, kind, draws=draws)
    columns = np.column_stack([table.atoms[:, list(table.supports[other])], np.ones(Q)])
    across = np.linalg.svd(columns)[0][:, columns.shape[1] :]  # all that the explanation leaves
    shared = rows if kind == "free" else np.sqrt(len(rows)) * rows.mean(axis=0, keepdims=True)
    stack = np.concatenate([contrasts(empty), *([] if kind == "free" else [contrasts(rows)])])
    n_noise = len(stack)
    stack = np.concatenate([stack, shared]) @ across

    def statistic(turned):
        first, whole = turned[:n_noise].T @ turned[:n_noise], turned.T @ turned
        further = across.T @ table.atoms
        further = further[:, np.linalg.norm(further, axis=0) > 1e-6]
        ratios = [(a @ np.linalg.solve(first, a)) / (a @ np.linalg.solve(whole, a)) for a in further.T]
        return max(ratios)

    turns = (np.linalg.qr(rng.standard_normal((len(stack), len(stack))))[0] for _ in range(draws))
    exceedances = sum(statistic(turn @ stack) >= statistic(stack) for turn in turns)
    counted = judge.rows.rivals(np.array([other]), LEVEL, is_full=True).least[0]
    share = (counted + 1) / (draws + 1)  # six deviations of the difference of two counts
    assert abs(counted - exceedances) < 6.0 * np.sqrt(2.0 * draws * share * (1.0 - share)) + 2


@pytest.mark.parametrize("n_rows", [1, 4])
def test_scores_are_log_likelihoods_at_the_best_covariance_and_coefficients(n_rows):
    """By definition: generalised least squares with all rows, where the covariance is the best one for its residual."""
    empty, rows, table, _ = data_set(2, 20, n_rows)
    judge = judged(empty, rows, table)
    noise = np.concatenate([contrasts(empty), contrasts(rows)])
    white = np.linalg.inv(np.linalg.cholesky(noise.T @ noise))
    mean = white @ (np.sqrt(len(rows)) * rows.mean(axis=0))
    expected = []
    for support in table.supports:
        columns = white @ np.column_stack([table.atoms[:, list(support)], np.ones(Q)])
        left = mean - columns @ np.linalg.lstsq(columns, mean, rcond=None)[0]
        penalty = 0.5 * np.log(Q - 1) * len(support)
        expected.append(-0.5 * (len(noise) + 1) * np.log1p(left @ left) - penalty)
    assert judge.rows.scores == pytest.approx(np.array(expected), rel=1e-9)


def test_one_column_chosen_beforehand_has_the_f_test():
    empty, rows, table, _ = data_set(1, 20, 1)
    judge = judged(empty, rows, table)
    size, degrees = Q - 1 - 1, len(empty) - 1
    ratio = 1.7
    expected = f.sf((ratio - 1.0) * (degrees - size + 1), 1, degrees - size + 1)
    assert judge.rows.tail(0, ratio) == pytest.approx(expected, rel=1e-9)


def test_rows_of_zeros_and_signals_without_visible_noise_keep_their_explanation():
    empty, rows, table, truth = data_set(3, 30, 1)
    alone = table.atoms[:, list(table.supports[truth])].sum(axis=1)
    for row in (np.zeros((1, Q)), 1e16 * alone[None], rows + 1e14 * alone):
        judge = judged(empty, row, table, outsiders=None)
        assert judge.verdicts(np.array([truth])).codes[0] != Verdict.REJECTED


def test_what_is_not_there_is_rejected_and_another_noise_is_noticed():
    empty, rows, table, truth = data_set(2, 200, 20, strength=60.0)
    codes = judged(empty, rows, table).verdicts(np.arange(table.size)).codes
    assert codes[truth] != Verdict.REJECTED
    assert (codes == Verdict.REJECTED).sum() > table.size // 2
    for scale in (0.2, 5.0):
        facts = judged(scale * empty, rows, table).facts(np.array([], dtype=int))
        assert facts["is_best_rejected"]


def test_an_estimate_from_too_few_rows_is_refused():
    empty, rows, table, _ = data_set(2, 12, 1)
    with pytest.raises(MisuseError, match="have at least 12 degrees of freedom for 7 dimensions beside the background"):
        judged(empty, rows, table)
    with pytest.raises(MisuseError, match="be left out where the covariance is estimated"):
        judged(*data_set(2, 30, 1)[:3], sigma=1.0)


def test_where_everything_is_rejected_a_finding_says_why():
    """Here rivals may reject the best fit, too: then the best fit is said to be rejected, and by which atom."""
    seen = 0
    for run in range(40):
        empty, rows, table, truth = data_set(run, 30, 1, strength=20.0)
        judge = judged(empty, rows + 8.0 * table.atoms[:, (truth + 6) % 12], table)
        kept = np.flatnonzero(judge.verdicts(np.arange(table.size)).codes != Verdict.REJECTED)
        facts = judge.facts(kept)
        if not len(kept):
            seen += 1
            assert facts["is_best_rejected"]
            assert min(finding["p"] for finding in facts["findings"]) <= judge.levels(LEVEL).gate
    assert seen > 5
