"""The two distinctions that deployment has to make before the physical mapping counts."""

from dataclasses import dataclass
from itertools import combinations
from typing import final

import numpy as np

from .._typing import Array
from ..retain import deployment_radius, profile_losses
from ._design import Design


@final
@dataclass(frozen=True, slots=True)
class Gate:
    """One distinction: how far the planned mean lies from its rivals, and how many deployment rows tell them apart."""

    question: str
    separation: float  # distance of the planned mean from the nearest mean of a competing explanation
    radius: float  # tau at the planned T
    rows_needed: float  # T from which 2 tau stays below the separation; inf if no T does

    @property
    def is_open(self) -> bool:
        r"""Whether every rival is rejected on the event that the ball holds the truth.

        The sample mean is then within :math:`\tau` of the planned mean, so at least separation minus
        :math:`\tau > \tau` away from every rival.
        """
        return 2.0 * self.radius < self.separation


def explanation_gate(design: Design) -> Gate:
    """Can the separated atom, with an allowed coefficient, make the planned mean? The dictionary counts as known."""
    rival = profile_losses(_mean(design), design.dictionary.separated[None, :, None], design.amplitudes.separated)
    return _gate("Which local explanation is supported?", float(rival.losses[0]), design)


def support_gate(design: Design) -> Gate:
    """Can another support of the same size make the planned mean? The dictionary counts as known."""
    q, r = design.dictionary.q, len(design.support)
    others = [other for other in combinations(range(q), r) if other != design.support]
    atoms = design.dictionary.block.atoms[:, others].transpose(1, 0, 2)  # (k, q, r)
    rivals = profile_losses(_mean(design), atoms, design.amplitudes.block)
    return _gate("Which atoms participate?", float(rivals.losses.min()), design)


def _mean(design: Design) -> Array:
    return np.asarray(design.active @ design.coefficients)


def _gate(question: str, separation: float, design: Design) -> Gate:
    q, alpha = design.dictionary.q, design.alpha_deployment
    one = deployment_radius(q, 1, design.sigma, alpha)
    needed = (2.0 * one / separation) ** 2 if separation > 0.0 else np.inf
    return Gate(question, separation, deployment_radius(q, design.n_deployment, design.sigma, alpha), float(needed))
