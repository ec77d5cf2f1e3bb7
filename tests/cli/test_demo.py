"""`physupport demo` tells the story it promises, from data made with a fixed seed."""

import json

import pytest
from typer.testing import CliRunner

from physupport.cli import app


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    out = tmp_path_factory.mktemp("demo") / "new"
    answer = CliRunner().invoke(app, ["demo", "--out", str(out)])
    assert answer.exit_code == 0, answer.exception
    return answer.stdout, out


def test_the_three_readings_come_in_order_and_contrast_refines_the_last(shown):
    cases = json.loads((shown[1] / "demo.json").read_text())["cases"]
    assert [case["stage"] for case in cases] == ["LOCAL_EXPLANATION", "ATOM_SUPPORT", "BLOCK_MAPPING", "BLOCK_MAPPING"]
    assert all(case["supports"] == [[0, 1]] for case in cases[2:])
    assert cases[3]["diameter"] < 0.5 * cases[2]["diameter"]
    # Equal coefficients: the deployment data drop none of the 41 turns.
    assert cases[2]["n_kept"] == 41


def test_the_files_are_where_the_demo_says(shown):
    text, out = shown
    assert str(out) in "".join(text.splitlines())
    assert {path.name for path in out.iterdir()} == {"plan.json", "plan.png", "demo.json"}
    assert json.loads((out / "plan.json").read_text())["remedies"]["wanted"] == 0.05


def test_the_sentences_of_the_plan_and_of_the_readings_are_shown(shown):
    flat = " ".join(shown[0].split())
    assert "Which atoms participate? Resolved" in flat
    assert "Distances are sines of angles" in flat
    assert "287 of 287" in flat
    assert "One support," in flat
