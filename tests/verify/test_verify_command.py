"""`physupport verify` as a user meets it: what it prints and its exit codes."""

import copy
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from physupport._errors import MisuseError
from physupport.cli import app
from physupport.report import document_hash


@pytest.fixture
def saved(four_regions, tmp_path):
    four_regions.report.save(tmp_path / "report.json")
    np.savez(tmp_path / "rows.npz", **four_regions.rows)
    return tmp_path


def run(*arguments, **options):
    return CliRunner().invoke(app, ["verify", *map(str, arguments)], **options)


def test_a_verified_report_ends_with_0(saved, four_regions):
    found = run(
        saved / "report.json", "--data", saved / "rows.npz", "--protocol", four_regions.report.digests["protocol"]
    )
    assert found.exit_code == 0
    assert "verified: every label follows from the trace, every verdict from the rows." in found.output


def test_a_report_from_standard_input_is_checked_as_well(four_regions):
    found = run("-", input=four_regions.report.json())
    assert (found.exit_code, "note: verdicts are taken as they stand" in found.output) == (0, True)


def test_a_refused_report_ends_with_3_and_a_line_for_each_finding(saved):
    text = (saved / "report.json").read_text().replace('"label": "ABSENT"', '"label": "FINE"', 1)
    (saved / "report.json").write_text(text)
    found = run(saved / "report.json")
    assert found.exit_code == 3
    lines = [line for line in found.output.splitlines() if line.startswith("refused: ")]
    assert any("the report says 'FINE', but the trace gives 'ABSENT'" in line for line in lines)
    assert any("the document does not match its hash" in line for line in lines)


def test_misuse_names_the_file(saved):
    for arguments in ([saved / "nothing.json"], [saved / "report.json", "--data", saved / "report.json"]):
        found = run(*arguments)
        assert isinstance(found.exception, MisuseError)
        assert str(arguments[-1]) in str(found.exception)


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document["fields"][0].update(certificate="none"),
        lambda document: document["outcome"].update(status="SURE"),
        lambda document: document["fields"][0]["numbers"].clear(),
        lambda document: document["protocol"]["question"].update(claims=[["c"]]),
    ],
)
def test_facts_of_which_no_words_can_be_made_are_one_message_of_show(four_regions, tmp_path, change):
    """Their hash fits: who changed them knew how."""
    document = copy.deepcopy(four_regions.report.document)
    document["claims"] = [{"claim": "c", "value": "true", "witnesses": []}]
    change(document)
    document["digests"]["document"] = document_hash(document)
    (tmp_path / "report.json").write_text(json.dumps(document))
    found = CliRunner().invoke(app, ["show", str(tmp_path / "report.json")])
    assert isinstance(found.exception, MisuseError)
