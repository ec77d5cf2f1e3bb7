"""Lines on an axis of 40 channels over a straight baseline: one of twelve is active, or none."""

from types import SimpleNamespace

import numpy as np
import pytest

from physupport.banks import table_regions
from physupport.judges.rotation import Rotation, RotationTable, ordered_axis
from physupport.maps import RotatedSignals
from physupport.questions import RegionalMap, RegionRule

CHANNELS, LINES = 40, 12


def lines_bank():
    axis = np.arange(CHANNELS)
    lines = np.exp(-0.5 * ((axis[:, None] - np.linspace(4, 36, LINES)) / 3.0) ** 2)
    baseline = np.stack([np.ones(CHANNELS), axis / CHANNELS], axis=1)
    table = RotationTable(lines, [(), *((i,) for i in range(LINES))], baseline)
    names = [None, *(f"line {i}" for i in range(LINES))]
    places = {"axis": {f"line {i}": [3.0 * i] for i in range(LINES)}}
    view = table_regions({"axis": names}, coordinates=places)
    groups = {"low": [f"line {i}" for i in range(6)], "high": [f"line {i}" for i in range(6, LINES)]}
    question = RegionalMap(view, {"axis": RegionRule(tolerance=3.5, groups=groups)})

    def signals(amplitudes, seed, truth=None):
        rng = np.random.default_rng(seed)
        truth = rng.integers(0, LINES, len(amplitudes)) if truth is None else truth
        clean = amplitudes[:, None] * lines[:, truth].T + 20.0 * rng.standard_normal((len(truth), 2)) @ baseline.T
        return clean + rng.standard_normal((len(truth), CHANNELS)), np.where(amplitudes == 0.0, 0, truth + 1)

    spec = Rotation(table, seed=3, outsiders=ordered_axis(CHANNELS))
    parts = {"lines": lines, "baseline": baseline, "signals": signals}
    return SimpleNamespace(table=table, spec=spec, judge=RotatedSignals(spec), question=question, **parts)


@pytest.fixture(scope="session")
def bank():
    return lines_bank()
