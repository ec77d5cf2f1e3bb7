"""One calibration law off the bank."""

from dataclasses import dataclass
from typing import ClassVar, Self, final

import numpy as np

from ..._arrays import read_only
from ..._codec import array_json, real
from ..._stored import Refusal, check_form
from ..._typing import Array
from ...banks import ArrayStates
from ...io import RowSource
from .._base import Opponent, Stream
from ..codes._laws import BernoulliGaussian, checked_activity


@final
@dataclass(frozen=True, slots=True, eq=False)
class LatentPoint:
    """One calibration law: the dictionary, the activity and the noise variance."""

    is_of_bank: ClassVar[bool] = False  # who proposed it, from the proposal rows alone or not, is not known here

    atoms: Array  # (q, n)
    p: float
    noise: float

    def frozen(self) -> Self:
        """The same in copies that nothing can change any more."""
        return type(self)(read_only(np.asarray(self.atoms, dtype=np.float64)), float(self.p), float(self.noise))

    def numerator(self, denominator: Stream, rows: RowSource) -> tuple[Stream, int]:
        """A stream of its own."""
        from ._latent import latent_stream

        states, laws = ArrayStates(self.atoms[None]), [BernoulliGaussian(self.p)]
        return latent_stream(rows, states, laws, [self.noise], denominator.checkpoints), 0

    def encode(self) -> dict[str, object]:
        """Atoms, activity and noise."""
        return {"point": {"atoms": array_json(self.atoms), "p": float(self.p), "noise": float(self.noise)}}

    @classmethod
    def decode(cls, node: object, where: str) -> Self:
        """What `encode` wrote under `point`."""
        content = check_form(node, {"atoms": dict, "p": float, "noise": float}, f"{where}.point")
        atoms = real(content["atoms"], None, None)
        if not atoms.size or not content["noise"] > 0.0:
            raise Refusal(f"{where} is no law")
        return cls(atoms, checked_activity(content["p"], f"the activity of {where}"), content["noise"])

    def agrees(self, other: Opponent) -> bool:
        """The same search on another machine differs by rounding."""
        if not isinstance(other, LatentPoint) or other.atoms.shape != self.atoms.shape:
            return False
        ours, theirs = ((*point.atoms.flat, point.p, point.noise) for point in (self, other))
        return bool(np.allclose(ours, theirs, rtol=1e-6, atol=1e-8))
