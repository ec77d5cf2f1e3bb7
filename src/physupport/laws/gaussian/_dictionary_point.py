"""A law off the bank: rows of observed codes under one dictionary."""

from dataclasses import dataclass
from typing import ClassVar, Self, final

import numpy as np

from ..._codec import array_json, real
from ..._stored import Refusal, check_form
from ..._typing import Array
from ...banks import ArrayStates
from ...io import RowSource
from .._base import Opponent, Stream


@final
@dataclass(frozen=True, slots=True, eq=False)
class DictionaryPoint:
    """One dictionary off the bank, of atoms of any norm, and one noise."""

    is_of_bank: ClassVar[bool] = True  # bank and proposal rows give it

    atoms: Array  # (q, n), complex ones as pairs (Re, Im) along the first axis
    noise: float  # of a complex entry if complex
    is_complex: bool

    def numerator(self, denominator: Stream, rows: RowSource) -> tuple[Stream, int]:
        """A stream of its own, with unit atoms and codes that have the norms instead."""
        from ._code_stream import CodeColumns, known_code_stream

        q, norms = len(self.atoms), np.linalg.norm(self.atoms, axis=0)
        unit = np.where(norms > 0.0, self.atoms / np.where(norms > 0.0, norms, 1.0), np.eye(q)[:, :1])
        factors = np.repeat(norms, 2) if self.is_complex else norms
        measured = CodeColumns(rows, slice(0, q), q)
        codes = CodeColumns(rows, slice(q, rows.width), rows.width - q, factors)
        options = {"is_complex": self.is_complex}
        return known_code_stream(
            measured, codes, ArrayStates(unit[None]), [self.noise], denominator.checkpoints, **options
        ), 0

    def encode(self) -> dict[str, object]:
        """All of it."""
        entries = {"atoms": array_json(self.atoms), "noise": float(self.noise), "is_complex": self.is_complex}
        return {"dictionary_point": entries}

    @classmethod
    def decode(cls, node: object, where: str) -> Self:
        """What `encode` wrote under `dictionary_point`."""
        form = {"atoms": dict, "noise": float, "is_complex": bool}
        content = check_form(node, form, f"{where}.dictionary_point")
        atoms, noise = real(content["atoms"], None, None), content["noise"]
        if not atoms.size or not noise > 0.0:
            raise Refusal(f"{where} is no law")
        return cls(atoms, noise, content["is_complex"])

    def agrees(self, other: Opponent) -> bool:
        """The same fit on another machine differs by rounding."""
        if not isinstance(other, DictionaryPoint) or other.atoms.shape != self.atoms.shape:
            return False
        are_near = np.allclose(self.atoms, other.atoms, rtol=1e-6, atol=1e-9 * np.abs(other.atoms).max())
        return bool(are_near and np.isclose(self.noise, other.noise, rtol=1e-6, atol=0.0))
