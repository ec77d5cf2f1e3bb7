"""The test of white noise is a fact beside every label, and `verify` finds it again."""

import copy

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import binom

from physupport.analysis import PhysicalSupport, StreamPlan
from physupport.banks import Library
from physupport.judges.rotation import ByRotation, Rotation, RotationTable
from physupport.report import Report, document_hash
from physupport.verify import verify

Q, RUNS = 50, 200
PLACES = np.linspace(6.0, 44.0, 8)
LINES = np.exp(-0.5 * ((np.arange(Q)[:, None] - PLACES) / 2.0) ** 2)
LIBRARY = Library([f"L{i}" for i in range(8)], ["axis"] * 8, PLACES[:, None], LINES / np.linalg.norm(LINES, axis=0))
ROW = 12.0 * LINES[:, 3] + np.random.default_rng(1).standard_normal(Q)


def judged(rows, **settings):
    return PhysicalSupport(LIBRARY, calibration=None, deployment=StreamPlan("gaussian"), **settings).fit().report(rows)


def coloured(rng, shape):
    return lfilter([1.0], [1.0, -0.7], rng.standard_normal((*shape[:-1], shape[-1] + 50)), axis=-1)[..., 50:]


@pytest.mark.parametrize(("kind", "n_rows"), [("same mean", 1), ("same mean", 6), ("free", 6)])
def test_white_noise_is_called_otherwise_at_the_level_and_coloured_noise_is_found(kind, n_rows):
    table, found = RotationTable(LINES, [(i,) for i in range(8)]), []
    for make in (lambda rng, shape: rng.standard_normal(shape), coloured):
        few = 0
        for run in range(RUNS):
            rng = np.random.default_rng([2, run])
            rows = rng.uniform(5.0, 9.0, (n_rows, 1) if kind == "free" else 1) * LINES[:, 3] + make(rng, (n_rows, Q))
            judge = Rotation(table, kind, run, 99, 99, whiteness=True).judge(rows, 0.1)
            few += judge.facts(np.array([3]))["whiteness"]["p"] <= 0.1
        found.append(few)
    assert binom.sf(found[0] - 1, RUNS, 0.1) > 1e-6
    assert binom.sf(found[1] - 1, RUNS, 0.1) < 1e-6


def test_the_fact_is_that_of_the_gate_and_there_without_one():
    gated, open_ = (judged(ROW[None], judge=judge) for judge in (ByRotation(), ByRotation(outsiders=None)))
    (lags,) = [finding for finding in gated.document["gate"]["findings"] if finding["part"] == "lags"]
    assert gated.document["gate"]["whiteness"] == lags
    assert open_.document["gate"]["findings"] == []
    assert open_.document["gate"]["whiteness"]["part"] == "lags"
    assert "The noise looks white (largest autocorrelation at lag" in open_.sentence


def test_two_rows_say_nothing_of_their_noise():
    report = judged(np.stack([ROW, ROW]) + np.random.default_rng(3).standard_normal((2, Q)))
    assert report.document["gate"]["whiteness"] is None
    assert "white" not in report.sentence


def test_every_output_that_shows_a_label_says_it():
    report = judged(ROW[None])
    said = "The noise looks white"
    assert said in report.text()
    assert said in report.csv()
    assert said in report._repr_html_()
    assert said not in judged(12.0 * LINES[:, 3] + coloured(np.random.default_rng(4), (1, Q))).text()


def test_rows_of_zeros_are_remarked_upon():
    assert "1 row is 0 in all channels: check that they were measured." in judged(np.zeros((1, Q))).text()
    rows = 12.0 * LINES[:, 3] + np.random.default_rng(5).standard_normal((5, Q))
    assert "in all channels" not in judged(rows).text()
    rows[1:3] = 0.0
    assert "2 rows are 0 in all channels" in judged(rows).text()


@pytest.mark.parametrize("name", ["p", "place"])
def test_another_whiteness_than_the_rows_have_is_found(name):
    report = judged(ROW[None], judge=ByRotation(outsiders=None))
    document = copy.deepcopy(report.document)
    document["gate"]["whiteness"][name] = {"p": 0.001, "place": "lag 7"}[name]
    document["digests"]["document"] = document_hash(document)
    forged = Report(document).json()
    assert verify(report.json(), {"deployment": ROW[None]}).is_verified
    (finding,) = verify(forged, {"deployment": ROW[None]}).findings
    assert f"gate.whiteness.{name}" in finding


def test_a_whiteness_that_contradicts_the_gate_is_found_without_rows():
    document = copy.deepcopy(judged(ROW[None]).document)
    document["gate"]["whiteness"]["p"] = 0.99
    document["digests"]["document"] = document_hash(document)
    assert "the noise is said to be other than the same test found it" in verify(Report(document).json()).findings
