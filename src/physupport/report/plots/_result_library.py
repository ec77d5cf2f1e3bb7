"""The response library: its responses over the channels, and how alike they are."""

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._errors import MisuseError
from ..._typing import Array
from .._details import Detailed, Details
from ._result import (
    BLUE,
    INK,
    LINE,
    SMALL,
    STRONG_LINE,
    TEXT,
    TINY,
    Entry,
    axes_for,
    document_of,
    fields_with_elements,
    legend_above,
    plain,
    quiet_frame,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STATES: dict[str, dict[str, Any]] = {
    "witnessed": {"color": BLUE, "linewidth": 1.9, "zorder": 4},
    "possible": {"color": BLUE, "linewidth": 1.0, "zorder": 3},
    "not asked about": {"color": INK, "linewidth": 0.8, "zorder": 3},
    "excluded": {"color": STRONG_LINE, "linewidth": 0.6, "zorder": 2},
}
_DASHES: tuple[Any, ...] = (
    "-",
    (0, (4, 2)),
    (0, (1.3, 1.6)),
    (0, (6, 2, 1.3, 2)),
    (0, (8, 3)),
    (0, (3, 1, 1, 1, 1, 1)),
)
_MOST_KEYS = 12
_MOST_NAMED = 30  # elements whose names fit beside a matrix
_MOST_NUMBERED = 8  # elements whose coherence is written into the cells
_MOST_FRAMES_NAMED = 20


def plot_library(result: Detailed | Details, ax: "Axes | None" = None, *, region: str | None = None) -> "Axes":
    """Responses over the channels, or their real part if they are complex; what is excluded is thin and grey.

    They are those of the first setting, which the axis names; regions that were not asked about are drawn in black.
    All regions: a lane for each, with its name at zero and one scale for all.  One region: its responses with their
    names and numbers.  Dashes tell the elements of a region apart.
    """
    document = document_of(result)
    library = _library(document)
    members: dict[str, list[int]] = {}
    for i, name in enumerate(library["regions"]):
        members.setdefault(name, []).append(i)
    if region is not None and region not in members:
        raise MisuseError("region", f"be among {', '.join(members)}", repr(region))
    axes = _lanes(document, members, ax) if region is None else _one(document, members[region], ax)
    quiet_frame(axes, "bottom") if region is None else quiet_frame(axes, "left", "bottom")
    _channel_axis(axes, library)
    return axes


def _library(document: Entry) -> Entry:
    library: Entry | None = document["library"]
    if library is None or not library["ids"]:
        raise MisuseError("result", "come from a bank with a library of responses", "none")
    return library


def _states(document: Entry) -> dict[tuple[str, str], str]:
    """(region, id) -> state of every element of the library."""
    known = {(entry["field"], each["id"]): each["state"] for entry in document["fields"] for each in entry["elements"]}
    everything = zip(document["library"]["regions"], document["library"]["ids"], strict=True)
    return {each: known.get(each, "not asked about") for each in everything}


def _noun(library: Entry) -> str:
    return "response, real part" if library["is_complex"] else "response"


def _setting(library: Entry) -> list[str]:
    """The calibration parameters of the responses."""
    return [f"{plain(name, 16)} {value:.4g}" for name, value in library["setting"].items()]


def _lanes(document: Entry, members: dict[str, list[int]], ax: "Axes | None") -> "Axes":
    from matplotlib.lines import Line2D

    library, states = document["library"], _states(document)
    low, high = _range(library)
    step = 1.12 * (high - low)
    n = len(members)
    axes = axes_for(ax, 0.85 + n * max(0.13, min(0.55, 7.0 / n)))
    for lane, indices in enumerate(members.values()):
        axes.axhline(-lane * step, color=LINE, linewidth=0.7, zorder=1)
        for k, i in enumerate(indices):
            style = _STATES[states[library["regions"][i], library["ids"][i]]]
            axes.plot(np.asarray(library["responses"][i]) - lane * step, linestyle=_DASHES[k % len(_DASHES)], **style)
    axes.set_yticks([-lane * step for lane in range(n)], [plain(name, 14) for name in members],
                    fontsize=TEXT if n <= 24 else TINY)  # fmt: skip
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(-(n - 1) * step + low - 0.06 * step, high + 0.06 * step)
    axes.set_ylabel(f"{_noun(library)},\nlanes {step:.2g} apart", fontsize=TEXT)
    used = {*states.values()}
    keys = [Line2D([], [], label=state, **style) for state, style in _STATES.items() if state in used]
    # A question without elements gives them no states.
    if used != {"not asked about"}:
        legend_above(axes, keys, 3 if len(keys) <= 3 else 2, at_right=True)
    return axes


def _range(library: Entry) -> tuple[float, float]:
    """The values of all responses and zero."""
    values = np.asarray(library["responses"], dtype=float)
    return min(0.0, float(values.min())), max(0.0, float(values.max())) or 1.0


def _one(document: Entry, indices: Sequence[int], ax: "Axes | None") -> "Axes":
    library, states = document["library"], _states(document)
    names = [plain(library["ids"][i], 16) for i in indices]
    # Two columns of long names are wider than the picture.
    n_keys, n_columns = min(len(indices), _MOST_KEYS), 2 if max(map(len, names)) <= 8 else 1
    axes = axes_for(ax, 2.2 + 0.16 * -(-n_keys // n_columns))
    axes.axhline(0.0, color=LINE, linewidth=0.7, zorder=1)
    lines = []
    for k, i in enumerate(indices):
        state = states[library["regions"][i], library["ids"][i]]
        label = f"{state}: {names[k]}"
        lines += axes.plot(library["responses"][i], linestyle=_DASHES[k % len(_DASHES)], label=label, **_STATES[state])
    axes.set_ylabel(_noun(library), fontsize=TEXT)
    # What is still possible is named first.
    keys = sorted(lines, key=lambda line: str(line.get_label()).startswith("excluded"))[:n_keys]
    legend_above(axes, keys, n_columns)
    return axes


def _channel_axis(axes: "Axes", library: Entry) -> None:
    names = library["channels"]
    axes.set_xlim(-0.02 * max(1, len(names) - 1), 1.02 * max(1, len(names) - 1))
    shown = range(0, len(names), -(-len(names) // 5))
    axes.set_xticks(shown, [plain(names[i], 10) for i in shown])
    notes = [f"{library['shown']} of {library['of']} elements"] if library["shown"] < library["of"] else []
    axes.set_xlabel("\n".join(["channel", *notes, *_setting(library)]), fontsize=TEXT)


def plot_library_coherence(result: Detailed | Details, ax: "Axes | None" = None, *, field: str | None = None) -> "Axes":
    """Absolute inner products of the responses, frames around regions; the darker, the more alike.

    The responses are those of the first setting, which the scale names.  field: only within this one.  Few enough cells
    carry their numbers.
    """
    document = document_of(result)
    found, regions = _coherence(document, field)
    names, matrix = found["ids"], np.array(found["matrix"])
    axes = axes_for(ax, 3.0)
    image = axes.imshow(matrix, cmap=_shades(), vmin=0.0, vmax=1.0)
    _frames(axes, regions)
    if len(names) <= _MOST_NUMBERED:
        _numbers(axes, matrix)
    _matrix_axis(axes, names, regions)
    bar = axes.figure.colorbar(image, ax=axes, shrink=0.85)
    setting = [] if document["library"] is None else _setting(document["library"])
    bar.set_label("\n".join(["absolute inner product", *setting]), fontsize=TEXT)
    bar.ax.tick_params(labelsize=SMALL)
    return axes


def _coherence(document: Entry, field: str | None) -> tuple[Entry, list[str]]:
    """Names with their matrix, and the region of each."""
    if field is not None:
        (entry,) = fields_with_elements(document, [field])
        if entry["coherence"] is None:
            raise MisuseError("field", "have elements of a library of responses", repr(field))
        return entry["coherence"], []
    found: Entry | None = document["library_coherence"]
    library = _library(document)
    if found is None or not found["ids"]:
        raise MisuseError("result", "come from a bank with a library of responses", "none")
    region_of = dict(zip(library["ids"], library["regions"], strict=True))
    return found, [region_of.get(name, "") for name in found["ids"]]


def _shades() -> Any:  # noqa: ANN401
    """From paper to the blue of the page: one hue that only darkens."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("page", ["white", BLUE])


def _runs(regions: Sequence[str]) -> list[tuple[str, int, int]]:
    """Region, first element, number of elements."""
    found, start = [], 0
    for name, run in groupby(regions):
        count = len([*run])
        found.append((name, start, count))
        start += count
    return found


def _frames(axes: "Axes", regions: Sequence[str]) -> None:
    for _, start, count in _runs(regions):
        outline = np.array([[0, 0], [count, 0], [count, count], [0, count], [0, 0]]) + start - 0.5
        axes.plot(*outline.T, color=INK, linewidth=0.9)


def _numbers(axes: "Axes", matrix: Array) -> None:
    for (i, j), value in np.ndenumerate(matrix):
        ink = "white" if value > 0.6 else INK
        axes.text(j, i, f"{value:.2f}", ha="center", va="center", fontsize=TINY, color=ink)


def _matrix_axis(axes: "Axes", names: Sequence[str], regions: Sequence[str]) -> None:
    """Elements by name while they fit; of more, their regions."""
    places, texts = list[float](range(len(names))), [plain(name, 12) for name in names]
    if len(names) > _MOST_NAMED:
        runs = _runs(regions)
        runs = runs if len(runs) <= _MOST_FRAMES_NAMED else []
        places, texts = [start + (count - 1) / 2 for _, start, count in runs], [plain(name, 12) for name, _, _ in runs]
    axes.set_yticks(places, texts, fontsize=SMALL if len(texts) <= 16 else TINY)
    axes.set_xticks(places, texts, fontsize=SMALL if len(texts) <= 16 else TINY, rotation=90)
    axes.tick_params(length=0)
