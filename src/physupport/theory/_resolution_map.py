"""Attainable resolution over calibration size and coherence scale."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_array
from .._errors import MisuseError
from .._typing import Array
from ..geometry import Block, LocalDictionary
from ._planner import Design, block_information, block_scale, uncapped_diameter


@final
@dataclass(frozen=True, slots=True, eq=False)
class ResolutionMap:
    """Diameters relative to the block, one row a scale and one column a calibration size."""

    scales: Array  # (m,), s
    rows: Array  # (n,), N
    relative: Array  # (m, n), attainable diameter over block diameter, before capping at 1

    @property
    def frontier(self) -> float:
        """K of the line N s^6 = K on which calibration begins to resolve the block, as the median over the scales."""
        crossing = [self._crossing(row) * s**6 for s, row in zip(self.scales, self.relative, strict=True)]
        return float(np.median(crossing))

    def _crossing(self, row: Array) -> float:
        """N at which one row of the map falls to 1; the row falls like a power of N, so logs are interpolated."""
        return float(np.exp(np.interp(0.0, -np.log(row), np.log(self.rows))))


def resolution_map(design: Design, scales: ArrayLike, rows: ArrayLike) -> Iterator[tuple[float, Array]]:
    """Relative diameters scale by scale, so that a caller can show progress; collect them with `collect_map`.

    The design's block is shrunk or grown to each scale about its axis; everything else stays.
    """
    sizes = check_array("rows", rows, (None,))
    for s in check_array("scales", scales, (None,)):
        at_scale = replace(design, dictionary=_rescaled(design.dictionary, float(s)))
        information = block_information(at_scale, n_draws=40_000)
        block = at_scale.block_diameter
        relative = [
            uncapped_diameter(information, replace(at_scale, n_calibration=max(1, round(n)))) / block for n in sizes
        ]
        yield float(s), np.array(relative)


def collect_map(rows: ArrayLike, found: Iterator[tuple[float, Array]]) -> ResolutionMap:
    """The whole map from its rows."""
    scales, relative = zip(*found, strict=True)
    return ResolutionMap(np.array(scales), check_array("rows", rows, (None,)), np.array(relative))


def _rescaled(dictionary: LocalDictionary, scale: float) -> LocalDictionary:
    block, factor = dictionary.block, scale / block_scale(dictionary)
    reach = factor * float(np.linalg.norm(block.coordinates, axis=0).max())
    if reach >= 1.0:
        raise MisuseError("scales", "keep every atom within 1 of the axis", f"reach {reach:.3g} at scale {scale:g}")
    return LocalDictionary(Block(block.frame, factor * block.center, factor * block.shape), dictionary.separated)
