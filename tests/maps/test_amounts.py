"""Amounts of the signals of a map: ranges that hold with the labels where evidence gives them, and fits elsewhere."""

from dataclasses import replace

import numpy as np
import xarray
from scipy.stats import binom
from tests.maps.test_alone import ATOMS, BASE, CASES, measured

from physupport._codec import array_json
from physupport.analysis import analyse
from physupport.judges.rotation import Rotation, RotationTable
from physupport.maps import Fission, MapProtocol, ProtocolSignals, RotatedSignals, as_signals, map_signals
from physupport.maps._amounts import signal_amounts

LEVEL = 0.1
N = 300
AMPLITUDES = np.resize([0.5, 3.0, 8.0], N)


def fission(sigma):
    protocol, _ = CASES["fission"]()
    found = MapProtocol.of(protocol).judge
    assert isinstance(found, Fission)
    return replace(found, sigma=sigma, noise=None)


def missed(sigma):
    """Signals of amplitudes whose truth is rejected, or whose amount is outside the range of its element."""
    judge = fission(sigma)
    rows, truth = measured(AMPLITUDES, 11)
    kept = judge.block_judge(np.array([LEVEL]), 1, 1)(rows).kept()
    count = 0
    for amounts, element, amplitude in zip(judge.ranges(rows, kept, LEVEL), truth, AMPLITUDES, strict=True):
        ends = amounts.intervals.get(f"line {element}")  # none if all explanations with the element are rejected
        count += ends is None or not ends[0] <= amplitude <= ends[1]
    return count


def test_labels_and_amounts_hold_together_at_the_level_of_a_signal():
    assert binom.sf(missed(1.0) - 1, N, LEVEL) > 1e-6


def test_negative_control_amounts_for_too_little_noise_fail_the_count():
    assert binom.sf(missed(0.25) - 1, N, LEVEL) < 1e-6


def test_a_range_ends_where_the_evidence_against_its_amount_reaches_the_level():
    judge = fission(1.0)
    rows, truth = measured([9.0], 3)
    table = judge.table
    kept = judge.block_judge(np.array([LEVEL]), 1, 1)(rows).kept()
    (found,) = judge.ranges(rows, kept, LEVEL)
    row = rows[0, 0] @ table.complement
    weights = -0.5 * np.log(table.complement.shape[1]) * table.ranks
    held = table.complement.T @ ATOMS[:, truth[0]]
    for amount in found.intervals[f"line {truth[0]}"]:
        total = 0.0
        for g in judge.drawn(rows[0]):  # w + g proposes, w - g judges: both have twice the variance
            first, second = row + g, row - g
            fits = [u[0] * (u[0] @ first) for u in table.bases]
            scores = weights - [((first - fit) ** 2).sum() / 4.0 for fit in fits]
            prior = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
            tops = np.array([((second - fit) ** 2).sum() / 4.0 for fit in fits])
            below = ((second - amount * held) ** 2).sum() / 4.0
            total += float((prior * np.exp(below - tops)).sum()) / judge.splits
        np.testing.assert_allclose(total, 1.0 / LEVEL, rtol=0.01)  # ends are searched to within a share of the range


def test_judges_that_are_asked_one_by_one_give_the_amounts_of_reports(tmp_path):
    protocol, rows = CASES["thinning"]()
    map_protocol = MapProtocol.of(protocol, repeats=1)
    assert isinstance(map_protocol.judge, ProtocolSignals)
    signals = as_signals(rows, repeats=1)
    found = map_signals(signals, map_protocol, tmp_path / "out", threads=1)
    for own, amounts in zip(rows, found.amounts(signals, map_protocol.judge), strict=True):
        report = analyse(replace(protocol, stop="set"), {"deployment": own}).report
        assert amounts.amounts == report.amounts()
        assert not amounts.is_fit
        assert all(amount.unit == "net counts" for amount in amounts.amounts)


def test_where_nothing_gives_ranges_a_fit_is_named_as_one():
    names = [f"line {i}" for i in range(6)]
    table = RotationTable(ATOMS, [(), *((i,) for i in range(6))], BASE, names=names)
    rows, (element,) = measured([30.0], 4)
    about = {
        "regions": [{"name": "axis", "elements": names}],
        "slots": array_json(np.arange(-1, 6)[:, None]),
        "level": 0.1,
    }
    kept = np.packbits(np.ones((1, 7), dtype=bool), axis=1, bitorder="little")
    flat = {"kept": kept, "gate": np.zeros(1), "best": np.array([1 + element])}
    (own,) = signal_amounts(about, flat, rows, RotatedSignals(Rotation(table)))
    fit = np.linalg.lstsq(np.column_stack([ATOMS[:, element], BASE]), rows[0, 0], rcond=None)[0][0]
    assert own.words == f"line {element} {fit:.3g} (fit, without a guarantee)"
    assert own.shares("axis") == f"line {element} 1 (fit, without a guarantee)"
    protocol, _ = CASES["known noise"]()
    alone = ProtocolSignals(protocol).fitted_amounts(rows[0], 1 + 2 * int(element))
    np.testing.assert_allclose(alone.intervals[f"line {element}"], fit)


def test_netcdf_holds_what_the_map_holds(tmp_path):
    protocol, rows = CASES["fission"]()
    signals = as_signals(rows, repeats=1)
    found = map_signals(signals, MapProtocol.of(protocol), tmp_path / "out", threads=1)
    found.to_netcdf(tmp_path / "map.nc")
    with xarray.open_dataset(tmp_path / "map.nc") as read:
        for name in ("label", "gate", "kept", "best", "amplitude", "stands_to"):
            np.testing.assert_array_equal(read[name].values, found.array(name), err_msg=name)
        assert read["label"].dims == ("axis 0", "region")
        assert [str(name) for name in read["region"].values] == ["axis"]
