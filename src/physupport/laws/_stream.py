"""The contract of a stream: rows and the densities that may have made them, scored with a proven error."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, final

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_count, check_whole
from .._errors import Clause, MisuseError
from .._typing import Array, IntArray
from ..io import RowSource

if TYPE_CHECKING:
    from flint import arb


@final
@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Log likelihoods of k keys at c checkpoints, each within its error of the exact real number.

    Exact means: of the stored float64 rows and parameters, in real arithmetic.
    """

    values: Array  # (k, c)
    errors: Array  # (k, c), nonnegative

    def __post_init__(self) -> None:
        if self.values.shape != self.errors.shape or self.values.ndim != 2:
            rule = "have one shape (keys, checkpoints)"
            raise MisuseError("values and errors", rule, (self.values.shape, self.errors.shape))


class Stream(Protocol):
    """Rows and the densities that may have made them, one density a key.

    Adding up log densities over the first t rows for every checkpoint t is all that the evidence needs of the data.
    """

    @property
    def checkpoints(self) -> IntArray:
        """(c,) increasing prefix lengths at which the rows are looked at."""

    @property
    def n_keys(self) -> int:
        """Keys are 0 .. n_keys - 1."""

    @property
    def is_density(self) -> bool:
        """True if a key scores a density; a supremum of densities may only be a denominator of evidence."""

    def log_likelihood(self, keys: IntArray) -> Scores:
        """Prefix log likelihoods of a batch of distinct keys, in the order given."""

    def enclosure(self, key: int, bits: int) -> "list[arb]":
        """The same of one key in ball arithmetic, one ball a checkpoint; slow, and as tight as the bits allow."""


def check_checkpoints(checkpoints: ArrayLike, n_rows: int) -> IntArray:
    """Given prefix lengths, positive, increasing and within the rows."""
    lengths = check_whole("checkpoints", checkpoints)
    n = check_count("n_rows", n_rows)
    if len(lengths) == 0:
        raise MisuseError("checkpoints", "hold at least one prefix length", Clause("there is none"))
    if lengths[0] < 1:
        raise MisuseError("checkpoints", "be positive", f"{lengths[0]}")
    if np.any(np.diff(lengths) <= 0):
        raise MisuseError("checkpoints", "increase", lengths.tolist())
    if lengths[-1] > n:
        raise MisuseError("checkpoints", f"lie within the {n} rows", f"checkpoint {lengths[-1]}")
    return lengths


@final
@dataclass(frozen=True, slots=True, eq=False)
class MappedRows:
    """Rows computed from other rows, block by block."""

    rows: RowSource
    width: int  # entries of a row
    mapped: Callable[[Array], Array]  # (n, q) to (n, width)

    @property
    def n_rows(self) -> int:
        """As many as there are."""
        return self.rows.n_rows

    def blocks(self) -> Iterator[Array]:
        """As `RowSource` has them."""
        return map(self.mapped, self.rows.blocks())
