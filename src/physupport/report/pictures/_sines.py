"""How far measured sources lie from their responses."""

from collections.abc import Sequence

from ._model import Axis, Line, Mark, Panel, Picture, Points, Text, Tick
from ._rooms import COLUMN
from ._words import shortened

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
