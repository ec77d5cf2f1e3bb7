"""The verdicts of a run by explanation, and the one that others are compared with."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ..._errors import MisuseError
from ..._typing import Array, IntArray
from ...banks import Bank
from ...judges import Evidence, Verdict
from ...questions import Predicates, Progress, Question, open_fields, predicates, said_by
from .._result import Result

NOT_ASKED = "not asked"
_MOST_UNASKED = 50_000
_MOST_REGIONS = 6  # of which an explanation in words says also where it has nothing
_MOST_NAMED = 8


@final
@dataclass(frozen=True, eq=False)  # no slots: what is known is looked up once
class Asked:
    """A result with its verdicts at hand."""

    result: Result

    @property
    def bank(self) -> Bank:
        """The bank of the protocol."""
        bank = self.result.seal.protocol.bank
        if bank is None:
            raise MisuseError("result", "come from a protocol with a bank", "none")
        return bank

    @property
    def question(self) -> Question:
        """What was asked."""
        return self.result.seal.question

    @cached_property
    def predicates(self) -> Predicates:
        """What the question answers for itself."""
        return predicates(self.question)

    @property
    def evidence(self) -> Evidence:
        """What the held-out rows say."""
        return self.result.seal.evidence

    @cached_property
    def place(self) -> dict[int, int]:
        """The number of the query that asked about an explanation."""
        return {e: k for k, e in enumerate(self.result.trace.queries.tolist())}

    @cached_property
    def progress(self) -> Progress:
        """The question after all verdicts."""
        trace = self.result.trace
        return informed(trace.question, trace.queries, trace.codes)

    @cached_property
    def open_fields(self) -> frozenset[str]:
        """The fields that still need verdicts."""
        return frozenset(open_fields(self.progress))

    def of_code(self, code: Verdict) -> IntArray:
        """Numbers of the queries with this verdict, the smallest upper bound of the margin first."""
        trace = self.result.trace
        found = np.flatnonzero(trace.codes == code)
        return found[np.argsort(trace.margins[found, 1], kind="stable")]

    @cached_property
    def admissible(self) -> IntArray:
        """L, the one with the least evidence against it first."""
        return self.result.trace.queries[self.of_code(Verdict.ADMISSIBLE)]

    @cached_property
    def unasked(self) -> IntArray:
        """Explanations that were not asked about, the most plausible first; of very many these alone."""
        plausibility, trace = self.result.seal.proposed.proposals.plausibility, self.result.trace
        is_unasked = np.ones(trace.size, dtype=np.bool_)
        is_unasked[trace.queries] = False
        left = np.flatnonzero(is_unasked)
        order = np.arange(len(left)) if plausibility is None else np.argsort(-plausibility[left], kind="stable")
        return left[order[:_MOST_UNASKED]]

    @cached_property
    def reference(self) -> int:
        """The explanation to compare others with: the best of the proposal rows.

        If that is not admissible, the admissible one with the least evidence against it; if there is none, the best of
        the proposal rows nevertheless.
        """
        best = self.result.best
        return int(self.admissible[0]) if self.admissible.size and best not in self.admissible else best

    def verdict(self, e: int) -> str:
        """ADMISSIBLE, REJECTED, INDETERMINATE or not asked."""
        if e not in self.place:
            return NOT_ASKED
        return Verdict(int(self.result.trace.codes[self.place[e]])).name

    def margin(self, e: int) -> list[float | str] | None:
        """Bounds of the margin; infinite ones as texts, which JSON can hold."""
        if e not in self.place:
            return None
        return [bound(x) for x in self.result.trace.margins[self.place[e]].tolist()]

    def says(self, e: int) -> dict[str, str | None]:
        """What an explanation says of every region asked about, or its place."""
        return said_by(self.question, e)

    def setting(self, e: int) -> dict[str, float]:
        """Calibration parameters of its state, and nuisances where there is a choice."""
        bank, columns = self.bank, self.bank.split(e)
        found = dict(bank.states.setting(int(columns.state[0])))
        for name, grid, index in (
            ("calibration", bank.calibration, columns.calibration),
            ("deployment", bank.deployment, columns.deployment),
        ):
            if len(grid) > 1:
                found |= {f"{name} {key}": value for key, value in grid.setting(int(index[0])).items()}
        return found

    def entry(self, e: int) -> dict[str, Any]:
        """An explanation as the details list it."""
        return {
            "explanation": e,
            "verdict": self.verdict(e),
            "margin": self.margin(e),
            "says": self.says(e),
            "setting": self.setting(e),
        }

    def named(self, e: int) -> str:
        """An explanation in words; of very many regions only those in which it has something are named."""
        says = self.says(e)
        is_many = len(says) > _MOST_REGIONS
        named = [f"{name}: {found or 'nothing'}" for name, found in says.items() if found is not None or not is_many]
        more = [f"and {len(named) - _MOST_NAMED} more"] if len(named) > _MOST_NAMED else []
        if is_many and not named:
            return f"explanation {e} (nothing anywhere)"
        return f"explanation {e}" + (f" ({', '.join([*named[:_MOST_NAMED], *more])})" if named else "")


def informed(question: Question, queries: IntArray, codes: NDArray[np.uint8]) -> Progress:
    """The question after these verdicts; an undecided one changes nothing."""
    progress = question.begin()
    for e, code in zip(queries.tolist(), codes.tolist(), strict=True):
        if code == Verdict.REJECTED:
            progress.reject(e)
        elif code == Verdict.ADMISSIBLE:
            progress.witness(e)
    return progress


def bound(value: float) -> float | str:
    """A bound of a margin; JSON has no infinities, so these are the texts `inf` and `-inf`."""
    return float(value) if np.isfinite(value) else ("inf" if value > 0 else "-inf")


def finite(value: float) -> float | None:
    """A number that JSON can hold, or None."""
    return float(value) if np.isfinite(value) else None


def middle(lower: Array, upper: Array) -> Array:
    """The middle of proven bounds, which are far closer together than anything read from it; NaN if unbounded."""
    is_bounded = np.isfinite(lower) & np.isfinite(upper)
    low, high = np.where(is_bounded, lower, 0.0), np.where(is_bounded, upper, 0.0)
    return np.where(is_bounded, low + (high - low) / 2.0, np.nan)
