"""How often every judge loses the truth, counted finely enough to see .12 where .1 is promised: `make levels`.

Each line is one frozen protocol over fresh data sets, and beside it a control that has to be seen.  The number of data
sets is the least with which an exact binomial test of level ERROR sees a true level of SEEN with probability POWER.
Lines are printed as they are done, and written into docs/levels.md: `make levels ONLY=rotation` runs one of them.
"""

import argparse
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.signal import lfilter
from scipy.stats import beta, binom

from physupport.aeb import RegionalPolicy
from physupport.analysis import AnalysisProtocol, StreamPlan
from physupport.banks import Library, bank_regions, library_bank, product_grid
from physupport.io import as_pairs
from physupport.judges import ByEvidence, ByInvariant, Verdict
from physupport.judges.conformal import ByConformal, Replicates
from physupport.judges.counts import ByCounts, CountTable
from physupport.judges.rotation import ByRotation, Rotation, RotationTable
from physupport.judges.simulation import BySimulation
from physupport.laws import Linear, Mean, Poisson
from physupport.maps import Fission, RotatedSignals
from physupport.questions import RegionalMap
from physupport.responses import in_window, pile_up_column

LEVEL = 0.1  # what every line promises
SEEN = 0.12  # what has to be told from it
ERROR = 1e-3  # of the test, if the level is right
POWER = 0.999  # of the test, if the level is SEEN
PAGE = Path(__file__).parent.parent / "docs" / "levels.md"

CHANNELS = 24
COUNT = 8  # elements
TRUTH = 3  # the one that is there
AXIS = np.arange(CHANNELS)
ATOMS = np.exp(-0.5 * ((AXIS[:, None] - np.linspace(3, 20, COUNT)) / 2.0) ** 2)
ATOMS /= np.linalg.norm(ATOMS, axis=0)
BASE = np.ones((CHANNELS, 1))
NAMES = [f"e{i}" for i in range(COUNT)]
LIBRARY = Library(NAMES, ["axis"] * COUNT, np.arange(float(COUNT))[:, None], ATOMS)


@cache
def data_sets() -> tuple[int, int]:
    """The number of data sets, and the least number of losses that is too many."""
    count = 100
    while True:
        most = int(binom.isf(ERROR, count, LEVEL)) + 1
        if binom.sf(most - 1, count, SEEN) >= POWER:
            return count, most
        count += 1


IsLost = Callable[[np.random.Generator], bool]


class Line(NamedTuple):
    """One frozen protocol at LEVEL, and a control: functions from a generator to True where the truth is lost."""

    what: str
    is_lost: IsLost
    control: str
    is_lost_in_control: IsLost


@cache
def frozen(law, judge, level):
    bank = library_bank(LIBRARY, [["axis"]], {"axis": [1.0]}, deployment=product_grid(noise=[1.0]))
    plans = {"deployment": StreamPlan(law, 0.5)}
    return AnalysisProtocol(RegionalMap(bank_regions(bank)), RegionalPolicy(), level, 1.0, bank, plans, judge=judge)


def loses(law, judge, rows, level=LEVEL):
    """True if a frozen protocol rejects the explanation that made these rows."""
    opened = frozen(law, judge, level).read(deployment=rows).judge
    return opened.verdicts(np.array([TRUTH])).codes[0] == Verdict.REJECTED


def row(rng, scale=1.0, colour=0.0, n_rows=1):
    """Rows of one mean in noise of this scale, white unless coloured; so weak that rivals fit about as well."""
    noise = scale * rng.standard_normal((n_rows, CHANNELS))
    if colour:
        noise = lfilter([np.sqrt(1.0 - colour**2)], [1.0, -colour], noise, axis=1)
    return ATOMS[:, TRUTH] + 5.0 * rng.standard_normal() + noise


FREE = Linear(background=BASE)
KNOWN = Linear(background=BASE, noises=[1.0])
MEAN = Mean()
POISSON = Poisson(background=BASE)
PLAIN = ByRotation(outsiders=None)
GATED = ByRotation()
SIMULATED = BySimulation("ratio")
THINNED = ByCounts()
FISSIONED = ByEvidence("fission", 4)
EVIDENCE = ByEvidence()
INVARIANT = ByInvariant()
# Six channels, two elements of coherence .9999, and a coefficient that stands on its bounds.
NARROW = np.stack([np.ones(6), 1.0 + 0.0141 * np.array([1, -1, 1, -1, 1, -1.0])], axis=1)
NARROW_LIBRARY = Library(["a", "b"], ["axis"] * 2, np.arange(2.0)[:, None], NARROW / np.linalg.norm(NARROW, axis=0))


@cache
def narrow():
    bank = library_bank(NARROW_LIBRARY, [["axis"]], {"axis": [1.0]}, deployment=product_grid(noise=[1.0]))
    law = Linear(noises=[1.0], coefficients={"axis": (3.0, 3.0001)})
    regions = RegionalMap(bank_regions(bank))
    return AnalysisProtocol(
        regions, RegionalPolicy(), LEVEL, 1.0, bank, {"deployment": StreamPlan(law, 0.5)}, judge=INVARIANT
    )


def loses_narrow(rng, scale=1.0):
    """True if the first of the two is rejected, which made the row."""
    rows = 3.0 * NARROW_LIBRARY.responses[:, 0] + scale * rng.standard_normal((1, 6))
    return narrow().read(deployment=rows).judge.verdicts(np.array([0])).codes[0] == Verdict.REJECTED


WAVES = np.exp(1j * np.pi * np.outer(np.arange(6), np.sin(np.deg2rad(np.arange(-40, 41, 5))))) / np.sqrt(6.0)
DIRECTIONS = Library(
    [f"d{i}" for i in range(WAVES.shape[1])],
    ["sky"] * WAVES.shape[1],
    np.arange(float(WAVES.shape[1]))[:, None],
    as_pairs(WAVES, axis=0),
)


@cache
def snapshots():
    bank = library_bank(DIRECTIONS, [["sky"]], {"sky": [1.0]})
    plan = StreamPlan(Linear(rows="free", is_complex=True), 0.5)
    regions = RegionalMap(bank_regions(bank))
    return AnalysisProtocol(regions, RegionalPolicy(), LEVEL, 1.0, bank, {"deployment": plan}, judge=INVARIANT)


def loses_snapshots(rng, beside=0.0):
    """True if the direction of a source of unknown waveform is rejected; beside: of another one."""
    drawn = rng.standard_normal((8, 8, 2)) @ [1.0, 1.0j]
    rows = drawn[:, :1] * WAVES[:, TRUTH] + beside * drawn[:, 1:2] * WAVES[:, -1] + drawn[:, 2:]
    judge = snapshots().read(deployment=as_pairs(rows)).judge
    return judge.verdicts(np.array([TRUTH])).codes[0] == Verdict.REJECTED


def mean_rows(rng, scale=1.0):
    return ATOMS[:, TRUTH] + scale * rng.standard_normal((6, CHANNELS))


def counts(rng, spread=0.0):
    """One row of counts; with a spread, means vary more than Poisson's law allows."""
    means = 2.0 + 60.0 * ATOMS[:, TRUTH]
    return rng.poisson(means * (rng.gamma(1.0 / spread, spread, CHANNELS) if spread else 1.0))[None].astype(float)


UNITS = 49  # of 1 + 49 ranks 5 are a tenth and 6 are .12


ENERGIES = np.linspace(0.0, 16.0, 161)  # keV
INSIDE = in_window(ENERGIES, [9.8, 12.2])
PHOTONS = 3000.0 * np.exp(-0.5 * ((ENERGIES - 5.4) / 0.15) ** 2) + 5.0  # a strong line, whose pairs lie at 10.8
PILED = PHOTONS + 200.0 * pile_up_column(ENERGIES, PHOTONS)


def piled(rng, has_column=True):
    """True if background and pile-up, which made the counts in a window, are rejected."""
    drawn = rng.poisson(PILED)
    pairs = pile_up_column(ENERGIES, np.where(INSIDE, 0, drawn))[INSIDE, None]
    columns = [np.ones((len(pairs), 1)), *([pairs] if has_column else [])]
    line = np.exp(-0.5 * ((ENERGIES[INSIDE, None] - 10.5) / 0.15) ** 2)
    judge = ByCounts().judge(CountTable(line, [(), (0,)], np.hstack(columns)), drawn[INSIDE], LEVEL, seed=1)
    return bool(judge.verdicts(np.arange(1)).codes[0] == Verdict.REJECTED)


def replicates(rng, spectra_of_unit=1):
    """A new unit and its element's replicates, all drawn anew: exchangeable, unless spectra are taken for units."""
    shapes = np.exp(-0.5 * ((AXIS - 8.0 - rng.standard_normal((1 + UNITS, 1))) / 2.0) ** 2)
    shapes += 0.02 * rng.standard_normal(shapes.shape)
    taken = shapes[1 + np.arange(UNITS) // spectra_of_unit]
    if spectra_of_unit > 1:
        taken = taken + 0.02 * rng.standard_normal(taken.shape)
    data = Replicates(taken, ("a",) * UNITS, tuple(f"unit {unit}" for unit in range(UNITS)))
    return ByConformal(data, noise=(0.0,)).judge(shapes[0], LEVEL).verdicts(np.array([0])).codes[0] == Verdict.REJECTED


def mapped(judge, **noise):
    """Signals of one map, judged in blocks and handed out one by one."""
    block = judge.block_judge(np.array([LEVEL]), 1, 1)
    waiting = []

    def is_lost(rng):
        if not waiting:
            rows = np.stack([row(rng, **noise) for _ in range(1000)])
            waiting.extend(~block(rows).kept()[:, TRUTH])
        return waiting.pop()

    return is_lost


TABLE = RotationTable(ATOMS, [(i,) for i in range(COUNT)], BASE)
SHARED = RotatedSignals(Rotation(TABLE, outsiders=None))


LINES = {
    "rotation": lambda: Line(
        "rotation, 999 draws, one row, nothing known but whiteness", lambda rng: loses(FREE, PLAIN, row(rng)),
        f"the same at level {SEEN}", lambda rng: loses(FREE, PLAIN, row(rng), SEEN)),
    "gate": lambda: Line(
        "rotation with its gate", lambda rng: loses(FREE, GATED, row(rng)),
        "noise that is coloured, by .4 from channel to channel", lambda rng: loses(FREE, GATED, row(rng, colour=0.4))),
    "simulation": lambda: Line(
        "simulation, 399 draws, six rows", lambda rng: loses(MEAN, SIMULATED, mean_rows(rng)),
        f"the same at level {SEEN}", lambda rng: loses(MEAN, SIMULATED, mean_rows(rng), SEEN)),
    "counts": lambda: Line(
        "counts of one row, thinned four times", lambda rng: loses(POISSON, THINNED, counts(rng)),
        "means that vary by half of themselves", lambda rng: loses(POISSON, THINNED, counts(rng, 0.3))),
    "pile-up": lambda: Line(
        "counts in a window, with pile-up made of the counts outside", piled,
        "the same without the column", lambda rng: piled(rng, has_column=False)),
    "fission": lambda: Line(
        "evidence of one row, fissioned four times", lambda rng: loses(KNOWN, FISSIONED, row(rng)),
        "a standard deviation twice the stated one", lambda rng: loses(KNOWN, FISSIONED, row(rng, 2.0))),
    "invariant": lambda: Line(
        "invariant evidence of one row, nothing known but whiteness", lambda rng: loses(FREE, INVARIANT, row(rng)),
        "noise that is coloured, by .8 from channel to channel",
        lambda rng: loses(FREE, INVARIANT, row(rng, colour=0.8))),
    "invariant-known": lambda: Line(
        "invariant evidence of one row, noise known", lambda rng: loses(KNOWN, INVARIANT, row(rng)),
        "a standard deviation twice the stated one", lambda rng: loses(KNOWN, INVARIANT, row(rng, 2.0))),
    "invariant-hostile": lambda: Line(
        "the same of six channels, coherence .9999, coefficients on their bounds", loses_narrow,
        "a standard deviation four times the stated one", lambda rng: loses_narrow(rng, 4.0)),
    "invariant-snapshots": lambda: Line(
        "invariant evidence of eight complex snapshots of six sensors", loses_snapshots,
        "a second source", lambda rng: loses_snapshots(rng, 2.0)),
    "evidence": lambda: Line(
        "evidence along six rows, half of which propose", lambda rng: loses(MEAN, EVIDENCE, mean_rows(rng)),
        "a standard deviation three times the stated one", lambda rng: loses(MEAN, EVIDENCE, mean_rows(rng, 3.0))),
    "conformal": lambda: Line(
        "conformal, 49 replicates, which are drawn anew, too", replicates,
        "seven spectra of a unit taken for units", lambda rng: replicates(rng, 7)),
    "map": lambda: Line(
        "map by rotation, one table for all signals", mapped(SHARED),
        "noise that is coloured, by .4 from channel to channel", mapped(SHARED, colour=0.4)),
    "map-fission": lambda: Line(
        "map by evidence, every signal fissioned eight times", mapped(Fission(TABLE, 1.0)),
        "a standard deviation twice the stated one", mapped(Fission(TABLE, 1.0), scale=2.0)),
}  # fmt: skip


def counted(is_lost, count, seed):
    """How many of so many data sets lose the truth."""
    rng = np.random.default_rng(seed)
    return sum(bool(is_lost(rng)) for _ in range(count))


def measured(name, line):
    """One line of the table, and True if the level holds and the control is seen."""
    count, too_many = data_sets()
    start = time.process_time()
    lost = counted(line.is_lost, count, [20261118, 0])
    seen = counted(line.is_lost_in_control, count, [20261118, 1])
    high = beta.ppf(1.0 - ERROR, lost + 1, count - lost)
    cells = [name, line.what, f"{lost}", f"{lost / count:.4f}", f"{high:.4f}", line.control, f"{seen / count:.4f}"]
    verdict = "holds" if lost < too_many else "BROKEN"
    told = verdict if seen >= too_many else f"{verdict}, control NOT SEEN"
    cells += [told, f"{time.process_time() - start:.0f} s"]
    return "| " + " | ".join(cells) + " |", told == "holds"


def written(rows):
    """Put lines of the table into the page, each in the place of the earlier one of its name."""
    text = PAGE.read_text(encoding="utf-8")
    for row in rows:
        start = row.split(" | ")[0] + " |"
        lines = [row if line.startswith(start) else line for line in text.split("\n")]
        text = "\n".join(lines)
        if row not in lines:
            text = text.rstrip("\n") + f"\n{row}\n"
    PAGE.write_text(text, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.levels", description=__doc__.splitlines()[0])
    parser.add_argument("only", nargs="*", choices=[[], *LINES], help="which lines; all of them without a name")
    names = parser.parse_args().only or [*LINES]
    is_right = True
    count, too_many = data_sets()
    print(f"{count} data sets a line; {too_many} losses or more are too many at level {LEVEL}", flush=True)
    for name in names:
        row, holds = measured(name, LINES[name]())
        written([row])
        print(row, flush=True)
        is_right &= holds
    sys.exit(int(not is_right))


if __name__ == "__main__":
    main()
