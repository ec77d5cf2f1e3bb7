"""Array types used across the package."""

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
Field = NDArray[Any]  # float64 or complex128

# What a registered response takes from a project file; whoever reads the file makes these into checks.
Positive = Annotated[float, "above 0"]
Count = Annotated[int, "at least 1"]
LineTable = Annotated[Array, "a file of lines"]  # (L, d + 2) place of the element, energy and intensity of each line
