"""Constructed data at which a report on a learnt dictionary could go wrong: each count has a bound, and can fail."""

import numpy as np
import pytest
from scipy.stats import binom

from physupport import MisuseError
from physupport.analysis import PhysicalSupport
from physupport.banks import Library
from physupport.judges.learnt import box_places, signal_space
from physupport.responses import Formula

Q, RUNS, LEVEL = 12, 25, 0.1
AXIS = (np.arange(Q) + 0.5) / Q
PEAK = Formula("exp(-((t - x) / 0.1)**2 / 2)", axis=AXIS)
BOX = {"x": (0.05, 0.95)}


def unit(places):
    columns = PEAK(np.asarray(places)[:, None])
    return columns / np.linalg.norm(columns, axis=0)


def mixed(rng, places, n, deviation, activity=0.3):
    codes = (rng.random((n, len(places))) < activity) * rng.standard_normal((n, len(places)))
    return codes @ unit(places).T + deviation * rng.standard_normal((n, Q))


def reported(rng, places, active, *, deviation=0.02, activity=0.3, calibration=None, library=PEAK, box=BOX):
    """The report of 40 rows of the active places."""
    rows = mixed(rng, places, 600, deviation, activity) if calibration is None else calibration
    signal = mixed(rng, places[active], 40, deviation, 1.0)
    atoms = np.eye(Q)[: len(places)]
    model = PhysicalSupport.from_learner(
        atoms, library=library, calibration=rows, places=box, tolerance=0.02, alpha=LEVEL
    )
    return model.report(signal)


def left(report):
    facts = report.document["gate"]["calibration"]
    return [(run["low"][0], run["high"][0]) for run in facts["left"]]


def is_false(report, places, active):
    """True if a true place is lost, or something is called certain where no active place is."""
    if report.status == "EMPTY":
        return True
    lost = any(not any(low <= x <= high for low, high in left(report)) for x in places)
    runs = report.document["gate"]["calibration"]["left"]
    cells = {cell["name"]: (cell["low"][0], cell["high"][0]) for run in runs for cell in run["cells"]}
    wrong = False
    for field in report.fields:
        if str(field.label) in ("FINE", "GROUP"):
            own = [cells[name] for name in field.cell]
            wrong |= not any(low <= x <= high for low, high in own for x in places[active])
    return lost or wrong


def counted(places, active, seed, **options):
    """How many of the reports are false, and how many call something certain."""
    false = certain = 0
    for run in range(RUNS):
        report = reported(np.random.default_rng([seed, run]), places, active, **options)
        false += is_false(report, places, active)
        certain += any(str(field.label) in ("FINE", "GROUP") for field in report.fields)
    return false, certain


def test_atoms_that_are_nearly_collinear_are_kept_and_named_together():
    for gap in (0.004, 0.02):
        places = np.array([0.2, 0.5, 0.5 + gap, 0.8])
        false, _ = counted(places, [1], 1, deviation=0.001)
        assert binom.sf(false - 1, RUNS, LEVEL) > 1e-6
    false, certain = counted(np.array([0.2, 0.5, 0.56, 0.8]), [1], 1, deviation=0.002)
    assert binom.sf(false - 1, RUNS, LEVEL) > 1e-6
    assert certain >= RUNS - 3  # and not for saying nothing


def test_an_atom_that_is_never_active_in_the_calibration_excludes_no_place():
    places = np.array([0.2, 0.5, 0.8])
    false, certain = counted(places, [1, 2], 2, activity=np.array([0.3, 0.3, 0.0]))
    assert false == certain == 0
    report = reported(np.random.default_rng(2), places, [1, 2], activity=np.array([0.3, 0.3, 0.0]))
    assert "exclude no place" in str(report)


def test_an_atom_that_is_active_once_is_not_lost():
    places = np.array([0.2, 0.5, 0.8])
    false = 0
    for run in range(RUNS):
        rng = np.random.default_rng([3, run])
        rows = mixed(rng, places[:2], 600, 0.02)
        rows[0] += 5.0 * unit(places[2:])[:, 0]
        false += is_false(reported(rng, places, [0, 2], calibration=rows), places, [0, 2])
    assert binom.sf(false - 1, RUNS, LEVEL) > 1e-6


def test_a_library_with_a_gap_at_a_true_place_is_empty_or_right():
    places = np.array([0.2, 0.5, 0.8])
    listed = np.array([0.1, 0.2, 0.35, 0.45, 0.55, 0.65, 0.8, 0.9])
    library = Library([f"{x:g}" for x in listed], ["line"] * len(listed), listed[:, None], unit(listed))
    for run in range(RUNS):
        report = reported(np.random.default_rng([4, run]), places, [0, 1], library=library, box=None)
        assert report.status == "EMPTY"  # neither .45 nor .55 stands in for .5
    near = Library(["0.2", "0.5", "0.8"], ["line"] * 3, places[:, None], unit(places))
    report = reported(np.random.default_rng(4), places, [0, 1], library=near, box=None)
    assert [str(field.label) for field in report.fields] == ["FINE", "FINE", "SUPPORT_AMBIGUOUS"]


def test_noise_that_is_not_white_is_empty_and_other_noise_in_the_signal_is_not():
    places = np.array([0.2, 0.5, 0.8])
    rng = np.random.default_rng(5)
    rows = mixed(rng, places, 600, 0.02)
    rows[:, 0] += 0.06 * rng.standard_normal(600)
    assert "noise is not white" in str(reported(rng, places, [0, 1], calibration=rows))
    false = 0
    for run in range(RUNS):
        rng = np.random.default_rng([5, run])
        rows = mixed(rng, places, 600, 0.02)
        false += is_false(reported(rng, places, [0, 1], calibration=rows, deviation=0.2), places, [0, 1])
    assert binom.sf(false - 1, RUNS, LEVEL) > 1e-6


def test_rows_without_noise_are_refused_and_a_signal_without_noise_has_nothing_false():
    places = np.array([0.2, 0.5, 0.8])
    for deviation in (0.0, 1e-9):
        with pytest.raises(MisuseError, match="rounding is no white noise"):
            reported(np.random.default_rng(8), places, [0, 1], deviation=deviation)
    listed = np.arange(0.1, 0.95, 0.1)
    library = Library([f"{x:g}" for x in listed], ["line"] * len(listed), listed[:, None], unit(listed))
    for run in range(RUNS):
        rng = np.random.default_rng([8, run])
        rows = mixed(rng, places, 600, 0.02)
        report = reported(rng, places, [0, 1], calibration=rows, deviation=0.0, library=library, box=None)
        assert [str(field.label) for field in report.fields] == ["FINE", "FINE", "SUPPORT_AMBIGUOUS"]


def test_a_signal_of_silent_atoms_has_nothing_certain():
    places = np.array([0.2, 0.5, 0.8])
    false, certain = counted(places, [], 6)
    assert binom.sf(false - 1, RUNS, LEVEL) > 1e-6
    assert false == certain
    assert counted(places, [1], 6)[1] == RUNS  # one active atom is found in all of them


def test_a_run_is_cut_where_that_shows_how_many_atoms_it_holds_and_holds_no_fewer_than_it_has():
    fine = Formula("exp(-((t - x)**2) / (2 * 0.085**2))", axis=(np.arange(16) + 0.5) / 16)
    for places, deviation in (
        (np.array([0.15, 0.42, 0.44, 0.46, 0.85]), 0.001),
        (np.array([0.15, 0.4, 0.43, 0.46, 0.85]), 0.008),
    ):
        columns = fine(places[:, None])
        for run in range(2):
            rng = np.random.default_rng([7, run])
            codes = (rng.random((3000, 5)) < 0.3) * rng.standard_normal((3000, 5))
            rows = codes @ (columns / np.linalg.norm(columns, axis=0)).T + deviation * rng.standard_normal((3000, 16))
            found = box_places(signal_space(rows, 5, 0.01), fine, np.zeros(1), np.ones(1), 0.02, most=2048)
            for x in places:
                assert any(one.ends[0][0] <= x <= one.ends[1][0] for one in found.components)
            for one in found.components:
                inside = (one.ends[0][0] < places) & (places < one.ends[1][0])
                assert one.capacity >= inside.sum()
            if deviation == 0.001:
                assert max(one.capacity for one in found.components) <= 2
