"""Responses that are formulas, whose derivatives are bounded over boxes in interval arithmetic."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Final, final

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_array, check_positive
from .._errors import MisuseError
from .._typing import Array, BoolArray, Positive
from ._base import ComplexArray, check_channels, register
from ._expression import Expression
from ._intervals import Enclosure, Jet

# Parts of a box are halved until their bounds are this near to what is reached in the middle of some, or are so many.
_ENOUGH: Final = 1.2
_MOST_PARTS: Final = 2**12
# Numbers of one block of parts.
_BLOCK: Final = 2**19
# Far more than the sums and roots of bounds are off, as a part of them.
_SUMS: Final = 1e-10


@final
@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """What a formula is of: q channels, each with numbers of its own, d places, and a width."""

    parts: tuple[Expression, ...]  # the real one, and the imaginary one if there is one
    channels: Mapping[str, Array] = field(repr=False)  # (q,) each
    places: tuple[str, ...]
    width: float = 1.0

    def at(self, places: Array) -> tuple[Array, ...]:
        """(E, d) -> (q, E) for each part."""
        values = {name: column[:, None] for name, column in self.channels.items()} | {"width": self.width}
        values |= {name: places[:, k] for k, name in enumerate(self.places)}
        (q,) = {len(column) for column in self.channels.values()}
        with np.errstate(all="ignore"):  # what is not finite is told where answers are checked
            return tuple(np.broadcast_to(part.at(values), (q, len(places))).copy() for part in self.parts)

    def jets(self, low: Array, high: Array) -> list[Jet]:
        """(d, B) boxes of places, perhaps with a factor of the width after these -> jets of q rows for each part."""
        d = len(low)
        values = {name: Jet.constant(Enclosure.of(column[:, None]), d) for name, column in self.channels.items()}
        width = Jet.constant(Enclosure.of(self.width), d)
        for k, name in enumerate((*self.places, "width")[:d]):
            values[name] = Jet.variable(Enclosure(low[k], high[k]), k, d)
        values["width"] = values["width"] * width if "width" in values else width
        return [part.jet(values, d) for part in self.parts]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    r"""Of the answer u at unit norm, over a box: of :math:`|\partial_ku|` and of :math:`|\partial_k\partial_lu|`."""

    slopes: Array  # (d,)
    bends: Array  # (d, d)

    def first(self, d: int) -> "Bounds":
        """Those along the first d directions."""
        return Bounds(self.slopes[:d], self.bends[:d, :d])


def form_bounds(form: Form, low: Array, high: Array) -> Bounds:
    r"""Bounds over a box of places and, the last coordinate, of factors of the width.

    With :math:`a_k = |\partial_kr|/|r|` and :math:`b_{kl} = |\partial_k\partial_lr|/|r|`, the derivatives of
    :math:`u = r/|r|` have :math:`|\partial_ku| \le a_k`, and :math:`\partial_k\partial_lu` has a part along u, which is
    :math:`-\partial_ku\cdot\partial_lu`, and one across it of at most :math:`b_{kl} + a_kc_l + a_lc_k`, where
    :math:`c_k = |u\cdot\partial_kr|/|r|`.  Parts of the box are halved where their bounds are far
    above what is reached.
    """
    q, d = next(iter(form.channels.values())).size, len(low)
    boxes, reached, worst, count = np.array([low, high])[:, :, None], np.zeros((d + 1, d)), np.zeros((d + 1, d)), 0
    while boxes.shape[2]:
        count += boxes.shape[2]
        blocks = np.array_split(boxes, 1 + boxes.shape[2] * q // _BLOCK, axis=2)
        bounds = np.concatenate([_bounds(form, block[0], block[1], q) for block in blocks], axis=2)  # (d + 1, d, B)
        middles = np.concatenate([_bounds(form, block.mean(axis=0), block.mean(axis=0), q) for block in blocks], axis=2)
        reached = np.maximum(reached, middles.max(axis=2))
        is_left = (bounds > _ENOUGH * _aim(reached)[:, :, None]).any(axis=(0, 1)) & (count < _MOST_PARTS)
        worst = np.maximum(worst, bounds[:, :, ~is_left].max(axis=2, initial=0.0))
        boxes = _halved(boxes[:, :, is_left], high > low)
    if not np.isfinite(worst).all():
        raise MisuseError("box", "be where the formula is smooth and not 0", np.column_stack([low, high]).tolist())
    return Bounds(worst[0] * (1.0 + _SUMS), worst[1:] * (1.0 + _SUMS))


def _aim(reached: Array) -> Array:
    """(d + 1, d) as near as bounds need to come: mixed bends that are small cost nothing beside the others."""
    own = np.sqrt(np.diagonal(reached[1:]))
    return np.vstack([reached[:1], np.maximum(reached[1:], 0.5 * np.outer(own, own))])


def _bounds(form: Form, low: Array, high: Array, q: int) -> Array:
    """(d + 1, d, B) the slopes and the bends over each of B boxes."""
    shape = q, low.shape[1]
    with np.errstate(all="ignore"):
        jets = form.jets(low, high)
        whole = np.sqrt(sum(np.broadcast_to(jet.value.smallest**2, shape).sum(axis=0) for jet in jets))  # (B,)

        def share(parts: Iterable[Enclosure]) -> Array:
            sizes = (np.broadcast_to(part.largest**2, shape).sum(axis=0) for part in parts)
            return np.asarray(np.sqrt(sum(sizes)) / whole)

        a = np.array([share(jet.first[k] for jet in jets) for k in range(len(low))])  # (d, B)
        along = np.array([_along(jets, k, shape) / whole**2 for k in range(len(low))])
        c, bounds = np.minimum(a, along), np.empty((len(low) + 1, *a.shape))
        bounds[0] = a
        for k, m in product(range(len(low)), repeat=2):
            b = share(jet.second[max(k, m)][min(k, m)] for jet in jets)
            bounds[k + 1, m] = np.hypot(b + a[k] * c[m] + a[m] * c[k], a[k] * a[m])
    return np.nan_to_num(bounds, nan=np.inf, posinf=np.inf)


def _along(jets: list[Jet], k: int, shape: tuple[int, int]) -> Array:
    """(B,) of the sum over channels of the answer times its derivative."""
    terms = [jet.value * jet.first[k] for jet in jets]
    low = sum(np.broadcast_to(term.low, shape).sum(axis=0) for term in terms)
    high = sum(np.broadcast_to(term.high, shape).sum(axis=0) for term in terms)
    return np.asarray(np.maximum(np.abs(low), np.abs(high)))


def _halved(boxes: Array, is_wide: BoolArray) -> Array:
    """(2, d, B) -> the same boxes, each cut into halves along all coordinates that are wide."""
    for k in np.flatnonzero(is_wide):
        middle = boxes[:, k].mean(axis=0)
        lower, upper = boxes.copy(), boxes.copy()
        lower[1, k] = upper[0, k] = middle
        boxes = np.concatenate([lower, upper], axis=2)
    return boxes


@register("formula")
@final
@dataclass(frozen=True, slots=True, eq=False)
class Formula:
    """The answer of channel t to an element at x, as a formula of both.

    formula: numbers, pi, + - * / **, exp, log, sqrt, sin, cos, the channel `t`, the names of `places`, and `width`, a
    number that an uncertain parameter of this name multiplies.  imaginary: a second one makes answers complex.

    >>> Formula("exp(-((t - x) / width)**2)", axis=[0.0, 1.0], width=2.0)([[1.0]]).round(4).ravel().tolist()
    [0.7788, 1.0]
    """

    formula: str
    axis: Array = field(repr=False)  # (q,) where the channels lie
    places: str = "x"  # names of the coordinates, separated by blanks
    imaginary: str = ""
    width: Positive = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", check_channels(self.axis))
        object.__setattr__(self, "width", check_positive("width", self.width))
        names = self.places.split()
        known = {*names, "t", "width"}
        if not names or len(known) < len(names) + 2 or not all(name.isidentifier() for name in names):
            raise MisuseError("places", "be names other than t and width, separated by blanks", repr(self.places))
        for part in self.form().parts:
            if strange := part.names - known:
                raise MisuseError("formula", f"have no other names than {', '.join(sorted(known))}", min(strange))

    def form(self) -> Form:
        """The formula and what it is of."""
        texts = (self.formula, *([self.imaginary] if self.imaginary else []))
        return Form(tuple(map(Expression, texts)), {"t": self.axis}, tuple(self.places.split()), float(self.width))

    def __call__(self, places: ArrayLike, /) -> Array | ComplexArray:
        """(E, d) -> (q, E)."""
        form = self.form()
        parts = form.at(check_array("places", places, (None, len(form.places))))
        return parts[0] if len(parts) == 1 else parts[0] + 1j * parts[1]
