"""The bracket of an orbit's diameter: what it holds, how it shrinks, and how often the truth is lost."""

from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import binom

from physupport import MisuseError
from physupport.banks import hausdorff_distance
from physupport.local.orbit import Orbit, OrbitEvidence, orbit_bracket
from physupport.local.orbit._bracket import halves

TRUTH, LEVEL, ACTIVE = (0.3, 0.2, 0.22), 0.1, (0,)
RUNS, FEW, UNLUCKY = 100, 60, 1e-6


def bracket(orbit, rows, **settings):
    return orbit_bracket(rows[: len(rows) // 2], rows[len(rows) // 2 :], orbit, ACTIVE, LEVEL, **settings)


def within(orbit, noise, activity):
    """The same orbit with narrower ranges."""
    lower, upper = ([ends[0], *nuisance] for ends, nuisance in zip(
        (orbit.lower, orbit.upper), zip(noise, activity, strict=True), strict=True))  # fmt: skip
    return Orbit(orbit.turning, orbit.resting, orbit.generators, np.array(lower), np.array(upper))


def test_the_outer_bracket_shrinks_with_calibration_data_and_stays_around_the_inner_one(whole_orbit, draw_rows):
    orbit, rng = within(whole_orbit(), (0.15, 0.25), (0.18, 0.26)), np.random.default_rng(11)
    results = [bracket(orbit, draw_rows(orbit, TRUTH, n, rng), tolerance=0.25) for n in (2**12, 2**14, 2**16)]
    for each in results:
        assert 0.0 < each.inner <= each.outer <= each.whole
        assert each.outer <= 1.25 * max(each.inner, 0.1 * each.whole) + 1e-9  # the tolerance, reached
        assert each.holds(TRUTH)
    outer = [each.outer for each in results]
    # Four times the rows halve a regular coordinate; the half of it is asked for.
    assert outer[0] < 0.3 * results[0].whole
    assert outer[1] < 0.75 * outer[0]
    assert outer[2] < 0.75 * outer[1]


def test_every_law_of_a_lattice_that_is_kept_lies_in_a_cell_and_within_the_outer_bracket(
    whole_orbit, draw_rows, log_likelihood
):
    orbit = whole_orbit(0.8)
    rows = draw_rows(orbit, TRUTH, 400, np.random.default_rng(5))
    result = bracket(orbit, rows)
    evidence = OrbitEvidence.of_rows(orbit, rows[:200], rows[200:], LEVEL)
    laws = np.array(list(product(np.linspace(-1.0, 1.0, 41), np.linspace(0.1, 0.4, 5), np.linspace(0.15, 0.3, 3))))
    values = np.array([log_likelihood(orbit, rows[200:], law) for law in laws])
    kept = laws[values >= evidence.threshold[1]]
    assert len(kept) > 10
    assert all(result.holds(law) for law in kept)
    atoms = [orbit.atoms(law[None, :1])[0][:, ACTIVE] for law in kept[np.unique(kept[:, 0], return_index=True)[1]]]
    widest = max(hausdorff_distance(a, b) for a, b in product(atoms, atoms))
    assert widest <= result.outer


def test_the_mixture_of_opponents_is_what_it_says(whole_orbit, draw_rows, log_likelihood):
    orbit = whole_orbit()
    rows = draw_rows(orbit, TRUTH, 60, np.random.default_rng(6))
    evidence = OrbitEvidence.of_rows(orbit, rows[:30], rows[30:], LEVEL)
    weights = np.array([log_likelihood(orbit, rows[:30], law) for law in evidence.opponents])
    scores = np.array([log_likelihood(orbit, rows[30:], law) for law in evidence.opponents])
    wanted = logsumexp(weights - logsumexp(weights) + scores) + np.log(LEVEL)
    assert evidence.threshold[0] - 1e-9 <= wanted <= evidence.threshold[1] + 1e-9


def test_whenever_the_search_ends_the_outer_number_holds(whole_orbit, draw_rows):
    orbit = whole_orbit()
    rows = draw_rows(orbit, TRUTH, 2**12, np.random.default_rng(7))
    results = [bracket(orbit, rows, most_laws=most) for most in (1, 500, 2000, 20_000)]
    outers = [each.outer for each in results]
    assert all(each.n_laws <= max(most, 133) for each, most in zip(results, (1, 500, 2000, 20_000), strict=True))
    assert outers == sorted(outers, reverse=True)
    assert outers[0] == results[0].whole
    assert all(each.inner <= outers[-1] for each in results)
    assert all(each.holds(TRUTH) for each in results)


def test_rows_of_no_law_of_the_box_are_not_noticed_here_and_something_is_always_kept(whole_orbit):
    rows = np.random.default_rng(8).standard_normal((400, 3)) * np.repeat([10.0, 0.01], 200)[:, None]
    result = bracket(whole_orbit(), rows, tolerance=0.5)
    assert len(result.cells)
    assert 0.0 <= result.inner <= result.outer


def test_a_known_noise_or_activity_is_a_range_of_one_point(whole_orbit, draw_rows):
    orbit = whole_orbit()
    rows = draw_rows(orbit, TRUTH, 2**12, np.random.default_rng(9))
    known = bracket(within(orbit, (0.2, 0.2), (0.22, 0.22)), rows)
    assert known.holds(TRUTH)
    assert known.n_laws < bracket(orbit, rows).n_laws


def lost(orbit, draw_rows, runs):
    """Data sets that lose their law, drawn anywhere in the box, with the cell that holds it."""
    rng, count = np.random.default_rng(2026), 0
    for _ in range(runs):
        law = rng.uniform(orbit.lower, orbit.upper)
        rows = draw_rows(orbit, law, 1000, rng)
        evidence = OrbitEvidence.of_rows(orbit, rows[:500], rows[500:], LEVEL)
        cells = np.array([[orbit.lower, orbit.upper]])
        for axis in (0, 1, 2, 0):
            cells = evidence.left(halves(cells, np.full(len(cells), axis)))
        count += not np.any(np.all((cells[:, 0] <= law) & (law <= cells[:, 1]), axis=1))
    return count


def test_a_law_anywhere_in_the_box_is_lost_no_oftener_than_the_level_says(whole_orbit, draw_rows):
    assert binom.sf(lost(whole_orbit(0.8), draw_rows, RUNS) - 1, RUNS, LEVEL) > UNLUCKY


def test_negative_control_cells_judged_by_their_corners_alone_lose_it(whole_orbit, draw_rows, monkeypatch):
    monkeypatch.setattr(Orbit, "rises", lambda self, lower, upper, rows: np.zeros_like(lower))
    assert binom.sf(lost(whole_orbit(0.8), draw_rows, FEW) - 1, FEW, LEVEL) < UNLUCKY


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"proposal": np.empty((0, 3))}, "proposal must hold at least one row"),
        ({"held_out": np.empty((0, 3))}, "held_out must hold at least one row"),
        ({"active": (7,)}, "active"),
        ({"level": 1.0}, "level"),
        ({"tolerance": 0.0}, "tolerance"),
    ],
)
def test_what_cannot_be_asked_is_refused(change, message, whole_orbit):
    rows = np.random.default_rng(0).standard_normal((10, 3))
    asked = {"proposal": rows, "held_out": rows, "orbit": whole_orbit(), "active": ACTIVE, "level": LEVEL}
    with pytest.raises(MisuseError, match=message):
        orbit_bracket(**(asked | change))
