"""Gaussian log likelihoods without rounding: moments as rational numbers, logarithms as balls of any precision.

Shares no arithmetic with the fast kernels: rows become integers times a power of two, and sums of products are exact.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations, product

import numpy as np
from flint import arb, arb_mat, ctx, fmpq, fmpq_mat, fmpz_mat

from ..._typing import Array, IntArray
from ...io import RowSource
from ._statistics import Products, pieces_in_step

# Exact moments at every checkpoint: for each checkpoint one matrix a product.
ExactMoments = list[list[fmpq_mat]]


def exact_moments(sources: Sequence[RowSource], checkpoints: IntArray, products: Products) -> ExactMoments:
    """Sums of products over the first t rows for every checkpoint t, as rational numbers."""
    totals: list[fmpq_mat] = []
    moments: ExactMoments = []
    for pieces, is_checkpoint in pieces_in_step(sources, checkpoints):
        for k, (left, right) in enumerate(products(*pieces)):
            part = _exact_product(left, right)
            if k < len(totals):
                totals[k] += part
            else:
                totals.append(part)
        if is_checkpoint:
            moments.append([fmpq_mat(total) for total in totals])
    return moments


def _exact_product(left: Array, right: Array) -> fmpq_mat:
    (x, down), (y, across) = _integers(left), _integers(right)
    scale = fmpq(2) ** (down + across)
    return fmpq_mat(x.transpose() * y) * scale


def _integers(values: Array) -> tuple[fmpz_mat, int]:
    """Integers and the power of two that multiplies them."""
    mantissas, exponents = np.frexp(values)
    power = int(exponents[values != 0.0].min(initial=0)) - 53
    shifts = np.where(values == 0.0, 0, exponents - 53 - power)
    whole = np.left_shift((mantissas * 2.0**53).astype(np.int64).astype(object), shifts.astype(object))
    return fmpz_mat(values.shape[0], values.shape[1], whole.ravel().tolist()), power


def rational(values: Array) -> fmpq_mat:
    """Float64 numbers (rows, columns) as they are."""
    numbers = [fmpq(*value.as_integer_ratio()) for value in np.ravel(values).tolist()]
    return fmpq_mat(values.shape[0], values.shape[1], numbers)


def exact_residual(dictionary: fmpq_mat, energy: fmpq_mat, cross: fmpq_mat, gram: fmpq_mat) -> fmpq:
    """Residual sum of squares; dictionary and cross: (n, q)."""
    rest = gram * dictionary - 2 * cross
    return energy[0, 0] + sum((a * b for a, b in zip(dictionary.entries(), rest.entries(), strict=True)), fmpq(0))


def white_noise_enclosure(residual: fmpq, noise: float, count: int, bits: int) -> arb:
    """-count/2 log(2 pi noise) - residual/(2 noise)."""
    with ctx.workprec(bits):
        return -(arb(count) * (2 * arb.pi() * arb(noise)).log() + arb(residual) / arb(noise)) / 2


def covariance_enclosure(atoms: Array, variances: Array, noise: float, moment: fmpq_mat, count: int, bits: int) -> arb:
    r"""-count/2 log det(2 pi Sigma) - tr(Sigma^-1 S)/2 with Sigma = noise I + sum_j variance_j a_j a_j^T, dense.

    atoms: (r, q) rows.  moment: (q, q).  The whole line where the precision does not show Sigma to be invertible.
    """
    r, q = atoms.shape
    covariance = fmpq_mat(q, q)
    for i in range(q):
        covariance[i, i] = fmpq(*float(noise).as_integer_ratio())
    if r:
        columns = rational(atoms)
        covariance += columns.transpose() * rational(np.diag(variances)) * columns
    with ctx.workprec(bits):
        sigma = arb_mat(covariance)
        determinant = sigma.det()
        if not determinant > 0:
            return arb(0, np.inf)
        try:
            whitened = sigma.solve(arb_mat(moment))
        except ZeroDivisionError:
            return arb(0, np.inf)
        log_likelihood: arb = -(arb(count) * (q * (2 * arb.pi()).log() + determinant.log()) + whitened.trace()) / 2
        return log_likelihood


def exact_box_residual(atoms: Array, lower: Array, upper: Array, start: Array, moments: list[fmpq_mat]) -> fmpq:
    """Least residual sum of squares over means sum_j x_j a_j with x in a box, (r,) bounds.

    The minimum is the solution of one face of the box: that of the starting point if its optimality conditions, which
    are checked exactly, hold, and otherwise the first for which they do, the most similar faces first.
    """
    energy, total, count = moments
    columns = rational(atoms)
    gram, image = columns * columns.transpose() * count[0, 0], columns * total.transpose()
    low, high = rational(lower[None, :]).entries(), rational(upper[None, :]).entries()
    first = tuple(-1 if x <= a else 1 if x >= b else 0 for x, a, b in zip(start, lower, upper, strict=True))
    for face in _faces_from(first):
        x = _face_solution(gram, image, face, low, high)
        if x is not None and _is_minimum(gram, image, x, low, high):
            return exact_residual(x.transpose() * columns, energy, total, count)
    raise AssertionError("a convex quadratic function has a minimum on a box")


def _faces_from(first: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """All faces of a box, those that differ from the first in the fewest coefficients first."""
    for distance in range(len(first) + 1):
        for places in combinations(range(len(first)), distance):
            for changes in product(*([state for state in (0, -1, 1) if state != first[j]] for j in places)):
                face = list(first)
                for j, state in zip(places, changes, strict=True):
                    face[j] = state
                yield tuple(face)


def _face_solution(
    gram: fmpq_mat, image: fmpq_mat, face: tuple[int, ...], low: list[fmpq], high: list[fmpq]
) -> fmpq_mat | None:
    """Stationary point of x^T gram x - 2 x^T image with the given coefficients held; None if it is not unique."""
    r = len(face)
    x = fmpq_mat(r, 1, [low[j] if face[j] < 0 else high[j] if face[j] > 0 else fmpq(0) for j in range(r)])
    free = [j for j in range(r) if face[j] == 0]
    if free:
        slope = image - gram * x
        system = fmpq_mat(len(free), len(free), [gram[i, j] for i in free for j in free])
        try:
            step = system.solve(fmpq_mat(len(free), 1, [slope[j, 0] for j in free]))
        except ZeroDivisionError:
            return None
        for i, j in enumerate(free):
            x[j, 0] = step[i, 0]
    return x


def _is_minimum(gram: fmpq_mat, image: fmpq_mat, x: fmpq_mat, low: list[fmpq], high: list[fmpq]) -> bool:
    """Feasible, and no coefficient can move into the box downhill."""
    slope = image - gram * x
    for j in range(len(low)):
        if not low[j] <= x[j, 0] <= high[j]:
            return False
        if (slope[j, 0] > 0 and x[j, 0] < high[j]) or (slope[j, 0] < 0 and x[j, 0] > low[j]):
            return False
    return True
