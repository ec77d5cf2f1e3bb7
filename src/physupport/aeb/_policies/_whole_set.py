"""A policy, and after it everything that it left possible without asking: the answer is a set."""

from typing import final

import numpy as np

from ..._typing import IntArray
from ._base import OrderSelector, Proposals, RunView, Selector


@final
class WholeSetSelector:
    """Chooses as a policy does until every label is certified or the policy wants nothing; then all that is left.

    What is left comes in order of plausibility.  It does not need the policy, which is not told of it.
    """

    __slots__ = ("_is_past", "_policy", "_rest", "_run", "_until_witnessed")

    def __init__(self, run: RunView, policy: Selector, until_witnessed: bool) -> None:
        self._run, self._policy, self._until_witnessed = run, policy, until_witnessed
        self._rest = OrderSelector(_plausible_first(run.proposals, run.brackets.size), run.brackets)
        self._is_past = False

    def choose(self) -> int | None:
        """None once everything was asked about."""
        if not self._is_past:
            e = None if self._is_certified() else self._policy.choose()
            if e is not None:
                return e
            self._is_past = True
        return self._rest.choose()

    def observe(self, e: int, code: int) -> None:
        """For the policy, as long as it chooses."""
        if not self._is_past:
            self._policy.observe(e, code)

    def _is_certified(self) -> bool:
        run = self._run
        return run.progress.is_certified and (run.brackets.n_witnessed > 0 or not self._until_witnessed)


def _plausible_first(proposals: Proposals, size: int) -> IntArray:
    """(M,) all explanations; where plausibility is not known, those proposed and then the others by index."""
    worth = proposals.plausibility
    if worth is None:
        worth = np.zeros(size)
        worth[list(proposals.explanations)] = 1.0
    return np.argsort(-worth, kind="stable")
