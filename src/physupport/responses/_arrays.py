r"""Arrays of sensors that meet a wave of one wavelength; the phase at a distance r is :math:`-2\pi r/\lambda`.

A wave from far away in the unit direction u reaches a sensor at s with the phase :math:`2\pi s\cdot u/\lambda` ahead of
the origin, to which the nearby wave tends, up to a factor that all sensors share.
"""

from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from .._arrays import read_only
from .._checks import check_array, check_count, check_positive
from .._errors import MisuseError
from .._typing import Array, Count, Positive
from ._base import ComplexArray, register


@register("uniform linear array")
@final
@dataclass(frozen=True, slots=True)
class UniformLinearArray:
    r"""Sensors on a line at equal distances, and a plane wave.

    :math:`a_m(\theta) = \exp(2\pi i\, m\, \delta\, \sin\theta)` for sensor m = 0, 1, ..., spacing :math:`\delta` in
    wavelengths and the angle :math:`\theta` from broadside.  Spacings above one half see some angles as one.

    >>> UniformLinearArray(n_sensors=2, spacing=0.5)([[90.0]]).round(12).ravel().tolist()
    [(1+0j), (-1+0j)]
    """

    n_sensors: Count
    spacing: Positive  # wavelengths

    def __post_init__(self) -> None:
        check_count("n_sensors", self.n_sensors)
        object.__setattr__(self, "spacing", check_positive("spacing", self.spacing))

    def __call__(self, places: ArrayLike, /) -> ComplexArray:
        """(E, 1) angles in degrees -> (q, E)."""
        angles = np.deg2rad(check_array("places", places, (None, 1))[:, 0])
        sensors = self.spacing * np.arange(self.n_sensors, dtype=np.float64)
        return _wave(sensors[:, None] * np.sin(angles))


@register("circular array")
@final
@dataclass(frozen=True, slots=True)
class CircularArray:
    r"""Sensors at equal distances on a circle, and a plane wave in its plane.

    :math:`a_m(\theta) = \exp(2\pi i\, R \cos(\theta - 2\pi m/q))` for sensor m = 0, ..., q - 1, radius R in wavelengths
    and the azimuth :math:`\theta` from the first sensor.
    """

    n_sensors: Count
    radius: Positive  # wavelengths

    def __post_init__(self) -> None:
        check_count("n_sensors", self.n_sensors)
        object.__setattr__(self, "radius", check_positive("radius", self.radius))

    def __call__(self, places: ArrayLike, /) -> ComplexArray:
        """(E, 1) azimuths in degrees -> (q, E)."""
        azimuths = np.deg2rad(check_array("places", places, (None, 1))[:, 0])
        sensors = 2.0 * np.pi * np.arange(self.n_sensors) / self.n_sensors
        return _wave(self.radius * np.cos(azimuths - sensors[:, None]))


@register("near field array")
@final
@dataclass(frozen=True, slots=True, eq=False)
class NearFieldArray:
    r"""Sensors anywhere, and a spherical wave from the place of the element.

    :math:`a_m(x) = e^{-2\pi i r_m/\lambda}/r_m` with :math:`r_m = |s_m - x|`; sensors, places and the wavelength
    :math:`\lambda` share one unit of length.
    """

    sensors: Array = field(repr=False)  # (q, d)
    wavelength: Positive

    def __post_init__(self) -> None:
        sensors = check_array("sensors", self.sensors, (None, None))
        if sensors.size == 0:
            raise MisuseError("sensors", "hold at least one sensor with coordinates", f"shape {sensors.shape}")
        object.__setattr__(self, "sensors", read_only(sensors))
        object.__setattr__(self, "wavelength", check_positive("wavelength", self.wavelength))

    def __call__(self, places: ArrayLike, /) -> ComplexArray:
        """(E, d) -> (q, E)."""
        points = check_array("places", places, (None, self.sensors.shape[1]))
        distances = np.linalg.norm(self.sensors[:, None] - points, axis=2)  # (q, E)
        if not distances.all():
            sensor, place = np.argwhere(distances == 0.0)[0]
            raise MisuseError("places", "lie away from the sensors", f"place {place} at sensor {sensor}")
        return np.asarray(_wave(-distances / self.wavelength) / distances)


def _wave(turns: Array) -> ComplexArray:
    """Unit complex numbers by their phase in whole turns."""
    return np.asarray(np.exp(2j * np.pi * turns), dtype=np.complex128)
