"""Statements about regions with several elements at once, from the question to the checked report."""

import copy
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from physupport import MisuseError
from physupport.aeb import FixedOrder, RegionalPolicy
from physupport.analysis import AnalysisProtocol, PhysicalSupport, StreamPlan, report
from physupport.banks import Library, bank_regions, library_bank, product_grid
from physupport.judges import TableJudge
from physupport.questions import RegionalMap, RegionRule
from physupport.report import document_hash
from physupport.report.page import page_html
from physupport.verify import verify

PLACES = np.array([0.0, 1.0, 2.0, 6.0])
WAVES = np.exp(-0.5 * ((np.linspace(-1.0, 7.0, 24)[:, None] - PLACES) / 0.8) ** 2)
LIBRARY = Library(["p", "q", "r", "s"], ["A"] * 4, PLACES[:, None], WAVES / np.linalg.norm(WAVES, axis=0))
BANK = library_bank(LIBRARY, [["A"]], {"A": 1.0}, counts={"A": 2}, deployment=product_grid(noise=[0.02]))
GROUPS = {"near": ["p", "q", "r"], "first": ["p", "q"]}
SETS = [chosen for count in (1, 2) for chosen in combinations("pqrs", count)]


def make_map(tolerance=0.0, **options):
    return RegionalMap(bank_regions(BANK), {"A": RegionRule(tolerance, groups=GROUPS, **options)})


def written(kept, tolerance=0.0, policy=None, **options):
    codes = np.array([0 if "".join(chosen) in kept else 1 for chosen in SETS], dtype=np.uint8)
    protocol = AnalysisProtocol(make_map(tolerance, **options), policy or FixedOrder(), 0.05, 1.0, BANK, stop="set")
    seal = protocol.freeze(TableJudge(codes))
    return report(seal, seal.run())


@pytest.mark.parametrize(
    ("kept", "tolerance", "label", "group"),
    [
        (["pq"], 0.0, "FINE", "first"),
        (["pq", "qr"], 1.0, "FINE", "near"),  # of Hausdorff 1 apart
        (["pq", "qr"], 0.5, "GROUP", "near"),
        (["p", "q"], 0.0, "GROUP", "first"),
        (["p", "ps"], 3.0, "GROUP", "A"),  # s lies 6 from p
        (["rs", "s"], 4.0, "FINE", "A"),
    ],
)
def test_labels_hold_for_sets_in_the_distance_of_hausdorff(kept, tolerance, label, group):
    for policy in (FixedOrder(), RegionalPolicy()):
        found = written(kept, tolerance, policy)
        (a,) = found.fields
        assert (str(a.label), a.group) == (label, group)
        assert {*a.kept} == {" + ".join(name) for name in kept}
        assert verify(found.json()).findings == ()


def test_a_single_set_is_said_in_words_and_several_by_name():
    assert written(["qs"]).fields[0].sentence.startswith("Region A: q and s.")
    assert "one of p + q, q + r" in written(["pq", "qr"], 1.0).fields[0].sentence


@settings(max_examples=40)
@given(st.lists(st.sampled_from([0, 1, 1, 2]), min_size=10, max_size=10), st.data())
def test_reports_about_sets_are_verified_whatever_the_verdicts(codes, data):
    tolerance = data.draw(st.sampled_from([0.0, 1.0, 2.0, 5.0]))
    policy = data.draw(st.sampled_from([FixedOrder(), RegionalPolicy()]))
    asks = data.draw(st.sampled_from(["finest", ("group", "ambiguity"), ("fine",)]))
    protocol = AnalysisProtocol(make_map(tolerance, asks=asks), policy, 0.1, data.draw(st.integers(0, 10)), BANK,
                                stop=data.draw(st.sampled_from(["label", "set"])))  # fmt: skip
    seal = protocol.freeze(TableJudge(np.array(codes, dtype=np.uint8)))
    assert verify(report(seal, seal.run()).json()).findings == ()


def test_a_forged_count_or_group_is_refused():
    document = written(["pq", "qr"], 1.0).document
    for change in (
        lambda rule: rule.update(count=[1, 3]),
        lambda rule: rule.pop("count"),
        lambda rule: rule["groups"][0][1].append("s"),
    ):
        forged = copy.deepcopy(document)
        change(forged["protocol"]["question"]["regions"][0])
        forged["digests"]["document"] = document_hash(forged)
        assert not verify(forged).is_verified


def test_distances_between_elements_may_be_given():
    apart = 3.0 * (1.0 - np.eye(4))
    found = written(["p", "q"], 3.0, distances=apart)
    assert (str(found.fields[0].label), found.fields[0].extent) == ("FINE", 3.0)
    assert verify(found.json()).findings == ()


def test_a_group_that_can_hold_no_set_is_refused():
    bank = library_bank(LIBRARY, [["A"]], {"A": 1.0}, counts={"A": (2, 2)})
    with pytest.raises(MisuseError, match="hold at least 2 elements"):
        RegionalMap(bank_regions(bank), {"A": RegionRule(groups={"one": ["p"]})})


@pytest.fixture(scope="module")
def model():
    rows = WAVES[:, [0, 3]] @ [1.0, 1.0] / np.linalg.norm(WAVES[:, 0])
    noise = 0.02**0.5 * np.random.default_rng(2).standard_normal((80, 24))
    found = PhysicalSupport(BANK, {"A": 0.5}, calibration=None, deployment="mean").fit()
    found.rows = rows + noise
    found.report(found.rows)
    return found


def test_two_elements_of_one_region_are_found_in_rows_and_verified(model):
    (a,) = model.report_.fields
    assert (str(a.label), a.cell) == ("FINE", ("p + s",))
    assert verify(model.report_.json(), {"deployment": model.rows}).findings == ()


def test_details_and_page_show_the_elements_of_sets(model):
    details = model.result_.details()
    (field,) = details.document["fields"]
    assert {each["id"]: each["state"] for each in field["elements"]} == {
        "p": "kept", "q": "excluded", "r": "excluded", "s": "kept",
    }  # fmt: skip
    assert field["elements"][0]["explanations"][0]["says"] == {"A": "p + s"}
    assert [*field["plug_in"]["cell"]] == ["p", "s"]
    assert "p and s" in page_html(model.report_, details)


@pytest.mark.parametrize("plan", ["latent", StreamPlan("known codes", 0.5, noises=[0.1])])
def test_laws_of_dictionaries_of_one_size_refuse_sets(plan):
    known, noise = product_grid(p=[0.3], noise=[0.1]), product_grid(noise=[0.1])
    bank = library_bank(LIBRARY, [["A"]], {"A": 1.0}, counts={"A": 2}, calibration=known, deployment=noise)
    with pytest.raises(MisuseError, match="the count of a region must be 1 beside rows of the law"):
        PhysicalSupport(bank, calibration=plan, deployment="mean").fit(np.zeros((40, 28)))
