"""The spectrum over directions that arrays are read by, and below it every set of directions that the data leave."""

from .._words import Entry, counted, listed, number
from ._model import COLUMN, WIDE, Axis, Key, Mark, Panel, Picture, Room, Tick, level, numbered, padded

_DEPTH = 30.0  # dB below the largest value that are drawn
_MOST_LANES = {WIDE: 12, COLUMN: 8}
_LANE = 3.0  # dB that a lane is high


def spectrum_picture(spectrum: Entry, room: Room) -> Picture:
    """Beamformer and MUSIC over the directions, in dB, and the kept sets below.

    Single directions lie in one lane.  Sets of several have a lane each, so that two directions are never drawn as what
    lies between them.
    """
    places = spectrum["places"]
    lanes, n_more = _lanes(spectrum["sets"], spectrum["n_sets"], _MOST_LANES.get(room, 6))
    unit = spectrum["unit"]
    horizontal = numbered(*padded(places, 0.02), room.n_ticks, name=unit, has_grid=True)
    low = -_DEPTH - _LANE * (len(lanes) + 1)
    ticks = [Tick(step, number(step)) for step in (0.0, -10.0, -20.0, -30.0)]
    vertical = Axis(low, 1.5, ticks, "dB", has_grid=True)
    marks = [_curve("measured", places, spectrum["beam"], "beamformer")]
    keys = [Key("measured", "beamformer")]
    if spectrum["music"] is not None:
        name = f"MUSIC, {counted(spectrum['n_sources'], 'source')}"
        marks.append(_curve("fit", places, spectrum["music"], name, dash=1))
        keys.append(Key("fit", name, dash=1))
    for i, lane in enumerate(lanes):
        y = -_DEPTH - _LANE * (i + 1)
        marks.append(level(y, "lane"))
        told = [f"kept: {_said(members, unit)}" for members in lane for _ in members]
        xs = [place for members in lane for place in members]
        marks.append(Mark("points", "kept", xs, [y] * len(xs), told, depth=4))
    keys.append(Key("kept", "kept", kind="points"))
    notes = [f"{n_more} more kept sets not drawn"] if n_more else []
    several = spectrum["n_sources"] > 1
    what = "kept sets, one a lane" if several else "kept directions"
    description = f"Spectrum over {len(places)} directions in dB; below it {what}: {_kept(spectrum)}."
    height = (150.0 if room.is_paper else 240.0) + 12.0 * len(lanes)
    margins = (64.0, 30.0, 8.0, 46.0) if room is WIDE else (50.0, 12.0, 8.0, 46.0)
    is_dense = max((len(lane) for lane in lanes), default=0) > 60
    panel = Panel(horizontal, vertical, marks, is_dense=is_dense)
    return Picture(
        "Spectrum over directions", description, (room.width, height), margins, panel, keys=keys, notes=notes
    )


def _lanes(sets: list[list[float]], n_sets: int, most: int) -> tuple[list[list[list[float]]], int]:
    """Lanes of sets, and how many sets are left out: all single directions in the first, the others in one each."""
    singles = [members for members in sets if len(members) == 1]
    others = [members for members in sets if len(members) > 1]
    lanes = [singles] if singles else []
    shown = others[: most - len(lanes)]
    return [*lanes, *([members] for members in shown)], n_sets - len(singles) - len(shown)


def _curve(role: str, places: list[float], values: list[float], name: str, dash: int | None = None) -> Mark:
    """A curve, cut off where it is lower than what is drawn."""
    return Mark("line", role, places, [max(value, -_DEPTH) for value in values], name=name, dash=dash, depth=3)


def _said(members: list[float], unit: str) -> str:
    return f"{' and '.join(number(place) for place in members) or 'nothing there'} {unit}".rstrip()


def _kept(spectrum: Entry) -> str:
    return listed([_said(members, spectrum["unit"]) for members in spectrum["sets"]], 6) or "none"
