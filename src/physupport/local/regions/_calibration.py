"""The calibration parameter and the compact class it is known to lie in."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.special import comb

from ..._checks import Interval, check_instance, check_positive
from ..._errors import MisuseError
from ..._membership import Condition, Membership
from ...laws import BernoulliGaussian, CodeLaw, ExchangeableGaussian
from ..shell import LocalDictionary, Shell

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
        check_instance("activity", self.activity, (Interval, ExchangeableGaussian))
        if isinstance(self.activity, Interval):
            if self.activity.upper >= 0.5:
                raise MisuseError("activity", "stay below 1/2, where p(1-p) determines p", repr(self.activity.upper))
        elif self.activity.n_atoms != self.n_atoms:
            rule = f"give the probabilities of 0 to {self.n_atoms} active atoms"
            raise MisuseError("activity", rule, f"{self.activity.n_atoms + 1} probabilities")

    @property
    def unknown(self) -> tuple[Interval, ...]:
        """The ranges of what is unknown of the codes: of the activity probability, or none of a known law."""
        return (self.activity,) if isinstance(self.activity, Interval) else ()

    def law(self, values: Sequence[float]) -> CodeLaw:
        """The law of the codes at values of what is unknown of them."""
        return BernoulliGaussian(values[0]) if isinstance(self.activity, Interval) else self.activity

    def unknown_values(self, law: CodeLaw) -> list[float]:
        """What is unknown of the codes, in a law."""
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
        r""":math:`\Lambda = \nu_+ + n\lambda_{\max}`: rows have conditional covariance at most :math:`\Lambda I`.

        Bernoulli-Gaussian codes have :math:`\lambda_{\max} = 1`; of a known law only the variances that occur count.
        """
        law = self.law([part.upper for part in self.unknown])
        occurs = law.subset_weights(self.n_atoms)[1:] > 0.0
        largest = float(np.max(law.active_variances(self.n_atoms)[1:][occurs], initial=0.0))
        return self.shell.noise.upper + self.n_atoms * largest

    def membership(self, parameter: CalibrationParameter) -> Membership:
        """Every condition of the class at one parameter."""
        of_shell = self.shell.membership(parameter.dictionary, parameter.noise)
        return Membership(of_shell.conditions + self._activity_conditions(parameter.law))

    def sample(self, rng: np.random.Generator) -> CalibrationParameter:
        """A parameter inside the class; not uniform."""
        law = self.law([rng.uniform(part.lower, part.upper) for part in self.unknown])
        dictionary, noise = self.shell.sample(rng), self.shell.noise
        return CalibrationParameter(law, dictionary, rng.uniform(noise.lower, noise.upper))

    def _activity_conditions(self, law: CodeLaw) -> tuple[Condition, ...]:
        if not self.unknown:
            distance = law_distance(law, self.law([]), self.n_atoms)
            return (Condition("code law equal to the known law", distance, _LAW_TOLERANCE),)
        (allowed,), (p,) = self.unknown, self.unknown_values(law)
        return (
            Condition("p_- at most the activity probability", allowed.lower, p),
            Condition("activity probability at most p_+", p, allowed.upper),
        )


def law_distance(first: CodeLaw, second: CodeLaw, n_atoms: int) -> float:
    """Largest difference of two code laws in a size probability, or in the active variance of a size that occurs."""
    choices = comb(n_atoms, np.arange(n_atoms + 1))
    one, two = first.subset_weights(n_atoms) * choices, second.subset_weights(n_atoms) * choices
    occurs = ((one > 0.0) | (two > 0.0)) & (np.arange(n_atoms + 1) > 0)
    variances = np.abs(first.active_variances(n_atoms) - second.active_variances(n_atoms))[occurs]
    return float(max(np.abs(one - two).max(), variances.max(initial=0.0)))
