"""Parts of the rotation judge as textbooks define them: t tests, chi-square tests, ranks, and shares of a level."""

from dataclasses import asdict, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import chi2, norm, t

from physupport import MisuseError
from physupport.judges.rotation import (
    Companions,
    Draws,
    FreeRows,
    Levels,
    MeanRows,
    Outsiders,
    Rotation,
    RotationTable,
    Scan,
    ordered_axis,
    scanned,
)
from physupport.judges.rotation._free import hermitian_coordinates
from physupport.judges.rotation._rows import Contest, Counts, count_margins, most_rejected
from physupport.judges.rotation._table import OUTSIDERS, SPECTRA, bumps, leading_share, leading_shares


def mean_rows(table, rows, draws, seed, penalty, sigma=None, **settings):
    return MeanRows(Rotation(table, "same mean", seed, draws, penalty=penalty, sigma=sigma, **settings), rows)


def free_rows(table, rows, draws, seed, penalty, sigma=None):
    return FreeRows(Rotation(table, "free", seed, draws, penalty=penalty, sigma=sigma), rows)


Q = 20
SEEDS = st.integers(0, 2**32 - 1)


@pytest.fixture(scope="module")
def table(tools):
    """Pairs and single ones of six lines over a straight baseline."""
    supports = [(i,) for i in range(6)] + [(0, 3), (1, 4), (2, 5)]
    return RotationTable(tools.make_lines(Q, 6, 1.5), supports, tools.polynomial(Q, 1))


def make_rows(n_rows, seed=0, strength=4.0):
    rng = np.random.default_rng(seed)
    axis = np.arange(Q)
    line = np.exp(-0.5 * ((axis - 9.0) / 1.5) ** 2)
    return strength * line + 2.0 + 0.1 * axis + rng.standard_normal((n_rows, Q))


def least_squares(table, rows, e, tools):
    """Coefficients of the atoms, their variances over that of the noise, the residual energy and its freedom."""
    columns = tools.design(table, e)
    mean, count = rows.mean(axis=0), len(table.supports[e])
    fitted = np.linalg.lstsq(columns, mean, rcond=None)[0]
    energy = len(rows) * ((mean - columns @ fitted) ** 2).sum() + ((rows - mean) ** 2).sum()
    inverse = np.linalg.inv(columns.T @ columns) / len(rows)
    return fitted[:count], np.diag(inverse)[:count], energy, rows.size - columns.shape[1]


@pytest.mark.parametrize("sigma", [None, 1.0])
@pytest.mark.parametrize("n_rows", [1, 4])
def test_bounds_of_coefficients_are_one_sided_t_tests(n_rows, sigma, table, tools):
    rows = make_rows(n_rows)
    engine = mean_rows(table, rows, 19, 0, 1.0, sigma)
    for e in range(table.size):
        fitted, spread, energy, freedom = least_squares(table, rows, e, tools)
        error = np.sqrt(spread) * (sigma or np.sqrt(energy / freedom))
        below = norm.cdf if sigma else t(freedom).cdf
        low, high, least = 0.5, 2.5, 3.0
        tests = {
            "low": below((fitted - low) / error),
            "high": below((high - fitted) / error),
            "least": below((np.abs(fitted) - least) / error),
        }
        for name, p in tests.items():
            bound = {"low": low, "high": high, "least": least}[name]
            assert Companions(**{name: bound}).p_value(engine, e) == pytest.approx(min(1.0, len(p) * p.min()), rel=1e-6)
        every = np.concatenate([tests["low"], tests["high"], tests["least"]])
        together = Companions(low=low, high=high, least=least).p_value(engine, e)
        assert together == pytest.approx(min(1.0, len(every) * every.min()), rel=1e-6)


def test_bounds_of_each_atom_are_its_own_and_infinite_ones_say_nothing(table, tools):
    rows = make_rows(2)
    engine = mean_rows(table, rows, 19, 0, 1.0)
    low = np.full(6, -np.inf)
    low[3] = 1.0
    for e in range(table.size):
        fitted, spread, energy, freedom = least_squares(table, rows, e, tools)
        p = Companions(low=low).p_value(engine, e)
        if 3 not in table.supports[e]:
            assert p == 1.0
            continue
        own = table.supports[e].index(3)
        ratio = (fitted[own] - 1.0) / np.sqrt(spread[own] * energy / freedom)
        assert p == pytest.approx(t.cdf(ratio, freedom), rel=1e-6)


@pytest.mark.parametrize("n_rows", [1, 5])
def test_a_largest_noise_is_a_chi_square_test_of_the_residual(n_rows, table, tools):
    rows = make_rows(n_rows)
    engine = mean_rows(table, rows, 19, 0, 1.0)
    for e in range(table.size):
        _, _, energy, freedom = least_squares(table, rows, e, tools)
        for noise in (0.7, 1.0, 1.5):
            p = Companions(largest_noise=noise).p_value(engine, e)
            assert p == pytest.approx(chi2.sf(energy / noise**2, freedom), rel=1e-6)


def test_of_atoms_with_one_number_the_largest_p_value_counts(table, tools):
    rows = make_rows(1, seed=4)
    engine, e = mean_rows(table, rows, 19, 0, 1.0), 7
    fitted, spread, energy, freedom = least_squares(table, rows, e, tools)
    p = t.cdf((np.abs(fitted) - 3.0) / np.sqrt(spread * energy / freedom), freedom)
    marked = Companions(least=3.0, together=np.array([0, 1, 2, 3, 1, 5])).p_value(engine, e)
    assert marked == pytest.approx(p.max(), rel=1e-6)
    apart = Companions(least=3.0).p_value(engine, e)
    assert apart == pytest.approx(min(1.0, 2.0 * p.min()), rel=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"low": 0.0, "share": 0.0}, r"share must lie strictly between 0 and 1, not 0\.0"),
        ({"low": 0.0, "share": 1.0}, r"share must lie strictly between 0 and 1, not 1\.0"),
        ({"least": -1.0}, r"least must be finite and at least 0, not -1\.0"),
        ({"least": np.array([1.0, np.inf])}, "least must be finite and at least 0"),
        ({"largest_noise": 0.0}, "largest_noise must lie strictly between 0 and inf"),
        ({"low": np.array([0.0, 2.0]), "high": 1.0}, "companions must have low at most high"),
        ({}, "companions must bound the coefficients or the noise, but they bound neither"),
    ],
)
def test_companions_that_say_nothing_or_nonsense_are_refused(options, message):
    with pytest.raises(MisuseError, match=message):
        Companions(**options)


# ---------------------------------------------------------------------------------------------------------- outsiders


def directions(engine, e, draws, seed):
    """(B, m + 1) residual directions of draws under e: the scatter of repeated rows stands in the last place."""
    drawn = Draws(seed, OUTSIDERS)
    normals = drawn.normal((draws, len(engine.vector)))
    scatter = drawn.chi_square(engine.scatter_freedom, (draws,))
    projector = engine.bases[e].T @ engine.bases[e]
    left = np.column_stack([normals - normals @ projector, np.sqrt(scatter)])
    return left / np.linalg.norm(left, axis=1)[:, None]


@pytest.mark.parametrize("n_rows", [1, 4])
def test_exceedances_along_columns_are_those_of_residual_directions(n_rows, table, tools):
    rows, draws = make_rows(n_rows, seed=2), 299
    columns = np.random.default_rng(1).standard_normal((Q, 7))
    judge = Rotation(table, draws=99, gate_draws=draws, outsiders=Outsiders(columns)).judge(rows, 0.2)
    beside = table.complement.T @ columns
    for e in range(table.size):
        basis = judge.rows.bases[e]
        left = beside - basis.T @ (basis @ beside)
        unit = left / np.linalg.norm(left, axis=0)
        residual = judge.rows.residual(e)
        own = np.abs(residual @ unit) / np.sqrt(judge.rows.residuals(e)[0])
        drawn = np.abs(directions(judge.rows, e, draws, judge.spec.seed)[:, :-1] @ unit).max(axis=1)
        (finding,) = judge.rows.findings(e)
        assert finding.exceedances == (drawn >= own.max() - 1e-9).sum()
        assert finding.place == f"column {own.argmax()}"
        assert finding.p == (1 + finding.exceedances) / (draws + 1)


def test_exceedances_of_lags_are_those_of_residual_directions(table):
    rows, draws = make_rows(1, seed=3), 299
    judge = Rotation(table, draws=99, gate_draws=draws, outsiders=Outsiders(lags=(1, 2, 5))).judge(rows, 0.2)

    def largest(vectors):
        channels = vectors @ table.complement.T
        sums = [(channels[:, lag:] * channels[:, :-lag]).sum(axis=1) for lag in (1, 2, 5)]
        return np.abs(np.stack(sums, axis=1))

    for e in range(table.size):
        residual = judge.rows.residual(e)
        own = largest((residual / np.linalg.norm(residual))[None])[0]
        drawn = largest(directions(judge.rows, e, draws, judge.spec.seed)[:, :-1]).max(axis=1)
        (finding,) = judge.rows.findings(e)
        assert finding.exceedances == (drawn >= own.max() - 1e-9).sum()
        assert finding.place == f"lag {(1, 2, 5)[own.argmax()]}"


@pytest.mark.parametrize("is_complex", [False, True])
def test_the_leading_share_is_the_square_of_the_largest_singular_value_over_all(is_complex):
    rng = np.random.default_rng(7)
    matrix = rng.standard_normal((9, 4)) + (1j * rng.standard_normal((9, 4)) if is_complex else 0.0)
    values = np.linalg.eigvalsh(matrix.conj().T @ matrix)
    assert leading_share(matrix, 0.0) == pytest.approx(values[-1] / values.sum(), abs=1e-8)
    assert leading_share(matrix, 1.0) < leading_share(matrix, 0.0)  # less where a part may be rounding
    drawn = leading_shares(3, 4000, 9, 4, is_complex)
    assert ((drawn >= 1.0 / 4.0) & (drawn <= 1.0)).all()
    # Mean over draws of white rows, of which 4000 others tell the same within six deviations.
    whites = rng.standard_normal((4000, 9, 4)) + (1j * rng.standard_normal((4000, 9, 4)) if is_complex else 0.0)
    shares = np.linalg.svd(whites, compute_uv=False) ** 2
    shares = shares[:, 0] / shares.sum(axis=1)
    assert abs(shares.mean() - drawn.mean()) <= 6.0 * np.hypot(shares.std(), drawn.std()) / np.sqrt(4000)
    # A matrix and its transpose have the same, and the smaller one is drawn.
    assert (leading_shares(3, 50, 4, 9, is_complex) == leading_shares(3, 50, 9, 4, is_complex)).all()
    assert SPECTRA != OUTSIDERS


def test_hermitian_matrices_as_coordinates_have_the_trace_as_inner_product():
    rng = np.random.default_rng(8)
    for is_complex in (False, True):
        one, two = (m + m.conj().T for m in rng.standard_normal((2, 5, 5)) + (1j if is_complex else 0.0) * 0.7)
        product = hermitian_coordinates(one) @ hermitian_coordinates(two)
        assert product == pytest.approx(np.trace(one @ two).real, rel=1e-12)


def test_bumps_stand_everywhere_or_a_quarter_of_their_width_apart():
    columns, places = bumps(12, (1, 4, 8, 16))
    assert columns.shape == (12, 12 + 9 + 5)  # of one wider than the axis there is none
    assert places[0] == "channel 0"
    assert places[12] == "channels 0 to 3"
    assert (columns[:, 12] == np.r_[np.ones(4), np.zeros(8)]).all()
    thin, fewer = bumps(12, (1, 4, 8), is_thin=True)
    assert [place for place in fewer if place.startswith("channels")][-3:] == [
        "channels 0 to 7", "channels 2 to 9", "channels 4 to 11"]  # fmt: skip
    assert thin.shape[1] == 12 + 9 + 3  # steps of 1, 1 and 2
    assert len(ordered_axis(12, (1, 4), (1, 20)).lags) == 1  # no lag beyond the axis


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Scan("some"), "elements must be one of 'rest', 'none', not 'some'"),
        (lambda: Scan(share=0.0), r"share must lie strictly between 0 and 1, not 0\.0"),
        (lambda: Outsiders(np.ones((4, 1)), share=1.0), r"share must lie strictly between 0 and 1, not 1\.0"),
        (lambda: Outsiders(lags=(1.5,)), "lags must be whole numbers"),
    ],
)
def test_outsiders_of_no_sense_are_refused(make, message):
    with pytest.raises(MisuseError, match=message):
        make()


def test_a_scan_is_read_back():
    for scan in (Scan(), Scan("none", 0.35)):
        assert Scan(**asdict(scan)) == scan


# ------------------------------------------------------------------------------------------------------------- levels


@settings(max_examples=100)
@given(
    level=st.floats(1e-4, 0.9),
    share=st.floats(0.01, 0.99),
    beside=st.floats(0.01, 0.99),
    n_parts=st.integers(0, 2),
    has_companions=st.booleans(),
)
def test_shares_of_a_level_make_up_the_level(level, share, beside, n_parts, has_companions):
    """Rivals and parts of the gate by their sum, companions by the product rule: the probabilities of the panel."""
    parts = [None, Outsiders(lags=(1,), share=share), Outsiders(np.ones((4, 1)), lags=(1,), share=share)]
    companions = Companions(low=0.0, share=beside) if has_companions else None
    found = Levels.of(level, companions, parts[n_parts])
    rotations = found.rivals + n_parts * found.gate
    assert 1.0 - (1.0 - found.companions) * (1.0 - rotations) == pytest.approx(level, rel=1e-9)
    assert found.rivals > 0.0
    assert (found.companions > 0.0) == has_companions
    more = Levels.of(level, companions, replace(parts[1], share=0.5 * share)) if n_parts == 1 else None
    if more is not None:  # what the gate gets is taken from the rivals
        assert more.gate < found.gate
        assert more.rivals > found.rivals


@settings(max_examples=60)
@given(seed=SEEDS, penalty=st.floats(0.0, 3.0), sigma=st.sampled_from([0.0, 0.7]))
def test_the_best_score_is_the_best_penalised_fit(seed, penalty, sigma):
    """Ranked as (n/2) log(E / RSS_j) - lambda r_j, or with known noise as fits less their price."""
    rng = np.random.default_rng(seed)
    energy, n = 10.0, 24
    fits, ranks = rng.uniform(0.0, 9.9, 6), rng.integers(0, 4, 6)
    contest = Contest.of(fits, ranks, energy, n, penalty, sigma)
    gains = fits / (2.0 * sigma**2) if sigma else 0.5 * n * np.log(energy / (energy - fits))
    penalised = gains - penalty * ranks
    assert np.argmax(contest.scores) == np.argmax(penalised)
    best = penalised.max()
    # A rival reaches the statistic exactly at the energy that is said.
    least = contest.least(np.zeros(6))
    with np.errstate(invalid="ignore", divide="ignore"):
        reached = least / (2.0 * sigma**2) if sigma else 0.5 * n * np.log(energy / (energy - least))
    np.testing.assert_allclose(reached - penalty * ranks, best, rtol=1e-6, atol=1e-6)
    assert (contest.least(np.full(6, 0.1)) <= least).all()  # rounding can keep


def test_a_penalty_beyond_double_precision_is_refused(table):
    with pytest.raises(MisuseError, match="penalty must make at most 150 times"):
        mean_rows(table, make_rows(1), 19, 0, 1e5).rivals(np.arange(2), 0.5)


@settings(max_examples=100)
@given(level=st.floats(0.02, 0.9), off=st.integers(-2, 2))
def test_a_margin_is_positive_exactly_if_the_p_value_is_at_most_its_level(level, off):
    """Counts around the border, where one draw decides."""
    counted = min(max(int(200 * level) + off, 0), 199)
    counts = Counts(np.array([counted]), np.array([counted]), np.array([np.inf]))
    (lower,), (upper,) = count_margins(counts, level, 199, is_screened=False)
    assert lower == upper
    assert (lower > 0.0) == (Fraction(1 + counted, 200) <= Fraction(level))
    # Of the screened test a hundredth of the level is the screen's.
    (least,), _ = count_margins(counts, level, 199)
    assert (least > 0.0) == (Fraction(1 + counted, 200) <= Fraction(0.99 * level))
    screened = Counts(np.array([counted]), np.array([counted]), np.array([0.005 * level]))
    assert count_margins(screened, level, 199)[0][0] > 0.0
    assert most_rejected(level, 199) == int(200 * Fraction(level))


# ------------------------------------------------------------------------------------------------------- invariances


def counts_of(table, rows, kind=mean_rows, **options):
    engine = kind(table, rows, 99, 3, 1.5, **options)
    return engine.rivals(np.arange(table.size), 0.2, is_full=True).least


@pytest.mark.parametrize("n_rows", [1, 4])
@pytest.mark.parametrize("kind", [mean_rows, free_rows])
def test_counts_do_not_depend_on_background_unit_sign_or_size_of_atoms(n_rows, kind, table, tools):
    if kind is free_rows and n_rows == 1:
        n_rows = 3
    rows = make_rows(n_rows, seed=6, strength=1.0)
    plain = counts_of(table, rows, kind)
    assert np.unique(plain).size > 2
    moved = rows + 7.0 * tools.polynomial(Q, 1) @ [1.0, -2.0]
    assert counts_of(table, moved, kind).tolist() == plain.tolist()
    assert counts_of(table, 1e-5 * rows, kind).tolist() == plain.tolist()
    assert counts_of(table, -rows, kind).shape == plain.shape
    turned = RotationTable(table.atoms * np.array([1.0, -1.0, 3.0, -0.1, 2.0, 1.0]), table.supports, table.background)
    assert counts_of(turned, rows, kind).tolist() == plain.tolist()


@settings(max_examples=10)
@given(order=st.permutations(range(9)), atoms=st.permutations(range(6)))
def test_counts_belong_to_explanations_in_whatever_order_they_and_their_atoms_are_listed(order, atoms):
    lines = np.exp(-0.5 * ((np.arange(Q)[:, None] - np.linspace(6, Q - 7, 6)) / 1.5) ** 2)
    supports, base = [(i,) for i in range(6)] + [(0, 3), (1, 4), (2, 5)], np.ones((Q, 1))
    place = {old: new for new, old in enumerate(atoms)}
    listed = [tuple(place[i] for i in supports[e]) for e in order]
    plain = counts_of(RotationTable(lines, supports, base), make_rows(2, seed=7))
    other = counts_of(RotationTable(lines[:, list(atoms)], listed, base), make_rows(2, seed=7))
    assert other.tolist() == plain[list(order)].tolist()


def test_an_explanation_that_is_listed_twice_has_the_same_count_twice_and_changes_no_other(table):
    rows = make_rows(1, seed=8)
    plain = counts_of(table, rows)
    double = RotationTable(table.atoms, [*table.supports, table.supports[2]], table.background)
    found = counts_of(double, rows)
    assert found[:-1].tolist() == plain.tolist()
    assert found[-1] == found[2]


def test_known_noise_that_is_the_truth_tells_no_less_than_unknown_on_average(table):
    """Strengths where both tell something: the mean number kept over forty rows."""
    kept = []
    for sigma in (None, 1.0):
        spec = Rotation(table, draws=99, sigma=sigma)
        kept.append(
            np.mean([(spec.judge(make_rows(1, s), 0.2).verdicts(np.arange(9)).codes != 1).sum() for s in range(40)])
        )
    assert kept[1] <= kept[0] + 0.5
    assert kept[1] < 8.0


def test_more_rows_of_the_same_mean_leave_less(table):
    spec = Rotation(table, draws=199, outsiders=scanned(np.eye(Q)[:, ::7], spectrum=False))

    def left(n_rows, seed):
        return (spec.judge(make_rows(n_rows, seed, 2.0), 0.1).verdicts(np.arange(9)).codes != 1).sum()

    sizes = [np.mean([left(n_rows, seed) for seed in range(24)]) for n_rows in (1, 2, 5)]
    assert sizes[0] > sizes[1] > sizes[2]
