"""Laws of the calibration coefficients: exchangeable over atoms, Gaussian given the active set."""

from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import ClassVar, Protocol, final

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_array, check_count, check_instance, check_open, check_positive, read_only
from .._codec import Refusal
from .._errors import MisuseError
from .._typing import Array, BoolArray

# Float64 sums of probabilities are off by a few 1e-16; a list typed with rounded digits is off by far more than this.
PROBABILITY_TOLERANCE = 1e-12

MOST_ACTIVE = 0.5

# 2^20 active sets of a 16-dimensional signal already take 2 GiB of covariances.
_MOST_ENUMERATED_ATOMS = 20


class CodeLaw(Protocol):
    """A coefficient law: active sets of one size are equally likely, and active entries are iid Gaussian."""

    def subset_weights(self, n_atoms: int) -> Array:
        """Probability of one particular active set of size k, for k = 0..n; (n + 1,)."""

    @property
    def activity(self) -> float | None:
        """The probability p on which all weights depend; None if there is no such number."""
        return None

    def exact_weights(self, n_atoms: int) -> list[Fraction]:
        """The same without rounding, from the stored parameters; a law without more is taken at its word."""
        return [Fraction(float(w)) for w in self.subset_weights(n_atoms)]

    def active_variances(self, n_atoms: int) -> Array:
        """Variance of an active coefficient when k are active, for k = 0..n; (n + 1,)."""

    def sample(self, rng: np.random.Generator, n_rows: int, n_atoms: int) -> Array:
        """Independent coefficient vectors, (n_rows, n_atoms)."""

    def encode(self) -> dict[str, object]:
        """Its name and parameters, for the frozen protocol."""


@final
@dataclass(frozen=True, slots=True)
class BernoulliGaussian:
    r"""Independent coefficients :math:`c_j = I_j G_j,\ I_j \sim \mathrm{Bernoulli}(p),\ G_j \sim N(0, 1)` (eq:bg-code).

    0 < p < 1/2: the fourth cumulant shows p(1 - p) only, and this half is the one the paper identifies.

    >>> BernoulliGaussian(0.2).subset_weights(2).round(2).tolist()
    [0.64, 0.16, 0.04]
    """

    p: float

    def __post_init__(self) -> None:
        check_open("p", self.p, 0.0, MOST_ACTIVE)

    def subset_weights(self, n_atoms: int) -> Array:
        r""":math:`p^k (1 - p)^{n - k}` for k = 0..n; (n + 1,)."""
        size = np.arange(check_count("n_atoms", n_atoms) + 1)
        return np.asarray(self.p**size * (1.0 - self.p) ** (n_atoms - size), dtype=np.float64)

    @property
    def activity(self) -> float:
        """The probability that an atom is active."""
        return self.p

    def exact_weights(self, n_atoms: int) -> list[Fraction]:
        """The same without rounding, from the stored p."""
        p = Fraction(self.p)
        return [p**k * (1 - p) ** (n_atoms - k) for k in range(n_atoms + 1)]

    def active_variances(self, n_atoms: int) -> Array:
        """One for every number of active atoms; (n + 1,)."""
        return np.ones(check_count("n_atoms", n_atoms) + 1)

    def sample(self, rng: np.random.Generator, n_rows: int, n_atoms: int) -> Array:
        """Independent coefficient vectors, (n_rows, n_atoms): all indicators are drawn first, then all values."""
        shape = (check_count("n_rows", n_rows, 0), check_count("n_atoms", n_atoms))
        active = rng.random(shape) < self.p
        return active * rng.standard_normal(shape)

    def encode(self) -> dict[str, object]:
        """Write the law by its activity."""
        return {"law": "bernoulli gaussian", "p": self.p}


@final
@dataclass(frozen=True, slots=True, eq=False)
class ExchangeableGaussian:
    r"""A known law of the number K of active atoms (eq:known-law-support).

    :math:`\mathbb P(K = k) = \pi_k`; given K = k the active set is uniform over the sets of k atoms and its
    coefficients are independent :math:`N(0, \lambda_k)`. The lists have n + 1 entries, which fixes the
    number n of atoms.

    >>> ExchangeableGaussian([0.0, 1.0, 0.0], [0.0, 2.0, 0.0]).subset_weights(2).tolist()
    [0.0, 0.5, 0.0]
    """

    activity: ClassVar[None] = None  # sizes have probabilities of their own

    size_probabilities: Array  # (n + 1,), pi_k
    variances: Array  # (n + 1,), lambda_k

    def __post_init__(self) -> None:
        sizes = check_array("size_probabilities", self.size_probabilities, (None,))
        variances = check_array("variances", self.variances, sizes.shape)
        check_count("n_atoms", len(sizes) - 1)
        if sizes.min() < 0.0:
            raise MisuseError("size_probabilities", "be nonnegative", f"{sizes.min():.6g} at size {sizes.argmin()}")
        if abs(sizes.sum() - 1.0) > PROBABILITY_TOLERANCE:
            raise MisuseError(
                "size_probabilities", "sum to 1", f"{sizes.sum():.15g}", "Divide them by their sum first."
            )
        if variances.min() < 0.0:
            raise MisuseError("variances", "be nonnegative", f"{variances.min():.6g} at size {variances.argmin()}")
        silent = np.flatnonzero((sizes[1:] > 0.0) & (variances[1:] == 0.0)) + 1
        if silent.size:
            rule = "be positive at every nonzero size of positive probability"
            raise MisuseError("variances", rule, f"0 at size {silent[0]}", "An atom without variance is not active.")
        # Copies: a law must stay what it was when a protocol was frozen.
        object.__setattr__(self, "size_probabilities", read_only(sizes))
        object.__setattr__(self, "variances", read_only(variances))

    @property
    def n_atoms(self) -> int:
        """Number of atoms the law is about."""
        return len(self.size_probabilities) - 1

    def subset_weights(self, n_atoms: int) -> Array:
        r""":math:`\pi_k / \binom nk` for k = 0..n; (n + 1,)."""
        self._check_atoms(n_atoms)
        return self.size_probabilities / [comb(n_atoms, k) for k in range(n_atoms + 1)]

    def exact_weights(self, n_atoms: int) -> list[Fraction]:
        """The same without rounding, from the stored probabilities."""
        return [Fraction(pi) / comb(n_atoms, k) for k, pi in enumerate(self.size_probabilities.tolist())]

    def active_variances(self, n_atoms: int) -> Array:
        r""":math:`\lambda_k` for k = 0..n; (n + 1,)."""
        self._check_atoms(n_atoms)
        return self.variances

    def sample(self, rng: np.random.Generator, n_rows: int, n_atoms: int) -> Array:
        """Independent coefficient vectors, (n_rows, n_atoms): sizes are drawn first, then the sets, then the values."""
        self._check_atoms(n_atoms)
        shape = (check_count("n_rows", n_rows, 0), self.n_atoms)
        size = rng.choice(self.n_atoms + 1, size=n_rows, p=self.size_probabilities)  # (n_rows,)
        # The ranks of iid uniforms are a uniform permutation, so the k lowest are a uniform set of size k.
        active = rng.random(shape).argsort(axis=1).argsort(axis=1) < size[:, None]
        return active * np.sqrt(self.variances[size])[:, None] * rng.standard_normal(shape)

    def encode(self) -> dict[str, object]:
        """Write the law by its lists."""
        sizes = self.size_probabilities.tolist()
        variances = self.variances.tolist()
        return {"law": "exchangeable gaussian", "size_probabilities": sizes, "variances": variances}

    def _check_atoms(self, n_atoms: int) -> None:
        if n_atoms != self.n_atoms:
            raise MisuseError("n_atoms", f"be {self.n_atoms}, the number the law was written for", repr(n_atoms))


def decode_code_law(node: object, stream: str) -> CodeLaw:
    """Read what `encode` of a coefficient law made; refuse anything else."""
    match node:
        case {"law": "bernoulli gaussian", "p": float(p)}:
            return BernoulliGaussian(checked_activity(p, f"the activity of {stream}"))
        case {"law": "exchangeable gaussian", "size_probabilities": sizes, "variances": variances}:
            return ExchangeableGaussian(np.array(sizes), np.array(variances))
    raise Refusal(f"a coefficient law of {stream} is malformed")


def checked_activity(p: float, where: str) -> float:
    """A stored activity, which lies in the half that the paper identifies."""
    if not 0.0 < p < MOST_ACTIVE:
        raise Refusal(f"{where} does not lie between 0 and {MOST_ACTIVE}")
    return p


@final
@dataclass(frozen=True, slots=True)
class LawMoments:
    r"""The second and fourth moments of a law, for i != j (eq:supp-exchangeable-coefficients).

    :math:`a_1 = \mathbb E(\lambda_K I_j),\quad a_{2d} = \mathbb E(\lambda_K^2 I_j),\quad
    a_{2o} = \mathbb E(\lambda_K^2 I_i I_j)`.
    """

    a1: float
    a2d: float
    a2o: float

    @property
    def delta(self) -> float:
        r"""Fourth-order contrast :math:`\Delta_{\mathcal L} = a_{2d} - a_{2o}` (eq:delta-law, eq:supp-delta-law)."""
        return self.a2d - self.a2o


def law_moments(law: CodeLaw, n_atoms: int) -> LawMoments:
    r"""Moments of any exchangeable law (eq:known-law-nondegeneracy, eq:exchangeable-coefficients).

    :math:`a_1 = \mathbb E(\lambda_K K)/n,\ a_{2d} = \mathbb E(\lambda_K^2 K)/n,\
    a_{2o} = \mathbb E\{\lambda_K^2 K(K-1)\}/(n(n-1))`; with one atom there is no pair, and a_2o is 0.

    >>> m = law_moments(BernoulliGaussian(0.25), 6)
    >>> [round(x, 12) for x in (m.a1, m.a2d, m.a2o, m.delta)]
    [0.25, 0.25, 0.0625, 0.1875]
    """
    n = check_count("n_atoms", n_atoms)
    weights = law.subset_weights(n)
    variances = law.active_variances(n)
    # pi_k k / n = C(n-1, k-1) w_k: the sets of size k that hold a given atom; likewise for a given pair.
    with_atom = [0, *(comb(n - 1, k - 1) for k in range(1, n + 1))] * weights
    with_pair = [0, 0, *(comb(n - 2, k - 2) for k in range(2, n + 1))] * weights if n > 1 else np.zeros(n + 1)
    return LawMoments(float(with_atom @ variances), float(with_atom @ variances**2), float(with_pair @ variances**2))


def support_masks(n_atoms: int) -> BoolArray:
    """Every active set, (2^n, n), lexicographic with the first atom slowest: the order of the mixture components.

    >>> support_masks(2).astype(int).tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    n = check_count("n_atoms", n_atoms, 1, _MOST_ENUMERATED_ATOMS)
    return np.asarray((np.arange(2**n)[:, None] >> np.arange(n - 1, -1, -1)) & 1, dtype=np.bool_)


def make_calibration(law: CodeLaw, atoms: ArrayLike, noise: float, rng: np.random.Generator, n_rows: int) -> Array:
    r"""Rows :math:`Y_i = D c_i + \xi_i,\ \xi_i \sim N_q(0, \nu I)` (eq:training-model), (n_rows, q).

    All coefficients are drawn first, then all noise.  atoms: (q, n), columns of any norm, so that responses of
    different strength can be simulated as well.  rng: `numpy.random.default_rng(seed)`.
    """
    atoms = check_array("atoms", atoms, (None, None))
    check_instance("rng", rng, np.random.Generator)
    noise = check_positive("noise", noise)
    coefficients = law.sample(rng, check_count("n_rows", n_rows, 0), atoms.shape[1])  # (n_rows, n)
    disturbance = np.sqrt(noise) * rng.standard_normal((n_rows, atoms.shape[0]))  # (n_rows, q)
    return np.asarray(coefficients @ atoms.T + disturbance)
