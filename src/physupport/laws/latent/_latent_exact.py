"""The latent-code log likelihood in ball arithmetic, from the stored numbers alone."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from flint import arb, arb_mat, ctx

from ..._typing import Array, IntArray
from ...io import RowSource
from ..codes._laws import CodeLaw

# Rows multiplied at once with the directions of all active sets.
_ROWS = 256


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Work at this many bits, and restore the former number afterwards."""
    before = ctx.prec
    ctx.prec = bits
    try:
        yield
    finally:
        ctx.prec = before


def log_likelihood_balls(
    rows: RowSource, atoms: Array, law: CodeLaw, noise: float, checkpoints: IntArray, bits: int
) -> list[arb]:
    r"""Prefix log likelihoods at the checkpoints; each ball contains the exact real number.

    With :math:`a_J(y) = y^\top y/\nu - y^\top C_J^{-1} y`, the sum over the rows of :math:`\log \sum_J w_J
    \det(C_J/\nu)^{-1/2} e^{a_J/2}`, less what all active sets share.  The densities of the rows are multiplied, which
    balls do without overflow, and one logarithm a checkpoint is enough.
    """
    with precision(bits):
        variances = [float(v) for v in law.active_variances(atoms.shape[1])]
        weights = law.exact_weights(atoms.shape[1])
        sizes = [k for k, w in enumerate(weights) if not w.is_zero()]
        trees = [
            _Tree(atoms, noise, variance, {k: weights[k] for k in sizes if k and variances[k] == variance})
            for variance in sorted({variances[k] for k in sizes if k})
        ]
        alone = weights[0]
        shared = (2 * arb.pi() * arb(noise)).log() * rows.width
        balls, squares, product, done = [], arb(0), arb(1), 0
        for block in _short_blocks(rows, checkpoints):
            table = arb_mat(block.tolist())
            exponentials = [tree.sums(table) for tree in trees]
            for i in range(len(block)):
                squares += sum((table[i, c] ** 2 for c in range(rows.width)), arb(0))
                product *= sum((sums[i] for sums in exponentials), alone)
            done += len(block)
            if done in checkpoints:
                balls.append(product.log() - (squares / arb(noise) + done * shared) / 2)
        return balls


class _Tree:
    """The active sets of one variance: update directions h, determinants, and the weights of the sizes in use."""

    def __init__(self, atoms: Array, noise: float, variance: float, weights: dict[int, arb]) -> None:
        d = arb_mat(atoms.tolist())
        q, n = atoms.shape
        lam, nu = arb(variance), arb(noise)
        inner: list[arb_mat] = [d.transpose() * d / nu]  # D^T C_J^-1 D, along the present path
        outer: list[arb_mat] = [d / nu]  # C_J^-1 D
        self.scales: list[arb | None] = [None]
        columns: list[Sequence[arb]] = []
        determinants = [arb(1)]
        for mask in range(1, 1 << n):
            size, j = mask.bit_count(), (mask & -mask).bit_length() - 1
            m, w = inner[size - 1], outer[size - 1]
            s = 1 + lam * m[j, j]
            root = (lam / s).sqrt()
            columns.append([root * w[a, j] for a in range(q)])
            determinants.append(determinants[mask & (mask - 1)] * s)
            row = arb_mat([[lam * m[j, k] / s for k in range(n)]])
            inner[size:] = [m - arb_mat([[m[i, j]] for i in range(n)]) * row]
            outer[size:] = [w - arb_mat([[w[a, j]] for a in range(q)]) * row]
            weight = weights.get(size)
            self.scales.append(None if weight is None else weight / determinants[mask].sqrt())
        self.directions = arb_mat([[column[a] for column in columns] for a in range(q)])

    def sums(self, table: arb_mat) -> list[arb]:
        r"""For every row, the sum of :math:`w_J \det(C_J/\nu)^{-1/2} e^{a_J/2}` over the nonempty sets of this tree."""
        steps = table * self.directions
        totals = []
        for i in range(table.nrows()):
            gains, total = [arb(0)], arb(0)
            for mask in range(1, len(self.scales)):
                gains.append(gains[mask & (mask - 1)] + steps[i, mask - 1] ** 2)
                scale = self.scales[mask]
                if scale is not None:
                    total += scale * (gains[mask] / 2).exp()
            totals.append(total)
        return totals


def _short_blocks(rows: RowSource, checkpoints: IntArray) -> Iterator[Array]:
    """The rows up to the last checkpoint, in short blocks that end at every checkpoint."""
    done = 0
    ends = iter(checkpoints.tolist())
    end = next(ends, 0)
    for block in rows.blocks():
        start = 0
        while start < len(block) and end:
            take = min(_ROWS, end - done, len(block) - start)
            yield block[start : start + take]
            start, done = start + take, done + take
            if done == end:
                end = next(ends, 0)
