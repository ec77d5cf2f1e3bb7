"""Log likelihoods of laws of an orbit, and the evidence against them: a mixture that proposal rows fixed, over each."""

from dataclasses import dataclass
from itertools import product
from math import log
from typing import Self, final

import numpy as np
from scipy.special import logsumexp, softmax

from ..._typing import Array, BoolArray
from ...banks import ArrayStates
from ...io import ArrayRows
from ...laws import BernoulliGaussian, latent_stream
from ._orbit import Orbit

# The lattice of opponents on each axis, in standard deviations, and how often it is laid anew at most.
_STEPS, _ROUNDS = np.linspace(-2.0, 2.0, 5), 8
# With no opponent heavier than this the lattice is fine enough.
_HEAVY = 0.25


@final
@dataclass(frozen=True, slots=True, eq=False)
class LogBounds:
    """Proven lower and upper ends, one a point."""

    lower: Array  # (m,)
    upper: Array  # (m,)


def log_likelihoods(orbit: Orbit, rows: Array, points: Array) -> LogBounds:
    """Of all rows (N, q) under each point (m, k + 2), for the atoms as they are rounded."""
    angles, state = np.unique(points[:, :-2], axis=0, return_inverse=True)
    nuisances, nuisance = np.unique(points[:, -2:], axis=0, return_inverse=True)
    laws = [BernoulliGaussian(float(p)) for p in nuisances[:, 1]]
    states = ArrayStates(orbit.atoms(angles))
    stream = latent_stream(ArrayRows(rows), states, laws, nuisances[:, 0], [len(rows)])
    scores = stream.log_likelihood(state.reshape(-1) * len(laws) + nuisance.reshape(-1))
    values, errors = scores.values[:, -1], scores.errors[:, -1]
    return LogBounds(values - errors, values + errors)


@final
@dataclass(frozen=True, slots=True, eq=False)
class OrbitEvidence:
    r"""A law is rejected if the opponents' mixture exceeds :math:`1/\alpha` times its likelihood of the held-out rows.

    The opponents are fixed by other rows, so that the ratio has mean 1 under a law that made the held-out ones, and a
    true law is rejected with probability at most :math:`\alpha` (Markov), wherever in the box it lies.
    """

    orbit: Orbit
    rows: Array  # (N, q) held-out
    threshold: LogBounds  # (1,) of the log likelihood: rejected below
    opponents: Array  # (m, k + 2)
    level: float  # alpha

    @classmethod
    def of_rows(cls, orbit: Orbit, proposal: Array, held_out: Array, level: float) -> Self:
        """Opponents weighted by their likelihood of the proposal rows, and their mixture scored on the others."""
        points, weights = propose(orbit, proposal)
        scores = log_likelihoods(orbit, held_out, points)
        ends = (logsumexp(side + weights) + log(level) for side in (scores.lower, scores.upper))
        return cls(orbit, held_out, LogBounds(*(np.array([end]) for end in ends)), points, level)

    def kept(self, scores: LogBounds) -> BoolArray:
        """Laws that are not rejected for sure by their own scores; (m,)."""
        return np.asarray(scores.lower >= self.threshold.upper)

    def rejected(self, largest: Array) -> BoolArray:
        """Sets of laws of which all are rejected, by upper bounds of their log likelihoods; (m,)."""
        return np.asarray(largest < self.threshold.lower)


def propose(orbit: Orbit, rows: Array) -> tuple[Array, Array]:
    """Opponents (m, k + 2) and their log weights (m,), which sum to 1: about the posterior given the rows.

    A lattice over the box, weighted by its likelihoods, has a mean and a covariance, over which the next is laid; the
    spacing of a lattice counts as variance, so that one heavy point draws the next together no faster than it may. No
    choice made here costs the level: rows that propose do not judge.
    """
    lattice = np.array(list(product(_STEPS, repeat=len(orbit.lower))))  # (m, d)
    mean, factor = 0.5 * (orbit.lower + orbit.upper), np.diag(orbit.upper - orbit.lower) / np.ptp(_STEPS)
    for _ in range(_ROUNDS):
        points = np.clip(mean + lattice @ factor.T, orbit.lower, orbit.upper)
        values = log_likelihoods(orbit, rows, points).lower
        weights = softmax(values)
        if weights.max() < _HEAVY:
            break
        mean = weights @ points
        spread = (points - mean).T @ (weights[:, None] * (points - mean)) + factor @ factor.T / 12.0
        sizes, axes = np.linalg.eigh(spread)  # a range of one point has no width at all
        factor = axes * np.sqrt(np.maximum(sizes, 0.0))
    return points, values - logsumexp(values)
