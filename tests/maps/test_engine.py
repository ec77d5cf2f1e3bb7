"""One table of critical values serves all signals, and says what the rotation judge says of each."""

from dataclasses import fields, replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import binom

from physupport import MisuseError
from physupport.judges import Verdict
from physupport.judges.rotation import Companions, Rotation, RotationJudge, RotationTable
from physupport.maps import RotatedSignals

LEVEL = 0.1


def block_judge(spec, levels):
    """The judge of blocks of single rows."""
    judge = RotatedSignals(spec).block_judge(np.atleast_1d(levels), 1, 1)
    return SimpleNamespace(judge=lambda rows: judge(rows[:, None]))


@pytest.fixture(scope="module")
def judge(bank):
    return block_judge(bank.spec, LEVEL)


def asked_alone(spec, row):
    """The explanations that the rotation judge keeps for one signal, each with the sign at which it fits."""
    every, table = np.arange(spec.table.size), spec.table
    judges = (RotationJudge(spec, sign * row[None], LEVEL) for sign in (1.0, -1.0))
    plain, turned = (judge.verdicts(every).codes != Verdict.REJECTED for judge in judges)
    return np.where(table.bases[:, 0] @ (table.complement.T @ row) >= 0.0, plain, turned)


def test_what_is_rejected_is_rejected_by_the_rotation_judge_with_the_same_draws(bank, judge):
    rows, _ = bank.signals(np.repeat([0.0, 3.0, 6.0, 12.0], 12), seed=5)
    ours = judge.judge(rows).kept()
    alone = np.array([asked_alone(bank.spec, row) for row in rows])
    assert not (alone & ~ours).any()
    # What is kept in addition lies between two points of a grid of eight to an octave, or near the critical values,
    # which are those of a somewhat smaller level.
    assert (ours & ~alone).sum() <= 0.05 * alone.size


@pytest.mark.parametrize("bounds", [{"low": 0.0}, {"high": np.append(np.zeros(6), np.full(6, np.inf))}])
def test_signs_of_coefficients_are_tested_as_the_judge_does(bank, bounds):
    spec = replace(bank.spec, companions=Companions(**bounds))
    rows, _ = bank.signals(np.repeat([-8.0, 3.0, 8.0], 6), seed=6)
    kept, every = block_judge(spec, LEVEL).judge(rows).kept(), np.arange(spec.table.size)
    alone, free = (
        np.array([RotationJudge(each, row[None], LEVEL).verdicts(every).codes != Verdict.REJECTED for row in rows])
        for each in (spec, bank.spec)
    )
    is_against = free & ~alone  # by the sign of the coefficient, most of them
    assert is_against.sum() >= 5
    # Draws of the other sign, points of the grid, and critical values that are certain decide near the border only.
    assert (kept != alone).mean() <= 0.05
    assert not kept[is_against].all()


def losses(judge, rows, truth):
    return int((~judge.judge(rows).kept()[np.arange(len(rows)), truth]).sum())


@pytest.mark.parametrize("amplitude", [0.0, 4.0, 8.0])
def test_the_truth_is_lost_in_at_most_the_level_of_the_signals(bank, judge, amplitude):
    rows, truth = bank.signals(np.full(20_000, amplitude), seed=7)
    assert binom.sf(losses(judge, rows, truth) - 1, len(rows), LEVEL) > 1e-6


def test_negative_control_coloured_noise_loses_the_truth_without_a_gate(bank):
    rows, truth = bank.signals(np.full(2000, 8.0), seed=7)
    coloured = lfilter([0.6], [1.0, -0.8], np.random.default_rng(3).standard_normal(rows.shape), axis=1)
    without = block_judge(replace(bank.spec, outsiders=None), LEVEL)
    lost = losses(without, rows + 3.0 * coloured, truth)
    assert binom.sf(lost - 1, len(rows), LEVEL) < 1e-6


def test_smaller_levels_lose_the_truth_less_often_and_keep_more(bank):
    levels = np.array([0.1, 0.05, 0.01, 0.001, 1e-5])
    rows, truth = bank.signals(np.full(40_000, 9.0), seed=11)
    found = block_judge(bank.spec, levels).judge(rows)
    sizes = []
    for number, level in enumerate(levels.tolist()):
        kept = found.kept(number)
        lost = int((~kept[np.arange(len(rows)), truth]).sum())
        assert binom.sf(lost - 1, len(rows), level) > 1e-6
        sizes.append(int(kept.sum()))
    assert sizes == sorted(sizes)
    assert sizes[-1] < 0.5 * kept.size  # tails in closed form reject beyond what draws can


def test_signals_do_not_depend_on_their_block(bank, judge):
    rows, _ = bank.signals(np.repeat([0.0, 5.0], 20), seed=2)
    whole, parts = judge.judge(rows), [judge.judge(rows[i : i + 7]) for i in range(0, 40, 7)]
    for field in fields(whole):
        if getattr(whole, field.name) is not None:
            joined = np.concatenate([getattr(part, field.name) for part in parts])
            np.testing.assert_array_equal(getattr(whole, field.name), joined)


def test_what_is_no_data_is_told_and_rounding_alone_rejects_nothing(bank, judge):
    clean = bank.lines[:, 4] * 7.0 + bank.baseline @ [5.0, 3.0]
    rows = np.stack([np.full(len(clean), np.nan), np.zeros(len(clean)), clean, 1e7 * clean, np.full(len(clean), 1e90)])
    found = judge.judge(rows)
    assert found.is_data.tolist() == [False, True, True, True, False]
    assert not found.kept()[[0, 4]].any()
    assert found.kept()[1].all()
    assert found.kept()[[2, 3], 5].all()
    assert found.best.tolist() == [-1, 0, 5, 5, -1]


def test_a_line_that_the_bank_lacks_is_seen_at_its_place(bank, judge):
    rows, _ = bank.signals(np.full(50, 8.0), seed=4, truth=np.full(50, 2))
    foreign = 12.0 * np.exp(-0.5 * ((np.arange(40) - 30.0) / 0.8) ** 2)
    found = judge.judge(rows + foreign)
    assert found.is_best_rejected.mean() > 0.9
    columns = bank.spec.outsiders.columns[:, found.outsider[found.is_best_rejected]]
    centres = (np.arange(40)[:, None] * columns).sum(axis=0) / columns.sum(axis=0)
    assert np.median(np.abs(centres - 30.0)) <= 1.0


def test_other_tables_are_refused(bank):
    table = RotationTable(bank.lines[:, ::4], [(), (0,), (1,), (0, 1), (1, 2)], bank.baseline)
    with pytest.raises(MisuseError, match="at most one atom"):
        RotatedSignals(Rotation(table, seed=1))


def test_the_misfit_is_a_bound_of_the_p_value_of_the_gate_that_holds_given_the_table(bank, judge):
    rows, _ = bank.signals(np.repeat([0.0, 6.0, 12.0], 8), seed=12)
    rows[::3] += np.linspace(0.0, 9.0, 8)[:, None] * np.exp(-0.5 * ((np.arange(40) - 30.0) / 0.8) ** 2)
    found, draws = judge.judge(rows), 10_001  # of which a level of .01 lets 100 exceed, and a little less one more
    same = replace(bank.spec, gate_draws=draws)
    for row, misfit, best in zip(rows, found.misfit, found.best, strict=True):
        facts = RotationJudge(same, row[None], LEVEL).facts(np.arange(3))
        assert facts["best"] == best
        least = min(finding["p"] for finding in facts["findings"])
        assert min(1.0, 2.0 * least) <= misfit * (1.0 + 1e-12)
        # The next of two steps to an octave, with nine deviations of a count and what a count of none allows.
        assert misfit <= min(1.0, 3.0 * (least + 9.0 * np.sqrt(least / draws) + 40.0 / draws))
    assert (found.misfit < 0.01).sum() >= 3
    assert np.isnan(block_judge(replace(bank.spec, outsiders=None), LEVEL).judge(rows).misfit).all()
