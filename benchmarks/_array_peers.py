"""Directions beside MUSIC and SRP-PHAT: `python -m benchmarks._array_peers`, with pyroomacoustics.

One loudspeaker of white noise at a random direction between those of the grid, six microphones, four seconds.
The free field with a signal-to-noise ratio of 20 and 0 dB, and a room.  All three methods have the same frames
and frequencies.  Of the confidence set: whether it is empty, whether the direction of the grid that is nearest to the
truth is in it, and by how many degrees its best member is off.
"""

import sys

import numpy as np
import pyroomacoustics as pra

from physupport.arrays import locate
from physupport.io import Frames

RATE, SECONDS, STEP = 16000, 4, 10.0
FREQUENCIES = [1000.0, 1500.0, 2000.0]
CENTRE = np.array([3.1, 2.4, 1.4])
GRID = np.arange(0.0, 360.0, STEP)


def microphones():
    turns = 2.0 * np.pi * np.arange(6) / 6
    return np.array([0.05 * np.cos(turns), 0.05 * np.sin(turns), 0.0 * turns])


def recorded(azimuth, seconds, ratio, rng):
    """(n, 6) samples; seconds: of reverberation, 0 for the free field."""
    turn = np.deg2rad(azimuth)
    source = CENTRE + 2.0 * np.array([np.cos(turn), np.sin(turn), 0.0])
    if seconds:
        absorption, order = pra.inverse_sabine(seconds, [6.0, 5.0, 3.0])
        room = pra.ShoeBox([6.0, 5.0, 3.0], fs=RATE, materials=pra.Material(absorption), max_order=order)
    else:
        room = pra.AnechoicRoom(3, fs=RATE)
    room.add_source(source, signal=rng.standard_normal(RATE * SECONDS))
    room.add_microphone_array(CENTRE[:, None] + microphones())
    heard = room.simulate(return_premix=True)[0].T[RATE // 4 : RATE * SECONDS]
    noise = heard.std() * 10.0 ** (-ratio / 20.0)
    return heard + noise * rng.standard_normal(heard.shape)


def peer(name, snapshots):
    """The azimuth that a method of pyroomacoustics finds on the grid."""
    bins = [round(f * 512 / RATE) for f in FREQUENCIES]
    spectra = np.zeros((6, 257, len(snapshots)), dtype=complex)
    spectra[:, bins] = snapshots.reshape(len(snapshots), len(bins), 6).transpose(2, 1, 0)
    found = pra.doa.algorithms[name](microphones(), RATE, 512, num_src=1, azimuth=np.deg2rad(GRID))
    found.locate_sources(spectra, freq_bins=np.array(bins))
    return float(np.rad2deg(found.azimuth_recon[0]))


def off(one, other):
    return abs((one - other + 180.0) % 360.0 - 180.0)


def scene(title, seconds, ratio, runs):
    errors = {"MUSIC": [], "SRP": []}
    ours, inside, empty, left, shares = [], 0, 0, [], []
    for seed in range(runs):
        rng = np.random.default_rng([seed, round(10 * seconds), round(ratio)])
        truth = float(rng.uniform(0.0, 360.0))
        samples = recorded(truth, seconds, ratio, rng)
        snapshots = Frames.of(RATE, FREQUENCIES).rows(samples)
        for name, found in errors.items():
            found.append(off(peer(name, snapshots), truth))
        located = locate(
            samples, microphones().T, frequencies=FREQUENCIES, sampling_rate=RATE, directions=(0.0, 360.0, STEP)
        )
        nearest = f"{STEP * (round(truth / STEP) % len(GRID)):g} deg"
        inside += (nearest,) in located.sets
        empty += not located.sets
        left.append(len(located.sets))
        shares.append(located.ratio)
        if located.sets:
            ours.append(off(float(located.places[0][0, 0]), truth))
    cells = [title, runs, *(f"{np.mean(each):.1f}" for each in (errors["MUSIC"], errors["SRP"], ours or [np.nan]))]
    cells += [inside, empty, f"{np.median(left):g}", f"{100.0 * np.median(shares):.1f} %"]
    sys.stdout.write("| " + " | ".join(map(str, cells)) + " |\n")
    sys.stdout.flush()


def main(runs=12):
    heads = ("scene", "recordings", "MUSIC off by", "SRP-PHAT off by", "best of the set off by")
    heads += ("truth in the set", "EMPTY", "directions left, median", "share, median")
    sys.stdout.write("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads) + "\n")
    scene("free field, 20 dB", 0.0, 20.0, runs)
    scene("free field, 0 dB", 0.0, 0.0, runs)
    scene("room, 0.25 s", 0.25, 20.0, runs)


if __name__ == "__main__":
    main()
