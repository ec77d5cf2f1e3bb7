r"""One stream for all laws of rows in white noise: they differ only in the residuals that they leave.

With codes c_i and a dictionary D the residual sum of squares after t rows is
:math:`\sum_i\|y_i - Dc_i\|^2 = E_t - 2\langle\Delta, G_t\rangle + \langle\Delta^\top\Delta, H_t\rangle`,
:math:`\Delta = D - B`, where :math:`E_t`, :math:`G_t = \sum_i(y_i - Bc_i)c_i^\top` belong to a reference B and
:math:`H_t = \sum_ic_ic_i^\top`.  B is the least-squares dictionary, rounded: then :math:`G_t` is small and nothing
cancels, however strong the signal is.  Any B gives the same real number.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Generic, Protocol, TypeVar, final

import numpy as np
from flint import arb, arb_mat, ctx, fmpq
from numpy.typing import ArrayLike

from ..._checks import check_array, check_indices
from ..._compiled import cached_njit
from ..._errors import MisuseError
from ..._typing import Array, IntArray
from ...banks import Bank, States, array_bank
from ...io import RowSource, atom_table, doubled
from .._stream import MappedRows, Scores, check_checkpoints
from ._sums import (
    LOG_TWO_PI,
    LOG_TWO_PI_ERROR,
    ExactMoments,
    Moments,
    add,
    ball,
    div,
    dot,
    exact_moments,
    exact_residual,
    log,
    mul,
    prefix_moments,
    rational,
    settle,
    sub,
    white_noise_enclosure,
)
from ._threads import in_pieces

_BITS = 320

# Values and errors; a reference dictionary with the energy, cross products and Gram matrices about it.
Balls = tuple[Array, Array]
Known = tuple[Array, Balls, Balls, Balls]


@final
@dataclass(frozen=True, slots=True, eq=False)
class ResidualMoments:
    """Prefix statistics about a reference dictionary, each with its error; dictionaries are rows here, (n, q)."""

    reference: Array  # (n, q)
    counts: Array  # (c,), entries seen so far: t q
    energy: Balls  # (c,)
    cross: Balls  # (c, n, q)
    gram: Balls  # (c, n, n)

    @property
    def known(self) -> Known:
        """As the kernels take them."""
        return self.reference, self.energy, self.cross, self.gram


def code_products(rows: Array, codes: Array | None = None) -> list[tuple[Array, Array]]:
    """The pairs for residual sums: energy, rows with codes, codes with codes; one code is always 1 unless given."""
    entries = rows.reshape(-1, 1)
    codes = np.ones((len(rows), 1)) if codes is None else codes
    return [(entries, entries), (codes, rows), (codes, codes)]


def residual_moments(sources: Sequence[RowSource], checkpoints: IntArray) -> ResidualMoments:
    """Statistics of rows, or of rows and codes, about the least-squares fit of all rows up to the last checkpoint."""
    energy, cross, gram = prefix_moments(sources, checkpoints, code_products)
    with np.errstate(all="ignore"):
        reference = np.linalg.pinv(gram.rounded()[0][-1], hermitian=True) @ cross.rounded()[0][-1]
    # Only accuracy hangs on the reference: one that overflowed is replaced.
    reference = np.where(np.isfinite(reference).all(), reference, np.zeros_like(reference))
    return ResidualMoments(
        reference,
        (checkpoints * sources[0].width).astype(np.float64),
        *_about(reference, energy, cross, gram),
        gram.rounded(),
    )


def _about(reference: Array, energy: Moments, cross: Moments, gram: Moments) -> tuple[Balls, Balls]:
    """Energy and cross products of the residuals about the reference."""
    c, n, q = cross.high.shape
    energies = np.empty((2, c))
    crosses = np.empty((2, c, n, q))
    with ctx.workprec(_BITS):
        b = arb_mat(n, q, reference.ravel().tolist())
        for t in range(c):
            moved = gram.enclosure(t) * b  # (n, q)
            enclosed = cross.enclosure(t)
            rest = enclosed - moved
            # E - 2 <B, X> + <B, H B> = E - <B, X> - <B, X - H B>.
            total = energy.enclosure(t)[0, 0] - _inner(b, enclosed) - _inner(b, rest)
            energies[:, t] = ball(total)
            crosses[:, t] = np.array([ball(x) for x in rest.entries()]).T.reshape(2, n, q)
    return (energies[0], energies[1]), (crosses[0], crosses[1])


def _inner(a: arb_mat, b: arb_mat) -> arb:
    return sum((x * y for x, y in zip(a.entries(), b.entries(), strict=True)), arb(0))


@cached_njit()
def residual_sums(delta: Array, e_delta: Array, known: Known, sums: Array, e_sums: Array) -> None:
    """Residual sums of squares at every checkpoint; delta: (n, q) difference from the reference.  Fills (c,), (c,)."""
    _, energy, cross, gram = known
    n = len(delta)
    square = np.empty(n * n)
    e_square = np.empty(n * n)
    for i in range(n):
        for j in range(i + 1):
            v, e = dot(delta[i], e_delta[i], delta[j], e_delta[j])
            square[i * n + j] = square[j * n + i] = v
            e_square[i * n + j] = e_square[j * n + i] = e
    for t in range(len(sums)):
        x = 0.0
        ex = 0.0
        for i in range(n):
            v, e = dot(delta[i], e_delta[i], cross[0][t, i], cross[1][t, i])
            x, ex = add(x, ex, v, e)
        v, e = sub(energy[0][t], energy[1][t], 2.0 * x, 2.0 * ex)
        x, ex = dot(square, e_square, gram[0][t].ravel(), gram[1][t].ravel())
        sums[t], e_sums[t] = add(v, e, x, ex)


@cached_njit(inline="always")
def log_constant(count: float, noise: float) -> tuple[float, float]:
    """Half of count times log(2 pi noise), count exact."""
    v, e = log(noise, 0.0)
    v, e = add(v, e, LOG_TWO_PI, LOG_TWO_PI_ERROR)
    return mul(0.5 * count, 0.0, v, e)


@cached_njit(nogil=True)
def white_noise_scores(
    sums: Array, e_sums: Array, which: IntArray, noises: Array, counts: Array, values: Array, errors: Array
) -> None:
    """Log likelihoods -count/2 log(2 pi noise) - sum/(2 noise) of k keys from m residual sums.

    sums: (m, c).  which: (k,) row of the sums.  noises: (k,).  counts: (c,).  Fills values and errors (k, c).
    """
    for k in range(len(which)):
        for t in range(len(counts)):
            v, e = log_constant(counts[t], noises[k])
            x, ex = div(sums[which[k], t], e_sums[which[k], t], 2.0 * noises[k], 0.0)
            v, e = add(v, e, x, ex)
            values[k, t], errors[k, t] = settle(-v, e)


def check_noises(noises: object, is_complex: bool, count: int | None = None) -> Array:
    """Positive variances, (m,), of each entry of a row: half of the complex variance for pairs."""
    array = check_array("noises", np.atleast_1d(np.asarray(noises)), (count,))
    if not array.size or array.min() <= 0.0:
        raise MisuseError("noises", "be positive variances, at least one", array.tolist())
    return array / 2.0 if is_complex else array


def check_width(rows: RowSource, width: int) -> None:
    """Rows as wide as the atoms."""
    if rows.width != width:
        raise MisuseError("rows", f"have {width} entries, as the atoms have", f"{rows.width} entries")


# Fills sums and errors (m, c) for the problems of a slice.
Fill = Callable[[slice, Array, Array], None]


# Residual sums of squares (m, c) with their errors, which of them belong to the keys (k,), and the variances (k,) of
# entries of a row.
Sums = tuple[Array, Array, IntArray, Array]


class Residuals(Protocol):
    """The residuals that a key leaves of the rows."""

    @property
    def is_density(self) -> bool:
        """True if a key is one density; else it is a supremum of several."""

    @property
    def n_keys(self) -> int:
        """Keys are 0 .. n_keys - 1."""

    def sums(self, keys: IntArray, moments: ResidualMoments) -> Sums:
        """Residual sums of squares for every key."""

    def exact(self, key: int, moments: ResidualMoments, exact: ExactMoments) -> tuple[list[fmpq], float]:
        """Those of one key as rational numbers, one a checkpoint, and its noise variance."""


R = TypeVar("R", bound=Residuals)


@final
@dataclass(frozen=True, eq=False)  # no slots: the exact moments are worked out when first asked for
class WhiteNoiseStream(Generic[R]):
    r"""Rows whose residuals r are white noise, with one residual sum of squares a key.

    :math:`\log L_t = -\tfrac{tq}2\log(2\pi\nu) - \tfrac1{2\nu}\sum_{i\le t}\|r_i\|^2`.
    """

    sources: tuple[RowSource, ...]  # the rows, and their codes if these are known
    checkpoints: IntArray
    residuals: R
    moments: ResidualMoments

    @property
    def is_density(self) -> bool:
        """True if every key is a density."""
        return self.residuals.is_density

    @property
    def n_keys(self) -> int:
        """The keys of the law."""
        return self.residuals.n_keys

    def log_likelihood(self, keys: IntArray) -> Scores:
        """Prefix log likelihoods; the cost of a key does not depend on the number of rows."""
        keys = check_indices("keys", keys, self.n_keys)
        counts = self.moments.counts
        sums, e_sums, which, noises = self.residuals.sums(keys, self.moments)
        values, errors = np.empty((2, len(which), len(counts)))

        def score(part: slice) -> None:
            white_noise_scores(sums, e_sums, which[part], noises[part], counts, values[part], errors[part])

        in_pieces(len(which), score, least=1024)
        return Scores(values, errors)

    def enclosure(self, key: int, bits: int) -> list[arb]:
        """Prefix log likelihoods of one key as balls."""
        keys = check_indices("keys", [key], self.n_keys)
        sums, noise = self.residuals.exact(int(keys[0]), self.moments, self._exact)
        counts = (self.checkpoints * self.sources[0].width).tolist()
        return [white_noise_enclosure(x, noise, n, bits) for x, n in zip(sums, counts, strict=True)]

    @cached_property
    def _exact(self) -> ExactMoments:
        return exact_moments(self.sources, self.checkpoints, code_products)


def white_noise_stream(
    sources: tuple[RowSource, ...], residuals: R, width: int, checkpoints: ArrayLike
) -> WhiteNoiseStream[R]:
    """Check rows and checkpoints, and read the data once."""
    check_width(sources[0], width)
    points = check_checkpoints(checkpoints, sources[0].n_rows)
    return WhiteNoiseStream(sources, points, residuals, residual_moments(sources, points))


def filled(count: int, moments: ResidualMoments, least: int, fill: Fill) -> tuple[Array, Array]:
    """Residual sums and errors (count, c), filled by threads.  least: problems worth a piece of their own."""
    sums, e_sums = np.empty((2, count, len(moments.counts)))
    in_pieces(count, lambda part: fill(part, sums[part], e_sums[part]), least=least)
    return sums, e_sums


# Rows about one mean in white noise, by the keys of a bank or about a single point off it.


@final
@dataclass(frozen=True, slots=True, eq=False)
class MeanResiduals:
    r""":math:`z_i - \sum_jx_ja_j`; keys are the deployment keys of the bank."""

    is_density: ClassVar[bool] = True

    bank: Bank
    noises: Array  # (m,), one for each deployment nuisance
    table: Array  # (E, q)

    @property
    def n_keys(self) -> int:
        """The deployment keys of the bank."""
        return self.bank.n_deployment_keys

    def sums(self, keys: IntArray, moments: ResidualMoments) -> Sums:
        """One for each key."""
        parts = self.bank.deployment_parts(keys)

        def fill(part: slice, sums: Array, e_sums: Array) -> None:
            elements = parts.elements[part]
            coefficients = parts.strengths[part]
            _mean_residuals(elements, coefficients, self.table, moments.known, sums, e_sums)

        return *filled(len(keys), moments, 64, fill), np.arange(len(keys)), self.noises[parts.nuisance]

    def exact(self, key: int, moments: ResidualMoments, exact: ExactMoments) -> tuple[list[fmpq], float]:  # noqa: ARG002
        """The residual sums of squares as rational numbers."""
        parts = self.bank.deployment_parts(np.array([key]))
        active = parts.elements[0] >= 0
        mean = rational(parts.strengths[:, active]) * rational(self.table[parts.elements[0, active]])  # (1, q)
        return [exact_residual(mean, *sums) for sums in exact], float(self.noises[parts.nuisance[0]])


def mean_stream(
    bank: Bank, rows: RowSource, noises: ArrayLike, checkpoints: ArrayLike, *, is_complex: bool = False
) -> WhiteNoiseStream[MeanResiduals]:
    """The rows (N, q), read once and scored under every deployment key; strengths are coefficients."""
    table = atom_table(bank.states.elements, is_complex, has_phase=False)
    variances = check_noises(noises, is_complex, len(bank.deployment))
    return white_noise_stream((rows,), MeanResiduals(bank, variances, table), table.shape[1], checkpoints)


def point_stream(
    rows: RowSource, mean: ArrayLike, noise: float, checkpoints: ArrayLike
) -> WhiteNoiseStream[MeanResiduals]:
    """A stream with one key: rows scattered about one given mean, such as one fitted to proposal rows.

    rows: (N, q).  mean: (q,).  The usual numerator against explanations whose coefficients are profiled.
    """
    point = check_array("mean", mean, (rows.width,))
    length = float(np.linalg.norm(point))
    direction = point / length if length > 0.0 else np.eye(len(point))[0]
    # One atom along the mean; no active atom is the mean zero.
    bank = array_bank(direction[None, :, None], [(0,) if length > 0.0 else ()], strengths=length or 1.0)
    return mean_stream(bank, rows, [noise], checkpoints)


@cached_njit()
def mean_difference(
    elements: IntArray, coefficients: Array, table: Array, reference: Array, delta: Array, e_delta: Array
) -> None:
    """Balls of sum_j x_j a_j - reference, (1, q), over the elements (r,) before the padding."""
    for a in range(table.shape[1]):
        v = 0.0
        e = 0.0
        for j in range(len(elements)):
            if elements[j] < 0:
                break
            x, ex = mul(coefficients[j], 0.0, table[elements[j], a], 0.0)
            v, e = add(v, e, x, ex)
        delta[0, a], e_delta[0, a] = sub(v, e, reference[0, a], 0.0)


@cached_njit(nogil=True)
def _mean_residuals(
    elements: IntArray, coefficients: Array, table: Array, known: Known, sums: Array, e_sums: Array
) -> None:
    """Residual sums of squares of means; elements, coefficients: (k, r).  Fills (k, c), (k, c)."""
    q = table.shape[1]
    for k in range(len(elements)):
        delta = np.empty((1, q))
        e_delta = np.empty((1, q))
        mean_difference(elements[k], coefficients[k], table, known[0], delta, e_delta)
        residual_sums(delta, e_delta, known, sums[k], e_sums[k])


# Rows with observed codes in white noise, under dictionaries of a bank or under a single one off it.


def measured_and_codes(rows: RowSource, n_measured: int, norms: Array | None = None) -> tuple[RowSource, RowSource]:
    """The first columns of rows, and their codes, each times the norm of its atom where these are given."""
    factors = 1.0 if norms is None else norms
    measured = MappedRows(rows, n_measured, lambda block: np.ascontiguousarray(block[:, :n_measured]))
    width = rows.width - n_measured
    return measured, MappedRows(rows, width, lambda block: np.ascontiguousarray(block[:, n_measured:] * factors))


@final
@dataclass(frozen=True, slots=True, eq=False)
class DictionaryResiduals:
    r""":math:`y_i - Dc_i`; key = state * number of noise variances + noise variance."""

    is_density: ClassVar[bool] = True

    states: States
    noises: Array  # (m,)
    is_complex: bool
    table: Array  # (E, q) or, complex, (2 E, 2 q)

    @property
    def n_keys(self) -> int:
        """States times noise variances."""
        return self.states.n_states * len(self.noises)

    def sums(self, keys: IntArray, moments: ResidualMoments) -> Sums:
        """One for each distinct state."""
        state, nuisance = np.divmod(keys, len(self.noises))
        distinct, which = np.unique(state, return_inverse=True)
        atoms = self._atoms(distinct)

        def fill(part: slice, sums: Array, e_sums: Array) -> None:
            _dictionary_residuals(atoms[part], self.table, moments.known, sums, e_sums)

        return *filled(len(atoms), moments, 16, fill), which.ravel(), self.noises[nuisance]

    def exact(self, key: int, moments: ResidualMoments, exact: ExactMoments) -> tuple[list[fmpq], float]:  # noqa: ARG002
        """The residual sums of squares as rational numbers."""
        state, nuisance = divmod(key, len(self.noises))
        dictionary = rational(self.table[self._atoms(np.array([state]))[0]])
        return [exact_residual(dictionary, *sums) for sums in exact], float(self.noises[nuisance])

    def _atoms(self, states: IntArray) -> IntArray:
        atoms = np.ascontiguousarray(self.states.element_index(states))
        return doubled(atoms) if self.is_complex else atoms


def known_code_stream(
    rows: RowSource,
    codes: RowSource,
    states: States,
    noises: ArrayLike,
    checkpoints: ArrayLike,
    *,
    is_complex: bool = False,
) -> WhiteNoiseStream[DictionaryResiduals]:
    """The stream of rows with observed codes; key = state * number of noise variances + noise variance.

    rows: (N, q).  codes: (N, n).  If complex, rows, codes and elements hold pairs (Re, Im) and the noise is circular,
    of the given variance for each complex entry.  The data are read once here.
    """
    table = atom_table(states.elements, is_complex, has_phase=True)
    n_codes = states.n_atoms * (2 if is_complex else 1)
    if codes.width != n_codes or codes.n_rows != rows.n_rows:
        rule = f"have {n_codes} entries for each of {rows.n_rows} rows"
        raise MisuseError("codes", rule, f"{codes.width} entries and {codes.n_rows} rows")
    residuals = DictionaryResiduals(states, check_noises(noises, is_complex), is_complex, table)
    return white_noise_stream((rows, codes), residuals, table.shape[1], checkpoints)


@cached_njit(nogil=True)
def _dictionary_residuals(atoms: IntArray, table: Array, known: Known, sums: Array, e_sums: Array) -> None:
    """Residual sums of squares of dictionaries; atoms: (k, n) rows of the table (E, q).  Fills (k, c), (k, c)."""
    reference = known[0]
    n, q = reference.shape
    for k in range(len(atoms)):
        delta = np.empty((n, q))
        e_delta = np.empty((n, q))
        for j in range(n):
            for a in range(q):
                delta[j, a], e_delta[j, a] = sub(table[atoms[k, j], a], 0.0, reference[j, a], 0.0)
        residual_sums(delta, e_delta, known, sums[k], e_sums[k])
