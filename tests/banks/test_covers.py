"""A cover keeps the level wherever in its box the truth lies; the same grid without it does not."""

import numpy as np
import pytest
from scipy.stats import binom, norm

from physupport import MisuseError
from physupport.banks import Cover, Moved, cover_boxes
from physupport.laws import make_law
from physupport.responses import CircularArray, Formula, NearFieldArray, Parameter, Peak, UniformLinearArray

RUNS, ALPHA, UNLUCKY = 2000, 0.1, 1e-6
AXIS = np.linspace(0.0, 1.0, 30)
SENSORS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.5, -0.3]])
SETTINGS = {
    "linear array": (UniformLinearArray(8, 0.5), [(-30.0, 50.0)]),
    "circular array": (CircularArray(7, 0.8), [(-180.0, 180.0)]),
    "near field": (NearFieldArray(SENSORS, 0.7), [(2.0, 2.4), (2.0, 2.3)]),
    "gaussian peak": (Peak(AXIS, 0.06), [(0.1, 0.9)]),
    "formula": (Formula("exp(-((t - x) / 0.07)**2 / 2) + 0.1 * t", AXIS), [(0.2, 0.8)]),
}


def unit(response, places):
    answers = np.asarray(response(places))
    real = (
        np.stack([answers.real, answers.imag], axis=1).reshape(-1, len(places)) if np.iscomplexobj(answers) else answers
    )
    return real / np.linalg.norm(real, axis=0)


def covered(name, **options):
    response, box = SETTINGS[name]
    return response, cover_boxes(response, {"box": box}, snr=20.0, **options)


def drawn(cells, count, seed):
    """Places anywhere in the box, and their cells."""
    truth = np.random.default_rng(seed).uniform(cells.low, cells.high, (count, len(cells.low)))
    return truth, np.array([cells.cell_of(place) for place in truth])


def moves(response, cover, truth, at):
    """(RUNS,) how far the answers of truths are from what the explanation of their cell can have at best."""
    cells = cover.regions["box"]
    gap = unit(response, truth) - unit(response, cells.places[at])
    if cover.tangents:  # the law of the cell with tau = s x, which its cone holds
        gap = gap - np.einsum("kqe,ek->qe", cover.tangent_columns()[:, :, at], truth - cells.places[at])
    return np.linalg.norm(gap, axis=0)


@pytest.mark.parametrize("tangents", [False, True])
@pytest.mark.parametrize("name", SETTINGS)
def test_no_place_of_a_cell_is_farther_from_its_centre_than_is_said(name, tangents):
    response, cover = covered(name, eta=2.0, tangents=tangents)
    assert cover.eta <= 2.0 * (1.0 + 1e-8)
    cells = cover.regions["box"]
    rng = np.random.default_rng(1)
    at = rng.integers(0, len(cells.places), 2000)
    corners = cells.places[at] + cells.half * rng.choice([-1.0, 1.0, 0.3], (2000, len(cells.low)))
    apart = 20.0 * moves(response, cover, corners, at)
    assert apart.max() <= cover.eta
    assert apart.max() > (0.1 if tangents else 0.2) * cover.eta  # and the bound is not far too large


@pytest.mark.parametrize("name", SETTINGS)
def test_tangents_need_fewer_cells_than_points_and_a_larger_signal_more(name):
    plain, tangents = (covered(name, eta=0.5, tangents=flag)[1] for flag in (False, True))
    assert len(tangents.places) < len(plain.places)
    response, box = SETTINGS[name]
    assert len(cover_boxes(response, {"box": box}, snr=40.0).places) > len(plain.places)


def lost(apart, cover, level, seed=3):
    """How often the cell of a truth is rejected by the best test against where the truth lies."""
    along = 20.0 * apart + np.random.default_rng(seed).standard_normal(len(apart))
    return int(np.sum(along > norm.isf(level)))


@pytest.mark.parametrize("tangents", [False, True])
@pytest.mark.parametrize("name", SETTINGS)
def test_the_cell_of_the_truth_is_lost_in_at_most_the_level_of_the_data_sets(name, tangents):
    response, cover = covered(name, eta=2.0, tangents=tangents)
    apart = moves(response, cover, *drawn(cover.regions["box"], RUNS, 3))
    assert binom.sf(lost(apart, cover, cover.level(ALPHA)) - 1, RUNS, ALPHA) > UNLUCKY
    # Negative control: the same grid at the level itself, as if the truth always lay on it.
    assert binom.sf(lost(apart, cover, ALPHA) - 1, RUNS, ALPHA) < UNLUCKY


def spectra(sines, power, sign):
    """(RUNS,) the two eigenvalues of the best quadratic form that tells two sources apart, under one of them.

    In the plane of both, noise 1: the form is own own^T - middle middle^T, of trace 0 and determinant -sin^2; times the
    covariance of rows from the middle its trace is -power sin^2, and from the truth power sin^2.
    """
    trace = sign * power * sines**2
    root = np.sqrt(trace**2 + 4.0 * (1.0 + power) * sines**2)
    return (trace + root) / 2.0, (root - trace) / 2.0


@pytest.mark.parametrize("name", SETTINGS)
def test_a_law_that_moves_by_a_divergence_keeps_the_level_too(name):
    """Two rows of one random source: the best test of a covariance against another is that of Neyman and Pearson."""
    response, cover = covered(name, eta=1.0, unit=make_law("covariance", {}).cover_sizes.moved(1))
    assert not cover.unit.is_shift
    cells, power = cover.regions["box"], 20.0**2 / 2.0  # snr^2 = T power / noise, two rows, noise 1
    truth, at = drawn(cells, RUNS, 5)
    cosines = np.einsum("qe,qe->e", unit(response, truth), unit(response, cells.places[at]))
    sines = np.sqrt(np.maximum(1.0 - cosines**2, 1e-30))
    high, low = spectra(sines, power, -1.0)
    # Two rows make exponential variables of the squares: P(high E - low E' > c) = high / (high + low) exp(-c / high).
    drawn_high, drawn_low = spectra(sines, power, 1.0)
    rng = np.random.default_rng(6)
    form = drawn_high * rng.exponential(size=RUNS) - drawn_low * rng.exponential(size=RUNS)

    def rejected(level):
        share = high / (high + low)
        upper = high * np.log(np.maximum(share / level, 1.0))
        lower = low * np.log(np.minimum((1.0 - level) * (high + low) / low, 1.0))
        return int(np.sum(form > np.where(level <= share, upper, lower)))

    assert binom.sf(rejected(cover.level(ALPHA)) - 1, RUNS, ALPHA) > UNLUCKY
    # Negative control: the level itself, as if the truth always lay on the grid.
    assert binom.sf(rejected(ALPHA) - 1, RUNS, ALPHA) < UNLUCKY


@pytest.mark.parametrize("is_shift", [False, True])
def test_a_level_after_a_move_is_what_was_asked_for(is_shift):
    with pytest.raises(MisuseError, match="leave some level"):
        Moved(1e4, is_shift).level(1e-3)
    for kappa in (0.0, 1e-6, 0.1, 2.0):
        for alpha in (0.01, 0.05, 0.5, 0.9):
            before = Moved(kappa, is_shift).level(alpha)
            assert 0.0 < before <= alpha
            if is_shift:
                assert norm.cdf(norm.ppf(before) + np.sqrt(2.0 * kappa)) <= alpha * (1 + 1e-12)
                continue
            kl = alpha * np.log(alpha / before) + (1 - alpha) * np.log((1 - alpha) / (1 - before))
            assert kl >= kappa * (1 - 1e-9)
            assert kl <= kappa * (1 + 1e-6) + 1e-8


def test_divergences_of_laws_are_no_smaller_than_those_of_rows():
    """A covariance with one source has its divergence in closed form; counts by definition."""
    power, sine = 3.0, 0.2
    exact = 0.5 * power**2 / (1.0 + power) * sine**2  # of a row, noise 1
    chord = np.sqrt(2.0 - 2.0 * np.sqrt(1.0 - sine**2))
    assert exact <= make_law("covariance", {}).cover_sizes.moved(1).times(np.sqrt(power) * chord).kappa
    before, after = np.array([4.0, 9.0, 5.0]), np.array([4.6, 8.0, 5.3])
    counts = np.sum(after * np.log(after / before) - after + before)
    assert counts <= make_law("poisson", {}).cover_sizes.moved(1).times(np.linalg.norm(after - before) / 2.0).kappa
    shift = make_law("mean", {}).cover_sizes.moved(3)
    assert shift.is_shift
    assert shift.eta == pytest.approx(3.0)


def test_a_cover_is_a_library_of_cells_with_their_extent():
    cover = cover_boxes(Peak(AXIS, 0.06), {"line": [(0.1, 0.9)]}, snr=10.0, measure="mm")
    library = cover.library()
    assert library.ids[0].startswith("0.1 to ")
    assert library.ids[-1].endswith(" to 0.9 mm")
    assert np.isclose(library.extents.sum() * 2.0, 0.8)
    with pytest.raises(MisuseError, match="lie in the box"):
        cover.regions["line"].cell_of([0.95])
    pairs = cover_boxes(UniformLinearArray(4, 0.5), {"sky": [(-60.0, 60.0)]}, snr=5.0).library()
    assert pairs.responses.shape[0] == 8  # of four channels
    both = cover_boxes(Peak(AXIS, 0.06), {"a": [(0.1, 0.3)], "b": [(0.1, 0.3)]}, snr=10.0).library()
    assert both.ids[0].startswith("a: 0.1 to ")
    assert len({*both.ids}) == len(both.ids)


def test_parameters_are_covered_with_the_places_and_all_comes_back_from_a_document():
    parameters = [Parameter("width", [0.95, 1.05]), Parameter("position", [-0.01, 0.01])]
    for tangents in (False, True):
        cover = cover_boxes(
            Peak(AXIS, 0.08), {"line": [(0.3, 0.6)]}, snr=15.0, parameters=parameters, tangents=tangents, active=2
        )
        values = [each.values for each in cover.grid()]
        assert [len(each) for each in values] == cover.counts.tolist()
        assert values[0][0] - cover.halves[0] == pytest.approx(0.95)
        again = Cover.decode({"asked": 0.1} | cover.encode())
        assert again.encode() == cover.encode()
        assert again.level(0.1) == cover.level(0.1)
    assert np.allclose(again.proven()["line"].bends, cover.regions["line"].bounds.bends)


def test_what_has_no_proven_slope_is_refused_unless_a_bound_is_given():
    def table(places):
        return np.vstack([np.cos(places[:, 0]), np.sin(places[:, 0])])

    box = {"arc": [(0.0, 1.0)]}
    with pytest.raises(MisuseError, match="bound its own slopes"):
        cover_boxes(table, box, snr=10.0)
    cover = cover_boxes(table, box, snr=10.0, eta=0.5, slopes=[1.0])
    assert len(cover.places) in (10, 11)  # half of 1 / 10 times 10 is 0.5, up to rounding
    assert cover.is_given
    bent = cover_boxes(table, box, snr=10.0, eta=0.5, slopes=[1.0], bends=[[1.0]], tangents=True)
    assert len(bent.places) == 2  # 2/3 of half a cell's square times 10 is 0.42 for two cells, 1.7 for one
    with pytest.raises(MisuseError, match="be given with slopes"):
        cover_boxes(table, box, snr=10.0, slopes=[1.0], tangents=True)
    with pytest.raises(MisuseError, match="at least 0"):
        cover_boxes(table, box, snr=10.0, slopes=[-1.0])
    with pytest.raises(MisuseError, match="hold no sensor"):
        cover_boxes(NearFieldArray(SENSORS, 0.7), {"room": [(0.0, 2.0), (0.0, 2.0)]}, snr=10.0)
    with pytest.raises(MisuseError, match="at most 1048576 cells"):
        cover_boxes(table, box, snr=1e7, slopes=[1.0])
    with pytest.raises(MisuseError, match="low below high"):
        cover_boxes(table, {"arc": [(1.0, 0.0)]}, snr=1.0, slopes=[1.0])
    with pytest.raises(MisuseError, match="where the response is a table"):
        cover_boxes(None, box, snr=1.0)
    with pytest.raises(MisuseError, match="small enough"):
        cover_boxes(None, box, snr=10.0, slopes=[1.0], cells={"arc": [3]})
