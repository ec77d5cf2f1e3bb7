"""One averaged topography of 61 electrodes: where is the source, if skull and cap are known only roughly?"""

import json

import numpy as np

from .._typing import Array
from ..responses import SphericalHead
from ._example import PROJECT_FILE, Example, csv_table, stored_text

# Rings of electrodes around the vertex: angle from it in degrees, and how many.
_RINGS = ((0.0, 1), (20.0, 6), (40.0, 12), (60.0, 14), (80.0, 14), (100.0, 14))
_STEP, _OUTERMOST, _INNERMOST, _LOWEST = 20.0, 74.0, 45.0, 0.0  # millimetres
_SKULLS, _SHIFTS = (0.25, 0.5, 1.0), (-5.0, 0.0, 5.0)
_TRUTH, _SKULL, _SHIFT = (-40.0, -20.0, 40.0), 0.5, 0.0
_MOMENT = (0.3, 0.8, 0.5)  # the direction in which the source points
_AMPLITUDE, _NOISE, _SEED = 40.0, 2.8, 20261117


def eeg_example() -> Example:
    """The files of the project; the source lies on the left, behind a skull that conducts half as much as assumed."""
    places, electrodes = _places(), _electrodes()
    rows: list[list[object]] = [[_name(place), "brain", *map(float, place)] for place in places]
    names = [f"E{i + 1}" for i in range(len(electrodes))]
    topography = [round(float(value), 3) for value in _topography(electrodes)]
    sides = {"left": places[places[:, 0] < 0.0], "right": places[places[:, 0] > 0.0]}
    groups = "".join(f"{side} = {json.dumps([_name(place) for place in half])}\n" for side, half in sides.items())
    return Example(
        {
            PROJECT_FILE: stored_text("eeg.toml", skulls=list(_SKULLS), shifts=list(_SHIFTS), groups=groups),
            "topography.csv": csv_table(names, [[*topography]]),
            "places.csv": csv_table(["id", "region", "x", "y", "z"], rows),
            "electrodes.csv": csv_table(["x", "y", "z"], [[*map(float, place)] for place in electrodes.round(2)]),
        }
    )


def _name(place: Array) -> str:
    """Millimetres to the left or right, to the back (posterior) or front (anterior), and up (superior)."""
    ends = ("LR", "PA", "IS")
    return " ".join(f"{end[int(value >= 0.0)]}{abs(int(value))}" for end, value in zip(ends, place, strict=True))


def _places() -> Array:
    """(E, 3) a grid through the outer part of the brain."""
    axis = _STEP * np.arange(-4, 5)
    grid = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3)
    depth = np.linalg.norm(grid, axis=1)
    return np.asarray(grid[(depth <= _OUTERMOST) & (depth >= _INNERMOST) & (grid[:, 2] >= _LOWEST)])


def _electrodes() -> Array:
    """(61, 3) on the scalp, 92 mm from the middle."""
    angles = [(np.deg2rad(tilt), 2.0 * np.pi * i / count) for tilt, count in _RINGS for i in range(count)]
    return np.array([[92.0 * np.sin(t) * np.cos(a), 92.0 * np.sin(t) * np.sin(a), 92.0 * np.cos(t)] for t, a in angles])


def _topography(electrodes: Array) -> Array:
    """(61,) what the electrodes measure against their average."""
    head = SphericalHead(electrodes, conductivity=SphericalHead(electrodes).conductivity * _SKULL, orientation="free")
    x, y, z = _TRUTH
    answer = np.hstack([axis([[x, y + _SHIFT, z]]) for axis in head.variants]) @ np.array(_MOMENT)
    noise = _NOISE * np.random.default_rng(_SEED).standard_normal(len(electrodes))
    row = _AMPLITUDE * answer / np.linalg.norm(answer) + noise
    return np.asarray(row - row.mean())
