r"""The share of false statements over a map, beside the level of every signal.

A label at level a is false only if the explanation that made the signal is rejected at a.  With R statements of m
signals made at one common level :math:`a \le qR/(m h)`, the expected share of false ones among them is at most q:
h = 1 for e-values (e-BH) and :math:`h = \sum_{k \le m} 1/k` for p-values (Benjamini and Yekutieli), whatever the
dependence of the signals.  R may depend on the data: here the largest level of a list is taken that the statements
standing at it pay for.
"""

import numpy as np

from .._typing import Array, IntArray

# Shares R/m for which a level is kept ready, from all signals down to one of them, whose own is added.
_SHARES = 2.0 ** -np.append(np.arange(0.0, 8.0, 0.5), np.arange(8.0, 41.0))


def price(count: int, are_e_values: bool) -> float:
    """H: what dependence between m p-values may cost."""
    return 1.0 if are_e_values else float((1.0 / np.arange(1, count + 1)).sum())


def candidate_levels(level: float, rate: float | None, count: int, are_e_values: bool) -> Array:
    """(L,) falling: the level of each signal, and below it those at which the share of false statements may be held."""
    if rate is None:
        return np.array([level])
    shares = np.append(_SHARES[_SHARES * count > 1.0], 1.0 / count)
    levels = rate * shares / price(count, are_e_values)
    return np.append(level, levels[levels < level])


def chosen_level(levels: Array, statements: IntArray, rate: float, count: int, are_e_values: bool) -> int | None:
    """Number of the largest level that so many statements (L,) at each of them pay for; None if they pay for none."""
    is_paid = levels * count * price(count, are_e_values) <= rate * statements * (1.0 + 1e-12)
    return int(is_paid.argmax()) if is_paid.any() else None
