"""A law off the bank: rows scattered about one mean."""

from dataclasses import dataclass
from typing import ClassVar, Self, final

import numpy as np

from ..._codec import array_json, real
from ..._stored import Refusal, check_form
from ..._typing import Array
from ...io import RowSource
from .._base import Opponent, Stream


@final
@dataclass(frozen=True, slots=True, eq=False)
class MeanPoint:
    """Rows scattered about one mean: a law off the bank, against explanations whose coefficients are profiled."""

    is_of_bank: ClassVar[bool] = True  # bank and proposal rows give it

    mean: Array  # (q,)
    noise: float  # variance of a real entry

    def numerator(self, denominator: Stream, rows: RowSource) -> tuple[Stream, int]:
        """A stream of its own."""
        from ._mean_stream import point_stream

        return point_stream(rows, self.mean, self.noise, denominator.checkpoints), 0

    def encode(self) -> dict[str, object]:
        """Mean and noise."""
        return {"mean_point": {"mean": array_json(self.mean), "noise": float(self.noise)}}

    @classmethod
    def decode(cls, node: object, where: str) -> Self:
        """What `encode` wrote under `mean_point`."""
        content = check_form(node, {"mean": dict, "noise": float}, f"{where}.mean_point")
        mean, noise = real(content["mean"], None), content["noise"]
        if not mean.size or not noise > 0.0:
            raise Refusal(f"{where} is no law")
        return cls(mean, noise)

    def agrees(self, other: Opponent) -> bool:
        """The same fit on another machine differs by rounding."""
        if not isinstance(other, MeanPoint) or other.mean.shape != self.mean.shape:
            return False
        if not np.isclose(self.noise, other.noise, rtol=1e-9, atol=0.0):
            return False
        return bool(np.allclose(self.mean, other.mean, rtol=1e-9, atol=1e-9 * np.abs(other.mean).max()))


def mean_opponent(rows: RowSource, noise: float) -> MeanPoint:
    """The mean of the rows, and their scatter about it; noise: the variance of an entry if a single row has none."""
    table = np.concatenate([*rows.blocks()])
    with np.errstate(over="ignore", invalid="ignore"):  # whoever writes it down refuses what is not finite
        mean = table.mean(axis=0)
        scatter = float(((table - mean) ** 2).sum()) / max((len(table) - 1) * len(mean), 1)
    return MeanPoint(mean, scatter if scatter > 0.0 else noise)
