"""Arrays of signals: any leading axes, channels last, read in ranges and never as a whole."""

import os
import sys
from dataclasses import dataclass
from importlib import import_module
from math import prod
from pathlib import Path
from typing import Any, final

import numpy as np

from .._checks import as_float64
from .._errors import MisuseError
from .._typing import Array
from ..io import read_array


@final
@dataclass(frozen=True, slots=True, eq=False)
class Signals:
    """Signals along any number of axes, with the names that their holder gives to these."""

    values: Any  # has a shape and gives slices along its first axis
    axes: tuple[str, ...]  # names of the leading axes
    coordinates: dict[str, tuple[str, ...]]  # of those axes that have some
    unit: str

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the leading axes."""
        return tuple(int(length) for length in self.values.shape[:-1])

    @property
    def count(self) -> int:
        """How many signals."""
        return prod(self.shape)

    @property
    def channels(self) -> int:
        """Entries of each."""
        return int(self.values.shape[-1])

    def at(self, index: tuple[int, ...]) -> Array:
        """(q,) one signal."""
        number = int(np.ravel_multi_index(index, self.shape))
        return np.asarray(self.read(number, number + 1)[0])

    def read(self, start: int, stop: int) -> Array:
        """(stop - start, q) signals in the order of their axes, the last of these fastest."""
        inner = prod(self.shape[1:])
        first, last = start // inner, -(-stop // inner)
        block = np.asarray(self.values[first:last]).reshape(-1, self.channels)
        return np.ascontiguousarray(as_float64("signals", block[start - first * inner : stop - first * inner], start))


def as_signals(value: object, *, channels: str | None = None, member: str | None = None) -> Signals:
    """Signals in an array, a labelled array, or a file.

    value: a NumPy array or memory map, a Dask or Zarr array, an HDF5 dataset, an xarray DataArray; or the name of a
    file of any type that tables come in, or of a Zarr array.  Those of type .npy, .h5 and .zarr are read in blocks.
    channels: of a labelled array, the dimension that runs over channels; the last unless given.
    member: which array of a container.
    """
    if isinstance(value, Signals):
        return value
    if isinstance(value, str | os.PathLike):
        return _checked(*_opened(Path(value), member))
    xarray = sys.modules.get("xarray")
    if xarray is not None and isinstance(value, xarray.DataArray):
        return _labelled(value, channels)
    array = value if hasattr(value, "shape") and hasattr(value, "__getitem__") else np.asarray(value)
    return _checked(array, (), {}, "")


def _checked(values: Any, axes: tuple[str, ...], coordinates: dict[str, tuple[str, ...]], unit: str) -> Signals:  # noqa: ANN401
    if len(values.shape) < 2 or 0 in values.shape:
        rule = "have at least two axes, signals and channels, with at least one of each"
        raise MisuseError("signals", rule, f"shape {tuple(values.shape)}")
    if np.dtype(values.dtype).kind not in "iuf":
        raise MisuseError("signals", "hold real numbers", f"dtype {values.dtype}")
    count = len(values.shape) - 1
    return Signals(values, axes or tuple(f"axis {i}" for i in range(count)), coordinates, unit)


def _labelled(value: Any, channels: str | None) -> Signals:  # noqa: ANN401  xarray carries no types
    dims = tuple(map(str, value.dims))
    if channels is not None and channels not in dims:
        raise MisuseError("channels", f"be one of the dimensions {dims}", repr(channels))
    ordered = value.transpose(..., channels or dims[-1])
    axes = tuple(map(str, ordered.dims))[:-1]
    coordinates = {axis: tuple(map(str, value.coords[axis].values)) for axis in axes if axis in value.coords}
    return _checked(ordered.data, axes, coordinates, str(value.attrs.get("units", "")))


def _opened(path: Path, member: str | None) -> tuple[Any, tuple[str, ...], dict[str, tuple[str, ...]], str]:
    """What is in a file, mapped or opened where it can be."""
    if path.suffix == ".zarr":
        array = _package("zarr", path).open(path, mode="r")
        return array[member] if member else array, (), {}, ""
    if path.suffix in (".h5", ".hdf5") and member is not None:
        dataset = _package("h5py", path).File(path, "r")[member]
        labels = tuple(str(dimension.label) for dimension in dataset.dims)[:-1]
        return dataset, labels if all(labels) else (), {}, str(dataset.attrs.get("units", ""))
    return read_array(path, member), (), {}, ""


def _package(name: str, path: Path) -> Any:  # noqa: ANN401
    try:
        return import_module(name)
    except ImportError as error:
        extra = {"zarr": "maps", "h5py": "io"}[name]
        remedy = f'Install it with pip install "physupport[{extra}]".'
        raise MisuseError(f"signals {path}", f"be read with {name}", "no such package", remedy) from error
