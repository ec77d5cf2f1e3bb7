"""How the rows of one stream are to be judged: its plan, and the stream after its proposal rows were read."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import NDArray

from .._arrays import read_only
from .._checks import check_count, check_open
from .._errors import MisuseError, NotFiniteError
from .._hashes import canonical, rows_hash
from .._typing import Array, IntArray
from ..banks import Bank, Cover
from ..io import ArrayRows, HashedRows, SplitRows
from ..judges import Factor, best_explanation, doubling_checkpoints
from ..laws import Law, Opponent, check_checkpoints, make_law, opponents_of
from ..questions import Question

if TYPE_CHECKING:
    from ._protocol import AnalysisProtocol


OPPONENTS = ("bank", "free")


@final
@dataclass(frozen=True, slots=True, eq=False, init=False)
class StreamPlan:
    """Rows of one kind: their law, the share that proposes, and the checkpoints of the rest.

    law: one of `physupport.laws`, or its name with its options, as in StreamPlan("mean", 0.5, noises=[0.5]).
    checkpoints: prefix lengths; None doubles from `first` on.  Where the judge needs no proposal, all rows judge.
    opponent: `free` has half the weight of the numerator on a law off the bank (`Law.free_opponent`), so that EMPTY can
    be seen; `bank`, as in the paper, takes the best explanation alone.
    """

    law: Law
    fraction: float
    first: int
    checkpoints: IntArray | None
    opponent: str

    def __init__(
        self,
        law: str | Law,
        fraction: float = 0.5,
        *,
        first: int = 128,
        checkpoints: Sequence[int] | IntArray | None = None,
        opponent: str = "bank",
        **options: object,
    ) -> None:
        made = make_law(law, options) if isinstance(law, str) else law
        if made is law and options:
            raise MisuseError(next(iter(options)), "be given to the law itself", repr(law))
        if opponent not in OPPONENTS:
            raise MisuseError("opponent", f"be {' or '.join(map(repr, OPPONENTS))}", repr(opponent))
        object.__setattr__(self, "law", made)
        object.__setattr__(self, "opponent", opponent)
        object.__setattr__(self, "fraction", check_open("fraction", fraction, 0.0, 1.0))
        object.__setattr__(self, "first", check_count("first", first))
        # A copy: a plan must stay what it was when a protocol was frozen.
        object.__setattr__(self, "checkpoints", None if checkpoints is None else read_only(np.asarray(checkpoints)))

    def stops(self, n_held_out: int) -> IntArray:
        """(c,) checkpoints for this many held-out rows."""
        if self.checkpoints is None:
            return doubling_checkpoints(n_held_out, self.first)
        return check_checkpoints(self.checkpoints, n_held_out)


@final
@dataclass(frozen=True, eq=False)  # no slots: the held-out rows are scored when first asked for
class ProposedStream:
    """One stream after its proposal rows were read; its held-out rows wait in the table for the judge."""

    protocol: "AnalysisProtocol" = field(repr=False)
    name: str
    plan: StreamPlan
    bank: Bank = field(repr=False)
    law: Law  # completed with the bank
    table: NDArray[np.generic] = field(repr=False)
    split: SplitRows = field(repr=False)
    proposal: HashedRows | None = field(repr=False)  # None if the judge needs none
    checkpoints: IntArray
    best: int | None  # explanation; None if the law makes its opponent without the bank, or nothing proposes
    opponent: Opponent | None  # None if nothing proposes
    plausibility: Array | None = field(repr=False)  # (M,) log likelihood of the proposal rows, unless spared

    @classmethod
    def proposed(
        cls,
        protocol: "AnalysisProtocol",
        name: str,
        plan: StreamPlan,
        bank: Bank,
        table: NDArray[np.generic],
        split: SplitRows,
    ) -> "ProposedStream":
        """Score the proposal rows under every law of the bank if need be, and choose the opponent."""
        law = plan.law.completed(bank)
        stops = plan.stops(len(split.held_out))
        if not len(split.proposal):
            return cls(protocol, name, plan, bank, law, table, split, None, stops, None, None, None)
        rows = HashedRows(name, ArrayRows(table, split.proposal))
        best = None
        opponent = law.own_opponent(rows)
        plausibility = None
        if opponent is not None and plan.opponent == "free":
            raise MisuseError("opponent", "be left out where a law off the bank is proposed already", "'free'")
        if opponent is None or protocol.ranks:
            proposal = law.proposed(bank, rows)
            plausibility = proposal.plausibility
            if opponent is None:
                best, key = best_explanation(proposal.stream, bank.size, law.keys(bank), scores=proposal.scores)
                (opponent,) = opponents_of(law, bank, proposal, key, plan.opponent)
        return cls(protocol, name, plan, bank, law, table, split, rows, stops, best, opponent, plausibility)

    @cached_property
    def held_out(self) -> HashedRows:
        """The held-out rows in their order."""
        return HashedRows(self.name, ArrayRows(self.table, self.split.held_out))

    @cached_property
    def factor(self) -> Factor:
        """The part of the evidence that the held-out rows give, scored once for all that ask; the first reads them."""
        if self.opponent is None:
            raise MisuseError(self.name, "have proposal rows to be judged by evidence", "none")
        stream = self.law.stream(self.bank, self.held_out, self.checkpoints)
        rows = self.law.scored_rows(self.bank, self.held_out)
        return Factor(self.name, stream, self.law.keys(self.bank), self.opponent.numerator(stream, rows))

    @property
    def judged(self) -> ArrayRows:
        """The held-out rows up to the last checkpoint."""
        return ArrayRows(self.table, self.split.held_out[: int(self.checkpoints[-1])])

    def describe(self) -> dict[str, object]:
        """The description of a stream in a protocol; nothing here looks at held-out rows."""
        width = int(self.table.shape[1])
        return {
            "name": self.name,
            "rows": len(self.table),
            "width": width,
            "fraction": float(self.plan.fraction) if self.proposal is not None else 0.0,
            "proposal_rows": rows_hash([], (0, width)) if self.proposal is None else self.proposal.digest(),
            "checkpoints": self.checkpoints.tolist(),
            "law": self.law.encode(),
            "numerator": {} if self.opponent is None else self._written(self.opponent),
        }

    def _written(self, opponent: Opponent) -> dict[str, object]:
        """The opponent as protocols hold it: finite rows may have a sum, or squares, that float64 does not hold."""
        try:
            canonical(written := opponent.encode())
        except ValueError:  # misuse is one, too
            rule = "have means and squares that float64 holds, as its opponent is made of these"
            raise NotFiniteError(self.name, rule, "larger numbers", "Take a larger unit.") from None
        return written


def check_thresholds(question: Question, parts: tuple[ProposedStream, ...], cover: Cover | None) -> None:
    """Refuse to compare the strengths of explanations where rows may have others: ABSENT would be said of those."""
    thresholds = question.thresholds()
    for each in () if cover is None else cover.ranges:
        if each.region in thresholds and thresholds[each.region] > each.low:
            rule = f"be at most {each.low:g}, where the range of its strengths begins"
            raise MisuseError(f"absence_threshold of region {each.region!r}", rule, repr(thresholds[each.region]))
    for part in parts:
        law = part.law
        open_ones = [item for item in thresholds.items() if law.thresholds.get(item[0]) != item[1]]
        if open_ones and not law.has_strengths:
            region, threshold = open_ones[0]
            rule = f"be left out beside {part.law.name} rows, whose coefficients need not be the strengths of the bank"
            raise MisuseError(f"absence_threshold of region {region!r}", rule, repr(threshold))
