"""A protocol: everything that decides how held-out rows will be read, fixed and hashed before the first is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from typing import Literal, TypeAlias, cast, final, get_args

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from .._checks import check_count, check_open
from .._codec import content_hash, described, rows_hash
from .._errors import Clause, MisuseError
from ..aeb import (
    EndpointPolicy,
    FarthestFirst,
    FixedOrder,
    Policy,
    Proposals,
    RandomOrder,
    RegionalPolicy,
    Stop,
    Tick,
    Trace,
    budget_queries,
    check_question,
    check_stop,
    continue_run,
    run,
)
from ..banks import Bank, Cover
from ..io import ArrayRows, HashedRows, SplitRows, split_rows, undivided_rows
from ..judges import (
    ByEvidence,
    Evidence,
    Judge,
    JudgeSpec,
    Sealed,
    SealedStream,
    VerdictCache,
    Verdicts,
    best_explanation,
    check_laws,
    contradiction,
)
from ..laws import Opponent, check_cover, check_mixes, check_sets, opponents_of
from ..questions import Question
from ._plans import ProposedStream, StreamPlan, check_thresholds

Callback = Callable[[Tick], bool | None]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Proposed:
    """The result of the proposal rows, for questions and policies that depend on it.

    best: of each stream, the explanation that its proposal rows favour, of equal ones the one of lowest index; not of
    a stream whose plan has a function that proposes.  points: of each of these, the law that it proposed.
    """

    best: Mapping[str, int]
    points: Mapping[str, Opponent]
    proposals: Proposals


@final
@dataclass(frozen=True, slots=True, eq=False)
class AnalysisProtocol:
    """Bank, question, judge, level, split, checkpoints, priorities, budget and seed.

    question and policy may be functions of what the proposal rows said.  budget: queries, or a share of the bank.
    streams: names to plans, usually `calibration` and `deployment`.  seed: of the split; a single stream takes the
    seed itself, several take its children in their order, as `split_streams` does.  judge: who will decide from the
    held-out rows of the streams; its specification, completed with bank and laws, is part of what is frozen.  ranks:
    whether the proposal rows also of a stream with a proposal off the bank say how plausible each explanation is; not
    every policy reads it.  stop: `label` ends with the certificates, `set` also asks about all that they leave
    possible, within the budget.  cover: what the bank was made of, if its elements are cells: the level then holds
    anywhere in these, and the judge runs at a smaller one, `run_level`.  window: for the report, if rows are parts of
    longer ones: {"ends": [[low, high], ...], "unit": "keV", "without_lines": names of elements that were left out}.
    at_errors: whether the report also has the answers at other errors of the responses, which take more time than all
    else.

    Plans, questions and policies of this package hold copies of the arrays that they are given.  Rows are not copied:
    a table must not change as long as a seal that was read from it is in use.
    """

    question: Question | Callable[[Proposed], Question]
    policy: Policy | Callable[[Proposed], Policy]
    level: float
    budget: int | float | Fraction
    bank: Bank | None = None
    streams: Mapping[str, StreamPlan] = field(default_factory=dict)
    seed: int = 0
    until_witnessed: bool = True
    judge: JudgeSpec = field(default_factory=ByEvidence)
    ranks: bool = True
    stop: Stop = "label"
    cover: Cover | None = None
    window: Mapping[str, object] | None = None
    at_errors: bool = True

    def __post_init__(self) -> None:
        check_open("level", self.level, 0.0, 1.0)
        check_count("seed", self.seed, 0)
        if self.streams and self.bank is None:
            raise MisuseError("bank", "be given with streams", Clause("there is none"))
        _check_writes(self.judge)
        check_stop(self.stop)
        object.__setattr__(self, "streams", dict(self.streams))
        if self.bank is not None:
            laws = [plan.law for plan in self.streams.values()]
            beside_cells = all(law.has_cells or law.goes_with_cells for law in laws)
            if len(laws) > 1 and any(law.has_error for law in laws) and not beside_cells:
                rule = "be left out beside other streams, whose laws have exact responses"
                raise MisuseError("error", rule, Clause("one is given"))
            for law in laws:
                check_sets(law, self.bank)
                check_mixes(law, self.bank)
            if laws:
                check_laws(self.judge, laws)
            object.__setattr__(self, "judge", self.judge.completed(self.bank, laws))
            if not self.judge.has_facts and self.judge.unrejectable(self.bank, self.run_level) is not None:
                rule = "have `has_facts` beside `unrejectable`"
                remedy = "Its `facts` say `is_withheld` where nothing else is possible."
                raise MisuseError("judge", rule, Clause("it has none"), remedy)

    @property
    def run_level(self) -> float:
        """The level at which the judge decides: that of the protocol, or a smaller one if there is a cover."""
        return float(self.level) if self.cover is None else self.cover.level(self.level)

    @property
    def checked_bank(self) -> Bank:
        """The bank; a protocol for a judge of one's own may have none."""
        if self.bank is None:
            raise MisuseError("protocol", "have a bank and streams", Clause("it has neither"))
        return self.bank

    @property
    def is_complex(self) -> bool:
        """True if elements hold pairs (Re, Im)."""
        return any(plan.law.is_complex for plan in self.streams.values())

    def check_level(self, judge: Judge) -> None:
        """Refuse a judge that decides at another level than that of the run."""
        if judge.level is not None and judge.level != self.run_level:
            raise MisuseError("judge", f"decide at the level {self.run_level!r} of the protocol", judge.level)

    def propose(self, name: str, table: NDArray[np.generic]) -> ProposedStream:
        """Split the rows of one stream and read those that propose; `read` takes the result in place of the table.

        They are scored under every law of the bank if need be, and choose the opponent.
        Nothing here depends on the rows of the other streams, or on question, policy, level, budget and judge, so it
        serves any number of readings, also of protocols that differ in these; its rows are scored once for all.
        """
        if self.bank is None or name not in self.streams:
            raise MisuseError("name", f"be one of the streams {tuple(self.streams)}", repr(name))
        bank = self.bank
        plan = self.streams[name]
        split = self.split(name, len(table))
        law = plan.law.completed(bank)
        stops = plan.stops(len(split.held_out))
        rows = None
        best = None
        opponent = None
        plausibility = None
        if len(split.proposal):
            rows = HashedRows(name, ArrayRows(table, split.proposal))
            opponent = law.own_opponent(rows)
            is_own = opponent is not None
            if is_own and plan.opponent == "free":
                raise MisuseError(
                    "opponent", "be left out where a law off the bank is proposed already", Clause("it is 'free'")
                )
            if not is_own or self.ranks:
                proposal = law.proposed(bank, rows)
                plausibility = proposal.plausibility
            if not is_own:
                best, key = best_explanation(proposal.stream, bank.size, law.keys(bank), scores=proposal.scores)
                (opponent,) = opponents_of(law, bank, proposal, key, plan.opponent)
        return ProposedStream(self, name, plan, bank, law, table, split, rows, stops, best, opponent, plausibility)

    def split(self, name: str, n_rows: int) -> SplitRows:
        """Which of so many rows of a stream propose; none where its judge needs none."""
        plan = self.streams[name]
        seed = SeedSequence(self.seed)
        if not self.judge.splits(plan.law):
            return undivided_rows(n_rows)
        if len(self.streams) > 1:
            seed = seed.spawn(len(self.streams))[[*self.streams].index(name)]
        return split_rows(n_rows, plan.fraction, seed)

    def read(self, **tables: NDArray[np.generic] | ProposedStream) -> "Seal":
        """Split the rows, propose, and freeze; held-out rows stay unread until the seal is asked for its judge.

        tables: (n, width) for each stream, arrays or memory maps; or what `propose` made of one.
        """
        bank = self.checked_bank
        parts = self._parts(tables)
        scores = [part.plausibility for part in parts if part.plausibility is not None]
        plausibility = sum(scores, np.zeros(bank.size)) if len(scores) == len(parts) else None
        best = {part.name: part.best for part in parts if part.best is not None}
        points = {part.name: part.opponent for part in parts if part.best is None and part.opponent is not None}
        # Deployment knows most about what is active now, so the last stream comes first.
        proposals = Proposals(tuple(reversed(best.values())), plausibility)
        judge = described("judge", self.judge.encode())
        return self._sealed(Proposed(best, points, proposals), bank.size, judge, parts, None)

    def opened(self, **tables: NDArray[np.generic] | ProposedStream) -> Judge:
        """Open the judge that `read` would seal, without the content of a seal: a map hashes its protocol once."""
        return self.judge.open(self.held_out(self._parts(tables)))

    def _parts(self, tables: Mapping[str, NDArray[np.generic] | ProposedStream]) -> tuple[ProposedStream, ...]:
        """Return what each table proposes, in the order of the streams."""
        if self.bank is None or {*tables} != {*self.streams} or not tables:
            raise MisuseError("tables", f"be given for the streams {tuple(self.streams)}", tuple(tables))
        parts: list[ProposedStream] = []
        for name in self.streams:
            table = tables[name]
            if not isinstance(table, ProposedStream):
                table = self.propose(name, table)
            elif not self.proposes_like(table.protocol) or table.name != name:
                rule = "be proposed by this protocol for this stream, or by one of its bank, streams and seed"
                raise MisuseError(name, rule, Clause(f"{table.name} was made by another"))
            parts.append(table)
        return tuple(parts)

    def held_out(self, parts: tuple[ProposedStream, ...]) -> Sealed:
        """Return the inputs of the judge."""
        streams = (
            SealedStream(
                part.name, part.held_out, part.law, part.law.keys(self.checked_bank), partial(getattr, part, "factor")
            )
            for part in parts
        )
        return Sealed(self.checked_bank, self.run_level, tuple(streams), self.seed)

    def freeze(self, judge: Judge, proposals: Proposals | None = None) -> "Seal":
        """Freeze a protocol whose verdicts come from a judge of one's own; its data are not part of the report."""
        if self.streams:
            remedy = "Give the protocol its specification instead, judge=..., and read the streams."
            raise MisuseError("judge", "come without streams, which have one", tuple(self.streams), remedy)
        _check_writes(judge)
        self.check_level(judge)
        suggested = proposals or Proposals()
        suggested.check_size(judge.size)
        content = described("judge", judge.encode())
        return self._sealed(Proposed({}, {}, suggested), judge.size, content, (), judge)

    def proposes_like(self, other: "AnalysisProtocol") -> bool:
        """True if another protocol would propose the same of any rows: bank, streams, seed and ranks are its own."""
        return other is self or (
            (other.bank, other.seed, other.ranks) == (self.bank, self.seed, self.ranks)
            and [*other.streams.items()] == [*self.streams.items()]
        )

    def _sealed(
        self,
        proposed: Proposed,
        size: int,
        judge: dict[str, object],
        parts: tuple[ProposedStream, ...],
        opened: Judge | None,
    ) -> "Seal":
        question = self.question(proposed) if callable(self.question) else self.question
        check_question(question, size)
        question.check_bank(self.bank)
        check_thresholds(question, parts, self.cover)
        policy = self.policy(proposed) if callable(self.policy) else self.policy
        plausibility = proposed.proposals.plausibility
        content: dict[str, object] = {
            "bank": None if self.bank is None else self.bank.digest,
            "size": size,
            "question": described("question", question.describe()),
            "level": self.run_level,
            "judge": judge,
            "seed": int(self.seed),
            "streams": [part.describe() for part in parts],
            "proposals": list(proposed.proposals.explanations),
            "plausibility": None if plausibility is None else rows_hash([plausibility[:, None]], (size, 1)),
            "policy": described("policy", policy.describe()),
            "budget": budget_queries(self.budget, size),
            "until_witnessed": bool(self.until_witnessed),
            "stop": self.stop,
        }
        if self.cover is not None:
            check_cover(self.cover, self.bank, [(part.law, len(part.table)) for part in parts])
            content["cover"] = described("cover", {"asked": float(self.level)} | self.cover.encode())
        if self.window is not None:
            content["window"] = described("window", self.window)
        if not self.at_errors:
            content["at_errors"] = False
        return Seal(self, content, content_hash(content), question, policy, proposed, parts, opened)


@final
@dataclass(frozen=True, eq=False)  # no slots: the judge is made when first asked for
class Seal:
    """A frozen protocol: its content and hash, made before any held-out row was read, and all that a run needs."""

    protocol: AnalysisProtocol = field(repr=False)
    content: dict[str, object] = field(repr=False)
    digest: str
    question: Question = field(repr=False)
    policy: Policy = field(repr=False)
    proposed: Proposed = field(repr=False)
    parts: tuple[ProposedStream, ...] = field(repr=False)  # of each stream, in their order
    _judge: Judge | None = field(repr=False)

    @property
    def judge(self) -> Judge:
        """The judge that decides; its first use reads held-out rows."""
        return self._cache.judge

    @property
    def evidence(self) -> Evidence:
        """The evidence of the held-out rows of all streams, whoever judges; reads them."""
        if not self.parts:
            raise MisuseError("protocol", "have streams, of which there is evidence", Clause("it has none"))
        return self._held_out.evidence

    def verdicts(self) -> Verdicts:
        """Verdicts (M,) on the whole bank, to compare a run with; what a run asks for does not depend on them."""
        return self._cache.verdicts(np.arange(self._cache.size))

    @cached_property
    def data(self) -> dict[str, str]:
        """SHA-256 of each stream's held-out rows in their order; reads them."""
        return {part.name: part.held_out.digest() for part in self.parts}

    def run(self, *, callback: Callback | None = None) -> Trace:
        """Ask as the protocol says."""
        return run(
            self.judge,
            self.question,
            self.policy,
            self.protocol.budget,
            proposals=self.proposed.proposals,
            callback=callback,
            until_witnessed=self.protocol.until_witnessed,
            stop=self.protocol.stop,
            digests=(("protocol", self.digest),),
            cache=self._cache,
        )

    def resume(
        self, trace: Trace, budget: int | float | Fraction | None = None, *, callback: Callback | None = None
    ) -> Trace:
        """Go on with a run of this protocol, with its own judge; the budget is that of the protocol unless given."""
        self.check_trace(trace)
        allowed = self.protocol.budget if budget is None else budget
        suggested = self.proposed.proposals
        judge = self.judge
        cache = self._cache
        return continue_run(trace, judge, self.policy, allowed, proposals=suggested, callback=callback, cache=cache)

    def check_trace(self, trace: Trace) -> None:
        """Refuse a trace of another protocol, or with verdicts that are not those of the judge.

        The judge is asked only for verdicts that it has not given before.  Codes must be equal.  Margins need only
        overlap: both pairs of bounds are proven, and either may be the tighter one.
        """
        if dict(trace.digests).get("protocol") != self.digest:
            raise MisuseError("trace", f"come from a run of the protocol {self.digest}", dict(trace.digests))
        question = trace.question
        size = self._cache.size
        if question is not self.question and described("question", question.describe()) != self.content["question"]:
            raise MisuseError("trace", "come from a run of this question", Clause("it is the trace of another"))
        if size != trace.size:
            raise MisuseError("trace", f"be about the {size} explanations of the judge", trace.size)
        again = self._cache.verdicts(trace.queries)
        is_apart = np.maximum(trace.verdicts.lower, again.lower) > np.minimum(trace.verdicts.upper, again.upper)
        wrong = np.flatnonzero((again.codes != trace.codes) | is_apart)
        if wrong.size:
            other = f"another on explanation {trace.queries[wrong[0]]}"
            raise MisuseError("trace", "hold the verdicts of the judge", other)

    def contradiction(self) -> dict[str, object] | None:
        """Return what each of several streams keeps by itself; reads their rows.  None if there are fewer than two."""
        return contradiction(self.protocol.judge, self._held_out) if self.parts else None

    @cached_property
    def _cache(self) -> VerdictCache:
        """The verdicts of the judge, each asked for once."""
        if self._judge is not None:
            return VerdictCache(self._judge)
        judge = self.protocol.judge.open(self._held_out)
        size = self._held_out.size
        if judge.size != size:
            raise MisuseError("judge", f"decide about the {size} explanations of the bank", judge.size)
        self.protocol.check_level(judge)
        return VerdictCache(judge)

    @cached_property
    def _held_out(self) -> Sealed:
        return self.protocol.held_out(self.parts)


def _check_writes(judge: object) -> None:
    """Refuse what cannot write itself into a protocol, such as judges that are asked directly."""
    if not isinstance(judge, Judge | JudgeSpec):
        raise MisuseError("judge", "write itself into the protocol (encode)", type(judge).__name__, "Ask it directly.")


# Names of policies in project files and in the estimator.
PolicyName: TypeAlias = Literal["regional", "endpoints", "fixed", "random", "farthest"]
POLICIES: tuple[PolicyName, ...] = get_args(PolicyName)


def named_policy(
    name: PolicyName | None, question: Question | Callable[[Proposed], Question], seed: int
) -> Policy | Callable[[Proposed], Policy]:
    """The policy of that name for a question, or its usual one; seed: that of the split, which a random order shares.

    A question that is a function of what was proposed gets a policy that is such a function.
    """
    if name is not None and name not in POLICIES:
        raise MisuseError("policy", f"be a policy, a function of what was proposed, or one of {POLICIES}", repr(name))
    if callable(question):
        return lambda proposed: cast(Policy, named_policy(name, question(proposed), seed))
    chosen = name or question.policies[0]
    if chosen not in question.policies:
        *others, last = question.policies
        raise MisuseError("policy", f"be {', '.join(others)} or {last} for this question", repr(name))
    if chosen == "farthest":
        title, distances = question.farness()
        return FarthestFirst(distances, title)
    if chosen == "random":
        return RandomOrder(seed)
    plain: dict[str, type[Policy]] = {"regional": RegionalPolicy, "endpoints": EndpointPolicy, "fixed": FixedOrder}
    return plain[chosen]()
