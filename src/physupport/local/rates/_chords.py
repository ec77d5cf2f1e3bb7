"""Estimates of constants that exist by compactness of the shell: extremes over random pairs, never a guarantee.

A sampled minimum is at least the true one and a sampled maximum at most the true one, so each pair of numbers lies
inside the true range.  They say how large the constants are, not that they hold.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import starmap
from typing import final

import numpy as np

from ..._checks import check_count, check_positive
from ..._errors import MisuseError
from ..._typing import Array
from ...laws import BernoulliGaussian, CodeLaw, calibration_mixture
from ..regions import CalibrationClass, CalibrationParameter, fourth_cumulant, second_moment
from ..shell import (
    Block,
    Frame,
    LocalDictionary,
    invariant_coordinates,
    invariant_distance,
    make_rotation,
    orbit_distance,
    quotient_distance,
)
from ._chart import balanced_dictionary, collapsed_operator, invariant_differentials, skew_basis, symmetric_basis
from ._information import midpoint_monte_carlo, orientation_information
from ._scales import dictionary_radius


@final
@dataclass(frozen=True, slots=True)
class ConstantEstimate:
    """Smallest and largest ratio met in a sample: estimates of the constants c and C of a two-sided bound."""

    lower: float
    upper: float
    n_samples: int


def _invariant_gap(first: CalibrationParameter, second: CalibrationParameter) -> float:
    """Distance in the invariant coordinates; the activity counts where the law has one."""
    coordinates = [invariant_coordinates(theta.dictionary, theta.noise) for theta in (first, second)]
    return invariant_distance(*coordinates, activities=(first.law.activity or 0.0, second.law.activity or 0.0))


def moment_chord_estimate(kept: CalibrationClass, rng: np.random.Generator, n_pairs: int) -> ConstantEstimate:
    r"""Range of :math:`\|\Delta(\nu, \Sigma_2, \Sigma_4)\|/\delta_F` over pairs of the shell (eq:sm-tech-s8-16)."""
    operator = collapsed_operator(kept.shell.frame, kept.shell.reference)

    def ratio(first: CalibrationParameter, second: CalibrationParameter) -> tuple[float, float]:
        second = CalibrationParameter(first.law, second.dictionary, second.noise)
        moments = [operator.output_coordinates(theta.dictionary, theta.noise) for theta in (first, second)]
        value = float(np.linalg.norm(moments[0] - moments[1])) / _invariant_gap(first, second)
        return value, value

    return _extremes(starmap(ratio, _pairs(kept, rng, n_pairs)))


def statistical_chord_estimate(
    kept: CalibrationClass, rng: np.random.Generator, n_pairs: int, n_draws: int
) -> ConstantEstimate:
    r"""Smallest :math:`H^2/\delta^2`, largest :math:`J/\delta^2` over pairs (eq:unknown-p-chord, eq:fixed-law-chord).

    Jeffreys divergence J bounds KL in both directions, so the upper number covers the sampled pairs' KL.
    """

    def ratio(first: CalibrationParameter, second: CalibrationParameter) -> tuple[float, float]:
        laws = [calibration_mixture(theta.law, theta.dictionary.atoms, theta.noise) for theta in (first, second)]
        divergence = midpoint_monte_carlo(laws[0], laws[1], rng, n_draws)
        square = _invariant_gap(first, second) ** 2
        return divergence.hellinger_squared / square, divergence.jeffreys / square

    return _extremes(starmap(ratio, _pairs(kept, rng, n_pairs)))


def orientation_chord_estimate(
    frame: Frame,
    law: CodeLaw,
    noise: float,
    rng: np.random.Generator,
    *,
    scale: float,
    stretch: float,
    n_pairs: int,
    n_draws: int,
) -> ConstantEstimate:
    r"""Smallest :math:`H^2` and largest J on the balanced submodel, over :math:`s^6 d^2` (eq:orientation-chord).

    d is the distance of the orientations up to relabelling.  Half of the pairs are independent, half are close.
    """
    radius = check_positive("scale", scale) * check_positive("stretch", stretch)

    def pairs() -> Iterator[tuple[Array, Array]]:
        for number in range(check_count("n_pairs", n_pairs)):
            first = make_rotation(rng, frame.q - 1)
            yield first, first @ make_rotation(rng, frame.q - 1, 0.3 if number % 2 else None)

    def ratio(first: Array, second: Array) -> tuple[float, float]:
        laws = [
            calibration_mixture(law, balanced_dictionary(frame, radius, turn).atoms, noise) for turn in (first, second)
        ]
        divergence = midpoint_monte_carlo(laws[0], laws[1], rng, n_draws)
        square = scale**6 * orbit_distance(first, second, frame.template)[0] ** 2
        return divergence.hellinger_squared / square, divergence.jeffreys / square

    return _extremes(starmap(ratio, pairs()))


def information_estimate(
    kept: CalibrationClass, rng: np.random.Generator, n_points: int, n_draws: int
) -> ConstantEstimate:
    """Range of the Fisher information over the unit sphere of the mixed norm, over points (eq:sm-tech-s10-11)."""

    def ratio(theta: CalibrationParameter) -> tuple[float, float]:
        known = theta.dictionary, theta.law, theta.noise
        return orientation_information(*known, scale=kept.shell.scale, rng=rng, n_draws=n_draws).mixed_range

    return _extremes(ratio(kept.sample(rng)) for _ in range(check_count("n_points", n_points)))


def differential_estimate(kept: CalibrationClass, rng: np.random.Generator, n_points: int) -> ConstantEstimate:
    r"""Range of :math:`\|DF_p[h]\|^2` over the unit sphere of the mixed norm, over points (eq:sm-tech-s10-5)."""
    count, scale = check_count("n_points", n_points), kept.shell.scale
    return _extremes(differential_range(kept.sample(rng).dictionary, scale) for _ in range(count))


def differential_range(dictionary: LocalDictionary, scale: float) -> tuple[float, float]:
    r"""Smallest and largest :math:`\|DF_p[h]\|^2/\|h\|_{\mathrm{mix}}^2` at one dictionary, exactly (eq:sm-tech-s10-5).

    On p, nu, b and P_a both norms agree, so the ratio is 1 there; the rest is the map from (S, Omega) to (G_2, G_3).
    """
    across, s = dictionary.q - 1, check_positive("scale", scale)
    symmetric, skew, none = symmetric_basis(across, 2), skew_basis(across), np.zeros((across, across))
    directions = [(stretch, none, s) for stretch in symmetric] + [(none, turn, s**3) for turn in skew]
    changes = [
        np.concatenate([np.ravel(part) for part in invariant_differentials(dictionary.block, stretch, turn)]) / size
        for stretch, turn, size in directions
    ]
    values = np.linalg.svd(np.stack(changes), compute_uv=False) ** 2
    return min(1.0, float(values[-1])), max(1.0, float(values[0]))


def profile_radius_estimate(kept: CalibrationClass, rng: np.random.Generator, n_pairs: int) -> ConstantEstimate:
    r"""Range of :math:`(|p-p'| + \delta_F)/\epsilon` over pairs of the class (eq:supp-profile-F-radius).

    Use the upper end.  :math:`\epsilon` is half the distance of their moments: two members of one calibration region,
    whose moments are within :math:`\epsilon_N` of its centre, have :math:`\epsilon \le \epsilon_N`.
    """

    def ratio(first: CalibrationParameter, second: CalibrationParameter) -> tuple[float, float]:
        coordinates = [invariant_coordinates(theta.dictionary, theta.noise) for theta in (first, second)]
        activities = [theta.law.activity or 0.0 for theta in (first, second)]
        gap = abs(activities[0] - activities[1]) + invariant_distance(coordinates[0], coordinates[1])
        value = gap / _half_moment_distance(first, second)
        return value, value

    return _extremes(starmap(ratio, _pairs(kept, rng, n_pairs)))


def dictionary_radius_constant_estimate(
    kept: CalibrationClass, rng: np.random.Generator, n_pairs: int
) -> ConstantEstimate:
    r"""Range of the ratio whose supremum is the constant of `dictionary_radius` (eq:dictionary-radius).

    Use the upper end.  The ratio is that of the quotient distance of two members of the class to the bracket at half
    the distance of their moments, as in `profile_radius_estimate`.
    """

    def ratio(first: CalibrationParameter, second: CalibrationParameter) -> tuple[float, float]:
        bracket = dictionary_radius(kept.shell.scale, _half_moment_distance(first, second), 1.0)
        value = quotient_distance(first.dictionary, second.dictionary).distance / bracket
        return value, value

    return _extremes(starmap(ratio, _pairs(kept, rng, n_pairs)))


def _half_moment_distance(first: CalibrationParameter, second: CalibrationParameter) -> float:
    moments = []
    for theta in (first, second):
        atoms = theta.dictionary.atoms
        covariance = np.ravel(second_moment(theta.law, atoms, theta.noise))
        moments.append(np.concatenate([covariance, fourth_cumulant(theta.law, atoms)]))
    return float(np.linalg.norm(moments[0] - moments[1])) / 2.0


def _pairs(
    kept: CalibrationClass, rng: np.random.Generator, n_pairs: int
) -> Iterator[tuple[CalibrationParameter, CalibrationParameter]]:
    return (make_parameter_pair(kept, rng, pair % 3) for pair in range(check_count("n_pairs", n_pairs)))


def _extremes(ratios: Iterable[tuple[float, float]]) -> ConstantEstimate:
    values = np.array(list(ratios))
    return ConstantEstimate(float(values[:, 0].min()), float(values[:, 1].max()), len(values))


# Perturbations of an interior point leave the shell only when large; this many tries all but always find one.
_TRIES = 200


def make_parameter_pair(
    kept: CalibrationClass, rng: np.random.Generator, kind: int
) -> tuple[CalibrationParameter, CalibrationParameter]:
    """Two parameters inside the class: independent (kind 0), close (1), or equal up to a turn of the block (2)."""
    check_count("kind", kind, 0, 2)
    for _ in range(_TRIES):
        first, second = kept.sample(rng), kept.sample(rng)
        if kind == 1:
            second = _mixed(first, second, 10.0 ** rng.uniform(-2.0, 0.0))
        elif kind == 2:
            turn = make_rotation(rng, kept.q - 1, 10.0 ** rng.uniform(-2.0, 0.0))
            second = CalibrationParameter(first.law, first.dictionary.turned(turn), first.noise)
        if kept.membership(first).inside and kept.membership(second).inside:
            return first, second
    raise MisuseError("kept", "leave room for perturbations", f"{_TRIES} tries outside the class", "Widen the shell.")


def _mixed(first: CalibrationParameter, second: CalibrationParameter, share: float) -> CalibrationParameter:
    """The first parameter moved by a share of the way to the second."""
    start, end = first.dictionary.block, second.dictionary.block
    center, shape = ((1.0 - share) * a + share * b for a, b in ((start.center, end.center), (start.shape, end.shape)))
    separated = (1.0 - share) * first.dictionary.separated + share * second.dictionary.separated
    dictionary = LocalDictionary(Block(start.frame, center, shape), separated / np.linalg.norm(separated))
    law, p, other = first.law, first.law.activity, second.law.activity
    if p is not None and other is not None:
        law = BernoulliGaussian((1.0 - share) * p + share * other)
    return CalibrationParameter(law, dictionary, (1.0 - share) * first.noise + share * second.noise)
