"""Policies by name, as parameters and project files give them."""

from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias, get_args

from .._errors import MisuseError
from ..aeb import EndpointPolicy, FarthestFirst, FixedOrder, Policy, RandomOrder, RegionalPolicy
from ..questions import Predicates, Question, predicates
from ._protocol import Proposed

PolicyName: TypeAlias = Literal["regional", "endpoints", "fixed", "random", "farthest"]

POLICIES: tuple[PolicyName, ...] = get_args(PolicyName)


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
    asked = predicates(question)
    chosen = asked.policies[0] if name is None else name
    check_policy_name(chosen)
    if chosen not in asked.policies:
        *others, last = asked.policies
        raise MisuseError("policy", f"be {', '.join(others)} or {last} for this question", repr(name))
    return _MAKERS[chosen](asked, seed)  # type: ignore[index]  # just checked
