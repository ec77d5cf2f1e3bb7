"""Signals along axes, in blocks that are read, judged and written together."""

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import final

import numpy as np


@final
@dataclass(frozen=True, eq=False)  # no slots: counts are taken when first asked for
class Blocks:
    """Signals along axes (shape) in blocks of consecutive ones, each of which is one chunk of the arrays."""

    shape: tuple[int, ...]
    most: int  # signals of a block

    @cached_property
    def chunk(self) -> tuple[int, ...]:
        """Whole axes at the end, as many as there is room for, part of the one before, and 1 along the others."""
        chunk, room = [], self.most
        for length in reversed(self.shape):
            taken = min(length, max(room, 1))
            chunk.append(taken)
            room = room // length if taken == length else 0
        return tuple(reversed(chunk))

    @cached_property
    def grid(self) -> tuple[int, ...]:
        """Blocks along each axis."""
        return tuple(-(-length // size) for length, size in zip(self.shape, self.chunk, strict=True))

    def __len__(self) -> int:
        return prod(self.grid)

    def place(self, block: int) -> tuple[int, ...]:
        """Its place in the grid."""
        return tuple(int(i) for i in np.unravel_index(block, self.grid))

    def slices(self, block: int) -> tuple[slice, ...]:
        """The part of the axes that it covers."""
        return tuple(
            slice(i * size, min((i + 1) * size, length))
            for i, size, length in zip(self.place(block), self.chunk, self.shape, strict=True)
        )

    def range(self, block: int) -> tuple[int, int]:
        """The first of its signals, in the order of their axes, and the one after the last."""
        slices = self.slices(block)
        start = int(np.ravel_multi_index([part.start for part in slices], self.shape))
        return start, start + prod(part.stop - part.start for part in slices)

    def of(self, index: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
        """The block of a signal, and its place within."""
        place = tuple(i // size for i, size in zip(index, self.chunk, strict=True))
        within = tuple(i % size for i, size in zip(index, self.chunk, strict=True))
        return int(np.ravel_multi_index(place, self.grid)), within
