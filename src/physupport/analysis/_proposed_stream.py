"""One stream of a protocol after its proposal rows were read, and before its held-out rows are."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._hashes import rows_hash
from .._typing import Array, IntArray
from ..banks import Bank
from ..io import ArrayRows, SplitRows
from ..judges import Factor, best_explanation
from ..laws import LatentPoint, Stream
from ._protocol_streams import (
    MeanPoint,
    StreamLaw,
    StreamPlan,
    fitted_point,
    frozen_point,
    numerator_json,
    point_stream,
)

if TYPE_CHECKING:
    from ._protocol import Protocol


@final
@dataclass(frozen=True, slots=True, eq=False)
class ProposedStream:
    """One stream after its proposal rows were read; its held-out rows wait in the table for the judge."""

    protocol: "Protocol" = field(repr=False)
    name: str
    plan: StreamPlan
    law: StreamLaw
    table: NDArray[np.generic] = field(repr=False)
    split: SplitRows = field(repr=False)
    checkpoints: IntArray
    best: int | None  # explanation
    key: int
    point: LatentPoint | MeanPoint | None  # the numerator, if it lies off the bank
    plausibility: Array = field(repr=False)  # (M,) log likelihood of the proposal rows

    @classmethod
    def proposed(
        cls,
        protocol: "Protocol",
        name: str,
        plan: StreamPlan,
        bank: Bank,
        table: NDArray[np.generic],
        split: SplitRows,
    ) -> "ProposedStream":
        """Score the proposal rows under every law of the bank, and choose the numerator."""
        law, numbered = plan.law(bank), keys_of(plan, bank)
        stream = law.stream(bank, table, split.proposal, [len(split.proposal)])
        every = numbered(np.arange(bank.size))
        keys, where = np.unique(every, return_inverse=True)
        scores = stream.log_likelihood(keys)
        plausibility = scores.values[where, -1]
        best, key = None, 0
        point: LatentPoint | MeanPoint | None
        if plan.propose is None:
            found = best_explanation(stream, bank.size, numbered, scores=scores)
            best, key, point = found.index, found.key, fitted_point(stream, found.key)
        else:
            point = frozen_point(plan.propose(np.ascontiguousarray(table[split.proposal], dtype=np.float64)))
        stops = plan.stops(len(split.held_out))
        return cls(protocol, name, plan, law, table, split, stops, best, key, point, plausibility)

    def factor(self, bank: Bank) -> Factor:
        """The part of the evidence that the held-out rows of this stream give."""
        stream = self.law.stream(bank, self.table, self.split.held_out, self.checkpoints)
        numerator: tuple[Stream, int] = (stream, self.key)
        if self.point is not None:
            numerator = point_stream(self.point, self.table, self.split.held_out, self.checkpoints)
        return Factor(self.name, stream, keys_of(self.plan, bank), numerator)

    def digest(self, order: IntArray) -> str:
        """SHA-256 of some of the rows, in this order."""
        rows = ArrayRows(self.table, order)
        return rows_hash(rows.blocks(), (rows.n_rows, rows.width))

    def describe(self) -> dict[str, object]:
        """What a protocol says of a stream; nothing here looks at held-out rows."""
        return {
            "name": self.name,
            "rows": len(self.table),
            "width": int(self.table.shape[1]),
            "fraction": float(self.plan.fraction),
            "proposal_rows": self.digest(self.split.proposal),
            "checkpoints": self.checkpoints.tolist(),
            "law": self.law.describe(),
            "numerator": numerator_json(self.key, self.point),
        }


def keys_of(plan: StreamPlan, bank: Bank) -> Callable[[ArrayLike], IntArray]:
    """Explanations (k,) -> keys (k,) of the stream."""
    return bank.calibration_keys if plan.is_calibration else bank.deployment_keys
