"""Projectors of atoms near the axis, degree by degree, and averages over exchangeable active subsets."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from ..._checks import check_array, check_count, check_open
from ..._errors import MisuseError
from ..._typing import Array
from ._block import Frame


def projector_increment(frame: Frame, z: ArrayLike) -> Array:
    r""":math:`H(z) = d(z)d(z)^\top - uu^\top` for one atom (eq:sm-tech-s1-1).

    :math:`H = c\,(uz^\top + zu^\top) + zz^\top - \|z\|^2uu^\top` with :math:`c = \sqrt{1-\|z\|^2}`, which subtracts no
    nearly equal numbers.  z: (q - 1,).  Returns (q, q).
    """
    coordinates, squared = _check_coordinates(frame, z)
    first, second = _first_term(frame, coordinates), _second_term(frame, coordinates, squared)
    increment: Array = np.sqrt(1.0 - squared) * first + second
    return increment


def projector_terms(frame: Frame, z: ArrayLike) -> tuple[Array, Array, Array]:
    r"""Terms of degree one to three of the projector increment (eq:sm-tech-s1-2, eq:sm-tech-s1-3, eq:sm-tech-s1-4).

    :math:`A_1 = uz^\top + zu^\top,\quad A_2 = zz^\top - \|z\|^2uu^\top,\quad A_3 = -\tfrac12\|z\|^2A_1`.
    """
    coordinates, squared = _check_coordinates(frame, z)
    first = _first_term(frame, coordinates)
    return first, _second_term(frame, coordinates, squared), -0.5 * squared * first


def projector_remainder(frame: Frame, z: ArrayLike) -> Array:
    r"""What the three terms leave, in closed form: :math:`R_4 = -\frac{\|z\|^4}{2(1+c)^2}(uz^\top + zu^\top)`.

    From :math:`c - 1 + \tfrac12\|z\|^2 = -\tfrac12(1-c)^2`; the term of degree four vanishes, so it is of degree five.
    """
    coordinates, squared = _check_coordinates(frame, z)
    factor = squared**2 / (2.0 * (1.0 + np.sqrt(1.0 - squared)) ** 2)
    remainder: Array = -factor * _first_term(frame, coordinates)
    return remainder


@final
@dataclass(frozen=True, slots=True)
class RemainderConstants:
    """Constants of (eq:sm-tech-s1-5): R_4 is at most value ||z||^4 and its derivative derivative ||z||^3."""

    value: float
    derivative: float


def remainder_constants(radius: float) -> RemainderConstants:
    r"""The least constants of (eq:sm-tech-s1-5) on the cap of the given radius R below 1.

    With c the axial part at the rim, :math:`\|R_4\|_F \le \frac{R}{\sqrt2(1+c)^2}\|z\|^4` and
    :math:`\|DR_4\| \le \sqrt2R\{\frac{1}{c(1+c)} + \frac{1}{2(1+c)^2}\}\|z\|^3`, both attained at the rim.

    Proof. :math:`\|uz^\top + zu^\top\|_F = \sqrt2\|z\|` gives the first from the closed form. With
    :math:`g = \tfrac12(1-c)^2` the derivative along w is
    :math:`-\tfrac{1-c}{c}(z^\top w)(uz^\top + zu^\top) - g\,(uw^\top + wu^\top)`, longest for w along z. Insert
    :math:`1-c = \|z\|^2/(1+c)`; the factors decrease in c, and one power of the norm is at most R.
    """
    radius = check_open("radius", radius, 0.0, 1.0)
    c = np.sqrt((1.0 - radius) * (1.0 + radius))
    derivative = np.sqrt(2.0) * radius * (1.0 / (c * (1.0 + c)) + 0.5 / (1.0 + c) ** 2)
    return RemainderConstants(float(radius / (np.sqrt(2.0) * (1.0 + c) ** 2)), float(derivative))


def inclusion_probabilities(n: int, most: int) -> Array:
    r"""Chances :math:`\pi_m(h) = (h)_m/(n)_m` that a uniform h-subset of n atoms holds m given ones.

    Returns (most, n + 1): row m - 1 for m = 1..most, column h for h = 0..n; 0 where m exceeds n.
    """
    n, most = check_count("n", n), check_count("most", most)
    size, table = np.arange(n + 1.0), np.zeros((most, n + 1))
    included = np.ones(n + 1)
    for m in range(min(most, n)):
        included = included * np.maximum(size - m, 0.0) / (n - m)
        table[m] = included
    return table


def subset_moments(values: ArrayLike, h: int) -> tuple[Array, Array, Array]:
    r"""Mean, over uniform h-subsets C, of :math:`X_C, X_C^{\odot2}, X_C^{\odot3}` with :math:`X_C = \sum_{j\in C}H_j`.

    With :math:`Q_m = \sum_j H_j^{\odot m}` (eq:sm-proof-5-4, eq:sm-proof-5-5, eq:sm-proof-5-6):
    :math:`\pi_1Q_1,\quad (\pi_1-\pi_2)Q_2 + \pi_2Q_1^{\odot2},\quad
    (\pi_1-3\pi_2+2\pi_3)Q_3 + 3(\pi_2-\pi_3)Q_1\odot Q_2 + \pi_3Q_1^{\odot3}`.

    A symmetric tensor is its polynomial, and the symmetric product is the product of polynomials: values holds each
    H_j evaluated at any number of test vectors, (q, ...), and so do the results, (...).
    """
    evaluated = np.asarray(values, dtype=np.float64)
    if evaluated.ndim == 0:
        raise MisuseError("values", "have one row for each atom", "a single number")
    evaluated = check_array("values", evaluated, evaluated.shape)
    q = check_count("number of rows of values", len(evaluated))
    one, two, three = inclusion_probabilities(q, 3)[:, check_count("h", h, 0, q)]
    first, second, third = ((evaluated**m).sum(axis=0) for m in (1, 2, 3))
    return (
        one * first,
        (one - two) * second + two * first**2,
        (one - 3 * two + 2 * three) * third + 3 * (two - three) * first * second + three * first**3,
    )


def _check_coordinates(frame: Frame, z: ArrayLike) -> tuple[Array, float]:
    coordinates = check_array("z", z, (frame.q - 1,))
    squared = float(coordinates @ coordinates)
    if squared >= 1.0:
        raise MisuseError("z", "be shorter than 1", f"norm {squared**0.5:.6g}")
    return coordinates, squared


def _first_term(frame: Frame, z: Array) -> Array:
    half = np.outer(frame.axis, frame.basis @ z)
    return half + half.T


def _second_term(frame: Frame, z: Array, squared: float) -> Array:
    across = frame.basis @ z
    return np.outer(across, across) - squared * np.outer(frame.axis, frame.axis)
