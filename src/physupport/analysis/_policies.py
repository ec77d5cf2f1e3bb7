"""Policies by name, as parameters and project files give them."""

from typing import Literal, TypeAlias, get_args

from .._errors import MisuseError
from ..aeb import FarthestFirst, FixedOrder, Policy, RandomOrder, RegionalPolicy, regional_distances
from ..questions import Question, RegionalMap

PolicyName: TypeAlias = Literal["regional", "fixed", "random", "farthest"]

POLICIES: tuple[PolicyName, ...] = get_args(PolicyName)


def check_policy_name(name: str) -> None:
    """One of the names."""
    if name not in POLICIES:
        raise MisuseError("policy", f"be a policy, a function of what was proposed, or one of {POLICIES}", repr(name))


def named_policy(name: PolicyName, question: Question, seed: int) -> Policy:
    """The policy of that name for a question; seed: that of the split, which a random order takes as well."""
    check_policy_name(name)
    if name == "fixed":
        return FixedOrder()
    if name == "random":
        return RandomOrder(seed)
    if not isinstance(question, RegionalMap):
        raise MisuseError("policy", "be fixed or random for a question that is no RegionalMap", repr(name))
    return RegionalPolicy() if name == "regional" else FarthestFirst(regional_distances(question), "regional")
