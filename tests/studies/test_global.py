"""The global study gives every number that the paper prints, and its tables bear them out."""

from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from statistics import median

import matplotlib
import numpy as np
import pytest
from numpy.random import default_rng

from physupport.laws import BernoulliGaussian, calibration_mixture
from physupport.local.shell import turns
from physupport.studies import _global_bank as design, write_outcome
from physupport.studies._global_bank import PROFILES, judge, point_of, study_seals
from physupport.studies._outcome import balanced
from physupport.studies.global_bank import CONDITIONS, _proposal_row, draw, examined, run

matplotlib.use("Agg")

COLUMNS = [
    "condition", "data_seed", "profile", "budget", "queries", "witnessed", "label", "lower", "upper",
    "exhaustive_label", "exhaustive_diameter", "survivors",
]  # fmt: skip
PRINTED = {
    "exhaustive label AMBIGUOUS": "34",
    "exhaustive label GROUP": "13",
    "exhaustive label FINE": "7",
    "budget 0.50: substantive": "41/54",
    "budget 0.50: ambiguous": "33/34",
    "budget 0.50: fine": "0/7",
    "budget 0.50: unsafe": "0/54",
    "budget 0.50: median queried fraction": "0.20878",
    "budget 0.50: the same exactly": "214/1025",
    "budget 0.75: substantive": "54/54",
    "budget 0.75: ambiguous": "34/34",
    "budget 0.75: fine": "5/7",
    "budget 0.75: unsafe": "0/54",
    "budget 0.75: median queried fraction": "0.20878",
    "budget 0.75: the same exactly": "214/1025",
    "budget 0.75: fine ones safely coarsened": "2/2",
    "budget 1.00: exhaustive label": "54/54",
    "unsafe at any of the six budgets": "0",
    "traces that end within 0.50": "34",
    "27th and 28th queried fraction": "201/1025, 227/1025",
}
LOW = CONDITIONS[0]


@pytest.fixture(scope="module")
def outcome():
    return run(2, None)


@pytest.fixture(scope="module")
def traces(outcome):
    """The six rows of each trace."""
    found = defaultdict(list)
    for row in outcome.tables["traces"]:
        found[row["data_seed"], row["profile"]].append(row)
    return found


@pytest.fixture(scope="module")
def seals():
    return study_seals(LOW, LOW.seeds[0])


@pytest.fixture(scope="module")
def cases(seals):
    return judge(LOW, LOW.seeds[0], seals)


@pytest.fixture(scope="module")
def part(seals):
    """The stream, which all profiles share."""
    assert len({id(seal.parts[0]) for seal in seals}) == 1
    return seals[0].parts[0]


@pytest.mark.slow
def test_every_published_count_is_met(outcome):
    assert {line.name: line.here for line in outcome.lines} == PRINTED
    assert outcome.agrees


@pytest.mark.slow
def test_the_table_alone_gives_the_published_counts(traces):
    """Counted again from the words and numbers in the table."""
    assert len(traces) == 54
    for k, substantive, ambiguous, fine in ((3, 41, 33, 0), (4, 54, 34, 5), (5, 54, 34, 7)):
        rows = [six[k] for six in traces.values()]
        pairs = Counter((row["label"], row["exhaustive_label"]) for row in rows)
        assert sum(row["label"] != "ABSTAIN" for row in rows) == substantive
        assert (pairs["AMBIGUOUS", "AMBIGUOUS"], pairs["FINE", "FINE"]) == (ambiguous, fine)
        allowed = {("GROUP", "FINE"), *((label, label) for label in ("FINE", "GROUP", "AMBIGUOUS"))}
        assert {pair for pair in pairs if pair[0] != "ABSTAIN"} <= allowed
        sizes = {"low": 1025, "intermediate": 1025, "high": 369}
        middle = median(row["queries"] / sizes[row["condition"]] for row in rows)
        assert middle == pytest.approx(214 / 1025, rel=1e-12)


@pytest.mark.slow
def test_four_of_the_five_fine_labels_that_are_found_have_no_witness(traces):
    """As the page says, with its seeds."""
    fine = [six[4] for six in traces.values() if six[4]["label"] == "FINE"]
    assert [(row["data_seed"], row["profile"]) for row in fine if row["witnessed"]] == [(2026080124, "balanced")]
    assert [(row["data_seed"], row["profile"]) for row in fine if not row["witnessed"]] == [
        (seed, profile) for seed in (2026080131, 2026080133) for profile in ("risk-conservative", "balanced")
    ]
    group = [six[3]["witnessed"] for six in traces.values() if six[3]["label"] == "GROUP"]
    assert sorted(count > 0 for count in group) == [False] * 4 + [True] * 4
    page = (Path(__file__).parents[2] / "docs" / "study-global.md").read_text()
    assert "Four of the five FINE labels found at 0.75 have no witness" in page
    assert "four of the eight GROUP labels at 0.50" in page


@pytest.mark.slow
def test_the_tables_have_their_fixed_columns(outcome):
    assert all(list(row) == COLUMNS for row in outcome.tables["traces"])
    assert [row["budget"] for row in outcome.tables["traces"][:6]] == [0.1, 0.2, 0.35, 0.5, 0.75, 1.0]
    assert all(
        list(row) == ["condition", "data_seed", "phi", "p", "nu", "log_likelihood"]
        for row in outcome.tables["proposals"]
    )
    seeds = [(condition.name, seed) for condition in CONDITIONS for seed in condition.seeds]
    assert [(row["condition"], row["data_seed"]) for row in outcome.tables["proposals"]] == seeds


@pytest.mark.slow
def test_the_bounds_close_around_the_exhaustive_diameter(traces):
    for six in traces.values():
        for before, after in pairwise(six):
            assert before["lower"] <= after["lower"] <= after["exhaustive_diameter"]
            assert before["upper"] >= after["upper"] >= after["exhaustive_diameter"]
            assert before["queries"] <= after["queries"]


@pytest.mark.slow
def test_figures_are_written_twice_and_a_bar_holds_all_traces(outcome, tmp_path):
    write_outcome(outcome, tmp_path, draw)
    for name in ("status", "recovery"):
        assert (tmp_path / "global" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (tmp_path / "global" / f"{name}.pdf").read_bytes().startswith(b"%PDF")
    words = ("match", "safe_coarsening", "abstention", "unsafe")
    assert [sum(row[word] for word in words) for row in outcome.tables["status"]] == [54] * 6


def test_the_data_are_those_of_the_seed(part):
    rng, v = default_rng(2026080111), np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) / np.sqrt(3.0)
    block = np.vstack([0.35 * v.T, np.full(4, np.sqrt(1 - 0.35**2))])
    atoms = np.column_stack([block, np.array([1, 0, 0, 1]) / np.sqrt(2.0)])
    codes = (rng.random((4096, 5)) < 0.2) * rng.standard_normal((4096, 5))
    # Sums of five products of numbers near 1.
    np.testing.assert_allclose(part.table, codes @ atoms.T + np.sqrt(1.2) * rng.standard_normal((4096, 4)), atol=1e-13)
    order = default_rng(9026080111).permutation(4096)
    np.testing.assert_array_equal(part.split.proposal, order[:1843])
    np.testing.assert_array_equal(part.split.held_out, order[1843:])


def test_the_proposal_beats_the_bank_on_its_own_rows(cases, part):
    rows = part.table[part.split.proposal]

    def log_likelihood(atoms, p, noise):
        return calibration_mixture(BernoulliGaussian(p), atoms, noise).log_density(rows).sum()

    point, row = point_of(cases[0].seal.proposed), _proposal_row(LOW, cases[0])
    here = log_likelihood(**point)
    # Sums of 1843 logarithms, each about -6.
    assert row["log_likelihood"] == pytest.approx(here, abs=1e-8)
    np.testing.assert_allclose(
        turns(design.GENERATOR, [row["phi"]])[0] @ balanced(LOW.scale).atoms, point["atoms"], atol=1e-15
    )
    bank = design.study_bank(LOW)
    for e in range(0, bank.size, 41):
        member = bank.explanation(e)
        assert log_likelihood(member.atoms, member.calibration["p"], member.calibration["noise"]) <= here


def test_distances_of_orientations_follow_from_the_turn():
    """An active atom moves on a circle of radius s |v - axis part|; projective distance is the sine of its angle."""
    distances = design.place_distances(0.5)
    radius = 0.5 * np.sqrt(2.0 / 3.0)
    cosine = 1.0 - radius**2 * (1.0 - np.cos(0.02))
    # One minus a squared cosine near 1 loses half the digits.
    assert distances[0, 1] == pytest.approx(np.sqrt(1.0 - cosine**2), rel=1e-10)
    assert distances.max() == distances[0, -1]
    turned = turns(design.GENERATOR, design.ANGLES[7:8])[0] @ balanced(0.5).atoms
    np.testing.assert_allclose(design.proposal_distances(0.5, turned), distances[7], atol=1e-15)


@pytest.mark.parametrize("condition", CONDITIONS, ids=lambda condition: condition.name)
def test_the_truth_is_a_member_of_the_bank(condition):
    bank = design.study_bank(condition)
    assert bank.size == (369 if condition.name == "high" else 1025)
    truth = bank.explanation(design.true_explanation(condition))
    assert truth.calibration == pytest.approx({"p": 0.2, "noise": condition.noise}, rel=1e-15)
    np.testing.assert_allclose(truth.atoms, balanced(condition.scale).atoms, atol=1e-16)


def test_nothing_depends_on_jobs(cases):
    planned = [(LOW, seed, None) for seed in LOW.seeds[:2]]
    told = []
    alone = dict(examined(planned, 1))
    together = dict(examined(planned, 2, lambda done, whole: told.append(done / whole)))
    assert {*alone} == {*together} == {0, 1}
    assert alone[0][0].seal.digest == cases[0].seal.digest
    for i in alone:
        for here, there in zip(alone[i], together[i], strict=True):
            assert here.seal.digest == there.seal.digest  # the proposal, to the last bit, is in it
            np.testing.assert_array_equal(here.trace.queries, there.trace.queries)
            np.testing.assert_array_equal(here.trace.verdicts.margins(), there.trace.verdicts.margins())
    assert told == [0.5, 1.0]


def test_a_stricter_level_keeps_more(cases):
    assert [case.seal.protocol.level for case in cases] == sorted(profile.level for profile in PROFILES)
    assert [case.n_survivors for case in cases] == sorted((case.n_survivors for case in cases), reverse=True)
    assert all(case.is_truth_kept for case in cases)
    assert not any(case.false_fields(case.at(budget)) for case in cases for budget in design.BUDGETS)
