"""A map as one page that needs no network: labels or elements as an image, and all about a signal that is clicked."""

import json
import os
import re
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._codec import whole
from .._errors import MisuseError, visible
from .._files import write_whole
from .._typing import Field, IntArray
from ..questions import Label
from ._engine import SignalJudge
from ._labels import LABELS
from ._protocol import GATES
from ._result import SignalMap, kept_elements, label_in_words, map_sentence, signal_sentence
from ._signals import Signals

# Pages beyond are slow to open; the arrays of the map hold everything anyway.
MOST_SIGNALS, _MOST_NUMBERS, _MOST_FITS = 10_000, 4_000_000, 3
_LINE = 100  # signals along a single axis that are shown beside each other
_COLOURS = {
    "ABSTAIN": "#bdbdbd", "EMPTY": "#212121", "SUPPORT_AMBIGUOUS": "#ffe0b2", "LOCAL_AMBIGUOUS": "#ffb74d",
    "GROUP": "#90caf9", "FINE": "#1565c0", "ABSENT": "#f5f5f5", "withheld": "#e57373", "no data": "#ffffff",
}  # fmt: skip
_NAMES = (*map(str, LABELS), "withheld", "no data")
_FINE, _GROUP = LABELS.index(Label.FINE), LABELS.index(Label.GROUP)


def write_map_page(
    path: str | os.PathLike[str],
    labelled: SignalMap,
    signals: Signals,
    title: str = "Map",
    judge: SignalJudge | None = None,
) -> None:
    """The page of a map of at most 10,000 signals, with the signals themselves where there is room for them.

    judge: that of the protocol, for the fits of the explanations that are kept; without it there are none.
    """
    if signals.count > MOST_SIGNALS:
        raise MisuseError("map", f"have at most {MOST_SIGNALS:,} signals for a page", f"{signals.count:,}")
    data = json.dumps(_content(labelled, signals, judge), separators=(",", ":"), allow_nan=False).replace(
        "<", "\\u003c"
    )
    parts = {
        "TITLE": escape(visible(title)),
        "LINES": "".join(f"<p>{escape(visible(line))}</p>" for line in labelled.lines()),
        "DATA": data,
    }
    template = (files("physupport.maps") / "page.html").read_text(encoding="utf-8")
    # In one go: what is put in may hold these words itself.
    text = re.sub("|".join(parts), lambda word: parts[word[0]], template)
    write_whole(Path(path), text.encode("utf-8"))


def _content(labelled: SignalMap, signals: Signals, judge: SignalJudge | None) -> dict[str, object]:
    shape, count, about = signals.shape, signals.count, labelled.about
    columns = shape[-1] if len(shape) > 1 else min(count, _LINE)
    arrays = {name: labelled.array(name) for name in labelled.store.names}
    flat = {name: array.reshape(count, *array.shape[len(shape) :]) for name, array in arrays.items()}
    entries = [{name: array[i] for name, array in flat.items()} for i in range(count)]
    slots = whole(about["slots"], None, None)
    layers = ("", "share_") if about["share"] is not None else ("",)
    return {
        "shape": [-(-count // columns), columns],
        "regions": [
            {"name": visible(region["name"]), "elements": [*map(visible, region["elements"])],
             "groups": [*map(visible, region["groups"])]} | {
                ("second" if layer else "first"):
                    _images(flat, number, slots[:, number], len(region["elements"]), layer) for layer in layers
            }
            for number, region in enumerate(about["regions"])
        ],
        "names": [*_NAMES],
        "words": [*map(label_in_words, _NAMES)],
        "colours": [_COLOURS[name] for name in _NAMES],
        "has_second": len(layers) > 1,
        "places": [", ".join(map(str, place)) for place in np.ndindex(*shape)],
        "sentences": [visible(signal_sentence(about, entry)) for entry in entries],
        "over_map": [visible(map_sentence(about, entry)) for entry in entries] if len(layers) > 1 else [],
        "kept": [
            [[*map(visible, kept_elements(about, i, entry["kept"]))] for i in range(len(about["regions"]))]
            for entry in entries
        ],
        "bands": [*map(visible, about["bands"])],
        "unit": visible(about["unit"]),
        **_curves(entries, signals, judge, slots),
    }  # fmt: skip


def _images(
    flat: dict[str, NDArray[Any]], number: int, slots: IntArray, n_elements: int, layer: str
) -> dict[str, list[int]]:
    """Of a region: numbers in the names; and with elements after these where they say FINE, and then groups."""
    labels = flat[f"{layer}label"][:, number].astype(np.int64)
    for name in ("withheld", "no data"):
        labels[flat["gate"] == GATES.index(name)] = _NAMES.index(name)
    kept = np.unpackbits(flat[f"{layer}kept"], axis=1, count=len(slots), bitorder="little").astype(np.bool_)
    groups = len(_NAMES) + n_elements + flat[f"{layer}group"][:, number].astype(np.int64)
    elements = np.where(labels == _GROUP, groups, labels)
    for i in np.flatnonzero(labels == _FINE).tolist():
        best = int(flat["best"][i])
        chosen = best if kept[i, best] else int(np.argmax(kept[i]))  # the one that fits best, if it is kept
        elements[i] = len(_NAMES) + slots[chosen]
    return {"labels": labels.tolist(), "elements": elements.tolist()}


def _curves(
    entries: list[dict[str, NDArray[Any]]], signals: Signals, judge: SignalJudge | None, slots: IntArray
) -> dict[str, object]:
    """Signals, by their mean where rows are repeated, and fits of what is kept, as many as there is room for."""
    room = _MOST_NUMBERS // (signals.count * signals.channels)
    rows = signals.read() if room else np.empty((0, 1, 1))
    n_fits = min(_MOST_FITS, room - 1) if judge is not None else 0
    fits = []
    for entry, own in zip(entries, rows, strict=False):
        chosen = _shown(entry, slots)[: max(n_fits, 0)] if np.isfinite(own).all() else []
        made = [(e, judge.fitted(own, e)) for e in chosen if judge is not None]
        fits.append([[slots[e].tolist(), _numbers(fit)] for e, fit in made if fit is not None])
    return {"signals": [_numbers(row.mean(axis=0)) for row in rows], "fits": fits}


def _shown(entry: dict[str, NDArray[Any]], slots: IntArray) -> list[int]:
    """Explanations whose fits are worth seeing: the best, and of others that are kept one for each thing they say."""
    if int(entry["best"]) < 0:
        return []
    kept = np.flatnonzero(np.unpackbits(entry["kept"], count=len(slots), bitorder="little")).tolist()
    first_of: dict[tuple[int, ...], int] = {}
    for e in [int(entry["best"]), *kept]:
        first_of.setdefault(tuple(slots[e].tolist()), e)
    return [*first_of.values()]


def _numbers(values: Field) -> list[float]:
    """Of a row, complex ones by their modulus; none of one that is not finite."""
    shown = np.abs(values) if np.iscomplexobj(values) else values
    return [float(f"{value:.5g}") for value in shown.tolist()] if np.isfinite(shown).all() else []
