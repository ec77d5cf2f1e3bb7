"""Directions of two transmitters of unknown waveforms, seen by an array whose cables are known up to a phase."""

import numpy as np
from numpy.typing import NDArray

from ..responses import Parameter, UniformLinearArray, settings_grid
from ._example import PROJECT_FILE, Example, csv_table

_DIRECTIONS = {"west": (-32.0, -30.0, -28.0, -26.0, -24.0), "east": (18.0, 20.0, 22.0, 24.0), "south": (50.0,)}
_TRUTH = {"west": -28.0, "east": 22.0}
_PHASES = (-0.35, 0.0, 0.35)
_SENSORS, _SPACING, _NOISE, _ROWS, _SEED = 10, 0.5, 0.5, 400, 2026
_CORRELATION = 0.8

_PROJECT = f"""\
# Ten sensors in a line, complex amplitudes.  Where are the transmitters, if the phase of the cables is uncertain, and
# neither waveforms nor powers nor the noise level are known?
# `physupport run` answers; `physupport init` writes an example in which every key is explained.

title = "Directions of transmitters"
level = 0.05

[data.deployment]
file = "snapshots.npy"   # complex, (rows, sensors)
channels = 1
law = "gaussian"         # a mix of responses in noise of an unknown level ...
rows = "free"            # ... with other coefficients in every row, which may be correlated

[elements]
file = "elements.csv"
coordinates = ["direction"]
unit = "degrees"
response = {{ kind = "uniform linear array", n_sensors = {_SENSORS}, spacing = {_SPACING} }}  # spacing in wavelengths

[parameters.phase]       # radians, from minus this at the first sensor to plus this at the last
values = {list(_PHASES)}

[regions.west]
tolerance = 1.0

[regions.east]
presence = "optional"
tolerance = 1.0
groups = {{ low = ["18 east", "20 east"], high = ["22 east", "24 east"] }}

[regions.south]
presence = "optional"
tolerance = 5.0
"""


def array_example() -> Example:
    """The files of the project."""
    rows: list[list[object]] = [
        [f"{abs(angle):g} {region}", region, angle] for region, angles in _DIRECTIONS.items() for angle in angles
    ]
    texts = {PROJECT_FILE: _PROJECT, "elements.csv": csv_table(["id", "region", "direction"], rows)}
    return Example(texts, {"snapshots.npy": _snapshots()})


def _snapshots() -> NDArray[np.complex128]:
    """Rows of both transmitters, whose waveforms are correlated, seen with the largest phase."""
    places, rng = np.array(list(_TRUTH.values()))[:, None], np.random.default_rng(_SEED)
    phase = Parameter("phase", np.array(_PHASES[-1:]))
    pairs = settings_grid(UniformLinearArray(_SENSORS, _SPACING), places, [phase]).responses[0]
    atoms = pairs[0::2] + 1j * pairs[1::2]  # (q, 2)
    shared, own = _circular(rng, _ROWS, 1), _circular(rng, _ROWS, len(_TRUTH))
    signal = (np.sqrt(_CORRELATION) * shared + np.sqrt(1.0 - _CORRELATION) * own) @ atoms.T
    return np.asarray(signal + np.sqrt(_NOISE) * _circular(rng, _ROWS, _SENSORS))


def _circular(rng: np.random.Generator, *shape: int) -> NDArray[np.complex128]:
    """Circular complex normal numbers of variance 1."""
    pairs = rng.normal(scale=np.sqrt(0.5), size=(*shape, 2))
    return np.asarray(pairs[..., 0] + 1j * pairs[..., 1])
