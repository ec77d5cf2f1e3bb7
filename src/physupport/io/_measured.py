"""A measured spectrum in any form that programs have it in: rows, the places of their channels, and the unit."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from .._errors import MisuseError
from .._typing import Array
from ._names import place_of
from ._read import library_files, read_spectra
from ._spectra import Spectrum
from ._table import as_reader_output

# A file, a pair (axis, values), a labelled array, a `Spectrum`, or a dictionary as rosettasciio reads it.
Measured: TypeAlias = Any


def measured_rows(value: Measured) -> tuple[Array, Array, str]:
    """(T, q) rows, (q,) places and their unit, of a spectrum in any of its forms."""
    match value:
        case Spectrum():
            return value.values[None], value.places, value.axis_unit
        case str() | os.PathLike():
            (path,) = library_files(Path(value), "spectrum")[:1]
            found = read_spectra(path, "spectrum")
            if len(found) > 1:
                remedy = "Save them in files of their own, or ask about every one with physupport map."
                raise MisuseError(f"spectrum {value}", "hold one spectrum", f"{len(found)} of them", remedy)
            return measured_rows(found[0])
        case Mapping():
            return _of_dictionary(value)
        case [Mapping() as only]:
            return _of_dictionary(only)
        case tuple() if len(value) == 2:
            return _of_pair(*value)
    held = as_reader_output("spectrum", value)
    found_places = [place_of(name) for name in held.headings[-1] or ()]
    places = [place for place in found_places if place is not None]
    if not places or len(places) < len(found_places):
        remedy = "Give (axis, values), a file of two columns, or an array whose coordinate is the axis."
        raise MisuseError("spectrum", "say where its channels lie on the axis", type(value).__name__, remedy)
    return np.atleast_2d(np.asarray(held.values, dtype=np.float64)), np.array([p for p, _ in places]), places[0][1]


def _of_pair(axis: ArrayLike, values: ArrayLike) -> tuple[Array, Array, str]:
    """A value, or a column of repeats, for each place of an axis."""
    places = np.asarray(axis, dtype=np.float64)
    given = np.asarray(values, dtype=np.float64)
    rows = np.atleast_2d(given)
    if places.ndim != 1 or rows.ndim != 2 or rows.shape[1] != len(places):
        is_turned = given.ndim == 2 and len(given) == places.size
        remedy = "Give values.T: repeats are rows." if is_turned else "Give arrays of one length."
        shapes = f"{places.shape}, {given.shape}"
        raise MisuseError("spectrum", "be (axis, values) with a value for each place", shapes, remedy)
    return rows, places, ""


def _of_dictionary(value: Mapping[str, Any]) -> tuple[Array, Array, str]:
    """A signal as rosettasciio reads it: `data`, and `axes` with size, scale, offset and units, or with a list."""
    if not {"data", "axes"} <= {*value}:
        remedy = "Give one of the list that rosettasciio returns: rsciio.msa.file_reader(name)[0]."
        raise MisuseError("spectrum", "be a dictionary with the keys data and axes", ", ".join(map(str, value)), remedy)
    data = np.asarray(value["data"], dtype=np.float64)
    axes = [dict(axis) for axis in value["axes"]]
    own = [i for i, axis in enumerate(axes) if not axis.get("navigate", False)]
    if len(own) != 1 or len(axes) != data.ndim:
        remedy = "Take one spectrum of an image, or ask about every pixel with physupport map."
        raise MisuseError("spectrum", "have one axis that is no navigation axis", f"{len(own)} of {len(axes)}", remedy)
    axis = axes[own[0]]
    size = data.shape[own[0]]
    steps = np.arange(size) * float(axis.get("scale", 1.0)) + float(axis.get("offset", 0.0))
    places = np.asarray(axis["axis"], dtype=np.float64) if "axis" in axis else steps
    rows = np.moveaxis(data, own[0], -1).reshape(-1, size)
    return np.asarray(rows), np.asarray(places), str(axis.get("units") or "")
