"""Arrays of any number of axes, opened and not read: files of many kinds, and arrays with names on their axes."""

import sys
from importlib import import_module
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._errors import MisuseError
from ._binary import as_text, check_claim, datasets, open_hdf5, own_dataset, scale_values
from ._frames import open_image
from ._read import check_file, read_array, sound
from ._table import chosen_member


class Coordinate(NamedTuple):
    """Where along an axis the entries lie."""

    values: NDArray[Any]  # numbers, or texts
    unit: str = ""


class Opened(NamedTuple):
    """An array, and what its holder says of all its axes."""

    values: Any
    names: tuple[str, ...] = ()
    coordinates: dict[str, Coordinate] = {}  # noqa: RUF012  nobody changes it
    unit: str = ""


def is_labelled(value: object) -> bool:
    """Whether xarray, if it was imported at all, made it."""
    xarray = sys.modules.get("xarray")
    return xarray is not None and isinstance(value, xarray.DataArray)


def open_labelled(value: Any) -> Opened:  # noqa: ANN401  xarray carries no types
    """A DataArray, which reads from its file what it is asked for."""
    dims = tuple(map(str, value.dims))
    coordinates = {
        axis: Coordinate(_plain(value.coords[axis].values), str(value.coords[axis].attrs.get("units", "")))
        for axis in dims
        if axis in value.coords
    }
    return Opened(value, dims, coordinates, str(value.attrs.get("units", "")))


def open_array(path: Path, member: str | None, label: str) -> Opened:
    """What is in a file, mapped or opened where it can be.  label: what it is for, in messages."""
    name, ending = f"{label} {path}", path.suffix.lower()
    if ending == ".zarr":
        if not path.exists():
            raise MisuseError(name, "be a Zarr array or group", "no such file")
        with sound(name, path):
            return _zarr(name, path, member)
    if ending in (".h5", ".hdf5"):
        check_file(name, path)
        with sound(name, path):
            return _hdf5(name, path, member)
    if ending == ".hdr":
        check_file(name, path)
        with sound(name, path):
            image = open_image(path)
        bands = {} if image.bands is None else {"band": Coordinate(np.array(image.bands))}
        return Opened(image, ("line", "sample", "band"), bands)
    return Opened(read_array(path, member))


def _hdf5(name: str, path: Path, member: str | None) -> Opened:
    """The dataset, with labels of its axes or names of their scales, which are the coordinates."""
    file = open_hdf5(name, path)
    dataset = own_dataset(name, file[chosen_member(name, member and member.strip("/"), datasets(file))])
    if dataset.dtype.kind not in "iufc":  # pairs of numbers, by whatever names
        return Opened(read_array(path, member))
    scales = [next(iter(dimension.values()), None) for dimension in dataset.dims]
    pairs = zip(dataset.dims, scales, strict=True)
    names = tuple(d.label or ("" if scale is None else scale.name.rsplit("/", 1)[-1]) for d, scale in pairs)
    along = zip(names, scales, dataset.dims, dataset.shape, strict=True)
    coordinates = {
        axis: Coordinate(_plain(values), _unit_of(scale))
        for axis, scale, dimension, length in along
        if axis and (values := scale_values(name, dimension, length)) is not None
    }
    return Opened(dataset, names if all(names) else (), coordinates if all(names) else {}, _unit_of(dataset))


def _zarr(name: str, path: Path, member: str | None) -> Opened:
    """The array, with the names of its axes as either format has them, and arrays of these names beside it."""
    try:
        held = import_module("zarr").open(path, mode="r")
    except ImportError as error:
        remedy = 'Install it with pip install "physupport[maps]".'
        raise MisuseError(name, "be read with zarr", "no such package", remedy) from error
    if hasattr(held, "shape"):
        _check_stored(name, path, held)
        return Opened(held, _dimensions(held), {}, _unit_of(held))
    arrays = dict(held.arrays())
    beside = {axis for array in arrays.values() for axis in _dimensions(array)}
    known = [key for key, array in arrays.items() if key not in beside and array.dtype.kind in "iufc"]
    chosen = arrays[chosen_member(name, member, known)]
    _check_stored(name, path, chosen)
    names = _dimensions(chosen)
    of = {axis: arrays[axis] for axis in names if axis in arrays and arrays[axis].ndim == 1}
    for array in of.values():
        _check_stored(name, path, array)
    coordinates = {axis: Coordinate(_plain(np.asarray(array[:])), _unit_of(array)) for axis, array in of.items()}
    return Opened(chosen, names, coordinates, _unit_of(chosen))


def _check_stored(name: str, path: Path, array: Any) -> None:  # noqa: ANN401
    """Refuse an array of far more entries than all files of its folder could hold: chunks that are missing are 0."""
    stored = sum(each.stat().st_size for each in path.rglob("*") if each.is_file())
    check_claim(name, path.name, prod(array.shape) * array.dtype.itemsize, stored)


def _dimensions(array: Any) -> tuple[str, ...]:  # noqa: ANN401
    given = (
        getattr(getattr(array, "metadata", None), "dimension_names", None)
        or dict(array.attrs).get("_ARRAY_DIMENSIONS")
        or ()
    )
    return tuple(map(str, given)) if len(given) == len(array.shape) and None not in given else ()


def _plain(values: NDArray[Any]) -> NDArray[Any]:
    """Numbers as float64, anything else as texts."""
    if values.dtype.kind in "iuf":
        return values.astype(np.float64)
    return np.array([as_text(each) for each in values.tolist()]) if values.dtype.kind in "OS" else values.astype(str)


def _unit_of(array: Any) -> str:  # noqa: ANN401
    return as_text(dict(array.attrs).get("units", ""))
