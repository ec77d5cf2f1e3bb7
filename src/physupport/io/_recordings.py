"""Recordings of electrodes and coils as mne holds them in memory; it is not imported, only asked by its names."""

from typing import Any, Final

import numpy as np

from .._errors import MisuseError
from ._table import Held

# Units by the numbers that FIFF files give them.
_UNITS: Final = {107: "V", 112: "T", 201: "T/m"}
_AXES: Final = (("rows",), ("channels",))


def is_recording(value: object) -> bool:
    """Whether a value names its channels as `Evoked`, `Epochs` and `Covariance` do."""
    return hasattr(value, "ch_names") and (hasattr(value, "times") or _is_covariance(value))


def held_recording(label: str, value: Any) -> Held:  # noqa: ANN401  mne carries no types
    """Times or epochs by channels, in the one unit of all channels; or the channels of a covariance by themselves.

    Rows of an `Evoked` or a `Raw` are its times; those of `Epochs` are epochs, which must have one time.
    """
    names = tuple(map(str, value.ch_names))
    if _is_covariance(value):
        data = np.asarray(value["data"])
        return Held(np.diag(data) if data.ndim == 1 else data, axes=_AXES, headings=(None, names))
    samples = np.asarray(value.get_data())  # (channels, times) or (epochs, channels, times)
    if samples.ndim == 3 and samples.shape[2] != 1:
        remedy = "Crop the epochs to a time: which one is not to be guessed, and times are not independent rows."
        raise MisuseError(label, "have one time an epoch", f"{samples.shape[2]} times", remedy)
    rows = samples.T if samples.ndim == 2 else samples[:, :, 0]
    return Held(rows, axes=_AXES, headings=(None, names), unit=_unit(label, value.info))


def _is_covariance(value: object) -> bool:
    return isinstance(value, dict) and {"data", "names"} <= {*value}


def _unit(label: str, info: Any) -> str:  # noqa: ANN401
    """Of all channels; volts and teslas in one row have no common noise."""
    bad = [*info["bads"]]
    if bad:
        remedy = "Drop them, or interpolate them, beforehand."
        raise MisuseError(label, "have no channels that are marked as bad", ", ".join(map(str, bad)), remedy)
    units = {_UNITS.get(int(channel["unit"]), "") for channel in info["chs"]}
    if len(units) > 1:
        remedy = "Pick channels of one kind."
        raise MisuseError(label, "have channels of one unit", ", ".join(sorted(units)), remedy)
    return units.pop() if units else ""
