"""Explanations of counts, halves of the data, and the mixture that one half fixes for the other."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import fsum, log, pi, sqrt
from typing import NamedTuple, final

import numpy as np
from numpy.random import PCG64, SeedSequence
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import gaussian_filter1d

from ..._checks import check_array, check_support, read_only
from ..._compiled import LN2, U, cached_njit, exponent_of, log_mantissa, mantissa_of
from ..._errors import Clause, MisuseError
from ..._typing import Array, IntArray
from ...responses import Cell, Family

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
    recorded: (q, C) counts, of which the first C atoms are estimates: their true rates are not known.  Ends of their
    bands are shares of the rate, the same in all channels.
    family: of the atoms, whose parameters may have any value in its box, the same for all atoms.
    """

    atoms: Array  # (q, E), not negative
    supports: tuple[tuple[int, ...], ...]  # one of each explanation, () for background alone
    background: Array | None = None  # (q, b), not negative
    band: tuple[Array, Array] | None = None
    recorded: IntArray | None = None
    family: Family | None = None
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
            raise MisuseError("supports", "hold at least one explanation", Clause("there is none"))
        columns = np.concatenate([_check_shapes("atoms", atoms), _check_shapes("background", background)], axis=1).T
        object.__setattr__(self, "supports", supports)
        always = tuple(range(atoms.shape[1], len(columns)))
        members = np.full((len(supports), max(map(len, supports)) + len(always)), -1, dtype=np.int64)
        for e, support in enumerate(supports):
            members[e, : len(support) + len(always)] = support + always
        if self.recorded is not None:
            object.__setattr__(self, "recorded", read_only(_check_recorded(self.recorded, atoms), np.int64))
        for name, value in zip(
            ("atoms", "background", "columns", "sums", "members"),
            (atoms, background, np.ascontiguousarray(columns), np.array([*map(_column_sum, columns)]), members),
            strict=True,
        ):
            object.__setattr__(self, name, read_only(value))
        object.__setattr__(self, "ends", None if self.band is None else self.ends_of(self.band))
        if self.family is not None:
            self._check_family(self.family)

    def _check_family(self, family: Family) -> None:
        """Refuse widths beside a family, and one of other atoms."""
        if self.has_width:
            remedy = "Give the error as a parameter 'gain', or leave the parameters between their values out."
            raise MisuseError(
                "family", "be left out beside a band or recorded responses", Clause("both are given"), remedy
            )
        shape = family.ends(Cell.at(family.box.middle)).low.shape
        if shape != self.atoms.shape:
            raise MisuseError("family", f"have responses of shape {self.atoms.shape}", shape)

    @classmethod
    def between(
        cls, family: Family, supports: Sequence[Sequence[int]], background: ArrayLike | None = None
    ) -> "CountTable":
        """Elements whose responses have parameters that may lie anywhere in a box."""
        low, high = family.ends(Cell.at(family.box.middle))
        atoms = np.maximum(0.5 * (low + high), 0.0)
        return cls(atoms, tuple(map(tuple, supports)), background, family=family)  # type: ignore[arg-type]

    @classmethod
    def from_recorded(
        cls, recorded: ArrayLike, supports: Sequence[Sequence[int]], background: ArrayLike | None = None
    ) -> "CountTable":
        """Elements whose responses (q, E) are counts themselves, of any live times."""
        counts = check_array("recorded", recorded, (None, None))
        return cls(counts, tuple(map(tuple, supports)), background, recorded=counts)  # type: ignore[arg-type]

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
        """The number of explanations."""
        return len(self.supports)

    @property
    def has_width(self) -> bool:
        """True unless all columns are exact."""
        return self.ends is not None or self.recorded is not None

    def moved(self, point: Array) -> "CountTable":
        """The table with exact atoms, those of one point of the box."""
        atoms = self.cell_ends(Cell.at(point))[1][: self.atoms.shape[1]].T
        return replace(self, atoms=atoms, family=None)

    def cell_ends(self, cell: Cell) -> tuple[Array, Array]:
        """(E + b, q) lower and upper ends of all columns over a cell of the parameters of the family."""
        assert self.family is not None
        assert self.background is not None
        ends = (np.maximum(end, 0.0) for end in self.family.ends(cell))
        low, high = (np.ascontiguousarray(np.concatenate([end, self.background], axis=1).T) for end in ends)
        return low, high

    def ends_of(self, band: tuple[Array, Array]) -> tuple[Array, Array]:
        """(E + b, q) lower and upper ends of all columns; those of the background are the columns themselves."""
        assert self.background is not None
        low, high = (check_array(name, end, self.atoms.shape) for name, end in zip(("low", "high"), band, strict=True))
        if (low < 0.0).any() or (low > self.atoms).any() or (self.atoms > high).any():
            raise MisuseError("band", "have the atoms between its ends, none of them negative", Clause("it does not"))
        lower, upper = (read_only(np.concatenate([end, self.background], axis=1).T, np.float64) for end in (low, high))
        return lower, upper

    def estimated(self, library: Array) -> "CountTable":
        """The table with other counts (C, q) of its recorded responses, half a count added in every channel."""
        assert self.recorded is not None
        atoms = np.concatenate([library.T + 0.5, self.atoms[:, len(library) :]], axis=1)
        return replace(self, atoms=atoms, band=None, recorded=None)

    def means(self, e: int, amounts: Array) -> Array:
        """(q,) means of amounts (r,), the counts of each column of an explanation."""
        active = self.members[e][self.members[e] >= 0]
        return np.asarray((amounts[: len(active)] / self.sums[active]) @ self.columns[active])


def _check_recorded(recorded: ArrayLike, atoms: Array) -> IntArray:
    """(q, C) counts, some in each column, in proportion to the first atoms."""
    counts = check_counts(np.asarray(recorded).T, len(atoms), "recorded").T
    if counts.shape[1] > atoms.shape[1] or not counts.any(axis=0).all():
        raise MisuseError("recorded", "have some counts in each column, one for each of the first atoms", counts.shape)
    own = atoms[:, : counts.shape[1]]
    if not np.allclose(own / own.sum(axis=0), counts / counts.sum(axis=0), rtol=1e-6, atol=1e-12):
        raise MisuseError("recorded", "be in proportion to the first atoms", Clause("they are not"))
    return counts


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
        raise MisuseError(name, "not be negative", Clause(f"the least is {columns.min():g}"), remedy)
    sums = columns.sum(axis=0)
    is_bad = ~((sums >= _LEAST_SUM) & (sums <= _LARGEST_SUM))
    if is_bad.any():
        rule = f"have columns with sums between {_LEAST_SUM:g} and {_LARGEST_SUM:g}"
        raise MisuseError(name, rule, f"{sums[is_bad][0]:g} in column {int(is_bad.argmax())}")
    return columns


# One random bit a count; counts beyond are limited by the responses, not by their own noise.
MOST_COUNTS = 10**9
# Purposes of the draws: no other judge shares these bits.
_PURPOSE = 3
_LIBRARY = 30


class Half(NamedTuple):
    """Counts (q,) and the exposure in which they came."""

    counts: Array
    exposure: float


Split = tuple[Half, Half]
Bits = Callable[[int], NDArray[np.uint64]]


def check_counts(rows: ArrayLike, n_channels: int, name: str = "rows") -> IntArray:
    """(T, q) whole numbers, not negative."""
    array = check_array(name, np.atleast_2d(np.asarray(rows)), (None, n_channels))
    if (array < 0.0).any() or (array != np.floor(array)).any() or array.sum() > MOST_COUNTS:
        wrong = np.argwhere((array < 0.0) | (array != np.floor(array)))
        first = "" if not len(wrong) else f"{array[*wrong[0]]:g} in row {wrong[0][0]}, channel {wrong[0][1]}"
        value = first or f"{array.sum():g} in all"
        rule = f"be counts: whole numbers, none negative, at most {MOST_COUNTS:.0e} in all"
        raise MisuseError(name, rule, value, "Rates, backgrounds subtracted and dead times corrected are no counts.")
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
    bits = _bits(seed, _PURPOSE)
    return [SPLITS[how](rows, exposure, bits) for _ in range(count)]


def library_halves(recorded: IntArray, count: int, seed: int) -> list[tuple[Array, Array]]:
    """So many splits of recorded responses (q, C) into independent halves (C, q), by fair coins."""
    counts = np.ascontiguousarray(recorded.T).reshape(-1)
    bits = _bits(seed, _LIBRARY)
    heads = [_heads(counts, bits(int((-(-counts // 64)).sum()))) for _ in range(count)]
    shape = recorded.T.shape
    return [
        (each.reshape(shape).astype(np.float64), (counts - each).reshape(shape).astype(np.float64)) for each in heads
    ]


def _bits(seed: int, purpose: int) -> Bits:
    generator = PCG64(SeedSequence([seed, purpose]))
    return lambda number: np.atleast_1d(np.asarray(generator.random_raw(number), dtype=np.uint64))


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
BELOW_ONE = 1.0 - 2.0**-40


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

    The latter, the free opponents, fit what no explanation does, and so can reject all of them.  There are two
    for each width in free (f,).  One is the best fit times a local correction,
    :math:`m_i\,(S_hy + \kappa)/(S_hm + \kappa)` with :math:`S_h` a Gaussian average and :math:`\kappa` one count in its
    window.  It vanishes where the best fit does.  The other, smoothed counts, does not: it corrects the smoothed counts
    of the next larger width, and at the largest width equal means.  All of them are positive, and this half fixes them.

    amounts (M, r) and scores (M,): the fits to this half.  exposure: that of the other half.
    """
    weights, fits = bank_means(table, amounts, scores)
    off_bank = free_means(fits[0], half.counts, free)
    bank, off = (0.5, 0.5 / len(off_bank)) if len(free) else (1.0, 0.0)
    shares = np.concatenate([bank * weights, np.full(len(off_bank), off)])
    return Opponents(BELOW_ONE * shares, (exposure / half.exposure) * np.concatenate([fits, off_bank]))


def bank_means(table: CountTable, amounts: Array, scores: Array) -> tuple[Array, Array]:
    """Weights (J,) that add up to 1 and means (J, q) of the fits that are best, the best one first."""
    values = scores - (amounts > 0.5).sum(axis=1)  # a column costs a unit of log likelihood in data to come
    order = np.argsort(-values, kind="stable")[:MOST_FITS]
    order = order[values[order] > values[order[0]] - _WORSE] if np.isfinite(values[order[0]]) else order[:1]
    n_channels = table.columns.shape[1]
    fits = np.array([table.means(int(e), amounts[e]) for e in order]) + _FLOOR / n_channels
    weights = np.exp(values[order] - values[order[0]]) if len(order) > 1 else np.ones(1)
    return weights / weights.sum(), fits


def free_means(fit: Array, counts: Array, widths: tuple[float, ...]) -> Array:
    """(2 f, q) means off the bank, two for each width: corrections of a fit (q,), and smoothed counts."""
    corrected = [_corrected(fit, counts, width) for width in widths]
    return np.array([*corrected, *_smoothed(counts, widths)]).reshape(-1, len(counts))


def _smoothed(counts: Array, widths: tuple[float, ...]) -> list[Array]:
    """Smoothed counts, (q,) for each width, from the largest to the smallest; all above 0."""
    means = np.full(len(counts), (counts.sum() + _FLOOR) / len(counts))
    smoothed = []
    for width in sorted(widths, reverse=True):
        means = _corrected(means, counts, width)
        smoothed.append(means)
    return smoothed


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
