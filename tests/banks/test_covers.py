"""A cover keeps the level wherever in its box the truth lies; the same grid without it does not."""

import numpy as np
import pytest
from scipy.stats import binom, norm

from physupport import MisuseError
from physupport.banks import cover_box
from physupport.responses import CircularArray, NearFieldArray, Peak, UniformLinearArray

RUNS, ALPHA, UNLUCKY = 2000, 0.1, 1e-6
AXIS = np.linspace(0.0, 1.0, 30)
SENSORS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.5, -0.3]])
SETTINGS = {
    "linear array": (UniformLinearArray(8, 0.5), [(-30.0, 50.0)]),
    "circular array": (CircularArray(7, 0.8), [(-180.0, 180.0)]),
    "near field": (NearFieldArray(SENSORS, 0.7), [(2.0, 3.0), (2.0, 2.6)]),
    "gaussian peak": (Peak(AXIS, 0.06), [(0.1, 0.9)]),
    "lorentzian peak": (Peak(AXIS, 0.05, "lorentzian"), [(0.2, 0.8)]),
}


def unit(response, places):
    answers = np.asarray(response(places))
    real = np.concatenate([answers.real, answers.imag]) if np.iscomplexobj(answers) else answers
    return real / np.linalg.norm(real, axis=0)


@pytest.mark.parametrize("name", [*SETTINGS, "pseudo-voigt peak"])
def test_no_place_of_a_cell_is_farther_from_its_centre_than_is_said(name):
    response, box = SETTINGS.get(name, (Peak(AXIS, 0.05, "pseudo-voigt"), [(0.2, 0.8)]))
    cover = cover_box(response, box, snr=20.0, eta=2.0)
    assert cover.eta <= 2.0 * (1.0 + 1e-12)
    rng = np.random.default_rng(1)
    cells = rng.integers(0, len(cover.places), 3000)
    moved = cover.places[cells] + cover.half * rng.choice([-1.0, 1.0, 0.3], (3000, len(box)))
    apart = 20.0 * np.linalg.norm(unit(response, moved) - unit(response, cover.places[cells]), axis=0)
    assert apart.max() <= cover.eta
    assert apart.max() > 0.2 * cover.eta  # and the bound is not far too large


def lost(response, box, cover, level, seed=3):
    """How often the cell of a truth anywhere in the box is rejected by the best test against where the truth lies."""
    rng, low, high = np.random.default_rng(seed), *np.array(box).T
    truth = rng.uniform(low, high, (RUNS, len(low)))
    cells = np.array([cover.cell_of(place) for place in truth])
    shift = 20.0 * (unit(response, truth) - unit(response, cover.places[cells]))  # (q, RUNS) in units of the noise
    size = np.linalg.norm(shift, axis=0)
    along = size + rng.standard_normal(RUNS)  # of the rows minus the centre, along the shift
    return int(np.sum(along > norm.isf(level)))


@pytest.mark.parametrize("name", SETTINGS)
def test_the_cell_of_the_truth_is_lost_in_at_most_the_level_of_the_data_sets(name):
    response, box = SETTINGS[name]
    cover = cover_box(response, box, snr=20.0, eta=2.0)
    assert binom.sf(lost(response, box, cover, cover.level(ALPHA)) - 1, RUNS, ALPHA) > UNLUCKY
    # Negative control: the same grid at the level itself, as if the truth always lay on it.
    assert binom.sf(lost(response, box, cover, ALPHA) - 1, RUNS, ALPHA) < UNLUCKY


def test_a_cover_is_a_library_of_cells_with_their_extent():
    cover = cover_box(Peak(AXIS, 0.06), [(0.1, 0.9)], snr=10.0)
    library = cover.library("line")
    assert library.ids[0].startswith("0.1 to ")
    assert library.ids[-1].endswith(" to 0.9")
    assert np.isclose(cover.half[0] * 2.0 * len(library.ids), 0.8)
    assert cover.level(0.05) == pytest.approx(norm.cdf(norm.ppf(0.05) - cover.eta))
    assert len(cover_box(Peak(AXIS, 0.06), [(0.1, 0.9)], snr=20.0).places) in (
        2 * len(library.ids),
        2 * len(library.ids) - 1,
    )
    with pytest.raises(MisuseError, match="lie in the box"):
        cover.cell_of([0.95])
    arrays = cover_box(UniformLinearArray(4, 0.5), [(-60.0, 60.0)], snr=5.0).library("sky")
    assert arrays.responses.shape[0] == 8  # pairs of four channels


def test_what_has_no_proven_slope_is_refused_unless_a_bound_is_given():
    def table(places):
        return np.vstack([np.cos(places[:, 0]), np.sin(places[:, 0])])

    with pytest.raises(MisuseError, match="bound its own slopes"):
        cover_box(table, [(0.0, 1.0)], snr=10.0)
    cover = cover_box(table, [(0.0, 1.0)], snr=10.0, eta=0.5, slopes=[1.0])
    assert len(cover.places) == 11  # half of 1 / 11 times 10 is the first below 0.5, rounding included
    with pytest.raises(MisuseError, match="hold no sensor"):
        cover_box(NearFieldArray(SENSORS, 0.7), [(0.0, 2.0), (0.0, 2.0)], snr=10.0)
    with pytest.raises(MisuseError, match="at most 1048576 cells"):
        cover_box(table, [(0.0, 1.0)], snr=1e7, slopes=[1.0])
    with pytest.raises(MisuseError, match="low below high"):
        cover_box(table, [(1.0, 0.0)], snr=1e7, slopes=[1.0])
