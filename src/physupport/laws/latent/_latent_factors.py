r"""The trees of active sets behind one latent-code density, with the error of everything that enters the row loop.

For :math:`C_J = \nu I + \lambda D_J D_J^\top` the matrices :math:`M_J = D^\top C_J^{-1} D` and :math:`C_J^{-1} D`
follow from those of a set with one atom less by a rank-one update.  Leaving :math:`C_J` for :math:`C_{J \cup j}` lowers
the quadratic form of a row y by :math:`(h \cdot y)^2` and multiplies the determinant by s,

.. math:: h = \sqrt{\lambda/s}\; C_J^{-1} d_j, \qquad s = 1 + \lambda\, d_j^\top C_J^{-1} d_j \ge 1 .

All of it runs on balls (value, error).  Where n < q the rows enter through :math:`x = D^\top y`, and h as the g with
:math:`h = D g`.
"""

from dataclasses import dataclass
from functools import cache
from typing import Final, Self, final

import numpy as np
from numba import njit

from ..._exp import LN2, LOG_ERROR, inside, log_mantissas
from ..._typing import Array, BoolArray, IntArray
from .._balls import TINY, UP, U, add, div, dot, mul, sqrt, sub
from .._threads import in_pieces
from ._latent_errors import RANGE, Family
from ._latent_kernels import count_bits

# sqrt(log2(e) / 2): the square of h . y, so scaled, counts powers of two of the density.
_ROOT_SCALE: Final = 0.8493218002880191
_ROOT_SCALE_ERROR: Final = 2.0**-53


@inside()
def start_matrices(atoms: Array, noise: float, m: Array, em: Array, w: Array, ew: Array) -> None:
    r""":math:`M_\emptyset = D^\top D/\nu`, and :math:`D/\nu` or, in the coordinates of the atoms, :math:`I/\nu`."""
    q, n = atoms.shape
    zeros = np.zeros(q)
    for i in range(n):
        for j in range(i + 1):
            v, e = dot(atoms[:, i], zeros, atoms[:, j], zeros)
            m[i, j], em[i, j] = div(v, e, noise, 0.0)
            m[j, i], em[j, i] = m[i, j], em[i, j]
        for a in range(len(w)):
            v = atoms[a, i] if n >= q else (1.0 if a == i else 0.0)
            w[a, i], ew[a, i] = div(v, 0.0, noise, 0.0)


@inside()
def growth(variance: float, m: Array, em: Array, j: int) -> tuple[float, float]:
    """The s of the update by atom j.  M has a nonnegative diagonal, so a value below zero may move to zero."""
    v, e = mul(variance, 0.0, max(m[j, j], 0.0), em[j, j])
    return add(1.0, 0.0, v, e)


@inside()
def update(variance: float, j: int, last: int, m: Array, em: Array, w: Array, ew: Array) -> None:
    r"""Fill m[1], w[1] from m[0], w[0]: :math:`A \mapsto A - A_{\cdot j} (\lambda M_{j\cdot}/s)` for both matrices.

    Sets that come from this one have further atoms below j, so that only the rows and columns of these are looked at
    again, and those of the atom last, if there is one.
    """
    s, es = growth(variance, m[0], em[0], j)
    count = j + 1 if last < m.shape[-1] else j
    for column in range(count):
        k = column if column < j else last
        v, e = mul(variance, 0.0, m[0, j, k], em[0, j, k])
        coupling, e_coupling = div(v, e, s, es)
        for row in range(count):
            i = row if row < j else last
            v, e = mul(m[0, i, j], em[0, i, j], coupling, e_coupling)
            m[1, i, k], em[1, i, k] = sub(m[0, i, k], em[0, i, k], v, e)
        for i in range(w.shape[1]):
            v, e = mul(w[0, i, j], ew[0, i, j], coupling, e_coupling)
            w[1, i, k], ew[1, i, k] = sub(w[0, i, k], ew[0, i, k], v, e)


@inside()
def direction(
    variance: float, atoms: Array, j: int, m: Array, em: Array, w: Array, ew: Array, h: Array
) -> tuple[float, float, float]:
    r"""Fill h of the update by atom j; returns the ball of s and :math:`\tau`: the computed h . y is within tau \|y\|.

    In q coordinates an inner product of d terms errs by at most :math:`\gamma_d \|\hat h\| \|y\|`, and h by its radii.
    In atom coordinates :math:`\hat x_a` errs by :math:`\gamma_q \|d_a\|\|y\|` and is at most :math:`(1 + \gamma_q)`
    times :math:`\|d_a\|\|y\|` large.  One factor 1 + 2^-20 covers (1 + gamma) and the rounding of tau itself.
    """
    q, n = atoms.shape
    d = len(h)
    s, es = growth(variance, m, em, j)
    root, e_root = sqrt(variance, 0.0)
    root, e_root = mul(root, e_root, _ROOT_SCALE, _ROOT_SCALE_ERROR)
    v, e = sqrt(s, es)
    root, e_root = div(root, e_root, v, e)
    size, radius = 0.0, 0.0
    for a in range(d):
        h[a], e = mul(w[a, j], ew[a, j], root, e_root)
        if n >= q:
            size += h[a] * h[a]
            radius += e * e
        else:
            length = 0.0
            for c in range(q):
                length += atoms[c, a] * atoms[c, a]
            size += abs(h[a]) * np.sqrt(length)
            radius += e * np.sqrt(length)
    in_rows = (d + 1) * U * np.sqrt(size) + np.sqrt(radius)
    in_atoms = (d + q + 2) * U * size + radius
    return s, es, (in_rows if n >= q else in_atoms) * (1.0 + 2.0**-20) + TINY


@njit(cache=True, nogil=True)
def nested_trees(atoms: Array, noises: Array, variances: Array, h: Array, m: Array, scalars: Array) -> None:
    r"""Trees whose root is the full set: from J one adds the lowest atom that is missing.

    atoms: (F, q, n).  Fills h: (F, 2^n, d), the multipliers :math:`m_J = \sqrt{\det C_{full}/\det C_J}`: (F, 2^n), and
    scalars: (F, 4): the largest over J of :math:`\sum \tau^2` along its path, the largest relative error of m, and the
    ball of :math:`\det C_{full}/\nu^q`.
    """
    for f in range(len(atoms)):
        n, d = atoms.shape[2], h.shape[2]
        full = (1 << n) - 1
        mats, e_mats = np.empty((n + 2, n, n)), np.empty((n + 2, n, n))
        cols, e_cols = np.empty((n + 2, d, n)), np.empty((n + 2, d, n))
        s, es, tau = np.ones(full + 1), np.zeros(full + 1), np.zeros(full + 1)
        start_matrices(atoms[f], noises[f], mats[0], e_mats[0], cols[0], e_cols[0])
        h[f, full] = 0.0
        for mask in range(full):
            if mask:
                j, k = lowest_bit(mask), count_bits(mask) - 1
                # What a set adds first is below j, or, once it has all of these, the lowest that is missing above.
                last = lowest_bit(~mask >> j << j)
                update(variances[f], j, last, mats[k : k + 2], e_mats[k : k + 2], cols[k : k + 2], e_cols[k : k + 2])
            k = count_bits(mask)
            s[mask], es[mask], tau[mask] = direction(
                variances[f], atoms[f], lowest_bit(full & ~mask), mats[k], e_mats[k], cols[k], e_cols[k], h[f, mask]
            )
        climb(s, es, tau, m[f], scalars[f], False)


@njit(cache=True, nogil=True)
def mixed_trees(atoms: Array, noises: Array, variances: Array, h: Array, m: Array, scalars: Array) -> None:
    r"""Trees whose root is the empty set, one a variance (t,): J is its rest with the lowest atom added.

    Fills h: (F, t 2^n, d), :math:`m_J = \sqrt{\nu^q/\det C_J}`: (F, t 2^n), and scalars as above, with the ball 1.
    """
    for f in range(len(atoms)):
        n, d = atoms.shape[2], h.shape[2]
        n_sets = 1 << n
        mats, e_mats = np.empty((n + 1, n, n)), np.empty((n + 1, n, n))
        cols, e_cols = np.empty((n + 1, d, n)), np.empty((n + 1, d, n))
        s, es, tau = np.ones(n_sets), np.zeros(n_sets), np.zeros(n_sets)
        scalars[f] = np.array([0.0, 0.0, 1.0, 0.0])
        start_matrices(atoms[f], noises[f], mats[0], e_mats[0], cols[0], e_cols[0])
        for t in range(len(variances)):
            h[f, t * n_sets] = 0.0
            for mask in range(1, n_sets):
                j = lowest_bit(mask)
                k = count_bits(mask) - 1
                s[mask], es[mask], tau[mask] = direction(
                    variances[t], atoms[f], j, mats[k], e_mats[k], cols[k], e_cols[k], h[f, t * n_sets + mask]
                )
                update(variances[t], j, n, mats[k : k + 2], e_mats[k : k + 2], cols[k : k + 2], e_cols[k : k + 2])
            climb(s, es, tau, m[f, t * n_sets : (t + 1) * n_sets], scalars[f], True)


@inside()
def climb(s: Array, es: Array, tau: Array, m: Array, scalars: Array, from_empty: bool) -> None:
    """Multiply s and add tau^2 along the paths from the root; fills m and enlarges the first two scalars."""
    full = len(s) - 1
    p, ep, path = np.ones(full + 1), np.zeros(full + 1), np.zeros(full + 1)
    for step in range(1, full + 1):
        mask = step if from_empty else full - step
        parent = mask & (mask - 1) if from_empty else mask | (mask + 1)
        p[mask], ep[mask] = mul(p[parent], ep[parent], s[mask], es[mask])
        path[mask] = (path[parent] + tau[mask] * tau[mask]) * UP
    for mask in range(full + 1):
        v, e = sqrt(p[mask], ep[mask])
        if from_empty:
            v, e = div(1.0, 0.0, v, e)
        m[mask] = v
        scalars[0] = larger(scalars[0], path[mask])
        scalars[1] = larger(scalars[1], e / v * UP if v > 0.0 else np.inf)
    if not from_empty:
        scalars[2], scalars[3] = p[0], ep[0]


@inside()
def larger(a: float, b: float) -> float:
    """The larger of two bounds; infinity if one of them is no number."""
    return max(a, b) if a < np.inf and b < np.inf else np.inf


@inside()
def lowest_bit(mask: int) -> int:
    """Lowest atom of a nonempty set."""
    j = 0
    while not mask >> j & 1:
        j += 1
    return j


@cache
def nested_passes(n_atoms: int) -> IntArray:
    """(2^(n-2), 3) parent level, set that holds the first two atoms, its size less two; depth first, neither last."""
    passes: list[tuple[int, int, int]] = []
    stack = [(0, (1 << n_atoms) - 1, n_atoms)]
    while stack:
        level, mask, lowest_absent = stack.pop()
        passes.append((level, mask, mask.bit_count() - 2))
        stack.extend((level + 1, mask & ~(1 << j), j) for j in reversed(range(2, lowest_absent)))
    return np.array(passes, dtype=np.int64)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Factors:
    """What the row loops need of F densities: the trees, and the errors that come with them."""

    atoms: Array  # (F, q, n)
    noises: Array  # (F,)
    directions: Array  # (F, sets, d)
    multipliers: Array  # (F, sets)
    scalars: Array  # (F, 4): path, relative error of the multipliers, determinant and its error
    trusted: BoolArray  # (F,) whether the multipliers keep products normal

    @classmethod
    def prepare(cls, family: Family, atoms: Array, noises: Array, variances: Array) -> Self:
        """Grow the trees of every dictionary; variances: (F,), used where the family is nested."""
        n_factors, q, n = atoms.shape
        n_sets = max(1, len(family.used)) << n
        directions, multipliers = np.empty((n_factors, n_sets, min(q, n))), np.empty((n_factors, n_sets))
        scalars = np.zeros((n_factors, 4))

        def grow(part: slice) -> None:
            filled = directions[part], multipliers[part], scalars[part]
            if family.is_nested:
                nested_trees(atoms[part], noises[part], variances[part], *filled)
            else:
                mixed_trees(atoms[part], noises[part], family.trees, *filled)

        in_pieces(n_factors, grow)
        # The row loops take coordinates four by four.
        directions = np.pad(directions, ((0, 0), (0, 0), (0, -min(q, n) % 4)))
        trusted = np.all((multipliers < RANGE) & (multipliers > 1.0 / RANGE), axis=1)
        return cls(atoms, noises, directions, multipliers, scalars, trusted)

    def log_determinants(self) -> tuple[Array, Array]:
        """Logarithms (F,) of the determinants and their errors (F,)."""
        mantissa, exponent = np.frexp(self.scalars[:, 2])
        value = (exponent - 1.0) * LN2 + log_mantissas(2.0 * mantissa[:, None])[:, 0]
        with np.errstate(invalid="ignore", divide="ignore"):
            relative = self.scalars[:, 3] / self.scalars[:, 2]
            error = np.where(relative < 0.5, relative / (1.0 - relative), np.inf)
        return value, error * (1.0 + 8.0 * U) + LOG_ERROR + 4.0 * U * np.abs(value)
