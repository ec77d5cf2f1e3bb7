"""How many rows would refine a field."""

import numpy as np
import pytest

from physupport.analysis.diagnose import misfit, rows_needed
from physupport.laws import calibration_mixture


def by_stream(found, field):
    return {each.stream: each for each in found if each.field == field}


@pytest.fixture(scope="module")
def found(result):
    return rows_needed(result)


def test_only_fields_that_an_admissible_explanation_contradicts_need_rows(result, found):
    labels = {answer.field: answer.label for answer in result.trace.answers}
    assert {each.field for each in found} == {"A"} == {field for field, label in labels.items() if label == "GROUP"}
    assert {each.stream for each in found} == {"calibration", "deployment"}


def test_the_rival_is_admissible_and_says_something_else(result, found, bank):
    queries = result.trace.queries.tolist()
    for each in found:
        assert result.trace.codes[queries.index(each.rival)] == 0
        assert bank.explanation(each.rival).ids[0] != bank.explanation(each.reference).ids[0]
        assert each.reference == misfit(result)[0].explanation


def test_the_rows_make_up_for_what_is_missing_and_no_fewer_do(found):
    for each in found:
        assert each.rows * each.rate >= each.missing * (1 - 1e-12)
        assert (each.rows - 1) * each.rate < each.missing
        assert each.measured == 2 * each.rows  # half of the rows propose


def test_the_rows_to_measure_are_those_of_which_the_split_holds_out_enough(kit, bank):
    found = rows_needed(kit.run(bank, ("covariance",), (12,), seed=6, fraction=0.25))
    assert found
    for each in found:
        assert 0.75 * each.measured >= each.rows > 0.75 * (each.measured - 1)


def held_out(part):
    return part.table[part.split.held_out]


def test_the_average_of_latent_rows_is_that_of_the_mixture_densities(result, found, bank, kit):
    each = by_stream(found, "A")["calibration"]
    rows = held_out(result.seal.parts[0])
    ratio = sum(
        sign * calibration_mixture(kit.law, bank.explanation(e).atoms, kit.noise).log_density(rows).mean()
        for sign, e in ((1, each.reference), (-1, each.rival))
    )
    assert each.basis == "average"
    assert each.rate == pytest.approx(ratio, rel=1e-9)


def test_what_is_missing_is_the_threshold_less_the_log_likelihood_ratio_so_far(result, found, bank, kit):
    each = by_stream(found, "A")["deployment"]
    calibration, deployment = (held_out(part) for part in result.seal.parts)
    ratio = 0.0
    for sign, e in ((1, each.reference), (-1, each.rival)):
        member = bank.explanation(e)
        active = member.atoms[:, list(member.positions)]
        covariance = kit.noise * np.eye(kit.channels) + active * member.strengths @ active.T
        score = -0.5 * (len(deployment) * np.linalg.slogdet(covariance)[1])
        score -= 0.5 * np.sum(deployment.T * np.linalg.solve(covariance, deployment.T))
        score += calibration_mixture(kit.law, member.atoms, kit.noise).log_density(calibration).sum()
        ratio += sign * score
    assert each.basis == "closed form"
    assert each.missing == pytest.approx(np.log(20) - ratio, rel=1e-9)


def test_as_many_rows_as_said_do_separate(kit, bank, found):
    """Not promised, but expected: with ten times the rows, nothing contradicts any more."""
    more = kit.run(bank, ("latent", "covariance"), (120, 40 + 10 * by_stream(found, "A")["deployment"].measured))
    assert more.report.fields[0].label == "FINE"
    assert not [each for each in rows_needed(more) if each.field == "A"]


def test_identical_responses_need_no_number_of_rows(kit):
    twins = kit.make_bank(twin=True)
    found = rows_needed(kit.run(twins, ("latent", "covariance"), (120, 60)))
    deployment, calibration = (by_stream(found, "A")[name] for name in ("deployment", "calibration"))
    assert (deployment.rows, deployment.rate) == (None, 0.0)
    assert "the same law as explanation" in deployment.sentence
    assert calibration.rows is None
    assert "do not favour explanation" in calibration.sentence


def test_calibration_rows_do_not_tell_what_is_active(kit, bank):
    quiet = kit.run(bank, ("latent", "covariance"), (400, 16))
    found = by_stream(rows_needed(quiet), "B")["calibration"]
    assert bank.split(found.rival).state == bank.split(found.reference).state
    assert found.rows is None
    assert "calibration rows do not tell what is active" in found.sentence


def test_if_only_the_proposal_was_at_fault_no_further_rows_are_asked_for(kit, bank):
    result = kit.run(bank, ("latent", "covariance"), (60, 40), seed=1)
    found = by_stream(rows_needed(result), "B")["deployment"]
    # What was proposed for calibration is not the reference, which the rows prefer to the rival by the threshold.
    assert result.seal.parts[0].opponent.numbers["key"] != bank.calibration_keys(found.reference)[0]
    assert (found.rows, found.measured, found.missing) == (0, 0, 0.0)
    assert f"if explanation {found.reference} had been proposed" in found.sentence


def test_coefficients_that_are_profiled_have_no_closed_form(kit, bank):
    result = kit.run(bank, ("profiled mean",), (8,))
    found = by_stream(rows_needed(result), "A")["deployment"]
    scores = result.seal.judge.evidence.factors[0].stream.log_likelihood(
        bank.deployment_keys([found.reference, found.rival])
    )
    assert found.basis == "average"
    assert found.rate == pytest.approx((scores.values[0, -1] - scores.values[1, -1]) / 4, rel=1e-9)
