r"""Signals judged by rotations of their residuals with one table of critical values, or by evidence from one split row.

Evidence from one row of known noise: the row is split in two independent ones by noise that is added and taken off.

With g of the noise's own law, :math:`w_1 = w + tg` and :math:`w_2 = w - g/t` are independent.  The first proposes, the
second judges: :math:`E(e) = \sum_j \pi_j(w_1) N(w_2; P_j w_1, s^2) / \sup_\theta N(w_2; u_e\theta, s^2)` with
:math:`s^2 = \sigma^2(1 + t^{-2})` has mean at most 1 under e, whatever the weights, and so has its mean over several g.
Rows enter beside the background, whose coefficients they do not depend on.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from .._checks import check_count, check_positive
from .._codec import pieces_hash, rows_seed
from .._compiled import cached_njit
from .._errors import Clause, MisuseError
from .._typing import Array, BoolArray, Field, IntArray
from ..judges import Amounts, Interval, amounts_reason, sublevel, union
from ..judges.rotation import EPS, Draws, Rotation, RotationTable, leading_share
from ..laws import Design, NoiseLook
from ._judge import ERRORS, PIECE, BlockJudge, BlockVerdicts, LinearSignals, are_data, in_order, whitened
from ._kernels import Found, judge_signals, summaries, sums_over_runs
from ._nulls import FAILURE, GOOD_DRAWS, WANTED_OUTSIDERS, WANTED_RIVALS, Nulls, is_tabulated, tabulate


@final
@dataclass(frozen=True, slots=True, eq=False)
class RotatedSignals(LinearSignals):
    r"""Judge every signal by rotations of its residuals, assuming only that the noise is white.

    The statistics are those of the rotation judge; the level holds given the table of critical values.  An explanation
    e is rejected if :math:`D` is beyond the critical value at the last point of the grid below a, which is at least the
    one at a: what is rejected is rejected by the rotation judge with these draws.  What is kept in addition lies near
    the critical value, which is that of a somewhat smaller level (`certified`), or between two points of the grid, or
    at a smaller level was left to rivals alone, which rejected it at the largest.

    keys: (M,) the explanation of the table that each explanation of the question is; the same unless given.
    whitener: (p, q) by which signals are multiplied; None leaves them as they are.
    """

    spec: Rotation
    keys: IntArray | None = None
    whitener: Field | None = None

    def __post_init__(self) -> None:
        if not is_tabulated(self.spec):
            rule = "be of real rows, at most one atom, unknown noise, and coefficients with no bound but a sign"
            remedy = "MapProtocol.of asks about such signals one by one, as a report does."
            raise MisuseError("spec", rule, Clause("it is another"), remedy)

    @property
    def explained(self) -> tuple[RotationTable, IntArray | None, Field | None]:
        """Return the design with the table of the rotation test."""
        return self.spec.table, self.keys, self.whitener

    @property
    def places(self) -> tuple[str, ...]:
        """Names of the outsiders."""
        return () if self.spec.outsiders is None else self.spec.outsiders.places

    def encode(self) -> dict[str, object]:
        """The definition that decides every verdict, as JSON."""
        spec = self.spec
        outsiders = self.spec.outsiders
        columns = () if outsiders is None or outsiders.columns is None else (outsiders.columns,)
        looked_for = None if outsiders is None else [outsiders.share, [*outsiders.lags], pieces_hash(*columns)]
        return {
            "judge": "rotation",
            "assumes": "the noise of every signal is white and Gaussian, of unknown level unless given",
            "draws": [spec.seed, spec.draws, spec.gate_draws],
            "table": [FAILURE, WANTED_RIVALS, WANTED_OUTSIDERS, GOOD_DRAWS],
            "statistic": [spec.rows, spec.own_penalty, spec.sigma, repr(spec.companions)],
            "outsiders": looked_for,
            **self.encode_table(),
        }

    def block_judge(self, levels: Array, threads: int, repeats: int) -> BlockJudge:
        """The judge with one table of critical values."""
        return partial(self._judge, tabulate(self.spec, levels, threads, repeats))

    def _judge(self, nulls: Nulls, rows: Field) -> BlockVerdicts:
        """Judge signals (S, T, q); pieces of a block stay in the nearest cache."""
        (n, n_rows, _) = rows.shape
        white = whitened(rows, self.whitener)
        is_data = are_data(white)
        columns = np.ascontiguousarray(nulls.rivals.shapes.T)
        spectrum = np.zeros((2, n), dtype=np.uint8)
        best, beyond, misfit, outsider = np.empty((4, n), dtype=np.int64)
        codes = np.empty((n, self.spec.table.size), dtype=np.uint8)
        filled = Found(codes, best, beyond, misfit, np.empty(n), np.empty(n), outsider)
        for start in range(0, n, PIECE):
            part = slice(start, start + PIECE)
            clean = np.where(is_data[part, None, None], white[part].real, 0.0)
            self._fill(nulls, columns, clean, Found._make(each[part] for each in filled))
            spectrum[:, part] = _beyond_spectrum(nulls, clean)
        np.maximum(codes, spectrum[0, :, None], out=codes)
        freedom = nulls.background.shape[0] * n_rows - nulls.background.shape[1] - self.spec.table.ranks[best]
        found = BlockVerdicts(
            codes=codes,
            best=best,
            is_best_rejected=(beyond > 0) | (spectrum[0] > 0),
            amplitude=filled.amplitude / np.sqrt(n_rows),
            noise=filled.residual / np.sqrt(freedom),
            outsider=outsider,
            is_data=is_data,
            misfit=nulls.misfits[np.maximum(misfit, spectrum[1])],
        )
        return found.of_data(is_data).numbered(self.keys)

    def _fill(self, nulls: Nulls, columns: Array, rows: Array, filled: Found) -> None:
        (n, n_rows, q) = rows.shape
        gate = nulls.gate
        whole = np.empty((n, q))
        scatter = np.empty(n)
        squares = np.empty(n)
        summaries(rows, whole, scatter, squares)
        channels = whole - in_order(in_order(whole, nulls.background), nulls.background.T)
        runs = np.empty((n, len(gate.runs)))
        sums_over_runs(channels, gate.runs, gate.scales, runs)
        parts = np.concatenate([runs, in_order(channels, gate.columns)], axis=1)
        # What a product u.c may be off by, over |c|: sums, the background taken off before, and turned spans.
        beside = np.sqrt(in_order(channels**2, np.ones((q, 1)))[:, 0])
        terms = 16.0 * (q + 8) + 8.0 * (q + n_rows) * (np.sqrt(squares) + 1e-300) / (beside + 1e-300)
        units = EPS * terms + 8.0 * self.spec.table.errors.max()
        along = in_order(channels, columns)
        has_gate = self.spec.outsiders is not None
        judge_signals(channels, scatter, along, parts, units, nulls.rivals, gate, has_gate, filled)


def _beyond_spectrum(nulls: Nulls, rows: Array) -> NDArray[np.uint8]:
    """(2, S) at how many levels the leading eigenvalue of repeated rows rejects all, and at how many p-values."""
    limits = nulls.spectrum_limits, nulls.spectrum_misfits
    if np.isinf(limits[1]).all():
        return np.zeros((2, len(rows)), dtype=np.uint8)
    left = rows - rows.mean(axis=1, keepdims=True)
    off = 8.0 * EPS * (rows.shape[1] + 8) * np.sqrt((rows**2).sum(axis=(1, 2)))
    shares = [leading_share(each.T, float(rounding)) for each, rounding in zip(left, off, strict=True)]
    beyond = [(np.array(shares)[:, None] > each).sum(axis=1) for each in limits]
    return np.array(beyond, dtype=np.uint8)


# The purpose of its draws: no two share bits.
_FISSION = 3


@final
@dataclass(frozen=True, slots=True, eq=False)
class Fission(LinearSignals):
    """Have explanations of at most one atom judged by evidence from rows of known noise.

    sigma: standard deviation of the noise.  splits: how many g are averaged over; they come from the seed and from each
    signal as it is measured, since parts of signals that share a g are not independent given it.  There is no gate for
    what the table lacks, which is not seen.  keys, whitener: see `RotatedSignals`.  noise: share of the level at which
    labels of a signal are withheld because it refutes sigma (`NoiseLook`), told by design; None leaves that out.
    """

    are_e_values: ClassVar[bool] = True

    table: RotationTable
    sigma: float
    seed: int = 0
    splits: int = 8
    ratio: float = 1.0  # t
    keys: IntArray | None = None
    whitener: Field | None = None
    noise: float | None = None
    design: Design | None = None

    def __post_init__(self) -> None:
        if self.noise is not None and self.design is None:
            raise MisuseError("design", "be given where the noise is tested", Clause("it is not given"))
        check_positive("sigma", self.sigma)
        check_positive("ratio", self.ratio)
        check_count("splits", self.splits)
        if self.table.is_complex or int(self.table.ranks.max()) > 1:
            raise MisuseError("fission", "be of real rows and at most one atom", Clause("there is more"))

    @property
    def explained(self) -> tuple[RotationTable, IntArray | None, Field | None]:
        """Return the signals as they are given."""
        return self.table, self.keys, self.whitener

    @property
    def stated_error(self) -> float | None:
        """0: responses are exact; None without a design, which has the radii of responses with an error."""
        return None if self.design is None or self.design.error_size is None else 0.0

    def encode(self) -> dict[str, object]:
        """The definition that decides every verdict, as JSON."""
        assumes = "the noise of every signal is white and Gaussian, of the standard deviation given"
        fixed = {"sigma": self.sigma, "seed": self.seed, "splits": self.splits, "ratio": self.ratio}
        noise = {} if self.noise is None else {"noise": self.noise}
        return {"judge": "evidence by fission", "assumes": assumes, **fixed, **self.encode_table(), **noise}

    def block_judge(self, levels: Array, threads: int, repeats: int) -> BlockJudge:  # noqa: ARG002
        """The judge of many signals; repeated rows enter by their mean, and by their scatter to a test of the noise."""
        look = None if self.noise is None or self.design is None else NoiseLook.of(self.design, repeats)
        return partial(self._judge, levels, look)

    def _judge(self, levels: Array, look: NoiseLook | None, rows: Field) -> BlockVerdicts:
        """Judge signals (S, T, q): reject at level a where the evidence is at least 1/a."""
        white = whitened(rows, self.whitener)
        table = self.table
        bases = np.ascontiguousarray(table.bases[:, 0].T)  # (m, M)
        is_data = are_data(white)
        root = np.sqrt(rows.shape[1])
        vectors = in_order(np.where(is_data[:, None], root * white.real.mean(axis=1), 0.0), table.complement)
        along = in_order(vectors, bases)
        energy = (vectors**2).sum(axis=1)
        codes = np.empty(along.shape, dtype=np.uint8)
        best = np.empty(len(rows), dtype=np.int64)
        penalties = 0.5 * np.log(vectors.shape[1]) * table.ranks
        limits = -np.log(levels)
        sines = self._sines()
        kept_from = None if sines is None else np.full(along.shape, len(ERRORS), dtype=np.uint8)
        fits_from = np.full(len(rows), len(ERRORS))
        numerators = np.empty((PIECE, self.splits))
        for start in range(0, len(rows), PIECE):
            part = slice(start, start + PIECE)
            noise = np.concatenate([self.drawn(signal) for signal in rows[part]])
            drawn = in_order(noise, bases).reshape(-1, self.splits, len(penalties))
            judged = (codes[part], best[part], numerators)
            _judge(along[part], energy[part], drawn, self.sigma, self.ratio, penalties, limits, *judged)
            if sines is not None and kept_from is not None:
                splits = vectors[part, None] - noise.reshape(-1, self.splits, noise.shape[1]) / self.ratio
                second = along[part, None] - drawn / self.ratio
                cells = (second, (splits**2).sum(axis=2), energy[part], numerators[: len(second)])
                self._keep(sines, limits[0], cells, kept_from[part])
                kept_from[part][codes[part] == 0] = 0
                quantile = np.inf if look is None else self._quantile(levels[0], look, vectors.shape[1])
                fits_from[part] = _fits_from(sines, along[part], energy[part], kept_from[part], quantile)
        own = along[np.arange(len(rows)), best]
        freedom = vectors.shape[1] - table.ranks[best]
        misfit = np.full(len(rows), np.nan)  # where nothing tells of the noise that is stated
        if look is not None:
            misfit = look.p_values(np.where(is_data[:, None, None], white.real, 0.0), self.sigma)
        # The scatter of repeated rows is that of the noise whatever the error.
        tested = misfit, (self.noise or 0.0) * levels[0]
        is_scattered = (rows.shape[1] > 1) & (misfit <= tested[1])
        sizes = own / root, np.sqrt(np.maximum(energy - own**2, 0.0) / freedom)
        found = BlockVerdicts.of_evidence(codes, best, sizes, tested).of_data(is_data)
        if sines is not None:
            found = replace(found, kept_from=kept_from, fits_from=np.where(is_scattered, len(ERRORS), fits_from))
        return found.numbered(self.keys)

    def ranges(self, rows: Field, kept: BoolArray, level: float) -> list[Amounts]:
        r"""The coefficients that evidence leaves: held at :math:`\theta`, :math:`u_e\theta` has the same numerator.

        So :math:`\log E_k(\theta) = a_k + (\theta - u_e\cdot w_2)^2/2s^2` for every split k, with :math:`a_k` the log
        of the evidence against all of e.
        """
        reason = "judge" if self.design is None else amounts_reason(self.design, ())
        if reason or self.design is None:
            return [Amounts(reason=reason)] * len(rows)
        bases = np.ascontiguousarray(self.table.bases[:, 0].T)
        left = self.table.complement.T @ self.table.atoms
        penalties = 0.5 * np.log(len(bases)) * self.table.ranks
        narrow = 2.0 * self.sigma**2 * (1.0 + 1.0 / self.ratio**2)
        root = np.sqrt(rows.shape[1])
        vectors = in_order(root * whitened(rows, self.whitener).real.mean(axis=1), self.table.complement)
        found = []
        for signal, vector, own in zip(rows, vectors, kept, strict=True):
            drawn = self.drawn(signal) @ bases  # (K, M)
            along = vector @ bases
            numerators = [_log_numerator(along, each, self.sigma, self.ratio, penalties, np.empty((2, len(along))))
                          for each in drawn]  # fmt: skip
            intervals: dict[str, Interval | None] = {}
            for entry in np.unique(np.flatnonzero(own) if self.keys is None else self.keys[own]).tolist():
                for column in self.table.supports[entry]:
                    second = along[entry] - drawn[:, entry] / self.ratio
                    logs = np.array(numerators) - second**2 / narrow
                    slack = 1e-9 + 1e-12 * float(vector @ vector) / self.sigma**2
                    ends = _left(second, logs, narrow, slack - np.log(level))
                    slope = root * float(bases[:, entry] @ left[:, column])
                    interval = None if ends is None else (min(ends / slope), max(ends / slope))
                    name = self.table.names[column]
                    intervals[name] = union(intervals.get(name), interval)
            found.append(Amounts("coefficients", "", intervals))
        return found

    def _quantile(self, level: float, look: NoiseLook, freedom: int) -> float:
        """The largest squared distance of a row that its noise explains; any where the scatter of rows tells of it."""
        if look.complement is None or self.noise is None:
            return np.inf
        return float(self.sigma**2 * chi2.isf(self.noise * level, freedom))

    def _sines(self) -> Array | None:
        """(M,) radii of responses of an error of 1, over what the background leaves of them; None without a design."""
        if self.stated_error is None:
            return None
        assert self.design is not None
        assert self.design.error_size is not None
        sines = np.zeros(self.table.size)
        for number, active in enumerate(self.design.active):
            if active:
                own = self.table.complement.T @ self.design.columns[:, active[0]].real
                sines[number] = self.design.error_size[active[0]] / max(float(np.linalg.norm(own)), 1e-300)
        return sines

    def _keep(
        self, sines: Array, limit: float, cells: tuple[Array, Array, Array, Array], kept_from: NDArray[np.uint8]
    ) -> None:
        r"""Fill in the smallest of ERRORS at which explanations are kept, from the largest on.

        A row :math:`w_2` lies :math:`R\sqrt{1 - s^2} - s|u\cdot w_2|` from the responses within an error, R its
        residual and s the sine over what the background leaves.

        cells: products of :math:`w_2` and columns (S, K, M), its energy (S, K), that of the signal (S,), and the logs
        of numerators (S, K) over the density of :math:`w_2` under 0.
        """
        second, energy, whole, numerators = cells
        narrow = 2.0 * self.sigma**2 * (1.0 + 1.0 / self.ratio**2)
        residual = np.sqrt(np.maximum(energy[:, :, None] - second**2, 0.0))
        slack = 1e-9 + 1e-12 * (whole + energy.max(axis=1)) / self.sigma**2
        for number in range(len(ERRORS) - 1, 0, -1):
            sine = np.minimum(ERRORS[number] * sines, 1.0)
            distance = np.maximum(residual * np.sqrt(1.0 - sine**2) - sine * np.abs(second), 0.0)
            logs = numerators[:, :, None] - (energy[:, :, None] - distance**2) / narrow
            evidence = np.logaddexp.reduce(logs, axis=1) - np.log(self.splits) - slack[:, None]
            kept_from[evidence < limit] = number

    def drawn(self, signal: Field) -> Array:
        """(K, m) noise g that a signal (T, q), as it is measured, is split by."""
        size = self.table.complement.shape[1]
        return self.sigma * Draws(rows_seed(self.seed, signal), _FISSION).normal((self.splits, size))


def _left(second: Array, logs: Array, narrow: float, limit: float) -> Array | None:
    """The ends of the values v where the mean over splits of exp(logs + (second - v)^2 / narrow) is at most exp(limit).

    None if there are none.  The logarithm of that mean is convex in v.
    """

    def excess(value: float) -> float:
        return float(np.logaddexp.reduce(logs + (second - value) ** 2 / narrow) - np.log(len(logs)) - limit)

    interval = sublevel(excess, 0.0, float(second.mean()), float(np.sqrt(narrow)), -np.inf)
    return None if interval is None else np.array(interval)


def _fits_from(sines: Array, along: Array, energy: Array, kept_from: NDArray[np.uint8], quantile: float) -> IntArray:
    """(S,) the number of the smallest of ERRORS at which a kept explanation leaves no more than the noise would.

    along, energy: products with columns (S, M), and squares of signals (S,).
    """
    residual = np.sqrt(np.maximum(energy[:, None] - along**2, 0.0))
    found = np.full(len(along), len(ERRORS))
    for number in range(len(ERRORS) - 1, -1, -1):
        sine = np.minimum(ERRORS[number] * sines, 1.0)
        distance = np.maximum(residual * np.sqrt(1.0 - sine**2) - sine * np.abs(along), 0.0)
        found[((kept_from <= number) & (distance**2 <= quantile)).any(axis=1)] = number
    return found


@cached_njit(nogil=True)
def _log_numerator(along: Array, drawn: Array, sigma: float, t: float, penalties: Array, terms: Array) -> float:
    """Log of the mixture over w_2's density under 0; terms (2, M) is for scratch."""
    wide = 2.0 * sigma**2 * (1.0 + t * t)
    narrow = 2.0 * sigma**2 * (1.0 + 1.0 / (t * t))
    for j in range(len(along)):
        first = along[j] + t * drawn[j]
        second = along[j] - drawn[j] / t
        terms[0, j] = first * first / wide - penalties[j]
        terms[1, j] = (2.0 * first * second - first * first) / narrow
    top = terms[0].max()
    whole = 0.0
    for j in range(len(along)):
        whole += np.exp(terms[0, j] - top)
        terms[1, j] += terms[0, j] - top
    highest = terms[1].max()
    total = 0.0
    for j in range(len(along)):
        total += np.exp(terms[1, j] - highest)
    return float(highest + np.log(total) - np.log(whole))


@cached_njit(nogil=True)
def _judge(
    along: Array,
    energy: Array,
    drawn: Array,
    sigma: float,
    t: float,
    penalties: Array,
    limits: Array,
    codes: NDArray[np.uint8],
    best: IntArray,
    numerators: Array,
) -> None:
    """Codes (S, M) of products (S, M) and u.g (S, K, M); evidence is lowered by more than its rounding."""
    n_splits, size = drawn.shape[1:]
    terms = np.empty((2, size))
    narrow = 2.0 * sigma**2 * (1.0 + 1.0 / (t * t))
    for s in range(len(along)):
        slack = 1e-9 + 1e-12 * energy[s] / sigma**2
        for k in range(n_splits):
            numerators[s, k] = _log_numerator(along[s], drawn[s, k], sigma, t, penalties, terms)
        best[s] = np.argmax(along[s] ** 2 - 2.0 * sigma**2 * penalties)
        for e in range(size):
            logs = numerators[s] - (along[s, e] - drawn[s, :, e] / t) ** 2 / narrow
            top = logs.max()
            evidence = top + np.log(np.exp(logs - top).mean()) - slack
            code = 0
            while code < len(limits) and evidence >= limits[code]:
                code += 1
            codes[s, e] = code
