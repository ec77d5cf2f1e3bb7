"""A kept strength at the end of its grid is told as an edge, as places, parameters and nuisances are."""

import copy

import numpy as np
import pytest

from physupport.analysis import PhysicalSupport, StreamPlan
from physupport.banks import Library, grid_edges, library_bank, product_grid
from physupport.judges.simulation import BySimulation
from physupport.report import document_hash
from physupport.verify import verify

PLACES = np.linspace(0.1, 0.9, 4)
WAVES = np.exp(-0.5 * ((np.linspace(0.0, 1.0, 12)[:, None] - PLACES) / 0.1) ** 2)
LIBRARY = Library(
    [f"p{i}" for i in range(4)], ["A", "A", "B", "B"], PLACES[:, None], WAVES / np.linalg.norm(WAVES, axis=0)
)
STRENGTHS = [1.0, 2.0, 3.0]


def bank_of(supports, strengths):
    return library_bank(LIBRARY, supports, strengths, deployment=product_grid(noise=[1.0]))


BANK = bank_of([["A"], ["A", "B"]], {"A": STRENGTHS, "B": [0.5, 5.0]})


def touched(chosen):
    """By the definition: of kept explanations one by one."""
    said = []
    for region, own in (("A", (0, 1)), ("B", (2, 3))):
        having, kept = set(), set()
        for e in range(BANK.size):
            member = BANK.explanation(e)
            of = {x for i, x in zip(member.ids, member.strengths.tolist(), strict=True) if i in [f"p{k}" for k in own]}
            having |= of
            kept |= of if e in chosen else set()
        if kept and kept != having and len(having) > 1:
            ends = (("lowest", min(having)), ("highest", max(having)))
            said += [{"of": f"strengths of region {region}", "value": x, "end": end} for end, x in ends if x in kept]
    return said


def test_ends_of_strengths_are_those_of_the_definition_and_only_where_rows_have_them():
    rng = np.random.default_rng(1)
    found = []
    for _ in range(200):
        chosen = np.sort(rng.choice(BANK.size, rng.integers(1, 6), replace=False))
        edges = grid_edges(BANK, chosen, has_strengths=True)
        assert edges == grid_edges(BANK, chosen) + touched(chosen.tolist())
        found += [(edge["of"], edge["end"]) for edge in edges]
    assert len(set(found)) == 4  # every end was met
    assert not any(edge["of"].startswith("strengths") for edge in grid_edges(BANK, np.arange(3)))
    assert grid_edges(BANK, np.array([], dtype=int), has_strengths=True) == []


def reported(rows, law="mean", **options):
    bank = bank_of([["A"]], {"A": STRENGTHS})
    plan = StreamPlan(law)
    return PhysicalSupport(bank, {"A": 0.5}, calibration=None, deployment=plan, **options).fit().report(rows)


def rows_of(strength, seed=2):
    return strength * LIBRARY.responses[:, 0] + np.random.default_rng(seed).standard_normal((60, 12))


@pytest.mark.parametrize("judge", [None, BySimulation(draws=99)])
def test_a_strength_beyond_the_grid_is_told_where_the_end_is_kept_and_one_within_is_not(judge):
    options = {} if judge is None else {"judge": judge}
    beyond, within = reported(rows_of(3.4), **options), reported(rows_of(2.0), **options)
    assert {"of": "strengths of region A", "value": 3.0, "end": "highest"} in beyond.document["edges"]
    assert (
        "touches the end of the grid of strengths of region A (3): values beyond it were not tried" in beyond.sentence
    )
    assert within.document["edges"] == []


def test_coefficients_that_are_free_have_no_strengths_whose_ends_could_be_touched():
    assert reported(rows_of(3.4), law="gaussian").document["edges"] == []


def test_verify_derives_ends_of_strengths_and_refuses_a_report_that_does_not_tell_them():
    rows = {"deployment": rows_of(3.4)}
    report = reported(rows["deployment"])
    assert verify(report.json(), rows).is_verified

    def changed(edges):
        document = copy.deepcopy(report.document)
        document |= {"edges": edges}
        document["digests"]["document"] = document_hash(document)
        return verify(document, rows)

    (finding,) = changed([]).findings
    assert finding == "edges[0]: the report says nothing, but the trace gives dict"
    (edge,) = report.document["edges"]
    assert not changed([edge | {"value": 2.0}]).is_verified
    assert not changed([edge, edge | {"of": "region A"}]).is_verified
