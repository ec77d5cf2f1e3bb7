"""Coherent blocks: affine images of the simplex template, lifted to unit atoms."""

from dataclasses import dataclass
from typing import Self, final

import numpy as np
from numpy.typing import ArrayLike

from ..._checks import check_array
from ..._errors import MisuseError
from ..._typing import Array
from ._frame import Frame
from ._simplex import check_orthogonal


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
