"""The judge of the signals of a map: the contract, its verdicts on a block of signals, and what judges share.

`Alone` judges signals one by one, as a report does, with any judge of a protocol.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Protocol, TypeAlias, cast, final

import numpy as np
from numpy.typing import NDArray

from .._codec import described, pieces_hash
from .._errors import MisuseError
from .._typing import Array, BoolArray, Field, IntArray
from ..analysis import AnalysisProtocol, ProposedStream
from ..banks import Bank
from ..io import ArrayRows, as_complex, as_pairs
from ..judges import Amounts, Judge, Verdict, Verdicts, listed_columns
from ..judges.rotation import RotationTable
from ..laws import Law
from ._kernels import products

_LARGEST = 1e80  # squares stay far from overflow
# Errors of the responses at which maps by evidence are labelled, exact responses first.
ERRORS = (0.0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
PIECE = 128  # signals whose products stay in the nearest cache


@final
@dataclass(frozen=True, slots=True, eq=False)
class BlockVerdicts:
    """Verdicts of a judge on S signals, each as if it were alone: no entry depends on others of its block."""

    codes: NDArray[np.uint8]  # (S, M) at how many levels, from the largest, an explanation is rejected
    best: IntArray  # (S,) the explanation that fits best; -1 of no data
    is_best_rejected: BoolArray  # (S,) at the first level, by the gate
    amplitude: Array  # (S,) of the best fit's unit column beside the background
    noise: Array  # (S,) standard deviation that the best fit leaves
    outsider: IntArray  # (S,) the outsider most along the best fit's residual; -1 where the gate keeps it
    is_data: BoolArray  # (S,) all numbers are finite and of a size that squares can have
    misfit: Array  # (S,) p-value of the gate for the best fit, which is at most this; nan without a gate
    is_complete: BoolArray | None = None  # (S,) False where something else is possible, so that nothing is FINE
    kept_from: NDArray[np.uint8] | None = None  # (S, M) number of the smallest of ERRORS at which it is kept, if any
    fits_from: IntArray | None = None  # (S,) number of the smallest of ERRORS at which something fits, if any

    @classmethod
    def of_evidence(
        cls, codes: NDArray[np.uint8], best: IntArray, sizes: tuple[Array, Array], tested: tuple[Array, float]
    ) -> "BlockVerdicts":
        """Those of signals without outsiders, all of them data.

        sizes: amplitude and noise (S,).  tested: p-values (S,) of the noise that is stated, and the threshold of these.
        """
        misfit, threshold = tested
        return cls(
            codes=codes,
            best=best,
            is_best_rejected=misfit <= threshold,
            amplitude=sizes[0],
            noise=sizes[1],
            outsider=np.full(len(codes), -1),
            is_data=np.ones(len(codes), dtype=np.bool_),
            misfit=misfit,
        )

    def of_data(self, is_data: BoolArray) -> "BlockVerdicts":
        """The same, with nothing said of signals that are no data."""
        return replace(
            self,
            best=np.where(is_data, self.best, -1),
            is_best_rejected=is_data & self.is_best_rejected,
            amplitude=np.where(is_data, self.amplitude, np.nan),
            noise=np.where(is_data, self.noise, np.nan),
            outsider=np.where(is_data, self.outsider, -1),
            is_data=is_data,
            misfit=np.where(is_data, self.misfit, np.nan),
        )

    def kept(self, level: int = 0) -> BoolArray:
        """(S, M) what is not rejected at a level, by its number; nothing of what is no data."""
        return np.asarray((self.codes <= level) & self.is_data[:, None])

    def numbered(self, keys: IntArray | None) -> "BlockVerdicts":
        """The same verdicts, for explanations whose numbers here are keys (M,)."""
        if keys is None:
            return self
        first = np.array([int(np.argmax(keys == key)) for key in range(self.codes.shape[1])])
        kept_from = None if self.kept_from is None else self.kept_from[:, keys]
        best = np.where(self.best < 0, -1, first[self.best])
        return replace(self, codes=self.codes[:, keys], best=best, kept_from=kept_from)


# From signals (S, T, q) as they are measured to their verdicts; workers of other processes get a copy.
BlockJudge: TypeAlias = Callable[[Field], BlockVerdicts]


class SignalJudge(Protocol):
    """The judge of the signals of a map, before any is read: all that decides."""

    @property
    def are_e_values(self) -> bool:
        """True if levels are those of evidence at its end, for which no dependence between signals costs anything."""
        return False

    @property
    def stated_error(self) -> float | None:
        """The error of the responses that is stated, 0 for exact ones; None if there are no verdicts at others."""
        return None

    @property
    def n_explanations(self) -> int:
        """The number of explanations."""

    @property
    def channels(self) -> int:
        """Numbers of a row as it is measured."""

    @property
    def is_complex(self) -> bool:
        """True if these may be complex."""
        return False

    @property
    def places(self) -> tuple[str, ...]:
        """Names of the outsiders that the gate looks for."""
        return ()

    def encode(self) -> dict[str, object]:
        """The definition that decides every verdict, as JSON."""

    def block_judge(self, levels: Array, threads: int, repeats: int) -> BlockJudge:
        """The judge of signals of so many rows, at levels (L,) that fall; what they share is computed here, once."""

    def fitted(self, rows: Field, explanation: int) -> Field | None:
        """(q,) the row that an explanation fits best to rows (T, q); None where there is no such thing."""

    def fitted_amounts(self, rows: Field, explanation: int) -> Amounts:
        """The amounts of that fit, both ends equal, or a reason why there are none."""

    def ranges(self, rows: Field, kept: BoolArray, level: float) -> list[Amounts]:  # noqa: ARG002
        """The amounts that signals (S, T, q) leave at a level, of all that is kept (S, M), or a reason why not."""
        return [Amounts(reason="judge")] * len(rows)


class LinearSignals(SignalJudge, Protocol):
    """The judge of signals by a table of explanations, whose columns rows are linear in, beside a background."""

    @property
    def explained(self) -> tuple[RotationTable, IntArray | None, Field | None]:
        """The table; (M,) the entry of each explanation of the question, if it is another; (p, q) the whitener."""

    @property
    def n_explanations(self) -> int:
        """Number of explanations in the question."""
        table, keys, _ = self.explained
        return table.size if keys is None else len(keys)

    @property
    def channels(self) -> int:
        """Numbers of a row as it was measured."""
        table, _, whitener = self.explained
        return len(table.atoms) if whitener is None else int(whitener.shape[1])

    def encode_table(self) -> dict[str, object]:
        """The hashes of table, keys and whitener."""
        table, keys, whitener = self.explained
        return {
            "atoms": pieces_hash(repr(table.atoms.shape), table.atoms, np.asarray(table.background)),
            "supports": pieces_hash(repr(table.supports)),
            "keys": None if keys is None else pieces_hash(np.asarray(keys)),
            "whitener": None if whitener is None else pieces_hash(whitener),
        }

    def fitted_amounts(self, rows: Field, explanation: int) -> Amounts:
        """The coefficients of least squares, by the names of the table."""
        table, keys, whitener = self.explained
        support = table.supports[explanation if keys is None else int(keys[explanation])]
        names = [table.names[atom] for atom in support] if table.names else []
        mean = whitened(rows[None], whitener)[0].mean(axis=0)
        return fitted_columns(table.atoms[:, list(support)], np.asarray(table.background), names, mean)

    def fitted(self, rows: Field, explanation: int) -> Field:
        """(q,) atoms and background with the coefficients of least squares, as they are measured."""
        table, keys, whitener = self.explained
        support = table.supports[explanation if keys is None else int(keys[explanation])]
        columns = np.hstack([table.atoms[:, list(support)], np.asarray(table.background)])
        mean = rows.mean(axis=0)
        if whitener is None:
            return np.asarray(columns @ np.linalg.lstsq(columns, mean, rcond=None)[0])
        found = columns @ np.linalg.lstsq(columns, whitener @ mean, rcond=None)[0]
        return np.asarray(np.linalg.pinv(whitener) @ found)


def are_data(rows: Field) -> BoolArray:
    """(S,) signals (S, T, q) of numbers that are finite and whose squares double precision holds."""
    return np.asarray((np.abs(rows) <= _LARGEST).all(axis=(1, 2)))


def whitened(rows: Field, whitener: Field | None) -> Field:
    """(S, T, p) signals (S, T, q) multiplied by the whitener (p, q), where there is one."""
    if whitener is None:
        return rows
    n, n_rows = rows.shape[:2]
    return in_order(rows.reshape(n * n_rows, -1), whitener.T).reshape(n, n_rows, -1)


def in_order(rows: Array, matrix: Array) -> Array:
    """(S, k) rows (S, n) times a matrix (n, k), every entry summed in the same order whatever the block."""
    out = np.empty((len(rows), matrix.shape[1]))
    products(np.ascontiguousarray(rows), np.ascontiguousarray(matrix), out)
    return out


def fitted_columns(columns: Field, background: Field, names: Sequence[str], mean: Field) -> Amounts:
    """The coefficients of least squares of columns (q, k) beside a background, of which each is an element."""
    if np.iscomplexobj(columns) or len({*names}) < columns.shape[1]:
        return Amounts(reason="mix")
    fit = np.linalg.lstsq(np.hstack([columns, background]), mean, rcond=None)[0].tolist()
    return Amounts("coefficients", "", {name: (each, each) for name, each in zip(names, fit, strict=False)})


_SCALES = ("peak", "value", "angle")  # of errors that maps try; other errors may be above 1
_MOST_ASKED = 500  # signals whose judges are opened once more for their amounts
_SLACK = 1e-9  # of logs of evidence, far more than their rounding


@final
@dataclass(frozen=True, eq=False)  # no slots: the law is completed when first asked for
class ProtocolSignals(SignalJudge):
    """Every signal takes the place of the deployment rows of a protocol, whoever judges these.

    calibration: proposed and scored once, for all signals; None of a protocol without these.
    """

    protocol: AnalysisProtocol
    calibration: ProposedStream | None = None

    def __post_init__(self) -> None:
        wanted = {"deployment"} if self.calibration is None else {"calibration", "deployment"}
        if self.protocol.bank is None or {*self.protocol.streams} != wanted:
            raise MisuseError("protocol", f"have a bank and the streams {sorted(wanted)}", [*self.protocol.streams])

    @property
    def bank(self) -> Bank:
        """The bank of the protocol."""
        assert self.protocol.bank is not None
        return self.protocol.bank

    @cached_property
    def law(self) -> Law:
        """The law of the deployment rows, completed."""
        return self.protocol.streams["deployment"].law.completed(self.bank)

    @property
    def are_e_values(self) -> bool:
        """True if the judge of the protocol gives e-values."""
        return self.protocol.judge.are_e_values

    @cached_property
    def stated_error(self) -> float | None:
        """The error that the law states, if evidence judges the signals by themselves."""
        design = self.law.design(self.bank)
        if design is None or design.error_size is None or self.calibration is not None:
            return None
        if design.error_scale not in _SCALES:
            return None
        return design.error if self.protocol.judge.has_common_numerator else None

    @property
    def n_explanations(self) -> int:
        """Number of explanations in the bank."""
        return self.bank.size

    @property
    def is_complex(self) -> bool:
        """True if the law is one of complex rows."""
        return self.law.is_complex

    @property
    def channels(self) -> int:
        """Numbers of a row as it is measured."""
        return self.law.width(self.bank) // (2 if self.is_complex else 1)

    def encode(self) -> dict[str, object]:
        """Return what a report records of its protocol, the question apart; calibration rows by their hash."""
        protocol = self.protocol
        part = self.calibration
        return {
            **described("judge", protocol.judge.encode()),
            "bank": self.bank.digest,
            "law": self.law.encode(),
            "seed": protocol.seed,
            "proposal": protocol.streams["deployment"].fraction,
            "calibration": None if part is None else {**part.describe(), "held_out": part.held_out.digest()},
        }

    def block_judge(self, levels: Array, threads: int, repeats: int) -> BlockJudge:  # noqa: ARG002
        """Refuses so many rows a signal as the judge cannot judge."""
        self.protocol.judge.check_rows(self.law, repeats)
        return partial(self._judge, levels)

    def _judge(self, levels: Array, rows: Field) -> BlockVerdicts:
        """Return the verdicts of reports on signals (S, T, q), at each of the levels."""
        n = len(rows)
        amplitude, noise, misfit = np.full((3, n), np.nan)
        found = BlockVerdicts(
            codes=np.zeros((n, self.n_explanations), dtype=np.uint8),
            best=np.full(n, -1),
            is_best_rejected=np.zeros(n, dtype=np.bool_),
            amplitude=amplitude,
            noise=noise,
            outsider=np.full(n, -1),
            is_data=are_data(rows),
            misfit=misfit,
            is_complete=np.ones(n, dtype=np.bool_),
        )
        if self.stated_error is not None:
            kept_from = np.full(found.codes.shape, len(ERRORS), dtype=np.uint8)
            found = replace(found, kept_from=kept_from, fits_from=np.full(n, len(ERRORS)))
        for s in np.flatnonzero(found.is_data).tolist():
            self._ask(rows[s], levels, found, s)
        return found

    def _ask(self, rows: Field, levels: Array, found: BlockVerdicts, s: int) -> None:
        """Fill in the verdicts on one signal (T, q)."""
        judge, verdicts = self._opened(rows, self.protocol)
        rejected = [verdicts.codes == Verdict.REJECTED]
        if self.are_e_values:  # the margin is the log of the evidence times the level
            rejected += [verdicts.lower > np.log(levels[0] / level) + _SLACK for level in levels[1:].tolist()]
        else:
            rejected += self._reopened(rows, levels[1:])
        # What is kept at a level is kept at smaller ones.
        found.codes[s] = np.logical_and.accumulate(np.stack(rejected), axis=0).sum(axis=0)
        facts = judge.facts(np.flatnonzero(~rejected[0])) or {}
        found.best[s] = int(str(facts.get("best", verdicts.upper.argmin())))
        found.is_best_rejected[s] = bool(facts.get("is_withheld"))
        found.amplitude[s], found.noise[s] = self._sizes(rows, int(found.best[s]))
        findings = cast("Sequence[Mapping[str, float]]", facts.get("findings", ()))
        if findings:  # the gate rejects where one of its parts does
            found.misfit[s] = min(1.0, len(findings) * min(finding["p"] for finding in findings))
        assert found.is_complete is not None
        found.is_complete[s] = bool(facts.get("is_complete", True))
        if found.kept_from is not None and found.fits_from is not None and judge.error is not None:
            found.kept_from[s] = _kept_from(judge, verdicts)
            found.fits_from[s] = _fits_from(judge, found.kept_from[s])

    def _reopened(self, rows: Field, levels: Array) -> list[BoolArray]:
        """At each level, until one is too small for the judge to reject anything."""
        rejected = []
        for level in levels.tolist():
            try:
                rejected.append(self._opened(rows, replace(self.protocol, level=level))[1].codes == Verdict.REJECTED)
            except MisuseError:
                break
        return rejected

    def _opened(self, rows: Field, protocol: AnalysisProtocol) -> tuple[Judge, Verdicts]:
        given = {"deployment": as_pairs(rows) if self.law.is_complex else rows}
        judge = protocol.opened(**({} if self.calibration is None else {"calibration": self.calibration}), **given)
        return judge, judge.verdicts(np.arange(judge.size))

    def _sizes(self, rows: Field, best: int) -> tuple[float, float]:
        """Amplitude and noise, in units of whitened rows where the law has a design."""
        fit = self.fitted(rows, best)
        design = self.law.design(self.bank)
        if fit is None or design is None:
            return np.nan, np.nan
        active = design.supports.shape[1]
        background = design.background
        left = design.whitened((rows - fit).T)
        own = design.whitened(fit[:, None])[:, 0]
        beside = own - background @ np.linalg.lstsq(background, own, rcond=None)[0] if background.size else own
        freedom = max(left.size - background.shape[1] - active, 1)
        return float(np.linalg.norm(beside)), float(np.linalg.norm(left) / np.sqrt(freedom))

    def ranges(self, rows: Field, kept: BoolArray, level: float) -> list[Amounts]:
        """Those of reports on signals at the level of the protocol; of more than a few hundred it takes too long."""
        if len(rows) > _MOST_ASKED or level != self.protocol.level:
            return [Amounts(reason="many")] * len(rows)
        judges = (self._opened(own, self.protocol)[0] for own in rows)
        return [judge.amounts(np.flatnonzero(flags)) for judge, flags in zip(judges, kept, strict=True)]

    def fitted_amounts(self, rows: Field, explanation: int) -> Amounts:
        """The coefficients of the fit of the law, of rows that are linear in those of their elements."""
        fit = self.fitted(rows, explanation)
        design = self.law.design(self.bank)
        if fit is None or design is None or self.law.is_counted:
            return Amounts(reason="judge")
        active = design.active[int(self.law.keys(self.bank)(np.array([explanation]))[0]) // len(design.deviations)]
        chosen = [columns[0] for columns in listed_columns(design, active).values()]
        others = [column for column in active if column not in chosen]
        beside = np.hstack([design.columns[:, others], design.background])
        names = [design.names[column] for column in chosen]
        return fitted_columns(design.columns[:, chosen], beside, names, design.whitened(fit[:, None])[:, 0])

    def fitted(self, rows: Field, explanation: int) -> Field | None:
        """(q,) of the law."""
        given = as_pairs(rows) if self.law.is_complex else rows
        fit = self.law.fitted(self.bank, explanation, ArrayRows(given))
        return as_complex(fit) if fit is not None and self.law.is_complex else fit


def _kept_from(judge: Judge, verdicts: Verdicts) -> NDArray[np.uint8]:
    """(M,) the number of the smallest of ERRORS at which each explanation is kept, by halving; their count if none.

    verdicts: those at the error of the judge.
    """
    assert judge.error is not None
    own = np.array(ERRORS)
    is_rejected = verdicts.codes == Verdict.REJECTED
    low = np.where(is_rejected, np.searchsorted(own, judge.error, side="right"), 0)  # rejected below this number
    high = np.where(is_rejected, len(own), np.searchsorted(own, judge.error, side="left"))  # kept from it on
    while (is_open := low < high).any():
        middle = (low + high) // 2
        for number in np.unique(middle[is_open]).tolist():
            asked = np.flatnonzero(is_open & (middle == number))
            rejected = judge.verdicts_at(ERRORS[number], asked).codes == Verdict.REJECTED
            low[asked] = np.where(rejected, number + 1, low[asked])
            high[asked] = np.where(rejected, high[asked], number)
    return np.asarray(high, dtype=np.uint8)


def _fits_from(judge: Judge, kept_from: NDArray[np.uint8]) -> int:
    """The number of the smallest of ERRORS at which something is kept whose noise the rows do not refute."""
    for number in range(int(kept_from.min()), len(ERRORS)):
        if not judge.refutes(np.flatnonzero(kept_from <= number), ERRORS[number]):
            return number
    return len(ERRORS)
