"""Draws, explanations as spans beside the background, and the statistic by which spans compete."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol, final

import numpy as np
from numpy.random import PCG64, SeedSequence
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaincinv, ndtri

from ..._arrays import read_only
from ..._checks import check_columns, check_open, check_support
from ..._errors import MisuseError
from ..._typing import Array, Field, IntArray
from ...laws import RANK_TOLERANCE

if TYPE_CHECKING:
    from ._outsiders import Seen


# What the draws are for: no two share bits.
RIVALS = 0
OUTSIDERS = 1
SPECTRA = 2


class Draws:
    """A stream of draws; the stream of raw bits is fixed for all versions of numpy, unlike its normal numbers."""

    def __init__(self, seed: int, purpose: int) -> None:
        self._bits = PCG64(SeedSequence([seed, purpose]))

    def uniform(self, shape: tuple[int, ...]) -> Array:
        """Within (0, 1), both excluded, on the midpoints of 2^53 cells, above 1/2 as far as doubles have them."""
        raw = np.asarray(self._bits.random_raw(int(np.prod(shape, dtype=np.int64))), dtype=np.uint64)
        midpoints = (raw >> np.uint64(11)).astype(np.float64) + 0.5
        return np.minimum(midpoints * 2.0**-53, 1.0 - 2.0**-53).reshape(shape)  # the last would be rounded up to 1

    def normal(self, shape: tuple[int, ...]) -> Array:
        """Standard normal numbers."""
        return np.asarray(ndtri(self.uniform(shape)))

    def chi_square(self, degrees: Array | float, shape: tuple[int, ...]) -> Array:
        """Chi-square numbers; of 0 degrees 0."""
        half = np.broadcast_to(np.asarray(degrees, dtype=np.float64) / 2.0, shape)
        drawn = gammaincinv(np.maximum(half, 0.5), self.uniform(shape))
        return np.where(half > 0.0, 2.0 * drawn, 0.0)

    def field_normal(self, shape: tuple[int, ...], is_complex: bool) -> NDArray[Any]:
        """Normal numbers of variance 1 in every real coordinate, real and imaginary part alike."""
        if not is_complex:
            return self.normal(shape)
        return self.normal(shape) + 1j * self.normal(shape)

    def wishart_factor(self, count: int, size: int, degrees: int, is_complex: bool) -> NDArray[Any]:
        """(count, size, k) matrices A with A A^H as the second moments of so many columns `field_normal` (Bartlett)."""
        if degrees < size:
            return self.field_normal((count, size, max(degrees, 0)), is_complex)
        drawn = np.tril(self.field_normal((count, size, size), is_complex), -1)
        freedom: Array = np.arange(degrees, degrees - size, -1, dtype=np.float64) * (2.0 if is_complex else 1.0)
        index = np.arange(size)
        drawn[:, index, index] = np.sqrt(self.chi_square(freedom, (count, size)))
        return drawn


_EPS = float(np.finfo(np.float64).eps)
# Sizes whose squares, times the weight of any penalty that is taken, are far from overflow and underflow.
_LEAST_SIZE = 1e-80
_LARGEST_SIZE = 1e80


@final
@dataclass(frozen=True, slots=True, eq=False)
class RotationTable:
    r"""Explanations :math:`z = N_e\theta + \sigma\varepsilon`: the atoms of a support, and always the background.

    Coefficients are free, complex where the columns are.  Spans are taken beside the background: with K an orthonormal
    basis of its complement, explanation e keeps the span of :math:`K^H` times its atoms, found by singular values;
    those of unit columns below the tolerance count as 0.  An atom within the background is refused.
    """

    atoms: Field  # (q, E)
    supports: tuple[tuple[int, ...], ...]  # one of each explanation, () for background alone
    background: Field | None = None  # (q, b)
    tolerance: float = RANK_TOLERANCE
    names: tuple[str, ...] = ()  # (E,) of the atoms, for messages; their numbers if none are given
    complement: Field = field(init=False)  # (q, m) K
    bases: Field = field(init=False)  # (M, r, m) orthonormal rows u, the columns of the span; rows of zeros fill up
    ranks: IntArray = field(init=False)  # (M,)
    errors: Array = field(init=False)  # (M,) how far rounding may have turned each span

    def __post_init__(self) -> None:
        atoms = check_columns("atoms", self.atoms, None)
        check_open("tolerance", self.tolerance, 0.0, 1.0)
        supports = tuple(check_support("supports", support, atoms.shape[1], least=0) for support in self.supports)
        if not supports:
            raise MisuseError("supports", "hold at least one explanation", "none")
        if self.names and len(self.names) != atoms.shape[1]:
            raise MisuseError("names", f"name all {atoms.shape[1]} atoms", len(self.names))
        background = np.zeros((len(atoms), 0)) if self.background is None else self.background
        columns = check_columns("background", background, len(atoms))
        complement = _complement(columns, self.tolerance)  # (q, m)
        check_sizes("atoms", np.abs(atoms).max(axis=0))
        unit = atoms / np.linalg.norm(atoms, axis=0)
        left = complement.conj().T @ unit  # (m, E)
        norms = np.linalg.norm(left, axis=0)
        if (norms <= self.tolerance).any():
            raise MisuseError(
                "background",
                "leave something of every atom",
                f"one that spans {self._name(int(norms.argmin()))}",
                "Take columns out of the background, or the atom out of the bank.",
            )
        bases, ranks, errors = _spans(left, supports, self.tolerance)
        object.__setattr__(self, "supports", supports)
        names = ("atoms", "background", "complement", "bases", "ranks", "errors")
        for name, value in zip(names, (atoms, columns, complement, bases, ranks, errors), strict=True):
            object.__setattr__(self, name, read_only(value))

    def _name(self, atom: int) -> str:
        return f"'{self.names[atom]}'" if self.names else f"atom {atom}"

    @property
    def size(self) -> int:
        """How many explanations."""
        return len(self.supports)

    @property
    def is_complex(self) -> bool:
        """True if rows, coefficients and noise are complex."""
        return bool(np.iscomplexobj(self.bases))

    def whitened(self, whitener: Field) -> "RotationTable":
        """The same explanations for rows multiplied by whitener (p, q), see `whitening`."""
        assert self.background is not None
        seen = whitener @ self.atoms, self.supports, whitener @ self.background
        return RotationTable(*seen, self.tolerance, self.names)


def check_sizes(name: str, sizes: Array) -> None:
    """Refuse sizes whose squares double precision may not hold."""
    is_bad = ~((sizes >= _LEAST_SIZE) & (sizes <= _LARGEST_SIZE))
    if is_bad.any():
        rule = f"be of sizes between {_LEAST_SIZE:g} and {_LARGEST_SIZE:g}"
        raise MisuseError(name, rule, f"{sizes[is_bad][0]:g}", "Choose another unit.")


def check_rows(table: "RotationTable", rows: ArrayLike) -> Field:
    """Rows (T, q) that this table can be about: complex if it is, for noise is then circular."""
    columns = check_columns("rows", np.atleast_2d(rows).T, len(table.atoms))
    check_sizes("rows", np.abs(columns).max(keepdims=True) if columns.any() else np.empty(0))
    if table.is_complex and (not np.iscomplexobj(columns) or (columns.any() and not columns.imag.any())):
        raise MisuseError("rows", "be complex, as the table is", "real ones", "Take real atoms, or pass Re + i Im.")
    return columns.T


def _complement(background: Field, tolerance: float) -> Field:
    """(q, m) orthonormal basis of all that the background does not span."""
    columns = background[:, background.any(axis=0)]
    check_sizes("background", np.abs(columns).max(axis=0, initial=0.0))
    unit = columns / np.linalg.norm(columns, axis=0)
    left, values, _ = np.linalg.svd(unit, full_matrices=True)
    return np.asarray(left[:, int((values > tolerance).sum()) :])


def _spans(left: Field, supports: Sequence[tuple[int, ...]], tolerance: float) -> tuple[Field, IntArray, Array]:
    """Bases (M, r, m), ranks (M,) and errors (M,), all supports of one size at a time."""
    sizes = np.array([len(support) for support in supports])
    bases = np.zeros((len(supports), max(int(sizes.max()), 1), len(left)), dtype=left.dtype)
    ranks = np.zeros(len(supports), dtype=np.int64)
    errors = np.zeros(len(supports))
    for size in np.unique(sizes[sizes > 0]).tolist():
        chosen = np.flatnonzero(sizes == size)
        indices = np.array([supports[i] for i in chosen.tolist()])  # (k, size)
        vectors, values, _ = np.linalg.svd(left.T[indices].swapaxes(1, 2), full_matrices=False)  # (k, m, p), (k, p)
        kept = values > tolerance
        bases[chosen, : values.shape[1]] = np.where(kept[:, None], vectors, 0.0).swapaxes(1, 2)
        ranks[chosen] = kept.sum(axis=1)
        # Backward stable: the span of columns that are off by a few roundings, hence off itself by that over the
        # least singular value kept.
        errors[chosen] = 8.0 * len(left) * _EPS * np.sqrt(size) / np.where(kept, values, np.inf).min(axis=1)
    return bases[:, : max(int(ranks.max()), 1)], ranks, errors


def near_together(bases: Array, size: int) -> IntArray:
    """(M,) an order of spans (M, r, m) that has near ones in the same block of this size: halves of halves.

    Each half is nearer to one of two spans that are far from each other.
    """
    parts = [np.arange(len(bases))]
    blocks = []
    while parts:
        part = parts.pop()
        if len(part) <= size:
            blocks.append(part)
            continue
        ends = part[:1]
        near = np.empty((2, len(part)))
        for near_to_end in (near[0], near[0], near[1]):
            near_to_end[:] = ((bases[part] @ bases[ends[-1]].T) ** 2).sum(axis=(1, 2))
            ends = np.append(ends, part[near_to_end.argmin()])
        order = np.argsort(near[1] - near[0], kind="stable")
        half = -(-len(part) // (2 * size)) * size
        parts += [part[order[half:]], part[order[:half]]]
    return np.concatenate(blocks)


EPS = float(np.finfo(np.float64).eps)
# Of the level of a rotation test, what the closed-form screen takes; the rest is for the draws.
SCREEN_SHARE = 0.01
LEAST_FREEDOM = 5
_LEAST_READ = 2.0**-30  # of smaller levels not even the inverse is told, which may overflow
# Of log c_j: the weights times any energy stay far from overflow.
_MOST_PENALISED = 300.0


@final
@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """How many of B rotations reach the statistic of the data: between least and most (k,), and what else was found."""

    least: IntArray
    most: IntArray
    bound: Array  # (k,) of the exact p-value; inf where nothing was screened
    number: int | None = None  # e is rejected if fewer exceed; None leaves that to its level
    glanced: Array | None = None  # (k,) margin of a look at the first draws; -inf where it rejects nothing


@dataclass(frozen=True, eq=False)  # no slots: kinds of rows inherit, and keep what they work out
class Rotations(Protocol):
    """Rows of one kind under a table of explanations: their fits, and their rotation test against rivals."""

    table: RotationTable
    rows: Field  # (T, q)
    draws: int
    seed: int
    penalty: float
    sigma: float | None = None

    def __post_init__(self) -> None:
        """Rows that the table can be about, and a residual of some dimensions."""
        object.__setattr__(self, "rows", check_rows(self.table, self.rows))
        check_freedom(self.freedom - int(self.ranks.max()))

    @property
    def has_common_mean(self) -> bool:
        """True if all rows have the same coefficients."""

    @property
    def is_complex(self) -> bool:
        """True if rows or columns are."""
        return self.table.is_complex or bool(np.iscomplexobj(self.rows))

    @property
    def parts(self) -> int:
        """Real coordinates of a number: 2 if complex."""
        return 2 if self.is_complex else 1

    @property
    def own_sigma(self) -> float:
        """Standard deviation of the noise in a real coordinate; 0 where it is not known."""
        return 0.0 if self.sigma is None else self.sigma / float(np.sqrt(self.parts))

    @property
    def states_noise(self) -> bool:
        """True if rows can refute a noise: one of known deviation, or one that was estimated from other rows."""
        return self.own_sigma > 0.0

    @property
    def freedom(self) -> int:
        """Real coordinates of the rows beside the background."""

    @property
    def ranks(self) -> IntArray:
        """(M,) real coordinates that an explanation fits."""

    @property
    def scores(self) -> Array:
        """(M,) how well every explanation fits; the largest fits best."""

    def coefficients(self, e: int, weights: Array | None = None) -> tuple[Field, Array]:
        """(r,) fitted coefficients of e's atoms and (r,) their errors over those of a real coordinate; none if open.

        weights: (k, r), for k sums of coefficients with these weights.
        """

    def residuals(self, e: int) -> tuple[float, int]:
        """The residual sum of squares of e, and its degrees of freedom."""

    def rounding(self, e: int) -> float:
        """How long a part of the residual of e may be rounding, of the rows as given included."""

    def rivals(self, explanations: IntArray, level: float, *, is_full: bool = False) -> Counts:
        """Count exceedances of explanations (k,) at this level; is_full: without screen and early stop."""

    def further(self, e: int) -> "Seen | None":  # noqa: ARG002
        """The result of its rivals even if e fits best; None where they reject no best fit."""
        return None


@final
@dataclass(frozen=True, slots=True, eq=False)
class Contest:
    r"""The rival statistic :math:`\max_j \frac n2\log(RSS_e/RSS_j) - \lambda(r_j - r_e)`, j = e included.

    Under a rotation of e, :math:`RSS_e` and the energy :math:`E = |z|^2` stay, so it ranks as the largest
    :math:`c_j(|P_j z|^2 - E)`, :math:`c_j = e^{2\lambda r_j/n}`; of equal ranks as the largest :math:`|P_j z|^2`.
    With known noise it is :math:`|P_j z|^2 - 2\sigma^2\lambda r_j`.  Ranks and n count real coordinates.
    """

    fits: Array  # (M,) |P_j z|^2
    weights: Array  # (M,) c_j
    offsets: Array  # (M,) c_j E, or 2 sigma^2 lambda r_j

    @classmethod
    def of(cls, fits: Array, ranks: IntArray, energy: float, freedom: int, penalty: float, sigma: float) -> "Contest":
        """freedom: n; sigma: 0 where it is not known."""
        if sigma > 0.0:
            return cls(fits, np.ones(len(fits)), np.asarray(2.0 * sigma**2 * penalty * ranks, dtype=np.float64))
        exponents = 2.0 * penalty * (ranks - ranks.min()) / freedom
        if exponents.max() > _MOST_PENALISED:
            rule = f"make at most {_MOST_PENALISED / 2:g} times {freedom}, the coordinates, of the largest rank"
            raise MisuseError("penalty", rule, penalty)
        weights = np.exp(exponents)
        return cls(fits, weights, weights * energy)

    @property
    def scores(self) -> Array:
        """(M,) the statistic of each rival."""
        return self.weights * self.fits - self.offsets

    def least(self, slack: Array) -> Array:
        """(M,) the energies at which a rival reaches the statistic of the data, whose fits are off by up to slack."""
        return np.asarray(((self.scores - self.weights * slack).max() + self.offsets) / self.weights)


def most_rejected(level: float, draws: int) -> int:
    """K = floor(level (B + 1)): p <= level exactly if fewer than K draws exceed; none can if K is 0."""
    return int(Fraction(level) * (draws + 1))


def check_draws(level: float, draws: int) -> None:
    """Refuse so few draws that nothing is ever rejected."""
    if most_rejected(level, draws) < 1:
        least = int(1 / max(level, _LEAST_READ))
        raise MisuseError("draws", f"be at least {least} to reject at level {level:g}", draws, "Or raise the level.")


def count_margins(counts: Counts, level: float, draws: int, *, is_screened: bool = True) -> tuple[Array, Array]:
    r"""Bounds (k,) of the margin :math:`\log\frac{K + 1/2}{1 + \#}`, positive exactly if fewer than K draws exceed.

    The screen rejects at 1 % of the level and the draws at 99 %, K unless the counts say another; its margin is the log
    of its level over its bound.
    """
    number = counts.number
    if number is None:
        number = most_rejected(level * (1.0 - SCREEN_SHARE) if is_screened else level, draws)
    lower = np.log((number + 0.5) / (1.0 + counts.most))
    upper = np.log((number + 0.5) / (1.0 + counts.least))
    if not is_screened:
        return lower, upper
    with np.errstate(divide="ignore"):
        screened = np.log(SCREEN_SHARE * level) - np.log(counts.bound) - 1e-9  # far more than the bound's rounding
    ahead = screened if counts.glanced is None else np.maximum(screened, counts.glanced)
    return np.maximum(lower, ahead), np.maximum(upper, ahead)


def check_freedom(freedom: int) -> None:
    """Refuse a residual of too few dimensions: its direction says next to nothing."""
    if freedom < LEAST_FREEDOM:
        raise MisuseError(
            "rows",
            f"leave a residual of at least {LEAST_FREEDOM} dimensions",
            freedom,
            "Measure more channels or rows, or take columns out of the background or the supports. A covariance of the "
            "noise that has not full rank leaves directions out.",
        )
