"""Draws that depend on the seed alone: the raw bits of PCG64, and inverse distribution functions."""

from typing import Any

import numpy as np
from numpy.random import PCG64, SeedSequence
from numpy.typing import NDArray
from scipy.special import gammaincinv, ndtri

from ..._typing import Array

# What the draws are for: no two share bits.
RIVALS, OUTSIDERS, SPECTRA = 0, 1, 2


class Draws:
    """A stream of draws; the stream of raw bits is fixed for all versions of numpy, unlike its normal numbers."""

    def __init__(self, seed: int, purpose: int) -> None:
        self._bits = PCG64(SeedSequence([seed, purpose]))

    def uniform(self, shape: tuple[int, ...]) -> Array:
        """Within (0, 1), both excluded, on the midpoints of 2^53 cells, above 1/2 as far as doubles have them."""
        raw = np.asarray(self._bits.random_raw(int(np.prod(shape, dtype=np.int64))), dtype=np.uint64)
        midpoints = (raw >> np.uint64(11)).astype(np.float64) + 0.5
        return np.minimum(midpoints * 2.0**-53, 1.0 - 2.0**-53).reshape(shape)  # the last would be rounded up to 1

    def normal(self, shape: tuple[int, ...]) -> Array:
        """Standard normal numbers."""
        return np.asarray(ndtri(self.uniform(shape)))

    def chi_square(self, degrees: Array | float, shape: tuple[int, ...]) -> Array:
        """Chi-square numbers; of 0 degrees 0."""
        half = np.broadcast_to(np.asarray(degrees, dtype=np.float64) / 2.0, shape)
        drawn = gammaincinv(np.maximum(half, 0.5), self.uniform(shape))
        return np.where(half > 0.0, 2.0 * drawn, 0.0)

    def field_normal(self, shape: tuple[int, ...], is_complex: bool) -> NDArray[Any]:
        """Normal numbers of variance 1 in every real coordinate, real and imaginary part alike."""
        if not is_complex:
            return self.normal(shape)
        return self.normal(shape) + 1j * self.normal(shape)

    def wishart_factor(self, count: int, size: int, degrees: int, is_complex: bool) -> NDArray[Any]:
        """(count, size, k) matrices A with A A^H as the second moments of so many columns `field_normal` (Bartlett)."""
        if degrees < size:
            return self.field_normal((count, size, max(degrees, 0)), is_complex)
        drawn = np.tril(self.field_normal((count, size, size), is_complex), -1)
        freedom: Array = np.arange(degrees, degrees - size, -1, dtype=np.float64) * (2.0 if is_complex else 1.0)
        index = np.arange(size)
        drawn[:, index, index] = np.sqrt(self.chi_square(freedom, (count, size)))
        return drawn
