"""Shared material: a small class of calibration parameters and the laws that the moments are checked on."""

import numpy as np
import pytest

from physupport._checks import Interval
from physupport.laws import BernoulliGaussian, ExchangeableGaussian
from physupport.local.regions import CalibrationClass, CalibrationParameter
from physupport.local.shell import Frame, Shell, default_separated_atom


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
