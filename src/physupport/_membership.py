"""Sets given by inequalities: which of them a parameter meets, and by how much."""

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True, slots=True)
class Condition:
    """One inequality ``value <= bound`` and by how much it is met (positive slack) or missed (negative slack)."""

    name: str
    value: float
    bound: float

    @property
    def slack(self) -> float:
        """Bound minus value."""
        return self.bound - self.value

    @property
    def holds(self) -> bool:
        """True if the inequality is met; equality counts, the shell is closed."""
        return self.value <= self.bound


@final
@dataclass(frozen=True, slots=True)
class Membership:
    """The inequalities of a set, each with the value that a parameter has there."""

    conditions: tuple[Condition, ...]

    @property
    def inside(self) -> bool:
        """True if every inequality is met."""
        return all(condition.holds for condition in self.conditions)

    @property
    def violated(self) -> tuple[str, ...]:
        """Names of the inequalities that are missed."""
        return tuple(condition.name for condition in self.conditions if not condition.holds)
