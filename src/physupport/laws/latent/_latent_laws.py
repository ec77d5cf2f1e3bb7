"""Nuisances of the latent-code stream sorted by the trees of active sets they need."""

from dataclasses import dataclass
from typing import Final, final

import numpy as np

from ..._typing import Array, BoolArray, IntArray
from ..codes._laws import CodeLaw
from ._latent_errors import precision

# Multipliers and weights inside 2^-450 .. 2^450 keep every product of the row loops a normal number.
RANGE: Final = 2.0**450
_GUARD_BITS: Final = 128
_ABSENT: Final = -1.0


@final
@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """Nuisances that one kind of tree serves.

    Nested: one active variance and a positive weight of the full set; the tree hangs from the full set.  Mixed: all
    others that agree in which sizes occur with which variance; one tree a variance, rooted at the empty set.
    """

    members: BoolArray  # (m,) which nuisances
    noises: Array  # (m,)
    variances: Array  # (m,) of the full set if nested, else 0
    trees: Array  # (t,) variances of the trees if mixed, else none
    used: IntArray  # (t, n + 1) sizes that each tree carries
    weights: Array  # (m, n + 1)
    trusted: BoolArray  # (m,) whether the positive weights are inside the range

    @property
    def is_nested(self) -> bool:
        """Whether the tree hangs from the full set."""
        return len(self.trees) == 0

    @property
    def table_size(self) -> int:
        """Most active sets in the trees of one state."""
        pairs = np.stack([self.noises[self.members], self.variances[self.members]])
        factors = np.unique(pairs, axis=1).shape[1]
        return int(factors * max(1, len(self.trees)) << (self.weights.shape[1] - 1))


def law_families(laws: tuple[CodeLaw, ...], noises: Array, n_atoms: int) -> tuple[Family, ...]:
    """Sort the nuisances; their weights are rounded once, from 128 bits."""
    # Before the weights, because this is where a law refuses a number of atoms that it was not written for.
    variances = np.array([law.active_variances(n_atoms) for law in laws], dtype=np.float64)  # (m, n + 1)
    with precision(_GUARD_BITS):
        balls = [law.exact_weights(n_atoms) for law in laws]
        weights = np.array([[float(w) for w in row] for row in balls])
        occurs = np.array([[not w.is_zero() for w in row] for row in balls])
    trusted = np.all(~occurs | ((weights > 1.0 / RANGE) & (weights < RANGE)), axis=1)
    kinds = [_kind(o, v) for o, v in zip(occurs, variances, strict=True)]
    families = []
    for kind in sorted(set(kinds)):
        members = np.array([k == kind for k in kinds])
        trees, used = _trees(kind, n_atoms)
        own = np.where(members & (len(trees) == 0), variances[:, -1], 0.0)
        families.append(Family(members, noises, own, trees, used, weights, trusted))
    return tuple(families)


def _kind(occurs: BoolArray, variances: Array) -> tuple[float, ...]:
    """Nothing for nested laws; for others the variance of each size, marked where the size does not occur."""
    active = variances[1:][occurs[1:]]
    if occurs[-1] and np.all(active == variances[-1]):
        return ()
    return (0.0 if occurs[0] else _ABSENT, *np.where(occurs[1:], variances[1:], _ABSENT).tolist())


def _trees(kind: tuple[float, ...], n_atoms: int) -> tuple[Array, IntArray]:
    """Variances (t,) of the trees of a mixed kind, and the sizes (t, n + 1) they carry; the first has the empty set."""
    if not kind:
        return np.empty(0), np.empty((0, n_atoms + 1), dtype=np.int64)
    # A law that only ever leaves all atoms silent still needs a tree to hold the empty set.
    trees = np.unique([v for v in kind[1:] if v != _ABSENT] or [1.0])
    used = (np.array(kind) == trees[:, None]).astype(np.int64)
    used[:, 0] = 0
    used[0, 0] = kind[0] != _ABSENT
    return trees, used
