"""Grids of what must be known to compute with but is not asked about: activities, noise variances."""

from dataclasses import dataclass, field
from math import prod
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from .._arrays import check_indices
from .._checks import check_array, check_distinct, check_texts
from .._codec import array_json
from .._errors import MisuseError
from .._hashes import Record
from .._typing import Array
from ._states import check_distinct_rows, check_size, frozen


@final
@dataclass(frozen=True, slots=True, eq=False)
class Nuisances:
    """Named parameters in a finite number of distinct settings; without names there is one setting.

    >>> Nuisances(("p", "noise"), np.array([[0.2, 1.0], [0.3, 1.0]])).setting(1)
    {'p': 0.3, 'noise': 1.0}
    """

    names: tuple[str, ...] = ()
    values: Array = field(default_factory=lambda: np.zeros((1, 0)))  # (m, number of names)

    def __post_init__(self) -> None:
        names = check_texts("names", self.names)
        check_distinct("names", names)
        values = frozen(check_array("values", self.values, (None, len(names))))
        if not len(values):
            raise MisuseError("values", "hold at least one setting", "none")
        check_distinct_rows("values", values, "settings", "in row")
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "values", values)

    def __len__(self) -> int:
        return len(self.values)

    def column(self, name: str) -> Array:
        """(m,) one parameter in every setting."""
        if name not in self.names:
            raise MisuseError("name", f"be one of {self.names}", repr(name))
        return self.values[:, self.names.index(name)]

    def setting(self, index: int) -> dict[str, float]:
        """One setting by name."""
        row = self.values[int(check_indices("index", index, len(self))[0])]
        return dict(zip(self.names, row.tolist(), strict=True))

    def records(self) -> list[Record]:
        """Names and values, for the hash of a bank."""
        return [("names", self.names), ("values", self.values)]

    def encode(self) -> dict[str, object]:
        """The same for a document."""
        return {"names": list(self.names), "values": array_json(self.values)}


# Combinations of nuisances: more are refused before one is made.
MOST_SETTINGS = 2**22


def product_grid(**axes: ArrayLike) -> Nuisances:
    """Every combination of the given values, the first name slowest.

    >>> product_grid(p=[0.2, 0.3], noise=[0.9, 1.0]).values.tolist()
    [[0.2, 0.9], [0.2, 1.0], [0.3, 0.9], [0.3, 1.0]]
    """
    columns = [check_array(name, np.atleast_1d(np.asarray(values)), (None,)) for name, values in axes.items()]
    check_size("settings", prod(map(len, columns)), MOST_SETTINGS)
    mesh = np.meshgrid(*columns, indexing="ij")
    rows = np.column_stack([axis.ravel() for axis in mesh]) if mesh else np.zeros((1, 0))
    return Nuisances(tuple(axes), rows)
