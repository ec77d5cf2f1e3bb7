"""The latent-code stream against the mixture, against a direct evaluation in balls, and against itself."""

import numba
import numpy as np
import pytest
from flint import arb, arb_mat, ctx

from physupport import MisuseError
from physupport.banks import array_states
from physupport.io import ArrayRows, ReadRows
from physupport.laws import (
    BernoulliGaussian,
    ExchangeableGaussian,
    calibration_mixture,
    latent_stream,
    make_calibration,
)
from physupport.laws._codes import support_masks
from physupport.laws.streams import _latent as latent

LAWS = {
    "all alike": (BernoulliGaussian(0.2), BernoulliGaussian(0.35), BernoulliGaussian(0.05)),
    "one variance, not one": (ExchangeableGaussian([0.1, 0.2, 0.3, 0.4], [0.0, 2.5, 2.5, 2.5]), BernoulliGaussian(0.2)),
    "variance by size": (ExchangeableGaussian([0.1, 0.2, 0.3, 0.4], [0.0, 3.0, 1.0, 0.5]),),
    "two active": (ExchangeableGaussian([0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 1.0, 0.0]),),
    "never all, with two variances": (ExchangeableGaussian([0.3, 0.3, 0.4, 0.0], [0.0, 1.0, 2.0, 0.0]),),
    "silent": (ExchangeableGaussian([1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]), BernoulliGaussian(0.3)),
}


def dictionaries(rng, n_states, q, n):
    atoms = rng.standard_normal((n_states, q, n))
    return atoms / np.linalg.norm(atoms, axis=1, keepdims=True)


ONE_LAW = (BernoulliGaussian(0.2),)


def example(q, n, laws=ONE_LAW, n_rows=200, checkpoints=(1, 70, 200), seed=0, n_states=2, **source):
    rng = np.random.default_rng(seed)
    atoms = dictionaries(rng, n_states, q, n)
    noises = np.linspace(0.3, 1.2, len(laws))
    rows = make_calibration(laws[0], atoms[0], 0.5, rng, n_rows)
    return latent_stream(ArrayRows(rows, **source), array_states(atoms), laws, noises, checkpoints), rows, atoms


def direct(rows, atoms, law, noise, bits=200):
    """Log likelihood of all rows in balls, every covariance inverted for itself."""
    before, ctx.prec = ctx.prec, bits
    n, q = atoms.shape[1], len(atoms)
    total = [arb(0) for _ in rows]
    for mask in support_masks(n):
        size = int(mask.sum())
        if isinstance(law, BernoulliGaussian):
            weight = arb(law.p) ** size * (1 - arb(law.p)) ** (n - size)
        else:
            weight = arb(float(law.size_probabilities[size])) / arb.bin_uiui(n, size)
        chosen = arb_mat([[float(a) for a in row] for row in atoms[:, mask]]) if size else None
        spread = chosen * chosen.transpose() * arb(float(law.active_variances(n)[size])) if size else arb_mat(q, q)
        covariance = spread + arb_mat([[arb(noise) * (i == j) for j in range(q)] for i in range(q)])
        inverse, scale = covariance.inv(), weight / (covariance.det() * (2 * arb.pi()) ** q).sqrt()
        for i, row in enumerate(rows):
            y = arb_mat([[float(v)] for v in row])
            total[i] += scale * (-(y.transpose() * inverse * y)[0, 0] / 2).exp()
    value = sum((t.log() for t in total), arb(0))
    ctx.prec = before
    return value


@pytest.mark.parametrize(("q", "n"), [(4, 5), (2, 3), (16, 5), (3, 3), (1, 2), (3, 1), (9, 9), (10, 11), (12, 7)])
def test_scores_are_the_running_sums_of_the_mixture_log_density(q, n):
    stream, rows, atoms = example(q, n, LAWS["all alike"])
    scores = stream.log_likelihood(np.arange(stream.n_keys))
    for key in range(stream.n_keys):
        state, nuisance = divmod(key, len(stream.laws))
        mixture = calibration_mixture(stream.laws[nuisance], atoms[state], stream.noises[nuisance])
        # The mixture rounds too: a few hundred units of rounding of a sum of a few thousand.
        expected = np.cumsum(mixture.log_density(rows))[stream.checkpoints - 1]
        np.testing.assert_allclose(scores.values[key], expected, rtol=1e-12, atol=1e-11)
    # Measured: 1e-10 with five atoms, 1e-9 with eleven, whose recursion is longer.
    assert scores.errors.max() < 1e-8


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("q", [2, 3, 6])
def test_the_errors_hold_against_a_direct_evaluation_for_every_kind_of_law(name, q):
    stream, rows, atoms = example(q, 3, LAWS[name], n_rows=12, checkpoints=[5, 12], seed=q)
    scores = stream.log_likelihood(np.arange(stream.n_keys))
    for key in range(stream.n_keys):
        state, nuisance = divmod(key, len(stream.laws))
        for c, t in enumerate(stream.checkpoints):
            exact = direct(rows[:t], atoms[state], stream.laws[nuisance], stream.noises[nuisance])
            assert abs(float(exact - arb(scores.values[key, c]))) <= scores.errors[key, c] < 1e-10
            enclosure = stream.enclosure(key, 128)[c]
            assert enclosure.overlaps(exact)
            assert float(enclosure.rad()) < 1e-30


def test_rows_far_from_every_likely_active_set_do_not_underflow():
    law = ExchangeableGaussian([0.0, 1.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0])
    atoms = dictionaries(np.random.default_rng(3), 1, 4, 3)
    rows = np.random.default_rng(4).normal(size=(3, 4)) * 1e4
    for chosen in (law, BernoulliGaussian(0.1)):
        stream = latent_stream(ArrayRows(rows), array_states(atoms), [chosen], [0.1], [3])
        scores = stream.log_likelihood(np.array([0]))
        exact = direct(rows, atoms[0], chosen, 0.1, 400)
        assert abs(float(exact - arb(scores.values[0, 0]))) <= scores.errors[0, 0] < 1e-14 * 3e9 * 100


def test_any_selection_and_order_of_keys_gives_the_same_numbers():
    stream, _, _ = example(4, 5, LAWS["all alike"], n_states=4)
    everything = stream.log_likelihood(np.arange(stream.n_keys))
    chosen = np.random.default_rng(5).permutation(stream.n_keys)[:7]
    some = stream.log_likelihood(chosen)
    np.testing.assert_array_equal(some.values, everything.values[chosen])
    np.testing.assert_array_equal(some.errors, everything.errors[chosen])
    assert stream.log_likelihood(np.array([], dtype=np.int64)).values.shape == (0, 3)


def test_the_blocks_in_which_rows_are_stored_change_no_bit():
    whole, rows, atoms = example(4, 5, n_rows=5000, checkpoints=[128, 3000, 5000])
    pieces = ReadRows(lambda: np.array_split(rows, 13), 5000, 4)
    split = latent_stream(pieces, array_states(atoms), whole.laws, whole.noises, whole.checkpoints)
    np.testing.assert_array_equal(split.log_likelihood(np.arange(2)).values, whole.log_likelihood(np.arange(2)).values)


def test_the_length_of_segments_and_blocks_changes_scores_within_their_errors(monkeypatch):
    stream, _, _ = example(4, 5, n_rows=3000, checkpoints=[128, 2500, 3000])
    usual = stream.log_likelihood(np.arange(2))
    monkeypatch.setattr(latent, "SEGMENT_ROWS", 100)
    other = stream.log_likelihood(np.arange(2))
    assert np.all(other.errors != usual.errors)  # the sums were indeed cut elsewhere
    assert np.all(np.abs(other.values - usual.values) <= other.errors + usual.errors)


def test_batches_that_do_not_fit_together_give_the_same_scores(monkeypatch):
    stream, _, _ = example(4, 5, LAWS["all alike"], n_states=5)
    usual = stream.log_likelihood(np.arange(stream.n_keys))
    monkeypatch.setattr(latent, "_TABLE", 1)
    np.testing.assert_array_equal(stream.log_likelihood(np.arange(stream.n_keys)).values, usual.values)


def test_the_number_of_threads_changes_no_bit():
    stream, _, _ = example(4, 5, LAWS["all alike"], n_states=5)
    before = numba.get_num_threads()
    results = []
    for threads in {1, numba.config.NUMBA_NUM_THREADS}:
        numba.set_num_threads(threads)
        results.append(stream.log_likelihood(np.arange(stream.n_keys)))
    numba.set_num_threads(before)
    for result in results[1:]:
        np.testing.assert_array_equal(result.values, results[0].values)
        np.testing.assert_array_equal(result.errors, results[0].errors)


def test_what_cannot_be_certified_says_so_and_the_enclosure_still_decides():
    atoms = dictionaries(np.random.default_rng(6), 1, 2, 3)
    for rows, noise in ((np.full((2, 2), 1e200), 1.0), (np.ones((2, 2)), 1e-250)):
        stream = latent_stream(ArrayRows(rows), array_states(atoms), [BernoulliGaussian(0.2)], [noise], [2])
        scores = stream.log_likelihood(np.array([0]))
        assert scores.errors[0, 0] == np.inf
        assert np.isfinite(scores.values[0, 0])
        (ball,) = stream.enclosure(0, 3000)
        assert ball.is_finite()


def test_weights_too_small_for_doubles_are_not_certified():
    stream, _, _ = example(2, 3, [BernoulliGaussian(1e-60)])
    assert np.all(stream.log_likelihood(np.arange(2)).errors == np.inf)


def test_balls_restore_the_precision_they_found():
    stream, _, _ = example(2, 3, n_rows=3, checkpoints=[3])
    before = ctx.prec
    tight, loose = stream.enclosure(0, 200)[0], stream.enclosure(0, 64)[0]
    assert ctx.prec == before
    assert loose.contains(tight)
    assert float(tight.rad()) < float(loose.rad())


def test_misuse_is_named():
    stream, rows, atoms = example(4, 5)
    states, law = array_states(atoms), BernoulliGaussian(0.2)
    with pytest.raises(MisuseError, match=r"rows must have 4 entries each"):
        latent_stream(ArrayRows(rows[:, :3]), states, [law], [1.0], [5])
    with pytest.raises(MisuseError, match=r"noises must have shape \(1\)"):
        latent_stream(ArrayRows(rows), states, [law], [1.0, 2.0], [5])
    with pytest.raises(MisuseError, match=r"noises must be one positive number a law"):
        latent_stream(ArrayRows(rows), states, [law], [0.0], [5])
    for wrong in ([], [0, 5], [5, 5], [201], [1.5]):
        with pytest.raises(MisuseError, match=r"checkpoints must"):
            latent_stream(ArrayRows(rows), states, [law], [1.0], wrong)
    with pytest.raises(MisuseError, match=r"n_atoms must be 3"):
        latent_stream(ArrayRows(rows), states, LAWS["two active"], [1.0], [5])
    for keys in ([-1], [2]):
        with pytest.raises(MisuseError, match=r"keys must lie from 0 to 1"):
            stream.log_likelihood(np.array(keys))
    with pytest.raises(MisuseError, match=r"keys must be a list of whole numbers"):
        stream.log_likelihood(np.array([0.5]))
    with pytest.raises(MisuseError, match=r"bits must be a whole number"):
        stream.enclosure(0, 1)


def test_rows_that_are_no_numbers_are_refused_while_reading():
    _, rows, atoms = example(4, 5)
    rows[150, 2] = np.nan
    stream = latent_stream(ArrayRows(rows), array_states(atoms), [BernoulliGaussian(0.2)], [1.0], [200])
    with pytest.raises(MisuseError, match=r"rows must be finite, not nan in row 150, column 2"):
        stream.log_likelihood(np.array([0]))


@pytest.mark.parametrize("name", ["all alike", "variance by size"])
def test_loops_leave_their_lines_as_they_need_them_at_the_next_piece(name):
    stream, _, _ = example(4, 3, LAWS[name], n_rows=5000, checkpoints=(300, 5000))
    (family,) = stream.families
    state, nuisance = np.divmod(np.arange(stream.n_keys), len(stream.laws))
    batch = latent.Batch.prepare(family, stream.states, state, nuisance, np.arange(stream.n_keys), 2)
    latent._read(stream.rows, stream.checkpoints, [batch])
    (left,) = batch.spare[:1]
    batch.spare.clear()
    made = batch._work()
    assert all(lines.ctypes.data % 64 == 0 for lines in left)
    # Lines of the reference and of products begin anew; all others are cleared, or filled, before they are read.
    assert all((ours == fresh).all() for ours, fresh in zip(left[4:], made[4:], strict=True))
