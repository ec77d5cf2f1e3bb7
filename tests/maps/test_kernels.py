"""Compiled loops over signals and draws, each held to a few lines of plain arrays."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import beta, t

from physupport import MisuseError
from physupport.judges.rotation import Companions, Draws, Rotation, RotationTable, ordered_axis, scanned
from physupport.maps import RotatedSignals
from physupport.maps._kernels import (
    RivalLimits,
    _cell,
    _lag_sum,
    _most_along,
    _reached,
    _reject_by_rivals,
    products,
    summaries,
    sums_over_runs,
)
from physupport.maps._nulls import (
    FAILURE,
    WANTED_RIVALS,
    _depths,
    _largest,
    _runs,
    _shifted,
    _tails,
    certified,
    column_draws,
    enough,
    is_tabulated,
    lag_draws,
    rival_draws,
    rival_tails,
    tabulate,
)

SEEDS = st.integers(0, 2**32 - 1)


@settings(max_examples=30)
@given(seed=SEEDS, n_rows=st.integers(1, 5), size=st.integers(1, 9))
def test_summaries_are_the_mean_its_scatter_and_all_energy(seed, n_rows, size):
    rows = 10.0 * np.random.default_rng(seed).standard_normal((3, n_rows, size))
    whole, scatter, squares = np.empty((3, size)), np.empty(3), np.empty(3)
    summaries(rows, whole, scatter, squares)
    np.testing.assert_allclose(whole, np.sqrt(n_rows) * rows.mean(axis=1), rtol=1e-12, atol=1e-12)
    around = ((rows - rows.mean(axis=1, keepdims=True)) ** 2).sum(axis=(1, 2))
    np.testing.assert_allclose(scatter, around, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(squares, (rows**2).sum(axis=(1, 2)), rtol=1e-12)


@settings(max_examples=30)
@given(seed=SEEDS, size=st.integers(1, 11), columns=st.integers(1, 6))
def test_products_are_those_of_matrices_and_depend_on_their_row_alone(seed, size, columns):
    rng = np.random.default_rng(seed)
    rows, matrix = rng.standard_normal((5, size)), rng.standard_normal((size, columns))
    out = np.empty((5, columns))
    products(rows, matrix, out)
    np.testing.assert_allclose(out, rows @ matrix, rtol=1e-12, atol=1e-12)
    again = np.empty((2, columns))
    products(rows[3:], matrix, again)
    assert (again == out[3:]).all()


@settings(max_examples=40)
@given(seed=SEEDS, size=st.integers(2, 14))
def test_sums_over_runs_are_products_with_columns_that_are_one_value_over_neighbours(seed, size):
    rng = np.random.default_rng(seed)
    columns = np.zeros((size, 6))
    for column in columns.T:
        first, last = np.sort(rng.choice(size + 1, 2, replace=False))
        column[first:last] = rng.uniform(0.1, 2.0)
    mixed = np.hstack([columns, rng.standard_normal((size, 2)), columns[:, :1]])
    runs, scales, others = _runs(mixed)
    assert len(runs) == 6  # the last is a run, too, but comes after others
    assert (others == mixed[:, 6:]).all()
    channels, out = rng.standard_normal((4, size)), np.empty((4, 6))
    sums_over_runs(channels, runs, scales, out)
    np.testing.assert_allclose(out, channels @ columns, rtol=1e-10, atol=1e-12)


def test_columns_of_which_a_run_has_two_values_or_a_gap_are_no_runs():
    columns = np.array([[1.0, 0.0, 0.0], [1.0, 2.0, 3.0], [1.0, 0.0, 3.0], [0.0, 2.0, 3.5]])
    runs, scales, others = _runs(columns)
    assert runs.tolist() == [[0, 3]]
    assert scales.tolist() == [1.0]
    assert (others == columns[:, 1:]).all()


GRID = np.append(0.0, 0.125 * 2.0 ** (np.arange(13 * 8 + 1) / 8))


@settings(max_examples=300)
@given(st.floats(0.0, 2000.0) | st.sampled_from(GRID.tolist()))
def test_the_cell_of_a_number_starts_at_the_last_point_that_is_not_above_it(a):
    """Or, a rounding away from a point, at the one before, where limits are larger."""
    cell = _cell(a, GRID, 8)
    assert GRID[cell] <= a
    assert cell == len(GRID) - 1 or a < GRID[cell + 1] * (1.0 + 1e-12)


def test_the_cell_of_what_is_no_number_is_the_first_where_limits_are_largest():
    assert _cell(np.nan, GRID, 8) == 0


def make_limits(rng, size, n_levels=3, nothing=-1, floor=0.0, signed=False):
    """Limits that fall along the grid and rise with the levels, as those of a table do."""
    steps = rng.uniform(0.0, 0.2, (n_levels, size, len(GRID)))
    falling = np.cumsum(steps[:, :, ::-1], axis=2)[:, :, ::-1]
    limits = np.cumsum(falling, axis=0) / len(GRID)
    signs = rng.choice([-1.0, 0.0, 1.0], size) if signed else np.zeros(size)
    sign_limits = np.sort(rng.uniform(0.1, 1.0, n_levels))
    return RivalLimits(rng.standard_normal((size, 4)), GRID, 8, limits, floor, nothing, signs, sign_limits)


@settings(max_examples=80)
@given(seed=SEEDS, signed=st.booleans(), floor=st.sampled_from([0.0, 0.2, 0.9]), unit=st.sampled_from([0.0, 0.05]))
def test_rivals_reject_at_every_level_whose_limit_at_the_cell_is_passed(seed, signed, floor, unit):
    """With lengths of residuals rounded up by two units of all energy, and differences down by four of its root."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 8))
    nothing = int(rng.integers(0, size)) if floor else -1
    rivals = make_limits(rng, size, nothing=nothing, floor=floor, signed=signed)
    along, energy = rng.standard_normal(size) * 2.0, 0.0
    energy = float((along**2).max() * rng.uniform(1.0, 3.0))
    codes = np.full(size, 9, dtype=np.uint8)
    best = _reject_by_rivals(along, energy, unit, rivals, codes)
    largest, slack = np.abs(along).max(), 4.0 * unit * np.sqrt(energy)
    assert best == (nothing if floor and not largest**2 > floor * energy else np.abs(along).argmax())
    is_contested = largest**2 * (1.0 - 8.0 * unit) > floor * energy
    for e in range(size):
        with np.errstate(divide="ignore", invalid="ignore"):
            radius = np.sqrt(energy - along[e] ** 2 + 4.0 * unit * energy)
            depth, a = (largest - slack - abs(along[e])) / radius, abs(along[e]) / radius
            cell = min(np.searchsorted(GRID, a, side="right") - 1, len(GRID) - 1) if a >= 0.0 else 0
            by_rivals = int((depth > rivals.limits[:, e, cell]).sum()) if is_contested and depth > 0.0 else 0
            opposed = -(rivals.signs[e] * along[e] + slack) / radius
        by_sign = int((opposed > rivals.sign_limits).sum()) if rivals.signs[e] else 0
        assert codes[e] == max(by_rivals, by_sign)


@settings(max_examples=40)
@given(seed=SEEDS)
def test_rounding_of_products_can_keep_and_never_lose(seed):
    rng = np.random.default_rng(seed)
    rivals = make_limits(rng, 6, signed=True)
    along = rng.standard_normal(6) * 2.0
    energy = float((along**2).max() * 1.5)
    plain, rounded = np.empty((2, 6), dtype=np.uint8)
    _reject_by_rivals(along, energy, 0.0, rivals, plain)
    _reject_by_rivals(along, energy, 0.02, rivals, rounded)
    assert (rounded <= plain).all()


def test_signals_of_nothing_but_zeros_reject_nothing():
    rivals = make_limits(np.random.default_rng(0), 4, signed=True)
    codes = np.full(4, 9, dtype=np.uint8)
    assert _reject_by_rivals(np.zeros(4), 0.0, 1e-15, rivals, codes) == 0
    assert codes.tolist() == [0, 0, 0, 0]


@settings(max_examples=40)
@given(seed=SEEDS, size=st.integers(3, 15), lag=st.integers(1, 12))
def test_sums_of_lags_are_those_of_the_residual(seed, size, lag):
    if lag >= size:
        return
    rng = np.random.default_rng(seed)
    channels, shape, own = rng.standard_normal(size), rng.standard_normal(size), 1.7
    left = channels - own * shape
    assert _lag_sum(channels, shape, own, lag) == pytest.approx(left[:-lag] @ left[lag:], rel=1e-10, abs=1e-10)


def test_the_column_most_along_a_residual_is_named_and_levels_are_counted():
    parts, first = np.array([1.0, -4.0, 2.0]), np.array([0.5, 0.5, 0.5])
    assert _most_along(1.0, parts, first, np.ones(3)) == 1
    assert _most_along(1.0, parts, first, np.array([1.0, 0.0, 1.0])) == 2  # not seen beside the explanation
    assert _most_along(1.0, np.empty(0), np.empty(0), np.empty(0)) == -1
    bounds = np.array([[1.0, 9.0], [2.0, 9.0], [3.0, 9.0]])
    assert [_reached(value, bounds, 0, 1.0, 0.0) for value in (0.5, 1.0, 1.5, 2.5, 3.5)] == [0, 0, 1, 2, 3]
    assert _reached(2.5, bounds, 0, 1.0, 0.6) == 1
    assert _reached(np.nan, bounds, 0, 1.0, 0.0) == 0


@settings(max_examples=25)
@given(seed=SEEDS)
def test_draws_of_rivals_are_those_of_rotated_unit_vectors(seed):
    """|u_j.w*| - |u_e.w*| with w* = a u_e + the direction of Qg, of every rival, at every a."""
    rng = np.random.default_rng(seed)
    bases = rng.standard_normal((7, 5))
    bases /= np.linalg.norm(bases, axis=0)
    normals, grid, e = rng.standard_normal((20, 7)), np.array([0.0, 0.3, 1.0, 4.0]), 2
    out = np.empty((20, 4))
    gram = bases[:, e] @ bases
    reach = np.full(5, 4)
    reach[e] = 0
    rival_draws(normals @ bases, (normals**2).sum(axis=1), gram, e, grid, reach, np.full(5, -1.0), out.T)
    left = normals - np.outer(normals @ bases[:, e], bases[:, e])
    left /= np.linalg.norm(left, axis=1)[:, None]
    turned = grid[None, :, None] * bases[:, e] + left[:, None]  # (B, G, m)
    depths = np.abs(turned @ bases).max(axis=2) - grid
    np.testing.assert_allclose(out, np.maximum(depths, 0.0), rtol=1e-9, atol=1e-12)
    # It falls in a, which is why a table of points serves all numbers between them.
    assert (np.diff(out, axis=1) <= 1e-12).all()


def test_tails_of_rivals_bound_the_share_of_rotations():
    """Fifty thousand rotations, six deviations."""
    rng, runs = np.random.default_rng(1), 50_000
    bases = rng.standard_normal((9, 4))
    bases /= np.linalg.norm(bases, axis=0)
    grid, depths, gram = np.array([0.0, 0.5, 2.0]), np.array([0.2, 0.5, 0.7]), bases[:, 0] @ bases
    reach = np.array([0, 3, 3, 3])
    bounds, found = np.empty((3, 3)), np.empty((runs, 3))
    rival_tails(gram, grid, reach, depths, 0.5 * 8 - 1.0, bounds)
    normals = rng.standard_normal((runs, 9))
    rival_draws(normals @ bases, (normals**2).sum(axis=1), gram, 0, grid, reach, np.full(4, -1.0), found.T)
    shares = (found[:, None] >= depths[:, None]).mean(axis=0)  # (d, G)
    assert (shares <= bounds + 6.0 * np.sqrt(np.maximum(shares, 1e-4) / runs)).all()
    assert (bounds[1:] < 1.0).any()
    assert (np.diff(bounds, axis=0) <= 0.0).all()


def test_depths_from_tails_are_reached_no_oftener_than_their_levels():
    rng = np.random.default_rng(4)
    bases = rng.standard_normal((12, 6))
    bases /= np.linalg.norm(bases, axis=0)
    grid, reach, gram = np.array([0.0, 0.4, 1.0, 3.0]), np.array([0, 4, 4, 4, 4, 4]), bases[:, 0] @ bases
    levels = np.array([0.02, 1e-3, 1e-6])
    depths = _tails(gram, grid, reach, levels, 0.5 * 11 - 1.0)
    assert (np.diff(depths, axis=0) > 0.0).any()
    assert (np.diff(depths, axis=0) >= 0.0).all()
    for number, level in enumerate(levels.tolist()):
        for g in range(4):
            bound = np.empty((1, 4))
            rival_tails(gram, grid, reach, depths[number, g : g + 1], 0.5 * 11 - 1.0, bound)
            assert bound[0, g] <= level
    drawn = np.empty((100_000, 4))
    normals = rng.standard_normal((100_000, 12))
    rival_draws(normals @ bases, (normals**2).sum(axis=1), gram, 0, grid, reach, np.full(6, -1.0), drawn.T)
    # Within six deviations of a count.
    assert ((drawn >= depths[0]).mean(axis=0) <= 0.02 + 6.0 * np.sqrt(0.02 / 1e5)).all()


@settings(max_examples=25)
@given(seed=SEEDS, longest=st.integers(1, 5))
def test_draws_of_outsiders_are_those_of_residual_directions(seed, longest):
    rng = np.random.default_rng(seed)
    unit = rng.standard_normal(9)
    unit /= np.linalg.norm(unit)
    columns, normals = rng.standard_normal((9, 6)), rng.standard_normal((15, 9))
    beside = columns - np.outer(unit, unit @ columns)
    left = normals - np.outer(normals @ unit, unit)
    directions = left / np.linalg.norm(left, axis=1)[:, None]
    own, squares, out = normals @ unit, (normals**2).sum(axis=1), np.empty(15)
    inverse = 1.0 / np.linalg.norm(beside, axis=0)
    inverse[4] = 0.0  # not seen
    column_draws(normals @ columns, own, squares, unit @ columns, inverse, out)
    expected = np.abs(directions @ beside) * inverse
    np.testing.assert_allclose(out, expected.max(axis=1), rtol=1e-9)
    is_lag = rng.random(longest) < 0.7
    lag_draws(normals, own, squares, unit, is_lag, out)
    sums = [[abs(row[: -k or None] @ row[k:]) for k in np.flatnonzero(is_lag) + 1] for row in directions]
    np.testing.assert_allclose(out, [max(row, default=0.0) for row in sums], rtol=1e-9, atol=1e-12)


@settings(max_examples=30)
@given(seed=SEEDS, lag=st.integers(1, 4))
def test_autocorrelations_of_residuals_stay_within_reach_of_those_of_the_channels(seed, lag):
    """The bound by which most sums need not be made: |x| times the reach times the length of the residual."""
    rng = np.random.default_rng(seed)
    unit = rng.standard_normal(8)
    unit /= np.linalg.norm(unit)
    channels = 3.0 * rng.standard_normal() * unit + rng.standard_normal(8)
    own, reach = (values[0] for values in _shifted(unit[None], 4))
    along = unit @ channels
    left = channels - along * unit
    of_channels, of_residual = (row[:-lag] @ row[lag:] for row in (channels, left))
    centre = of_channels - along**2 * own[lag - 1]
    assert own[lag - 1] == pytest.approx(unit[:-lag] @ unit[lag:])
    assert abs(of_residual - centre) <= abs(along) * reach[lag - 1] * np.linalg.norm(left) * (1.0 + 1e-9) + 1e-12


def test_the_largest_values_are_counted_from_the_top():
    values = np.random.default_rng(0).permutation(np.arange(1.0, 100.0))
    assert _largest(values, [10, 5, 0]).tolist() == [90.0, 95.0, np.inf]


@pytest.mark.parametrize("draws", [100, 9999, 60_000])
@pytest.mark.parametrize("failure", [1e-3, 1e-9, 1e-14])
def test_the_number_that_decides_is_the_largest_that_holds_for_all_but_so_few_tables(draws, failure):
    levels = np.array([0.2, 0.1, 0.01, 0.001, 1e-6])
    for level, number in zip(levels.tolist(), certified(levels, draws, np.full(5, failure)), strict=True):
        # The level given the table has the law Beta(K, B + 1 - K).
        if number > 0:
            assert beta.sf(level, number, draws + 1 - number) <= failure
        assert beta.sf(level, number + 1, draws - number) > failure * (1.0 - 1e-5)


def test_draws_are_so_many_that_something_can_be_rejected_at_every_level():
    for level in (0.5, 0.1, 0.01, 1e-3):
        draws = enough(99, level, 100)
        assert certified(np.array([level]), draws, np.array([1e-13]))[0] >= 10
    assert enough(99, 0.1, 800) == 8000
    assert enough(30_000, 0.1, 800) == 30_000
    assert enough(99, 1e-12, 800) == 100_000


def test_a_level_at_which_the_gate_could_reject_nothing_is_refused(bank):
    with pytest.raises(MisuseError, match="level must let a gate of 100000 draws for all signals reject something"):
        tabulate(bank.spec, np.array([1e-4]), 1)


@pytest.mark.parametrize("seed", range(3))
def test_critical_values_are_exceeded_no_oftener_than_their_level_by_other_draws(bank, seed):
    """Given the table, of every explanation: 60,000 draws that it did not see, and six deviations of their count."""
    nulls = tabulate(Rotation(bank.table, seed=seed), np.array([0.1]), 1)
    units = bank.table.bases[:, 0]
    normals = np.random.default_rng([9, seed]).standard_normal((60_000, units.shape[1]))
    shares = []
    for e in range(bank.table.size):
        left = normals - np.outer(normals @ units[e], units[e])
        left /= np.linalg.norm(left, axis=1)[:, None]
        for point in (0, 12):
            a = nulls.rivals.grid[point]
            depths = np.abs((a * units[e] + left) @ units.T).max(axis=1) - a
            shares.append((depths > nulls.rivals.limits[0, e, point]).mean())
    assert max(shares) <= 0.1 + 6.0 * np.sqrt(0.1 * 0.9 / 60_000)
    assert max(shares) >= 0.06  # and not far below


def test_rivals_that_are_left_out_change_no_critical_value(bank):
    """Also where the first draws promise more than the others hold, and everything has to be computed."""
    units = bank.table.bases[:, 0].T
    normals = np.random.default_rng(5).standard_normal((4800, len(units)))
    normals[:300] *= np.linspace(1.0, 1.5, 4)[np.arange(300) % 4, None]
    grid, numbers = np.append(0.0, 2.0 ** np.linspace(-3, 6, 40)), [300, 40, 1]
    gram, everything = units[:, 4] @ units, np.full(13, -1.0)
    reach = np.full(13, 41)
    reach[4] = 0
    for lifted in (1.0, 3.0):
        products = normals @ units
        products[:300, 5] *= lifted
        arguments = products, (normals**2).sum(axis=1), gram, 4, grid, reach
        whole = np.empty((41, 4800))
        rival_draws(*arguments, everything, whole)
        found = _depths(*arguments, numbers[0])
        np.testing.assert_array_equal(_largest(found, numbers), _largest(whole, numbers))
        assert lifted > 1.0 or (found < whole).any()


def one_by_one(spec, nulls, row):
    """At how many levels each explanation of a table is rejected, of one row: residuals and fits made anew."""
    table, rivals, gate = spec.table, nulls.rivals, nulls.gate
    w, units = table.complement.T @ row, table.bases[:, 0]
    along, energy, columns = units @ w, w @ w, table.complement.T @ spec.outsiders.unit
    largest, codes = np.abs(along).max(), np.zeros(table.size, dtype=int)
    for e in range(table.size):
        residual = w - along[e] * units[e]
        radius = np.linalg.norm(residual)
        cell = min(np.searchsorted(rivals.grid, abs(along[e]) / radius, side="right") - 1, len(rivals.grid) - 1)
        if largest**2 > rivals.floor * energy:
            codes[e] = ((largest - abs(along[e])) / radius > rivals.limits[:, e, cell]).sum()
        if codes[e] > 0:
            continue  # the gate asks what rivals keep at the largest level
        beside = columns - np.outer(units[e], units[e] @ columns)
        norms = np.linalg.norm(beside, axis=0)
        is_seen = norms > 1e-6  # others are the explanation's own
        values = np.abs(residual @ beside[:, is_seen]) / norms[is_seen] / radius
        direction = table.complement @ residual / radius
        sums = [abs(direction[:-lag] @ direction[lag:]) for lag in spec.outsiders.lags]
        by_lags = (max(sums, default=0.0) > gate.lag_limits[:, e]).sum()
        codes[e] = max((values.max() > gate.column_limits[:, e]).sum(), by_lags)
    return codes


@pytest.mark.parametrize("case", ["lags and bumps", "columns alone"])
def test_what_is_left_of_a_signal_is_what_its_limits_say(bank, case):
    outsiders = ordered_axis(40) if case == "lags and bumps" else scanned(bank.lines[:, ::5], spectrum=False)
    spec = Rotation(bank.table, seed=3, outsiders=outsiders)
    levels = np.array([0.2, 0.02])
    judge, nulls = RotatedSignals(spec).block_judge(levels, 1, 1), tabulate(spec, levels, 1)
    rows, _ = bank.signals(np.repeat([0.0, 3.0, 6.0], 8), seed=21)
    found = judge(rows[:, None])
    assert found.codes.tolist() == [one_by_one(spec, nulls, row).tolist() for row in rows]
    assert 0.05 < found.kept(1).mean() < 0.95


def test_critical_values_are_those_of_sorted_draws_at_the_points_of_the_grid(bank):
    """Explanation 3: the K-th largest of the draws' depths, unless the tails in closed form are below.

    K is at most that of the exact test, and at least half of it at the larger level.
    """
    spec, levels, e = Rotation(bank.table, seed=8, outsiders=ordered_axis(40)), np.array([0.1, 0.01]), 3
    nulls = tabulate(spec, levels, 1)
    units = bank.table.bases[:, 0]
    count = enough(spec.draws, 0.08 * (1.0 - FAILURE), WANTED_RIVALS)
    normals = Draws(8, 0).normal((count, units.shape[1]))
    left = normals - np.outer(normals @ units[e], units[e])
    left /= np.linalg.norm(left, axis=1)[:, None]
    for point in (0, 10, 40):
        a = nulls.rivals.grid[point]
        depths = np.sort(np.maximum(np.abs((a * units[e] + left) @ units.T).max(axis=1) - a, 0.0))
        for number, level in enumerate(levels.tolist()):
            share = 0.8 * level * (1.0 - FAILURE)  # a fifth is the gate's
            failure = FAILURE * level / (3.0 * 13 * len(nulls.rivals.grid))
            (deciding,) = certified(np.array([share]), count, np.array([failure]))
            found = nulls.rivals.limits[number, e, point]
            assert found <= depths[-deciding] + 1e-6 * (1.0 + a)
            assert found >= 0.5 * depths[-int(share * count)]
            assert share * count * (0.5 if number == 0 else 0.1) < deciding < share * count


@pytest.mark.parametrize("level", [0.2, 0.01])
def test_limits_of_signs_are_quantiles_of_t(bank, level):
    spec = replace(bank.spec, companions=Companions(low=0.0))
    nulls = tabulate(spec, np.array([level]), 1)
    freedom = bank.table.complement.shape[1] - 1
    expected = t.isf(0.1 * level, freedom) / np.sqrt(freedom)
    assert nulls.rivals.sign_limits[0] == pytest.approx(expected, rel=1e-6)
    # The sign is that along the basis of the table, which may point the other way.
    turned = np.sign(np.einsum("em,me->e", bank.table.bases[1:, 0], bank.table.complement.T @ bank.lines))
    assert nulls.rivals.signs.tolist() == [0.0, *turned]


def test_tables_serve_what_they_can_and_nothing_else(bank):
    assert is_tabulated(bank.spec)
    assert is_tabulated(replace(bank.spec, companions=Companions(high=0.0)))
    assert not is_tabulated(replace(bank.spec, companions=Companions(low=-1.0)))
    assert not is_tabulated(replace(bank.spec, companions=Companions(least=0.5)))
    assert not is_tabulated(replace(bank.spec, companions=Companions(largest_noise=2.0)))
    assert not is_tabulated(replace(bank.spec, sigma=1.0))
    assert not is_tabulated(replace(bank.spec, rows="free", outsiders=None))
    assert not is_tabulated(Rotation(RotationTable(bank.lines, [(0,), (1, 2)])))
    waves = bank.lines * np.exp(1j * np.arange(12))
    assert not is_tabulated(Rotation(RotationTable(waves, [(i,) for i in range(12)])))


def test_tables_do_not_depend_on_threads(bank):
    one, two = (tabulate(bank.spec, np.array([0.1, 0.01]), threads) for threads in (1, 2))
    assert (one.rivals.limits == two.rivals.limits).all()
    assert (one.gate.column_limits == two.gate.column_limits).all()
    assert (one.gate.lag_limits == two.gate.lag_limits).all()


@pytest.mark.parametrize(
    ("outsiders", "repeats", "message"),
    [
        (scanned(np.ones((40, 1))), 1, "spectrum must be asked for of at least 3 rows, not 1"),
        (scanned(np.ones((40, 1))), 2, "spectrum must be asked for of at least 3 rows, not 2"),
        (ordered_axis(40), 4, "lags must be asked for of a single row, not 4 rows"),
        (scanned(np.ones((39, 1)), spectrum=False), 1, "outsiders must have shape"),
    ],
)
def test_outsiders_that_the_rows_of_a_signal_cannot_tell_are_refused_as_for_one_signal(
    bank, outsiders, repeats, message
):
    judge = RotatedSignals(replace(bank.spec, outsiders=outsiders))
    with pytest.raises(MisuseError, match=message):
        judge.block_judge(np.array([0.1]), 1, repeats)
