"""The head from three sides with the kept places, and the field as measured, as fitted and what is left."""

from itertools import compress
from typing import TYPE_CHECKING, Final

import numpy as np
from matplotlib import pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ._location import Location

_SIDES: Final = (("from above", 0, 1), ("from behind", 0, 2), ("from the right", 1, 2))
_NAMES: Final = ("right", "front", "up")
_UNITS: Final = {"eeg": (1e6, "µV"), "mag": (1e15, "fT"), "grad": (1e13, "fT/cm")}


def plot_location(location: "Location") -> "Figure":
    """Three views in the first row, and a row of topographies for each kind of channels."""
    white = location.setting.white
    kinds = list(dict.fromkeys(white.kinds))
    size = (10.0, 3.2 * (1 + len(kinds)))
    figure, axes = pyplot.subplots(1 + len(kinds), 3, figsize=size, layout="constrained", squeeze=False)
    for axis, (title, first, second) in zip(axes[0], _SIDES, strict=True):
        _view(location, axis, title, first, second)
    for row, kind in zip(axes[1:], kinds, strict=True):
        _topographies(location, row, kind)
    figure.suptitle(location.sentence.split(". ")[0] + ".", fontsize=9, wrap=True)
    return figure


def _view(location: "Location", axis: "Axes", title: str, first: int, second: int) -> None:
    every = 1000.0 * np.asarray(location.setting.forward["source_rr"])
    axis.scatter(every[:, first], every[:, second], s=2, color="0.85", label="looked at")
    kept = location.positions
    axis.scatter(kept[:, first], kept[:, second], s=14, color="tab:red", label="not excluded")
    axis.set_aspect("equal")
    axis.set_title(title, fontsize=9)
    axis.set_xlabel(f"{_NAMES[first]} (mm)", fontsize=8)
    axis.set_ylabel(f"{_NAMES[second]} (mm)", fontsize=8)
    axis.tick_params(labelsize=7)


def _topographies(location: "Location", row: "np.ndarray[tuple[int], np.dtype[np.object_]]", kind: str) -> None:
    import mne

    white = location.setting.white
    known = location.setting.info
    factor, unit = _UNITS[kind]
    mine = [i for i, each in enumerate(white.kinds) if each == kind]
    numbers = [known["ch_names"].index(white.channels[i]) for i in mine]
    is_sized = kind == "grad"  # drawn as the size of the gradient at a place, which takes both of its channels
    if is_sized:
        places = [tuple(known["chs"][number]["loc"][:3].round(4)) for number in numbers]
        whole = [places.count(place) == 2 for place in places]
        mine = list(compress(mine, whole))
        numbers = list(compress(numbers, whole))
    if not mine:
        return
    info = mne.pick_info(known, numbers, verbose="ERROR")
    fields = {name: factor * field[mine] for name, field in location.topographies().items()}
    sizes = [np.sqrt((field.reshape(-1, 2) ** 2).mean(axis=1)) if is_sized else field for field in fields.values()]
    top = max(float(np.abs(size).max()) for size in sizes)
    limits = (0.0 if is_sized else -top, top)
    for axis, (name, field) in zip(row, fields.items(), strict=True):
        image, _ = mne.viz.plot_topomap(field, info, axes=axis, show=False, vlim=limits, contours=0)
        axis.set_title(f"{name}, {kind.upper()}", fontsize=9)
    axis.figure.colorbar(image, ax=list(row), label=unit, shrink=0.7)
