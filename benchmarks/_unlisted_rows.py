"""The same of Gaussian rows: bumps in spectra, directions before an array, and responses of one's own.

One source of the family lies beside at most one listed element, faint to strong.  `python -m benchmarks._unlisted_rows
[RUNS]`
"""

import sys
from typing import NamedTuple

import numpy as np
from scipy.stats import binom

from physupport.banks import Library, library_bank, region_supports, with_unlisted
from physupport.io import ArrayRows, as_pairs
from physupport.judges import ByEvidence, Sealed, SealedStream, Verdict
from physupport.laws import Linear
from physupport.responses import UniformLinearArray, generic_atoms, generic_bumps, generic_directions

LEVEL = 0.05
AXIS = np.arange(32.0)
ARRAY = UniformLinearArray(8, 0.5)


class Counted(NamedTuple):
    """How many data sets, and shares."""

    false: int
    control: int
    listed: float  # of listed elements that are there, those that are certain
    listed_if_complete: float
    found: float  # of sources that the library lacks, those that are certain to be there
    width: float  # median length of the cells in which it may be


class Setting(NamedTuple):
    """A listed library, a family, and how to draw a source of it with its place."""

    listed: np.ndarray  # (q, n) unit columns, complex for an array
    family: object
    draw: object
    strengths: tuple[float, float]  # of both kinds of sources, the logarithms of which are uniform


def bump(place, width=4.0):
    """A unit bump."""
    column = np.exp(-0.5 * ((AXIS - place) / width) ** 2)
    return column / np.linalg.norm(column)


def unit(columns):
    """Columns of norm 1."""
    return columns / np.linalg.norm(columns, axis=0)


def settings():
    """Bumps in a spectrum, directions of an array, and atoms near listed ones."""
    listed = unit(np.stack([bump(a) + 0.7 * bump(b) for a, b in ((5.0, 20.0), (12.0, 27.0), (16.0, 24.0))], axis=1))
    atoms = unit(np.stack([bump(6.0) + 0.6 * bump(21.5), bump(11.0) + 1.2 * bump(28.0)], axis=1))

    def any_bump(rng):
        place = rng.uniform(0.0, 31.0)
        return bump(place, 4.0 * rng.uniform(0.97, 1.03)), place

    def atom(rng):
        number = int(rng.integers(2))
        return atoms[:, number], float(number)

    def direction(rng):
        place = rng.uniform(-90.0, 90.0)
        return unit(ARRAY([[place]]))[:, 0], place

    waves = unit(ARRAY(np.arange(-45.0, 46.0, 15.0)[:, None]))
    return {
        "bumps": Setting(listed, generic_bumps(AXIS, 4.0), any_bump, (0.3, 20.0)),
        "atoms": Setting(listed, generic_atoms(atoms), atom, (1.0, 6.0)),
        "directions": Setting(waves, generic_directions(ARRAY, -90.0, 90.0), direction, (0.5, 8.0)),
    }


def bank_of(setting):
    """The bank, its law, and of every key the listed element and the cell, -1 for none."""
    is_complex = np.iscomplexobj(setting.listed)
    count = setting.listed.shape[1]
    names = [f"e{j}" for j in range(count)]
    columns = as_pairs(setting.listed, axis=0) if is_complex else setting.listed
    library = Library(names, ["listed"] * count, np.arange(float(count))[:, None], columns)
    wider, supports = with_unlisted(library, region_supports([], ["listed"]), setting.family)
    bank = library_bank(wider, supports, {"listed": [1.0], "unlisted": [1.0]})
    kind = "random" if is_complex else "same mean"
    law = Linear(rows=kind, is_complex=is_complex, unlisted=setting.family.further).completed(bank)
    active = law.design(bank).supports[:, :2]
    of = [np.where(active == -1, -1, active)]
    listed = np.where((of[0] >= 0) & (of[0] < count), of[0], -1).max(axis=1)
    cell = np.where(of[0] >= count, of[0] - count, -1).max(axis=1)
    return bank, law, listed, cell


def rows_of(setting, rng, parts):
    """Ten spectra with one mean, or 60 snapshots with random coefficients, in white noise of an unknown level."""
    if not np.iscomplexobj(setting.listed):
        return sum((s * h for s, h in parts), np.zeros(len(setting.listed))) + rng.standard_normal((10, len(AXIS)))
    drawn = rng.standard_normal((60, 3 * len(setting.listed), 2)) @ [1.0, 1.0j] / np.sqrt(2.0)
    q = len(setting.listed)
    return as_pairs(sum((s * drawn[:, q + i, None] * h for i, (s, h) in enumerate(parts)), drawn[:, :q]))


def count(setting, runs, seed):
    """Count over data sets."""
    bank, law, listed, cell = bank_of(setting)
    low, high = setting.family.places
    is_plain = cell < 0
    lost = control = there = certain = certain_alone = unlisted = found = 0
    widths = []
    explanations = law.keys(bank)(np.arange(bank.size))
    first = np.unique(explanations, return_index=True)[1]  # an explanation of each key
    for run in range(runs):
        rng = np.random.default_rng([seed, run])
        sizes = np.exp(rng.uniform(*np.log(setting.strengths), 2))
        element = int(rng.integers(-1, setting.listed.shape[1]))
        is_unlisted = rng.random() < 0.8
        response, place = setting.draw(rng)
        parts = [(sizes[0], setting.listed[:, element])] * (element >= 0) + [(sizes[1], response)] * is_unlisted
        source = ArrayRows(rows_of(setting, rng, parts))
        stream = SealedStream("deployment", source, law, law.keys(bank), lambda: None)
        judge = ByEvidence("rows", 1).open(Sealed(bank, LEVEL, (stream,), run))
        kept = judge.verdicts(first).codes != Verdict.REJECTED
        named, reading = only(listed[kept]), only(listed[kept & is_plain])
        has_found = kept.any() and not (kept & is_plain).any()
        cells = cell[kept] if has_found else np.array([], dtype=int)
        is_false = named not in (None, element) or (has_found and not is_unlisted)
        is_false |= not is_unlisted and reading not in (None, element)
        is_false |= bool(has_found and not ((low[cells] <= place) & (place <= high[cells])).any())
        lost += bool(is_false)
        control += reading not in (None, element)
        there += element >= 0
        certain += element >= 0 and named == element
        certain_alone += element >= 0 and reading == element
        unlisted += is_unlisted
        found += bool(has_found and is_unlisted)
        if has_found:
            widths.append(float((high - low)[np.unique(cells)].sum()))
    median = float(np.median(widths)) if widths else np.nan
    return Counted(lost, control, certain / there, certain_alone / there, found / unlisted, median)


def only(elements):
    """The one element that all have, if they have one."""
    return int(elements[0]) if len(elements) and elements[0] >= 0 and (elements == elements[0]).all() else None


def main(runs=3000, *names):
    """Print a line for each family."""
    for name, setting in settings().items():
        if names and name not in names:
            continue
        seen = count(setting, runs, seed=12)
        beyond = binom.sf(seen.false - 1, runs, LEVEL)
        print(name, runs, seen, f"P(as many false or more at the level) = {beyond:.3g}", flush=True)


if __name__ == "__main__":
    main(*[int(each) if each.isdigit() else each for each in sys.argv[1:]])
