"""The kernels count what rotating the data and refitting every explanation counts."""

import numpy as np
import pytest

from physupport.judges import Verdict
from physupport.judges.rotation import FreeRows, MeanRows, Rotation, RotationTable


def mean_rows(table, rows, draws, seed, penalty, sigma=None, **settings):
    return MeanRows(Rotation(table, "same mean", seed, draws, penalty=penalty, sigma=sigma, **settings), rows)


def free_rows(table, rows, draws, seed, penalty, sigma=None):
    return FreeRows(Rotation(table, "free", seed, draws, penalty=penalty, sigma=sigma), rows)


DRAWS = 20


def complex_lines(tools, q=20, n=5):
    return tools.make_lines(q, n) * np.exp(1j * np.outer(np.arange(q), np.arange(1, n + 1)) / 5)


def settings(tools):
    lines, pairs = tools.make_lines(24, 6), [(i, j) for i in range(6) for j in range(i)]
    singles = [(i,) for i in range(6)]
    baseline = tools.polynomial(24, 2)
    arrays = complex_lines(tools)
    phases = np.exp(1j * np.arange(20) / 3)[:, None]
    return {
        "one row": (RotationTable(lines, singles, baseline), 1, None),
        "one row, noise known": (RotationTable(lines, singles, baseline), 1, 1.0),
        "same mean": (RotationTable(lines, pairs, baseline), 5, None),
        "ranks 0 to 2": (RotationTable(lines, [(), *singles, *pairs], baseline), 4, None),
        "ranks 0 to 2, noise known": (RotationTable(lines, [(), *singles, *pairs], baseline), 1, 1.0),
        "three atoms": (RotationTable(lines, [(0, 1, 2), (1, 2, 4), (3, 4, 5), (0, 2, 5)], baseline), 1, None),
        "complex row": (RotationTable(arrays, [(i,) for i in range(5)], phases), 1, None),
        "complex pairs": (RotationTable(arrays, [(0, 1), (1, 2), (3,), (2, 4)], phases), 3, None),
    }


NAMES = [
    "one row", "one row, noise known", "same mean", "ranks 0 to 2", "ranks 0 to 2, noise known", "three atoms",
    "complex row", "complex pairs",
]  # fmt: skip


def make_rows(table, n_rows, seed):
    """Around explanation 1, so that others are near, with a background."""
    rng = np.random.default_rng(seed)
    columns = np.concatenate([table.atoms[:, list(table.supports[1])], table.background], axis=1)
    noise = rng.standard_normal((n_rows, len(columns)))
    if table.is_complex:
        noise = (noise + 1j * rng.standard_normal(noise.shape)) / np.sqrt(2)
    return 2.0 * columns.sum(axis=1) / np.sqrt(n_rows) + noise


def rotated(engine, rows, e, b, tools):
    """Rows with the mean and the scatter that draw b makes under e."""
    table, (normals, _, chi_squares) = engine.table, engine.normals
    projector = tools.projector(tools.design(table, e))
    size = table.complement.shape[1]
    normal = normals[b, :size] + (1j * normals[b, size:] if table.is_complex else 0.0)
    normal = table.complement @ normal
    normal = normal - projector @ normal
    mean, n_rows = rows.mean(axis=0), len(rows)
    residual = np.sqrt(n_rows) * (mean - projector @ mean)
    scatter = (np.abs(rows - mean) ** 2).sum()
    radius = np.sqrt((np.abs(residual) ** 2).sum() + scatter)
    scale = radius / np.sqrt((np.abs(normal) ** 2).sum() + chi_squares[b])
    if engine.spec.sigma is not None:
        scale = engine.own_sigma
    turned = projector @ mean + scale * normal / np.sqrt(n_rows)
    stretch = scale * np.sqrt(chi_squares[b] / scatter) if scatter > 0 else 0.0
    return turned + stretch * (rows - mean)


@pytest.mark.parametrize("name", NAMES)
def test_exceedances_are_those_of_rotating_and_refitting(name, tools):
    table, n_rows, sigma = settings(tools)[name]
    rows, penalty = make_rows(table, n_rows, 5), 0.7
    engine = mean_rows(table, rows, DRAWS, 3, penalty, sigma)
    counted = engine.rivals(np.arange(table.size), 0.3, is_full=True).least
    for e in range(table.size):
        observed = tools.statistic(table, rows, e, penalty, sigma)
        drawn = [tools.statistic(table, rotated(engine, rows, e, b, tools), e, penalty, sigma) for b in range(DRAWS)]
        assert counted[e] == sum(s >= observed - 1e-9 for s in drawn), e
    assert (counted < DRAWS).sum() > 0


def free_statistic(table, rows, e, penalty, sigma, tools):
    parts = 2 if table.is_complex else 1
    n, n_rows = parts * (table.complement.shape[1]) * len(rows), len(rows)

    def rss(j):
        left = rows.T - tools.projector(tools.design(table, j)) @ rows.T
        return (np.abs(left) ** 2).sum()

    gains = []
    for j in range(table.size):
        more = parts * n_rows * (len(table.supports[j]) - len(table.supports[e]))
        gain = (rss(e) - rss(j)) / (2 * sigma**2 / parts) if sigma else 0.5 * n * np.log(rss(e) / rss(j))
        gains.append(gain - penalty * more)
    return max(gains)


@pytest.mark.parametrize("n_rows", [2, 30], ids=["fewer rows than channels", "more rows"])
@pytest.mark.parametrize("sigma", [None, 1.0])
@pytest.mark.parametrize("is_complex", [False, True])
def test_second_moments_of_free_rows_have_the_law_of_rotated_rows(n_rows, sigma, is_complex, tools):
    """The draws differ, so the shares of exceedances are compared, within six of their standard deviations."""
    lines = complex_lines(tools, 12, 5) if is_complex else tools.make_lines(12, 5, 1.5)
    table = RotationTable(lines, [(0, 1), (1, 2), (2, 3), (3,), ()], np.ones((12, 1)))
    rng, draws, penalty = np.random.default_rng(2), 100, 0.3

    def normal(*shape):
        real = rng.standard_normal(shape)
        return (real + 1j * rng.standard_normal(shape)) / np.sqrt(2) if is_complex else real

    rows = normal(n_rows, 2) @ (0.7 * table.atoms[:, 1:3].T) + normal(n_rows, 12)
    engine = free_rows(table, rows, draws, 3, penalty, sigma)
    counted = engine.rivals(np.arange(table.size), 0.3, is_full=True).least
    for e in range(table.size):
        projector = tools.projector(tools.design(table, e))
        observed, hits = free_statistic(table, rows, e, penalty, sigma, tools), 0
        radius = np.linalg.norm(rows.T - projector @ rows.T)
        for _ in range(draws):
            drawn = normal(12, n_rows)
            drawn = drawn - projector @ drawn
            scale = sigma if sigma else radius / np.linalg.norm(drawn)
            hits += (
                free_statistic(table, (projector @ rows.T + scale * drawn).T, e, penalty, sigma, tools)
                >= observed - 1e-9
            )
        share = (hits + counted[e] + 1) / (2 * draws + 2)
        assert abs(hits - counted[e]) <= 6 * np.sqrt(2 * draws * share * (1 - share)) + 1, e
    assert (counted < draws).sum() > 0


@pytest.mark.parametrize("name", NAMES)
def test_an_early_stop_gives_the_verdict_of_the_full_run(name, tools):
    table, n_rows, sigma = settings(tools)[name]
    for seed in range(5):
        engine = mean_rows(table, make_rows(table, n_rows, seed), 199, seed, 1.0, sigma)
        for level in (0.02, 0.1, 0.4):
            number = int(0.99 * level * 200)
            full = engine.rivals(np.arange(table.size), level, is_full=True)
            early = engine.rivals(np.arange(table.size), level)
            assert (full.least == full.most).all()
            assert (early.least <= full.least).all()
            assert (full.least <= early.most).all()
            is_screened = early.bound <= 0.01 * level
            is_settled = (early.least >= number) | (early.most < number)
            assert (is_settled | is_screened).all()
            assert ((early.least >= number) == (full.least >= number))[~is_screened].all()
            # What the screen rejects is rejected by its draws, too: its bound is above the exact p-value.
            assert (full.least[is_screened] < number + 1).all()


def test_the_screen_bounds_the_share_of_exceedances(tools):
    for name in NAMES:
        table, n_rows, sigma = settings(tools)[name]
        engine = mean_rows(table, make_rows(table, n_rows, 1), 2000, 3, 1.0, sigma)
        found = engine.rivals(np.arange(table.size), 0.3)
        shares = engine.rivals(np.arange(table.size), 0.3, is_full=True).least / 2000
        is_tested = np.isfinite(found.bound)
        error = 6 * np.sqrt(found.bound / 2000) + 1e-2
        assert (shares <= found.bound + error)[is_tested].all()


def test_verdicts_do_not_depend_on_what_else_is_asked(spectrum):
    rows = 3.0 * spectrum.atoms[:, 4] + np.random.default_rng(1).standard_normal(40)
    judge = Rotation(spectrum, seed=4).judge(rows, 0.1)
    together = judge.verdicts(np.arange(12))
    assert together.are_proven().all()
    for e in range(12):
        found, row = judge.verdicts(np.arange(e // 5 * 5, min(e // 5 * 5 + 5, 12))), e % 5
        alone = judge.verdicts(np.array([e]))
        assert alone.codes[0] == found.codes[row] == together.codes[e]
        assert alone.margins()[0].tolist() == found.margins()[row].tolist() == together.margins()[e].tolist()
    assert together.codes[4] == Verdict.ADMISSIBLE


def test_products_that_are_not_kept_give_the_same(spectrum, monkeypatch):
    rows = 2.0 * spectrum.atoms[:, 4] + np.random.default_rng(1).standard_normal(40)
    kept = Rotation(spectrum, draws=499).judge(rows, 0.1).verdicts(np.arange(12))
    monkeypatch.setattr("physupport.judges.rotation._mean._MOST_KEPT", 0)
    monkeypatch.setattr("physupport.judges.rotation._mean._BATCH_ENTRIES", 40)
    again = Rotation(spectrum, draws=499).judge(rows, 0.1).verdicts(np.arange(12))
    assert again.codes.tolist() == kept.codes.tolist()
    assert again.margins().tolist() == kept.margins().tolist()
