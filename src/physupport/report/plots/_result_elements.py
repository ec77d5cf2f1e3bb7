"""One field: how many explanations stand behind each of its elements."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..._errors import MisuseError
from .._details import Detailed, Details
from ._result import (
    BLUE,
    SIGNS,
    SMALL,
    TEXT,
    Entry,
    axes_for,
    document_of,
    fields_with_elements,
    grouped,
    label_words,
    labels_of,
    legend_above,
    plain,
    plug_in_signs,
    quiet_frame,
    whole_numbers,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST = 60  # elements that fit on a page
_SIGN = -0.035  # where the sign of an element stands, in widths of the axes


def plot_elements(result: Detailed | Details, ax: "Axes | None" = None, *, field: str | None = None) -> "Axes":
    """Explanations behind each element of a field: those witnessed, within those possible.

    A bar for each element, and for nothing being there where that was allowed, with both numbers beside it.  Of more
    than 60 elements those that are still possible come first; how many are left out stands below.  field: may be left
    out if there is only one.
    """
    document = document_of(result)
    entry = _chosen(document, field)
    parts, n_left_out = _shown(entry)
    axes = axes_for(ax, 1.25 + 0.17 * len(parts))
    lanes = range(0, -len(parts), -1)
    possible, witnessed = ([part[name] for part in parts] for name in ("n_possible", "n_witnessed"))
    bars = [
        axes.barh(lanes, possible, 0.62, color="white", edgecolor=BLUE, linewidth=1.0, label="possible"),
        axes.barh(lanes, witnessed, 0.62, color=BLUE, edgecolor=BLUE, linewidth=1.0, label="witnessed"),
    ]
    for lane, part in zip(lanes, parts, strict=True):
        text = f"{grouped(part['n_witnessed'])} / {grouped(part['n_possible'])}"
        axes.text(1.02, lane, text, transform=axes.get_yaxis_transform(), va="center", fontsize=SMALL)
        axes.plot(_SIGN, lane, transform=axes.get_yaxis_transform(), clip_on=False, markersize=4.5,
                  **SIGNS[part["state"]])  # fmt: skip
    said = [(_SIGN, float(lane)) for lane, part in zip(lanes, parts, strict=True) if _is_said(entry, part)]
    triangles = plug_in_signs(axes, said, axes.get_yaxis_transform(), lift=4.5)
    _finish(axes, entry, parts, n_left_out)
    label = label_words(labels_of(document)[entry["field"]])
    title = f"{plain(entry['field'])}: {label}" if label else plain(entry["field"])
    legend_above(axes, [*bars, *triangles], 2, title=title, at_right=True)
    return axes


def _chosen(document: Entry, field: str | None) -> Entry:
    entries = fields_with_elements(document, None if field is None else [field])
    if len(entries) > 1:
        known = ", ".join(entry["field"] for entry in entries)
        raise MisuseError("field", "be given where there are several", "none", f"They are {known}.")
    return entries[0]


def _shown(entry: Entry) -> tuple[list[Entry], int]:
    """Elements, and nothing as the last, and how many are left out."""
    elements: list[Entry] = [*entry["elements"]]
    kept = [each for each in elements if each["state"] != "excluded"]
    if len(elements) > _MOST:
        excluded = [each for each in elements if each["state"] == "excluded"]
        elements = [*kept, *excluded][:_MOST]
    left_out = len(entry["elements"]) - len(elements)
    absent = entry["absent"]
    nothing: list[Entry] = [] if absent is None else [{**absent, "id": None, "coordinates": []}]
    return [*elements, *nothing], left_out


def _is_said(entry: Entry, part: Entry) -> bool:
    """Whether a point-valued method says so."""
    found = entry["plug_in"]
    if found is None:
        return False
    return bool(found["label"] == "ABSENT") if part["id"] is None else part["id"] in found["cell"]


def _finish(axes: "Axes", entry: Entry, parts: Sequence[Entry], n_left_out: int) -> None:
    quiet_frame(axes, "bottom", "left")
    axes.set_yticks(range(0, -len(parts), -1), [_name(part) for part in parts], fontsize=SMALL)
    axes.tick_params(axis="y", length=0, pad=12)
    most = max(1, *(part["n_possible"] for part in parts))
    axes.set(ylim=(0.5 - len(parts), 0.6), xlim=(0.0, 1.02 * most))
    whole_numbers(axes.xaxis)
    notes = ["explanations, witnessed / possible"]
    if entry["coordinate_names"]:
        notes.append(f"in brackets: {plain(', '.join(entry['coordinate_names']), 30)}")
    if n_left_out:
        notes.append(f"{n_left_out} more elements not drawn")
    axes.set_xlabel("\n".join(notes), fontsize=TEXT)


def _name(part: Any) -> str:  # noqa: ANN401
    if part["id"] is None:
        return "nothing"
    place = ", ".join(f"{x:.3g}" for x in part["coordinates"])
    return f"{plain(part['id'], 16)} ({place})" if place else plain(part["id"], 16)
