"""Shared material: classes, the laws that moments are checked on, and correspondences made from data."""

import numpy as np
import pytest

from physupport._checks import Interval
from physupport.laws import BernoulliGaussian, ExchangeableGaussian, make_calibration
from physupport.local.regions import (
    CalibrationClass,
    CalibrationParameter,
    Correspondence,
    DeploymentBall,
    inverted_median_of_means_region,
    median_of_means_region,
)
from physupport.local.shell import Amplitudes, Block, Frame, LocalDictionary, Shell, default_separated_atom


def _shell(q=4, scale=0.3):
    frame = Frame.standard(q)
    return Shell(frame, scale, 2.0, Interval(0.7, 1.4), default_separated_atom(frame), 0.5, Interval(0.05, 0.6))


def _known_law(n):
    sizes = np.arange(1.0, n + 2.0)[::-1]
    return ExchangeableGaussian(sizes / sizes.sum(), np.linspace(0.5, 2.0, n + 1))


def _parameter(q=4, law=None, seed=0, noise=0.2):
    return CalibrationParameter(law or BernoulliGaussian(0.3), _shell(q).sample(np.random.default_rng(seed)), noise)


@pytest.fixture
def shell():
    return _shell


@pytest.fixture
def known_law():
    return _known_law


@pytest.fixture
def parameter():
    return _parameter


@pytest.fixture
def bernoulli_class():
    return CalibrationClass(_shell(), Interval(0.1, 0.4))


@pytest.fixture
def known_class():
    return CalibrationClass(_shell(), _known_law(5))


@pytest.fixture
def random_atoms():
    def make(q, n, seed=0):
        columns = np.random.default_rng(seed).standard_normal((q, n))
        return columns / np.linalg.norm(columns, axis=0)

    return make


@pytest.fixture(scope="session")
def make_class():
    def make(q=4, scale=0.15, activity=Interval(0.1, 0.3), angle=np.pi / 4):  # noqa: B008
        frame = Frame.standard(q)
        away = np.cos(angle) * frame.axis + np.sin(angle) * frame.basis[:, 0]
        shell = Shell(frame, scale, 1.3, Interval(0.6, 1.3), away, 0.5, Interval(0.2, 0.6))
        return CalibrationClass(shell, activity)

    return make


@pytest.fixture(scope="session")
def truth(make_class):
    """The balanced block with the reference as its separated atom."""
    shell = make_class().shell
    dictionary = LocalDictionary(Block.balanced(shell.frame, shell.scale), default_separated_atom(shell.frame))
    return CalibrationParameter(BernoulliGaussian(0.2), dictionary, 0.4)


@pytest.fixture(scope="session")
def regions(make_class, truth):
    """No usable rows, many rows in the rectangle, many rows in the inverted region."""
    rows = make_calibration(truth.law, truth.dictionary.atoms, truth.noise, np.random.default_rng(0), 20_000)
    return {
        "whole class": median_of_means_region(rows[:50], make_class(), 0.05),
        "rectangle": median_of_means_region(rows, make_class(), 0.05),
        "inverted": inverted_median_of_means_region(rows, make_class(), 0.05),
    }


@pytest.fixture(scope="session")
def make_correspondence(regions, truth):
    """The correspondence of a ball around a mean of the first two atoms, or around a given centre."""

    def make(region="whole class", radius=0.1, center=None, r=2, separated=Interval(0.3, 3.0)):  # noqa: B008
        mean = truth.dictionary.block.atoms[:, :2] @ [1.0, 0.8] if center is None else np.asarray(center)
        amplitudes = Amplitudes(Interval(0.5, 1.5), separated)
        return Correspondence(regions.get(region, region), DeploymentBall(mean, radius, 0.05), amplitudes, r)

    return make
