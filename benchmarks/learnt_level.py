"""How often a report on a learnt dictionary says something false: `python -m benchmarks.learnt_level [data sets]`.

Calibration: sparse rows of six peaks anywhere on a line, two of them 0.042 apart (coherence .947), or of four in the
regions of the four-region study; codes are active with probability .2 and normal.  Signal: 100 rows of two atoms.
Beside it the plug-in (scikit-learn's atoms, each read as its nearest place, and the pair of atoms that fits the signal
best) for one in 80 of the data sets, and an oracle that knows activity, amplitudes and noise, and not the places.  The
oracle is FINE where the places that the likelihood of the calibration leaves an atom (Wald's interval from the scores
of all rows, simultaneous for all atoms) are within the tolerance, and the signal needs the atom.
Two further numbers: the first and the number of lines of the table.
"""

import sys
from itertools import combinations, product
from time import process_time

import numpy as np
from scipy.stats import chi2, norm

from physupport.analysis import PhysicalSupport
from physupport.banks import sparse_learner
from physupport.questions import Label
from physupport.responses import Formula

Q, LEVEL, TOLERANCE, N_SIGNAL = 16, 0.05, 0.01, 100
AXIS = (np.arange(Q) + 0.5) / Q
PEAK = Formula("exp(-((t - x)**2) / (2 * 0.085**2)) + 0.12 * cos(2 * pi * (t - x))", axis=AXIS)
BOX = (0.02, 0.98)
SIX = np.array([0.10, 0.26, 0.302, 0.50, 0.70, 0.86])
FOUR = np.array([0.15, 0.45, 0.70, 0.91])
HALF = np.array([0.05, 0.045, 0.06, 0.05])


def atoms_at(places):
    columns = PEAK(np.asarray(places)[:, None])
    return columns / np.linalg.norm(columns, axis=0)


def places_of(kind, rng):
    if kind == "four":
        return FOUR + HALF * rng.uniform(-1.0, 1.0, 4)
    jitter = rng.uniform(-0.01, 0.01, 6)
    jitter[2] = jitter[1]
    return SIX + jitter


def data_set(kind, noise, n_rows, rng):
    """Places, active atoms, calibration rows, and the signal."""
    places = places_of(kind, rng)
    atoms = atoms_at(places)
    codes = (rng.random((n_rows, len(places))) < 0.2) * rng.standard_normal((n_rows, len(places)))
    calibration = codes @ atoms.T + np.sqrt(noise) * rng.standard_normal((n_rows, Q))
    active = np.sort(rng.choice(len(places), 2, replace=False))
    signal = rng.standard_normal((N_SIGNAL, 2)) @ atoms[:, active].T + np.sqrt(noise) * rng.standard_normal(
        (N_SIGNAL, Q)
    )
    return places, active, calibration, signal


def fitted(calibration, n_atoms, level=LEVEL, box=BOX):
    """Atoms only name the readings here, so any will do."""
    return PhysicalSupport.from_learner(
        np.eye(Q)[:n_atoms], library=PEAK, calibration=calibration, places={"x": box}, tolerance=TOLERANCE, alpha=level
    )


def checked(report, cells, places, active):
    """(is false, fine (2,), at most three (2,)) of the labels, and of the cells left to each active place."""
    is_false = False
    fine = np.zeros(2, dtype=bool)
    three = np.zeros(2, dtype=bool)
    for field in report.fields:
        own = [cells[name] for name in field.cell]
        low, high = min(one for one, _ in own), max(two for _, two in own)
        there = (low <= places[active]) & (places[active] <= high)
        said = field.label in (Label.FINE, Label.GROUP)
        is_false |= said and not there.any()
        is_false |= field.label == Label.ABSENT and bool(there.any())
        fine |= there & (field.label == Label.FINE)
        three |= there & (said and len(field.cell) <= 3)
    return is_false, fine, three


def oracle(places, active, calibration, signal, noise):
    """(2,) True where the oracle is FINE."""
    atoms = atoms_at(places)
    step = 1e-5
    slopes = (atoms_at(places + step) - atoms_at(places - step)) / (2 * step)
    scores = scores_of(atoms, slopes, calibration, noise)
    spread = np.sqrt(np.diag(np.linalg.inv(scores.T @ scores)))
    located = 2 * norm.isf(0.5 * LEVEL / len(places)) * spread[active] <= TOLERANCE
    for number, j in enumerate(active):
        others = np.delete(atoms, j, axis=1)
        basis = np.linalg.qr(others)[0]
        beside = atoms[:, j] - basis @ (basis.T @ atoms[:, j])
        along = signal @ (beside / np.linalg.norm(beside))
        located[number] &= along @ along / noise > chi2.isf(LEVEL, len(signal))
    return located


def scores_of(atoms, slopes, rows, noise):
    """(N, n) derivatives by the places of the log densities of rows whose activity, amplitudes and noise are known."""
    n = atoms.shape[1]
    logs, parts = [], []
    for active in product([False, True], repeat=n):
        chosen = np.array(active)
        inverse = np.linalg.inv(noise * np.eye(Q) + atoms[:, chosen] @ atoms[:, chosen].T)
        white = rows @ inverse
        prior = chosen.sum() * np.log(0.2) + (~chosen).sum() * np.log(0.8)
        logs.append(prior + 0.5 * np.linalg.slogdet(inverse)[1] - 0.5 * (white * rows).sum(axis=1))
        own = (white @ atoms) * (white @ slopes) - np.einsum("qj,qr,rj->j", atoms, inverse, slopes)
        parts.append(own * chosen)
    weights = np.exp(np.array(logs) - np.max(logs, axis=0))
    return np.einsum("sn,snj->nj", weights / weights.sum(axis=0), np.array(parts))


def plug_in(calibration, places, active, signal):
    """True if the plug-in names a place that is off by more than the tolerance, or misses one."""
    atoms = sparse_learner(calibration, len(places), 0)
    norms = np.linalg.norm(atoms, axis=0)
    atoms = atoms[:, norms > 0] / norms[norms > 0]
    grid = np.linspace(*BOX, 2001)
    read = grid[np.abs(atoms_at(grid).T @ atoms).argmax(axis=0)]

    def left(pair):
        basis = np.linalg.qr(atoms[:, pair])[0]
        return float(((signal - signal @ basis @ basis.T) ** 2).sum())

    best = min(combinations(range(len(read)), 2), key=left)
    gaps = np.abs(np.sort(read[[*best]]) - np.sort(places[active]))
    return bool((gaps > TOLERANCE).any())


def line(kind, noise, n_rows, runs, gap=None):
    """One line of the table; gap: where the library ends, so that atoms beyond are none of its responses."""
    false = unsettled = lost = empty = wrong = tried = 0
    counts = np.zeros(4, dtype=int)  # FINE, at most three, oracle FINE, at most three of these
    seconds = 0.0
    for run in range(runs):
        rng = np.random.default_rng([2028, len(kind), round(1e6 * noise), run])
        places, active, calibration, signal = data_set(kind, noise, n_rows, rng)
        begin = process_time()
        model = fitted(calibration, len(places), box=BOX if gap is None else (BOX[0], gap))
        report = model.report(signal)
        seconds += process_time() - begin
        library = model.bank_.states.library
        low = (library.coordinates - library.extents)[:, 0]
        high = (library.coordinates + library.extents)[:, 0]
        cells = dict(zip(library.ids, zip(low, high, strict=True), strict=True))
        nothing = np.zeros(2, dtype=bool)
        is_empty = report.status == "EMPTY"
        is_false, fine, three = (False, nothing, nothing) if is_empty else checked(report, cells, places, active)
        false += is_false
        empty += is_empty
        facts = report.document["gate"]["calibration"]
        unsettled += not facts["is_resolved"]
        lost += any(not any(each["low"][0] <= x <= each["high"][0] for each in facts["left"]) for x in places)
        known = oracle(places, active, calibration, signal, noise)
        counts += [each.sum() for each in (fine, three, known, three & known)]
        if run % 80 == 79 and gap is None:
            tried += 1
            wrong += plug_in(calibration, places, active, signal)
    name = kind if gap is None else f"{kind}, two not in the library"
    told = " | ".join(str(each) for each in (lost, false, empty, unsettled, *counts))
    return f"| {name} | {n_rows} | {noise:g} | {told} | {wrong} of {tried} | {seconds / runs:.2f} s |"


LINES = [
    ("six", 0.003, 3000, None),
    ("four", 0.003, 4096, None),
    ("six", 0.001, 3000, None),
    ("four", 0.05, 4096, None),
    ("six", 0.001, 3000, 0.6),
    ("six", 0.0003, 3000, None),
    ("six", 0.005, 3000, None),
    ("six", 0.01, 3000, None),
]
HEADER = (
    "| atoms | rows | noise | a true place lost | false | EMPTY | not resolved | FINE | at most 3 cells | "
    "oracle FINE | of these at most 3 | plug-in wrong | CPU |"
)


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    count = int(sys.argv[3]) if len(sys.argv) > 3 else len(LINES)
    print(HEADER)
    for kind, noise, n_rows, gap in LINES[first : first + count]:
        print(line(kind, noise, n_rows, runs, gap), flush=True)


if __name__ == "__main__":
    main()
