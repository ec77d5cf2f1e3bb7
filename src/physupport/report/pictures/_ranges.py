"""Pictures of ranges: how much of each element there may be, and how far each member is from being rejected."""

import math
from collections.abc import Sequence

from ...banks import JOINT
from .._amounts import Amount
from .._words import Entry, number, shortened
from ._model import WIDE, Axis, Key, Mark, Panel, Picture, Room, Tick, numbered, padded, words

MOST_RANGES = 24
_MOST_MEMBERS = 30


def amounts_picture(amounts: Sequence[Amount], room: Room) -> Picture:
    """A bar from the least to the most of each element, with a ring at 0 where it need not be there."""
    told = [amount for amount in amounts if math.isfinite(amount.low) and math.isfinite(amount.high)]
    shown = sorted(told, key=lambda amount: (not amount.is_certain, -amount.high))[:MOST_RANGES]
    unit = shown[0].unit if shown else ""
    limits = padded([0.0, *(end for amount in shown for end in (amount.low, amount.high))])
    horizontal = numbered(*limits, room.n_ticks, name=unit or "amount, in units of the response", has_grid=True)
    marks = [Mark("line", "lane", (0.0, 0.0), (0.6, 0.4 - len(shown)), depth=1)]
    for lane, amount in enumerate(shown):
        role = "fit" if amount.is_certain else "range"
        least, most = (amount.low if end is None else end for end in (amount.least, amount.most))
        marks.append(Mark("line", role, (least, most), (-lane, -lane), depth=3, name=amount.element))
        text = f"{amount.element}: {amount.words}"
        marks.append(Mark("points", "kept", (least, most), (-lane, -lane), (text, text), depth=4))
        if not amount.is_certain:
            marks.append(Mark("points", "not-asked", (0.0,), (-lane,), (f"{amount.element} may be missing",), depth=5))
        if room is WIDE:
            marks.append(words("count", 1.02, -lane, amount.words.removesuffix(unit).strip(), shares="x"))
    ticks = [Tick(-lane, shortened(amount.element, room.letters), amount.element) for lane, amount in enumerate(shown)]
    vertical = Axis(0.4 - len(shown), 0.6, ticks, is_named=True)
    keys = [Key("fit", "certainly there")] if any(amount.is_certain for amount in shown) else []
    if any(not amount.is_certain for amount in shown):
        keys += [Key("range", "if it is there"), Key("not-asked", "may be missing", kind="points")]
    left_out = len(amounts) - len(shown)
    notes = [f"{left_out} more not drawn"] if left_out else []
    said = "; ".join(f"{amount.element}: {amount.words}" for amount in shown)
    margins = (150.0, 150.0, 8.0, 46.0) if room is WIDE else (96.0, 14.0, 8.0, 46.0)
    size = room.width, 62.0 + 22.0 * max(1, len(shown))
    panel = Panel(horizontal, vertical, marks)
    return Picture("How much of each element", f"{said}.", size, margins, panel, keys=keys, notes=notes)


def members_picture(entry: Entry, room: Room) -> Picture | None:
    """Members of the set of a field, the one that fits best first, with how far each is from being rejected.

    Sets of elements begin with the smallest.  None for fewer than two members.
    """
    kept = (entry.get("set") or {}).get("kept", ())
    if len(kept) < 2:
        return None
    if any(JOINT in (part["name"] or "") for part in kept):
        kept = sorted(kept, key=lambda part: _size(part["name"]))
    shown = kept[:_MOST_MEMBERS]
    known = [-float(part["margin"][1]) for part in shown]
    longest = max([value for value in known if math.isfinite(value)], default=1.0) or 1.0
    lengths = [min(max(value, 0.0), 1.02 * longest) for value in known]
    lanes = [-float(lane) for lane in range(len(shown))]
    names = [(part["name"] or "nothing").replace(JOINT, " and ") for part in shown]
    horizontal = numbered(0.0, 1.05 * longest, room.n_ticks, name="distance from rejection, on a log scale")
    marks = [Mark("bars", "bar-kept", lengths, lanes, name="kept")]
    ticks = [Tick(lane, shortened(name, room.letters), name) for lane, name in zip(lanes, names, strict=True)]
    left_out = len(kept) - len(shown)
    notes = [f"{left_out} more not drawn"] if left_out else []
    said = "; ".join(f"{name} {number(value)}" for name, value in zip(names[:12], known, strict=False))
    panel = Panel(horizontal, Axis(0.4 - len(shown), 0.6, ticks, is_named=True), marks)
    size = room.width, 60.0 + 15.0 * len(shown)
    title = f"How far the members of {entry['field']} are from being rejected"
    return Picture(title, f"{said}.", size, (104.0, 16.0, 6.0, 46.0), panel, notes=notes)


def _size(name: str | None) -> int:
    """The number of elements of a set."""
    return 0 if name is None else 1 + name.count(JOINT)
