"""A free opponent for every law with densities of its own: the level holds, and EMPTY says that nothing fits."""

import numpy as np
import pytest
from scipy.stats import binom

from physupport import MisuseError
from physupport.aeb import RegionalPolicy
from physupport.analysis import AnalysisProtocol, StreamPlan, analyse
from physupport.banks import Library, bank_regions, library_bank, product_grid
from physupport.io import ArrayRows
from physupport.judges import Evidence, Factor, Verdict, best_explanation, verdicts
from physupport.laws import LAWS, Law, latent_point, make_law, opponents_of
from physupport.questions import RegionalMap
from physupport.verify import verify

LEVEL, Q = 0.1, 8
PLACES = np.linspace(0.1, 0.9, 4)
OFFERING = [name for name, law in LAWS.items() if law.free_opponent is not Law.free_opponent]
NAMES = [name for name in OFFERING if name != "profiled mean"]


def make_bank(places=PLACES):
    curves = np.exp(-0.5 * ((np.linspace(0.0, 1.0, Q)[:, None] - places) / 0.12) ** 2)
    ids = [f"p{i}" for i in range(len(places))]
    library = Library(ids, ["line"] * len(ids), places[:, None], curves / np.linalg.norm(curves, axis=0))
    grids = {"calibration": product_grid(p=[0.3], noise=[0.1]), "deployment": product_grid(noise=[0.1])}
    return library_bank(library, [["line"]], {"line": [1.0]}, **grids)


BANK = make_bank()


def kept(rows, law, *, peeks=False):
    """Half of the rows propose, half judge; peeks: those that judge propose."""
    proposal, held_out = ArrayRows(rows[1::2] if peeks else rows[::2]), ArrayRows(rows[1::2])
    proposed, stream = law.proposed(BANK, proposal), law.stream(BANK, held_out, [held_out.n_rows])
    best = best_explanation(proposed.stream, BANK.size, law.keys(BANK), scores=proposed.scores)[1]
    (opponent,) = opponents_of(law, BANK, proposed, best, "free")
    factor = Factor("rows", stream, law.keys(BANK), opponent.numerator(stream, held_out))
    evidence = Evidence(BANK.size, [factor])
    return np.flatnonzero(verdicts(evidence, np.arange(BANK.size), LEVEL).codes != Verdict.REJECTED)


def lost(name, runs, *, peeks=False):
    law, count = make_law(name, {}).completed(BANK), 0
    for run in range(runs):
        rng = np.random.default_rng([1, run])
        truth = int(rng.integers(BANK.size))
        # Few rows: where there are many, no valid judge comes near its level.
        count += truth not in kept(law.sample(BANK, truth, rng, 24), law, peeks=peeks)
    return count


@pytest.mark.parametrize("name", NAMES)
def test_the_truth_is_lost_and_the_answer_empty_in_at_most_the_level_of_the_data_sets(name):
    """EMPTY loses the truth, too: its probability is no larger."""
    runs = 60
    assert binom.sf(lost(name, runs) - 1, runs, LEVEL) > 1e-6  # unlucky seeds: fewer than one in a million


@pytest.mark.parametrize("name", ["covariance", "known codes"])
def test_negative_control_the_same_count_exposes_an_opponent_that_saw_the_judging_rows(name):
    runs = 60
    assert binom.sf(lost(name, runs, peeks=True) - 1, runs, LEVEL) < 1e-6


@pytest.mark.parametrize("name", NAMES)
def test_rows_of_an_element_that_is_not_in_the_bank_make_the_answer_empty(name):
    """Without the free opponent one of its neighbours is left, and is wrong; every report verifies."""
    law, elsewhere = LAWS[name], make_bank(np.array([0.5]))
    rows = make_law(name, {}).completed(elsewhere).sample(elsewhere, 0, np.random.default_rng(2), 800)
    reports = {}
    for opponent in ("bank", "free"):
        plans = {law.part: StreamPlan(name, 0.5, opponent=opponent)}
        protocol = AnalysisProtocol(RegionalMap(bank_regions(BANK)), RegionalPolicy(), LEVEL, 1.0, BANK, plans)
        reports[opponent] = analyse(protocol, {law.part: rows}).report
        found = verify(reports[opponent].json(), {law.part: rows})
        assert found.is_verified
        assert found.are_verdicts_scored
    assert reports["bank"].status != "EMPTY"
    assert reports["free"].status == "EMPTY"


def test_what_a_plan_cannot_have_is_refused():
    with pytest.raises(MisuseError, match="opponent must be 'bank' or 'free', not 'open'"):
        StreamPlan("mean", 0.5, opponent="open")
    plans = {"deployment": StreamPlan("gaussian", 0.5, opponent="free")}
    protocol = AnalysisProtocol(RegionalMap(bank_regions(BANK)), RegionalPolicy(), LEVEL, 1.0, BANK, plans)
    with pytest.raises(MisuseError, match="opponent must be left out for rows of the law gaussian"):
        analyse(protocol, {"deployment": np.random.default_rng(3).standard_normal((20, Q))})
    point = latent_point(BANK.states.elements[:, :1], 0.3, 0.1)
    plans = {"calibration": StreamPlan("latent", 0.5, opponent="free", propose=lambda rows: point)}
    protocol = AnalysisProtocol(RegionalMap(bank_regions(BANK)), RegionalPolicy(), LEVEL, 1.0, BANK, plans)
    with pytest.raises(MisuseError, match="left out where a law off the bank is proposed already"):
        analyse(protocol, {"calibration": np.random.default_rng(3).standard_normal((20, Q))})
