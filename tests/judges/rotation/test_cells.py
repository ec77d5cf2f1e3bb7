"""Derivatives as further columns, held to their cells: the truth may lie anywhere within one."""

import numpy as np
import pytest
from scipy.stats import binom, t

from physupport import MisuseError
from physupport.judges import Verdict
from physupport.judges.rotation import Companions, Rotation, RotationTable
from physupport.judges.rotation._judge import _complex_tails, _real_tails

Q, N, LEVEL, RUNS = 24, 7, 0.1, 100_000
UNLUCKY = 1e-6  # fewer than one in a million seeds would fail a valid test, or save a broken one
AXIS, CENTRES = np.arange(Q)[:, None], np.linspace(8.5, 14.5, N)
HALF = 0.5 * (CENTRES[1] - CENTRES[0])
LINES = np.exp(-0.5 * ((AXIS - CENTRES) / 2.0) ** 2)
SLOPES = (AXIS - CENTRES) / 4.0 * LINES
CELLS = (np.arange(2 * N) % N, np.repeat([np.inf, HALF], N))


def table():
    return RotationTable(np.hstack([LINES, SLOPES]), [(i, N + i) for i in range(N)])


def rejections(x, tau, *, is_complex, is_known, seed=0):
    """How many of RUNS fits of one line and its slope have their cone rejected, all at once."""
    rng, columns = np.random.default_rng(seed), np.column_stack([LINES[:, 3], SLOPES[:, 3]])
    inverse, parts = np.linalg.inv(columns.T @ columns), 2 if is_complex else 1
    root = np.linalg.cholesky(inverse)
    noise = rng.standard_normal((RUNS, 2, parts)) @ ([[1.0], [1j]] if is_complex else [[1.0]])
    fitted = np.array([x, tau]) + noise[..., 0] @ root.T
    freedom = parts * (Q - 2)
    scale = np.ones((RUNS, 1)) if is_known else np.sqrt(rng.chisquare(freedom, (RUNS, 1)) / freedom)
    weights = np.array([[0.0, 1.0], [HALF, 0.0]] if is_complex else [[-HALF, 1.0], [HALF, 1.0]])
    spread = np.sqrt(np.einsum("ki,ij,kj->k", weights, inverse, weights))
    tails = _complex_tails if is_complex else _real_tails
    found = tails(fitted @ weights.T, scale * spread, np.zeros((1, 2)), None if is_known else freedom)
    return int((2.0 * found <= LEVEL).sum())


@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize("is_complex", [False, True])
def test_no_truth_within_its_cell_is_rejected_more_often_than_its_level(is_complex, is_known):
    most = binom.isf(UNLUCKY, RUNS, LEVEL)
    kind = {"is_complex": is_complex, "is_known": is_known}
    for x in (0.0, 0.5, -3.0, 20.0):
        for share in (0.0, 0.7, -1.0, 1.0):
            assert rejections(x, share * HALF * x, **kind) <= most
    assert rejections(20.0, 1.5 * HALF * 20.0, **kind) > most  # outside


def test_the_p_value_is_that_of_least_squares():
    rng = np.random.default_rng(1)
    row = LINES[:, 3] + 1.6 * HALF * SLOPES[:, 3] + 0.05 * rng.standard_normal(Q)
    columns = np.column_stack([LINES[:, 2], SLOPES[:, 2]])
    (x, tau), (energy,) = np.linalg.lstsq(columns, row, rcond=None)[:2]
    covariance = np.linalg.inv(columns.T @ columns) * energy / (Q - 2)
    ends = [np.array([-HALF, 1.0]), np.array([HALF, 1.0])]
    ratios = [abs(end @ [x, tau]) / np.sqrt(end @ covariance @ end) for end in ends]
    assert (tau - HALF * x) * (tau + HALF * x) > 0.0
    judge = Rotation(table(), companions=Companions(cells=CELLS)).judge(row[None], LEVEL)
    expected = 2.0 * t.sf(min(ratios), Q - 2)
    assert Companions(cells=CELLS).p_value(judge.rows, 2) == pytest.approx(expected, rel=1e-6)
    assert Companions(cells=CELLS).p_value(judge.rows, 3) <= 1.0


def judged(spec, row):
    """Which explanations are left."""
    return spec.judge(row[None], LEVEL).verdicts(np.arange(N)).codes != Verdict.REJECTED


def test_the_judge_keeps_truths_anywhere_in_their_cell_and_tells_neighbours_apart():
    """Truths at random on the line over the cell, and three half steps beyond its end, which the cell must not hold."""
    runs, rng = 150, np.random.default_rng(2)
    found = {name: np.zeros(N, dtype=int) for name in ("within", "beyond", "not held")}
    for seed in range(runs):
        x, share = rng.uniform(8.0, 20.0) * rng.choice([-1.0, 1.0]), rng.uniform(-1.0, 1.0)
        noise = rng.standard_normal(Q)
        within, beyond = (x * (LINES[:, 3] + at * HALF * SLOPES[:, 3]) + noise for at in (share, np.sign(share) * 4.0))
        held = Rotation(table(), seed=seed, draws=199, companions=Companions(cells=CELLS))
        found["within"] += judged(held, within)
        found["beyond"] += judged(held, beyond)
        found["not held"] += judged(Rotation(table(), seed=seed, draws=199), within)
    most = binom.isf(UNLUCKY, runs, LEVEL)
    assert runs - found["within"][3] <= most
    assert runs - found["beyond"][3] > most
    assert found["within"].sum() < found["not held"].sum()  # tangents alone blur neighbours


def test_dependent_columns_have_no_coefficients_and_are_kept():
    columns = RotationTable(np.hstack([LINES, LINES]), [(i, N + i) for i in range(N)])
    companions = Companions(cells=CELLS)
    judge = Rotation(columns, companions=companions).judge(LINES[:, 3][None] + 0.01 * AXIS.T, LEVEL)
    assert companions.p_value(judge.rows, 3) == 1.0


def test_rows_with_coefficients_of_their_own_are_held_to_nothing():
    with pytest.raises(MisuseError, match="leave the coefficients of free rows open"):
        Rotation(table(), "free", companions=Companions(cells=CELLS)).judge(np.ones((3, Q)), LEVEL)
