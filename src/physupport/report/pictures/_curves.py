"""Pictures of curves: evidence, brackets, measured rows with their fits, and angles of sources."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .._width import read_error, stated_error
from .._words import Entry, counted, grouped, number, shortened
from ._model import (
    COLUMN,
    WIDE,
    Axis,
    Key,
    Kind,
    Mark,
    Panel,
    Picture,
    Room,
    Tick,
    bent,
    counting,
    level,
    numbered,
    padded,
    words,
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
    text = f"threshold {number(threshold)}" if room is WIDE else "" if room.is_paper else number(threshold)
    vertical = _evidence_axis(threshold, middles, text)
    rejected = Mark(
        "area", "rejected-zone", (0.0, 1.0), [vertical.high] * 2, lower=[threshold] * 2, shares="x", depth=0
    )
    marks = [rejected, level(threshold, "threshold")]
    for curve, ys in zip(curves, middles, strict=True):
        marks += _evidence_curve(curve, ys, room)
    streams = evidence["streams"]
    if room is WIDE:  # the ticks have a line a stream
        marks += [words("axis-name", -0.012, 0.0, f"{shortened(stream, 14)} rows", shares="xy", anchor="end",
                        lift=-12.0 - 16.0 * i) for i, stream in enumerate(streams)]  # fmt: skip
    roles = dict.fromkeys(curve["role"] for curve in curves)
    keys = [Key("threshold", f"rejected above {number(threshold, 3)}"), *(Key(_role(role), role) for role in roles)]
    n_more = len(evidence["curves"]) - len(curves)
    notes = [f"{n_more} more curves not drawn"] if n_more else []
    height = max(187.0, 72.0 + 8.0 * len(curves)) if room.is_paper else max(300.0, 60.0 + 15.0 * len(curves))
    margins = *_sides(room), 26.0, 8.0 + 16.0 * len(streams) + (0.0 if room is WIDE else 24.0)
    said = [f"explanation {curve['explanation']} ({curve['role']}) ends at {number(_last(ys)[1])}"
            for curve, ys in zip(curves[:12], middles, strict=False)]  # fmt: skip
    told = f"An explanation is rejected once its curve rises above {number(threshold)}. " + "; ".join(said) + "."
    size = room.width, height if room.is_paper else height + margins[3]
    title = "Log evidence against explanations over the checkpoints"
    return Picture(title, told, size, margins, Panel(horizontal, vertical, marks), keys=keys, notes=notes)


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


def _evidence_axis(threshold: float, middles: Sequence[Sequence[float]], text: str) -> Axis:
    """The vertical axis; the text, if any, stands at the threshold, in place of the ticks near it."""
    known = [y for ys in middles for y in ys if not math.isnan(y)]
    low = min([0.0, *known])
    high = max([1.2 * threshold, *known])
    others: dict[str, Any] = {"name": "log evidence against", "has_grid": True}
    if max(-low, high) > 8.0 * threshold:
        axis = bent(low, high, threshold, 6, **others)
    else:
        axis = numbered(*padded([low, high]), 6, **others)
    if not text:
        return axis
    at = axis.share(threshold)
    ticks = [tick for tick in axis.ticks if abs(axis.share(tick.value) - at) > 0.05]
    return replace(axis, ticks=[*ticks, Tick(threshold, text)])


def _step_axis(evidence: Entry, room: Room) -> Axis:
    """Numbers of rows, one line a stream."""
    steps = evidence["steps"]
    last = len(evidence["steps"]) - 1
    every = -(-len(steps) // room.n_ticks)
    # The last one needs room.
    shown = [i for i in range(len(steps)) if (i % every == 0 and last - i > every / 2) or i == last]
    ticks = [Tick(i, "\n".join(map(str, steps[i]))) for i in shown]
    limits = (-0.03 * last, 1.03 * last) if last else (-0.5, 0.5)
    name = "" if room is WIDE else f"held-out rows of {' and '.join(map(shortened, evidence['streams']))}"
    return Axis(*limits, ticks, name)


def _evidence_curve(curve: Entry, ys: Sequence[float], room: Room) -> list[Mark]:
    role = _role(curve["role"])
    (x, y) = _last(ys)
    where = ", ".join(curve["fields"])
    full = f"{curve['explanation']} {curve['role']}" + (f" for {where}" if where else "")
    short = shortened(full, 34) if room is WIDE else shortened(f"{curve['explanation']} {where}".rstrip(), room.letters)
    return [
        Mark("line", role, range(len(ys)), ys, name=curve["role"], has_points=True),
        Mark("end", role, (x,), (y,), (short, "" if all(map(math.isnan, ys)) else full)),
    ]


def brackets_picture(brackets: Entry, room: Room) -> Picture:
    """Explanations witnessed and possible after each query, and in the strip how many fields are still open."""
    queries, witnessed, possible, n_open = (brackets[name] for name in ("queries", "witnessed", "possible", "open"))
    horizontal = counting(float(max(1, queries[-1])), room.n_ticks, name="explanations tested")
    vertical = counting(1.05 * max(1, *possible), 5, name="explanations", has_grid=True)
    marks = [Mark("area", "band", queries, possible, lower=witnessed, is_stepped=True, depth=0)]
    for name, counts in (("possible", possible), ("witnessed", witnessed)):
        role = f"bracket-{name}"
        marks.append(Mark("line", role, queries, counts, name=name, is_stepped=True))
        marks.insert(0, Mark("end", role, queries[-1:], counts[-1:], (f"{grouped(counts[-1])} {name}", "")))
    told = (
        f"After {counted(queries[-1], 'question')}, {witnessed[-1]} are witnessed, and of {possible[0]} possible "
        f"{possible[-1]} are left; {counted(n_open[-1], 'field')} open."
    )
    margins = *_sides(room), 8.0, 46.0
    panel = Panel(horizontal, vertical, marks)
    strip = _open_fields(queries, n_open, horizontal)
    height = 187.0 if room.is_paper else 300.0
    return Picture("Witnessed and possible explanations", told, (room.width, height), margins, panel, strip)


def _open_fields(queries: Sequence[int], counts: Sequence[int], horizontal: Axis) -> Panel:
    """A low step chart: fields that are left without a certificate."""
    most = max(1, *counts)
    marks = [
        Mark("area", "open-fields", queries, counts, lower=[0.0] * len(counts), is_stepped=True, depth=0),
        Mark("line", "open-line", queries, counts, name="open", is_stepped=True),
        Mark("end", "muted", queries[-1:], (0.0,), (f"{counted(counts[-1], 'field')} open", "")),
    ]
    return Panel(Axis(0.0, horizontal.high), Axis(0.0, 1.1 * most, [Tick(0, "0"), Tick(most, grouped(most))]), marks)


_MOST_LANES = 24  # elements that a staircase shows
_BEND = 0.001  # errors below are drawn on a linear scale


def staircase_picture(staircase: Entry, room: Room) -> Picture:
    """The error of the responses from which on each element is possible, the smallest first."""
    steps = staircase["steps"]
    largest = steps[-1]["most"]
    lanes = _lanes(steps)
    shown = lanes[:_MOST_LANES]
    name = f"error {_SCALES[staircase['scale']]}"
    horizontal = bent(steps[0]["least"], largest, _BEND, room.n_ticks, name=name, has_grid=True)
    ticks = [Tick(-i, shortened(name), name) for i, (_, _, name) in enumerate(shown)]
    vertical = Axis(0.5 - len(shown), 0.6, ticks, is_named=True)
    ends = (vertical.low, vertical.high)
    stated = (stated_error(staircase), "the stated error")
    read = read_error(staircase) or stated
    lines = {"threshold": read} | ({} if read == stated else {"stated": stated})
    keys = [Key("fit", "possible")] if shown else []
    if any(below < least for below, least, _ in shown):
        keys.append(Key("leader", "becomes possible somewhere along this line"))
    keys += [Key(role, words) for role, (error, words) in lines.items() if error > 0.0]
    marks = [Mark("line", role, (error, error), ends, depth=1) for role, (error, _) in lines.items() if error > 0.0]
    for i, (below, least, name) in enumerate(shown):
        marks.append(Mark("line", "leader", (below, least), (-i, -i), depth=1))
        marks.append(Mark("line", "fit", (least, largest), (-i, -i), name=name, depth=2))
        marks.append(Mark("points", "kept", (least,), (-i,), (f"{name}: possible from {number(least)} on",), depth=3))
    listing = "; ".join(f"{name} from {number(least)} on" for _, least, name in shown) or "nothing fits at any error"
    notes = [f"{len(lanes) - len(shown)} more not drawn"] if len(lanes) > len(shown) else []
    margins = (150.0, 30.0, 8.0, 46.0) if room is WIDE else (110.0, 12.0, 8.0, 46.0)
    panel = Panel(horizontal, vertical, marks)
    size = room.width, 70.0 + 22.0 * max(1, len(shown))
    title = "What is possible at each error of the responses"
    return Picture(title, f"Possible are {listing}.", size, margins, panel, keys=keys, notes=notes)


# The unit of an error, by its scale.
_SCALES = {
    "peak": "as a share of the response's largest value",
    "value": "as a share of the response in each channel",
    "angle": "as the sine of an angle",
    "noise": "as the variance of the noise, over the least that is left along the sources",
    "stated": "in units of the stated error",
}


def _lanes(steps: Sequence[Entry]) -> list[tuple[float, float, str]]:
    """List for each element the largest error tried without it, the smallest with it, and its name with its field."""
    found: dict[str, tuple[float, float, str]] = {}
    below = steps[0]["least"]
    for step in steps:
        for field in step["fields"]:
            names = [*field["cell"], *(["nothing"] if field["numbers"].get("possible_absent") else [])]
            for name in names:
                text = name if len(step["fields"]) == 1 else f"{field['field']}: {name}"
                found.setdefault(text, (below, step["least"], text))
        below = step["most"]
    return sorted(found.values(), key=lambda lane: lane[1])


_MOST_SPARSE = 30  # channels with signs of full size


def rows_picture(rows: Entry, room: Room) -> Picture:
    """Measured values over the channels with the fits, and in a strip the residuals of the first fit.

    Over a physical axis these are lines.  Channels that are names alone, such as electrodes, are in no order: there
    measured values are bars and fits are signs, sorted by the first fit.  On paper, where keys stand above the axes,
    there is no strip.
    """
    measured = rows["measured"]
    fits = rows["fits"]
    places, unit = _places(rows["channels"])
    is_ordered = bool(unit)
    if is_ordered:
        horizontal = numbered(*padded(places, 0.01), room.n_ticks, name=unit)
    else:
        places, horizontal = _sorted_names(rows["channels"], fits[0]["values"], room)
    role = "measured" if is_ordered else "measured-bar"
    told = [_said(fit["says"]) for fit in fits]
    kind: Kind = "line" if is_ordered else "columns"
    marks = [Mark(kind, role, places, measured, name="measured", depth=1)]
    keys = [Key(role, "measured" if rows["rows"] == 1 else f"mean of {rows['rows']} measured rows", kind=kind)]
    for k, (fit, name) in reversed([*enumerate(zip(fits, told, strict=True))]):  # the first lies on top
        if is_ordered:
            marks.append(Mark("line", "fit", places, fit["values"], dash=k, name=name, depth=3))
            keys.insert(1, Key("fit", name, dash=k))
        else:
            titles = [f"{c}: {number(value)}" for c, value in zip(rows["channels"], fit["values"], strict=True)]
            marks.append(Mark("points", f"series-{k}", places, fit["values"], titles, depth=4))
            keys.insert(1, Key(f"series-{k}", name, kind="points"))
    left = [a - b for a, b in zip(measured, fits[0]["values"], strict=True)]
    most = max(map(abs, left))
    name = ("modulus" if rows["is_complex"] else "value") + (f" ({rows['unit']})" if rows["unit"] else "")
    everything = [*measured, *(value for fit in fits for value in fit["values"]), *([] if is_ordered else [0.0])]
    vertical = numbered(*padded(everything), 5, name=name, has_grid=True)
    what = "remaining explanations" if rows["is_kept"] else "the best explanation, which is rejected"
    description = f"{len(measured)} channels with the fits of {what}; the first leaves at most {number(most)}."
    margins = (64.0, 30.0, 8.0, 46.0) if room is WIDE else (50.0, 12.0, 8.0, 46.0)
    panel = Panel(horizontal, vertical, marks, is_dense=not is_ordered and len(measured) > _MOST_SPARSE)
    residual = Mark(kind, role, places, left, name="residual")
    strip = None if room.is_paper else _residual_strip(residual, horizontal, most or 1.0)
    size = room.width, 187.0 if room.is_paper else 320.0
    return Picture("Measured row and fits", description, size, margins, panel, strip, keys=keys)


def _sorted_names(names: Sequence[str], values: Sequence[float], room: Room) -> tuple[list[float], Axis]:
    """The place of each channel in the order of its value, and the axis with the names of some."""
    order = sorted(range(len(names)), key=lambda i: values[i])
    places = [0.0] * len(names)
    for place, i in enumerate(order):
        places[i] = float(place)
    every = -(-len(names) // room.n_ticks)
    ticks = [Tick(place, shortened(names[i], 10), names[i]) for place, i in enumerate(order)][::every]
    return places, Axis(-1.0, float(len(names)), ticks, "channel, sorted by the first fit")


def _residual_strip(mark: Mark, horizontal: Axis, most: float) -> Panel:
    vertical = Axis(-1.1 * most, 1.1 * most, [Tick(0.0, "0"), Tick(most, number(most, 2))], name="residual")
    return Panel(Axis(horizontal.low, horizontal.high), vertical, [mark])


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
    marks = [
        Mark("line", "threshold", (error, error), (0.6, lanes[-1] - 0.6)),
        Mark("points", "kept", [sines[i] for i in order], lanes, titles, depth=4),
        words("count", error, 0.6, f"error = {error:g}", anchor="end", lift=8.0),
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
