"""A learnt dictionary on a line: its atoms as points, and the places that calibration and signal leave."""

from collections.abc import Sequence

from .._words import Entry, listed, number
from ._model import WIDE, Axis, Key, Mark, Panel, Picture, Room, Tick, level, numbered, padded

_LANES = ("learnt atoms, read as points", "calibration leaves", "signal leaves")
_SHORT = ("learnt", "calibration", "signal")
_CERTAIN = ("FINE", "GROUP")
_THERE = "run certain-run"
_OPEN = "run"


def is_on_line(calibration: Entry | None) -> bool:
    """True of a calibration whose library has one coordinate."""
    return calibration is not None and all(len(atom["at"]) == 1 for atom in calibration["read_as"])


def learnt_picture(calibration: Entry, fields: Sequence[Entry], room: Room) -> Picture:
    """Three lanes above the one coordinate of the library.

    calibration: facts of the gate.  fields: of the report; their cells are what the signal leaves.
    """
    runs = calibration["left"]
    atoms = calibration["read_as"]
    left = {cell["name"]: (cell["low"][0], cell["high"][0]) for run in runs for cell in run["cells"]}
    marks = [level(-lane, "lane") for lane in range(len(_LANES))]
    texts = [f"atom {atom['atom']}: {atom['place']}, {atom['degrees']:.2g} degrees away" for atom in atoms]
    places = [atom["at"][0] for atom in atoms]
    marks.append(Mark("points", "plug-in", places, [0.0] * len(places), texts, depth=4))
    marks += [_bar(_OPEN, low, high, -1.0) for low, high in left.values()]
    for field in fields:
        role = _THERE if field["label"] in _CERTAIN else _OPEN
        marks += [_bar(role, *left[name], -2.0) for name in field["cell"] if name in left]
    ends = [*places, *(end for run in runs for end in (run["low"][0], run["high"][0]))]
    horizontal = numbered(*padded(ends), room.n_ticks, name=calibration["unit"], has_grid=True)
    names = _LANES if room is WIDE else _SHORT
    ticks = [Tick(-lane, short, long) for lane, (short, long) in enumerate(zip(names, _LANES, strict=True))]
    keys = [Key("plug-in", "a learnt atom as a point", kind="points"), Key(_OPEN, "possible")]
    keys += [Key(_THERE, "certainly in one of these")] if any(mark.role == _THERE for mark in marks) else []
    found = [field["field"] for field in fields if field["label"] in _CERTAIN]
    said = listed([f"{number(run['low'][0])} to {number(run['high'][0])}" for run in runs]) if runs else "no place"
    description = f"Calibration leaves {said}; the signal certainly has {listed(found) if found else 'none of them'}."
    margins = (190.0, 30.0, 8.0, 46.0) if room is WIDE else (74.0, 14.0, 8.0, 46.0)
    panel = Panel(horizontal, Axis(-2.6, 0.6, ticks, is_named=True), marks)
    title = "The learnt atoms, and what the data leave of them"
    return Picture(title, description, (room.width, 160.0), margins, panel, keys=keys)


def _bar(role: str, low: float, high: float, lane: float) -> Mark:
    """The places from low to high; one place alone is a disc."""
    if low == high:
        return Mark("points", "kept" if role == _THERE else "not-asked", (low,), (lane,), (number(low),), depth=3)
    return Mark("line", role, (low, high), (lane, lane), depth=3)
