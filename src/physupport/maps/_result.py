"""A finished map, or the part of one that is done: arrays by name, and words for single signals."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from .._codec import dumped, whole
from .._errors import MisuseError
from .._files import write_whole
from .._typing import BoolArray, IntArray
from ..questions import Label
from ..report._phrases import in_words
from ._labels import LABELS, STATEMENTS
from ._protocol import GATES, NO_DATA, OPEN, WITHHELD
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
    the expected share of false statements over the map is at most its rate.
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
        """Those asked about."""
        return tuple(region["name"] for region in self.about["regions"])

    def array(self, name: str) -> NDArray[Any]:
        """All of one of the arrays."""
        return self.store.array(name)

    def entry(self, index: tuple[int, ...]) -> dict[str, NDArray[Any]]:
        """What all arrays say of one signal."""
        return {name: self.store.entry(name, index) for name in self.store.names}

    def labels(self, region: str, *, share: bool = False) -> NDArray[Any]:
        """The labels of a region as words, over the axes of the signals; share: of the second layer."""
        numbers = self.array("share_label" if share else "label")[..., self._number(region)]
        return np.asarray(np.array([str(label) for label in LABELS])[numbers])

    def elements(self, region: str, *, share: bool = False) -> BoolArray:
        """(..., m) which elements of a region are kept."""
        number = self._number(region)
        slots = whole(self.about["slots"], None, None)[:, number]
        packed = self.array("share_kept" if share else "kept")
        kept = np.unpackbits(packed, axis=-1, count=len(slots), bitorder="little")
        out = np.zeros((*kept.shape[:-1], len(self.about["regions"][number]["elements"])), dtype=np.bool_)
        for element in range(out.shape[-1]):
            out[..., element] = kept[..., slots == element].any(axis=-1)
        return out

    def to_xarray(self) -> Any:  # noqa: ANN401  xarray carries no types
        """A Dataset over the axes of the signals, with names, coordinates and units, read when it is used."""
        return import_module("xarray").open_zarr(self.store.group)

    def save(self, path: str | os.PathLike[str]) -> None:
        """All arrays, and what they are about as a JSON text, in one .npz file."""
        about = {name: value for name, value in self.about.items() if name != "protocol"}
        arrays: dict[str, Any] = {name: self.array(name) for name in self.store.names}
        file, place = BytesIO(), os.fspath(path)
        np.savez_compressed(file, about=np.array(dumped(about)), **arrays)
        write_whole(Path(place if place.endswith(".npz") else f"{place}.npz"), file.getvalue())

    def lines(self) -> list[str]:
        """The map in a few sentences, which say what holds for single signals and what for all of them together."""
        sentences, (labels, gates) = [], self._counts()
        without = "no data to judge" if gates[NO_DATA] == gates.sum() else "no signal with a label"
        for region, counts in zip(self.regions, labels, strict=True):
            parts = "; ".join(
                f"{n:,} {label_in_words(str(label))}" for label, n in zip(LABELS, counts.tolist(), strict=True) if n
            )
            sentences.append(f"{region}, each signal by itself at level {self.about['level']:g}: {parts or without}.")
        others = ", ".join(f"{gates[i]:,} {name}" for i, name in enumerate(GATES) if i != OPEN)
        sentences.append(f"Of {gates.sum():,} signals: {others}.")
        share = self.about["share"]
        if share is not None:
            sentences.append(
                f"Over the map, with an expected share of at most {share['rate']:g} of them false: "
                f"{share['statements']:,} statements, at level {share['level']:.2g}."
            )
        return sentences

    def _counts(self) -> tuple[IntArray, IntArray]:
        """(R, labels) open signals with each label, and (gates,) all of them; read block by block."""
        labels, gates = np.zeros((len(self.regions), len(LABELS)), dtype=np.int64), np.zeros(len(GATES), dtype=np.int64)
        for block in range(len(self.store.blocks)):
            gate = self.store.read("gate", block)
            gates += np.bincount(gate, minlength=len(GATES))
            for own, column in zip(labels, self.store.read("label", block)[gate == OPEN].T, strict=True):
                own += np.bincount(column, minlength=len(LABELS))
        return labels, gates

    def sentence(self, index: tuple[int, ...], *, share: bool = False) -> str:
        """What is said of one signal, at its own level; share: in the second layer."""
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
    """What the entries of one signal say in words."""
    gate, noise = int(entry["gate"]), float(entry["noise"])
    if gate == NO_DATA:
        return "No data: not all numbers of this signal are finite."
    if gate != OPEN:
        outsider, named = int(entry["outsider"]), about["outsiders"]
        place = f"; something not in the bank is at {named[outsider]}" if 0 <= outsider < len(named) else ""
        why = _NOISE if _is_of_noise(about) else "the best fit does not fit"
        what = f"Labels are withheld: {why}" if gate == WITHHELD else "Nothing in the bank fits"
        return f"{what}{_misfit(about, entry)}{place}."
    unit = f" {about['unit']}" if about["unit"] else ""
    of = "" if np.isnan(noise) else f" Noise {noise:.3g}{unit}{_misfit(about, entry)};"
    return f"{_fields(about, entry, '')}{of} at level {about['level']:g} for this signal by itself."


def map_sentence(about: dict[str, Any], entry: Mapping[str, NDArray[Any]]) -> str:
    """What the second layer says of one signal in words."""
    share = about["share"]
    if share is None:
        raise MisuseError("rate", "be given when the map is made, for a second layer", "none")
    if not STATEMENTS[entry["share_label"]].any():
        return f"Nothing is stated of this signal where at most {share['rate']:g} of all that is stated may be false."
    rest = f"{share['statements']:,} signals of which something is stated: the expected share of false ones is at most"
    return f"{_fields(about, entry, 'share_')} One of {rest} {share['rate']:g}."


_NOISE = "what should be noise alone is not the noise that is stated"


def _is_of_noise(about: dict[str, Any]) -> bool:
    """Whether the gate looks at the noise and at no fit: of evidence it has a share of the level."""
    return isinstance(about["protocol"].get("noise"), float)


def _misfit(about: dict[str, Any], entry: Mapping[str, NDArray[Any]]) -> str:
    p, of = float(entry["misfit"]), "of the noise, " if _is_of_noise(about) else "misfit "
    return "" if np.isnan(p) else f" ({of}p = {p:.2g})"


def _fields(about: dict[str, Any], entry: Mapping[str, NDArray[Any]], layer: str) -> str:
    return " ".join(_field(about, number, entry, layer) for number in range(len(about["regions"])))


def _field(about: dict[str, Any], number: int, entry: Mapping[str, NDArray[Any]], layer: str) -> str:
    region = about["regions"][number]
    label, group = LABELS[int(entry[f"{layer}label"][number])], int(entry[f"{layer}group"][number])
    names = ", ".join(kept_elements(about, number, entry[f"{layer}kept"]))
    where = f" in {region['groups'][group]}" if group >= 0 else ""
    words = {
        Label.FINE: f"{region['name']}: {names}.",
        Label.GROUP: f"{region['name']}: one of {names}{where}.",
        Label.ABSENT: f"{region['name']}: nothing.",
        Label.LOCAL_AMBIGUOUS: f"{region['name']}: one of {names}, which are apart.",
        Label.SUPPORT_AMBIGUOUS: f"{region['name']}: nothing, or one of {names}.",
    }
    return words.get(label, f"{region['name']}: nothing is said.")


def kept_elements(about: dict[str, Any], number: int, kept: NDArray[np.uint8]) -> list[str]:
    """Elements of a region that a bit set of explanations keeps."""
    slots = whole(about["slots"], None, None)[:, number]
    chosen = slots[np.unpackbits(kept, count=len(slots), bitorder="little").astype(np.bool_)]
    return [about["regions"][number]["elements"][i] for i in np.unique(chosen[chosen >= 0]).tolist()]
