"""A finished map, or the part of one that is done: arrays by name, and words for single signals."""

import os
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from .._codec import whole
from .._errors import MisuseError
from .._typing import BoolArray
from ..questions import Label
from ._labels import LABELS
from ._protocol import GATES, NO_DATA, OPEN, WITHHELD
from ._store import Store


@final
@dataclass(frozen=True, slots=True, eq=False)
class SignalMap:
    """Arrays over the leading axes of the signals.

    `label` and `group` (..., R) are numbers in `labels` and in the groups of each region, `kept` (..., bytes) has bit e
    set where explanation e is kept, all at the level of each signal by itself.  `gate` says what stands between a
    signal and its label: it withholds labels where what fits best does not fit.  `evidence` counts the levels, from the
    largest, at which the labels still state something.  `share_label`, `share_group` and `share_kept` are the second
    layer, in which the expected share of false statements over the map is at most its rate.
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
        """A memory map of one of the arrays."""
        return self.store.array(name)

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
        """A Dataset over the axes of the signals, with their coordinates; its `to_zarr` writes a chunked store."""
        xarray, about = import_module("xarray"), self.about
        names = sorted(path.stem for path in self.store.folder.glob("*.npy") if not path.stem.endswith("_hashes"))
        further = {"label": "region", "group": "region", "kept": "byte"}
        arrays: dict[str, tuple[Any, ...]] = {}
        for name in names:
            last = further.get(name.removeprefix("share_"))
            arrays[name] = ([*about["axes"], *([last] if last else [])], self.array(name))
        arrays["noise"] = (*arrays["noise"], {"units": about["unit"]})
        coordinates = {axis: list(values) for axis, values in about["coordinates"].items()}
        attributes = {key: about[key] for key in ("labels", "gates", "level")} | {"rate": about["rate"] or 0.0}
        return xarray.Dataset(arrays, coordinates | {"region": [*self.regions]}, attributes)

    def lines(self) -> list[str]:
        """The map in a few sentences, which say what holds for single signals and what for all of them together."""
        gate, count = self.array("gate"), int(np.prod(self.about["shape"]))
        told = []
        for region in self.regions:
            labels = self.labels(region)[gate == OPEN]
            parts = ", ".join(f"{label} {int((labels == str(label)).sum()):,}" for label in LABELS if label in labels)
            told.append(f"{region}, each signal by itself at level {self.about['level']:g}: {parts or 'nothing'}.")
        others = ", ".join(f"{int((gate == i).sum()):,} {name}" for i, name in enumerate(GATES) if i != OPEN)
        told.append(f"Of {count:,} signals: {others}.")
        share = self.about["share"]
        if share is not None:
            told.append(
                f"Over the map, with an expected share of at most {share['rate']:g} of them false: "
                f"{share['statements']:,} statements, at level {share['level']:.2g}."
            )
        return told

    def sentence(self, index: tuple[int, ...]) -> str:
        """What is said of one signal, at its own level."""
        gate, noise = int(self.array("gate")[index]), float(self.array("noise")[index])
        if gate == NO_DATA:
            return "No data: not all numbers of this signal are finite."
        if gate != OPEN:
            outsider = int(self.array("outsider")[index])
            named = self.about["outsiders"]
            place = f"; something not in the bank is at {named[outsider]}" if 0 <= outsider < len(named) else ""
            what = "Labels are withheld: the best fit does not fit" if gate == WITHHELD else "Nothing in the bank fits"
            return f"{what}{place}."
        parts = [self._field(number, index) for number in range(len(self.regions))]
        unit = f" {self.about['unit']}" if self.about["unit"] else ""
        level = f"at level {self.about['level']:g}"
        return f"{' '.join(parts)} Noise {noise:.3g}{unit}; {level} for this signal by itself."

    def _field(self, number: int, index: tuple[int, ...]) -> str:
        region = self.about["regions"][number]
        label, group = LABELS[int(self.array("label")[index][number])], int(self.array("group")[index][number])
        kept = np.flatnonzero(self._kept_elements(number, index))
        names = ", ".join(region["elements"][i] for i in kept.tolist())
        where = f" in {region['groups'][group]}" if group >= 0 else ""
        words = {
            Label.FINE: f"{region['name']}: {names}.",
            Label.GROUP: f"{region['name']}: one of {names}{where}.",
            Label.ABSENT: f"{region['name']}: nothing.",
            Label.LOCAL_AMBIGUOUS: f"{region['name']}: one of {names}, which are apart.",
            Label.SUPPORT_AMBIGUOUS: f"{region['name']}: nothing, or one of {names}.",
        }
        return words.get(label, f"{region['name']}: nothing is said.")

    def _kept_elements(self, number: int, index: tuple[int, ...]) -> BoolArray:
        slots = whole(self.about["slots"], None, None)[:, number]
        kept = np.unpackbits(self.array("kept")[index], count=len(slots), bitorder="little").astype(np.bool_)
        return np.isin(np.arange(len(self.about["regions"][number]["elements"])), slots[kept])

    def _number(self, region: str) -> int:
        if region not in self.regions:
            raise MisuseError("region", f"be one of {self.regions}", repr(region))
        return self.regions.index(region)
