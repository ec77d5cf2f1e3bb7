"""Directions of two transmitters of unknown waveforms, seen by an array calibrated by transmitters at known places."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .._typing import Array
from ..responses import UniformLinearArray
from ._example import PROJECT_FILE, Example, csv_table, stored_text

_DIRECTIONS = {"west": (-32.0, -30.0, -28.0, -26.0, -24.0), "east": (18.0, 20.0, 22.0, 24.0), "south": (50.0,)}
_TRUTH = {"west": -28.0, "east": 22.0}
_KNOWN = (-60.0, 5.0)  # directions of the calibration transmitters
_SLOPES = (-0.06, 0.0, 0.06)
_SENSORS, _SPACING, _NOISE, _ROWS, _SEED = 10, 0.5, 0.5, 400, 2026
_SPREAD, _CALIBRATION_ROWS = 0.4, 2000  # of the phase errors, radians; of each calibration transmitter
_CORRELATION = 0.8


def array_example() -> Example:
    """The files of the project."""
    rows: list[list[object]] = [
        [f"{abs(angle):g} {region}", region, angle] for region, angles in _DIRECTIONS.items() for angle in angles
    ]
    errors = _SPREAD * np.random.default_rng(_SEED + 1).standard_normal(_SENSORS)
    calibration = _calibration(errors)
    project = stored_text(
        "array.toml",
        sensors=_SENSORS,
        spacing=_SPACING,
        rows=calibration.shape[1],
        known=" and ".join(f"{angle:g}" for angle in _KNOWN),
        pattern=_phases(calibration).round(4).tolist(),
        slopes=list(_SLOPES),
    )
    texts = {PROJECT_FILE: project, "elements.csv": csv_table(["id", "region", "direction"], rows)}
    return Example(texts, {"snapshots.npy": _snapshots(errors), "calibration.npy": calibration})


def _seen(angles: Sequence[float], errors: Array) -> NDArray[np.complex128]:
    """(q, a) steering vectors behind the phase errors (q,) of the sensors."""
    atoms = UniformLinearArray(_SENSORS, _SPACING)(np.array(angles)[:, None])
    return np.asarray(atoms * np.exp(1j * errors)[:, None])


def _calibration(errors: Array) -> NDArray[np.complex128]:
    """(transmitters, rows, q) one transmitter at a time."""
    rng = np.random.default_rng(_SEED + 2)
    signals = [_circular(rng, _CALIBRATION_ROWS, 1) * atom for atom in _seen(_KNOWN, errors).T]
    noise = np.sqrt(_NOISE) * _circular(rng, len(_KNOWN), _CALIBRATION_ROWS, _SENSORS)
    return np.asarray(np.array(signals) + noise)


def _phases(calibration: NDArray[np.complex128]) -> Array:
    """(q,) the phase error of each sensor: that of the strongest direction of the rows beside its steering vector.

    The mean of the transmitters; a phase that all sensors share means nothing, and the first has none.
    """
    atoms = UniformLinearArray(_SENSORS, _SPACING)(np.array(_KNOWN)[:, None])
    turns = []
    for rows, atom in zip(calibration, atoms.T, strict=True):
        strongest = np.linalg.eigh(rows.T @ rows.conj())[1][:, -1]
        turn = strongest * atom.conj()
        turns.append(turn / turn[0])
    return np.asarray(np.angle(np.mean(turns, axis=0)))


def _snapshots(errors: Array) -> NDArray[np.complex128]:
    """Rows of both transmitters, whose waveforms are correlated."""
    atoms, rng = _seen([*_TRUTH.values()], errors), np.random.default_rng(_SEED)  # (q, 2)
    shared, own = _circular(rng, _ROWS, 1), _circular(rng, _ROWS, len(_TRUTH))
    signal = (np.sqrt(_CORRELATION) * shared + np.sqrt(1.0 - _CORRELATION) * own) @ atoms.T
    return np.asarray(signal + np.sqrt(_NOISE) * _circular(rng, _ROWS, _SENSORS))


def _circular(rng: np.random.Generator, *shape: int) -> NDArray[np.complex128]:
    """Circular complex normal numbers of variance 1."""
    pairs = rng.normal(scale=np.sqrt(0.5), size=(*shape, 2))
    return np.asarray(pairs[..., 0] + 1j * pairs[..., 1])
