"""Rules that no data could answer: they are found before a run and not after it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from ._regional_map import RegionalMap


@final
@dataclass(frozen=True, slots=True)
class Unanswerable:
    """An entry of the rule of a region that makes its answer known beforehand, in the words of a `MisuseError`."""

    region: str
    entry: str  # asks or absence_threshold
    rule: str
    value: str


def unanswerable(question: RegionalMap) -> Iterator[Unanswerable]:
    """What is asked of regions although the bank alone decides it.

    A threshold that no explanation reaches makes ABSENT true whatever the data say.  Absence alone, asked of a region
    that every explanation has, as strong as the threshold, is never the answer.
    """
    for state in question.begin().states:
        region, name = state.region, state.region.name
        if region.threshold is not None and not state.reaching[1]:
            rule = f"be at most the largest strength of region {name}: above it, ABSENT is certain without any data"
            yield Unanswerable(name, "absence_threshold", rule, repr(region.threshold))
        is_strong = region.threshold is None or not state.reaching[0]
        if region.asks == {"absence"} and not state.possible[-1] and is_strong:
            rule = f"hold more than absence, which no data can show: every explanation has region {name}"
            yield Unanswerable(name, "asks", rule, "absence alone")
