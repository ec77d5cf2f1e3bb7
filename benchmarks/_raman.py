"""Measured Raman spectra: `python -m benchmarks._raman`, with ramanchada2 installed or its wheel unpacked on the path.

All 75 spectra of eight samples of three materials on ten instrument settings that come with the package, every setting
left out in turn: which material is it?  And what is told of it where the library has none of its material?
"""

import re
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from physupport.judges import Verdict
from physupport.judges.conformal import ByConformal, Replicates

LEVEL, STEP, AXIS = 0.1, 8.0, np.arange(260.0, 1461.0, 8.0)  # cm^-1
CUBICS = np.polynomial.legendre.legvander(np.linspace(-1.0, 1.0, len(AXIS)), 3)
# As file names have them; the last letters of some are the number of the piece.
SAMPLES = {"nCAL": "calcite", "sCAL": "calcite", "PST": "polystyrene", "Pol": "polystyrene"}
SAMPLES |= dict.fromkeys(("S0B", "S0N", "S0P", "S1N", "Sil", "Si"), "silicon")
ALIKE = {"Pol": "PST", "Si": "Sil"}


def read(path):
    """Shifts and intensities, of a table with a heading or of two columns."""
    text = path.read_text(encoding="latin-1").replace(",", ".")
    if "Pixel;" not in text:
        return np.loadtxt(path).T
    lines = [line.split(";") for line in text.split("Pixel;")[1].splitlines()[1:]]
    return np.array([[float(line[3]), float(line[7])] for line in lines if len(line) > 7 and line[3].strip()]).T


def averaged(shifts, values):
    """(q,) means of the intensities within a step; interpolated where an instrument has none."""
    bins = np.round((shifts - AXIS[0]) / STEP).astype(int)
    filled = np.interp(AXIS, shifts, values)
    return np.array([values[bins == i].mean() if (bins == i).any() else filled[i] for i in range(len(AXIS))])


def spectra():
    """Spectra (S, q), samples and units; a file that repeats another one's numbers is left out."""
    root = Path(find_spec("ramanchada2").submodule_search_locations[0]) / "auxiliary" / "spectra" / "datasets2"
    found = {}
    for path in sorted(root.glob("*/*.txt")):
        named = re.fullmatch(r"([a-zA-Z]+?|S\d[A-Z])(?:\d\d)?_.*?(OP\d+|Z\d+|Probe)_.*", path.stem)
        if named and named[1] in SAMPLES:
            row = averaged(*read(path))
            found[row.tobytes()] = row, ALIKE.get(named[1], named[1]), f"{path.parent.name} {named[2]}"
    rows, samples, units = zip(*found.values(), strict=True)
    return np.array(rows), samples, units


def materials(rows, samples, units, signal, known):
    """Those that are left of what is known."""
    names, places = (tuple(each[s] for s in known) for each in (samples, units))
    groups = {name: SAMPLES[name] for name in names}
    judge = ByConformal(Replicates(rows[known], names, places, groups, CUBICS)).judge(rows[signal], LEVEL)
    kept = np.flatnonzero(judge.verdicts(np.arange(judge.size)).codes != Verdict.REJECTED)
    return frozenset(groups[judge.spec.replicates.names[e]] for e in kept)


def main():
    data = rows, samples, units = spectra()
    print(f"{len(rows)} spectra of {len({*samples})} samples on {len({*units})} settings, level {LEVEL}")
    told, strangers = Counter(), Counter()
    for signal, (sample, unit) in enumerate(zip(samples, units, strict=True)):
        own = {SAMPLES[sample]}
        known = [s for s in range(len(rows)) if units[s] != unit]
        left = materials(*data, signal, known)
        told["right" if left == own else "EMPTY" if not left else "several, with it" if left > own else "wrong"] += 1
        without = [s for s in known if SAMPLES[samples[s]] not in own]
        strangers["named" if materials(*data, signal, without) else "EMPTY"] += 1
    print("material:", dict(told))
    print("material taken out of the library:", dict(strangers))


if __name__ == "__main__":
    main()
