"""Maps of up to ten million spectra, beside the best fits that other tools give: how cost grows, and with what."""

import resource
import subprocess
import sys
import tempfile
import time

import numpy as np
from scipy.optimize import nnls

from physupport.banks import table_regions
from physupport.judges.rotation import Rotation, RotationTable, ordered_axis
from physupport.maps import MapProtocol, RotatedSignals, map_signals
from physupport.questions import RegionalMap, RegionRule

BANDS, STEP, KEPT = 180, 8192, 16
# Signals and explanations: growth with the first, then with the second.
GROWTH = ((10_000, 500), (100_000, 500), (1_000_000, 500), (1_000_000, 50), (10_000_000, 50),
          (100_000, 125), (100_000, 250), (100_000, 1000))  # fmt: skip


def library(n_lines):
    """Lines of random widths on a fine grid, and a cubic baseline."""
    axis = np.arange(BANDS)
    widths = np.random.default_rng(0).uniform(2.0, 5.0, n_lines)
    lines = np.exp(-0.5 * ((axis[:, None] - np.linspace(5, BANDS - 5, n_lines)) / widths) ** 2)
    return lines, np.polynomial.chebyshev.chebvander(2.0 * axis / BANDS - 1.0, 3)


def map_protocol(size=500):
    n = size - 1  # and nothing
    lines, baseline = library(n)
    table = RotationTable(lines, [(), *((i,) for i in range(n))], baseline)
    names = [f"line {i}" for i in range(n)]
    view = table_regions({"axis": [None, *names]}, coordinates={"axis": {name: [i] for i, name in enumerate(names)}})
    groups = {"low": names[: n // 2], "high": names[n // 2 :]}
    question = RegionalMap(view, {"axis": RegionRule(tolerance=n / 100.0, groups=groups)})
    spec = Rotation(table, seed=1, draws=1999, outsiders=ordered_axis(BANDS))
    return MapProtocol(RotatedSignals(spec), question, level=0.1, rate=0.1)


class Spectra:
    """So many that no disk need hold them: a fifth without a line, others of 3 to 30 deviations; blocks recur."""

    dtype = np.dtype(np.float32)

    def __init__(self, count, size):
        self.shape, self.first_read = (count, BANDS), None
        lines, baseline = library(size - 1)
        rng, n = np.random.default_rng(1), KEPT * STEP
        strength = rng.choice([0.0, 3.0, 6.0, 10.0, 30.0], n)[:, None]
        clean = strength * lines[:, rng.integers(0, size - 1, n)].T + 10.0 * rng.standard_normal((n, 4)) @ baseline.T
        self.blocks = (clean + rng.standard_normal((n, BANDS))).astype(np.float32).reshape(KEPT, STEP, BANDS)

    def __getitem__(self, parts):
        self.first_read, (part,) = self.first_read or time.process_time(), parts
        block, within = divmod(part.start, STEP)
        assert within == 0
        return self.blocks[block % KEPT, : min(part.stop, self.shape[0]) - part.start]


def map_case(count, size):
    """What a process of its own prints: seconds of CPU for tables and for signals, wall, gigabytes, and statements."""
    protocol, spectra = map_protocol(size), Spectra(count, size)
    wall, cpu = time.perf_counter(), time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        found = map_signals(spectra, protocol, f"{folder}/map", block=STEP, threads=2)
        seconds = spectra.first_read - cpu, time.process_time() - spectra.first_read, time.perf_counter() - wall
        stated = sum(int((found.store.read("evidence", i) > 0).sum()) for i in range(len(found.store.blocks))) / count
        share = found.about["share"]["statements"] / count
    print(*seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, stated, share)


def best_fits(count, size, timed=20):
    """The plain way, seconds of CPU: the spectrum of smallest angle, and NNLS of a few, with the baseline."""
    lines, baseline = library(size - 1)
    spectra, columns, unit = (
        Spectra(count, size),
        np.hstack([lines, baseline, -baseline]),
        lines / np.linalg.norm(lines, axis=0),
    )
    angles = 0.0
    for first in range(0, count, STEP):
        rows = spectra[(slice(first, first + STEP),)].astype(np.float64)
        start = time.process_time()
        np.abs(rows @ unit).argmax(axis=1)
        angles += time.process_time() - start
    start = time.process_time()
    for row in rows[:timed]:
        nnls(columns, row)
    return angles, (time.process_time() - start) / timed * count


def maps(add, cases=GROWTH):
    for count, size in cases:
        script = f"from benchmarks._maps import map_case; map_case({count}, {size})"
        ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        tables, cpu, wall, memory, stated, share = map(float, ran.stdout.split())
        what = f"{wall:.0f} s on two threads, {memory:.2f} GB, {tables:.0f} s for tables"
        each = f"{1e6 * cpu / count:.0f} us a signal, {1e9 * cpu / count / size:.0f} ns an explanation"
        add(f"map of {count:,} signals, {size} explanations", f"{cpu:.0f} s of CPU, {each}", what)
        add("  state something", f"{stated:.0%}", f"{share:.0%} at the rate")
        if (count, size) == (1_000_000, 500):
            angles, fits = best_fits(count, size)
            add("  plain NumPy: spectral angles", f"{angles:.0f} s of CPU", "no error")
            add("  plain SciPy: NNLS, 20 timed", f"{fits:.0f} s of CPU", "no error")


CASES = {"maps": maps}
