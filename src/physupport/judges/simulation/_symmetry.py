"""Which explanations are the same up to a symmetry of their law, so that one set of draws serves all of them."""

from collections.abc import Sequence
from hashlib import sha256

import numpy as np

from ..._typing import Array, IntArray
from ...banks import Bank
from ...laws import Law
from ._rivals import neighbours

# Decimals by which symmetric explanations are looked for, and how far their numbers may then differ.
_DECIMALS, _SAME = 9, 1e-12
# Tuples whose numbers are held at a time; those of latent codes are the inner products of all their atoms.
_AT_A_TIME = 64


def first_alike(bank: Bank, law: Law, keys: IntArray) -> IntArray:
    """(k,) of tuples of keys (k, r) the number of the earliest that is the same up to symmetry, or its own.

    Tuples are the same if the law says that the same numbers make the joint law of their log likelihoods; those are
    compared, nothing is assumed of the bank.
    """
    seen: dict[bytes, int] = {}
    found = np.arange(len(keys))
    for start in range(0, len(keys), _AT_A_TIME):
        own = _numbers(bank, law, keys[start : start + _AT_A_TIME])
        looked_up = (sha256((row + 0.0).tobytes()).digest() for row in np.round(own, _DECIMALS))  # no -0
        first = np.array([seen.setdefault(digest, start + i) for i, digest in enumerate(looked_up)])
        is_same = np.abs(own - _numbers(bank, law, keys[first])).max(axis=1) <= _SAME
        found[start : start + len(own)][is_same] = first[is_same]
    return found


def is_orbit(bank: Bank, laws: Sequence[Law]) -> bool:
    """Whether states follow one smooth coordinate, and all but the ends are the same up to symmetry in some law.

    These are the orientations of a dictionary that turns in equal steps.
    """
    inner = np.arange(1, bank.states.n_states - 1)
    if len(inner) < 2 or not bank.is_line:  # of a single one nothing is seen to turn
        return False
    middle = bank.index(inner, 0)
    tuples = np.column_stack([middle, neighbours(bank, middle, 0)[:, :2]])
    completed = [law.completed(bank) for law in laws]
    return any(not first_alike(bank, law, _keys(bank, law, tuples)).any() for law in completed)


def _keys(bank: Bank, law: Law, tuples: IntArray) -> IntArray:
    """Of tuples of explanations, as many."""
    return law.keys(bank)(tuples.ravel()).reshape(tuples.shape)


def _numbers(bank: Bank, law: Law, keys: IntArray) -> Array:
    """(k, d) as the law has them; the keys themselves where it knows of no symmetry."""
    numbers = law.symmetries(bank, keys)
    return keys.astype(np.float64) if numbers is None else numbers
