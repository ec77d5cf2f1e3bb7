"""A run goes on from its report as if it had never stopped, and from no other report."""

import copy
from dataclasses import replace

import numpy as np
import pytest

from physupport import MisuseError
from physupport.aeb import FixedOrder, RegionalPolicy
from physupport.analysis import analyse, report
from physupport.analysis._analyse import recovered_trace
from physupport.report import Report
from physupport.verify import verify


@pytest.fixture(scope="module")
def tables(instrument):
    return {"calibration": instrument.calibration, "deployment": instrument.deployment}


@pytest.fixture(scope="module")
def asked(protocol):
    """Asked in a fixed order, so that there is something left to ask for long."""
    return replace(protocol, policy=FixedOrder())


@pytest.fixture(scope="module")
def whole(asked, tables):
    return analyse(asked, tables)


@pytest.fixture(scope="module")
def stopped(asked, tables, whole):
    found = analyse(asked, tables, callback=lambda tick: tick.used < 3)
    assert (found.report.queries, found.trace.ending.name) == (3, "STOPPED")
    assert whole.report.queries > 3
    return Report.from_json(found.report.json())


def test_a_stopped_run_goes_on_to_the_very_report_of_an_uninterrupted_one(asked, tables, stopped, whole):
    assert analyse(asked, tables, earlier=stopped).report.json() == whole.report.json()


def test_nothing_is_asked_twice(asked, tables, stopped, whole):
    ticks = []
    analyse(asked, tables, earlier=stopped, callback=lambda tick: ticks.append(tick.used))
    assert ticks == list(range(4, whole.report.queries + 1))


def test_a_finished_report_stays_as_it_is(asked, tables, whole):
    assert analyse(asked, tables, earlier=whole.report).report.json() == whole.report.json()


def test_a_larger_budget_leaves_the_protocol_and_stands_in_the_outcome(asked, tables, whole):
    small = analyse(replace(asked, budget=2), tables).report
    more = analyse(asked, tables, earlier=small).report
    assert more.digests["protocol"] == small.digests["protocol"] != whole.report.digests["protocol"]
    assert (small.document["protocol"]["budget"], more.document["protocol"]["budget"]) == (2, 2)
    assert more.document["outcome"]["budget"] == whole.report.document["outcome"]["budget"]
    assert more.document["fields"] == whole.report.document["fields"]
    assert more.document["trace"] == whole.report.document["trace"]
    found = verify(more.document)
    assert found.is_verified
    assert any("the budget was raised from 2" in note for note in found.notes)


def test_a_budget_below_what_was_asked_is_refused(asked, tables, stopped):
    with pytest.raises(MisuseError, match="budget must be at least the 3 queries asked, not 2"):
        analyse(replace(asked, budget=2), tables, earlier=stopped)


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({"level": 0.2}, "another: level."),
        ({"policy": RegionalPolicy()}, "another: policy."),
        ({"seed": 1}, "another: seed."),
    ],
)
def test_another_protocol_is_refused_by_the_parts_that_differ(asked, tables, stopped, change, parts):
    with pytest.raises(MisuseError) as caught:
        analyse(replace(asked, **change), tables, earlier=stopped)
    assert str(caught.value).startswith(f"report must be of the same protocol, not {parts}")


def test_other_held_out_rows_are_refused_by_stream(asked, tables, stopped, whole):
    rows = tables["deployment"].copy()
    rows[whole.seal.parts[1].split.held_out[0], 0] += 1e-9
    with pytest.raises(MisuseError, match="report must be about the same rows, not others: deployment"):
        analyse(asked, tables | {"deployment": rows}, earlier=stopped)


def changed(report, **columns):
    document = copy.deepcopy(report.document)
    document["trace"] |= columns
    return Report(document)


def test_a_verdict_that_the_rows_contradict_is_refused(asked, tables, stopped):
    codes = stopped.document["trace"]["codes"]["values"]
    forged = {"type": "whole", "shape": [3], "values": [1 - codes[0], *codes[1:]]}
    with pytest.raises(MisuseError, match="trace must hold the verdicts of the judge"):
        analyse(asked, tables, earlier=changed(stopped, codes=forged))


@pytest.mark.parametrize(
    "columns",
    [
        {"queries": 3},
        {"queries": {"values": ["a", "b", "c"]}},
        {"queries": {"packed": "none"}},
        {"lower": [0.0]},
        {"codes": {"values": [7, 0, 0]}},
        {"queries": {"values": [0, 0, 1]}},
        {"queries": {"values": [-1, 0, 1]}},
    ],
)
def test_a_trace_that_is_none_is_refused(whole, stopped, columns):
    with pytest.raises(MisuseError):
        recovered_trace(whole.seal, changed(stopped, **columns))


def test_packed_columns_come_back_to_the_last_bit(whole, monkeypatch):
    monkeypatch.setattr("physupport._codec.MOST_LISTED", 1)
    packed = report(whole.seal, whole.trace)
    assert "packed" in packed.document["trace"]["queries"]
    found = recovered_trace(whole.seal, packed)
    np.testing.assert_array_equal(found.queries, whole.trace.queries)
    np.testing.assert_array_equal(found.codes, whole.trace.codes)
    np.testing.assert_array_equal(found.verdicts.margins(), whole.trace.verdicts.margins())
    assert (found.status, found.ending, found.n_possible) == (
        whole.trace.status,
        whole.trace.ending,
        whole.trace.n_possible,
    )
