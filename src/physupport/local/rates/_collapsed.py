"""The collapsed moment operator: what the moments see of a block that has shrunk to its axis."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import null_space

from ..._checks import check_array, check_positive, check_unit_columns
from ..._typing import Array
from ..regions import dense_tensor, matrix_coordinates, power_coordinates, symmetric_dimension, tensor_coordinates
from ..shell import Frame, LocalDictionary, default_separated_atom, power_sums, separated_offset


@final
@dataclass(frozen=True, slots=True, eq=False)
class CollapsedOperator:
    r"""The linear map :math:`\mathscr A_q` from power sums, separated atom and noise to moments (eq:sm-tech-s8-5).

    Columns of the matrix: B_1, B_2, B_3 (symmetric tensors across the axis), w (across the reference), nu.  Rows: nu,
    the quadratic form, the quartic form.  All in isometric coordinates, so singular values are those of the map
    between Frobenius norms.
    """

    frame: Frame
    reference: Array  # (q,), a_0
    matrix: Array  # (outputs, inputs)

    @property
    def smallest_singular_value(self) -> float:
        r"""The :math:`\sigma_q` of :math:`\|\mathscr A_q h\| \ge \sigma_q\|h\|` (eq:sm-tech-s8-10)."""
        return float(np.linalg.svd(self.matrix, compute_uv=False)[-1])

    def input_coordinates(self, dictionary: LocalDictionary, noise: float) -> Array:
        r""":math:`\Xi = (B_1, B_2, B_3, w, \nu)` of a dictionary, in the isometric coordinates of the columns."""
        tensors = [tensor_coordinates(part) for part in power_sums(dictionary.block.coordinates)]
        offset = offset_basis(self.reference).T @ separated_offset(self.reference, dictionary.separated)
        return np.concatenate([*tensors, offset, [check_positive("noise", noise)]])

    def output_coordinates(self, dictionary: LocalDictionary, noise: float) -> Array:
        r"""The exact moment map :math:`\mathcal R = (\nu, \Sigma_2, \Sigma_4)`, in the coordinates of the rows."""
        turned = np.column_stack([self.frame.basis, self.frame.axis]).T @ dictionary.atoms  # (q, q + 1)
        quartics = power_coordinates(turned.T, 4).sum(axis=0)
        return np.concatenate([[check_positive("noise", noise)], matrix_coordinates(turned @ turned.T), quartics])

    def remainder(self, first: tuple[LocalDictionary, float], second: tuple[LocalDictionary, float]) -> Array:
        r""":math:`\mathrm{Rem} = \Delta\mathcal R - \mathscr A_q\Delta\Xi` (eq:sm-tech-s8-12).

        Smaller than :math:`\Delta\Xi` by a factor of order s (eq:sm-tech-s8-13).  first, second: (dictionary, noise).
        """
        change = self.input_coordinates(*first) - self.input_coordinates(*second)
        return np.asarray(self.output_coordinates(*first) - self.output_coordinates(*second) - self.matrix @ change)


def offset_basis(reference: ArrayLike) -> Array:
    """Orthonormal basis of the complement of a unit vector, (q, q - 1)."""
    unit = check_unit_columns("reference", np.reshape(reference, (-1, 1)))
    return np.asarray(null_space(unit.T))


def collapsed_operator(frame: Frame, reference: ArrayLike | None = None) -> CollapsedOperator:
    r"""Derivative of the moment map at the collapsed block (lem:supp-collapsed-operator).

    With :math:`X = tu + x` and :math:`h_0 = (a_0^\top X)^2`, up to terms of total degree four in the coordinates,

    .. math::
        \Sigma_2[X,X] &:\ 2t\dot B_1[x] + \dot B_2[x,x] - t^2\operatorname{tr}\dot B_2 - t\dot B_3[x,I]
            + H(\dot w)[X,X],\\
        \Sigma_4[X^4] &:\ 4t^3\dot B_1[x] + 6t^2\dot B_2[x,x] - 2t^4\operatorname{tr}\dot B_2
            + 4t\dot B_3[x,x,x] - 6t^3\dot B_3[x,I] + 2h_0H(\dot w)[X,X].

    The B are free symmetric tensors; the trace of B_2 is free too.  reference: a_0, by default the one of
    eq:balanced-hard-core.  The map is injective at that reference. At other angles this is known numerically only: the
    smallest singular value is positive wherever it was computed, and vanishes as a_0 turns parallel or orthogonal to
    the axis, where the map is not injective. In the orthogonal case its kernel holds
    :math:`(\dot B_1, \dot B_3, \dot w) = (\tfrac34 a_0, \tfrac12 a_0^{\otimes3}, -\tfrac12 u)`.
    """
    unit = default_separated_atom(frame) if reference is None else check_array("reference", reference, (frame.q,))
    local = np.column_stack([frame.basis, frame.axis]).T  # coordinates (x, t)
    a, offsets = local @ unit, local @ offset_basis(unit)  # (q,), (q, q - 1)
    square = np.outer(a, a)
    moved = ((2.0 * np.outer(a, w), 4.0 * np.multiply.outer(square, np.outer(a, w))) for w in offsets.T)
    forms = (*_block_columns(frame.q - 1), *moved)
    columns = np.column_stack([np.concatenate([tensor_coordinates(form) for form in pair]) for pair in forms])
    matrix = np.zeros((columns.shape[0] + 1, columns.shape[1] + 1))
    matrix[1:, :-1], matrix[0, -1] = columns, 1.0
    return CollapsedOperator(frame, unit, matrix)


def _block_columns(across: int) -> Iterator[tuple[Array, Array]]:
    """Tensors, not yet symmetrised, of the quadratic and the quartic form for every basis element of B_1, B_2, B_3."""
    q, axis = across + 1, across  # the axis is the last coordinate
    for element in _symmetric_basis(across, 1):
        yield _placed(q, 2.0 * element, (axis,)), _placed(q, 4.0 * element, (axis,) * 3)
    for element in _symmetric_basis(across, 2):
        trace = np.array(np.trace(element))
        quartic = _placed(q, 6.0 * element, (axis,) * 2) + _placed(q, -2.0 * trace, (axis,) * 4)
        yield _placed(q, element, ()) + _placed(q, -trace, (axis,) * 2), quartic
    for element in _symmetric_basis(across, 3):
        trace = np.einsum("ijj->i", element)
        quartic = _placed(q, 4.0 * element, (axis,)) + _placed(q, -6.0 * trace, (axis,) * 3)
        yield _placed(q, -trace, (axis,)), quartic


def _symmetric_basis(dimension: int, order: int) -> Iterator[Array]:
    return (dense_tensor(row, dimension, order) for row in np.eye(symmetric_dimension(dimension, order)))


def _placed(q: int, tensor: Array, axes: tuple[int, ...]) -> Array:
    """The tensor, extended by zeros to q coordinates, times the axis in further slots."""
    placed = np.zeros((q,) * (tensor.ndim + len(axes)))
    placed[(slice(0, q - 1),) * tensor.ndim + axes] = tensor
    return placed
