r"""The trees of active sets behind one latent-code density, with the error of everything that enters the row loop.

For :math:`C_J = \nu I + \lambda D_J D_J^\top` the matrices :math:`M_J = D^\top C_J^{-1} D` and :math:`C_J^{-1} D`
follow from those of a set with one atom less by a rank-one update.  Leaving :math:`C_J` for :math:`C_{J \cup j}` lowers
the quadratic form of a row y by :math:`(h \cdot y)^2` and multiplies the determinant by s,

.. math:: h = \sqrt{\lambda/s}\; C_J^{-1} d_j, \qquad s = 1 + \lambda\, d_j^\top C_J^{-1} d_j \ge 1 .

All of it runs on balls (value, error).  Where n < q the rows enter through :math:`x = D^\top y`, and h by its
coordinates, :math:`h = D\,h'`.
"""

from typing import Final

import numpy as np

from ..._compiled import cached_njit, inner_njit
from ..._typing import Array, IntArray
from ._latent_kernels import count_bits
from ._sums import TINY, UP, U, add, div, dot, mul, sqrt, sub

# sqrt(log2(e) / 2): the square of h . y, so scaled, counts powers of two of the density.
_ROOT_SCALE: Final = 0.8493218002880191
_ROOT_SCALE_ERROR: Final = 2.0**-53
# Covers what bounds lose by being rounded themselves, and 1 + gamma for 1.
SAFE: Final = 1.0 + 2.0**-20


@inner_njit()
def start_matrices(atoms: Array, noise: float, m: Array, em: Array, w: Array, ew: Array) -> None:
    r""":math:`M_\emptyset = D^\top D/\nu`, and :math:`D/\nu` or, in the coordinates of the atoms, :math:`I/\nu`."""
    q, n = atoms.shape
    zeros = np.zeros(q)
    for i in range(n):
        for j in range(i + 1):
            v, e = dot(atoms[:, i], zeros, atoms[:, j], zeros)
            m[i, j], em[i, j] = div(v, e, noise, 0.0)
            m[j, i] = m[i, j]
            em[j, i] = em[i, j]
        for a in range(len(w)):
            v = atoms[a, i] if n >= q else (1.0 if a == i else 0.0)
            w[a, i], ew[a, i] = div(v, 0.0, noise, 0.0)


@inner_njit()
def growth(variance: float, m: Array, em: Array, j: int) -> tuple[float, float]:
    """The s of the update by atom j.  M has a nonnegative diagonal, so a value below zero may move to zero."""
    v, e = mul(variance, 0.0, max(m[j, j], 0.0), em[j, j])
    return add(1.0, 0.0, v, e)


@inner_njit()
def update(variance: float, j: int, kept: IntArray, m: Array, em: Array, w: Array, ew: Array) -> None:
    r"""Fill m[1], w[1] from m[0], w[0]: :math:`A \mapsto A - A_{\cdot j} (\lambda M_{j\cdot}/s)` for both matrices.

    kept: the atoms whose rows and columns are looked at again.
    """
    s, es = growth(variance, m[0], em[0], j)
    for k in kept:
        v, e = mul(variance, 0.0, m[0, j, k], em[0, j, k])
        coupling, e_coupling = div(v, e, s, es)
        for i in kept:
            v, e = mul(m[0, i, j], em[0, i, j], coupling, e_coupling)
            m[1, i, k], em[1, i, k] = sub(m[0, i, k], em[0, i, k], v, e)
        for i in range(w.shape[1]):
            v, e = mul(w[0, i, j], ew[0, i, j], coupling, e_coupling)
            w[1, i, k], ew[1, i, k] = sub(w[0, i, k], ew[0, i, k], v, e)


@inner_njit()
def direction(variance: float, lengths: Array, j: int, s: float, es: float, w: Array, ew: Array, h: Array) -> float:
    r"""Fill h: (d,) of the update by atom j, whose s is given; returns the `extent` of what it may err by."""
    root, e_root = sqrt(variance, 0.0)
    root, e_root = mul(root, e_root, _ROOT_SCALE, _ROOT_SCALE_ERROR)
    v, e = sqrt(s, es)
    root, e_root = div(root, e_root, v, e)
    radii = np.empty(len(h))
    for a in range(len(h)):
        h[a], radii[a] = mul(w[a, j], ew[a, j], root, e_root)
    return extent(radii, lengths)


@inner_njit()
def extent(h: Array, lengths: Array) -> float:
    r"""The most that h . y can be for a row y of length 1, up to rounding, which `SAFE` outweighs.

    In coordinates of the rows it is the length of h: (d,), and lengths is empty; in those of the atoms it is
    :math:`\sum |h_a| \|d_a\|`, and lengths are theirs: (d,).
    """
    total = 0.0
    for a in range(len(h)):
        total += abs(h[a]) * lengths[a] if len(lengths) else h[a] * h[a]
    return total if len(lengths) else np.sqrt(total)


@inner_njit()
def atom_lengths(atoms: Array) -> Array:
    """Lengths (n,) of the atoms where the rows enter through their products with these, else none."""
    q, n = atoms.shape
    lengths = np.zeros(n if n < q else 0)
    for a in range(len(lengths)):
        for c in range(q):
            lengths[a] += atoms[c, a] * atoms[c, a]
    return np.sqrt(lengths)


@inner_njit()
def product_error(h: Array, lengths: Array, q: int) -> float:
    r"""How much the computed h . y may differ from the real one by rounding alone, for a row y of length 1.

    In coordinates of the rows an inner product of d terms errs by at most :math:`\gamma_d \|h\|`.  In those of the
    atoms :math:`\hat x_a` errs by :math:`\gamma_q \|d_a\|` and is at most :math:`(1 + \gamma_q) \|d_a\|`.
    """
    return (len(h) + (q + 2 if len(lengths) else 1)) * U * extent(h, lengths)


@cached_njit(nogil=True)
def nested_trees(
    atoms: Array, noises: Array, variances: Array, h: Array, turns: Array, m: Array, scalars: Array
) -> None:
    r"""Trees whose root is the full set: from J one adds the lowest atom that is missing.

    atoms: (F, q, n).  Fills h: (F, n, d) of the sets that lack one atom, turns: (F, 2^n, 2) that lead to the others,
    the multipliers :math:`m_J = \sqrt{\det C_{full}/\det C_J}`: (F, 2^n), and scalars: (F, 4): the largest over J of
    :math:`\sum \tau^2` along its path, the largest relative error of m, and the ball of :math:`\det C_{full}/\nu^q`.
    """
    for f in range(len(atoms)):
        (q, n) = atoms[f].shape
        d = h.shape[2]
        full = (1 << n) - 1
        mats = np.empty((n + 2, n, n))
        e_mats = np.empty((n + 2, n, n))
        cols = np.empty((n + 2, d, n))
        e_cols = np.empty((n + 2, d, n))
        s = np.ones(full + 1)
        es = np.zeros(full + 1)
        tau = np.zeros(full + 1)
        c = np.zeros(full + 1)
        lengths = atom_lengths(atoms[f])
        g = np.empty((full + 1, d))
        start_matrices(atoms[f], noises[f], mats[0], e_mats[0], cols[0], e_cols[0])
        for mask in range(full):
            if mask:
                k = count_bits(mask) - 1
                kept = still_to_add(mask, n)
                update(variances[f], lowest_bit(mask), kept, mats[k:], e_mats[k:], cols[k:], e_cols[k:])
            k = count_bits(mask)
            j = lowest_bit(full & ~mask)
            s[mask], es[mask] = growth(variances[f], mats[k], e_mats[k], j)
            tau[mask] = direction(variances[f], lengths, j, s[mask], es[mask], cols[k], e_cols[k], g[mask])
            rest = full & ~mask & ~(1 << j)
            if rest:
                c[mask] = variances[f] * mats[k, j, lowest_bit(rest)]
            else:
                h[f, j] = g[mask]
        take_turns(s, c, lengths, q, g, tau, turns[f])
        climb(s, es, tau, m[f], scalars[f], False)


@inner_njit()
def still_to_add(mask: int, n: int) -> IntArray:
    """The atoms below the lowest of a set, and the lowest two that it lacks above.

    Among them are the two that a set adds first, and those of all sets that come from it by adding lower ones.
    """
    lowest = lowest_bit(mask)
    atoms = np.arange(lowest + 2)
    count = lowest
    for j in range(lowest + 1, n):
        if count < len(atoms) and not mask >> j & 1:
            atoms[count] = j
            count += 1
    return atoms[:count]


@inner_njit()
def take_turns(s: Array, c: Array, lengths: Array, q: int, g: Array, tau: Array, turns: Array) -> None:
    r"""Fill the turns: (2^n, 2), and let tau: (2^n,) bound the error of what the row loop computes as h . y.

    Of the atoms that J lacks let k be the lowest and j the next, K = J + j, P = J + k and :math:`c = \lambda d_k^\top
    C_J^{-1} d_j`.  From :math:`C_K^{-1} d_k = C_J^{-1} d_k - c\,C_J^{-1} d_j/s_j`, the same with k and j exchanged, and
    :math:`s_K/s_J = s_P/s_j = 1 - c^2/(s_J s_j)` follows

    .. math:: h_J = a h_K + b h_P, \qquad a = \sqrt{s_J/s_K}, \quad b = c/\sqrt{s_J s_P} .

    Whatever a and b are after rounding, the row loop computes products with :math:`g_J = a g_K + b g_P`, where g = h
    for the sets that lack one atom.  By roundings, two a term, it misses them by
    :math:`\omega_J = |a|\omega_K + |b|\omega_P + 2u(|a||g_K| + |b||g_P|)`, and as much bounds the error of g
    computed here.  So tau is twice that, and the distance of g from h, and what h errs by, with which tau comes in.
    """
    full = len(s) - 1
    omega = np.zeros(full + 1)
    size = np.zeros(full + 1)
    for step in range(1, full + 1):
        mask = full - step
        parent = mask | (mask + 1)
        if parent == full:
            omega[mask] = product_error(g[mask], lengths, q)
        else:
            other = mask | (parent + 1 & ~parent)
            a = np.sqrt(s[mask] / s[other])
            b = c[mask] / np.sqrt(s[mask] * s[parent])
            turned = a * g[other] + b * g[parent]
            tau[mask] += extent(turned - g[mask], lengths)
            a_size = abs(a) * size[other]
            b_size = abs(b) * size[parent]
            omega[mask] = abs(a) * omega[other] + abs(b) * omega[parent] + 2.0 * U * (a_size + b_size)
            turns[mask, 0] = a
            turns[mask, 1] = b
            g[mask] = turned
        size[mask] = extent(g[mask], lengths) + 2.0 * omega[mask]
        tau[mask] = (tau[mask] + 2.0 * omega[mask]) * SAFE + TINY


@cached_njit(nogil=True)
def mixed_trees(atoms: Array, noises: Array, variances: Array, h: Array, m: Array, scalars: Array) -> None:
    r"""Trees whose root is the empty set, one a variance (t,): J is its rest with the lowest atom added.

    Fills h: (F, t 2^n, d), :math:`m_J = \sqrt{\nu^q/\det C_J}`: (F, t 2^n), and scalars as above, with the ball 1.
    """
    for f in range(len(atoms)):
        (q, n) = atoms[f].shape
        d = h.shape[2]
        n_sets = 1 << n
        lengths = atom_lengths(atoms[f])
        mats = np.empty((n + 1, n, n))
        e_mats = np.empty((n + 1, n, n))
        cols = np.empty((n + 1, d, n))
        e_cols = np.empty((n + 1, d, n))
        s = np.ones(n_sets)
        es = np.zeros(n_sets)
        tau = np.zeros(n_sets)
        scalars[f] = np.array([0.0, 0.0, 1.0, 0.0])
        start_matrices(atoms[f], noises[f], mats[0], e_mats[0], cols[0], e_cols[0])
        for t in range(len(variances)):
            h[f, t * n_sets] = 0.0
            for mask in range(1, n_sets):
                j = lowest_bit(mask)
                k = count_bits(mask) - 1
                s[mask], es[mask] = growth(variances[t], mats[k], e_mats[k], j)
                direct = h[f, t * n_sets + mask]
                radius = direction(variances[t], lengths, j, s[mask], es[mask], cols[k], e_cols[k], direct)
                tau[mask] = (radius + product_error(direct, lengths, q)) * SAFE + TINY
                update(variances[t], j, np.arange(j), mats[k:], e_mats[k:], cols[k:], e_cols[k:])
            climb(s, es, tau, m[f, t * n_sets : (t + 1) * n_sets], scalars[f], True)


@inner_njit()
def climb(s: Array, es: Array, tau: Array, m: Array, scalars: Array, from_empty: bool) -> None:
    """Multiply s and add tau^2 along the paths from the root; fills m and enlarges the first two scalars."""
    full = len(s) - 1
    p = np.ones(full + 1)
    ep = np.zeros(full + 1)
    path = np.zeros(full + 1)
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
        scalars[2] = p[0]
        scalars[3] = ep[0]


@inner_njit()
def larger(a: float, b: float) -> float:
    """The larger of two bounds; infinity if one of them is no number."""
    return max(a, b) if a < np.inf and b < np.inf else np.inf


@inner_njit()
def lowest_bit(mask: int) -> int:
    """Lowest atom of a nonempty set."""
    j = 0
    while not mask >> j & 1:
        j += 1
    return j
