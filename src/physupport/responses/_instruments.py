"""Built-in responses: arrays of sensors, peaks of spectra, and electrodes on a spherical head."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final, Literal, final

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_array, check_count, check_positive, read_only
from .._errors import Clause, MisuseError
from .._typing import Array, Count, Positive
from ._base import ComplexArray, check_channels, register
from ._expression import parsed
from ._formula import Form

# By which a variance between the points of a grid may exceed those on it.
_GROWTH = 0.02
_MOST_POINTS = 2**20


def largest_cosine(low: float, high: float) -> float:
    """The largest absolute cosine over angles in degrees: 1 at a whole half turn, else at an end."""
    if np.floor(high / 180.0) >= np.ceil(low / 180.0):
        return 1.0
    return float(np.abs(np.cos(np.deg2rad([low, high]))).max())


def gaussian_slope(axis: Array, width: float, low: float, high: float) -> float:
    r""":math:`|\partial u| = \operatorname{sd}_\pi(t)/w^2`, t a channel drawn with probability as :math:`r_t^2`.

    Moving x by s tilts these probabilities by :math:`e^{2ts/w^2}`, so the variance changes by :math:`2\kappa_3/w^2` a
    unit, and :math:`|\kappa_3|` is at most the variance times the length R of the axis: between grid points that are
    :math:`2\rho` apart it is at most :math:`e^{2R\rho/w^2}` times that of the nearer one.
    """
    length = float(np.ptp(axis))
    if length == 0.0:
        return 0.0
    count = int(np.ceil((high - low) * length / (np.log1p(_GROWTH) * width**2))) + 1
    if count > _MOST_POINTS:
        raise MisuseError("box", f"need at most {_MOST_POINTS} points to bound the slope of a peak", count)
    points = low + (high - low) * (np.arange(count) + 0.5) / count
    parts = np.array_split(points, 1 + count * len(axis) // 2**20)
    worst = max(float(_variances(axis, width, part).max()) for part in parts)
    return float(np.sqrt(worst * (1.0 + _GROWTH)) / width**2)


def _variances(axis: Array, width: float, points: Array) -> Array:
    """(k,) of a channel whose probabilities are the squares of a gaussian peak at each point."""
    exponents = -(((axis[:, None] - points) / width) ** 2)
    weights = np.exp(exponents - exponents.max(axis=0))
    weights /= weights.sum(axis=0)
    centred = axis[:, None] - (axis[:, None] * weights).sum(axis=0)
    return np.asarray((weights * centred**2).sum(axis=0))


# More are a slip of the keyboard, and every one is a channel of the data.
MOST_SENSORS = 2**20


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

    directions: ClassVar[tuple[float, float]] = (-90.0, 90.0)  # degrees, from end to end

    n_sensors: Count
    spacing: Positive  # wavelengths

    def __post_init__(self) -> None:
        check_count("n_sensors", self.n_sensors, 1, MOST_SENSORS)
        object.__setattr__(self, "spacing", check_positive("spacing", self.spacing))

    def __call__(self, places: ArrayLike, /) -> ComplexArray:
        """(E, 1) angles in degrees -> (q, E)."""
        angles = np.deg2rad(check_array("places", places, (None, 1))[:, 0])
        return _wave(self._sensors[:, None] * np.sin(angles))

    def slopes(self, low: Array, high: Array) -> Array:
        r""":math:`2\pi\delta|\cos\theta|\sqrt{\sum m^2/q}` a radian at most, over a box of angles in degrees."""
        size = np.sqrt(np.mean(np.arange(self.n_sensors, dtype=np.float64) ** 2))
        return np.array([np.deg2rad(2.0 * np.pi * self.spacing * size) * largest_cosine(float(low[0]), float(high[0]))])

    def form(self) -> Form:
        """The same as formulas."""
        return _waves("2 * pi * m * sin(x * pi / 180)", {"m": self._sensors}, ("x",))

    @property
    def _sensors(self) -> Array:
        """(q,) their places, in wavelengths."""
        return self.spacing * np.arange(self.n_sensors, dtype=np.float64)


@register("circular array")
@final
@dataclass(frozen=True, slots=True)
class CircularArray:
    r"""Sensors at equal distances on a circle, and a plane wave in its plane.

    :math:`a_m(\theta) = \exp(2\pi i\, R \cos(\theta - 2\pi m/q))` for sensor m = 0, ..., q - 1, radius R in wavelengths
    and the azimuth :math:`\theta` from the first sensor.
    """

    directions: ClassVar[tuple[float, float]] = (0.0, 360.0)  # degrees, all around

    n_sensors: Count
    radius: Positive  # wavelengths

    def __post_init__(self) -> None:
        check_count("n_sensors", self.n_sensors, 1, MOST_SENSORS)
        object.__setattr__(self, "radius", check_positive("radius", self.radius))

    def __call__(self, places: ArrayLike, /) -> ComplexArray:
        """(E, 1) azimuths in degrees -> (q, E)."""
        azimuths = np.deg2rad(check_array("places", places, (None, 1))[:, 0])
        return _wave(self.radius * np.cos(azimuths - self._sensors[:, None]))

    def slopes(self, low: Array, high: Array) -> Array:  # noqa: ARG002
        r""":math:`2\pi R\sqrt{\sum_m\sin^2(\theta - 2\pi m/q)/q}` a radian; the mean is 1/2 from three sensors on."""
        return np.array([np.deg2rad(2.0 * np.pi * self.radius * np.sqrt(0.5 if self.n_sensors > 2 else 1.0))])

    def form(self) -> Form:
        """The same as formulas."""
        channels = {"m": self._sensors, "r": np.full(self.n_sensors, self.radius)}
        return _waves("2 * pi * r * cos(x * pi / 180 - m)", channels, ("x",))

    @property
    def _sensors(self) -> Array:
        """(q,) their azimuths, in radians."""
        return 2.0 * np.pi * np.arange(self.n_sensors) / self.n_sensors


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
            raise MisuseError("places", "lie away from the sensors", Clause(f"place {place} lies at sensor {sensor}"))
        return np.asarray(_wave(-distances / self.wavelength) / distances)

    def slopes(self, low: Array, high: Array) -> Array:
        r""":math:`\sqrt{(2\pi/\lambda)^2 + 1/\rho^2}`, with no sensor nearer to the box than :math:`\rho`."""
        outside = np.maximum(np.maximum(low - self.sensors, self.sensors - high), 0.0)  # (q, d)
        nearest = float(np.linalg.norm(outside, axis=1).min())
        if nearest == 0.0:
            raise MisuseError("box", "hold no sensor", Clause("it does"))
        return np.full(len(low), np.hypot(2.0 * np.pi / self.wavelength, 1.0 / nearest))

    def form(self) -> Form:
        """The same as formulas."""
        numbers = range(self.sensors.shape[1])
        away = f"sqrt({' + '.join(f'(s{k} - x{k})**2' for k in numbers)})"
        channels = {f"s{k}": self.sensors[:, k] for k in numbers} | {"l": np.full(len(self.sensors), self.wavelength)}
        return _waves(f"-2 * pi * {away} / l", channels, tuple(f"x{k}" for k in numbers), f" / {away}")


def _waves(phase: str, channels: dict[str, Array], places: tuple[str, ...], factor: str = "") -> Form:
    """The real and the imaginary part of a wave of this phase."""
    return Form(tuple(parsed(f"{part}({phase}){factor}") for part in ("cos", "sin")), channels, places)


def _wave(turns: Array) -> ComplexArray:
    """Unit complex numbers by their phase in whole turns."""
    return np.asarray(np.exp(2j * np.pi * turns), dtype=np.complex128)


def _gaussian(u: Array) -> Array:
    return np.exp(-0.5 * u**2)


def _lorentzian(u: Array) -> Array:
    return 1.0 / (1.0 + u**2)


def _pseudo_voigt(u: Array) -> Array:
    return 0.5 * np.exp2(-(u**2)) + 0.5 * _lorentzian(u)


SHAPES: Final[dict[str, Callable[[Array], Array]]] = {
    "gaussian": _gaussian,
    "lorentzian": _lorentzian,
    "pseudo-voigt": _pseudo_voigt,
}
_SQUARE: Final = "((t - x) / width)**2"
_TEXTS: Final = {
    "gaussian": f"exp(-{_SQUARE} / 2)",
    "lorentzian": f"1 / (1 + {_SQUARE})",
    "pseudo-voigt": f"exp(-log(2) * {_SQUARE}) / 2 + 1 / (2 + 2 * {_SQUARE})",
}


@register("peak")
@final
@dataclass(frozen=True, slots=True, eq=False)
class Peak:
    r"""A peak of height 1 at the place of the element, seen by channels along the same axis.

    With :math:`u = (t - x)/w` for channel t, place x and width w, the answer is :math:`e^{-u^2/2}` (gaussian; w is the
    standard deviation), :math:`1/(1 + u^2)` (lorentzian; w is half the width at half height), or the mean of
    :math:`2^{-u^2}` and :math:`1/(1 + u^2)` (pseudo-voigt; w is half the width at half height of either part).

    >>> Peak([0.0, 1.0, 2.0], width=1.0, shape="lorentzian")([[1.0]]).ravel().tolist()
    [0.5, 1.0, 0.5]
    """

    axis: Array = field(repr=False)  # (q,) where the channels lie
    width: Positive
    shape: Literal["gaussian", "lorentzian", "pseudo-voigt"] = "gaussian"

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", check_channels(self.axis))
        if self.shape not in SHAPES:
            raise MisuseError("shape", f"be one of {', '.join(map(repr, SHAPES))}", repr(self.shape))
        object.__setattr__(self, "width", check_positive("width", self.width))

    def __call__(self, places: ArrayLike, /) -> Array:
        """(E, 1) -> (q, E)."""
        x = check_array("places", places, (None, 1))[:, 0]
        return SHAPES[self.shape]((self.axis[:, None] - x) / self.width)

    def deviations(self, energies: Array) -> Array:
        """The standard deviations of peaks at places, of a gaussian shape."""
        if self.shape != "gaussian":
            raise MisuseError("shape", "be 'gaussian' for a standard deviation", repr(self.shape))
        return np.full(len(energies), float(self.width))

    def slopes(self, low: Array, high: Array) -> Array:
        r"""Bounds of :math:`|\partial_x\log r|`, 1/w of a lorentzian and 2.5/w of a pseudo-voigt peak.

        Of a gaussian peak that has none; see `gaussian_slope`.
        """
        if self.shape == "gaussian":
            return np.array([gaussian_slope(self.axis, float(self.width), float(low[0]), float(high[0]))])
        return np.array([{"lorentzian": 1.0, "pseudo-voigt": 2.5}[self.shape] / self.width])

    def form(self) -> Form:
        """The same as a formula."""
        return Form((parsed(_TEXTS[self.shape]),), {"t": self.axis}, ("x",), float(self.width))


# Of places at nine tenths of the brain's radius, the terms left out are below a part in 10^6.
_TERMS: Final = 100
_DEEPEST: Final = 0.99  # of the brain's radius


_AXES: Final = ("x", "y", "z")


def _series(cosines: Array, terms: Array, derivative: int = 0) -> Array:
    """(q, E) sums over n of terms (E, n) times the Legendre polynomial of order n, or its derivative."""
    zeroth = np.zeros((len(terms), 1))
    coefficients = np.concatenate([zeroth, terms], axis=1).T  # (terms + 1, E)
    if derivative:
        coefficients = np.polynomial.legendre.legder(coefficients, derivative)
    return np.asarray(np.polynomial.legendre.legval(cosines, coefficients[:, None], tensor=False))


@register("spherical head")
@final
@dataclass(frozen=True, slots=True, eq=False)
class SphericalHead:
    r"""Potentials of dipoles in the brain.

    In each shell the potential is a sum of :math:`(A_nr^n + B_nr^{-n-1})P_n(\cos\gamma)`, continuous from shell to
    shell together with the current :math:`\sigma\,\partial V/\partial r`, which vanishes on the scalp.  A source at
    radius :math:`r_0` gives :math:`B_n = r_0^n/(4\pi\sigma)` in the brain, and a dipole is its derivative along the
    moment: outwards :math:`n r_0^{n-1}P_n`, and along a tangent t, for a sensor in direction s,
    :math:`r_0^{n-1}(s\cdot t)P_n'`.

    orientation: outwards, as of dipoles on the crowns of gyri; along x, y or z; or free, which has no answer of its own
    but three `variants` whose mixtures are all moments.
    """

    sensors: Array = field(repr=False)  # (q, 3) from the middle of the head, in the unit of the radii; any length
    brain: Positive = 80.0
    skull: Positive = 85.0  # outer radii
    scalp: Positive = 92.0
    conductivity: Positive = 0.0125  # of the skull, relative to brain and scalp
    orientation: Literal["outwards", "x", "y", "z", "free"] = "outwards"

    def __post_init__(self) -> None:
        sensors = check_array("sensors", self.sensors, (None, 3))
        if not len(sensors) or not np.all(np.linalg.norm(sensors, axis=1) > 0.0):
            raise MisuseError("sensors", "lie outside the middle of the head, at least one", f"shape {sensors.shape}")
        for name in ("brain", "skull", "scalp", "conductivity"):
            object.__setattr__(self, name, check_positive(name, getattr(self, name)))
        if not self.brain < self.skull < self.scalp:
            raise MisuseError("radii", "grow from brain to skull to scalp", (self.brain, self.skull, self.scalp))
        if self.orientation not in ("outwards", *_AXES, "free"):
            rule = f"be outwards, {', '.join(_AXES)} or free"
            raise MisuseError("orientation", rule, repr(self.orientation))
        object.__setattr__(self, "sensors", read_only(sensors))

    @property
    def variants(self) -> tuple["SphericalHead", ...]:
        """The responses that mix with each other: one for each axis if the orientation is free."""
        return tuple(replace(self, orientation=axis) for axis in _AXES) if self.orientation == "free" else (self,)

    @property
    def outline(self) -> float:
        """The radius of what pictures draw around the places."""
        return float(self.scalp)

    def __call__(self, places: ArrayLike, /) -> Array:
        """(E, 3) -> (q, E), up to a factor that all share."""
        where = check_array("places", places, (None, 3))
        depth = np.linalg.norm(where, axis=1)
        if not len(where) or not np.all((depth > 0.0) & (depth <= _DEEPEST * self.brain)):
            raise MisuseError(
                "places", f"lie in the brain, between 0 and {_DEEPEST * self.brain:g}", depth.tolist()[:5]
            )
        if self.orientation == "free":
            raise MisuseError("orientation", "be one where a response is asked for", "free", "Ask its variants.")
        outwards = where / depth[:, None]
        towards = self.sensors / np.linalg.norm(self.sensors, axis=1)[:, None]
        cosines = towards @ outwards.T  # (q, E)
        orders = np.arange(1, _TERMS + 1)
        terms = self._gains(orders) * (depth[:, None] / self.brain) ** (orders - 1)  # (E, terms)
        radial = _series(cosines, orders * terms)
        if self.orientation == "outwards":
            return radial
        axis = _AXES.index(self.orientation)
        share = outwards[:, axis]  # (E,) of the moment that points outwards; the rest is a tangent
        return np.asarray(share * radial + (towards[:, axis, None] - share * cosines) * _series(cosines, terms, 1))

    def _gains(self, n: ArrayLike) -> Array:
        """(terms,) potential on the scalp for each unit of B_n / brain^(n + 1): from the scalp inwards."""
        order = np.asarray(n, dtype=np.float64)
        # In each shell a = A r^n and b = B r^(-n - 1) at a radius; on the scalp n a = (n + 1) b.
        a = (order + 1.0) / order
        b = np.ones(len(order))
        surface = a + b
        inner = {self.skull: 1.0 / self.conductivity, self.brain: self.conductivity}  # conductivity outside over inside
        radius = self.scalp
        for border, ratio in inner.items():
            a = a * (border / radius) ** order
            b = b * (radius / border) ** (order + 1.0)
            value = a + b
            flow = ratio * (order * a - (order + 1.0) * b)
            a = ((order + 1.0) * value + flow) / (2.0 * order + 1.0)
            b = (order * value - flow) / (2.0 * order + 1.0)
            radius = border
        return np.asarray(surface / b)
