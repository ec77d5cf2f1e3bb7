"""The joint information of calibration and deployment, the resolution that follows, and its map."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular
from scipy.optimize import brentq
from scipy.special import chdtri, ndtr

from ..._checks import check_array, check_open, check_positive
from ..._errors import Clause, MisuseError
from ..._typing import Array, BoolArray
from ..shell import Block, LocalDictionary
from ._design import (
    Design,
    TangentChart,
    atom_distances,
    block_scale,
    orientation_information,
    skew_coordinates,
    tangent_chart,
)

# About one percent in the information for four atoms, half of that in a diameter. The work grows like 2^q, so larger
# blocks get fewer draws, but never so few that the error exceeds three percent.
_DRAWS = 50_000
_FEWEST_DRAWS = 10_000
# Few draws: a map has many scales, and a percent cannot be seen in it.
_MAP_DRAWS = 10_000


@final
@dataclass(frozen=True, slots=True, eq=False)
class JointInformation:
    r"""Information on the unknown part of the block, with the deployment coefficients profiled out.

    The joint information of (chart, x) is :math:`N\,I_{\mathrm{cal}} + (T/\sigma^2)\,G^\top G` with
    :math:`G = \partial\mu/\partial(\mathrm{chart}, x)`; profiling x leaves
    :math:`H = P^\perp_{\mathrm{span}(D_S)}\,\partial\mu/\partial\mathrm{chart}` in the place of G (eq:tangent-secant).
    With :math:`I_{\mathrm{cal}}^{-1} = FF^\top` and :math:`HF = U\,\mathrm{diag}(v)\,W^\top` both terms are diagonal:
    mode i carries the information :math:`N + T v_i^2/\sigma^2`, so one deployment row is worth
    :math:`v_i^2/\sigma^2` calibration rows there.  No difference is formed, so N and T may be of any size.
    """

    moves: Array  # (r, q, k): velocity of each active atom along mode i, E_j F W
    worth: Array  # (k,): calibration rows that one deployment row replaces
    adjustments: Array  # (r, k): change of each coefficient along mode i that hides most of it; 0 for those held
    dictionary_moves: Array  # (q + 1, q, k): velocity of every atom of the dictionary along mode i

    def deviation(self, n_calibration: float, n_deployment: float) -> float:
        r"""Standard deviation of the worst-known active atom in its worst direction.

        Square root of the largest eigenvalue of :math:`\sum_i a_{ji}a_{ji}^\top/(N + T v_i^2/\sigma^2)` over atoms j.
        """
        scaled = self.moves / self._roots(n_calibration, n_deployment)
        return float(np.linalg.svd(scaled, compute_uv=False).max())

    def coefficient_shift(self, n_calibration: float, n_deployment: float) -> Array:
        """Change of the coefficients (r,) when the worst-known active atom moves by one standard deviation.

        Along the least favourable direction: of all changes of the unknowns that move that atom so far, the one that
        the data see least.
        """
        roots = self._roots(n_calibration, n_deployment)
        _, sizes, directions = np.linalg.svd(self.moves / roots, full_matrices=False)
        worst = int(sizes[:, 0].argmax())
        return np.asarray(self.adjustments @ (directions[worst, 0] / roots))

    def diameter(self, level: float, n_calibration: float, n_deployment: float) -> float:
        r"""Diameter of the joint confidence ellipsoid of the active atoms, even where it exceeds the block.

        :math:`2\sqrt{\chi^2_{m,1-\alpha}}` times the worst standard deviation, m the dimension of the ellipsoid,
        r (q - 1) or fewer when less is unknown: two of its points differ in atom j by at most that multiple of the
        deviation of atom j, and some pair attains it.
        """
        r, q, k = self.moves.shape
        reach = 2.0 * float(np.sqrt(chdtri(min(k, r * (q - 1)), level)))
        return reach * self.deviation(n_calibration, n_deployment)

    def dictionary_diameters(self, level: float, n_calibration: float, n_deployment: float) -> tuple[float, float]:
        """Diameters of the joint confidence ellipsoid of all unknowns: worst coherent atom, and the separated one."""
        scaled = self.dictionary_moves / self._roots(n_calibration, n_deployment)
        deviations = np.linalg.svd(scaled, compute_uv=False).max(axis=1)  # (q + 1,)
        reach = 2.0 * float(np.sqrt(chdtri(len(self.worth), level)))
        return reach * float(deviations[:-1].max()), reach * float(deviations[-1])

    def _roots(self, n_calibration: float, n_deployment: float) -> Array:
        return np.sqrt(n_calibration + n_deployment * self.worth)


def joint_information(information: Array, design: Design, held: BoolArray | None = None) -> JointInformation:
    """Both experiments together, at the coefficients of the design.

    held: (r,), coefficients that count as known; none unless given.
    """
    support = list(design.support)
    free = np.ones(len(support), dtype=bool) if held is None else ~held
    has_probability = design.law.activity is not None
    chart = tangent_chart(design.dictionary, block_scale(design.dictionary), free_probability=has_probability)
    unknown = _unknown_directions(chart, design)  # (m, k)
    velocities = np.einsum("mk,kqj->mqj", unknown, chart.d_atoms)  # (m, q, q + 1)
    whitener = _inverse_factor(unknown @ information @ unknown.T)  # (m, m)
    moved = velocities[:, :, support] @ design.coefficients  # (m, q), of the mean
    frame, triangle = np.linalg.qr(design.active[:, free])
    _, values, modes = np.linalg.svd(outside_span(frame, moved).T @ whitener)
    worth = np.zeros(len(unknown))
    worth[: len(values)] = (values / design.sigma) ** 2
    to_modes = whitener @ modes.T  # (m, m)
    adjustments = np.zeros((len(free), len(unknown)))
    adjustments[free] = -np.linalg.solve(triangle, frame.T @ moved.T @ to_modes)
    everywhere = np.einsum("mqj,mi->jqi", velocities, to_modes)
    return JointInformation(everywhere[support], worth, adjustments, everywhere)


def outside_span(frame: Array, vectors: Array) -> Array:
    """The part of each vector (..., q) outside the span of orthonormal columns (q, f)."""
    rest = vectors - vectors @ frame @ frame.T
    return np.asarray(rest - rest @ frame @ frame.T)  # once more: the first pass leaves rounding


def _unknown_directions(chart: TangentChart, design: Design) -> Array:
    """The unknowns as rows in the chart: all its directions, or the one turn."""
    n_directions = len(chart.sizes)
    if design.turn is None:
        return np.eye(n_directions)
    turn = np.zeros(n_directions)
    turn[chart.n_nuisance :] = skew_coordinates(design.turn, design.dictionary.q - 1)
    if not turn.any():
        raise MisuseError("turn", "move the block", Clause("it is zero"))
    return turn[None]


def _inverse_factor(information: Array) -> Array:
    r"""F with :math:`FF^\top` the inverse, from unit diagonal: the directions differ in size by a factor s^3."""
    unit = np.sqrt(np.diagonal(information))
    try:
        lower = np.linalg.cholesky(information / np.outer(unit, unit))
    except np.linalg.LinAlgError:
        rule = "let calibration data see every direction in which it may change"
        raise MisuseError("dictionary", rule, Clause("the information matrix is singular")) from None
    return np.asarray(solve_triangular(lower, np.diag(1.0 / unit), lower=True).T)


def block_information(design: Design, n_draws: int | None = None) -> Array:
    """Fisher information of one calibration row about everything, from the same draws at every scale.

    n_draws: Monte Carlo rows; unless given, 50 000 for four atoms and fewer for more, but at least 10 000.
    """
    dictionary = design.dictionary
    rng = np.random.default_rng(0)
    draws = max(_FEWEST_DRAWS, _DRAWS >> max(0, dictionary.q - 4)) if n_draws is None else n_draws
    scale = block_scale(dictionary)
    with np.errstate(over="ignore", invalid="ignore"):
        found = orientation_information(dictionary, design.law, design.noise, scale=scale, rng=rng, n_draws=draws)
    # Atoms that are next to never active leave an information that underflows, or products of it that do.
    if not np.isfinite(found).all() or not np.diagonal(found).min() > np.finfo(float).tiny:
        raise MisuseError("p", "be large enough for calibration rows to see the atoms", Clause("the information is 0"))
    return found


@final
@dataclass(frozen=True, slots=True)
class PlannedResolution:
    """Physical resolution of the active elements as projective distances.

    attainable: diameter of the efficient confidence set in the local asymptotics of the exact calibration mixture and
    the deployment law, all nuisance profiled; never more than the block itself. Likelihood-based sets attain it; the
    moment regions of `physupport.local.regions` are wider. floor: no set that is valid everywhere at the same level has
    a smaller worst expected diameter, in the same asymptotics.
    """

    attainable: float
    floor: float
    block: float  # largest distance between two atoms of the block

    @property
    def sees_inside(self) -> bool:
        """True if anything finer than the block is attainable."""
        return self.attainable < self.block


def planned_resolution(information: Array, design: Design) -> PlannedResolution:
    """The diameter that calibration and deployment attain together, or the block where that is smaller; and `floor`."""
    joint = joint_information(information, design)
    block = float(atom_distances(design.dictionary).max())
    attainable = joint.diameter(design.level, design.n_calibration, design.n_deployment)
    return PlannedResolution(min(attainable, block), floor(information, design), block)


def floor(information: Array, design: Design) -> float:
    r"""Two-point lower bound of the resolution (eq:supp-two-point-diameter) along the least favourable direction.

    Two parameters :math:`\kappa` standard deviations apart, the planned one in the middle, their worst atom at most
    half the spacing of the block apart: so far the projective Hausdorff distance of the two supports is at least the
    displacement of that atom. Both must be allowed. A coefficient that would leave its range on the way, one on the
    edge above all, is held: that only takes possibilities from nature, so the bound stays true, and it is lower.
    """
    x = design.coefficients
    box = design.amplitudes.block
    spacing = float(atom_distances(design.dictionary).min())
    held = np.zeros(len(x), dtype=bool)
    while True:
        joint = joint_information(information, design, held)
        deviation = joint.deviation(design.n_calibration, design.n_deployment)
        widest = spacing / 2.0 / deviation
        kappa = two_point_distance(design.level, widest)
        moved = 0.5 * kappa * np.abs(joint.coefficient_shift(design.n_calibration, design.n_deployment))
        leaves = ~held & ((x - moved < box.lower) | (x + moved > box.upper))
        if not leaves.any():
            return deviation * two_point_factor(design.level, widest)
        held |= leaves


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


@final
@dataclass(frozen=True, slots=True, eq=False)
class ResolutionMap:
    """Diameters relative to the block, one row a scale and one column a calibration size."""

    scales: Array  # (m,), s
    rows: Array  # (n,), N
    relative: Array  # (m, n), attainable diameter over block diameter, before it is cut off at 1
    onset: Array  # (m,), N at which the relative diameter is 1: calibration begins to see inside the block
    planned: tuple[float, float]  # N and s of the design

    @property
    def frontier(self) -> float:
        """K of the line N s^6 = K on which calibration begins to see inside the block: median over the scales."""
        return float(np.median(self.onset * self.scales**6))


def resolution_map(
    design: Design, scales: ArrayLike, rows: ArrayLike, watched: Callable[[Iterable[float]], Iterable[float]] = iter
) -> ResolutionMap:
    """The map of a design: its block is shrunk or grown to each scale about its axis, everything else stays.

    watched: wraps the loop over the scales, for instance in a progress bar.
    """
    heights = check_array("scales", scales, (None,))
    sizes = check_array("rows", rows, (None,))
    check_positive("rows", float(sizes.min()))
    relative: list[list[float]] = []
    onset: list[float] = []
    for scale in watched(heights.tolist()):
        width = _relative_width(replace(design, dictionary=_rescaled(design.dictionary, scale)))
        relative.append([width(n) for n in sizes])
        onset.append(_onset(width))
    planned = (float(design.n_calibration), block_scale(design.dictionary))
    return ResolutionMap(heights, sizes, np.array(relative), np.array(onset), planned)


def map_scales(design: Design, n_scales: int) -> Array:
    """Scales about that of the design, a factor 2.5 either way as far as the atoms allow."""
    middle = block_scale(design.dictionary)
    reach = float(np.linalg.norm(design.dictionary.block.coordinates, axis=0).max())
    return np.geomspace(middle / 2.5, middle * min(2.5, 0.9 / reach), n_scales)


def _relative_width(design: Design) -> Callable[[float], float]:
    joint = joint_information(block_information(design, _MAP_DRAWS), design)
    block = float(atom_distances(design.dictionary).max())
    return lambda n: joint.diameter(design.level, n, design.n_deployment) / block


def _onset(width: Callable[[float], float]) -> float:
    """N at which the relative diameter is 1; 0 if deployment alone sees inside."""
    if width(1e-30) <= 1.0:
        return 0.0
    # It falls like a power of N, so logarithms are searched.
    return float(np.exp(brentq(lambda v: np.log(width(np.exp(v))), np.log(1e-30), np.log(1e60), xtol=1e-10)))


def _rescaled(dictionary: LocalDictionary, scale: float) -> LocalDictionary:
    block = dictionary.block
    factor = check_positive("scales", scale) / block_scale(dictionary)
    reach = factor * float(np.linalg.norm(block.coordinates, axis=0).max())
    if reach >= 1.0:
        raise MisuseError("scales", "keep every atom within 1 of the axis", f"reach {reach:.3g} at scale {scale:g}")
    return LocalDictionary(Block(block.frame, factor * block.center, factor * block.shape), dictionary.separated)
