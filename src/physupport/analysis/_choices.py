"""What the parameters of the estimator mean, checked."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from .._checks import check_count, check_instance, check_number, check_open
from .._errors import MisuseError
from ..aeb import EndpointPolicy, FarthestFirst, FixedOrder, Policy, RandomOrder, RegionalPolicy, budget_queries
from ..banks import Bank, Library, bank_regions, library_bank
from ..judges import JudgeSpec, make_judge
from ..laws import law_named
from ..questions import Predicates, Question, RegionalMap, RegionRule, predicates
from ._plans import StreamPlan
from ._policy_names import POLICIES, PolicyName
from ._protocol import AnalysisProtocol, Proposed


def _farthest(question: Predicates, _: int) -> Policy:
    farness = question.farness()
    return FarthestFirst(farness.distances, farness.name)


# seed: that of the split, which a random order takes as well.
_MAKERS: Mapping[PolicyName, Callable[[Predicates, int], Policy]] = {
    "regional": lambda _, __: RegionalPolicy(),
    "endpoints": lambda _, __: EndpointPolicy(),
    "fixed": lambda _, __: FixedOrder(),
    "random": lambda _, seed: RandomOrder(seed),
    "farthest": _farthest,
}


def check_policy_name(name: str) -> None:
    """One of the names."""
    if name not in POLICIES:
        raise MisuseError("policy", f"be a policy, a function of what was proposed, or one of {POLICIES}", repr(name))


def named_policy(
    name: PolicyName | None, question: Question | Callable[[Proposed], Question], seed: int
) -> Policy | Callable[[Proposed], Policy]:
    """The policy of that name for a question, or its usual one; seed: that of the split.

    Of a question that is a function of what was proposed, such a function.
    """
    if name is not None:
        check_policy_name(name)
    if not callable(question):
        return _made(name, question, seed)
    return lambda proposed: _made(name, question(proposed), seed)


def _made(name: PolicyName | None, question: Question, seed: int) -> Policy:
    answers = predicates(question)
    chosen = answers.policies[0] if name is None else name
    check_policy_name(chosen)
    if chosen not in answers.policies:
        *others, last = answers.policies
        raise MisuseError("policy", f"be {', '.join(others)} or {last} for this question", repr(name))
    return _MAKERS[chosen](answers, seed)  # type: ignore[index]  # just checked


AnyQuestion = Question | Callable[[Proposed], Question]

# The share of the rows that propose where only the kind of a stream is given.
HALF = 0.5


def chosen_bank(
    bank: Bank | Library,
    supports: Sequence[Sequence[str]] | None,
    strengths: Mapping[str, float | Sequence[float]] | None,
) -> Bank:
    """The bank given, or the one that a library makes."""
    check_instance("bank", bank, (Bank, Library))
    if isinstance(bank, Bank):
        for name, value in {"supports": supports, "strengths": strengths}.items():
            if value is not None:
                raise MisuseError(name, "be None where a whole bank is given, which has its own", repr(value))
        return bank
    if supports is not None and not len(supports):
        raise MisuseError("supports", "hold at least one list of regions that may be active together", "none")
    names = bank.region_names
    return library_bank(
        bank, [names] if supports is None else supports, dict.fromkeys(names, 1.0) if strengths is None else strengths
    )


def chosen_question(question: object, bank: Bank) -> AnyQuestion:
    """A question about the bank; functions are asked when there is something proposed."""
    if question is None:
        return RegionalMap(bank_regions(bank))
    if isinstance(question, Mapping):
        rules = {
            name: rule if isinstance(rule, RegionRule) else RegionRule(check_number(f"question[{name!r}]", rule))
            for name, rule in question.items()
        }
        return _answerable(RegionalMap(bank_regions(bank), rules))
    if callable(question):
        return _Later(question, bank)
    if all(hasattr(question, name) for name in ("begin", "reference", "describe")):
        return _answerable(question)  # type: ignore[arg-type]  # the contract is one of methods, just looked for
    raise MisuseError("question", "be a question, rules by region, a function or None", repr(question))


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Later:
    """A function of what was proposed, which may return all that the parameter itself may be."""

    function: Callable[[Proposed], object]
    bank: Bank

    def __call__(self, proposed: Proposed) -> Question:
        made = chosen_question(self.function(proposed), self.bank)
        if callable(made):
            raise MisuseError("question", "be a function that returns a question, rules by region or None", "another")
        return made


def _answerable(question: Question) -> Question:
    for fault in predicates(question).unanswerable():
        raise MisuseError(f"{fault.entry} of question[{fault.region!r}]", fault.rule, fault.value)
    return question


def chosen_plan(name: str, chosen: str | StreamPlan | None, is_complex: bool) -> StreamPlan | None:
    """The plan of a stream, by the name of its law if need be."""
    if chosen is None:
        return None
    check_instance(name, chosen, (str, StreamPlan))
    # A law of real rows refuses complex ones when it meets them, and says why.
    plan = (
        StreamPlan(chosen, HALF, is_complex=is_complex and not law_named(chosen).why_real)
        if isinstance(chosen, str)
        else chosen
    )
    if plan.law.part != name:
        raise MisuseError(name, f"be the plan of a {name} stream", repr(plan.law.name))
    return plan


def chosen_protocol(params: Mapping[str, Any], bank: Bank, question: AnyQuestion, is_complex: bool) -> AnalysisProtocol:
    """The protocol of the estimator's parameters, with errors in its words; laws are made here to be refused early."""
    plans = {name: chosen_plan(name, params[name], is_complex) for name in ("calibration", "deployment")}
    streams = {name: plan for name, plan in plans.items() if plan is not None}
    policy: Policy | Callable[[Proposed], Policy] | PolicyName | None = params["policy"]
    seed, budget = params["random_state"], params["budget"]
    if policy is None or isinstance(policy, str):
        policy = named_policy(policy, question, seed)
    if not streams:
        raise MisuseError("calibration and deployment", "not both be None", "no rows at all")
    level = check_open("alpha", params["alpha"], 0.0, 1.0)
    budget_queries(budget, bank.size)
    for plan in streams.values():
        plan.law.completed(bank)
    seed, stop = check_count("random_state", seed, 0), params["stop"]
    judge = chosen_judge(params["judge"], streams)
    return AnalysisProtocol(question, policy, level, budget, bank, streams, seed, stop=stop, judge=judge)


def chosen_judge(judge: str | JudgeSpec | None, streams: Mapping[str, StreamPlan]) -> JudgeSpec:
    """The judge given, or by its name, or the usual one of the last stream, which is the deployment if there is one."""
    usual = [plan.law.own_judge for plan in streams.values()][-1]
    return make_judge(judge or usual, {}) if judge is None or isinstance(judge, str) else judge
