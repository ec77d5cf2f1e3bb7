"""Active endpoint bracketing: ask until every field has its certificate, or the budget is spent."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TypeAlias, final

import numpy as np

from .._errors import MisuseError
from .._typing import IntArray
from ..judges import Judge, Verdict, VerdictCache, Verdicts
from ..questions import Progress, Question
from ._policies import Policy, Proposals, RunView, whole_set
from ._trace import Brackets, Ending, Stop, Trace, budget_queries, check_stop, concluded, replayed

# Plain numbers: looking up a member of an enumeration costs more than comparing it.
_ADMISSIBLE = int(Verdict.ADMISSIBLE)
_REJECTED = int(Verdict.REJECTED)
_INDETERMINATE = int(Verdict.INDETERMINATE)  # the largest; what is not known yet has a larger number


@final
@dataclass(frozen=True, slots=True, eq=False)
class Tick:
    """The state of a run after a query, as its callback gets it."""

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
    possible and was not tested, the most plausible first.  digests: kept in the trace.  cache: of this judge,
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
        remedy = "Verdicts stay in the trace; in Python, trace.at gives the result of fewer queries."
        raise MisuseError("budget", f"be at least the {len(trace)} queries asked", allowed, remedy)
    suggested = proposals or Proposals()
    suggested.check_size(cache.size)
    state = _Run(trace, cache, np.empty(allowed, np.int64))
    try:
        state.resume(policy, suggested)
        ending = state.advance(callback)
    except KeyboardInterrupt:
        if not state.used:
            raise  # there is nothing to report
        # It may have struck between two updates: start over from what the log holds completely.
        return replayed(state.trace(), Ending.STOPPED)
    return concluded(state.trace(), state.brackets, state.progress, ending)


def check_question(question: Question, size: int) -> None:
    """Refuse a question about another number of explanations: labels would hold for a part of what is possible."""
    if question.n_explanations != size:
        raise MisuseError("question", f"be about the {size} explanations of the judge", question.n_explanations)


@final
class _Run:
    """The queries in order, in a column long enough for the budget, and what follows from the first `used` of them.

    Verdicts are those of the cache, but of queries of an earlier run those of its trace.
    """

    __slots__ = ("_cache", "_choices", "_earlier", "_queries", "brackets", "progress", "used")

    def __init__(self, earlier: Trace, cache: VerdictCache, queries: IntArray) -> None:
        self._earlier = earlier
        self._cache = cache
        self._queries = queries
        self._queries[: len(earlier)] = earlier.queries
        self.used = len(earlier)
        self.brackets = Brackets(earlier.size)
        self.progress = earlier.question.begin()

    def trace(self) -> Trace:
        queries = self._queries[: self.used].copy()
        new = self._cache.verdicts(queries[len(self._earlier) :])
        verdicts = Verdicts.joined([self._earlier.verdicts, new])
        return replace(self._earlier, budget=len(self._queries), queries=queries, verdicts=verdicts)

    def resume(self, policy: Policy, proposals: Proposals) -> None:
        """Ask again what the earlier run asked, without the judge."""
        earlier = self._earlier
        view = RunView(earlier.question, self.progress, self.brackets, proposals)
        self._choices = policy.begin(view)
        if earlier.stop == "set":
            self._choices = whole_set(view, self._choices, earlier.until_witnessed)
        for e, code in zip(earlier.queries.tolist(), earlier.codes.tolist(), strict=True):
            chosen = next(self._choices, None)
            if chosen != e:
                raise MisuseError("policy", f"ask about {e} as the trace does", chosen, "Give what the run began with.")
            self._take(e, code)

    def _take(self, e: int, code: int) -> None:
        self.brackets.record(e, code)
        if code == _REJECTED:
            self.progress.reject(e)
        elif code == _ADMISSIBLE:
            self.progress.witness(e)

    def advance(self, callback: Callback | None) -> Ending:
        """Ask until there is a reason to end."""
        until_witnessed = self._earlier.until_witnessed
        is_for_labels = self._earlier.stop == "label"
        brackets = self.brackets
        progress = self.progress
        queries = self._queries.data
        allowed = len(self._queries)
        codes = self._cache.codes
        is_stopped = False
        while True:
            if not brackets.n_possible:
                return Ending.NO_SURVIVOR
            if is_for_labels and progress.is_certified and (brackets.n_witnessed or not until_witnessed):
                return Ending.CERTIFIED
            e = next(self._choices, None)
            if e is None:
                return Ending.NOTHING_LEFT
            k = self.used
            if k == allowed:
                return Ending.BUDGET
            # Only now: a run that was over anyway was not stopped.
            if is_stopped:
                return Ending.STOPPED
            code = codes[e] if 0 <= e < brackets.size else brackets.refuse(e)
            if code > _INDETERMINATE:
                code = self._cache.look_up(e, k)
            self._take(e, code)
            queries[k] = e
            self.used = k + 1
            if callback is not None:
                is_stopped = callback(Tick(k + 1, allowed, e, code, progress)) is False
