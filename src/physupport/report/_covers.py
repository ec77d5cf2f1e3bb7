"""What a cover makes of a report: the level that holds in its boxes, and cells with their extent."""

from collections.abc import Mapping, Sequence

from ._phrases import Entry, cells_of, plain, regions_of_sets, unit_of


def promised_level(protocol: Entry) -> float:
    """The probability with which the truth may be lost: where there is a cover, wherever in its boxes it lies."""
    return float(protocol["cover"]["asked"] if "cover" in protocol else protocol["level"])


# Where the truth is if a promise holds, and where it may be where nothing is left that the laws allow: without a cover,
# and with one.
_IS = (
    "the truth is in the bank",
    "the truth lies in the {whole}, at a signal-to-noise ratio of at most {snr:g}, and is in the bank in all else",
)
_IS_NOT = (
    "the truth is not in the bank",
    "the truth is not in the {whole}, is above its signal-to-noise ratio of {snr:g}, "
    "or is not in the bank in all else,",
)


def where_truth_is(protocol: Entry, *, is_there: bool = True) -> str:
    """What a promise is about; is_there: False for the opposite."""
    without, beside = _IS if is_there else _IS_NOT
    if "cover" not in protocol:
        return without
    whole = "boxes and ranges of the cover" if "ranges" in protocol["cover"] else "boxes of the cover"
    return beside.format(whole=whole, snr=protocol["cover"]["snr"])


def grid_end(protocol: Entry, edge: Entry) -> float:
    """Where a grid ends that is touched: of cells the end of what they fill, which is half a cell beyond the last."""
    cover = protocol.get("cover", {})
    # Only regions along a line have edges.
    filled = {f"region {part['region']}": (part["low"][0], part["high"][0]) for part in cover.get("regions", ())}
    filled |= {_label(part): part["values"] for part in cover.get("parameters", ())}
    for part in cover.get("ranges", ()):
        of = "deployment noise" if part["region"] is None else f"strengths of region {part['region']}"
        filled[of] = part["low"], part["high"]
    low, high = filled.get(edge["of"], (edge["value"], edge["value"]))
    return float(low if edge["end"] == "lowest" else high)


def _label(parameter: Entry) -> str:
    """What the bank calls a parameter."""
    number = f" {parameter['coordinate']}" if parameter["coordinate"] else ""
    return str(parameter["called"] or f"{parameter['kind']}{number}")


def cover_sentence(protocol: Entry) -> str:
    """What elements are, and at which level the judge ran; empty without a cover."""
    if "cover" not in protocol:
        return ""
    cover = protocol["cover"]
    boxes = "; ".join(f"{plain(part['region'])}: {box_words(protocol, _ends(part))}" for part in cover["regions"])
    also = [
        f"{plain(part['called'] or part['kind'])} {part['values'][0]:g} to {part['values'][1]:g}"
        for part in cover["parameters"]
    ]
    also += map(_range_words, cover.get("ranges", ()))
    proof = "" if cover["bounds"] == "proven" else " Bounds of the responses were given, and are not proven here."
    law = f"eta {cover['eta']:.3g}" if cover["is_shift"] else f"kappa {cover['kappa']:.3g}"
    law += " of places alone" if "ranges" in cover else ""
    return (
        f" Elements are cells that fill boxes ({'; '.join([boxes, *also])}); the level {cover['asked']!r} holds "
        f"anywhere in these because the judge ran at {protocol['level']:.4g} ({law}).{proof}"
    )


def _range_words(part: Entry) -> str:
    """What has a range; elements of a region that are there at once have one strength, and not one each."""
    what = "noise" if part["region"] is None else f"strength of {plain(part['region'])}"
    shared = ", the same of all elements there" if part["most"] > 1 else ""
    return f"{what} {part['low']:g} to {part['high']:g}{shared}"


def placed_fields(document: Entry) -> list[Entry]:
    """The fields, each with what the rest of the document says of its places.

    unit: of the coordinates.  is_set: names are those of sets of elements.  cells, within: where cells lie that are
    possible, with their number, and as the end of a sentence; empty where elements are no cells.
    """
    protocol, sets, cells, unit = document["protocol"], regions_of_sets(document), cells_of(document), unit_of(document)
    return [
        {
            **entry,
            "unit": unit,
            "is_set": entry["field"] in sets,
            "cells": extent_words(protocol, entry, cells),
            "within": within(document, entry),
        }
        for entry in document["fields"]
    ]


def extent_words(protocol: Entry, entry: Entry, cells: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    """Where the cells lie that are possible, and how many they are; empty where elements are no cells.

    On a line with gaps, of few parts each.  cells: those of `cells_of`.
    """
    box, names = (entry.get("set") or {}).get("box"), entry["cell"]
    if box is None or "cover" not in protocol or not names:
        return ""
    parts = [box]
    if len(box) == 1 and all(name in cells for name in names):
        parts = [[part] for part in _joined(sorted(cells[name][0] for name in names))]
    gaps = f", with {len(parts) - 1} gaps" if len(parts) > _MOST_PARTS else ""
    said = " or ".join(box_words(protocol, part) for part in ([box] if gaps else parts))
    return f"{said}{gaps}" + (f" ({len(names)} cells)" if len(names) > 1 else "")


_MOST_PARTS = 3


def _joined(ends: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Intervals in order, those that touch as one."""
    joined: list[tuple[float, float]] = []
    for low, high in ends:
        if joined and low - joined[-1][1] < 1e-6 * (high - low):  # cells of one grid meet but for rounding
            joined[-1] = joined[-1][0], high
        else:
            joined.append((low, high))
    return joined


def within(document: Entry, entry: Entry) -> str:
    """Where all cells that are possible lie together, if they are several."""
    box = (entry.get("set") or {}).get("box")
    if box is None or "cover" not in document["protocol"] or len(entry["cell"]) < 2:
        return ""
    return f", all within {box_words(document['protocol'], box)}"


def box_words(protocol: Entry, box: Sequence[Sequence[float]]) -> str:
    """Ends of coordinates with their names and unit."""
    cover = protocol["cover"]
    unit = f" {cover['unit']}" if cover["unit"] else ""
    ends = zip(cover["coordinates"], box, strict=True)
    return ", ".join(f"{plain(name)} {low:.6g} to {high:.6g}{unit}" for name, (low, high) in ends)


def _ends(region: Entry) -> list[list[float]]:
    return [[low, high] for low, high in zip(region["low"], region["high"], strict=True)]
