"""Rows of a linear law as a stream: one, or one for each block of channels, which then add up."""

from dataclasses import dataclass
from typing import ClassVar, final

from flint import arb

from ..._typing import IntArray
from ...io import RowSource
from .._design import Design
from .._opponents import Product, band_rows
from .._stream import Scores
from ._densities import SumStream
from ._linear import LinearStream


@final
@dataclass(frozen=True, slots=True, eq=False)
class BandedStream:
    """Rows of several blocks of channels, such as frequencies: each is scored for itself, and key by key they add up.

    The blocks are independent given the explanation, which has the same active elements in all of them, and in each
    its own coefficients and its own noise.
    """

    is_density: ClassVar[bool] = False

    blocks: tuple[LinearStream, ...]
    checkpoints: IntArray

    @property
    def n_keys(self) -> int:
        """Those of every block."""
        return self.blocks[0].n_keys

    def widened(self, error: float) -> "BandedStream":
        """The stream for responses that are right to within an error in every block."""
        return BandedStream(tuple(block.widened(error) for block in self.blocks), self.checkpoints)

    def opponent(self, keys: IntArray) -> Product:
        """An opponent of each block."""
        return Product(tuple(block.opponent(keys) for block in self.blocks))

    def log_likelihood(self, keys: IntArray) -> Scores:
        """(k, c) the sum over blocks."""
        return SumStream(self.blocks, self.checkpoints).log_likelihood(keys)

    def enclosure(self, key: int, bits: int) -> list[arb]:
        """The same in balls."""
        return SumStream(self.blocks, self.checkpoints).enclosure(key, bits)


def linear_stream(
    design: Design, rows: RowSource, checkpoints: IntArray, *, is_complex: bool, keeps_fits: bool = False
) -> LinearStream | BandedStream:
    """The rows under every key of a design, block by block where it has several."""
    parts = band_rows(rows, design.bands) if design.bands > 1 else (rows,)
    blocks = tuple(
        LinearStream(each, part, checkpoints, is_complex, {} if keeps_fits else None)
        for each, part in zip(design.of_bands() if design.bands > 1 else (design,), parts, strict=True)
    )
    return blocks[0] if len(blocks) == 1 else BandedStream(blocks, checkpoints)
