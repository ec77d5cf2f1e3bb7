"""The elements that are still possible, on their physical axis or in the plane of their first two coordinates."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._errors import MisuseError
from ..._typing import Array
from .._details import Detailed, Details
from ._result import (
    INK,
    LINE,
    MUTED,
    SIGNS,
    SMALL,
    TEXT,
    TINT,
    TINY,
    Entry,
    Point,
    axes_for,
    columns,
    document_of,
    fields_with_elements,
    label_color,
    label_words,
    labels_of,
    legend_above,
    plain,
    plug_in_signs,
    quiet_frame,
    state_keys,
)

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

_ROOMY = 16  # fields that get high lanes; more would not fit on a page
_MOST_NAMED = 24  # fields whose names a plane has room for
_NOTHING = 1.09  # where the column `nothing` stands, in widths of the axes


def plot_map(result: Detailed | Details, ax: "Axes | None" = None, *, fields: Sequence[str] | None = None) -> "Axes":
    """What the data leave possible, field by field, with the label of each.

    A lane for each field above the common coordinate; elements without coordinates stand in the order of the library.
    With two or more coordinates, the plane of the first two.  A disc is witnessed, a ring possible, a cross excluded,
    and a triangle points to what a point-valued method would say.  fields: all that have elements, unless given.
    """
    document = document_of(result)
    entries = fields_with_elements(document, fields)
    names = {tuple(entry["coordinate_names"]) for entry in entries}
    if len(names) > 1:
        value = " and ".join(f"({', '.join(each)})" for each in sorted(names))
        raise MisuseError("fields", "share their coordinates", value, "Draw them apart, each with fields=[...].")
    (axis_names,) = names
    return (_plane if len(axis_names) > 1 else _lanes)(entries, axis_names, labels_of(document), ax)


def _lanes(entries: Sequence[Entry], names: Sequence[str], labels: Mapping[str, str], ax: "Axes | None") -> "Axes":
    is_roomy = len(entries) <= _ROOMY
    axes = axes_for(ax, 0.95 + (0.3 if is_roomy else 0.15) * len(entries))
    size, lift, letters = (5.0, 5.5, TEXT) if is_roomy else (3.5, 4.2, TINY)
    lanes = range(0, -len(entries), -1)
    axes.hlines(lanes, 0.0, 1.0, transform=axes.get_yaxis_transform(), color=LINE, linewidth=0.7, zorder=1)
    placed = [_lane(entry) for entry in entries]
    _cells(axes, placed, 1.8 * size)
    _signs(axes, [(element["state"], x, -i) for i, lane in enumerate(placed) for x, element in lane], size)
    said = [(x, -i) for i, lane in enumerate(placed) for x, element in lane if _is_said(entries[i], element)]
    triangles = plug_in_signs(axes, said, axes.transData, lift) + _nothing(axes, entries, size, lift)
    axes.set_ylim(0.5 - len(entries), 0.5)
    axes.margins(x=0.06)
    quiet_frame(axes, "bottom")
    axes.set_yticks(lanes, [plain(entry["field"], 14) for entry in entries], fontsize=letters)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(plain(names[0], 40) if names else "order in the library", fontsize=TEXT)
    _label_column(axes, entries, labels, is_roomy)
    legend_above(axes, [*state_keys(), *triangles[:1]], 2, lift=0.12 if _has_nothing(entries) else 0.0)
    return axes


def _lane(entry: Entry) -> list[tuple[float, Any]]:
    """First coordinate, or the running number of elements that have none, and the element."""
    return [
        (float(element["coordinates"][0]) if element["coordinates"] else float(i), element)
        for i, element in enumerate(entry["elements"])
    ]


def _cells(axes: "Axes", placed: Sequence[Sequence[tuple[float, Any]]], width: float) -> None:
    """A band over all that is still possible in a lane."""
    for i, lane in enumerate(placed):
        kept = [x for x, element in lane if element["state"] != "excluded"]
        if len(kept) > 1:
            axes.plot([min(kept), max(kept)], [-i, -i], color=TINT, linewidth=width, solid_capstyle="round", zorder=1.5)


def _signs(axes: "Axes", points: Sequence[tuple[str, float, float]], size: float, **where: Any) -> None:  # noqa: ANN401
    """One set of markers a state.  points: state, x, y."""
    for state, style in SIGNS.items():
        xs, ys = columns([(x, y) for each, x, y in points if each == state])
        if xs:  # markers without a place would take room in the corner of the figure
            axes.plot(xs, ys, linestyle="none", markersize=size, label=state, clip_on=False, **style, **where)


def _is_said(entry: Entry, element: Entry) -> bool:
    """Whether a point-valued method says so."""
    return entry["plug_in"] is not None and element["id"] in entry["plug_in"]["cell"]


def _has_nothing(entries: Sequence[Entry]) -> bool:
    return any(entry["absent"] is not None for entry in entries)


def _nothing(axes: "Axes", entries: Sequence[Entry], size: float, lift: float) -> "list[Artist]":
    """A column beside the axes: whether the data allow that nothing is there."""
    absent = [(entry["absent"]["state"], _NOTHING, -i) for i, entry in enumerate(entries) if entry["absent"]]
    if not absent:
        return []
    beside = axes.get_yaxis_transform()
    _signs(axes, absent, size, transform=beside)
    axes.text(_NOTHING, 1.0, "nothing", transform=axes.transAxes, ha="center", va="bottom", fontsize=TINY, color=MUTED)
    said: list[Point] = [
        (_NOTHING, -i) for i, entry in enumerate(entries) if entry["plug_in"] and entry["plug_in"]["label"] == "ABSENT"
    ]
    return plug_in_signs(axes, said, beside, lift)


def _label_column(axes: "Axes", entries: Sequence[Entry], labels: Mapping[str, str], is_roomy: bool) -> None:
    place = _NOTHING + 0.09 if _has_nothing(entries) else 1.04
    for i, entry in enumerate(entries):
        label = labels[entry["field"]]
        words = label_words(label).replace(" ", "\n") if is_roomy else label_words(label)
        axes.text(place, -i, words, transform=axes.get_yaxis_transform(), va="center_baseline", linespacing=0.95,
                  fontsize=SMALL if is_roomy else TINY, color=label_color(label))  # fmt: skip


def _plane(entries: Sequence[Entry], names: Sequence[str], labels: Mapping[str, str], ax: "Axes | None") -> "Axes":
    from matplotlib.collections import LineCollection

    axes = axes_for(ax, 3.4)
    points = [np.array([element["coordinates"][:2] for element in entry["elements"]]) for entry in entries]
    # Spokes show which elements belong together.
    spokes = [np.stack([each.mean(axis=0), point]) for each in points for point in each]
    axes.add_collection(LineCollection(spokes, colors=LINE, linewidths=0.8, zorder=1))
    placed = [(entry, element, *element["coordinates"][:2]) for entry in entries for element in entry["elements"]]
    _signs(axes, [(element["state"], x, y) for _, element, x, y in placed], 4.5)
    said = [(x, y) for entry, element, x, y in placed if _is_said(entry, element)]
    triangles = plug_in_signs(axes, said, axes.transData)
    if len(entries) <= _MOST_NAMED:
        for entry, each in zip(entries, points, strict=True):
            _name(axes, entry["field"], labels[entry["field"]], each)
    axes.margins(0.12)
    quiet_frame(axes, "left", "bottom")
    axes.set_xlabel(plain(names[0], 40), fontsize=TEXT)
    axes.set_ylabel(plain(names[1], 40), fontsize=TEXT)
    legend_above(axes, [*state_keys(), *triangles], 2)
    return axes


def _name(axes: "Axes", field: str, label: str, points: Array) -> None:
    """A field is named above its topmost element, higher than a triangle.  points: (n, 2)."""
    from matplotlib import patheffects

    text = axes.annotate(f"{plain(field, 14)} {label_words(label)}".strip(), points[np.argmax(points[:, 1])], (0, 9),
                         ha="center", textcoords="offset points", fontsize=SMALL, zorder=6,
                         color=label_color(label) if label else INK)  # fmt: skip
    text.set_path_effects([patheffects.withStroke(linewidth=2.0, foreground="white")])
