"""A proven upper bound of the physical diameter over the continuous shell."""

from dataclasses import dataclass
from typing import final

import numpy as np

from .._typing import Array
from ..geometry import Shell
from ..retain import Correspondence


@final
@dataclass(frozen=True, slots=True)
class OuterBracket:
    """No retained pair of targets is farther apart than the diameter; None when nothing can be retained."""

    diameter: float | None
    block_possible: bool
    separated_possible: bool


def outer_bracket(correspondence: Correspondence, shell: Shell) -> OuterBracket:
    r"""The shell's own diameter, without the local explanations that the deployment ball excludes for every dictionary.

    Proven facts only. Coherent atoms lie within :math:`\theta_0 = \arcsin C_0 s` of the axis, so two of them are at most
    :math:`\sin 2\theta_0` apart; separated atoms lie within :math:`\theta_a = \arcsin(C_a s/\sqrt2)` of their reference; a
    coherent and a separated atom are at most :math:`\omega + \theta_0 + \theta_a` apart, :math:`\omega` being the angle
    from the axis to the reference. A local explanation is left out when its distance to the centre of the
    ball, over the whole shell, exceeds the radius. The bound :math:`C\rho_N(s)` of the paper is not used: its constant exists
    by compactness only.
    """
    cone, around = np.arcsin(shell.cap * shell.scale), _separated_angle(shell)
    block = block_distance(correspondence, shell) <= correspondence.ball.radius
    separated = separated_distance(correspondence, shell) <= correspondence.ball.radius
    angles = [2.0 * cone] * block + [2.0 * around] * separated
    if block and separated:
        angles.append(np.arccos(shell.axial_cosine) + cone + around)
    diameter = max((float(np.sin(min(angle, np.pi / 2))) for angle in angles), default=None)
    return OuterBracket(diameter, block, separated)


def block_distance(correspondence: Correspondence, shell: Shell) -> float:
    r"""A lower bound of the profiled residual of the coherent block over all dictionaries of the shell.

    Every mean lies in the cone of half-angle :math:`\theta_0` about the axis, between the heights
    :math:`r\beta_-\cos\theta_0` and :math:`r\beta_+`; the bound is the distance to that truncated cone.
    """
    center, cone = correspondence.ball.center, np.arcsin(shell.cap * shell.scale)
    r, box = correspondence.support_size, correspondence.amplitudes.block
    low, high = r * box.lower * np.cos(cone), r * box.upper
    height = float(shell.frame.axis @ center)
    point = np.array([height, float(np.linalg.norm(center - height * shell.frame.axis))])
    corners = np.array([[low, 0.0], [low, low * np.tan(cone)], [high, high * np.tan(cone)], [high, 0.0]])
    return _distance_to_convex_polygon(point, corners)


def separated_distance(correspondence: Correspondence, shell: Shell) -> float:
    r"""The least profiled residual of the separated atom over the shell, exactly.

    The nearest atom to the centre lies at angle :math:`\psi = [\varphi - \theta_a]_+` from it, with :math:`\varphi` the angle of the
    centre to the reference; the amplitude is then :math:`\gamma = \|z\|\cos\psi` clipped to its range.
    """
    center, box = correspondence.ball.center, correspondence.amplitudes.separated
    along = float(shell.reference @ center)
    across = float(np.linalg.norm(center - along * shell.reference))
    turned = max(0.0, np.arctan2(across, along) - _separated_angle(shell))
    length = np.hypot(along, across)
    gamma = min(max(length * np.cos(turned), box.lower), box.upper)
    return float(np.hypot(length * np.cos(turned) - gamma, length * np.sin(turned)))


def _separated_angle(shell: Shell) -> float:
    return float(np.arcsin(min(1.0, shell.separated_radius * shell.scale / np.sqrt(2.0))))


def _distance_to_convex_polygon(point: Array, corners: Array) -> float:
    """Distance in the plane; zero inside.  corners: (m, 2) in either order around."""
    edges = np.roll(corners, -1, axis=0) - corners  # (m, 2)
    offset = point - corners  # (m, 2)
    side = edges[:, 0] * offset[:, 1] - edges[:, 1] * offset[:, 0]
    if np.all(side >= 0.0) or np.all(side <= 0.0):
        return 0.0
    reach = np.clip(np.sum(offset * edges, axis=1) / np.sum(edges**2, axis=1), 0.0, 1.0)
    return float(np.linalg.norm(offset - reach[:, None] * edges, axis=1).min())
