"""Classes of the signals of a map: one number each, with names and colours, for its page and for other programs."""

import colorsys
import csv
import io
import json
import os
import re
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._codec import whole
from .._errors import Clause, MisuseError, visible
from .._files import write_whole
from .._typing import BoolArray, IntArray
from ..questions import Label
from ._protocol import GATES, LABELS

if TYPE_CHECKING:
    from ._amounts import SignalAmounts
    from ._result import SignalMap

COLOURS = {
    "ABSTAIN": "#bdbdbd", "EMPTY": "#212121", "SUPPORT_AMBIGUOUS": "#ffe0b2", "LOCAL_AMBIGUOUS": "#ffb74d",
    "GROUP": "#90caf9", "FINE": "#1565c0", "ABSENT": "#f5f5f5", "withheld": "#e57373", "no data": "#ffffff",
}  # fmt: skip
NAMES = (*map(str, LABELS), "withheld", "no data")
# Of the elements that are certain most often; others have paler ones in equal turns.
_FIRST = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f3c8d", "#8c564b", "#6b8e23", "#d62728")
_TURN = 137.5 / 360.0
_FINE = LABELS.index(Label.FINE)
_GROUP = LABELS.index(Label.GROUP)
_MOST_TOLD = 5
_MOST_CLASSES = 2**15 - 1  # of the whole numbers in a class image


class Classes(NamedTuple):
    """One region of a map: a class for every signal, in their order, and what the classes are.

    Classes are the labels, then all elements, where one is certain, then all groups.
    """

    numbers: IntArray  # (count,)
    names: tuple[str, ...]
    colours: tuple[str, ...]
    certain: IntArray  # (elements,) signals in which an element is certain
    possible: IntArray  # (elements,) signals in which it is possible


def classes_of(labelled: "SignalMap", number: int, layer: str = "") -> Classes:
    """The classes of a region; layer: "share_" for the second layer."""
    about = labelled.about
    region = about["regions"][number]
    slots = whole(about["slots"], None, None)[:, number]
    shape = labelled.array("gate").shape
    count = int(np.prod(shape, dtype=np.int64))
    flat = {name: labelled.array(name).reshape(count, *labelled.array(name).shape[len(shape) :])
            for name in (f"{layer}label", f"{layer}group", f"{layer}kept", "gate", "best")}  # fmt: skip
    labels = labels_of(flat, number, layer)
    kept = unpacked(flat[f"{layer}kept"], len(slots))
    n_elements = len(region["elements"])
    groups = len(NAMES) + n_elements + flat[f"{layer}group"][:, number].astype(np.int64)
    numbers = np.where(labels == _GROUP, groups, labels)
    for i in np.flatnonzero(labels == _FINE).tolist():
        numbers[i] = len(NAMES) + slots[best_kept(int(flat["best"][i]), kept[i])]
    is_told = labels < len(LABELS)
    certain = np.bincount(np.maximum(numbers - len(NAMES), -1) + 1, minlength=n_elements + 1)[1 : n_elements + 1]
    holds = np.stack([kept[:, slots == e].any(axis=1) for e in range(n_elements)], axis=1)
    names = (*NAMES, *region["elements"], *(f"one of {group}" for group in region["groups"]))
    colours = _colours(certain, len(region["groups"]))
    return Classes(numbers, tuple(map(visible, names)), colours, certain, holds[is_told].sum(axis=0))


def labels_of(flat: dict[str, NDArray[Any]], number: int, layer: str) -> IntArray:
    """(count,) the label of each signal, or why it has none, as numbers in the names."""
    labels = flat[f"{layer}label"][:, number].astype(np.int64)
    for name in ("withheld", "no data"):
        labels[flat["gate"] == GATES.index(name)] = NAMES.index(name)
    return labels


def best_kept(best: int, kept: BoolArray) -> int:
    """The explanation that fits best, if it is kept (M,); else the first that is."""
    return best if kept[best] else int(np.argmax(kept))


def unpacked(kept: NDArray[np.uint8], size: int) -> BoolArray:
    """(..., M) true for the explanations that sets of bits (..., bytes) hold."""
    return np.unpackbits(kept, axis=-1, count=size, bitorder="little").astype(np.bool_)


def _colours(certain: IntArray, n_groups: int) -> tuple[str, ...]:
    """A colour for each class: distinct ones for the elements that are certain most often."""
    order = np.argsort(-certain, kind="stable")
    elements = [""] * len(certain)
    for place, e in enumerate(order.tolist()):
        elements[e] = _FIRST[place] if place < len(_FIRST) else _hue(place, 0.45, 0.5)
    groups = [_hue(k, 0.85, 0.6) for k in range(n_groups)]
    return (*(COLOURS[name] for name in NAMES), *elements, *groups)


def _hue(turn: int, lightness: float, saturation: float) -> str:
    red, green, blue = colorsys.hls_to_rgb(turn * _TURN % 1.0, lightness, saturation)
    return f"#{round(255 * red):02x}{round(255 * green):02x}{round(255 * blue):02x}"


def first_line(labelled: "SignalMap", number: int, classes: Classes) -> str:
    """The content of a region of the map, in one plain sentence."""
    elements = [visible(name) for name in labelled.about["regions"][number]["elements"]]
    total = len(classes.numbers)
    order = [int(e) for e in np.argsort(-classes.certain, kind="stable") if classes.certain[e]]
    told = [f"{elements[e]} in {int(classes.certain[e]):,}" for e in order[:_MOST_TOLD]]
    more = f", and {len(order) - _MOST_TOLD} more" if len(order) > _MOST_TOLD else ""
    sure = int(classes.certain.sum())
    said = f"{visible(labelled.regions[number])}: of {total:,} signals {sure:,} have one certain element"
    said += f" ({', '.join(told)}{more})" if told else ""
    grouped = int((classes.numbers >= len(NAMES) + len(elements)).sum())
    return f"{said}; {grouped:,} have one of a group." if grouped else f"{said}."


def csv_text(labelled: "SignalMap", amounts: "Sequence[SignalAmounts]" = ()) -> str:
    """Return a line for each signal: its place and, for each region, label, class and all that is possible.

    amounts: of each signal, whose elements and their shares in the sum over all regions come last.
    """
    about = labelled.about
    shape = labelled.array("gate").shape
    slots = whole(about["slots"], None, None)
    kept = unpacked(labelled.array("kept").reshape(-1, labelled.array("kept").shape[-1]), len(slots))
    every = [classes_of(labelled, number) for number in range(len(labelled.regions))]
    labels = [labels_of(_flat(labelled, shape), number, "") for number in range(len(labelled.regions))]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    parts = ("label", "class", "possible", *(("amounts", "shares") if amounts else ()))
    heads = [f"{region} {part}" for region in labelled.regions for part in parts]
    writer.writerow([*about["axes"], *map(visible, heads)])
    for i, place in enumerate(np.ndindex(*shape)):
        cells = [*map(str, place)]
        for number, (classes, own) in enumerate(zip(every, labels, strict=True)):
            elements = about["regions"][number]["elements"]
            left = np.unique(slots[kept[i], number]).tolist() if own[i] < len(LABELS) else []
            named = "; ".join(visible(elements[e]) if e >= 0 else "nothing" for e in left)
            cells += [NAMES[own[i]], classes.names[classes.numbers[i]], named]
            if amounts:
                name = labelled.regions[number]
                cells += [visible(amounts[i].within(name).words), visible(amounts[i].shares(name))]
        writer.writerow([f"'{cell}" if cell.startswith(("=", "+", "-", "@")) else cell for cell in cells])
    return text.getvalue()


def _flat(labelled: "SignalMap", shape: tuple[int, ...]) -> dict[str, NDArray[Any]]:
    count = int(np.prod(shape, dtype=np.int64))
    return {
        name: labelled.array(name).reshape(count, *labelled.array(name).shape[len(shape) :])
        for name in ("label", "gate")
    }


def write_envi(labelled: "SignalMap", path: str | os.PathLike[str], number: int) -> None:
    """Write an ENVI classification: the numbers in `path`, and the header beside it with the ending `.hdr`."""
    classes = classes_of(labelled, number)
    if len(classes.names) > _MOST_CLASSES:
        raise MisuseError("map", f"have at most {_MOST_CLASSES} classes for an image", len(classes.names))
    shape = labelled.array("gate").shape
    lines, samples = shape if len(shape) == 2 else (int(np.prod(shape[:-1], dtype=np.int64)), shape[-1])
    lookup = [int(colour[k : k + 2], 16) for colour in classes.colours for k in (1, 3, 5)]
    names = [re.sub(r"[{},\r\n]", " ", name).strip() for name in classes.names]
    header = (
        f"ENVI\nsamples = {samples}\nlines = {lines}\nbands = 1\nheader offset = 0\nfile type = ENVI Classification\n"
        f"data type = 2\ninterleave = bsq\nbyte order = 0\nclasses = {len(names)}\n"
        f"class lookup = {{{_joined(lookup)}}}\nclass names = {{{_joined(names)}}}\n"
    )
    write_whole(Path(path), classes.numbers.astype("<i2").tobytes())
    write_whole(Path(path).with_suffix(".hdr"), header.encode("utf-8"))


def _joined(values: Sequence[object]) -> str:
    return ", ".join(map(str, values))


def write_netcdf(labelled: "SignalMap", path: str | os.PathLike[str]) -> None:
    """Write all arrays with their axes and coordinates by xarray; what the map is about becomes text where it must."""
    dataset = labelled.to_xarray()
    dataset.attrs = {
        name: value if isinstance(value, str) else json.dumps(value) for name, value in dataset.attrs.items()
    }
    if not any(_is_installed(name) for name in ("netCDF4", "h5netcdf", "scipy")):
        raise MisuseError(
            "to_netcdf", "have a package that writes NetCDF", Clause("none is installed"), "Install netCDF4."
        )
    if not any(_is_installed(name) for name in ("netCDF4", "h5netcdf")):  # scipy writes no unsigned numbers
        dataset = dataset.map(
            lambda array: array.astype(np.int16) if array.dtype == np.uint8 else array, keep_attrs=True
        )
    dataset.load().to_netcdf(os.fspath(path))


def _is_installed(name: str) -> bool:
    try:
        import_module(name)
    except ImportError:
        return False
    return True
