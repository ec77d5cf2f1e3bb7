"""The laws that a stream's keys stand for, written out as means and covariances."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._typing import Array, IntArray
from ...banks import Bank
from ...io import as_pairs
from .._proposed_stream import ProposedStream
from ._divergence import covariance_divergences, mean_divergences

# Numbers in one batch of covariances: 64 MiB.
_ENTRIES = 2**23


def key_function(part: ProposedStream, bank: Bank) -> Callable[[ArrayLike], IntArray]:
    """Explanations to the keys of this stream."""
    return bank.calibration_keys if part.plan.is_calibration else bank.deployment_keys


def as_complex(pairs: Array) -> NDArray[np.complex128]:
    """Pairs (Re, Im) along the first axis as complex numbers."""
    return np.asarray(pairs[0::2] + 1j * pairs[1::2])


def deployment_factors(part: ProposedStream, bank: Bank, keys: IntArray) -> tuple[Array, Array]:
    r"""(k, q, r) factors F and (k,) noises of the covariances :math:`\nu I + FF^\top`; complex laws as pairs.

    The columns of F are :math:`\sqrt{\lambda_j}a_j` for the active atoms.
    """
    parts, elements = bank.deployment_parts(keys), bank.states.elements
    noises, strengths = part.law.noises[parts.nuisance], parts.strengths
    atoms = elements[:, parts.elements].transpose(1, 0, 2)  # (k, q, r); the padding has strength 0
    if part.law.is_complex:
        turned = as_pairs(1j * as_complex(elements), axis=0)[:, parts.elements].transpose(1, 0, 2)
        atoms, strengths = np.concatenate([atoms, turned], axis=2), np.hstack([strengths, strengths]) / 2.0
        noises = noises / 2.0
    return np.asarray(atoms * np.sqrt(strengths)[:, None, :]), np.asarray(noises)


def deployment_covariances(part: ProposedStream, bank: Bank, keys: IntArray) -> Array:
    r"""(k, q, q) :math:`\nu I + \sum_j\lambda_ja_ja_j^\top` over the active atoms; complex laws as pairs."""
    factors, noises = deployment_factors(part, bank, keys)
    signal = factors @ np.swapaxes(factors, 1, 2)
    return np.asarray((signal + np.swapaxes(signal, 1, 2)) / 2.0 + noises[:, None, None] * np.eye(factors.shape[1]))


def deployment_means(part: ProposedStream, bank: Bank, keys: IntArray) -> tuple[Array, Array]:
    r"""(k, q) :math:`\sum_jx_ja_j`, and (k,) the variance of each real entry of a row."""
    parts, elements = bank.deployment_parts(keys), bank.states.elements
    means = np.einsum("qkr,kr->kq", elements[:, parts.elements], parts.strengths)
    return np.asarray(means), entry_noise(part, parts.nuisance)


def entry_noise(part: ProposedStream, nuisance: IntArray) -> Array:
    """Noise variance of each real entry of a row: half of the complex one for pairs."""
    return np.asarray(part.law.noises[nuisance] / (2.0 if part.law.is_complex else 1.0))


def key_divergences(part: ProposedStream, bank: Bank, key: int, keys: IntArray) -> Array:
    """(k,) Kullback-Leibler divergence of a key's row law from those of other keys; exactly 0 from itself."""
    first = np.array([key])
    if part.plan.kind == "mean":
        means, variances = deployment_means(part, bank, keys)
        (mean,), (variance,) = deployment_means(part, bank, first)
        found = mean_divergences(mean, float(variance), means, variances)
    else:
        law, step = deployment_covariances(part, bank, first)[0], max(1, _ENTRIES // len(bank.states.elements) ** 2)
        blocks = [keys[start : start + step] for start in range(0, len(keys), step)]
        found = np.concatenate(
            [np.zeros(0), *(covariance_divergences(law, deployment_covariances(part, bank, b)) for b in blocks)]
        )
    found[keys == key] = 0.0
    return found
