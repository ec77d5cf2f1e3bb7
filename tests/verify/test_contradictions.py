"""A question that says of the bank's explanations what the bank does not say, and distances that are the author's."""

import numpy as np
import pytest

from physupport.aeb import FixedOrder
from physupport.analysis import AnalysisProtocol, report
from physupport.banks import Library, bank_regions, library_bank, product_grid, table_regions
from physupport.judges import TableJudge
from physupport.local.shell import orbit_bank
from physupport.questions import Claim, RegionalMap, RegionRule, Resolution
from physupport.verify import verify

OWN_VIEW = "the view of the question is not that of the bank: what explanations say of regions is taken as it stands"


@pytest.fixture(scope="module")
def bank():
    """Two places of A, with and without the one of B: 4 explanations."""
    library = Library(["a1", "a2", "b"], ["A", "A", "B"], [[0.0, 0.0], [3.0, 4.0], [1.0, 1.0]], np.eye(3))
    return library_bank(library, ["A", "AB"], {"A": 1.0, "B": 2.0}, deployment=product_grid(noise=[0.5]))


def checked(bank, question):
    seal = AnalysisProtocol(question, FixedOrder(), 0.1, 1.0, bank).freeze(TableJudge(np.array([0, 1, 0, 1])))
    found = verify(report(seal, seal.run()).json(), protocol=seal.digest)
    notes = [note for note in found.notes if "judge" not in note]
    return " / ".join(found.findings), notes


def columns(**changes):
    return {"A": ["a1", "a1", "a2", "a2"], "B": [None, "b", None, "b"]} | changes


def test_the_view_of_the_bank_needs_no_note(bank):
    assert checked(bank, RegionalMap(bank_regions(bank))) == ("", [])


def test_a_table_that_says_what_the_bank_says_is_noted_and_not_refused(bank):
    places = {"A": {"a2": [3.0, 4.0], "a1": [0.0, 0.0]}}  # in another order
    assert checked(bank, RegionalMap(table_regions(columns(), coordinates=places))) == ("", [OWN_VIEW])


@pytest.mark.parametrize(
    ("region", "column"),
    [("A", ["a2", "a1", "a2", "a2"]), ("B", [None, "b", "b", "b"]), ("A", ["a1", "a1", "a2", None])],
)
def test_a_table_that_claims_other_elements_of_the_library_is_refused(bank, region, column):
    findings, _ = checked(bank, RegionalMap(table_regions(columns(**{region: column}))))
    assert f"in region {region!r} the table gives" in findings
    assert "another element of the library than the bank does" in findings


def test_a_table_with_regions_or_elements_of_its_own_is_noted(bank):
    left = table_regions({"left": ["a2", "a1", "a1", "a2"]})
    merged = table_regions({"A": ["a1", "a1", "a1 + b", "a2"]})
    for view in (left, merged):
        assert checked(bank, RegionalMap(view)) == ("", [OWN_VIEW])


def test_other_coordinates_than_those_of_the_library_are_noted(bank):
    view = table_regions(columns(), coordinates={"A": {"a1": [0.0, 0.0], "a2": [3.0, 4.001]}})
    findings, notes = checked(bank, RegionalMap(view))
    assert findings == ""
    assert notes == [OWN_VIEW, "the coordinates of region 'A' in the question are not those of the library"]


def test_given_distances_that_are_not_those_of_the_coordinates_are_noted_by_region(bank):
    given = np.array([[0.0, 4.9], [4.9, 0.0]])
    view = bank_regions(bank)
    _, notes = checked(bank, RegionalMap(view, {"A": RegionRule(distances=given), "B": RegionRule()}))
    assert notes == ["the distances of region 'A' were given, and are not those of its coordinates"]
    rounded = np.array([[0.0, 5.0 + 1e-12], [5.0 + 1e-12, 0.0]])
    assert checked(bank, RegionalMap(view, {"A": RegionRule(distances=rounded)})) == ("", [])


def test_without_a_library_a_table_is_all_there_is_to_go_by():
    states = orbit_bank(np.eye(2), np.array([[0.0, -1.0], [1.0, 0.0]]), np.array([0.0, 0.1, 0.2, 0.3]), supports=[(0,)])
    assert checked(states, RegionalMap(table_regions({"A": ["x", "x", "y", "y"]}))) == ("", [OWN_VIEW])
    assert checked(None, RegionalMap(table_regions({"A": ["x", "x", "y", "y"]}))) == ("", [])


def test_distances_of_a_resolution_on_a_bank_are_noted():
    turn, angles = np.array([[0.0, -1.0], [1.0, 0.0]]), np.array([0.0, 0.1, 0.2, 0.3])
    bank = orbit_bank(np.eye(2), turn, angles, supports=[(0,)])
    between = np.abs(angles[:, None] - angles)
    question = Resolution.of_states(bank, between, between[0], delta_fine=0.1, delta_group=0.2)
    findings, notes = checked(bank, question)
    assert findings == ""
    assert notes == [
        "places and distances of the resolution were given: that they are those of the bank is taken as it stands"
    ]
    assert checked(None, question) == ("", [])


@pytest.mark.parametrize(
    ("kind", "of", "value", "refusal"),
    [
        ("all", [], "true", "must name at least one element or group, each once"),
        ("any", [], "false", "must name at least one element or group, each once"),
        ("any", ["a1", "a1"], "true", "must name at least one element or group, each once"),
        ("exactly_one", ["a1", "a1"], "false", "must name at least one element or group, each once"),
        ("any", ["a1x"], "false", "regions that are asked about, not 'a1x'"),
        ("any", ["a1", "b"], "true", "regions that are asked about, not 'b'"),
        ("any", "a1", "false", "regions that are asked about, not 'a'"),
        ("any", [1], "false", "regions that are asked about, not 1"),
    ],
)
def test_a_claim_that_nobody_can_ask_for_is_refused_whatever_hashes_fit(bank, resealed, kind, of, value, refusal):
    question = RegionalMap(bank_regions(bank), {"A": RegionRule()}, {"there": Claim("any", ("a1",))})
    seal = AnalysisProtocol(question, FixedOrder(), 0.1, 1.0, bank).freeze(TableJudge(np.array([0, 0, 1, 1])))
    document = report(seal, seal.run()).document
    assert document["claims"] == [{"claim": "there", "value": "true", "witnesses": []}]
    assert verify(resealed(document)).is_verified
    document["protocol"]["question"]["claims"] = [["there", kind, of]]
    document["claims"][0]["value"] = value
    assert any(refusal in finding for finding in verify(resealed(document)).findings)
