"""An array as a file holds it, and the one decision about its axes: which of them runs over channels."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from .._errors import MisuseError
from ._table import Source, Table, check_numbers

MATRIX_AXES: Final = (("rows",), ("columns",))


@final
@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """Numbers with what their holder says about them."""

    values: NDArray[np.generic]
    member: str | None = None
    axes: tuple[tuple[str, ...], ...] = ()  # the names that each axis goes by
    headings: tuple[tuple[str, ...] | None, ...] = (None, None)  # for each axis, what its entries are called
    unit: str = ""


def table_of(held: Held, *, channels: int | str | None, label: str, path: str | None, unit: str) -> Table:
    """The table in which rows are rows and the given axis runs over channels; a unit given here goes before."""
    name, values = label if path is None else f"{label} {path}", held.values
    check_numbers(name, values)
    if values.ndim != 2:
        remedy = "A single channel is a table too, with one entry a row." if values.ndim == 1 else ""
        raise MisuseError(name, "have two axes, rows and channels", f"shape {values.shape}", remedy)
    if values.size == 0:
        raise MisuseError(name, "hold at least one number", f"shape {values.shape}")
    axis = _axis(name, channels, held.axes)
    names = held.headings[axis]
    if names is None:
        names = tuple(map(str, range(values.shape[axis])))
    source = Source(label, path, held.member, values.shape, values.dtype.name, unit or held.unit)
    return Table(values if axis == 1 else values.T, names, source)


def _axis(name: str, channels: int | str | None, axes: Sequence[Sequence[str]]) -> int:
    """The axis meant; none is ever chosen because of its length."""
    is_number = isinstance(channels, int | np.integer) and not isinstance(channels, bool)
    if is_number and channels in (0, 1):
        return int(channels)
    found = [axis for axis, names in enumerate(axes) if channels in names]
    if len(found) == 1:
        return found[0]
    if found:
        raise MisuseError(name, "have axes of different names", f"{channels!r} twice", "Give the axis by number.")
    known = [repr(each) for names in axes for each in names]
    rule = f"be read with channels one of its axes, {', '.join(['0', *known])} or 1"
    given = "no axis" if channels is None else repr(channels)
    raise MisuseError(name, rule, given, "Name the axis that runs over channels.")


def distinct_or_none(names: Sequence[str]) -> tuple[str, ...] | None:
    """Coordinates along an axis as names of its entries; two alike name nothing."""
    return tuple(names) if len(set(names)) == len(names) and "" not in names else None


def chosen_member(name: str, member: str | None, known: Sequence[str]) -> str:
    """The array that is meant: the one named, or the only one there is."""
    listed = ", ".join(map(repr, known)) or "none"
    if member is None and len(known) == 1:
        return known[0]
    if member is None:
        raise MisuseError(name, "hold one array of numbers, or be read with a member", f"the members {listed}")
    if member not in known:
        raise MisuseError(name, f"hold the member {member!r} as an array of numbers", f"the members {listed}")
    return member


def check_no_member(name: str, member: str | None) -> None:
    """For files that hold one array without a name."""
    if member is not None:
        raise MisuseError(name, "be read without a member, as it holds one array", repr(member))
