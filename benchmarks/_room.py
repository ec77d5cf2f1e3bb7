"""A room that no formula knows: `python -m benchmarks._room`.  Exact responses, and responses of measured width.

Twelve microphones, fifteen loudspeakers at known places, each heard directly and by echoes that the model of the
room lacks.  Every loudspeaker in turn plays noise; the width is measured from the fourteen others.
"""

import numpy as np
from rich.progress import track

from physupport.banks import array_bank
from physupport.io import ArrayRows, as_pairs
from physupport.judges import ByEvidence, Sealed, SealedStream, Verdict
from physupport.laws import Linear
from physupport.responses import source_errors

SENSORS, PLACES, ROWS, LEVEL, ROOMS = 12, 15, 200, 0.05, 3
ANGLES = np.linspace(-70.0, 70.0, PLACES)


def waves(angles):
    made = np.exp(1j * np.pi * np.arange(SENSORS)[:, None] * np.sin(np.deg2rad(angles)))
    return made / np.linalg.norm(made, axis=0)


def in_a_room(rng):
    """(q, PLACES) what microphones really hear: three echoes of each loudspeaker from elsewhere."""
    heard = waves(ANGLES)
    for _ in range(3):
        turns = np.exp(2j * np.pi * rng.random(PLACES))
        heard = heard + 0.12 * rng.random(PLACES) * turns * waves(rng.uniform(-90.0, 90.0, PLACES))
    return heard / np.linalg.norm(heard, axis=0)


def normal(rng, *shape):
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)) / np.sqrt(2.0)


def left(rows, error, seed):
    """Places that are not rejected."""
    bank = array_bank(as_pairs(waves(ANGLES), axis=0)[None], [(i,) for i in range(PLACES)])
    law = Linear(rows="random", is_complex=True, error=error).completed(bank)
    stream = SealedStream("deployment", ArrayRows(as_pairs(rows)), law, law.keys(bank), lambda: None)
    codes = ByEvidence("rows", 4).open(Sealed(bank, LEVEL, (stream,), seed)).verdicts(np.arange(PLACES)).codes
    return np.flatnonzero(codes != Verdict.REJECTED)


def main():
    told = {"exact": [], "measured width": []}
    widths = []
    for room in track(range(ROOMS), "rooms", transient=True):
        rng = np.random.default_rng(room)
        heard = in_a_room(rng)
        measured = [normal(rng, ROWS, 1) * heard[:, i] * 5.0 + normal(rng, ROWS, SENSORS) for i in range(PLACES)]
        for truth in range(PLACES):
            others = [i for i in range(PLACES) if i != truth]
            error = float(source_errors(waves(ANGLES)[None][:, :, others], [measured[i] for i in others]).sines.max())
            widths.append(error)
            for name, width in (("exact", None), ("measured width", error)):
                told[name].append((truth, left(measured[truth], width, room * PLACES + truth)))
    print(f"measured sines: {min(widths):.2f} to {max(widths):.2f}")
    for name, found in told.items():
        right = sum(len(kept) == 1 and kept[0] == truth for truth, kept in found)
        groups = sum(len(kept) > 1 and truth in kept for truth, kept in found)
        empty = sum(not len(kept) for _, kept in found)
        print(
            f"{name}: {right} right, {groups} groups with the truth, {empty} EMPTY, "
            f"{len(found) - right - groups - empty} wrong, of {len(found)}"
        )


if __name__ == "__main__":
    main()
