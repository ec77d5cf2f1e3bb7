"""Learnt states: from proposal rows alone, the same for the same seed, aligned, and near to the truth."""

import sys

import numpy as np
import pytest

from physupport import MisuseError
from physupport.banks import bootstrap_states, sparse_learner
from physupport.banks._learnt import match_atoms
from physupport.io import SplitRows, as_table, split_rows

Q, N_ATOMS, N_ROWS = 6, 3, 200


def planted(noise=0.05, seed=4):
    """Sparse combinations of three atoms that are at least 60 degrees apart."""
    rng = np.random.default_rng(seed)
    atoms = np.linalg.qr(rng.standard_normal((Q, N_ATOMS)))[0] @ np.array(
        [[1.0, 0.4, 0.0], [0.0, 1.0, 0.4], [0.0, 0.0, 1.0]]
    )
    atoms /= np.linalg.norm(atoms, axis=0)
    codes = (rng.random((N_ROWS, N_ATOMS)) < 0.3) * rng.standard_normal((N_ROWS, N_ATOMS))
    return atoms, codes @ atoms.T + noise * rng.standard_normal((N_ROWS, Q))


ATOMS, TABLE = planted()
SPLIT = split_rows(N_ROWS, 0.7, seed=1)


def principal(rows, n_atoms, seed):
    """A learner that is quick: directions of largest variance, in an order and with signs that depend on the seed."""
    rng = np.random.default_rng(seed)
    axes = np.linalg.svd(rows, full_matrices=False)[2][:n_atoms].T
    return axes[:, rng.permutation(n_atoms)] * rng.choice([-2.0, 3.0], n_atoms)


@pytest.fixture(scope="module")
def learned():
    return bootstrap_states(TABLE, SPLIT, N_ATOMS, n_states=3, seed=2)


def test_scikit_learn_finds_a_planted_dictionary(learned):
    assert learned.dictionaries.shape == (3, Q, N_ATOMS)
    # With 140 rows, 30 percent active and noise 0.05, each atom is seen some 40 times: an error near
    # 0.05 sqrt(5 / 40) = 0.018 from noise, and a few times that from the penalty and the resampling.
    for atoms in learned.dictionaries:
        assert match_atoms(ATOMS, atoms)[0] < 0.25
    np.testing.assert_allclose(np.linalg.norm(learned.dictionaries, axis=1), 1.0, rtol=1e-14)


def test_negative_control_directions_of_largest_variance_are_not_the_planted_ones():
    found = bootstrap_states(TABLE, SPLIT, N_ATOMS, n_states=1, learner=principal)
    assert match_atoms(ATOMS, found.dictionaries[0])[0] > 0.5


def test_atoms_stand_at_the_places_and_with_the_signs_of_the_first(learned):
    first = learned.dictionaries[0]
    assert learned.distances[0] == 0.0
    assert (learned.distances[1:] > 0.0).all()
    for atoms, distance in zip(learned.dictionaries, learned.distances, strict=True):
        inner = np.einsum("qj,qj->j", first, atoms)
        assert (inner > 0.9).all()
        # Sines computed from cosines near 1 are good to half the digits.
        assert np.sqrt(1.0 - np.minimum(1.0, inner**2)).max() == pytest.approx(distance, abs=1e-7)


def test_pairwise_distances_are_a_metric_that_starts_from_the_first(learned):
    apart = learned.pairwise()
    # Atoms were reordered and flipped since, which changes at most the last bit of a distance.
    np.testing.assert_allclose(apart[0], learned.distances, rtol=1e-14, atol=0.0)
    assert np.array_equal(apart, apart.T)
    assert (apart[:, :, None] <= apart[:, None] + apart.T[None] + 1e-14).all()


def test_the_same_seed_gives_the_same_states():
    again = [bootstrap_states(TABLE, SPLIT, N_ATOMS, n_states=3, seed=s, learner=principal) for s in (2, 2, 3)]
    assert np.array_equal(again[0].dictionaries, again[1].dictionaries)
    assert not np.array_equal(again[0].dictionaries[1:], again[2].dictionaries[1:])


def test_the_default_learner_is_determined_by_its_seed(learned):
    one = bootstrap_states(TABLE, SPLIT, N_ATOMS, n_states=2, seed=2)
    assert np.array_equal(one.dictionaries, learned.dictionaries[:2])


def test_resamples_are_as_many_proposal_rows_drawn_with_replacement():
    met = []

    def watch(rows, n_atoms, seed):
        met.append((rows.copy(), seed))
        rows[:] = 0.0  # what a learner does to its rows must not reach the next
        return principal(met[-1][0], n_atoms, seed)

    bootstrap_states(TABLE, SPLIT, N_ATOMS, n_states=3, seed=0, learner=watch)
    proposal = {row.tobytes() for row in TABLE[SPLIT.proposal]}
    assert np.array_equal(met[0][0], TABLE[np.sort(SPLIT.proposal)])
    for rows, _ in met[1:]:
        drawn = {row.tobytes() for row in rows}
        assert rows.shape == (140, Q)
        assert drawn <= proposal
        assert len(drawn) < 120  # of 140 draws some 89 are distinct, give or take 4
    assert len({seed for _, seed in met}) == 3


class Guarded:
    """A table that fails when any but the allowed rows are read."""

    def __init__(self, values, allowed):
        self.values, self.allowed, self.shape = values, {*allowed.tolist()}, values.shape

    def __getitem__(self, rows):
        if not {*np.asarray(rows).tolist()} <= self.allowed:
            raise AssertionError("a held-out row was read")
        return self.values[rows]


def test_held_out_rows_are_neither_read_nor_of_any_influence():
    free = bootstrap_states(TABLE, SPLIT, N_ATOMS, n_states=3, learner=principal)
    guarded = Guarded(TABLE, SPLIT.proposal)
    assert np.array_equal(
        bootstrap_states(guarded, SPLIT, N_ATOMS, n_states=3, learner=principal).dictionaries, free.dictionaries
    )
    poisoned = TABLE.copy()
    poisoned[SPLIT.held_out] = np.nan
    for table in (poisoned, as_table(poisoned, channels=1, label="calibration")):
        found = bootstrap_states(table, SPLIT, N_ATOMS, n_states=3, learner=principal)
        assert np.array_equal(found.dictionaries, free.dictionaries)


def test_negative_control_the_guard_sees_a_held_out_row():
    swapped = SplitRows(SPLIT.held_out, SPLIT.proposal)
    with pytest.raises(AssertionError, match="a held-out row was read"):
        bootstrap_states(Guarded(TABLE, SPLIT.proposal), swapped, N_ATOMS, learner=principal)


def test_without_scikit_learn_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.decomposition", None)
    with pytest.raises(MisuseError, match=r"scikit-learn is not installed.*physupport\[learn\].*learner of your own"):
        bootstrap_states(TABLE, SPLIT, N_ATOMS)


def spoiled(value):
    table = TABLE.copy()
    table[SPLIT.proposal[0], 2] = value
    return table


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bootstrap_states(TABLE[:-1], SPLIT, 3), r"table must have the 200 rows of the split, not shape \(199"),
        (lambda: bootstrap_states(TABLE[:, 0], SPLIT, 3), r"table must have the 200 rows of the split, not shape"),
        (lambda: bootstrap_states(TABLE, SPLIT.proposal, 3), "split must be of type SplitRows"),
        (lambda: bootstrap_states(TABLE * 1j, SPLIT, 3), "table must be real to learn a dictionary from it"),
        (
            lambda: bootstrap_states(spoiled(np.inf), SPLIT, 3),
            f"table must be finite, not inf in row {SPLIT.proposal[0]}, channel 2",
        ),
        (lambda: bootstrap_states(TABLE, SPLIT, 0), "n_atoms must be a whole number at least 1"),
        (lambda: bootstrap_states(TABLE, SPLIT, 3, n_states=0), "n_states must be a whole number at least 1"),
        (lambda: bootstrap_states(TABLE, SPLIT, 3, seed=-1), "seed must be a whole number at least 0"),
        (
            lambda: bootstrap_states(TABLE, SPLIT, 3, learner=lambda rows, n, seed: np.eye(3)),
            r"learner must give finite atoms of shape \(6, 3\), not shape \(3, 3\)",
        ),
        (
            lambda: bootstrap_states(TABLE, SPLIT, 2, learner=lambda rows, n, seed: np.eye(6)[:, :2] * [1, 0]),
            "learner must give atoms other than zero, but atom 1 is zero. Ask for fewer atoms",
        ),
        (lambda: bootstrap_states(0 * TABLE, SPLIT, 3), "rows must hold something else than zeros"),
        (lambda: sparse_learner(TABLE, 3, 0, penalty=0.0), "penalty must lie strictly between 0 and inf"),
        (lambda: sparse_learner(TABLE, 3, 0, max_iter=0), "max_iter must be a whole number at least 1"),
    ],
)
def test_misuse_is_refused_by_name(call, message):
    with pytest.raises(MisuseError, match=message):
        call()
