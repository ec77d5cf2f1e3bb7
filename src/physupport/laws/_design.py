"""Rows that are linear in coefficients that nobody knows: what judges of composite explanations need of a law.

Exact tests of a stated noise level hold whatever explanation is true; others test the strengths of explanations.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike

from .._checks import SYMMETRY_TOLERANCE, check_array, check_columns
from .._codec import real
from .._errors import MisuseError
from .._typing import Array, BoolArray, Field, IntArray
from ..banks import Bank
from ..io import Axis, ReaderOutput, RowSource, as_complex, as_pairs, as_reader_output, in_order
from ..responses import Family, Ranges
from . import streams
from ._noise_shape import RANK_TOLERANCE as RANK_TOLERANCE, NoiseShape
from ._stream import MappedRows

if TYPE_CHECKING:
    from ._law import Law


@final
@dataclass(frozen=True, slots=True, eq=False)
class Design:
    r"""Explanations :math:`z = N_e\theta + \sigma\varepsilon` with white noise, by the keys of a law.

    Key k stands for row k // s of the supports and for noise setting k % s, s of them.  Columns are those of whitened
    rows.  An active coefficient lies between low and high of its column and has at least the absolute value least, or
    one of those together with it has.
    """

    columns: Field  # (p, E) that may be active
    names: tuple[str, ...]  # (E,)
    supports: IntArray  # (K, r) active columns, padded with -1
    background: Field  # (p, b) always there
    rows: str  # "same mean", or "free": every row has coefficients of its own
    deviations: tuple[float | None, ...]  # (s,) sigma, of complex noise E|eps|^2 = 1; None where it is not known
    whitener: Field | None  # (p, q), by which measured rows are multiplied; None leaves them as they are
    low: Array  # (E,)
    high: Array  # (E,)
    least: Array  # (E,)
    cells: tuple[IntArray, Array] | None = None  # (E,) of which a column is a derivative, and its half step, else inf
    exposure: Array | None = None  # (T,) of every row of counts; the same for all unless given
    covariance_freedom: int | None = None  # degrees of freedom of the covariance that the whitener was estimated from
    is_cone: bool = False  # active coefficients are not negative, which evidence holds them to
    radii: Array | None = None  # (E,) how far a column may be off, as a vector of this length
    band: tuple[Array, Array] | None = None  # (p, E) the least and the largest value of each entry of the columns
    between: tuple[Array, Array] | None = None  # (p, E) likewise at an error of 0, where that is a band
    recorded: IntArray | None = None  # (p, C) counts, of which the first C columns are estimates
    error: float = 0.0  # of the responses, on the scale along which they may be `widened`
    error_scale: str = ""  # its unit: "peak" or "value" of a response, "angle", "noise", or "stated"
    error_size: Array | None = None  # (E,) radii or (p, E) half widths for an error of 1; None if there is no scale
    n_generic: int = 0  # the last columns of those that may be active, which stand for something unlisted
    is_random: bool = False  # of free rows, whether coefficients are Gaussian about 0, with one covariance that is open
    noise_shape: NoiseShape | None = None  # the family of covariances that the noise may have; None: it is white
    together: IntArray | None = None  # (E,) numbers: of active columns with the same one reaches its least; else each
    bands: int = 1  # equal blocks of channels, each with coefficients and a noise of its own
    family: Family | None = None  # of the columns, whose parameters may lie anywhere in its box
    ranges: Ranges | None = None  # of the elements, anywhere in cells; columns are those of their middles

    @property
    def is_bounded(self) -> bool:
        """True if a coefficient has an end, or a least absolute value."""
        return bool((np.isfinite(self.low) | np.isfinite(self.high) | (self.least > 0.0)).any())

    @property
    def active(self) -> tuple[tuple[int, ...], ...]:
        """The active columns of each row of the supports."""
        return tuple(tuple(row[row >= 0].tolist()) for row in self.supports)

    def widened(self, error: float) -> "Design":
        """The design for responses that are right to within another error; requires an error scale."""
        assert self.error_size is not None
        if self.error_scale == "noise":
            return replace(self, error=error, noise_shape=NoiseShape("any", ratio=error))
        size = error * self.error_size
        if self.error_scale == "angle":
            return replace(self, error=error, radii=size)
        return replace(self, error=error, band=response_band(self.columns, size, self.between))

    def moved(
        self, columns: Field, active: IntArray | None, supports: IntArray, radii: Array | None = None
    ) -> "Design":
        """The design of explanations with other columns (q, k), as measured, which may be off by radii (k,).

        active: (k,) columns of this design whose bounds they have; None where they stand for others together.
        """
        count = columns.shape[1]
        open_ends = np.full(count, np.inf)
        longest = 1.0 if self.whitener is None else float(np.linalg.norm(self.whitener, 2)) * (1.0 + 1e-12)
        return replace(
            self,
            columns=self.whitened(columns),
            names=("",) * count,
            supports=supports,
            low=-open_ends if active is None else self.low[active],
            high=open_ends if active is None else self.high[active],
            least=np.zeros(count) if active is None else self.least[active],
            together=None if active is None or self.together is None else self.together[active],
            radii=None if radii is None else longest * radii,
            error_size=None,
            ranges=None,
        )

    def of_bands(self) -> "tuple[Design, ...]":
        """The designs of the blocks of channels; a width keeps its angle within each."""
        sizes = np.linalg.norm(self.columns, axis=0)
        blocks = zip(np.split(self.columns, self.bands), np.split(self.background, self.bands), strict=True)
        return tuple(
            replace(
                self,
                columns=columns,
                background=background,
                radii=_share(self.radii, columns, sizes),
                error_size=self.error_size if self.error_scale == "noise" else _share(self.error_size, columns, sizes),
                bands=1,
            )
            for columns, background in blocks
        )

    def whitened(self, columns: Field) -> Field:
        """Columns (q, k), or rows as columns, as the whitened channels see them."""
        return columns if self.whitener is None else np.asarray(self.whitener @ columns)

    def whitened_rows(self, rows: RowSource, is_complex: bool) -> Field:
        """(T, p) all rows, as numbers of the instrument."""
        table = np.concatenate([*rows.blocks()]).T
        return np.asarray(self.whitened(as_complex(table) if is_complex else table).T)


def _share(radii: Array | None, columns: Field, sizes: Array) -> Array | None:
    """(E,) radii of whole columns of these sizes, of parts of these columns (p, E)."""
    return None if radii is None else radii * np.linalg.norm(columns, axis=0) / np.maximum(sizes, 1e-300)


def with_variants(columns: Field, supports: IntArray, variants: Sequence[Field]) -> tuple[Field, IntArray]:
    """Columns (q, E) followed by all their variants, (q, E) each; the variants of an active column are active, too."""
    count = columns.shape[1]
    of_variants = [np.where(supports >= 0, supports + count * v, -1) for v in range(1, len(variants) + 1)]
    return np.hstack([columns, *variants]), np.hstack([supports, *of_variants])


def tangent_cells(half_steps: Array, count: int) -> tuple[IntArray, Array]:
    r"""Owners and half steps of columns (count) and then all their derivatives (V times count).

    With :math:`a(p + \delta) = a(p) + \delta a'(p)` to first order, the coefficient of the derivative is
    :math:`\tau = \delta\theta`: where :math:`|\tau| \le h|\theta|`, the parameter lies within h of its value.
    """
    size = (1 + len(half_steps)) * count
    return np.arange(size) % count, np.repeat(np.append(np.inf, half_steps), count)


def unit_radii(columns: Field, whitener: Field | None) -> Array:
    """(E,) radii of the balls around responses at an error of 1; whitening stretches a ball by at most its norm."""
    longest = 1.0 if whitener is None else float(np.linalg.norm(whitener, 2))
    return np.asarray(longest * np.linalg.norm(columns, axis=0) * (1.0 + 1e-12))


def response_band(columns: Array, half: ArrayLike, between: tuple[Array, Array] | None = None) -> tuple[Array, Array]:
    """(p, E) each, the ends of bands of these half widths around columns (p, E), rounded outwards, at least 0.

    between: the ends at half widths of 0; the columns themselves unless given.
    """
    least, most = (columns, columns) if between is None else between
    is_open = np.broadcast_to(np.asarray(half) > 0.0, columns.shape)
    wide = np.nextafter(half, np.inf)
    low = np.nextafter(least - wide, -np.inf)
    high = np.nextafter(most + wide, np.inf)
    return np.where(is_open, np.maximum(low, 0.0), least), np.where(is_open, high, most)


def generic_interval(places: ArrayLike | None, first: int, last: int) -> tuple[float, float]:
    """The interval that generic responses of these numbers, both included, stand for; places (2, G) of each, if any."""
    if places is None:
        return float(first), float(last)
    low, high = np.asarray(places)[:, first : last + 1]
    return float(low.min()), float(high.max())


def by_element(bank: Bank, values: Mapping[str, float], otherwise: float) -> Array:
    """(E,) what is said of the region of each element of the states; shared columns have none."""
    library = bank.states.library
    if library is None or not values:
        return np.full(bank.states.elements.shape[1], otherwise)
    by_library = np.array([*(values.get(region, otherwise) for region in library.regions), otherwise])
    return np.asarray(by_library[bank.states.library_index])


def check_variants(variants: ArrayLike | None, n_channels: int, n_columns: int) -> Array | None:
    """(V, q, E) further responses of every column, where there are some."""
    return None if variants is None else check_array("variants", variants, (None, n_channels, n_columns))


# Noise of a known covariance: rows and columns are multiplied so that it becomes white.


# Of the largest eigenvalue of a covariance; smaller ones are 0.
_NO_NOISE = 1e-10


def whitened_rows(rows: RowSource, whitener: Field, is_complex: bool) -> RowSource:
    """Rows (n, q) times a whitener (p, q); those of a complex one are pairs (Re, Im)."""

    def whitened(block: Array) -> Array:
        if is_complex:
            return as_pairs((whitener @ as_complex(block.T)).T)
        return np.asarray(block @ whitener.T, dtype=np.float64)

    return MappedRows(rows, len(whitener) * (2 if is_complex else 1), whitened)


def native_covariance(covariance: ArrayLike, is_complex: bool) -> Field:
    """(q,) variances of channels, or (q, q), which is given as pairs of rows if complex."""
    stored = np.asarray(covariance, dtype=np.float64)
    return as_complex(stored) if is_complex and stored.ndim == 2 else stored


def whitener_of(covariance: Field) -> Field:
    """(p, q) of variances (q,), which keep channels in their places, or of a matrix (q, q)."""
    if covariance.ndim != 1:
        return whitening(covariance)
    variances = check_array("covariance", covariance, (None,))
    if not variances.min() > 0.0:
        raise MisuseError("covariance", "have variances above 0", variances.min())
    return np.diag(1.0 / np.sqrt(variances))


def check_covariance(covariance: Field, q: int) -> None:
    """Refuse one of another number of channels."""
    if covariance.shape not in ((q,), (q, q)):
        raise MisuseError("covariance", f"have shape {(q, q)}, or {(q,)}", covariance.shape)


def check_rank(whitener: Field, n_columns: int) -> None:
    """Refuse a covariance of low rank, which leaves nothing of the columns of an explanation with its background."""
    q = whitener.shape[1]
    if len(whitener) <= min(n_columns, q - 1):
        rule = f"have a rank above {n_columns}, the columns of an explanation and its background"
        remedy = "Directions without noise are left out: estimate it from more rows, or give variances of channels."
        raise MisuseError("covariance", rule, f"rank {len(whitener)} of {q} channels", remedy)


def whitening(covariance: ArrayLike) -> Field:
    """(p, q) such that rows of this noise covariance (q, q), multiplied by it, have white noise of variance 1.

    Directions without noise up to rounding (an average reference has one) are dropped, p < q: nothing about
    them is tested.  A covariance with a negative eigenvalue beyond it is refused.
    """
    matrix = np.asarray(covariance)
    check_columns("covariance", matrix, len(matrix))
    asymmetry = np.abs(matrix - matrix.conj().T).max() if matrix.shape[0] == matrix.shape[1] else np.inf
    if asymmetry > SYMMETRY_TOLERANCE * np.abs(matrix).max():
        raise MisuseError("covariance", "be square and equal to its conjugate transpose", f"shape {matrix.shape}")
    values, vectors = np.linalg.eigh(matrix)
    if values[0] < -_NO_NOISE * values[-1]:
        raise MisuseError("covariance", "have no negative eigenvalue", f"{values[0]:.3g}", "Estimate it again.")
    kept = values > _NO_NOISE * values[-1]
    if not kept.any():
        raise MisuseError("covariance", "have an eigenvalue above 0", "0", "Estimate it again, or leave it out.")
    if kept.all():
        # The symmetric root: channels stay in their order, and neighbours neighbours, as far as noise allows it.
        return np.asarray((vectors / np.sqrt(values)) @ vectors.conj().T)
    return np.asarray((vectors[:, kept] / np.sqrt(values[kept])).conj().T)


def decoded_covariance(node: object) -> Array:
    """Variances of channels, or a matrix."""
    match node:
        case {"shape": [_]}:
            return real(node, None)
    return real(node, None, None)


# Options of laws that run over channels or elements: names along their axes are matched to those of the bank.


# What each axis of an option runs over, by the names that an option may have.
_AXES: Final = {
    "background": ("channels", "columns"),
    "covariance": ("channels", "channels"),
    "variants": ("variants", "channels", "elements"),
}
_HELD: Final = "_named_options"


def keep_names(law: object) -> None:
    """Remember the names along the axes of options, before these become plain arrays; they are used once, by a bank."""
    given = {option: getattr(law, option, None) for option in _AXES}
    held = {option: as_reader_output(option, value) for option, value in given.items() if value is not None}
    named = {option: each for option, each in held.items() if any(each.headings)}
    for option, each in named.items():
        object.__setattr__(law, option, each.values)
    if named:
        object.__setattr__(law, _HELD, named)


def _named(law: object) -> Mapping[str, ReaderOutput]:
    named: Mapping[str, ReaderOutput] = getattr(law, _HELD, {})
    return named


def option_channels(law: object) -> dict[str, tuple[str, ...] | None]:
    """The names of the channels of each option that has some."""
    return {option: each.headings[_AXES[option].index("channels")] for option, each in _named(law).items()}


def options_in_order(law: object, bank: Bank) -> dict[str, Any]:
    """Options with channels and elements as the bank has them, where both name them."""
    library = bank.states.library
    known = {"channels": bank.channels, "elements": None if library is None else library.ids}
    return {
        option: in_order(option, held, [Axis(what, known.get(what), "the library") for what in _AXES[option]])
        for option, held in _named(law).items()
    }


_EPS = float(np.finfo(np.float64).eps)
# Ratios beyond this are not told: JSON has no infinities.
_MOST_RATIO = 1e300
SCATTER = "the scatter of the rows"
BESIDE = "what no element can explain"


class NoiseSeen(NamedTuple):
    """Where rows show their noise alone, and what that says of every noise setting (s,)."""

    place: str
    p: tuple[float, ...]  # two-sided, exact
    ratio: tuple[float, ...]  # energy over that of the noise that is stated


@final
@dataclass(frozen=True, slots=True, eq=False)
class NoiseLook:
    r"""The coordinates of T rows that hold only noise, for any coefficients.

    Of rows with a common mean :math:`\sum_t|z_t - \bar z|^2 \sim \sigma^2\chi^2` with p (T - 1) degrees of freedom.  Of
    a single row, or of rows with coefficients of their own, :math:`\sum_t|K^Hz_t|^2` with those of K, a basis of all
    that neither an element nor the background reaches.  Complex rows have two real coordinates for each.

    Beside noise at most `reach` of the length of the rows lies in K, where coefficients of unit columns are together
    no longer than the rows.  Huge ones that cancel, of columns that are dependent to 1e-8, leave more of them there: a
    noise that is right may then be refuted, which withholds labels and makes none.
    """

    freedom: int
    parts: int  # real coordinates of a number: 2 if complex
    complement: Field | None  # (p, k) K; None of rows with a common mean
    reach: float  # how far rounding, or a column taken for dependent, may have turned K

    @classmethod
    def of(cls, design: Design, n_rows: int) -> "NoiseLook | None":
        """None where no noise is stated, where its covariance comes from rows itself, or where nothing is left."""
        if design.covariance_freedom is not None or None in design.deviations:
            return None
        parts = 2 if np.iscomplexobj(design.columns) else 1
        size = len(design.columns)
        if design.rows == "same mean" and n_rows > 1:
            return cls(parts * size * (n_rows - 1), parts, None, 0.0)
        if design.radii is not None:  # the response itself may lie beside its column
            return None
        columns = np.hstack([design.columns, design.background])
        sizes = np.linalg.norm(columns, axis=0)
        left, values, _ = np.linalg.svd(columns[:, sizes > 0.0] / sizes[sizes > 0.0])
        rank = int((values > RANK_TOLERANCE).sum())
        least = float(values[rank - 1]) if rank else 1.0
        reach = RANK_TOLERANCE * bool(rank < len(values)) + 8.0 * size * _EPS * np.sqrt(columns.shape[1]) / least
        return cls(parts * (size - rank) * n_rows, parts, left[:, rank:], reach) if rank < size else None

    @property
    def place(self) -> str:
        """The name of what is looked at."""
        return SCATTER if self.complement is None else BESIDE

    def energies(self, rows: Field) -> tuple[Array, Array]:
        """(S,) energies of noise alone in signals (S, T, p), and how long a part of each may be rounding."""
        whole = np.linalg.norm(rows.reshape(len(rows), -1), axis=1)
        unit = 8.0 * _EPS * (rows.shape[1] + rows.shape[2] + 8)
        left = rows - rows.mean(axis=1, keepdims=True) if self.complement is None else rows @ self.complement.conj()
        return np.asarray((np.abs(left) ** 2).sum(axis=(1, 2))), np.asarray((unit + self.reach) * whole)

    def p_values(self, rows: Field, deviation: float) -> Array:
        """(S,) two-sided, of signals (S, T, p) with noise of this deviation, that of a whole entry if it is complex."""
        energy, rounding = self.energies(rows)
        return streams.two_sided(energy, self.freedom, deviation**2 / self.parts, rounding)

    def seen(self, rows: Field, deviations: tuple[float, ...]) -> NoiseSeen:
        """Test every noise setting on rows (T, p)."""
        energy = float(self.energies(rows[None])[0][0])
        p = tuple(float(self.p_values(rows[None], sigma)[0]) for sigma in deviations)
        return NoiseSeen(self.place, p, tuple(noise_ratio(energy, self.freedom, s**2 / self.parts) for s in deviations))


def agreement(p: float, ratio: float) -> tuple[float, float]:
    """Larger the less a noise is refuted: by its p-value, and where that is 0, by how near the ratio is to 1."""
    return p, -abs(float(np.log(max(ratio, 1.0 / _MOST_RATIO))))


def noise_ratio(energy: float, freedom: int, variance: float) -> float:
    """How many times the variance that is stated an energy with so many degrees of freedom is."""
    with np.errstate(over="ignore"):
        return float(np.minimum(np.float64(energy) / freedom / variance, _MOST_RATIO))


# What rows say of strengths that explanations have.


class Strength(NamedTuple):
    """The test of the strengths of one explanation: a p-value of all its atoms, and how the worst is off."""

    p: float
    is_weaker: bool = False  # the rows are weaker than the explanation says

    @classmethod
    def of(cls, p_values: Array, is_weaker: BoolArray) -> "Strength":
        """Combine p-values of atoms (r,): the smallest times their number, at most 1, valid whatever they share."""
        if not len(p_values):
            return cls(1.0)
        worst = int(np.argmin(p_values))
        return cls(float(min(1.0, len(p_values) * p_values[worst])), bool(is_weaker[worst]))


# From an explanation to what the rows say of its strengths.
StrengthsSeen = Callable[[int], Strength]


def tells_strengths(laws: "Sequence[Law]") -> bool:
    """True if any deployment law uses the strengths of the bank."""
    return any(law.part == "deployment" and law.has_strengths for law in laws)
