"""Explanations of counts, halves of the data, and the mixture that one half fixes for the other."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import fsum, log, pi, sqrt
from typing import NamedTuple, final

import numpy as np
from numpy.random import PCG64, SeedSequence
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import gaussian_filter1d

from ..._checks import check_array, check_support, read_only
from ..._compiled import LN2, U, cached_njit, exponent_of, log_mantissa, mantissa_of
from ..._errors import MisuseError
from ..._typing import Array, IntArray

# Sums of columns whose products with counts and whose quotients are far from overflow and underflow.
_LEAST_SUM = 1e-80
_LARGEST_SUM = 1e80


@final
@dataclass(frozen=True, slots=True, eq=False)
class CountTable:
    r"""Explanations :math:`y_i \sim \mathrm{Poisson}(t\,(Ax + Bb)_i)`, x >= 0 on a support and 0 off it, b >= 0.

    Amounts are free, so an explanation is the cone of its columns, whatever the exposure t.  Efficiencies of single
    channels belong into the columns.  An explanation holds every other whose support lies within its own.
    band: (q, E) the least and the largest value that each entry of the atoms may really have, where they are not exact.
    """

    atoms: Array  # (q, E), not negative
    supports: tuple[tuple[int, ...], ...]  # one of each explanation, () for background alone
    background: Array | None = None  # (q, b), not negative
    band: tuple[Array, Array] | None = None
    columns: Array = field(init=False)  # (E + b, q) atoms, then background
    ends: tuple[Array, Array] | None = field(init=False)  # (E + b, q) of the band; those of the background are equal
    sums: Array = field(init=False)  # (E + b,) of the columns, rounded once
    members: IntArray = field(init=False)  # (M, r) columns of each explanation, -1 fills up

    def __post_init__(self) -> None:
        atoms = check_array("atoms", self.atoms, (None, None))
        beside = np.zeros((len(atoms), 0)) if self.background is None else self.background
        background = check_array("background", beside, (len(atoms), None))
        supports = tuple(check_support("supports", support, atoms.shape[1], least=0) for support in self.supports)
        if not supports:
            raise MisuseError("supports", "hold at least one explanation", "none")
        columns = np.concatenate([_check_shapes("atoms", atoms), _check_shapes("background", background)], axis=1).T
        object.__setattr__(self, "supports", supports)
        always = tuple(range(atoms.shape[1], len(columns)))
        members = np.full((len(supports), max(map(len, supports)) + len(always)), -1, dtype=np.int64)
        for e, support in enumerate(supports):
            members[e, : len(support) + len(always)] = support + always
        object.__setattr__(self, "ends", None if self.band is None else _band_ends(*self.band, atoms, background))
        for name, value in zip(
            ("atoms", "background", "columns", "sums", "members"),
            (atoms, background, np.ascontiguousarray(columns), np.array([*map(_column_sum, columns)]), members),
            strict=True,
        ):
            object.__setattr__(self, name, read_only(value))

    @classmethod
    def with_variants(
        cls,
        responses: ArrayLike,
        supports: Sequence[Sequence[int]],
        background: ArrayLike | None = None,
        how: str = "states",
    ) -> "CountTable":
        """Elements with V responses each, (V, q, E).

        "states": one v is right, of all elements alike; explanation v * M + e has support e in state v.
        "cone": any mixture of an element's variants is right; column v * E + j is variant v of element j.
        """
        variants = check_array("responses", responses, (None, None, None))
        n_variants, n_channels, n_elements = variants.shape
        if how not in _VARIANTS:
            rule = f"be one of {sorted(_VARIANTS)}"
            raise MisuseError("how", rule, repr(how), "Counts have no negative part, so a span is no set of means.")
        chosen = [check_support("supports", support, n_elements, least=0) for support in supports]
        atoms = variants.transpose(1, 0, 2).reshape(n_channels, -1)
        return cls(atoms, _VARIANTS[how](chosen, n_variants, n_elements), background)  # type: ignore[arg-type]

    @classmethod
    def presence(cls, atoms: Array, background: Array | None = None) -> "CountTable":
        """All elements, and then all but each: E + 1 explanations that speak for 2^E.

        An element is certain if all but it is rejected: every explanation without it lies within that one, and with
        a common numerator its evidence is no smaller.
        """
        everything = range(np.shape(atoms)[1])
        all_but_one = (tuple(k for k in everything if k != j) for j in everything)
        return cls(atoms, (tuple(everything), *all_but_one), background)

    @property
    def size(self) -> int:
        """How many explanations."""
        return len(self.supports)

    def means(self, e: int, amounts: Array) -> Array:
        """(q,) means of amounts (r,), the counts of each column of an explanation."""
        active = self.members[e][self.members[e] >= 0]
        return np.asarray((amounts[: len(active)] / self.sums[active]) @ self.columns[active])


def _band_ends(low: Array, high: Array, atoms: Array, background: Array) -> tuple[Array, Array]:
    """(E + b, q) lower and upper ends of all columns; those of the background are the columns themselves."""
    ends = [check_array(name, end, atoms.shape) for name, end in (("low", low), ("high", high))]
    if (ends[0] < 0.0).any() or (ends[0] > atoms).any() or (atoms > ends[1]).any():
        raise MisuseError("band", "have the atoms between its ends, none of them negative", "others")
    lower, upper = (read_only(np.concatenate([end, background], axis=1).T, np.float64) for end in ends)
    return lower, upper


def _column_sum(column: Array) -> float:
    """Rounded once: bounds of a fit rest on it, and there may be far more channels than have counts."""
    return fsum(column.tolist())


def _states(supports: list[tuple[int, ...]], n_variants: int, n_elements: int) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(v * n_elements + j for j in support) for v in range(n_variants) for support in supports)


def _cones(supports: list[tuple[int, ...]], n_variants: int, n_elements: int) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(v * n_elements + j for v in range(n_variants) for j in support) for support in supports)


_VARIANTS = {"states": _states, "cone": _cones}


def _check_shapes(name: str, columns: Array) -> Array:
    """Nonnegative columns, none of them all zeros."""
    if (columns < 0.0).any():
        remedy = "Means of counts are sums of nonnegative parts."
        raise MisuseError(name, "not be negative", f"{columns.min():g}", remedy)
    sums = columns.sum(axis=0)
    is_bad = ~((sums >= _LEAST_SUM) & (sums <= _LARGEST_SUM))
    if is_bad.any():
        rule = f"have columns with sums between {_LEAST_SUM:g} and {_LARGEST_SUM:g}"
        raise MisuseError(name, rule, f"{sums[is_bad][0]:g} in column {int(is_bad.argmax())}")
    return columns


# One random bit a count; counts beyond are limited by the responses, not by their own noise.
MOST_COUNTS = 10**9
_PURPOSE = 3  # of the draws: no other judge shares these bits


class Half(NamedTuple):
    """Counts (q,) and the exposure in which they came."""

    counts: Array
    exposure: float


Split = tuple[Half, Half]
Bits = Callable[[int], NDArray[np.uint64]]


def check_counts(rows: ArrayLike, n_channels: int) -> IntArray:
    """(T, q) whole numbers, not negative."""
    array = check_array("rows", np.atleast_2d(np.asarray(rows)), (None, n_channels))
    if (array < 0.0).any() or (array != np.floor(array)).any() or array.sum() > MOST_COUNTS:
        wrong = array[(array < 0.0) | (array != np.floor(array))]
        value = f"{wrong[0]:g}" if wrong.size else f"{array.sum():g} in all"
        rule = f"be counts: whole numbers, none negative, at most {MOST_COUNTS:.0e} in all"
        raise MisuseError("rows", rule, value, "Rates, backgrounds subtracted and dead times corrected are no counts.")
    return array.astype(np.int64)


def check_exposure(exposure: ArrayLike | None, n_rows: int) -> Array:
    """(T,) live times, above 0; 1 for each row unless given."""
    times = check_array("exposure", np.ones(n_rows) if exposure is None else np.atleast_1d(exposure), (n_rows,))
    if not (times > 0.0).all():
        raise MisuseError("exposure", "be above 0", f"{times.min():g}", "Leave out rows that were not exposed.")
    return times


def thinned(rows: IntArray, exposure: Array, bits: Bits) -> Split:
    """Every count tosses a fair coin: the halves are independent Poisson counts of half the means (exactly)."""
    counts = rows.sum(axis=0)
    heads = _heads(counts, bits(int((-(-counts // 64)).sum())))
    time = 0.5 * float(exposure.sum())
    return Half(heads.astype(np.float64), time), Half((counts - heads).astype(np.float64), time)


def by_rows(rows: IntArray, exposure: Array, bits: Bits) -> Split:
    """Half of the rows, drawn at random, and the others."""
    if len(rows) < 2:
        raise MisuseError("split", "be 'thin' for a single row", "'rows'")
    first = np.argsort(bits(len(rows)), kind="stable") < len(rows) // 2
    return _summed(rows[first], exposure[first]), _summed(rows[~first], exposure[~first])


def _summed(rows: IntArray, exposure: Array) -> Half:
    return Half(rows.sum(axis=0).astype(np.float64), float(exposure.sum()))


# How the halves of a split come about.
SPLITS: dict[str, Callable[[IntArray, Array, Bits], Split]] = {"thin": thinned, "rows": by_rows}


def halves(rows: IntArray, exposure: Array, how: str, count: int, seed: int) -> list[Split]:
    """So many splits; the raw bits of PCG64 depend on the seed alone, in all versions of numpy."""
    generator = PCG64(SeedSequence([seed, _PURPOSE]))

    def bits(number: int) -> NDArray[np.uint64]:
        return np.atleast_1d(np.asarray(generator.random_raw(number), dtype=np.uint64))

    return [SPLITS[how](rows, exposure, bits) for _ in range(count)]


@cached_njit(nogil=True)
def _heads(counts: IntArray, words: NDArray[np.uint64]) -> IntArray:
    """(q,) ones among as many random bits as there are counts."""
    heads = np.zeros_like(counts)
    w = 0
    for i in range(len(counts)):
        left = counts[i]
        while left > 0:
            word = words[w] if left >= 64 else words[w] & ((np.uint64(1) << np.uint64(left)) - np.uint64(1))
            while word:
                word &= word - np.uint64(1)
                heads[i] += 1
            left = left - 64
            w = w + 1
    return heads


# Opponents from the bank: not more than these, and none that the proposal half calls this much worse than the best.
MOST_FITS = 64
_WORSE = 12.0
# Counts that every opponent expects anywhere, spread evenly, so that none is ruled out by one count.
_FLOOR = 1e-3
# Weights add up to at most 1 in exact arithmetic, too.
_BELOW_ONE = 1.0 - 2.0**-40


@final
@dataclass(frozen=True, slots=True, eq=False)
class Opponents:
    """A mixture of Poisson laws: weights (J,) that add up to at most 1, and means (J, q) for the other half."""

    weights: Array
    means: Array

    def log_bounds(self, counts: Array) -> tuple[float, float]:
        r"""Below and above :math:`\log\sum_j w_j\exp(\sum_i y_i\log m_{ji} - m_{ji})`."""
        values, errors = _log_likelihoods(self.weights, self.means, counts)
        # Each of J additions in logarithms errs by a few roundings of its result; twice that.
        slack = 16.0 * U * (len(values) + 2.0) * (float(np.abs(values).max()) + 1.0)
        return float(np.logaddexp.reduce(values - errors)) - slack, float(np.logaddexp.reduce(values + errors)) + slack


def opponents(
    table: CountTable, amounts: Array, scores: Array, half: Half, exposure: float, free: tuple[float, ...]
) -> Opponents:
    r"""Half the weight on fits of the bank, :math:`\propto e^{\ell_e - r_e}`, half on laws off the bank.

    The latter, the free opponents, are the best fit times local corrections, one of each width in free (f,):
    :math:`m_i\,(S_hy + \kappa)/(S_hm + \kappa)` with :math:`S_h` a Gaussian average and :math:`\kappa` one count in
    its window.  They fit what no explanation does, and this is what can reject all of them.

    amounts (M, r) and scores (M,): the fits to this half.  exposure: that of the other half.
    """
    values = scores - (amounts > 0.5).sum(axis=1)  # a column costs a unit of log likelihood in data to come
    order = np.argsort(-values, kind="stable")[:MOST_FITS]
    order = order[values[order] > values[order[0]] - _WORSE] if np.isfinite(values[order[0]]) else order[:1]
    fits = np.array([table.means(int(e), amounts[e]) for e in order]) + _FLOOR / len(half.counts)
    weights = np.exp(values[order] - values[order[0]]) if len(order) > 1 else np.ones(1)
    corrected = [_corrected(fits[0], half.counts, width) for width in free]
    bank, off = (0.5, 0.5 / len(free)) if len(free) else (1.0, 0.0)
    shares = np.concatenate([bank * weights / weights.sum(), np.full(len(free), off)])
    return Opponents(_BELOW_ONE * shares, (exposure / half.exposure) * np.array([*fits, *corrected]))


def _corrected(fit: Array, counts: Array, width: float) -> Array:
    """The fit times the ratio of smoothed counts to smoothed fit."""
    one = 1.0 / max(2.0 * sqrt(pi) * width, 1.0)  # one count in the window
    if width == 0.0:
        return fit * (counts + one) / (fit + one)
    smooth = gaussian_filter1d(np.stack([counts, fit]), width, mode="nearest")
    return np.asarray(fit * (smooth[0] + one) / (smooth[1] + one))


@cached_njit(nogil=True)
def _log_likelihoods(weights: Array, means: Array, counts: Array) -> tuple[Array, Array]:
    """Values (J,) with the log of the weight, and bounds (J,) of their errors: see `log_bounds` of a fit."""
    values = np.empty(len(means))
    errors = np.empty(len(means))
    for j in range(len(means)):
        value = 0.0
        size = 0.0
        for i in range(means.shape[1]):
            mean = means[j, i]
            value -= mean
            size += mean
            if counts[i] > 0.0:
                term = counts[i] * (exponent_of(mean) * LN2 + log_mantissa(mantissa_of(mean)))
                value += term
                size += abs(term) + 9.0 * counts[i] / (means.shape[1] + 8.0)
        share = log(weights[j])
        values[j] = value + share
        errors[j] = 2.0 * U * ((2.0 * means.shape[1] + 16.0) * size + 4.0 * (abs(value) + abs(share)))
    return values, errors
