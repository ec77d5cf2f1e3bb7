"""What the parameters of the estimator mean, checked."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from .._checks import check_count, check_instance, check_number, check_open
from .._errors import MisuseError
from ..aeb import (
    EndpointPolicy,
    FixedOrder,
    Policy,
    Proposed,
    Protocol,
    RegionalPolicy,
    StreamPlan,
    budget_queries,
)
from ..banks import Bank, Library, library_bank
from ..coarsen import Question, RegionalMap, RegionRule, Resolution
from ..project import bank_regions

AnyQuestion = Question | Callable[[Proposed], Question]
AnyPolicy = Policy | Callable[[Proposed], Policy]

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
        return RegionalMap(bank_regions(bank), rules)
    if callable(question) or all(hasattr(question, name) for name in ("begin", "reference", "describe")):
        return question  # type: ignore[return-value]  # the contract is one of methods, just looked for
    raise MisuseError("question", "be a question, rules by region, a function or None", repr(question))


def chosen_plan(name: str, given: str | StreamPlan | None, is_complex: bool) -> StreamPlan | None:
    """The plan of a stream, by its kind if need be."""
    if given is None:
        return None
    check_instance(name, given, (str, StreamPlan))
    plan = given if isinstance(given, StreamPlan) else None
    if plan is None:
        plan = StreamPlan(given, HALF, is_complex=is_complex)  # type: ignore[arg-type]  # the plan checks its kind
    if plan.is_calibration != (name == "calibration"):
        raise MisuseError(name, f"be the plan of a {name} stream", repr(plan.kind))
    return plan


def chosen_policy(policy: AnyPolicy | None, question: AnyQuestion) -> AnyPolicy:
    """The policy given, or the usual one for the kind of question."""
    if policy is not None:
        return policy
    if not callable(question):
        return _usual(question)
    return lambda proposed: _usual(question(proposed))


def _usual(question: Question) -> Policy:
    if isinstance(question, RegionalMap):
        return RegionalPolicy()
    return EndpointPolicy() if isinstance(question, Resolution) else FixedOrder()


def decided_protocol(
    bank: Bank,
    question: AnyQuestion,
    policy: AnyPolicy,
    streams: Mapping[str, StreamPlan],
    alpha: float,
    budget: int | float | Fraction,
    seed: int,
) -> Protocol:
    """The protocol, with errors in the words of the estimator; laws are made once here to be refused early."""
    if not streams:
        raise MisuseError("calibration and deployment", "not both be None", "no rows at all")
    level = check_open("alpha", alpha, 0.0, 1.0)
    budget_queries(budget, bank.size)
    for plan in streams.values():
        plan.law(bank)
    return Protocol(question, policy, level, budget, bank, streams, check_count("random_state", seed, 0))
