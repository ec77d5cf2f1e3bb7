"""Pairs from products with single atoms: the counts of all spans, and verdicts that shortcuts do not change."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import binom

from physupport.judges import Verdict
from physupport.judges.rotation import MeanRows, Rotation, RotationJudge, RotationTable
from physupport.judges.rotation._sequential import LOOK, looks


def mean_rows(table, rows, draws, seed, penalty, sigma=None, **settings):
    return MeanRows(Rotation(table, "same mean", seed, draws, penalty=penalty, sigma=sigma, **settings), rows)


N = 24
SETTINGS = {"one row": (1, None), "rows": (6, None), "noise known": (1, 1.0)}


def make_table(tools, *, is_whole=True):
    """Pairs of lines over a parabola; not whole: one in seven pairs is missing, and single lines and none are there."""
    pairs = list(combinations(range(N), 2))
    supports = pairs if is_whole else [(), *((i,) for i in range(N)), *(pair for i, pair in enumerate(pairs) if i % 7)]
    return RotationTable(tools.make_lines(60, N, 2.5), supports, tools.polynomial(60, 2))


def make_elements(tools, *, is_complex):
    """Pairs of elements of two columns, of one, or of one complex column; single elements and none are there, too."""
    lines = tools.make_lines(60, N, 2.5)
    columns = np.concatenate([lines, np.gradient(lines, axis=0)], axis=1)
    owned = [(i,) if i % 4 == 0 else (i, N + i) for i in range(N)]
    if is_complex:
        columns = lines * np.exp(1j * np.linspace(0.0, 3.0, 60)[:, None] * np.arange(N))
        owned = [(i,) for i in range(N)]
    pairs = [first + second for i, (first, second) in enumerate(combinations(owned, 2)) if i % 7]
    return RotationTable(columns, [(), *owned, *pairs], tools.polynomial(60, 2))


def make_rows(table, n_rows, strength, seed=0):
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((n_rows, 60))
    if table.is_complex:
        noise = noise + 1j * rng.standard_normal((n_rows, 60))
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


@pytest.mark.parametrize("is_complex", [False, True], ids=["two columns", "complex"])
@pytest.mark.parametrize("name", SETTINGS)
def test_elements_of_several_columns_are_counted_as_spans_are(name, is_complex, tools, spans):
    table, (n_rows, sigma) = make_elements(tools, is_complex=is_complex), SETTINGS[name]
    everything = np.arange(table.size)
    for strength in (0.5, 1.5):
        engine = mean_rows(table, make_rows(table, n_rows, strength), 99, 3, 1.5, sigma)
        assert engine._pairs is not None
        ours = engine.rivals(everything, 0.1, is_full=True)
        assert ours.least.tolist() == spans(engine, everything, 0.1, is_full=True).least.tolist()
        assert np.unique(ours.least).size > 3 or strength < 1.0


@pytest.mark.parametrize("kind", ["atoms", "two columns", "complex"])
@pytest.mark.parametrize("name", SETTINGS)
def test_draws_that_end_early_reject_what_all_draws_reject_unless_it_is_near_the_level(name, kind, tools):
    """With 799 draws: the share of draws that exceed is known to within .03, five standard deviations."""
    table = make_table(tools) if kind == "atoms" else make_elements(tools, is_complex=kind == "complex")
    n_rows, sigma = SETTINGS[name]
    engine = mean_rows(table, make_rows(table, n_rows, 1.5), 799, 3, 1.5, sigma)
    everything = np.arange(table.size)
    found = engine.rivals(everything, 0.1)
    share = engine.rivals(everything, 0.1, is_full=True).least / 799
    is_rejected = (found.bound <= 0.001) | (found.most < found.number)
    assert is_rejected[share < 0.03].all()
    assert not is_rejected[share > 0.2].any()
    assert 0 < is_rejected.sum() < table.size


def test_the_looks_reject_with_exactly_the_level_if_every_chance_is_as_likely():
    """By paths of Polya's urn, each drawn; a look too many, as a control, is seen."""
    for level, draws in ((0.1, 199), (0.03, 999)):
        few, many = looks(level, draws)
        rng = np.random.default_rng(1)
        chances = rng.random(40_000)
        at = np.minimum(np.arange(LOOK, draws + LOOK, LOOK), draws)
        made = np.diff(at, prepend=0)
        counted = np.cumsum([rng.binomial(number, chances) for number in made], axis=0)  # (looks, runs)

        def rejected(few, counted=counted, many=many):
            first = ((counted <= few[:, None]) | (counted >= many[:, None])).argmax(axis=0)
            return int((counted[first, np.arange(counted.shape[1])] <= few[first]).sum())

        assert binom.sf(rejected(few) - 1, len(chances), level) > 1e-6
        assert binom.cdf(rejected(few), len(chances), level * 0.9) > 1e-6
        assert (
            binom.sf(rejected(np.where(np.arange(len(few)) == 4, 1 + few + int(40 * level), few)) - 1, 40_000, level)
            < 1e-6
        )


def test_looks_at_a_smaller_level_reject_no_more():
    strict, loose = looks(0.02, 499), looks(0.1, 499)
    assert (strict.few <= loose.few).all()
    assert (strict.many <= loose.many).all()
    assert looks(0.001, 99).few.max() == -1  # so few draws cannot reject


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
