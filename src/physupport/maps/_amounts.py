"""How much of each element the signals of a map have: ranges at their level where evidence gives them, else fits."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from .._codec import whole
from .._typing import Field, IntArray
from ..judges import Amounts
from ..report import Amount, amount_of, fractions_of
from ._classes import best_kept, unpacked
from ._protocol import OPEN

if TYPE_CHECKING:
    from ._judge import SignalJudge

_MOST_SAID = 6


@final
class SignalAmounts(NamedTuple):
    """The amounts of one signal, an element each.

    is_fit: they are those of the kept explanation that fits best, without a guarantee.  Else all of them and the label
    are simultaneously true at the level of the signal, and 0 is in the range of an element that may be missing.
    """

    amounts: tuple[Amount, ...] = ()
    is_fit: bool = False

    @property
    def words(self) -> str:
        """The amounts of the elements, those of which there may be most first, and whether they are a fit."""
        largest = sorted(self.amounts, key=lambda amount: -max(abs(amount.low), abs(amount.high)))
        said = [f"{amount.element} {_size(amount)}" for amount in largest[:_MOST_SAID]]
        rest = len(self.amounts) - len(said)
        more = f"; and {rest} more" if rest else ""
        note = " (fit, without a guarantee)" if self.is_fit and said else ""
        return f"{'; '.join(said)}{more}{note}"

    def within(self, field: str) -> "SignalAmounts":
        """Those of one region."""
        return self._replace(amounts=tuple(amount for amount in self.amounts if amount.field == field))

    def shares(self, field: str) -> str:
        """The shares of the elements of a region in the sum of all; empty where an amount may be negative."""
        if any(amount.low < 0.0 for amount in self.amounts) or not any(amount.high for amount in self.amounts):
            return ""
        own = [amount.element for amount in self.amounts if amount.field == field]
        found = fractions_of(self.amounts)
        said = "; ".join(f"{name} {_ends(*found[name])}" for name in own[:_MOST_SAID])
        return f"{said} (fit, without a guarantee)" if said and self.is_fit else said

    def size(self, field: str) -> float:
        """The largest middle of a range of the region, for pictures; 0 where there is none that is finite."""
        middles = [0.5 * (amount.low + amount.high) for amount in self.amounts if amount.field == field]
        return max([abs(middle) for middle in middles if np.isfinite(middle)], default=0.0)


def _size(amount: Amount) -> str:
    return f"{amount.low:.3g} {amount.unit}".rstrip() if amount.low == amount.high else amount.words


def _ends(low: float, high: float) -> str:
    return f"{low:.2g}" if low == high else f"{low:.2g} to {high:.2g}"


def signal_amounts(
    about: Mapping[str, Any], flat: Mapping[str, NDArray[Any]], rows: Field, judge: "SignalJudge"
) -> tuple[SignalAmounts, ...]:
    """The amounts of signals (S, T, q) from the arrays of their map, (S, ...) each; none of those without a label."""
    slots = whole(about["slots"], None, None)
    kept = unpacked(flat["kept"], len(slots))
    told = np.flatnonzero((flat["gate"] == OPEN) & kept.any(axis=1))
    ranges = dict(zip(told.tolist(), judge.ranges(rows[told], kept[told], about["level"]), strict=True))
    found = [SignalAmounts()] * len(rows)
    for i in told.tolist():
        own = ranges[i]
        if not own.reason:
            found[i] = SignalAmounts(tuple(_amounts(about, slots[kept[i]], own)))
            continue
        best = best_kept(int(flat["best"][i]), kept[i])
        fit = judge.fitted_amounts(rows[i], best)
        found[i] = SignalAmounts(tuple(_amounts(about, slots[[best]], fit)), is_fit=True)
    return tuple(found)


def _amounts(about: Mapping[str, Any], slots: IntArray, found: Amounts) -> Iterator[Amount]:
    """The amounts of the elements of explanations (k, R), in the order of regions and elements."""
    for region, column in zip(about["regions"], slots.T, strict=True):
        for element in np.unique(column[column >= 0]).tolist():
            name = region["elements"][element]
            if name in found.intervals:
                is_certain = bool((column == element).all())
                yield amount_of(name, region["name"], found.intervals[name], found.kind, is_certain=is_certain)
