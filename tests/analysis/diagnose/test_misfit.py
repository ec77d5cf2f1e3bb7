"""The energy of held-out rows: its reference law under the truth, and what it shows of a wrong law."""

from functools import cache

import numpy as np
import pytest
from scipy import stats

from physupport import MisuseError
from physupport.analysis.diagnose import Misfit, misfit
from physupport.analysis.diagnose._misfit import stream_misfit
from physupport.laws import BernoulliGaussian, ExchangeableGaussian, calibration_mixture
from physupport.laws._latent import latent_energy_variance, latent_factor

DRAWS = 300


@pytest.mark.parametrize(
    "law",
    [BernoulliGaussian(0.2), ExchangeableGaussian([0.1, 0.3, 0.2, 0.4, 0.0], [0.0, 2.0, 0.5, 1.0, 0.0])],
    ids=["bernoulli", "exchangeable"],
)
def test_the_moments_of_the_latent_energy_are_those_of_the_mixture(law):
    rng = np.random.default_rng(0)
    atoms = rng.standard_normal((3, 4))
    mixture = calibration_mixture(law, atoms, 0.7)
    whole = np.einsum("m,mab->ab", mixture.weights, mixture.covariances)
    factor = latent_factor(law, atoms)
    np.testing.assert_allclose(0.7 * np.eye(3) + factor @ factor.T, whole, rtol=1e-12)
    # Given its component a row is Gaussian, and y' A y has mean tr(AC) and variance 2 tr(ACAC).
    products = np.linalg.solve(whole, mixture.covariances)
    means = np.trace(products, axis1=1, axis2=2)
    squares = means**2 + 2 * np.trace(products @ products, axis1=1, axis2=2)
    assert mixture.weights @ means == pytest.approx(3.0, rel=1e-12)
    assert latent_energy_variance(law, atoms, 0.7) == pytest.approx(mixture.weights @ squares - 9.0, rel=1e-10)


@pytest.fixture(scope="module")
def energies(kit):
    """Misfits of fresh rows from the true explanation, one for each draw; drawn once for each kind."""

    @cache
    def drawn(kind, is_complex=False, scale=1.0):
        bank = kit.make_bank(is_complex)
        part = kit.run(bank, (kind,), (40,), is_complex=is_complex).seal.parts[0]
        truth, rng = kit.true_explanation(bank), np.random.default_rng(11)
        rows = [scale * kit.make_rows(bank, kind, rng, 40, is_complex) for _ in range(DRAWS)]
        return [stream_misfit(kit.with_rows(part, each), bank, truth) for each in rows]

    return drawn


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("kind", ["covariance", "mean", "profiled mean", "known codes"])
def test_under_the_truth_the_energy_of_gaussian_rows_is_chi_square(kit, energies, kind, is_complex):
    found = energies(kind, is_complex)
    freedom = found[0].expected
    # Of a profiled mean, one number less for each of its two coefficients, real or complex.
    profiled = 2 if kind == "profiled mean" else 0
    assert freedom == (20 * kit.channels - profiled) * (2 if is_complex else 1)
    # Exact law, so a small p-value is bad luck: one seed in ten thousand.
    assert stats.kstest([each.statistic for each in found], stats.chi2(freedom).cdf).pvalue > 1e-4


def test_under_the_truth_the_latent_energy_has_its_mean_and_deviation(energies):
    z = np.array([each.z for each in energies("latent")])
    assert abs(z.mean()) < 4.5 / np.sqrt(DRAWS)
    # Heavier tails than the normal law double the variance of a variance at most.
    assert abs(z.var() - 1.0) < 4.5 * np.sqrt(4.0 / DRAWS)


def test_a_mean_that_no_coefficients_of_the_box_give_is_a_misfit(kit, bank):
    part = kit.run(bank, ("profiled mean",), (40,)).seal.parts[0]
    rows = kit.make_rows(bank, "profiled mean", np.random.default_rng(3), 40)
    found = stream_misfit(kit.with_rows(part, rows + np.linspace(-3.0, 3.0, kit.channels)), bank, 0)
    assert found.is_misfit
    assert found.z > 10.0


@pytest.mark.parametrize("kind", ["covariance", "mean", "known codes", "latent"])
def test_by_chance_hardly_any_misfit_is_called(energies, kind):
    called = sum(each.is_misfit for each in energies(kind))
    # One in a thousand; of latent codes, whose tails are approximated, a few in a thousand.
    assert stats.binom.sf(called - 1, DRAWS, 4e-3 if kind == "latent" else 1e-3) > 1e-4


@pytest.mark.parametrize("statistic", [0.01, 0.5, 2.9, 12.8, 20.0])
def test_the_probability_is_that_of_the_chi_square_law_also_for_few_numbers(statistic):
    found = Misfit("deployment", 0, statistic, 3.0, np.sqrt(6.0))
    tails = stats.chi2.cdf(statistic, 3), stats.chi2.sf(statistic, 3)
    assert found.probability == pytest.approx(min(1.0, 2 * min(tails)), rel=1e-10)
    assert found.is_misfit == (statistic in (0.01, 20.0))


def test_standard_deviations_do_not_tell_a_misfit_of_few_numbers():
    """Of three numbers, four deviations above are no rarity, and nearly nothing at all is one at 1.2 below."""
    above, below = (Misfit("deployment", 0, energy, 3.0, np.sqrt(6.0)) for energy in (3.0 + 4.0 * np.sqrt(6.0), 0.01))
    assert (round(above.z, 1), above.is_misfit) == (4.0, False)
    assert (round(below.z, 1), below.is_misfit) == (-1.2, True)


def test_the_sentence_says_how_probable_and_whether_that_is_an_approximation():
    exact, latent = (Misfit("rows", 0, 510.0, 500.0, np.sqrt(1000.0), is_exact) for is_exact in (True, False))
    tail = f"{2 * stats.chi2.sf(510.0, 500):.2g}"
    assert f"(+0.3 standard deviations; two-sided probability {tail}, threshold 0.001): no sign" in exact.sentence
    assert f"; two-sided probability about {tail}, threshold 0.001)" in latent.sentence
    assert "; two-sided probability below 1e-06)" in Misfit("rows", 0, 900.0, 500.0, np.sqrt(1000.0)).sentence


@pytest.mark.parametrize(("scale", "sign"), [(1.6, 1.0), (0.5, -1.0)])
@pytest.mark.parametrize("kind", ["covariance", "latent"])
def test_negative_control_rows_of_another_scale_are_called(energies, kind, scale, sign):
    found = energies(kind, False, scale)
    assert np.mean([each.is_misfit and np.sign(each.z) == sign for each in found]) > 0.95


def test_a_wrong_noise_is_said_in_words(kit):
    bank = kit.make_bank(noise=(0.05,))
    (found,) = misfit(kit.run(bank, ("mean",), (60,)))
    # The rows were made with eight times this noise.
    assert found.statistic / found.expected == pytest.approx(8.0, rel=0.5)
    assert found.sentence.endswith("the noise or the strengths of the bank are too small, or something active is "
                                   "missing in it.")  # fmt: skip


def test_every_stream_has_its_energy_under_the_explanation_given(result, kit, bank):
    truth = kit.true_explanation(bank)
    found = misfit(result, truth)
    assert [(each.stream, each.explanation) for each in found] == [("calibration", truth), ("deployment", truth)]
    with pytest.raises(MisuseError, match="explanation must be a whole number between 0 and"):
        misfit(result, bank.size)
