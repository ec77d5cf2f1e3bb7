"""Waves at several frequencies on sensors anywhere: from far away by direction, or from a place."""

from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_array, check_positive, read_only
from .._errors import Clause, MisuseError
from .._typing import Array, Positive
from ._base import ComplexArray, Response, register

# Of the longest distance of a line of sensors; those that lie farther off it do not lie on a line.
_ON_A_LINE = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class _Sensors:
    """The sensors that waves reach, the frequencies, and the speed of the waves."""

    sensors: Array = field(repr=False)
    frequencies: Array
    speed: Positive = 343.0

    def __post_init__(self) -> None:
        """Check and freeze all of them."""
        sensors = check_array("sensors", self.sensors, (None, None))
        if len(sensors) < 2 or sensors.shape[1] not in (2, 3):
            rule = "be two or more, each with coordinates x and y, and z where it is known"
            raise MisuseError("sensors", rule, f"shape {sensors.shape}")
        frequencies = check_array("frequencies", np.atleast_1d(np.asarray(self.frequencies, dtype=np.float64)), (None,))
        if not len(frequencies) or not frequencies.min() > 0.0:
            raise MisuseError("frequencies", "be above 0, in hertz", frequencies.tolist())
        object.__setattr__(self, "sensors", read_only(sensors))
        object.__setattr__(self, "frequencies", read_only(frequencies))
        object.__setattr__(self, "speed", check_positive("speed", self.speed))


@register("plane waves")
@final
@dataclass(frozen=True, slots=True, eq=False)
class PlaneWaves(_Sensors):
    r"""Plane waves from directions, at every frequency in turn.

    :math:`a_{fm}(u) = \exp(2\pi i f\,s_m\cdot u/c)` of sensor m at :math:`s_m`, with u the unit vector towards the
    source: azimuth in degrees from the x axis towards the y axis, and elevation above their plane, 0 unless given.
    sensors: (m, 2) or (m, 3) in metres.  frequencies: in hertz.  speed: c, in metres a second, 343 for air at 20 C.

    >>> PlaneWaves([[0.0, 0.0], [0.0, 0.1]], [1715.0])([[90.0]]).round(12).ravel().tolist()
    [(1+0j), (-1+0j)]
    """

    def __call__(self, places: ArrayLike, /) -> ComplexArray:
        """(E, 1) azimuths, or (E, 2) with elevations, in degrees -> (F m, E)."""
        angles = np.deg2rad(check_array("places", places, (None, None)))
        elevations = angles[:, 1] if angles.shape[1] > 1 else np.zeros(len(angles))
        flat = np.cos(elevations)
        towards = np.stack([flat * np.cos(angles[:, 0]), flat * np.sin(angles[:, 0]), np.sin(elevations)])
        delays = self.sensors @ towards[: self.sensors.shape[1]] / self.speed  # (m, E) seconds earlier than at 0
        return _stacked(self.frequencies, delays, np.ones(delays.shape))

    @property
    def mirror(self) -> float | None:
        """The azimuth of the line on which all sensors lie, between 0 and 180 degrees; None if they are on no line."""
        centred = self.sensors - self.sensors.mean(axis=0)
        _, lengths, along = np.linalg.svd(centred, full_matrices=False)
        if len(lengths) > 1 and lengths[1] > _ON_A_LINE * lengths[0]:
            return None
        return float(np.degrees(np.arctan2(along[0, 1], along[0, 0])) % 180.0)


@register("spherical waves")
@final
@dataclass(frozen=True, slots=True, eq=False)
class SphericalWaves(_Sensors):
    r"""Spherical waves from places, at every frequency in turn: :math:`a_{fm}(x) = e^{-2\pi i f r_m/c}/r_m`.

    :math:`r_m = |s_m - x|`.  sensors: (m, d) in metres, in the coordinates of the places.  frequencies: in hertz.
    """

    def __call__(self, places: ArrayLike, /) -> ComplexArray:
        """(E, d) places in metres -> (F m, E)."""
        points = check_array("places", places, (None, self.sensors.shape[1]))
        distances = np.linalg.norm(self.sensors[:, None] - points, axis=2)  # (m, E)
        if not distances.all():
            sensor, place = np.argwhere(distances == 0.0)[0]
            raise MisuseError("places", "lie away from the sensors", Clause(f"place {place} lies at sensor {sensor}"))
        return _stacked(self.frequencies, -distances / self.speed, 1.0 / distances)


def mirror_line(response: Response, places: Array) -> float | None:
    """The azimuth of a line of sensors, which sees both sides alike, if some of the directions lie on either side."""
    line = response.mirror if isinstance(response, PlaneWaves) and places.shape[1] == 1 else None
    if line is None:
        return None
    sides = (places[:, 0] - line) % 360.0
    is_first = (sides > 1e-6) & (sides < 180.0 - 1e-6)
    return line if is_first.any() and (sides > 180.0 + 1e-6).any() else None


def _stacked(frequencies: Array, delays: Array, sizes: Array) -> ComplexArray:
    """(F m, E) waves of these sizes that come so many seconds (m, E) early."""
    return np.concatenate([sizes * np.exp(2j * np.pi * f * delays) for f in frequencies.tolist()])
