"""Arrays that are already in memory, with or without labels."""

import sys
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._errors import MisuseError
from ._recordings import held_recording, is_recording
from ._table import MATRIX_AXES, Held, Table, distinct_or_none, table_of


def as_table(value: ArrayLike, *, channels: int | str | None, label: str, unit: str = "") -> Table:
    """The table in an array; nothing is copied where a view will do.

    A plain array needs the number of the axis that runs over channels.  Of a pandas DataFrame the columns are the
    channels, and their names are kept.  An xarray DataArray needs the name of the dimension that runs over channels;
    its coordinates there become the names of the channels, and `attrs["units"]` the unit unless one is given.  An mne
    Evoked is read as times by channels, Epochs of one time as epochs by channels, and a Covariance as it is.

    >>> as_table([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], channels=0, label="calibration").values.shape
    (2, 3)
    """
    axis: int | str | None = channels
    if _is_a(value, "pandas", "DataFrame"):
        held, axis = _frame(label, value), _frame_axis(label, channels)
    elif _is_a(value, "xarray", "DataArray"):
        held, axis = _data_array(value), _dimension(label, channels, value)
    elif is_recording(value):
        held, axis = held_recording(label, value), _recorded_axis(label, channels)
    else:
        held = Held(_array(label, value))
    return table_of(held, channels=axis, label=label, path=None, unit=unit)


def _is_a(value: object, package: str, kind: str) -> bool:
    """Whether a value is of a class of a package that may not be installed; if it is, the package was imported."""
    module = sys.modules.get(package)
    return module is not None and isinstance(value, getattr(module, kind))


def _array(label: str, value: ArrayLike) -> NDArray[np.generic]:
    if isinstance(value, np.memmap | np.ma.MaskedArray):
        return value
    try:
        return np.asarray(value)
    except (TypeError, ValueError) as error:
        raise MisuseError(label, "be an array", type(value).__name__) from error


def _frame(label: str, frame: Any) -> Held:  # noqa: ANN401  pandas carries no types
    """Columns are checked one by one, so that a text among numbers is named."""
    for column, dtype in frame.dtypes.items():
        if getattr(dtype, "kind", "O") not in "iufc":
            raise MisuseError(label, "hold real or complex numbers", f"{dtype} in column {column!r}")
    values = frame.to_numpy()
    if values.dtype == object:  # types of pandas' own, in which a gap is not a number
        values = frame.to_numpy(dtype=np.float64, na_value=np.nan)
    return Held(values, axes=MATRIX_AXES, headings=(None, tuple(map(str, frame.columns))))


def _frame_axis(label: str, channels: int | str | None) -> int:
    if channels not in (None, 1, "columns") or isinstance(channels, bool):
        rule, remedy = "have its channels in columns, being a DataFrame", "Transpose it."
        raise MisuseError(label, rule, f"channels={channels!r}", remedy)
    return 1


def _recorded_axis(label: str, channels: int | str | None) -> int:
    if channels not in (None, 1, "channels") or isinstance(channels, bool):
        raise MisuseError(label, "be read without an axis, as a recording names its channels", f"channels={channels!r}")
    return 1


def _data_array(value: Any) -> Held:  # noqa: ANN401  xarray carries no types
    axes = tuple((str(dimension),) for dimension in value.dims)
    headings = tuple(
        distinct_or_none([str(each) for each in value.coords[dimension].values]) if dimension in value.coords else None
        for dimension in value.dims
    )
    return Held(np.asarray(value.values), axes=axes, headings=headings, unit=str(value.attrs.get("units", "")))


def _dimension(label: str, channels: int | str | None, value: Any) -> str:  # noqa: ANN401
    """Dimensions have names, so a number would be a guess about their order."""
    if not isinstance(channels, str) or channels not in map(str, value.dims):
        rule = f"be read with channels one of its dimensions, {', '.join(repr(str(each)) for each in value.dims)}"
        raise MisuseError(label, rule, "no name" if channels is None else repr(channels))
    return channels
