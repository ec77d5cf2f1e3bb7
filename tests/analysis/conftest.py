"""A small instrument with two regions, one of them optional, and rows that it measured."""

from types import SimpleNamespace

import numpy as np
import pytest

from physupport.aeb import RegionalPolicy
from physupport.analysis import AnalysisProtocol, StreamPlan
from physupport.banks import Library, bank_regions, library_bank, product_grid
from physupport.laws import BernoulliGaussian, make_calibration
from physupport.questions import RegionalMap

CHANNELS = 6
LAW, CALIBRATION_NOISE, DEPLOYMENT_NOISE = BernoulliGaussian(0.3), 0.2, 0.3


def make_instrument():
    """Elements A0, A1, A2 and B0, B1; A always there, B perhaps; the truth is A1 with B0."""
    rng = np.random.default_rng(3)
    responses = rng.standard_normal((CHANNELS, 5))
    library = Library(
        ["A0", "A1", "A2", "B0", "B1"],
        ["A", "A", "A", "B", "B"],
        [[0.0], [1.0], [2.0], [5.0], [6.0]],
        responses / np.linalg.norm(responses, axis=0),
    )
    bank = library_bank(
        library,
        ["A", "AB"],
        {"A": 1.0, "B": 0.8},
        calibration=product_grid(p=[LAW.p], noise=[CALIBRATION_NOISE]),
        deployment=product_grid(noise=[DEPLOYMENT_NOISE]),
    )
    truth = next(e for e in range(bank.size) if bank.explanation(e).ids == ("A1", "B0"))
    member = bank.explanation(truth)
    active = member.atoms[:, list(member.positions)]
    covariance = DEPLOYMENT_NOISE * np.eye(CHANNELS) + active * member.strengths @ active.T
    rng = np.random.default_rng(4)
    calibration = make_calibration(LAW, member.atoms, CALIBRATION_NOISE, rng, 300)
    deployment = rng.standard_normal((160, len(covariance))) @ np.linalg.cholesky(covariance).T
    return SimpleNamespace(
        library=library, bank=bank, truth=truth, calibration=calibration, deployment=deployment, covariance=covariance
    )


@pytest.fixture(scope="session")
def instrument():
    return make_instrument()


@pytest.fixture(scope="session")
def protocol(instrument):
    question = RegionalMap(bank_regions(instrument.bank))
    streams = {"calibration": StreamPlan("latent", 0.5), "deployment": StreamPlan("covariance", 0.5)}
    return AnalysisProtocol(question, RegionalPolicy(), 0.05, 1.0, instrument.bank, streams, seed=0)
