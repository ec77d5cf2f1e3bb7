"""The outcome in words."""

import numpy as np
import pytest

from physupport.aeb import FixedOrder
from physupport.analysis.diagnose import Misfit, diagnose, misfit, outcome_sentences
from physupport.responses import Settings


def test_a_report_that_fits_says_what_the_report_says(kit, bank):
    result = kit.run(bank, ("latent", "covariance"), (300, 200))
    assert outcome_sentences(result) == (result.report.sentence,)


def test_empty_tells_the_figures_and_where_to_look(empty):
    sentences = outcome_sentences(empty)
    assert empty.report.status == "EMPTY"
    assert sentences[0] == empty.report.sentence
    assert sentences[1:3] == tuple(each.sentence for each in misfit(empty))


@pytest.mark.parametrize(
    ("energy", "words"),
    [(1000.0, "noise variances are set too small"), (200.0, "more energy than"), (500.0, "elements are missing")],
)
def test_the_reason_of_empty_follows_the_energy(empty, energy, words):
    assert words in outcome_sentences(empty, [Misfit("deployment", 3, energy, 500.0, 30.0)])[-1]


def test_a_report_whose_laws_do_not_fit_is_to_be_taken_with_care(result):
    off = Misfit("deployment", 3, 1000.0, 500.0, 30.0)
    assert any(
        sentence.startswith("Take care: the held-out deployment") for sentence in outcome_sentences(result, [off])
    )


def test_a_spent_budget_is_said_with_what_is_open_and_how_much_is_left(kit, bank):
    result = kit.run(bank, ("latent", "covariance"), (120, 40), budget=1)
    sentences = " ".join(outcome_sentences(result))
    assert result.report.status == "ABSTAIN"
    assert "Not settled: A, B." in sentences
    assert f"{bank.size - 1} of {bank.size} explanations were not tested. A budget of {bank.size} asks" in sentences


def _gains(library, first=0.0):
    """Two gains across the channels, of which the second is larger by 0.02."""
    pattern = np.linspace(-1.0, 1.0, len(library.responses))
    scaled = [library.responses * (1.0 + gain * pattern)[:, None] for gain in (0.0, 0.02)]
    responses = np.stack([columns / np.linalg.norm(columns, axis=0) for columns in scaled])
    return Settings(("gain",), first + np.array([[0.0], [0.02]]), responses, is_complex=False)


def test_a_large_possible_set_names_the_dimensions_that_are_unresolved(kit):
    bank = kit.make_bank(settings=_gains(kit.make_library()), noise=(0.4, 0.41))
    result = kit.run(bank, ("latent", "covariance"), (60, 60), policy=FixedOrder(), budget=12)
    (sentence,) = (each for each in outcome_sentences(result) if "are not rejected and" in each)
    trace = result.trace
    possible, unasked = set(range(bank.size)) - set(trace.queries[trace.codes == 1].tolist()), bank.size - len(trace)
    members = [bank.explanation(e) for e in possible]
    places = {member.ids[0] for member in members}
    assert sentence.startswith(
        f"Of {bank.size} explanations {len(possible) - unasked} are not rejected and {unasked} are not"
    )
    assert ("Resolved: what is in region A" in sentence) == (len(places) == 1)
    gains, noises = ({m.settings["gain"] for m in members}, {m.deployment["noise"] for m in members})
    assert (len(gains), len(noises)) == (2, 2)
    assert "the calibration parameter gain (2 of 2)" in sentence
    assert "the deployment nuisances (2 of 2)" in sentence


def test_the_setting_of_the_responses_that_are_shown_is_the_first(kit, bank, result):
    settings = _gains(kit.make_library(), first=0.5)
    tuned = diagnose(kit.run(kit.make_bank(settings=settings), ("covariance",), (20,))).document["library"]
    assert tuned["setting"] == {"gain": 0.5}
    np.testing.assert_allclose(np.transpose(tuned["responses"]), settings.responses[0], rtol=1e-5)
    assert diagnose(result).document["library"]["setting"] == {}
