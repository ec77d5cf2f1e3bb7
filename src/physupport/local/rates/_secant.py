"""Least favourable pairs, and how much of a turn of the block shows in the deployment mean."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import expm

from ..._checks import check_array, check_count, check_nonnegative, check_positive, check_support
from ..._errors import MisuseError
from ..._typing import Array
from ...banks import hausdorff_distance, projective_distances
from ..shell import Block, LocalDictionary
from ._chart import atom_velocities, check_skew, compensated_generator
from ._scales import total_variation_from_divergence, two_point_diameter


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
    return block.turned(expm(angle * check_skew("generator", generator, block.frame.q - 1)))


def orientation_pair(block: Block, support: Iterable[int], step: float) -> OrientationPair:
    r"""The compensated pair :math:`R \to R e^{h\Omega}` of `compensated_generator` (eq:supp-orientation-target-secant).

    Equal coefficients on the balanced block have the same mean, hence the same deployment law, for every h: a
    coverage statement must hold the two supports apart by calibration alone.  step: h.
    """
    active = list(check_support("support", support, block.frame.q))
    turned = turned_block(block, compensated_generator(block.frame.template, active), step)
    before, after = block.atoms[:, active], turned.atoms[:, active]  # (q, r)
    matched = float(np.diagonal(projective_distances(before, after)).max())
    shift = float(np.linalg.norm(before.sum(axis=1) - after.sum(axis=1)))
    return OrientationPair(block, turned, hausdorff_distance(before, after), matched, shift)


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
    own = check_array("atoms", atoms, (None, None))
    others = check_array("other", other, own.shape)
    x = check_array("coefficients", coefficients, (own.shape[1],))
    # (D - D')x has the same residual as Dx, and is as small as the change itself.
    return float(np.linalg.norm(outside_span(np.linalg.qr(others)[0], (own - others) @ x)))


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
