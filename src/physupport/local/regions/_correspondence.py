"""The calibration class, and the correspondence: explanations that calibration and deployment both retain."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import sqrt
from typing import final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtri, comb

from ..._checks import (
    Interval,
    check_array,
    check_count,
    check_instance,
    check_open,
    check_positive,
    check_support,
    check_support_size,
)
from ..._errors import MisuseError
from ..._typing import Array, BoolArray
from ...laws import BernoulliGaussian, CodeLaw, ExchangeableGaussian, fit_boxes
from ..shell import Amplitudes, Condition, LocalDictionary, Membership, Shell
from ._moments import check_rows

# The same law written down by two formulas differs by rounding only.
_LAW_TOLERANCE = 1e-12


@final
@dataclass(frozen=True, slots=True, eq=False)
class CalibrationParameter:
    r""":math:`\theta = (p, \nu, [D])`: one complete account of how calibration rows arise; the law carries p."""

    law: CodeLaw
    dictionary: LocalDictionary
    noise: float  # nu

    def __post_init__(self) -> None:
        check_instance("dictionary", self.dictionary, LocalDictionary)
        check_positive("noise", self.noise)


@final
@dataclass(frozen=True, slots=True, eq=False)
class CalibrationClass:
    """Everything allowed before data: a shell of dictionaries and noise levels, and what is known of the codes.

    The activity is a range of Bernoulli-Gaussian probabilities within (0, 1/2), or one known exchangeable law.
    """

    shell: Shell
    activity: Interval | ExchangeableGaussian

    def __post_init__(self) -> None:
        check_instance("shell", self.shell, Shell)
        check_instance("activity", self.activity, Interval, ExchangeableGaussian)
        if isinstance(self.activity, Interval):
            if self.activity.upper >= 0.5:
                raise MisuseError("activity", "stay below 1/2, where p(1-p) determines p", repr(self.activity.upper))
        elif self.activity.n_atoms != self.n_atoms:
            rule = f"give the probabilities of 0 to {self.n_atoms} active atoms"
            raise MisuseError("activity", rule, f"{self.activity.n_atoms + 1} probabilities")

    @property
    def unknown(self) -> tuple[Interval, ...]:
        """The ranges of the unknowns of the codes: that of the activity probability, or none of a known law."""
        return (self.activity,) if isinstance(self.activity, Interval) else ()

    def law(self, values: Sequence[float]) -> CodeLaw:
        """The law of the codes at values of the unknowns."""
        return BernoulliGaussian(values[0]) if isinstance(self.activity, Interval) else self.activity

    def unknown_values(self, law: CodeLaw) -> list[float]:
        """Values of the unknowns of the codes in a law."""
        if not self.unknown:
            return []
        if law.activity is None:
            rule = "be Bernoulli-Gaussian in a class with a range of activities"
            raise MisuseError("parameter.law", rule, type(law).__name__)
        return [law.activity]

    @property
    def q(self) -> int:
        """Ambient dimension."""
        return self.shell.q

    @property
    def n_atoms(self) -> int:
        """Number of atoms n = q + 1: the coherent ones and the separated one."""
        return self.shell.q + 1

    @property
    def spectral_bound(self) -> float:
        r"""The bound :math:`\Lambda = \nu_+ + n\lambda_{\max}` of the conditional covariance of rows.

        Bernoulli-Gaussian codes have :math:`\lambda_{\max} = 1`; of a known law only the variances that occur count.
        """
        law = self.law([part.upper for part in self.unknown])
        occurs = law.subset_weights(self.n_atoms)[1:] > 0.0
        largest = float(np.max(law.active_variances(self.n_atoms)[1:][occurs], initial=0.0))
        return self.shell.noise.upper + self.n_atoms * largest

    def membership(self, parameter: CalibrationParameter) -> Membership:
        """Every condition of the class at one parameter."""
        conditions = self.shell.membership(parameter.dictionary, parameter.noise).conditions
        if not self.unknown:
            distance = law_distance(parameter.law, self.law([]), self.n_atoms)
            return Membership((*conditions, Condition("code law equal to the known law", distance, _LAW_TOLERANCE)))
        (allowed,) = self.unknown
        (p,) = self.unknown_values(parameter.law)
        lower = Condition("p_- at most the activity probability", allowed.lower, p)
        upper = Condition("activity probability at most p_+", p, allowed.upper)
        return Membership((*conditions, lower, upper))

    def sample(self, rng: np.random.Generator) -> CalibrationParameter:
        """A parameter inside the class; not uniform."""
        law = self.law([rng.uniform(part.lower, part.upper) for part in self.unknown])
        dictionary = self.shell.sample(rng)
        noise = self.shell.noise
        return CalibrationParameter(law, dictionary, rng.uniform(noise.lower, noise.upper))


def law_distance(first: CodeLaw, second: CodeLaw, n_atoms: int) -> float:
    """Largest difference of two code laws in a size probability, or in the active variance of a size that occurs."""
    sizes = np.arange(n_atoms + 1)
    one, two = (law.subset_weights(n_atoms) * comb(n_atoms, sizes) for law in (first, second))
    occurs = ((one > 0.0) | (two > 0.0)) & (sizes > 0)
    variances = np.abs(first.active_variances(n_atoms) - second.active_variances(n_atoms))[occurs]
    return float(max(np.abs(one - two).max(), variances.max(initial=0.0)))


@final
@dataclass(frozen=True, slots=True, eq=False)
class CalibrationRegion:
    """A set of calibration parameters that holds the true one with probability at least 1 - alpha, whichever it is.

    conditions: the inequalities of the region beyond those of its class, at one parameter; none for the whole class.
    """

    calibration_class: CalibrationClass  # everything allowed before data
    alpha: float  # the probability with which the true parameter may be missed
    conditions: Callable[[CalibrationParameter], tuple[Condition, ...]] = field(default=lambda _: ())

    def membership(self, parameter: CalibrationParameter) -> Membership:
        """Every inequality of the class and then of the region, by name, and by how much it is met or missed."""
        of_class = self.calibration_class.membership(parameter).conditions
        return Membership((*of_class, *self.conditions(parameter)))


@final
@dataclass(frozen=True, slots=True, eq=False)
class DeploymentBall:
    r"""All means within :math:`\tau` of the sample mean, and the probability with which the true one is not there."""

    center: Array  # (q,), sample mean
    radius: float  # tau
    alpha: float  # alpha_T

    def __post_init__(self) -> None:
        object.__setattr__(self, "center", check_array("center", self.center, (None,)))
        object.__setattr__(self, "radius", check_positive("radius", self.radius))
        object.__setattr__(self, "alpha", check_open("alpha", self.alpha, 0.0, 1.0))

    def contains(self, mean: ArrayLike) -> bool:
        """True if a mean (q,) lies in the closed ball."""
        return bool(np.linalg.norm(check_array("mean", mean, self.center.shape) - self.center) <= self.radius)


def deployment_radius(q: int, n_rows: int, sigma_max: float, alpha: float) -> float:
    r""":math:`\tau_{T,q} = \sigma_+T^{-1/2}\sqrt{\chi^2_{q,1-\alpha}}` with T rows in dimension q (eq:test-radius)."""
    quantile = float(chdtri(check_count("q", q), check_open("alpha", alpha, 0.0, 1.0)))
    return check_positive("sigma_max", sigma_max) * sqrt(quantile / check_count("n_rows", n_rows))


def deployment_ball(rows: ArrayLike, sigma_max: float, alpha: float) -> DeploymentBall:
    r"""Ball around the sample mean :math:`\bar Z` with radius :math:`\tau_{T,q}` (eq:test-radius).

    Rows are independent :math:`\mathcal N(\mu, \sigma^2I)` with :math:`\sigma \le \sigma_+`: the ball holds
    :math:`\mu` with probability at least :math:`1-\alpha` (eq:test-truth-event), exactly that at :math:`\sigma_+`.
    rows: (T, q).
    """
    rows = check_rows("rows", rows)
    n_rows, q = rows.shape
    return DeploymentBall(rows.mean(axis=0), deployment_radius(q, n_rows, sigma_max, alpha), alpha)


def profile_losses(target: ArrayLike, atoms: ArrayLike, box: Interval) -> tuple[Array, Array, Array]:
    r""":math:`\min_{x\in[\beta_-,\beta_+]^r}\|\bar Z - \sum_j x_jd_j\|_2` for k choices of atoms
    (eq:fine-profile-loss, eq:sm-tech-s11-7).

    A separated alternative is the case r = 1 with the box :math:`\Gamma_A` (eq:anchor-profile-loss).  Exact: a finite
    active-set method with orthogonal factors, which do not square the condition number of coherent atoms.
    target: (q,).  atoms: (k, q, r), any q and r >= 1, dependent atoms allowed.

    Returns losses (k,), coefficients (k, r) and lower bounds (k,).  A loss is the residual norm at the feasible
    coefficients beside it, so it is never below the minimum but for the rounding of one residual; a lower bound is
    never above the minimum, rounding included.  An explanation whose lower bound exceeds a radius is certainly out, one
    whose loss is within it is in.
    """
    target = np.ascontiguousarray(check_array("target", target, (None,)))
    atoms = check_array("atoms", atoms, (None, len(target), None))
    if not atoms.shape[2]:
        raise MisuseError("atoms", "hold at least one atom in every choice", f"shape {atoms.shape}")
    atoms = np.ascontiguousarray(np.swapaxes(atoms, 1, 2))  # (k, r, q)
    coefficients = np.empty(atoms.shape[:2])
    duals = np.empty(atoms.shape[::2])
    lower, upper = (np.full(atoms.shape[1], end) for end in (box.lower, box.upper))
    fit_boxes(target, atoms, lower, upper, coefficients, duals)
    losses = np.linalg.norm(target - (coefficients[:, None, :] @ atoms)[:, 0, :], axis=1)
    # No bound above the loss: they may cross by rounding where both are exact.
    return losses, coefficients, np.minimum(_lower_bounds(target, atoms, box, duals), losses)


def _lower_bounds(target: Array, atoms: Array, box: Interval, duals: Array) -> Array:
    r"""Duality: :math:`\|z - Ax\| \ge w^\top z - \sum_jx_j\,w^\top a_j` for every unit vector w.

    Over the box this is at least :math:`w^\top z - \sum_j\max(\beta_-w^\top a_j, \beta_+w^\top a_j)`, with equality if
    w is the direction of the residual of the minimiser.
    target: (q,).  atoms: (k, r, q).  duals: (k, q).  Returns (k,).
    """
    r, q = atoms.shape[1:]
    lengths = np.linalg.norm(duals, axis=1)
    w = duals / np.maximum(lengths, np.finfo(np.float64).tiny)[:, None]  # (k, q)
    slopes = (atoms @ w[:, :, None])[:, :, 0]  # (k, r)
    values = w @ target - np.maximum(box.lower * slopes, box.upper * slopes).sum(axis=1)
    size = np.abs(w) @ np.abs(target) + box.upper * (np.abs(atoms) @ np.abs(w)[:, :, None])[:, :, 0].sum(axis=1)
    # q + r additions of products err by at most (q + r + 2) units of rounding times their absolute sum; doubled, this
    # also covers the rounding of that sum itself and of the norm of w, by which the value is divided.
    rounding = 2.0 * (q + r + 8) * np.finfo(np.float64).eps * size
    return np.asarray(np.maximum(values - rounding, 0.0))


Support = tuple[int, ...] | None
"""Active coherent atoms; None is the separated alternative."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Retained:
    """The pairs of calibration parameters and supports that the data keep, as columns."""

    parameters: tuple[CalibrationParameter, ...]  # K of them
    supports: tuple[Support, ...]  # M of them
    loss_bounds: Array  # (K, M), proven lower bounds of the coefficient-profiled residuals
    kept: BoolArray  # (K, M)
    level: float  # probability with which a true explanation of the collection may be missing

    @property
    def is_empty(self) -> bool:
        """The flag F_empty: nothing survives."""
        return not bool(self.kept.any())

    @property
    def n_kept(self) -> int:
        """Number of surviving (parameter, support) pairs."""
        return int(self.kept.sum())

    def pairs(self) -> list[tuple[CalibrationParameter, Support]]:
        """The surviving pairs, parameters in their given order."""
        return [(self.parameters[k], self.supports[m]) for k, m in np.argwhere(self.kept)]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Correspondence:
    r"""The set :math:`\mathcal R^p_{q,r,s}` of explanations that calibration and deployment both keep (eq:raw-profile).

    An explanation :math:`(p, \nu, [D, S])` is kept when :math:`(p, \nu, [D])` lies in the calibration region
    :math:`\widehat{\mathcal K}^p_{q,s}` and the residual of the support S, None for the separated atom
    :math:`\partial`, obeys :math:`\ell_{\mathrm{prof}}(\bar Z, D, S) \le \tau_{T,q}` (eq:sm-tech-s11-10).  `targets` is
    its projection :math:`\widehat{\mathfrak C}^p_{q,r,s}` to physical elements (eq:reported-set).

    If the region loses the true parameter with probability at most :math:`\alpha_D` and, the calibration data given,
    the ball loses the true mean with probability at most :math:`\alpha_T`, the true explanation is kept with
    probability at least :math:`(1-\alpha_D)(1-\alpha_T)`, whatever the number of dictionaries and supports: all of them
    share one ball (prop:profile-well-defined, eq:two-level-coverage, eq:marginal-coverage).
    """

    region: CalibrationRegion  # hat K, from N calibration rows Y
    ball: DeploymentBall  # of centre bar Z and radius tau, from T deployment rows Z
    amplitudes: Amplitudes  # [beta_-, beta_+] of the block, Gamma_A of the separated atom
    support_size: int  # r

    def __post_init__(self) -> None:
        check_instance("ball", self.ball, DeploymentBall)
        check_instance("amplitudes", self.amplitudes, Amplitudes)
        check_support_size(self.support_size, self.q)
        if self.region.calibration_class.q != self.q:
            rule = f"have dimension {self.q}, that of the deployment ball"
            raise MisuseError("region", rule, self.region.calibration_class.q)

    @property
    def level(self) -> float:
        """Probability with which the true explanation may be lost, from the levels of the region and of the ball."""
        return combined_level(self.region.alpha, self.ball.alpha)

    @property
    def q(self) -> int:
        """Ambient dimension and number of coherent atoms."""
        return len(self.ball.center)

    @property
    def supports(self) -> tuple[Support, ...]:
        """All supports of size r within the block, in lexicographic order, then the separated alternative."""
        return (*combinations(range(self.q), self.support_size), None)

    def membership(self, parameter: CalibrationParameter, support: Support) -> Membership:
        """Every inequality at one explanation.

        The deployment residual enters through its proven lower bound, so rounding can keep an explanation but
        never lose one.
        """
        self._check_dimension("parameter", parameter)
        if support is not None and len(check_support("support", support, self.q)) != self.support_size:
            raise MisuseError("support", f"hold {self.support_size} atoms", support)
        bound = self._loss_bounds((parameter,), (support,))[0, 0]
        deployment = Condition("deployment residual at most tau", float(bound), self.ball.radius)
        return Membership((*self.region.membership(parameter).conditions, deployment))

    def retain(self, parameters: Iterable[CalibrationParameter]) -> Retained:
        """The retained subset of any collection of calibration parameters, over all supports.

        Deployment residuals of one support are solved for all parameters at once. If the
        true parameter is not in the collection, nothing is guaranteed.
        """
        candidates = tuple(parameters)
        if not candidates:
            raise MisuseError("parameters", "hold at least one calibration parameter", "an empty collection")
        for k, candidate in enumerate(candidates):
            check_instance(f"parameters[{k}]", candidate, CalibrationParameter)
            self._check_dimension(f"parameters[{k}]", candidate)
        bounds = self._loss_bounds(candidates, self.supports)
        calibrated = np.array([self.region.membership(candidate).inside for candidate in candidates])
        kept = calibrated[:, None] & (bounds <= self.ball.radius)
        return Retained(candidates, self.supports, bounds, kept, self.level)

    def _loss_bounds(self, parameters: Sequence[CalibrationParameter], supports: Sequence[Support]) -> Array:
        atoms = np.stack([parameter.dictionary.atoms for parameter in parameters])  # (K, q, q + 1)
        bounds = np.empty((len(parameters), len(supports)))
        for m, support in enumerate(supports):
            active = [self.q] if support is None else list(support)
            box = self.amplitudes.separated if support is None else self.amplitudes.block
            bounds[:, m] = profile_losses(self.ball.center, atoms[:, :, active], box)[2]
        return bounds

    def _check_dimension(self, name: str, parameter: CalibrationParameter) -> None:
        if parameter.dictionary.q != self.q:
            raise MisuseError(
                name, f"have a dictionary in dimension {self.q}, that of the ball", parameter.dictionary.q
            )


def combined_level(calibration: float, deployment: float) -> float:
    r"""The level :math:`\alpha = 1 - (1 - \alpha_D)(1 - \alpha_T)` of the correspondence (thm:honest-region).

    >>> round(combined_level(0.1, 0.2), 12)
    0.28
    """
    check_open("calibration", calibration, 0.0, 1.0)
    check_open("deployment", deployment, 0.0, 1.0)
    return calibration + deployment - calibration * deployment
