"""Pairs from products with single atoms: the counts of all spans, and verdicts that shortcuts do not change."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import binom

from physupport.judges import Verdict
from physupport.judges.rotation import MeanRows, Rotation, RotationJudge, RotationTable


def mean_rows(table, rows, draws, seed, penalty, sigma=None, **settings):
    return MeanRows(Rotation(table, "same mean", seed, draws, penalty=penalty, sigma=sigma, **settings), rows)


N = 24
SETTINGS = {"one row": (1, None), "rows": (6, None), "noise known": (1, 1.0)}


def make_table(tools, *, is_whole=True):
    """Pairs of lines over a parabola; not whole: one in seven pairs is missing, and single lines and none are there."""
    pairs = list(combinations(range(N), 2))
    supports = pairs if is_whole else [(), *((i,) for i in range(N)), *(pair for i, pair in enumerate(pairs) if i % 7)]
    return RotationTable(tools.make_lines(60, N, 2.5), supports, tools.polynomial(60, 2))


def make_rows(table, n_rows, strength, seed=0):
    noise = np.random.default_rng(seed).standard_normal((n_rows, 60))
    return strength * table.atoms[:, [5, 14]].sum(axis=1) / np.sqrt(n_rows) + noise


@pytest.fixture
def spans(monkeypatch):
    """Counts as if pairs were any other spans."""

    def counts(engine, *args, **kwargs):
        with monkeypatch.context() as patch:
            patch.setattr("physupport.judges.rotation.RotationTable.has_pairs", False)
            return MeanRows(engine.spec, engine.rows).rivals(*args, **kwargs)

    return counts


@pytest.mark.parametrize("is_whole", [True, False], ids=["all pairs", "some, and fewer"])
@pytest.mark.parametrize("name", SETTINGS)
def test_all_draws_exceed_as_often_as_with_spans(name, is_whole, tools, spans):
    table, (n_rows, sigma) = make_table(tools, is_whole=is_whole), SETTINGS[name]
    for strength in (0.5, 3.0):
        engine = mean_rows(table, make_rows(table, n_rows, strength), 99, 3, 1.5, sigma)
        assert engine._pairs is not None
        ours = engine.rivals(np.arange(table.size), 0.1, is_full=True)
        assert ours.least.tolist() == spans(engine, np.arange(table.size), 0.1, is_full=True).least.tolist()
        assert np.unique(ours.least).size > 3 or strength < 1.0  # then nothing at all may fit best


@pytest.mark.parametrize("name", SETTINGS)
def test_what_a_shortcut_rejects_few_of_all_draws_exceed(name, tools, spans):
    """With 799 draws: p-values below 1/100 have shares far below the level of a tenth."""
    table, (n_rows, sigma) = make_table(tools), SETTINGS[name]
    engine = mean_rows(table, make_rows(table, n_rows, 2.0), 799, 3, 1.5, sigma)
    found, everything = engine.rivals(np.arange(table.size), 0.1), np.arange(table.size)
    full = engine.rivals(everything, 0.1, is_full=True).least
    is_ahead = (found.bound <= 0.001) | (found.glanced > 0.0)
    is_settled = (found.least >= found.number) | (found.most < found.number)
    assert (is_ahead | is_settled).all()
    assert 0 < is_ahead.sum() < table.size
    assert (full[is_ahead] < 0.1 * 800).all()
    assert ((found.least >= found.number) == (full >= found.number))[~is_ahead].all()


def test_verdicts_do_not_depend_on_what_else_is_asked(tools):
    table = make_table(tools, is_whole=False)
    judge = Rotation(table, seed=4).judge(make_rows(table, 1, 3.0), 0.1)
    together = judge.verdicts(np.arange(table.size))
    assert together.are_proven().all()
    assert 1 < (together.codes == Verdict.ADMISSIBLE).sum() < table.size / 4
    for e in range(0, table.size, 17):
        alone = judge.verdicts(np.array([e]))
        assert alone.codes[0] == together.codes[e]
        assert alone.margins()[0].tolist() == together.margins()[e].tolist()


@pytest.mark.parametrize("size", [2.0**-70, 2.0**-250, 2.0**250])
def test_verdicts_do_not_depend_on_the_unit(size, tools):
    table = make_table(tools)
    rows, spec = make_rows(table, 1, 2.0), Rotation(table, seed=4, draws=199)
    plain, scaled = (RotationJudge(spec, unit * rows, 0.1).verdicts(np.arange(table.size)) for unit in (1.0, size))
    assert scaled.codes.tolist() == plain.codes.tolist()
    assert scaled.margins().tolist() == plain.margins().tolist()


@pytest.mark.parametrize(("noise", "is_valid"), [(1.0, True), (2.5, False)], ids=["true", "too small: a control"])
def test_the_truth_is_lost_in_at_most_the_level_of_the_data_sets(noise, is_valid, tools):
    table, runs, lost = make_table(tools), 200, 0
    truth = table.supports.index((5, 14))
    for run in range(runs):
        rows = make_rows(table, 1, 0.7, run) * noise
        judge = Rotation(table, seed=run, draws=199, sigma=1.0 if noise != 1.0 else None).judge(rows, 0.1)
        lost += int(judge.verdicts(np.array([truth])).codes[0] == Verdict.REJECTED)
    assert (binom.sf(lost - 1, runs, 0.1) > 1e-6) == is_valid
