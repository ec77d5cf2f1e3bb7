r"""Evidence of rows that keep arriving: every look is valid, and what was rejected once stays rejected.

The numerator is the uniform mixture of all K laws of the bank, so that no row has to propose:
:math:`\log E_t(e) = \log\frac1K\sum_i f_i(\text{first } t \text{ rows}) - \log f_e(\ldots)`.  Under e it is the
logarithm of a martingale started at 1; its largest value so far ever reaches :math:`\log(1/\alpha)` with probability at
most :math:`\alpha` (Ville), whenever one looks and whatever decides when to look next.
"""

from dataclasses import dataclass, replace
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from .._codec import pieces_hash
from .._errors import MisuseError
from .._typing import Array, IntArray
from ..banks import Bank
from ..io import ArrayRows
from ..laws import Law
from ._by_evidence import ByEvidence
from ._evidence import Bounds
from ._judge import TableJudge, Verdict, Verdicts
from ._specs import JudgeSpec, Sealed

_EPS = float(np.finfo(np.float64).eps)


@final
@dataclass(frozen=True, slots=True, eq=False)
class RunningEvidence:
    """The evidence after some rows; `after` gives it after more of them, at a cost of these alone."""

    bank: Bank
    law: Law  # completed with the bank, its keys densities
    start: Bounds  # (M,) log evidence of other streams, which have ended; 0 without any
    peaks: Bounds  # (M,) the largest so far
    sums: Array  # (2, K) log densities of the rows so far, and what they may be off by
    n_rows: int = 0
    digest: str = ""  # SHA-256 of the rows, chained over the looks

    @classmethod
    def begin(cls, bank: Bank, law: Law, start: Bounds | None = None) -> "RunningEvidence":
        """Before the first row."""
        zero = np.zeros(bank.size)
        known = Bounds(zero, zero) if start is None else start
        return cls(bank, law.completed(bank), known, known, np.zeros((2, 0)))

    def after(self, rows: NDArray[np.generic]) -> "RunningEvidence":
        """With these rows (n, width) read, in their order."""
        stream = self.law.stream(self.bank, ArrayRows(rows), [len(rows)])
        if not stream.is_density:
            rule = "have a density under every explanation, to judge rows that keep arriving"
            raise MisuseError("law", rule, f"{self.law.name!r}, whose coefficients are open")
        scores = stream.log_likelihood(np.arange(stream.n_keys))
        before = self.sums if self.n_rows else np.zeros((2, stream.n_keys))
        values = before[0] + scores.values[:, 0]
        errors = before[1] + scores.errors[:, 0] + 2.0 * _EPS * np.abs(values)
        keys = self.law.keys(self.bank)(np.arange(self.bank.size))
        peaks = self._peaks(values, errors, keys)
        return replace(
            self,
            peaks=peaks,
            sums=np.stack([values, errors]),
            n_rows=self.n_rows + len(rows),
            digest=pieces_hash(self.digest, rows.astype(np.float64, copy=False)),
        )

    def _peaks(self, values: Array, errors: Array, keys: IntArray) -> Bounds:
        """The larger of what was and what is; the log of a sum of K exponentials is off by K roundings at most."""
        count = len(values)
        slack = 8.0 * _EPS * (count + np.abs(values).max() + np.log(count) + np.abs(values[keys]))
        above = values + errors
        below = values - errors
        low = logsumexp(below) - np.log(count) - above[keys] - slack
        high = logsumexp(above) - np.log(count) - below[keys] + slack
        return Bounds(
            np.maximum(self.peaks.lower, self.start.lower + low), np.maximum(self.peaks.upper, self.start.upper + high)
        )

    def judge(self, level: float) -> TableJudge:
        """The judge of these rows at a level, which is that of all looks together."""
        limit = -np.log(level)
        lower = self.peaks.lower - limit * (1.0 + 4.0 * _EPS)
        upper = self.peaks.upper - limit * (1.0 - 4.0 * _EPS)
        verdicts = Verdicts.measured(lower, upper)
        content = {
            "judge": "running evidence",
            "assumes": "rows are independent and have the law of one explanation, whenever they are looked at",
            "numerator": "uniform mixture of the bank",
            "law": self.law.encode(),
            "rows": self.n_rows,
            "sha256": self.digest,
        }
        return TableJudge(verdicts.codes, verdicts.margins(), level, content)


def contradiction(spec: JudgeSpec, sealed: Sealed) -> dict[str, object] | None:
    """Count the explanations that each stream keeps by itself at the level, and those that all keep.

    Of each stream also the `nearest`: the explanation that the other streams reject least of all that it keeps, or of
    the whole bank if it keeps none.  A stream is judged by its evidence, unless the judge takes its rows undivided.
    None of a single stream, which contradicts nobody.
    """
    if len(sealed.streams) < 2:
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
