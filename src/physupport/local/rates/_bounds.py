"""Bounds on the physical diameter: the two-point argument, and the three levels assembled."""

from dataclasses import dataclass
from typing import final

import numpy as np

from ..._checks import check_nonnegative, check_open, check_positive, check_support_size
from ..._errors import MisuseError
from ..shell import Amplitudes, Shell, separated_gap, support_margin
from ._scales import InformationScales, optimal_resolution


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
    if not 0.0 <= deficit <= 1.0:
        raise MisuseError("deficit", "lie between 0 and 1", repr(deficit))
    return float(np.sqrt(deficit * (2.0 - deficit)))


def two_point_diameter(separation: float, total_variation: float, alpha: float) -> float:
    r"""Expected diameter that coverage at two alternatives forces (eq:supp-two-point-diameter, lem:honesty-diameter).

    :math:`E_0\,\mathrm{diam}\,\hat C \ge d\,[1 - 2\alpha - \mathrm{TV}]_+`: under the first law both targets are in
    :math:`\hat C` with probability at least :math:`1 - 2\alpha - \mathrm{TV}`, and then its diameter is at least d.
    An upper bound on TV keeps the inequality.
    """
    if not 0.0 <= separation <= 1.0:
        raise MisuseError("separation", "lie between 0 and 1", repr(separation))
    if not 0.0 <= total_variation <= 1.0:
        raise MisuseError("total_variation", "lie between 0 and 1", repr(total_variation))
    return separation * max(0.0, 1.0 - 2.0 * check_open("alpha", alpha, 0.0, 0.5) - total_variation)


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
