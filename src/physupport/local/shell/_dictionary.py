"""The local dictionary of the paper: one coherent block and one separated atom."""

from dataclasses import dataclass, replace
from typing import Self, final

import numpy as np
from numpy.typing import ArrayLike

from ..._checks import check_array, check_unit_columns
from ..._errors import MisuseError
from ..._typing import Array
from ._block import Block
from ._frame import Frame


@final
@dataclass(frozen=True, slots=True, eq=False)
class LocalDictionary:
    """D = (d_1, ..., d_q, a): the coherent atoms of a block, then the separated atom."""

    block: Block
    separated: Array  # (q,), a

    def __post_init__(self) -> None:
        check_unit_columns("separated", np.reshape(self.separated, (-1, 1)), self.block.frame.q)

    @property
    def q(self) -> int:
        """Ambient dimension and number of coherent atoms."""
        return self.block.frame.q

    @property
    def atoms(self) -> Array:
        """All atoms as columns, (q, q + 1), the separated one last."""
        return np.column_stack([self.block.atoms, self.separated])

    def turned(self, rotation: Array) -> Self:
        """The block with L R for L; the separated atom stays.  rotation: R, (q - 1, q - 1)."""
        block = self.block
        return replace(self, block=Block(block.frame, block.center, block.shape @ rotation))


def default_separated_atom(frame: Frame) -> Array:
    r""":math:`a_0 = (u + e_1)/\sqrt2` with e_1 the first basis vector across the axis (eq:balanced-hard-core)."""
    between: Array = (frame.axis + frame.basis[:, 0]) / np.sqrt(2.0)
    return between


def separated_atom(reference: ArrayLike, offset: ArrayLike) -> Array:
    r"""Separated-atom chart :math:`a(w) = (a_0 + w)/\|a_0 + w\|` for :math:`w \perp a_0`.

    reference: (q,) unit.  offset: (q,) orthogonal to it.  Returns (q,).
    """
    reference = check_unit_columns("reference", np.reshape(reference, (-1, 1)))[:, 0]
    offset = check_array("offset", offset, reference.shape)
    if abs(reference @ offset) > 1e-8 * max(1.0, float(np.linalg.norm(offset))):
        raise MisuseError("offset", "be orthogonal to the reference", f"inner product {reference @ offset:.3g}")
    moved = reference + offset
    return moved / np.linalg.norm(moved)


def separated_offset(reference: ArrayLike, atom: ArrayLike) -> Array:
    r"""Inverse of the separated-atom chart: :math:`w = a/(a_0^\top a) - a_0`, for either sign of the atom."""
    reference = check_unit_columns("reference", np.reshape(reference, (-1, 1)))[:, 0]
    atom = check_unit_columns("atom", np.reshape(atom, (-1, 1)), len(reference))[:, 0]
    along = float(reference @ atom)
    if along == 0.0:
        raise MisuseError("atom", "not be orthogonal to the reference", "inner product 0")
    return atom / along - reference
