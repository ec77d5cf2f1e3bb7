"""How often a run says something false of a truth that lies anywhere in the box of a cover, with its own judge.

python benchmarks/cover_level.py [data sets] [case ...]: project files with a cover, at level 0.1; a fresh truth in the
box, fresh rows and a seed of its own for every data set, and a signal as strong as the cover allows, or a strength and
noise anywhere in their ranges.  Counted are the data sets in which the explanation of the truth's cell is rejected, and
those in which the label of the region is false: it names cells, and the truth lies in none of them, or it says that
there is nothing.  The negative control has the same cells, or longer ones, at the level itself.  Prints counts, and the
share of the first with its exact 95 % interval.
"""

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

import numpy as np
from scipy.stats import beta

from physupport.judges import Verdict
from physupport.project import assemble, load_project
from physupport.questions import Label, exhaustive_answers
from physupport.responses import Parameter, settings_grid

ROWS, BACKGROUND = 16, 25.0
AXIS = "axis = { from = 0, to = 1, count = 20 }"
PEAK = f'{{ kind = "peak", {AXIS}, width = 0.1 }}'
ARRAY = '{ kind = "uniform linear array", n_sensors = 8, spacing = 0.5 }'
FLAT = f'{{ kind = "formula", formula = "1 / (1 + ((t - x) / 0.1)**4)", {AXIS} }}'
MEAN = 'law = "mean"\nnoise = 1.0\nproposal = 0.5'
RANGED = 'law = "mean"\nnoise = { between = [0.8, 1.3] }\nproposal = 0.5'
FREE = 'law = "gaussian"\nnoise = 1.0'
WIDTH = "[parameters.width]\nbetween = [0.9, 1.1]\n"


@dataclass(frozen=True)
class Case:
    """A project, and how rows of it are made: a common mean, random sources, or counts over a background."""

    response: str
    law: str
    judge: str = ""
    more: str = ""
    box: str = "[0.3, 0.7]"
    snr: float = 12.0
    eta: float = 1.5
    rows: str = "mean"
    n_rows: int = ROWS
    strength: str = ""  # a range of it goes with one of the noise
    tangents: str = "false"
    channels: int = 20
    control: float = 1.0  # how many times the eta of the cells that are run at the level itself
    is_complex: bool = False


SIMULATION = 'judge = "simulation"'
CASES = {
    "peak, simulation": Case(PEAK, MEAN, SIMULATION, strength="strength = 3.0"),
    "peak of uncertain width, evidence": Case(PEAK, MEAN, more=WIDTH, strength="strength = 3.0"),
    "array, simulation": Case(
        ARRAY,
        MEAN,
        SIMULATION,
        box="[-20.0, 20.0]",
        snr=12.0 * 2.0**0.5,
        strength="strength = 3.0",
        channels=8,
        is_complex=True,
    ),
    # Of rotations the gate takes a part of the level, and needs draws for it.
    "formula, rotation": Case(FLAT, FREE, eta=0.8),
    "peak with tangents, rotation": Case(PEAK, FREE, snr=60.0, eta=0.8, tangents="true"),
    # By divergence a large eta leaves no level that 399 draws could hold.
    "random sources, simulation": Case(
        PEAK,
        MEAN.replace("mean", "covariance"),
        SIMULATION,
        eta=0.7,
        rows="random",
        n_rows=64,
        snr=24.0,
        strength="strength = 9.0",
    ),
    "peak of uncertain strength and noise, simulation": Case(
        PEAK,
        RANGED,
        SIMULATION,
        box="[0.45, 0.55]",
        snr=15.0,
        eta=1.6,
        control=4.0,
        strength="strength = { between = [2.4, 3.2] }",
    ),
    "random sources of uncertain strength and noise, simulation": Case(
        PEAK.replace("20", "6"),
        RANGED.replace("mean", "covariance"),
        SIMULATION,
        box="[0.45, 0.55]",
        snr=14.0,
        eta=1.2,
        control=4.0,
        rows="random",
        strength="strength = { between = [5.0, 9.0] }",
        channels=6,
    ),
    "counts, evidence of counts": Case(
        PEAK, 'law = "poisson"', more="[background]\npolynomial = 0\n", snr=30.0, eta=0.7, rows="counts", n_rows=1
    ),
}


def project(folder, case):
    (folder / "project.toml").write_text(
        f'level = 0.1\n{case.judge}\n[data.deployment]\nfile = "rows.npy"\nchannels = 1\n{case.law}\n[elements]\n'
        f'coordinates = ["x"]\nresponse = {case.response}\n{case.more}[cover]\nsnr = {case.snr!r}\neta = {case.eta}\n'
        f"tangents = {case.tangents}\n[cover.box.line]\nx = {case.box}\n[regions.line]\n{case.strength}\n"
    )
    shape, kind = (case.n_rows, case.channels), complex if case.is_complex else float
    np.save(folder / "rows.npy", np.zeros(shape, dtype=kind))
    return assemble(load_project(folder / "project.toml")).protocol


def made(case, answer, rng, nuisances):
    """(T, width) rows of a source with this answer, as strong as the cover allows in noise 1, or as strong as drawn."""
    if case.rows == "counts":  # no channel expects fewer than the background, of which sigma is the root
        return rng.poisson(case.snr * BACKGROUND**0.5 * answer + BACKGROUND, (1, len(answer))).astype(float)
    strength, scale = case.snr / case.n_rows**0.5, 2.0**-0.5 if case.is_complex else 1.0
    if nuisances:
        scale *= nuisances[None] ** 0.5
        strength = (nuisances["line"] ** 0.5 if case.rows == "random" else nuisances["line"]) / scale
    amplitudes = rng.standard_normal((case.n_rows, 1)) if case.rows == "random" else np.ones((case.n_rows, 1))
    return scale * (strength * amplitudes * answer + rng.standard_normal((case.n_rows, len(answer))))


def judged(protocol, cover, case, run):
    """Of one data set, whether the explanation of the truth's cell is rejected, and whether the label is false."""
    rng = np.random.default_rng([2027, run])
    (cells,) = cover.regions.values()
    place, ends = rng.uniform(cells.low, cells.high), [each.values for each in cover.parameters]
    values = [rng.uniform(*each) for each in ends]
    parameters = [Parameter(each.name, [value]) for each, value in zip(cover.parameters, values, strict=True)]
    answer = settings_grid(cover.response, place[None], parameters).responses[0, :, 0]
    nuisances = {each.region: rng.uniform(each.low, each.high) for each in cover.ranges}
    rows = made(case, answer, rng, nuisances)
    steps = [(value - each[0]) // (2.0 * half) for value, each, half in zip(values, ends, cover.halves, strict=True)]
    cell = cells.cell_of(place)
    state = int(sum(steps)) * len(cells.places) + cell
    own = {each.region: each.cell_of(nuisances[each.region]) for each in cover.ranges}
    (explanation,) = protocol.bank.index(state, own.get("line", 0), deployment=own.get(None, 0))
    seal = replace(protocol, seed=run).read(deployment=rows)
    if seal.judge.verdicts(np.array([explanation])).codes[0] != Verdict.REJECTED:
        return False, False  # all labels hold for what is kept
    codes = seal.verdicts().codes
    (answer,) = exhaustive_answers(seal.question, codes)
    names_others = answer.label in (Label.FINE, Label.GROUP) and cover.names()[cell] not in answer.cell
    return codes[explanation] == Verdict.REJECTED, names_others or answer.label is Label.ABSENT


def cells(cover):
    """How many there are of places, strengths and noise."""
    return " x ".join(map(str, [len(cover.places), *(each.count for each in cover.ranges)]))


def main(runs, *chosen):
    for name, case in CASES.items():
        if chosen and name not in chosen:
            continue
        with TemporaryDirectory() as folder:
            protocol = project(Path(folder), case)
            coarse = (
                project(Path(folder), replace(case, eta=case.control * case.eta)) if case.control > 1.0 else protocol
            )
        print(f"{name}: {cells(protocol.cover)} cells, run at {protocol.run_level:.4f}")
        control = f"{cells(coarse.cover)} cells at the level itself"
        for title, asked, cover, count in (
            ("cover", protocol, protocol.cover, runs),
            (control, replace(coarse, cover=None), coarse.cover, runs // 4),
        ):
            start = process_time()
            lost, false = np.sum([judged(asked, cover, case, run) for run in range(count)], axis=0)
            ends = beta.ppf([0.025, 0.975], [max(lost, 0.5), lost + 1], [count - lost + 1, max(count - lost, 0.5)])
            seconds = (process_time() - start) / count
            print(
                f"  {title}: lost {lost}/{count} = {lost / count:.3f} [{ends[0]:.3f}, {ends[1]:.3f}], "
                f"false {false}, {seconds:.3f} s each",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000, *sys.argv[2:])
