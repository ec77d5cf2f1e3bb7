"""Draws, explanations as spans beside the background, and outsiders.

Outsiders are effects that the bank lacks; the gate looks for them in the residuals.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, final

import numpy as np
import scipy  # its parts are slow to load, and other judges take draws, too
from numpy.random import PCG64, SeedSequence
from numpy.typing import ArrayLike, NDArray

from ..._checks import check_columns, check_open, check_support, check_whole, read_only
from ..._errors import Clause, MisuseError
from ..._typing import Array, Field, IntArray
from ...laws import RANK_TOLERANCE, Design

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
        return np.asarray(scipy.special.ndtri(self.uniform(shape)))

    def chi_square(self, degrees: Array | float, shape: tuple[int, ...]) -> Array:
        """Chi-square numbers; of 0 degrees 0."""
        half = np.broadcast_to(np.asarray(degrees, dtype=np.float64) / 2.0, shape)
        drawn = scipy.special.gammaincinv(np.maximum(half, 0.5), self.uniform(shape))
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


EPS = float(np.finfo(np.float64).eps)
# Sizes whose squares, times the weight of any penalty that is taken, are far from overflow and underflow.
_LEAST_SIZE = 1e-80
_LARGEST_SIZE = 1e80
# Explanations, at least, for which tables of all pairs of atoms are worth making.
_FEWEST_PAIRS = 200
# Real columns of an element, at most, whose pairs are compiled as one.
_WIDEST = 6


@final
@dataclass(frozen=True, eq=False)
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
            raise MisuseError("supports", "hold at least one explanation", Clause("there is none"))
        if self.names and len(self.names) != atoms.shape[1]:
            raise MisuseError("names", f"name all {atoms.shape[1]} atoms", len(self.names))
        background = np.zeros((len(atoms), 0)) if self.background is None else self.background
        columns = check_columns("background", background, len(atoms))
        complement = _complement(columns, self.tolerance)  # (q, m)
        check_sizes("atoms", np.abs(atoms).max(axis=0))
        left = complement.conj().T @ (atoms / np.linalg.norm(atoms, axis=0))  # (m, E)
        norms = np.linalg.norm(left, axis=0)
        if (norms <= self.tolerance).any():
            raise MisuseError(
                "background",
                "leave something of every atom",
                Clause(f"it spans {self._name(int(norms.argmin()))}"),
                "Take columns out of the background, or the atom out of the bank.",
            )
        bases, ranks, errors = spans(left, supports, self.tolerance)
        object.__setattr__(self, "supports", supports)
        names = ("atoms", "background", "complement", "bases", "ranks", "errors")
        for name, value in zip(names, (atoms, columns, complement, bases, ranks, errors), strict=True):
            object.__setattr__(self, name, read_only(value))

    def _name(self, atom: int) -> str:
        return f"'{self.names[atom]}'" if self.names else f"atom {atom}"

    @property
    def size(self) -> int:
        """The number of explanations."""
        return len(self.supports)

    @property
    def is_complex(self) -> bool:
        """True if rows, coefficients and noise are complex."""
        return bool(np.iscomplexobj(self.bases))

    @cached_property
    def elements(self) -> tuple[tuple[int, ...], ...]:
        """The columns of each element: those that every support has together or not at all."""
        where: dict[int, list[int]] = {}
        for e, support in enumerate(self.supports):
            for atom in support:
                where.setdefault(atom, []).append(e)
        together: dict[tuple[int, ...], list[int]] = {}
        for atom, explanations in where.items():
            together.setdefault(tuple(explanations), []).append(atom)
        return tuple(map(tuple, together.values()))

    @cached_property
    def members(self) -> tuple[tuple[int, ...], ...]:
        """The elements of each support, by number."""
        owner = {atom: number for number, columns in enumerate(self.elements) for atom in columns}
        return tuple(tuple(dict.fromkeys(owner[atom] for atom in support)) for support in self.supports)

    @cached_property
    def element_bases(self) -> Field:
        """(E, r, m) orthonormal rows of every element alone, as `bases`."""
        left = self.complement.conj().T @ (self.atoms / np.linalg.norm(self.atoms, axis=0))
        return spans(left, self.elements, self.tolerance)[0]

    @cached_property
    def has_pairs(self) -> bool:
        """True if `Pairs` can judge, and sooner: at most two elements in a support, and most pairs of them."""
        sizes = np.array([len(support) for support in self.supports])
        if self.size < _FEWEST_PAIRS or sizes.max() > 2 * _WIDEST or (self.ranks != sizes).any():
            return False
        width = max(map(len, self.elements), default=0) * (2 if self.is_complex else 1)
        is_dense = 8 * self.size >= len(self.elements) ** 2
        return max(map(len, self.members)) == 2 and width <= _WIDEST and is_dense

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


def spans(left: Field, supports: Sequence[tuple[int, ...]], tolerance: float) -> tuple[Field, IntArray, Array]:
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
        errors[chosen] = 8.0 * len(left) * EPS * np.sqrt(size) / np.where(kept, values, np.inf).min(axis=1)
    return bases[:, : max(int(ranks.max()), 1)], ranks, errors


def as_real(rows: Field) -> Array:
    """Complex rows (M, r, m) as real ones (M, 2r, 2m) that span the same: real and imaginary parts side by side."""
    plain = np.concatenate([rows.real, rows.imag], axis=-1)
    turned_rows = np.concatenate([-rows.imag, rows.real], axis=-1)
    return np.concatenate([plain, turned_rows], axis=-2)


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


WIDTHS = (1, 2, 4, 8, 16, 32)
LAGS = tuple(range(1, 11))
SHARE = 0.2
# Of an outsider of norm 1; one that explanation and background nearly span says nothing beside them.
LEAST_LEFT = 1e-3
# Of parts of unit residuals, which are at most 1: far more than the rounding of their sums.
ROUNDING = 1e-10
# Of an outsider, what an explanation has in common with it to be where the explanation is.
OWN_SHARE = 0.25
# Where noise is looked at.
SCATTER = "the scatter of the rows"
LEFT = "all that the fit leaves"


@final
@dataclass(frozen=True, slots=True, eq=False)
class Outsiders:
    """Effects that the gate looks for; its parts divide this share of the level equally.

    columns: largest part of the residual along one of them.  lags: largest autocorrelation of a single row's residual.
    spectrum: leading eigenvalue over the trace, of the scatter of rows with a common mean (it sees coloured noise), or
    of the residual second moments of free rows (it sees a source outside the bank).  noise: where it is stated, whether
    it is that of the rows, two-sided: by their scatter if they have a common mean, else by what an explanation leaves.
    """

    columns: Field | None = None  # (q, k)
    places: tuple[str, ...] = ()  # (k,) names of the columns; their numbers if none are given
    lags: tuple[int, ...] = ()
    spectrum: bool = False
    share: float = SHARE
    noise: bool = False

    def __post_init__(self) -> None:
        check_open("share", self.share, 0.0, 1.0)
        object.__setattr__(
            self,
            "lags",
            tuple(check_whole("lags", np.array(self.lags or [], dtype=None if self.lags else int)).tolist()),
        )
        if any(lag < 1 for lag in self.lags):
            raise MisuseError("lags", "be at least 1", self.lags)
        if self.columns is not None:
            columns = check_columns("outsiders", self.columns, None)
            if not columns.any(axis=0).all() or not columns.size:
                raise MisuseError("outsiders", "be columns other than 0", f"shape {columns.shape}")
            check_sizes("outsiders", np.abs(columns).max(axis=0))
            names = tuple(self.places) or tuple(f"column {i}" for i in range(columns.shape[1]))
            if len(names) != columns.shape[1]:
                raise MisuseError("places", f"name all {columns.shape[1]} outsiders", len(names))
            object.__setattr__(self, "columns", read_only(columns))
            object.__setattr__(self, "places", names)
        if not self.parts:
            raise MisuseError(
                "outsiders", "have columns, lags or the spectrum, or look at the noise", Clause("there is none of them")
            )

    def check(
        self,
        n_rows: int,
        n_channels: int,
        *,
        has_common_mean: bool = True,
        is_noise_stated: bool = False,
        is_complex: bool = False,
    ) -> None:
        """Raise if so many rows cannot tell: one alone, of no free coefficients, has lags, and only several scatter.

        Rows with coefficients of their own have no order along an axis that survives these.
        """
        if self.columns is not None:
            if not is_complex and np.iscomplexobj(self.columns):
                raise MisuseError("outsiders", "be real, as rows and table are", "complex columns")
            check_columns("outsiders", self.columns, n_channels)
        if self.noise and not is_noise_stated:
            raise MisuseError("noise", "be looked at where sigma is given", Clause("it is not given"), "Leave it out.")
        if self.lags and (n_rows > 1 or not has_common_mean):
            several = f"{n_rows} rows" if has_common_mean else "rows with free coefficients"
            raise MisuseError("lags", "be asked for of a single row", several)
        if self.spectrum and n_rows < 3:
            raise MisuseError("spectrum", "be asked for of at least 3 rows", n_rows)

    @property
    def unit(self) -> Field:
        """(q, k) the columns with norm 1."""
        assert self.columns is not None
        return np.asarray(self.columns / np.linalg.norm(self.columns, axis=0))

    @property
    def parts(self) -> tuple[str, ...]:
        """The tests that the share is divided by."""
        kinds = {
            "columns": self.columns is not None,
            "lags": bool(self.lags),
            "spectrum": self.spectrum,
            "noise": self.noise,
        }
        return tuple(kind for kind, is_there in kinds.items() if is_there)

    @property
    def drawn(self) -> tuple[str, ...]:
        """The parts that make draws; the noise has a p-value in closed form."""
        return tuple(part for part in self.parts if part != "noise")


def ordered_axis(q: int, widths: Sequence[int] = WIDTHS, lags: Sequence[int] = LAGS) -> Outsiders:
    """For one row on an ordered axis of q channels: bumps of these widths, everywhere, and autocorrelations."""
    columns, places = bumps(q, widths)
    return Outsiders(columns, tuple(places), tuple(lag for lag in lags if lag < q))


def bumps(q: int, widths: Sequence[int], *, is_thin: bool = False) -> tuple[Array, list[str]]:
    """(q, k) columns of ones over neighbouring channels, and where they stand.

    At every channel, or, if thin, a quarter of their width apart: what lies between two is seen nearly as well.
    """
    columns = []
    places = []
    for width in (width for width in widths if width < q):
        for start in range(0, q - width + 1, max(1, width // 4) if is_thin else 1):
            column = np.zeros(q)
            column[start : start + width] = 1.0
            columns.append(column)
            places.append(f"channel {start}" if width == 1 else f"channels {start} to {start + width - 1}")
    return np.array(columns).T, places


def scanned(columns: ArrayLike, *, spectrum: bool = True) -> Outsiders:
    """For several rows: the rest of a library, or a fine grid of directions (q, k), and the leading eigenvalue."""
    return Outsiders(np.asarray(columns), spectrum=spectrum)


@final
@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one part of the gate for one explanation."""

    part: str  # columns, lags, spectrum or noise
    place: str  # where the residual is largest
    exceedances: int  # of all draws at least so many
    most: int  # and at most so many: the same unless enough of them stopped the test
    draws: int
    is_own: bool = False  # whether that is where the explanation itself is: its shape, or a close neighbour
    closed: float | None = None  # p-value in closed form, of a part that makes no draws
    ratio: float | None = None  # of the noise: how many times the variance that is stated

    @property
    def p(self) -> float:
        """Valid for this part alone."""
        return (1 + self.exceedances) / (1 + self.draws) if self.closed is None else self.closed

    def encode(self) -> dict[str, object]:
        """Part, place and p-value as facts hold them, with what else there is."""
        said: dict[str, object] = {"part": self.part, "place": self.place, "p": self.p}
        said |= {"is_own": True} if self.is_own else {}
        return said | ({} if self.ratio is None else {"ratio": self.ratio})


def leading_shares(seed: int, draws: int, size: int, n_rows: int, is_complex: bool) -> Array:
    """(B,) leading eigenvalue over the trace of second moments of n_rows white rows in size dimensions.

    Those of a matrix and of its transpose are the same, so the smaller ones are drawn.
    """
    factor = Draws(seed, SPECTRA).wishart_factor(draws, min(size, n_rows), max(size, n_rows), is_complex)
    values = np.linalg.eigvalsh(factor @ factor.conj().swapaxes(1, 2))
    return np.asarray(values[:, -1] / values.sum(axis=1))


def leading_share(residual: Field, rounding: float) -> float:
    """Bound the share of a residual (m, T) from below, if a part of this length may be rounding; 0 if all may be."""
    values = np.linalg.svd(residual, compute_uv=False) ** 2
    return float(values[0] / values.sum() - ROUNDING - turned(rounding, values.sum()))


def turned(rounding: float, energy: float) -> float:
    """At most what a part of this length changes of squares and products of unit residuals; no number for none."""
    return float(8.0 * np.float64(rounding) / np.sqrt(energy))


ELEMENTS = ("rest", "none")
# Columns that are looked along: more bumps are set farther apart, and of more elements the first are taken.
_MOST_COLUMNS = 6000


def white_lags(n_rows: int, n_channels: int, has_common_mean: bool) -> tuple[int, ...]:
    """Lags at which a single row is asked for autocorrelations; none of several rows, or of free coefficients."""
    return tuple(lag for lag in LAGS if lag < n_channels) if n_rows == 1 and has_common_mean else ()


@final
@dataclass(frozen=True, slots=True)
class Scan:
    """Outsiders that are sensible for the rows at hand.

    One row: bumps of 1 to 32 channels everywhere, the other elements, and autocorrelations.  Several: the other
    elements, and from three rows on the leading eigenvalue.  elements: `rest` looks along all elements of the bank,
    `none` along none.  share: of the level.
    """

    elements: Literal["rest", "none"] = "rest"
    share: float = SHARE

    def __post_init__(self) -> None:
        check_open("share", self.share, 0.0, 1.0)
        if self.elements not in ELEMENTS:
            raise MisuseError("elements", f"be one of {', '.join(map(repr, ELEMENTS))}", repr(self.elements))

    def outsiders(self, design: Design, n_rows: int, n_channels: int) -> Outsiders | None:
        """Choose the outsiders for a number of rows and channels; None if no dimension is left for them."""
        columns = []
        places = []
        if n_rows == 1 < n_channels and design.rows == "same mean":
            raw, named = bumps(n_channels, WIDTHS, is_thin=len(WIDTHS) * n_channels > _MOST_COLUMNS)
            seen = design.whitened(raw)
            sizes = np.linalg.norm(seen, axis=0)
            left = np.flatnonzero(sizes > RANK_TOLERANCE * sizes.max())  # not channels without noise
            columns.append(seen[:, left])
            places += [named[i] for i in left.tolist()]
        if self.elements == "rest":
            first = np.unique(np.array(design.names), return_index=True)[1] if design.names else np.empty(0, dtype=int)
            chosen = np.sort(first)[:_MOST_COLUMNS]
            columns.append(design.columns[:, chosen])
            places += [f"element {design.names[i]}" for i in chosen.tolist()]
        kept: Field = np.hstack(columns) if columns else np.empty((0, 0))
        has_spectrum = n_rows >= 3
        if not kept.size and not has_spectrum:
            return None
        is_white = design.covariance_freedom is None  # errors of an estimate would be seen
        lags = white_lags(n_rows, len(design.columns), design.rows == "same mean") if is_white else ()
        return Outsiders(kept if kept.size else None, tuple(places), lags, spectrum=has_spectrum, share=self.share)
