"""The same evidence in ball arithmetic, for margins that rounding leaves open."""

import numpy as np
from flint import arb, arb_mat, ctx

from ..._typing import Array, IntArray
from ._opponents import Opponents

# Newton steps double the digits of a fit, of which a rough one has about a dozen bits.
_FIRST_STEPS = 3


def log_mixture(opponents: Opponents, counts: Array, bits: int) -> arb:
    """Encloses the log of the mixture; see `Opponents.log_bounds`."""
    with ctx.workprec(bits):
        seen = np.flatnonzero(counts)
        total = arb(0)
        for weight, means in zip(opponents.weights.tolist(), opponents.means, strict=True):
            value = sum((arb(counts[i]) * arb(means[i]).log() for i in seen.tolist()), arb(0))
            total += arb(weight) * (value - sum(map(arb, means.tolist()), arb(0))).exp()
        return total.log()


def log_supremum(columns: Array, counts: Array, amounts: Array, bits: int) -> arb:
    """Encloses the largest log likelihood of columns (r, q); see `log_bounds` of a fit.

    The fit is polished first, by Newton steps on the columns that have counts, so that bounds meet as bits grow.
    """
    with ctx.workprec(bits):
        seen = np.flatnonzero(counts)
        if not len(seen):
            return arb(0)
        shapes = arb_mat([_shape(column, seen) for column in columns])
        y = [arb(count) for count in counts[seen].tolist()]
        rough = _column([arb(amount) for amount in amounts.tolist()])
        ends = [_ends(shapes, y, fit) for fit in (rough, _polished(shapes, y, rough, bits))]
        lower, upper = max(low.lower() for low, _ in ends), min(high.upper() for _, high in ends)
        return lower.union(upper)


def _shape(column: Array, seen: IntArray) -> list[arb]:
    """The entries in channels with counts, over the sum of all."""
    total = sum(map(arb, column.tolist()), arb(0))
    return [arb(entry) / total for entry in column[seen].tolist()]


def _ratios(y: list[arb], means: list[arb]) -> arb_mat:
    return _column([count / mean for count, mean in zip(y, means, strict=True)])


def _ends(shapes: arb_mat, y: list[arb], fit: arb_mat) -> tuple[arb, arb]:
    """Below and above the supremum."""
    means, total = (shapes.transpose() * fit).entries(), sum(y, arb(0))
    value = sum((count * mean.log() for count, mean in zip(y, means, strict=True)), arb(0)) - total
    steepest = max(slope.upper() for slope in (shapes * _ratios(y, means)).entries())
    return value + total * (total / sum(fit.entries(), arb(0))).log(), value + total * steepest.log()


def _polished(shapes: arb_mat, y: list[arb], rough: arb_mat, bits: int) -> arb_mat:
    """Amounts where the slope is 1 on the columns in use, and 0 elsewhere; the rough ones where that leads astray."""
    slopes = (shapes * _ratios(y, (shapes.transpose() * rough).entries())).entries()
    used = [j for j, slope in enumerate(slopes) if rough[j, 0].mid() > (1 - slope).mid()]
    part, fit = arb_mat([[shapes[j, i] for i in range(len(y))] for j in used]), _column([rough[j, 0] for j in used])
    for _ in range(int(np.log2(bits)) - _FIRST_STEPS):
        means = (part.transpose() * fit).entries()
        ratios = _ratios(y, means)
        weighted = arb_mat([[part[j, i] * ratios[i, 0] / means[i] for i in range(len(y))] for j in range(len(used))])
        step = (weighted * part.transpose()).solve(part * ratios - _column([arb(1)] * len(used)))
        fit = _column([(amount + change).mid() for amount, change in zip(fit.entries(), step.entries(), strict=True)])
    if not all(amount > 0 for amount in fit.entries()):
        return rough
    whole = [arb(0)] * len(slopes)
    for j, amount in zip(used, fit.entries(), strict=True):
        whole[j] = amount
    return _column(whole)


def _column(entries: list[arb]) -> arb_mat:
    return arb_mat([[entry] for entry in entries])
