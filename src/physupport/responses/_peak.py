"""Lines of spectra and bumps of profiles."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Literal, final

import numpy as np
from numpy.typing import ArrayLike

from .._arrays import read_only
from .._checks import check_array, check_positive
from .._errors import MisuseError
from .._typing import Array, Positive
from ._base import register


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
        axis = check_array("axis", self.axis, (None,))
        if axis.size == 0:
            raise MisuseError("axis", "hold at least one channel", "none")
        if self.shape not in SHAPES:
            raise MisuseError("shape", f"be one of {', '.join(map(repr, SHAPES))}", repr(self.shape))
        object.__setattr__(self, "axis", read_only(axis))
        object.__setattr__(self, "width", check_positive("width", self.width))

    def __call__(self, places: ArrayLike, /) -> Array:
        """(E, 1) -> (q, E)."""
        x = check_array("places", places, (None, 1))[:, 0]
        return SHAPES[self.shape]((self.axis[:, None] - x) / self.width)
