"""Active endpoint bracketing: ask until every field has its certificate, or the budget is spent."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TypeAlias, final

import numpy as np

from .._errors import MisuseError
from .._typing import IntArray
from ..judges import Judge, Verdict, VerdictCache, Verdicts
from ..judges._judge import UNKNOWN
from ..questions import Progress, Question
from ._policies import Policy, Proposals, RunView, Selector, WholeSetSelector
from ._trace import Brackets, Ending, Stop, Trace, budget_queries, check_stop, concluded, replayed

# Plain numbers: looking up a member of an enumeration costs more than comparing it.
_ADMISSIBLE = int(Verdict.ADMISSIBLE)
_REJECTED = int(Verdict.REJECTED)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Tick:
    """What is told after every query."""

    used: int
    budget: int
    last: int  # the explanation just asked about
    code: int
    _progress: Progress = field(repr=False)

    def open_fields(self) -> tuple[str, ...]:
        """The fields whose certificate is still open, also those about which something coarser can be said already.

        A question of one's own that is not certified and names no open field has all of its fields open.
        """
        return self._progress.open_fields()


Callback: TypeAlias = Callable[[Tick], bool | None]


def run(
    judge: Judge,
    question: Question,
    policy: Policy,
    budget: int | float | Fraction,
    *,
    proposals: Proposals | None = None,
    callback: Callback | None = None,
    until_witnessed: bool = True,
    stop: Stop = "label",
    digests: tuple[tuple[str, str], ...] = (),
    cache: VerdictCache | None = None,
) -> Trace:
    r"""Algorithm S1 of the paper (alg:supp-aeb): query, update L and U, look for the certificate, until it is there.

    Safe at every prefix (thm:finite-bank-bridge): labels hold for all of U or have their witnesses in L, whatever the
    policy chose and whenever it stopped.  If a judge rejects the explanation that generated the data with probability
    at most alpha, so is the probability of a false truth-level label (thm:on-bank-truth-validity).

    budget: queries, or a share of the bank as a float.  callback: told after every query; returns False to stop.  A
    stopped run, also one stopped by Ctrl-C, is a whole trace that `continue_run` takes further.
    until_witnessed: go on while the certificate holds but nothing is witnessed, since that is no report yet; False
    stops at the first certificate.  stop: `label` ends with the certificates; `set` then asks about all that is still
    possible and was not asked about, the most plausible first.  digests: kept in the trace.  cache: of this judge,
    where its verdicts are kept; a new one if left out.
    """
    check_stop(stop)
    empty = Trace.begun(question, judge.size, budget_queries(budget, judge.size), until_witnessed, digests, stop)
    return continue_run(empty, judge, policy, budget, proposals=proposals, callback=callback, cache=cache)


def continue_run(
    trace: Trace,
    judge: Judge,
    policy: Policy,
    budget: int | float | Fraction,
    *,
    proposals: Proposals | None = None,
    callback: Callback | None = None,
    cache: VerdictCache | None = None,
) -> Trace:
    """The trace that one uninterrupted run with this budget gives.

    Nothing is asked twice; that the policy would have asked the same is checked on the way, that the judge is the one
    of before is not: a run under a protocol goes on with `Seal.resume`, which has its judge.
    """
    cache = cache or VerdictCache(judge)
    if cache.size != trace.size:
        raise MisuseError("judge", f"decide about the {trace.size} explanations of the trace", cache.size)
    check_question(trace.question, cache.size)
    allowed = budget_queries(budget, cache.size)
    if allowed < len(trace):
        remedy = "What was asked stays asked; in Python, trace.at says what fewer would have found."
        raise MisuseError("budget", f"be at least the {len(trace)} queries asked", allowed, remedy)
    suggested = proposals or Proposals()
    suggested.check_size(cache.size)
    log = _Log(trace, cache, np.empty(allowed, np.int64), len(trace))
    log.queries[: log.used] = trace.queries
    try:
        state = _State.resumed(trace, policy, suggested)
        ending = _advance(state, log, trace, callback)
    except KeyboardInterrupt:
        if not log.used:
            raise  # there is nothing to report
        # It may have struck between two updates: start over from what the log holds completely.
        return replayed(log.closed(), Ending.STOPPED)
    return concluded(log.closed(), state.brackets, state.progress, ending)


def check_question(question: Question, size: int) -> None:
    """Refuse a question about another number of explanations: labels would hold for a part of what is possible."""
    if question.n_explanations != size:
        raise MisuseError("question", f"be about the {size} explanations of the judge", question.n_explanations)


@final
@dataclass(slots=True, eq=False)
class _Log:
    """Queries in order, in a column long enough for the budget; only the first `used` entries count.

    Verdicts are those of the cache, but of queries of an earlier run those of its trace.
    """

    earlier: Trace
    cache: VerdictCache
    queries: IntArray
    used: int

    def closed(self) -> Trace:
        queries = self.queries[: self.used].copy()
        new = self.cache.verdicts(queries[len(self.earlier) :])
        return replace(
            self.earlier,
            budget=len(self.queries),
            queries=queries,
            verdicts=Verdicts.joined([self.earlier.verdicts, new]),
        )


@final
@dataclass(frozen=True, slots=True, eq=False)
class _State:
    """What a run carries from query to query."""

    brackets: Brackets
    progress: Progress
    selector: Selector

    @classmethod
    def resumed(cls, trace: Trace, policy: Policy, proposals: Proposals) -> "_State":
        brackets = Brackets(trace.size)
        progress = trace.question.begin()
        view = RunView(trace.question, progress, brackets, proposals)
        selector = policy.begin(view)
        if trace.stop == "set":
            selector = WholeSetSelector(view, selector, trace.until_witnessed)
        state = cls(brackets, progress, selector)
        for e, code in zip(trace.queries.tolist(), trace.codes.tolist(), strict=True):
            chosen = state.selector.choose()
            if chosen != e:
                raise MisuseError("policy", f"ask about {e} as the trace does", chosen, "Give what the run began with.")
            state.take(e, code)
        return state

    def take(self, e: int, code: int) -> None:
        self.brackets.record(e, code)
        if code == _REJECTED:
            self.progress.reject(e)
        elif code == _ADMISSIBLE:
            self.progress.witness(e)
        self.selector.observe(e, code)


def _advance(state: _State, log: _Log, trace: Trace, callback: Callback | None) -> Ending:
    """Ask until there is a reason to end."""
    until_witnessed = trace.until_witnessed
    is_for_labels = trace.stop == "label"
    brackets = state.brackets
    progress = state.progress
    choose = state.selector.choose
    take = state.take
    queries = log.queries.data
    allowed = len(log.queries)
    cache = log.cache
    codes = cache.codes
    size = cache.size
    is_stopped = False
    while True:
        if not brackets.n_possible:
            return Ending.NO_SURVIVOR
        if is_for_labels and progress.is_certified and (brackets.n_witnessed or not until_witnessed):
            return Ending.CERTIFIED
        e = choose()
        if e is None:
            return Ending.NOTHING_LEFT
        k = log.used
        if k == allowed:
            return Ending.BUDGET
        # Only now: a run that was over anyway was not stopped.
        if is_stopped:
            return Ending.STOPPED
        code = codes[e] if 0 <= e < size else brackets.refuse(e)
        if code == UNKNOWN:
            code = cache.look_up(e, k)
        take(e, code)
        queries[k] = e
        log.used = k + 1
        if callback is not None:
            is_stopped = callback(Tick(k + 1, allowed, e, code, progress)) is False
