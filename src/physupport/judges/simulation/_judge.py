"""The simulation judge: an exact Monte Carlo test of every explanation that a gate leaves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np

from ..._checks import check_count, check_indices, check_open
from ..._errors import Clause, MisuseError
from ..._typing import Array, IntArray
from ...banks import Bank
from ...laws import Law
from .._evidence import Bounds
from .._judge import Judge, Verdicts
from .._specs import JudgeSpec, Sealed, register
from ..rotation._rows import Counts, check_draws, count_margins
from ._simulated import (
    LEAST_PIECES,
    MOST_PIECES,
    Rivals,
    SimulatedStream,
    Statistic,
    is_orbit,
    nearest,
    neighbours,
    ratio,
    score,
)

# Of the level, what the gate takes; the rest is for the draws.
GATE_SHARE = 0.01
PIECES = (LEAST_PIECES, MOST_PIECES)
# At which a bad fit is said to be one; it rejects nothing.
FIT_LEVEL = 0.01
# Relative, of a sum of log likelihoods that no proof covers; far more than its rounding.
_ROUNDING = 1e-12


# Whom an explanation is compared with, and by what.
KINDS: dict[str | None, tuple[Rivals, Statistic]] = {"score": (neighbours, score), "ratio": (nearest, ratio)}
NAMES = "score, ratio"
ASSUMES = "streams are independent, and so are the rows of each, with the law of the explanation"


@register
@final
@dataclass(frozen=True, slots=True)
class BySimulation(JudgeSpec):
    """Have simple explanations judged by simulation from all rows: all that is fixed before a row is read.

    statistic: `score` for states in the order of a smooth coordinate, such as an orientation, or `ratio` for libraries;
    unless given, bank and laws decide, see `completed`.  draws: B.  copies: records that are simulated, at least, where
    rows have to be.  rivals: states, and supports, that `ratio` compares with.  The draws come from
    `Sealed.draws_seed`.
    """

    kind: ClassVar[str] = "simulation"
    has_facts: ClassVar[bool] = True
    draws_by_numpy: ClassVar[bool] = True  # as the laws do, whose random numbers another version of it may change
    fact_names: ClassVar[tuple[str, ...]] = ("best", "is_best_rejected", "level", "findings", "strengths")

    statistic: str | None = None
    draws: int = 399
    copies: int = 32
    rivals: int = 16

    def __post_init__(self) -> None:
        if self.statistic is not None and self.statistic not in KINDS:
            raise MisuseError("statistic", f"be one of {NAMES}", repr(self.statistic))
        check_count("draws", self.draws)
        check_count("copies", self.copies, 2)
        check_count("rivals", self.rivals)

    def completed(self, bank: Bank, laws: Sequence[Law]) -> "BySimulation":
        """Return the judge with its statistic: `score` for orientations of one dictionary (`is_orbit`), else `ratio`.

        Both are valid for any bank that they take.  A score looks at neighbours alone, so that along coordinates that
        run far the ratio keeps less.  Orientations are kept alike by both, and the score, whose rivals are few and the
        same up to a turn, has far fewer rows to simulate.
        """
        if self.statistic is not None:
            return self
        return replace(self, statistic="score" if is_orbit(bank, laws) else "ratio")

    def splits(self, law: Law) -> bool:  # noqa: ARG002
        """False: nothing is chosen from rows, so all of them judge."""
        return False

    def check_laws(self, laws: Sequence[Law]) -> None:
        """Raise unless every law states its coefficients."""
        for law in laws:
            if law.is_linear:
                rule = (
                    f"be {law.own_judge!r} where coefficients are free: what is not fully specified cannot be simulated"
                )
                raise MisuseError("judge", rule, f"'simulation' for {law.name} rows")

    def encode(self) -> dict[str, object]:
        """The statistic and the sizes; the draws follow from `Sealed.draws_seed`."""
        if self.statistic is None:
            raise MisuseError(
                "statistic", f"be one of {NAMES} to be written", Clause("there is none"), "See `completed`."
            )
        return {
            "judge": self.kind,
            "assumes": ASSUMES,
            "statistic": self.statistic,
            "draws": int(self.draws),
            "copies": int(self.copies),
            "rivals": int(self.rivals),
            "pieces": list(PIECES),
            "gate_share": GATE_SHARE,
        }

    @classmethod
    def decode(cls, content: Mapping[str, Any]) -> "BySimulation":
        """The specification that `encode` wrote; with other pieces or another gate it was another program."""
        return cls(content["statistic"], content["draws"], content["copies"], content["rivals"])

    def open(self, sealed: Sealed) -> "SimulationJudge":
        """The judge; the first verdict reads the rows."""
        self.check_laws([stream.law for stream in sealed.streams])
        seed = sealed.draws_seed
        streams = tuple(
            SimulatedStream(i, sealed.bank, stream.law, stream.rows, stream.keys_of, seed, self.draws, self.copies)
            for i, stream in enumerate(sealed.streams)
        )
        spec = self.completed(sealed.bank, [stream.law for stream in sealed.streams])
        return SimulationJudge(spec, sealed.bank, streams, sealed.level)


@final
@dataclass(frozen=True, eq=False)  # no slots: the gate is opened when first asked for
class SimulationJudge(Judge):
    r"""Rejects an explanation that made the rows with probability at most its level.

    The gate takes 1 % of the level: :math:`\frac1M\sum_{e'}L(e')/L(e)` over all rows is an e-value.  Of what it leaves,
    the statistic of the rows is ranked among B draws with which it is exchangeable under the explanation, and
    :math:`p = (1 + \#\{t_b \ge t\})/(1 + B)` at most 99 % of the level rejects.  A draw counts whenever rounding does
    not exclude that it reaches the rows: rounding can keep, never lose.
    Not valid under optional stopping: the number of rows is fixed beforehand.
    """

    spec: BySimulation
    bank: Bank
    streams: tuple[SimulatedStream, ...]
    level: float

    def __post_init__(self) -> None:
        check_open("level", self.level, 0.0, 1.0)
        check_draws(self.drawn_level, self.spec.draws)

    @property
    def size(self) -> int:
        """The size of the bank."""
        return self.bank.size

    @property
    def drawn_level(self) -> float:
        """The level that the gate leaves to the draws."""
        return (1.0 - GATE_SHARE) * self.level

    def verdicts(self, explanations: IntArray) -> Verdicts:
        """The margin is the larger of gate and draws: one that rejects suffices."""
        asked = check_indices("explanations", explanations, self.size)
        lower = self.gate.lower[asked]
        upper = self.gate.upper[asked]
        is_left = lower <= 0.0
        upper = np.where(is_left, upper, np.maximum(upper, np.log(self.spec.draws + 1.0)))
        if is_left.any():
            below, above = count_margins(
                self.counts(asked[is_left]), self.drawn_level, self.spec.draws, is_screened=False
            )
            lower[is_left] = np.maximum(lower[is_left], below)
            upper[is_left] = np.maximum(upper[is_left], above)
        return Verdicts.measured(lower, upper)

    @cached_property
    def gate(self) -> Bounds:
        r"""Bounds (M,) of :math:`\log\{\frac1M\sum_{e'}L(e')/L(e)\} + \log(.01\alpha)`; positive rejects."""
        each = [stream.whole(np.arange(self.size)) for stream in self.streams]
        lower = np.sum([part.lower for part in each], axis=0)
        upper = np.sum([part.upper for part in each], axis=0)
        threshold = np.log(GATE_SHARE * self.level)
        error = _ROUNDING * (1.0 + np.abs(lower[np.isfinite(lower)]).max(initial=0.0))
        return Bounds(_log_mean(lower) - upper + threshold - error, _log_mean(upper) - lower + threshold + error)

    @cached_property
    def left(self) -> IntArray:
        """(k,) explanations that the gate leaves."""
        return np.flatnonzero(self.gate.lower <= 0.0)

    def counts(self, explanations: IntArray) -> Counts:
        """Bound the number of draws that reach the statistic of the rows, for remaining explanations (k,)."""
        found = np.array([self._count(int(e)) for e in explanations], dtype=np.int64).reshape(-1, 2)
        return Counts(found[:, 0], found[:, 1], np.full(len(found), np.inf))

    def fit(self, explanation: int) -> float:
        r"""Two-sided p-value of the log likelihood of the rows under an explanation that the gate leaves.

        It asks whether the explanation would make rows of such a likelihood, whatever its rivals, and rejects nothing:
        if the explanation made the rows, it is at most t with probability at most t.  One number stands for all rows:
        what is far from the explanation along few directions may not move it beyond its own spread.
        """
        values = self._log_likelihoods(explanation)[:, 0]
        tails = 1.0 + min(int(np.sum(values[1:] <= values[0])), int(np.sum(values[1:] >= values[0])))
        return float(min(1.0, 2.0 * tails / (1.0 + self.spec.draws)))

    def facts(self, possible: IntArray) -> dict[str, object]:
        """Test if some explanation left makes rows of such a likelihood: the largest `fit`, or that of the best.

        Left are the possible explanations that passed the gate.  If the true one is left, the largest p-value is at
        most t with probability at most t.  No label is withheld.
        """
        best = int(self.left[np.argmin(self.gate.upper[self.left])])
        kept = np.intersect1d(possible, self.left)
        p = max((self.fit(int(e)) for e in kept), default=self.fit(best))
        finding = {"part": "fit", "place": "rows that none of the explanations would make", "p": p}
        return {
            "best": best,
            "is_best_rejected": p <= FIT_LEVEL,
            "is_withheld": False,
            "level": FIT_LEVEL,
            "findings": [finding],
            "strengths": self._strengths(kept, best),
        }

    def _strengths(self, left: IntArray, best: int) -> dict[str, object] | None:
        """Test if rows are as strong as some explanation left says, or the best; None if no law states strengths.

        The p-value is the largest.  If the true explanation is left, it is at most t with probability at most t.
        """
        laws = [stream.law.strengths_seen(self.bank, stream.rows) for stream in self.streams]
        seen = [law for law in laws if law is not None]
        if not seen:
            return None
        looked = left.tolist() if len(left) else [best]
        each = (min((law(e) for law in seen), key=lambda strength: strength.p) for e in looked)
        most = max(each, key=lambda strength: strength.p)
        place = f"{'weaker' if most.is_weaker else 'stronger'} than what {'is left' if len(left) else 'fits best'} says"
        p = min(1.0, len(seen) * most.p)
        return {"part": "strengths", "place": place, "p": p, "is_off": p <= FIT_LEVEL}

    def _count(self, e: int) -> tuple[int, int]:
        likelihoods = self._log_likelihoods(e)
        error = self._error(e) + _ROUNDING * float(np.abs(likelihoods).max())
        _, statistic = KINDS[self.spec.statistic]
        values, errors = statistic(likelihoods[:, 1:] - likelihoods[:, :1], 2.0 * error)
        gap = values[1:] - values[0]
        slack = errors[1:] + errors[0]
        # What is no number is counted as most, and not as least.
        return int(np.sum(gap >= slack)), int(np.sum(~(gap < -slack)))

    def _error(self, e: int) -> float:
        """The error of the log likelihoods of an explanation; those of its rivals are like it."""
        whole = [stream.whole(np.array([e])) for stream in self.streams]
        return float(sum((part.upper - part.lower)[0] for part in whole))

    def _log_likelihoods(self, e: int) -> Array:
        """(B + 1, 1 + R) of an explanation and its rivals, all streams together, the rows first."""
        row = int(np.searchsorted(self.left, e))
        if row == len(self.left) or self.left[row] != e:
            raise MisuseError("explanation", "be one that the gate leaves", e)
        total = np.zeros(1)
        for stream, models in zip(self.streams, self._models, strict=True):
            model = int(models[row])
            stream.simulate(model, self._rivals[int(np.searchsorted(self.left, model))])
            total = total + stream.log_likelihoods(np.concatenate([[e], self._rivals[row]]), model)
        return total

    @cached_property
    def _rivals(self) -> IntArray:
        """(left, R)."""
        rivals, _ = KINDS[self.spec.statistic]
        return rivals(self.bank, self.left, self.spec.rivals)

    @cached_property
    def _models(self) -> list[IntArray]:
        """For each stream, the explanation whose draws serve each one that the gate leaves."""
        tuples = np.column_stack([self.left, self._rivals])
        return [stream.models(tuples) for stream in self.streams]


def _log_mean(values: Array) -> float:
    """Log of the mean of exponentials."""
    top = float(values.max())
    return top + float(np.log(np.mean(np.exp(values - top)))) if np.isfinite(top) else top
