"""Responses given by formulas, and bounds of the derivatives of answers that hold all over a box."""

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Final, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_array, check_positive
from .._errors import MisuseError, misuse_named
from .._typing import Array, BoolArray, Positive
from ._base import ComplexArray, Response, check_channels, register
from ._expression import RESERVED, Enclosure, Jet, floats, jets, names_in, parsed, worked
from ._settings import Parameter

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
    """A formula and its variables: q channels, each with numbers of its own, d places, and a width."""

    parts: tuple[ast.expr, ...]  # the real one, and the imaginary one if there is one
    channels: Mapping[str, Array] = field(repr=False)  # (q,) each
    places: tuple[str, ...]
    width: float = 1.0

    def at(self, places: Array) -> tuple[Array, ...]:
        """(E, d) -> (q, E) for each part."""
        values = {name: column[:, None] for name, column in self.channels.items()} | {"width": self.width}
        values |= {name: places[:, k] for k, name in enumerate(self.places)}
        (q,) = {len(column) for column in self.channels.values()}
        with np.errstate(all="ignore"):  # what is not finite is told where answers are checked
            return tuple(np.broadcast_to(worked(part, values, floats), (q, len(places))).copy() for part in self.parts)

    def jets(self, low: Array, high: Array) -> list[Jet]:
        """(d, B) boxes of places, perhaps with a factor of the width after these -> jets of q rows for each part."""
        d = len(low)
        values = {name: Jet.constant(Enclosure.of(column[:, None]), d) for name, column in self.channels.items()}
        width = Jet.constant(Enclosure.of(self.width), d)
        for k, name in enumerate((*self.places, "width")[:d]):
            values[name] = Jet.variable(Enclosure(low[k], high[k]), k, d)
        values["width"] = values["width"] * width if "width" in values else width
        return [worked(part, values, partial(jets, d)) for part in self.parts]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    r"""Bounds of :math:`|\partial_ku|` and :math:`|\partial_k\partial_lu|` of the answer u at unit norm, over a box."""

    slopes: Array  # (d,)
    bends: Array  # (d, d)

    def first(self, d: int) -> "Bounds":
        """Those along the first d directions."""
        return Bounds(self.slopes[:d], self.bends[:d, :d])


def form_bounds(form: Form, low: Array, high: Array, *, is_turned: bool = False) -> Bounds:
    r"""Bounds over a box of places and, the last coordinate, of factors of the width.

    With :math:`a_k = |\partial_kr|/|r|` and :math:`b_{kl} = |\partial_k\partial_lr|/|r|`, the derivatives of
    :math:`u = r/|r|` have :math:`|\partial_ku| \le a_k`, and :math:`\partial_k\partial_lu` has a part along u, which is
    :math:`-\partial_ku\cdot\partial_lu`, and one across it of at most :math:`b_{kl} + a_kc_l + a_lc_k`, where
    :math:`c_k = |u\cdot\partial_kr|/|r|`.  Parts of the box are halved where their bounds are far
    above what is reached.

    is_turned: slopes are those of :math:`e^{-ic\cdot x}u`, with c such that the phase stands still in the middle:
    enough where coefficients have any phase.
    """
    q = next(iter(form.channels.values())).size
    turn = _turn(form, 0.5 * (low + high)) if is_turned and len(form.parts) > 1 else None
    d = len(low)
    boxes = np.array([low, high])[:, :, None]
    reached = np.zeros((d + 1, d))
    worst = np.zeros((d + 1, d))
    count = 0
    while boxes.shape[2]:
        count += boxes.shape[2]
        blocks = np.array_split(boxes, 1 + boxes.shape[2] * q // _BLOCK, axis=2)
        bounds = np.concatenate(
            [_bounds(form, block[0], block[1], q, turn) for block in blocks], axis=2
        )  # (d + 1, d, B)
        centres = [block.mean(axis=0) for block in blocks]
        middles = np.concatenate([_bounds(form, centre, centre, q, turn) for centre in centres], axis=2)
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


def _turn(form: Form, place: Array) -> Array:
    """(d,) how fast the phase of an answer changes along every coordinate."""
    real, imaginary = form.jets(place[:, None], place[:, None])
    (x, y) = (part.value.low for part in (real, imaginary))
    size = (np.square(x) + np.square(y)).sum()
    slopes = zip(real.first, imaginary.first, strict=True)
    return np.asarray(np.array([(x * v.low - y * u.low).sum() for u, v in slopes]) / size)


def _bounds(form: Form, low: Array, high: Array, q: int, turn: Array | None = None) -> Array:
    """(d + 1, d, B) the slopes and the bends over each of B boxes; turn: (d,) of the phase, which slopes leave out."""
    shape = q, low.shape[1]
    with np.errstate(all="ignore"):
        jets = form.jets(low, high)
        whole = np.sqrt(sum(np.broadcast_to(jet.value.smallest**2, shape).sum(axis=0) for jet in jets))  # (B,)

        def share(parts: Iterable[Enclosure]) -> Array:
            sizes = (np.broadcast_to(part.largest**2, shape).sum(axis=0) for part in parts)
            return np.asarray(np.sqrt(sum(sizes)) / whole)

        a = np.array([share(jet.first[k] for jet in jets) for k in range(len(low))])  # (d, B)
        along = np.array([_along(jets, k, shape) / whole**2 for k in range(len(low))])
        c = np.minimum(a, along)
        bounds = np.empty((len(low) + 1, *a.shape))
        bounds[0] = a
        if turn is not None:
            (real, imaginary) = jets
            for k, speed in enumerate(turn.tolist()):
                left = (
                    real.first[k] + imaginary.value.scaled(speed),
                    imaginary.first[k] + real.value.scaled(-speed),
                )
                bounds[0, k] = share(left)
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
        lower = boxes.copy()
        upper = boxes.copy()
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
        is_own = {*names}.isdisjoint(RESERVED) and len({*names}) == len(names)
        if not names or not is_own or not all(name.isidentifier() for name in names):
            rule = f"be distinct names other than {', '.join(RESERVED)}, separated by blanks"
            raise MisuseError("places", rule, repr(self.places))
        for key, part in zip(("formula", "imaginary"), self.form().parts, strict=False):
            if strange := names_in(part) - known:
                raise MisuseError(key, f"have no other names than {', '.join(sorted(known))}", min(strange))

    def form(self) -> Form:
        """The formula and what it is of."""
        parts = [parsed(self.formula)]
        if self.imaginary:
            with misuse_named(lambda _: "imaginary"):
                parts.append(parsed(self.imaginary))
        return Form(tuple(parts), {"t": self.axis}, tuple(self.places.split()), float(self.width))

    def __call__(self, places: ArrayLike, /) -> Array | ComplexArray:
        """(E, d) -> (q, E)."""
        form = self.form()
        parts = form.at(check_array("places", places, (None, len(form.places))))
        return parts[0] if len(parts) == 1 else parts[0] + 1j * parts[1]


_REMEDY = "Give bounds of the derivatives of its answer at unit norm, not differences of samples."
# Between channels an answer that is shifted is interpolated, of which nothing is proven.
_SHIFTED = "Of a peak or a formula take 'position' in its place, which moves the elements by as much."


def box_bounds(
    response: Response,
    low: Array,
    high: Array,
    parameters: Sequence[Parameter] = (),
    *,
    second: bool = False,
    is_turned: bool = False,
) -> Bounds:
    """(d + p) slopes and, if asked for, bends: of places first, then of parameters anywhere between their values.

    is_turned: slopes leave out how the phase of complex answers turns in the middle, as `form_bounds` does.
    """
    d = len(low)
    own = np.zeros(len(parameters))
    factors = list[_Factors]()
    offsets = list[tuple[int, float]]()
    moved_low = low.copy()
    moved_high = high.copy()
    widths = (1.0, 1.0)
    names = {parameter.name for parameter in parameters}
    q = len(np.asarray(response(low[None]))) if names & {"gain", "phase", "offset"} else 0
    for number, parameter in enumerate(parameters):
        least = float(parameter.values.min())
        most = float(parameter.values.max())
        match parameter.name:
            case "position":
                moved_low[parameter.coordinate] += least
                moved_high[parameter.coordinate] += most
            case "width":
                widths = least, most
            case "gain" | "phase" if not second:
                own[number], range_of_factors = _channel_slope(parameter, q, least, most)
                factors.append(range_of_factors)
            case "offset" if not second:
                offsets = [(number, max(abs(least), abs(most)))]
            case kind:
                rule = "be position or width" if second else "be position, width, gain, phase or offset"
                remedy = _SHIFTED if kind == "shift" else _REMEDY
                raise MisuseError(
                    f"parameter {parameter.label!r}", f"{rule} to have a proven slope", repr(kind), remedy
                )
    base = _of_places(response, moved_low, moved_high, widths, second, is_turned and not offsets)
    ratio, own = _in_channels(factors, offsets, own, q)
    places = [
        parameter.coordinate if parameter.name == "position" else d if parameter.name == "width" else -1
        for parameter in parameters
    ]
    chosen = np.array([*range(d), *places])
    slopes = np.append(base.slopes, [0.0] * (d + 2 - len(base.slopes)))  # the last stands for what has one of its own
    bends = np.zeros((d + 2, d + 2))
    bends[: len(base.bends), : len(base.bends)] = base.bends
    return Bounds(ratio * slopes[chosen] + np.append(np.zeros(d), own), bends[np.ix_(chosen, chosen)])


# The smallest and the largest factor of channels, and their largest ratio at any one value.
_Factors: TypeAlias = tuple[float, float, float]


def _channel_slope(parameter: Parameter, q: int, least: float, most: float) -> tuple[float, _Factors]:
    r"""The slope of a gain or a phase v with a pattern w, and the factors of channels.

    Factors :math:`1 + vw_c` have slopes of at most :math:`\max_c|w_c/(1 + vw_c)|`, phases of :math:`\max_c|w_c|`.
    """
    pattern = parameter.channel_pattern(q)
    if parameter.name == "phase":
        return float(np.abs(pattern).max()), (1.0, 1.0, 1.0)
    factors = 1.0 + np.outer([least, most], pattern)
    if not factors.min() > 0.0:
        raise MisuseError(f"parameter {parameter.label!r}", "leave a factor above 0 in every channel", factors.min())
    ratio = float((factors.max(axis=1) / factors.min(axis=1)).max())
    return float((np.abs(pattern) / factors).max()), (float(factors.min()), float(factors.max()), ratio)


def _in_channels(
    factors: Sequence[_Factors], offsets: Sequence[tuple[int, float]], own: Array, q: int
) -> tuple[float, Array]:
    r"""Bound the factor by which gains and an offset increase other slopes, and the slopes (p,) of all these.

    Factors do by at most their ratio.  An offset v adds the vector :math:`v\max_c|r_c|` of q equal entries, which is no
    longer than :math:`v\sqrt q|r|` and moves by no more than :math:`v\sqrt q` times what r does: of an answer that
    factors leave at least g and at most G of, slopes have :math:`G + v\sqrt q` where they had G, and all are over
    :math:`g - v\sqrt q`.
    """
    least, most, ratio = np.prod(np.reshape(factors, (-1, 3)), axis=0).tolist()
    for number, largest in offsets:
        length = largest * q**0.5
        if not length < least:
            rule = f"stay below {least / q**0.5:.3g} of the largest channel, or it might cancel an answer"
            raise MisuseError("parameter 'offset'", rule, f"{largest:g}", _REMEDY)
        own = own * most / (least - length)
        own[number] = q**0.5 / (least - length)
        ratio = (most + length) / (least - length)
    return ratio, own


def _of_places(
    response: Response, low: Array, high: Array, widths: tuple[float, float], second: bool, is_turned: bool
) -> Bounds:
    """The bounds of slopes that the response itself proves: in closed form, or by its formula."""
    has_widths = widths != (1.0, 1.0)
    own_slopes = getattr(response, "slopes", None)
    own_form = getattr(response, "form", None)
    by_form = second or has_widths or (is_turned and own_form is not None)
    if own_slopes is not None and not by_form:
        slopes = check_array("slopes of the response", own_slopes(low, high), (len(low),))
        if slopes.min() < 0.0:
            raise MisuseError("slopes of the response", "be at least 0", slopes.min())
        return Bounds(slopes, np.zeros((len(low), len(low))))
    if own_form is None:
        known = "bends, as formulas do" if second else "slopes, as built-in ones do"
        raise MisuseError("response", f"bound its own {known}", type(response).__name__, _REMEDY)
    ends = (low, high) if not has_widths else (np.append(low, widths[0]), np.append(high, widths[1]))
    return form_bounds(own_form(), *ends, is_turned=is_turned)
