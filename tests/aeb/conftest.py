"""Small random questions, and every policy that each kind can have."""

import numpy as np
import pytest
from hypothesis import strategies as st

from physupport.aeb import (
    EndpointPolicy,
    FarthestFirst,
    FixedOrder,
    RandomOrder,
    RegionalPolicy,
    WitnessFirst,
    elsewhere,
    presence,
)
from physupport.banks import listed_regions
from physupport.questions import RegionalMap, RegionRule, Resolution

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
    axes = draw(st.integers(1, 2))
    places = {name: rng.integers(0, 4, (width, axes)).astype(float) for name, width in zip(names, widths, strict=True)}
    rules = {name: draw(_rules(elements[name], finest, rng)) for name in names}
    question = RegionalMap(listed_regions(elements, locations, strengths, places), rules)
    return question, _verdicts(rng, size, indeterminate), rng.random(size)


def _verdicts(rng, size, indeterminate):
    kinds = [0, 1, 2] if indeterminate else [0, 1]
    return rng.choice(kinds, size, p=rng.dirichlet(np.full(len(kinds), 0.5))).astype(np.uint8)


@st.composite
def resolutions(draw, finest=False, indeterminate=True):
    """A small resolution on a line, and a verdict for each of its explanations; it has one way of asking."""
    size, count = draw(st.integers(1, 24)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    x = rng.integers(0, 6, count).astype(float)
    fine, group = sorted(draw(st.lists(st.sampled_from([0.0, 1.0, 2.0, 3.0]), min_size=2, max_size=2)))
    away = np.abs(x - rng.integers(0, 6))
    slack = draw(st.sampled_from([1e-12, np.inf]))
    question = Resolution(rng.integers(0, count, size), np.abs(x[:, None] - x), away, fine, group, slack=slack)
    return question, _verdicts(rng, size, indeterminate), rng.random(size)


def _distances(rng, count):
    """Any symmetric table: the triangle inequality is nowhere needed."""
    drawn = np.triu(rng.integers(0, 4, (count, count)), 1).astype(float)
    return drawn + drawn.T


@st.composite
def _rules(draw, elements, finest, rng):
    half = list(elements[: (len(elements) + 1) // 2])
    groups = st.sampled_from(
        [None, {"left": half}, {"all": {"left": {"first": half[:1], "rest": half}}, "last": half[-1:]}]
    )
    return RegionRule(
        tolerance=draw(st.sampled_from([0.0, 1.0, 2.0])),
        distances=_distances(rng, len(elements)) if draw(st.booleans()) else None,
        groups=draw(groups),
        asks="finest" if finest else draw(st.sampled_from(OPTIONS)),
        absence_threshold=draw(st.sampled_from([None, None, 0.8])),
        absent_witness="any" if finest else draw(st.sampled_from(["any", "persistent_only"])),
    )


def all_policies(question):
    """One of each kind that the question can have."""
    baselines = FixedOrder(), RandomOrder(7)
    if isinstance(question, Resolution):
        order = np.arange(question.n_explanations)[::-1]
        return (*baselines, FarthestFirst(question.farness()[1]), EndpointPolicy(), EndpointPolicy(order))
    column = question.slots(np.arange(question.n_explanations))[:, 0]
    stages = (column < 0, column >= 0)
    obligations = [presence(question, question.regions[-1])]
    if (column >= 0).any():
        obligations.append(elsewhere(question, question.regions[0], int(np.argmax(column >= 0))))
    return (
        *baselines,
        FarthestFirst(question.farness()[1]),
        RegionalPolicy(),
        RegionalPolicy(probes=0),
        WitnessFirst(stages, tuple(obligations)),
    )


@pytest.fixture(params=[problems, resolutions], ids=["map", "resolution"])
def make_problems(request):
    """A strategy for (question, verdicts, plausibility): of maps, and of resolutions."""
    return request.param


@pytest.fixture(scope="session")
def make_maps():
    return problems


@pytest.fixture(scope="session")
def policies():
    """Question -> policies; test files do not import each other."""
    return all_policies
