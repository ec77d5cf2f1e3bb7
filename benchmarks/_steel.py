"""A measured X-ray spectrum of steel, SRM 1155: `python -m benchmarks._steel`, with PyMca5 and xraylib installed.

Window by window: which elements are kept, with the energy scale uncertain by a channel either way.
"""

import itertools
from math import comb
from pathlib import Path

import numpy as np
import PyMca5
import xraylib

from physupport.judges import Verdict
from physupport.judges.counts import ByCounts, CountTable

LEVEL, BEAM, SHIFTS = 0.05, 16.0, np.linspace(-0.012, 0.012, 9)  # keV
# As the configuration that comes with the spectrum has them: keV a channel, offset, noise and Fano factor.
GAIN, ZERO, NOISE, FANO = 0.0119281593146, -0.00612446976449, 0.127439, 0.101156
NUMBERS = {"Mn": 25, "Fe": 26, "Co": 27, "Ni": 28, "Cu": 29, "As": 33, "W": 74, "Pb": 82, "Cr": 24}
LINES = {"K": range(-29, 0), "L": range(-113, -29)}


def spectrum():
    text = (Path(PyMca5.__file__).parent / "PyMcaData" / "Steel.spe").read_text()
    return np.array(text.split("2047", 1)[1].split("$")[0].split(), dtype=float).astype(int)


def lines(symbol):
    """Energies and intensities of an element's lines, K for the light ones and L for the heavy."""
    number = NUMBERS[symbol]
    for line in LINES["K" if number < 60 else "L"]:
        try:
            yield xraylib.LineEnergy(number, line), xraylib.CS_FluorLine_Kissel(number, line, BEAM)
        except ValueError:
            continue


def response(symbol, energies, shift):
    found = np.zeros_like(energies)
    for energy, intensity in lines(symbol):
        sigma = np.sqrt((NOISE / 2.3548) ** 2 + 0.00385 * energy * FANO)
        found += intensity / sigma * np.exp(-0.5 * ((energies - energy - shift) / sigma) ** 2)
    return found + 1e-12 * found.max()


def window(low, high, symbols, degree=1):
    counts = spectrum()
    energies = ZERO + GAIN * np.arange(len(counts))
    chosen = (energies >= low) & (energies < high)
    right = np.linspace(0.0, 1.0, chosen.sum())[:, None]
    powers = np.arange(degree + 1)
    background = [comb(degree, k) for k in powers] * right**powers * (1.0 - right) ** (degree - powers)
    variants = [np.stack([response(s, energies[chosen], shift) for s in symbols], axis=1) for shift in SHIFTS]
    supports = [c for size in range(len(symbols) + 1) for c in itertools.combinations(range(len(symbols)), size)]
    table = CountTable.with_variants(variants, supports, background)
    codes = ByCounts().judge(table, counts[chosen], LEVEL, seed=1).verdicts(np.arange(table.size)).codes
    kept = sorted({e % len(supports) for e in np.flatnonzero(codes != Verdict.REJECTED).tolist()})
    names = ["+".join(symbols[i] for i in supports[e]) or "none" for e in kept]
    print(f"{low} to {high} keV, {counts[chosen].sum()} counts, {', '.join(symbols)}: {', '.join(names) or 'EMPTY'}")


if __name__ == "__main__":
    window(10.2, 10.9, ["As", "Pb"])
    window(6.75, 7.3, ["Fe", "Co"])
    window(6.75, 7.3, ["Co"])
    window(7.2, 8.8, ["Ni", "Cu"], 2)
    window(8.0, 10.0, ["Ni"], 2)
