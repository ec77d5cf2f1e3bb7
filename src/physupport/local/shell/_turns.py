"""Turns of a block: random, along a generator, hidden from equal coefficients; and banks of turned dictionaries."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import expm

from ..._checks import check_array, check_count, check_distinct, check_support, check_unit_columns
from ..._errors import Clause, MisuseError
from ..._typing import Array, BoolArray
from ...banks import Bank, Nuisances, array_bank
from ._shell import TYPED_DIGITS, Block, LocalDictionary, off_orthogonal

# A unit vector that a turn leaves alone comes back within a few roundings.
_FIXED = 8.0 * np.finfo(np.float64).eps


def check_skew(name: str, value: ArrayLike, dimension: int | None = None) -> Array:
    """A skew (d, d) matrix up to rounding."""
    skew = check_array(name, value, (dimension, dimension))
    largest = np.abs(skew).max(initial=0.0)
    if skew.shape[0] != skew.shape[1] or np.abs(skew + skew.T).max(initial=0.0) > TYPED_DIGITS * largest:
        raise MisuseError(name, "be square and skew", f"shape {skew.shape}, entries\n{skew}")
    return skew


def skew_basis(dimension: int) -> Array:
    r"""Orthonormal basis of so(d), :math:`(E_{ij} - E_{ji})/\sqrt2` for i < j.  Returns (d(d-1)/2, d, d)."""
    rows, columns = np.triu_indices(check_count("dimension", dimension, 2), 1)
    basis = np.zeros((len(rows), dimension, dimension))
    index = np.arange(len(rows))
    basis[index, rows, columns] = np.sqrt(0.5)
    basis[index, columns, rows] = -np.sqrt(0.5)
    return basis


def two_atom_generator(template: ArrayLike, support: Iterable[int]) -> Array:
    r"""The turn of two atoms about their sum, :math:`\Omega = (g f^\top - f g^\top)/\|f\|^2` (cor:two-atom-contrast).

    f, g are orthogonal, of equal length, and both orthogonal to :math:`w_S = \sum_{j\in S} v_j`; f is the difference of
    the first two active vertices.  So :math:`\Omega w_S = 0,\ e^{h\Omega}f = \cos(h) f + \sin(h) g`, and, for a support
    of two, :math:`\Omega v_1 = g/2 = -\Omega v_2`.

    The space across the axis splits orthogonally into the line of w_S, the differences of active vertices (dimension
    r - 1) and those of passive vertices (q - r - 1), because the simplex is regular and its vertices sum to zero.  So g
    is a difference of passive vertices if there are two, else it lies among the active ones.  For q = 3 the complement
    of w_S is a line: no such turn exists.
    """
    vertices = check_array("template", template, (None, None))
    q = vertices.shape[1]
    if q < 4:
        raise MisuseError("template", "have at least 4 vertices", f"{q}", "Fewer leave no turn that fixes the sum.")
    active = check_support("support", support, q)
    check_count("the size of the support", len(active), 2, q - 1)
    f = vertices[:, active[0]] - vertices[:, active[1]]
    passive = [j for j in range(q) if j not in active]
    if len(passive) >= 2:
        g = vertices[:, passive[1]] - vertices[:, passive[0]]
    else:
        g = (vertices[:, active[0]] + vertices[:, active[1]] - 2.0 * vertices[:, active[2]]) / np.sqrt(3.0)
    return (np.outer(g, f) - np.outer(f, g)) / float(f @ f)


def compensated_generator(template: ArrayLike, support: Iterable[int]) -> Array:
    r"""A turn that fixes :math:`w_S` and moves active vertices, scaled so that :math:`\max_{j\in S}\|\Omega v_j\| = 1`.

    Along it the deployment law with equal coefficients does not change at all, while the physical support does
    (eq:supp-orientation-target-secant).  Returns (q - 1, q - 1), skew.
    """
    active = list(support)
    turn = two_atom_generator(template, active)
    speeds = np.linalg.norm(turn @ np.asarray(template)[:, active], axis=0)  # (r,)
    return np.asarray(turn / speeds.max())


def turned_block(block: Block, generator: ArrayLike, angle: float) -> Block:
    r"""The block with :math:`L e^{h\Omega}` for L (eq:restricted-orbit, eq:sm-tech-s10-2 with S = 0)."""
    turn = expm(angle * check_skew("generator", generator, block.frame.q - 1))
    return replace(block, shape=block.shape @ turn)


def atom_velocities(block: Block, velocities: Array) -> Array:
    r"""Velocities of atoms from those of coordinates, :math:`\dot d = \dot z - u\, z^\top\dot z/\sqrt{1-\|z\|^2}`.

    velocities: (k, q - 1, q), one direction a slice.  Returns (k, q, q).
    """
    frame = block.frame
    along = -np.einsum("ij,kij->kj", block.coordinates, velocities) / (frame.axis @ block.atoms)  # (k, q)
    return np.asarray(np.einsum("ai,kij->kaj", frame.basis, velocities) + frame.axis[:, None] * along[:, None, :])


def turns(generator: ArrayLike, angles: ArrayLike) -> Array:
    r"""Turns :math:`R_k = e^{\varphi_k \Omega}` along one generator.

    generator: (d, d) skew.  angles: (K,) distinct.  Returns (K, d, d) orthogonal.

    >>> quarter = turns([[0.0, -1.0], [1.0, 0.0]], [np.pi / 2])[0]
    >>> np.allclose(quarter, [[0.0, -1.0], [1.0, 0.0]])
    True
    """
    skew = check_skew("generator", generator)
    angle = check_array("angles", angles, (None,))
    check_distinct("angles", (angle + 0.0).tolist())
    if not skew.any() or not angle.size:
        raise MisuseError("generator and angles", "give at least one turn", f"shapes {skew.shape} and {angle.shape}")
    return np.asarray(expm(0.5 * angle[:, None, None] * (skew - skew.T)), dtype=np.float64)


def oriented(dictionary: LocalDictionary | ArrayLike, turn: ArrayLike, angles: ArrayLike | None = None) -> Array:
    r"""One dictionary in several orientations, (K, q, n).

    turn: a skew generator (d, d) together with angles (K,), or K orthogonal matrices (K, d, d).
    For a local dictionary d = q - 1: the block :math:`z_j = b + L v_j` becomes :math:`b + L R_k v_j` and the separated
    atom stays.  For an array of atoms (q, n), d = q and every atom turns, :math:`R_k D`.
    A column that a turn leaves alone stays bit by bit, so that it is one element in all states.
    """
    if isinstance(dictionary, LocalDictionary):
        block = dictionary.block
        q = dictionary.q
        turned, fixed = _turned(block.frame.template, _check_turns(turn, angles, q - 1))  # (K, q - 1, q), (K, 1, q)
        z = block.center[:, None] + block.shape @ turned
        atoms = block.frame.atoms(np.hstack(list(z))).reshape(q, len(z), q).transpose(1, 0, 2)  # (K, q, q)
        last = np.broadcast_to(dictionary.separated[:, None], (len(z), q, 1))
        return np.concatenate([np.where(fixed, block.atoms, atoms), last], axis=2)
    columns = check_unit_columns("dictionary", dictionary)
    turned, fixed = _turned(columns, _check_turns(turn, angles, len(columns)))
    return np.where(fixed, columns, turned)


def _turned(columns: Array, rotations: Array) -> tuple[Array, BoolArray]:
    """(d, n) unit columns under K turns, (K, d, n), and which of them stand still, (K, 1, n)."""
    moved = rotations @ columns
    return moved, np.abs(moved - columns).max(axis=1, keepdims=True) <= _FIXED


def _check_turns(turn: ArrayLike, angles: ArrayLike | None, size: int) -> Array:
    if angles is not None:
        return turns(check_array("turn", turn, (size, size)), angles)
    rotations = check_array("turn", turn, (None, size, size))
    if not len(rotations):
        raise MisuseError("turn", "hold at least one matrix", Clause("there is none"))
    off = off_orthogonal(rotations)
    if off.max() > TYPED_DIGITS:
        raise MisuseError(
            "turn", "hold orthogonal matrices", Clause(f"matrix {off.argmax()} has an error of {off.max():.3g}")
        )
    return rotations


def orbit_bank(
    dictionary: LocalDictionary | ArrayLike,
    turn: ArrayLike,
    angles: ArrayLike | None = None,
    *,
    supports: Iterable[Iterable[int]],
    strengths: ArrayLike = 1.0,
    calibration: Nuisances | None = None,
    deployment: Nuisances | None = None,
) -> Bank:
    """One dictionary in several orientations (see `oriented`), with supports and nuisances as in `array_bank`."""
    dictionaries = oriented(dictionary, turn, angles)
    return array_bank(dictionaries, supports, strengths=strengths, calibration=calibration, deployment=deployment)
