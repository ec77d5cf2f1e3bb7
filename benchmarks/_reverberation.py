"""A simulated room: `python -m benchmarks._reverberation`, with pyroomacoustics.  Noise of any covariance, and MUSIC.

Microphones on a circle, loudspeakers of white noise at known directions, image sources for the echoes, one frequency
of a short-time Fourier transform whose frames are apart, so that they are nearly independent.  Responses are plane
waves: walls are unknown to them.  The staircase along the ratio of `noise = { kind = "any" }` is read at twice the
smallest ratio at which something fits.  Of 32 microphones the eight leading directions of all plane waves are used.

What is left is an answer if fewer than half of the 18 directions occur in it.  It is wrong if it lacks the true one, or
the true pair.  Explanations are all single directions and all pairs; MUSIC is told how many sources there are.
"""

import itertools

import numpy as np
import pyroomacoustics as pra

from physupport.banks import array_bank
from physupport.io import ArrayRows, as_pairs
from physupport.judges import ByEvidence, Sealed, SealedStream, Verdict
from physupport.laws import Linear

RATE, FRAME, GAP, SECONDS, LEVEL = 8000, 256, 4, 60, 0.05
ANGLES = np.arange(0.0, 360.0, 20.0)
ROOM = np.array([6.0, 5.0, 3.0])
CENTRE = np.array([3.1, 2.4, 1.4])
STEP = 3  # ratios for each factor of 2
RATIOS = 0.01 * 2.0 ** (np.arange(36) / STEP)
FREQUENCY = 1500.0
KEPT = 8


def microphones():
    turns = 2.0 * np.pi * np.arange(32) / 32
    return CENTRE[:, None] + np.array([0.12 * np.cos(turns), 0.12 * np.sin(turns), 0.0 * turns])


def waves(places):
    """(q, places) plane waves from each of the directions."""
    turns = np.deg2rad(ANGLES)
    towards = np.stack([np.cos(turns), np.sin(turns), 0.0 * turns])
    return np.exp(2j * np.pi * FREQUENCY / 343.0 * ((places - CENTRE[:, None]).T @ towards)) / np.sqrt(places.shape[1])


def frames(seconds, sources, seed):
    """(sources, T, 32) one bin of the frames of each source alone, and (T, 32) that of the noise of the sensors."""
    rng = np.random.default_rng(seed)
    np.random.seed(seed)  # noqa: NPY002  pyroomacoustics draws from it
    absorption, order = pra.inverse_sabine(seconds, ROOM)
    room = pra.ShoeBox(ROOM, fs=RATE, materials=pra.Material(absorption), max_order=min(order, 20))
    distance = rng.uniform(0.6, 1.0)
    for source in sources:
        turn = np.deg2rad(ANGLES[source])
        place = CENTRE + distance * np.array([np.cos(turn), np.sin(turn), 0.0])
        room.add_source(place, signal=rng.standard_normal(RATE * SECONDS))
    room.add_microphone_array(microphones())
    heard = room.simulate(return_premix=True)[:, :, RATE // 2 : RATE * SECONDS]
    noise = rng.standard_normal(heard.shape[1:]) * 10.0 ** (-25.0 / 20.0) * np.sqrt((heard**2).mean() * len(heard))
    wave = np.exp(-2j * np.pi * FREQUENCY / RATE * np.arange(FRAME)) * np.hanning(FRAME)
    starts = np.arange(0, heard.shape[2] - FRAME, GAP * FRAME)
    everything = np.concatenate([heard, noise[None]])
    cut = np.stack([everything[:, :, start : start + FRAME] @ wave for start in starts], axis=1)
    return cut[:-1], cut[-1]


def kept(rows, atoms, supports, seed):
    """Supports at twice the smallest ratio at which something fits."""
    bank = array_bank(as_pairs(atoms / np.linalg.norm(atoms, axis=0), axis=0)[None], supports)
    law = Linear(rows="random", is_complex=True, noise_shape={"kind": "any"}).completed(bank)
    stream = SealedStream("deployment", ArrayRows(as_pairs(rows)), law, law.keys(bank), lambda: None)
    judge = ByEvidence("rows", 4).open(Sealed(bank, LEVEL, (stream,), seed))
    every = np.arange(len(supports))
    # Who is kept at a ratio is kept at all larger ones.
    low, high = -1, len(RATIOS) - 1 - STEP
    while high - low > 1:
        middle = (low + high) // 2
        fits = (judge.verdicts_at(RATIOS[middle], every).codes != Verdict.REJECTED).any()
        low, high = (low, middle) if fits else (middle, high)
    return np.flatnonzero(judge.verdicts_at(RATIOS[high + STEP], every).codes != Verdict.REJECTED)


def music(rows, atoms, count):
    """The directions of the largest peaks of the spectrum on the same grid."""
    vectors = np.linalg.eigh(rows.T @ rows.conj())[1][:, :-count]
    height = -np.linalg.norm(vectors.conj().T @ atoms, axis=0)
    peaks = np.flatnonzero((height >= np.roll(height, 1)) & (height >= np.roll(height, -1)))
    return tuple(sorted(peaks[np.argsort(-height[peaks])][:count].tolist()))


def away(found, truth):
    """The largest distance in degrees between directions and the nearest true one."""
    apart = [min(abs((ANGLES[f] - ANGLES[t] + 180.0) % 360.0 - 180.0) for t in truth) for f in found]
    return max(apart, default=180.0)


def answered(rows, places, truth, seed):
    """What is left, how many directions occur in it, and by how many degrees MUSIC is off."""
    atoms = waves(places)
    heard = away(music(rows, atoms, len(truth)), truth)
    if len(atoms) > KEPT:
        basis = np.linalg.svd(atoms)[0][:, :KEPT]
        rows, atoms = rows @ basis.conj(), basis.conj().T @ atoms
    directions = [*range(len(ANGLES))]
    supports = [(i,) for i in directions] + [*itertools.combinations(directions, 2)]
    found = [supports[i] for i in kept(rows, atoms, supports, seed)]
    return found, len({place for support in found for place in support}), heard


def room(seconds, seed):
    """(microphones, sources) -> the one support, an answer, EMPTY, wrong, directions left, how far MUSIC is off."""
    rng = np.random.default_rng(seed)
    first = int(rng.integers(len(ANGLES)))
    second = (first + int(rng.integers(4, len(ANGLES) - 3))) % len(ANGLES)
    alone, noise = frames(seconds, (first, second), seed)
    cells = {}
    for count, n_sources in itertools.product((8, 32), (1, 2)):
        truth = tuple(sorted((first, second)[:n_sources]))
        chosen = slice(None, None, 32 // count)
        rows = (alone[:n_sources].sum(axis=0) + noise)[:, chosen]
        found, left, heard = answered(rows, microphones()[:, chosen], truth, seed)
        is_answer = 0 < 2 * left < len(ANGLES)
        cells[count, n_sources] = (
            len(found) == 1,
            is_answer,
            not found,
            bool(found) and truth not in found,
            left,
            heard,
        )
    return cells


def main(rooms=20):
    print("| RT60 | microphones | sources | one | an answer | EMPTY | wrong | directions left | MUSIC off | by, mean |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for seconds in (0.25, 0.5):
        cells = [room(seconds, seed) for seed in range(rooms)]
        for count, n_sources in cells[0]:
            one, answer, empty, wrong, left, heard = np.array([cell[count, n_sources] for cell in cells], dtype=float).T
            sums = [int(part.sum()) for part in (one, answer, empty, wrong)]
            line = [f"{seconds} s", count, n_sources, *sums, f"{left.mean():.1f}"]
            line += [int((heard > 0.0).sum()), f"{heard.mean():.0f} degrees"]
            print("| " + " | ".join(map(str, line)) + " |", flush=True)


if __name__ == "__main__":
    main()
