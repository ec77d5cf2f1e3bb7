"""The claimed errors against 200-bit enclosures, over settings made to hurt: faint and loud rows, noise far below the
signal, atoms that nearly or exactly coincide, rows of very different sizes."""

from itertools import product

import numpy as np
import pytest
from flint import arb, ctx

from physupport.banks import Bank, array_states, product_grid
from physupport.io import ArrayRows, as_pairs
from physupport.laws import Covariance, Mean, ProfiledMean, known_code_stream

BITS, POINTS, N_ROWS, N_ATOMS = 200, [1, 7, 64], 64, 3
# Size of the rows, noise relative to the signal, distance of the atoms of a state (None: far apart).
SETTINGS = list(product([1e-8, 1.0, 1e6], [1.0, 1e-8], [None, 1e-3, 1e-9, 0.0]))


def dictionaries(rng, n_states, q, gap):
    atoms = rng.standard_normal((n_states, q, N_ATOMS))
    atoms = atoms if gap is None else atoms[:, :, :1] + gap * atoms
    return atoms / np.linalg.norm(atoms, axis=1, keepdims=True)


def streams(rng, size, relative, gap, is_mixed, is_complex):
    noise, q, n_states = relative * size**2, 4, 10
    pairs = {"axis": 1} if is_complex else None
    atoms = dictionaries(rng, n_states, q, gap)
    states = array_states(
        as_pairs(atoms * np.exp(1j * rng.uniform(0, 6, (n_states, 1, 1))), **pairs) if pairs else atoms
    )
    columns = states.elements[:, states.element_index([0])[0]]  # (q or 2 q, 3)
    noises = np.array([noise, 3.0 * noise])
    grid = product_grid(noise=noises)
    loud = 10.0 ** rng.integers(-8, 7, (N_ROWS, 1)) if is_mixed else np.ones((N_ROWS, 1))
    rough = np.sqrt(noise) * rng.standard_normal((N_ROWS, len(columns)))
    codes = size * loud * rng.standard_normal((N_ROWS, N_ATOMS))
    variances = np.array([[1.0, 0.5, 0.0], [1.0, 2.0, 3.0], [0.0, 0.0, 0.0]])
    flag = {"is_complex": is_complex}
    random = ArrayRows(codes @ columns.T + rough)
    steady = ArrayRows(size * loud * (columns @ [1.0, 2.0, 3.0]) + rough)
    weights = Bank(states, size * variances[:2], deployment=grid)
    seen = ArrayRows(as_pairs(codes) if is_complex else codes)
    low, high = size * np.array([0.2, -1.0, 0.5]), size * np.array([2.0, 3.0, 2.5])
    yield Covariance(noises=noises, **flag).stream(Bank(states, size**2 * variances, deployment=grid), random, POINTS)
    yield known_code_stream(random, seen, states, noises, POINTS, **flag)
    yield Mean(noises=noises, **flag).stream(weights, steady, POINTS)
    yield ProfiledMean(noises=noises, box=(low, high), **flag).stream(weights, steady, POINTS)


def audit(stream):
    """True error and claimed error of every factor, after asserting that none exceeds its claim."""
    keys = np.arange(stream.n_keys)
    scores, found = stream.log_likelihood(keys), []
    with ctx.workprec(BITS):
        for i, key in enumerate(keys):
            for t, ball in enumerate(stream.enclosure(int(key), BITS)):
                off, claim = abs(ball - arb(scores.values[i, t])), float(scores.errors[i, t])
                # The enclosure is far tighter than what it judges.
                assert ball.rad() < 1e-6 * claim
                assert off <= arb(claim)
                found.append((float(off), claim))
    return found


@pytest.mark.parametrize("is_complex", [False, True])
def test_no_claimed_error_is_exceeded_and_none_is_loose(is_complex):
    rng, found = np.random.default_rng(5), []
    settings = [(*each, False) for each in SETTINGS] + [(1.0, b, c, True) for a, b, c in SETTINGS[:8]]
    for size, relative, gap, is_mixed in settings[:: 4 if is_complex else 1]:
        found += [np.array(audit(each)) for each in streams(rng, size, relative, gap, is_mixed, is_complex)]
    counts, total = [len(each) for each in found], np.concatenate(found)
    assert sum(counts) >= (2_000 if is_complex else 10_000)
    assert np.isfinite(total).all()
    # A proven bound cannot know that roundings cancel; more than two or three digits on average would be waste.
    assert max(np.median(each[:, 1] / np.maximum(each[:, 0], 1e-300)) for each in found) <= 1e4
    assert np.median(total[:, 1] / np.maximum(total[:, 0], 1e-300)) <= 100.0


def test_negative_control_a_claim_a_hundred_times_smaller_is_exceeded():
    rng = np.random.default_rng(6)
    for stream in streams(rng, 1.0, 1.0, None, False, False):
        found = np.array(audit(stream))
        assert (found[:, 0] > found[:, 1] / 100.0).any()
