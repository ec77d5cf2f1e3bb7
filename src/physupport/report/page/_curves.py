"""Evidence over the checkpoints, and the brackets over the queries."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import final

from ._svg import Scale, Svg, picture, polyline, spread_apart, tag
from ._words import Entry, counted, listed, number, shortened

MOST_CURVES = 24  # labels beside the curves that can still be told apart


@final
@dataclass(frozen=True, slots=True)
class Frame:
    """Where the axes of a picture stand, in pixels."""

    key: str
    width: float
    left: float
    right: float
    n_ticks: int
    is_small: bool  # names of curves and streams are shorter, or stand below


# The second for small screens.
FRAMES = Frame("wide", 1000.0, 112.0, 790.0, 12, False), Frame("compact", 366.0, 50.0, 268.0, 4, True)

ROLES = {"proposal": "proposal", "witness": "witness", "nearest excluded": "excluded-curve"}


def evidence_picture(evidence: Entry, curves: Sequence[Entry], frame: Frame) -> Svg:
    """Log evidence against explanations at each checkpoint, with the threshold above which they are rejected.

    curves: some of the evidence; beside more than MOST_CURVES there is no room for names.
    """
    threshold = float(evidence["threshold"])
    height = max(300.0, 60.0 + 15.0 * len(curves))
    top, bottom = 18.0, height
    values = [float(v) for curve in curves for bound in ("lower", "upper") for v in curve[bound] if _is_finite(v)]
    low, high = min([0.0, *values]), max([1.2 * threshold, *values])
    bend = threshold if max(-low, high) > 8 * threshold else None
    vertical = Scale(low, high, bottom - 8, top + 8, bend)
    horizontal = Scale(0.0, float(max(1, len(evidence["steps"]) - 1)), frame.left + 20, frame.right - 12)
    line = vertical(threshold)
    parts = [*_threshold(line, threshold, top, frame), *_levels(vertical, frame, line)]
    parts += _steps(evidence, horizontal, bottom, frame)
    wanted = [vertical(_last(curve)) for curve in curves]
    for curve, y in zip(curves, spread_apart(wanted, 15.0, top + 6, bottom - 10), strict=True):
        parts += _curve(curve, horizontal, vertical, y, frame)
    parts.append(tag("text", "log evidence", x=frame.left, y=10, class_="axis-name"))
    title = "Log evidence against explanations over the checkpoints"
    size = frame.width, bottom + 24 + (34 if frame.is_small else 16) * len(evidence["streams"])
    return picture(f"evidence-{frame.key}", size, title, _evidence_words(curves, threshold), parts)


def _levels(vertical: Scale, frame: Frame, taken: float = -math.inf) -> Iterator[Svg]:
    """Lines at round values, but for such as would run into the text at `taken`."""
    for value in vertical.ticks(6):
        y = vertical(value)
        if abs(y - taken) < 12:
            continue
        yield tag("path", d=f"M{frame.left} {y:.1f}H{frame.right}", class_="grid")
        yield tag("text", number(value), x=frame.left - 8, y=y + 4, class_="axis-text", text_anchor="end")


def _threshold(y: float, threshold: float, top: float, frame: Frame) -> Iterator[Svg]:
    width = frame.right - frame.left
    yield tag("rect", x=frame.left, y=top, width=width, height=max(0.0, y - top), class_="rejected-zone")
    yield tag("path", d=f"M{frame.left} {y:.1f}H{frame.right}", class_="threshold")
    text = number(threshold) if frame.is_small else f"threshold {number(threshold)}"
    yield tag("text", text, x=frame.left - 8, y=y + 4, class_="axis-text threshold-text", text_anchor="end")


def _steps(evidence: Entry, horizontal: Scale, bottom: float, frame: Frame) -> Iterator[Svg]:
    steps = evidence["steps"]
    every = -(-len(steps) // frame.n_ticks)
    for j, stream in enumerate(evidence["streams"]):
        y = bottom + 18 + (34 if frame.is_small else 16) * j
        name = f"{shortened(stream, 14)} rows"
        if frame.is_small:
            yield tag("text", name, x=frame.left, y=y + 16, class_="axis-name")
        else:
            yield tag("text", name, x=frame.left - 8, y=y, class_="axis-name", text_anchor="end")
        for i, step in enumerate(steps):
            # The last one needs room.
            if (i % every == 0 and len(steps) - 1 - i > every / 2) or i == len(steps) - 1:
                yield tag("text", str(step[j]), x=horizontal(i), y=y, class_="axis-text", text_anchor="middle")


def _curve(curve: Entry, horizontal: Scale, vertical: Scale, label_y: float, frame: Frame) -> Iterator[Svg]:
    role = ROLES.get(curve["role"], "witness")
    middle = [
        (horizontal(i), vertical((lower + upper) / 2))
        for i, (lower, upper) in enumerate(zip(curve["lower"], curve["upper"], strict=True))
        if _is_finite(lower) and _is_finite(upper)
    ]
    where = f" for {listed(curve['fields'], 4)}" if curve["fields"] else ""
    text = f"{curve['explanation']} {curve['role']}{where}"
    if middle:
        yield polyline(middle, f"curve {role}")
        yield from (tag("circle", cx=x, cy=y, r=2.2, class_=f"point {role}") for x, y in middle)
        x, y = middle[-1]
        yield tag("path", d=f"M{x + 4:.1f} {y:.1f}L{frame.right + 8} {label_y:.1f}", class_="leader")
    # What is cut here stands in the table below the picture.
    short = f"{curve['explanation']}" if frame.is_small else shortened(text, 34)
    yield tag("text", tag("title", text), short, x=frame.right + 12, y=label_y + 4, class_=f"end {role}")


def _last(curve: Entry) -> float:
    known = [float(v) for v in curve["upper"] if _is_finite(v)]
    return known[-1] if known else 0.0


def _is_finite(value: object) -> bool:
    return isinstance(value, int | float)


def _evidence_words(curves: Sequence[Entry], threshold: float) -> str:
    said = [
        f"explanation {curve['explanation']} ({curve['role']}) ends at {number(_last(curve))}" for curve in curves[:12]
    ]
    return f"An explanation is rejected once its curve rises above {number(threshold)}. " + "; ".join(said) + "."


def brackets_picture(brackets: Entry, frame: Frame) -> Svg:
    """Numbers of witnessed and of possible explanations after each query."""
    queries, bottom, top = brackets["queries"], 196.0, 16.0
    horizontal = Scale(0.0, float(max(1, queries[-1])), frame.left, frame.right)
    vertical = Scale(0.0, float(max(1, *brackets["possible"])), bottom, top)
    lower, upper = ([vertical(float(v)) for v in brackets[name]] for name in ("witnessed", "possible"))
    xs = [horizontal(float(q)) for q in queries]
    parts = [*_levels(vertical, frame)]
    for value in horizontal.ticks(min(8, frame.n_ticks)):
        x = horizontal(value)
        parts.append(tag("text", number(value, 7), x=x, y=bottom + 18, class_="axis-text", text_anchor="middle"))
    name = "explanations asked about"
    middle = (frame.left + frame.right) / 2
    parts.append(tag("text", name, x=middle, y=bottom + 38, class_="axis-name", text_anchor="middle"))
    parts += _open_fields(brackets["open"], xs, bottom + 56, frame)
    band = [*_stairs(xs, upper), *reversed(_stairs(xs, lower))]
    parts.append(tag("polygon", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in band), class_="band"))
    ends = spread_apart([upper[-1], lower[-1]], 15.0, top, bottom)
    for key, ys, end in (("possible", upper, ends[0]), ("witnessed", lower, ends[1])):
        role = "plain" if key == "possible" else "witness"
        parts.append(polyline(_stairs(xs, ys), f"curve {role}"))
        text = f"{brackets[key][-1]:,} {key}".replace(",", " ")
        parts.append(tag("text", text, x=frame.right + 12, y=end + 4, class_=f"end {role}"))
    first, last = brackets["possible"][0], brackets["possible"][-1]
    description = (
        f"After {counted(queries[-1], 'question')}, {brackets['witnessed'][-1]} are witnessed, and of {first} possible "
        f"{last} are left; {counted(brackets['open'][-1], 'field')} open."
    )
    size, title = (frame.width, bottom + 92), "Witnessed and possible explanations"
    return picture(f"brackets-{frame.key}", size, title, description, parts)


def _open_fields(counts: Sequence[int], xs: Sequence[float], top: float, frame: Frame) -> Iterator[Svg]:
    """A low step chart below the axis: fields that are left without a certificate."""
    vertical = Scale(0.0, float(max(1, *counts)), top + 30, top)
    stairs = _stairs(xs, [vertical(float(count)) for count in counts])
    area = [(xs[0], top + 30), *stairs, (xs[-1], top + 30)]
    yield tag("polygon", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in area), class_="open-fields")
    yield tag("path", d=f"M{frame.left} {top + 30}H{frame.right}", class_="lane")
    yield tag("text", f"{max(counts)} open", x=frame.left - 8, y=top + 10, class_="axis-text", text_anchor="end")
    yield tag("text", f"{counted(counts[-1], 'field')} open", x=frame.right + 12, y=top + 32, class_="end")


def _stairs(xs: Sequence[float], ys: Sequence[float]) -> list[tuple[float, float]]:
    """A number holds until the next query; points on one level are left out."""
    points = [(xs[0], ys[0])]
    for (_, before), (x, y) in pairwise(zip(xs, ys, strict=True)):
        if y != before:
            points += [(x, before), (x, y)]
    return [*points, (xs[-1], ys[-1])]
