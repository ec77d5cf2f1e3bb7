"""Orbits to try, rows of their laws, and a log likelihood that shares no line with the package's."""

from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp

from physupport._checks import Interval
from physupport.laws import BernoulliGaussian, make_calibration
from physupport.local.orbit import Orbit
from physupport.local.shell import Block, Frame, LocalDictionary, default_separated_atom

NOISE, ACTIVITY = Interval(0.1, 0.4), Interval(0.15, 0.3)


def _log_likelihood(orbit, rows, law):
    """The sum over all active sets, written out."""
    *angles, noise, p = law
    atoms, q = orbit.atoms(np.array([angles]))[0], rows.shape[1]
    terms = []
    for active in product((False, True), repeat=atoms.shape[1]):
        chosen, size = atoms[:, list(active)], sum(active)
        covariance = noise * np.eye(q) + chosen @ chosen.T
        form = np.einsum("ij,jk,ik->i", rows, np.linalg.inv(covariance), rows)
        weight = size * np.log(p) + (len(active) - size) * np.log1p(-p)
        terms.append(weight - 0.5 * form - 0.5 * np.linalg.slogdet(2.0 * np.pi * covariance)[1])
    return float(logsumexp(terms, axis=0).sum())


def _whole_orbit(radius=0.6):
    """Three atoms about an axis in every orientation, the separated atom fixed: a third of a turn is all there is."""
    frame = Frame.standard(3)
    dictionary = LocalDictionary(Block.balanced(frame, radius), default_separated_atom(frame))
    quarter = [[[0.0, -1.0], [1.0, 0.0]]]
    return Orbit.of_block(dictionary, quarter, [[-np.pi / 3.0, np.pi / 3.0]], NOISE, ACTIVITY)


def _rows(orbit, law, n_rows, rng):
    *angles, noise, p = law
    return make_calibration(BernoulliGaussian(p), orbit.atoms(np.array([angles]))[0], noise, rng, n_rows)


@pytest.fixture
def log_likelihood():
    return _log_likelihood


@pytest.fixture
def whole_orbit():
    return _whole_orbit


@pytest.fixture
def draw_rows():
    return _rows
