# decay_response.py
from dataclasses import dataclass

import numpy as np

from physupport.responses import Array, Positive, register


@register("decay")
@dataclass(frozen=True)
class Decay:
    """Answers exp(-rate x t) at times t; the parameters are keys of the project file."""

    times: Array
    rate: Positive = 1.0

    def __call__(self, places):  # (E, d) -> (q, E)
        return np.exp(-self.rate * np.asarray(self.times)[:, None] * places[:, 0])
