"""Electrodes on a head of three concentric spheres: brain, skull and scalp."""

from dataclasses import dataclass, field, replace
from typing import Final, Literal, final

import numpy as np
from numpy.typing import ArrayLike

from .._arrays import read_only
from .._checks import check_array, check_positive
from .._errors import MisuseError
from .._typing import Array, Positive
from ._base import register

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
        outwards, towards = where / depth[:, None], self.sensors / np.linalg.norm(self.sensors, axis=1)[:, None]
        cosines, orders = towards @ outwards.T, np.arange(1, _TERMS + 1)  # (q, E)
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
        a, b = (order + 1.0) / order, np.ones(len(order))
        surface = a + b
        inner = {self.skull: 1.0 / self.conductivity, self.brain: self.conductivity}  # conductivity outside over inside
        radius = self.scalp
        for border, ratio in inner.items():
            a, b = a * (border / radius) ** order, b * (radius / border) ** (order + 1.0)
            value, flow = a + b, ratio * (order * a - (order + 1.0) * b)
            a, b = ((order + 1.0) * value + flow) / (2.0 * order + 1.0), (order * value - flow) / (2.0 * order + 1.0)
            radius = border
        return np.asarray(surface / b)
