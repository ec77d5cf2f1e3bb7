"""What is ranked among its simulated values: a score for a smooth coordinate, a likelihood ratio for libraries.

A statistic is larger the less an explanation fits.  Row 0 of its argument belongs to the data, the others to draws; it
may look at all of them together as long as it does not care about their order, so that ranks stay exact.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..._typing import Array

# What the coordinate and the nuisances may take of the level of the score.
_SHARE = 0.9
# A part of a score that is smaller than this is rounding.
_LEAST = 1e-9


class Ranked(NamedTuple):
    """Values (B + 1,) of a statistic, and how far rounding may have moved each."""

    values: Array
    errors: Array


Statistic = Callable[[Array, float], Ranked]


def score(ratios: Array, error: float) -> Ranked:
    r""":math:`-\log\min\{2\Phi(-|z|)/.9,\ e^{-Q/2}/.1\}`, z for the coordinate and Q for the nuisances.

    Columns of ratios (B + 1, 2 a) are pairs, log ratios of the neighbours below and above along an axis, the coordinate
    first; their differences x are scores up to scale.  With V the covariance of all rows, z is the part of the first
    score that is uncorrelated with the others, and :math:`Q = x_n^\top V_{nn}^{-1}x_n`.  error: of a log ratio.
    """
    from scipy.special import log_ndtr  # slow to load, and a project file asks for the name of its judge alone

    x, least = _standardised(ratios[:, 1::2] - ratios[:, ::2])  # (B + 1, a)
    own, rest = x[:, 0], x[:, 1:]
    root = _inverse_root(rest.T @ rest / len(x))
    white = rest @ root  # (B + 1, a - 1)
    slope = white.T @ own / len(x)
    left = own - white @ slope
    size = max(float(left.std()), _LEAST)
    z, squares = left / size, np.sum(white**2, axis=1)
    values = np.maximum(np.log(_SHARE / 2.0) - log_ndtr(-np.abs(z)), squares / 2.0 + np.log(1.0 - _SHARE))
    # If every x moves by d, white moves by d times the entries of the root, z by more, and values |z| + 1 times that.
    moved = 4.0 * error / least * (1.0 + np.abs(root).sum() * (1.0 + np.abs(slope).sum())) / size
    return Ranked(values, moved * (2.0 + np.abs(z) + np.sqrt(squares)))


def ratio(ratios: Array, error: float) -> Ranked:
    r""":math:`\max_j\{\ell_j - \ell_e\}` over the rivals j, at least 0; ratios: (B + 1, R).

    Where all rivals are behind beyond doubt, it is 0 without error: such rows and draws are equal.
    """
    others = ratios[:, (ratios != 0.0).any(axis=0)]  # without the explanation itself, and its own law once more
    values = others.max(axis=1, initial=0.0)
    return Ranked(values, np.where(others.max(axis=1, initial=-np.inf) < -error, 0.0, error))


def _standardised(scores: Array) -> tuple[Array, float]:
    """Scores with mean 0 and deviation 1, and the least deviation; an axis of one value has none and stays 0."""
    centred = scores - scores.mean(axis=0)
    deviation = centred.std(axis=0)
    is_seen = deviation > 0.0
    return centred / np.where(is_seen, deviation, 1.0), float(deviation[is_seen].min(initial=np.inf))


def _inverse_root(covariance: Array) -> Array:
    """(a, a) symmetric W with W V W the projection on the directions in which V is not 0."""
    values, vectors = np.linalg.eigh(covariance)
    is_seen = values > _LEAST
    return np.asarray((vectors[:, is_seen] / np.sqrt(values[is_seen])) @ vectors[:, is_seen].T)
