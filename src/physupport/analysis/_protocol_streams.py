"""How held-out rows of one kind are to be scored, decided before any of them is read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from .._arrays import read_only
from .._checks import check_count, check_open
from .._errors import MisuseError
from .._typing import IntArray
from ..judges import check_checkpoints, doubling_checkpoints
from ..laws import Law, make_law


@final
@dataclass(frozen=True, slots=True, eq=False, init=False)
class StreamPlan:
    """Rows of one kind: their law, the share that proposes, and the checkpoints of the rest.

    law: one of `physupport.laws`, or its name with its options, as in StreamPlan("mean", 0.5, noises=[0.5]).
    checkpoints: prefix lengths; None doubles from `first` on.
    """

    law: Law
    fraction: float
    first: int
    checkpoints: IntArray | None

    def __init__(
        self,
        law: str | Law,
        fraction: float,
        *,
        first: int = 128,
        checkpoints: Sequence[int] | IntArray | None = None,
        **options: object,
    ) -> None:
        made = make_law(law, options) if isinstance(law, str) else law
        if made is law and options:
            raise MisuseError(next(iter(options)), "be given to the law itself", repr(law))
        object.__setattr__(self, "law", made)
        object.__setattr__(self, "fraction", check_open("fraction", fraction, 0.0, 1.0))
        object.__setattr__(self, "first", check_count("first", first))
        # A copy: a plan must stay what it was when a protocol was frozen.
        object.__setattr__(self, "checkpoints", None if checkpoints is None else read_only(np.asarray(checkpoints)))

    def stops(self, n_held_out: int) -> IntArray:
        """(c,) checkpoints for this many held-out rows."""
        if self.checkpoints is None:
            return doubling_checkpoints(n_held_out, self.first)
        return check_checkpoints(self.checkpoints, n_held_out)
