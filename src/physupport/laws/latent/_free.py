"""A latent law off the bank: atoms, activity and noise that proposal rows make likely, by expectation-maximisation."""

from itertools import chain, combinations, islice
from math import log

import numpy as np

from ..._typing import Array, IntArray
from ..codes._laws import MOST_ACTIVE
from ._latent_point import LatentPoint

# Sets of active atoms that are looked at, the smallest first: the law itself has all of them, the search need not.
_MOST_SETS = 1024
_N_STEPS = 20
_LEAST_ACTIVE = 1e-3


def refined_point(rows: Array, start: LatentPoint) -> LatentPoint:
    """The most likely of the laws that expectation-maximisation passes through, the start among them.

    rows: (N, q) that propose.  Any of them would be an opponent: nothing about its validity hangs on how far this gets.
    """
    n = start.atoms.shape[1]
    every = chain.from_iterable(combinations(range(n), size) for size in range(n + 1))
    sets = [np.array(chosen, dtype=np.int64) for chosen in islice(every, _MOST_SETS)]
    point, best, most = start, start, -np.inf
    for _ in range(_N_STEPS):
        likelihood, following = _step(rows, point, sets)
        if likelihood > most:
            best, most = point, likelihood
        point = following
    return best.frozen()


def _step(rows: Array, point: LatentPoint, sets: list[IntArray]) -> tuple[float, LatentPoint]:
    """The log likelihood of a law, up to a constant, and the law after it."""
    (n_rows, q), n, noise = rows.shape, point.atoms.shape[1], point.noise
    logs, means, spreads = np.empty((len(sets), n_rows)), np.zeros((len(sets), n_rows, n)), np.zeros((len(sets), n, n))
    for i, active in enumerate(sets):
        atoms = point.atoms[:, active]
        inverse = np.linalg.inv(atoms.T @ atoms + noise * np.eye(len(active)))
        product = rows @ atoms  # (N, r)
        code = product @ inverse
        means[i][:, active], spreads[i][np.ix_(active, active)] = code, noise * inverse
        volume = (q - len(active)) * log(noise) - np.linalg.slogdet(inverse)[1]
        prior = len(active) * log(point.p) + (n - len(active)) * log(1.0 - point.p)
        logs[i] = prior - 0.5 * (volume - np.sum(product * code, axis=1) / noise)
    peak = logs.max(axis=0)
    weights = np.exp(logs - peak)
    total = weights.sum(axis=0)
    weights /= total
    energy = float(np.sum(rows**2))
    likelihood = float(np.sum(peak + np.log(total))) - 0.5 * energy / noise
    weighted = weights[:, :, None] * means
    cross = rows.T @ weighted.sum(axis=0)  # (q, n)
    gram = np.einsum("itj,itk->jk", weighted, means) + np.einsum("it,ijk->jk", weights, spreads)
    atoms = cross @ np.linalg.pinv(gram)
    norms = np.linalg.norm(atoms, axis=0)
    atoms = np.where(norms > 0.0, atoms / np.where(norms > 0.0, norms, 1.0), point.atoms)
    left = energy - 2.0 * float(np.sum(atoms * cross)) + float(np.sum((atoms @ gram) * atoms))
    active = weights.sum(axis=1) @ np.array([len(chosen) for chosen in sets])
    p = float(np.clip(active / (n_rows * n), _LEAST_ACTIVE, MOST_ACTIVE - _LEAST_ACTIVE))
    return likelihood, LatentPoint(atoms, p, max(left / rows.size, noise * _LEAST_ACTIVE))
