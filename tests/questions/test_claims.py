"""Claims over several elements: true, false, open or not yet known of everything that is left."""

import copy

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from physupport import MisuseError
from physupport.aeb import FixedOrder
from physupport.analysis import AnalysisProtocol, report
from physupport.banks import Library, bank_regions, library_bank, table_regions
from physupport.judges import TableJudge
from physupport.project import load_project, run_project
from physupport.questions import Claim, RegionalMap, RegionRule
from physupport.report import document_hash
from physupport.verify import verify

# Explanations by what they have: As, Pb, both, neither of them but Cr, and nothing.
VIEW = table_regions({"first": ["As", None, "As", "Cr", None], "second": [None, "Pb", "Pb", None, None]})
RULES = {"first": RegionRule(groups={"pnictogen": ["As"]}), "second": RegionRule()}
TRUTH = {
    "any": lambda has: bool(has & {"As", "Pb"}),
    "all": lambda has: {"As", "Pb"} <= has,
    "exactly_one": lambda has: len(has & {"As", "Pb"}) == 1,
}
HAS = [{"As"}, {"Pb"}, {"As", "Pb"}, {"Cr"}, set()]


def written(codes, claims, budget=1.0):
    question = RegionalMap(VIEW, RULES, claims)
    seal = AnalysisProtocol(question, FixedOrder(), 0.05, budget, stop="set").freeze(TableJudge(np.array(codes)))
    return report(seal, seal.run())


@settings(max_examples=60)
@given(st.lists(st.sampled_from([0, 1, 2]), min_size=5, max_size=5), st.sampled_from([*TRUTH]), st.integers(0, 5))
def test_a_claim_holds_for_everything_possible_or_has_witnesses_both_ways(codes, kind, budget):
    found = written(codes, {"heavy": Claim(kind, ("pnictogen", "Pb"))}, budget)
    (claim,) = found.document["claims"]
    left = [e for e in range(5) if e >= budget or codes[e] != 1]
    seen = [e for e in range(budget) if codes[e] == 0]
    values = {TRUTH[kind](HAS[e]) for e in left}
    told = {TRUTH[kind](HAS[e]) for e in seen}
    expected = {0: "empty", 1: str(values == {True}).lower(), 2: "open" if len(told) == 2 else "unknown"}[len(values)]
    assert claim["value"] == expected
    assert [TRUTH[kind](HAS[e]) for e in claim["witnesses"]] == ([True, False] if expected == "open" else [])
    assert verify(found.json()).findings == ()


def test_claims_are_said_in_words():
    heavy = {"heavy": Claim("any", ("As", "Pb"))}
    assert written([0, 0, 1, 1, 1], heavy).sentence.startswith("At least one of As, Pb is there. ")
    assert written([1, 1, 1, 0, 0], heavy).sentence.startswith("None of As, Pb is there. ")
    text = written([0, 1, 1, 0, 1], heavy).text()
    assert "cannot tell whether this holds: At least one of As, Pb is there. Explanation 0 agrees, 3 does not." in text


@pytest.mark.parametrize(
    ("codes", "said"),
    [
        ([0, 0, 1, 1, 1], "Heavy: at least one of As, Pb is there."),
        ([1, 1, 1, 0, 0], "Heavy: none of As, Pb is there."),
        ([0, 1, 1, 0, 1], "Heavy: these data cannot tell whether at least one of As, Pb is there."),
        ([1, 1, 1, 1, 1], "Heavy: no answer, because no explanation considered fits these data."),
    ],
)
def test_claims_are_among_the_first_answers_of_every_output(codes, said):
    found = written(codes, {"heavy": Claim("any", ("As", "Pb"))})
    assert found.answers[-1] == said
    assert len(found.answers) == len(found.fields) + 1
    assert said in found.text().split("\n\n")[0].split("\n")
    assert f"<li>{said}</li>" in found._repr_html_()


@pytest.mark.parametrize("kind", TRUTH)
def test_a_claim_of_one_thing_says_that_it_is_there(kind):
    for codes, said in (
        ([1, 0, 0, 1, 1], "Lead: Pb is there."),
        ([0, 1, 1, 0, 0], "Lead: Pb is not there."),
        ([0, 0, 1, 1, 1], "Lead: these data cannot tell whether Pb is there."),
    ):
        assert written(codes, {"lead": Claim(kind, ("Pb",))}).answers[-1] == said


def test_a_claim_that_is_not_yet_known_is_said_to_be():
    found = written([0, 0, 1, 1, 1], {"heavy": Claim("any", ("As", "Pb"))}, budget=1)
    assert found.answers[-1] == "Heavy: not yet known: At least one of As, Pb is there."


def test_a_forged_claim_is_refused():
    document = written([0, 1, 1, 0, 1], {"heavy": Claim("any", ("As", "Pb"))}).document
    for change in ({"value": "true", "witnesses": []}, {"witnesses": [0, 4]}):
        forged = copy.deepcopy(document)
        forged["claims"][0].update(change)
        forged["digests"]["document"] = document_hash(forged)
        assert any("claims[0]." in finding for finding in verify(forged).findings)
    forged = copy.deepcopy(document) | {"claims": []}
    forged["digests"]["document"] = document_hash(forged)
    assert "claims[0]: the report says nothing, but the trace gives dict" in verify(forged).findings


def test_a_claim_about_sets_counts_their_elements():
    library = Library(["a", "b", "c"], ["R"] * 3, [[0.0], [1.0], [2.0]], np.eye(3))
    bank = library_bank(library, [["R"]], {"R": 1.0}, counts={"R": 2})
    question = RegionalMap(bank_regions(bank), None, {"both": Claim("all", ("a", "b")), "one": Claim("any", ("a",))})
    seal = AnalysisProtocol(question, FixedOrder(), 0.1, 1.0, bank, stop="set").freeze(
        TableJudge(np.array([1, 1, 1, 0, 0, 1]))
    )
    found = report(seal, seal.run())
    assert [entry["value"] for entry in found.document["claims"]] == ["open", "true"]
    assert verify(found.json()).findings == ()


def test_names_that_nothing_has_and_kinds_that_there_are_not_are_refused():
    with pytest.raises(MisuseError, match="name elements or groups of regions that are asked about, not 'U'"):
        RegionalMap(VIEW, RULES, {"x": Claim("any", ("As", "U"))})
    with pytest.raises(MisuseError, match="kind must be one of any, all, exactly_one"):
        Claim("most", ("As",))


def test_a_project_file_has_claims(tmp_path):
    waves = np.eye(6)[:, :3]
    np.save(tmp_path / "rows.npy", 8.0 * waves[:, 0] + np.random.default_rng(1).standard_normal((20, 6)))
    np.save(tmp_path / "responses.npy", waves)
    (tmp_path / "elements.csv").write_text("id,region,x\nAs,metal,0\nPb,metal,1\nCr,metal,2\n")
    (tmp_path / "project.toml").write_text(
        'level = 0.1\n[data.deployment]\nfile = "rows.npy"\nchannels = 1\nlaw = "gaussian"\n'
        '[elements]\nfile = "elements.csv"\ncoordinates = ["x"]\nresponses = "responses.npy"\n'
        '[regions.metal]\n[claims.heavy]\nany = ["As", "Pb"]\n'
    )
    found = run_project(load_project(tmp_path / "project.toml")).result.report
    assert found.document["claims"] == [{"claim": "heavy", "value": "true", "witnesses": []}]
    assert "At least one of As, Pb is there." in (tmp_path / "report" / "report.html").read_text()
