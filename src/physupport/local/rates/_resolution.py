"""The physical resolution of the active elements: what an efficient set attains and what no valid set beats."""

from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.optimize import brentq
from scipy.special import chdtri, ndtr

from ..._checks import check_open
from ._design import Design, atom_spacing, block_diameter
from ._joint import JointInformation, joint_information
from ._orientation import OrientationInformation


@final
@dataclass(frozen=True, slots=True)
class PlannedResolution:
    """Physical resolution of the active elements as projective distances.

    attainable: diameter of the efficient confidence set in the local asymptotics of the exact calibration mixture and
    the deployment law, all nuisance profiled; never more than the block itself. Likelihood-based sets attain it; the
    moment regions of `physupport.local.regions` are wider. floor: no set that is valid everywhere at the same level
    has a
    smaller worst expected diameter, in the same asymptotics.
    """

    attainable: float
    floor: float
    block: float  # largest distance between two atoms of the block

    @property
    def sees_inside(self) -> bool:
        """Whether anything finer than the block is attainable."""
        return self.attainable < self.block


def planned_resolution(information: OrientationInformation, design: Design) -> PlannedResolution:
    """What calibration and deployment together resolve: `diameter`, or the block where that is smaller; and `floor`."""
    joint, block = joint_information(information, design), block_diameter(design.dictionary)
    attainable = diameter(joint, design.level, design.n_calibration, design.n_deployment)
    return PlannedResolution(min(attainable, block), floor(information, design), block)


def floor(information: OrientationInformation, design: Design) -> float:
    r"""Two-point bound (eq:supp-two-point-diameter) along the least favourable direction.

    Two parameters :math:`\kappa` standard deviations apart, the planned one in the middle, their worst atom at most
    half the spacing of the block apart: so far the projective Hausdorff distance of the two supports is at least the
    displacement of that atom. Both must be allowed. A coefficient that would leave its range on the way, one on the
    edge above all, is held: that only takes possibilities from nature, so the bound stays true, and it is lower.
    """
    x, box = design.coefficients, design.amplitudes.block
    held = np.zeros(len(x), dtype=bool)
    while True:
        joint = joint_information(information, design, held)
        deviation = joint.deviation(design.n_calibration, design.n_deployment)
        widest = atom_spacing(design.dictionary) / 2.0 / deviation
        kappa = two_point_distance(design.level, widest)
        moved = 0.5 * kappa * np.abs(joint.coefficient_shift(design.n_calibration, design.n_deployment))
        leaves = ~held & ((x - moved < box.lower) | (x + moved > box.upper))
        if not leaves.any():
            return deviation * two_point_factor(design.level, widest)
        held |= leaves


def diameter(joint: JointInformation, level: float, n_calibration: float, n_deployment: float) -> float:
    r"""Diameter of the joint confidence ellipsoid of the active atoms, even where it exceeds the block.

    :math:`2\sqrt{\chi^2_{m,1-\alpha}}` times the worst standard deviation, m the dimension of the ellipsoid: two of
    its points differ in atom j by at most that multiple of the deviation of atom j, and some pair attains it.
    """
    return 2.0 * float(np.sqrt(chdtri(joint.n_dimensions, level))) * joint.deviation(n_calibration, n_deployment)


def dictionary_diameters(
    joint: JointInformation, level: float, n_calibration: float, n_deployment: float
) -> tuple[float, float]:
    """Diameters of the joint confidence ellipsoid of all unknowns: in the worst coherent atom, in the separated one."""
    deviations = joint.dictionary_deviations(n_calibration, n_deployment)
    reach = 2.0 * float(np.sqrt(chdtri(len(joint.worth), level)))
    return reach * float(deviations[:-1].max()), reach * float(deviations[-1])


def two_point_factor(level: float, widest: float = np.inf) -> float:
    r"""Two-point bound of unit normals, :math:`\max_{0\le\kappa\le w}\kappa\,[1 - 2\alpha - \mathrm{TV}(\kappa)]_+`.

    :math:`\mathrm{TV}(\kappa) = 2\Phi(\kappa/2) - 1`.  0 from level 1/2 on.

    >>> round(two_point_factor(0.05), 4)
    0.5404
    """
    best = two_point_distance(level, widest)
    return best * (2.0 * (1.0 - level) - 2.0 * float(ndtr(best / 2.0)))


def two_point_distance(level: float, widest: float = np.inf) -> float:
    r"""The :math:`\kappa` of `two_point_factor`, the distance of its two points.

    The product is concave up to :math:`\kappa = 2\sqrt2`, where it already falls, so its largest value is at the root
    of its derivative or, before that, at w.
    """
    head = 2.0 * (1.0 - check_open("level", level, 0.0, 1.0))
    if head <= 1.0:
        return 0.0

    def slope(kappa: float) -> float:
        return head - 2.0 * float(ndtr(kappa / 2.0)) - kappa * float(np.exp(-(kappa**2) / 8.0) / np.sqrt(2.0 * np.pi))

    return min(float(brentq(slope, 0.0, 2.0 * np.sqrt(2.0), xtol=1e-14)), widest)
