"""Laws of a deployment measurement: a fixed sparse mean in white noise, or a zero mean with a structured covariance."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from ..._checks import check_array, check_count, check_positive, check_support
from ..._errors import MisuseError
from ..._typing import Array
from ._kernels import mixture_log_density
from ._mixture import cholesky_factors


@final
@dataclass(frozen=True, slots=True, eq=False)
class GaussianMean:
    r"""Measurements that share a mean: :math:`Z \sim N_q(\mu, \sigma^2 I)` (eq:test-model)."""

    mean: Array  # (q,)
    variance: float  # sigma^2

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", check_array("mean", self.mean, (None,)))
        object.__setattr__(self, "variance", check_positive("variance", self.variance))
        check_count("the length of mean", len(self.mean))

    def sample(self, rng: np.random.Generator, n: int) -> Array:
        """Independent rows, (n, q)."""
        normals = rng.standard_normal((check_count("n", n, 0), len(self.mean)))
        return np.asarray(self.mean + np.sqrt(self.variance) * normals)

    def log_density(self, rows: ArrayLike) -> Array:
        """Log density of each row, (n,)."""
        rows = check_array("rows", rows, (None, len(self.mean)))
        squared = np.sum((rows - self.mean) ** 2, axis=1)
        return np.asarray(-0.5 * (squared / self.variance + len(self.mean) * np.log(2.0 * np.pi * self.variance)))


@final
@dataclass(frozen=True, slots=True, eq=False)
class GaussianCovariance:
    r"""Measurements of mean zero: :math:`Z \sim N_q(0, C)`."""

    covariance: Array  # (q, q)
    factor: Array = field(init=False, repr=False)  # (q, q), lower Cholesky factor

    def __post_init__(self) -> None:
        covariance = check_array("covariance", self.covariance, (None, None))
        object.__setattr__(self, "covariance", covariance)
        object.__setattr__(self, "factor", cholesky_factors("covariance", covariance[None])[0])

    def sample(self, rng: np.random.Generator, n: int) -> Array:
        """Independent rows, (n, q): normals times the transposed Cholesky factor."""
        return rng.standard_normal((check_count("n", n, 0), len(self.covariance))) @ self.factor.T

    def log_density(self, rows: ArrayLike) -> Array:
        """Log density of each row, (n,)."""
        q = len(self.covariance)
        rows = np.ascontiguousarray(check_array("rows", rows, (None, q)))
        offset = -np.log(np.diagonal(self.factor)).sum() - 0.5 * q * np.log(2.0 * np.pi)
        return np.asarray(mixture_log_density(rows, self.factor[None], np.array([offset])))


def deployment_mean(atoms: ArrayLike, support: Iterable[int], coefficients: ArrayLike) -> Array:
    r"""Coherent-block mean :math:`\mu = \sum_{j \in S} x_j d_j`, all x_j positive (eq:fine-mean); (q,).

    atoms: (q, n).  coefficients: (r,), in the ascending order of the support.
    """
    atoms = check_array("atoms", atoms, (None, None))
    chosen = check_support("support", support, atoms.shape[1])
    coefficients = check_array("coefficients", coefficients, (len(chosen),))
    if coefficients.min() <= 0.0:
        raise MisuseError("coefficients", "be positive", coefficients)
    return atoms[:, list(chosen)] @ coefficients


def separated_mean(atom: ArrayLike, gamma: float) -> Array:
    r"""Mean of the competing explanation, :math:`\mu = \gamma a` with gamma positive (eq:anchor-mean); (q,)."""
    return check_positive("gamma", gamma) * check_array("atom", atom, (None,))
