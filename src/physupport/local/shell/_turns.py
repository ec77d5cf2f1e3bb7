"""Turns, random or along a generator, and one dictionary in several orientations as the states of a bank."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import expm

from ..._checks import check_array, check_count, check_distinct, check_positive, check_unit_columns
from ..._errors import MisuseError
from ..._typing import Array, BoolArray
from ...banks import Bank, Nuisances, array_bank
from ._block import TYPED_DIGITS, LocalDictionary, off_orthogonal


def make_rotation(rng: np.random.Generator, dimension: int, size: float | None = None) -> Array:
    """A rotation: uniform over the orthogonal group, or the exponential of a random skew matrix of the given norm.

    size: Frobenius norm of the skew matrix; uniform unless given.  Returns (dimension, dimension).
    """
    check_count("dimension", dimension)
    gaussian = rng.standard_normal((dimension, dimension))
    if size is None:
        factor, triangle = np.linalg.qr(gaussian)
        # Signs of the diagonal make the factor unique, and with that the law invariant.
        return np.asarray(factor * np.sign(np.diagonal(triangle)))
    skew = gaussian - gaussian.T
    return np.asarray(expm(check_positive("size", size) * skew / np.linalg.norm(skew)))


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
    if skew.shape[0] != skew.shape[1] or np.abs(skew + skew.T).max(initial=0.0) > TYPED_DIGITS * largest:
        raise MisuseError("generator", "be square and skew", f"shape {skew.shape}, entries\n{skew}")
    if largest == 0.0 or not angle.size:
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
        block, q = dictionary.block, dictionary.q
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
        raise MisuseError("turn", "hold at least one matrix", "none")
    off = off_orthogonal(rotations)
    if off.max() > TYPED_DIGITS:
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
    """One dictionary in several orientations (see `oriented`), with supports and nuisances as in `array_bank`."""
    dictionaries = oriented(dictionary, turn, angles)
    return array_bank(dictionaries, supports, strengths=strengths, calibration=calibration, deployment=deployment)
