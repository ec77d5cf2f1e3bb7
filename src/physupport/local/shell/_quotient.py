"""Distances that ignore the order of atoms: between dictionaries, and between orientations of a balanced block."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import expm
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from ..._checks import check_array, check_unit_columns
from ..._errors import MisuseError
from ..._typing import Array, BoolArray, IntArray
from ...banks import ArrayStates, Bank, Nuisances, bottleneck_assignment
from ...banks._builders import atom_rows
from ...banks._library import check_distinct
from ._block import LocalDictionary
from ._frame import check_orthogonal, check_simplex
from ._shell import projector_distance

# Axes typed with nine digits still count as the same.
_AXIS_TOLERANCE = 1e-8


@final
@dataclass(frozen=True, slots=True, eq=False)
class QuotientMatch:
    """A quotient distance and a permutation that attains it: atom j is matched with atom permutation[j]."""

    distance: float
    permutation: IntArray  # (q,)


def quotient_distance(first: LocalDictionary, second: LocalDictionary) -> QuotientMatch:
    r"""Distance of two dictionaries up to the order of their coherent atoms (eq:physical-dictionary-metric).

    :math:`d_{\mathcal Q}^D = \min_\pi \max\{\max_j\|z_j - z'_{\pi(j)}\|,\ \|P_a - P_{a'}\|_F\}`, exactly.

    The projectors do not depend on the permutation, so a bottleneck assignment of the atoms decides it.  Both frames
    must have the same axis, otherwise the coordinates across it are not comparable; basis and template may differ.
    """
    if first.q != second.q or np.abs(first.block.frame.axis - second.block.frame.axis).max() > _AXIS_TOLERANCE:
        raise MisuseError("second", "share the axis of first", second.block.frame.axis)
    here, there = (d.block.frame.basis @ d.block.coordinates for d in (first, second))  # (q, q)
    value, permutation = bottleneck_assignment(cdist(here.T, there.T))
    return QuotientMatch(max(value, projector_distance(first.separated, second.separated)), permutation)


def orbit_distance(first: ArrayLike, second: ArrayLike, template: ArrayLike) -> tuple[float, IntArray]:
    r"""Distance of two orientations up to relabelling the vertices, and a permutation that attains it, exactly.

    :math:`d_{O(U)/\mathfrak S_q}(R, R') = \min_\pi\|R - R'\Pi_\pi\|_F` with
    :math:`\|R - R'\Pi_\pi\|_F^2 = \tfrac{q-1}{q}\sum_j\|Rv_j - R'v_{\pi(j)}\|^2`, because the template is a tight
    frame: a linear assignment of rotated vertices.  first, second: (q - 1, q - 1) orthogonal.  template: (q - 1, q).
    """
    vertices = check_simplex("template", template)  # (q - 1, q)
    across, q = vertices.shape
    here, there = (check_orthogonal(n, r, across) @ vertices for n, r in (("first", first), ("second", second)))
    costs = cdist(here.T, there.T) ** 2
    rows, permutation = linear_sum_assignment(costs)
    return float(np.sqrt(across / q * costs[rows, permutation].sum())), permutation.astype(np.int64)


# A turn typed with nine digits does not fail; one that is not a turn does.
_TURN_TOLERANCE = 1e-8

# A unit vector that a turn leaves alone comes back within a few roundings.
_FIXED = 8.0 * np.finfo(np.float64).eps


def turns(generator: ArrayLike, angles: ArrayLike) -> Array:
    r"""Turns :math:`R_k = e^{\varphi_k \Omega}` along one generator.

    generator: (d, d) skew.  angles: (K,) distinct.  Returns (K, d, d) orthogonal.

    >>> quarter = turns([[0.0, -1.0], [1.0, 0.0]], [np.pi / 2])[0]
    >>> np.allclose(quarter, [[0.0, -1.0], [1.0, 0.0]])
    True
    """
    skew = check_array("generator", generator, (None, None))
    angle = check_array("angles", angles, (None,))
    check_distinct("angles", (angle + 0.0).tolist())
    largest = np.abs(skew).max(initial=0.0)
    if skew.shape[0] != skew.shape[1] or np.abs(skew + skew.T).max(initial=0.0) > _TURN_TOLERANCE * largest:
        raise MisuseError("generator", "be square and skew", f"shape {skew.shape}, entries\n{skew}")
    if largest == 0.0 or not angle.size:
        raise MisuseError("generator and angles", "give at least one turn", f"shapes {skew.shape} and {angle.shape}")
    return np.asarray(expm(0.5 * angle[:, None, None] * (skew - skew.T)), dtype=np.float64)


def orbit_states(
    dictionary: LocalDictionary | ArrayLike, turn: ArrayLike, angles: ArrayLike | None = None
) -> ArrayStates:
    r"""One dictionary in several orientations.

    turn: a skew generator (d, d) together with angles (K,), or K orthogonal matrices (K, d, d).
    For a local dictionary d = q - 1: the block :math:`z_j = b + L v_j` becomes :math:`b + L R_k v_j` and the separated
    atom stays.  For an array of atoms (q, n), d = q and every atom turns, :math:`R_k D`.
    A column that a turn leaves alone stays bit by bit, so that it is one element in all states.
    """
    if isinstance(dictionary, LocalDictionary):
        block, q = dictionary.block, dictionary.q
        turned, fixed = _turned(block.frame.template, _check_turns(turn, angles, q - 1))  # (K, q - 1, q), (K, 1, q)
        z = block.center[:, None] + block.shape @ turned
        atoms = block.frame.atoms(np.hstack(list(z))).reshape(q, len(z), q).transpose(1, 0, 2)  # (K, q, q)
        last = np.broadcast_to(dictionary.separated[:, None], (len(z), q, 1))
        return ArrayStates(np.concatenate([np.where(fixed, block.atoms, atoms), last], axis=2))
    columns = check_unit_columns("dictionary", dictionary)
    turned, fixed = _turned(columns, _check_turns(turn, angles, len(columns)))
    return ArrayStates(np.where(fixed, columns, turned))


def _turned(columns: Array, rotations: Array) -> tuple[Array, BoolArray]:
    """(d, n) unit columns under K turns, (K, d, n), and which of them stand still, (K, 1, n)."""
    moved = rotations @ columns
    return moved, np.abs(moved - columns).max(axis=1, keepdims=True) <= _FIXED


def _check_turns(turn: ArrayLike, angles: ArrayLike | None, size: int) -> Array:
    if angles is not None:
        return turns(check_array("turn", turn, (size, size)), angles)
    rotations = check_array("turn", turn, (None, size, size))
    if not len(rotations):
        raise MisuseError("turn", "hold at least one matrix", "none")
    off = np.abs(rotations @ rotations.transpose(0, 2, 1) - np.eye(size)).max(axis=(1, 2))
    if off.max() > _TURN_TOLERANCE:
        raise MisuseError("turn", "hold orthogonal matrices", f"an error of {off.max():.3g} in matrix {off.argmax()}")
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
    """One dictionary in several orientations (see `orbit_states`), with supports and nuisances as in `array_bank`."""
    states = orbit_states(dictionary, turn, angles)
    rows = atom_rows(supports, strengths, states.n_atoms)
    return Bank(states, rows, calibration or Nuisances(), deployment or Nuisances())
