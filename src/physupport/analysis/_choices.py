"""Parameters of the estimator: checks and meaning."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, TypeAlias, get_args

from .._checks import check_count, check_instance, check_number, check_open
from .._errors import MisuseError
from ..aeb import EndpointPolicy, FarthestFirst, FixedOrder, Policy, RandomOrder, RegionalPolicy, budget_queries
from ..banks import Bank, Library, bank_regions, library_bank
from ..judges import JudgeSpec, make_judge
from ..laws import law_named
from ..questions import Question, RegionalMap, RegionRule
from ._plans import StreamPlan
from ._protocol import AnalysisProtocol, Proposed

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
        return lambda proposed: _named_policy(name, question(proposed), seed)
    return _named_policy(name, question, seed)


def _named_policy(name: PolicyName | None, question: Question, seed: int) -> Policy:
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


AnyQuestion = Question | Callable[[Proposed], Question]

# The share of the rows that propose where only the kind of a stream is given.
HALF = 0.5


def chosen_bank(
    bank: Bank | Library,
    supports: Sequence[Sequence[str]] | None,
    strengths: Mapping[str, float | Sequence[float]] | None,
) -> Bank:
    """The bank given, or the one that a library makes."""
    check_instance("bank", bank, Bank, Library)
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
    match question:
        case None:
            return RegionalMap(bank_regions(bank))
        case Mapping():
            rules = {
                name: rule if isinstance(rule, RegionRule) else RegionRule(check_number(f"question[{name!r}]", rule))
                for name, rule in question.items()
            }
            return _answerable(RegionalMap(bank_regions(bank), rules))
        case Question():
            return _answerable(question)
    if callable(question):
        return partial(_later_question, question, bank)
    raise MisuseError("question", "be a question, rules by region, a function or None", repr(question))


def _later_question(function: Callable[[Proposed], object], bank: Bank, proposed: Proposed) -> Question:
    """The question that a function makes of what was proposed, given as the parameter itself may be."""
    made = chosen_question(function(proposed), bank)
    if callable(made):
        raise MisuseError("question", "be a function that returns a question, rules by region or None", "another")
    return made


def _answerable(question: Question) -> Question:
    for region, entry, rule, value in question.unanswerable():
        raise MisuseError(f"{entry} of question[{region!r}]", rule, value)
    return question


def chosen_plan(name: str, chosen: str | StreamPlan | None, is_complex: bool) -> StreamPlan | None:
    """The plan of a stream, by the name of its law if need be."""
    if chosen is None:
        return None
    check_instance(name, chosen, str, StreamPlan)
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
    if policy is None or isinstance(policy, str):
        policy = named_policy(policy, question, params["random_state"])
    if not streams:
        raise MisuseError("calibration and deployment", "not both be None", "no rows at all")
    level = check_open("alpha", params["alpha"], 0.0, 1.0)
    budget_queries(params["budget"], bank.size)
    for plan in streams.values():
        plan.law.completed(bank)
        usual = plan.law.own_judge  # that of the last stream, which is the deployment if there is one
    seed = check_count("random_state", params["random_state"], 0)
    judge: str | JudgeSpec = params["judge"] or usual
    return AnalysisProtocol(
        question,
        policy,
        level,
        params["budget"],
        bank,
        streams,
        seed,
        stop=params["stop"],
        judge=make_judge(judge, {}) if isinstance(judge, str) else judge,
    )
