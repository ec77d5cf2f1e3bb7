"""The whole way from rows to verdicts with the bank and the streams of the four-region study."""

import numpy as np
import pytest
from flint import arb, ctx
from numpy.random import SeedSequence, default_rng

from physupport.banks import Library, library_bank, product_grid
from physupport.io import ArrayRows, split_streams
from physupport.judges import (
    Verdict,
    bank_evidence,
    best_explanation,
    best_keys,
    doubling_checkpoints,
    verdicts,
)
from physupport.laws import BernoulliGaussian, Covariance, GaussianMixture, calibration_mixture, latent_stream

PLACES = {"A": [0.10, 0.20], "B": [0.405, 0.435, 0.465, 0.495], "C": [0.64, 0.70, 0.76], "D": [0.86, 0.91, 0.96]}
VARIANCES = {"A": 1.0, "B": 0.8**2, "C": 0.1**2, "D": 1.0}
TRUTH = {"A": 0.10, "B": 0.465, "C": 0.70, "D": 0.91}
N, T, LEVEL = 4096, 192, 0.077
SCENES = {2026091001: "AB", 2026091011: "ABC", 2026091021: "ABD"}


def response(x):
    gap = (np.arange(16) + 0.5) / 16 - x
    bump = np.exp(-(gap**2) / (2 * 0.085**2)) + 0.12 * np.cos(2 * np.pi * gap)
    return bump / np.linalg.norm(bump)


PLACE_OF = [x for region in PLACES for x in PLACES[region]]
RESPONSES = np.column_stack([response(x) for x in PLACE_OF])
SPARE = (np.eye(16) - RESPONSES @ np.linalg.pinv(RESPONSES)) @ (-1.0) ** np.arange(16)
SPARE /= np.linalg.norm(SPARE)


@pytest.fixture(scope="module")
def bank():
    regions = [region for region in PLACES for _ in PLACES[region]]
    library = Library(
        [f"{r} {x}" for r, x in zip(regions, PLACE_OF, strict=True)], regions, np.array([PLACE_OF]).T, RESPONSES
    )
    nuisances = {"calibration": product_grid(p=[0.2], noise=[1.0]), "deployment": product_grid(noise=[0.8])}
    return library_bank(library, ["AB", "ABC", "ABD"], VARIANCES, extra=SPARE[:, None], **nuisances)


def make_rows(seed, scene):
    calibration, deployment = (default_rng(child) for child in SeedSequence(seed).spawn(2))
    atoms = np.column_stack([*(response(TRUTH[region]) for region in "ABCD"), SPARE])
    codes = (calibration.random((N, 5)) < 0.2) * calibration.standard_normal((N, 5))
    sources = sum(VARIANCES[r] * np.outer(response(TRUTH[r]), response(TRUTH[r])) for r in scene)
    factor = np.linalg.cholesky(0.8 * np.eye(16) + sources)
    return codes @ atoms.T + calibration.standard_normal((N, 16)), deployment.standard_normal((T, 16)) @ factor.T


def built(bank, seed, scene):
    """Evidence against all 216 explanations, and the proposals behind it."""
    y, z = make_rows(seed, scene)
    c, d = split_streams((N, T), (0.45, 0.40), int("9" + str(seed)[1:]))

    def latent(order, checkpoints):
        return latent_stream(ArrayRows(y, order), bank.states, [BernoulliGaussian(0.2)], [1.0], checkpoints)

    def covariance(order, checkpoints):
        return Covariance(noises=[0.8]).stream(bank, ArrayRows(z, order), checkpoints)

    state = int(best_keys(latent(c.proposal, [len(c.proposal)]))[0])
    plug_in, key = best_explanation(covariance(d.proposal, [len(d.proposal)]), bank.size, bank.deployment_keys)
    streams = latent(c.held_out, doubling_checkpoints(2253)), covariance(d.held_out, doubling_checkpoints(116))
    evidence = bank_evidence(
        bank, calibration=(streams[0], (streams[0], state)), deployment=(streams[1], (streams[1], key))
    )
    return evidence, state, plug_in, (y[c.held_out], z[d.held_out])


def test_log_evidence_agrees_with_densities_computed_apart(bank):
    evidence, state, plug_in, (y, z) = built(bank, 2026091012, "ABC")
    bounds = evidence.along_path(np.arange(216))

    def densities(e):
        explanation = bank.explanation(e)
        active = explanation.atoms[:, list(explanation.positions)]
        covariance = 0.8 * np.eye(16) + active * explanation.strengths @ active.T
        deployment = GaussianMixture([1.0], covariance[None])
        return calibration_mixture(BernoulliGaussian(0.2), explanation.atoms, 1.0), deployment

    proposal = densities(3 * state)[0].log_density(y), densities(plug_in)[1].log_density(z)
    for e in (0, 55, 100, 215):
        calibration, deployment = densities(e)
        n, t = proposal[0] - calibration.log_density(y), proposal[1] - deployment.log_density(z)
        expected = [n[:i].sum() + t[:j].sum() for i, j in evidence.prefixes]
        # Log densities of some 1e1 to 1e2 each, off by rounding, summed over 2369 rows.
        np.testing.assert_allclose(bounds.lower[e], expected, atol=1e-8)
        np.testing.assert_allclose(bounds.upper[e], expected, atol=1e-8)


def test_the_profiles_of_the_paper_are_found(bank):
    """Fourteen of fifteen profiles are nonempty, and no verdict needs more than float64."""
    nonempty = {}
    for first, scene in SCENES.items():
        for seed in range(first, first + (3 if scene == "ABD" else 6)):
            evidence, *_ = built(bank, seed, scene)
            judged = verdicts(evidence, np.arange(216), LEVEL)
            assert np.all(judged.bits == 53)
            nonempty[seed] = bool((judged.codes == Verdict.ADMISSIBLE).any())
    assert [seed for seed, found in nonempty.items() if not found] == [2026091015]


def test_levels_within_rounding_of_the_evidence_are_decided_by_balls(bank):
    """Real streams, and levels so close to an explanation's evidence that float64 cannot tell: margins below 1e-13."""
    evidence, *_ = built(bank, 2026091012, "ABC")
    bounds = evidence.log_evidence(np.arange(216))
    near = np.flatnonzero((bounds.lower > 0.5) & (bounds.upper < 30.0))[:3]
    for e in near.tolist():
        exact = evidence.ball(e, 300)
        level = float(np.exp(-float(exact.mid())))
        for alpha in (np.nextafter(level, 0.0), level, np.nextafter(level, 1.0)):
            judged = verdicts(evidence, [e], alpha)
            with ctx.workprec(300):
                margin = exact + arb(float(alpha)).log()
            assert abs(float(margin.mid())) < 1e-13
            assert judged.bits[0] > 53
            assert judged.codes[0] == (Verdict.REJECTED if margin > 0 else Verdict.ADMISSIBLE)
            low, high = judged.margins()[0]
            assert low <= float(margin.mid()) <= high
            assert low >= 0.0 or high <= 0.0
    assert len(near) == 3
