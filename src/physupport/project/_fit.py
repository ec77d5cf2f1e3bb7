"""What in the proposal rows speaks against a law, said before held-out rows are spent on it."""

from collections.abc import Iterator
from math import sqrt

import numpy as np

from .._typing import Array
from ..analysis import ProposedStream
from ..analysis.diagnose import Misfit
from ..banks import Bank
from ..io import ArrayRows

# The explanation was chosen on the same rows, which makes them look better than they are: only what is plain is said.
_DOUBTED = 1e-6
_DEVIATIONS = 6.0
_MOST_ROWS = 2048


def law_doubts(part: ProposedStream, bank: Bank) -> Iterator[str]:
    """Sentences, none if the rows look as the explanation that they favour would have made them."""
    if part.best is None:
        return
    few = part.split.proposal[:_MOST_ROWS]
    rows, name = np.asarray(part.table[few], dtype=np.float64), part.name
    best = f"those of the best explanation under the law {part.law.name}"
    made = part.law.sample(bank, part.best, np.random.default_rng(0), len(rows))
    seen, expected = _strength_of_mean(rows), _strength_of_mean(made)
    cosine = rows.mean(axis=0) @ made.mean(axis=0)
    if expected > _DEVIATIONS and seen < _DEVIATIONS:
        yield f"The {name} rows average to zero, {best} do not: their coefficients may vary from row to row."
    elif expected > _DEVIATIONS and cosine < 0.0:
        yield f"The {name} rows point the other way than {best}: their sign may have been turned."
    with np.errstate(over="ignore", invalid="ignore"):
        energy = part.law.energy(bank, part.best, ArrayRows(part.table, few))
    misfit = None if energy is None else Misfit(name, part.best, *energy)
    if misfit is not None and misfit.probability < _DOUBTED:
        is_more = misfit.statistic > misfit.expected
        cause = "small, or something active is missing in the bank" if is_more else "large, or the rows were scaled"
        ratio = f"{misfit.statistic / misfit.expected:.3g} times the energy of {best}"
        yield f"The {name} rows have {ratio}: noise or strengths are too {cause}."


def _strength_of_mean(rows: Array) -> float:
    """How many standard deviations the mean of rows is off zero, all channels together."""
    n, q = rows.shape
    spread = rows.var(axis=0)
    squares = n * np.divide(rows.mean(axis=0) ** 2, spread, out=np.zeros(q), where=spread > 0.0)
    return float((squares.sum() - q) / sqrt(2.0 * q))
