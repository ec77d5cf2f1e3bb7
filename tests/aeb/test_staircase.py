"""Answers at all errors of the responses are simultaneously true, and agree with the judge at each error."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import binom

from physupport import MisuseError
from physupport.aeb import RegionalPolicy, staircase
from physupport.aeb._staircase import ERRORS
from physupport.analysis import AnalysisProtocol, StreamPlan
from physupport.banks import Library, array_bank, bank_regions, library_bank, product_grid
from physupport.io import ArrayRows
from physupport.judges import ByEvidence, Verdict
from physupport.judges.counts import ByCounts
from physupport.laws import KnownCodes, Linear, Poisson
from physupport.laws._design import response_band
from physupport.questions import Claim, Label, RegionalMap

LEVEL = 0.1
AXIS = np.arange(40)
ATOMS = np.exp(-0.5 * ((AXIS[:, None] - np.array([10.0, 14.0, 28.0])) / 3.0) ** 2)
ATOMS /= np.linalg.norm(ATOMS, axis=0)
LIBRARY = Library(["a", "b", "c"], ["left", "left", "right"], [[10.0], [14.0], [28.0]], ATOMS)
BANK = library_bank(LIBRARY, [[], ["left"], ["right"], ["left", "right"]], {"left": [1.0], "right": [1.0]})
QUESTION = RegionalMap(bank_regions(BANK), None, {"anything on the left": Claim("any", ("a", "b"))})
BACKGROUND = np.ones((40, 1))


def opened(rows, **errors):
    """The judge of counts, and the question."""
    plans = {"deployment": StreamPlan(Poisson(background=BACKGROUND, **errors))}
    protocol = AnalysisProtocol(QUESTION, RegionalPolicy(), LEVEL, 1.0, BANK, plans, judge=ByCounts(n_splits=2))
    return protocol.read(deployment=rows[None]).judge


def measured(rng, error, strength):
    """Counts of the elements b and c, with responses on the edge of their band."""
    low, high = response_band(ATOMS, error * ATOMS.max(axis=0))
    means = np.where(rng.random(low.shape) < 0.5, low, high)[:, 1:] @ (strength * rng.uniform(0.3, 1.0, 2)) + 3.0
    return rng.poisson(means).astype(float)


def truth():
    says = QUESTION.says(np.arange(BANK.size))
    left, right = (says[region].texts(None) for region in ("left", "right"))
    return next(e for e in range(BANK.size) if (left[e], right[e]) == ("b", "c"))


@pytest.mark.slow
def test_the_truth_is_kept_at_its_error_and_at_every_larger_one():
    """Verdicts at larger errors follow: whatever is kept at one error is kept at all larger ones."""
    runs, lost = 200, 0
    for run in range(runs):
        rng = np.random.default_rng(run)
        error = 10 ** rng.uniform(-3.0, -0.7)
        judge = opened(measured(rng, error, 10 ** rng.uniform(1.5, 4.0)))
        codes = [judge.verdicts_at(e, np.array([truth()])).codes[0] for e in (error, *ERRORS) if e >= error]
        lost += Verdict.REJECTED in codes
    assert binom.sf(lost - 1, runs, LEVEL) > 1e-6


@pytest.mark.slow
def test_negative_control_at_too_small_an_error_the_truth_is_lost_far_more_often():
    runs, lost = 60, 0
    for run in range(runs):
        judge = opened(measured(np.random.default_rng(run), 0.2, 1e4))
        lost += judge.verdicts_at(0.01, np.array([truth()])).codes[0] == Verdict.REJECTED
    assert binom.sf(lost - 1, runs, LEVEL) < 1e-6


@pytest.mark.parametrize("seed", range(4))
def test_steps_have_the_answers_of_the_judge_at_every_error_within_them(seed):
    rng = np.random.default_rng(seed)
    judge = opened(measured(rng, 0.05, 10 ** rng.uniform(2.5, 4.0)))
    everything = np.arange(BANK.size)
    steps = staircase(judge, QUESTION, judge.verdicts(everything))
    assert steps[0].least == 0.0
    assert steps[-1].most == ERRORS[-1]
    for step in steps:
        for error in np.linspace(step.least, step.most, 4):
            codes = judge.verdicts_at(error, everything).codes
            answers = QUESTION.answers(codes != Verdict.REJECTED, codes == Verdict.ADMISSIBLE)
            assert [(a.label, a.cell) for a in answers] == [(a.label, a.cell) for a in step.answers]


def test_strong_lines_that_are_a_little_off_fit_nothing_at_first_and_are_certain_from_an_error_on():
    rows = measured(np.random.default_rng(1), 0.02, 2e4)
    judge = opened(rows)
    steps = staircase(judge, QUESTION, judge.verdicts(np.arange(BANK.size)))
    assert {answer.label for answer in steps[0].answers} == {Label.EMPTY}
    assert steps[0].claims == (("anything on the left", "empty"),)
    certain = [step for step in steps if all(answer.label is Label.FINE for answer in step.answers)]
    assert any(step.least <= 0.04 <= step.most for step in certain)
    assert all(step.claims == (("anything on the left", "true"),) for step in certain)
    cells = [{name for answer in step.answers for name in answer.cell} for step in steps]
    assert all(small <= large for small, large in pairwise(cells))


def test_a_staircase_is_the_same_whatever_error_is_stated_and_has_the_answers_of_the_judge_there():
    rows = measured(np.random.default_rng(1), 0.02, 2e4)
    judge, exact = opened(rows, error=0.04), opened(rows)
    everything = np.arange(BANK.size)
    assert judge.verdicts(everything).codes.tolist() == exact.verdicts_at(0.04, everything).codes.tolist()
    steps = staircase(judge, QUESTION, judge.verdicts(everything))
    others = staircase(exact, QUESTION, exact.verdicts(everything))
    assert steps[0].least == 0.0
    assert [step.statements for step in steps] == [step.statements for step in others]
    (own,) = [step for step in steps if step.least <= 0.04 <= step.most]
    codes = judge.verdicts(everything).codes
    assert own.answers == QUESTION.answers(codes != Verdict.REJECTED, codes == Verdict.ADMISSIBLE)


def off_by(angle, rng):
    """A response whose angle to that of element b has this sine, in a random direction."""
    aside = rng.standard_normal(40)
    aside -= (aside @ ATOMS[:, 1]) * ATOMS[:, 1]
    return np.sqrt(1.0 - angle**2) * ATOMS[:, 1] + angle * aside / np.linalg.norm(aside)


GAUSSIAN = library_bank(LIBRARY, [["left"]], {"left": [1.0]}, deployment=product_grid(noise=[1.0]))


def evidence_of(rows, judge, error=None):
    question = RegionalMap(bank_regions(GAUSSIAN))
    plans = {"deployment": StreamPlan(Linear(noises=[1.0], error=error), 0.5)}
    protocol = AnalysisProtocol(question, RegionalPolicy(), LEVEL, 1.0, GAUSSIAN, plans, judge=judge)
    return protocol.read(deployment=rows).judge, question


@pytest.mark.parametrize("judge", [ByEvidence(), ByEvidence("fission", 2), ByEvidence("rows", 3)])
def test_rows_with_a_gaussian_mean_have_a_staircase_of_angles(judge):
    rng = np.random.default_rng(3)
    opened, question = evidence_of(60.0 * off_by(0.1, rng) + rng.standard_normal((30, 40)), judge)
    assert opened.error_scale == "angle"
    everything = np.arange(GAUSSIAN.size)
    steps = staircase(opened, question, opened.verdicts(everything))
    by_label = {step.answers[0].label: step for step in steps}
    assert steps[0].answers[0].label is Label.EMPTY
    assert by_label[Label.FINE].answers[0].cell == ("b",)
    assert by_label[Label.FINE].least <= 0.12
    for step in steps:
        for error in np.linspace(step.least, step.most, 3)[1 if step.least == 0.0 else 0 :]:
            codes = opened.verdicts_at(error, everything).codes
            answer = question.answers(codes != Verdict.REJECTED, codes == Verdict.ADMISSIBLE)[0]
            assert (answer.label, answer.cell) == (step.answers[0].label, step.answers[0].cell)


@pytest.mark.parametrize("judge", [ByEvidence(), ByEvidence("fission", 2)])
def test_a_stated_error_leaves_the_staircase_of_gaussian_rows_as_it_is(judge):
    rng = np.random.default_rng(3)
    rows = 60.0 * off_by(0.1, rng) + rng.standard_normal((30, 40))
    everything = np.arange(GAUSSIAN.size)
    labels = []
    for error in (None, 0.2):
        opened, question = evidence_of(rows, judge, error)
        steps = staircase(opened, question, opened.verdicts(everything))
        assert steps[0].least == 0.0
        labels.append([step.statements for step in steps])
    assert labels[0] == labels[1]


@pytest.mark.slow
@pytest.mark.parametrize(("error", "is_valid"), [(0.1, True), (0.03, False)])
def test_the_truth_of_gaussian_rows_is_kept_at_its_error_and_lost_below_it(error, is_valid):
    runs, lost = 150, 0
    for run in range(runs):
        rng = np.random.default_rng(run)
        opened, _ = evidence_of(120.0 * off_by(0.1, rng) + rng.standard_normal((4, 40)), ByEvidence("fission", 1))
        lost += opened.verdicts_at(error, np.array([1])).codes[0] == Verdict.REJECTED
    assert (binom.sf(lost - 1, runs, LEVEL) > 1e-6) == is_valid


def test_errors_of_single_elements_have_a_staircase_of_their_multiples():
    rows = measured(np.random.default_rng(1), 0.02, 2e4)
    judge = opened(rows, error=[0.01, 0.01, 0.01])
    exact = opened(rows)
    everything = np.arange(BANK.size)
    steps = staircase(judge, QUESTION, judge.verdicts(everything))
    assert (judge.error, judge.error_scale) == (1.0, "stated")
    assert (steps[0].least, steps[-1].most) == (0.0, 10.0)
    assert {step.answers[0].label for step in steps} >= {Label.EMPTY, Label.FINE}
    for multiple in (0.0, 0.5, 1.0, 3.0, 10.0):
        codes = exact.verdicts_at(0.01 * multiple, everything).codes
        assert judge.verdicts_at(multiple, everything).codes.tolist() == codes.tolist()
    unequal = opened(rows, error=[0.01, 0.01, 0.03])
    assert unequal.verdicts_at(2.0, everything).codes.tolist() == (
        opened(rows, error=[0.02, 0.02, 0.06]).verdicts(everything).codes.tolist()
    )


def test_each_explanation_is_judged_at_few_errors():
    judge = opened(measured(np.random.default_rng(1), 0.02, 2e4))
    asked = np.zeros(BANK.size, dtype=int)

    class Counted:
        error = judge.error
        error_scale = judge.error_scale
        refutes = judge.refutes

        def verdicts_at(self, error, explanations):
            asked[explanations] += 1
            return judge.verdicts_at(error, explanations)

    steps = staircase(Counted(), QUESTION, judge.verdicts(np.arange(BANK.size)))
    assert asked.max() <= 4 + 3 * len(steps)  # halving twelve errors, and three times between two of them


def test_beside_calibration_rows_there_is_no_staircase_and_no_error():
    """Their laws have exact responses: a truth whose responses are off would be rejected by them at every error."""
    known = {"calibration": StreamPlan(KnownCodes(noises=[1.0]), 0.5), "deployment": StreamPlan(Poisson())}
    rules = (RegionalMap(bank_regions(GAUSSIAN)), RegionalPolicy(), LEVEL, 1.0, GAUSSIAN)
    rng = np.random.default_rng(1)
    codes = rng.standard_normal((40, 2))
    calibration = np.hstack([codes @ ATOMS[:, [1, 2]].T + rng.standard_normal((40, 40)), codes])
    rows = {"calibration": calibration, "deployment": rng.poisson(50.0 * ATOMS[:, 1] + 5.0)[None].astype(float)}
    assert AnalysisProtocol(*rules, known, judge=ByCounts()).read(**rows).judge.error is None
    known["deployment"] = StreamPlan(Poisson(error=0.2))
    with pytest.raises(MisuseError, match="error must be left out beside other streams"):
        AnalysisProtocol(*rules, known, judge=ByCounts())


def bounded(options):
    """A bank, and its law with bounds of coefficients or a threshold."""
    marks = {"left": [0.25, 60.0]} if "thresholds" in options else {"left": [1.0]}
    bank = library_bank(LIBRARY, [["left"]], marks, deployment=product_grid(noise=[1.0]))
    return bank, Linear(noises=[1.0], **options)


@pytest.mark.parametrize("options", [{"coefficients": {"left": (0.0, np.inf)}}, {"thresholds": {"left": 50.0}}])
def test_bounds_of_coefficients_hold_at_every_error(options):
    """At none they are those of exact responses, and evidence falls from there on."""
    bank, law = bounded(options)
    rows = ArrayRows(-40.0 * ATOMS[:, 1] + np.random.default_rng(1).standard_normal((5, 40)))
    stream = law.stream(bank, rows, [5])
    keys = np.arange(bank.n_deployment_keys)
    scores = [stream.widened(error).log_likelihood(keys).values[:, -1] for error in (0.0, 1e-6, 0.01, 0.1, 0.4)]
    assert scores[0] == pytest.approx(stream.log_likelihood(keys).values[:, -1], abs=1e-6)
    assert scores[1] == pytest.approx(scores[0], rel=1e-3)
    assert all((after >= before).all() for before, after in pairwise(scores))
    (_, wrong) = bounded({})
    free = wrong.completed(bank).stream(bank, rows, [5]).widened(0.01).log_likelihood(keys).values[:, -1]
    assert (scores[2] < free - 10.0).any()


def test_mixtures_without_negative_parts_leave_no_staircase():
    """No ball leads to them, so that the smallest error would fit what exact mixtures cannot."""
    assert Linear(noises=[1.0], is_cone=True).design(GAUSSIAN).error_size is None


def test_a_cone_of_responses_has_no_error_beside():
    with pytest.raises(MisuseError, match="error must be left out where responses have columns to mix"):
        Linear(noises=[1.0], is_cone=True, error=0.1)


def test_steps_whose_noise_is_refuted_are_withheld():
    rng = np.random.default_rng(4)
    rows = 60.0 * off_by(0.1, rng) + 2.0 * rng.standard_normal((12, 40))  # stated is a noise of 1
    opened, question = evidence_of(rows, ByEvidence("rows", 2))
    steps = staircase(opened, question, opened.verdicts(np.arange(GAUSSIAN.size)))
    said = [step for step in steps if step.answers[0].label is not Label.EMPTY]
    assert said
    assert {step.answers[0].certificate.kind for step in said} == {"withheld"}


def test_a_single_row_beside_its_responses_does_not_refute_the_noise_at_larger_errors():
    """What no exact response explains is noise alone; what no response with an error explains is nothing."""
    row = 200.0 * off_by(0.1, np.random.default_rng(4)) + np.random.default_rng(5).standard_normal((1, 40))
    opened, question = evidence_of(row, ByEvidence("fission", 2))
    steps = staircase(opened, question, opened.verdicts(np.arange(GAUSSIAN.size)))
    assert steps[0].answers[0].label is Label.EMPTY
    assert {step.answers[0].certificate.kind for step in steps[1:]} != {"withheld"}
    assert any(step.answers[0].cell == ("b",) for step in steps)


@pytest.mark.parametrize("error", [None, 0.05])
def test_exact_responses_are_withheld_beside_a_refuted_noise_whatever_error_is_stated(error):
    row = 30.0 * ATOMS[:, [1]].T + 1.45 * np.random.default_rng(1).standard_normal((1, 40))  # stated is a noise of 1
    opened, question = evidence_of(row, ByEvidence("fission", 2), error)
    first, *_ = staircase(opened, question, opened.verdicts(np.arange(GAUSSIAN.size)))
    assert (first.least, first.answers[0].certificate.kind) == (0.0, "withheld")


def test_counts_of_dictionaries_without_a_library_have_a_band():
    bank = array_bank(ATOMS[None], [(0,), (1,)])
    design = Poisson(error=0.1).design(bank)
    assert (design.band[1] > design.columns).any(axis=0).all()
    assert Poisson().design(bank).band is None
