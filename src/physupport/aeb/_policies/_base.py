"""The contract of a policy: which explanation to ask about next."""

from dataclasses import dataclass, field
from typing import Protocol, final

import numpy as np
from numpy.typing import ArrayLike

from ..._arrays import read_only
from ..._checks import check_array, check_count
from ..._errors import MisuseError
from ..._hashes import pieces_hash
from ..._typing import Array
from ...questions import Progress, Question, predicates
from .._trace import Brackets


@final
@dataclass(frozen=True, slots=True, eq=False)
class Proposals:
    """What the proposal part of the data suggests, found before any held-out row is read.

    explanations: the best first.  plausibility: (M,), larger is more likely to be admissible, such as the log
    likelihood of the proposal rows.
    """

    explanations: tuple[int, ...] = ()
    plausibility: Array | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "explanations", tuple(check_count("explanations", e, 0) for e in self.explanations))
        if self.plausibility is not None:
            plausibility = check_array("plausibility", self.plausibility, (None,))
            object.__setattr__(self, "plausibility", read_only(plausibility))

    def check_size(self, size: int) -> None:
        """That they speak of a bank of this size."""
        if any(e >= size for e in self.explanations):
            raise MisuseError("explanations", f"lie between 0 and {size - 1}", self.explanations)
        if self.plausibility is not None and len(self.plausibility) != size:
            raise MisuseError("plausibility", f"have shape ({size},)", f"shape {self.plausibility.shape}")


@final
@dataclass(frozen=True, slots=True, eq=False)
class RunView:
    """All that a policy may look at: the question, proposal data, and the verdicts so far.

    There is no way from here to held-out data, and none to the budget: so a prefix of a trace is what a smaller
    budget would have given.
    """

    question: Question
    progress: Progress
    brackets: Brackets
    proposals: Proposals = field(default_factory=Proposals)


def check_listed(run: RunView, policy: str, kind: str) -> None:
    """Refuse a question that does not list a policy among its own: it lacks what the policy looks at."""
    if policy not in predicates(run.question).policies:
        raise MisuseError("question", f"be a {kind}", type(run.question).__name__)


class Selector(Protocol):
    """A policy at work in one run."""

    def choose(self) -> int | None:
        """An unqueried explanation, or None to stop; asked again without a verdict in between, the same."""

    def observe(self, e: int, code: int) -> None:
        """The verdict on an explanation, after brackets and question have taken note of it."""


class Policy(Protocol):
    """A rule fixed before held-out data are read; ties are broken by the lowest index."""

    def begin(self, run: RunView) -> Selector:
        """Start on a run in which nothing has been asked."""

    def describe(self) -> dict[str, object]:
        """All that defines the policy, as JSON can hold it; a protocol hashes it."""


def content_digest(*arrays: ArrayLike) -> str:
    """SHA-256 over arrays of whole numbers, little-endian and with their shapes."""
    fixed = [np.asarray(array, dtype=np.int64) for array in arrays]
    return pieces_hash(*(piece for array in fixed for piece in (repr(array.shape), array)))
