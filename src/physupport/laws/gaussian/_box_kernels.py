"""Compiled box-constrained least squares: a primal active-set method on small triangular factors.

Atoms are rows here, (r, q), so that every inner product runs over adjacent memory.
"""

import numpy as np
from numba import njit

from ..._typing import Array, BoolArray, IntArray

_EPS = float(np.finfo(np.float64).eps)

# Beyond this many atoms the 3^r faces are too many to list; the duality bound still tells what the fit is worth.
_MOST_LISTED = 8


@njit(cache=True)
def factor(atoms: Array, chosen: BoolArray, basis: Array, triangle: Array, pivots: IntArray) -> int:
    """Gram-Schmidt, twice for every atom: chosen atoms = triangle @ basis; returns the rank.

    Fills basis (rank, q), triangle (r, rank) and the atoms that opened a new direction, pivots (rank,).  Dependent
    atoms get a row of the triangle but no direction.
    """
    r, q = atoms.shape
    rank = 0
    for j in range(r):
        triangle[j] = 0.0
        if not chosen[j]:
            continue
        rest = atoms[j].copy()
        whole = np.sqrt(rest @ rest)
        for _ in range(2):
            for i in range(rank):
                along = basis[i] @ rest
                triangle[j, i] += along
                rest -= along * basis[i]
        left = np.sqrt(rest @ rest)
        # What two passes leave of a dependent atom is rounding.
        if rank < q and left > 4.0 * q * _EPS * whole:
            basis[rank] = rest / left
            triangle[j, rank] = left
            pivots[rank] = j
            rank += 1
    return rank


@njit(cache=True)
def face_step(atoms: Array, residual: Array, free: BoolArray, step: Array) -> None:
    """Step of the free coefficients to the least-squares solution of their face; zero for bound and dependent ones."""
    r, q = atoms.shape
    basis, triangle, pivots = np.empty((min(q, r), q)), np.empty((r, min(q, r))), np.empty(r, dtype=np.int64)
    rank = factor(atoms, free, basis, triangle, pivots)
    step[:] = 0.0
    for i in range(rank - 1, -1, -1):
        value = basis[i] @ residual
        for k in range(i + 1, rank):
            value -= triangle[pivots[k], i] * step[pivots[k]]
        step[pivots[i]] = value / triangle[pivots[i], i]


@njit(cache=True)
def advance(x: Array, step: Array, free: BoolArray, lower: float, upper: float) -> tuple[int, float]:
    """Move x along the step until a free coefficient meets a bound; returns that coefficient, or -1, and the length."""
    length, blocking = 1.0, -1
    for j in range(len(x)):
        room = abs((lower if step[j] < 0.0 else upper) - x[j])
        if free[j] and step[j] != 0.0 and abs(step[j]) * length > room:
            length, blocking = room / abs(step[j]), j
    for j in range(len(x)):
        if free[j]:
            x[j] = min(max(x[j] + length * step[j], lower), upper)
    if blocking >= 0:
        x[blocking] = lower if step[blocking] < 0.0 else upper
    return blocking, length


@njit(cache=True)
def steepest(atoms: Array, residual: Array, x: Array, held: BoolArray, lower: float, upper: float) -> int:
    """The held coefficient whose move into the box lowers the loss fastest, or -1 if none lowers it."""
    best, fastest = -1, 0.0
    for j in range(len(x)):
        if held[j] and lower < upper:
            gain = atoms[j] @ residual
            inwards = gain if x[j] == lower else -gain
            if inwards > fastest:
                best, fastest = j, inwards
    return best


@njit(cache=True)
def active_set(atoms: Array, target: Array, lower: float, upper: float, x: Array) -> bool:
    """Minimise ||target - x @ atoms|| over the box from a feasible x, in place; whether the end is a minimum."""
    r = len(x)
    free = (x > lower) & (x < upper)
    candidates = np.ones(r, dtype=np.bool_)
    step, released = np.empty(r), -1
    for _ in range(20 * (r + 2)):
        face_step(atoms, target - x @ atoms, free, step)
        blocking, length = advance(x, step, free, lower, upper)
        if blocking >= 0:
            free[blocking] = False
            # One pushed straight back was released by the rounding of its slope; it waits until another has moved.
            if length > 0.0:
                candidates[:] = True
            elif blocking == released:
                candidates[blocking] = False
            continue
        released = steepest(atoms, target - x @ atoms, x, ~free & candidates, lower, upper)
        if released < 0:
            return True
        free[released] = True
    return False


@njit(cache=True)
def list_faces(atoms: Array, target: Array, lower: float, upper: float, x: Array) -> None:
    """Replace x by the best feasible least-squares solution over all 3^r faces of the box, if that is better."""
    r = len(x)
    trial, step, free = np.empty(r), np.empty(r), np.empty(r, dtype=np.bool_)
    residual = target - x @ atoms
    least = residual @ residual
    for face in range(3**r):
        code = face
        for j in range(r):
            free[j] = code % 3 == 0
            trial[j] = upper if code % 3 == 2 else lower
            code //= 3
        face_step(atoms, target - trial @ atoms, free, step)
        # A blocked step ends at a feasible point as well, only not the best of its face.
        advance(trial, step, free, lower, upper)
        residual = target - trial @ atoms
        if residual @ residual < least:
            least = residual @ residual
            x[:] = trial


@njit(cache=True)
def fit_boxes(target: Array, atoms: Array, lower: float, upper: float, coefficients: Array, duals: Array) -> None:
    """Solve every problem: target (q,), atoms (k, r, q).

    Fills coefficients (k, r) and duals (k, q), the residuals with what rounding left of the free atoms projected out.
    """
    n_problems, r, q = atoms.shape
    basis, triangle, pivots = np.empty((min(q, r), q)), np.empty((r, min(q, r))), np.empty(r, dtype=np.int64)
    everything = np.ones(r, dtype=np.bool_)
    x = np.empty(r)
    for k in range(n_problems):
        rank = factor(atoms[k], everything, basis, triangle, pivots)
        # The part of the target outside the span of the atoms is the same for all coefficients.
        small, image = triangle[:, :rank].copy(), basis[:rank] @ target
        face_step(small, image, everything, x)
        x[:] = np.minimum(np.maximum(x, lower), upper)
        if not active_set(small, image, lower, upper, x) and r <= _MOST_LISTED:
            list_faces(small, image, lower, upper, x)
        coefficients[k] = x
        dual = target - x @ atoms[k]
        rank = factor(atoms[k], (x > lower) & (x < upper), basis, triangle, pivots)
        for _ in range(2):
            for i in range(rank):
                dual -= (basis[i] @ dual) * basis[i]
        duals[k] = dual
