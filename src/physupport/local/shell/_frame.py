"""Where a coherent block lives: its axis, the space across it, and the simplex template."""

from dataclasses import dataclass
from typing import Self, final

import numpy as np
from numpy.typing import ArrayLike

from ..._checks import check_array, check_count, check_unit_columns
from ..._errors import MisuseError
from ..._typing import Array
from ._simplex import check_simplex, regular_simplex

# Products of unit vectors in float64 stay far within this; axes typed with nine digits do not fail either.
_ORTHONORMAL_TOLERANCE = 1e-8


@final
@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    r"""The axis u, an orthonormal basis of :math:`U = u^\perp`, and a simplex template in that basis.

    Coordinates z across the axis are always given in the basis, so they have q - 1 entries.
    """

    axis: Array  # (q,)
    basis: Array  # (q, q - 1)
    template: Array  # (q - 1, q), columns v_j

    def __post_init__(self) -> None:
        q = check_count("q", len(self.axis), 3)
        square = np.column_stack([check_array("basis", self.basis, (q, q - 1)), check_array("axis", self.axis, (q,))])
        error = float(np.abs(square.T @ square - np.eye(q)).max())
        if error > _ORTHONORMAL_TOLERANCE:
            raise MisuseError("basis and axis", "be orthonormal", f"products up to {error:.3g} from those")
        check_simplex("template", check_array("template", self.template, (q - 1, q)))

    @classmethod
    def standard(cls, q: int, template: ArrayLike | None = None) -> Self:
        """Last coordinate axis as u, the others as the basis; the template is the regular simplex unless given."""
        q = check_count("q", q, 3)
        vertices = regular_simplex(q) if template is None else check_array("template", template, (q - 1, q))
        return cls(np.eye(q)[:, -1], np.eye(q)[:, :-1], vertices)

    @classmethod
    def around(cls, atoms: ArrayLike) -> Self:
        """The frame of a given block: its axis is the normalised sum of the atoms, their signs made to agree.

        atoms: (q, q) unit columns, none orthogonal to their principal direction.  The basis is the
        standard one, turned in the plane of the last coordinate axis and the axis of the block.
        """
        atoms = check_unit_columns("atoms", atoms)
        q = check_count("q", len(atoms), 3)
        check_array("atoms", atoms, (q, q))
        principal = np.linalg.svd(atoms)[0][:, 0]
        along = principal @ atoms  # (q,)
        if np.abs(along).min() < _ORTHONORMAL_TOLERANCE:
            rule = "lie on one side of a common axis up to sign"
            raise MisuseError("atoms", rule, f"column {int(np.abs(along).argmin())} orthogonal to it")
        total = atoms @ np.sign(along)
        # The side of the last coordinate, so that the answer does not depend on the sign of a singular vector.
        axis = total * (np.copysign(1.0, total[-1]) / np.linalg.norm(total))
        last = np.eye(q)[:, -1]
        basis = np.eye(q)[:, :-1] - np.outer(last + axis, axis[:-1]) / (1.0 + axis[-1])
        return cls(axis, basis, regular_simplex(q))

    @property
    def q(self) -> int:
        """Ambient dimension, which is also the number of atoms of a block."""
        return len(self.axis)

    def atoms(self, z: ArrayLike) -> Array:
        r"""Atom chart :math:`d(z) = \sqrt{1 - \|z\|^2}\, u + z` (eq:atom-chart), column by column.

        z: (q - 1, m) with columns shorter than 1.  Returns (q, m) unit columns.
        """
        z = check_array("z", z, (self.q - 1, None))
        squared = np.sum(z**2, axis=0)  # (m,)
        if squared.size and squared.max() >= 1.0:
            worst = int(squared.argmax())
            raise MisuseError("z", "have columns shorter than 1", f"norm {squared[worst] ** 0.5:.6g} in column {worst}")
        return np.outer(self.axis, np.sqrt(1.0 - squared)) + self.basis @ z

    def coordinates(self, atoms: ArrayLike) -> Array:
        """Inverse of the atom chart: the part of each atom across the axis.

        atoms: (q, m) unit columns on the positive side of the axis.  Returns (q - 1, m).
        """
        atoms = check_unit_columns("atoms", atoms, self.q)
        along = self.axis @ atoms  # (m,)
        if along.size and along.min() <= 0.0:
            worst = int(along.argmin())
            rule = "lie on the positive side of the axis"
            raise MisuseError("atoms", rule, f"component {along[worst]:.6g} in column {worst}", "Flip its sign first.")
        return self.basis.T @ atoms
