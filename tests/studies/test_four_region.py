"""The four-region study gives every number that the paper prints, and its tables bear them out."""

from collections import Counter
from statistics import median

import matplotlib
import numpy as np
import pytest
from numpy.random import SeedSequence, default_rng

from physupport.questions import Label
from physupport.studies import _four_region as design, four_region as study_module, write_outcome
from physupport.studies._four_region import SCENES, examine
from physupport.studies.four_region import draw, representative, run

matplotlib.use("Agg")

COLUMNS = [
    "scene", "data_seed", "queries", "stop", "witnessed",
    *(f"{who}_{region}" for who in ("aeb", "exhaustive", "plugin") for region in "ABCD"),
]  # fmt: skip
PRINTED = {
    "nonempty exhaustive profiles": "14/15",
    "of these, main scenes": "11/12",
    "of these, D-present controls": "3/3",
    "A fine": "10/11",
    "A not fine: abstains": "1/1",
    "B group": "5/5",
    "C ambiguous": "5/5",
    "D absent": "10/10",
    "D-present: false absence of D": "0/3",
    "D-present: exhaustive D present": "3/3",
    "D-present: 162 queries, the cap": "3/3",
    "D-present: nothing witnessed": "3/3",
    "plug-in: unsupported fine B": "5/5",
    "plug-in: false certainty about C": "5/5",
    "plug-in: what it is certain of": "absence 2, presence 3",
    "median queries of 216": "148",
    "the empty profile": "2026091015: 162 queries, 0 witnessed, 54 possible",
}


@pytest.fixture(scope="module")
def outcome():
    return run(1, None)


@pytest.fixture(scope="module")
def cases(outcome):
    return outcome.tables["cases"]


@pytest.fixture(scope="module")
def folder(outcome, tmp_path_factory):
    parent = tmp_path_factory.mktemp("study")
    write_outcome(outcome, parent, draw)
    return parent / "four-region"


def test_every_published_count_is_met_but_the_one_that_the_seeds_contradict(outcome):
    assert {line.name: line.here for line in outcome.lines} == PRINTED
    assert not outcome.agrees
    assert all(line.agrees or line.is_known for line in outcome.lines)


def test_the_sentence_that_the_seeds_contradict_is_shown_as_it_is(outcome):
    (line,) = [line for line in outcome.lines if not line.agrees]
    assert (line.published, line.here) == ("absence 5", "absence 2, presence 3")
    assert line.is_known
    assert "One sentence and two captions" in line.note
    assert "absence in 2 and presence in 3" in line.note


@pytest.mark.parametrize(
    ("said", "agrees", "known"), [((5, 0), True, False), ((2, 3), False, True), ((4, 1), False, False)]
)
def test_what_the_plug_in_is_certain_of_agrees_only_as_printed(monkeypatch, said, agrees, known):
    labels = [Label.ABSENT] * said[0] + [Label.FINE] * said[1]
    monkeypatch.setattr(study_module, "_false_certainty", lambda label: label)
    line = list(study_module._certainty_lines(labels))[1]
    assert (line.agrees, line.is_known) == (agrees, known)


def test_the_table_has_its_fixed_columns_and_a_row_for_every_seed(cases):
    assert all(list(row) == COLUMNS for row in cases)
    expected = [(scene.name, seed) for scene in SCENES for seed in scene.seeds]
    assert [(row["scene"], row["data_seed"]) for row in cases] == expected


def test_the_table_alone_gives_the_published_counts(cases):
    """Counted again from the words in the table, not from the objects behind them."""
    full = [row for row in cases if row["scene"] != "D-present" and row["exhaustive_A"] != "EMPTY"]
    weak = [row for row in full if row["scene"] == "weak-C"]
    fine = [row["aeb_A"] for row in full if row["exhaustive_A"] == "FINE"]
    assert (len(full), len(weak)) == (11, 5)
    assert Counter(fine) == {"FINE": 10, "ABSTAIN": 1}
    assert [row["aeb_D"] for row in full if row["exhaustive_D"] == "ABSENT"] == ["ABSENT"] * 10
    assert {(row["aeb_B"], row["exhaustive_B"], row["plugin_B"]) for row in weak} == {("GROUP", "GROUP", "FINE")}
    assert {(row["aeb_C"], row["exhaustive_C"]) for row in weak} == {("SUPPORT_AMBIGUOUS",) * 2}
    assert Counter(row["plugin_C"] for row in weak) == {"ABSENT": 2, "FINE": 3}
    controls = [row for row in cases if row["scene"] == "D-present"]
    assert [row["aeb_D"] for row in controls] == ["GROUP"] * 3
    assert [row["exhaustive_D"] for row in controls] == ["FINE", "FINE", "GROUP"]
    assert [(row["queries"], row["stop"], row["witnessed"]) for row in controls] == [(162, "BUDGET", 0)] * 3
    assert median(row["queries"] for row in cases) == 148


def test_an_empty_profile_is_empty_in_all_four_columns(cases):
    empty = [row for row in cases if row["exhaustive_A"] == "EMPTY"]
    assert [row["data_seed"] for row in empty] == [2026091015]
    assert {empty[0][f"exhaustive_{region}"] for region in "ABCD"} == {"EMPTY"}
    assert (empty[0]["queries"], empty[0]["stop"], empty[0]["witnessed"]) == (162, "BUDGET", 0)


def test_no_label_is_finer_than_the_exhaustive_one(outcome):
    assert outcome.summary["unsafe_labels"] == 0


def test_the_data_are_those_of_the_seeds():
    """The draws written out by hand, in the order that the study fixes."""
    scene = SCENES[1]
    calibration, deployment = (default_rng(child) for child in SeedSequence(2026091012).spawn(2))
    atoms = np.column_stack([*(design.response(x) for x in (0.10, 0.465, 0.70, 0.91)), design.spare_atom()])
    codes = (calibration.random((4096, 5)) < 0.2) * calibration.standard_normal((4096, 5))
    y = codes @ atoms.T + calibration.standard_normal((4096, 16))
    covariance = 0.8 * np.eye(16)
    for x, tau in ((0.10, 1.0), (0.465, 0.8), (0.70, 0.1)):
        covariance += tau**2 * np.outer(design.response(x), design.response(x))
    z = deployment.standard_normal((192, 16)) @ np.linalg.cholesky(covariance).T
    made = design.study_rows(scene, 2026091012)
    # A covariance summed in another order, then its factor: a few roundings.
    np.testing.assert_allclose(made[0], y, atol=1e-13)
    np.testing.assert_allclose(made[1], z, atol=1e-12)


def test_the_bank_is_the_one_described():
    bank = design.study_bank()
    assert bank.states.library is not None
    assert (bank.size, bank.states.n_states, bank.states.n_atoms) == (216, 72, 5)
    assert len(set(bank.deployment_keys(np.arange(216)).tolist())) == 56
    # Orthogonal to twelve unit vectors after two passes.
    assert np.abs(design.library().responses.T @ design.spare_atom()).max() < 1e-15
    truth = bank.explanation(design.true_explanation(SCENES[2]))
    assert truth.ids == ("A 0.1", "B 0.465", "D 0.91")
    np.testing.assert_allclose(truth.strengths, [1.0, 0.64, 1.0], rtol=1e-15)


def test_labels_that_the_truth_contradicts_are_found():
    """In the empty profile the truth is rejected; what is then said of C and D is wrong."""
    wrong = examine(SCENES[1], 2026091015)
    assert not wrong.is_truth_kept
    assert wrong.false_fields(wrong.trace) == ("C", "D")
    right = examine(SCENES[1], 2026091011)
    assert right.false_fields(right.trace) == ()


def test_the_truth_is_rejected_in_a_second_set_without_a_false_report(outcome):
    """All verdicts together leave one explanation there, with B at a wrong place; under the budget B is a group."""
    assert outcome.summary["truth_kept"] == 13
    second = examine(SCENES[2], 2026091022)
    assert not second.is_truth_kept
    assert second.exhaustive[1].cell == ("B 0.435",)
    assert second.false_fields(second.trace) == ()


def test_other_seeds_give_other_data():
    assert (
        examine(SCENES[1], 2026091011, split=1).trace.queries.tolist()
        != examine(SCENES[1], 2026091011).trace.queries.tolist()
    )


def test_all_figures_are_written_twice(outcome, folder):
    for name in outcome.figures:
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (folder / f"{name}.pdf").read_bytes().startswith(b"%PDF")


def test_the_representative_map_is_one_data_set_with_three_methods(outcome):
    rows = [{name: str(value) for name, value in row.items()} for row in outcome.tables["maps"]]
    chosen = representative(rows)
    assert {row["data_seed"] for row in chosen} == {"2026091011"}
    assert [row["method"] for row in chosen] == [m for m in ("AEB", "exhaustive", "plug-in") for _ in "ABCD"]
    said = {row["region"]: row["label"] for row in chosen if row["method"] == "plug-in"}
    assert said == {"A": "FINE", "B": "FINE", "C": "ABSENT", "D": "ABSENT"}
