"""What a careful user writes with NumPy and SciPy: one quadratic form and one logsumexp for every explanation."""

from itertools import product

import numpy as np
from scipy.special import logsumexp


def log_likelihood(rows, atoms, p, noise, checkpoints):
    """Prefix log likelihoods of one explanation of the latent-code law.  rows: (N, q); atoms: (q, n)."""
    masks = np.array(list(product((0, 1), repeat=atoms.shape[1])), dtype=np.float64)  # (m, n)
    covariances = noise * np.eye(len(atoms)) + np.einsum("mj,qj,rj->mqr", masks, atoms, atoms)
    log_dets = np.linalg.slogdet(covariances)[1]
    sizes = masks.sum(axis=1)
    log_weights = sizes * np.log(p) + (masks.shape[1] - sizes) * np.log1p(-p)
    # One contraction, in the faster of the two orders.
    quadratic = np.einsum("nq,mqr,nr->nm", rows, np.linalg.inv(covariances), rows, optimize=True)
    constant = log_weights - 0.5 * (log_dets + len(atoms) * np.log(2 * np.pi))
    return np.cumsum(logsumexp(constant - 0.5 * quadratic, axis=1))[np.asarray(checkpoints) - 1]
