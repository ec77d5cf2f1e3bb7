"""Attainable resolution over calibration size and separation scale."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from ..._checks import check_array, check_positive
from ..._errors import MisuseError
from ..._typing import Array
from ..shell import Block, LocalDictionary
from ._design import Design, block_diameter, block_scale
from ._joint import block_information, joint_information
from ._resolution import diameter

# Few draws: a map has many scales, and a percent cannot be seen in it.
_DRAWS = 10_000


@final
@dataclass(frozen=True, slots=True, eq=False)
class ResolutionMap:
    """Diameters relative to the block, one row a scale and one column a calibration size."""

    scales: Array  # (m,), s
    rows: Array  # (n,), N
    relative: Array  # (m, n), attainable diameter over block diameter, before it is cut off at 1
    onset: Array  # (m,), N at which the relative diameter is 1: calibration begins to see inside the block
    planned: tuple[float, float]  # N and s of the design

    @property
    def frontier(self) -> float:
        """K of the line N s^6 = K on which calibration begins to see inside the block: median over the scales."""
        return float(np.median(self.onset * self.scales**6))


def resolution_map(
    design: Design,
    scales: ArrayLike,
    rows: ArrayLike,
    watched: Callable[[Iterable[float]], Iterable[float]] = iter,
) -> ResolutionMap:
    """The map of a design: its block is shrunk or grown to each scale about its axis, everything else stays.

    watched: wraps the loop over the scales, for instance in a progress bar.
    """
    heights, sizes = check_array("scales", scales, (None,)), check_array("rows", rows, (None,))
    check_positive("rows", float(sizes.min()))
    relative, onset = [], []
    for scale in watched(heights.tolist()):
        width = _relative_width(replace(design, dictionary=_rescaled(design.dictionary, scale)))
        relative.append([width(n) for n in sizes])
        onset.append(_onset(width))
    planned = (float(design.n_calibration), block_scale(design.dictionary))
    return ResolutionMap(heights, sizes, np.array(relative), np.array(onset), planned)


def map_scales(design: Design, n_scales: int) -> Array:
    """Scales about that of the design, a factor 2.5 either way as far as the atoms allow."""
    middle = block_scale(design.dictionary)
    reach = float(np.linalg.norm(design.dictionary.block.coordinates, axis=0).max())
    return np.geomspace(middle / 2.5, middle * min(2.5, 0.9 / reach), n_scales)


def _relative_width(design: Design) -> Callable[[float], float]:
    joint = joint_information(block_information(design, _DRAWS), design)
    block = block_diameter(design.dictionary)
    return lambda n: diameter(joint, design.level, n, design.n_deployment) / block


def _onset(width: Callable[[float], float]) -> float:
    """N at which the relative diameter is 1; 0 if deployment alone sees inside."""
    if width(1e-30) <= 1.0:
        return 0.0
    # It falls like a power of N, so logarithms are searched.
    return float(np.exp(brentq(lambda v: np.log(width(np.exp(v))), np.log(1e-30), np.log(1e60), xtol=1e-10)))


def _rescaled(dictionary: LocalDictionary, scale: float) -> LocalDictionary:
    block, factor = dictionary.block, check_positive("scales", scale) / block_scale(dictionary)
    reach = factor * float(np.linalg.norm(block.coordinates, axis=0).max())
    if reach >= 1.0:
        raise MisuseError("scales", "keep every atom within 1 of the axis", f"reach {reach:.3g} at scale {scale:g}")
    return LocalDictionary(Block(block.frame, factor * block.center, factor * block.shape), dictionary.separated)
