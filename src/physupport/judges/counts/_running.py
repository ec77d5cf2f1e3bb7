r"""Evidence of counts that keep arriving: a spectrum that grows is judged by its increments.

Increment k of live time :math:`s_k` has counts :math:`y_k \sim \mathrm{Poisson}(s_km)`, m = Ax + Bb the same for all.
Each expert j predicts rates :math:`\mu_{kj}` of increment k from the increments before it, so that the mixture
:math:`\sum_jw_j\prod_k\mathrm{Poisson}(y_k; s_k\mu_{kj})` is a density of all increments, fixed step by step.  Over it
stands the supremum of the likelihood of an explanation over its amounts, which sees the increments through their sum
:math:`Y = \sum_ky_k` in :math:`S = \sum_ks_k` alone: with factorials left out,

.. math:: \log E = \log\sum_jw_je^{\sum_k\sum_iy_{ki}\log s_k\mu_{kji} - s_k\mu_{kji}}
          - \sup_{x\ge0}\sum_i(Y_i\log Sm_i - Sm_i) - \sum_kn_k\log\frac{s_k}{S}

with :math:`n_k` counts in increment k.  At the true amounts this ratio is a martingale started at 1, and the supremum
makes it no larger: it ever reaches 1 / level with probability at most the level (Ville).  That holds in continuous
time, too, so that an increment may end at a time that the counts decide.  The first increment only proposes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log
from typing import Final, final

import numpy as np
import scipy  # its parts are slow to load, and most analyses do not run on
from numpy.typing import NDArray

from ..._checks import check_array
from ..._errors import Clause, MisuseError
from ..._typing import Array, IntArray
from ...banks import Bank
from ...laws import Law
from .._evidence import Bounds
from ._halves import BELOW_ONE, CountTable, Half, Opponents, bank_means, check_counts, free_means
from ._judge import WIDTHS
from ._many import Half as Columns, decisive_suprema, has_many_columns, largest
from ._suprema import fits_of, fitted, shared_fit, suprema_of

_EPS: Final = float(np.finfo(np.float64).eps)
# Half a count in every column, as a prior of that much costs half a logarithm of the counts for each column.
_PRIOR: Final = 0.5


@final
@dataclass(frozen=True, slots=True, eq=False)
class RunningCounts:
    """The evidence of one stream of counts after some increments.

    form: what rows are, see `FORMS`.  off_widths: of the laws off the bank, in channels.  last: the last row that was
    read, from which the next increment counts.
    """

    bank: Bank
    law: Law
    table: CountTable
    keys: IntArray  # (M,) explanations of the bank -> those of the table
    level: float  # at which verdicts are wanted: fits to many columns go no further
    form: str
    off_widths: tuple[float, ...]
    seen: Half  # all counts so far
    held: Half  # all but the first increment, which only proposes
    scores: Array  # (2, J) log densities of the increments under each expert, and what they may be off by
    offset: float  # sum of n_k log s_k
    log_evidence: Bounds  # (M,)
    last: Array | None = None  # (width,)
    n_rows: int = 0

    @classmethod
    def begin(
        cls, bank: Bank, law: Law, level: float, form: str = "increments", widths: Sequence[float] | None = None
    ) -> "RunningCounts":
        """Before the first row."""
        law = law.completed(bank)
        design = law.design(bank)
        assert design is not None
        for name, value in (("counted", design.recorded), ("parameters between two values", design.family)):
            if value is not None:
                rule = "be left out for rows that keep arriving"
                raise MisuseError(name, rule, Clause("it is given"), "State an error of the responses instead.")
        if form not in FORMS:
            raise MisuseError("form", f"be one of {', '.join(FORMS)}", repr(form))
        table = CountTable(design.columns, design.active, design.background, design.band)
        nothing = Half(np.zeros(len(design.columns)), 0.0)
        zero = np.zeros(bank.size)
        keys = np.asarray(law.keys(bank)(np.arange(bank.size)) // len(design.deviations))
        off_widths = tuple(map(float, WIDTHS if widths is None else widths))
        scores = np.zeros((2, 2 + 2 * len(off_widths)))
        fixed = (bank, law, table, keys, level, form, off_widths)
        return cls(*fixed, nothing, nothing, scores, 0.0, Bounds(zero, zero))

    @property
    def widths(self) -> tuple[int, ...]:
        """The allowed numbers of entries of a row."""
        return (2,) if self.form == "events" else (self.table.columns.shape[1], self.table.columns.shape[1] + 1)

    @property
    def rates(self) -> tuple[Array, float] | None:
        """(q,) counts so far a unit of live time, and the live time; None before the first row."""
        return (self.seen.counts / self.seen.exposure, self.seen.exposure) if self.n_rows else None

    def after(self, rows: NDArray[np.generic]) -> "RunningCounts":
        """Update with rows (n, width) as one increment."""
        new = FORMS[self.form](np.asarray(rows, dtype=np.float64), self.table.columns.shape[1], self.last)
        read = replace(
            self,
            seen=Half(self.seen.counts + new.counts, self.seen.exposure + new.exposure),
            last=np.asarray(rows[-1], dtype=np.float64),
            n_rows=self.n_rows + len(rows),
        )
        if self.n_rows == 0:
            return read
        found = [expert.log_bounds(new.counts) for expert in self._experts(new.exposure)]
        middle = np.array([0.5 * (low + high) for low, high in found])
        values = self.scores[0] + middle
        errors = self.scores[1] + np.array([0.5 * (high - low) for low, high in found])
        read = replace(
            read,
            held=Half(self.held.counts + new.counts, self.held.exposure + new.exposure),
            scores=np.stack([values, errors + 4.0 * _EPS * (np.abs(values) + np.abs(middle))]),
            offset=self.offset + float(new.counts.sum()) * log(new.exposure),
        )
        return replace(read, log_evidence=read._evidence())

    def _experts(self, exposure: float) -> list[Opponents]:
        """Laws that predict an increment of this exposure: the bank, its best fit with a prior, and others."""
        table = self.table
        counts = self.seen.counts
        if has_many_columns(table):
            shared, scores = shared_fit(table, counts)
            amounts = np.where(table.members >= 0, shared[table.members], 0.0)
        else:
            amounts, bounds = fits_of(table, counts)
            scores = bounds[:, 0]
        weights, fits = bank_means(table, amounts, scores)
        best = int(scores.argmax())
        with_prior = table.means(best, amounts[best] + _PRIOR)
        off_bank = free_means(fits[0], counts, self.off_widths)
        scale = exposure / self.seen.exposure
        single = np.array([BELOW_ONE])
        return [
            Opponents(BELOW_ONE * weights, scale * fits),
            *(Opponents(single, scale * means[None]) for means in (with_prior + _EPS, *off_bank)),
        ]

    def _evidence(self) -> Bounds:
        """(M,) the logarithm of the numerator over the supremum."""
        n_free = len(self.scores[0]) - 2
        shares = np.full(2 + n_free, 0.5 / max(n_free, 1))
        shares[:2] = 0.25 if n_free else 0.5
        shares *= BELOW_ONE
        values = self.scores[0] + np.log(shares)
        n_counts = float(self.held.counts.sum())
        constant = self.offset - n_counts * log(self.held.exposure)
        size = np.abs(values).max() + abs(self.offset) + abs(n_counts * log(self.held.exposure)) + len(values)
        slack = 16.0 * _EPS * float(size)
        low = float(scipy.special.logsumexp(values - self.scores[1])) - constant - slack
        high = float(scipy.special.logsumexp(values + self.scores[1])) - constant + slack
        suprema = self._suprema((low, high))
        return Bounds((low - suprema[:, 1] - slack)[self.keys], (high - suprema[:, 0] + slack)[self.keys])

    def _suprema(self, mixture: tuple[float, float]) -> Array:
        """Bounds (K, 2) of the suprema, of many columns as near as verdicts need them; mixture: of the numerator."""
        table = self.table
        counts = self.held.counts
        if not has_many_columns(table):
            return suprema_of(table, table.ends, counts, None, table.members)
        active = table.members[largest(table.members)]
        active = active[active >= 0]
        start = np.zeros(len(table.columns))
        start[active] = fitted(table, counts, active[None])[0][0]
        ends = (table.columns, table.columns) if table.ends is None else table.ends
        return decisive_suprema([(Columns.of(ends, counts), mixture, start)], table.members, self.level)[0]

    def encode(self) -> dict[str, object]:
        """The definition on which verdicts depend, without the rows."""
        content: dict[str, object] = {"law": self.law.encode(), "form": self.form, "widths": list(self.off_widths)}
        return content | {"numerator": "experts that earlier increments chose"}


def _increments(rows: Array, n_channels: int, last: Array | None) -> Half:  # noqa: ARG001
    """Rows that were counted one after the other; a further number before the channels is the live time of each."""
    times, counts = _timed(rows, n_channels)
    return _half(check_counts(counts, n_channels).sum(axis=0), float(times.sum()))


def _snapshots(rows: Array, n_channels: int, last: Array | None) -> Half:
    """Copies of one spectrum as it accumulates, with the live time so far before the channels if there is one."""
    before = np.zeros((1, rows.shape[1])) if last is None else last[None]
    steps = np.diff(np.concatenate([before, rows]), axis=0)
    if (steps < 0.0).any():
        row, column = (int(i) for i in np.argwhere(steps < 0.0)[0])
        remedy = "A spectrum that was begun anew is another stream, or has rows that are increments."
        raise MisuseError(
            "snapshots",
            "never fall",
            Clause(f"the change is {steps[row, column]:g} in row {row}, column {column}"),
            remedy,
        )
    return _increments(steps, n_channels, None)


def _events(rows: Array, n_channels: int, last: Array | None) -> Half:
    """Time and channel of each count."""
    times, channels = check_array("events", rows, (None, 2)).T
    start = times[0] if last is None else last[0]
    if (np.diff(np.concatenate([[start], times])) < 0.0).any():
        raise MisuseError("events", "come in the order of their times", Clause("one is earlier than the one before"))
    if not ((channels >= 0) & (channels < n_channels) & (channels == np.floor(channels))).all():
        raise MisuseError("events", f"have a time and a channel from 0 to {n_channels - 1}", "another channel")
    return _half(np.bincount(channels.astype(np.int64), minlength=n_channels), float(times[-1] - start))


def _timed(rows: Array, n_channels: int) -> tuple[Array, Array]:
    """(n,) live times, 1 unless rows begin with them, and (n, q) counts."""
    if rows.shape[1] == n_channels:
        return np.ones(len(rows)), rows
    return rows[:, 0], rows[:, 1:]


def _half(counts: IntArray, exposure: float) -> Half:
    if not exposure > 0.0 or not np.isfinite(exposure):
        raise MisuseError(
            "live time", "grow from look to look", Clause(f"it grows by {exposure:g}"), "Take more rows for a look."
        )
    return Half(counts.astype(np.float64), exposure)


FORMS: Final[Mapping[str, Callable[[Array, int, Array | None], Half]]] = {
    "increments": _increments,
    "snapshots": _snapshots,
    "events": _events,
}
