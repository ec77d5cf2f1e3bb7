"""What choosing the next measurement saves, at no cost of the level: `python -m benchmarks.next_level [RUNS]`.

Three settings, each with measurements that differ in what they part and in what they cost. A run looks after every
measurement, until the label is certain or the time is up. `next` makes the measurement that it names; the other way
makes all of them in turn, so that each has the same time. A run is false if it ever rejects what made its rows, which
every false label takes. The control makes rows that no explanation allows for: twice the deviation, or counts
three channels off.
"""

import sys
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

from physupport.analysis import Candidate, Seen, next_to_part
from physupport.banks import Library, bank_regions, library_bank, product_grid
from physupport.judges import RunningEvidence
from physupport.laws import Mean, Poisson
from physupport.questions import RegionalMap, RegionRule

LEVEL = 0.1
AXIS = np.linspace(0.0, 1.0, 12)[:, None]


@dataclass(frozen=True)
class Setting:
    name: str
    candidates: tuple
    question: object
    means: tuple  # of each candidate, (M, q) a measurement
    is_counted: bool
    most_seconds: float
    first: tuple = ()  # measurements that are made before any choice

    def rows(self, rng, number, truth, wrong):
        mean = self.means[number][truth]
        if self.is_counted:
            return rng.poisson(np.roll(mean, 3 * int(wrong)))[None].astype(float)
        count = int(self.candidates[number].n_rows)
        return mean + (1.0 + wrong) * rng.standard_normal((count, len(mean)))


def peaks(places, width, tilt=0.0):
    atoms = np.exp(-0.5 * ((AXIS - places) / width) ** 2) + tilt * AXIS
    return atoms / np.linalg.norm(atoms, axis=0)


def bank_of(atoms, strength, **options):
    count = atoms.shape[1]
    names = [f"p{i}" for i in range(count)]
    library = Library(names, ["line"] * count, np.arange(float(count))[:, None], atoms)
    return library_bank(library, [["line"]], {"line": [strength]}, **options)


def mean_setting(name, atoms, strengths, costs, most_seconds):
    """Detectors of one place each: the mean of their rows is a peak, sharp where the detector looks."""
    candidates, means = [], []
    for number, (columns, strength, cost) in enumerate(zip(atoms, strengths, costs, strict=True)):
        bank = bank_of(columns, strength, deployment=product_grid(noise=[1.0]))
        candidates.append(Candidate(f"detector {number}", cost, bank, Mean().completed(bank), 10))
        means.append(strength * columns.T)
    question = RegionalMap(bank_regions(candidates[0].bank), {"line": RegionRule(0.5)})
    return Setting(name, tuple(candidates), question, tuple(means), False, most_seconds)


def in_ranges():
    """Eight lines; each of four detectors parts only two of them from each other, and all from the rest, weakly."""
    rng = np.random.default_rng(1)
    base = rng.standard_normal((12, 4))
    atoms = []
    for own in range(4):
        columns = np.repeat(base, 2, axis=1)
        columns = columns / np.linalg.norm(columns, axis=0)
        columns[:, 2 * own + 1] += 0.8 * rng.standard_normal(12) / np.sqrt(12.0)
        atoms.append(columns / np.linalg.norm(columns, axis=0))
    return mean_setting("ranges: each detector parts one pair", atoms, [0.6] * 4, [1.0] * 4, 400.0)


def at_positions():
    """A source on a line of nine places, and five positions of a sensor, each sharp nearby."""
    places = np.linspace(0.1, 0.9, 9)
    atoms = []
    for position in np.linspace(0.1, 0.9, 5):
        width = 0.15 + 1.5 * np.abs(places - position)
        atoms.append(np.concatenate([peaks(places, width), np.zeros((1, 9))]))
    return mean_setting("positions: a sensor is sharp nearby", atoms, [0.7] * 5, [1.0] * 5, 600.0)


def of_counts():
    """Four sources in counts with open amounts and background: a cheap wide detector, and three dear sharp ranges."""
    axis = np.arange(24)[:, None]
    wide = np.exp(-0.5 * ((axis - np.array([6.0, 7.0, 15.0, 16.0])) / 3.0) ** 2) + 0.02
    sharp = [
        np.exp(-0.5 * ((axis - np.array(places)) / 1.5) ** 2) + 0.02
        for places in ([6.0, 10.0, 16.0, 16.2], [8.0, 8.1, 10.0, 15.0], [11.0, 11.1, 11.2, 11.3])
    ]
    candidates, means = [], []
    for number, atoms in enumerate((wide, *sharp)):
        columns = atoms / np.linalg.norm(atoms, axis=0)
        bank = bank_of(columns, 1.0)
        law = Poisson(background=np.ones((24, 1))).completed(bank)
        cost = 1.0 if number == 0 else 2.0
        candidates.append(Candidate(f"range {number}", cost, bank, law, 1.0))
        means.append(25.0 * columns.T + 2.0)
    question = RegionalMap(bank_regions(candidates[0].bank), {"line": RegionRule(0.5)})
    return Setting("counts: ranges of a detector", tuple(candidates), question, tuple(means), True, 400.0, (0,))


def run(setting, rng, is_chosen, wrong=0.0):
    """Seconds until the label is certain, infinite if it is not in time; and whether the truth was ever rejected."""
    names = [each.name for each in setting.candidates]
    evidence = RunningEvidence.begin({each.name: (each.bank, each.law) for each in setting.candidates}, LEVEL)
    truth = int(rng.integers(setting.candidates[0].bank.size))
    limit, seconds, turn = -np.log(LEVEL), 0.0, 0
    while seconds < setting.most_seconds:
        kept = np.flatnonzero(evidence.peaks.upper < limit)
        if len(kept) < 2:
            break
        number = turn % len(names)
        if is_chosen and turn >= len(setting.first):
            order = kept[np.argsort(evidence.peaks.upper[kept])]
            seen = None
            if setting.is_counted:
                first = evidence.streams[names[0]]
                seen = Seen(first.bank, first.law, *first.rates)
            missing = limit - evidence.peaks.upper[order]
            answer = next_to_part(setting.question, ("line",), order, missing, setting.candidates, seen)
            number = number if answer.measurement is None else names.index(answer.measurement)
        evidence = evidence.after(setting.rows(rng, number, truth, wrong), names[number])
        seconds += setting.candidates[number].seconds
        turn += 1
    is_lost = bool(evidence.peaks.upper[truth] >= limit)
    return (seconds if len(np.flatnonzero(evidence.peaks.upper < limit)) < 2 else np.inf), is_lost


def main(runs):
    print("| setting | median, `next` (s) | median, equal time (s) | ratio | false of runs, `next` | control |")
    print("|---|---|---|---|---|---|")
    for make in (in_ranges, at_positions, of_counts):
        setting = make()
        rngs = [np.random.default_rng(seed) for seed in (7, 8, 9)]
        chosen = [run(setting, rngs[0], True) for _ in range(runs)]
        equal = [run(setting, rngs[1], False) for _ in range(runs)]
        control = [run(setting, rngs[2], True, wrong=1.0)[1] for _ in range(50)]
        lost = sum(is_lost for _, is_lost in chosen)
        medians = [float(np.median([seconds for seconds, _ in found])) for found in (chosen, equal)]
        told = "holds" if binom.sf(lost - 1, runs, LEVEL) > 1e-6 else "BROKEN"
        print(
            f"| {setting.name} | {medians[0]:.0f} | {medians[1]:.0f} | {medians[0] / medians[1]:.2f} | "
            f"{lost} of {runs} ({told}) | {sum(control)} of 50 |",
            flush=True,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
