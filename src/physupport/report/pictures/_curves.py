"""Pictures of curves: evidence, brackets, measured rows with their fits, and angles of sources."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import final

from .._words import Entry, counted, grouped, number, shortened
from ._model import (
    COLUMN,
    WIDE,
    Area,
    Axis,
    Bars,
    End,
    Key,
    Line,
    Mark,
    Panel,
    Picture,
    Points,
    Room,
    Rule,
    Text,
    Tick,
    bent,
    counting,
    numbered,
    padded,
)

MOST_CURVES = 24  # whose names still fit beside them


def evidence_picture(evidence: Entry, room: Room) -> Picture:
    """Log evidence against explanations at each checkpoint, with the threshold above which they are rejected.

    Each curve runs in the middle of its certified bounds.  Beyond eight thresholds the scale turns logarithmic.
    """
    threshold = float(evidence["threshold"])
    curves = evidence["curves"][:MOST_CURVES]
    middles = [_middle(curve) for curve in curves]
    horizontal = _step_axis(evidence, room)
    vertical = _evidence_axis(threshold, middles)
    top = vertical.high
    across = horizontal.low, horizontal.high
    marks: list[Mark] = [
        Area(across, (threshold, threshold), (top, top), "rejected-zone"),
        Rule(threshold, "threshold", f"threshold {number(threshold)}" if room is WIDE else number(threshold)),
    ]
    for curve, ys in zip(curves, middles, strict=True):
        marks += _evidence_curve(curve, ys, room)
    roles = dict.fromkeys(curve["role"] for curve in curves)
    keys = [Key("threshold", f"rejected above {number(threshold, 3)}"), *(Key(_role(role), role) for role in roles)]
    n_more = len(evidence["curves"]) - len(curves)
    notes = [f"{n_more} more curves not drawn"] if n_more else []
    height = max(187.0, 72.0 + 8.0 * len(curves)) if room.is_paper else max(300.0, 60.0 + 15.0 * len(curves))
    margins = *_sides(room), 26.0, 8.0 + 16.0 * len(evidence["streams"]) + (0.0 if room is WIDE else 24.0)
    said = [f"explanation {curve['explanation']} ({curve['role']}) ends at {number(_last(ys)[1])}"
            for curve, ys in zip(curves[:12], middles, strict=False)]  # fmt: skip
    words = f"An explanation is rejected once its curve rises above {number(threshold)}. " + "; ".join(said) + "."
    size = room.width, height if room.is_paper else height + margins[3]
    title = "Log evidence against explanations over the checkpoints"
    return Picture(title, words, size, margins, Panel(horizontal, vertical, marks), keys=keys, notes=notes)


def _sides(room: Room) -> tuple[float, float]:
    return (112.0, 210.0) if room is WIDE else (50.0, 98.0)


def _role(name: str) -> str:
    return name.replace(" ", "-")


def _middle(curve: Entry) -> list[float]:
    """The middle of the bounds; NaN where they are infinite, which the details write as null."""
    return [
        math.nan if lower is None or upper is None else (lower + upper) / 2
        for lower, upper in zip(curve["lower"], curve["upper"], strict=True)
    ]


def _last(ys: Sequence[float]) -> tuple[float, float]:
    """The last known point of a curve."""
    return next(((float(i), ys[i]) for i in reversed(range(len(ys))) if not math.isnan(ys[i])), (0.0, 0.0))


def _evidence_axis(threshold: float, middles: Sequence[Sequence[float]]) -> Axis:
    known = [y for ys in middles for y in ys if not math.isnan(y)]
    low = min([0.0, *known])
    high = max([1.2 * threshold, *known])
    if max(-low, high) > 8.0 * threshold:
        return bent(low, high, threshold, 6, name="log evidence against", has_grid=True)
    return numbered(*padded([low, high]), 6, name="log evidence against", has_grid=True)


def _step_axis(evidence: Entry, room: Room) -> Axis:
    """Numbers of rows, one line a stream."""
    steps = evidence["steps"]
    last = len(evidence["steps"]) - 1
    every = -(-len(steps) // room.n_ticks)
    # The last one needs room.
    shown = [i for i in range(len(steps)) if (i % every == 0 and last - i > every / 2) or i == last]
    ticks = [Tick(i, "\n".join(map(str, steps[i]))) for i in shown]
    limits = (-0.03 * last, 1.03 * last) if last else (-0.5, 0.5)
    if room is WIDE:
        return Axis(*limits, ticks, rows=[f"{shortened(stream, 14)} rows" for stream in evidence["streams"]])
    return Axis(*limits, ticks, f"held-out rows of {' and '.join(map(shortened, evidence['streams']))}")


def _evidence_curve(curve: Entry, ys: Sequence[float], room: Room) -> Iterator[Mark]:
    role = _role(curve["role"])
    (x, y) = _last(ys)
    yield Line(range(len(ys)), ys, role, name=curve["role"], has_points=True)
    where = ", ".join(curve["fields"])
    full = f"{curve['explanation']} {curve['role']}" + (f" for {where}" if where else "")
    short = shortened(full, 34) if room is WIDE else shortened(f"{curve['explanation']} {where}".rstrip(), room.letters)
    yield End(x, y, short, role, full, has_leader=any(not math.isnan(y) for y in ys))


def brackets_picture(brackets: Entry, room: Room) -> Picture:
    """Explanations witnessed and possible after each query, and in the strip how many fields are still open."""
    queries, witnessed, possible, n_open = (brackets[name] for name in ("queries", "witnessed", "possible", "open"))
    horizontal = counting(float(max(1, queries[-1])), room.n_ticks, name="explanations asked about")
    vertical = counting(1.05 * max(1, *possible), 5, name="explanations", has_grid=True)
    marks: list[Mark] = [Area(queries, witnessed, possible, "band", is_stepped=True)]
    for name, counts in (("possible", possible), ("witnessed", witnessed)):
        marks.append(Line(queries, counts, f"bracket-{name}", name=name, is_stepped=True))
        marks.insert(0, End(queries[-1], counts[-1], f"{grouped(counts[-1])} {name}", f"bracket-{name}"))
    words = (
        f"After {counted(queries[-1], 'question')}, {witnessed[-1]} are witnessed, and of {possible[0]} possible "
        f"{possible[-1]} are left; {counted(n_open[-1], 'field')} open."
    )
    margins = *_sides(room), 8.0, 46.0
    panel = Panel(horizontal, vertical, marks)
    strip = _open_fields(queries, n_open, horizontal)
    height = 187.0 if room.is_paper else 300.0
    return Picture("Witnessed and possible explanations", words, (room.width, height), margins, panel, strip)


def _open_fields(queries: Sequence[int], counts: Sequence[int], horizontal: Axis) -> Panel:
    """A low step chart: fields that are left without a certificate."""
    most = max(1, *counts)
    marks: list[Mark] = [
        Area(queries, [0.0] * len(counts), counts, "open-fields", is_stepped=True),
        Line(queries, counts, "open-line", name="open", is_stepped=True),
        End(queries[-1], 0.0, f"{counted(counts[-1], 'field')} open", "muted"),
    ]
    return Panel(Axis(0.0, horizontal.high), Axis(0.0, 1.1 * most, [Tick(0, "0"), Tick(most, grouped(most))]), marks)


_MOST_SPARSE = 30  # channels with signs of full size


def rows_picture(rows: Entry, room: Room) -> Picture:
    """Measured values over the channels with the fits, and in a strip what the first of them leaves.

    Over a physical axis these are lines.  Channels that are names alone, such as electrodes, are in no order: there
    measured values are bars and fits are signs, sorted by the first fit.  On paper, where keys stand above the axes,
    there is no strip.
    """
    places, axis = _places(rows["channels"])
    drawn = _over_axis(rows, places, axis, room) if axis else _over_names(rows, room)
    measured = rows["measured"]
    fits = rows["fits"]
    left = [a - b for a, b in zip(measured, fits[0]["values"], strict=True)]
    unit = f" ({rows['unit']})" if rows["unit"] else ""
    name = ("modulus" if rows["is_complex"] else "value") + unit
    everything = [*measured, *(value for fit in fits for value in fit["values"]), *([] if axis else [0.0])]
    vertical = numbered(*padded(everything), 5, name=name, has_grid=True)
    what = "kept explanations" if rows["is_kept"] else "the best explanation, which is not kept"
    words = f"{len(measured)} channels with the fits of {what}; the first leaves at most {number(_size(left))}."
    margins = (64.0, 30.0, 8.0, 46.0) if room is WIDE else (50.0, 12.0, 8.0, 46.0)
    is_dense = not drawn.is_ordered and len(measured) > _MOST_SPARSE
    panel = Panel(drawn.axis, vertical, drawn.marks, is_dense)
    strip = None if room.is_paper else _residual(drawn, left)
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
    names = rows["channels"]
    first = rows["fits"][0]["values"]
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


_MOST = 60  # sources that fit on a page


def sines_picture(elements: Sequence[str], regions: Sequence[str], sines: Sequence[float], error: float) -> Picture:
    """A point for each source, the largest first, with a line at the width that holds them all."""
    order = sorted(range(len(sines)), key=lambda i: -sines[i])[:_MOST]
    lanes = [float(-lane) for lane in range(len(order))]
    high = 1.1 * max(error, 1e-6)
    titles = [f"{elements[i]}: {sines[i]:.3g}" for i in order]
    marks: list[Mark] = [
        Line((error, error), (0.6, lanes[-1] - 0.6), "threshold"),
        Points("kept", [sines[i] for i in order], lanes, titles),
        Text(error, 0.6, f"error = {error:g}", "count", "end", lift=4.0),
    ]
    ticks = [
        Tick(lane, shortened(f"{elements[i]} ({regions[i]})", 24), elements[i])
        for lane, i in zip(lanes, order, strict=True)
    ]
    across = Axis(0.0, high, [Tick(x, f"{x:.2g}") for x in (0.0, 0.5 * error, error)], "sine of the angle")
    panel = Panel(across, Axis(lanes[-1] - 0.6, 0.6, ticks, is_named=True), marks, is_dense=len(order) > 30)
    left_out = len(sines) - len(order)
    return Picture(
        "Angles between responses and sources at known places",
        f"The largest sine of {len(sines)} sources is {max(sines):.3g}, that of {titles[0].split(':')[0]}.",
        (COLUMN.width * 1.6, 90.0 + 16.0 * len(order)),
        (180.0, 30.0, 30.0, 45.0),
        panel,
        notes=[f"{left_out} more sources, with smaller sines, not drawn"] if left_out else [],
    )
