"""Evidence over the checkpoints, and what is witnessed and possible over the queries."""

import math
from collections.abc import Iterator, Sequence

from .._phrases import Entry
from ._model import Area, Axis, End, Key, Line, Mark, Panel, Picture, Rule, Tick
from ._rooms import WIDE, Room, bent, counting, numbered, padded
from ._words import counted, grouped, number, shortened

MOST_CURVES = 24  # whose names still fit beside them


def evidence_picture(evidence: Entry, room: Room) -> Picture:
    """Log evidence against explanations at each checkpoint, with the threshold above which they are rejected.

    Each curve runs in the middle of its certified bounds.  Beyond eight thresholds the scale turns logarithmic.
    """
    threshold, curves = float(evidence["threshold"]), evidence["curves"][:MOST_CURVES]
    middles = [_middle(curve) for curve in curves]
    horizontal, vertical = _step_axis(evidence, room), _evidence_axis(threshold, middles)
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
    low, high = min([0.0, *known]), max([1.2 * threshold, *known])
    if max(-low, high) > 8.0 * threshold:
        return bent(low, high, threshold, 6, name="log evidence against", has_grid=True)
    return numbered(*padded([low, high]), 6, name="log evidence against", has_grid=True)


def _step_axis(evidence: Entry, room: Room) -> Axis:
    """Numbers of rows, one line a stream."""
    steps, last = evidence["steps"], len(evidence["steps"]) - 1
    every = -(-len(steps) // room.n_ticks)
    # The last one needs room.
    shown = [i for i in range(len(steps)) if (i % every == 0 and last - i > every / 2) or i == last]
    ticks = [Tick(i, "\n".join(map(str, steps[i]))) for i in shown]
    limits = (-0.03 * last, 1.03 * last) if last else (-0.5, 0.5)
    if room is WIDE:
        return Axis(*limits, ticks, rows=[f"{shortened(stream, 14)} rows" for stream in evidence["streams"]])
    return Axis(*limits, ticks, f"held-out rows of {' and '.join(map(shortened, evidence['streams']))}")


def _evidence_curve(curve: Entry, ys: Sequence[float], room: Room) -> Iterator[Mark]:
    role, (x, y) = _role(curve["role"]), _last(ys)
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
    panel, strip = Panel(horizontal, vertical, marks), _open_fields(queries, n_open, horizontal)
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
