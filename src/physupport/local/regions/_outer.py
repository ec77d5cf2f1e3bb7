"""A proven upper bound of the physical diameter over the continuous shell."""

from dataclasses import dataclass
from typing import final

import numpy as np

from ..._typing import Array
from ..shell import Shell
from ._correspondence import Correspondence

# Relative to the largest length in a computation: a dozen roundings, with room to spare.
_ROUNDING = 64.0 * float(np.finfo(np.float64).eps)


@final
@dataclass(frozen=True, slots=True)
class OuterBracket:
    """No retained pair of targets is farther apart than the diameter; None when nothing can be retained."""

    diameter: float | None
    block_possible: bool
    separated_possible: bool


def outer_bracket(correspondence: Correspondence) -> OuterBracket:
    r"""The shell's own diameter, without the local explanations that the deployment ball excludes for every dictionary.

    Proven facts only. Coherent atoms lie within :math:`\theta_0 = \arcsin C_0 s` of the axis, so two of them are at
    most :math:`\sin 2\theta_0` apart; separated atoms lie within :math:`\theta_a = \arcsin(C_a s/\sqrt2)` of their
    reference; a coherent and a separated atom are at most :math:`\sin(\omega + \theta_0 + \theta_a)` apart,
    :math:`\omega` being the angle between the lines of axis and reference. Beyond a right angle each sine is 1. A
    local explanation is left out when its distance to the centre of the ball, over the whole shell, exceeds the radius
    by more than rounding.

    What calibration says of the dictionary is not used. The step from invariants to atoms has explicit constants
    (`tests.local.theory.invariants.quotient_sensitivity`), but the step before it, from moments to invariants, has one
    that exists by compactness only, so :math:`\rho_N(s)` (eq:dictionary-radius) is a number without proof. The bound is
    therefore honest and wide once N is large; `inner_bracket` shows how wide.
    """
    shell = correspondence.region.calibration_class.shell
    block = bool(block_distance(correspondence) <= correspondence.ball.radius)
    separated = bool(separated_distance(correspondence) <= correspondence.ball.radius)
    cone = float(np.arctan2(shell.cap * shell.scale, shell.axial_floor))
    around = _separated_angle(shell)
    angles = [2.0 * cone] * block + [2.0 * around] * separated
    if block and separated:
        angles.append(float(np.arctan2(shell.axial_sine, abs(shell.axial_cosine))) + cone + around)
    diameters = [min(1.0, float(np.sin(min(angle, np.pi / 2.0))) * (1.0 + _ROUNDING)) for angle in angles]
    return OuterBracket(max(diameters, default=None), block, separated)


def block_distance(correspondence: Correspondence) -> float:
    r"""A lower bound, rounding included, of the profiled residual of the block over all dictionaries of the shell.

    A mean :math:`\sum_jx_jd_j` with r coefficients in :math:`[\beta_-, \beta_+]` has, with
    :math:`X = \sum_jx_j \in [r\beta_-, r\beta_+]`, a height along the axis between :math:`X\cos\theta_0` and X and a
    length across it of at most :math:`X\sin\theta_0`. In the plane of height and length these points lie in the convex
    polygon spanned by :math:`r\beta_-(\cos\theta_0, 0), r\beta_-(\cos\theta_0, \sin\theta_0),
    r\beta_+(\cos\theta_0, \sin\theta_0), r\beta_+(1, \sin\theta_0), r\beta_+(1, 0)`. Two vectors are at least as far
    apart as their heights and lengths are, so the bound is the distance to this polygon.
    """
    center = correspondence.ball.center
    shell = correspondence.region.calibration_class.shell
    sine = shell.cap * shell.scale
    cosine = shell.axial_floor
    low = correspondence.support_size * correspondence.amplitudes.block.lower
    high = correspondence.support_size * correspondence.amplitudes.block.upper
    height = float(shell.frame.axis @ center)
    point = np.array([height, float(np.linalg.norm(center - height * shell.frame.axis))])
    near = low * np.array([[cosine, 0.0], [cosine, sine]])
    far = high * np.array([[cosine, sine], [1.0, sine], [1.0, 0.0]])
    corners = np.concatenate([near, far])
    return _rounded_down(_distance_to_convex_polygon(point, corners), high + float(np.linalg.norm(center)))


def separated_distance(correspondence: Correspondence) -> float:
    r"""The least profiled residual of the separated atom over the shell, exact but for rounding, which lowers it.

    The atom nearest to the centre z lies at angle :math:`\psi = [\varphi - \theta_a]_+` from it, with :math:`\varphi`
    the angle of the centre to the reference; the amplitude is then :math:`\|z\|\cos\psi` clipped to its range.
    """
    center = correspondence.ball.center
    shell = correspondence.region.calibration_class.shell
    box = correspondence.amplitudes.separated
    along = float(shell.reference @ center)
    across = float(np.linalg.norm(center - along * shell.reference))
    turned = max(0.0, float(np.arctan2(across, along)) - _separated_angle(shell))
    length = float(np.hypot(along, across))
    gamma = min(max(length * np.cos(turned), box.lower), box.upper)
    residual = float(np.hypot(length * np.cos(turned) - gamma, length * np.sin(turned)))
    return _rounded_down(residual, length + box.upper)


def _separated_angle(shell: Shell) -> float:
    """Largest angle of a separated atom to its reference: at most a right one, as it lies on the same side."""
    sine = min(1.0, shell.separated_radius * shell.scale / float(np.sqrt(2.0)))
    return float(np.arctan2(sine, np.sqrt((1.0 - sine) * (1.0 + sine)))) * (1.0 + _ROUNDING)


def _rounded_down(distance: float, size: float) -> float:
    return max(0.0, distance - _ROUNDING * size)


def _distance_to_convex_polygon(point: Array, corners: Array) -> float:
    """Distance in the plane; zero inside.  corners: (m, 2) in either order around."""
    edges = np.roll(corners, -1, axis=0) - corners  # (m, 2)
    offset = point - corners  # (m, 2)
    side = edges[:, 0] * offset[:, 1] - edges[:, 1] * offset[:, 0]
    if np.all(side >= 0.0) or np.all(side <= 0.0):
        return 0.0
    # An edge of equal ends is a point.
    squared = np.maximum(np.sum(edges**2, axis=1), np.finfo(np.float64).tiny)
    reach = np.clip(np.sum(offset * edges, axis=1) / squared, 0.0, 1.0)
    return float(np.linalg.norm(offset - reach[:, None] * edges, axis=1).min())
