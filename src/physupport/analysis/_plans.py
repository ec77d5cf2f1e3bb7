"""How the rows of one stream are judged: its plan, its table, and the stream after its proposal rows were read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import check_count, check_open, read_only
from .._codec import canonical, rows_hash
from .._errors import Clause, MisuseError, NotFiniteError
from .._typing import Array, IntArray
from ..banks import Bank, Cover
from ..io import (
    ArrayRows,
    Axis,
    HashedRows,
    SplitRows,
    Table,
    as_pairs,
    as_table,
    kind_of,
    order_of,
    part_of,
    same_unit,
)
from ..judges import Factor, doubling_checkpoints
from ..laws import Law, Opponent, check_checkpoints, make_law, option_channels
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

    @cached_property
    def held_out(self) -> HashedRows:
        """The held-out rows in their order."""
        return HashedRows(self.name, ArrayRows(self.table, self.split.held_out))

    @cached_property
    def factor(self) -> Factor:
        """The part of the evidence that the held-out rows give, scored once for all that ask; the first reads them."""
        if self.opponent is None:
            raise MisuseError(self.name, "have proposal rows to be judged by evidence", Clause("it has none"))
        stream = self.law.stream(self.bank, self.held_out, self.checkpoints)
        rows = self.law.scored_rows(self.bank, self.held_out)
        return Factor(self.name, stream, self.law.keys(self.bank), self.opponent.numerator(stream, rows))

    @property
    def judged(self) -> ArrayRows:
        """The held-out rows up to the last checkpoint."""
        return ArrayRows(self.table, self.split.held_out[: int(self.checkpoints[-1])])

    @property
    def diagnosed(self) -> tuple[Law, ArrayRows, bool]:
        """The law, the rows that a diagnosis may use, and whether these are all: of a split those that propose."""
        is_all = self.proposal is None
        return self.law, ArrayRows(self.table, self.split.held_out if is_all else self.split.proposal), is_all

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
            raise NotFiniteError(self.name, rule, Clause("its numbers are larger"), "Take a larger unit.") from None
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


_LOOKED_AT_ROWS = 8192


def table_of(name: str, value: "ArrayLike | Table", bank: Bank, channels: int | str | None = None) -> Table:
    """A table with the channels of the bank in their order, where both name them.

    A plain array is rows by channels, as everywhere in this package, unless `channels` says otherwise.
    """
    if isinstance(value, Table):
        return in_bank_order(name, value, bank)
    if kind_of(value):  # labelled: its reader knows what to ask
        return in_bank_order(name, as_table(value, channels=channels, label=name), bank)
    return as_table(np.asanyarray(value), channels=1 if channels is None else channels, label=name)


def in_bank_order(name: str, table: Table, bank: Bank) -> Table:
    """The same rows with their channels as the bank names them; codes, and pairs (Re, Im), have no names there."""
    count = 0 if bank.channels is None else len(bank.channels)
    n_codes = table.values.shape[1] - count
    is_pairs = table.values.dtype.kind != "c" and len(bank.states.elements) == 2 * count
    if table.names is None or not count or n_codes < 0 or is_pairs:
        return table
    order = order_of(name, Axis("channels", bank.channels, "the library"), table.names[:count])
    if order is None or np.array_equal(order, np.arange(count)):
        return table
    columns = [*order.tolist(), *range(count, count + n_codes)]
    return replace(table, values=part_of(table.values)[:, columns], channels=tuple(table.channels[i] for i in columns))


def stream_rows(name: str, table: Table, plan: StreamPlan, bank: Bank) -> NDArray[np.generic]:
    """(n, width) real rows of a stream, after a check of their kind and width; no row is looked at.

    Complex rows become pairs (Re, Im), as the elements of the bank are; without a copy where memory allows it.
    """
    is_complex = table.values.dtype.kind == "c"
    law = plan.law
    if is_complex and not law.is_complex:
        remedy = law.why_real or "Give a StreamPlan with is_complex=True, and elements as pairs (Re, Im)."
        raise MisuseError(name, f"be real under this {law.name!r} law", f"{table.values.dtype} numbers", remedy)
    factor = 2 if is_complex else 1
    wanted = law.width(bank) // factor
    if table.values.shape[1] != wanted:
        rule = f"have the {wanted} channels that the bank describes"
        if law.has_codes:
            rule = f"have {wanted} columns, the channels of the bank and then its codes"
        raise MisuseError(name, rule, f"{table.values.shape[1]}")
    return as_pairs(table.values) if is_complex else table.values


def check_same_channels(tables: Mapping[str, Table], plans: Mapping[str, StreamPlan], bank: Bank) -> None:
    """Refuse streams and options of their laws that name other channels, or the same in another order.

    Where the responses name theirs, all are in that order already.
    """
    named = {name: table.names for name, table in tables.items()}
    if bank.channels is None:
        named |= {option: names for plan in plans.values() for option, names in option_channels(plan.law).items()}
    given = [(name, names) for name, names in named.items() if names is not None]
    for name, names in given:
        first, expected = given[0]
        # Codes may follow the channels.
        count = min(len(names), len(expected))
        order = order_of(name, Axis("channels", expected[:count], first), names[:count])
        if order is not None and not np.array_equal(order, np.arange(count)):
            i = int(np.argmax(order != np.arange(count)))
            remedy = "Or name the rows of the library's responses, to which all are then matched."
            rule = f"have the channels of {first} in their order"
            raise MisuseError(name, rule, Clause(f"channel {i} is {names[i]!r} and not {expected[i]!r}"), remedy)


def check_same_unit(tables: Mapping[str, Table]) -> None:
    """Refuse streams that state different units: strengths and responses are the same in both."""
    stated = [(name, table.source.unit) for name, table in tables.items() if table.source.unit]
    for name, unit in stated:
        first, expected = stated[0]
        if not same_unit(unit, expected):
            remedy = "Bring both to one unit: numbers are never converted."
            raise MisuseError(f"unit of {name}", f"be {expected}, as that of {first}", unit, remedy)


def check_separate(tables: Mapping[str, Table]) -> None:
    """Refuse streams that share their rows: evidence of both is multiplied, which takes independent rows."""
    width = min(table.values.shape[1] for table in tables.values())  # codes may follow the channels
    streams = [(name, _keys(table, width)) for name, table in tables.items()] if len(tables) > 1 else []
    for i, (name, keys) in enumerate(streams):
        for first, others in streams[:i]:
            few, many = sorted((keys, others), key=len)
            distinct = np.unique(few)
            # Numbers of few digits repeat by chance, and then within a stream as well.
            if len(distinct) == len(few) and 2 * int(np.isin(distinct, many).sum()) >= len(few):
                remedy = "Rows that calibrate cannot be asked about as well: record others, or split them beforehand."
                raise MisuseError(
                    labelled(name, tables[name]), f"have other rows than {first}", Clause("they are the same"), remedy
                )


def _keys(table: Table, width: int) -> IntArray:
    """(n,) a number for the first entries of each row, the same of the same rows and by chance of others: 2^-64."""
    keys: list[int] = []
    for start in range(0, len(table.values), _LOOKED_AT_ROWS):
        rows = part_of(table.values, slice(start, start + _LOOKED_AT_ROWS))[:, :width]
        real = as_pairs(rows) if rows.dtype.kind == "c" else rows.astype(np.float64)
        keys += [hash(row.tobytes()) for row in real + 0.0]  # minus zero is zero
    return np.array(keys)


def labelled(name: str, table: Table) -> str:
    """A stream with the file that its table is from, for messages."""
    return name if table.source.path is None else f"{name} ({table.source.path})"


def check_finite(tables: Mapping[str, Table]) -> None:
    """Raise with stream, file, row and column of the first number that is not finite; rows counted as in the file."""
    for name, table in tables.items():
        for start in range(0, len(table.values), _LOOKED_AT_ROWS):
            rows = part_of(table.values, slice(start, start + _LOOKED_AT_ROWS))
            finite = np.isfinite(rows.astype(np.complex128))
            if not finite.all():
                row, column = (int(i) for i in np.argwhere(~finite)[0])
                where = f"row {start + row}, column {table.channels[column]} (rows counted from 0)"
                if table.source.shape[:2] not in (table.values.shape, table.values.shape[:1]):  # the file is transposed
                    where = f"row {column}, column {start + row} of the file (both counted from 0)"
                raise MisuseError(labelled(name, table), "be finite", f"{rows[row, column]} in {where}")
