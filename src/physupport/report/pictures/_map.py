"""Pictures of elements: those that are left, on their axis or in a plane, and the explanations behind each."""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, groupby, pairwise
from typing import Any

from ...banks import JOINT
from .._words import Entry, counted, grouped, has_places, in_words, kind_of, label_words, listed, shortened
from ._model import (
    COLUMN,
    COMPACT,
    WIDE,
    Axis,
    Key,
    Mark,
    Panel,
    Picture,
    Room,
    Shares,
    Tick,
    counting,
    level,
    numbered,
    padded,
    words,
)

STATES = ("excluded", "not asked", "kept")  # the last lies on top
_ROOMY = 16  # fields that get high lanes; more would not fit on a page
_MOST_NAMED = 24  # fields whose names a plane has room for
_MOST_PLANES = 3  # of two coordinates each
_MOST_SPOKES = 24  # elements of a field that lines hold together
_MOST_SPARSE = 60  # elements of a field with signs of full size
# of a name below its sign, and the pixels of one
_MOST_LETTERS = 16
_LETTER = 5.6
_MOST_LISTED = 8  # names that fit below an axis on paper
_SIDES = 68.0  # left and right of a plane
_HIGHEST = {WIDE: 480.0, COMPACT: 420.0}
_TOP = 26.0
_BOTTOM = 44.0
# Beside the lanes: margins, the height of a lane, and where names, labels and `nothing` stand, in shares of the axes.
_LANES = {
    # In line with the list of fields below the picture.
    WIDE: {"left": 384, "right": 108, "step": 38, "dense": 27, "name": -0.709, "label": -0.378, "nothing": 1.126},
    COMPACT: {"left": 8, "right": 70, "step": 60, "dense": 43, "name": -0.028, "label": 0.493, "nothing": 1.139},
    COLUMN: {"left": 0, "right": 0, "step": 21.6, "dense": 10.8, "label": 1.18, "nothing": 1.09},
}
_LIFTS = {COMPACT: 22.0}  # of names and labels above the lane


def map_pictures(fields: Sequence[Entry], room: Room) -> list[list[Picture]]:
    """Pictures for each set of coordinates, one for every two of them; fields without elements are not drawn."""
    groups: dict[tuple[str, ...], list[Entry]] = {}
    for entry in fields:
        if entry["elements"]:
            groups.setdefault(tuple(entry["coordinate_names"]), []).append(entry)
    return [
        [map_picture(group, room, pair) for pair in [*combinations(range(len(names)), 2)][:_MOST_PLANES] or [(0, 0)]]
        for names, group in groups.items()
    ]


def map_picture(fields: Sequence[Entry], room: Room, pair: tuple[int, int] = (0, 1)) -> Picture:
    """Lanes of fields with elements and the same coordinate, or the plane of two of their coordinates."""
    names = fields[0]["coordinate_names"]
    is_plane = len(names) > 1
    size, margins, panel = _plane(fields, names, room, pair) if is_plane else _lanes(fields, names, room)
    note = f" Drawn are the coordinates {names[pair[0]]} and {names[pair[1]]}." if len(names) > 2 else ""
    keys = [Key(sign_of(state), state, kind="points") for state in reversed(STATES)]
    keys += [Key("plug-in", "best fit", kind="points")] if any(entry["plug_in"] for entry in fields) else []
    title = f"Elements that are left in {counted(len(fields), 'field')}"
    return Picture(title, _description(fields) + note, size, margins, panel, keys=keys, is_equal=is_plane)


def nothing_there(absent: Entry) -> dict[str, Any]:
    """The counts of `nothing there` in the form of an element."""
    return {"id": "nothing there", "coordinates": [], "is_nothing": True, **absent}


def sign_of(state: str) -> str:
    """The sign of an element in this state."""
    return state.replace(" ", "-")


Point = tuple[str, float, float, str]  # state or plug-in, x, y, and the hint


def _points(entry: Entry, placed: Iterable[tuple[float, float, Entry]], prefix: str = "") -> Iterator[Point]:
    """The sign of every element at its place, and a triangle where a best fit would say that it is there."""
    plug_in = entry["plug_in"] or {"label": "", "cell": ()}
    said = f"A best fit would say: {plug_in['label']} {listed(plug_in['cell'])}".rstrip()
    for x, y, element in placed:
        counts = f"explanations not rejected {element['n_kept']}, not tested {element['n_not_asked']}"
        yield element["state"], x, y, f"{prefix}{element['id']}: {element['state']}; {counts}"
        if plug_in["label"] == "ABSENT" if "is_nothing" in element else element["id"] in plug_in["cell"]:
            yield "plug-in", x, y, said


def _signs(points: Iterable[Point], shares: Shares = "") -> Iterator[Mark]:
    """One set of signs a state."""
    every = [*points]
    for sign in (*STATES, "plug-in"):
        chosen = [point for point in every if point[0] == sign]
        if chosen:
            _, xs, ys, titles = zip(*chosen, strict=True)
            yield Mark("points", sign_of(sign), xs, ys, titles, shares, depth=4)


def _lanes(fields: Sequence[Entry], names: Sequence[str], room: Room) -> tuple[Any, Any, Panel]:
    """A lane for each field above a common axis, with a column for `nothing there`."""
    columns = _LANES[room]
    n = len(fields)
    is_dense = n > _ROOMY
    step = columns["dense" if is_dense else "step"]
    placed = [_lane(entry) for entry in fields]
    limits = padded([x for lane in placed for x, _ in lane])
    horizontal = (
        numbered(*limits, room.n_ticks, name=shortened(names[0], 40), has_grid=True)
        if names
        else Axis(*limits, _listed(placed, room))
    )
    marks = [level(-i, "lane") for i in range(n)]
    for i, lane in enumerate(placed if names else ()):  # between names alone there is nothing
        marks += [Mark("line", "cell", (run[0], run[-1]), (-i, -i), depth=1) for run in _runs(lane) if len(run) > 1]
    marks += _signs(
        point for i, lane in enumerate(placed) for point in _points(fields[i], [(x, -i, part) for x, part in lane])
    )
    marks += _nothing(fields, columns["nothing"])
    if not (room.is_paper or is_dense):
        scale = (room.width - columns["left"] - columns["right"]) / (limits[1] - limits[0])
        marks += [mark for i, lane in enumerate(placed) for mark in _named(lane, -i, scale, not names)]
    lift = _LIFTS.get(room, 0.0)
    ticks = [Tick(-i, shortened(entry["field"], room.letters), entry["field"]) for i, entry in enumerate(fields)]
    if not room.is_paper:  # names stand in a column of their own
        marks += [words("name", columns["name"], tick.value, tick.text, tick.title, shares="x", lift=lift)
                  for tick in ticks]  # fmt: skip
    at = columns["label"] if not room.is_paper or any(entry["absent"] for entry in fields) else 1.04
    marks += [
        Mark("label", kind_of(entry["label"]), (at,), (-i,), (_label(entry, room),), "x", lift=lift)
        for i, entry in enumerate(fields)
    ]
    down = lift / 2 / step
    vertical = Axis(0.5 - n + down, 0.5 + down, ticks if room.is_paper else (), is_named=True)
    margins = columns["left"], columns["right"], _TOP, _BOTTOM
    return (room.width, _TOP + _BOTTOM + step * n), margins, Panel(horizontal, vertical, marks, is_dense)


def _label(entry: Entry, room: Room) -> str:
    """The label in plain words; on paper, or where there are none, its code."""
    said = in_words(entry["label"], entry.get("numbers", {}), has_places=has_places(entry))
    return entry["label"] if room.is_paper else said or entry["label"]


def _listed(placed: Sequence[Sequence[tuple[float, Any]]], room: Room) -> list[Tick]:
    """Elements that are names alone stand in their order, of which numbers say nothing; on paper, few have their names.

    On the page they stand below the signs.
    """
    is_named = room.is_paper and len(placed) == 1 and len(placed[0]) <= _MOST_LISTED
    return [Tick(x, shortened(element["id"], 7), element["id"]) for x, element in placed[0]] if is_named else []


def _lane(entry: Entry) -> list[tuple[float, Any]]:
    """First coordinate, or the running number of elements that have none, and the element."""
    return [
        (float(element["coordinates"][0]) if element["coordinates"] else float(i), element)
        for i, element in enumerate(entry["elements"])
    ]


def _runs(lane: Sequence[tuple[float, Any]]) -> Iterator[list[float]]:
    """Places of what is left, each run of them with nothing excluded in between."""
    ordered = sorted(lane, key=lambda placed: placed[0])
    for is_excluded, run in groupby(ordered, key=lambda placed: placed[1]["state"] == "excluded"):
        if not is_excluded:
            yield [x for x, _ in run]


def _named(lane: Sequence[tuple[float, Any]], y: float, scale: float, has_all: bool) -> list[Mark]:
    """Names below the signs of what is left, if they fit beside each other; has_all: of what is excluded, too.

    scale: pixels a unit.
    """
    named = list[tuple[float, float]]()
    texts = list[Mark]()
    for x, element in sorted(lane, key=lambda placed: placed[1]["state"] == "excluded"):
        text = shortened(element["id"], _MOST_LETTERS)
        is_left = element["state"] != "excluded"
        half = 0.5 * _LETTER * (len(text) + 2) / scale
        fits = all(abs(x - at) >= half + room for at, room in named)
        if is_left and not fits:  # some names would pass for all
            return []
        if fits and (is_left or has_all):
            named.append((x, half))
            texts.append(words("axis-text", x, y, text, anchor="middle", lift=-12.0))
    return texts


NEVER_ABSENT = "every explanation considered has something there"


def _nothing(fields: Sequence[Entry], x: float) -> list[Mark]:
    """A column beside the axes: whether the data allow that nothing is there."""
    absent = [(-i, entry) for i, entry in enumerate(fields) if entry["absent"] is not None]
    heading = [words("axis-text", x, 1.0, "nothing", anchor="middle", shares="xy", lift=6.0)] if absent else []
    points = (point for y, entry in absent for point in _points(entry, [(x, y, nothing_there(entry["absent"]))]))
    others = [-i for i, entry in enumerate(fields) if entry["absent"] is None] if absent else []
    dashes = [words("axis-text", x, y, "–", NEVER_ABSENT, anchor="middle", shares="x") for y in others]
    return [*heading, *dashes, *_signs(points, "x")]


def _plane(fields: Sequence[Entry], names: Sequence[str], room: Room, pair: tuple[int, int]) -> tuple[Any, Any, Panel]:
    """Two coordinates, one unit as long on both axes; fields are named."""
    points = [[[element["coordinates"][k] for k in pair] for element in entry["elements"]] for entry in fields]
    head = _head(fields[0].get("outline"), names, pair)
    size = 1.12 * (fields[0].get("outline") or 0.0)  # with room for the nose, so that all planes are alike
    corners = [(-size, -size), (size, size)] if head else []
    everything = [*(point for group in points for point in group), *corners]
    limits = [padded([point[k] for point in everything], 0.05 if head else 0.12) for k in (0, 1)]
    width = room.width / min(len(names), 3) if len(names) > 2 and room is WIDE else room.width
    limits, height = _equal(limits, width - _SIDES, _HIGHEST.get(room, 160.0))
    counts = (max(5, int(room.n_ticks * width / room.width)), 6)
    horizontal, vertical = (
        numbered(*limits[k], counts[k], name=shortened(names[pair[k]], 40), has_grid=True) for k in (0, 1)
    )
    marks = [Mark("line", "head", [x for x, _ in head], [y for _, y in head], depth=1)] if head else []
    if len(fields) > 1:
        marks += [_spokes(group) for group in points if len(group) <= _MOST_SPOKES]
    marks += [_links(entry, group) for entry, group in zip(fields, points, strict=True) if _sets_of(entry)]
    marks += _signs(
        point
        for entry in fields
        for point in _points(
            entry,
            [(*(element["coordinates"][k] for k in pair), element) for element in entry["elements"]],
            f"{entry['field']}, ",
        )
    )
    marks += _plane_names(fields, points) if len(fields) <= _MOST_NAMED else []
    is_dense = max(map(len, points)) > _MOST_SPARSE
    return (width, height + 78.0), (52.0, _SIDES - 52.0, 26.0, 52.0), Panel(horizontal, vertical, marks, is_dense)


def _plane_names(fields: Sequence[Entry], points: Sequence[Sequence[Sequence[float]]]) -> Iterator[Mark]:
    """Name and label of each field where it is left, or of the only one in the corner, where they cover nothing."""
    for entry, group in zip(fields, points, strict=True):
        text = f"{shortened(entry['field'], 14)} {label_words(entry['label'])}".strip()
        role = kind_of(entry["label"])
        if len(fields) == 1:
            yield words(f"halo {role}", 0.02, 0.96, text, shares="xy")
            continue
        elements = zip(group, entry["elements"], strict=True)
        left_over = [point for point, element in elements if element["state"] != "excluded"]
        x, y = max(left_over or group, key=lambda point: point[1])
        yield words(f"halo {role}", x, y, text, anchor="middle", lift=18.0)


def _head(radius: float | None, names: Sequence[str], pair: tuple[int, int]) -> list[tuple[float, float]]:
    """The outline of a head around the origin, with a nose where the second coordinate, to the front, is drawn."""
    if radius is None or len(names) != 3:
        return []
    front = 0.5 * math.pi if pair[1] == 1 else 0.0 if pair[0] == 1 else None
    turns = [2.0 * math.pi * k / 96 for k in range(97)]
    lengths = [radius * (1.12 if front is not None and abs(turn - front) % math.tau < 0.05 else 1.0) for turn in turns]
    return [(r * math.cos(turn), r * math.sin(turn)) for r, turn in zip(lengths, turns, strict=True)]


def _equal(
    limits: Sequence[tuple[float, float]], width: float, highest: float
) -> tuple[list[tuple[float, float]], float]:
    """Limits of both axes and the height, so that one unit is as long on both: the axis that has room is widened."""
    (left, right), (low, high) = limits
    across = right - left
    up = high - low
    height = min(max(width * up / across, 120.0), highest)
    unit = max(across / width, up / height)
    more = (unit * width - across) / 2, (unit * height - up) / 2
    return [(left - more[0], right + more[0]), (low - more[1], high + more[1])], height


def _spokes(points: Sequence[Sequence[float]]) -> Mark:
    """Lines from the middle show which elements belong together."""
    middle = [sum(values) / len(points) for values in zip(*points, strict=True)]
    xs, ys = ([value for point in points for value in (middle[k], point[k], math.nan)] for k in (0, 1))
    return Mark("line", "lane", xs, ys, depth=1)


def _sets_of(entry: Entry) -> list[tuple[str, list[str]]]:
    """The sets of several elements that are left of a field, each with its state; empty where it has single ones."""
    left = entry.get("set") or {"kept": (), "not_asked": ()}
    named = [("kept", part["name"]) for part in left["kept"]] + [("not asked", name) for name in left["not_asked"]]
    sets = [(state, name.split(JOINT)) for state, name in named if name is not None]
    return sets if any(len(names) > 1 for _, names in sets) else []


def _links(entry: Entry, points: Sequence[Sequence[float]]) -> Mark:
    """Lines between the elements of each set that is left, which belong together."""
    known = {element["id"]: point for element, point in zip(entry["elements"], points, strict=True)}
    ends = [pair for _, names in _sets_of(entry)[:_MOST_LINKED] for pair in pairwise(names)]
    known |= dict.fromkeys({name for pair in ends for name in pair} - {*known}, (math.nan, math.nan))
    xs, ys = ([value for a, b in ends for value in (known[a][k], known[b][k], math.nan)] for k in (0, 1))
    return Mark("line", "open-line", xs, ys, depth=2)


def pairs_picture(entry: Entry, room: Room) -> Picture | None:
    """Pairs that are left of a field on a line: a sign at the places of both.  None unless there are several pairs."""
    sets = _sets_of(entry)
    if len(entry["coordinate_names"]) != 1 or len(sets) < 2 or any(len(names) != 2 for _, names in sets):
        return None
    places = {element["id"]: float(element["coordinates"][0]) for element in entry["elements"]}
    marks = []
    every = []
    for sign in ("not asked", "kept"):
        chosen = [names for state, names in sets if state == sign and {*names} <= {*places}]
        ends = [sorted(places[name] for name in names) for names in chosen]
        every += ends
        titles = [f"{' and '.join(names)}: {sign}" for names in chosen]
        if ends:
            xs, ys = zip(*ends, strict=True)
            marks.append(Mark("points", sign_of(sign), xs, ys, titles, depth=4))
    (name,) = entry["coordinate_names"]
    low, high = padded([value for pair in every for value in pair], 0.12)
    marks.append(Mark("line", "lane", (low, high), (low, high), depth=1))
    width = min(room.width, 460.0)
    across, up = (numbered(low, high, 5, name=f"{which}, {shortened(name, 30)}", has_grid=True) for which in _PAIRED)
    said = "; ".join(f"{' and '.join(names)}" for _, names in sets[:12])
    title = f"Pairs that are left in {entry['field']}"
    size = width, width - 20.0
    keys = [Key("kept", "a pair that is kept", kind="points")]
    panel = Panel(across, up, marks, is_dense=len(every) > _MOST_SPARSE)
    return Picture(title, f"{said}.", size, (58.0, 18.0, 26.0, 52.0), panel, keys=keys, is_equal=True)


_PAIRED = ("the smaller", "the larger")
_MOST_LINKED = 200  # sets between whose elements lines are drawn


def _description(fields: Sequence[Entry]) -> str:
    most = 12
    said = "; ".join(f"{entry['field']}: {entry['label']}, {_kept(entry)}" for entry in fields[:most])
    n_more = len(fields) - most
    return f"{said}." + (f" And {counted(n_more, 'field')} more, which the list below holds." if n_more > 0 else "")


def _kept(entry: Entry) -> str:
    named = {state: [part["id"] for part in entry["elements"] if part["state"] == state] for state in STATES[1:]}
    told = [f"{state} {listed(names, 6)}" for state, names in reversed(named.items()) if names]
    return ", ".join(told) or "every element rejected"


_MOST = 60  # elements that fit on a page
_SIGN = -0.035  # where the sign of an element stands, in widths of the axes


def elements_picture(entry: Entry, room: Room) -> Picture:
    """Explanations behind each element of a field: those kept, and beyond them those not tested."""
    parts, n_left_out = _shown(entry)
    lanes = range(0, -len(parts), -1)
    kept = [part["n_kept"] for part in parts]
    both = [part["n_kept"] + part["n_not_asked"] for part in parts]
    marks = [
        Mark("bars", "bar-not-asked", both, lanes, name="not asked"),
        Mark("bars", "bar-kept", kept, lanes, name="kept"),
    ]
    for lane, part in zip(lanes, parts, strict=True):
        text = f"{grouped(part['n_kept'])} + {grouped(part['n_not_asked'])}"
        marks.append(words("count", 1.02, lane, text, shares="x"))
    marks += _signs(_points(entry, [(_SIGN, lane, part) for lane, part in zip(lanes, parts, strict=True)]), "x")
    ticks = [Tick(lane, _name(part), part["id"]) for lane, part in zip(lanes, parts, strict=True)]
    horizontal = counting(1.02 * max(1, *both), room.n_ticks, name="explanations, not rejected + not tested")
    panel = Panel(horizontal, Axis(0.5 - len(parts), 0.6, ticks, is_named=True), marks)
    keys = [Key("bar-not-asked", "not asked", kind="bars"), Key("bar-kept", "kept", kind="bars")]
    keys += [Key("plug-in", "best fit", kind="points")] if entry["plug_in"] else []
    heading = ": ".join(filter(None, (shortened(entry["field"]), label_words(entry["label"]))))
    description = f"Elements {listed([part['id'] for part in parts])}."
    title = f"Explanations behind the elements of {entry['field']}"
    size = room.width, 90.0 + 12.25 * len(parts)
    return Picture(title, description, size, (150.0, 70.0, 20.0, 50.0), panel, keys=keys,
                   heading=heading, notes=[*_notes(entry, n_left_out)])  # fmt: skip


def _shown(entry: Entry) -> tuple[list[Entry], int]:
    """Elements, of very many those that are not excluded first, and nothing as the last; and how many are left out."""
    elements: list[Entry] = [*entry["elements"]]
    if len(elements) > _MOST:
        elements = sorted(elements, key=lambda element: element["state"] == "excluded")[:_MOST]
    nothing = [] if entry["absent"] is None else [nothing_there(entry["absent"])]
    return [*elements, *nothing], len(entry["elements"]) - len(elements)


def _notes(entry: Entry, n_left_out: int) -> Iterator[str]:
    if entry["coordinate_names"]:
        yield f"in brackets: {shortened(', '.join(entry['coordinate_names']), 30)}"
    if n_left_out:
        yield f"{n_left_out} more elements not drawn"


def _name(part: Entry) -> str:
    place = ", ".join(f"{x:.3g}" for x in part["coordinates"])
    return f"{shortened(part['id'], 16)} ({place})" if place else shortened(part["id"], 16)
