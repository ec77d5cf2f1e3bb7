"""What a careful user writes with NumPy and SciPy: one quadratic form and one logsumexp for every explanation."""

from itertools import product

import numpy as np
from scipy.special import logsumexp


def row_log_densities(rows, atoms, p, noise):
    """Log density of every row under the latent-code law.  rows: (N, q); atoms: (q, n)."""
    masks = np.array(list(product((0, 1), repeat=atoms.shape[1])), dtype=np.float64)  # (m, n)
    covariances = noise * np.eye(len(atoms)) + np.einsum("mj,qj,rj->mqr", masks, atoms, atoms)
    log_dets = np.linalg.slogdet(covariances)[1]
    sizes = masks.sum(axis=1)
    log_weights = sizes * np.log(p) + (masks.shape[1] - sizes) * np.log1p(-p)
    # One contraction, in the faster of the two orders.
    quadratic = np.einsum("nq,mqr,nr->nm", rows, np.linalg.inv(covariances), rows, optimize=True)
    constant = log_weights - 0.5 * (log_dets + len(atoms) * np.log(2 * np.pi))
    return logsumexp(constant - 0.5 * quadratic, axis=1)


def log_likelihood(rows, atoms, p, noise, checkpoints):
    """Prefix log likelihoods of one explanation of the latent-code law."""
    return np.cumsum(row_log_densities(rows, atoms, p, noise))[np.asarray(checkpoints) - 1]


def gaussian_log_likelihood(rows, covariance):
    """Log likelihood of rows (T, q) of a zero-mean Gaussian law."""
    quadratic = np.einsum("tq,qr,tr->t", rows, np.linalg.inv(covariance), rows, optimize=True)
    constant = np.linalg.slogdet(covariance)[1] + rows.shape[1] * np.log(2 * np.pi)
    return -0.5 * np.sum(quadratic + constant)
