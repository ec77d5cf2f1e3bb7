r"""The list of causes that are tried where nothing fits, and their ranks.

Twice the log-likelihood that a cause with k free numbers gains, chosen among t, is above
:math:`k + 2\sqrt{kx} + 2x` with :math:`x = \log t + 3` in at most a share :math:`e^{-3}` of data sets without
the cause (Laurent and Massart's bound of chi-square, Bonferroni).  A cause is ranked by its gain beyond this.
The search is no test, and carries no guarantee.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from math import log, sqrt
from typing import Any, NamedTuple, final

import numpy as np
import scipy  # its parts are slow to load, and few analyses look for causes

from ..._typing import Array, Field
from ...banks import Bank
from ...io import RowSource
from .._law import Law
from ._fit import Fit, LinearRows, linear_rows

_MOST = 3  # causes that are told
_FITS = 0.05  # rows fit if what is left is exceeded with this probability
_SHIFTS = np.concatenate([-0.1 * 1.35 ** np.arange(16)[::-1], 0.1 * 1.35 ** np.arange(16)])  # channels
_SCALES = np.concatenate([1.0 - 0.001 * 1.5 ** np.arange(11)[::-1], 1.0 + 0.001 * 1.5 ** np.arange(11)])
_WIDTHS = np.concatenate([-(0.3 * 1.3 ** np.arange(8)[::-1]), 0.3 * 1.3 ** np.arange(12)])  # channels; below 0: sharper
_BETWEEN = np.linspace(0.1, 0.9, 9)
_AT_ONCE = 512  # peaks


@final
@dataclass(frozen=True, slots=True)
class Cause:
    """One cause: what it would be, where, how large, and the share of the misfit that it explains."""

    cause: str
    place: str
    value: float | None
    share: float
    gain: float = 0.0  # twice the log-likelihood, beyond chance

    def encode(self) -> dict[str, Any]:
        """The facts as a report holds them."""
        value = None if self.value is None else float(f"{self.value:.4g}")
        return {"cause": self.cause, "place": self.place, "value": value, "share": round(max(self.share, 0.0), 3)}


class Attempt(NamedTuple):
    """A cause as it was fitted: twice the negative log-likelihood, free numbers, and choices."""

    cause: str
    deviance: float
    free: float
    choices: float  # log of the number of choices that it was taken from
    place: str = ""
    value: float | None = None


class Start(NamedTuple):
    """The best support without any cause, and its fit."""

    support: tuple[int, ...]
    columns: Field  # (p, r)
    fit: Fit


Alternative = Callable[[LinearRows, Start], Iterator[Attempt]]


def another_source(rows: LinearRows, start: Start) -> Iterator[Attempt]:  # noqa: ARG001
    """One more element of the library, beside one of the best few supports."""
    free = rows.parts * rows.measured.shape[1]
    for _, support in rows.best:
        columns = rows.columns[:, list(support)]
        gains = rows.scan(columns, rows.columns)
        element = int(gains.argmax())
        if gains[element] > 0.0:
            rss = rows.fit(np.hstack([columns, rows.columns[:, [element]]])).rss
            named = ", ".join(_distinct(rows, support))
            place = f"{rows.names[element]} beside {named}" if named else rows.names[element]
            yield Attempt("source", rss, free, log(len(gains)), place)


def _distinct(rows: LinearRows, support: Iterable[int]) -> list[str]:
    """The names of elements, once each, which may have several columns."""
    return list(dict.fromkeys(rows.names[e] for e in support))


def moved_axis(rows: LinearRows, start: Start) -> Iterator[Attempt]:  # noqa: ARG001
    """Responses that are shifted, stretched, or broader or narrower along the axis, for the best few supports."""
    if not rows.is_axis:
        return
    channels = np.arange(len(rows.columns), dtype=np.float64)
    frequencies = np.fft.rfftfreq(2 * len(channels))[:, None]

    def moved(columns: Field, places: Array) -> Field:
        return np.column_stack([np.interp(places, channels, column) for column in columns.T])

    def broadened(columns: Field, value: float) -> Field:
        """Convolve with a Gaussian of this deviation in channels, or sharpen to second order."""
        spectrum = np.fft.rfft(np.vstack([columns, columns[::-1]]), axis=0)
        power = 0.5 * (2.0 * np.pi * frequencies * value) ** 2
        filtered = np.exp(-power) if value > 0.0 else 1.0 + np.minimum(power, 3.0)
        return np.asarray(np.fft.irfft(spectrum * filtered, 2 * len(channels), axis=0)[: len(channels)])

    kinds: dict[str, tuple[Array, Callable[[Field, float], Field]]] = {
        "shift": (_SHIFTS, lambda columns, value: moved(columns, channels - value)),
        "scale": (_SCALES, lambda columns, value: moved(columns, channels / value)),
        "width": (_WIDTHS, broadened),
    }
    supports = [list(support) for _, support in rows.best[:4] if support]
    for cause, (values, transformed) in kinds.items():
        for support in supports:
            columns = rows.columns[:, support]
            left = [rows.fit(transformed(columns, float(value))).rss for value in values]
            best = int(np.argmin(left))
            inner = [values[max(best - 1, 0)], values[min(best + 1, len(values) - 1)]]
            finer = np.linspace(inner[0], inner[1], 9)
            tried = [(rows.fit(transformed(columns, float(value))).rss, float(value)) for value in finer if value]
            rss, value = min([*tried, (left[best], float(values[best]))])
            yield Attempt(cause, rss, 1.0, log(2 * len(supports)), ", ".join(_distinct(rows, support)), value)


def missing_row(rows: LinearRows, start: Start) -> Iterator[Attempt]:
    """A response that the library does not have: a peak anywhere along an axis, or any one direction."""
    p, count = rows.measured.shape
    if rows.is_axis:
        gain, place, width = max(_peaks(rows, start, p))
        shape = np.exp(-0.5 * ((np.arange(p)[:, None] - place) / width) ** 2)
        rss = rows.fit(np.hstack([start.columns, shape])).rss if gain > 0.0 else start.fit.rss
        yield Attempt("row", rss, 2.0, log(2 * p), f"channel {round(place)}", width)
    elif count > 1:
        rest = rows.white(rows.measured - start.fit.fitted)
        largest = float(np.linalg.norm(rest, 2)) ** 2 * rows.parts
        shape = len(rest) - start.columns.shape[1] - rows.background.shape[1] - 1
        yield Attempt("row", start.fit.rss - largest, rows.parts * (count + shape), shape * log(count))


def _peaks(rows: LinearRows, start: Start, p: int) -> Iterator[tuple[float, float, float]]:
    """The gain, the place and the width of the best Gaussian peak of each width among some neighbouring places."""
    for width in (1.0, 1.5, 2.2, 3.3, 5.0, 7.5, 11.0, 16.0, 24.0):
        places = np.arange(0.0, p, max(1.0, width / 3.0))
        for first in range(0, len(places), _AT_ONCE):
            some = places[first : first + _AT_ONCE]
            gains = rows.scan(start.columns, np.exp(-0.5 * ((np.arange(p)[:, None] - some) / width) ** 2))
            best = int(gains.argmax())
            yield float(gains[best]), float(some[best]), width


def between_places(rows: LinearRows, start: Start) -> Iterator[Attempt]:
    """Places between the listed ones: responses interpolated towards the neighbours of each active element in turn."""
    if rows.places is None or not start.support:
        return
    columns = start.columns.copy()
    rss = start.fit.rss
    moved = list[str]()
    for number, element in enumerate(start.support):
        found = min(_interpolated(rows, columns, number, element), key=lambda each: each[0], default=None)
        if found is not None and found[0] < rss:
            rss = found[0]
            columns[:, number] = found[1]
            moved.append(found[2])
    if moved:
        yield Attempt("place", rss, float(len(moved)), len(start.support) * log(2.0), "; ".join(moved))


def _interpolated(rows: LinearRows, columns: Field, number: int, element: int) -> Iterator[tuple[float, Field, str]]:
    """The residual with a response between an element and its neighbours, that response, and the place."""
    assert rows.places is not None
    own = rows.places[element]
    setting = slice(*_setting(rows, element))
    mates = [e for e in range(setting.start, setting.stop) if rows.regions[e] == rows.regions[element] != ""]
    order = np.argsort(np.linalg.norm(rows.places[mates] - own, axis=1), kind="stable")
    near = [mates[i] for i in order[:24].tolist()]
    distinct, first = np.unique(rows.places[near], axis=0, return_index=True)
    spread, turned = np.linalg.svd(distinct - own, full_matrices=False)[1:]
    frame = turned[spread > 1e-9 * spread[0]].T  # places may lie on a line in space
    if len(distinct) < frame.shape[1] + 2:
        return
    values = rows.columns[:, [near[i] for i in first]].T
    pairs = np.hstack([values.real, values.imag]) if rows.parts > 1 else values
    interpolate = scipy.interpolate.RBFInterpolator((distinct - own) @ frame, pairs, kernel="cubic", degree=1)
    for other in near[1 : 1 + 2 * own.size]:
        targets = own + _BETWEEN[:, None] * (rows.places[other] - own)
        made = interpolate((targets - own) @ frame)
        responses = made[:, : len(columns)] + (1j * made[:, len(columns) :] if rows.parts > 1 else 0.0)
        for response, target in zip(np.maximum(responses, 0.0) if rows.is_counted else responses, targets, strict=True):
            replaced = columns.copy()
            replaced[:, number] = response
            place = ", ".join(f"{x:.4g}" for x in target)
            yield rows.fit(replaced).rss, response, f"{rows.names[element]} at {place}"


def _setting(rows: LinearRows, element: int) -> tuple[int, int]:
    """First and last column, exclusive, of the setting of the calibration that an element belongs to."""
    count = len({name for name, region in zip(rows.names, rows.regions, strict=True) if region})
    first = element // count * count
    return first, min(first + count, len(rows.names))


def other_noise(rows: LinearRows, start: Start) -> Iterator[Attempt]:
    """Noise that is stronger or weaker than stated, or that neighbouring channels or all of them share."""
    rest = rows.white(rows.measured - start.fit.fitted)  # (w, m)
    size = rows.size
    level = start.fit.rss / size
    if rows.is_known and level > 0.0:
        cause = "scatter" if rows.is_counted else "noise"
        yield Attempt(cause, size + size * log(level), 1.0, 0.0, value=level)
    if rows.measured.shape[1] > 2:
        yield from _shared_noise(rows, start, rest)
    if rows.is_axis and not rows.is_counted:
        before, after = rest[:-1].ravel(), rest[1:].ravel()
        slope = float(np.clip((before * after).sum() / max((before**2).sum(), 1e-300), -0.98, 0.98))
        left = float(((after - slope * before) ** 2).sum() + (1.0 - slope**2) * (rest[0] ** 2).sum())
        yield Attempt(
            "colour", size + size * log(max(left, 1e-300) / size) - log(1.0 - slope**2), 2.0, 0.0, value=slope
        )


def _shared_noise(rows: LinearRows, start: Start, rest: Field) -> Iterator[Attempt]:
    """Noise of any covariance between channels, or of a level of its own in each."""
    count = rest.shape[1]
    rank = start.columns.shape[1] + rows.background.shape[1]
    values = np.linalg.eigvalsh(rest @ rest.conj().T / count)[::-1][: len(rest) - rank]
    values = values[values > 1e-12 * values[0]]
    if len(values) < len(rest) - rank:
        return
    deviance = rows.parts * count * float((1.0 + np.log(values)).sum())
    free = len(values) ** 2 if rows.parts > 1 else len(values) * (len(values) + 1) / 2
    yield Attempt("colour", deviance, free, 0.0)


def curved_detector(rows: LinearRows, start: Start) -> Iterator[Attempt]:
    """A detector that saturates: rows that bend below their fit, or that end at a largest value."""
    if rows.parts > 1 or rows.measured.shape[1] > 1 or not start.support:
        return
    fit = start.fit
    for _ in range(4):
        straight = fit.fitted
        bent = np.sign(straight) * straight**2 / max(np.abs(straight).max(), 1e-300)
        target = rows.white(np.hstack([start.columns, rows.background, bent]))
        coefficients = np.linalg.lstsq(target, rows.white(rows.measured), rcond=1e-10)[0]
        linear = np.hstack([start.columns, rows.background]) @ coefficients[:-1]
        left = float(((rows.white(rows.measured) - target @ coefficients) ** 2).sum())
        fit = Fit(left, coefficients, linear)
        if coefficients[-1, 0] < 0.0:
            yield Attempt("saturation", left, 1.0, log(2.0))
    counts = rows.measured[:, 0]
    flat = counts >= 0.98 * counts.max()
    if rows.is_axis and flat.sum() >= 3 and not np.diff(np.flatnonzero(flat)).max(initial=1) > 2:
        left = rows.fit(start.columns, np.flatnonzero(~flat)).rss
        yield Attempt("saturation", left, float(flat.sum()), 0.0, value=float(counts.max()))


def pile_up(rows: LinearRows, start: Start) -> Iterator[Attempt]:
    """Pairs of counts that are recorded as one of their summed energy: the spectrum convolved with itself."""
    if not (rows.is_counted and rows.is_axis):
        return
    counts = rows.measured[:, 0]
    summed = np.convolve(counts, counts)[: len(counts), None]
    fit = rows.fit(np.hstack([start.columns, summed / max(summed.max(), 1.0)]))
    yield Attempt("pile-up", fit.rss, 1.0, 0.0)


def smooth_background(rows: LinearRows, start: Start) -> Iterator[Attempt]:
    """A smooth background along the axis beside the one that is declared: a cubic, which counts hold nonnegative."""
    if not rows.is_axis:
        return
    x = np.linspace(0.0, 1.0, len(rows.columns))[:, None]
    powers = np.arange(4)
    cubic = np.array([1.0, 3.0, 3.0, 1.0]) * x**powers * (1.0 - x) ** (3 - powers)
    fit = rows.fit(np.hstack([start.columns, cubic]))
    yield Attempt("background", fit.rss, 4.0, 0.0)


def outliers(rows: LinearRows, start: Start) -> Iterator[Attempt]:
    """Up to three channels, or a few rows, that nothing describes."""
    rest = rows.white(rows.measured - start.fit.fitted)
    energies = (np.abs(rest) ** 2).sum(axis=1)
    order = np.argsort(-energies, kind="stable")
    count = rows.measured.shape[1]
    is_local = rows.weights.ndim == 1  # no channel mixes with another
    for n in (1, 2, 3) if is_local and len(energies) > 6 else ():
        left = rows.fit(start.columns, np.sort(order[n:])).rss
        named = "channel " + " and channel ".join(map(str, np.sort(order[:n]).tolist()))
        yield Attempt("channels", left, float(rows.parts * count * n), n * log(len(energies)), named)
    table = rows.single if rows.single is not None else rows.measured if count > 3 else None
    if table is not None and not rows.is_counted and table.shape[1] > 3:
        yield from _outlying_rows(rows, start, table)


def _outlying_rows(rows: LinearRows, start: Start, table: Field) -> Iterator[Attempt]:
    """At most a quarter of the rows whose energy about the median row, or about their fit, stands out."""
    is_mean = rows.single is not None
    middle = np.median(table.real, axis=1) + (1j * np.median(table.imag, axis=1) if rows.parts > 1 else 0.0)
    about = table - (middle[:, None] if is_mean else start.fit.fitted)
    energies = (np.abs(rows.white(about)) ** 2).sum(axis=0)
    usual = float(np.median(energies))
    spread = 1.4826 * float(np.median(np.abs(energies - usual)))
    off = np.flatnonzero(energies > usual + 8.0 * spread)
    n_rows = table.shape[1]
    if not 0 < len(off) <= n_rows / 4:
        return
    kept = np.setdiff1d(np.arange(n_rows), off)
    named = "row " + " and row ".join(map(str, off[:3].tolist())) + (" and others" if len(off) > 3 else "")
    if is_mean:
        mean = np.sqrt(len(kept)) * table[:, kept].mean(axis=1, keepdims=True)
        scatter = (np.abs(rows.white(table[:, kept] - table[:, kept].mean(axis=1, keepdims=True))) ** 2).sum()
        level = float(scatter) / (len(rows.weights) * max(len(kept) - 1, 1))
        left = replace(rows, measured=mean).fit(start.columns).rss
        yield Attempt("rows", left, float(len(off)), len(off) * log(n_rows), named, level)
        return
    left = replace(rows, measured=table[:, kept]).fit(start.columns).rss
    yield Attempt("rows", left, float(rows.parts * len(off) * len(table)), len(off) * log(n_rows), named)


def wrong_responses(rows: LinearRows, start: Start) -> Iterator[Attempt]:
    r"""Responses with an error of unknown shape: of variance :math:`e^2f_i^2` about a fit f, or any, in free rows."""
    rest = rows.white(rows.measured - start.fit.fitted)
    rank = start.columns.shape[1]
    if rows.measured.shape[1] > max(rank, 1) and rank:
        values = np.linalg.svd(rows.white(rows.measured), compute_uv=False)
        left = rows.parts * float((values[rank:] ** 2).sum())
        shape = rank * (len(rest) - rank)
        yield Attempt("error", left, float(rows.parts * shape), shape * log(rows.measured.shape[1]))
        return
    if not rank:
        return
    sizes = np.abs(rows.white(start.columns @ start.fit.coefficients[:rank]))
    for error in np.geomspace(0.002, 0.5, 25).tolist():
        variances = 1.0 + (error * sizes) ** 2
        deviance = float(rows.parts * (np.log(variances) + np.abs(rest) ** 2 / variances).sum())
        yield Attempt("error", deviance, 1.0, 0.0)


ALTERNATIVES: tuple[Alternative, ...] = (
    another_source,
    between_places,
    moved_axis,
    missing_row,
    smooth_background,
    pile_up,
    curved_detector,
    other_noise,
    outliers,
    wrong_responses,
)


def ranked_causes(rows: LinearRows) -> tuple[Cause, ...]:
    """All causes that gain more than chance, the largest gain first; none if the rows fit as they are."""
    known = rows if rows.is_known else rows.scaled(_deviation(rows))
    start = _start(known)
    free = known.parts * (start.columns.shape[1] + known.background.shape[1]) * known.measured.shape[1]
    expected = max(known.size - free, 1)
    misfit = start.fit.rss - expected
    if misfit < 3.0 * sqrt(2.0 * expected):
        return ()
    best = dict[str, Cause]()
    for alternative in ALTERNATIVES:
        for attempt in alternative(known, start):
            x = attempt.choices + 3.0
            chance = attempt.free + 2.0 * sqrt(attempt.free * x) + 2.0 * x
            gain = start.fit.rss - attempt.deviance
            share = min(1.0, (gain - attempt.free) / misfit)
            found = Cause(attempt.cause, attempt.place, attempt.value, share, gain - chance)
            if found.gain > 0.0 and found.gain > best.get(found.cause, found).gain - (found.cause not in best):
                best[found.cause] = found
    return tuple(sorted(best.values(), key=lambda cause: -cause.gain))


def _start(rows: LinearRows) -> Start:
    support = rows.best[0][1]
    columns = rows.columns[:, list(support)]
    return Start(support, columns, rows.fit(columns))


def _deviation(rows: LinearRows) -> float:
    """The noise of rows that state none: the residual of the best-fitting cause."""
    start = _start(rows)
    left = [(start.fit.rss, 0.0)]
    for alternative in (another_source, between_places, moved_axis, missing_row, smooth_background, outliers):
        left += [(each.deviance, each.free) for each in alternative(rows, start)]
    used = rows.parts * (start.columns.shape[1] + rows.background.shape[1]) * rows.measured.shape[1]
    variances = [rss / (rows.size - used - free) for rss, free in left if rows.size - used - free > 0.3 * rows.size]
    return max(sqrt(max(min(variances, default=1.0), 0.0)), 1e-150)


def smallest_error(rows: LinearRows) -> float | None:
    r"""About the smallest error of the responses at which one of the best supports fits; None if none below 1 does.

    Of counts each channel may move by e times the largest value of every response there; else the error is the sine
    of an angle.  With a fit of coefficients C and length u that leaves R, other responses change R by multiples of C
    alone: what they reach has length r, and with what they do not reach noise leaves room for s of it.  Then
    :math:`\tan = (r - s)/u`.
    """
    known = rows if rows.is_known else rows.scaled(_deviation(rows))
    found = [_error_of(known, list(support)) for _, support in known.best if support]
    errors = [error for error in found if error is not None]
    return min(errors) if errors else None


def _error_of(rows: LinearRows, support: list[int]) -> float | None:
    columns = rows.columns[:, support]
    fit = rows.fit(columns)
    allowed = float(scipy.special.chdtri(max(rows.size - len(support), 1), _FITS))
    amounts = np.abs(fit.coefficients[: len(support)])
    rest = rows.white(rows.measured - fit.fitted)
    if rows.is_counted:
        reach = rows.weights * float(np.abs(columns).max(axis=0) @ amounts[:, 0])
        for error in np.geomspace(1e-4, 0.999, 120).tolist():
            if float((np.maximum(np.abs(rest[:, 0]) - error * reach, 0.0) ** 2).sum()) <= allowed:
                return float(error)
        return None
    coefficients = fit.coefficients[: len(support)]  # (r, m)
    reached = rest @ np.linalg.pinv(coefficients) @ coefficients
    beyond = float((np.abs(rest) ** 2).sum() - (np.abs(reached) ** 2).sum())
    room = allowed / rows.parts - beyond
    length = float(np.linalg.norm(amounts * np.linalg.norm(rows.white(columns), axis=0)[:, None]))
    if length == 0.0 or room < 0.0:
        return None
    tangent = max(float(np.linalg.norm(reached)) - sqrt(room), 0.0) / length
    return tangent / sqrt(1.0 + tangent**2)


def diagnosis(law: Law, bank: Bank, rows: RowSource, *, is_all: bool) -> dict[str, Any] | None:
    """Find what would have to be true of rows that no explanation fits: up to three causes and the smallest error.

    rows: those that propose, or, where all rows judge, all of them, which is_all says.  None of laws without a design,
    and of numbers that no fit can take.
    """
    with np.errstate(all="ignore"):
        linear = linear_rows(law, bank, rows)
        if linear is None:
            return None
        try:
            causes = [cause.encode() for cause in ranked_causes(linear)[:_MOST]]
            error = smallest_error(linear)
        except (np.linalg.LinAlgError, RuntimeError, ValueError, OverflowError):  # numbers beyond what a fit can take
            return None
    scale = "peak" if linear.is_counted else "angle"
    return {
        "is_all": is_all,
        "scale": scale,
        "error": None if error is None else float(f"{error:.3g}"),
        "causes": causes,
    }
