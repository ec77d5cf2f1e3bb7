"""What policies are called in project files and by the estimator."""

from typing import Literal, TypeAlias, get_args

PolicyName: TypeAlias = Literal["regional", "endpoints", "fixed", "random", "farthest"]

POLICIES: tuple[PolicyName, ...] = get_args(PolicyName)
