"""The contract of a stream: held-out rows and a family of densities, scored with a proven error."""

from dataclasses import dataclass
from typing import Protocol, final

from flint import arb

from .._errors import MisuseError
from .._typing import Array, IntArray


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
        """Whether a key scores a density; a supremum of densities may only be a denominator of evidence."""

    def log_likelihood(self, keys: IntArray) -> Scores:
        """Prefix log likelihoods of a batch of distinct keys, in the order given."""

    def enclosure(self, key: int, bits: int) -> list[arb]:
        """The same of one key in ball arithmetic, one ball a checkpoint; slow, and as tight as the bits allow."""
