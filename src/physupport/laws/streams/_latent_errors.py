"""Nuisances of the latent-code stream, the proven errors of its fast scores, and the scores in ball arithmetic."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from typing import Final, final

import numpy as np
from flint import arb, arb_mat, ctx

from ..._compiled import EXP2_ERROR, LN2, LOG_ERROR, U
from ..._typing import Array, BoolArray, IntArray
from ...io import RowSource
from .._codes import CodeLaw
from ._sums import pieces_in_step
from ._widths import square

_SAFE = 1.0 + 2.0**-20
# What underflows in squares and products of a row is below 2^-1000.  Turns enlarge it, but along a chain of them by no
# more than 2^n sqrt(det C_full/nu^q), which is below 2^470 where the multipliers are in range: this outweighs it still.
_TINY = 2.0**-500


@final
@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """How the rows were read: what all keys share at each checkpoint, (c,) each."""

    n_rows: IntArray
    n_stretches: IntArray
    squares: Array  # computed sum of squared entries
    width: int
    lanes: int
    blocks: int  # most blocks in one stretch

    @property
    def squares_error(self) -> Array:
        """Relative error of the sums of squares: one rounding each, and a compensated sum."""
        count = self.n_rows * float(self.width)
        return np.asarray(4.0 * U + 2.0 * (count * U) ** 2, dtype=np.float64)

    @property
    def reference_error(self) -> Array:
        """Relative error of the sums of reference exponents: lanes, their folding, and a compensated sum."""
        depth = self.blocks + self.lanes.bit_length() + 4.0
        return np.asarray(depth * U + 2.0 * (self.n_stretches * U) ** 2, dtype=np.float64)

    @property
    def multiplications(self) -> Array:
        """Most roundings in the product of the densities of the rows."""
        return self.n_rows + self.n_stretches * (self.lanes + 1.0)


def exponent_errors(run: Run, n_atoms: int, path: Array, reference: Array) -> Array:
    r"""Sum over the rows of the largest error of an exponent, in powers of two; (F, c).

    path: (F,) the largest :math:`T^2 = \sum \tau^2` along a path; reference: (F, c) the computed sums R of the largest
    exponent of each row.  A square root of an exponent errs by at most :math:`T\|y\|`, a sum of squares by the factor
    :math:`1 + \gamma`; Cauchy-Schwarz adds up the rows: with :math:`\rho = \sqrt{R} + T\sqrt V`,
    :math:`\gamma\rho^2 + 2T\rho\sqrt V + T^2 V`.
    """
    gamma = (n_atoms + 4.0) * U
    step = np.sqrt(path)[:, None] * np.sqrt(run.squares)  # (F, c): T sqrt(V)
    root = np.sqrt(reference) + step
    return np.asarray(gamma * root**2 + 2.0 * step * root + step**2)


def density_error(n_atoms: int, multipliers: Array) -> Array:
    """Relative error of a row's density with the exponents given; (F,).  Infinite beyond one half.

    multipliers: (F,) the largest relative error of a multiplier.  The exponential, its product, the sum over the sets
    of one size, the weight, its product, the sum over sizes, and what the clipped exponents leave.
    """
    roundings = comb(n_atoms, n_atoms // 2) + n_atoms + 7.0
    relative = multipliers + EXP2_ERROR + roundings * U
    return np.where(relative < 0.5, relative / (1.0 - relative), np.inf)


def total_errors(
    run: Run, n_atoms: int, noises: Array, scalars: Array, determinant_errors: Array, reference: Array
) -> Array:
    """Errors of the log likelihoods of every factor at every checkpoint, without the final sum; (F, c)."""
    exponents = LN2 * (2.0 * exponent_errors(run, n_atoms, scalars[:, 0], reference) + run.reference_error * reference)
    densities = density_error(n_atoms, scalars[:, 1])[:, None] * run.n_rows + U * run.multiplications
    squares = run.squares_error * run.squares / (2.0 * noises[:, None])
    determinants = 0.5 * run.n_rows * determinant_errors[:, None]
    return _SAFE * (exponents + densities + squares + determinants + LOG_ERROR + (run.n_rows + 1.0) * _TINY)


def final_errors(terms: Array) -> Array:
    """Error of adding six terms, each already rounded at most three times; (6, ...) -> (...)."""
    return np.asarray(_SAFE * 8.0 * U * np.abs(terms).sum(axis=0))


# Rows multiplied at once with the directions of all active sets.
_ROWS = 256


def log_likelihood_balls(
    rows: RowSource, atoms: Array, law: CodeLaw, noise: float, checkpoints: IntArray, bits: int
) -> list[arb]:
    r"""Prefix log likelihoods at the checkpoints; each ball contains the exact real number.

    With :math:`a_J(y) = y^\top y/\nu - y^\top C_J^{-1} y`, the sum over the rows of :math:`\log \sum_J w_J
    \det(C_J/\nu)^{-1/2} e^{a_J/2}`, less what all active sets share.  The densities of the rows are multiplied, which
    balls do without overflow, and one logarithm a checkpoint is enough.
    """
    with ctx.workprec(bits):
        variances = [float(v) for v in law.active_variances(atoms.shape[1])]
        exact = law.exact_weights(atoms.shape[1])
        weights = [arb(w.numerator) / w.denominator for w in exact]
        sizes = [k for k, w in enumerate(exact) if w]
        trees = [
            _tree(atoms, noise, variance, {k: weights[k] for k in sizes if k and variances[k] == variance})
            for variance in sorted({variances[k] for k in sizes if k})
        ]
        alone = weights[0]
        shared = (2 * arb.pi() * arb(noise)).log() * rows.width
        balls = []
        squares = arb(0)
        product = arb(1)
        done = 0
        for (piece,), is_checkpoint in pieces_in_step([rows], checkpoints):
            for start in range(0, len(piece), _ROWS):
                table = arb_mat(piece[start : start + _ROWS].tolist())
                exponentials = [_tree_sums(tree, table) for tree in trees]
                squares += square(table)
                for i in range(table.nrows()):
                    product *= sum((sums[i] for sums in exponentials), alone)
            done += len(piece)
            if is_checkpoint:
                balls.append(product.log() - (squares / arb(noise) + done * shared) / 2)
        return balls


# The active sets of one variance: weights over roots of determinants where the size is in use, and update directions h.
Tree = tuple[list[arb | None], arb_mat]


def _tree(atoms: Array, noise: float, variance: float, weights: dict[int, arb]) -> Tree:
    d = arb_mat(atoms.tolist())
    q, n = atoms.shape
    lam = arb(variance)
    nu = arb(noise)
    inner: list[arb_mat] = [d.transpose() * d / nu]  # D^T C_J^-1 D, along the present path
    outer: list[arb_mat] = [d / nu]  # C_J^-1 D
    scales: list[arb | None] = [None]
    columns: list[Sequence[arb]] = []
    determinants = [arb(1)]
    for mask in range(1, 1 << n):
        size = mask.bit_count()
        j = (mask & -mask).bit_length() - 1
        m = inner[size - 1]
        w = outer[size - 1]
        s = 1 + lam * m[j, j]
        root = (lam / s).sqrt()
        columns.append([root * w[a, j] for a in range(q)])
        determinants.append(determinants[mask & (mask - 1)] * s)
        row = arb_mat([[lam * m[j, k] / s for k in range(n)]])
        inner[size:] = [m - arb_mat([[m[i, j]] for i in range(n)]) * row]
        outer[size:] = [w - arb_mat([[w[a, j]] for a in range(q)]) * row]
        weight = weights.get(size)
        scales.append(None if weight is None else weight / determinants[mask].sqrt())
    return scales, arb_mat([[column[a] for column in columns] for a in range(q)])


def _tree_sums(tree: Tree, table: arb_mat) -> list[arb]:
    r"""For every row, the sum of :math:`w_J \det(C_J/\nu)^{-1/2} e^{a_J/2}` over the nonempty sets of this tree."""
    scales, directions = tree
    steps = table * directions
    totals = []
    for i in range(table.nrows()):
        gains = [arb(0)]
        total = arb(0)
        for mask in range(1, len(scales)):
            gains.append(gains[mask & (mask - 1)] + steps[i, mask - 1] ** 2)
            scale = scales[mask]
            if scale is not None:
                total += scale * (gains[mask] / 2).exp()
        totals.append(total)
    return totals


# Multipliers and weights inside 2^-450 .. 2^450 keep every product of the row loops a normal number.
RANGE: Final = 2.0**450
_ABSENT: Final = -1.0


@final
@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """Nuisances that one kind of tree serves.

    Nested: three atoms or more, one active variance and a positive weight of the full set; the tree hangs from the full
    set.  Mixed: all others that agree in which sizes occur with which variance; one tree a variance, rooted at the
    empty set.
    """

    members: BoolArray  # (m,) which nuisances
    noises: Array  # (m,)
    variances: Array  # (m,) of the full set if nested, else 0
    trees: Array  # (t,) variances of the trees if mixed, else none
    used: IntArray  # (t, n + 1) sizes that each tree carries
    weights: Array  # (m, n + 1)
    trusted: BoolArray  # (m,) whether the positive weights are inside the range

    @property
    def is_nested(self) -> bool:
        """True if the tree hangs from the full set."""
        return len(self.trees) == 0

    @property
    def table_size(self) -> int:
        """Most active sets in the trees of one state."""
        pairs = np.stack([self.noises[self.members], self.variances[self.members]])
        factors = np.unique(pairs, axis=1).shape[1]
        return int(factors * max(1, len(self.trees)) << (self.weights.shape[1] - 1))


def law_families(laws: tuple[CodeLaw, ...], noises: Array, n_atoms: int) -> tuple[Family, ...]:
    """Sort the nuisances; their weights are rounded once."""
    # Before the weights, because this is where a law refuses a number of atoms that it was not written for.
    variances = np.array([law.active_variances(n_atoms) for law in laws], dtype=np.float64)  # (m, n + 1)
    exact = [law.exact_weights(n_atoms) for law in laws]
    weights = np.array([[float(w) for w in row] for row in exact])
    occurs = np.array([[w != 0 for w in row] for row in exact])
    trusted = np.all(~occurs | ((weights > 1.0 / RANGE) & (weights < RANGE)), axis=1)
    kinds = [_kind(o, v) for o, v in zip(occurs, variances, strict=True)]
    families = []
    for kind in sorted(set(kinds)):
        members = np.array([k == kind for k in kinds])
        trees, used = _trees(kind, n_atoms)
        full_variances = np.where(members & (len(trees) == 0), variances[:, -1], 0.0)
        families.append(Family(members, noises, full_variances, trees, used, weights, trusted))
    return tuple(families)


def _kind(occurs: BoolArray, variances: Array) -> tuple[float, ...]:
    """Nothing for nested laws; for others the variance of each size, marked where the size does not occur."""
    active = variances[1:][occurs[1:]]
    if len(occurs) > 3 and occurs[-1] and np.all(active == variances[-1]):
        return ()
    return (0.0 if occurs[0] else _ABSENT, *np.where(occurs[1:], variances[1:], _ABSENT).tolist())


def _trees(kind: tuple[float, ...], n_atoms: int) -> tuple[Array, IntArray]:
    """Variances (t,) of the trees of a mixed kind, and the sizes (t, n + 1) they carry; the first has the empty set."""
    if not kind:
        return np.empty(0), np.empty((0, n_atoms + 1), dtype=np.int64)
    # A law that only ever leaves all atoms silent still needs a tree to hold the empty set.
    trees = np.unique([v for v in kind[1:] if v != _ABSENT] or [1.0])
    used = (np.array(kind) == trees[:, None]).astype(np.int64)
    used[:, 0] = 0
    used[0, 0] = kind[0] != _ABSENT
    return trees, used
