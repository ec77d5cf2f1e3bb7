"""A map of a million spectra against 500 explanations, beside the best fits that other tools give."""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy.optimize import nnls

from physupport.banks import table_regions
from physupport.judges.rotation import Rotation, RotationTable, ordered_axis
from physupport.maps import MapProtocol, map_signals
from physupport.questions import RegionalMap, RegionRule

BANDS, LINES, STEP = 180, 499, 10_000


def library():
    """Lines of random widths on a fine grid, and a cubic baseline."""
    axis = np.arange(BANDS)
    widths = np.random.default_rng(0).uniform(2.0, 5.0, LINES)
    lines = np.exp(-0.5 * ((axis[:, None] - np.linspace(5, BANDS - 5, LINES)) / widths) ** 2)
    return lines, np.polynomial.chebyshev.chebvander(2.0 * axis / BANDS - 1.0, 3)


def map_protocol():
    lines, baseline = library()
    table = RotationTable(lines, [(), *((i,) for i in range(LINES))], baseline)
    names = [f"line {i}" for i in range(LINES)]
    view = table_regions({"axis": [None, *names]}, coordinates={"axis": {name: [i] for i, name in enumerate(names)}})
    question = RegionalMap(view, {"axis": RegionRule(tolerance=5.0, groups={"low": names[:250], "high": names[250:]})})
    spec = Rotation(table, seed=1, draws=1999, outsiders=ordered_axis(BANDS))
    return MapProtocol(spec, question, level=0.1, rate=0.1)


def write_image(path, count):
    """Spectra of which a fifth have no line, the others one of 3 to 30 standard deviations at its peak."""
    lines, baseline = library()
    out = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(count, BANDS))
    for start in range(0, count, STEP):
        rng = np.random.default_rng([1, start])
        n = min(STEP, count - start)
        strength = rng.choice([0.0, 3.0, 6.0, 10.0, 30.0], n)[:, None]
        clean = strength * lines[:, rng.integers(0, LINES, n)].T + 10.0 * rng.standard_normal((n, 4)) @ baseline.T
        out[start : start + n] = clean + rng.standard_normal((n, BANDS))
    out.flush()


def map_image(path, out):
    """What a process of its own prints: wall and CPU seconds, gigabytes, and statements of both layers."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = map_signals(path, map_protocol(), out)
    seconds = time.perf_counter() - wall, time.process_time() - cpu
    stated = float(np.isin(found.labels("axis"), ["FINE", "GROUP", "ABSENT"]).mean())
    share = found.about["share"]["statements"] / np.prod(found.about["shape"])
    print(*seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, stated, share)


def spectral_angles(path):
    """The plain way: the library spectrum of smallest angle, in blocks."""
    unit = library()[0]
    unit = unit / np.linalg.norm(unit, axis=0)
    rows = np.load(path, mmap_mode="r")
    for start in range(0, len(rows), STEP):
        np.abs(rows[start : start + STEP].astype(np.float64) @ unit).argmax(axis=1)


def maps(add, sizes=(10_000, 100_000, 1_000_000)):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "image.npy"
        for size in sizes:
            write_image(path, size)
            script = f"from benchmarks._maps import map_image; map_image({str(path)!r}, {folder + f'/{size}'!r})"
            ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
            wall, cpu, memory, stated, share = map(float, ran.stdout.split())
            what = f"{stated:.0%} state something, {share:.0%} at the rate"
            add(f"map of {size:,} signals, 500 explanations", f"{wall:.0f} s", f"{cpu:.0f} s of CPU; {what}")
            add("  a signal, and memory", f"{1e6 * cpu / size:.0f} us of CPU", f"{memory:.2f} GB; wanted: under 4")
        start = time.process_time()
        spectral_angles(path)
        add("  plain NumPy: spectral angles", f"{time.process_time() - start:.0f} s of CPU", "of the largest; no error")
        rows, columns = np.load(path, mmap_mode="r")[:20], np.hstack([*library(), -library()[1]])
        start = time.process_time()
        for row in rows:
            nnls(columns, row.astype(np.float64))
        each = (time.process_time() - start) / len(rows)
        add("  plain SciPy: NNLS, 20 timed", f"{each * sizes[-1]:.0f} s of CPU", "of the largest; no error")


CASES = {"maps": maps}
