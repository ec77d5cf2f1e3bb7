"""Draws belong to one data set: a frozen protocol keeps its level over data sets, and nobody can draw again."""

from dataclasses import replace
from inspect import getclosurevars

import numpy as np
import pytest
from scipy.stats import binom, chi2

from physupport._codec import draws_seed
from physupport.aeb import RegionalPolicy
from physupport.analysis import AnalysisProtocol, StreamPlan, analyse
from physupport.banks import Library, bank_regions, library_bank, product_grid
from physupport.judges import ByEvidence, Verdict
from physupport.judges.counts import ByCounts, CountTable
from physupport.judges.rotation import ByRotation, Rotation, RotationTable
from physupport.judges.simulation import BySimulation
from physupport.laws import Linear, Mean, Poisson
from physupport.questions import RegionalMap
from physupport.verify import verify

CHANNELS, TRUTH, LEVEL = 12, 2, 0.1
ATOMS = np.exp(-0.5 * ((np.arange(CHANNELS)[:, None] - np.linspace(1, 10, 5)) / 1.5) ** 2)
ATOMS /= np.linalg.norm(ATOMS, axis=0)
BASE = np.ones((CHANNELS, 1))
LIBRARY = Library([f"e{i}" for i in range(5)], ["axis"] * 5, np.arange(5.0)[:, None], ATOMS)
BANK = library_bank(LIBRARY, [["axis"]], {"axis": [1.0]}, deployment=product_grid(noise=[1.0]))


def frozen(law, judge, seed=0):
    question, plans = RegionalMap(bank_regions(BANK)), {"deployment": StreamPlan(law, 0.5)}
    return AnalysisProtocol(question, RegionalPolicy(), LEVEL, 1.0, BANK, plans, seed, judge=judge)


def measured(rng):
    return 2.0 * ATOMS[:, TRUTH] + 3.0 * rng.standard_normal() + rng.standard_normal((1, CHANNELS))


def counted(rng):
    return rng.poisson(2.0 + 30.0 * ATOMS[:, TRUTH])[None].astype(float)


# So few draws that a protocol which shared them over data sets would have a level far from its own.
FEW = {
    "rotation": (Linear(background=BASE), ByRotation(10, outsiders=None), measured),
    "simulation": (Mean(), BySimulation("ratio", draws=10), lambda rng: ATOMS[:, TRUTH] + rng.standard_normal((2, 12))),
}
SPLIT = {
    "counts": (Poisson(background=BASE), ByCounts(n_splits=1), counted),
    "fission": (Linear(background=BASE, noises=[1.0]), ByEvidence("fission", 1), measured),
}


@pytest.mark.parametrize("case", FEW)
def test_sixteen_frozen_protocols_lose_the_truth_equally_often_and_in_at_most_their_level_of_the_data_sets(case):
    (law, spec, make), runs = FEW[case], 50
    counts = np.zeros(16, dtype=int)
    for seed in range(16):
        protocol, rng = frozen(law, spec, seed), np.random.default_rng([3, seed])
        judges = (protocol.read(deployment=make(rng)).judge for _ in range(runs))
        counts[seed] = sum(judge.verdicts(np.array([TRUTH])).codes[0] == Verdict.REJECTED for judge in judges)
    assert binom.sf(counts.sum() - 1, 16 * runs, LEVEL) > 1e-6
    # Were draws shared over data sets, the level of a protocol would have a standard deviation as large as its mean.
    variance = counts.mean() * (1.0 - counts.mean() / runs)
    assert chi2.sf(((counts - counts.mean()) ** 2).sum() / variance, 15) > 1e-6


def second_part(case, judge):
    """(channels,) the part of the rows that judges."""
    if case == "counts":
        return judge.ball.__self__.trials[0].counts
    ((trial,),) = getclosurevars(judge.ball).nonlocals["trials"]
    return np.concatenate([*trial.stream.rows.blocks()])[0]


@pytest.mark.parametrize("case", SPLIT)
def test_both_parts_of_rows_are_independent_over_the_data_sets_of_one_frozen_protocol(case):
    law, spec, make = SPLIT[case]
    protocol, rng = frozen(law, spec), np.random.default_rng(4)
    whole = [make(rng) for _ in range(200)]
    second = np.array([second_part(case, protocol.read(deployment=rows).judge) for rows in whole])
    first = np.concatenate(whole) * (1.0 if case == "counts" else 2.0) - second
    if case == "fission":  # the level of the row is that of both parts
        first, second = (part - part.mean(axis=1, keepdims=True) for part in (first, second))
    found = np.mean([np.corrcoef(first[:, i], second[:, i])[0, 1] for i in range(CHANNELS)])
    # Six deviations of the mean of as many correlations; parts that share their draws have .8 and 1.
    assert abs(found) <= 6.0 / np.sqrt(200 * CHANNELS)


def drawn(protocol, rows):
    return protocol.read(deployment=rows)._held_out.draws_seed


def test_draws_are_those_of_the_seed_and_of_the_rows_as_they_are_stored():
    protocol, rows = frozen(*FEW["rotation"][:2], seed=7), measured(np.random.default_rng(1))
    seal = protocol.read(deployment=rows)
    assert drawn(protocol, rows) == draws_seed(7, seal.data)
    assert drawn(protocol, rows.astype(">f8")) == drawn(protocol, np.asfortranarray(rows)) == draws_seed(7, seal.data)
    changed = rows.copy()
    changed[0, 3] = np.nextafter(changed[0, 3], np.inf)
    assert drawn(protocol, changed) != drawn(protocol, rows) != drawn(replace(protocol, seed=8), rows)


def test_a_bank_with_another_last_digit_meets_the_same_draws():
    """A response that another processor rounds otherwise must not have other draws."""
    protocol, rows = frozen(*FEW["rotation"][:2]), measured(np.random.default_rng(1))
    turned = replace(LIBRARY, responses=ATOMS * (1.0 + 2.0**-52))
    other = library_bank(turned, [["axis"]], {"axis": [1.0]}, deployment=product_grid(noise=[1.0]))
    assert other.digest != BANK.digest
    asked = replace(protocol, bank=other, question=RegionalMap(bank_regions(other)))
    assert drawn(asked, rows) == drawn(protocol, rows)


@pytest.mark.parametrize("case", FEW | SPLIT)
def test_a_report_is_verified_by_drawing_again(case):
    law, spec, make = (FEW | SPLIT)[case]
    rows = make(np.random.default_rng(2))
    text = analyse(frozen(law, spec), {"deployment": rows}).report.json()
    assert verify(text, {"deployment": rows}).findings == ()
    assert verify(text, {"deployment": np.nextafter(rows, np.inf)}).findings


@pytest.mark.parametrize("kind", ["rotation", "counts"])
def test_a_judge_that_is_asked_directly_draws_anew_for_other_rows(kind):
    rng = np.random.default_rng(5)
    if kind == "rotation":
        spec = Rotation(RotationTable(ATOMS, [(i,) for i in range(5)], BASE), seed=3)
        first, second = measured(rng), measured(rng)
        seeds = [spec.judge(rows, LEVEL).spec.seed for rows in (first, first, second)]
    else:
        table = CountTable(ATOMS, [(i,) for i in range(5)], BASE)
        first, second = counted(rng), counted(rng)
        seeds = [ByCounts().judge(table, rows, LEVEL, seed=3).seed for rows in (first, first, second)]
    assert seeds[0] == seeds[1] != seeds[2]
