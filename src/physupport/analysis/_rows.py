"""Tables as the streams read them: rows of the right width, complex numbers as pairs."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._errors import MisuseError
from ..banks import Bank
from ..io import Table, as_pairs, as_table, part_of
from ._plans import StreamPlan

_LOOKED_AT_ROWS = 8192


def table_of(name: str, value: "ArrayLike | Table", channels: int | str | None = None) -> Table:
    """A table; a plain array is rows by channels, as everywhere in this package, unless `channels` says otherwise."""
    if isinstance(value, Table):
        return value
    if any(hasattr(value, name) for name in ("columns", "dims", "ch_names")):  # labelled: its reader knows what to ask
        return as_table(value, channels=channels, label=name)
    return as_table(np.asanyarray(value), channels=1 if channels is None else channels, label=name)


def stream_rows(name: str, table: Table, plan: StreamPlan, bank: Bank) -> NDArray[np.generic]:
    """(n, width) real rows of a stream, after a check of their kind and width; no row is looked at.

    Complex rows become pairs (Re, Im), as the elements of the bank are; without a copy where memory allows it.
    """
    is_complex, law = table.values.dtype.kind == "c", plan.law
    if is_complex and not law.is_complex:
        remedy = law.why_real or "Give a StreamPlan with is_complex=True, and elements as pairs (Re, Im)."
        raise MisuseError(name, f"be real under this {law.name!r} law", f"{table.values.dtype} numbers", remedy)
    factor = 2 if is_complex else 1
    wanted = law.width(bank) // factor
    if table.values.shape[1] != wanted:
        rule = f"have the {wanted} channels that the bank describes"
        if law.n_codes(bank.states.n_atoms):
            rule = f"have {wanted} columns, the channels of the bank and then its codes"
        raise MisuseError(name, rule, f"{table.values.shape[1]}")
    return as_pairs(table.values) if is_complex else table.values


def channel_names(table: Table) -> tuple[str, ...] | None:
    """The names of the channels; None where they are only numbered."""
    is_numbered = table.channels == tuple(map(str, range(len(table.channels))))
    return None if is_numbered else table.channels


def check_same_channels(tables: Mapping[str, Table]) -> None:
    """Refuse streams whose channels have other names, or stand in another order."""
    named = {name: names for name, table in tables.items() if (names := channel_names(table)) is not None}
    for name, names in named.items():
        first, expected = next(iter(named.items()))
        # Codes may follow the channels.
        for i, (own, other) in enumerate(zip(names, expected, strict=False)):
            if own != other:
                raise MisuseError(name, f"have the channels of {first} in their order", f"{own!r} for {other!r} ({i})")


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
