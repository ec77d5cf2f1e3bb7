"""Rates, two-point bounds with their least favourable pairs, and what deployment sees of a turn of the block."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import erf, sqrt

import numpy as np
from tests.local.theory.margins import separated_gap, support_margin

from physupport._checks import check_nonnegative, check_open, check_share
from physupport._typing import Array
from physupport.banks import hausdorff_distance
from physupport.local.planning import InformationScales, optimal_resolution, outside_span
from physupport.local.shell import (
    Amplitudes,
    Block,
    LocalDictionary,
    Shell,
    atom_velocities,
    compensated_generator,
    turned_block,
)
from physupport.studies import explanation_pair, profiled_mean_distance, support_pair


def dictionary_radius(scale: float, moment_radius: float, constant: float) -> float:
    r"""Quotient radius of the calibration region from its moment radius (eq:dictionary-radius).

    :math:`\rho_N(s) = C[(s\wedge\epsilon_N) + (s\wedge\epsilon_N/s) + (s\wedge\epsilon_N/s^2)]`: centre, shape and
    orientation.  The constant exists by compactness of the shell and the paper gives no value, so the caller
    supplies it; with one from `dictionary_radius_ratio` the radius is an estimate too and belongs in
    no guarantee.
    """
    radius = check_nonnegative("moment_radius", moment_radius)
    return constant * sum(min(scale, radius / scale**power) for power in range(3))


def restricted_orbit_rate(
    *, n_calibration: int, n_deployment: int, scale: float, secant: float, noise_level: float
) -> float:
    r"""Order of the best diameter on an orbit that deployment sees too (eq:restricted-task-rate).

    :math:`s \wedge s\,(N s^6 + T\chi_s^2 s^2/\sigma^2)^{-1/2}`: the two informations add.  With secant 0 this is
    `optimal_resolution`, whatever the number of replicates.  secant: :math:`\chi_s`.  noise_level: :math:`\sigma`.
    """
    information = n_calibration * scale**6 + n_deployment * (secant * scale / noise_level) ** 2
    return scale if information <= 1.0 else scale / float(np.sqrt(information))


def crossover_contrast_order(*, n_calibration: int, n_deployment: int, scale: float, noise_level: float) -> float:
    r"""Order of the coefficient contrast at which deployment matches calibration (eq:amplitude-crossover).

    :math:`|d_0| \asymp \sigma\sqrt{N/T}\, s^2`; `crossover_contrast` has the constant.
    """
    return noise_level * float(np.sqrt(n_calibration / n_deployment)) * scale**2


def crossover_contrast(
    *, n_calibration: int, n_deployment: int, noise_level: float, radius: float, edge: float, information: float
) -> float:
    r"""The contrast |d| at which both experiments carry the same Fisher information about the two-atom angle.

    Calibration carries N J; deployment carries :math:`T(\lambda_\star s\,|d|\,\|v_1 - v_2\|/2)^2/\sigma^2`
    (eq:test-efficient-information with the secant of eq:two-atom-profile).  Equating them,
    :math:`|d| = 2\sigma\sqrt{NJ/T}\,/\,(\lambda_\star s\|v_1-v_2\|)`, which is eq:amplitude-crossover because
    :math:`J \asymp s^6`.

    radius: :math:`\lambda_\star s`.  edge: :math:`\|v_1 - v_2\|`.  information: J, that of one calibration
    observation about the same angle, for instance from `information_along`.
    """
    return noise_level * float(np.sqrt(n_calibration / n_deployment * information)) / (radius * edge / 2.0)


def total_variation_from_divergence(divergence: float) -> float:
    r"""Upper bound on total variation from KL: the smaller of Pinsker and Bretagnolle-Huber.

    :math:`\mathrm{TV} \le \min\{\sqrt{K/2},\ \sqrt{1 - e^{-K}}\}`; the first wins for small K, the second is below 1.

    >>> total_variation_from_divergence(0.0)
    0.0
    """
    return float(min(np.sqrt(divergence / 2.0), np.sqrt(-np.expm1(-divergence))))


def total_variation_from_affinity(deficit: float) -> float:
    r"""Upper bound on total variation from the affinity deficit 1 - A: :math:`\mathrm{TV} \le \sqrt{1 - A^2}`."""
    return float(np.sqrt(check_share("deficit", deficit) * (2.0 - deficit)))


def two_point_diameter(separation: float, total_variation: float, alpha: float) -> float:
    r"""Expected diameter that coverage at two alternatives forces (eq:supp-two-point-diameter, lem:honesty-diameter).

    :math:`E_0\,\mathrm{diam}\,\hat C \ge d\,[1 - 2\alpha - \mathrm{TV}]_+`: under the first law both targets are in
    :math:`\hat C` with probability at least :math:`1 - 2\alpha - \mathrm{TV}`, and then its diameter is at least d.
    An upper bound on TV keeps the inequality.
    """
    both = 1.0 - 2.0 * check_open("alpha", alpha, 0.0, 0.5) - check_share("total_variation", total_variation)
    return check_share("separation", separation) * max(0.0, both)


def three_scale_upper_bound(
    shell: Shell, amplitudes: Amplitudes, r: int, *, dictionary_radius: float, ball_radius: float
) -> tuple[float, float, float]:
    r"""Deterministic bound on the diameter of the correspondence, with its constants (eq:three-scale-upper-bound).

    Let any two retained dictionaries be within quotient distance rho and any two fitted means within 2 tau.
    Align the atoms by the permutation that attains rho.  Three kinds of pairs remain:

    - Block against separated atom: their means differ by at least the `separated_gap`, whatever the two dictionaries of
      the shell; impossible if 2 tau is below it, else at most 1, the largest projective distance. The paper compares
      with m_G(rho), which is the same at rho = 0 and smaller beyond, so this bound is never larger than the paper's.
    - Different aligned supports: means differ by at least m_S(rho); else both sets lie within angle
      :math:`\arcsin(C_0 s)` of the axis, so within :math:`\sin(2\arcsin C_0 s)` of each other (1 beyond a right angle).
    - Same support: at most :math:`\rho/\sqrt{1 - C_0^2s^2}`, because
      :math:`d_{\mathrm{pr}} \le \|d(z) - d(z')\| \le \|z - z'\|/\sqrt{1 - C_0^2 s^2}`, the chart's Lipschitz constant
      on its cap, and :math:`d_{\mathrm{pr}}([a],[a']) = \|P_a - P_{a'}\|_F/\sqrt2` for two separated atoms.

    dictionary_radius: rho.  ball_radius: tau.  The bound is a guarantee only if the given rho is guaranteed itself.

    Returns one number for each kind in the reverse order, 0 for a kind that is resolved.  Their maximum bounds the
    diameter, since every pair is of exactly one kind; their sum is how the bound is usually printed.
    """
    rho = check_nonnegative("dictionary_radius", dictionary_radius)
    gap = 2.0 * ball_radius
    reach = shell.cap * shell.scale
    height = float(np.sqrt(1.0 - reach**2))
    spread = 2.0 * reach * height if reach <= np.sqrt(0.5) else 1.0
    support = spread if gap >= support_margin(shell, amplitudes, r, rho) else 0.0
    explanation = 1.0 if gap >= separated_gap(shell, amplitudes, r) else 0.0
    return min(1.0, rho / height), support, explanation


def three_gate_lower_bound(
    scales: InformationScales,
    n_calibration: int,
    scale: float,
    *,
    constant: float,
    explanation_threshold: float,
    support_threshold: float,
) -> float:
    r"""Worst-case expected diameter that no valid correspondence can beat (eq:three-gate-lower-bound).

    :math:`c\,\max[1\{I_G \le c_G\},\ s\,1\{I_S \le c_S\},\ s \wedge (\sqrt N s^2)^{-1}]`.  The three constants exist
    by the theorem without values, so they are arguments; the pairs of `explanation_pair`, `support_pair` and
    `orientation_pair` give the same three terms with numbers.
    """
    gates = (
        1.0 if scales.explanation <= explanation_threshold else 0.0,
        scale if scales.support <= support_threshold else 0.0,
        optimal_resolution(n_calibration, scale),
    )
    return constant * max(gates)


def orientation_pair(block: Block, support: Sequence[int], step: float) -> tuple[Block, float]:
    r"""The compensated pair :math:`R \to R e^{h\Omega}` of `compensated_generator` (eq:supp-orientation-target-secant).

    Equal coefficients on the balanced block have the same mean, hence the same deployment law, for every h: a
    coverage statement must hold the two supports apart by calibration alone.  step: h.  Returns the turned block, and
    the projective Hausdorff distance of the active atoms before and after.
    """
    active = list(support)
    turned = turned_block(block, compensated_generator(block.frame.template, active), step)
    return turned, hausdorff_distance(block.atoms[:, active], turned.atoms[:, active])


def tangent_secant(
    block: Block, support: Sequence[int], coefficients: Array, generator: Array, *, scale: float
) -> tuple[float, Array]:
    r"""The coefficient-profiled orientation secant (eq:tangent-secant).

    :math:`\chi_{\tan} = \tfrac1s\inf_{\dot x}\|\dot D_S[\Omega]x + D_S\dot x\|
    = \tfrac1s\|P^\perp_{\mathrm{span}(D_S)}\dot D_S[\Omega]x\|`, for any block, not only the balanced one.  0 means
    that deployment cannot see the turn, however many replicates.

    Returns :math:`\chi_{\tan}` and the minimising change of coefficients (r,) per unit turn.
    """
    active = list(support)
    moved = atom_velocities(block, (block.shape @ generator @ block.frame.template)[None])[0]  # (q, q)
    velocity = moved[:, active] @ coefficients  # (q,)
    frame, triangle = np.linalg.qr(block.atoms[:, active])
    chi = float(np.linalg.norm(outside_span(frame, velocity))) / scale
    return chi, -np.linalg.solve(triangle, frame.T @ velocity)


def deployment_information(secant: float, *, scale: float, noise_level: float, n_deployment: int) -> float:
    r"""Efficient information of T deployment rows about a turn (eq:test-efficient-information).

    :math:`I^{\mathrm{test}}_{\Omega\mid x} = T s^2\chi_{\tan}^2/\sigma^2`.  Not knowing sigma costs nothing: mean and
    variance of a Gaussian are orthogonal parameters.
    """
    return n_deployment * (secant * scale / noise_level) ** 2


def two_atom_secant(stretch: float, contrast: float, edge: float) -> float:
    r"""Secant of the two-atom orbit, :math:`\chi_s = \tfrac12\lambda_\star|d|\,\|v_1-v_2\|` (cor:two-atom-contrast).

    stretch: :math:`\lambda_\star`.
    """
    return stretch * edge * abs(contrast) / 2.0


def orbit_secant_estimate(
    block: Block,
    support: Sequence[int],
    generator: Array,
    coefficients: Array,
    angles: Array,
    *,
    scale: float,
) -> tuple[tuple[float, float], tuple[float, float]]:
    r"""The two conditions of the restricted orbit on a grid (eq:target-secant, eq:test-mean-secant).

    Extremes, over the pairs of angles, of a displacement divided by s times the angle between them: of the projective
    Hausdorff distance of the physical supports (:math:`c_V, C_V`), and of the profiled distance of the deployment means
    (:math:`c\chi_s, C\chi_s`).  An estimate: the conditions quantify over all angles, the grid over finitely many.
    """
    atoms = [turned_block(block, generator, float(angle)).atoms[:, list(support)] for angle in angles]
    pairs = [(i, j) for i in range(len(atoms)) for j in range(len(atoms)) if i != j]
    gaps = np.array([scale * abs(angles[i] - angles[j]) for i, j in pairs])
    target = np.array([hausdorff_distance(atoms[i], atoms[j]) for i, j in pairs]) / gaps
    mean = np.array([profiled_mean_distance(atoms[i], coefficients, atoms[j]) for i, j in pairs]) / gaps
    return (float(target.min()), float(target.max())), (float(mean.min()), float(mean.max()))


@dataclass(frozen=True)
class MeanPair:
    """Two deployment means on one calibration law: only deployment can tell them apart."""

    mean: Array  # (q,)
    other: Array  # (q,)
    separation: float  # projective Hausdorff distance of the two physical supports

    def divergence(self, noise_level: float, n_deployment: int) -> float:
        r"""KL of the whole experiment, :math:`T\|\mu_0-\mu_1\|^2/(2\sigma^2)`; the calibration part is 0."""
        distance = float(np.linalg.norm(self.mean - self.other)) / noise_level
        return n_deployment * distance**2 / 2.0


def explanation_means(dictionary: LocalDictionary, support: Sequence[int], coefficient: float) -> MeanPair:
    """The pair of `explanation_pair` with the distance of its supports."""
    separation = hausdorff_distance(dictionary.block.atoms[:, list(support)], dictionary.separated[:, None])
    return MeanPair(*explanation_pair(dictionary, support, coefficient), separation)


def support_means(block: Block, support: Sequence[int], swap: tuple[int, int], coefficient: float) -> MeanPair:
    """The pair of `support_pair` with the distance of its supports."""
    means = support_pair(block, support, swap, coefficient)
    changed = [swap[1] if j == swap[0] else j for j in support]
    return MeanPair(*means, hausdorff_distance(block.atoms[:, list(support)], block.atoms[:, changed]))


def mean_pair_diameter(pair: MeanPair, noise_level: float, n_deployment: int, alpha: float) -> float:
    r"""Lower bound on the expected diameter of every correspondence that covers both with probability 1 - alpha.

    The total variation of the two Gaussian experiments is exact:
    :math:`2\Phi(\sqrt T\|\mu_0-\mu_1\|/(2\sigma)) - 1 = \mathrm{erf}(\sqrt{\mathrm{KL}}/2)`.
    """
    total_variation = erf(sqrt(pair.divergence(noise_level, n_deployment)) / 2.0)
    return two_point_diameter(pair.separation, total_variation, alpha)
