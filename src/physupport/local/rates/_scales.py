"""Information scales and the physical resolution that they allow."""

from dataclasses import dataclass
from typing import final

import numpy as np

from ..._checks import check_count, check_nonnegative, check_positive


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
    *,
    n_calibration: int,
    n_deployment: int,
    noise_level: float,
    radius: float,
    edge: float,
    information: float,
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
