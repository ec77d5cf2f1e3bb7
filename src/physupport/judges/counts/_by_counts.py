"""The judge of counts of a frozen protocol: composite explanations of its bank, with the evidence of other streams."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from ..._arrays import check_indices
from ..._checks import check_count
from ..._errors import MisuseError
from ..._stored import check_form
from ..._typing import IntArray
from ...laws import Design, Law
from .._by_evidence import product_verdicts
from .._evidence import Evidence, final_bounds
from .._judge import Verdict, Verdicts, around
from .._specs import MOST_SPLITS, Sealed, SealedStream, own_stream, register
from ._judge import WIDTHS, CountJudge, Counts
from ._splits import SPLITS
from ._table import CountTable

_RULE = "be 'counts' only where one stream has rows that count"
_OTHERWISE = ", or leave judge out"
_FORM = {"judge": str, "assumes": str, "split": tuple(SPLITS), "n_splits": int}


@final
@dataclass(frozen=True, slots=True)
class ByCounts:
    """Have counts judged by evidence on halves of the data, with amounts and background unknown.

    All rows of that stream judge; halves come from the hash of the protocol.  The evidence of other streams at their
    end is multiplied with that of the counts: the product of independent e-values is one.
    """

    are_e_values: ClassVar[bool] = True
    has_common_numerator: ClassVar[bool] = True
    has_facts: ClassVar[bool] = True
    withholds: ClassVar[bool] = True
    fact_names: ClassVar[tuple[str, ...]] = ("best", "is_best_rejected", "level", "findings", "lacks")

    split: str = "thin"
    n_splits: int = 4

    def __post_init__(self) -> None:
        if self.split not in SPLITS:
            raise MisuseError("split", f"be one of {sorted(SPLITS)}", repr(self.split))
        check_count("splits", self.n_splits, 1, MOST_SPLITS)

    def encode(self) -> dict[str, object]:
        """All that is fixed beforehand."""
        return {
            "judge": "counts",
            "assumes": "counts are independent and Poisson, and their means no less than 0 in any part",
            "split": self.split,
            "n_splits": self.n_splits,
        }

    def check_laws(self, laws: Sequence[Law]) -> None:
        """One of them counts."""
        own_stream(laws, lambda law: law.is_counted, _RULE, _OTHERWISE)

    def splits(self, law: Law) -> bool:
        """Counts are split here, not by the protocol."""
        return not law.is_counted

    def open(self, sealed: Sealed) -> "BankCounts":
        """The tables of the bank, and the evidence of the other streams."""
        return BankCounts.of(self, sealed, *sealed.divided(lambda law: law.is_counted, _RULE, _OTHERWISE))


@register("counts", make=ByCounts)
def _decoded(content: Mapping[str, object]) -> ByCounts:
    spec = check_form(content, _FORM, "judge")
    return ByCounts(spec["split"], spec["n_splits"])


@final
@dataclass(frozen=True, slots=True, eq=False)
class BankCounts:
    """The judge of one stream of counts, and the evidence of others."""

    size: int
    level: float
    table_rows: Callable[[IntArray], IntArray]  # explanations (k,) -> rows (k,) of the table
    judge: CountJudge
    evidence: Evidence | None
    spec: ByCounts

    @classmethod
    def of(
        cls, spec: ByCounts, sealed: Sealed, stream: SealedStream, design: Design, evidence: Evidence | None
    ) -> "BankCounts":
        """Reads the rows."""
        table = CountTable(design.columns, design.active, design.background)
        counts = Counts(table, int(sealed.digest, 16), spec.split, spec.n_splits, WIDTHS)
        rows = np.concatenate([*stream.rows.blocks()])
        judge = counts.judge(rows, sealed.level, design.exposure)

        def table_rows(explanations: IntArray) -> IntArray:
            return np.asarray(stream.keys_of(explanations) // len(design.deviations))

        return cls(sealed.size, sealed.level, table_rows, judge, evidence, spec)

    def verdicts(self, explanations: IntArray) -> Verdicts:
        """The margin is the log of the evidence of all streams over 1 / level."""
        chosen = check_indices("explanations", explanations, self.size)
        keys, beside = self.table_rows(chosen), final_bounds(self.evidence, chosen)
        return product_verdicts(self.judge.log_evidence, keys, self.judge.ball, beside, self.level)

    def ahead(self, e: int, count: int) -> tuple[IntArray, Verdicts]:
        """The block around e: all of it is fitted."""
        return around(self, e, count)

    def facts(self, possible: IntArray) -> dict[str, object]:
        """The best fit, whether it is rejected, and where it is worst."""
        evidence = self.judge.log_evidence.lower
        key = int(evidence.argmin())
        p = float(np.exp(-max(evidence[key], 0.0)))
        best = int(np.argmax(self.table_rows(np.arange(self.size)) == key))
        is_rejected = self.judge.verdicts(np.array([key])).codes[0] == Verdict.REJECTED
        return {
            "best": best,
            "is_best_rejected": bool(is_rejected),
            "is_withheld": bool(is_rejected) and len(possible) > 0,
            "level": self.level,
            "findings": [{"part": "channels", "place": self.judge.worst(key), "p": p}],
            "lacks": "counts",
        }

    def encode(self) -> dict[str, object]:
        """As specified."""
        return self.spec.encode()
