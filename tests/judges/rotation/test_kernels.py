"""Compiled loops of the rotation judge, each held to its slow definition: vectors rotated and fitted one by one."""

from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import beta, chi2

from physupport.judges.rotation import MeanRows, Rotation, RotationTable
from physupport.judges.rotation._block_kernels import screen_blocks
from physupport.judges.rotation._kernels import (
    BLOCK,
    PAIR_BLOCK,
    _chance,
    _flag,
    count,
    count_batch,
    count_pairs,
    longest,
    padded,
    screen,
    screen_batch,
    screen_pairs,
    tail,
)
from physupport.judges.rotation._pairs import AtomTables, ElementTables
from physupport.judges.rotation._sequential import never
from physupport.judges.rotation._table import Draws, near_together


def mean_rows(table, rows, draws, seed, penalty, sigma=None, **settings):
    return MeanRows(Rotation(table, "same mean", seed, draws, penalty=penalty, sigma=sigma, **settings), rows)


SIZE, DRAWS = 11, 60


def orthonormal(rng, rank, size=SIZE):
    """(r, m) rows."""
    return np.linalg.qr(rng.standard_normal((size, rank)))[0].T


def make_problem(seed, own_rank, rank, n_rivals=2 * BLOCK, signed=False, sigma=0.0):
    """Spans, a vector and draws, with all that `count` takes made from them."""
    rng = np.random.default_rng(seed)
    own, rivals = orthonormal(rng, own_rank), np.stack([orthonormal(rng, rank) for _ in range(n_rivals)])
    vector = own.T @ rng.standard_normal(own_rank) * 2.0 + rng.standard_normal(SIZE)
    normals, scatter = rng.standard_normal((DRAWS, SIZE)), rng.chisquare(3, DRAWS)
    along = own @ vector
    left = vector - own.T @ along
    floors = np.where(rng.random(n_rivals) < 0.5, 0.0, -np.inf) if signed else np.full(n_rivals, -np.inf)
    observed = np.maximum(rivals[:, 0] @ vector, floors) ** 2 + ((rivals[:, 1:] @ vector) ** 2).sum(axis=1)
    # Sizes that some draws reach and others do not.
    least = observed.max() * rng.uniform(0.9, 1.3, n_rivals)
    return SimpleNamespace(
        own=own, rivals=rivals, vector=vector, normals=normals, scatter=scatter, along=along, floors=floors,
        least=least, radius=float(np.sqrt(left @ left + 2.0)), sigma=sigma,
        products=np.ascontiguousarray((normals @ rivals.transpose(1, 2, 0)).swapaxes(0, 1)),
        gram=np.ascontiguousarray(np.einsum("lm,jrm->lrj", own, rivals)),
        squares=(normals**2).sum(axis=1),
    )  # fmt: skip


def rotated(problem, b):
    """The vector that draw b makes: what the explanation fits stays, and the residual is turned."""
    projector = problem.own.T @ problem.own
    left = problem.normals[b] - projector @ problem.normals[b]
    scale = problem.sigma or problem.radius / np.sqrt(left @ left + problem.scatter[b])
    return projector @ problem.vector + scale * left


def is_exceeded(problem, b):
    turned = rotated(problem, b)
    fits = [np.maximum(u[0] @ turned, floor) ** 2 + ((u[1:] @ turned) ** 2).sum()
            for u, floor in zip(problem.rivals, problem.floors, strict=True)]  # fmt: skip
    return bool((np.array(fits) >= problem.least).any())


def counted(problem, enough=DRAWS + 1, fewest=0, unit=0.0, start=0, stop=DRAWS, before=(0, DRAWS)):
    part = slice(start, stop)
    return count(
        problem.products[part], longest(problem.products[part]),
        np.ascontiguousarray(problem.own @ problem.normals[part].T), problem.squares[part], problem.scatter[part],
        problem.gram, problem.along, problem.floors, problem.least, problem.radius, problem.sigma, unit,
        before[0], enough, fewest, before[1],
    )  # fmt: skip


SHAPES = [(1, 1, False), (1, 1, True), (2, 1, False), (2, 1, True), (1, 2, False), (3, 2, True), (2, 3, False)]


@pytest.mark.parametrize("sigma", [0.0, 0.8])
@pytest.mark.parametrize(("own_rank", "rank", "signed"), SHAPES)
def test_draws_are_counted_whose_rotated_vector_is_fitted_well_enough(own_rank, rank, signed, sigma):
    shares = []
    for seed in range(6):
        problem = make_problem(seed, own_rank, rank, signed=signed, sigma=sigma)
        expected = sum(is_exceeded(problem, b) for b in range(DRAWS))
        assert counted(problem) == (expected, 0)
        shares.append(expected)
    assert 0 < sum(shares) < 6 * DRAWS  # both kinds of draws were there


@pytest.mark.parametrize(("own_rank", "rank", "signed"), SHAPES)
def test_counting_stops_as_soon_as_it_is_decided(own_rank, rank, signed):
    problem = make_problem(1, own_rank, rank, signed=signed)
    hits = np.array([is_exceeded(problem, b) for b in range(DRAWS)])
    for number in (1, 3, 10, 40):
        done, total = 0, 0
        while done < DRAWS and total < number and total + DRAWS - done >= number:
            total, done = total + int(hits[done]), done + 1
        assert counted(problem, enough=number, fewest=number) == (total, DRAWS - done)


def test_counting_in_parts_is_counting_at_once():
    problem, state = make_problem(2, 2, 2), (0, DRAWS)
    for start in range(0, DRAWS, 7):
        state = counted(problem, start=start, stop=start + 7, before=state)
    assert state == counted(problem)


def test_rounding_can_only_add_exceedances_and_what_is_no_number_is_one():
    problem = make_problem(3, 1, 1)
    before = counted(problem)[0]
    assert before < counted(problem, unit=0.1)[0] <= DRAWS
    problem.normals[:] = np.nan
    problem.products[:] = np.nan
    assert counted(problem) == (DRAWS, 0)


def test_a_batch_is_each_of_its_explanations_whatever_the_chunks(monkeypatch):
    problem, others = make_problem(4, 2, 1), [orthonormal(np.random.default_rng(i), 2) for i in range(4)]
    bases = np.stack([problem.own, *others])
    grams, along = np.einsum("klm,jrm->klrj", bases, problem.rivals), bases @ problem.vector
    radii = np.sqrt((problem.vector**2).sum() - (along**2).sum(axis=1))
    least = np.tile(problem.least, (5, 1)) * np.linspace(0.8, 1.2, 5)[:, None]
    for number in (DRAWS + 1, 6):
        stops = (number, 0 if number > DRAWS else number)
        totals, remaining = np.zeros(5, dtype=np.int64), np.full(5, DRAWS)
        own = bases @ problem.normals.T
        count_batch(problem.products, own, problem.squares, problem.scatter, grams, along, problem.floors, least,
                    radii, 0.0, 0.0, totals, remaining, *stops)  # fmt: skip
        for i, basis in enumerate(bases):
            alone = SimpleNamespace(**vars(problem))
            alone.own, alone.gram, alone.along, alone.least, alone.radius = (
                basis,
                grams[i],
                along[i],
                least[i],
                radii[i],
            )
            assert counted(alone, *stops) == (totals[i], remaining[i])


def test_the_longest_product_of_a_block_is_found_and_blocks_are_filled_up():
    rng = np.random.default_rng(0)
    products = rng.standard_normal((5, 3, 3 * BLOCK))
    lengths = np.linalg.norm(products, axis=1).reshape(5, 3, BLOCK)
    np.testing.assert_allclose(longest(products), lengths.max(axis=2), rtol=1e-15)
    filled = padded(products[:, :, : 2 * BLOCK + 5], -np.inf)
    assert filled.shape == products.shape
    assert (filled[:, :, : 2 * BLOCK + 5] == products[:, :, : 2 * BLOCK + 5]).all()
    assert np.isneginf(filled[:, :, 2 * BLOCK + 5 :]).all()
    assert padded(filled).shape == filled.shape


@settings(max_examples=300)
@given(u=st.floats(0.0, 60.0), rank=st.integers(1, 7), freedom=st.integers(5, 400), is_known=st.booleans())
def test_tails_are_never_below_the_exact_ones_and_exact_for_even_ranks(u, rank, freedom, is_known):
    if not is_known:
        u = u / 60.0
    exact = chi2.sf(u, rank) if is_known else beta.sf(u, rank / 2, (freedom - rank) / 2) if freedom > rank else 1.0
    found = tail(u, rank, freedom, is_known)
    assert found >= exact * (1.0 - 1e-10)
    # 1e-300 stands for what would be 0, which is for what no rotation can reach.
    if rank % 2 == 0 and freedom > rank and exact > 1e-250:
        assert found == pytest.approx(exact, rel=1e-8)
    above = tail(min(1.05 * u, 60.0 if is_known else 1.0), rank, freedom, is_known)
    assert above <= found * (1.0 + 1e-12)


def test_tails_say_1_where_nothing_is_known():
    assert tail(0.0, 1, 20, False) == tail(-1.0, 2, 20, True) == tail(np.nan, 2, 20, False) == 1.0
    assert tail(0.3, 2, 2, False) == tail(0.3, 3, 4, False) == 1.0  # no freedom is left
    assert tail(1.0, 2, 20, False) == 0.0
    assert tail(1e5, 2, 20, True) > 0.0


def rotated_fits(problem, runs=4000, seed=9):
    """(runs,) the largest fit of any rival, of rotations by draws of their own."""
    rng = np.random.default_rng(seed)
    normals = rng.standard_normal((runs, SIZE))
    left = normals - normals @ problem.own.T @ problem.own
    lengths = problem.radius / np.linalg.norm(left, axis=1) if not problem.sigma else np.full(runs, problem.sigma)
    turned = problem.own.T @ problem.along + lengths[:, None] * left
    values = np.einsum("bm,jrm->bjr", turned, problem.rivals)
    return (np.maximum(values[..., 0], problem.floors) ** 2 + (values[..., 1:] ** 2).sum(axis=2)).max(axis=1)


@pytest.mark.parametrize("sigma", [0.0, 0.8])
@pytest.mark.parametrize(("own_rank", "rank", "signed"), SHAPES)
def test_the_screen_bounds_the_chance_that_a_rotation_reaches(own_rank, rank, signed, sigma):
    """Sizes that one in a hundred or in a thousand rotations reach, up to six deviations of 4000."""
    is_telling = 0
    for seed in range(4):
        problem = make_problem(seed, own_rank, rank, n_rivals=6, signed=signed, sigma=sigma)
        fits = rotated_fits(problem)
        for share in (0.01, 0.001):
            least = np.full(6, np.quantile(fits, 1.0 - share))
            given = (problem.gram, problem.along, np.full(6, rank), problem.floors, least)
            given = (*given, problem.sigma or problem.radius, SIZE - own_rank, sigma > 0.0)
            bound = screen(*given, np.inf)
            assert share <= bound + 6.0 * np.sqrt(share / 4000)
            is_telling += bound < (0.9 if rank < 3 else 6.0)  # of odd ranks the next even one is bounded
            # What is beyond the limit is not summed to its end.
            assert screen(*given, 0.5 * bound) == np.inf
    assert is_telling


def test_the_screen_says_nothing_of_rivals_that_need_no_fit():
    problem = make_problem(0, 1, 1, n_rivals=4)
    for least in (0.0, -1.0, np.nan):
        problem.least[2] = least
        given = (problem.gram, problem.along, np.ones(4, dtype=np.int64), problem.floors, problem.least)
        assert screen(*given, problem.radius, SIZE - 1, False, np.inf) == np.inf


def test_a_batch_of_screens_is_each_of_them_and_leaves_what_is_closed():
    problem = make_problem(5, 1, 2, n_rivals=5)
    bases = np.stack([orthonormal(np.random.default_rng(i), 1) for i in range(4)])
    grams, along = np.einsum("klm,jrm->klrj", bases, problem.rivals), bases @ problem.vector
    least, radii = np.full((4, 5), 1.3 * (problem.vector**2).sum()), np.linspace(1.0, 2.5, 4)
    slack, ranks, freedom = np.full(4, 0.01), np.full(5, 2), np.full(4, SIZE - 1)
    bounds, is_open = np.full(4, -7.0), np.array([True, False, True, True])
    screen_batch(grams, along, ranks, problem.floors, least, slack, radii, freedom, False, is_open, np.inf, bounds)
    for i in range(4):
        if is_open[i]:
            settled = (grams[i], along[i], ranks, problem.floors, least[i] - 0.01, radii[i], SIZE - 1, False, np.inf)
            assert bounds[i] == screen(*settled)
    assert bounds[1] == -7.0


def make_pairs(seed, n_atoms=PAIR_BLOCK, size=14, missing=5, own_rank=2, sigma=0.0):
    """Unit atoms of which most pairs are supports, an explanation that is none of them, and draws."""
    rng = np.random.default_rng(seed)
    atoms = rng.standard_normal((n_atoms, size)) + 1.5 * rng.standard_normal(size)
    atoms /= np.linalg.norm(atoms, axis=1)[:, None]
    pairs = [pair for i, pair in enumerate(combinations(range(n_atoms), 2)) if i % missing]
    alone = list(range(0, n_atoms, 3))
    own = orthonormal(rng, own_rank, size)
    vector = 2.0 * own.T @ rng.standard_normal(own_rank) + rng.standard_normal(size)
    tables = AtomTables.of(atoms, np.array(pairs).T, np.array(alone), np.zeros(3))[:4]
    left = vector - own.T @ (own @ vector)
    return SimpleNamespace(atoms=atoms, pairs=pairs, alone=alone, own=own, vector=vector, tables=tables, sigma=sigma,
                           radius=float(np.linalg.norm(left)), normals=rng.standard_normal((DRAWS, size)),
                           scatter=np.zeros(DRAWS), size=size)  # fmt: skip


def pair_fits(problem, vector):
    """Largest fits of single atoms and of pairs, by least squares."""
    single = max((problem.atoms[i] @ vector) ** 2 for i in problem.alone)
    fits = [vector @ vector - np.linalg.lstsq(problem.atoms[list(pair)].T, vector, rcond=None)[1][0]
            for pair in problem.pairs]  # fmt: skip
    return single, max(fits)


@pytest.mark.parametrize("sigma", [0.0, 0.7])
def test_pairs_are_counted_whose_rotated_vector_is_fitted_by_least_squares(sigma):
    problem = make_pairs(0, sigma=sigma)
    turned = np.array([rotated(problem, b) for b in range(DRAWS)])
    found = np.array([pair_fits(problem, vector) for vector in turned])
    steepest = float(problem.tables[2].max())
    for share in (0.3, 0.6, 0.9):
        least = np.array([np.inf, np.quantile(found[:, 0], share), np.quantile(found[:, 1], share)])
        given = (
            problem.normals @ problem.atoms.T, (problem.normals**2).sum(axis=1), problem.scatter,
            problem.own @ problem.normals.T, problem.own @ problem.atoms.T, problem.own @ problem.vector,
            problem.radius, sigma, 0.0, least, *problem.tables, steepest,
        )  # fmt: skip
        hits = (found >= least[1:]).any(axis=1)
        assert count_pairs(*given, *never(DRAWS)) == (hits.sum(), 0)
        # Nothing reaches the empty support unless it needs nothing, and then every draw does.
        assert count_pairs(*given[:9], np.array([0.0, np.inf, np.inf]), *given[10:], *never(DRAWS)) == (DRAWS, 0)
        few, many = never(DRAWS)
        few[2] = int(hits[:24].sum())  # a look after 24 draws decides
        assert count_pairs(*given, few, many) == (few[2], DRAWS - 24)


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), share=st.floats(0.0, 1.2))
def test_no_pair_that_fits_well_enough_is_left_unflagged(seed, share):
    problem = make_pairs(seed, missing=7)
    x = problem.atoms @ problem.vector
    fits = {pair: problem.vector @ problem.vector
            - np.linalg.lstsq(problem.atoms[list(pair)].T, problem.vector, rcond=None)[1][0]
            for pair in problem.pairs}  # fmt: skip
    least = share * max(fits.values())
    rest = least * (1.0 - 1e-9) - x**2
    left, flags = np.where(rest < 0.0, -np.inf, np.sqrt(np.maximum(rest, 0.0))), np.empty(len(x))
    for block in range(len(problem.tables[1])):
        chosen = x[block * PAIR_BLOCK : (block + 1) * PAIR_BLOCK]
        _flag(x, left, chosen.min(), chosen.max(), problem.tables[3][block], flags)
        for (i, k), fit in fits.items():
            if k // PAIR_BLOCK == block and fit >= least:
                assert flags[i] == 1.0, (i, k)


def test_the_chance_to_lift_a_pair_is_bounded():
    """Against a hundred thousand directions: a plane that leans on what is kept, and one beside it."""
    rng, freedom, runs = np.random.default_rng(3), 12, 100_000
    directions = rng.standard_normal((runs, freedom))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    grid = np.linspace(0.0, 1.0, 4097)
    tails = np.stack([beta.sf(grid, 0.5, (freedom - 1) / 2), (1.0 - grid) ** (freedom / 2 - 1)])
    for along, across in ((1.0, 1.0), (0.3, 0.9), (0.05, 0.2), (0.8, 0.0)):
        for fit in (0.0, 0.5, 4.0):
            for need in (0.1, 0.3, 0.5):
                root = np.sqrt(fit) + need
                first = np.sqrt(fit) + np.sqrt(along) * directions[:, 0]
                share = ((first**2 + across * directions[:, 1] ** 2) >= root**2).mean()
                bound = _chance(fit, along, 2.0 - along - across, root, tails, 4096.0)
                assert share <= bound + 6.0 * np.sqrt(max(share, 1e-4) / runs)
    assert _chance(4.0, 0.5, 1.0, 2.0, tails, 4096.0) == 1.0  # it is there already


@pytest.mark.parametrize("is_known", [False, True])
def test_the_screen_of_pairs_bounds_the_chance_that_a_rotation_reaches(is_known):
    """Four thousand rotations, every pair fitted through an orthonormal basis of its own."""
    is_telling = 0
    for seed in range(4):
        problem = make_pairs(seed, size=20, sigma=0.6 if is_known else 0.0)
        rng, freedom = np.random.default_rng(seed + 50), 20 - len(problem.own)
        normals = rng.standard_normal((4000, 20))
        left = normals - normals @ problem.own.T @ problem.own
        scale = problem.radius / np.linalg.norm(left, axis=1) if not is_known else np.full(4000, 0.6)
        turned = problem.own.T @ (problem.own @ problem.vector) + scale[:, None] * left
        fits = np.stack([((turned @ np.linalg.qr(problem.atoms[list(pair)].T)[0]) ** 2).sum(axis=1)
                         for pair in problem.pairs])  # fmt: skip
        singles = (turned @ problem.atoms[problem.alone].T) ** 2
        grid = np.linspace(0.0, 60.0 if is_known else 1.0, 4097)
        tails = np.stack([chi2.sf(grid, 1), chi2.sf(grid, 2)]) if is_known else np.stack(
            [beta.sf(grid, 0.5, (freedom - 1) / 2), (1.0 - grid) ** (freedom / 2 - 1)])  # fmt: skip
        for share in (0.5, 0.99, 0.9999):
            least = np.array([np.inf, np.quantile(singles.max(axis=1), share), np.quantile(fits.max(axis=0), share)])
            exceeded = (singles >= least[1]).any(axis=1) | (fits >= least[2]).any(axis=0)
            bound = screen_pairs(
                problem.own @ problem.vector, problem.own @ problem.atoms.T, *problem.tables, least,
                0.6 if is_known else problem.radius, freedom, is_known, 1e9, 60.0 if is_known else 1.0, tails,
            )  # fmt: skip
            assert exceeded.mean() <= bound + 6.0 * np.sqrt(exceeded.mean() / 4000)
            is_telling += bound < 0.9
    assert is_telling


def test_the_screen_of_pairs_says_nothing_without_a_residual_or_of_an_empty_support_that_fits():
    problem = make_pairs(1)
    tails = np.ones((2, 5))
    given = (problem.own @ problem.vector, problem.own @ problem.atoms.T, *problem.tables)
    least = np.array([np.inf, 1e3, 1e3])
    assert screen_pairs(*given, least, 0.0, 12, False, 1.0, 1.0, tails) == np.inf
    assert screen_pairs(*given, np.array([0.0, 1e3, 1e3]), 1.0, 12, False, 1.0, 1.0, tails) == np.inf
    # What no rotation can bring about has probability 0, by the fit of the explanation alone.
    assert screen_pairs(*given, least, 1.0, 12, False, 1.0, 1.0, tails) == 0.0


def test_pairs_go_their_own_way_only_where_it_is_shorter_and_exact(tools):
    lines, pairs = tools.make_lines(60, 24, 2.5), list(combinations(range(24), 2))
    assert RotationTable(lines, pairs).has_pairs
    assert not RotationTable(lines, pairs[:150]).has_pairs  # too few to be worth it
    assert RotationTable(lines * np.exp(1j * np.arange(24)), pairs).has_pairs
    both = [tuple(2 * i + part for i in pair for part in range(2)) for pair in pairs]
    assert RotationTable(np.hstack([lines, lines**2])[:, np.arange(48).reshape(2, 24).T.ravel()], both).has_pairs
    shared = [(*support, 0) if 0 not in support else support for support in both]  # three elements in most
    assert not RotationTable(np.hstack([lines, lines**2])[:, np.arange(48).reshape(2, 24).T.ravel()], shared).has_pairs
    assert not RotationTable(lines, [*pairs, (0, 1, 2)]).has_pairs
    assert not RotationTable(np.hstack([lines, lines[:, :1]]), [*pairs, (0, 24)]).has_pairs  # of rank one
    near = np.hstack([lines, lines[:, :1] + 1e-4 * lines[:, 5:6]])
    rows = np.random.default_rng(0).standard_normal((1, 60))
    engine = mean_rows(RotationTable(near, [*pairs, (0, 24)]), rows, 99, 0, 1.5)
    assert engine.table.has_pairs
    assert engine._pairs is None  # nearly parallel: rounding would decide


@pytest.mark.parametrize(("count", "size"), [(5, 32), (33, 8), (100, 7), (64, 32)])
def test_near_spans_are_put_in_one_block_and_none_is_lost(count, size):
    rng = np.random.default_rng(count)
    spans = np.stack([orthonormal(rng, 2) for _ in range(count)])
    assert sorted(near_together(spans, size).tolist()) == list(range(count))
    if count > size:  # neighbours on a circle: a block is a piece of it
        angles = rng.permutation(count) * np.pi / count
        circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)[:, None]
        order = near_together(circle, size)
        blocks = [order[i : i + size] for i in range(0, count, size)]
        inside = np.mean([(np.abs(circle[b, 0] @ circle[b, 0].T)).mean() for b in blocks])
        assert inside > np.abs(circle[:, 0] @ circle[:, 0].T).mean() + 0.1


def test_draws_lie_within_the_open_interval_whatever_the_bits():
    class Bits:
        def random_raw(self, count):
            return [0, 2**64 - 1, 2**63][:count]

    draws = Draws(0, 0)
    draws._bits = Bits()
    uniform = draws.uniform((3,))
    assert (uniform > 0.0).all()
    assert (uniform < 1.0).all()
    assert np.isfinite(draws.normal((3,))).all()
    assert np.isfinite(draws.chi_square(3.0, (3,))).all()


def test_purposes_and_seeds_share_no_draws():
    drawn = [Draws(seed, purpose).uniform((50,)) for seed in (0, 1) for purpose in (0, 1, 2)]
    for one, two in combinations(drawn, 2):
        assert not np.isin(one, two).any()
    assert (Draws(5, 1).uniform((4, 3)).ravel() == Draws(5, 1).uniform((12,))).all()


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize(("size", "degrees"), [(4, 9), (4, 2), (3, 3)])
def test_second_moments_drawn_by_their_factor_have_the_moments_of_normal_columns(size, degrees, is_complex):
    """Mean and variance of entries of A A^H over 6000 draws, within six deviations."""
    factors = Draws(1, 0).wishart_factor(6000, size, degrees, is_complex)
    moments = factors @ factors.conj().swapaxes(1, 2)
    parts = 2 if is_complex else 1
    mean, expected = moments.mean(axis=0), parts * degrees * np.eye(size)
    # Var |x|^2 of one entry: 2 parts on the diagonal and parts^2 ... beside it, times the degrees.
    assert np.abs(mean - expected).max() <= 6.0 * np.sqrt(2.0 * parts**2 * degrees / 6000)
    diagonal = np.real(moments[:, 0, 0])
    assert diagonal.var() == pytest.approx(2.0 * parts * degrees, rel=0.15)
    beside = (np.abs(moments[:, 0, 1]) ** 2).mean()
    assert beside == pytest.approx(parts**2 * degrees, rel=0.15)


@pytest.mark.parametrize("is_known", [False, True])
def test_the_screen_of_elements_bounds_the_chance_that_a_rotation_reaches(is_known):
    """Four thousand rotations, every pair of two columns each fitted through an orthonormal basis of its own."""
    is_telling = 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        bases = np.linalg.qr(rng.standard_normal((PAIR_BLOCK, 60, 2)) + rng.standard_normal((60, 1)))[0].swapaxes(1, 2)
        pairs = np.array([pair for i, pair in enumerate(combinations(range(PAIR_BLOCK), 2)) if i % 5])
        own = orthonormal(rng, 3, 60)
        vector = 2.0 * own.T @ rng.standard_normal(3) + rng.standard_normal(60)
        radius = float(np.linalg.norm(vector - own.T @ (own @ vector)))
        length = 0.6 if is_known else radius
        normals = rng.standard_normal((4000, 60))
        left = normals - normals @ own.T @ own
        scale = np.full(4000, 0.6) if is_known else radius / np.linalg.norm(left, axis=1)
        turned = own.T @ (own @ vector) + scale[:, None] * left
        spans = [np.linalg.qr(np.concatenate(bases[pair]).T)[0] for pair in pairs]
        fits = np.stack([((turned @ span) ** 2).sum(axis=1) for span in spans])
        cut = 80.0 if is_known else 1.0
        for share in (0.5, 0.99, 0.9999, 1.0):
            least = 1.5 * fits.max() if share == 1.0 else np.quantile(fits.max(axis=0), share)
            tables = ElementTables.of(bases, pairs.T, np.full(len(pairs), least), np.inf, np.full(PAIR_BLOCK, np.inf))
            across = (own @ bases.swapaxes(0, 1).reshape(-1, 60).T).reshape(3, 1, 2, PAIR_BLOCK)
            tails = tables.tails(cut, 57, is_known=is_known)
            settled = (0.0, length, 57, is_known, 1e9, cut, tails, (0, 0))
            bound = screen_blocks(across, own @ vector, tables.none, tables.single, *tables[1:5], *settled)
            exceeded = (fits >= least).any(axis=0).mean()
            assert exceeded <= bound + 6.0 * np.sqrt(exceeded / 4000)
            is_telling += bound < 0.9
    assert is_telling
