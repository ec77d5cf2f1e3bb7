"""A protocol whose rows are judged by rotation serves a whole map."""

from dataclasses import replace

import numpy as np
import pytest

from physupport._errors import MisuseError
from physupport.aeb import RegionalPolicy
from physupport.analysis import AnalysisProtocol, StreamPlan, analyse
from physupport.banks import Library, bank_regions, library_bank, table_regions
from physupport.judges import ByEvidence
from physupport.judges.rotation import ByRotation, Rotation, RotationTable
from physupport.laws import Linear, Mean
from physupport.maps import MapProtocol, RotatedSignals, map_signals
from physupport.questions import RegionalMap, RegionRule

AXIS = np.arange(60)
LINES = np.exp(-0.5 * ((AXIS[:, None] - np.linspace(6, 54, 8)) / 4.0) ** 2)
BASE = np.stack([np.ones(60), AXIS / 60.0], axis=1)


def line_protocol(**law):
    names = [f"line {i}" for i in range(8)]
    library = Library(names, ["axis"] * 8, np.arange(8.0)[:, None], LINES / np.linalg.norm(LINES, axis=0))
    bank = library_bank(library, [[], ["axis"]], {"axis": [1.0]})
    question = RegionalMap(bank_regions(bank), {"axis": RegionRule(tolerance=1.5)})
    plans = {"deployment": StreamPlan(Linear(background=BASE, **law), 0.5)}
    return AnalysisProtocol(question, RegionalPolicy(), 0.1, 1.0, bank, plans, judge=ByRotation())


def test_labels_of_a_map_are_those_of_the_reports_of_its_signals(tmp_path):
    protocol = line_protocol()
    rng = np.random.default_rng(4)
    rows = 30.0 * LINES[:, [1, 5, 6, 2]].T + rng.standard_normal((4, 60)) + BASE @ [30.0, 9.0]
    rows[3] = BASE @ [30.0, 9.0] + rng.standard_normal(60)
    found = map_signals(rows, MapProtocol.of(protocol), tmp_path / "out")
    for number, row in enumerate(rows):
        (field,) = analyse(protocol, {"deployment": row[None]}).report.fields
        assert found.labels("axis")[number] == field.label
        kept = [f"line {i}" for i in np.flatnonzero(found.elements("axis")[number])]
        assert set(kept) <= set(field.cell)  # which holds what was not tested any more, too


@pytest.mark.parametrize("bounds", [{}, {"coefficients": {"axis": (0.0, np.inf)}}])
def test_fission_holds_coefficients_to_their_bounds_in_maps_as_in_reports(tmp_path, bounds):
    """A dip is a line of a negative amount, and nothing that is listed where amounts have a sign."""
    protocol = replace(line_protocol(noises=[1.0], **bounds), judge=ByEvidence("fission", n_splits=2))
    row = BASE @ [30.0, 9.0] - 30.0 * LINES[:, 3] + np.random.default_rng(8).standard_normal(60)
    (label,) = map_signals(row[None], MapProtocol.of(protocol), tmp_path / "out").labels("axis")
    assert (label == "FINE") == (not bounds)
    report = analyse(protocol, {"deployment": row[None]}).report
    assert report.status == "EMPTY" if bounds else report.fields[0].label == "FINE"


def test_signals_are_whitened_as_rows_are(tmp_path):
    variances = np.linspace(0.2, 5.0, 60)
    rng = np.random.default_rng(5)
    rows = 20.0 * LINES[:, [4] * 300].T + np.sqrt(variances) * rng.standard_normal((300, 60))
    protocol = MapProtocol.of(line_protocol(covariance=variances))
    found = map_signals(rows, protocol, tmp_path / "out")
    assert (protocol.question.slots(found.array("best"))[:, 0] == 4).mean() > 0.95
    np.testing.assert_allclose(np.median(found.array("noise")), 1.0, atol=0.05)  # in units of the covariance


def test_a_protocol_that_cannot_serve_a_map_is_refused(tmp_path):
    protocol = line_protocol()
    with pytest.raises(MisuseError, match="linear in free coefficients"):
        replace(protocol, streams={"deployment": StreamPlan(Mean(noises=[1.0]), 0.5)})
    with pytest.raises(MisuseError, match="single row"):
        map_signals(np.ones((2, 60)), MapProtocol.of(replace(protocol, judge=ByEvidence())), tmp_path / "rows")
    with pytest.raises(MisuseError, match="question of regions"):
        MapProtocol.of(replace(protocol, question=lambda proposed: protocol.question))


def test_evidence_is_that_of_every_region(tmp_path):
    """For a line near the middle, presence is certain long before its absence from the lower half is."""
    names = [f"line {i}" for i in range(8)]
    table = RotationTable(LINES, [(), *((i,) for i in range(8))], BASE)
    listed = {"low": [None, *names[:4], *[None] * 4], "all": [None, *(f"any {i}" for i in range(8))]}
    places = {name: {n: [i] for i, n in enumerate(each[1:]) if n} for name, each in listed.items()}
    question = RegionalMap(table_regions(listed, coordinates=places), {name: RegionRule() for name in listed})
    protocol = MapProtocol(RotatedSignals(Rotation(table, seed=1, draws=1999)), question, 0.1, 0.2)
    rows = np.random.default_rng(8).standard_normal((60, 60)) + np.linspace(0.0, 12.0, 60)[:, None] * LINES[:, 4]
    found = map_signals(rows, protocol, tmp_path / "out")
    evidence, levels = found.array("evidence"), np.array(found.about["levels"])
    assert evidence.shape == (60, 2)
    judged = protocol.judge.block_judge(levels, 1, 1)(rows[:, None])
    slots, is_open = question.slots(np.arange(9)), found.array("gate") == 0
    for number, code in enumerate(judged.codes[is_open]):
        for region in range(2):
            stands = []
            for level in range(len(levels)):
                said = slots[code <= level, region] >= 0
                stands.append(said.all() or not said.any())  # something is there, or nothing
            assert evidence[is_open][number, region] == np.argmin([*stands, False])
    assert (evidence[:, 1] > evidence[:, 0]).any()
    share = found.about["share"]
    assert share["statements"] == (evidence.max(axis=1) > levels.tolist().index(share["level"])).sum() > 0
