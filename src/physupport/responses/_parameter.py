"""What calibration may have left open about an instrument."""

from dataclasses import dataclass, field
from typing import Final, final

import numpy as np

from .._arrays import read_only
from .._checks import check_array, check_count
from .._errors import MisuseError
from .._typing import Array

NAMES: Final = ("gain", "offset", "phase", "width", "position")
WITH_PATTERN: Final = ("gain", "phase")


@final
@dataclass(frozen=True, slots=True, eq=False)
class Parameter:
    r"""One unknown of the instrument and the values that it may take.

    | name | value v | what it does to the answer r | leaves it unchanged |
    |---|---|---|---|
    | gain | any | channel c times :math:`1 + v w_c` | 0 |
    | offset | any | adds v times the largest modulus of the element's answer to all channels | 0 |
    | phase | radians | channel c times :math:`e^{i v w_c}`; complex answers only | 0 |
    | width | above 0 | multiplies the width of a peak | 1 |
    | position | any | moves every element by v along one coordinate | 0 |

    The pattern w is one number for each channel, from -1 at the first to 1 at the last unless given.
    """

    name: str
    values: Array  # (k,) distinct
    pattern: Array | None = field(default=None, repr=False)  # (q,) of gain or phase
    coordinate: int = 0  # of position

    def __post_init__(self) -> None:
        if self.name not in NAMES:
            raise MisuseError("name", f"be one of {', '.join(map(repr, NAMES))}", repr(self.name))
        values = check_array(f"values of {self.name}", self.values, (None,))
        if values.size == 0 or len(np.unique(values)) < len(values):
            raise MisuseError(f"values of {self.name}", "be distinct, and at least one", values.tolist())
        if self.name == "width" and values.min() <= 0.0:
            raise MisuseError("values of width", "be factors above 0", values.min())
        check_count("coordinate", self.coordinate, 0)
        if self.name != "position" and self.coordinate != 0:
            raise MisuseError("coordinate", "be left out unless the name is 'position'", self.coordinate)
        if self.pattern is not None:
            if self.name not in WITH_PATTERN:
                raise MisuseError("pattern", "be left out unless the name is 'gain' or 'phase'", repr(self.name))
            object.__setattr__(self, "pattern", read_only(check_array("pattern", self.pattern, (None,))))
        object.__setattr__(self, "values", read_only(values))

    @property
    def label(self) -> str:
        """The name, and for positions along a later coordinate its number too."""
        return f"{self.name} {self.coordinate}" if self.coordinate else self.name

    def channel_pattern(self, n_channels: int) -> Array:
        """(q,) how much each channel takes part."""
        if self.pattern is None:
            return np.linspace(-1.0, 1.0, n_channels)
        return check_array(f"pattern of {self.name}", self.pattern, (n_channels,))
