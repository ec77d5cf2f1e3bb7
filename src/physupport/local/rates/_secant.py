"""How much of a turn of the block shows in the deployment mean after the coefficients have adjusted."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from ..._checks import check_array, check_count, check_nonnegative, check_positive, check_support
from ..._errors import MisuseError
from ..._typing import Array
from ...banks import hausdorff_distance
from ..shell import Block
from ._chart import atom_velocities
from ._pairs import turned_block


@final
@dataclass(frozen=True, slots=True, eq=False)
class TangentSecant:
    """The visible part of an infinitesimal turn, and the coefficient change that hides the rest."""

    value: float  # chi_tan
    adjustment: Array  # (r,), the best change of coefficients per unit turn
    residual: Array  # (q,), the part of the mean's velocity that no coefficient change reproduces


def tangent_secant(
    block: Block, support: Iterable[int], coefficients: ArrayLike, generator: ArrayLike, *, scale: float
) -> TangentSecant:
    r"""The coefficient-profiled orientation secant (eq:tangent-secant).

    :math:`\chi_{\tan} = \tfrac1s\inf_{\dot x}\|\dot D_S[\Omega]x + D_S\dot x\|
    = \tfrac1s\|P^\perp_{\mathrm{span}(D_S)}\dot D_S[\Omega]x\|`, for any block, not only the balanced one.  0 means
    that deployment cannot see the turn, however many replicates.
    """
    active = list(check_support("support", support, block.frame.q))
    x = check_array("coefficients", coefficients, (len(active),))
    across = block.frame.q - 1
    turn = check_array("generator", generator, (across, across))
    velocity = atom_velocities(block, (block.shape @ turn @ block.frame.template)[None])[0][:, active] @ x  # (q,)
    frame, triangle = np.linalg.qr(block.atoms[:, active])
    inside, residual = frame.T @ velocity, outside_span(frame, velocity)
    chi = float(np.linalg.norm(residual)) / check_positive("scale", scale)
    return TangentSecant(chi, -np.linalg.solve(triangle, inside), residual)


def deployment_information(secant: float, *, scale: float, noise_level: float, n_deployment: int) -> float:
    r"""Efficient information of T deployment rows about a turn (eq:test-efficient-information).

    :math:`I^{\mathrm{test}}_{\Omega\mid x} = T s^2\chi_{\tan}^2/\sigma^2`.  Not knowing sigma costs nothing: mean and
    variance of a Gaussian are orthogonal parameters.
    """
    visible = check_nonnegative("secant", secant) * check_positive("scale", scale)
    return check_count("n_deployment", n_deployment, 0) * (visible / check_positive("noise_level", noise_level)) ** 2


def profiled_mean_distance(atoms: ArrayLike, coefficients: ArrayLike, other: ArrayLike) -> float:
    r"""Distance of a deployment mean from all means of another dictionary, :math:`\inf_{x'}\|D_S x - D'_S x'\|`.

    The infimum is over all real coefficients.  atoms, other: (q, r) active atoms.  coefficients: (r,).
    """
    here = check_array("atoms", atoms, (None, None))
    there = check_array("other", other, here.shape)
    x = check_array("coefficients", coefficients, (here.shape[1],))
    # (D - D')x has the same residual as Dx, and is as small as the change itself.
    return float(np.linalg.norm(outside_span(np.linalg.qr(there)[0], (here - there) @ x)))


def outside_span(frame: Array, vectors: Array) -> Array:
    """The part of each vector (..., q) outside the span of orthonormal columns (q, f)."""
    rest = vectors - vectors @ frame @ frame.T
    return np.asarray(rest - rest @ frame @ frame.T)  # once more: the first pass leaves rounding


def two_atom_profile(radius: float, contrast: float, edge: float, angle: float) -> float:
    r"""Closed form of `profiled_mean_distance` on the two-atom orbit (eq:two-atom-profile, eq:sm-tech-s6-4).

    :math:`\tfrac12\lambda_\star s\,|d|\,\|v_1-v_2\|\,|\sin(\phi-\phi')|`.  radius: :math:`\lambda_\star s`.
    contrast: d = x_1 - x_2.  edge: :math:`\|v_1-v_2\|`.
    """
    return check_positive("radius", radius) * check_positive("edge", edge) * abs(contrast * float(np.sin(angle))) / 2.0


def two_atom_secant(stretch: float, contrast: float, edge: float) -> float:
    r"""Secant of the two-atom orbit, :math:`\chi_s = \tfrac12\lambda_\star|d|\,\|v_1-v_2\|` (cor:two-atom-contrast).

    stretch: :math:`\lambda_\star`.
    """
    return check_positive("stretch", stretch) * check_positive("edge", edge) * abs(contrast) / 2.0


@final
@dataclass(frozen=True, slots=True)
class OrbitSecantEstimate:
    """Extremes, over the pairs of a grid of angles, of displacement divided by s times the angle between them."""

    target: tuple[float, float]  # c_V, C_V: projective Hausdorff distance of the physical supports
    mean: tuple[float, float]  # c chi_s, C chi_s: profiled distance of the deployment means


def orbit_secant_estimate(
    block: Block,
    support: Iterable[int],
    generator: ArrayLike,
    coefficients: ArrayLike,
    angles: ArrayLike,
    *,
    scale: float,
) -> OrbitSecantEstimate:
    r"""The two conditions of the restricted orbit on a grid (eq:target-secant, eq:test-mean-secant).

    An estimate: the conditions quantify over all angles of a compact orbit, the grid over finitely many.
    """
    active = list(check_support("support", support, block.frame.q))
    grid, s = check_array("angles", angles, (None,)), check_positive("scale", scale)
    if len(np.unique(grid)) < len(grid) or len(grid) < 2:
        raise MisuseError("angles", "hold at least two distinct angles", grid)
    turn = np.asarray(generator, dtype=np.float64)
    atoms = [turned_block(block, turn, float(angle)).atoms[:, active] for angle in grid]
    pairs = [(i, j) for i in range(len(grid)) for j in range(len(grid)) if i != j]
    gaps = np.array([s * abs(grid[i] - grid[j]) for i, j in pairs])
    target = np.array([hausdorff_distance(atoms[i], atoms[j]) for i, j in pairs]) / gaps
    mean = np.array([profiled_mean_distance(atoms[i], coefficients, atoms[j]) for i, j in pairs]) / gaps
    return OrbitSecantEstimate((float(target.min()), float(target.max())), (float(mean.min()), float(mean.max())))
