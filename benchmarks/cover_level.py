"""How often a run loses the cell of a truth that lies anywhere in the box of a cover, with its own judge.

python benchmarks/cover_level.py [data sets]: five project files with a cover, at level 0.1; a fresh truth in the box,
fresh rows and a seed of its own for every data set; the verdict of the protocol's judge on the explanation of the
truth's cell.  The negative control has the same cells at the level itself, and a signal as strong as the cover allows.
Prints the share and its exact 95 % interval.
"""

import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

import numpy as np
from scipy.stats import beta

from physupport.judges import Verdict
from physupport.project import assemble, load_project
from physupport.responses import Parameter, settings_grid

ROWS = 16
PEAK = '{ kind = "peak", axis = { from = 0, to = 1, count = 20 }, width = 0.1 }'
ARRAY = '{ kind = "uniform linear array", n_sensors = 8, spacing = 0.5 }'
FLAT = '{ kind = "formula", formula = "1 / (1 + ((t - x) / 0.1)**4)", axis = { from = 0, to = 1, count = 20 } }'
MEAN = 'law = "mean"\nnoise = 1.0\nproposal = 0.5'
FREE = 'law = "gaussian"\nnoise = 1.0'
WIDTH = "[parameters.width]\nbetween = [0.9, 1.1]\n"
# Response, law, box, judge, tangents, further tables, and whether rows are complex.
CASES = {
    "peak, simulation": (PEAK, MEAN, "[0.3, 0.7]", 'judge = "simulation"', "false", "", False),
    "peak of uncertain width, evidence": (PEAK, MEAN, "[0.3, 0.7]", "", "false", WIDTH, False),
    "array, simulation": (ARRAY, MEAN, "[-20.0, 20.0]", 'judge = "simulation"', "false", "", True),
    "formula, rotation": (FLAT, FREE, "[0.3, 0.7]", "", "false", "", False),
    "peak with tangents, rotation": (PEAK, FREE, "[0.3, 0.7]", "", "true", "", False),
}


def project(folder, case):
    response, law, box, judge, tangents, more, is_complex = case
    strength = "strength = 3.0" if "mean" in law else ""
    eta = 1.5 if "mean" in law else 0.8  # of rotations the gate takes a part of the level, and needs draws for it
    snr = 3.0 * ROWS**0.5 * (2.0**0.5 if is_complex else 1.0) * (5.0 if tangents == "true" else 1.0)
    (folder / "project.toml").write_text(
        f'level = 0.1\n{judge}\n[data.deployment]\nfile = "rows.npy"\nchannels = 1\n{law}\n[elements]\n'
        f'coordinates = ["x"]\nresponse = {response}\n{more}[cover]\nsnr = {snr!r}\neta = {eta}\n'
        f"tangents = {tangents}\n[cover.box.line]\nx = {box}\n[regions.line]\n{strength}\n"
    )
    np.save(folder / "rows.npy", np.zeros((ROWS, 8), dtype=complex) if is_complex else np.zeros((ROWS, 20)))
    return assemble(load_project(folder / "project.toml")).protocol


def lost(protocol, run, level=None):
    """Whether the explanation of the truth's cell is rejected, in one data set."""
    cover, rng = protocol.cover, np.random.default_rng([2027, run])
    (cells,) = cover.regions.values()
    place, ends = rng.uniform(cells.low, cells.high), [each.values for each in cover.parameters]
    values = [rng.uniform(*each) for each in ends]
    parameters = [Parameter(each.name, [value]) for each, value in zip(cover.parameters, values, strict=True)]
    answer = settings_grid(cover.response, place[None], parameters).responses[0, :, 0]
    is_pairs = protocol.streams["deployment"].law.is_complex
    rows = cover.snr / ROWS**0.5 * answer / (2.0**0.5 if is_pairs else 1.0)
    rows = rows + rng.standard_normal((ROWS, len(answer))) / (2.0**0.5 if is_pairs else 1.0)
    steps = [(value - each[0]) // (2.0 * half) for value, each, half in zip(values, ends, cover.halves, strict=True)]
    state = int(sum(steps)) * len(cells.places) + cells.cell_of(place)
    asked = replace(protocol, seed=run) if level is None else replace(protocol, seed=run, level=level)
    seal = asked.read(deployment=rows)
    return seal.judge.verdicts(np.array([state])).codes[0] == Verdict.REJECTED


def uncovered(protocol):
    """The level at which a cover would have been run at the level itself."""
    low, high = protocol.level, 0.999
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if protocol.cover.level(middle) < protocol.level else (low, middle)
    return high


def main(runs):
    for name, case in CASES.items():
        with TemporaryDirectory() as folder:
            protocol = project(Path(folder), case)
        for title, level, count in (
            (name, None, runs),
            (f"{name}, at the level itself", uncovered(protocol), runs // 4),
        ):
            start = process_time()
            found = sum(lost(protocol, run, level) for run in range(count))
            ends = beta.ppf([0.025, 0.975], [max(found, 0.5), found + 1], [count - found + 1, max(count - found, 0.5)])
            seconds = (process_time() - start) / count
            print(
                f"{title}: {found}/{count} = {found / count:.3f} [{ends[0]:.3f}, {ends[1]:.3f}], {seconds:.3f} s each"
            )
            sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
