"""Information scales, the physical resolution that they allow, and bounds on the physical diameter."""

from dataclasses import dataclass
from typing import final

import numpy as np

from ..._checks import check_count, check_nonnegative, check_open, check_positive, check_share, check_support_size
from ..._errors import MisuseError
from ..shell import Amplitudes, Shell, separated_gap, support_margin


@final
@dataclass(frozen=True, slots=True)
class InformationScales:
    r"""How much the data say about each level of the answer (eq:theorem-three-gates).

    The three do not combine into one scale: deployment settles the first two, calibration alone the third.
    """

    explanation: float  # I_G: coherent block or separated atom
    support: float  # I_S: which atoms of the block
    orientation: float  # I_D: where those atoms are physically


def information_scales(
    *, n_calibration: int, n_deployment: int, scale: float, r: int, weakest: float, noisiest: float
) -> InformationScales:
    r"""The three scales (eq:theorem-three-gates, eq:calibration-information-scale).

    :math:`I_G^{(r)} = T r^2\beta_-^2/\sigma_+^2,\quad I_S = T\beta_-^2 s^2/\sigma_+^2,\quad I_D = N s^6`.

    n_calibration: N.  n_deployment: T.  scale: s.  r: active atoms.  weakest: the smallest coefficient
    :math:`\beta_-`.  noisiest: the largest deployment noise level :math:`\sigma_+` (a standard deviation).
    """
    s, replicates = check_positive("scale", scale), check_count("n_deployment", n_deployment, 0)
    gain = replicates * (check_positive("weakest", weakest) / check_positive("noisiest", noisiest)) ** 2
    calibration = check_count("n_calibration", n_calibration, 0) * s**6
    return InformationScales(gain * check_count("r", r) ** 2, gain * s**2, calibration)


def optimal_resolution(n_calibration: int, scale: float) -> float:
    r"""Order of the best physical diameter once deployment is resolved (eq:optimal-physical-resolution).

    :math:`\delta_{\mathrm{opt}}(N, s) = s \wedge (\sqrt N s^2)^{-1}`, up to constants of the shell; the same rate
    is attained from above (eq:resolved-upper-rate) and forced from below (eq:resolved-minimax-rate).

    >>> optimal_resolution(10**5, 0.1)
    0.1
    >>> round(optimal_resolution(10**10, 0.1), 12)
    0.001
    """
    return scale * relative_resolution(n_calibration, scale)


def relative_resolution(n_calibration: int, scale: float) -> float:
    r"""Resolution as a fraction of the block: :math:`\min\{1, (N s^6)^{-1/2}\}` (eq:relative-physical-resolution)."""
    orientation = check_count("n_calibration", n_calibration, 0) * check_positive("scale", scale) ** 6
    return 1.0 if orientation <= 1.0 else float(orientation**-0.5)


def dictionary_radius(scale: float, moment_radius: float, constant: float) -> float:
    r"""Quotient radius of the calibration region from its moment radius (eq:dictionary-radius).

    :math:`\rho_N(s) = C[(s\wedge\epsilon_N) + (s\wedge\epsilon_N/s) + (s\wedge\epsilon_N/s^2)]`: centre, shape and
    orientation.  The constant exists by compactness of the shell and the paper gives no value, so the caller
    supplies it; with one from `dictionary_radius_constant_estimate` the radius is an estimate too and belongs in
    no guarantee.
    """
    s, radius = check_positive("scale", scale), check_nonnegative("moment_radius", moment_radius)
    return check_positive("constant", constant) * sum(min(s, radius / s**power) for power in range(3))


def restricted_orbit_rate(
    *, n_calibration: int, n_deployment: int, scale: float, secant: float, noise_level: float
) -> float:
    r"""Order of the best diameter on an orbit that deployment sees too (eq:restricted-task-rate).

    :math:`s \wedge s\,(N s^6 + T\chi_s^2 s^2/\sigma^2)^{-1/2}`: the two informations add.  With secant 0 this is
    `optimal_resolution`, whatever the number of replicates.  secant: :math:`\chi_s`.  noise_level: :math:`\sigma`.
    """
    s, chi = check_positive("scale", scale), check_nonnegative("secant", secant)
    visible = (chi * s / check_positive("noise_level", noise_level)) ** 2
    information = (
        check_count("n_calibration", n_calibration, 0) * s**6 + check_count("n_deployment", n_deployment, 0) * visible
    )
    return s if information <= 1.0 else s / float(np.sqrt(information))


def crossover_contrast_order(*, n_calibration: int, n_deployment: int, scale: float, noise_level: float) -> float:
    r"""Order of the coefficient contrast at which deployment matches calibration (eq:amplitude-crossover).

    :math:`|d_0| \asymp \sigma\sqrt{N/T}\, s^2`; `crossover_contrast` has the constant.
    """
    ratio = check_count("n_calibration", n_calibration) / check_count("n_deployment", n_deployment)
    return check_positive("noise_level", noise_level) * float(np.sqrt(ratio)) * check_positive("scale", scale) ** 2


def crossover_contrast(
    *, n_calibration: int, n_deployment: int, noise_level: float, radius: float, edge: float, information: float
) -> float:
    r"""The contrast |d| at which both experiments carry the same Fisher information about the two-atom angle.

    Calibration carries N J; deployment carries :math:`T(\lambda_\star s\,|d|\,\|v_1 - v_2\|/2)^2/\sigma^2`
    (eq:test-efficient-information with the secant of eq:two-atom-profile).  Equating them,
    :math:`|d| = 2\sigma\sqrt{NJ/T}\,/\,(\lambda_\star s\|v_1-v_2\|)`, which is eq:amplitude-crossover because
    :math:`J \asymp s^6`.

    radius: :math:`\lambda_\star s`.  edge: :math:`\|v_1 - v_2\|`.  information: J, that of one calibration
    observation about the same angle, for instance from `OrientationInformation.along`.
    """
    ratio = check_count("n_calibration", n_calibration) / check_count("n_deployment", n_deployment)
    reach = check_positive("radius", radius) * check_positive("edge", edge) / 2.0
    return (
        check_positive("noise_level", noise_level)
        * float(np.sqrt(ratio * check_positive("information", information)))
        / reach
    )


def total_variation_from_divergence(divergence: float) -> float:
    r"""Upper bound on total variation from KL: the smaller of Pinsker and Bretagnolle-Huber.

    :math:`\mathrm{TV} \le \min\{\sqrt{K/2},\ \sqrt{1 - e^{-K}}\}`; the first wins for small K, the second is below 1.

    >>> total_variation_from_divergence(0.0)
    0.0
    """
    if not divergence >= 0.0:
        raise MisuseError("divergence", "be at least 0", repr(divergence))
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


@final
@dataclass(frozen=True, slots=True)
class ThreeScaleBound:
    """A bound on the diameter of the correspondence, level by level; a level that is resolved contributes 0."""

    dictionary: float  # same support, dictionaries within rho
    support: float  # different supports of the block
    explanation: float  # block against separated atom

    @property
    def diameter(self) -> float:
        """The largest of the three: every pair of retained explanations is of exactly one of the three types."""
        return max(self.dictionary, self.support, self.explanation)

    @property
    def total(self) -> float:
        """The sum, which is how the bound is usually printed (eq:three-scale-upper-bound)."""
        return self.dictionary + self.support + self.explanation


def three_scale_upper_bound(
    shell: Shell, amplitudes: Amplitudes, r: int, *, dictionary_radius: float, ball_radius: float
) -> ThreeScaleBound:
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
    """
    r, rho = check_support_size(r, shell.q), check_nonnegative("dictionary_radius", dictionary_radius)
    gap, reach = 2.0 * check_positive("ball_radius", ball_radius), shell.cap * shell.scale
    height = float(np.sqrt(1.0 - reach**2))
    spread = 2.0 * reach * height if reach <= np.sqrt(0.5) else 1.0
    return ThreeScaleBound(
        dictionary=min(1.0, rho / height),
        support=spread if gap >= support_margin(shell, amplitudes, r, rho) else 0.0,
        explanation=1.0 if gap >= separated_gap(shell, amplitudes, r) else 0.0,
    )


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
    return check_positive("constant", constant) * max(gates)
