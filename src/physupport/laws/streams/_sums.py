r"""Sums of products over the first t rows, for every checkpoint t, in one pass and almost without rounding.

Every sum is carried as an unevaluated pair high + low: products and sums are split without error into their rounded
value and what rounding cut off, and the cut-off parts are added up in low.  Rows are taken one by one in their order,
so the result depends on neither the size of blocks nor threads.

Value and error arithmetic for compiled kernels stands first: a pair (v, e) stands for every real x with \|x - v\| <= e.

The arithmetic of the machine is binary64, rounded to nearest: with u = 2^-53 a computed sum, product, quotient or
root v misses the real result of the same operands by at most u \|v\|, plus at most 2^-1022 where it underflows.  Each
function adds to what it propagates the term u \|v\|, and then makes the error safe against its own evaluation:

- every error is a sum of nonnegative terms reached through at most eight roundings, each of which can lower it by a
  factor 1 - u, and (1 - u)^8 (1 + 16 u) >= 1, so the factor UP = 1 + 16 u undoes them all;
- products that underflow inside an error lose less than 2^-1022 each, and TINY = 2^-500 outweighs thousands of these.

A value that overflows, a divisor that may be small beyond half its size, a root or logarithm of what may not be
positive: all give the error infinity (or no number, which `settle` turns into infinity), never a false bound.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import final

import numpy as np
from flint import arb, arb_mat, ctx, fmpq, fmpq_mat, fmpz_mat

from ..._compiled import cached_njit
from ..._typing import Array, IntArray
from ...io import RowSource

U = 2.0**-53
UP = 1.0 + 2.0**-49
TINY = 2.0**-500
# The C library's logarithm errs by less than 2 units in the last place (glibc, musl, Apple and Microsoft state at most
# 1); a unit in the last place of v is at most 2 u |v|.  Twice the assumption.
LOG_ERROR = 8.0 * U
LOG_TWO_PI = 1.8378770664093456
LOG_TWO_PI_ERROR = 2.0**-53


@cached_njit(inline="always")
def add(a: float, ea: float, b: float, eb: float) -> tuple[float, float]:
    """Sum: the errors add."""
    v = a + b
    return v, UP * (ea + eb + U * abs(v)) + TINY


@cached_njit(inline="always")
def sub(a: float, ea: float, b: float, eb: float) -> tuple[float, float]:
    """Difference: the errors add."""
    v = a - b
    return v, UP * (ea + eb + U * abs(v)) + TINY


@cached_njit(inline="always")
def mul(a: float, ea: float, b: float, eb: float) -> tuple[float, float]:
    r"""Product: :math:`xy - ab = a(y - b) + (x - a)(b + (y - b))`."""
    v = a * b
    return v, UP * (abs(a) * eb + ea * (abs(b) + eb) + U * abs(v)) + TINY


@cached_njit(inline="always", error_model="numpy")
def div(a: float, ea: float, b: float, eb: float) -> tuple[float, float]:
    r"""Quotient: :math:`x/y - a/b = ((x - a) - (a/b)(y - b))/y` and :math:`|y| \ge |b| - e_b`.

    Needs :math:`e_b \le |b|/2` and :math:`|b| \ge 2^{-400}`, so that what underflows above the fraction line, less than
    2^-1022, stays below TINY after the division, and so does that of a/b, multiplied by :math:`e_b/(|b| - e_b) \le 1`.
    """
    if not (2.0 * eb <= abs(b) and abs(b) >= 2.0**-400):
        return 0.0, np.inf
    v = a / b
    return v, UP * ((ea + abs(v) * eb) / (abs(b) - eb) + U * abs(v)) + TINY


@cached_njit(inline="always", error_model="numpy")
def sqrt(a: float, ea: float) -> tuple[float, float]:
    r"""Root: :math:`|\sqrt x - \sqrt a| = |x - a|/(\sqrt x + \sqrt a) \le e_a/\sqrt a` for x >= 0; needs a > 0."""
    if not a > 0.0:
        return 0.0, np.inf
    v = np.sqrt(a)
    return v, UP * (ea / v + U * v) + TINY


@cached_njit(inline="always", error_model="numpy")
def log(a: float, ea: float) -> tuple[float, float]:
    r"""Logarithm: :math:`|\log x - \log a| \le e_a/(a - e_a)`, the mean value theorem; needs :math:`e_a \le a/2`."""
    if not (a > 0.0 and 2.0 * ea <= a):
        return 0.0, np.inf
    v = np.log(a)
    return v, UP * (ea / (a - ea) + LOG_ERROR * abs(v)) + TINY


@cached_njit()
def dot(a: Array, ea: Array, b: Array, eb: Array) -> tuple[float, float]:
    """Inner product of two vectors of balls, in the order of the entries.

    The errors are those of `mul` and `add` summed once: n + 8 roundings, undone by the factor 1 + 2 (n + 8) u.
    """
    v = 0.0
    e = 0.0
    for i in range(len(a)):
        product = a[i] * b[i]
        v += product
        e += abs(a[i]) * eb[i] + ea[i] * (abs(b[i]) + eb[i]) + U * (abs(product) + abs(v))
    return v, e * (1.0 + 2.0 * U * (len(a) + 8)) + (len(a) + 1) * TINY


@cached_njit(inline="always")
def settle(v: float, e: float) -> tuple[float, float]:
    """The same ball, or the whole line where value or error left the finite numbers."""
    if np.isfinite(v) and e < np.inf:
        return v, e
    return 0.0, np.inf


# Pieces of the sources, in step, to the pairs (left, right) whose products left.T @ right are wanted.
Products = Callable[..., list[tuple[Array, Array]]]

_SPLITTER = 2.0**27 + 1.0
# Enough for sums and products of pairs of float64 numbers to lose nothing that their errors do not already allow.
_BITS = 320


@final
@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    r"""Prefix sums of products: the exact sum lies within error of high + low, entry by entry.

    With n terms a sum, u = 2^-53, A the sum of absolute products and n u <= 2^-10, `low` is a float64 sum of n numbers
    fl(pi_i + sigma_i), where pi_i cuts off product i, \|pi_i\| <= u \|x_i y_i\|, and sigma_i the partial sum,
    \|sigma_i\| <= u (1 + 2 n u) A.  Its n roundings err by at most n u (1 + 2 n u) times the sum of their absolute
    values, which is at most u (1 + n (1 + 2 n u)) A; together less than 3 (n u)^2 A.
    """

    high: Array  # (c, p, w)
    low: Array  # (c, p, w)
    error: Array  # (c, p, w)

    def rounded(self) -> tuple[Array, Array]:
        """The sums as float64 numbers, and their errors."""
        values = self.high + self.low
        return values, UP * (self.error + U * np.abs(values)) + TINY

    def enclosure(self, checkpoint: int) -> arb_mat:
        """The sums at one checkpoint as balls."""
        with ctx.workprec(_BITS):
            parts = zip(self.high[checkpoint].flat, self.low[checkpoint].flat, self.error[checkpoint].flat, strict=True)
            return arb_mat(
                self.high.shape[1], self.high.shape[2], [arb(float(h)) + arb(float(v), float(e)) for h, v, e in parts]
            )


def prefix_moments(sources: Sequence[RowSource], checkpoints: IntArray, products: Products) -> list[Moments]:
    """Sums of products over the first t rows for every checkpoint t, in one reading of the sources."""
    state: list[tuple[Array, Array, Array]] = []
    prefixes: list[list[tuple[Array, Array, Array, int]]] = []
    counts: list[int] = []
    for pieces, is_checkpoint in pieces_in_step(sources, checkpoints):
        pairs = products(*pieces)
        if not state:
            sizes = [(left.shape[1], right.shape[1]) for left, right in pairs]
            state = [(np.zeros(size), np.zeros(size), np.zeros(size)) for size in sizes]
            prefixes = [[] for _ in pairs]
            counts = [0 for _ in pairs]
        for k, (left, right) in enumerate(pairs):
            add_products(np.ascontiguousarray(left), np.ascontiguousarray(right), *state[k])
            counts[k] += len(left)
            if is_checkpoint:
                high, low, size = state[k]
                prefixes[k].append((high.copy(), low.copy(), size.copy(), counts[k]))
    return [_moments(of_product) for of_product in prefixes]


def _moments(prefixes: list[tuple[Array, Array, Array, int]]) -> Moments:
    highs, lows, sizes, counts = zip(*prefixes, strict=True)
    relative = 3.0 * (np.array(counts, dtype=np.float64) * U) ** 2
    # The plain sum of absolute products errs by less than a factor 1 + 2 n u, a 500th part.
    error = 1.01 * relative[:, None, None] * np.array(sizes) + TINY
    # A sum that overflowed is known to no accuracy.
    is_sound = np.isfinite(np.array(highs)) & np.isfinite(np.array(lows)) & np.isfinite(error)
    high, low = (np.where(is_sound, np.array(part), 0.0) for part in (highs, lows))
    return Moments(high, low, np.where(is_sound, error, np.inf))


def pieces_in_step(sources: Sequence[RowSource], checkpoints: IntArray) -> Iterator[tuple[tuple[Array, ...], bool]]:
    """Equally long pieces of all sources up to the last checkpoint; True with one that ends at a checkpoint."""
    readers = [source.blocks() for source in sources]
    held = [np.empty((0, source.width)) for source in sources]
    row = 0
    for end in checkpoints.tolist():
        while row < end:
            for i, reader in enumerate(readers):
                while not len(held[i]):
                    held[i] = next(reader)
            count = min(end - row, *map(len, held))
            yield tuple(block[:count] for block in held), row + count == end
            held = [block[count:] for block in held]
            row += count


@cached_njit()
def add_products(left: Array, right: Array, high: Array, low: Array, size: Array) -> None:
    """Add left.T @ right to high + low, row by row, and the absolute products to size.

    left: (b, p).  right: (b, w).  The others: (p, w).
    """
    n_right = right.shape[1]
    top = np.empty(n_right)
    bottom = np.empty(n_right)
    for i in range(left.shape[0]):
        for k in range(n_right):
            y = right[i, k]
            top[k] = _SPLITTER * y - (_SPLITTER * y - y)
            bottom[k] = y - top[k]
        for j in range(left.shape[1]):
            x = left[i, j]
            x_top = _SPLITTER * x - (_SPLITTER * x - x)
            x_bottom = x - x_top
            for k in range(n_right):
                product = x * right[i, k]
                # Exact: halves of 26 bits multiply without rounding.
                cut = x_bottom * bottom[k] - (((product - x_top * top[k]) - x_bottom * top[k]) - x_top * bottom[k])
                before = high[j, k]
                total = before + product
                added = total - before
                low[j, k] += cut + ((before - (total - added)) + (product - added))
                high[j, k] = total
                size[j, k] += abs(product)


def ball(x: arb) -> tuple[float, float]:
    """A float64 number and its error from a ball; the error is infinite if the ball is unbounded."""
    centre = float(x.mid())
    reach = float(abs(x - arb(centre)).upper())
    return (centre, UP * reach + TINY) if np.isfinite(centre) and np.isfinite(reach) else (0.0, np.inf)


# Gaussian log likelihoods without rounding: moments as rational numbers, logarithms as balls of any precision.
#
# Shares no arithmetic with the fast kernels: rows become integers times a power of two, and sums of products are exact.


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
    (x, down) = _integers(left)
    (y, across) = _integers(right)
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
    gram = columns * columns.transpose() * count[0, 0]
    image = columns * total.transpose()
    low = rational(lower[None, :]).entries()
    high = rational(upper[None, :]).entries()
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
