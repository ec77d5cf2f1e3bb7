"""The verdicts of the four-region study, small random questions, and every policy."""

from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import strategies as st

from physupport.aeb import (
    FarthestFirst,
    FixedOrder,
    RandomOrder,
    RegionalPolicy,
    WitnessFirst,
    elsewhere,
    presence,
    regional_distances,
)
from physupport.coarsen import RegionalMap, RegionRule
from physupport.project import TableRegions, table_regions

PLACES = {"A": (0.10, 0.20), "B": (0.405, 0.435, 0.465, 0.495), "C": (0.64, 0.70, 0.76), "D": (0.86, 0.91, 0.96)}
SUPPORTS = ("AB", "ABC", "ABD")


class Case(NamedTuple):
    """A data set of the four-region study: proposals of its two streams and what survives of 216 explanations.

    Scored once in plain float64 from the seeds, by a program that shares nothing with the package.
    """

    seed: int
    scene: str
    calibration: int  # proposed state
    deployment: int  # proposed explanation
    survivors: tuple[int, ...]

    @property
    def codes(self):
        codes = np.ones(216, dtype=np.uint8)
        codes[list(self.survivors)] = 0
        return codes


CASES = (
    Case(2026091001, "AB", 22, 162, (39, 40, 41, 66, 67, 68, 93, 94, 95)),
    Case(2026091002, "AB", 32, 55, (12, 13, 15, 16, 36, 37, 39, 40, 42, 43, 49, 51, 52, 63, 64, 66, 67, 69, 70, 75,
         76, 78, 79, 93, 94, 96, 97)),
    Case(2026091003, "AB", 22, 54, (63, 64, 66, 67)),
    Case(2026091004, "AB", 22, 27, (39, 40, 66, 67)),
    Case(2026091005, "AB", 22, 81, (30, 31, 57, 58, 66, 67, 93, 94)),
    Case(2026091006, "AB", 21, 54, (39, 40, 63, 64, 66, 67, 69, 70, 75, 76, 78, 79, 93, 94, 102, 103)),
    Case(2026091011, "ABC", 22, 27, (66, 67, 93, 94)),
    Case(2026091012, "ABC", 23, 82, (30, 31, 39, 40, 48, 49, 57, 58, 63, 64, 66, 67, 69, 70, 75, 76, 78, 79, 84,
         85, 90, 91, 93, 94, 96, 97, 102, 103, 105, 106)),
    Case(2026091013, "ABC", 22, 27, (39, 40, 42, 43, 66, 67, 69, 70)),
    Case(2026091014, "ABC", 13, 82, (39, 40, 42, 43, 63, 64, 66, 67, 69, 70, 75, 76, 93, 94, 96, 97)),
    Case(2026091015, "ABC", 13, 81, ()),
    Case(2026091016, "ABC", 13, 55, (39, 40, 54, 55, 57, 58, 63, 64, 66, 67, 69, 70, 93, 94)),
    Case(2026091021, "ABD", 22, 83, (41, 68)),
    Case(2026091022, "ABD", 13, 32, (41,)),
    Case(2026091023, "ABD", 22, 62, (68, 71)),
)  # fmt: skip


def make_four_regions(places):
    """Explanation 3 * state + support, as in the study."""
    states = list(product(*(range(len(found)) for found in places.values())))
    columns = {
        region: [f"{region}{state[j]}" if region in support else None for state in states for support in SUPPORTS]
        for j, region in enumerate(places)
    }
    named = {region: {f"{region}{i}": x for i, x in enumerate(found)} for region, found in places.items()}
    optional = ("fine", "group", "absence", "ambiguity")
    rules = {
        "A": RegionRule(0.035, asks=("fine", "ambiguity")),
        "B": RegionRule(0.020, asks=("fine", "group")),
        "C": RegionRule(0.035, asks=optional, absent_witness="persistent_only"),
        "D": RegionRule(0.030, asks=optional),
    }
    return RegionalMap(table_regions(columns, coordinates=named), rules)


@pytest.fixture(scope="session")
def four_region_question():
    return make_four_regions(PLACES)


@pytest.fixture(scope="session")
def make_question():
    return make_four_regions


@pytest.fixture(scope="session")
def four_region_cases():
    return CASES


OPTIONS = ("finest", ("fine",), ("fine", "ambiguity"), ("group",), ("group", "ambiguity"), ("absence",),
           ("presence", "absence"), ("absence", "ambiguity"), ("fine", "group", "absence", "ambiguity"))  # fmt: skip


@st.composite
def problems(draw, finest=False, indeterminate=True):
    """A small regional map with strengths, groups and thresholds, and a verdict for each of its explanations."""
    size, n_regions = draw(st.integers(1, 24)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    widths = [draw(st.integers(1, 5)) for _ in range(n_regions)]
    locations = np.column_stack([rng.integers(0 if draw(st.booleans()) else -1, width, size) for width in widths])
    names = [f"R{j}" for j in range(n_regions)]
    elements = {name: tuple(f"{name}.{i}" for i in range(width)) for name, width in zip(names, widths, strict=True)}
    strengths = np.where(locations >= 0, rng.choice([0.5, 1.0], locations.shape), 0.0)
    places = {name: rng.integers(0, 4, (width, 1)).astype(float) for name, width in zip(names, widths, strict=True)}
    rules = {name: draw(_rules(elements[name], finest)) for name in names}
    question = RegionalMap(TableRegions(elements, locations, strengths, places), rules)
    kinds = [0, 1, 2] if indeterminate else [0, 1]
    weights = rng.dirichlet(np.full(len(kinds), 0.5))
    return question, rng.choice(kinds, size, p=weights).astype(np.uint8), rng.random(size)


@st.composite
def _rules(draw, elements, finest):
    groups = {"left": list(elements[: (len(elements) + 1) // 2])} if draw(st.booleans()) else None
    return RegionRule(
        tolerance=draw(st.sampled_from([0.0, 1.0, 2.0])),
        groups=groups,
        asks="finest" if finest else draw(st.sampled_from(OPTIONS)),
        absence_threshold=draw(st.sampled_from([None, None, 0.8])),
        absent_witness="any" if finest else draw(st.sampled_from(["any", "persistent_only"])),
    )


def all_policies(question):
    """One of each kind that any regional map can have."""
    column = question.slots(np.arange(question.view.n_explanations))[:, 0]
    stages = (column < 0, column >= 0)
    obligations = [presence(question, question.regions[-1])]
    if (column >= 0).any():
        obligations.append(elsewhere(question, question.regions[0], int(np.argmax(column >= 0))))
    return (
        FixedOrder(),
        RandomOrder(7),
        FarthestFirst(regional_distances(question)),
        RegionalPolicy(),
        RegionalPolicy(probes=0),
        WitnessFirst(stages, tuple(obligations)),
    )


@pytest.fixture(scope="session")
def kit():
    """Strategy and policies, since test files do not import each other."""
    return problems, all_policies
