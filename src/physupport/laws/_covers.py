"""Whether a cover is that of a bank, and covers what the laws of its rows may have."""

from collections.abc import Sequence

import numpy as np

from .._errors import MisuseError
from .._typing import Array
from ..banks import Bank, Cover
from ._law import Law

# Relative: numbers that were worked out alike.
_ROUNDING = 1e-9


def check_cover(cover: Cover, bank: Bank | None, streams: Sequence[tuple[Law, int]]) -> None:
    """Refuse a cover of other elements than the bank has, of other laws, or of weaker signals than theirs.

    streams: law and number of rows of each.
    """
    if bank is None or len(streams) != 1:
        raise MisuseError("cover", "go with one stream, and with the bank that it made", f"{len(streams)} streams")
    ((law, n_rows),) = streams
    active = max(map(len, bank.positions))
    unit = law.moved(active)
    if unit is None:
        raise MisuseError("cover", "go with a law that says how far its rows move", repr(law.name))
    if cover.active != active or not _alike(np.array(cover.unit), np.array(unit)):
        raise MisuseError(
            "cover", f"be of {active} active elements of {law.name} rows", f"{cover.active}, {cover.unit}"
        )
    least = law.largest_snr(bank, n_rows)
    if least is not None and cover.snr < least * (1.0 - _ROUNDING):
        raise MisuseError("snr", f"be at least {least:.6g}, which the strengths of the bank have", cover.snr)
    _check_cells(cover, bank)
    if cover.tangents != (law.half_steps is not None):
        raise MisuseError("tangents", "be of the cover and of the law alike", f"{cover.tangents} of the cover")
    if law.half_steps is not None and not (np.asarray(law.half_steps) >= cover.half_steps * (1.0 - _ROUNDING)).all():
        raise MisuseError("half_steps", "be as wide as the cells of the cover", np.asarray(law.half_steps).tolist())


def _check_cells(cover: Cover, bank: Bank) -> None:
    """The elements are the cells, and parameters stand at the middles of theirs."""
    library = bank.states.library
    cells = {} if library is None else {"places": library.coordinates, "extents": library.extents}
    if library is None or not (_alike(cells["places"], cover.places) and _alike(cells["extents"], cover.extents)):
        raise MisuseError("bank", "have the cells of the cover as its elements", "other ones")
    regions = tuple(name for name, own in cover.regions.items() for _ in own.places)
    if library.regions != regions or library.unit != cover.measure:
        raise MisuseError(
            "cover", "have the regions and the unit of the bank", f"{[*cover.regions]}, {cover.measure!r}"
        )
    for parameter in cover.grid():
        values = np.unique(bank.states.parameter_values.get(parameter.label, ()))
        if not _alike(values, np.sort(parameter.values)):
            rule = "have the middles of the cover's cells as values"
            raise MisuseError(f"parameter {parameter.label!r} of the bank", rule, values.tolist())


def _alike(some: Array | None, others: Array) -> bool:
    return (
        some is not None and np.shape(some) == others.shape and np.allclose(some, others, rtol=_ROUNDING, atol=1e-300)
    )
