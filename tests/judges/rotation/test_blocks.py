"""Rivals that are passed over in blocks reach nothing, and rivals whose coefficients have a sign fit with it."""

import numpy as np
import pytest
from scipy.special import betainc
from scipy.stats import binom

from physupport.judges import Verdict
from physupport.judges.rotation import Companions, MeanRows, Rotation, RotationTable
from physupport.judges.rotation._kernels import _chance
from physupport.judges.rotation._table import near_together


def mean_rows(table, rows, draws, seed, penalty, sigma=None, **settings):
    return MeanRows(Rotation(table, "same mean", seed, draws, penalty=penalty, sigma=sigma, **settings), rows)


Q, N, DRAWS = 60, 100, 60


@pytest.fixture(scope="module")
def lines():
    """(Q, N) lines in no order, more than three blocks of them, of either sign."""
    rng = np.random.default_rng(3)
    centres = rng.permutation(np.linspace(3, Q - 4, N))
    return rng.choice([-1.0, 1.0], N) * np.exp(-0.5 * ((np.arange(Q)[:, None] - centres) / 2.0) ** 2)


def bounded(signs):
    """Bounds that say these signs of coefficients."""
    return Companions(low=np.where(signs > 0, 0.0, -np.inf), high=np.where(signs < 0, 0.0, np.inf))


def energies(engine, vectors, signs):
    """(k, M) fits to vectors (k, m): of single atoms with a sign only where their coefficient has it."""
    table, found = engine.table, []
    for support in table.supports:
        columns = table.complement.T @ table.atoms[:, list(support)]
        basis, _ = np.linalg.qr(columns)
        energy = ((vectors @ basis) ** 2).sum(axis=1)
        is_against = signs[support[0]] * (vectors @ columns[:, 0]) < 0.0
        found.append(np.where(is_against & (len(support) == 1), 0.0, energy))
    return np.array(found).T


@pytest.mark.parametrize("kind", ["free", "signed", "both", "triples"])
@pytest.mark.parametrize("strength", [0.5, 3.0])
def test_counts_are_those_of_all_rivals_in_all_draws(kind, strength, lines):
    triples = [(i, i + 1, i + 2) for i in range(0, N - 2, 3)]
    table = RotationTable(lines, [(i,) for i in range(N)] + (triples if kind == "triples" else []), np.ones((Q, 1)))
    signs = np.sign(np.arange(N) % 3 - 1) if kind == "both" else np.full(N, int(kind != "free"))
    row = strength * lines[:, 7] + np.random.default_rng(1).standard_normal(Q)
    engine = mean_rows(table, row, DRAWS, 5, 0.8, companions=bounded(signs))
    counted = engine.rivals(np.arange(table.size), 0.2, is_full=True).least
    weights = np.exp(2.0 * 0.8 * (engine.ranks - 1) / engine.freedom)  # of `Contest`
    whole, normals = engine.vector @ engine.vector, engine.normals[0]

    def statistic(vectors):
        return (weights * (energies(engine, vectors, signs) - whole)).max(axis=1)

    for e in range(0, table.size, 7):
        basis, _ = np.linalg.qr(table.complement.T @ table.atoms[:, list(table.supports[e])])
        projector = basis @ basis.T
        left, fixed = normals - normals @ projector, projector @ engine.vector
        drawn = fixed + np.linalg.norm(engine.vector - fixed) * left / np.linalg.norm(left, axis=1)[:, None]
        assert counted[e] == (statistic(drawn) >= statistic(engine.vector[None]) - 1e-9).sum(), e
    assert (counted < DRAWS).sum() > 0


def test_blocks_hold_near_spans_and_everything_once(lines):
    unit = (lines / np.linalg.norm(lines, axis=0)).T[:, None]
    order = near_together(unit, 8)
    assert sorted(order.tolist()) == list(range(N))
    near = np.abs(unit[order, 0] @ unit[order, 0].T)
    within = np.mean([near[i : i + 8, i : i + 8].mean() for i in range(0, 96, 8)])
    assert within > 3.0 * near.mean()


def test_signs_are_those_of_the_bounds():
    assert Companions(low=0.0).signs(2).tolist() == [1, 1]
    low, high = np.array([0.0, -1.0, -np.inf]), np.array([np.inf, 1.0, 0.0])
    assert Companions(low=low, high=high).signs(3).tolist() == [1, 0, -1]
    assert Companions(least=1.0).signs(2).tolist() == [0, 0]


@pytest.mark.parametrize("sigma", [None, 1.0])
def test_rivals_of_one_sign_lose_the_truth_at_their_level_and_keep_less(sigma, tools):
    """The rivals alone, without the sign test that goes with them."""
    lines, runs, lost, kept = np.abs(tools.make_lines(Q, 40, 2.0)), 200, 0, np.zeros(2)
    table = RotationTable(lines / np.linalg.norm(lines, axis=0), [(i,) for i in range(40)])
    signs = np.ones(40, dtype=np.int64)
    for run in range(runs):
        row = 2.5 * table.atoms[:, 11] + np.random.default_rng([4, run]).standard_normal(Q)
        for i, one in enumerate((None, bounded(signs))):
            engine = mean_rows(table, row, 199, run, 0.0, sigma, companions=one)
            counts = engine.rivals(np.arange(40), 0.1)
            is_kept = (counts.least >= 19) & ~(counts.bound <= 0.001)
            kept[i] += is_kept.sum()
            lost += i * (not is_kept[11])
    assert binom.sf(lost - 1, runs, 0.1) > 1e-6
    assert binom.cdf(lost, runs, 0.025) > 1e-6
    assert kept[1] < 0.9 * kept[0]


def test_the_screen_rejects_nothing_that_a_rival_against_its_sign_reaches_in_every_rotation():
    """Weak pairs of either sign beside their own atoms: both fit nothing where both products are negative."""
    atoms = np.eye(Q)[:, :2]
    table, signs, runs, against = RotationTable(atoms, [(0,), (1,), (0, 1)]), np.ones(2, dtype=np.int64), 60, 0
    for run in range(runs):
        row = atoms.sum(axis=1) * 0.3 + np.random.default_rng([8, run]).standard_normal(Q)
        engine = mean_rows(table, row, 199, run, 1.0, companions=bounded(signs))
        whole, fast = (engine.rivals(np.array([2]), 0.1, is_full=is_full) for is_full in (True, False))
        assert whole.least[0] <= 199 * min(1.0, fast.bound[0]) + 6.0 * np.sqrt(199)
        against += bool((row[:2] < 0.0).all())
        if (row[:2] < 0.0).all():
            assert whole.least[0] == 199
            assert not fast.bound[0] < 1.0
    assert against > 5


def test_the_best_fit_is_sought_among_those_whose_coefficients_are_possible(tools):
    """Two lines: a strong one that would have to be negative fits best, and is no answer."""
    lines = tools.make_lines(Q, 12, 2.0)
    table = RotationTable(lines, [(i, (i + 6) % 12) for i in range(6)] + [(3,)])
    row = -8.0 * lines[:, 8] + 5.0 * lines[:, 3] + np.random.default_rng(1).standard_normal(Q)
    free = Rotation(table, draws=199).judge(row, 0.1)
    signed = Rotation(table, draws=199, companions=Companions(low=0.0)).judge(row, 0.1)
    assert table.supports[free.facts(np.array([0]))["best"]] == (2, 8)
    best = signed.facts(np.array([0]))["best"]
    assert signed.spec.companions.p_value(signed.rows, best) > 0.01
    assert 8 not in table.supports[best]


def test_without_a_possible_fit_the_best_of_all_is_looked_at(tools):
    table = RotationTable(tools.make_lines(Q, 4, 2.0), [(i,) for i in range(4)])
    row = -9.0 * table.atoms.sum(axis=1) + np.random.default_rng(1).standard_normal(Q)
    judge = Rotation(table, draws=199, companions=Companions(low=0.0)).judge(row, 0.1)
    assert (judge.verdicts(np.arange(4)).codes == Verdict.REJECTED).all()
    assert not judge.facts(np.array([], dtype=int))["is_withheld"]


@pytest.mark.parametrize("near", [0.05, 0.6, 0.95])
def test_the_chance_that_a_pair_is_lifted_is_bounded(near):
    """Against rotations of an explanation, for pairs that share more or less with it."""
    rng, size, draws = np.random.default_rng(2), 20, 20_000
    steps = np.linspace(0.0, 1.0, 2001)
    tails = np.stack([betainc(0.5 * 17, 0.5, 1.0 - steps), (1.0 - steps) ** (0.5 * 18 - 1.0)])
    for _ in range(20):
        own, _ = np.linalg.qr(rng.standard_normal((size, 2)))
        pair, _ = np.linalg.qr(near * own @ rng.standard_normal((2, 2)) + (1 - near) * rng.standard_normal((size, 2)))
        vector = own @ [3.0, 1.0]
        left = rng.standard_normal((draws, size))
        left -= left @ own @ own.T
        radius = 4.0
        drawn = vector + radius * left / np.linalg.norm(left, axis=1)[:, None]
        lifted = ((drawn @ pair) ** 2).sum(axis=1)
        fixed = pair.T @ vector
        fit = float(fixed @ fixed)
        direction = pair @ fixed / np.sqrt(fit)
        along = 1.0 - float(((own.T @ direction) ** 2).sum())
        common = float(((own.T @ pair) ** 2).sum())
        for root in (np.sqrt(fit) + 0.5, np.sqrt(fit) + 1.5, 4.5):
            share = (lifted >= root**2).mean()
            bound = _chance(fit, max(along, 0.0), common, float(root), tails, 2000 / radius**2)
            assert share <= bound + 6.0 * np.sqrt(bound / draws) + 1e-3
