"""Ours beside spectral angle and nonnegative least squares: seven Raman samples, each instrument left out in turn.

python -m benchmarks._identify
"""

from collections import Counter

import numpy as np
from scipy.optimize import nnls

from physupport.project._examples import stored_spectra
from physupport.spectra import identify

GROUPS = {"calcite": ["nCAL", "sCAL"], "silicon": ["S0B", "S0N", "S0P", "S1N"]}
LEVEL = 0.1


def main() -> None:
    spectra, elements, units, axis = stored_spectra("raman.npz")
    places = np.array(axis, dtype=np.float64)
    baseline = np.polynomial.legendre.legvander(np.linspace(-1.0, 1.0, len(places)), 3)
    left = spectra - (baseline @ np.linalg.lstsq(baseline, spectra.T, rcond=None)[0]).T
    shapes = left / np.linalg.norm(left, axis=1)[:, None]
    group_of = {name: group for group, names in GROUPS.items() for name in names}
    names = list(dict.fromkeys(elements))
    counts = {method: Counter() for method in ("angle", "nnls", "ours")}
    for s, (truth, unit) in enumerate(zip(elements, units, strict=True)):
        known = [k for k, other in enumerate(units) if other != unit]
        material = group_of.get(truth, truth)
        nearest = elements[known[int(np.argmax(shapes[known] @ shapes[s]))]]
        means = np.array([shapes[[k for k in known if elements[k] == name]].mean(axis=0) for name in names]).T
        largest = names[int(np.argmax(nnls(means, shapes[s])[0]))]
        for method, answer in (("angle", nearest), ("nnls", largest)):
            counts[method]["material right"] += group_of.get(answer, answer) == material
            counts[method]["sample right"] += answer == truth
            counts[method]["sample wrong"] += answer != truth
        library = {name: [(places, spectra[k]) for k in known if elements[k] == name] for name in names}
        field = identify((places, spectra[s]), library, level=LEVEL, groups=GROUPS).fields[0]
        kept = {*field.cell}
        counts["ours"]["material right"] += bool(kept) and {group_of.get(e, e) for e in kept} == {material}
        counts["ours"]["sample right"] += kept == {truth}
        counts["ours"]["sample wrong"] += bool(kept) and truth not in kept
        counts["ours"]["set with the sample"] += len(kept) > 1 and truth in kept
        counts["ours"]["no answer"] += not kept
    for method, counted in counts.items():
        print(f"{method:6}", len(elements), dict(counted))


if __name__ == "__main__":
    main()
