"""Data sets that every judge is tried on: the cases of the package, and those that the tests of one judge give.

A file `test_by_name.py` beside this one gives cases of its judge as `CASES`, made with the functions below.
"""

from functools import reduce
from importlib import import_module
from operator import or_
from pathlib import Path

import numpy as np

from physupport.analysis import StreamPlan
from physupport.banks import Library, bank_regions, library_bank, product_grid
from physupport.io import as_pairs
from physupport.judges import ByEvidence, ByInvariant
from physupport.judges.conformal import ByConformal, Replicates
from physupport.judges.counts import ByCounts
from physupport.judges.learnt import ByLearnt
from physupport.judges.learnt._places import Component, Pieces
from physupport.judges.rotation import ByRotation, Scan
from physupport.judges.simulation import BySimulation
from physupport.laws import LAWS, Linear, Poisson, laws_of_files, make_law
from physupport.questions import RegionalMap, RegionRule

CHANNELS, AXIS = 16, np.arange(16)
PLACES = {"a0": 2.0, "a1": 3.2, "a2": 7.0, "a3": 8.2, "b0": 12.0, "b1": 13.5}
LINES = np.exp(-0.5 * ((AXIS[:, None] - np.array([*PLACES.values()])) / 1.2) ** 2)
ATOMS = LINES / np.linalg.norm(LINES, axis=0)
PHASES = np.exp(1j * np.outer(AXIS, np.arange(1.0, 7.0)) / 7.0)


def made_bank(elements=ATOMS, supports=("A", "AB"), strengths=2.0, **nuisances):
    names = [*PLACES]
    library = Library(names, ["A"] * 4 + ["B"] * 2, np.array([*PLACES.values()])[:, None], elements)
    return library_bank(library, [list(s) for s in supports], {"A": strengths, "B": strengths}, **nuisances)


def replicates():
    rng = np.random.default_rng(5)
    listed = [(e, unit) for e in range(6) for unit in range(12)]
    spectra = [ATOMS[:, e] * (1.0 + 0.1 * np.sin(AXIS / 3.0 + unit)) + 0.02 * rng.standard_normal(CHANNELS)
               for e, unit in listed]  # fmt: skip
    names = [*PLACES]
    return Replicates(np.array(spectra), tuple(names[e] for e, _ in listed), tuple(f"unit {k}" for _, k in listed))


def scored(name, judge, n_rows=40, **options):
    """Rows of one stream under a law whose parameters the bank has."""
    bank = made_bank(calibration=product_grid(p=[0.2, 0.4], noise=[0.3]), deployment=product_grid(noise=[0.3]))
    law = make_law(name, options)
    rows = law.completed(bank).sample(bank, bank.size - 1, np.random.default_rng(11), n_rows)
    return bank, {law.part: StreamPlan(law, 0.4, first=4)}, judge, {law.part: rows}


def linear(judge, amplitude=9.0, n_rows=1, **options):
    """Open coefficients over a straight line."""
    rng, base = np.random.default_rng(14), np.stack([np.ones(CHANNELS), AXIS / CHANNELS], axis=1)
    law = Linear(background=base, **options)
    rows = amplitude * ATOMS[:, 2] / np.sqrt(n_rows) + 3.0 + rng.standard_normal((n_rows, CHANNELS))
    return made_bank(), {"deployment": StreamPlan(law, 0.5)}, judge, {"deployment": rows}


def free_rows(judge):
    """Snapshots of unknown waveforms, complex."""
    rng, atoms = np.random.default_rng(13), ATOMS * PHASES
    waves, noise = (rng.standard_normal((20, k)) + 1j * rng.standard_normal((20, k)) for k in (1, CHANNELS))
    rows = 2.0 * waves @ atoms[:, [2]].T + noise
    bank = made_bank(as_pairs(atoms, axis=0))
    plan = StreamPlan(Linear(rows="free", is_complex=True), 0.5)
    return bank, {"deployment": plan}, judge, {"deployment": as_pairs(rows)}


def counted():
    means = 4.0 + 120.0 * ATOMS[:, 2]
    rows = np.random.default_rng(14).poisson(means)[None].astype(float)
    law = Poisson(background=np.ones((CHANNELS, 1)))
    return made_bank(), {"deployment": StreamPlan(law, 0.5)}, ByCounts(n_splits=2), {"deployment": rows}


def conformal():
    row = 30.0 * ATOMS[:, 2] * (1.0 + 0.1 * np.sin(AXIS / 3.0 + 99)) + 0.02
    plans = {"deployment": StreamPlan("gaussian", 0.5)}
    return made_bank(supports=("A", "B")), plans, ByConformal(replicates()), {"deployment": row[None]}


LEARNT_FACTS = {
    "n_rows": 100, "rows": "0" * 64, "n_atoms": 2, "level": 0.025, "unit": "", "learnt_on": "", "noise_at_most": 0.1,
    "weakest": 1.0, "is_resolved": True, "rows_needed": None, "scale": 0.9, "information": 53.1,
    "left": [
        {"low": [2.0], "high": [8.2], "most_atoms": 1, "cells": [{"name": "a0", "low": [2.0], "high": [3.0]}]},
        {"low": [12.0], "high": [13.5], "most_atoms": 1, "cells": []},
    ],
    "read_as": [
        {"atom": 1, "place": "7", "at": [7.0], "degrees": 1.0},
        {"atom": 2, "place": "12", "at": [12.0], "degrees": 2.0},
    ],
}  # fmt: skip


def learnt():
    """Rows of one of two atoms, each of which a calibration leaves some places to."""
    places = np.array([*PLACES.values()])[:, None]
    components = tuple(
        Component(Pieces(ATOMS[:, own], np.zeros(len(own)), places[own], places[own]), own, best, 1, 0.0)
        for own, best in ((np.arange(4), 2), (np.arange(4, 6), 0))
    )
    rng = np.random.default_rng(17)
    rows = 2.0 * rng.standard_normal((20, 1)) @ ATOMS[:, [2]].T + 0.1 * rng.standard_normal((20, CHANNELS))
    judge = ByLearnt(components, LEARNT_FACTS)
    return made_bank(), {"deployment": StreamPlan(Linear(rows="free"), 0.5)}, judge, {"deployment": rows}


def two_streams():
    """Rotation of one row beside the evidence of calibration rows with known codes."""
    bank, plans, judge, rows = linear(ByRotation(199, 499))
    grid = {"calibration": product_grid(noise=[0.3])}
    bank = made_bank(**grid)
    law = make_law("known codes", {})
    is_true = asked_map(bank).slots(np.arange(bank.size)) == [2, -1]
    truth = int(np.flatnonzero(is_true.all(axis=1))[0])
    table = law.completed(bank).sample(bank, truth, np.random.default_rng(16), 12)
    plans = {"calibration": StreamPlan(law, 0.5, first=2), **plans}
    return bank, plans, judge, {"calibration": table, **rows}


# Laws that state their strengths: each registered one, by its name alone.
STATED = [name for name in laws_of_files("calibration") + laws_of_files("deployment")
          if LAWS[name].has_strengths and not LAWS[name].is_linear]  # fmt: skip
CASES = {
    **{f"evidence, {name}": lambda name=name: scored(name, ByEvidence()) for name in STATED},
    "evidence, profiled mean": lambda: scored("profiled mean", ByEvidence(), box=([-4.0] * 2, [4.0] * 2)),
    "evidence, gaussian rows": lambda: linear(ByEvidence(), n_rows=12),
    "splits of rows": lambda: linear(ByEvidence("rows", 3), n_rows=12),
    "fission": lambda: linear(ByEvidence("fission", 3), noises=[1.0]),
    "rotation, one row": lambda: linear(ByRotation(199, 499)),
    "rotation, rows": lambda: linear(ByRotation(199, 499), n_rows=6),
    "rotation, noise known": lambda: linear(ByRotation(199, 499, Scan("none")), noises=[1.0]),
    "rotation, no gate": lambda: linear(ByRotation(199, 499, None), amplitude=6.0),
    "rotation, free rows": lambda: free_rows(ByRotation(199, 499)),
    "invariant, one row": lambda: linear(ByInvariant(), coefficients={"A": (0.0, np.inf)}),
    "invariant, noise known": lambda: linear(ByInvariant(), n_rows=6, noises=[1.0]),
    "invariant, free rows": lambda: free_rows(ByInvariant()),
    "rotation beside evidence": two_streams,
    **{f"simulation, {name}": lambda name=name: scored(name, BySimulation(draws=99, copies=2), n_rows=20)
       for name in ("latent", "covariance", "mean")},
    "learnt": learnt,
    "counts": counted,
    "conformal": conformal,
}  # fmt: skip


def asked_map(bank):
    groups = {"low": ["a0", "a1"], "high": ["a2", "a3"]}
    rules = {"A": RegionRule(0.5, groups=groups), "B": RegionRule(0.5)}
    return RegionalMap(bank_regions(bank), rules)


def every_case():
    """The cases of the package and of the tests of each judge, which import this module: load them when asked."""
    paths = sorted(Path(__file__).parent.glob("test_by_*.py"))
    given = [import_module(f"tests.judges.{path.stem}").CASES for path in paths]
    return reduce(or_, given, CASES)
