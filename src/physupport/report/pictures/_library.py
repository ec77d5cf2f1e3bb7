"""The response library: each region's responses, and how alike all responses are."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from .._words import Entry, counted, listed, setting_words, shortened
from ._model import COLUMN, MOST_NUMBERED, Axis, Key, Mark, Panel, Picture, Room, Tick, level, numbered, words

_OTHER = "of no question"  # elements of regions that no field is about
_DEPTHS = {"kept": 4, "not asked": 3, _OTHER: 3, "excluded": 2}
_DASHES = 6  # responses that dashes can tell apart
# elements whose names fit beside a matrix
_MOST_NAMED = 47
_MOST_NAMED_ON_PAPER = 30
_MOST_RUNS = 20  # regions whose names fit there
_MOST_SMALL = 16  # names beside a matrix in letters of the usual size


def members_of(library: Entry) -> dict[str, list[int]]:
    """Region -> the numbers of its elements."""
    members: dict[str, list[int]] = {}
    for i, region in enumerate(library["regions"]):
        members.setdefault(region, []).append(i)
    return members


def responses_picture(
    library: Entry, fields: Sequence[Entry], indices: Sequence[int], room: Room, among: Sequence[int]
) -> Picture:
    """Responses of one region over the channels, on the scale of those among which it is drawn."""
    low, high = _range(library, among)
    pad = 0.04 * (high - low)
    name = _noun(library) if room.is_paper else ""
    vertical = numbered(low - pad, high + pad, room.n_ticks, name=name)
    region = library["regions"][indices[0]]
    marks, states = _region(library, fields, indices, room)
    keys = [Key(_role(state), shortened(name, 16), state, k % _DASHES) for k, (name, state) in enumerate(states)]
    noun = "real part of the response" if library["is_complex"] else "response"
    title = f"{noun.capitalize()} of {counted(len(states), 'element')} of {region} over the channels"
    title += ", and the envelope of all" if region in library["envelopes"] else ""
    # What is not excluded is named first on paper, where few keys fit.
    keys = sorted(keys, key=lambda key: key.note == "excluded")[:12] if room.is_paper else keys
    size = room.width, 158.0 + 6.0 * len(keys) if room.is_paper else 118.0
    panel = Panel(_channel_axis(library, room), vertical, [level(0.0, "grid"), *marks])
    notes = _notes(library) if room.is_paper else ()
    description = f"Elements {listed([name for name, _ in states])}."
    return Picture(title, description, size, (28, 4, 6, 20), panel, keys=keys, notes=notes)


def lanes_picture(library: Entry, fields: Sequence[Entry]) -> Picture:
    """All regions in a column: a lane for each, with its name at zero and one scale for all."""
    members = members_of(library)
    low, high = _range(library, range(len(library["ids"])))
    step = 1.12 * (high - low)
    n = len(members)
    marks: list[Mark] = []
    used = set[str]()
    for lane, indices in enumerate(members.values()):
        drawn, states = _region(library, fields, indices, COLUMN, -lane * step)
        marks += [level(-lane * step, "lane"), *drawn]
        used |= {state for _, state in states}
    ticks = [Tick(-lane * step, shortened(name, COLUMN.letters), name) for lane, name in enumerate(members)]
    vertical = Axis(-(n - 1) * step + low - 0.06 * step, high + 0.06 * step, ticks, is_named=True,
                    name=f"{_noun(library)},\nlanes {step:.2g} apart")  # fmt: skip
    # A question without elements gives them no states.
    keys = [] if used == {_OTHER} else [Key(_role(state), state) for state in _DEPTHS if state in used]
    size = COLUMN.width, 61.0 + n * max(9.4, min(39.6, 504.0 / n))
    panel = Panel(_channel_axis(library, COLUMN), vertical, marks, is_dense=n > 24)
    title = f"Responses of {counted(n, 'region')} over the channels"
    return Picture(title, f"Regions {listed([*members])}.", size, (100, 4, 20, 46), panel, keys=keys,
                   notes=_notes(library))  # fmt: skip


def _region(
    library: Entry, fields: Sequence[Entry], indices: Sequence[int], room: Room, offset: float = 0.0
) -> tuple[list[Mark], list[tuple[str, str]]]:
    """The marks of a region and the elements with lines of their own, by name and state.

    Of too many elements for single lines there is the envelope, with lines for a few that are not excluded.
    """
    region = library["regions"][indices[0]]
    known = {part["id"]: part["state"] for entry in fields if entry["field"] == region for part in entry["elements"]}
    states = [(i, known.get(library["ids"][i], _OTHER)) for i in indices]
    marks: list[Mark] = []
    if (sides := library["envelopes"].get(region)) is not None:
        xs, lower, upper = _thinned(*sides, room=room, offset=offset)
        marks.append(Mark("area", "envelope", xs, upper, lower=lower, depth=0))
        states = [(i, state) for i, state in states if state != "excluded"][:_DASHES]  # others are somewhere within
    for k, (i, state) in enumerate(states):
        xs, ys = _thinned(library["responses"][i], room=room, offset=offset)
        name = f"{state}: {shortened(library['ids'][i], 16)}"
        marks.append(Mark("line", _role(state), xs, ys, name=name, dash=k % _DASHES, depth=_DEPTHS[state]))
    return marks, [(library["ids"][i], state) for i, state in states]


def _thinned(*curves: Sequence[float], room: Room, offset: float) -> Iterator[Sequence[float]]:
    """The channels that there is room for, and the values of curves there, shifted."""
    every = max(1, -(-len(curves[0]) // room.most_points))
    yield range(0, len(curves[0]), every)
    for curve in curves:
        yield [value + offset for value in curve[::every]]


def _role(state: str) -> str:
    return f"response {state.replace(' ', '-')}"


def _noun(library: Entry) -> str:
    return "response, real part" if library["is_complex"] else "response"


def _notes(library: Entry) -> list[str]:
    shown = library["shown"]
    of = library["of"]
    return [*([f"{shown} of {of} elements"] if shown < of else []), *setting_words(library["setting"])]


def _range(library: Entry, indices: Sequence[int]) -> tuple[float, float]:
    """The values of responses and envelopes, and zero."""
    regions = {library["regions"][i] for i in indices}
    sides = [side for region, both in library["envelopes"].items() if region in regions for side in both]
    values = [value for curve in (*(library["responses"][i] for i in indices), *sides) for value in curve]
    return min(0.0, *values), max(0.0, *values) or 1.0


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
    marks = [Mark("cells", "shade", cells=coherence["matrix"], name=name, depth=0)]
    for _, start, count in runs:
        low = start - 0.5
        high = start + count - 0.5
        marks.append(Mark("line", "region-frame", (low, high, high, low, low), (low, low, high, high, low)))
    if room.is_paper and n <= _MOST_NAMED_ON_PAPER and 1 < len(runs) <= _MOST_RUNS:  # else ticks name the regions
        marks += [
            words("count", start + (count - 1) / 2, -0.5, name, anchor="middle", lift=7.0)
            for name, start, count in runs
        ]
    side = 44.0 if n <= MOST_NUMBERED else max(8.0, min(26.0, 520.0 / n))
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
