"""Describe the remaining places: centre, extent along each axis, nearest element, and share of the region."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import dist
from typing import final

from ..banks import JOINT, TURN, along_arc, wrapped
from ._words import (
    Entry,
    above,
    below,
    cells_of,
    circle_of,
    coordinate_names,
    has_places,
    number,
    places_of,
    plain,
    unit_of,
)


@final
@dataclass(frozen=True, slots=True)
class Where:
    """The places that one field leaves: all that is possible, asked about or not.

    centre: the mean of these places.  extents: the smallest and the largest coordinate along each axis, of directions
    that close a circle both ends of the shortest arc.  nearest: the element next to the centre.  share: of the places
    of the region, how many are left.
    """

    field: str
    centre: tuple[float, ...]
    extents: tuple[tuple[float, float], ...]
    nearest: str
    left: int
    total: int
    n_sets: int  # of sets of elements that are possible, each of which may be one element
    has_sets: bool  # some of them have several elements
    unit: str

    @property
    def share(self) -> float:
        """The share of the region that is left."""
        return self.left / self.total

    @property
    def is_news(self) -> bool:
        """False of single elements of which none is excluded."""
        return self.has_sets or self.left < self.total

    @property
    def words(self) -> str:
        """One sentence, with ends rounded outwards; without a unit, as atomic numbers are, nothing has a centre."""
        sets = f"{self.n_sets} combinations are possible, made of " if self.has_sets else ""
        noun = "places" if self.unit else "elements"
        count = f"{self.left} of {self.total} {noun}{'' if sets else ' are possible'}"
        if not self.unit:
            return f"{plain(self.field)}: {sets}{count}."
        spans = [below(low) if low == high else f"{below(low)} to {above(high)}" for low, high in self.extents]
        axes = [f"{name} {span}".lstrip() for name, span in zip(self._names, map(_true_minus, spans), strict=True)]
        middle = [f"{name} {number(value)}".lstrip() for name, value in zip(self._names, self.centre, strict=True)]
        unit = plain(self.unit)
        return (
            f"{plain(self.field)}: {sets}{count}, {', '.join(axes)} {unit}; centre {', '.join(middle)} {unit}, "
            f"where the nearest place is {plain(self.nearest)}."
        )

    @property
    def _names(self) -> list[str]:
        """The names of the coordinates; of one alone none."""
        return coordinate_names(len(self.extents), "") if len(self.extents) > 1 else [""]


def _true_minus(text: str) -> str:
    return text.replace("-", "−")


def where_of(document: Entry) -> tuple[Where, ...]:
    """One for each field that leaves places; elements that are names alone have none."""
    known = _cells(document)
    found = []
    for entry in document["fields"]:
        names = list(dict.fromkeys(name for cell in entry["cell"] for name in cell.split(JOINT)))
        own = {name: known[name] for name in names if name in known}
        if not own or len(own) < len(names) or not has_places(entry) or not entry.get("set"):
            continue
        found.append(_where(entry, own, document))
    return tuple(found)


def _cells(document: Entry) -> dict[str, list[tuple[float, float]]]:
    """Both ends of every coordinate of each element, equal where elements are points."""
    points = {name: [(value, value) for value in place] for name, place in places_of(document).items()}
    return points or cells_of(document)


def _where(entry: Entry, own: Mapping[str, Sequence[tuple[float, float]]], document: Entry) -> Where:
    field = entry["field"]
    states = document["bank"]["states"]
    library = states.get("base", states)
    known = _cells(document)
    members = [name for name, region in zip(library["ids"], library["regions"], strict=True) if region == field]
    members = members or [*known]
    middles = {name: [0.5 * (low + high) for low, high in known[name]] for name in members}
    if circle_of(document).issuperset(members):
        return _on_circle(entry, own, middles, unit_of(document))
    centre = tuple(sum(values) / len(own) for values in zip(*(middles[name] for name in own), strict=True))
    nearest = min(members, key=lambda name: dist(middles[name], centre))
    ends = zip(*own.values(), strict=True)
    has_sets = any(JOINT in name for name in entry["cell"])
    extents = tuple((min(low for low, _ in axis), max(high for _, high in axis)) for axis in ends)
    return Where(
        field, centre, extents, nearest, len(own), len(members), len(entry["cell"]), has_sets, unit_of(document)
    )


def _on_circle(entry: Entry, own: Mapping[str, object], middles: Mapping[str, Sequence[float]], unit: str) -> Where:
    """Directions that close a circle: the middle and the ends of the shortest arc that holds those left."""
    low = min(angle for (angle,) in middles.values())
    arc = along_arc([middles[name][0] for name in own]).tolist()
    centre = wrapped(sum(arc) / len(arc), low)
    nearest = min(middles, key=lambda name: abs(wrapped(middles[name][0] - centre, -0.5 * TURN)))
    extents = ((wrapped(min(arc), low), wrapped(max(arc), low)),)
    names = entry["cell"]
    has_sets = any(JOINT in name for name in names)
    return Where(entry["field"], (centre,), extents, nearest, len(own), len(middles), len(names), has_sets, unit)
