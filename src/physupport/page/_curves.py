"""Evidence over the checkpoints, and the brackets over the queries."""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from ._svg import Scale, Svg, picture, polyline, spread_apart, tag
from ._words import Entry, counted, listed, number, shortened

_WIDTH, _LEFT, _RIGHT = 1000.0, 112.0, 790.0
MOST_CURVES = 24  # labels beside the curves that can still be told apart
_MOST_TICKS = 12

ROLES = {"proposal": "proposal", "witness": "witness", "nearest excluded": "excluded-curve"}


def evidence_picture(evidence: Entry, curves: Sequence[Entry]) -> Svg:
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
    horizontal = Scale(0.0, float(max(1, len(evidence["steps"]) - 1)), _LEFT + 20, _RIGHT - 12)
    line = vertical(threshold)
    parts = [*_threshold(line, threshold, top), *_levels(vertical, line)]
    parts += _steps(evidence, horizontal, bottom)
    wanted = [vertical(_last(curve)) for curve in curves]
    for curve, y in zip(curves, spread_apart(wanted, 15.0, top + 6, bottom - 10), strict=True):
        parts += _curve(curve, horizontal, vertical, y)
    parts.append(tag("text", "log evidence", x=_LEFT, y=10, class_="axis-name"))
    title = "Log evidence against explanations over the checkpoints"
    size = _WIDTH, bottom + 24 + 16 * len(evidence["streams"])
    return picture("evidence", size, title, _evidence_words(curves, threshold), parts)


def _levels(vertical: Scale, taken: float = -math.inf) -> Iterator[Svg]:
    """Lines at round values, but for such as would run into the text at `taken`."""
    for value in vertical.ticks(6):
        y = vertical(value)
        if abs(y - taken) < 12:
            continue
        yield tag("path", d=f"M{_LEFT} {y:.1f}H{_RIGHT}", class_="grid")
        yield tag("text", number(value), x=_LEFT - 8, y=y + 4, class_="axis-text", text_anchor="end")


def _threshold(y: float, threshold: float, top: float) -> Iterator[Svg]:
    yield tag("rect", x=_LEFT, y=top, width=_RIGHT - _LEFT, height=max(0.0, y - top), class_="rejected-zone")
    yield tag("path", d=f"M{_LEFT} {y:.1f}H{_RIGHT}", class_="threshold")
    text = f"threshold {number(threshold)}"
    yield tag("text", text, x=_LEFT - 8, y=y + 4, class_="axis-text threshold-text", text_anchor="end")


def _steps(evidence: Entry, horizontal: Scale, bottom: float) -> Iterator[Svg]:
    steps = evidence["steps"]
    every = -(-len(steps) // _MOST_TICKS)
    for j, stream in enumerate(evidence["streams"]):
        y = bottom + 18 + 16 * j
        yield tag("text", f"{shortened(stream, 14)} rows", x=_LEFT - 8, y=y, class_="axis-name", text_anchor="end")
        for i, step in enumerate(steps):
            if i % every == 0 or i == len(steps) - 1:
                yield tag("text", str(step[j]), x=horizontal(i), y=y, class_="axis-text", text_anchor="middle")


def _curve(curve: Entry, horizontal: Scale, vertical: Scale, label_y: float) -> Iterator[Svg]:
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
        yield tag("path", d=f"M{x + 4:.1f} {y:.1f}L{_RIGHT + 8} {label_y:.1f}", class_="leader")
    yield tag("text", tag("title", text), shortened(text, 34), x=_RIGHT + 12, y=label_y + 4, class_=f"end {role}")


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


def brackets_picture(brackets: Entry) -> Svg:
    """Numbers of witnessed and of possible explanations after each query."""
    queries, bottom, top = brackets["queries"], 196.0, 16.0
    horizontal = Scale(0.0, float(max(1, queries[-1])), _LEFT, _RIGHT)
    vertical = Scale(0.0, float(max(1, *brackets["possible"])), bottom, top)
    lower, upper = ([vertical(float(v)) for v in brackets[name]] for name in ("witnessed", "possible"))
    xs = [horizontal(float(q)) for q in queries]
    parts = [*_levels(vertical)]
    for value in horizontal.ticks(8):
        x = horizontal(value)
        parts.append(tag("text", number(value, 7), x=x, y=bottom + 18, class_="axis-text", text_anchor="middle"))
    name = "explanations asked about"
    parts.append(tag("text", name, x=(_LEFT + _RIGHT) / 2, y=bottom + 38, class_="axis-name", text_anchor="middle"))
    parts += _open_fields(brackets["open"], xs, bottom + 56)
    band = [*_stairs(xs, upper), *reversed(_stairs(xs, lower))]
    parts.append(tag("polygon", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in band), class_="band"))
    ends = spread_apart([upper[-1], lower[-1]], 15.0, top, bottom)
    for key, ys, end in (("possible", upper, ends[0]), ("witnessed", lower, ends[1])):
        role = "plain" if key == "possible" else "witness"
        parts.append(polyline(_stairs(xs, ys), f"curve {role}"))
        text = f"{brackets[key][-1]:,} {key}".replace(",", " ")
        parts.append(tag("text", text, x=_RIGHT + 12, y=end + 4, class_=f"end {role}"))
    first, last = brackets["possible"][0], brackets["possible"][-1]
    description = (
        f"After {counted(queries[-1], 'question')}, {brackets['witnessed'][-1]} are witnessed, and of {first} possible "
        f"{last} are left; {counted(brackets['open'][-1], 'field')} open."
    )
    return picture("brackets", (_WIDTH, bottom + 92), "Witnessed and possible explanations", description, parts)


def _open_fields(counts: Sequence[int], xs: Sequence[float], top: float) -> Iterator[Svg]:
    """A low step chart below the axis: fields that are left without a certificate."""
    vertical = Scale(0.0, float(max(1, *counts)), top + 30, top)
    stairs = _stairs(xs, [vertical(float(count)) for count in counts])
    area = [(xs[0], top + 30), *stairs, (xs[-1], top + 30)]
    yield tag("polygon", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in area), class_="open-fields")
    yield tag("path", d=f"M{_LEFT} {top + 30}H{_RIGHT}", class_="lane")
    yield tag("text", f"{max(counts)} open", x=_LEFT - 8, y=top + 10, class_="axis-text", text_anchor="end")
    yield tag("text", f"{counted(counts[-1], 'field')} open", x=_RIGHT + 12, y=top + 32, class_="end")


def _stairs(xs: Sequence[float], ys: Sequence[float]) -> list[tuple[float, float]]:
    """A number holds until the next query; points on one level are left out."""
    points = [(xs[0], ys[0])]
    for (_, before), (x, y) in pairwise(zip(xs, ys, strict=True)):
        if y != before:
            points += [(x, before), (x, y)]
    return [*points, (xs[-1], ys[-1])]
