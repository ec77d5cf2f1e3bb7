"""Where streams keep nothing together, a report says which of them keeps what the other rejects."""

import copy
from dataclasses import replace

import numpy as np
import pytest

from physupport.analysis import StreamPlan, analyse
from physupport.judges import ByEvidence
from physupport.judges.rotation import ByRotation
from physupport.report import document_hash
from physupport.verify import verify


@pytest.fixture(params=["evidence", "rotation"])
def contradicted(request, protocol, instrument):
    """Calibration rows of A1 with B0, and deployment rows of A2 with B1."""
    rng = np.random.default_rng(8)
    rows = 2.0 * rng.standard_normal((160, 2)) @ instrument.library.responses[:, [2, 4]].T
    rows = rows + np.sqrt(0.3) * rng.standard_normal((160, 6))
    tables, streams = {"calibration": instrument.calibration, "deployment": rows}, dict(protocol.streams)
    judge = ByEvidence()
    if request.param == "rotation":
        streams["deployment"], judge = StreamPlan("gaussian", rows="free"), ByRotation()
    return analyse(replace(protocol, streams=streams, judge=judge), tables).report, tables


def test_one_sentence_says_which_stream_rejects_what_the_other_keeps(contradicted):
    report, _ = contradicted
    assert report.status == "EMPTY"
    calibration, deployment = report.document["contradiction"]["streams"]
    assert calibration["says"] == {"A": "A1", "B": "B0"}
    assert deployment["says"] == {"A": "A2", "B": "B1"}
    assert calibration["kept"] > 0
    assert deployment["kept"] == 1
    assert report.document["contradiction"]["common"] == 0
    said = "The streams contradict each other, because each rejects every explanation that the others leave: the"
    for told in (report.sentence, report.doubt, report.csv()):
        assert said in told
        assert f"the calibration rows alone leave {calibration['kept']} of " in told
        assert "the deployment rows alone leave only explanation" in told
        assert "no sign of a misfit" not in told


def test_a_report_that_says_something_else_of_its_streams_is_refused(contradicted):
    report, tables = contradicted
    assert verify(report.json(), tables).is_verified
    for change in (
        lambda document: document.pop("contradiction"),
        lambda document: document["contradiction"]["streams"][0].update(kept=1 + document["protocol"]["size"]),
        lambda document: document["contradiction"]["streams"][0].update(says={"A": "A2", "B": "B1"}),
    ):
        forged = copy.deepcopy(report.document)
        change(forged)
        forged["digests"]["document"] = document_hash(forged)
        assert not verify(forged, tables).is_verified


def test_streams_that_agree_are_not_told_apart(protocol, instrument):
    tables = {"calibration": instrument.calibration, "deployment": instrument.deployment}
    assert "contradiction" not in analyse(protocol, tables).report.document
