"""The space of learnt atoms: true atoms are kept at the level whatever the codes are, and the search is right."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom, chi2, kstest

from physupport import MisuseError
from physupport.judges.learnt import box_places, listed_places, rows_needed, signal_space
from physupport.judges.learnt._space import _singular
from physupport.responses import Formula

Q, N_ROWS, LEVEL, RUNS = 8, 400, 0.1, 250
AXIS = np.linspace(0.0, 1.0, Q)
PEAK = Formula("exp(-((t - x) / 0.15)**2 / 2) + 0.1 * cos(6 * (t - x))", axis=AXIS)
PLACES = np.array([0.21, 0.52, 0.83])


def unit(places):
    columns = PEAK(np.asarray(places)[:, None])
    return columns / np.linalg.norm(columns, axis=0)


def sparse(rng, n):
    return (rng.random((n, 3)) < 0.3) * rng.standard_normal((n, 3))


def dependent(rng, n):
    """Heavy tails, one atom never without another, and all of one sign."""
    codes = np.abs(rng.standard_t(2.5, (n, 3)))
    codes[:, 1] *= codes[:, 0] > 0.5
    return codes


def rows_of(rng, codes=sparse, deviation=0.05, n=N_ROWS):
    return codes(rng, n) @ unit(PLACES).T + deviation * rng.standard_normal((n, Q))


def lost(codes, shrink=1.0):
    """Data sets of which a true atom is excluded."""
    count = 0
    for run in range(RUNS):
        rows = rows_of(np.random.default_rng([7, run]), codes)
        space = signal_space(rows, 3, LEVEL)
        count += bool((space.distances(unit(PLACES), np.zeros(3)) > shrink).any()) or space.is_exceeded
    return count


@pytest.mark.parametrize("codes", [sparse, dependent])
def test_true_atoms_are_lost_in_at_most_the_level_of_the_data_sets(codes):
    assert binom.sf(lost(codes) - 1, RUNS, LEVEL) > 1e-6


def test_negative_control_the_same_count_exposes_a_region_that_is_too_small():
    assert binom.sf(lost(sparse, shrink=0.15) - 1, RUNS, LEVEL) < 1e-6


def test_the_statement_of_the_regression_is_nearly_exact():
    # |QRP (PRP)^-1/2|^2 N / sigma^2 is chi-square with n (q - n) degrees: its mean, to 5 standard errors of 200 sets.
    basis = np.linalg.qr(unit(PLACES))[0]
    found = []
    for run in range(200):
        rows = rows_of(np.random.default_rng([8, run]), dependent)
        moment = rows.T @ rows
        own = basis.T @ moment @ basis
        across = moment @ basis - basis @ own
        found.append(np.trace(across @ np.linalg.solve(own, across.T)) / 0.05**2)
    assert abs(np.mean(found) - 15.0) < 5.0 * np.sqrt(30.0 / 200)


WAVE = Formula("cos(20 * t * x)", axis=AXIS - 0.5, imaginary="sin(20 * t * x)")


def waves(places):
    columns = WAVE(np.asarray(places)[:, None])
    return columns / np.linalg.norm(columns, axis=0)


def complex_rows(rng, n=N_ROWS, places=PLACES):
    """Codes of any phase in circular noise, one of them real."""
    codes = sparse(rng, n) * np.exp(2j * np.pi * rng.random((n, 3)) * [1, 1, 0])
    noise = rng.standard_normal((n, Q, 2)) @ [1.0, 1.0j] / np.sqrt(2.0)
    return codes @ waves(places).T + 0.1 * noise


@pytest.mark.parametrize(("make", "atoms", "parts"), [(rows_of, unit, 1), (complex_rows, waves, 2)])
def test_residuals_of_an_atom_have_the_stated_law_and_no_other(make, atoms, parts):
    columns = atoms(PLACES)
    basis = np.linalg.qr(columns)[0]
    variance = 0.05**2 if parts == 1 else 0.1**2
    found = []
    for run in range(300):
        rows = make(np.random.default_rng([15, run]))
        moment = rows.T @ rows.conj() / N_ROWS
        within = basis.conj().T @ moment @ basis - variance * np.eye(3)
        v = basis @ np.linalg.solve(within, basis.conj().T @ columns[:, 1])
        e = moment @ v - basis @ (basis.conj().T @ moment @ v)
        found.append(parts * N_ROWS * np.linalg.norm(e) ** 2 / (variance * (v.conj() @ moment @ v).real))
    assert kstest(found, chi2(parts * (Q - 3)).cdf).pvalue > 1e-6
    assert kstest(found, chi2((3 - parts) * (Q - 3)).cdf).pvalue < 1e-6


@pytest.mark.parametrize("places", [PLACES, np.array([0.45, 0.53, 0.83])])
def test_atoms_and_pairs_of_complex_rows_are_lost_in_at_most_the_level_and_a_small_region_loses_more(places):
    found = np.zeros(2, dtype=int)
    for run in range(RUNS):
        space = signal_space(complex_rows(np.random.default_rng([16, run]), 800, places), 3, LEVEL)
        columns = waves(places)
        one = space.distances(columns, np.zeros(3))
        two = space.distances(np.array([columns[:, :2], columns[:, 1:]]), np.zeros((2, 2)))
        assert space.is_resolved
        found += [(np.append(one, two) > shrink).any() or space.is_exceeded for shrink in (1.0, 0.3)]
    assert binom.sf(found[0] - 1, RUNS, LEVEL) > 1e-6
    assert binom.sf(found[1] - 1, RUNS, LEVEL) < 1e-6


def test_complex_places_leave_a_run_around_each_atom():
    space = signal_space(complex_rows(np.random.default_rng(17)), 3, LEVEL)
    left = box_places(space, WAVE, np.zeros(1), np.ones(1), 0.05, most=100)
    ends = [component.ends for component in left.components]
    assert [component.capacity for component in left.components] == [1, 1, 1]
    assert all(low[0] <= place <= high[0] for (low, high), place in zip(ends, PLACES, strict=True))


@pytest.mark.parametrize("parts", [1, 2])
def test_singular_values_of_noise_are_within_their_bounds_and_the_bounds_are_near(parts):
    rng = np.random.default_rng(18)
    low, high = _singular(6, 200, parts, LEVEL)
    values = []
    for _ in range(300):
        normal = rng.standard_normal((parts, 6, 200)) / np.sqrt(parts)
        values.append(np.linalg.svd(normal[0] + (1j * normal[1] if parts == 2 else 0.0), compute_uv=False))
    most, least = np.array(values)[:, 0], np.array(values)[:, -1]
    assert binom.sf((most > high).sum() - 1, 300, LEVEL) > 1e-6
    assert binom.sf((least < low).sum() - 1, 300, LEVEL) > 1e-6
    assert (most > 0.7 * high).all()
    assert (least < 2.0 * low).all()


def test_a_place_that_is_no_atom_is_excluded_and_its_whole_piece_too():
    space = signal_space(rows_of(np.random.default_rng(1)), 3, LEVEL)
    assert space.is_resolved
    assert space.distances(unit([0.37]), np.zeros(1))[0] > 1.0
    rng = np.random.default_rng(2)
    middle = unit([0.37])
    lower = space.distances(middle, np.array([0.02]))[0]
    moves = rng.standard_normal((Q, 500))
    near = middle + 0.02 * moves / np.linalg.norm(moves, axis=0)
    assert (space.distances(near, np.zeros(500)) >= lower).all()


def test_a_line_of_places_leaves_a_run_around_each_atom_that_holds_one():
    space = signal_space(rows_of(np.random.default_rng(3), deviation=0.02, n=1000), 3, LEVEL)
    left = box_places(space, PEAK, np.zeros(1), np.ones(1), 0.05, most=100)
    ends = [component.ends for component in left.components]
    assert [component.capacity for component in left.components] == [1, 1, 1]
    assert all(low[0] <= place <= high[0] for (low, high), place in zip(ends, PLACES, strict=True))
    grid = np.linspace(0.0, 1.0, 2001)
    kept = space.distances(unit(grid), np.zeros(len(grid))) <= 1.0
    inside = np.any([(low[0] <= grid) & (grid <= high[0]) for low, high in ends], axis=0)
    assert inside[kept].all()  # nothing that a dense grid keeps is missed
    assert all(high[0] - low[0] < 0.1 for low, high in ends)


NEAR = np.array([0.47, 0.53, 0.83])


def test_a_run_of_two_atoms_that_cannot_be_told_apart_holds_two():
    rng = np.random.default_rng(12)
    rows = sparse(rng, 1000) @ unit(NEAR).T + 0.05 * rng.standard_normal((1000, Q))
    left = box_places(signal_space(rows, 3, LEVEL), PEAK, np.zeros(1), np.ones(1), 0.05, most=100)
    assert [component.capacity for component in left.components] == [2, 1]
    assert left.components[0].ends[0][0] < NEAR[0] < NEAR[1] < left.components[0].ends[1][0]


def bent(low, high):
    """Enclosures of second derivatives over parts of an interval."""
    edges = np.linspace(low, high, 65)
    second = PEAK.form().jets(edges[None, :-1], edges[None, 1:])[0].second[0][0]
    return second.low, second.high


def test_a_normal_is_above_zero_for_every_space_of_the_region_and_for_none_much_farther_off():
    rng = np.random.default_rng(14)
    space = signal_space(sparse(rng, 1000) @ unit(NEAR).T + 0.05 * rng.standard_normal((1000, Q)), 3, LEVEL)
    low, high = bent(0.40, 0.57)
    y = space.normal(low, high)
    assert y is not None
    strong, weak = np.split(space.values, [3])
    inner, outer = np.split(space.vectors.T, [3])
    weights = strong / (strong - weak[:, None]) ** 2
    least = []
    for vector in (0.5 * (low + high)).T:
        worst = y[:, None] * weights * (inner @ vector)  # the direction of G in which the product falls fastest
        worst *= space.width / np.sqrt((worst**2 / weights).sum())
        least.append([(outer.T @ y - scale * inner.T @ worst.T @ y) @ vector for scale in (1.0, 30.0)])
    assert np.min(least, axis=0)[0] > 0.0
    assert np.min(least, axis=0)[1] < 0.0
    assert replace(space, width=30.0 * space.width).normal(low, high) is None
    assert space.normal(*bent(0.0, 1.0)) is None  # which holds three atoms


def test_listed_places_that_exclude_each_other_hold_one_atom():
    space = signal_space(rows_of(np.random.default_rng(4), deviation=0.02), 3, LEVEL)
    places = np.sort(np.append(PLACES, [0.1, 0.37, 0.7]))[:, None]
    left = listed_places(space, unit(places[:, 0]), places, most=100)
    assert sorted(left.low[:, 0].tolist()) == PLACES.tolist()
    assert left.capacity == 3


def test_what_does_not_stand_out_of_the_noise_excludes_nothing_and_says_how_many_rows_would():
    space = signal_space(rows_of(np.random.default_rng(5), deviation=1.0), 3, LEVEL)
    assert not space.is_resolved
    assert (space.distances(unit(np.linspace(0.0, 1.0, 9)), np.zeros(9)) == 0.0).all()
    needed = rows_needed(space)
    assert needed is not None
    assert needed > N_ROWS


def test_more_atoms_than_were_learnt_are_seen():
    assert signal_space(rows_of(np.random.default_rng(6)), 2, LEVEL).is_exceeded


def test_pairs_that_nothing_bounds_are_kept_and_one_atom_is_no_pair():
    space = signal_space(rows_of(np.random.default_rng(20), deviation=0.02), 3, LEVEL)
    pair = np.array([unit([0.3]), unit([0.6])])
    assert space.distances(pair, np.zeros((2, 1)))[0] > 1.0
    assert replace(space, widths=(space.widths[0], np.inf)).distances(pair, np.zeros((2, 1)))[0] == 0.0
    rng = np.random.default_rng(21)
    rows = rng.standard_normal((N_ROWS, 1)) @ unit(PLACES[:1]).T + 0.02 * rng.standard_normal((N_ROWS, Q))
    left = box_places(signal_space(rows, 1, LEVEL), PEAK, np.zeros(1), np.ones(1), 0.05, most=100)
    assert [component.capacity for component in left.components] == [1]


def test_two_atoms_in_a_plane_leave_runs_that_are_not_joined():
    flat = Formula("exp(-((t - x) / 0.2)**2) + y * t", axis=AXIS, places="x y")
    atoms = flat(np.array([[0.2, 0.3], [0.8, 0.7]]))
    rng = np.random.default_rng(22)
    rows = rng.standard_normal((4000, 2)) @ (atoms / np.linalg.norm(atoms, axis=0)).T + 0.01 * rng.standard_normal(
        (4000, Q)
    )
    left = box_places(signal_space(rows, 2, LEVEL), flat, np.array([0.1, 0.2]), np.array([0.9, 0.8]), 0.1, most=100)
    assert len(left.components) >= 2
    assert {component.capacity for component in left.components} == {2}


def test_too_few_rows_are_refused():
    with pytest.raises(MisuseError, match="have at least 16 rows for 8 channels"):
        signal_space(np.zeros((15, Q)), 3, LEVEL)
