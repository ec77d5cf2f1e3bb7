"""Statements of an example at a small budget stay true at larger ones, with every judge."""

from itertools import pairwise

import pytest

from physupport.analysis import analyse
from physupport.project import EXAMPLES, assemble, load_project, write_example

BUDGETS = (1, 0.2, 1.0)
# Labels that tell something of the truth; ABSTAIN and the ambiguous ones leave everything open.
SAYING = {"FINE", "GROUP", "ABSENT"}


# The topography is left out: its judge is that of the array and of the map, and its bank is the largest.
@pytest.fixture(scope="module", params=[name for name in EXAMPLES if name not in ("eeg", "gamma")])
def reports(request, tmp_path_factory):
    """The same project with more and more queries."""
    folder = tmp_path_factory.mktemp(request.param)
    write_example(folder / "new", request.param)
    told = []
    for budget in BUDGETS:
        assembled = assemble(load_project(folder / "new" / "project.toml", {"budget": budget}))
        told.append(analyse(assembled.protocol, assembled.tables).report)
    return told


def possible(field):
    """Elements that may be there: kept, or never asked about."""
    return {*field.kept, *field.not_asked} or {*field.cell}


def test_more_queries_never_bring_back_what_was_excluded(reports):
    for early, late in pairwise(reports):
        for before, after in zip(early.fields, late.fields, strict=True):
            assert possible(after) <= possible(before)


def test_a_statement_about_the_truth_is_never_taken_back_and_only_grows_finer(reports):
    for early, late in pairwise(reports):
        for before, after in zip(early.fields, late.fields, strict=True):
            if before.label.name in SAYING:
                assert after.label.name in SAYING
                assert {*after.cell} <= {*before.cell}
            if before.label.name in {"FINE", "ABSENT"}:
                assert (after.label, after.cell) == (before.label, before.cell)


def test_the_gate_does_not_wait_for_queries(reports):
    """A label that the gate withholds is printed at no budget."""
    gates = [report.document.get("gate") for report in reports]
    assert len({None if gate is None else gate["is_withheld"] for gate in gates}) == 1


def test_the_largest_budget_leaves_nothing_unasked_that_is_possible(reports):
    assert [field.not_asked for field in reports[-1].fields] == [() for _ in reports[-1].fields]
