"""Invariant evidence of many signals: the verdicts of their reports, and a share of false statements at its rate."""

from dataclasses import replace

import numpy as np
import pytest

from physupport import StreamPlan
from physupport.aeb import RegionalPolicy
from physupport.analysis import AnalysisProtocol
from physupport.banks import Library, bank_regions, library_bank, product_grid
from physupport.judges import ByInvariant
from physupport.maps import InvariantSignals, MapProtocol, ProtocolSignals
from physupport.maps._protocol import chosen_level
from physupport.questions import RegionalMap

CHANNELS, LINES = 24, 6
AXIS = np.arange(CHANNELS)
ATOMS = np.exp(-0.5 * ((AXIS[:, None] - np.linspace(3, 20, LINES)) / 2.0) ** 2)
ATOMS /= np.linalg.norm(ATOMS, axis=0)
LIBRARY = Library([f"e{i}" for i in range(LINES)], ["axis"] * LINES, np.arange(float(LINES))[:, None], ATOMS)


def protocol(noise=None, judge=None, **options):
    """Lines over a constant; a line or none."""
    nuisances = {} if noise is None else {"deployment": product_grid(noise=[noise])}
    bank = library_bank(LIBRARY, [[], ["axis"]], {"axis": [1.0]}, **nuisances)
    plan = StreamPlan("gaussian", background=np.ones((CHANNELS, 1)), **options)
    question = RegionalMap(bank_regions(bank))
    judge = ByInvariant() if judge is None else judge
    return AnalysisProtocol(question, RegionalPolicy(), 0.1, 1.0, bank, {"deployment": plan}, judge=judge)


def rows_of(amplitudes, rng, repeats=1, scale=1.0):
    truth = rng.integers(0, LINES, len(amplitudes))
    clean = amplitudes[:, None] * ATOMS[:, truth].T + 5.0
    return clean[:, None] + scale * rng.standard_normal((len(truth), repeats, CHANNELS)), truth


@pytest.mark.parametrize(
    ("noise", "repeats", "options"),
    [
        (None, 1, {}),
        (1.0, 3, {}),
        (None, 1, {"coefficients": {"axis": (0.0, np.inf)}}),
        (1.0, 1, {"coefficients": {"axis": (-np.inf, 0.0)}}),
        (None, 1, {"covariance": np.linspace(0.5, 2.0, CHANNELS)}),
    ],
)
def test_a_map_has_the_verdicts_of_the_reports_of_its_signals(noise, repeats, options):
    asked = protocol(noise, **options)
    shared = MapProtocol.of(asked, 0.2, repeats=repeats).judge
    assert isinstance(shared, InvariantSignals)
    amplitudes = np.array([0.0, 3.0, -4.0, 5.0, 8.0, -12.0, 20.0, np.nan])
    rows, _ = rows_of(amplitudes, np.random.default_rng(1), repeats)
    levels = np.array([0.3, 0.1, 0.01, 1e-3])
    found = shared.block_judge(levels, 1, repeats)(rows)
    expected = ProtocolSignals(replace(asked, level=0.3)).block_judge(levels, 1, repeats)(rows)
    np.testing.assert_array_equal(found.is_data, expected.is_data)
    data = found.is_data
    np.testing.assert_array_equal(found.codes[data], expected.codes[data])
    np.testing.assert_array_equal(found.is_best_rejected, expected.is_best_rejected)
    np.testing.assert_allclose(found.misfit[data], expected.misfit[data], rtol=1e-9)
    assert found.codes[data].max() == len(levels)


def test_other_bounds_of_coefficients_are_asked_about_one_by_one():
    asked = protocol(coefficients={"axis": (0.0, 3.0)})
    assert isinstance(MapProtocol.of(asked).judge, ProtocolSignals)


def false_share(map_protocol, maps=40, pixels=60, patterns=12):
    """The mean share of false statements at a rate of .2, where crowds of pixels share a noise, and their number."""
    levels, work, rng = map_protocol.levels(pixels), map_protocol.work(pixels, 1), np.random.default_rng(51)
    size = map_protocol.question.n_explanations
    slots = map_protocol.question.slots(np.arange(size))[:, 0]
    shares = np.zeros((maps, 2))
    for number in range(maps):
        truth = np.where(np.arange(pixels) % 20 == 0, rng.integers(0, LINES, pixels), -1)
        lines = 12.0 * ATOMS[:, truth].T * (truth >= 0)[:, None]
        rows = (lines + rng.standard_normal((patterns, CHANNELS))[rng.integers(0, patterns, pixels)])[:, None]
        evidence = work.first(rows)["evidence"].max(axis=1)
        statements = (evidence[:, None] > np.arange(len(levels))).sum(axis=0)
        level = chosen_level(levels, statements, 0.2, pixels, map_protocol.judge.are_e_values)
        if level is not None and (states := evidence > level).any():
            packed = work.second(rows[states], level)["share_kept"]
            kept = np.unpackbits(packed, axis=1, count=size, bitorder="little")
            own = np.argmax(slots == truth[states][:, None], axis=1)
            shares[number] = (kept[np.arange(len(kept)), own] == 0).mean(), states.sum()
    return shares.mean(axis=0)


def test_the_rate_holds_where_errors_come_in_crowds_and_too_little_noise_breaks_it():
    right = MapProtocol.of(protocol(1.0), 0.2)
    share, made = false_share(right)
    assert share <= 0.2
    assert made >= 2.0  # of three lines a map
    judge = right.judge
    too_sure = replace(judge, spec=replace(judge.spec, sigma=0.4), judge=ByInvariant())
    assert false_share(replace(right, judge=too_sure))[0] > 0.3
