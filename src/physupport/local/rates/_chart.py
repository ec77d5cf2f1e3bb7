"""The point-adapted chart around a dictionary: nuisance directions first, turns of the block last."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import polar

from ..._checks import check_array, check_positive
from ..._typing import Array
from ..shell import Block, Frame, LocalDictionary, default_separated_atom
from ._collapsed import offset_basis
from ._generators import skew_basis, symmetric_matrix_basis


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
    stretch, turn = shape_velocities(block, symmetric_matrix_basis(across), skew_basis(across))
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
