"""Arrays of signals: any leading axes, repeated rows and channels last, read in ranges and never as a whole."""

import os
import sys
from dataclasses import dataclass
from importlib import import_module
from math import prod
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from .._checks import as_float64
from .._errors import MisuseError
from .._typing import Field
from ..io import open_image, read_array

Axis: TypeAlias = str | int | None


class Coordinate(NamedTuple):
    """Where along an axis the signals lie."""

    values: NDArray[Any]  # numbers, or texts
    unit: str = ""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Signals:
    """Signals along any number of axes, with the names that their holder gives to these."""

    values: Any  # (..., T, q), or (..., q) of single rows; has a shape and gives slices along its first axis
    axes: tuple[str, ...]  # names of the leading axes
    coordinates: dict[str, Coordinate]  # of those axes that have some
    unit: str
    bands: tuple[str, ...] = ()  # names of the channels, where they have some
    has_repeats: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the leading axes."""
        return tuple(int(length) for length in self.values.shape[: -2 if self.has_repeats else -1])

    @property
    def count(self) -> int:
        """How many signals."""
        return prod(self.shape)

    @property
    def repeats(self) -> int:
        """Rows of each."""
        return int(self.values.shape[-2]) if self.has_repeats else 1

    @property
    def channels(self) -> int:
        """Entries of a row."""
        return int(self.values.shape[-1])

    @property
    def is_complex(self) -> bool:
        """Whether these are complex."""
        return bool(np.dtype(self.values.dtype).kind == "c")

    def at(self, index: tuple[int, ...]) -> Field:
        """(T, q) one signal."""
        number = int(np.ravel_multi_index(index, self.shape))
        return np.asarray(self.read(number, number + 1)[0])

    def read(self, start: int, stop: int) -> Field:
        """(stop - start, T, q) signals in the order of their axes, the last of these fastest."""
        inner = prod(self.shape[1:])
        first, last = start // inner, -(-stop // inner)
        block = np.asarray(self.values[first:last]).reshape(-1, self.repeats, self.channels)
        chosen = block[start - first * inner : stop - first * inner]
        if self.is_complex:
            return np.ascontiguousarray(chosen, dtype=np.complex128)
        return np.ascontiguousarray(as_float64("signals", chosen, start))


def as_signals(value: object, *, channels: Axis = None, repeats: Axis = None, member: str | None = None) -> Signals:
    """Signals in an array, a labelled array, or a file.

    value: a NumPy array or memory map, a Dask or Zarr array, an HDF5 dataset, an xarray DataArray; or the name of a
    file of any type that tables come in, of an ENVI image, or of a Zarr array.  Those of type .npy, .hdr, .h5 and .zarr
    are read in blocks.
    channels: the axis that runs over channels, by name or number; the last unless given.
    repeats: the axis that runs over repeated rows of a signal, where there is one.
    member: which array of a container.
    """
    if isinstance(value, Signals):
        return value
    if isinstance(value, str | os.PathLike):
        found = _opened(Path(value), member)
    else:
        xarray = sys.modules.get("xarray")
        is_labelled = xarray is not None and isinstance(value, xarray.DataArray)
        is_array = hasattr(value, "shape") and hasattr(value, "__getitem__")
        found = _labelled(value) if is_labelled else _Opened(value if is_array else np.asarray(value))
    return _ordered(found, channels, repeats)


class _Opened(NamedTuple):
    """An array, and what its holder says of all its axes."""

    values: Any
    names: tuple[str, ...] = ()
    coordinates: dict[str, Coordinate] = {}  # noqa: RUF012  nobody changes it
    unit: str = ""


def _ordered(found: _Opened, channels: Axis, repeats: Axis) -> Signals:
    values = found.values
    count = len(values.shape)
    least = 2 if repeats is None else 3
    if count < least or 0 in values.shape:
        rule = f"have at least {least} axes, signals and channels among them, with at least one of each"
        raise MisuseError("signals", rule, f"shape {tuple(values.shape)}")
    if np.dtype(values.dtype).kind not in "iufc":
        raise MisuseError("signals", "hold numbers", f"dtype {values.dtype}")
    last = [_axis("channels", channels if channels is not None else count - 1, found.names, count)]
    if repeats is not None:
        last.insert(0, _axis("repeats", repeats, found.names, count))
    order = [*(i for i in range(count) if i not in last), *last]
    if len(order) != count:
        raise MisuseError("repeats", "be another axis than the channels", repr(repeats))
    if order != [*range(count)]:
        if not hasattr(values, "transpose"):
            rule, remedy = "have repeated rows and channels last, in such a file", "Give the array itself, transposed."
            raise MisuseError("signals", rule, "another order", remedy)
        values = values.transpose(order)
    names = [found.names[i] if found.names else f"axis {i}" for i in order]
    leading = names[: -len(last)]
    bands = found.coordinates.get(names[-1])
    return Signals(
        values,
        tuple(leading),
        {axis: found.coordinates[axis] for axis in leading if axis in found.coordinates},
        found.unit,
        () if bands is None else tuple(f"{each} {bands.unit}".rstrip() for each in bands.values.tolist()),
        repeats is not None,
    )


def _axis(argument: str, given: str | int, names: tuple[str, ...], count: int) -> int:
    if given in names:
        return names.index(str(given))
    number = int(given) if isinstance(given, int) or given.lstrip("-").isdigit() else count
    if not -count <= number < count:
        known = f"{names} or " if names else ""
        raise MisuseError(argument, f"be one of the axes {known}0 to {count - 1}", repr(given))
    return number % count


def _labelled(value: Any) -> _Opened:  # noqa: ANN401  xarray carries no types
    dims = tuple(map(str, value.dims))
    coordinates = {
        axis: Coordinate(_plain(value.coords[axis].values), str(value.coords[axis].attrs.get("units", "")))
        for axis in dims
        if axis in value.coords
    }
    return _Opened(value.data, dims, coordinates, str(value.attrs.get("units", "")))


def _plain(values: NDArray[Any]) -> NDArray[Any]:
    """Numbers as float64, anything else as texts."""
    return values.astype(np.float64) if values.dtype.kind in "iuf" else values.astype(str)


def _opened(path: Path, member: str | None) -> _Opened:
    """What is in a file, mapped or opened where it can be."""
    if path.suffix == ".zarr":
        array = _package("zarr", path).open(path, mode="r")
        array = array[member] if member else array
        return _Opened(array, tuple(dict(array.attrs).get("_ARRAY_DIMENSIONS", ())), {}, _unit_of(array))
    if path.suffix in (".h5", ".hdf5") and member is not None:
        dataset = _package("h5py", path).File(path, "r")[member]
        labels = tuple(str(dimension.label) for dimension in dataset.dims)
        return _Opened(dataset, labels if all(labels) else (), {}, _unit_of(dataset))
    if path.suffix == ".hdr":
        image = open_image(path)
        bands = {} if image.bands is None else {"band": Coordinate(np.array(image.bands))}
        return _Opened(image, ("line", "sample", "band"), bands)
    return _Opened(read_array(path, member))


def _unit_of(array: Any) -> str:  # noqa: ANN401
    return str(dict(array.attrs).get("units", ""))


def _package(name: str, path: Path) -> Any:  # noqa: ANN401
    try:
        return import_module(name)
    except ImportError as error:
        extra = {"zarr": "maps", "h5py": "io"}[name]
        remedy = f'Install it with pip install "physupport[{extra}]".'
        raise MisuseError(f"signals {path}", f"be read with {name}", "no such package", remedy) from error
