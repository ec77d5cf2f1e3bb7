"""Tables as the streams read them: rows of the right width, complex numbers as pairs."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._errors import MisuseError
from .._typing import IntArray
from ..banks import Bank
from ..io import Axis, Table, as_pairs, as_table, order_of, part_of, same_unit
from ..laws import option_channels
from ._plans import StreamPlan

_LOOKED_AT_ROWS = 8192


def table_of(name: str, value: "ArrayLike | Table", bank: Bank, channels: int | str | None = None) -> Table:
    """A table with the channels of the bank in their order, where both name them.

    A plain array is rows by channels, as everywhere in this package, unless `channels` says otherwise.
    """
    if isinstance(value, Table):
        return in_bank_order(name, value, bank)
    if any(hasattr(value, name) for name in ("columns", "dims", "ch_names")):  # labelled: its reader knows what to ask
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
            raise MisuseError(name, rule, f"{names[i]!r} for {expected[i]!r} ({i})", remedy)


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
                raise MisuseError(labelled(name, tables[name]), f"have other rows than {first}", "the same", remedy)


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
                raise MisuseError(labelled(name, table), "be finite", f"{rows[row, column]} in {where}")
