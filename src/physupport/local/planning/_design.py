"""An experiment to plan: its Fisher information, its deployment gates, and the rows that calibration needs."""

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Self, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import polar

from ..._checks import (
    MOST_ROWS as MOST_ROWS,
    check_array,
    check_count,
    check_open,
    check_positive,
    check_support,
    check_support_size,
)
from ..._errors import MisuseError
from ..._typing import Array
from ...banks import projective_distances
from ...laws import CodeLaw, GaussianMixture, Tangent, calibration_mixture, calibration_tangent
from ..regions import (
    combined_level,
    deployment_radius,
    profile_losses,
)
from ..shell import Amplitudes, LocalDictionary, atom_velocities, check_skew, offset_basis, skew_basis

# Rows handled at a time; fixed, so that neither result nor random stream depends on the machine.
_BLOCK = 2**16
# Squared orientation scores are polynomials of degree twelve, so their mean lives on large rows: drawing rows from
# components with doubled covariance cuts the variance about twentyfold, and the weights stay below 2^(q/2).
_INFLATION = 2.0


@final
@dataclass(frozen=True, slots=True, eq=False)
class TangentChart:
    r"""Directions :math:`h = (\dot p, \dot\nu, \dot b, \dot P_a, S, \Omega)` as derivatives of law, noise and atoms.

    Each group is orthonormal in its own norm (:math:`\|\dot P_a\|_F, \|S\|_F, \|\Omega\|_F`).  sizes holds the length
    of each direction in the mixed norm (eq:sm-tech-s10-5), :math:`\|h\|_{\mathrm{mix}}^2 = |\dot p|^2 + |\dot\nu|^2 +
    \|\dot b\|^2 + \|\dot P_a\|_F^2 + s^2\|S\|_F^2 + s^6\|\Omega\|_F^2`.  The directions after the nuisance are turns.
    """

    d_probability: Array | None  # (k,), None for a law without a free probability
    d_noise: Array  # (k,)
    d_atoms: Array  # (k, q, q + 1)
    sizes: Array  # (k,)
    n_nuisance: int


def tangent_chart(dictionary: LocalDictionary, scale: float, *, free_probability: bool) -> TangentChart:
    r"""All directions at a dictionary, in the order p (if free), nu, b, P_a, S, Omega.

    With :math:`L = R(sG)` the shape moves by :math:`\dot L = R(S + sG\Omega)` (eq:sm-tech-s10-2).
    scale: s, which enters only the mixed-norm sizes.
    """
    s = check_positive("scale", scale)
    block = dictionary.block
    q = dictionary.q
    across = q - 1
    stretch = polar(block.shape)[0] @ _symmetric_basis(across)
    turn = block.shape @ skew_basis(across)
    centre = np.repeat(np.eye(across)[:, :, None], q, axis=2)  # (q - 1, q - 1, q)
    moves = np.concatenate([centre, stretch @ block.frame.template, turn @ block.frame.template])
    atoms = atom_velocities(block, moves)  # (k', q, q)
    first = 2 if free_probability else 1
    start = np.cumsum([first, across, across, len(stretch), len(turn)])
    d_atoms = np.zeros((start[-1], q, q + 1))
    d_atoms[first : start[1], :, :q] = atoms[:across]
    d_atoms[start[2] :, :, :q] = atoms[across:]
    # ||P_a'||_F = sqrt(2) ||a'|| for a' orthogonal to a.
    d_atoms[start[1] : start[2], :, q] = offset_basis(dictionary.separated).T / np.sqrt(2.0)
    d_noise = np.zeros(start[-1])
    d_noise[first - 1] = 1.0
    sizes = np.concatenate([np.ones(start[2]), np.full(len(stretch), s), np.full(len(turn), s**3)])
    d_probability = np.eye(1, start[-1])[0] if free_probability else None
    return TangentChart(d_probability, d_noise, d_atoms, sizes, int(start[3]))


def _symmetric_basis(dimension: int) -> Array:
    """Orthonormal basis of the symmetric matrices in the Frobenius norm, row by row.  Returns (d(d+1)/2, d, d)."""
    rows, columns = np.triu_indices(dimension)
    basis = np.zeros((len(rows), dimension, dimension))
    index = np.arange(len(rows))
    basis[index, rows, columns] = basis[index, columns, rows] = np.where(rows == columns, 1.0, np.sqrt(0.5))
    return basis


def skew_coordinates(generator: ArrayLike, dimension: int) -> Array:
    """Coordinates of a skew matrix in `skew_basis`; their Euclidean norm is its Frobenius norm."""
    skew = check_skew("generator", generator, dimension)
    return np.asarray(np.einsum("kij,ij->k", skew_basis(dimension), skew))


def orientation_information(
    dictionary: LocalDictionary, law: CodeLaw, noise: float, *, scale: float, rng: np.random.Generator, n_draws: int
) -> Array:
    r"""Monte Carlo Fisher information of one observation in `tangent_chart`, (k, k), nuisance directions first.

    It comes from exact scores; the same seed at two scales gives common random numbers.

    Under the Bernoulli-Gaussian law p is a nuisance; every other law is taken as known.  Unbiased, by importance
    sampling from wider rows; 20 000 draws give about two percent.  The estimate is a Gram matrix of weighted scores,
    so its Schur complement is never negative; it needs more draws than directions, and the profiled information is
    low by a fraction of the order of k / n_draws.  scale: s, for the mixed norm only.
    """
    chart, mixture, tangent = scored_chart(dictionary, law, noise, scale)
    n_directions = len(chart.sizes)
    draws = check_count("n_draws", n_draws, 2 * n_directions)
    wide = GaussianMixture(mixture.weights, _INFLATION * mixture.covariances)
    information = np.zeros((n_directions, n_directions))
    for start in range(0, draws, _BLOCK):
        rows = wide.sample(rng, min(_BLOCK, draws - start))
        weights = np.exp(mixture.log_density(rows) - wide.log_density(rows)) / draws  # (block,)
        scores = mixture.score(rows, tangent)  # (block, k)
        information += (scores.T * weights) @ scores
    return information


def scored_chart(
    dictionary: LocalDictionary, law: CodeLaw, noise: float, scale: float
) -> tuple[TangentChart, GaussianMixture, Tangent]:
    """The chart at a dictionary, the calibration law there, and the derivative of the law along the chart."""
    chart = tangent_chart(dictionary, scale, free_probability=law.activity is not None)
    atoms = dictionary.atoms
    mixture = calibration_mixture(law, atoms, check_positive("noise", noise))
    tangent = calibration_tangent(
        law, atoms, d_noise=chart.d_noise, d_atoms=chart.d_atoms, d_probability=chart.d_probability
    )
    return chart, mixture, tangent


# Atoms closer to linear dependence than this cannot be told from dependent ones in a file with nine digits.
_DEPENDENT = 1e-8
# Noise farther than this from the coefficients is a slip of units; its square would leave the range of a float.
_NOISE_DECADES = 6


@final
@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """An experiment to plan: the block, the calibration, the deployment, and what of the block is unknown."""

    dictionary: LocalDictionary
    law: CodeLaw
    noise: float  # calibration noise variance, nu
    n_calibration: int  # N
    n_deployment: int  # T
    sigma: float  # deployment noise, standard deviation
    support: tuple[int, ...]  # S, increasing
    coefficients: Array  # (r,), x, in the order of the support
    amplitudes: Amplitudes
    alpha_calibration: float = 0.05
    alpha_deployment: float = 0.05
    turn: Array | None = None  # (q - 1, q - 1) skew: all is known but how far L e^{t turn} is turned; None: nothing is

    def __post_init__(self) -> None:
        q = self.dictionary.q
        if check_support("support", self.support, q) != tuple(self.support):
            raise MisuseError("support", "be in increasing order", self.support)
        box = self.amplitudes.block
        check_array("coefficients", self.coefficients, (check_support_size(len(self.support), q),))
        if not all(box.contains(x) for x in self.coefficients):
            rule = f"lie in [{box.lower:g}, {box.upper:g}]"
            raise MisuseError("coefficients", rule, list(map(float, self.coefficients)))
        check_positive("noise", self.noise)
        mean = float(np.mean(self.coefficients))
        # A change of the contrast keeps the mean up to rounding, and must not be refused for that.
        if abs(np.log10(check_positive("sigma", self.sigma) / mean)) > _NOISE_DECADES + 1e-9:
            rule = f"be within a factor 10^{_NOISE_DECADES} of the mean coefficient, {mean:g}"
            raise MisuseError("sigma", rule, repr(self.sigma))
        check_count("n_calibration", self.n_calibration, 1, MOST_ROWS)
        check_count("n_deployment", self.n_deployment, 1, MOST_ROWS)
        check_open("alpha_calibration", self.alpha_calibration, 0.0, 1.0)
        check_open("alpha_deployment", self.alpha_deployment, 0.0, 1.0)
        singular = np.linalg.svd(self.dictionary.block.shape, compute_uv=False)
        if singular[-1] <= _DEPENDENT * singular[0]:
            raise MisuseError("dictionary", "have linearly independent coherent atoms", f"stretches {singular}")

    @property
    def level(self) -> float:
        """Probability with which calibration or deployment may mislead."""
        return combined_level(self.alpha_calibration, self.alpha_deployment)

    @property
    def active(self) -> Array:
        """The active atoms as columns, (q, r)."""
        return self.dictionary.block.atoms[:, list(self.support)]

    @property
    def mean(self) -> Array:
        """The planned deployment mean, (q,)."""
        return np.asarray(self.active @ self.coefficients)

    @property
    def contrast(self) -> float:
        """Largest minus smallest active coefficient; for two atoms the paper's |d|."""
        return float(np.ptp(self.coefficients))

    @property
    def widest_contrast(self) -> float:
        """Largest contrast with the same mean coefficient that stays in the amplitude range."""
        box = self.amplitudes.block
        pattern = self._pattern()
        mean = float(self.coefficients.mean())
        # A hair inside, so that rounding does not push an end coefficient out of its range.
        widest = min((box.upper - mean) / pattern.max(), (mean - box.lower) / -pattern.min()) * (1.0 - 1e-9)
        return max(float(widest), self.contrast)

    def with_contrast(self, contrast: float) -> Self:
        """The same mean coefficient, its present differences scaled; alternating ones where there are none."""
        box = self.amplitudes.block
        changed = self.coefficients.mean() + contrast * self._pattern()
        # A coefficient on the edge of its range must not fall out of it by rounding; one farther out is refused.
        inside = np.clip(changed, box.lower, box.upper)
        return replace(self, coefficients=np.where(np.abs(changed - inside) < 1e-12 * box.upper, inside, changed))

    def _pattern(self) -> Array:
        """Zero-mean direction of contrast one, (r,)."""
        away = self.coefficients - self.coefficients.mean()
        if self.contrast < 1e-12 * np.abs(self.coefficients).max():
            away = np.resize([1.0, -1.0], len(away))
            away -= away.mean()
        return np.asarray(away / np.ptp(away))


def atom_distances(dictionary: LocalDictionary) -> Array:
    """Projective distances between two coherent atoms, one a pair: the largest is the block's diameter."""
    atoms = dictionary.block.atoms
    return projective_distances(atoms, atoms)[np.triu_indices(dictionary.q, 1)]


def block_scale(dictionary: LocalDictionary) -> float:
    r"""Root mean square stretch, :math:`\|L\|_F/\sqrt{q-1}`; of a balanced block :math:`\lambda_\star s`."""
    return float(np.linalg.norm(dictionary.block.shape) / np.sqrt(dictionary.q - 1))


@final
@dataclass(frozen=True, slots=True)
class InformationScales:
    r"""Information of the data about each level of the answer (eq:theorem-three-gates).

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
    s = check_positive("scale", scale)
    ratio = check_positive("weakest", weakest) / check_positive("noisiest", noisiest)
    gain = check_count("n_deployment", n_deployment, 0) * ratio**2
    orientation = check_count("n_calibration", n_calibration, 0) * s**6
    return InformationScales(gain * check_count("r", r) ** 2, gain * s**2, orientation)


def optimal_resolution(n_calibration: int, scale: float) -> float:
    r"""Order of the best physical diameter once deployment is resolved (eq:optimal-physical-resolution).

    :math:`\delta_{\mathrm{opt}}(N, s) = s \wedge (\sqrt N s^2)^{-1}`, up to constants of the shell; the same rate
    is attained from above (eq:resolved-upper-rate) and forced from below (eq:resolved-minimax-rate).  As a share of
    the block it is :math:`\min\{1, (N s^6)^{-1/2}\}` (eq:relative-physical-resolution).
    n_calibration: N.  scale: s.

    >>> optimal_resolution(10**5, 0.1)
    0.1
    >>> round(optimal_resolution(10**10, 0.1), 12)
    0.001
    """
    orientation = check_count("n_calibration", n_calibration, 0) * check_positive("scale", scale) ** 6
    return scale if orientation <= 1.0 else scale * float(orientation**-0.5)


@final
@dataclass(frozen=True, slots=True)
class Gate:
    """One distinction: how far the planned mean lies from its rivals, and how many deployment rows tell them apart."""

    question: str
    separation: float  # proven lower bound of the distance of the planned mean from the nearest competing mean
    radius: float  # tau at the planned T
    rows_needed: float  # T from which 2 tau stays below the separation; inf if no T does
    shift: float  # how far a competing mean may move when the dictionary is known no better than planned

    @property
    def is_open(self) -> bool:
        r"""True if, the dictionary known, every rival is rejected on the event that the ball holds the truth.

        The sample mean is then within :math:`\tau` of the planned mean, so at least separation minus
        :math:`\tau > \tau` away from every rival.
        """
        return 2.0 * self.radius < self.separation

    @property
    def stays_open(self) -> bool:
        """True if the same holds for the rivals of every dictionary that calibration leaves open."""
        return 2.0 * self.radius + self.shift < self.separation


def explanation_gate(design: Design, doubt: float = 0.0) -> Gate:
    r"""Can the separated atom, with an allowed coefficient, make the planned mean?

    doubt: how far its atom may be from the planned one; its mean then moves by at most :math:`\gamma_+` times that.
    """
    box = design.amplitudes.separated
    rival = profile_losses(design.mean, design.dictionary.separated[None, :, None], box)
    return _gate("Which local explanation is supported?", float(rival[2][0]), box.upper * doubt, design)


def support_gate(design: Design, doubt: float = 0.0) -> Gate:
    r"""Can another support of the same size make the planned mean?

    doubt: how far the atoms may be from the planned ones; a mean then moves by at most :math:`r\beta_+` times that.
    """
    r = len(design.support)
    box = design.amplitudes.block
    others = [other for other in combinations(range(design.dictionary.q), r) if other != design.support]
    atoms = design.dictionary.block.atoms[:, others].transpose(1, 0, 2)  # (k, q, r)
    rivals = profile_losses(design.mean, atoms, box)
    return _gate("Which atoms participate?", float(rivals[2].min()), r * box.upper * doubt, design)


def _gate(question: str, separation: float, shift: float, design: Design) -> Gate:
    one, radius = (
        deployment_radius(design.dictionary.q, n_rows, design.sigma, design.alpha_deployment)
        for n_rows in (1, design.n_deployment)
    )
    needed = (2.0 * one / separation) ** 2 if separation > 0.0 else np.inf
    return Gate(question, separation, radius, float(needed), shift)
