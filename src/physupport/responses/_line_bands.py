r"""Responses of elements made of lines, known to lie between two: counts per channel, whatever the detector does.

A line of intensity h at energy E has the area h times the efficiency there, to within a ratio, at an energy and with a
width known to within a range, and a tail, an escape peak and sums with other lines of at most some share.  Low and high
ends of the response hold for every detector in these ranges, channel by channel: the least and the largest mass of a
Gaussian in a channel over a box of places and widths have closed forms.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias, final

import numpy as np
import scipy  # its parts are slow to load, and loaded where they are used

from .._errors import MisuseError
from .._typing import Array, BoolArray, IntArray
from ._emission import Emission
from ._generic import MOST_PEAKS, PEAK_WIDTH, GenericPeaks
from ._settings import check_axis

# Standard deviations from a line beyond which it has less than 1e-10 of its area.
_REACH: Final = 6.5
# Of the strongest line of an element: weaker ones make no window of their own.
_STRONG: Final = 0.05
# Of these, as many per element may add up.
_SUMMED: Final = 15
# A tail falls by e over so many standard deviations.
_TAIL: Final = 3.0
# And ends after so many of these lengths, with less than 2e-5 of it left.
_LENGTHS: Final = 11.0
_PAIR: Final = 2.0 * 510.999  # keV, from which photons make pairs


# A number either way, or both ends.
Ends: TypeAlias = float | tuple[float, float]


@final
@dataclass(frozen=True, slots=True)
class Detector:
    """The properties of a detector, in keV and as shares.

    resolution: (a, b) of the variance a + b E of a line at energy E.  energy: by which the scale may be off either way,
    or (low, high) between which lines lie beside their places.  width: by which share standard deviations may be off,
    likewise.  ratio: areas of an element's lines are right to within a factor of 1 + ratio.  tail, sums, escape: at
    most this share of a line is in its tail, adds up with another line, or escapes with the energy of one of `escapes`.
    faint: below this energy, lines may be absorbed and have any smaller area.  efficiency: ((energy, efficiency), ...),
    between which logarithms are straight; ((1, 1),) is the same everywhere.
    """

    resolution: tuple[float, float]
    energy: Ends
    width: Ends
    ratio: float
    tail: float
    sums: float
    escape: float
    escapes: tuple[float, ...]
    faint: float
    efficiency: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        for name in ("ratio", "tail", "sums", "escape"):
            if not 0.0 <= getattr(self, name) < (np.inf if name == "ratio" else 1.0):
                rule = "be at least 0" if name == "ratio" else "be at least 0 and below 1"
                raise MisuseError(f"detector.{name}", rule, getattr(self, name))
        for name, (low, high), most in (("energy", self.energies, np.inf), ("width", self.widths, 1.0)):
            if not -most < low <= high < most:
                rule = "be at least 0, or (low, high) in this order" + (", all below 1" if name == "width" else "")
                raise MisuseError(f"detector.{name}", rule, getattr(self, name))

    @property
    def energies(self) -> tuple[float, float]:
        """Least and largest distance of lines from their places."""
        return self.energy if isinstance(self.energy, tuple) else (-self.energy, self.energy)

    @property
    def widths(self) -> tuple[float, float]:
        """Least and largest share by which standard deviations are larger than the resolution says."""
        return self.width if isinstance(self.width, tuple) else (-self.width, self.width)

    def deviations(self, energies: Array) -> Array:
        """The standard deviations of lines at energies."""
        variances = self.resolution[0] + self.resolution[1] * np.asarray(energies, dtype=np.float64)
        if not (variances > 0.0).all():
            raise MisuseError("detector.resolution", "be [a, b] with a + b E above 0 in keV^2", [*self.resolution])
        return np.asarray(np.sqrt(variances))

    def efficiencies(self, energies: Array) -> Array:
        """The efficiency at energies, relative to its largest."""
        table = np.array(sorted(self.efficiency), dtype=np.float64)
        if table.ndim != 2 or table.shape[1] != 2 or not (table > 0.0).all():
            rule = "be pairs of an energy and an efficiency, all above 0"
            raise MisuseError("detector.efficiency", rule, [*self.efficiency])
        logs = np.log(table)
        return np.asarray(np.exp(np.interp(np.log(energies), logs[:, 0], logs[:, 1]) - logs[:, 1].max()))


# What holds for most germanium and silicon detectors, for want of better knowledge.
DETECTORS: Final = {
    # Full width at half maximum of 1.0 keV at 122 keV and 1.9 keV at 1333 keV.
    "gamma lines": Detector(
        resolution=(0.128, 0.000392), energy=0.3, width=0.1, ratio=0.5, tail=0.03, sums=0.03, escape=0.1,
        escapes=(_PAIR / 2.0, _PAIR), faint=100.0, efficiency=((150.0, 1.0), (3000.0, 0.05)),
    ),
    # 140 eV at 5.9 keV.
    "xray lines": Detector(
        resolution=(0.00125, 0.00039), energy=0.01, width=0.05, ratio=0.3, tail=0.02, sums=0.02, escape=0.02,
        escapes=(1.74,), faint=3.0, efficiency=((1.0, 1.0),),
    ),
}  # fmt: skip


Pieces = tuple[tuple[float, float], ...]


class LineBands(NamedTuple):
    """Ends (q, E) of the responses of elements, and the pieces of the axis that hold their lines."""

    low: Array
    high: Array
    pieces: Pieces


def line_bands(axis: Array, emissions: Sequence[Emission], detector: Detector) -> LineBands:
    """The responses of elements on an axis of channels in keV, each covering half of the way to the next."""
    places, edges = _edges(axis)
    low, high = np.zeros((2, len(places), len(emissions)))
    for number, emission in enumerate(emissions):
        lines = emission.lines
        areas = lines[:, 1] * detector.efficiencies(lines[:, 0])
        low[:, number], high[:, number] = _ends(edges, _ranges(lines[:, 0], areas, detector), detector)
    return LineBands(low, high, line_pieces(axis, emissions, detector))


def line_pieces(axis: Array, emissions: Sequence[Emission], detector: Detector) -> Pieces:
    """The pieces of an axis of channels in keV that hold the strong lines of elements, with room beside them."""
    places, edges = _edges(axis)
    pieces = list[tuple[float, float]]()
    for emission in emissions:
        lines = emission.lines
        areas = lines[:, 1] * detector.efficiencies(lines[:, 0])
        is_within = (lines[:, 0] > edges[0]) & (lines[:, 0] < edges[-1])
        is_sure = is_within & (lines[:, 0] >= detector.faint)
        is_seen = is_sure if is_sure.any() else is_within
        strong = lines[is_seen & (areas >= _STRONG * areas[is_seen].max(initial=0.0)), 0]
        steps = np.interp(strong, places, np.gradient(places))
        halves = 5.0 * detector.deviations(strong) + max(map(abs, detector.energies)) + 1.5 * steps
        pieces += zip((strong - halves).tolist(), (strong + halves).tolist(), strict=True)
    return _joined(pieces)


def generic_lines(axis: Array, inside: BoolArray, detector: Detector) -> GenericPeaks:
    """Peaks such that a line of the detector anywhere is a mix of neighbours, as counts of the channels inside.

    See `generic_peaks`: what holds for a density holds for its masses in channels.  Peaks are as narrow as lines may
    be.  A tail is a mix of lines at lower energies, and sums and escape peaks are lines themselves.  A peak stands for
    energies from which a line may come to lie at its place.
    """
    places, edges = _edges(axis)
    low, high = edges[:-1][inside], edges[1:][inside]

    def deviation(energy: float) -> float:
        seen = np.clip([energy], places[0], places[-1])
        return float(detector.deviations(seen)[0]) * (1.0 + detector.widths[0])

    centre = float(low.min()) - _REACH * deviation(float(low.min()))
    end = float(high.max()) + _REACH * deviation(float(high.max()))
    kept = list[tuple[float, float]]()
    while centre < end and len(kept) <= MOST_PEAKS:
        wide = deviation(centre)
        if ((low - _REACH * wide < centre) & (centre < high + _REACH * wide)).any():
            kept.append((centre, wide))
        centre += 0.5 * wide
    if len(kept) > MOST_PEAKS:
        remedy = "Name fewer elements, use a narrower window, or give the spectra of atoms."
        raise MisuseError("width", f"make at most {MOST_PEAKS} peaks", "more", remedy)
    centres, wide_of = np.array(kept).T
    own = PEAK_WIDTH * wide_of
    columns = scipy.special.ndtr((high[:, None] - centres) / own) - scipy.special.ndtr((low[:, None] - centres) / own)
    lowest, highest = detector.energies
    return GenericPeaks(columns, np.stack([centres - wide_of - highest, centres + wide_of - lowest]))


def _edges(axis: Array) -> tuple[Array, Array]:
    """The middles (q,) and the edges (q + 1,) of channels."""
    places = check_axis(axis, np.size(axis))
    if len(places) < 2:
        raise MisuseError("axis", "have two channels or more", len(places))
    middles = 0.5 * (places[1:] + places[:-1])
    edges = np.concatenate([[1.5 * places[0] - 0.5 * places[1]], middles, [1.5 * places[-1] - 0.5 * places[-2]]])
    return places, edges


def _ranges(energies: Array, areas: Array, detector: Detector) -> tuple[Array, Array, Array]:
    """Energies, least and largest areas (L,) of lines, of sums of two of them, and of escape peaks.

    Lines outside of the axis count, too: what they lose or add up to may lie within.
    """
    factor = 1.0 + detector.ratio
    places = [energies]
    largest = [factor * areas]
    if detector.sums:
        strongest = np.argsort(areas)[-_SUMMED:]
        one, other = (strongest[side] for side in np.triu_indices(len(strongest)))
        places.append(energies[one] + energies[other])
        # A pair takes a photon of either line, so it is no more than the share of the weaker one.
        largest.append(detector.sums * factor * np.minimum(areas[one], areas[other]))
    for lost in detector.escapes if detector.escape else ():
        may = energies > max(lost, _PAIR if lost > 100.0 else 0.0)
        places.append(energies[may] - lost)
        largest.append(detector.escape * factor * areas[may])
    most = np.concatenate(largest)
    least = np.zeros(len(most))
    least[: len(energies)] = np.where(energies < detector.faint, 0.0, areas / factor)
    return np.concatenate(places), least, most


def _ends(edges: Array, ranges: tuple[Array, Array, Array], detector: Detector) -> tuple[Array, Array]:
    """The low and the high end (q,) of a response made of lines in ranges, each in the channels that it reaches."""
    energies, least, most = ranges
    count = len(edges) - 1
    lowest, highest = detector.energies
    deviations = detector.deviations(energies)
    widths = [deviations * (1.0 + share) for share in detector.widths]
    reach = _REACH * widths[1] + max(-lowest, highest)
    spans = energies - reach, energies + reach
    line, channel, left, right = _reached(edges, energies, spans)
    nearest = np.clip(0.5 * (left + right), lowest, highest)
    masses = _most_mass(left - nearest, right - nearest, widths[0][line], widths[1][line])
    high = np.bincount(channel, most[line] * masses, count)
    is_sure = least[line] > 0.0
    farthest = np.where(left + right > lowest + highest, lowest, highest)[is_sure]
    sides = left[is_sure] - farthest, right[is_sure] - farthest
    sure = line[is_sure]
    masses = _least_mass(*sides, widths[0][sure], widths[1][sure])
    low = np.bincount(channel[is_sure], least[sure] * masses, count)
    if detector.tail:
        lengths = _TAIL * deviations
        line, channel, left, right = _reached(edges, energies, (spans[0] - _LENGTHS * lengths, spans[1]))
        masses = _tail(left - highest, left - lowest, right - lowest, lengths[line], widths[1][line])
        high = high + np.bincount(channel, detector.tail * most[line] * masses, count)
    return np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)


def _reached(edges: Array, energies: Array, spans: tuple[Array, Array]) -> tuple[IntArray, IntArray, Array, Array]:
    """(n,) each: a line and a channel within its span, and the edges of the channel, seen from the line."""
    first = np.maximum(np.searchsorted(edges, spans[0]) - 1, 0)
    last = np.minimum(np.searchsorted(edges, spans[1]), len(edges) - 1)
    sizes = np.maximum(last - first, 0)
    line = np.repeat(np.arange(len(energies)), sizes)
    channel = np.arange(sizes.sum()) + np.repeat(first - np.cumsum(sizes) + sizes, sizes)
    return line, channel, edges[channel] - energies[line], edges[channel + 1] - energies[line]


def _tail(nearest: Array, left: Array, right: Array, length: Array, deviation: Array) -> Array:
    r"""Above the mass that a tail, smeared by a deviation of at most this, has from left to right.

    Its density at x is :math:`\int_0^\infty e^{-u/\ell}\varphi(x + u)\,du/\ell`, at most
    :math:`e^{x/\ell + \sigma^2/2\ell^2}/\ell` and at most :math:`1/\ell`, for x > 0 times :math:`\Phi(-x/\sigma)`.
    nearest: the left end, where the line lies as high as it may; left, right: where it lies as low as it may.
    """
    falling = np.exp(np.minimum(right / length, _LENGTHS) + 0.5 * (deviation / length) ** 2)
    apart = -np.expm1((left - right) / length)
    beyond = np.where(nearest > 0.0, scipy.special.ndtr(-nearest / deviation), 1.0)
    return np.asarray(np.minimum(falling * apart, (right - left) / length * beyond))


def _most_mass(left: Array, right: Array, least: Array, most: Array) -> Array:
    """The largest mass of a Gaussian about 0 between left and right, over deviations from least to most.

    Where the interval holds 0 the mass falls with the deviation; elsewhere it has one maximum, at the square root of
    (b^2 - a^2) / (2 log(b / a)) for distances a and b of its ends.
    """
    near = np.where(left > 0.0, left, np.maximum(-right, 0.0))
    far = np.maximum(np.abs(left), np.abs(right))
    is_apart = near > 0.0
    safe = np.where(is_apart, near, 0.5 * far)
    turning = np.sqrt((far**2 - safe**2) / (2.0 * np.log(far / safe)))
    return _mass(left, right, np.where(is_apart, np.clip(turning, least, most), least))


def _least_mass(left: Array, right: Array, least: Array, most: Array) -> Array:
    """The least mass of a Gaussian about 0 between left and right, over deviations from least to most: at an end."""
    return np.minimum(_mass(left, right, least), _mass(left, right, most))


def _mass(left: Array, right: Array, deviation: Array) -> Array:
    """The mass of a Gaussian about 0 between left and right."""
    return np.asarray(scipy.special.ndtr(right / deviation) - scipy.special.ndtr(left / deviation))


def _joined(pieces: Sequence[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Disjoint intervals in order, that cover the same."""
    joined = list[list[float]]()
    for low, high in sorted(pieces):
        if joined and low <= joined[-1][1]:
            joined[-1][1] = max(high, joined[-1][1])
        else:
            joined.append([low, high])
    return tuple((low, high) for low, high in joined)
