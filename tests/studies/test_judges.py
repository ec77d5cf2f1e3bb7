"""The studies under two judges: the tables have the columns that were promised, and simulation leaves less."""

from dataclasses import replace

import numpy as np
import pytest

from physupport import MisuseError
from physupport.judges.simulation import BySimulation
from physupport.studies import (
    JUDGED,
    STUDIES,
    Outcome,
    _four_region as four,
    _global_bank as design,
    check_judge,
    four_region as four_judges,
    global_bank as global_judges,
    load_study,
)

EMPTY = Outcome("study", (), {})
NARROW = design.Condition("narrow", 16384, 0.50, 0.8, True, (5,))


def test_simulation_leaves_a_smaller_diameter_of_the_same_rows(monkeypatch):
    monkeypatch.setattr(design, "CONDITIONS", (NARROW,))
    outcome = global_judges.compare(EMPTY, 1)
    evidence, simulation = outcome.tables["diameters"]
    names = ["condition", "data_seed", "level", "judge", "diameter_over_shell", "truth_kept", "cpu_seconds"]
    assert [*evidence] == names
    assert [evidence["judge"], simulation["judge"]] == ["evidence", "simulation"]
    assert simulation["truth_kept"] is True
    assert simulation["diameter_over_shell"] < evidence["diameter_over_shell"]
    assert "by simulation" in outcome.lines[0].here


def test_four_regions_are_compared_region_by_region(monkeypatch):
    scene = four.SCENES[1]
    monkeypatch.setattr(four, "SCENES", (four.Scene(scene.name, scene.support, scene.seeds[:1]),))
    outcome = four_judges.compare(EMPTY, 1)
    evidence, simulation = outcome.tables["judges"]
    assert [*simulation] == ["data_seed", "judge", "retained", "truth_kept", "A", "B", "C", "D"]
    assert simulation["retained"] < evidence["retained"]
    assert simulation["truth_kept"] is True
    assert (simulation["A"], simulation["C"]) == ("FINE", "SUPPORT_AMBIGUOUS")


def test_the_diameter_is_that_of_the_orientations_that_are_left():
    condition = design.CONDITIONS[2]
    kept = np.array([3 * 9 + 1, 10 * 9, 7 * 9 + 8])  # orientations 3, 10 and 7 with nuisances
    distances = design.place_distances(condition.scale)
    assert global_judges.diameter_over_shell(condition, kept) == distances[3, 10] / distances.max()
    assert global_judges.diameter_over_shell(condition, kept[:0]) == 0.0


def test_judges_and_studies_that_do_not_fit_are_refused():
    with pytest.raises(MisuseError, match="evidence or simulation"):
        check_judge("rotation", [])
    with pytest.raises(MisuseError, match="judges no bank"):
        check_judge("simulation", STUDIES)
    check_judge("simulation", JUDGED)
    assert [name for name in STUDIES if hasattr(load_study(name), "compare")] == [*JUDGED]


def test_each_study_is_given_the_statistic_that_its_bank_calls_for():
    """Orientations have a score, regions a ratio, as when both were named: the hash, and so every draw, is the same."""
    global_seal = global_judges.simulation_seal(replace(NARROW, n_rows=64), 5)
    named = replace(global_seal.protocol, judge=BySimulation("score"))
    assert global_seal.digest == named.read(calibration=global_seal.parts[0].table).digest
    scene = four.SCENES[1]
    regions_seal = four_judges.simulation_seal(scene, scene.seeds[0])
    named = replace(regions_seal.protocol, judge=BySimulation("ratio"))
    assert regions_seal.digest == named.read(**{part.name: part.table for part in regions_seal.parts}).digest
