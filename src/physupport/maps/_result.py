"""A finished map, or the part of one that is done: arrays by name, words for single signals, and one page."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib import import_module
from importlib.resources import files
from io import BytesIO
from math import prod
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from .._codec import dumped, whole
from .._errors import Clause, MisuseError, visible
from .._files import write_whole
from .._typing import BoolArray, Field, IntArray
from ..io import check_codecs
from ..questions import Label
from ..report import has_widgets, in_words, listed, widget, widget_bundle
from ._amounts import SignalAmounts, signal_amounts
from ._classes import NAMES, classes_of, csv_text, first_line, unpacked, write_envi, write_netcdf
from ._judge import SignalJudge
from ._protocol import GATES, LABELS, NO_DATA, OPEN, STATEMENTS, WITHHELD
from ._signals import Signals
from ._store import Store


@final
@dataclass(frozen=True, slots=True, eq=False)
class SignalMap:
    """Arrays over the leading axes of the signals.

    `label` and `group` (..., R) are numbers in `labels` and in the groups of each region, `kept` (..., bytes) has bit e
    set where explanation e is kept, all at the level of each signal by itself.  `gate` says what stands between a
    signal and its label: it withholds labels where what fits best does not fit, and `misfit` is how far from fitting
    that is, as a p-value.  `evidence` (..., R) counts the levels, from the largest, at which the label of a region
    still states something.  `share_label`, `share_group` and `share_kept` are the second layer, in which
    the expected share of false statements over the map is at most its rate.  By evidence, `fits_from` is the smallest
    error of the responses at which something fits, of a few that are tried; `read_label`, `read_group` and `read_kept`
    are the answer at the stated error or twice that, whichever is larger, and `stands_to` (..., R) is the largest error
    at which its label is the same; nan where there is none.
    """

    store: Store

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> "SignalMap":
        """A map in a folder."""
        return cls(Store.open(Path(folder)))

    @property
    def about(self) -> dict[str, Any]:
        """Axes, coordinates, unit, level, regions with their elements and groups, and the second layer."""
        return self.store.about

    @property
    def regions(self) -> tuple[str, ...]:
        """Names of the regions."""
        return tuple(region["name"] for region in self.about["regions"])

    def array(self, name: str) -> NDArray[Any]:
        """Read one of the arrays."""
        return self.store.array(name)

    def entry(self, index: tuple[int, ...]) -> dict[str, NDArray[Any]]:
        """The entries of one signal in all arrays."""
        return {name: self.store.entry(name, index) for name in self.store.names}

    def labels(self, region: str, *, share: bool = False) -> NDArray[Any]:
        """The labels of a region as words, over the axes of the signals; share: of the second layer."""
        numbers = self.array("share_label" if share else "label")[..., self._number(region)]
        return np.asarray(np.array([str(label) for label in LABELS])[numbers])

    def elements(self, region: str, *, share: bool = False) -> BoolArray:
        """(..., m) which elements of a region are kept."""
        number = self._number(region)
        slots = whole(self.about["slots"], None, None)[:, number]
        kept = unpacked(self.array("share_kept" if share else "kept"), len(slots))
        out = np.zeros((*kept.shape[:-1], len(self.about["regions"][number]["elements"])), dtype=np.bool_)
        for element in range(out.shape[-1]):
            out[..., element] = kept[..., slots == element].any(axis=-1)
        return out

    def to_xarray(self) -> Any:  # noqa: ANN401  xarray carries no types
        """A Dataset over the axes of the signals, with names, coordinates and units, read when it is used."""
        check_codecs("map", self.store.group)
        return import_module("xarray").open_zarr(self.store.group, consolidated=False)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all arrays, and their description as JSON, into one .npz file."""
        about = {name: value for name, value in self.about.items() if name != "protocol"}
        arrays: dict[str, Any] = {name: self.array(name) for name in self.store.names}
        file = BytesIO()
        place = os.fspath(path)
        np.savez_compressed(file, about=np.array(dumped(about)), **arrays)
        write_whole(Path(place if place.endswith(".npz") else f"{place}.npz"), file.getvalue())

    def amounts(self, signals: Signals, judge: SignalJudge) -> tuple[SignalAmounts, ...]:
        """The amounts of the elements that each signal keeps, in the order of the signals.

        signals, judge: of which the map was made.  Where the judge has ranges at the level of a signal these are given,
        else the fit of the kept explanation that fits best, which has no guarantee.
        """
        (count, shape) = (signals.count, signals.shape)
        flat = {
            name: self.array(name).reshape(count, *self.array(name).shape[len(shape) :])
            for name in ("gate", "kept", "best")
        }
        return signal_amounts(self.about, flat, signals.read(), judge)

    def to_csv(self, path: str | os.PathLike[str], amounts: Sequence[SignalAmounts] = ()) -> None:
        """Write a line for each signal: its place, and for each region label, class and all that is possible.

        amounts: those of `amounts`, which are written beside these.
        """
        write_whole(Path(path), csv_text(self, amounts).encode("utf-8"))

    def to_envi(self, path: str | os.PathLike[str], region: str) -> None:
        """Write the classes of a region as an ENVI classification, with its header beside it."""
        write_envi(self, path, self._number(region))

    def to_netcdf(self, path: str | os.PathLike[str]) -> None:
        """Write all arrays with their axes as NetCDF; needs xarray and a package that writes NetCDF."""
        write_netcdf(self, path)

    def widget(
        self,
        signals: Signals | None = None,
        judge: SignalJudge | None = None,
        amounts: Sequence[SignalAmounts] = (),
    ) -> Any:  # noqa: ANN401  of anywidget
        """The page of the map as a widget, whose trait `chosen` is the number of the signal that was clicked last.

        signals, judge, amounts: as `write_map_page` takes them; without signals no curves are drawn.
        """
        return widget(_page(self, signals, "Map", judge, amounts))

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any] | None:  # noqa: ANN401  of the notebook
        """Show in notebooks the page of a map as a widget, if anywidget is installed and the map is small enough."""
        if not has_widgets() or not self.about["is_complete"] or prod(self.about["shape"]) > MOST_SIGNALS:
            return None
        return widget_bundle(_page(self, None, "Map", None, ()), "\n".join(self.first_lines()), options)

    def __str__(self) -> str:
        """The map in a few sentences."""
        return "\n".join([*self.first_lines(), *map(visible, self.lines())])

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self.array("gate").shape))
        return f"SignalMap({shape} signals, regions {listed(self.regions)})"

    def first_lines(self) -> list[str]:
        """The content of each region of the map, in one plain sentence."""
        return [first_line(self, number, classes_of(self, number)) for number in range(len(self.regions))]

    def lines(self) -> list[str]:
        """The map in a few sentences, which say what holds for single signals and what for all of them together."""
        sentences = []
        (labels, gates) = self._counts()
        without = "no data to judge" if gates[NO_DATA] == gates.sum() else "no signal with a label"
        for region, counts in zip(self.regions, labels, strict=True):
            parts = "; ".join(
                f"{n:,} {label_in_words(str(label))}" for label, n in zip(LABELS, counts.tolist(), strict=True) if n
            )
            sentences.append(f"{region}, each signal by itself at level {self.about['level']:g}: {parts or without}.")
        others = ", ".join(f"{gates[i]:,} {name}" for i, name in enumerate(GATES) if i != OPEN)
        sentences.append(f"Of {gates.sum():,} signals: {others}.")
        if "fits_from" in self.store.names:
            sentences.append(self._width_line())
        if _is_of_replicates(self.about):
            noise = "measured" if self.about["protocol"]["noise"] is None else "stated (replicate_noise)"
            sentences.append(
                "Unless a label is FINE, something outside the library is also possible. Labels are withheld where "
                "every remaining element has too few replicates to be excluded. The noise added to replicates "
                f"is {noise}."
            )
        share = self.about["share"]
        if share is not None:
            sentences.append(
                f"Over the whole map, {share['statements']:,} statements are made at level "
                f"{share['level']:.2g}. Of these, the "
                f"expected share of false ones (FDR) is at most {share['rate']:g}."
            )
        return sentences

    def _width_line(self) -> str:
        """State how many signals without an answer have one if responses may have an error, and of what size."""
        (without, answered, errors) = (0, 0, [])
        for block in range(len(self.store.blocks)):
            gate = self.store.read("gate", block)
            is_mute = (gate != OPEN) & (gate != NO_DATA)
            fits_from = self.store.read("fits_from", block)[is_mute]
            without += int(is_mute.sum())
            answered += int(STATEMENTS[self.store.read("read_label", block)[is_mute]].any(axis=1).sum())
            errors.append(fits_from[np.isfinite(fits_from)])
        found = np.concatenate(errors) if errors else np.zeros(0)
        if not found.size:
            return f"Of {without:,} signals without a label, none has one at a larger error of the responses."
        return (
            f"Of {without:,} signals without a label, {answered:,} have one at twice the smallest error of the "
            f"responses at which something fits, which is {float(np.median(found)):g} in the median."
        )

    def _counts(self) -> tuple[IntArray, IntArray]:
        """(R, labels) open signals with each label, and (gates,) all of them; read block by block."""
        labels = np.zeros((len(self.regions), len(LABELS)), dtype=np.int64)
        gates = np.zeros(len(GATES), dtype=np.int64)
        for block in range(len(self.store.blocks)):
            gate = self.store.read("gate", block)
            gates += np.bincount(gate, minlength=len(GATES))
            for own, column in zip(labels, self.store.read("label", block)[gate == OPEN].T, strict=True):
                own += np.bincount(column, minlength=len(LABELS))
        return labels, gates

    def sentence(self, index: tuple[int, ...], *, share: bool = False) -> str:
        """Return the sentence about one signal, at its own level; share: in the second layer."""
        return (map_sentence if share else signal_sentence)(self.about, self.entry(index))

    def _number(self, region: str) -> int:
        if region not in self.regions:
            raise MisuseError("region", f"be one of {self.regions}", repr(region))
        return self.regions.index(region)


def label_in_words(name: str) -> str:
    """A label of a map with its code, or another name as it is; elements of maps need not have places.

    >>> label_in_words("FINE"), label_in_words("no data")
    ('identified (FINE)', 'no data')
    """
    words = in_words(name, {}, has_places=False)
    return f"{words} ({name})" if words else name


def signal_sentence(about: dict[str, Any], entry: Mapping[str, NDArray[Any]]) -> str:
    """Return a sentence about one signal, from its entries."""
    gate = int(entry["gate"])
    noise = float(entry["noise"])
    if gate == NO_DATA:
        return "No data: not all numbers of this signal are finite."
    if gate != OPEN:
        outsider = int(entry["outsider"])
        named = about["outsiders"]
        place = f"; something not in the bank is at {named[outsider]}" if 0 <= outsider < len(named) else ""
        why = _NOISE if _is_of_noise(about) else _STUCK if _is_of_replicates(about) else "even the best fit is rejected"
        what = f"Labels are withheld: {why}" if gate == WITHHELD else "No explanation considered fits"
        return f"{what}{_misfit(about, entry)}{place}.{_at_larger_errors(about, entry)}"
    unit = f" {about['unit']}" if about["unit"] else ""
    of = "" if np.isnan(noise) else f" Noise {noise:.3g}{unit}{_misfit(about, entry)};"
    return f"{_fields(about, entry, '')}{of} at level {about['level']:g} for this signal by itself."


def _at_larger_errors(about: dict[str, Any], entry: Mapping[str, NDArray[Any]]) -> str:
    """The answer where responses may be off, and how far that stands; empty where a map has none."""
    if "fits_from" not in entry or np.isnan(entry["fits_from"]):
        return ""
    said = f" Something fits if responses are off by an error of {float(entry['fits_from']):g}."
    if not STATEMENTS[entry["read_label"]].any():
        return said
    most = float(np.nanmin(entry["stands_to"]))
    return f"{said} At twice that: {_fields(about, entry, 'read_')} This holds up to an error of {most:g}."


def map_sentence(about: dict[str, Any], entry: Mapping[str, NDArray[Any]]) -> str:
    """Return a sentence about one signal, from the second layer."""
    share = about["share"]
    if share is None:
        raise MisuseError("rate", "be given when the map is made, for a second layer", Clause("there is none"))
    if not STATEMENTS[entry["share_label"]].any():
        return f"No statement on this signal if at most {share['rate']:g} of all statements of the map may be false."
    rest = f"{share['statements']:,} signals with a statement; their expected share of false ones is at most"
    return f"{_fields(about, entry, 'share_')} One of {rest} {share['rate']:g}."


_NOISE = "the residual noise contradicts the stated noise"
_STUCK = "every remaining element has too few replicates to be excluded"


def _is_of_replicates(about: dict[str, Any]) -> bool:
    """True if signals are compared with replicates, so that something that is not in the library may be there."""
    return bool(about["protocol"].get("judge") == "conformal")


def _is_of_noise(about: dict[str, Any]) -> bool:
    """True if the gate looks at the noise and at no fit: of evidence it has a share of the level."""
    return isinstance(about["protocol"].get("noise"), float)


def _misfit(about: dict[str, Any], entry: Mapping[str, NDArray[Any]]) -> str:
    p = float(entry["misfit"])
    of = "of the noise, " if _is_of_noise(about) else "misfit "
    return "" if np.isnan(p) else f" ({of}p = {p:.2g})"


def _fields(about: dict[str, Any], entry: Mapping[str, NDArray[Any]], layer: str) -> str:
    return " ".join(_field(about, number, entry, layer) for number in range(len(about["regions"])))


def _field(about: dict[str, Any], number: int, entry: Mapping[str, NDArray[Any]], layer: str) -> str:
    region = about["regions"][number]
    label = LABELS[int(entry[f"{layer}label"][number])]
    group = int(entry[f"{layer}group"][number])
    names = listed(kept_elements(about, number, entry[f"{layer}kept"]), _MOST_NAMED)
    where = f" in {region['groups'][group]}" if group >= 0 else ""
    where += ", or something that is not in the library" if _is_of_replicates(about) else ""
    words = {
        Label.FINE: f"{region['name']}: {names}.",
        Label.GROUP: f"{region['name']}: one of {names}{where}.",
        Label.ABSENT: f"{region['name']}: nothing.",
        Label.LOCAL_AMBIGUOUS: f"{region['name']}: one of {names}, which lie apart.",
        Label.SUPPORT_AMBIGUOUS: f"{region['name']}: nothing, or one of {names}.",
    }
    return words.get(label, f"{region['name']}: no statement.")


def kept_elements(about: dict[str, Any], number: int, kept: NDArray[np.uint8]) -> list[str]:
    """Elements of a region that a bit set of explanations keeps."""
    slots = whole(about["slots"], None, None)[:, number]
    chosen = slots[unpacked(kept, len(slots))]
    return [about["regions"][number]["elements"][i] for i in np.unique(chosen[chosen >= 0]).tolist()]


# Pages beyond are slow to open; the arrays of the map hold everything anyway.
MOST_SIGNALS = 10_000
_MOST_NUMBERS = 4_000_000
_MOST_FITS = 3
_MOST_AREAS = 40  # elements in the table of areas
_MOST_NAMED = 12  # elements in the sentence on a signal
_LINE = 100  # signals along a single axis that are shown beside each other


def write_map_page(
    path: str | os.PathLike[str],
    labelled: SignalMap,
    signals: Signals,
    title: str = "Map",
    judge: SignalJudge | None = None,
    amounts: Sequence[SignalAmounts] = (),
) -> None:
    """The page of a map of at most 10,000 signals, with the signals themselves where there is room for them.

    judge: that of the protocol, for the fits of the explanations that are kept; without it there are none.
    amounts: those of `SignalMap.amounts`, for the amounts of a signal and pictures of them.
    """
    write_whole(Path(path), _page(labelled, signals, title, judge, amounts).encode("utf-8"))


def _page(
    labelled: SignalMap,
    signals: Signals | None,
    title: str,
    judge: SignalJudge | None,
    amounts: Sequence[SignalAmounts],
) -> str:
    """The page of a map."""
    count = prod(labelled.about["shape"])
    if count > MOST_SIGNALS:
        raise MisuseError("map", f"have at most {MOST_SIGNALS:,} signals for a page", f"{count:,}")
    content = _content(labelled, signals, judge, amounts)
    data = json.dumps(content, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    parts = {
        "TITLE": escape(visible(title)),
        "FIRST": "".join(f'<p class="first">{escape(line)}</p>' for line in labelled.first_lines()),
        "LINES": "".join(f"<p>{escape(visible(line))}</p>" for line in labelled.lines()),
        "DATA": data,
    }
    template = (files("physupport.maps") / "page.html").read_text(encoding="utf-8")
    # In one go: what is put in may hold these words itself.
    return re.sub("|".join(parts), lambda word: parts[word[0]], template)


def _content(
    labelled: SignalMap, signals: Signals | None, judge: SignalJudge | None, amounts: Sequence[SignalAmounts]
) -> dict[str, object]:
    about = labelled.about
    shape = tuple(about["shape"])
    count = prod(shape)
    columns = shape[-1] if len(shape) > 1 else min(count, _LINE)
    arrays = {name: labelled.array(name) for name in labelled.store.names}
    flat = {name: array.reshape(count, *array.shape[len(shape) :]) for name, array in arrays.items()}
    entries = [{name: array[i] for name, array in flat.items()} for i in range(count)]
    slots = whole(about["slots"], None, None)
    layers = ("", "share_") if about["share"] is not None else ("",)
    return {
        "shape": [-(-count // columns), columns],
        "regions": [_region(labelled, number, layers, amounts) for number in range(len(about["regions"]))],
        "names": [*NAMES],
        "words": [*map(label_in_words, NAMES)],
        "has_second": len(layers) > 1,
        "places": [", ".join(map(str, place)) for place in np.ndindex(*shape)],
        "sentences": [visible(signal_sentence(about, entry)) for entry in entries],
        "over_map": [visible(map_sentence(about, entry)) for entry in entries] if len(layers) > 1 else [],
        "kept": [
            [[*map(visible, kept_elements(about, i, entry["kept"]))] for i in range(len(about["regions"]))]
            for entry in entries
        ],
        "amounts": [visible(own.words) for own in amounts],
        "bands": [*map(visible, about["bands"])],
        "unit": visible(about["unit"]),
        **({"signals": [], "fits": []} if signals is None else _curves(entries, signals, judge, slots)),
    }  # fmt: skip


def _region(
    labelled: SignalMap, number: int, layers: Sequence[str], amounts: Sequence[SignalAmounts]
) -> dict[str, object]:
    """A region with its classes, their colours, and an image of classes and one of labels for each layer."""
    region = labelled.about["regions"][number]
    first, *others = [classes_of(labelled, number, layer) for layer in layers]
    images = {}
    for name, classes in zip(("first", "second"), (first, *others), strict=False):
        fine = np.where(classes.numbers < len(NAMES), classes.numbers, LABELS.index(Label.FINE))
        is_group = classes.numbers >= len(NAMES) + len(region["elements"])
        labels = np.where(is_group, LABELS.index(Label.GROUP), fine)
        images[name] = {"elements": classes.numbers.tolist(), "labels": labels.tolist()}
    areas = sorted(zip(first.certain.tolist(), first.possible.tolist(), region["elements"], strict=True), reverse=True)
    return {
        "name": visible(region["name"]),
        "elements": [*map(visible, region["elements"])],
        "classes": first.names,
        "colours": first.colours,
        "sizes": [float(f"{own.size(region['name']):.3g}") for own in amounts],
        "areas": [[visible(name), sure, most] for sure, most, name in areas if most][:_MOST_AREAS],
        **images,
    }


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
    kept = np.flatnonzero(unpacked(entry["kept"], len(slots))).tolist()
    first_of: dict[tuple[int, ...], int] = {}
    for e in [int(entry["best"]), *kept]:
        first_of.setdefault(tuple(slots[e].tolist()), e)
    return [*first_of.values()]


def _numbers(values: Field) -> list[float]:
    """The numbers of a row, complex ones by their modulus; none of one that is not finite."""
    shown = np.abs(values) if np.iscomplexobj(values) else values
    return [float(f"{value:.5g}") for value in shown.tolist()] if np.isfinite(shown).all() else []
