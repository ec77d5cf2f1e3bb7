"""How often a report on a learnt dictionary says something false: `python -m benchmarks.learnt_level [data sets]`.

Calibration: sparse rows of six peaks anywhere on a line, two of them 0.042 apart (coherence .947), or of four in the
regions of the four-region study; codes are active with probability .2 and normal.  Signal: 100 rows of two atoms.
Beside it the plug-in (scikit-learn's atoms, each read as its nearest place, and the pair of atoms that fits the signal
best) for one in forty of the data sets, and an oracle that knows the dictionary and the noise.
Two further numbers: the first and the number of lines of the table.
"""

import sys
from itertools import combinations
from time import process_time

import numpy as np
from scipy.stats import chi2

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
    """(is false, fine, at most three) of the labels, and of the cells that are left to each active place."""
    is_false = False
    answers = []
    for field in report.fields:
        own = [cells[name] for name in field.cell]
        low, high = min(one for one, _ in own), max(two for _, two in own)
        there = [x for x in places[active] if low <= x <= high]
        said = field.label in (Label.FINE, Label.GROUP)
        is_false |= said and not there
        is_false |= field.label == Label.ABSENT and bool(there)
        if said:
            answers += [(field.label == Label.FINE, len(field.cell) <= 3)] * len(there)
    return is_false, answers


def oracle(places, active, signal, noise):
    """How many active atoms are certain if the dictionary and the noise are known: the residual without each."""
    atoms = atoms_at(places)
    certain = 0
    for j in active:
        others = np.delete(atoms, j, axis=1)
        basis = np.linalg.qr(others)[0]
        beside = atoms[:, j] - basis @ (basis.T @ atoms[:, j])
        along = signal @ (beside / np.linalg.norm(beside))
        certain += along @ along / noise > chi2.isf(LEVEL, len(signal))
    return certain


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
    false = unsettled = lost = empty = fine = three = known = wrong = 0
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
        is_false, answers = checked(report, cells, places, active) if report.status != "EMPTY" else (False, [])
        false += is_false
        empty += report.status == "EMPTY"
        facts = report.document["gate"]["calibration"]
        unsettled += not facts["is_resolved"]
        lost += any(not any(each["low"][0] <= x <= each["high"][0] for each in facts["left"]) for x in places)
        fine += sum(one for one, _ in answers)
        three += sum(two for _, two in answers)
        known += oracle(places, active, signal, noise)
        wrong += run < runs // 40 and plug_in(calibration, places, active, signal)
    name = kind if gap is None else f"{kind}, two not in the library"
    counts = f"{lost} | {false} | {empty} | {unsettled} | {fine} | {three} | {known} | {wrong} of {runs // 40}"
    return f"| {name} | {n_rows} | {noise:g} | {counts} | {seconds / runs:.2f} s |"


LINES = [
    ("six", 0.0003, 3000, None),
    ("six", 0.001, 3000, None),
    ("six", 0.003, 3000, None),
    ("six", 0.01, 3000, None),
    ("four", 0.01, 4096, None),
    ("four", 0.05, 4096, None),
    ("six", 0.001, 3000, 0.6),
]
HEADER = (
    "| atoms | rows | noise | a true place lost | false | EMPTY | not resolved | FINE | at most 3 cells | oracle | "
    "plug-in wrong | CPU |"
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
