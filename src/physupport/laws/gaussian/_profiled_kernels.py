r"""Box-constrained least squares of many keys, with a proof of how good each fit is.

Let x be any point of the box, :math:`\rho = \bar z - Ax` its residual and w any vector.  For every other point
:math:`x + \delta` of the box :math:`\|\rho - A\delta\|^2 \ge 2w^\top(\rho - A\delta) - \|w\|^2`.  Hence the minimum
is at least :math:`\|\rho\|^2 - \|\rho - w\|^2 - 2\sum_j\max_{\delta_j}\delta_jw^\top a_j` and at most
:math:`\|\rho\|^2`.  A float64 fit gives x and w, the residual without its parts along free atoms; all else is ball
arithmetic.
"""

import numpy as np
from numba import njit

from ..._typing import Array, IntArray
from .._balls import add, div, dot, mul, sub
from ._box_kernels import fit_boxes
from ._mean import mean_difference
from ._residuals import Balls, Known, residual_sums


@njit(cache=True)
def fit_box(atoms: Array, lower: Array, upper: Array, target: Array, x: Array, dual: Array) -> None:
    """Coefficients in the box and dual vector, both in plain float64.

    atoms: (r, q).  target: (q,).  Each coefficient is moved to the unit interval, where one box serves all.
    """
    r, q = atoms.shape
    moved, scaled = target.copy(), np.empty((1, r, q))
    for j in range(r):
        for a in range(q):
            moved[a] -= lower[j] * atoms[j, a]
            scaled[0, j, a] = (upper[j] - lower[j]) * atoms[j, a]
    unit, duals = np.empty((1, r)), np.empty((1, q))
    fit_boxes(moved, scaled, 0.0, 1.0, unit, duals)
    dual[:] = duals[0]
    for j in range(r):
        if unit[0, j] >= 1.0:
            x[j] = upper[j]
        else:
            x[j] = min(max(lower[j] + (upper[j] - lower[j]) * unit[0, j], lower[j]), upper[j])


@njit(cache=True)
def duality_slack(
    atoms: Array, lower: Array, upper: Array, x: Array, residual: Array, e_residual: Array, dual: Array
) -> float:
    """Upper bound of the squared distance from w to the residual plus twice the gain that w leaves to the box."""
    none = np.zeros(len(dual))
    off, e_off = np.empty(len(dual)), np.empty(len(dual))
    for a in range(len(dual)):
        off[a], e_off[a] = sub(residual[a], e_residual[a], dual[a], 0.0)
    v, e = dot(off, e_off, off, e_off)
    for j in range(len(x)):
        slope, e_slope = dot(atoms[j], none, dual, none)
        gain, e_gain = 0.0, 0.0
        for end in (lower[j], upper[j]):
            room, e_room = sub(end, 0.0, x[j], 0.0)
            g, eg = mul(room, e_room, slope, e_slope)
            if g + eg > gain + e_gain:
                gain, e_gain = g, eg
        v, e = add(v, e, 2.0 * gain, 2.0 * e_gain)
    # The sum may round down once.
    return (v + e) * (1.0 + 2.0**-51)


@njit(cache=True)
def at(pair: Balls, t: int) -> Balls:
    """Values and errors at one checkpoint, as a list of one."""
    return pair[0][t : t + 1], pair[1][t : t + 1]


@njit(cache=True)
def profile_sums(
    elements: IntArray,
    lower: Array,
    upper: Array,
    table: Array,
    known: Known,
    coefficients: Array,
    sums: Array,
    e_sums: Array,
) -> None:
    """Least residual sums of squares over the box at every checkpoint, with the coefficients that attain nearly that.

    elements, lower, upper: (r,), no padding.  Fills coefficients (c, r), sums (c,) and e_sums (c,).
    """
    reference, energy, cross, gram = known
    r, q = len(elements), table.shape[1]
    atoms = np.empty((r, q))
    for j in range(r):
        atoms[j] = table[elements[j]]
    delta, e_delta = np.empty((1, q)), np.empty((1, q))
    residual, e_residual, target, dual = np.empty(q), np.empty(q), np.empty(q), np.empty(q)
    for t in range(len(sums)):
        count = gram[0][t, 0, 0]  # the number of rows, exact
        for a in range(q):
            residual[a], e_residual[a] = div(cross[0][t, 0, a], cross[1][t, 0, a], count, 0.0)
            target[a] = reference[0, a] + residual[a]
        if r:
            fit_box(atoms, lower, upper, target, coefficients[t], dual)
        mean_difference(elements, coefficients[t], table, reference, delta, e_delta)
        only = sums[t : t + 1], e_sums[t : t + 1]
        residual_sums(delta, e_delta, (reference, at(energy, t), at(cross, t), at(gram, t)), only[0], only[1])
        if r:
            for a in range(q):
                residual[a], e_residual[a] = sub(residual[a], e_residual[a], delta[0, a], e_delta[0, a])
            slack = duality_slack(atoms, lower, upper, coefficients[t], residual, e_residual, dual)
            half, e_half = mul(0.5 * count, 0.0, slack, 0.0)
            # The minimum lies between the attained sum less the slack and the attained sum.
            sums[t], e_sums[t] = sub(sums[t], e_sums[t], half, abs(half) + 2.0 * e_half)


@njit(cache=True, nogil=True)
def profiled_residuals(elements: IntArray, box: Array, table: Array, known: Known, sums: Array, e_sums: Array) -> None:
    """Least residual sums of squares of k keys; elements: (k, r), box: (2, k, r).  Fills (k, c), (k, c)."""
    for k in range(len(elements)):
        r = 0
        while r < elements.shape[1] and elements[k, r] >= 0:
            r += 1
        coefficients = np.empty((sums.shape[1], r))
        ends = box[0, k, :r], box[1, k, :r]
        profile_sums(elements[k, :r], ends[0], ends[1], table, known, coefficients, sums[k], e_sums[k])
