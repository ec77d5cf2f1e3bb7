"""Detector responses to lines: peaks of its resolution, and pile-up, escape peaks and low-energy tails beside them.

The latter are declared as background: each has a free amount that is not negative, and is never asked about.  The truth
stays within an explanation whatever the amounts are, 0 included, so a column that is not needed costs power alone.
"""

from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_array, check_positive, read_only
from .._errors import MisuseError
from .._typing import Array, LineTable, Positive
from ._base import check_channels, register
from ._settings import check_axis, interpolated

# A grid of equal steps for pile-up has at most so many: more are an axis of very unequal steps.
_MOST_STEPS = 2**15


@register("lines")
@final
@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    r"""Several lines an element, each as wide as the detector resolves at its energy.

    A line of intensity h at energy E is a Gaussian of area h and standard deviation :math:`w\sqrt{a + bE}`: noise of
    the electronics, and of the charges that a photon of that energy frees.  The parameter `width` multiplies w, the
    width of all lines at once, and leaves every line where it is.

    lines: (L, d + 2) the place of the element, energy and intensity of each line.  An element whose place is in no row
    has no line: its answer is 0.

    >>> silver = Lines([0.0, 1.0, 2.0], [[47.0, 1.0, 2.0]], resolution=[1.0, 0.0])
    >>> (silver([[47.0]]) / silver([[47.0]]).max()).round(3).ravel().tolist()
    [0.607, 1.0, 0.607]
    """

    axis: Array = field(repr=False)  # (q,) energies of the channels
    lines: LineTable = field(repr=False)
    resolution: Array  # (2,) a and b
    width: Positive = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", check_channels(self.axis))
        lines = check_array("lines", self.lines, (None, None))
        if lines.shape[1] < 3 or not (lines[:, -1] >= 0.0).all():
            rule = "have the place, the energy and the intensity of every line, none of them negative"
            raise MisuseError("lines", rule, f"shape {lines.shape}")
        object.__setattr__(self, "lines", read_only(lines))
        object.__setattr__(self, "resolution", read_only(check_array("resolution", self.resolution, (2,))))
        object.__setattr__(self, "width", check_positive("width", self.width))
        variances = self.resolution[0] + self.resolution[1] * lines[:, -2]
        if not (variances > 0.0).all():
            rule = "be [a, b] with a + b E above 0 at the energy E of every line"
            raise MisuseError("resolution", rule, self.resolution.tolist())

    def deviations(self, energies: Array) -> Array:
        """The standard deviations of lines at energies."""
        return np.asarray(self.width * np.sqrt(self.resolution[0] + self.resolution[1] * energies))

    def __call__(self, places: ArrayLike, /) -> Array:
        """(E, d) -> (q, E)."""
        where = check_array("places", places, (None, self.lines.shape[1] - 2))
        energies = self.lines[:, -2]
        deviations = self.deviations(energies)
        heights = self.lines[:, -1] / deviations
        peaks = heights * np.exp(-0.5 * ((self.axis[:, None] - energies) / deviations) ** 2)  # (q, L)
        is_own = (self.lines[:, None, :-2] == where).all(axis=2)  # (L, E)
        return np.asarray(peaks @ is_own)


def pile_up_column(axis: ArrayLike, spectrum: ArrayLike) -> Array:
    r"""(q,) the rate of pairs whose energies sum up to each channel, with a largest value of 1.

    Two photons within the resolving time are counted as one of the summed energy.  At rates :math:`m(E)` the pairs have
    the shape :math:`\int m(E')\,m(E - E')\,dE'`, which is positive and known up to its amount.

    A spectrum of other counts than those that are judged is fixed beforehand.  So are counts of the same row outside of
    the window that is judged: Poisson counts of different channels are independent, and given those outside, the ones
    inside have the law that they always have.  The level then holds for every outcome outside, hence on average.
    Counts inside must not enter: give 0 there.  The column has the counting noise of the spectrum: a sum peak of two
    lines with N counts each is known to within about :math:`\sqrt{2/N}` of its height.

    >>> pile_up_column([0.0, 1.0, 2.0, 3.0, 4.0], [0.0, 2.0, 0.0, 0.0, 0.0]).tolist()
    [0.0, 0.0, 1.0, 0.0, 0.0]
    """
    places = check_axis(axis, np.size(axis))
    counts = check_array("spectrum", spectrum, (len(places),))
    if len(places) < 2 or counts.min() < 0.0:
        raise MisuseError("spectrum", "have two channels or more, and no negative number", counts.min(initial=0.0))
    step = float(np.diff(places).min())
    n_steps = round(float(places[-1] - places[0]) / step) + 1
    if n_steps > _MOST_STEPS:
        raise MisuseError("axis", f"have at most {_MOST_STEPS} of its smallest steps", n_steps)
    widths = np.gradient(places)
    grid = places[0] + step * np.arange(n_steps)
    density = np.interp(grid, places, counts / widths)
    pairs = np.convolve(density, density)
    sums = 2.0 * places[0] + step * np.arange(len(pairs))
    return _scaled((np.interp(places, sums, pairs, left=0.0, right=0.0) * widths)[:, None])[:, 0]


def escape_columns(axis: ArrayLike, responses: ArrayLike, energy: float) -> Array:
    """(q, E) the responses moved down by an energy, each with a largest value of 1; 0 if all of it leaves the axis.

    A photon of the detector's own element (silicon 1.74 keV, germanium 9.89 keV) may escape with its energy.

    >>> escape_columns([0.0, 1.0, 2.0, 3.0], [[0.0], [0.0], [0.0], [5.0]], 2.0).ravel().tolist()
    [0.0, 1.0, 0.0, 0.0]
    """
    places = check_axis(axis, np.size(axis))
    columns = check_array("responses", responses, (len(places), None))
    moved = places + check_positive("energy", energy)
    is_there = (moved <= places[-1])[:, None]
    return _scaled(np.where(is_there, interpolated(places, columns, np.minimum(moved, places[-1])), 0.0))


def tail_columns(axis: ArrayLike, responses: ArrayLike, length: float) -> Array:
    r"""(q, E) the responses with an exponential tail to lower energies, each with a largest value of 1.

    :math:`t(E) = \int_E^\infty a(E')\,e^{-(E' - E)/\ell}\,dE'`: charge that is lost on the way.  The length should be
    larger than the width of a line, or else the tail looks like the line itself and nothing tells the two apart.

    >>> tail_columns([0.0, 1.0, 2.0], [[0.0], [1.0], [0.0]], 1.0).round(3).ravel().tolist()
    [0.736, 1.0, 0.0]
    """
    places = check_axis(axis, np.size(axis))
    columns = check_array("responses", responses, (len(places), None))
    steps = np.diff(places)
    decays = np.exp(-steps / check_positive("length", length))
    tails = np.zeros_like(columns)
    for channel in range(len(places) - 2, -1, -1):  # the trapezoid of each step, added to what came from above
        step = 0.5 * steps[channel] * (columns[channel] + decays[channel] * columns[channel + 1])
        tails[channel] = step + decays[channel] * tails[channel + 1]
    return _scaled(tails)


def _scaled(columns: Array) -> Array:
    """(q, E) columns with a largest value of 1; columns of 0 stay."""
    largest = columns.max(axis=0)
    return np.asarray(columns / np.where(largest > 0.0, largest, 1.0))
