"""Blocks of coherent atoms, and the local dictionary of a block and a separated atom."""

from dataclasses import dataclass, replace
from typing import Self, final

import numpy as np
from numpy.typing import ArrayLike

from ..._checks import check_array, check_unit_columns
from ..._errors import MisuseError
from ..._typing import Array
from ._frame import Frame, check_orthogonal


@final
@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """A coherent block: z_j = b + L v_j and d_j = d(z_j) for j = 1..q (eq:affine-simplex)."""

    frame: Frame
    center: Array  # (q - 1,), b
    shape: Array  # (q - 1, q - 1), L

    def __post_init__(self) -> None:
        across = self.frame.q - 1
        check_array("center", self.center, (across,))
        check_array("shape", self.shape, (across, across))
        self.frame.atoms(self.coordinates)

    @classmethod
    def balanced(cls, frame: Frame, radius: float, rotation: ArrayLike | None = None) -> Self:
        r"""Centred block with :math:`L = \lambda_\star s R` (eq:balanced-hard-core).

        radius: :math:`\lambda_\star s`.  rotation: R, (q - 1, q - 1) orthogonal; the identity unless given.
        """
        across = frame.q - 1
        turn = np.eye(across) if rotation is None else check_orthogonal("rotation", rotation, across)
        return cls(frame, np.zeros(across), radius * turn)

    @classmethod
    def from_coordinates(cls, frame: Frame, coordinates: ArrayLike) -> Self:
        r"""The only (b, L) with the given z_j: :math:`b = \tfrac1q\sum_j z_j,\ L = \tfrac{q-1}{q}\sum_j z_j v_j^\top`.

        coordinates: (q - 1, q).  Exact for every input, because q points across q - 1 dimensions have as many
        entries as (b, L); L is invertible when the points are affinely independent.
        """
        q = frame.q
        z = check_array("coordinates", coordinates, (q - 1, q))
        return cls(frame, z.mean(axis=1), (q - 1) / q * z @ frame.template.T)

    @classmethod
    def from_atoms(cls, frame: Frame, atoms: ArrayLike) -> Self:
        """The block with exactly these unit atoms; atom signs must already point along the axis."""
        return cls.from_coordinates(frame, frame.coordinates(atoms))

    @classmethod
    def from_columns(cls, frame: Frame, columns: ArrayLike) -> Self:
        """The block nearest to estimated columns: each is scaled to norm one and turned to the side of the axis.

        columns: (q, q), of any norm but 0, since estimates seldom have norm one; `from_atoms` insists on it.
        """
        columns = check_array("columns", columns, (frame.q, frame.q))
        along, norms = frame.axis @ columns, np.linalg.norm(columns, axis=0)
        if np.abs(along).min() == 0.0:
            worst = int(np.abs(along).argmin())
            raise MisuseError("columns", "not be orthogonal to the axis", f"column {worst}")
        return cls.from_atoms(frame, columns * (np.sign(along) / norms))

    @property
    def coordinates(self) -> Array:
        """z_j as columns, (q - 1, q)."""
        return self.center[:, None] + self.shape @ self.frame.template

    @property
    def atoms(self) -> Array:
        """d_j as columns, (q, q)."""
        return self.frame.atoms(self.coordinates)


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
