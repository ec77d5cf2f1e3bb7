"""Measured X-rays of a steel, SRM 1155: half a million counts show that no line is a Gaussian, and nothing is left.

Counts are channels 567 to 612 of `Steel.spe` of PyMca5 (MIT licence, Copyright (c) 2004-2022 European Synchrotron
Radiation Facility), the K beta lines of iron, under which cobalt would lie.
"""

import numpy as np
import pytest

from physupport.judges import Verdict
from physupport.judges.counts import ByCounts, CountTable

COUNTS = np.array([
    668, 724, 755, 937, 1019, 1163, 1408, 1640, 1993, 2419, 3102, 3841, 5176, 6470, 7990, 10113, 12326, 14749, 17621,
    20524, 23016, 25705, 28139, 29418, 30628, 31180, 30572, 29338, 27689, 25141, 22698, 19557, 16652, 13965, 11136,
    8808, 6963, 5247, 3861, 3011, 2163, 1756, 1464, 1460, 1728, 2113,
])  # fmt: skip
ENERGIES = -0.006124 + 0.0119282 * np.arange(567, 613)  # keV
WIDTH = np.sqrt((0.12744 / 2.3548) ** 2 + 0.1012 * 0.00385 * 7.0)
LINES = {"Fe": ((7.058, 1.0), (7.108, 0.003)), "Co": ((6.930, 1.0), (6.915, 0.51))}  # keV, and relative rates
RIGHT = np.linspace(0.0, 1.0, len(COUNTS))[:, None]
LEVEL, SHIFTS = 0.05, np.linspace(-0.012, 0.012, 9)  # a channel either way


def responses(names, shift):
    def line(energy):
        return np.exp(-0.5 * ((ENERGIES - energy - shift) / WIDTH) ** 2)

    return np.stack([sum(rate * line(energy) for energy, rate in LINES[name]) for name in names], axis=1) + 1e-12


def kept(names, counts):
    supports = [(), *((j,) for j in range(len(names))), tuple(range(len(names)))][: 2 ** len(names)]
    variants = [responses(names, shift) for shift in SHIFTS]
    table = CountTable.with_variants(variants, supports, np.hstack([RIGHT, 1.0 - RIGHT]))
    codes = ByCounts().judge(table, counts, LEVEL, seed=1).verdicts(np.arange(table.size)).codes
    return {supports[e % len(supports)] for e in np.flatnonzero(codes != Verdict.REJECTED).tolist()}


@pytest.mark.parametrize("names", [("Fe", "Co"), ("Co",), ("Fe",)])
def test_what_responses_that_are_not_exact_enough_cannot_explain_leaves_nothing(names):
    assert kept(names, COUNTS) == set()


def test_the_same_window_of_the_model_itself_keeps_iron():
    """So that nothing is left above because of what was measured, not because of the window."""
    means = responses(("Fe",), 0.003)[:, 0]
    drawn = np.random.default_rng(1).poisson(COUNTS.sum() * means / means.sum() + 500.0)
    found = kept(("Fe", "Co"), drawn)
    assert (0,) in found
    assert () not in found
    assert (1,) not in found
