"""The three least favourable pairs: what cannot be told apart, and how far apart it is physically."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.linalg import expm

from ..._checks import check_count, check_positive, check_support
from ..._errors import MisuseError
from ..._typing import Array
from ...banks import hausdorff_distance, projective_distances
from ..shell import Block, LocalDictionary
from ._bounds import total_variation_from_divergence, two_point_diameter
from ._generators import check_skew, compensated_generator


@final
@dataclass(frozen=True, slots=True, eq=False)
class MeanPair:
    """Two deployment means on one calibration law: only deployment can tell them apart."""

    mean: Array  # (q,)
    other: Array  # (q,)
    separation: float  # projective Hausdorff distance of the two physical supports

    def divergence(self, noise_level: float, n_deployment: int) -> float:
        r"""KL of the whole experiment, :math:`T\|\mu_0-\mu_1\|^2/(2\sigma^2)`; the calibration part is 0."""
        distance = float(np.linalg.norm(self.mean - self.other)) / check_positive("noise_level", noise_level)
        return check_count("n_deployment", n_deployment, 0) * distance**2 / 2.0

    def diameter(self, noise_level: float, n_deployment: int, alpha: float) -> float:
        """Expected diameter of every correspondence that covers both alternatives with probability 1 - alpha."""
        distinct = total_variation_from_divergence(self.divergence(noise_level, n_deployment))
        return two_point_diameter(self.separation, distinct, alpha)


def explanation_pair(dictionary: LocalDictionary, support: Iterable[int], coefficient: float) -> MeanPair:
    r"""Equal block coefficients against their projection on the separated atom (eq:supp-group-pair-KL).

    :math:`\mu_F = \beta\sum_{j\in S} d_j` and :math:`\gamma_\star a = P_a\mu_F`, so
    :math:`\mathrm{KL} = T\|(I - P_a)\mu_F\|^2/(2\sigma^2)`, exactly.  The pair lies in the class if
    :math:`\gamma_\star = a^\top\mu_F` is an allowed separated coefficient (eq:anchor-amplitude-transversality).
    """
    atoms = dictionary.block.atoms[:, check_support("support", support, dictionary.q)]  # (q, r)
    mean = check_positive("coefficient", coefficient) * atoms.sum(axis=1)
    other = (dictionary.separated @ mean) * dictionary.separated
    return MeanPair(mean, other, hausdorff_distance(atoms, dictionary.separated[:, None]))


def support_pair(block: Block, support: Iterable[int], swap: tuple[int, int], coefficient: float) -> MeanPair:
    r"""Two supports that differ in one atom, equal coefficients (eq:supp-support-pair-mean).

    On the balanced block :math:`\|\mu_S - \mu_{S'}\|^2 = 2\beta^2(\lambda_\star s)^2 q/(q-1)` for every swap.
    swap: (an active atom, the passive one that replaces it).
    """
    q, (gone, come) = block.frame.q, swap
    active = check_support("support", support, q)
    if gone not in active or come in active or not 0 <= come < q:
        raise MisuseError("swap", "name an active and then a passive atom", swap)
    atoms, changed = block.atoms, tuple(come if j == gone else j for j in active)
    beta = check_positive("coefficient", coefficient)
    means = [beta * atoms[:, list(chosen)].sum(axis=1) for chosen in (active, changed)]
    return MeanPair(means[0], means[1], hausdorff_distance(atoms[:, list(active)], atoms[:, list(changed)]))


@final
@dataclass(frozen=True, slots=True, eq=False)
class OrientationPair:
    """A block and its turn: only calibration can tell them apart."""

    block: Block
    turned: Block
    separation: float  # projective Hausdorff distance of the active atoms
    matched: float  # the same with every atom matched to itself, never smaller
    mean_shift: float  # change of the deployment mean at unit equal coefficients: rounding


def turned_block(block: Block, generator: Array, angle: float) -> Block:
    r"""The block with :math:`L e^{h\Omega}` for L (eq:restricted-orbit, eq:sm-tech-s10-2 with S = 0)."""
    across = block.frame.q - 1
    return Block(block.frame, block.center, block.shape @ expm(angle * check_skew("generator", generator, across)))


def orientation_pair(block: Block, support: Iterable[int], step: float) -> OrientationPair:
    r"""The compensated pair :math:`R \to R e^{h\Omega}` of `compensated_generator` (eq:supp-orientation-target-secant).

    Equal coefficients on the balanced block have the same mean, hence the same deployment law, for every h: a
    coverage statement must hold the two supports apart by calibration alone.  step: h.
    """
    active = list(check_support("support", support, block.frame.q))
    turned = turned_block(block, compensated_generator(block.frame.template, active), step)
    here, there = block.atoms[:, active], turned.atoms[:, active]  # (q, r)
    matched = float(np.diagonal(projective_distances(here, there)).max())
    shift = float(np.linalg.norm(here.sum(axis=1) - there.sum(axis=1)))
    return OrientationPair(block, turned, hausdorff_distance(here, there), matched, shift)
