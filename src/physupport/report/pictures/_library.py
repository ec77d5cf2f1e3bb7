"""The response library: each region's responses, and how alike all responses are."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from .._words import Entry, counted, listed, setting_words, shortened
from ._model import COLUMN, Area, Axis, Cells, Key, Line, Mark, Panel, Picture, Room, Rule, Text, Tick, numbered

_OTHER = "of no question"  # elements of regions that no field is about
_DEPTHS = {"kept": 4, "not asked": 3, _OTHER: 3, "excluded": 2}
_DASHES = 6  # responses that dashes can tell apart
# elements whose names fit beside a matrix
_MOST_NAMED = 47
_MOST_NAMED_ON_PAPER = 30
_MOST_RUNS = 20  # regions whose names fit there
_MOST_NUMBERED = 8  # elements whose coherence is written into the cells
_MOST_SMALL = 16  # names beside a matrix in letters of the usual size


def members_of(library: Entry) -> dict[str, list[int]]:
    """Region -> the numbers of its elements."""
    members: dict[str, list[int]] = {}
    for i, region in enumerate(library["regions"]):
        members.setdefault(region, []).append(i)
    return members


def states_of(fields: Sequence[Entry]) -> dict[tuple[str, str], str]:
    """(region, id) -> kept, not asked or excluded; of others nothing is known."""
    return {(entry["field"], part["id"]): part["state"] for entry in fields for part in entry["elements"]}


def responses_picture(
    library: Entry, fields: Sequence[Entry], indices: Sequence[int], room: Room, among: Sequence[int]
) -> Picture:
    """Responses of one region over the channels, on the scale of those among which it is drawn."""
    names = [library["ids"][i] for i in indices]
    known = states_of(fields)
    states = [known.get((library["regions"][i], library["ids"][i]), _OTHER) for i in indices]
    low, high = _range(library, among)
    pad = 0.04 * (high - low)
    name = _noun(library) if room.is_paper else ""
    vertical = numbered(low - pad, high + pad, room.n_ticks, name=name)
    region = library["regions"][indices[0]]
    envelope = _envelope(library, region, room)
    if envelope is not None:  # what is excluded is somewhere within
        indices, states = _left(indices, states)
        names = [library["ids"][i] for i in indices]
    marks: list[Mark] = [Rule(0.0, "grid"), *([] if envelope is None else [envelope])]
    marks += _lines(library, indices, states, room)
    keys = [
        Key(_role(state), shortened(name, 16), state, k % _DASHES)
        for k, (name, state) in enumerate(zip(names, states, strict=True))
    ]
    noun = "real part of the response" if library["is_complex"] else "response"
    title = f"{noun.capitalize()} of {counted(len(indices), 'element')} of {region} over the channels"
    title += "" if envelope is None else ", and the envelope of all"
    # What is not excluded is named first on paper, where few keys fit.
    keys = sorted(keys, key=lambda key: key.note == "excluded")[:12] if room.is_paper else keys
    size = room.width, 158.0 + 6.0 * len(keys) if room.is_paper else 118.0
    panel = Panel(_channel_axis(library, room), vertical, marks)
    notes = _notes(library) if room.is_paper else ()
    return Picture(title, f"Elements {listed(names)}.", size, (28, 4, 6, 20), panel, keys=keys, notes=notes)


def lanes_picture(library: Entry, fields: Sequence[Entry]) -> Picture:
    """All regions in a column: a lane for each, with its name at zero and one scale for all."""
    members = members_of(library)
    known = states_of(fields)
    low, high = _range(library, range(len(library["ids"])))
    step = 1.12 * (high - low)
    n = len(members)
    marks: list[Mark] = []
    used = dict.fromkeys(_DEPTHS, False)
    for lane, (name, indices) in enumerate(members.items()):
        states = [known.get((library["regions"][i], library["ids"][i]), _OTHER) for i in indices]
        used |= dict.fromkeys(states, True)
        marks.append(Rule(-lane * step, "lane"))
        if (envelope := _envelope(library, name, COLUMN, -lane * step)) is not None:
            marks.append(envelope)
            indices, states = _left(indices, states)
        marks += _lines(library, indices, states, COLUMN, -lane * step)
    ticks = [Tick(-lane * step, shortened(name, COLUMN.letters), name) for lane, name in enumerate(members)]
    vertical = Axis(-(n - 1) * step + low - 0.06 * step, high + 0.06 * step, ticks, is_named=True,
                    name=f"{_noun(library)},\nlanes {step:.2g} apart")  # fmt: skip
    keys = [Key(_role(state), state) for state in _DEPTHS if used[state]]
    # A question without elements gives them no states.
    keys = [] if [key.text for key in keys] == [_OTHER] else keys
    size = COLUMN.width, 61.0 + n * max(9.4, min(39.6, 504.0 / n))
    panel = Panel(_channel_axis(library, COLUMN), vertical, marks, is_dense=n > 24)
    title = f"Responses of {counted(n, 'region')} over the channels"
    return Picture(title, f"Regions {listed([*members])}.", size, (100, 4, 20, 46), panel, keys=keys,
                   notes=_notes(library))  # fmt: skip


def _left(indices: Sequence[int], states: Sequence[str]) -> tuple[list[int], list[str]]:
    """A few that are not excluded."""
    pairs = [(i, state) for i, state in zip(indices, states, strict=True) if state != "excluded"][:_DASHES]
    return [i for i, _ in pairs], [state for _, state in pairs]


def _role(state: str) -> str:
    return f"response {state.replace(' ', '-')}"


def _noun(library: Entry) -> str:
    return "response, real part" if library["is_complex"] else "response"


def _notes(library: Entry) -> list[str]:
    shown = library["shown"]
    of = library["of"]
    return [*([f"{shown} of {of} elements"] if shown < of else []), *setting_words(library["setting"])]


def _envelope(library: Entry, region: str, room: Room, offset: float = 0.0) -> Area | None:
    """The envelope of a region with too many elements for single lines."""
    sides = library.get("envelopes", {}).get(region)
    if sides is None:
        return None
    every = max(1, -(-len(sides[0]) // room.most_points))
    lower, upper = ([value + offset for value in side[::every]] for side in sides)
    return Area(range(0, len(sides[0]), every), lower, upper, "envelope")


def _range(library: Entry, indices: Sequence[int]) -> tuple[float, float]:
    """The values of responses and envelopes, and zero."""
    regions = {library["regions"][i] for i in indices}
    sides = [side for region, both in library.get("envelopes", {}).items() if region in regions for side in both]
    values = [value for curve in (*(library["responses"][i] for i in indices), *sides) for value in curve]
    return min(0.0, *values), max(0.0, *values) or 1.0


def _lines(
    library: Entry, indices: Sequence[int], states: Sequence[str], room: Room, offset: float = 0.0
) -> Iterator[Line]:
    for k, (i, state) in enumerate(zip(indices, states, strict=True)):
        values = library["responses"][i]
        every = max(1, -(-len(values) // room.most_points))
        xs = range(0, len(values), every)
        ys = [value + offset for value in values[::every]]
        name = f"{state}: {shortened(library['ids'][i], 16)}"
        yield Line(xs, ys, _role(state), k % _DASHES, name, depth=_DEPTHS[state])


def _channel_axis(library: Entry, room: Room) -> Axis:
    names = [str(name) for name in library["channels"]]
    last = max(1, len(library["channels"]) - 1)
    if not room.is_paper:
        ticks = [Tick(i, shortened(names[i], room.letters), names[i]) for i in dict.fromkeys((0, len(names) - 1))]
        return Axis(0, last, ticks, is_flush=True)
    ticks = [Tick(i, shortened(names[i], 10)) for i in range(0, len(names), -(-len(names) // 5))]
    return Axis(-0.02 * last, 1.02 * last, ticks, "channel")


def coherence_picture(
    coherence: Entry, title: str, room: Room, regions: Sequence[str] = (), setting: Mapping[str, float] | None = None
) -> Picture:
    """Absolute inner products as shades; few enough cells carry their numbers.  regions: framed, if given."""
    names = coherence["ids"]
    n = len(coherence["ids"])
    runs = [*_runs(regions)]
    ticks = _matrix_ticks(names, runs, _MOST_NAMED_ON_PAPER if room.is_paper else _MOST_NAMED)
    vertical = Axis(n - 0.5, -0.5, ticks, is_named=True)
    horizontal = Axis(-0.5, n - 0.5, ticks if room.is_paper else (), is_named=True)
    name = "\n".join(["absolute inner product", *setting_words(setting or {})])
    marks: list[Mark] = [Cells(coherence["matrix"], n <= _MOST_NUMBERED, name)]
    for _, start, count in runs:
        low = start - 0.5
        high = start + count - 0.5
        marks.append(Line((low, high, high, low, low), (low, low, high, high, low), "region-frame"))
    if room.is_paper and n <= _MOST_NAMED_ON_PAPER and 1 < len(runs) <= _MOST_RUNS:  # else ticks name the regions
        marks += [Text(start + (count - 1) / 2, -0.5, name, "count", "middle", lift=3.0) for name, start, count in runs]
    side = 44.0 if n <= _MOST_NUMBERED else max(8.0, min(26.0, 520.0 / n))
    left = 12.0 + 6.4 * max(len(tick.text) for tick in ticks) if ticks else 4.0
    size = (room.width, 216.0) if room.is_paper else (left + n * side + 1.0, n * side + 1.0)
    panel = Panel(horizontal, vertical, marks, is_dense=len(ticks) > _MOST_SMALL)
    return Picture(title, _alike(names, coherence["matrix"]), size, (left, 1.0, 0.5, 0.5), panel, is_equal=True)


def _runs(regions: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Region, first element, number of elements."""
    start = 0
    for name, run in groupby(regions):
        count = len([*run])
        yield name, start, count
        start += count


def _matrix_ticks(names: Sequence[str], runs: Sequence[tuple[str, int, int]], most: int) -> list[Tick]:
    """Elements by name while they fit; of more, their regions."""
    places = [(float(i), name) for i, name in enumerate(names)]
    if len(names) > most:
        places = [(start + (count - 1) / 2, name) for name, start, count in runs] if len(runs) <= _MOST_RUNS else []
    return [Tick(place, shortened(name, 12), name) for place, name in places]


def _alike(names: Sequence[str], matrix: Sequence[Sequence[float]]) -> str:
    pairs = [(abs(matrix[i][j]), names[j], names[i]) for i in range(len(names)) for j in range(i)]
    if not pairs:
        return "A single response."
    value, one, other = max(pairs)
    return f"The two most alike are {one} and {other}, with an absolute inner product of {value:.4f}."
