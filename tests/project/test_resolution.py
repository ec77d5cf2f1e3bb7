"""A project may ask how far apart the places are that the data leave possible, in the place of a map."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from physupport.cli import app
from physupport.project import assemble, forecast, load_project, run_project
from physupport.verify import verify

MAP_A = "strength = 2.0\ntolerance = 0.01\n\n[regions.B]"
MAP_B = 'presence = "optional"\ntolerance = 0.01'
NO_MAP = ((MAP_A, "strength = 2.0\n\n[regions.B]"), (MAP_B, 'presence = "optional"'))
ASKED = '\n[resolution]\nregion = "A"\nfine = 0.05\ngroup = 0.5\n'


@pytest.mark.parametrize(
    ("fine", "group", "n_rows", "label"),
    [(0.05, 0.5, 400, "FINE"), (0.05, 0.5, 8, "GROUP"), (0.05, 0.1, 8, "AMBIGUOUS"), (0.2, 0.5, 8, "FINE")],
)
def test_the_places_of_a_region_are_asked_for_run_shown_and_verified(write, small, fine, group, n_rows, label):
    more = f'\n[resolution]\nregion = "A"\nfine = {fine}\ngroup = {group}\n'
    rows = small.make_rows(small.columns([0.2, 0.7]), n_rows)
    path = write(*NO_MAP, ('"deployment.npy"', '"deployment.npy"\nfirst_checkpoint = 2'), more=more, deployment=rows)
    found = run_project(load_project(path))
    (field,) = found.result.report.fields
    assert (field.field, str(field.label)) == ("resolution", label)
    document = found.result.report.document
    assert document["protocol"]["policy"]["policy"] == "endpoints"
    assert document["protocol"]["question"]["names"] == ["a1", "a2"]
    verification = verify(document, {"deployment": rows}, protocol=found.result.seal.digest)
    assert verification.findings == ()
    report = found.folder / "report.json"
    for command in (["show", report], ["verify", report, "--project", path]):
        answer = CliRunner().invoke(app, [str(part) for part in command])
        assert answer.exit_code == 0, answer.output
        assert "describes another protocol" not in answer.output
    head, first, *_ = (found.folder / "queries.csv").read_text().splitlines()
    assert head.split(",")[-1] == "place"
    assert first.split(",")[-1] in ("a1", "a2")
    (told,) = json.loads((found.folder / "details.json").read_text())["fields"]
    assert (told["tolerance"], told["elements"]) == (fine, [])


@pytest.mark.parametrize("policy", ["endpoints", "fixed", "random", "farthest"])
def test_every_policy_of_a_resolution_comes_to_the_same_label(write, policy):
    found = run_project(load_project(write(*NO_MAP, more=ASKED), {"policy": policy}))
    assert str(found.result.report.fields[0].label) == "FINE"
    assert found.result.report.document["protocol"]["policy"]["policy"].split()[0] == policy


def test_a_single_region_needs_no_name_and_the_forecast_knows_it(write, small):
    regions = "[regions.A]\nstrength = 2.0\ntolerance = 0.01\n\n[regions.B]\nstrength = 2.0\n" + MAP_B
    elements = "id,region,x\na1,A,0.2\na2,A,0.35\na3,A,0.7\n"
    more = "\n[resolution]\nfine = 0.05\ngroup = 0.5\n"
    rows = small.make_rows(small.columns([0.2]), 200)
    path = write((regions, "[regions.A]\nstrength = 2.0\n"), more=more, elements=elements, deployment=rows)
    assembled = assemble(load_project(path))
    assert forecast(assembled.project).regions == ("A",)
    assert run_project(load_project(path)).result.report.fields[0].cell == ("a1",)


@pytest.mark.parametrize(
    ("changes", "more", "message"),
    [
        (
            NO_MAP[:1],
            ASKED,
            "regions.B.tolerance must be left out beside a resolution",
        ),
        (
            NO_MAP,
            ASKED.replace('region = "A"\n', ""),
            "resolution.region must name a region that is always there (A)",
        ),
        (NO_MAP, ASKED.replace('"A"', '"B"'), "resolution.region must name a region that is always there (A), not 'B'"),
        (NO_MAP, ASKED.replace('"A"', '"C"'), "resolution.region must name a region that is always there (A), not 'C'"),
        (
            NO_MAP,
            ASKED.replace("0.5", "0.01"),
            "resolution must have a key fine that is at most group",
        ),
        (NO_MAP, ASKED.replace("fine = 0.05\n", ""), "resolution.fine"),
        (NO_MAP, ASKED + "slack = 1.0\n", "slack"),
        (
            (*NO_MAP, ("seed = 3", 'seed = 3\npolicy = "regional"')),
            ASKED,
            "policy must be one of endpoints, fixed, random, farthest here, not 'regional'.",
        ),
        ((("seed = 3", 'seed = 3\npolicy = "endpoints"'),), "", "policy must be one of regional, fixed, random, farth"),
    ],
)
def test_what_a_resolution_cannot_be_asked_with_is_refused_by_its_key(write, refused, changes, more, message):
    assert message in refused(write(*changes, more=more))


def test_equal_responses_farther_apart_than_a_group_are_refused(write, refused, small):
    elements = small.elements.replace("a2,A,0.35", "a2,A,0.2\na3,A,0.9")
    columns = small.columns([0.2, 0.2, 0.2, 0.7, 0.9])
    response = 'response = { kind = "peak", axis = { from = 0, to = 1, count = 8 }, width = 0.15 }'
    path = write(*NO_MAP, (response, 'responses = "responses.npy"'), more=ASKED, elements=elements)
    np.save(path.parent / "responses.npy", columns)
    message = refused(path)
    assert "resolution.group must be at least 0.7, the distance of a1 and a3, whose responses are equal" in message


@pytest.mark.parametrize("change", [("fine = 0.05", "fine = 0.01"), ("group = 0.5", "group = 0.4")])
def test_a_report_of_another_resolution_than_the_project_asks_for_is_refused(write, change):
    path = write(*NO_MAP, more=ASKED)
    report = run_project(load_project(path)).folder / "report.json"
    path.write_text(path.read_text().replace(*change))
    answer = CliRunner().invoke(app, ["verify", str(report), "--project", str(path)])
    assert answer.exit_code == 3
    assert "describes another protocol than the report has, with other question" in answer.output
