"""The measured row with the fits of what is kept, and above it what the best of them leaves."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from .._phrases import Entry
from ._model import Axis, Bars, Key, Line, Mark, Panel, Picture, Points, Tick
from ._rooms import WIDE, Room, numbered, padded
from ._words import number, shortened

_MOST_SPARSE = 30  # channels with signs of full size


def rows_picture(rows: Entry, room: Room) -> Picture:
    """Measured values over the channels with the fits, and in a strip what the first of them leaves.

    Over a physical axis these are lines.  Channels that are names alone, such as electrodes, are in no order: there
    measured values are bars and fits are signs, sorted by the first fit.  On paper, where keys stand above the axes,
    there is no strip.
    """
    places, axis = _places(rows["channels"])
    drawn = _over_axis(rows, places, axis, room) if axis else _over_names(rows, room)
    measured, fits = rows["measured"], rows["fits"]
    left = [a - b for a, b in zip(measured, fits[0]["values"], strict=True)]
    unit = f" ({rows['unit']})" if rows["unit"] else ""
    name = ("modulus" if rows["is_complex"] else "value") + unit
    everything = [*measured, *(value for fit in fits for value in fit["values"]), *([] if axis else [0.0])]
    vertical = numbered(*padded(everything), 5, name=name, has_grid=True)
    what = "kept explanations" if rows["is_kept"] else "the best explanation, which is not kept"
    words = f"{len(measured)} channels with the fits of {what}; the first leaves at most {number(_size(left))}."
    margins = (64.0, 30.0, 8.0, 46.0) if room is WIDE else (50.0, 12.0, 8.0, 46.0)
    is_dense = not drawn.is_ordered and len(measured) > _MOST_SPARSE
    panel, strip = Panel(drawn.axis, vertical, drawn.marks, is_dense), None if room.is_paper else _residual(drawn, left)
    size = room.width, 187.0 if room.is_paper else 320.0
    return Picture("Measured row and fits", words, size, margins, panel, strip, keys=drawn.keys)


@final
@dataclass(frozen=True, slots=True)
class _Drawn:
    """Channels on their axis, with the marks of the row and of its fits."""

    axis: Axis
    places: Sequence[float]
    marks: Sequence[Mark]
    keys: Sequence[Key]
    is_ordered: bool


def _over_axis(rows: Entry, places: Sequence[float], name: str, room: Room) -> _Drawn:
    axis = numbered(*padded(places, 0.01), room.n_ticks, name=name)
    marks: list[Mark] = [Line(places, rows["measured"], "measured", name="measured", depth=1)]
    keys = [Key("measured", _measured(rows))]
    for k, fit in enumerate(rows["fits"]):
        said = _said(fit["says"])
        marks.append(Line(places, fit["values"], "fit", dash=k, name=said, depth=3))
        keys.append(Key("fit", said, dash=k))
    return _Drawn(axis, places, marks, keys, is_ordered=True)


def _over_names(rows: Entry, room: Room) -> _Drawn:
    names, first = rows["channels"], rows["fits"][0]["values"]
    order = sorted(range(len(names)), key=lambda i: first[i])
    places = [0.0] * len(names)
    for place, i in enumerate(order):
        places[i] = float(place)
    every = -(-len(names) // room.n_ticks)
    ticks = [Tick(place, shortened(names[i], 10), names[i]) for place, i in enumerate(order)][::every]
    axis = Axis(-1.0, float(len(names)), ticks, "channel, sorted by the first fit")
    marks: list[Mark] = [Bars(places, rows["measured"], "measured-bar", "measured", thickness=0.7, is_upright=True)]
    keys = [Key("measured-bar", _measured(rows))]
    for k, fit in reversed([*enumerate(rows["fits"])]):  # the first lies on top
        titles = [f"{name}: {number(value)}" for name, value in zip(names, fit["values"], strict=True)]
        marks.append(Points(f"series-{k}", places, fit["values"], titles))
        keys.insert(1, Key(f"series-{k}", _said(fit["says"])))
    return _Drawn(axis, places, marks, keys, is_ordered=False)


def _measured(rows: Entry) -> str:
    return "measured" if rows["rows"] == 1 else f"mean of {rows['rows']} measured rows"


def _size(values: Sequence[float]) -> float:
    return max(map(abs, values))


def _residual(drawn: _Drawn, left: Sequence[float]) -> Panel:
    most = _size(left) or 1.0
    vertical = Axis(-1.1 * most, 1.1 * most, [Tick(0.0, "0"), Tick(most, number(most, 2))], name="residual")
    mark: Mark = Line(drawn.places, left, "measured", name="residual")
    if not drawn.is_ordered:
        mark = Bars(drawn.places, left, "measured-bar", "residual", thickness=0.7, is_upright=True)
    return Panel(Axis(drawn.axis.low, drawn.axis.high), vertical, [mark])


def _places(channels: Sequence[str]) -> tuple[list[float], str]:
    """The channels as numbers with the name of their axis, where they are such, perhaps with one unit, in order.

    Else they are counted, and the name is empty.

    >>> _places(["10.2 keV", "10.3 keV"]), _places(["E1", "E2"])
    (([10.2, 10.3], 'keV'), ([0.0, 1.0], ''))
    """
    numbers, units = zip(*(name.partition(" ")[::2] for name in channels), strict=True)
    try:
        values = [float(text) for text in numbers]
    except ValueError:
        values = []
    if values and len({*units}) == 1 and values in (rising := sorted({*values}), rising[::-1]):
        return values, units[0] or "channel"
    return [float(i) for i in range(len(channels))], ""


def _said(says: Entry) -> str:
    """An explanation in a few words."""
    names = [value for value in says.values() if value is not None]
    return shortened(" + ".join(names), 40) if names else "nothing there"
