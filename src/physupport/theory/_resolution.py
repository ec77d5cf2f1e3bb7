"""The physical resolution of the active elements: what an efficient set attains and what no valid set beats."""

from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.optimize import brentq
from scipy.special import chdtri, ndtr

from .._checks import check_open
from ._design import Design, atom_spacing, block_diameter
from ._joint import JointInformation


@final
@dataclass(frozen=True, slots=True)
class Resolution:
    """Physical resolution of the active elements as projective distances.

    attainable: diameter of the efficient confidence set in the local asymptotics of the exact calibration mixture and
    the deployment law, all nuisance profiled; never more than the block itself. floor: no set that is valid
    everywhere at the same level has a smaller worst expected diameter, in the same asymptotics.
    """

    attainable: float
    floor: float
    block: float  # largest distance between two atoms of the block

    @property
    def sees_inside(self) -> bool:
        """Whether anything finer than the block is attainable."""
        return self.attainable < self.block


def resolution(joint: JointInformation, design: Design) -> Resolution:
    r"""What calibration and deployment together resolve.

    The attainable diameter is `diameter`, or the block where that is smaller. The floor is the two-point bound
    (eq:supp-two-point-diameter) between two parameters :math:`\kappa` standard deviations apart along the worst
    direction, their worst atom at most half the spacing of the block apart: so far the projective Hausdorff distance
    of the two supports is at least the displacement of that atom.
    """
    deviation = joint.deviation(design.n_calibration, design.n_deployment)
    block, widest = block_diameter(design.dictionary), atom_spacing(design.dictionary) / 2.0
    attainable = diameter(joint, design.level, design.n_calibration, design.n_deployment)
    floor = deviation * two_point_factor(design.level, widest / deviation)
    return Resolution(min(attainable, block), floor, block)


def diameter(joint: JointInformation, level: float, n_calibration: float, n_deployment: float) -> float:
    r"""Diameter of the joint confidence ellipsoid of the active atoms, even where it exceeds the block.

    :math:`2\sqrt{\chi^2_{m,1-\alpha}}` times the worst standard deviation, m the dimension of the ellipsoid: two of
    its points differ in atom j by at most that multiple of the deviation of atom j, and some pair attains it.
    """
    return 2.0 * float(np.sqrt(chdtri(joint.n_dimensions, level))) * joint.deviation(n_calibration, n_deployment)


def two_point_factor(level: float, widest: float = np.inf) -> float:
    r"""Two-point bound of unit normals, :math:`\max_{0\le\kappa\le w}\kappa\,[1 - 2\alpha - \mathrm{TV}(\kappa)]_+`.

    :math:`\mathrm{TV}(\kappa) = 2\Phi(\kappa/2) - 1`.  The product is concave up to :math:`\kappa = 2\sqrt2`, where it
    already falls, so its largest value is at the root of its derivative or, before that, at w.  0 from level 1/2 on.

    >>> round(two_point_factor(0.05), 4)
    0.5404
    """
    head = 2.0 * (1.0 - check_open("level", level, 0.0, 1.0))
    if head <= 1.0:
        return 0.0

    def slope(kappa: float) -> float:
        return head - 2.0 * float(ndtr(kappa / 2.0)) - kappa * float(np.exp(-(kappa**2) / 8.0) / np.sqrt(2.0 * np.pi))

    best = min(float(brentq(slope, 0.0, 2.0 * np.sqrt(2.0), xtol=1e-14)), widest)
    return best * (head - 2.0 * float(ndtr(best / 2.0)))
