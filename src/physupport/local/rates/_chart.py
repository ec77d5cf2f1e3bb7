"""The chart around a dictionary, the turns of the block in it, and what the moments see of a collapsed block."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import polar

from ..._checks import check_array, check_count, check_positive, check_support
from ..._errors import MisuseError
from ..._typing import Array
from ..regions import dense_tensor, matrix_coordinates, power_coordinates, symmetric_dimension, tensor_coordinates
from ..shell import Block, Frame, LocalDictionary, default_separated_atom, power_sums, separated_offset
from ..shell._block import offset_basis


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
    for element in symmetric_basis(across, 1):
        yield _placed(q, 2.0 * element, (axis,)), _placed(q, 4.0 * element, (axis,) * 3)
    for element in symmetric_basis(across, 2):
        trace = np.array(np.trace(element))
        quartic = _placed(q, 6.0 * element, (axis,) * 2) + _placed(q, -2.0 * trace, (axis,) * 4)
        yield _placed(q, element, ()) + _placed(q, -trace, (axis,) * 2), quartic
    for element in symmetric_basis(across, 3):
        trace = np.einsum("ijj->i", element)
        quartic = _placed(q, 4.0 * element, (axis,)) + _placed(q, -6.0 * trace, (axis,) * 3)
        yield _placed(q, -trace, (axis,)), quartic


def symmetric_basis(dimension: int, order: int) -> Array:
    """Orthonormal basis of the symmetric tensors in the Frobenius norm.  Returns (d_k, d, ..., d)."""
    return np.array([dense_tensor(row, dimension, order) for row in np.eye(symmetric_dimension(dimension, order))])


def _placed(q: int, tensor: Array, axes: tuple[int, ...]) -> Array:
    """The tensor, extended by zeros to q coordinates, times the axis in further slots."""
    placed = np.zeros((q,) * (tensor.ndim + len(axes)))
    placed[(slice(0, q - 1),) * tensor.ndim + axes] = tensor
    return placed


def skew_basis(dimension: int) -> Array:
    r"""Orthonormal basis of so(d), :math:`(E_{ij} - E_{ji})/\sqrt2` for i < j.  Returns (d(d-1)/2, d, d)."""
    rows, columns = np.triu_indices(check_count("dimension", dimension, 2), 1)
    basis = np.zeros((len(rows), dimension, dimension))
    index = np.arange(len(rows))
    basis[index, rows, columns], basis[index, columns, rows] = np.sqrt(0.5), -np.sqrt(0.5)
    return basis


def check_skew(name: str, value: ArrayLike, dimension: int) -> Array:
    """A skew (d, d) matrix, up to rounding."""
    skew = check_array(name, value, (dimension, dimension))
    if np.abs(skew + skew.T).max() > 1e-12 * max(1.0, float(np.abs(skew).max())):
        raise MisuseError(name, "be skew", f"symmetric part {np.abs(skew + skew.T).max() / 2:.3g}")
    return skew


def turning_plane(template: ArrayLike, support: ArrayLike) -> tuple[Array, Array]:
    r"""Orthogonal f, g of equal length, both orthogonal to :math:`w_S = \sum_{j\in S} v_j`; f is an active edge.

    The space across the axis splits orthogonally into the line of w_S, the differences of active vertices
    (dimension r - 1) and those of passive vertices (q - r - 1), because the simplex is regular and its vertices
    sum to zero.  f is the difference of the first two active vertices; g is one of passive vertices if there are
    two, else it lies among the active ones.  For q = 3 the complement of w_S is a line, so no plane exists: the
    compensated path needs q >= 4.
    """
    vertices = check_array("template", template, (None, None))
    q = vertices.shape[1]
    if q < 4:
        raise MisuseError("template", "have at least 4 vertices", f"{q}", "Fewer leave no turn that fixes the sum.")
    active = check_support("support", np.asarray(support, dtype=np.int64).tolist(), q)
    check_count("the size of the support", len(active), 2, q - 1)
    f = vertices[:, active[0]] - vertices[:, active[1]]
    passive = [j for j in range(q) if j not in active]
    if len(passive) >= 2:
        return f, vertices[:, passive[1]] - vertices[:, passive[0]]
    g = vertices[:, active[0]] + vertices[:, active[1]] - 2.0 * vertices[:, active[2]]
    return f, g / np.sqrt(3.0)


def two_atom_generator(template: ArrayLike, pair: ArrayLike) -> Array:
    r"""The turn of two atoms about their sum, :math:`\Omega = (g f^\top - f g^\top)/\|f\|^2` (cor:two-atom-contrast).

    :math:`\Omega(v_1 + v_2) = 0,\ e^{h\Omega}f = \cos(h) f + \sin(h) g` for f = v_1 - v_2, so
    :math:`\Omega v_1 = g/2 = -\Omega v_2`.  For a larger support the same turn fixes the sum of all its vertices.
    """
    f, g = turning_plane(template, pair)
    return (np.outer(g, f) - np.outer(f, g)) / float(f @ f)


def compensated_generator(template: ArrayLike, support: ArrayLike) -> Array:
    r"""A turn that fixes :math:`w_S` and moves active vertices, scaled so that :math:`\max_{j\in S}\|\Omega v_j\| = 1`.

    Along it the deployment law with equal coefficients does not change at all, while the physical support does
    (eq:supp-orientation-target-secant).  Returns (q - 1, q - 1), skew.
    """
    vertices = check_array("template", template, (None, None))
    turn = two_atom_generator(vertices, support)
    speeds = np.linalg.norm(turn @ vertices[:, np.asarray(support, dtype=np.int64)], axis=0)  # (r,)
    return np.asarray(turn / speeds.max())


def atom_velocities(block: Block, velocities: ArrayLike) -> Array:
    r"""Atoms' velocity from that of their coordinates, :math:`\dot d = \dot z - u\, z^\top\dot z/\sqrt{1-\|z\|^2}`.

    velocities: (k, q - 1, q), one direction a slice.  Returns (k, q, q).
    """
    frame, z = block.frame, block.coordinates
    moved = check_array("velocities", velocities, (None, *z.shape))
    along = -np.einsum("ij,kij->kj", z, moved) / (frame.axis @ block.atoms)  # (k, q)
    return np.asarray(np.einsum("ai,kij->kaj", frame.basis, moved) + frame.axis[:, None] * along[:, None, :])


def shape_velocities(block: Block, symmetric: ArrayLike, skew: ArrayLike) -> tuple[Array, Array]:
    r"""The two parts of :math:`\dot L = R(S + sG\Omega)` for :math:`L = R(sG)` (eq:sm-tech-s10-2).

    symmetric: (k, q - 1, q - 1), S.  skew: (m, q - 1, q - 1), Omega.  Returns :math:`RS` and :math:`L\Omega`.
    """
    across = block.frame.q - 1
    rotation, _ = polar(block.shape)  # right polar: L = R (sG)
    stretches = check_array("symmetric", symmetric, (None, across, across))
    turns = check_array("skew", skew, (None, across, across))
    return rotation @ stretches, block.shape @ turns


def invariant_differentials(block: Block, symmetric: ArrayLike, skew: ArrayLike) -> tuple[Array, Array]:
    r"""Derivatives of :math:`G_2 = LL^\top` and :math:`G_3 = L^{\otimes3}T_q` along (S, Omega).

    :math:`DG_2 = sR(SG + GS)R^\top` (eq:sm-tech-s10-6): a turn leaves the second-order shape alone.
    :math:`DG_3 = \mathcal S_{R,G,s}[S] + L^{\otimes3}(\Omega\cdot T_q)` (eq:sm-tech-s10-8).
    symmetric, skew: (q - 1, q - 1).  Returns (q - 1, q - 1) and (q - 1, q - 1, q - 1).
    """
    stretch, turn = shape_velocities(block, np.asarray(symmetric)[None], np.asarray(skew)[None])
    velocity, shape = stretch[0] + turn[0], block.shape
    second = velocity @ shape.T
    moved, still = velocity @ block.frame.template, shape @ block.frame.template  # (q - 1, q)
    return second + second.T, cubic_velocity(moved, still)


def cubic_velocity(moved: Array, still: Array) -> Array:
    r"""Derivative of :math:`\sum_j z_j^{\otimes3}` for velocities `moved` at points `still`, both (d, m); (d, d, d)."""
    first = np.einsum("aj,bj,cj->abc", moved, still, still)
    return np.asarray(first + first.transpose(1, 0, 2) + first.transpose(1, 2, 0))


@final
@dataclass(frozen=True, slots=True, eq=False)
class TangentChart:
    r"""Directions :math:`h = (\dot p, \dot\nu, \dot b, \dot P_a, S, \Omega)` as derivatives of law, noise and atoms.

    Each group is orthonormal in its own norm (:math:`\|\dot P_a\|_F, \|S\|_F, \|\Omega\|_F`).  sizes holds the length
    of each direction in the mixed norm (eq:sm-tech-s10-5), :math:`\|h\|_{\mathrm{mix}}^2 = |\dot p|^2 + |\dot\nu|^2 +
    \|\dot b\|^2 + \|\dot P_a\|_F^2 + s^2\|S\|_F^2 + s^6\|\Omega\|_F^2`.  The last n_orientation directions are turns.
    """

    d_probability: Array | None  # (k,), None for a law without a free probability
    d_noise: Array  # (k,)
    d_atoms: Array  # (k, q, q + 1)
    sizes: Array  # (k,)
    n_orientation: int

    @property
    def n_directions(self) -> int:
        """Number of directions, k."""
        return len(self.d_noise)

    @property
    def n_nuisance(self) -> int:
        """Number of directions that are profiled out."""
        return self.n_directions - self.n_orientation


def tangent_chart(dictionary: LocalDictionary, scale: float, *, free_probability: bool) -> TangentChart:
    """All directions at a dictionary, in the order p (if free), nu, b, P_a, S, Omega.

    scale: s, which enters only the mixed-norm sizes.
    """
    block, s = dictionary.block, check_positive("scale", scale)
    across, q = block.frame.q - 1, block.frame.q
    stretch, turn = shape_velocities(block, symmetric_basis(across, 2), skew_basis(across))
    centre = np.repeat(np.eye(across)[:, :, None], q, axis=2)  # (q - 1, q - 1, q)
    moves = np.concatenate([centre, stretch @ block.frame.template, turn @ block.frame.template])
    atoms = atom_velocities(block, moves)  # (k', q, q)
    first = 2 if free_probability else 1
    lengths = [first, across, across, len(stretch), len(turn)]
    start = np.cumsum(lengths)
    d_atoms = np.zeros((start[-1], q, q + 1))
    d_atoms[first : start[1], :, :q], d_atoms[start[2] :, :, :q] = atoms[:across], atoms[across:]
    # ||P_a'||_F = sqrt(2) ||a'|| for a' orthogonal to a.
    d_atoms[start[1] : start[2], :, q] = offset_basis(dictionary.separated).T / np.sqrt(2.0)
    d_noise = np.zeros(start[-1])
    d_noise[first - 1] = 1.0
    sizes = np.concatenate([np.ones(start[2]), np.full(len(stretch), s), np.full(len(turn), s**3)])
    d_probability = np.eye(1, start[-1])[0] if free_probability else None
    return TangentChart(d_probability, d_noise, d_atoms, sizes, len(turn))


def balanced_dictionary(frame: Frame, radius: float, rotation: ArrayLike | None = None) -> LocalDictionary:
    r"""The balanced submodel (eq:balanced-hard-core): a centred block, and the separated atom at its reference.

    radius: :math:`\lambda_\star s`.  rotation: R, the identity unless given.
    """
    return LocalDictionary(Block.balanced(frame, radius, rotation), default_separated_atom(frame))
