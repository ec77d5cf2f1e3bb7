"""Maps by evidence: from which error of the responses on something fits, and how far the answer stands."""

import numpy as np
from scipy.stats import binom

from physupport.aeb import RegionalPolicy
from physupport.analysis import AnalysisProtocol, StreamPlan
from physupport.banks import Library, bank_regions, library_bank, product_grid
from physupport.judges import ByEvidence
from physupport.judges.rotation import ByRotation
from physupport.maps import MapProtocol, ProtocolSignals, map_signals
from physupport.questions import RegionalMap

LEVEL, SINE, Q = 0.05, 0.1, 40
AXIS = np.arange(float(Q))
LINES = np.exp(-0.5 * ((AXIS[:, None] - [8.0, 16.0, 24.0, 32.0]) / 3.0) ** 2)
LINES /= np.linalg.norm(LINES, axis=0)
LIBRARY = Library([*"abcd"], ["line"] * 4, np.arange(4.0)[:, None], LINES)
BANK = library_bank(LIBRARY, [["line"]], {"line": [1.0]}, deployment=product_grid(noise=[1.0]))
PLANS = {"deployment": StreamPlan("gaussian")}


def protocol():
    question = RegionalMap(bank_regions(BANK))
    return AnalysisProtocol(question, RegionalPolicy(), LEVEL, 1.0, BANK, PLANS, judge=ByEvidence("fission", 4))


def pixels(rng, n, strength):
    """Rows of elements whose responses are off by a sine, and the elements."""
    truth = rng.integers(0, 4, n)
    own = LINES[:, truth].T
    aside = rng.standard_normal((n, Q))
    aside -= (aside * own).sum(axis=1, keepdims=True) * own
    aside /= np.linalg.norm(aside, axis=1, keepdims=True)
    return strength * (np.sqrt(1.0 - SINE**2) * own + SINE * aside) + rng.standard_normal((n, Q)), truth


def kept(found):
    return np.unpackbits(found.array("read_kept"), axis=1, bitorder="little")[:, :4].astype(bool)


def test_pixels_whose_very_spectrum_is_not_listed_have_an_answer_at_a_larger_error(tmp_path):
    rows, truth = pixels(np.random.default_rng(1), 200, 100.0)
    found = map_signals(rows, MapProtocol.of(protocol()), tmp_path / "map", channels=1)
    assert (found.labels("line") != "ABSTAIN").mean() < 0.1
    sets = kept(found)
    assert (sets.sum(axis=1) == 1).mean() > 0.95
    lost = int((~sets[np.arange(200), truth]).sum())
    assert binom.sf(lost - 1, 200, LEVEL) > 1e-6
    fits_from, stands_to = found.array("fits_from"), found.array("stands_to")[:, 0]
    assert (fits_from > 0.0).mean() > 0.9
    assert (stands_to >= fits_from).all()
    assert (fits_from <= SINE).all()
    assert "have one at twice the smallest error of the responses" in " ".join(found.lines())
    mute = int(np.flatnonzero(found.array("gate") != 0)[0])
    assert "Something fits if responses are off by an error of" in found.sentence((mute,))


def test_without_the_error_the_answers_of_the_control_are_wrong(tmp_path):
    """Exact responses lose the truth of neighbours that look alike: what is read at no error is no answer."""
    rows, truth = pixels(np.random.default_rng(2), 200, 100.0)
    judged = MapProtocol.of(protocol()).judge
    verdicts = judged.block_judge(np.array([LEVEL]), 1, 1)(rows[:, None])
    from_error = verdicts.kept_from[np.arange(200), truth]
    assert (np.array([0.0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0])[from_error] <= SINE).all()
    assert (verdicts.fits_from > 0).mean() > 0.9  # at no error the stated noise is refuted


def test_the_fast_way_and_reports_one_by_one_agree_on_the_answer(tmp_path):
    rows, _ = pixels(np.random.default_rng(3), 12, 60.0)
    fast = MapProtocol.of(protocol())
    slow = MapProtocol(ProtocolSignals(protocol()), fast.question, LEVEL, None, None)
    maps = [map_signals(rows, each, tmp_path / name, channels=1) for name, each in (("fast", fast), ("slow", slow))]
    first, second = map(kept, maps)
    assert (first == second).mean() > 0.9  # the numerators differ, and one of them is a law off the bank as well
    assert all((each.array("stands_to") >= 0.05).any() for each in maps)


def test_maps_by_rotations_have_no_errors(tmp_path):
    rotated = AnalysisProtocol(
        RegionalMap(bank_regions(BANK)), RegionalPolicy(), LEVEL, 1.0, BANK, PLANS, judge=ByRotation()
    )
    judge = MapProtocol.of(rotated).judge
    assert judge.stated_error is None
