"""Arrays in memory, with or without labels: NumPy, pandas, xarray, and recordings of mne."""

import sys
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from .._errors import MisuseError
from .._typing import Array
from ._table import MATRIX_AXES, ReaderOutput, Table, distinct_or_none, table_of

Time: TypeAlias = float | tuple[float, float] | None

# Units by the numbers that FIFF files give them.
_UNITS: Final = {107: "V", 112: "T", 201: "T/m"}
_AXES: Final = (("rows",), ("channels",))


def kind_of(value: object) -> str:
    """The kind of an array: its class of pandas or xarray, `Covariance` or `Recording` of mne, or `Table`; else empty.

    If a value is of a package that may not be installed, the package was imported.
    """
    if isinstance(value, Table):
        return "Table"
    for package, kind in (("pandas", "DataFrame"), ("pandas", "Series"), ("xarray", "DataArray")):
        module = sys.modules.get(package)
        if module is not None and isinstance(value, getattr(module, kind)):
            return kind
    if getattr(value, "ch_names", None) is None:
        return ""
    if isinstance(value, dict) and {"data", "names"} <= {*value}:
        return "Covariance"
    return "" if getattr(value, "times", None) is None else "Recording"


def _recording(label: str, value: Any, time: Time = None) -> ReaderOutput:  # noqa: ANN401  mne carries no types
    """One row of an `Evoked` or a `Raw`, or a row for each epoch.

    time: one time in seconds, or (first, last) of a window, over which each channel is averaged.
    """
    names = tuple(map(str, value.ch_names))
    samples = np.asarray(value.get_data())  # (channels, times) or (epochs, channels, times)
    rows = np.atleast_2d(_at_time(label, samples, np.asarray(value.times), time))
    unit = _unit(label, value.info)
    return ReaderOutput(rows, axes=_AXES, headings=(None, names), unit=unit, channel_axis=1)


def _covariance(value: Any) -> ReaderOutput:  # noqa: ANN401  mne carries no types
    """The channels of a covariance by themselves."""
    names = tuple(map(str, value.ch_names))
    data = np.asarray(value["data"])
    values = np.diag(data) if data.ndim == 1 else data
    return ReaderOutput(values, axes=_AXES, headings=(names, names), channel_axis=1)


def _at_time(label: str, samples: Array, times: Array, time: Time) -> Array:
    """(..., channels) at one time, or the mean over a window: times are neither repeats of one mean nor independent."""
    if time is None and len(times) > 1:
        remedy = (
            f"Choose one: as_table(..., time={times[len(times) // 2]:.4g}) takes one time, "
            f"time=({times[0]:.4g}, {times[-1]:.4g}) the mean over a window. Times are not independent rows."
        )
        raise MisuseError(label, "have one time", f"{len(times)} times", remedy)
    first, last = time if isinstance(time, tuple) else (time, time)
    if first is None or last is None:
        return samples[..., 0]
    half = 0.5 * float(times[1] - times[0]) if len(times) > 1 else 1e-6
    if not times[0] - half <= first <= last <= times[-1] + half:
        raise MisuseError("time", f"lie from {times[0]:.4g} to {times[-1]:.4g} seconds", repr(time))
    is_meant = (times >= first) & (times <= last)
    is_meant[np.argmin(np.abs(times - 0.5 * (first + last)))] = True  # a window between two samples has the nearest
    return np.asarray(samples[..., is_meant].mean(axis=-1))


def _unit(label: str, info: Any) -> str:  # noqa: ANN401
    """The unit of all channels; volts and teslas in one row have no common noise."""
    bad = [*info["bads"]]
    if bad:
        remedy = "Drop them, or interpolate them, beforehand."
        raise MisuseError(label, "have no channels that are marked as bad", ", ".join(map(str, bad)), remedy)
    units = {_UNITS.get(int(channel["unit"]), "") for channel in info["chs"]}
    if len(units) > 1:
        remedy = "Pick channels of one kind."
        raise MisuseError(label, "have channels of one unit", ", ".join(sorted(units)), remedy)
    return units.pop() if units else ""


def as_table(value: ArrayLike, *, channels: int | str | None, label: str, unit: str = "", time: Time = None) -> Table:
    """The table in an array; nothing is copied where a view will do.

    A plain array needs the number of the axis that runs over channels.  Of a pandas DataFrame the columns are the
    channels, and their names are kept.  An xarray DataArray needs the name of the dimension that runs over channels;
    its coordinates there become the names of the channels, and `attrs["units"]` the unit.  Of mne, an Evoked is one row
    at a time, Epochs are a row each, and a Covariance is taken as it is.
    unit: where the array states none.  time: of a recording, one time in seconds, or (first, last) of a window, over
    which each channel is averaged; needed where a recording has several times.

    >>> as_table([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], channels=0, label="calibration").values.shape
    (2, 3)
    """
    held = as_reader_output(label, value, time)
    # A number would be a guess about the order of dimensions.
    if kind_of(value) == "DataArray" and (channels,) not in held.axes:
        rule = f"be read with channels one of its dimensions, {', '.join(repr(name) for (name,) in held.axes)}"
        raise MisuseError(label, rule, "no name" if channels is None else repr(channels))
    return table_of(held, channels=channels, label=label, path=None, unit=unit)


def as_reader_output(label: str, value: Any, time: Time = None) -> ReaderOutput:  # noqa: ANN401  some carry no types
    """An array with the names along its axes, where it has some: of pandas, xarray, mne, or a table of this package."""
    kind = kind_of(value)
    if time is not None and kind not in ("Recording", "Covariance"):
        raise MisuseError("time", f"be left out, as {label} is no recording", repr(time))
    match kind:
        case "Table":
            return ReaderOutput(value.values, headings=(None, value.names), unit=value.source.unit)
        case "DataFrame":
            return _frame(label, value)
        case "Series":
            return ReaderOutput(np.asarray(value), headings=(_texts(value.index),))
        case "DataArray":
            return _data_array(value)
        case "Recording":
            return _recording(label, value, time)
        case "Covariance":
            return _covariance(value)
    if isinstance(value, np.memmap | np.ma.MaskedArray):
        return ReaderOutput(value)
    try:
        return ReaderOutput(np.asarray(value))
    except (TypeError, ValueError) as error:
        raise MisuseError(label, "be an array", type(value).__name__) from error


def _texts(index: Any) -> tuple[str, ...] | None:  # noqa: ANN401  pandas carries no types
    """The names along an axis of a frame; None of one that only counts, which may be long."""
    return None if type(index).__name__ == "RangeIndex" else tuple(map(str, index))


def _frame(label: str, frame: Any) -> ReaderOutput:  # noqa: ANN401  pandas carries no types
    """Columns are checked one by one, so that a text among numbers is named."""
    for column, dtype in frame.dtypes.items():
        if getattr(dtype, "kind", "O") not in "iufc":
            raise MisuseError(label, "hold real or complex numbers", f"{dtype} in column {column!r}")
    values = frame.to_numpy()
    if values.dtype == object:  # types of pandas' own, in which a gap is not a number
        values = frame.to_numpy(dtype=np.float64, na_value=np.nan)
    headings = (_texts(frame.index), _texts(frame.columns))
    return ReaderOutput(values, axes=MATRIX_AXES, headings=headings, channel_axis=1)


def _data_array(value: Any) -> ReaderOutput:  # noqa: ANN401  xarray carries no types
    axes = tuple((str(dimension),) for dimension in value.dims)
    headings = tuple(
        _coordinate(value.coords[dimension]) if dimension in value.coords else None for dimension in value.dims
    )
    return ReaderOutput(np.asarray(value.values), axes=axes, headings=headings, unit=str(value.attrs.get("units", "")))


def _coordinate(along: Any) -> tuple[str, ...] | None:  # noqa: ANN401
    unit = str(along.attrs.get("units", "")) if along.dtype.kind in "iuf" else ""
    return distinct_or_none([f"{each} {unit}".rstrip() for each in along.values])
