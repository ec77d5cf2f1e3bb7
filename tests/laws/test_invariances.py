"""Invariance to the order of rows, the frame of the channels, the unit, and the order of elements."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from physupport.banks import Library, library_bank, product_grid
from physupport.io import ArrayRows, as_pairs
from physupport.laws import LAWS, Linear, laws_of_files, make_law

SIZE, ROWS = 7, 18
NAMES = ("a0", "a1", "b0", "b1")
BOX = {"box": ([-2.0, -1.0], [2.0, 3.0])}
# What law, with which options: a law that states its strengths stands here by its registration.  Counts have halves.
SIMPLE = [name for name in laws_of_files("calibration") + laws_of_files("deployment")
          if LAWS[name].has_strengths and not LAWS[name].is_linear and not LAWS[name].is_counted]  # fmt: skip
CASES = {
    **{name: (name, {}) for name in SIMPLE},
    "profiled mean": ("profiled mean", BOX),
    "gaussian, same mean": ("gaussian", {"rows": "same mean"}),
    "gaussian, free": ("gaussian", {"rows": "free"}),
    "gaussian, random": ("gaussian", {"rows": "random"}),
}
UNKNOWN = [name for name in CASES if name.startswith("gaussian")]
# Their noise has the same law in every frame; a law whose noise has not is left out here.
ROUND = ["latent", "known codes", "covariance", "mean", "profiled mean", *UNKNOWN]


def made_bank(atoms, order=range(4), scale=1.0, power=1, has_noise=True):
    """Two regions of two elements; strengths are amplitudes, or with power 2 variances, in units of the scale."""
    listed, order = [*NAMES], [*order]
    library = Library([listed[i] for i in order], [listed[i][0].upper() for i in order],
                      np.array(order, dtype=float)[:, None], atoms[:, order])  # fmt: skip
    grid = product_grid(noise=[0.4 * scale**2, 0.9 * scale**2]) if has_noise else None
    options = {} if grid is None else {"deployment": grid}
    calibration = product_grid(p=[0.2], noise=[0.5, 0.8])
    strength = 1.5 * scale**power
    return library_bank(library, ["A", "AB"], {"A": strength, "B": strength}, calibration=calibration, **options)


@cache
def frame():
    rng = np.random.default_rng(0)
    atoms = rng.standard_normal((SIZE, 4))
    turn = np.linalg.qr(rng.standard_normal((SIZE, SIZE)))[0]
    return atoms / np.linalg.norm(atoms, axis=0), turn


def background():
    return np.linspace(-1.0, 1.0, SIZE)[:, None] ** np.array([0, 1])


def law_of(name, bank, turn=None):
    kind, options = CASES[name]
    if kind == "gaussian":
        columns = background() if turn is None else turn @ background()
        return Linear(background=columns, **options).completed(bank)
    return make_law(kind, options).completed(bank)


def rows_of(seed, name="mean"):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((ROWS, SIZE)) + 0.5 * rng.standard_normal((ROWS, 1))
    return np.hstack([rows, rng.standard_normal((ROWS, 2))]) if name == "known codes" else rows


def turned(rows, turn):
    """The channels in another frame; codes stay."""
    return np.hstack([rows[:, :SIZE] @ turn.T, rows[:, SIZE:]])


def scores(law, bank, rows, checkpoints=(ROWS,)):
    """Log likelihoods of every explanation and their errors, (M,) each, at the last checkpoint."""
    keys = law.keys(bank)(np.arange(bank.size))
    stream = law.stream(bank, ArrayRows(np.ascontiguousarray(rows)), [*checkpoints])
    distinct, where = np.unique(keys, return_inverse=True)
    found = stream.log_likelihood(distinct)
    assert np.isfinite(found.values).all()
    return found.values[where], found.errors[where]


def agree(one, two, slack=1e-9):
    """Within what both prove, and a rounding of the inputs, which were turned or scaled."""
    (values, errors), (others, more) = one, two
    np.testing.assert_array_less(np.abs(values - others), errors + more + slack * (1.0 + np.abs(values)))


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=8)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_order_of_rows_does_not_matter_at_the_end(name, seed):
    bank = made_bank(frame()[0])
    law, rows = law_of(name, bank), rows_of(seed, name)
    agree(scores(law, bank, rows), scores(law, bank, np.random.default_rng(seed).permutation(rows)))


@pytest.mark.parametrize("name", ROUND)
@settings(max_examples=8)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_frame_of_the_channels_does_not_matter(name, seed):
    atoms, turn = frame()
    bank, other = made_bank(atoms), made_bank(turn @ atoms)
    rows = rows_of(seed, name)
    agree(scores(law_of(name, bank), bank, rows), scores(law_of(name, other, turn), other, turned(rows, turn)))


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=6)
@given(seed=st.integers(0, 2**32 - 1), order=st.permutations(range(4)))
def test_elements_listed_in_another_order_have_the_same_scores(name, seed, order):
    """Compared by what is active: names of the region's element, or none, noise and activity."""
    atoms, _ = frame()
    rows, found = rows_of(seed, name), []
    for listed in (range(4), order):
        bank = made_bank(atoms, listed)
        if bank.states.regions[0] != "A":  # codes come in the order of the atoms, which is that of the regions
            rows = np.hstack([rows[:, :SIZE], rows[:, SIZE:][:, ::-1]])
        values, errors = scores(law_of(name, bank), bank, rows)
        parts = bank.split(np.arange(bank.size))
        chosen = bank.states.library.ids
        elements = bank.states.element_index(parts.state)
        active = bank.strengths[parts.support] > 0.0
        entries = {}
        for e in range(bank.size):
            is_calibration = LAWS[CASES[name][0]].part == "calibration"
            told = {chosen[i] for i, is_on in zip(elements[e], active[e], strict=True) if is_calibration or is_on}
            nuisance = parts.calibration[e] if is_calibration else parts.deployment[e]
            entries[frozenset(told), int(nuisance)] = (values[e, 0], errors[e, 0])
        found.append(entries)
    assert found[0].keys() == found[1].keys()
    for key, (value, error) in found[0].items():
        other, more = found[1][key]
        assert abs(value - other) <= error + more + 1e-9 * (1.0 + abs(value)), key


@pytest.mark.parametrize(("name", "power"), [("covariance", 2), ("mean", 1)])
@pytest.mark.parametrize("scale", [1e-6, 0.03, 40.0, 1e7])
def test_another_unit_shifts_all_log_densities_alike(name, power, scale):
    """Every entry of a row has the Jacobian of the unit."""
    atoms, _ = frame()
    bank, other = made_bank(atoms), made_bank(atoms, scale=scale, power=power)
    rows = rows_of(3)
    plain, errors = scores(law_of(name, bank), bank, rows)
    scaled, more = scores(law_of(name, other), other, scale * rows)
    agree((plain - ROWS * SIZE * np.log(scale), errors), (scaled, more))


@pytest.mark.parametrize("name", UNKNOWN)
@pytest.mark.parametrize("scale", [1e-6, 0.03, 40.0, 1e7])
def test_another_unit_changes_no_evidence_where_nothing_is_known(name, scale):
    """Noise unknown: scores of all explanations shift alike, so that none gains on another."""
    bank = made_bank(frame()[0], has_noise=False)
    law, rows = law_of(name, bank), rows_of(4)
    plain, errors = scores(law, bank, rows)
    scaled, more = scores(law, bank, scale * rows)
    agree((plain - plain[:1], errors + errors[0]), (scaled - scaled[:1], more + more[0]))


@pytest.mark.parametrize("name", SIMPLE)
@settings(max_examples=8)
@given(seed=st.integers(0, 2**32 - 1), cut=st.integers(1, ROWS - 1))
def test_log_densities_of_independent_rows_add_up(name, seed, cut):
    bank = made_bank(frame()[0])
    law, rows = law_of(name, bank), rows_of(seed, name)
    (one, e_one), (two, e_two), (both, e_both) = (
        scores(law, bank, part, [len(part)]) for part in (rows[:cut], rows[cut:], rows)
    )
    agree((one + two, e_one + e_two), (both, e_both))


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=6)
@given(seed=st.integers(0, 2**32 - 1), cut=st.integers(6, ROWS - 1))
def test_a_checkpoint_tells_what_its_rows_alone_tell(name, seed, cut):
    """Rows that come later are not seen before."""
    bank = made_bank(frame()[0])
    law, rows = law_of(name, bank), rows_of(seed, name)
    values, errors = scores(law, bank, rows, [cut, ROWS])
    agree((values[:, :1], errors[:, :1]), scores(law, bank, rows[:cut], [cut]))


@pytest.mark.parametrize("name", ["profiled mean", *UNKNOWN])
@settings(max_examples=8)
@given(seed=st.integers(0, 2**32 - 1))
def test_more_active_atoms_never_fit_worse(name, seed):
    """Coefficients of the smaller support are those of the larger one with zeros; the box holds 0."""
    bank = made_bank(frame()[0])
    values, errors = scores(law_of(name, bank), bank, rows_of(seed))
    parts = bank.split(np.arange(bank.size))
    n_active = (bank.strengths > 0.0).sum(axis=1)
    for e in range(bank.size):
        wider = np.flatnonzero((parts.state == parts.state[e]) & (parts.deployment == parts.deployment[e])
                               & (n_active[parts.support] > n_active[parts.support[e]]))  # fmt: skip
        for other in wider:
            assert values[other, 0] >= values[e, 0] - errors[e, 0] - errors[other, 0]


@pytest.mark.parametrize("name", ["covariance", "mean"])
@pytest.mark.parametrize("phase", [0.3, 2.0])
def test_the_phase_of_the_channels_does_not_matter_to_complex_rows(name, phase):
    rng = np.random.default_rng(5)
    atoms = rng.standard_normal((SIZE, 4)) + 1j * rng.standard_normal((SIZE, 4))
    atoms /= np.linalg.norm(atoms, axis=0)
    rows = rng.standard_normal((ROWS, SIZE)) + 1j * rng.standard_normal((ROWS, SIZE))
    shift = np.exp(1j * phase * np.arange(SIZE))
    found = []
    for turn in (np.ones(SIZE), shift):
        bank = made_bank(as_pairs(turn[:, None] * atoms, axis=0))
        found.append(scores(make_law(name, {"is_complex": True}).completed(bank), bank, as_pairs(rows * turn)))
    agree(*found)
    if name == "covariance":  # sources have phases of their own, so that one phase for all changes nothing either
        bank = made_bank(as_pairs(atoms, axis=0))
        law = make_law(name, {"is_complex": True}).completed(bank)
        agree(found[0], scores(law, bank, as_pairs(np.exp(1j * phase) * rows)))


def test_every_law_with_scores_is_looked_at_here():
    assert {kind for kind, _ in CASES.values()} == {name for name, law in LAWS.items() if not law.is_counted}
