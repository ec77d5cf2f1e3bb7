r"""Evidence of rows that keep arriving in any stream: every look is valid, and what was rejected stays rejected.

In a stream of densities the numerator is the uniform mixture of all K laws of its bank, so that no row has to propose:
:math:`\log E_t(e) = \log\frac1K\sum_i f_i(\text{first } t \text{ rows}) - \log f_e(\ldots)`.  Streams of counts, whose
amounts are open, have one of their own (`physupport.judges.counts`).  Either is under e the logarithm of a martingale
started at 1, or no larger than one; so is the sum over independent streams, in whatever order their rows are read, also
if what was seen decides which stream is measured next.  Its largest value so far ever reaches :math:`\log(1/\alpha)`
with probability at most :math:`\alpha` (Ville), whenever one looks and whatever decides when to look next.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, Self, final

import numpy as np
import scipy  # its parts are slow to load, and most analyses do not run on
from numpy.typing import NDArray

from .._codec import pieces_hash
from .._errors import Clause, MisuseError
from .._typing import Array
from ..banks import Bank
from ..io import ArrayRows
from ..laws import Law
from . import counts
from ._by_evidence import ByEvidence
from ._evidence import Bounds, sum_down, sum_up
from ._judge import TableJudge, Verdict, Verdicts
from ._specs import JudgeSpec, Sealed

_EPS = float(np.finfo(np.float64).eps)


class RunningStream(Protocol):
    """The evidence of one stream after some rows."""

    @property
    def bank(self) -> Bank:
        """The bank of its rows."""

    @property
    def law(self) -> Law:
        """The law of its rows, completed with its bank."""

    @property
    def n_rows(self) -> int:
        """The number of rows read so far."""

    @property
    def widths(self) -> tuple[int, ...]:
        """The allowed numbers of real entries of a row."""

    @property
    def rates(self) -> tuple[Array, float] | None:
        """(q,) means a unit of live time so far, and the live time; None of laws that leave nothing open."""

    @property
    def log_evidence(self) -> Bounds:
        """(M,) that of its rows so far, now, not its peak."""

    def after(self, rows: NDArray[np.generic]) -> Self:
        """Update the evidence with rows (n, width), at the cost of these rows alone."""

    def encode(self) -> dict[str, object]:
        """The definition on which verdicts depend, without the rows."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class RunningDensities:
    """The evidence of a stream whose laws are densities."""

    bank: Bank
    law: Law  # completed with the bank
    log_evidence: Bounds  # (M,)
    sums: Array  # (2, K) log densities of the rows so far, and what they may be off by
    n_rows: int = 0

    @classmethod
    def begin(cls, bank: Bank, law: Law) -> "RunningDensities":
        """Before the first row."""
        zero = np.zeros(bank.size)
        return cls(bank, law.completed(bank), Bounds(zero, zero), np.zeros((2, 0)))

    @property
    def widths(self) -> tuple[int, ...]:
        """The number of entries of a row, as the law defines it."""
        return (self.law.width(self.bank),)

    @property
    def rates(self) -> None:
        """The rates, none of which is open."""
        return

    def after(self, rows: NDArray[np.generic]) -> "RunningDensities":
        """Update the evidence with these rows."""
        stream = self.law.stream(self.bank, ArrayRows(rows), [len(rows)])
        if not stream.is_density:
            rule = "have a density under every explanation, to judge rows that keep arriving"
            raise MisuseError("law", rule, f"{self.law.name!r}, whose coefficients are open")
        scores = stream.log_likelihood(np.arange(stream.n_keys))
        before = self.sums if self.n_rows else np.zeros((2, stream.n_keys))
        values = before[0] + scores.values[:, 0]
        errors = before[1] + scores.errors[:, 0] + 2.0 * _EPS * np.abs(values)
        return replace(
            self,
            log_evidence=self._against(values, errors),
            sums=np.stack([values, errors]),
            n_rows=self.n_rows + len(rows),
        )

    def _against(self, values: Array, errors: Array) -> Bounds:
        """(M,) bounds; the log of a sum of K exponentials is off by K roundings at most."""
        keys = self.law.keys(self.bank)(np.arange(self.bank.size))
        count = len(values)
        slack = 8.0 * _EPS * (count + np.abs(values).max() + np.log(count) + np.abs(values[keys]))
        above = values + errors
        below = values - errors
        low = scipy.special.logsumexp(below) - np.log(count) - above[keys] - slack
        high = scipy.special.logsumexp(above) - np.log(count) - below[keys] + slack
        return Bounds(low, high)

    def encode(self) -> dict[str, object]:
        """The law, and the numerator."""
        return {"law": self.law.encode(), "numerator": "uniform mixture of the bank"}


@final
@dataclass(frozen=True, slots=True, eq=False)
class RunningEvidence:
    """The evidence of all streams after some rows; `after` gives it after more rows of one of them.

    streams: by name; all have one explanation for each of the same bank, in its order.  looks: stream, rows, and how
    many such looks followed each other.  digests: SHA-256 of the rows of each stream, chained over the looks.
    """

    streams: Mapping[str, RunningStream]
    peaks: Bounds  # (M,) the largest so far
    looks: tuple[tuple[str, int, int], ...] = ()
    digests: Mapping[str, str] | None = None

    @classmethod
    def begin(
        cls,
        streams: Mapping[str, tuple[Bank, Law]],
        level: float = 0.05,
        forms: Mapping[str, str] | None = None,
        widths: Sequence[float] | None = None,
    ) -> "RunningEvidence":
        """Before the first row.

        streams: bank and law of each.  level: at which verdicts are wanted.  forms: of streams of counts, what rows
        are: increments unless given, or snapshots or events.  widths: in channels, of numerators off the bank.
        """
        sizes = {bank.size for bank, _ in streams.values()}
        if len(sizes) != 1:
            raise MisuseError("streams", "have banks with the same explanations", f"sizes {sorted(sizes)}")
        begun: dict[str, RunningStream] = {}
        for name, (bank, law) in streams.items():
            if law.is_counted:
                form = (forms or {}).get(name, "increments")
                begun[name] = counts.RunningCounts.begin(bank, law, level, form, widths)
            else:
                begun[name] = RunningDensities.begin(bank, law)
        zero = np.zeros(sizes.pop())
        return cls(begun, Bounds(zero, zero), (), dict.fromkeys(begun, ""))

    @property
    def n_rows(self) -> int:
        """Rows of all streams."""
        return sum(stream.n_rows for stream in self.streams.values())

    def after(self, rows: NDArray[np.generic], name: str = "deployment") -> "RunningEvidence":
        """Update with rows (n, width) of a stream, in their order."""
        if name not in self.streams:
            raise MisuseError("stream", f"be one of {', '.join(self.streams)}", repr(name))
        streams = {**self.streams, name: self.streams[name].after(rows)}
        lower, upper = np.zeros((2, len(self.peaks.lower)))
        for stream in streams.values():
            lower = sum_down(lower, stream.log_evidence.lower)
            upper = sum_up(upper, stream.log_evidence.upper)
        digests = dict(self.digests or {})
        digests[name] = pieces_hash(digests[name], np.asarray(rows, dtype=np.float64))
        *earlier, last = self.looks or (("", 0, 0),)
        is_same = last[:2] == (name, len(rows))
        looks = [*earlier, (name, len(rows), last[2] + 1)] if is_same else [*self.looks, (name, len(rows), 1)]
        peaks = Bounds(np.maximum(self.peaks.lower, lower), np.maximum(self.peaks.upper, upper))
        return RunningEvidence(streams, peaks, tuple(looks), digests)

    def replayed(
        self, looks: Sequence[tuple[str, int, int]], tables: Mapping[str, NDArray[np.generic]]
    ) -> "RunningEvidence":
        """With the looks of an earlier run repeated on the rows (n, width) of each stream, which may have more."""
        evidence = self
        for name, size, times in looks:
            for _ in range(times):
                start = evidence.streams[name].n_rows
                rows = tables[name][start : start + size]
                if len(rows) < size:
                    raise MisuseError(
                        f"rows of {name}", "begin with those of the earlier looks", Clause("there are fewer rows")
                    )
                evidence = evidence.after(rows, name)
        return evidence

    def judge(self, level: float) -> TableJudge:
        """The judge of these rows at a level, which is that of all looks together."""
        limit = -np.log(level)
        lower = self.peaks.lower - limit * (1.0 + 4.0 * _EPS)
        upper = self.peaks.upper - limit * (1.0 - 4.0 * _EPS)
        verdicts = Verdicts.measured(lower, upper)
        return TableJudge(verdicts.codes, verdicts.margins(), level, self.encode())

    def encode(self) -> dict[str, object]:
        """All that says which rows were judged, how, and when; of a bank other than that of the first stream all."""
        first = next(iter(self.streams.values())).bank
        streams: list[dict[str, object]] = []
        for name, stream in self.streams.items():
            node = {"name": name, "rows": stream.n_rows, "sha256": (self.digests or {})[name]} | stream.encode()
            streams.append(node if stream.bank.digest == first.digest else node | {"bank": stream.bank.encode()})
        return {
            "judge": RUNNING,
            "assumes": "rows are independent and have the law of one explanation, whenever they are looked at",
            "streams": streams,
            "looks": [list(look) for look in self.looks],
        }


RUNNING = "running evidence"


def contradiction(spec: JudgeSpec, sealed: Sealed) -> dict[str, object] | None:
    """Count the explanations that each stream keeps by itself at the level, and those that all keep.

    Of each stream also the `nearest`: the explanation that the other streams reject least of all that it keeps, or of
    the whole bank if it keeps none.  A stream is judged by its evidence, unless the judge takes its rows undivided.
    None of a single stream, which contradicts nobody, and of cells, whose middles alone no stream need keep.
    """
    if len(sealed.streams) < 2 or any(stream.law.has_cells for stream in sealed.streams):
        return None
    opened = [
        (ByEvidence() if spec.splits(stream.law) else spec).open(replace(sealed, streams=(stream,)))
        for stream in sealed.streams
    ]
    verdicts = [judge.verdicts(np.arange(sealed.size)) for judge in opened]
    kept = np.array([each.codes != Verdict.REJECTED for each in verdicts])  # (streams, M)
    streams = []
    for number, stream in enumerate(sealed.streams):
        others = np.max([each.upper for other, each in enumerate(verdicts) if other != number], axis=0)
        nearest = int(np.where(kept[number] | ~kept[number].any(), others, np.inf).argmin())
        streams.append({"stream": stream.name, "kept": int(kept[number].sum()), "nearest": nearest})
    return {"streams": streams, "common": int(kept.all(axis=0).sum())}
