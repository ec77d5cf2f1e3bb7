"""Planning: what an experiment can resolve, with numbers, and what to raise to resolve more."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from typing import final

import numpy as np
from scipy import stats
from scipy.optimize import brentq, lsq_linear, minimize_scalar

from .._checks import check_array, check_count, check_open, check_positive, check_support, check_support_size
from .._errors import MisuseError
from .._typing import Array
from ..geometry import Amplitudes, LocalDictionary, projective_distances
from ..models import CodeLaw
from ..retain import combined_level, deployment_radius
from ._orientation import OrientationInformation, orientation_information

# Beyond this many rows an answer is of no use to anybody; the search for a sample size ends here.
_MOST_ROWS = 1e18


@final
@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """An experiment to plan: the block, the calibration and the deployment."""

    dictionary: LocalDictionary
    law: CodeLaw
    noise: float  # calibration noise variance, nu
    n_calibration: int  # N
    n_deployment: int  # T
    sigma: float  # deployment noise, standard deviation
    support: tuple[int, ...]  # S
    coefficients: Array  # (r,), x
    amplitudes: Amplitudes
    alpha_calibration: float = 0.05
    alpha_deployment: float = 0.05

    def __post_init__(self) -> None:
        support = check_support("support", self.support, self.dictionary.q)
        r = check_support_size(len(support), self.dictionary.q)
        check_array("coefficients", self.coefficients, (r,))
        if not all(self.amplitudes.block.contains(x) for x in self.coefficients):
            box = self.amplitudes.block
            raise MisuseError("coefficients", f"lie in [{box.lower:g}, {box.upper:g}]", list(self.coefficients))
        check_positive("noise", self.noise)
        check_positive("sigma", self.sigma)
        check_count("n_calibration", self.n_calibration)
        check_count("n_deployment", self.n_deployment)
        check_open("alpha_calibration", self.alpha_calibration, 0.0, 1.0)
        check_open("alpha_deployment", self.alpha_deployment, 0.0, 1.0)

    @property
    def level(self) -> float:
        """Probability with which calibration or deployment may mislead."""
        return combined_level(self.alpha_calibration, self.alpha_deployment)

    @property
    def block_diameter(self) -> float:
        """Largest projective distance between two coherent atoms."""
        atoms = self.dictionary.block.atoms
        return float(projective_distances(atoms, atoms).max())


@final
@dataclass(frozen=True, slots=True)
class Gate:
    """One distinction, how far its alternatives lie apart, and how many deployment rows tell them apart."""

    question: str
    separation: float  # least distance of two competing deployment means
    radius: float  # tau at the planned T
    rows_needed: float  # T at which 2 tau falls below the separation

    @property
    def is_open(self) -> bool:
        """Whether two competing means can never share one confidence ball."""
        return 2.0 * self.radius < self.separation


@final
@dataclass(frozen=True, slots=True)
class Resolution:
    """Physical resolution of the active elements as projective distances.

    attainable: diameter of the efficient confidence set (local asymptotics of the exact mixture and the deployment
    likelihood, all nuisance profiled), never more than the block itself. floor: no uniformly valid set of the same
    level has a smaller worst expected diameter, in the same local asymptotics (eq:supp-two-point-diameter).
    """

    attainable: float
    floor: float
    block: float  # largest distance between two atoms of the block


def resolution(information: OrientationInformation, design: Design) -> Resolution:
    r"""What calibration and deployment together resolve.

    With :math:`J = N\,I_{\rm cal} + (T/\sigma^2)\,G^\top G` on (chart, x), :math:`G = \partial\mu/\partial(\text{chart}, x)` and
    :math:`E_j = \partial d_j`, atom j has covariance :math:`E_j J^{-1} E_j^\top`. The attainable diameter is
    :math:`2\sqrt{\chi^2_{r(q-1),1-\alpha}}` times the largest standard deviation; the floor is
    :math:`\max_\kappa \kappa\,[2(1-\alpha) - 2\Phi(\kappa/2)]_+` times it.
    """
    deviation, block = worst_deviation(information, design), design.block_diameter
    attainable = _confidence_factor(design) * deviation
    return Resolution(min(attainable, block), min(two_point_factor(design.level) * deviation, block), block)


def worst_deviation(information: OrientationInformation, design: Design) -> float:
    """Asymptotic standard deviation of the worst-known active atom in its worst direction."""
    directions = information.chart.d_atoms[:, :, list(design.support)]  # (k, q, r)
    k = len(directions)
    covariance = _covariance(information.information, directions, design)[:k, :k]
    spread = np.einsum("kqj,kl,lpj->jqp", directions, covariance, directions)  # (r, q, q)
    return float(np.sqrt(max(np.linalg.eigvalsh(spread).max(), 0.0)))


def uncapped_diameter(information: OrientationInformation, design: Design) -> float:
    """The attainable diameter as the local theory gives it, even where it exceeds the block."""
    return _confidence_factor(design) * worst_deviation(information, design)


def _confidence_factor(design: Design) -> float:
    across = len(design.support) * (design.dictionary.q - 1)
    return 2.0 * float(np.sqrt(stats.chi2.ppf(1.0 - design.level, across)))


def _covariance(calibration: Array, directions: Array, design: Design) -> Array:
    """Inverse of the joint information of (chart, coefficients), scaled to unit diagonal before inversion."""
    k, q, r = directions.shape
    moved = directions @ design.coefficients  # (k, q)
    active = design.dictionary.block.atoms[:, list(design.support)]  # (q, r)
    mean = np.vstack([moved, active.T])  # (k + r, q)
    joint = design.n_deployment / design.sigma**2 * mean @ mean.T
    joint[:k, :k] += design.n_calibration * calibration
    # Informations range from order one to s^6; equal scaling keeps the inverse accurate.
    size = 1.0 / np.sqrt(np.diag(joint))
    return size[:, None] * np.linalg.inv(joint * np.outer(size, size)) * size


def two_point_factor(level: float) -> float:
    r""":math:`\max_\kappa \kappa\,[1 - 2\alpha - \mathrm{TV}(\kappa)]_+`, TV of unit normals :math:`\kappa` apart; 0 once level >= 1/2."""

    def negative(kappa: float) -> float:
        return -kappa * (2.0 * (1.0 - level) - 2.0 * float(stats.norm.cdf(kappa / 2.0)))

    return max(0.0, -float(minimize_scalar(negative, bounds=(0.0, 10.0), method="bounded").fun))


def support_gate(design: Design) -> Gate:
    """Is another support of the same size able to make the same deployment mean? The dictionary counts as known."""
    r, block, box = len(design.support), design.dictionary.block.atoms, design.amplitudes.block
    chosen = block[:, list(design.support)]
    others = [set(other) for other in combinations(range(design.dictionary.q), r) if other != design.support]
    pairs = [np.column_stack([chosen, -block[:, sorted(other)]]) for other in others]
    least = min(_least_norm(columns, [box.lower] * 2 * r, [box.upper] * 2 * r) for columns in pairs)
    return _gate("Which atoms participate?", least, design)


def explanation_gate(design: Design) -> Gate:
    """Is the separated atom able to make the same deployment mean as the block?"""
    chosen = design.dictionary.block.atoms[:, list(design.support)]
    box, range_ = design.amplitudes.block, design.amplitudes.separated
    columns = np.column_stack([chosen, -design.dictionary.separated])
    r = len(design.support)
    least = _least_norm(columns, [box.lower] * r + [range_.lower], [box.upper] * r + [range_.upper])
    return _gate("Which local explanation is supported?", least, design)


def _least_norm(columns: Array, lower: list[float], upper: list[float]) -> float:
    """Min over the box of ||columns @ x||."""
    solved = lsq_linear(columns, np.zeros(len(columns)), bounds=(lower, upper), method="bvls", tol=1e-12)
    return float(np.linalg.norm(columns @ solved.x))


def _gate(question: str, separation: float, design: Design) -> Gate:
    q = design.dictionary.q
    radius = deployment_radius(q, design.n_deployment, design.sigma, design.alpha_deployment)
    one = deployment_radius(q, 1, design.sigma, design.alpha_deployment)
    return Gate(question, separation, radius, (2.0 * one / separation) ** 2 if separation > 0.0 else np.inf)


@final
@dataclass(frozen=True, slots=True)
class Remedies:
    """What reaches a wanted resolution when it alone is raised; None: it cannot, however far it is raised."""

    wanted: float
    n_calibration: float | None
    n_deployment: float | None
    contrast: float | None


@final
@dataclass(frozen=True, slots=True)
class Plan:
    """The gates, the resolution behind them, and the remedies for a wanted resolution."""

    explanation: Gate
    support: Gate
    resolution: Resolution
    contrast: float
    remedies: Remedies | None


def plan(design: Design, wanted: float | None = None, information: OrientationInformation | None = None) -> Plan:
    """Plan one experiment; pass the information of the same block again to plan many."""
    known = information or block_information(design)
    remedies = None if wanted is None else _remedies(known, design, check_positive("wanted", wanted))
    return Plan(
        explanation_gate(design),
        support_gate(design),
        resolution(known, design),
        contrast(design.coefficients),
        remedies,
    )


def block_information(design: Design, n_draws: int = 200_000, seed: int = 0) -> OrientationInformation:
    """Fisher information of one calibration row about everything in the block; a seed gives the same draws at every scale."""
    scale, rng = block_scale(design.dictionary), np.random.default_rng(seed)
    return orientation_information(design.dictionary, design.law, design.noise, scale=scale, rng=rng, n_draws=n_draws)


def block_scale(dictionary: LocalDictionary) -> float:
    r"""Root mean square stretch of the block, :math:`\|L\|_F/\sqrt{q-1}`; :math:`\lambda_\star s` for a balanced block."""
    return float(np.linalg.norm(dictionary.block.shape) / np.sqrt(dictionary.q - 1))


def contrast(coefficients: Array) -> float:
    """Largest minus smallest active coefficient; for two atoms the paper's |d|."""
    return float(np.ptp(coefficients))


def _remedies(information: OrientationInformation, design: Design, wanted: float) -> Remedies:
    def reaches(changed: Design) -> float:
        """Log of the diameter before capping at the block, against the wanted one: negative is good enough."""
        return float(np.log(uncapped_diameter(information, changed) / wanted))

    return Remedies(
        wanted,
        _least(lambda n: reaches(replace(design, n_calibration=round(n))), design.n_calibration, _MOST_ROWS),
        _least(lambda t: reaches(replace(design, n_deployment=round(t))), design.n_deployment, _MOST_ROWS),
        _least(lambda d: reaches(_with_contrast(design, d)), contrast(design.coefficients), _widest_contrast(design)),
    )


def _least(excess: Callable[[float], float], now: float, most: float) -> float | None:
    """Smallest value from now up to most at which a decreasing excess is no longer positive."""
    if excess(now) <= 0.0:
        return now
    if excess(most) > 0.0:
        return None
    # Sample sizes span many decades; a contrast may start at zero and is searched on its own scale.
    if now > 0.0:
        return float(np.exp(brentq(lambda v: excess(float(np.exp(v))), np.log(now), np.log(most), xtol=1e-9)))
    return float(brentq(excess, now, most, xtol=1e-12))


def _pattern(coefficients: Array) -> Array:
    """Zero-mean direction of contrast one: the present differences, or alternating signs where there are none."""
    away = coefficients - coefficients.mean()
    if np.ptp(away) < 1e-12 * np.abs(coefficients).max():
        away = np.where(np.arange(len(coefficients)) % 2 == 0, 1.0, -1.0)
        away -= away.mean()
    return away / np.ptp(away)


def _with_contrast(design: Design, d: float) -> Design:
    x = design.coefficients
    return replace(design, coefficients=x.mean() + d * _pattern(x))


def _widest_contrast(design: Design) -> float:
    """Largest contrast with the same mean coefficient that stays in the amplitude range."""
    x, box = design.coefficients, design.amplitudes.block
    pattern, mean = _pattern(x), x.mean()
    # A hair inside, so that rounding does not push an end coefficient out of its range.
    return float(min((box.upper - mean) / pattern.max(), (mean - box.lower) / -pattern.min())) * (1.0 - 1e-9)
