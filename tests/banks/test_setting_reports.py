"""A report about a bank with settings, from data to a second program that scores every verdict again."""

import json

import numpy as np
import pytest

from physupport.aeb import RegionalPolicy
from physupport.analysis import AnalysisProtocol, StreamPlan, report
from physupport.banks import Library, bank_regions, library_bank, product_grid
from physupport.questions import RegionalMap, RegionRule
from physupport.responses import Parameter, Peak, settings_grid
from physupport.verify import verify


@pytest.fixture(scope="module")
def written():
    """Three places on the left and two on the right, a peak of unknown width, and rows of width 1.3 at l3 and r2."""
    places = np.array([[0.1], [0.2], [0.35], [0.7], [0.9]])
    grid = settings_grid(Peak(np.linspace(0, 1, 8), 0.1), places, [Parameter("width", [1.0, 1.3])])
    library = Library(["l1", "l2", "l3", "r1", "r2"], list("LLLRR"), places, grid.responses[0])
    bank = library_bank(
        library, ["L", "LR"], {"L": 1.0, "R": 1.0}, settings=grid,
        calibration=product_grid(p=[0.4], noise=[0.05]), deployment=product_grid(noise=[0.1]),
    )  # fmt: skip
    truth = bank.explanation(int(bank.index(6 + 2 * 2 + 1, 1)[0]))
    rng = np.random.default_rng(2)
    codes = (rng.random((400, 2)) < 0.4) * rng.standard_normal((400, 2))
    rows = {
        "calibration": codes @ truth.atoms.T + np.sqrt(0.05) * rng.standard_normal((400, 8)),
        "deployment": rng.standard_normal((200, 2)) @ truth.atoms.T + np.sqrt(0.1) * rng.standard_normal((200, 8)),
    }
    plans = {"calibration": StreamPlan("latent", 0.4), "deployment": StreamPlan("covariance", 0.4, first=32)}
    question = RegionalMap(bank_regions(bank), {"L": RegionRule(0.12), "R": RegionRule()})
    seal = AnalysisProtocol(question, RegionalPolicy(), 0.05, 1.0, bank, plans, seed=3).read(**rows)
    return truth, seal, report(seal, seal.run()), rows


def test_the_report_finds_the_places_whatever_the_width(written):
    truth, _, found, _ = written
    assert (truth.settings, truth.ids) == ({"width": 1.3}, ("l3", "r2"))
    assert [(str(field.label), field.cell) for field in found.fields] == [("FINE", ("l3",)), ("FINE", ("r2",))]


def test_a_second_program_rebuilds_the_bank_and_scores_every_verdict_again(written):
    _, seal, found, rows = written
    checked = verify(found.json(), rows=rows, protocol=seal.digest)
    assert checked.findings == ()
    assert found.document["bank"]["states"]["kind"] == "library settings"


@pytest.mark.parametrize("path", [("values",), ("responses",), ("base", "responses"), ("base", "coordinates")])
def test_a_changed_setting_does_not_match_the_hash(written, path):
    document = json.loads(written[2].json())
    node = document["bank"]["states"]
    for name in path:
        node = node[name]
    node["values"][0] += 1e-12
    assert "the bank does not match its hash" in verify(json.dumps(document)).findings


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda states: states.update(more=1), "bank.states.more: the report says 1, but a run writes nothing"),
        (
            lambda states: states["base"].update(kind="arrays"),
            "bank.states.base.kind: the report says 'arrays'",
        ),
        (lambda states: states["responses"].update(shape=[16, 5]), "array must have the shape"),
        (lambda states: states.update(names=["width", "gain"]), "values must have shape"),
        (lambda states: states.update(kind="settings"), "states of the unknown kind 'settings'"),
    ],
)
def test_malformed_settings_are_refused(written, change, message):
    document = json.loads(written[2].json())
    change(document["bank"]["states"])
    findings = verify(json.dumps(document)).findings
    assert any(message in finding for finding in findings)
