"""A baseline that spreads its queries over the bank without looking at verdicts."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from ..._errors import MisuseError
from ..._typing import Array
from .._brackets import Brackets
from ._base import RunView, Selector


@final
@dataclass(frozen=True, slots=True, eq=False)
class FarthestFirst:
    """Ask next about the explanation farthest from all asked so far; first about the proposal, else explanation 0.

    distances: explanation -> (M,), such as `question.farness().distances`.  A choice costs O(M).
    """

    distances: Callable[[int], Array]
    name: str = "distances"  # tells one set of distances from another

    def begin(self, run: RunView) -> Selector:
        """Nothing asked: everything is equally far."""
        first = run.proposals.explanations[0] if run.proposals.explanations else 0
        return _FarthestSelector(self.distances, first, run.brackets)

    def describe(self) -> dict[str, object]:
        """The kind and what the distances are called."""
        return {"policy": "farthest first", "distances": self.name}


@final
class _FarthestSelector:
    __slots__ = ("_brackets", "_distances", "_first", "_nearest")

    def __init__(self, distances: Callable[[int], Array], first: int, brackets: Brackets) -> None:
        self._distances, self._first, self._brackets = distances, first, brackets
        self._nearest = np.full(brackets.size, np.inf)  # to what was asked; -inf for what was asked itself

    def choose(self) -> int | None:
        if not self._brackets.n_queried:
            return self._first
        best = int(np.argmax(self._nearest))
        return None if self._nearest[best] == -np.inf else best

    def observe(self, e: int, code: int) -> None:  # noqa: ARG002
        away = self._distances(e)
        if away.shape != self._nearest.shape:
            raise MisuseError("distances", f"give shape {self._nearest.shape}", f"shape {away.shape}")
        np.minimum(self._nearest, away, out=self._nearest)
        self._nearest[e] = -np.inf
