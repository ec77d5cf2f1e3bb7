"""Divergences of two calibration laws, and constants of the shell estimated from samples, which are no guarantee.

A sampled minimum is at least the true one and a sampled maximum at most the true one, so each pair of numbers lies
inside the true range.  They say how large the constants are, not that they hold.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from tests.local.theory.expansions import invariant_differentials, moment_map
from tests.local.theory.invariants import invariant_coordinates, invariant_distance, orbit_distance
from tests.local.theory.moments import make_rotation, symmetric_basis, turned
from tests.local.theory.rates import dictionary_radius

from physupport._checks import check_count
from physupport._errors import MisuseError
from physupport._typing import Array
from physupport.laws import BernoulliGaussian, CodeLaw, GaussianMixture, Tangent, calibration_mixture
from physupport.local.planning import orientation_information, tangent_chart
from physupport.local.planning._design import TangentChart, scored_chart, skew_coordinates
from physupport.local.regions import (
    CalibrationClass,
    CalibrationParameter,
    fourth_cumulant,
    second_moment,
)
from physupport.local.shell import Block, Frame, LocalDictionary, balanced_dictionary, skew_basis
from physupport.studies import Divergence, common_monte_carlo, even_gauss_hermite, quotient_distance

# Rows handled at a time; fixed, so that the result does not depend on the machine.
_BLOCK = 2**16
# Entries of the largest node array: 400 MB.
_MOST_NODE_ENTRIES = 5 * 10**7
# Perturbations of an interior point leave the shell only when large; this many tries all but always find one.
_TRIES = 200

Range = tuple[float, float]  # smallest and largest ratio met in a sample


def fisher_quadrature(mixture: GaussianMixture, tangent: Tangent, order: int) -> Array:
    r"""Fisher information :math:`\sum_i w_i\, \mathbb E_{N(0, C_i)}(S S^\top)`, (k, k), by tensor Gauss-Hermite.

    Every component is integrated with its own nodes. The score is smooth but no polynomial: raise the order until the
    result settles.
    """
    nodes, node_weights = even_gauss_hermite(mixture.q, order)  # the law is even, so its score is
    information = np.zeros((tangent.n_directions, tangent.n_directions))
    for weight, factor in zip(mixture.weights, mixture.factors, strict=True):
        for start in range(0, len(nodes), _BLOCK):
            block = slice(start, start + _BLOCK)
            score = mixture.score(nodes[block] @ factor.T, tangent)  # (block, k)
            information += weight * (score.T * node_weights[block]) @ score
    return information


@dataclass(frozen=True)
class OrientationInformation:
    """Fisher information (k, k) of one observation in a point-adapted chart, nuisance directions first."""

    chart: TangentChart
    information: Array


def orientation_information_sampled(
    dictionary: LocalDictionary, law: CodeLaw, noise: float, *, scale: float, rng: np.random.Generator, n_draws: int
) -> OrientationInformation:
    """`orientation_information` with its chart."""
    chart = tangent_chart(dictionary, scale, free_probability=law.activity is not None)
    found = orientation_information(dictionary, law, noise, scale=scale, rng=rng, n_draws=n_draws)
    return OrientationInformation(chart, found)


def orientation_information_quadrature(
    dictionary: LocalDictionary, law: CodeLaw, noise: float, *, scale: float, order: int
) -> OrientationInformation:
    """`orientation_information` by quadrature in every component: deterministic, for q up to about 5."""
    chart, mixture, tangent = scored_chart(dictionary, law, noise, scale)
    return OrientationInformation(chart, fisher_quadrature(mixture, tangent, order))


def profiled(found: OrientationInformation) -> Array:
    r"""Orientation information after profiling the nuisance (eq:sm-tech-s10-16), as a form on so(q - 1).

    :math:`I_{\Omega\Omega} - I_{\Omega\eta}I_{\eta\eta}^{-1}I_{\eta\Omega}`, in the basis `skew_basis`.  Taken from
    the Cholesky factor of the whole matrix, which forms no difference, so small informations keep their digits
    and the result is positive semidefinite.  Returns (m, m).
    """
    unit = np.sqrt(np.diagonal(found.information))  # the directions differ by a factor s^3
    factor = np.linalg.cholesky(found.information / np.outer(unit, unit))
    start = found.chart.n_nuisance
    corner = unit[start:, None] * factor[start:, start:]
    return np.asarray(corner @ corner.T)


def known_nuisance(found: OrientationInformation) -> Array:
    """Orientation information when every nuisance parameter is known, (m, m); never below the profiled one."""
    start = found.chart.n_nuisance
    return found.information[start:, start:]


def profiled_range(found: OrientationInformation) -> tuple[float, float]:
    r"""Extremes of the profiled information on :math:`\|\Omega\|_F = 1` (eq:profiled-orientation-information)."""
    values = np.linalg.eigvalsh(profiled(found))
    return float(values[0]), float(values[-1])


def mixed_range(found: OrientationInformation) -> tuple[float, float]:
    """Smallest and largest information over the unit sphere of the mixed norm (eq:sm-tech-s10-11)."""
    values = np.linalg.eigvalsh(found.information / np.outer(found.chart.sizes, found.chart.sizes))
    return float(values[0]), float(values[-1])


def information_along(found: OrientationInformation, generator: ArrayLike, *, profile: bool) -> float:
    r"""Information about t on the path :math:`L e^{t\Omega}`, with the nuisance profiled out or known."""
    weights = skew_coordinates(generator, found.chart.d_atoms.shape[1] - 1)
    form = profiled(found) if profile else known_nuisance(found)
    return float(weights @ form @ weights)


def product_affinity_deficit(deficit: float, n_rows: int) -> float:
    r"""The deficit :math:`1 - A(P,Q)^N` of N independent observations, accurate for tiny deficits."""
    if deficit == 1.0:
        return 1.0 if n_rows else 0.0
    return float(-np.expm1(n_rows * np.log1p(-deficit)))


def midpoint_monte_carlo(
    law: GaussianMixture, other: GaussianMixture, rng: np.random.Generator, n_draws: int
) -> Divergence:
    """Both divergences from n_draws rows of the midpoint law, exactly half from each mixture; n_draws is even."""
    return common_monte_carlo([(law, other)], rng, n_draws)[0]


def sampled_range(
    ratio: Callable[[CalibrationParameter, CalibrationParameter], Range],
    kept: CalibrationClass,
    rng: np.random.Generator,
    n_pairs: int,
) -> Range:
    """Smallest first and largest second number of a ratio over pairs of a class, of all three kinds in turn."""
    count = check_count("n_pairs", n_pairs)
    return _extremes(ratio(*make_parameter_pair(kept, rng, pair % 3)) for pair in range(count))


def _extremes(ratios: Iterable[Range]) -> Range:
    values = np.array(list(ratios))
    return float(values[:, 0].min()), float(values[:, 1].max())


def _invariant_gap(first: CalibrationParameter, second: CalibrationParameter) -> float:
    """Distance in the invariant coordinates; the activity counts where the law has one."""
    coordinates = [invariant_coordinates(theta.dictionary, theta.noise) for theta in (first, second)]
    return invariant_distance(*coordinates, activities=(first.law.activity or 0.0, second.law.activity or 0.0))


def moment_chord(first: CalibrationParameter, second: CalibrationParameter) -> Range:
    r"""The ratio :math:`\|\Delta(\nu, \Sigma_2, \Sigma_4)\|/\delta_F` of a pair (eq:sm-tech-s8-16), twice.

    The law of the codes counts as that of the first.
    """
    other = CalibrationParameter(first.law, second.dictionary, second.noise)
    frame = first.dictionary.block.frame
    moments = [moment_map(frame, theta.dictionary, theta.noise) for theta in (first, other)]
    value = float(np.linalg.norm(moments[0] - moments[1])) / _invariant_gap(first, other)
    return value, value


def statistical_chord(
    first: CalibrationParameter, second: CalibrationParameter, rng: np.random.Generator, n_draws: int
) -> Range:
    r"""The ratios :math:`H^2/\delta^2` and :math:`J/\delta^2` of a pair (eq:unknown-p-chord, eq:fixed-law-chord).

    Jeffreys divergence J bounds KL in both directions, so the second number covers the KL of the pair.
    """
    laws = [calibration_mixture(theta.law, theta.dictionary.atoms, theta.noise) for theta in (first, second)]
    divergence = midpoint_monte_carlo(laws[0], laws[1], rng, n_draws)
    square = _invariant_gap(first, second) ** 2
    return 2.0 * divergence.affinity_deficit / square, divergence.jeffreys / square


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
) -> Range:
    r"""Smallest :math:`H^2` and largest J on the balanced submodel, over :math:`s^6 d^2` (eq:orientation-chord).

    d is the distance of the orientations up to relabelling.  Half of the pairs are independent, half are close.
    """
    ratios = []
    for number in range(check_count("n_pairs", n_pairs)):
        first = make_rotation(rng, frame.q - 1)
        second = first @ make_rotation(rng, frame.q - 1, 0.3 if number % 2 else None)
        dictionaries = [balanced_dictionary(frame, scale * stretch, turn) for turn in (first, second)]
        laws = [calibration_mixture(law, dictionary.atoms, noise) for dictionary in dictionaries]
        divergence = midpoint_monte_carlo(laws[0], laws[1], rng, n_draws)
        square = scale**6 * orbit_distance(first, second, frame.template)[0] ** 2
        ratios.append((2.0 * divergence.affinity_deficit / square, divergence.jeffreys / square))
    return _extremes(ratios)


def information_estimate(kept: CalibrationClass, rng: np.random.Generator, n_points: int, n_draws: int) -> Range:
    """Range of the Fisher information over the unit sphere of the mixed norm, over points (eq:sm-tech-s10-11)."""
    points = (kept.sample(rng) for _ in range(check_count("n_points", n_points)))
    scale = kept.shell.scale
    return _extremes(
        mixed_range(
            orientation_information_sampled(
                theta.dictionary, theta.law, theta.noise, scale=scale, rng=rng, n_draws=n_draws
            )
        )
        for theta in points
    )


def differential_estimate(kept: CalibrationClass, rng: np.random.Generator, n_points: int) -> Range:
    r"""Range of :math:`\|DF_p[h]\|^2` over the unit sphere of the mixed norm, over points (eq:sm-tech-s10-5)."""
    count = check_count("n_points", n_points)
    return _extremes(differential_range(kept.sample(rng).dictionary, kept.shell.scale) for _ in range(count))


def differential_range(dictionary: LocalDictionary, scale: float) -> Range:
    r"""Smallest and largest :math:`\|DF_p[h]\|^2/\|h\|_{\mathrm{mix}}^2` at one dictionary, exactly (eq:sm-tech-s10-5).

    On p, nu, b and P_a both norms agree, so the ratio is 1 there; the rest is the map from (S, Omega) to (G_2, G_3).
    """
    across = dictionary.q - 1
    none = np.zeros((across, across))
    directions = [(stretch, none, scale) for stretch in symmetric_basis(across, 2)]
    directions += [(none, turn, scale**3) for turn in skew_basis(across)]
    changes = [
        np.concatenate([np.ravel(part) for part in invariant_differentials(dictionary.block, stretch, turn)]) / size
        for stretch, turn, size in directions
    ]
    values = np.linalg.svd(np.stack(changes), compute_uv=False) ** 2
    return min(1.0, float(values[-1])), max(1.0, float(values[0]))


def profile_radius_ratio(first: CalibrationParameter, second: CalibrationParameter) -> Range:
    r"""The ratio :math:`(|p-p'| + \delta_F)/\epsilon` of a pair (eq:supp-profile-F-radius), twice; use the upper end.

    :math:`\epsilon` is half the distance of their moments: two members of one calibration region, whose moments are
    within :math:`\epsilon_N` of its centre, have :math:`\epsilon \le \epsilon_N`.
    """
    coordinates = [invariant_coordinates(theta.dictionary, theta.noise) for theta in (first, second)]
    activities = [theta.law.activity or 0.0 for theta in (first, second)]
    gap = abs(activities[0] - activities[1]) + invariant_distance(*coordinates)
    value = gap / _half_moment_distance(first, second)
    return value, value


def dictionary_radius_ratio(first: CalibrationParameter, second: CalibrationParameter, scale: float) -> Range:
    r"""The ratio of a pair whose supremum is the constant of `dictionary_radius` (eq:dictionary-radius), twice.

    Use the upper end.  The ratio is that of the quotient distance to the bracket at half the distance of the moments,
    as in `profile_radius_ratio`.  scale: s.
    """
    bracket = dictionary_radius(scale, _half_moment_distance(first, second), 1.0)
    value = quotient_distance(first.dictionary, second.dictionary)[0] / bracket
    return value, value


def _half_moment_distance(first: CalibrationParameter, second: CalibrationParameter) -> float:
    moments = []
    for theta in (first, second):
        atoms = theta.dictionary.atoms
        covariance = np.ravel(second_moment(theta.law, atoms, theta.noise))
        moments.append(np.concatenate([covariance, fourth_cumulant(theta.law, atoms)]))
    return float(np.linalg.norm(moments[0] - moments[1])) / 2.0


def make_parameter_pair(
    kept: CalibrationClass, rng: np.random.Generator, kind: int
) -> tuple[CalibrationParameter, CalibrationParameter]:
    """Two parameters inside the class: independent (kind 0), close (1), or equal up to a turn of the block (2)."""
    for _ in range(_TRIES):
        first = kept.sample(rng)
        second = kept.sample(rng)
        if kind == 1:
            second = _mixed(first, second, 10.0 ** rng.uniform(-2.0, 0.0))
        elif kind == 2:
            turn = make_rotation(rng, kept.q - 1, 10.0 ** rng.uniform(-2.0, 0.0))
            second = CalibrationParameter(first.law, turned(first.dictionary, turn), first.noise)
        if kept.membership(first).inside and kept.membership(second).inside:
            return first, second
    raise MisuseError("kept", "leave room for perturbations", f"{_TRIES} tries outside the class", "Widen the shell.")


def _mixed(first: CalibrationParameter, second: CalibrationParameter, share: float) -> CalibrationParameter:
    """The first parameter moved by a share of the way to the second."""
    start = first.dictionary.block
    end = second.dictionary.block
    center = (1.0 - share) * start.center + share * end.center
    shape = (1.0 - share) * start.shape + share * end.shape
    separated = (1.0 - share) * first.dictionary.separated + share * second.dictionary.separated
    dictionary = LocalDictionary(Block(start.frame, center, shape), separated / np.linalg.norm(separated))
    law = first.law
    if law.activity is not None and second.law.activity is not None:
        law = BernoulliGaussian((1.0 - share) * law.activity + share * second.law.activity)
    return CalibrationParameter(law, dictionary, (1.0 - share) * first.noise + share * second.noise)
