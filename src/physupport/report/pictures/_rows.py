"""The measured row with the fits of what is kept, and above it what the best of them leaves."""

from collections.abc import Sequence

from ._model import Axis, Key, Line, Mark, Panel, Picture, Tick
from ._rooms import WIDE, Room, numbered, padded
from ._words import Entry, number, shortened


def rows_picture(rows: Entry, room: Room) -> Picture:
    """Measured values over the channels, a line for each explanation, and in a strip what the first leaves.

    On paper, where keys stand above the axes, there is no strip.
    """
    places, axis = _places(rows["channels"])
    measured, fits = rows["measured"], rows["fits"]
    everything = [*measured, *(value for fit in fits for value in fit["values"])]
    horizontal = _horizontal(rows["channels"], places, axis, room)
    unit = f" ({rows['unit']})" if rows["unit"] else ""
    name = ("modulus" if rows["is_complex"] else "value") + unit
    vertical = numbered(*padded(everything), 5, name=name, has_grid=True)
    marks: list[Mark] = [Line(places, measured, "measured", name="measured", depth=1)]
    keys = [Key("measured", "measured" if rows["rows"] == 1 else f"mean of {rows['rows']} measured rows")]
    for number_, fit in enumerate(fits):
        said = _said(fit["says"])
        marks.append(Line(places, fit["values"], "fit", dash=number_, name=said, depth=3))
        keys.append(Key("fit", said, dash=number_))
    left = [a - b for a, b in zip(measured, fits[0]["values"], strict=True)]
    what = "kept explanations" if rows["is_kept"] else "the best explanation, which is not kept"
    words = f"{len(measured)} channels with the fits of {what}; the first leaves at most {number(_size(left))}."
    margins = (64.0, 30.0, 8.0, 46.0) if room is WIDE else (50.0, 12.0, 8.0, 46.0)
    height = 187.0 if room.is_paper else 320.0
    size = room.width, height
    panel, strip = Panel(horizontal, vertical, marks), None if room.is_paper else _residual(places, left, horizontal)
    return Picture("Measured row and fits", words, size, margins, panel, strip, keys=keys)


def _size(values: Sequence[float]) -> float:
    return max(map(abs, values))


def _residual(places: Sequence[float], left: Sequence[float], horizontal: Axis) -> Panel:
    most = _size(left) or 1.0
    vertical = Axis(-1.1 * most, 1.1 * most, [Tick(0.0, "0"), Tick(most, number(most, 2))], name="residual")
    return Panel(Axis(horizontal.low, horizontal.high), vertical, [Line(places, left, "measured", name="residual")])


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


def _horizontal(channels: Sequence[str], places: Sequence[float], axis: str, room: Room) -> Axis:
    low, high = padded(places, 0.01)
    if axis:
        return numbered(low, high, room.n_ticks, name=axis)
    every = -(-len(channels) // room.n_ticks)
    ticks = [Tick(place, shortened(name, 10)) for place, name in zip(places, channels, strict=True)][::every]
    return Axis(low, high, ticks, "channel")


def _said(says: Entry) -> str:
    """An explanation in a few words."""
    there = [f"{value}" for value in says.values() if value is not None]
    return shortened(" + ".join(there), 40) if there else "nothing there"
