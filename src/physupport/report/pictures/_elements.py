"""One field: how many explanations stand behind each of its elements."""

from collections.abc import Iterator

from .._phrases import Entry, listed
from ._map import element_title, is_said, nothing_there, signs
from ._model import Axis, Bars, Key, Mark, Panel, Picture, Text, Tick
from ._rooms import Room, counting
from ._words import grouped, label_words, shortened

_MOST = 60  # elements that fit on a page
_SIGN = -0.035  # where the sign of an element stands, in widths of the axes


def elements_picture(entry: Entry, room: Room) -> Picture:
    """Explanations behind each element of a field: those kept, and beyond them those not asked about."""
    parts, n_left_out = _shown(entry)
    lanes = range(0, -len(parts), -1)
    kept, both = [part["n_kept"] for part in parts], [part["n_kept"] + part["n_not_asked"] for part in parts]
    marks: list[Mark] = [Bars(lanes, both, "bar-not-asked", "not asked"), Bars(lanes, kept, "bar-kept", "kept")]
    for lane, part in zip(lanes, parts, strict=True):
        text = f"{grouped(part['n_kept'])} + {grouped(part['n_not_asked'])}"
        marks.append(Text(1.02, lane, text, "count", shares="x"))
    points = [(part["state"], _SIGN, lane, element_title(part)) for lane, part in zip(lanes, parts, strict=True)]
    nothing = parts[-1] if entry["absent"] is not None else None
    said = [lane for lane, part in zip(lanes, parts, strict=True)
            if is_said(entry, None if part is nothing else part["id"])]  # fmt: skip
    points += [("plug-in", _SIGN, lane, "A point-valued method") for lane in said]
    marks += signs(points, "x")
    ticks = [Tick(lane, _name(part), part["id"]) for lane, part in zip(lanes, parts, strict=True)]
    horizontal = counting(1.02 * max(1, *both), room.n_ticks, name="explanations, kept + not asked")
    panel = Panel(horizontal, Axis(0.5 - len(parts), 0.6, ticks, is_named=True), marks)
    keys = [Key("bar-not-asked", "not asked"), Key("bar-kept", "kept")]
    keys += [Key("plug-in", "point-valued method")] if said else []
    heading = ": ".join(filter(None, (shortened(entry["field"]), label_words(entry["label"]))))
    words = f"Elements {listed([part['id'] for part in parts])}."
    size = room.width, 90.0 + 12.25 * len(parts)
    return Picture(f"Explanations behind the elements of {entry['field']}", words, size, (150.0, 70.0, 20.0, 50.0),
                   panel, keys=keys, heading=heading, notes=[*_notes(entry, n_left_out)])  # fmt: skip


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
