"""Rows whose truth lies anywhere in cells: bounds over cells, lost truths, and sets of two sources off a grid.

`python -m benchmarks._cells level` counts lost truths, `coded` those beside calibration rows, `sources` the sets of two
sources beside MUSIC, `queries` the questions by dimension; `grid` tells what cells cost where the truth is on the grid,
and what exact places lose elsewhere.
"""

import sys
from dataclasses import dataclass, field, replace
from itertools import product
from types import SimpleNamespace

import numpy as np
from scipy.stats import binom

from physupport.analysis import PhysicalSupport, StreamPlan
from physupport.banks import Bank, Library, library_bank, product_grid
from physupport.io import ArrayRows, as_pairs
from physupport.judges import ByEvidence
from physupport.judges._by_evidence import _trials
from physupport.judges._cells import search
from physupport.judges._coded_cells import CodedRows
from physupport.judges._evidence import Bounds, threshold_bounds
from physupport.judges._linear_cells import LinearCells, ask_all
from physupport.judges.rotation import ByRotation
from physupport.laws import Design, make_law
from physupport.responses import Parameter, Peak, Ranges, UniformLinearArray

AXIS = np.linspace(0.0, 10.0, 30)
LEVEL = 0.1


@dataclass(frozen=True)
class Liar:
    """Peaks that say that they hardly move: a bound that is too small."""

    peak: Peak
    share: float = 0.02

    def __call__(self, places):
        return self.peak(places)

    def slopes(self, low, high):
        return self.share * self.peak.slopes(low, high)


@dataclass(frozen=True)
class Case:
    """One law with a truth anywhere in the cells of its only explanation."""

    name: str
    response: object
    places: list[float]
    half: float
    rows: str
    count: int  # of rows
    snr: float  # of all rows together, of each element
    parameters: tuple[Parameter, ...] = ()
    noise: float | None = 1.0
    split: str = "rows"
    background: bool = False
    bank: Bank = field(init=False)
    design: Design = field(init=False)

    def __post_init__(self):
        grid = np.array(self.places)[:, None]
        ranges = Ranges(self.response, grid, np.full(grid.shape, self.half), self.parameters)
        answers = ranges.columns(np.append(grid.ravel(), ranges.box.middle))
        is_complex = bool(np.iscomplexobj(answers))
        columns = as_pairs(answers, axis=0) if is_complex else answers
        names = [f"{place:g}" for place in self.places]
        library = Library(names, ["a"] * len(grid), grid, columns, "", ranges.halves)
        k = len(grid)
        deployment = {} if self.noise is None else {"deployment": product_grid(noise=[self.noise])}
        bank = library_bank(library, [["a"]], {"a": 1.0}, counts={"a": (k, k)}, **deployment)
        options = {"rows": self.rows, "is_complex": is_complex, "ranges": ranges}
        if self.background:
            options["background"] = np.ones((len(columns), 1))
        object.__setattr__(self, "bank", bank)
        object.__setattr__(self, "design", make_law("gaussian", options).completed(bank).design(bank))

    def point(self, rng, number):
        """A truth anywhere in the cell, at its edges and in its corners."""
        root = self.design.ranges.root(np.arange(len(self.places))[None])
        shares = rng.uniform(0.0, 1.0, len(root.low))
        if number % 3 == 1:
            shares[0] = np.round(shares[0])
        if number % 3 == 2:
            shares = np.round(shares)
        return root.low + shares * root.sides

    def drawn(self, rng, number):
        """Rows (T, q) as numbers of the instrument."""
        answers = self.design.ranges.columns(self.point(rng, number))
        is_complex = np.iscomplexobj(answers)

        def normal(*shape):
            real = rng.standard_normal(shape)
            return (real + 1j * rng.standard_normal(shape)) / np.sqrt(2.0) if is_complex else real

        size = self.snr / np.sqrt(self.count)
        k = len(self.places)
        waves = size * (np.ones((self.count, k)) if self.rows == "same mean" else normal(self.count, k))
        return waves @ answers.T + normal(self.count, len(answers)) + 0.5 * self.background

    def is_lost(self, rows, seed):
        """True if the explanation that made the rows is rejected."""
        cells = judged(self.design, rows, seed, LEVEL, self.split)
        return ask_all(cells).log_evidence.lower[0] > cells.threshold


def judged(design, rows, seed, level, split="rows", n_splits=1):
    """The evidence of rows against all explanations of a design, and their cells."""
    (trials,) = _trials(ByEvidence(split, n_splits), design, rows, seed)
    return LinearCells(design, trials, 0, threshold_bounds(level)[1])


PEAK = Peak(AXIS, 0.5)
ARRAY = UniformLinearArray(8, 0.5)
WIDTH = Parameter("width", [0.85, 1.2])
GAIN = Parameter("gain", [-0.02, 0.02])
CASES = (
    Case("one mean, place", PEAK, [4.0], 0.4, "same mean", 12, 30.0, background=True),
    Case("one mean, two places, width", PEAK, [4.0, 5.2], 0.4, "same mean", 12, 30.0, (WIDTH,), noise=None),
    Case("one row, place, width, gain", PEAK, [4.0], 0.4, "same mean", 1, 30.0, (WIDTH, GAIN), split="fission"),
    Case("free rows, two neighbours", PEAK, [4.0, 4.8], 0.4, "free", 12, 60.0),
    Case("unknown covariance, two neighbours", ARRAY, [0.0, 2.0], 1.0, "random", 30, 150.0, noise=None),
    Case("unknown covariance, two sources, gain", ARRAY, [0.0, 12.0], 1.0, "random", 30, 150.0, (GAIN,), noise=None),
)


def controlled(case):
    """The same case with bounds of the response that are too small."""
    return replace(case, response=Liar(case.response), parameters=(), noise=case.noise)


def losses(case, count, seed=7):
    """Data sets in which the truth is lost, of so many."""
    rng = np.random.default_rng(seed)
    return sum(case.is_lost(case.drawn(rng, number), number) for number in range(count))


def control_losses(case, count, seed=7):
    """The same with rows of the case, judged by bounds that are too small."""
    rng = np.random.default_rng(seed)
    liar = controlled(case)
    return sum(liar.is_lost(case.drawn(rng, number), number) for number in range(count))


def level(count):
    """Lost truths of every case, and of a bound that is too small."""
    for case in CASES:
        lost = losses(case, count)
        print(f"{case.name}: {lost} of {count}, chance {binom.sf(lost - 1, count, LEVEL):.2g}", flush=True)
    for case in (CASES[0], CASES[3]):
        few = count // 15
        print(f"{case.name}, a bound too small: {control_losses(case, few)} of {few}", flush=True)


def coded(count):
    """Lost truths beside 8 judging calibration rows with known codes, and with bounds that are too small."""
    for case in (CASES[0], CASES[1]):
        k = len(case.places)
        for name, judged_by, number_of in (
            (case.name, case, count),
            ("bound too small", controlled(case), count // 15),
        ):
            if k == 2 and judged_by is not case:
                continue
            rng = np.random.default_rng(9)
            lost = 0
            for number in range(number_of):
                point = case.point(rng, number)
                answers = case.design.ranges.columns(point)
                codes = rng.standard_normal((16, k)) * 20.0
                table = np.hstack([codes @ answers.T + rng.standard_normal((16, len(answers))), codes])
                rows = 3.0 * answers.sum(axis=1) + rng.standard_normal((12, len(answers))) + 0.5 * case.background
                cells = judged(judged_by.design, rows, number, LEVEL)
                cells = replace(cells, beside=coded_rows(*np.split(table, 2), len(answers)))
                lost += ask_all(cells).log_evidence.lower[0] > cells.threshold
            print(f"{name}, beside known codes: {lost} of {number_of}", flush=True)


@dataclass(frozen=True)
class Chosen:
    """The density of judging rows that the others chose, in place of a factor of evidence."""

    log_density: float
    stream: object = field(default_factory=lambda: SimpleNamespace(checkpoints=(1,)))

    def against(self, scores):
        return Bounds(
            self.log_density - scores.values - scores.errors, self.log_density - scores.values + scores.errors
        )


def coded_rows(first, second, q):
    """Judging rows, with the dictionary of least squares of the others as opponent."""
    fitted = np.linalg.lstsq(first[:, q:], first[:, :q], rcond=None)[0]
    energy = float(((second[:, :q] - second[:, q:] @ fitted) ** 2).sum())
    chosen = Chosen(-0.5 * (len(second) * q * np.log(2.0 * np.pi) + energy))
    law = make_law("known codes", {"noises": [1.0]})
    return CodedRows.of(SimpleNamespace(rows=ArrayRows(second), law=law, factor=lambda: chosen), q)


def sources(count):
    """Two sources .9 off a 2 degree grid, 30 snapshots: elements kept, truth in the set, and MUSIC beside it."""
    grid = np.arange(-30.0, 31.0, 2.0)
    half = np.ones((len(grid), 1))
    ranges = Ranges(ARRAY, grid[:, None], half)
    columns = as_pairs(ranges.columns(grid), axis=0)
    library = Library([f"{x:g}" for x in grid], ["sky"] * len(grid), grid[:, None], columns, "deg", half)
    bank = library_bank(library, [["sky"]], {"sky": 1.0}, counts={"sky": (2, 2)})
    options = {"rows": "random", "is_complex": True, "ranges": ranges}
    design = make_law("gaussian", options).completed(bank).design(bank)
    fine = np.arange(-31.0, 31.0, 0.02)
    answers = ranges.columns(fine)
    for decibels in (15.0, 25.0):
        rng = np.random.default_rng(3)
        kept, right, empty, asked, errors = [], 0, 0, [], []
        for number in range(count):
            first, second = np.sort(rng.choice(np.arange(3, len(grid) - 3), 2, replace=False))
            while second - first < 4:
                first, second = np.sort(rng.choice(np.arange(3, len(grid) - 3), 2, replace=False))
            truth = grid[[first, second]] + 0.9 * rng.choice([-1.0, 1.0], 2)
            waves = rng.standard_normal((2, 30, 2)) @ [1.0, 1.0j] / np.sqrt(2.0) * 10.0 ** (decibels / 20.0)
            noise = rng.standard_normal((30, 8, 2)) @ [1.0, 1.0j] / np.sqrt(2.0)
            rows = (ARRAY(truth[:, None]) @ waves).T + noise
            cells = judged(design, rows, number, 0.05, n_splits=2)
            answer = ask_all(cells)
            left = design.supports[answer.log_evidence.lower <= cells.threshold]
            kept.append(len(np.unique(left)))
            right += bool((left == [first, second]).all(axis=1).any())
            empty += not len(left)
            asked.append(answer.n_asked)
            errors.append(music(rows, fine, answers) - truth)
        quarters = np.percentile(kept, [25, 50, 75])
        print(
            f"{decibels:g} dB: truth in {right} of {count}, EMPTY {empty}, elements {quarters}, "
            f"questions {np.median(asked)}, MUSIC {np.sqrt(np.mean(np.square(errors))):.3g} deg",
            flush=True,
        )


def queries(count):
    """Cells asked about until what is left has an eighth of each side, by dimension and signal-to-noise ratio."""
    boxes = {
        1: (PEAK, [4.0], ()),
        2: (PEAK, [4.0], (WIDTH,)),
        3: (PEAK, [4.0], (WIDTH, GAIN)),
        4: (PEAK, [4.0, 7.0], (WIDTH, GAIN)),
    }
    for (dimension, (response, places, parameters)), snr in product(boxes.items(), (10.0, 30.0, 100.0)):
        case = Case("", response, places, 0.4, "same mean", 12, snr, parameters)
        rng = np.random.default_rng(4)
        asked = []
        for number in range(count):
            cells = judged(case.design, case.drawn(rng, 3 * number), number, LEVEL)
            sides = cells.root(0, cells.box).sides / 8.0
            found = search(cells, 0, resolution=sides * (1.0 + 1e-9), seeks=False, most=20_000)
            asked.append((found.n_asked, len(found.left)))
        questions, left = np.median(asked, axis=0)
        print(
            f"{dimension} parameters, {snr:g}: {questions:g} asked, {left:g} left, {8**dimension} of a grid", flush=True
        )


def grid(count):
    """One element of a grid, on it or anywhere in its cell: elements kept by cells, and by exact places."""
    settings = (
        ("peak", PEAK, np.arange(1.0, 9.1, 0.4), "same mean", 12),
        ("array", ARRAY, np.arange(-30.0, 31.0, 2.0), "random", 30),
    )
    for snr, (name, response, places, rows, n_rows) in product((10.0, 20.0, 40.0, 80.0), settings):
        half = np.full((len(places), 1), 0.5 * (places[1] - places[0]))
        ranges = Ranges(response, places[:, None], half)
        answers = ranges.columns(places)
        is_complex = bool(np.iscomplexobj(answers))
        columns = as_pairs(answers, axis=0) if is_complex else answers
        library = Library([f"{x:g}" for x in places], ["a"] * len(places), places[:, None], columns, "", half)
        bank = library_bank(library, [["a"]], {"a": 1.0})
        options = {"rows": rows, "is_complex": is_complex}
        laws = {"cells": options | {"ranges": ranges}, "evidence": options, "rotation": options}
        for share in (0.0, 1.0):
            rng = np.random.default_rng(5)
            kept = {kind: [] for kind in laws}
            right = dict.fromkeys(laws, 0)
            for number in range(count):
                e = int(rng.integers(1, len(places) - 1))
                place = places[e] + share * half[0, 0] * rng.uniform(-1.0, 1.0)
                answer = ranges.columns(np.array([place]))[:, 0]
                drawn = rng.standard_normal((2, n_rows, 1 + len(answer)))
                normal = (drawn[0] + 1j * drawn[1]) / np.sqrt(2.0) if is_complex else drawn[0]
                waves = np.ones((n_rows, 1)) if rows == "same mean" else normal[:, :1]
                measured = snr / np.sqrt(n_rows) * waves * answer + normal[:, 1:]
                for kind, law in laws.items():
                    judge = ByRotation(draws=399) if kind == "rotation" else ByEvidence("rows", 4)
                    plan = StreamPlan("gaussian", **law)
                    model = PhysicalSupport(
                        bank, {"a": 0.0}, random_state=number, calibration=None, deployment=plan, judge=judge
                    )
                    cell = model.fit().report(measured).fields[0].cell
                    kept[kind].append(len(cell))
                    right[kind] += library.ids[e] in cell
            told = "; ".join(f"{kind} {np.mean(kept[kind]):.2f} kept, truth {right[kind]}" for kind in laws)
            print(f"{name}, {snr:g}, {'anywhere' if share else 'on the grid'}: {told}", flush=True)


def music(rows, places, answers):
    """The two largest peaks of the spectrum of MUSIC."""
    _, vectors = np.linalg.eigh(rows.T @ rows.conj())
    spectrum = 1.0 / (np.abs(vectors[:, :-2].conj().T @ answers) ** 2).sum(axis=0)
    peaks = np.flatnonzero((spectrum[1:-1] > spectrum[:-2]) & (spectrum[1:-1] > spectrum[2:])) + 1
    best = peaks[np.argsort(-spectrum[peaks])[:2]]
    return np.sort(places[best]) if len(best) == 2 else np.full(2, np.inf)


if __name__ == "__main__":
    tables = {"level": level, "coded": coded, "sources": sources, "queries": queries, "grid": grid}
    tables[sys.argv[1]](int(sys.argv[2]))
