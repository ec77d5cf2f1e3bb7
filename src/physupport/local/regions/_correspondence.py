"""The cross-dictionary correspondence: which (dictionary, support) pairs both data sets keep."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import final

import numpy as np

from ..._checks import check_instance, check_open, check_support, check_support_size
from ..._errors import MisuseError
from ..._membership import Condition, Membership
from ..._typing import Array, BoolArray
from ..shell import Amplitudes
from ._calibration import CalibrationParameter
from ._deployment import DeploymentBall, profile_losses
from ._regions import CalibrationRegion

Support = tuple[int, ...] | None
"""Active coherent atoms; None is the separated alternative."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Retained:
    """What the data keep of a collection of calibration parameters and all supports, as columns."""

    parameters: tuple[CalibrationParameter, ...]  # K of them
    supports: tuple[Support, ...]  # M of them
    loss_bounds: Array  # (K, M), proven lower bounds of the coefficient-profiled residuals
    kept: BoolArray  # (K, M)
    level: float  # probability with which a true explanation of the collection may be missing

    def __post_init__(self) -> None:
        check_open("level", self.level, 0.0, 1.0)

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
    r"""Explanations compatible with the calibration region and with the deployment ball (eq:raw-profile).

    (p, nu, [D, S]) is kept when (p, nu, [D]) lies in the region and
    :math:`\ell_{\mathrm{prof}}(\bar Z, D, S) \le \tau_{T,q}` (eq:sm-tech-s11-10). If the region loses the true
    parameter with probability at most :math:`\alpha_D` and, the calibration data given, the ball loses the true mean
    with probability at most :math:`\alpha_T`, the true explanation is kept with probability at least
    :math:`(1-\alpha_D)(1-\alpha_T)`, whatever the number of dictionaries and supports: all of them share one ball
    (prop:profile-well-defined, eq:two-level-coverage, eq:marginal-coverage).
    """

    region: CalibrationRegion
    ball: DeploymentBall
    amplitudes: Amplitudes
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

        Deployment residuals of one support are solved for all parameters at once. The collection stands for itself:
        the guarantee speaks of a true parameter that is in it.
        """
        candidates = tuple(parameters)
        for k, candidate in enumerate(candidates):
            check_instance(f"parameters[{k}]", candidate, CalibrationParameter)
        if not candidates:
            raise MisuseError("parameters", "hold at least one calibration parameter", "an empty collection")
        for k, candidate in enumerate(candidates):
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
            bounds[:, m] = profile_losses(self.ball.center, atoms[:, :, active], box).lower_bounds
        return bounds

    def _check_dimension(self, name: str, parameter: CalibrationParameter) -> None:
        if parameter.dictionary.q != self.q:
            raise MisuseError(
                name, f"have a dictionary in dimension {self.q}, that of the ball", parameter.dictionary.q
            )


def combined_level(calibration: float, deployment: float) -> float:
    r""":math:`\alpha = 1 - (1 - \alpha_D)(1 - \alpha_T)`, the level of the correspondence (thm:honest-region).

    >>> round(combined_level(0.1, 0.2), 12)
    0.28
    """
    calibration, deployment = (
        check_open("calibration", calibration, 0.0, 1.0),
        check_open("deployment", deployment, 0.0, 1.0),
    )
    return calibration + deployment - calibration * deployment
