"""Means of deployment measurements, measurements about them, and when a law of codes says enough."""

import numpy as np

from physupport.laws import law_moments
from physupport.local.shell import Condition, Membership


def deployment_mean(atoms, support, coefficients):
    r"""Coherent-block mean :math:`\mu = \sum_{j \in S} x_j d_j`, all x_j positive (eq:fine-mean); (q,).

    atoms: (q, n).  coefficients: (r,), in the ascending order of the support.
    """
    return atoms[:, sorted(support)] @ np.asarray(coefficients)


def separated_mean(atom, gamma):
    r"""Mean of the competing explanation, :math:`\mu = \gamma a` with gamma positive (eq:anchor-mean); (q,)."""
    return gamma * np.asarray(atom)


def measurements(mean, variance, rng, n):
    r"""Measurements that share a mean, :math:`Z \sim N_q(\mu, \sigma^2 I)` (eq:test-model); (n, q)."""
    return mean + np.sqrt(variance) * rng.standard_normal((n, len(mean)))


def law_nondegeneracy(law, n_atoms, *, least_signal, least_contrast):
    r"""Nondegeneracy :math:`a_1 \ge a_{\min},\ \Delta_{\mathcal L} \ge \Delta_{\min}` (eq:law-nondegeneracy).

    The contrast vanishes exactly when no set but the empty and the full one has positive probability.
    """
    moments = law_moments(law, n_atoms)
    return Membership(
        (
            Condition("a_min at most the second-order signal a_1", least_signal, moments.a1),
            Condition("Delta_min at most the fourth-order contrast", least_contrast, moments.delta),
        )
    )
