"""How often bands, counted libraries and staircases lose the truth, at level .1: `python -m benchmarks.band_level`.

Two of three lines that overlap, over a flat background, 100 to 300 000 counts.  Responses lie anywhere inside their
band or, in every channel, on one of its ends: at random, or all so that a line moves to one side.  Along a staircase
the truth is lost if any error from its own on rejects it.  Controls are responses beyond the band, a library that is
taken for exact, and staircases that are read at a tenth of the true error.  Numbers: data sets, the first line of the
table, and the one after the last.
"""

import sys

import numpy as np
from scipy.stats import binom

from physupport.aeb._staircase import ERRORS
from physupport.banks import array_bank
from physupport.io import ArrayRows, as_pairs
from physupport.judges import ByEvidence, Sealed, SealedStream, Verdict
from physupport.judges.counts import ByCounts, CountTable
from physupport.laws import Linear

LEVEL, CONTROLS = 0.1, 200
AXIS = np.arange(60.0)[:, None]
CENTRES = np.array([20.0, 25.0, 45.0])
SUPPORTS = [(1, 2), (0,), (1,), (2,), (0, 2), (0, 1, 2)]  # the truth is the first
FLAT = np.ones((60, 1))
OWN = np.array([0])


def lines(shift=0.0, width=4.0):
    return np.exp(-0.5 * ((AXIS - CENTRES - shift) / width) ** 2) + 0.01


LINES = lines()
VARIANTS = lines(-0.7, 3.6), lines(0.7, 4.4)


def band(kind, error):
    """The ends of the bands, which hold the lines."""
    if kind == "between":
        low, high = (end([*VARIANTS, LINES], axis=0) for end in (np.min, np.max))
        return np.maximum(low - error * high, 0.0), high + error * high
    half = error * (LINES.max(axis=0) if kind == "peak" else LINES)
    return np.maximum(LINES - half, 0.0), LINES + half


def responses(kind, error, place, rng):
    """Responses in a band: anywhere inside, or on its ends in every channel."""
    low, high = band(kind, error)
    if place == "inside":
        share = rng.random(low.shape)
    elif rng.random() < 0.5:
        share = (rng.random(low.shape) < 0.5).astype(float)
    else:
        share = (AXIS > CENTRES).astype(float)
    return low + share * (high - low)


def counted(shapes, rng):
    """Counts of the second and the third line over the background."""
    means = shapes[:, 1:] @ rng.uniform(0.2, 1.0, 2) + rng.uniform(0.02, 0.5)
    return rng.poisson(means * 10.0 ** rng.uniform(2.0, 5.5) / means.sum())


def judged(table, counts, seed):
    return ByCounts(n_splits=2).judge(table, counts, LEVEL, seed=seed)


def is_rejected(judge):
    return judge.verdicts(OWN).codes[0] == Verdict.REJECTED


def lost_in_band(kind, place, rng, seed):
    error, actual = (0.0, 0.2) if kind == "between" else (0.03, 0.15)
    shapes = responses(kind, actual if place == "beyond" else error, "edge" if place == "beyond" else place, rng)
    table = CountTable(LINES, SUPPORTS, FLAT, band(kind, error))
    return is_rejected(judged(table, counted(shapes, rng), seed))


def lost_by_library(share, is_exact, rng, seed):
    """The library has 1e3 to 1e5 counts an element; rates are right to within a share beside their noise."""
    rates = 10.0 ** rng.uniform(3.0, 5.0) * LINES / LINES.sum(axis=0)
    recorded = rng.poisson(rates)
    counts = counted(rates * (1.0 + share * rng.choice([-1.0, 1.0], rates.shape)), rng)
    if is_exact:
        return is_rejected(judged(CountTable(recorded, SUPPORTS, FLAT), counts, seed))
    table = CountTable.from_recorded(recorded, SUPPORTS, FLAT)
    judge = judged(table, counts, seed)
    if not share:
        return is_rejected(judge)
    evidence = judge.log_evidence_within((table.atoms * (1.0 - share), table.atoms * (1.0 + share)), OWN)
    return bool(evidence.lower[0] + np.log(LEVEL) > 0.0)


def lost_on_staircase(kind, is_low, rng, seed):
    """True if counts reject the truth at its own error, or at any larger one; is_low: at a tenth of it."""
    own = 10.0 ** rng.uniform(-3.0, -0.6)
    judge = judged(CountTable(LINES, SUPPORTS, FLAT), counted(responses(kind, own, "edge", rng), rng), seed)
    errors = [0.1 * own] if is_low else [own, *(error for error in ERRORS if error >= own)]
    found = [judge.log_evidence_within(band(kind, error), OWN).lower[0] for error in errors]
    return bool(max(found) + np.log(LEVEL) > 0.0)


def turned(column, sine, rng):
    """A vector of the same length whose angle to a column has this sine, in a random direction."""
    aside = rng.standard_normal(len(column)) + (1j * rng.standard_normal(len(column)) if column.dtype == complex else 0)
    aside = aside - column * (column.conj() @ aside) / (column.conj() @ column)
    aside = aside * np.linalg.norm(column) / np.linalg.norm(aside)
    return np.sqrt(1.0 - sine**2) * column + sine * aside


WAVES = np.exp(1j * np.pi * np.arange(8)[:, None] * np.sin(np.deg2rad([-40.0, -10.0, 20.0, 50.0]))) / np.sqrt(8)


def lost_of_rows(rows, is_low, rng, seed):
    """The same of Gaussian rows about one mean, or of two random sources whose powers are unknown."""
    own = 10.0 ** rng.uniform(-2.0, -0.7)
    is_random = rows == "random"
    columns = WAVES if is_random else LINES / np.linalg.norm(LINES, axis=0)
    true = np.stack([turned(columns[:, j], own, rng) for j in (1, 2)], axis=1)
    drawn = rng.standard_normal((60, 10, 2)) @ [1.0, 1.0j] / np.sqrt(2.0) if is_random else None
    if is_random:
        measured = as_pairs(10.0 ** rng.uniform(0.0, 2.0) * drawn[:, :2] @ true.T + drawn[:, 2:])
        stored = as_pairs(columns, axis=0)
    else:
        measured = 10.0 ** rng.uniform(0.0, 2.5) * true @ rng.uniform(0.3, 1.0, 2) + rng.standard_normal((6, 60))
        stored = columns
    bank = array_bank(stored[None], [(1, 2), (1, 3), (2, 3)] if is_random else [(1, 2), (0, 2), (0, 1)])
    law = Linear(rows=rows, is_complex=is_random).completed(bank)
    stream = SealedStream("deployment", ArrayRows(measured), law, law.keys(bank), lambda: None)
    judge = ByEvidence("rows", 1).open(Sealed(bank, LEVEL, (stream,), seed))
    errors = [0.1 * own] if is_low else [own, *(error for error in ERRORS if error >= own)]
    return any(judge.verdicts_at(error, OWN).codes[0] == Verdict.REJECTED for error in errors)


CELLS = {
    **{
        f"band of {kind}, {place}": (
            lambda rng, seed, k=kind, p=place: lost_in_band(k, p, rng, seed),
            lambda rng, seed, k=kind: lost_in_band(k, "beyond", rng, seed),
        )
        for kind in ("peak", "value", "between")
        for place in ("inside", "edge")
    },
    **{
        f"counted library{', rates to within 3 %' if share else ''}": (
            lambda rng, seed, s=share: lost_by_library(s, False, rng, seed),
            lambda rng, seed, s=share: lost_by_library(s, True, rng, seed),
        )
        for share in (0.0, 0.03)
    },
    **{
        f"staircase of counts, share of the {kind}": (
            lambda rng, seed, k=kind: lost_on_staircase(k, False, rng, seed),
            lambda rng, seed, k=kind: lost_on_staircase(k, True, rng, seed),
        )
        for kind in ("peak", "value")
    },
    **{
        f"staircase of {name}": (
            lambda rng, seed, r=rows: lost_of_rows(r, False, rng, seed),
            lambda rng, seed, r=rows: lost_of_rows(r, True, rng, seed),
        )
        for name, rows in (("rows about one mean", "same mean"), ("two sources of unknown powers", "random"))
    },
}


def main(runs=3000, first=0, last=None):
    print(f"| width | truth lost of {runs} | p of so many at 10 % | control, of {CONTROLS} |")
    print("|---|---|---|---|")
    for number, (name, (lost, control)) in [*enumerate(CELLS.items())][first:last]:
        found = sum(bool(lost(np.random.default_rng([number, run]), run)) for run in range(runs))
        beyond = sum(bool(control(np.random.default_rng([number, 1, run]), run)) for run in range(min(runs, CONTROLS)))
        print(f"| {name} | {found} | {binom.sf(found - 1, runs, LEVEL):.2g} | {beyond} |", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
