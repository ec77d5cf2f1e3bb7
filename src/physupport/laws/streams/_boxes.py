r"""Box-constrained least squares of many keys, with a proof of how good each fit is.

Atoms are rows here, (r, q), so that every inner product runs over adjacent memory.

Let x be any point of the box, :math:`\rho = \bar z - Ax` its residual and w any vector.  For every other point
:math:`x + \delta` of the box :math:`\|\rho - A\delta\|^2 \ge 2w^\top(\rho - A\delta) - \|w\|^2`.  Hence the minimum
is at least :math:`\|\rho\|^2 - \|\rho - w\|^2 - 2\sum_j\max_{\delta_j}\delta_jw^\top a_j` and at most
:math:`\|\rho\|^2`.  A float64 fit gives x and w, the residual without its parts along free atoms; all else is ball
arithmetic.
"""

from dataclasses import dataclass
from typing import ClassVar, cast, final

import numpy as np
from flint import fmpq
from numpy.typing import ArrayLike, NDArray

from ..._compiled import cached_njit
from ..._errors import MisuseError
from ..._typing import Array, BoolArray, IntArray
from ...banks import Bank
from ...io import as_pairs, atom_table, doubled
from .._opponents import Point, mean_point
from .._stream import Stream
from ._sums import ExactMoments, add, div, dot, exact_box_residual, mul, sub
from ._white_noise import (
    Balls,
    Known,
    ResidualMoments,
    Sums,
    WhiteNoiseStream,
    check_noises,
    filled,
    mean_difference,
    residual_sums,
)

_EPS = float(np.finfo(np.float64).eps)


@cached_njit()
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


@cached_njit()
def face_step(atoms: Array, residual: Array, free: BoolArray, step: Array) -> None:
    """Step of the free coefficients to the least-squares solution of their face; zero for bound and dependent ones."""
    r, q = atoms.shape
    basis = np.empty((min(q, r), q))
    triangle = np.empty((r, min(q, r)))
    pivots = np.empty(r, dtype=np.int64)
    rank = factor(atoms, free, basis, triangle, pivots)
    step[:] = 0.0
    for i in range(rank - 1, -1, -1):
        value = basis[i] @ residual
        for k in range(i + 1, rank):
            value -= triangle[pivots[k], i] * step[pivots[k]]
        step[pivots[i]] = value / triangle[pivots[i], i]


@cached_njit()
def advance(x: Array, step: Array, free: BoolArray, lower: Array, upper: Array) -> tuple[int, float]:
    """Move x along the step until a free coefficient meets a bound; returns that coefficient, or -1, and the length."""
    length = 1.0
    blocking = -1
    for j in range(len(x)):
        room = abs((lower[j] if step[j] < 0.0 else upper[j]) - x[j])
        if free[j] and step[j] != 0.0 and abs(step[j]) * length > room:
            length = room / abs(step[j])
            blocking = j
    for j in range(len(x)):
        if free[j]:
            x[j] = min(max(x[j] + length * step[j], lower[j]), upper[j])
    if blocking >= 0:
        x[blocking] = lower[blocking] if step[blocking] < 0.0 else upper[blocking]
    return blocking, length


@cached_njit()
def steepest(atoms: Array, residual: Array, x: Array, held: BoolArray, lower: Array, upper: Array) -> int:
    """The held coefficient whose move into the box lowers the loss fastest, or -1 if none lowers it."""
    best = -1
    fastest = 0.0
    for j in range(len(x)):
        if held[j] and lower[j] < upper[j]:
            gain = atoms[j] @ residual
            inwards = gain if x[j] == lower[j] else -gain
            if inwards > fastest:
                best = j
                fastest = inwards
    return best


@cached_njit()
def active_set(atoms: Array, target: Array, lower: Array, upper: Array, x: Array) -> None:
    """Minimise ||target - x @ atoms|| over the box from a feasible x, in place.

    Should it ever not come to an end, x is feasible still, and the duality bound tells what it is worth.
    """
    r = len(x)
    free = (x > lower) & (x < upper)
    candidates = np.ones(r, dtype=np.bool_)
    step = np.empty(r)
    released = -1
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
            return
        free[released] = True


@cached_njit()
def fit_box(atoms: Array, lower: Array, upper: Array, target: Array, x: Array, dual: Array) -> None:
    """Fill coefficients x (r,) in the box, and the dual (q,), both in plain float64; atoms (r, q), target (q,).

    The dual is the residual with what rounding left of the free atoms projected out.
    """
    r, q = atoms.shape
    basis = np.empty((min(q, r), q))
    triangle = np.empty((r, min(q, r)))
    pivots = np.empty(r, dtype=np.int64)
    everything = np.ones(r, dtype=np.bool_)
    rank = factor(atoms, everything, basis, triangle, pivots)
    # The part of the target outside the span of the atoms is the same for all coefficients.
    small = triangle[:, :rank].copy()
    image = basis[:rank] @ target
    face_step(small, image, everything, x)
    x[:] = np.minimum(np.maximum(x, lower), upper)
    active_set(small, image, lower, upper, x)
    dual[:] = target - x @ atoms
    rank = factor(atoms, (x > lower) & (x < upper), basis, triangle, pivots)
    for _ in range(2):
        for i in range(rank):
            dual -= (basis[i] @ dual) * basis[i]


@cached_njit()
def fit_boxes(target: Array, atoms: Array, lower: Array, upper: Array, coefficients: Array, duals: Array) -> None:
    """The same for atoms (k, r, q), within one box; fills coefficients (k, r) and duals (k, q)."""
    for k in range(len(atoms)):
        fit_box(atoms[k], lower, upper, target, coefficients[k], duals[k])


@cached_njit()
def duality_slack(
    atoms: Array, lower: Array, upper: Array, x: Array, residual: Array, e_residual: Array, dual: Array
) -> float:
    """Upper bound of the squared distance from w to the residual plus twice the gain that w leaves to the box."""
    none = np.zeros(len(dual))
    off = np.empty(len(dual))
    e_off = np.empty(len(dual))
    for a in range(len(dual)):
        off[a], e_off[a] = sub(residual[a], e_residual[a], dual[a], 0.0)
    v, e = dot(off, e_off, off, e_off)
    for j in range(len(x)):
        slope, e_slope = dot(atoms[j], none, dual, none)
        gain = 0.0
        e_gain = 0.0
        for end in (lower[j], upper[j]):
            room, e_room = sub(end, 0.0, x[j], 0.0)
            g, eg = mul(room, e_room, slope, e_slope)
            if g + eg > gain + e_gain:
                gain = g
                e_gain = eg
        v, e = add(v, e, 2.0 * gain, 2.0 * e_gain)
    # The sum may round down once.
    return (v + e) * (1.0 + 2.0**-51)


@cached_njit()
def at(pair: Balls, t: int) -> Balls:
    """Values and errors at one checkpoint, as a list of one."""
    return pair[0][t : t + 1], pair[1][t : t + 1]


@cached_njit()
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
    r = len(elements)
    q = table.shape[1]
    atoms = np.empty((r, q))
    for j in range(r):
        atoms[j] = table[elements[j]]
    delta = np.empty((1, q))
    e_delta = np.empty((1, q))
    residual = np.empty(q)
    e_residual = np.empty(q)
    target = np.empty(q)
    dual = np.empty(q)
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


@cached_njit(nogil=True)
def profiled_residuals(elements: IntArray, box: Array, table: Array, known: Known, sums: Array, e_sums: Array) -> None:
    """Least residual sums of squares of k keys; elements: (k, r), box: (2, k, r).  Fills (k, c), (k, c)."""
    for k in range(len(elements)):
        r = 0
        while r < elements.shape[1] and elements[k, r] >= 0:
            r += 1
        coefficients = np.empty((sums.shape[1], r))
        ends = box[0, k, :r], box[1, k, :r]
        profile_sums(elements[k, :r], ends[0], ends[1], table, known, coefficients, sums[k], e_sums[k])


# Rows about a mean in white noise, at the coefficients in a box that fit best.


@final
@dataclass(frozen=True, slots=True, eq=False)
class ProfiledResiduals:
    r""":math:`z_i - \sum_jx_ja_j` at the coefficients in a box that make the sum of their squares least.

    As the denominator of an e-process the likelihood at these is at least the density of every single x in the box, so
    the process stays below the likelihood ratio against the true x, whatever that is: an explanation with its
    coefficients unknown is falsely rejected with probability at most alpha.
    """

    # A supremum of densities integrates to more than one, so it must never be a numerator.
    is_density: ClassVar[bool] = False

    bank: Bank
    noises: Array  # (m,), one for each deployment nuisance
    has_phase: bool  # complex coefficients: each atom has a real and an imaginary one
    bounds: Array  # (2, n, 1) or, with phase, (2, n, 2): lower and upper ends for each atom of a dictionary
    table: Array  # (E, q) or, with phase, (2 E, 2 q)

    @property
    def n_keys(self) -> int:
        """The deployment keys of the bank."""
        return self.bank.n_deployment_keys

    def sums(self, keys: IntArray, moments: ResidualMoments) -> Sums:
        """Between the attained and the least possible sum; one for each distinct problem."""
        elements, box, nuisance = self.parts(keys)
        # Neither noise nor strengths matter for the fit, so that many keys share one.
        first, which = _distinct(np.concatenate([elements.view(np.float64), box[0], box[1]], axis=1))

        def fit(part: slice, sums: Array, e_sums: Array) -> None:
            # Kernels are compiled for one memory order.
            ends = np.ascontiguousarray(box[:, first[part]])
            profiled_residuals(elements[first[part]], ends, self.table, moments.known, sums, e_sums)

        return *filled(len(first), moments, 8, fit), which, self.noises[nuisance]

    def exact(self, key: int, moments: ResidualMoments, exact: ExactMoments) -> tuple[list[fmpq], float]:
        """The least residual sums of squares as rational numbers."""
        active, (lower, upper), noise, coefficients = self.fit(key, moments)
        atoms = self.table[active]
        pairs = zip(coefficients, exact, strict=True)
        return [exact_box_residual(atoms, lower, upper, x, m) for x, m in pairs], noise

    def fit(self, key: int, moments: ResidualMoments) -> tuple[IntArray, Array, float, Array]:
        """Rows of the table (r,), box (2, r), noise, and best coefficients at every checkpoint (c, r), of one key."""
        elements, box, nuisance = self.parts(np.array([key]))
        active = elements[0, elements[0] >= 0]
        ends = box[:, 0, : len(active)]
        coefficients = np.empty((len(moments.counts), len(active)))
        unused = np.empty((2, len(moments.counts)))
        profile_sums(active, ends[0], ends[1], self.table, moments.known, coefficients, unused[0], unused[1])
        return active, ends, float(self.noises[nuisance[0]]), coefficients

    def parts(self, keys: IntArray) -> tuple[IntArray, Array, IntArray]:
        """Rows of the table (k, r), box (2, k, r) and nuisance (k,) of each key."""
        parts = self.bank.deployment_parts(keys)
        most = parts.elements.shape[1]
        atoms = np.array([(*active, *[0] * (most - len(active))) for active in self.bank.positions], dtype=np.int64)
        box = self.bounds[:, atoms.reshape(-1, most)[parts.support]]  # (2, k, r, 1 or 2)
        box = np.where(parts.elements[:, :, None] < 0, 0.0, box)
        box = np.ascontiguousarray(box.reshape(2, len(keys), -1))
        return doubled(parts.elements) if self.has_phase else parts.elements, box, parts.nuisance


def box_residuals(
    bank: Bank, box: tuple[ArrayLike, ArrayLike], variances: Array, is_complex: bool
) -> ProfiledResiduals:
    """The residuals of all keys of a bank; box: lower and upper end of every atom's coefficient."""
    bounds = _check_box(*box, bank.states.n_atoms, is_complex)
    has_phase = bounds.shape[2] == 2
    table = atom_table(bank.states.elements, is_complex, has_phase)
    return ProfiledResiduals(bank, check_noises(variances, is_complex, len(bank.deployment)), has_phase, bounds, table)


def best_point(stream: Stream, key: int) -> Point:
    """The mean (q,) that fits all rows of a profiled stream best, with the noise variance of a real entry."""
    profiled = cast(WhiteNoiseStream[ProfiledResiduals], stream)
    active, _, noise, coefficients = profiled.residuals.fit(key, profiled.moments)
    return mean_point(coefficients[-1] @ profiled.residuals.table[active], noise)


def _check_box(lower: ArrayLike, upper: ArrayLike, n_atoms: int, is_complex: bool) -> Array:
    ends = [np.asarray(end) for end in (lower, upper)]
    for name, end in zip(("lower", "upper"), ends, strict=True):
        if end.shape != (n_atoms,) or end.dtype.kind not in "iufc" or not np.isfinite(end).all():
            raise MisuseError(name, f"hold a finite number for each of {n_atoms} atoms", end.tolist())
    has_phase = any(end.dtype.kind == "c" for end in ends)
    if has_phase and not is_complex:
        raise MisuseError("lower and upper", "be real for real data", "complex numbers")
    bounds: NDArray[np.float64] = np.stack(
        [as_pairs(end[:, None]) if has_phase else end[:, None].astype(np.float64) for end in ends]
    )
    if (bounds[0] > bounds[1]).any():
        raise MisuseError("lower", "be at most upper for every atom", [end.tolist() for end in ends])
    return bounds


def _distinct(rows: Array) -> tuple[IntArray, IntArray]:
    """First place of each distinct row, compared bit by bit, and the number of every row's distinct row."""
    if not rows.size:
        return np.zeros(min(len(rows), 1), dtype=np.int64), np.zeros(len(rows), dtype=np.int64)
    whole = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.itemsize * rows.shape[1])))[:, 0]
    _, first, which = np.unique(whole, return_index=True, return_inverse=True)
    return first, which.ravel()
