"""An experiment to plan, and what can be read off it: the gates of deployment and the rows of calibration."""

from dataclasses import dataclass, replace
from itertools import combinations
from math import ceil
from typing import Self, final

import numpy as np

from ..._checks import check_array, check_count, check_open, check_positive, check_support, check_support_size
from ..._errors import MisuseError
from ..._typing import Array
from ...banks import projective_distances
from ...laws import CodeLaw
from ..regions import (
    CalibrationParameter,
    combined_level,
    deployment_radius,
    fourth_moment,
    median_distance_blocks,
    profile_losses,
    total_variances,
)
from ..shell import Amplitudes, LocalDictionary
from ._chart import atom_velocities, check_skew, skew_basis

# Atoms closer to linear dependence than this cannot be told from dependent ones in a file with nine digits.
_DEPENDENT = 1e-8

# Beyond this many rows an answer is of no use to anybody, and rounding begins to look like information.
MOST_ROWS = 10**18

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
        support, q = check_support("support", self.support, self.dictionary.q), self.dictionary.q
        if support != tuple(self.support):
            raise MisuseError("support", "be in increasing order", self.support)
        r, box = check_support_size(len(support), q), self.amplitudes.block
        check_array("coefficients", self.coefficients, (r,))
        if not all(box.contains(x) for x in self.coefficients):
            raise MisuseError(
                "coefficients", f"lie in [{box.lower:g}, {box.upper:g}]", list(map(float, self.coefficients))
            )
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
    def contrast(self) -> float:
        """Largest minus smallest active coefficient; for two atoms the paper's |d|."""
        return float(np.ptp(self.coefficients))

    @property
    def widest_contrast(self) -> float:
        """Largest contrast with the same mean coefficient that stays in the amplitude range."""
        box, pattern, mean = self.amplitudes.block, self._pattern(), float(self.coefficients.mean())
        # A hair inside, so that rounding does not push an end coefficient out of its range.
        widest = min((box.upper - mean) / pattern.max(), (mean - box.lower) / -pattern.min()) * (1.0 - 1e-9)
        return max(float(widest), self.contrast)

    def with_contrast(self, contrast: float) -> Self:
        """The same mean coefficient, its present differences scaled; alternating ones where there are none."""
        box, changed = self.amplitudes.block, self.coefficients.mean() + contrast * self._pattern()
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


def block_diameter(dictionary: LocalDictionary) -> float:
    """Largest projective distance between two coherent atoms."""
    return float(_pair_distances(dictionary).max())


def atom_spacing(dictionary: LocalDictionary) -> float:
    """Least projective distance between two coherent atoms."""
    return float(_pair_distances(dictionary).min())


def block_scale(dictionary: LocalDictionary) -> float:
    r"""Root mean square stretch, :math:`\|L\|_F/\sqrt{q-1}`; of a balanced block :math:`\lambda_\star s`."""
    return float(np.linalg.norm(dictionary.block.shape) / np.sqrt(dictionary.q - 1))


def _pair_distances(dictionary: LocalDictionary) -> Array:
    atoms = dictionary.block.atoms
    return projective_distances(atoms, atoms)[np.triu_indices(dictionary.q, 1)]


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
        r"""Whether, the dictionary known, every rival is rejected on the event that the ball holds the truth.

        The sample mean is then within :math:`\tau` of the planned mean, so at least separation minus
        :math:`\tau > \tau` away from every rival.
        """
        return 2.0 * self.radius < self.separation

    @property
    def stays_open(self) -> bool:
        """Whether the same holds for the rivals of every dictionary that calibration leaves open."""
        return 2.0 * self.radius + self.shift < self.separation


def explanation_gate(design: Design, doubt: float = 0.0) -> Gate:
    r"""Can the separated atom, with an allowed coefficient, make the planned mean?

    doubt: how far its atom may be from the planned one; its mean then moves by at most :math:`\gamma_+` times that.
    """
    box = design.amplitudes.separated
    rival = profile_losses(_mean(design), design.dictionary.separated[None, :, None], box)
    return _gate("Which local explanation is supported?", float(rival.lower_bounds[0]), box.upper * doubt, design)


def support_gate(design: Design, doubt: float = 0.0) -> Gate:
    r"""Can another support of the same size make the planned mean?

    doubt: how far the atoms may be from the planned ones; a mean then moves by at most :math:`r\beta_+` times that.
    """
    q, r, box = design.dictionary.q, len(design.support), design.amplitudes.block
    others = [other for other in combinations(range(q), r) if other != design.support]
    atoms = design.dictionary.block.atoms[:, others].transpose(1, 0, 2)  # (k, q, r)
    rivals = profile_losses(_mean(design), atoms, box)
    return _gate("Which atoms participate?", float(rivals.lower_bounds.min()), r * box.upper * doubt, design)


def _mean(design: Design) -> Array:
    return np.asarray(design.active @ design.coefficients)


def _gate(question: str, separation: float, shift: float, design: Design) -> Gate:
    q, alpha = design.dictionary.q, design.alpha_deployment
    one = deployment_radius(q, 1, design.sigma, alpha)
    needed = (2.0 * one / separation) ** 2 if separation > 0.0 else np.inf
    radius = deployment_radius(q, design.n_deployment, design.sigma, alpha)
    return Gate(question, separation, radius, float(needed), shift)


# Rows at which the blocks of the region divide N without a noticeable rest.
_MANY_ROWS = 10**15


def moment_region_rows(design: Design, size: float) -> int:
    r"""N at which the fourth-moment radius of the inverted region equals the shift of the least visible turn.

    A turn :math:`\Omega` moves active atom j by :math:`E_j\Omega` and the fourth moment by :math:`J\Omega`, to first
    order.  Of the turns that move some active atom by the given size, the least visible one shifts the moment by
    :math:`\Delta = \mathrm{size}/\max_j\sigma_{\max}(E_jJ^+)`.  The radius is :math:`c\sqrt{V_4/m}` with the block size
    m proportional to N, so :math:`N = (c^2N/m)\,V_4/\Delta^2`, up to the rest of a division.

    With a quarter of these rows the region keeps such turns as a rule: the shift is half a radius, and most data leave
    the truth the other half.  With four times as many the shift is two radii, the most by which two members differ, so
    that the region rejects them as a rule, to first order: a turn of exactly this size lies on the border, and what the
    linearisation leaves out may keep it.  The second moment, which turns hardly change, does not enter.
    """
    across = design.dictionary.q - 1
    turns = skew_basis(across) if design.turn is None else check_skew("turn", design.turn, across)[None]
    moves, shifts = _first_order(design, turns)
    # J = U diag(v) W^T: in the coordinates diag(v) W^T Omega the moment moves by exactly the length of the vector.
    _, values, modes = np.linalg.svd(shifts, full_matrices=False)  # (k,), (k, k)
    visible = np.linalg.svd(moves @ modes.T / values, compute_uv=False).max()
    shift = check_positive("size", size) / float(visible)
    blocks, multiplier = median_distance_blocks(_MANY_ROWS, design.alpha_calibration / 2.0)
    variance = total_variances(CalibrationParameter(design.law, design.dictionary, design.noise))[1]
    return ceil(multiplier**2 * _MANY_ROWS / blocks.size * variance / shift**2)


def _first_order(design: Design, turns: Array) -> tuple[Array, Array]:
    """Velocity of the active atoms, (r, q, k), and of the fourth moment, (d_4, k), along turns (k, q - 1, q - 1)."""
    block, separated = design.dictionary.block, design.dictionary.separated
    velocities = atom_velocities(block, block.shape @ turns @ block.frame.template)  # (k, q, q)
    step = 1e-3  # central differences of a polynomial in the atoms: relative error of the order of its square

    def moment(velocity: Array, angle: float) -> Array:
        atoms = block.atoms + angle * velocity
        return fourth_moment(
            design.law, np.column_stack([atoms / np.linalg.norm(atoms, axis=0), separated]), design.noise
        )

    shifts = [(moment(velocity, step) - moment(velocity, -step)) / (2.0 * step) for velocity in velocities]
    return velocities[:, :, list(design.support)].transpose(2, 1, 0), np.stack(shifts, axis=1)
