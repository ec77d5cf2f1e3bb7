"""The two distinctions that deployment has to make before the physical mapping counts."""

from dataclasses import dataclass
from itertools import combinations
from typing import final

import numpy as np

from ..._typing import Array
from ..regions import deployment_radius, profile_losses
from ._design import Design


@final
@dataclass(frozen=True, slots=True)
class Gate:
    """One distinction: how far the planned mean lies from its rivals, and how many deployment rows tell them apart."""

    question: str
    separation: float  # proven lower bound of the distance of the planned mean from the nearest competing mean
    radius: float  # tau at the planned T
    rows_needed: float  # T from which 2 tau stays below the separation; inf if no T does
    shift: float  # how far a competing mean may move when the dictionary is known no better than planned

    @property
    def is_open(self) -> bool:
        r"""Whether, the dictionary known, every rival is rejected on the event that the ball holds the truth.

        The sample mean is then within :math:`\tau` of the planned mean, so at least separation minus
        :math:`\tau > \tau` away from every rival.
        """
        return 2.0 * self.radius < self.separation

    @property
    def stays_open(self) -> bool:
        """Whether the same holds for the rivals of every dictionary that calibration leaves open."""
        return 2.0 * self.radius + self.shift < self.separation


def explanation_gate(design: Design, doubt: float = 0.0) -> Gate:
    r"""Can the separated atom, with an allowed coefficient, make the planned mean?

    doubt: how far its atom may be from the planned one; its mean then moves by at most :math:`\gamma_+` times that.
    """
    box = design.amplitudes.separated
    rival = profile_losses(_mean(design), design.dictionary.separated[None, :, None], box)
    return _gate("Which local explanation is supported?", float(rival.lower_bounds[0]), box.upper * doubt, design)


def support_gate(design: Design, doubt: float = 0.0) -> Gate:
    r"""Can another support of the same size make the planned mean?

    doubt: how far the atoms may be from the planned ones; a mean then moves by at most :math:`r\beta_+` times that.
    """
    q, r, box = design.dictionary.q, len(design.support), design.amplitudes.block
    others = [other for other in combinations(range(q), r) if other != design.support]
    atoms = design.dictionary.block.atoms[:, others].transpose(1, 0, 2)  # (k, q, r)
    rivals = profile_losses(_mean(design), atoms, box)
    return _gate("Which atoms participate?", float(rivals.lower_bounds.min()), r * box.upper * doubt, design)


def _mean(design: Design) -> Array:
    return np.asarray(design.active @ design.coefficients)


def _gate(question: str, separation: float, shift: float, design: Design) -> Gate:
    q, alpha = design.dictionary.q, design.alpha_deployment
    one = deployment_radius(q, 1, design.sigma, alpha)
    needed = (2.0 * one / separation) ** 2 if separation > 0.0 else np.inf
    radius = deployment_radius(q, design.n_deployment, design.sigma, alpha)
    return Gate(question, separation, radius, float(needed), shift)
