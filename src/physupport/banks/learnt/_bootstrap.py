"""Dictionary states from repeated learning on resampled proposal rows; held-out rows are never indexed."""

from dataclasses import dataclass
from typing import Protocol, final

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import ArrayLike

from ..._checks import check_count, check_instance
from ..._errors import MisuseError
from ..._typing import Array, IntArray
from ...io import SplitRows, Table
from ._learner import Learner, SparseLearner
from ._match import match_atoms


class RowTable(Protocol):
    """A table of which chosen rows can be read: an array, a memory map, or anything that answers to these two."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(N, q)."""

    def __getitem__(self, rows: IntArray, /) -> ArrayLike:
        """(m,) -> (m, q)."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class LearnedStates:
    """Dictionaries with corresponding atoms; the first is learnt on all proposal rows, the others on resamples.

    distances: quotient distance of each to the first, 0 for the first itself.
    """

    dictionaries: Array  # (K, q, n), unit columns
    distances: Array  # (K,)

    def pairwise(self) -> Array:
        """(K, K) quotient distances, for `Resolution.of_states`."""
        found = np.zeros((len(self.dictionaries), len(self.dictionaries)))
        for i, here in enumerate(self.dictionaries):
            for j, there in enumerate(self.dictionaries[:i]):
                found[i, j] = found[j, i] = match_atoms(there, here).distance
        return found


def bootstrap_states(
    table: RowTable | Table,
    split: SplitRows,
    n_atoms: int,
    *,
    n_states: int = 20,
    seed: int = 0,
    learner: Learner | None = None,
) -> LearnedStates:
    """Learn one dictionary on the proposal rows and n_states - 1 on as many rows drawn from them with replacement.

    table: (N, q) real.  split: that of the protocol which will judge, so that its held-out rows are those left alone
    here.  Resamples have rows and a learner's seed of their own, all from one seed.  Atoms are matched to those of the
    first dictionary by the quotient distance.  learner: `SparseLearner()` unless given.

    The true dictionary is not one of these states.  The guarantee of a report holds for a truth on the bank, so
    these states describe how far the learner may be off; they do not cover the truth.
    """
    rows = _proposal_rows(table.values if isinstance(table, Table) else table, split)
    check_count("n_atoms", n_atoms)
    check_count("n_states", n_states)
    chosen = SparseLearner() if learner is None else learner
    children = SeedSequence(check_count("seed", seed, 0)).spawn(n_states)
    reference = _learnt(chosen, rows.copy(), n_atoms, children[0])
    dictionaries, distances = [reference], [0.0]
    for child in children[1:]:
        drawn = np.random.default_rng(child).integers(len(rows), size=len(rows))
        atoms = _learnt(chosen, rows[drawn], n_atoms, child)
        match = match_atoms(reference, atoms)
        dictionaries.append(match.aligned(atoms))
        distances.append(match.distance)
    return LearnedStates(np.stack(dictionaries), np.array(distances))


def _proposal_rows(table: RowTable, split: SplitRows) -> Array:
    """(m, q) in the order of the table, which a file is read fastest in."""
    check_instance("split", split, SplitRows)
    if len(table.shape) != 2 or table.shape[0] != split.n_rows:
        raise MisuseError("table", f"have the {split.n_rows} rows of the split", f"shape {tuple(table.shape)}")
    if not len(split.proposal):
        raise MisuseError("split", "leave rows to the proposal", "none")
    order = np.sort(split.proposal)
    rows = np.asarray(table[order])
    if rows.dtype.kind not in "fiu":
        raise MisuseError("table", "be real to learn a dictionary from it", f"entries of type {rows.dtype}")
    finite = np.isfinite(rows)
    if not finite.all():
        row, channel = np.argwhere(~finite)[0].tolist()
        raise MisuseError("table", "be finite", f"{rows[row, channel]} in row {order[row]}, channel {channel}")
    return rows.astype(np.float64)


def _learnt(learner: Learner, rows: Array, n_atoms: int, seed: SeedSequence) -> Array:
    """(q, n) unit columns."""
    # scikit-learn takes seeds below 2^32.
    atoms = np.asarray(learner(rows, n_atoms, int(seed.generate_state(1)[0])), dtype=np.float64)
    if atoms.shape != (rows.shape[1], n_atoms) or not np.isfinite(atoms).all():
        shape = (rows.shape[1], n_atoms)
        raise MisuseError("learner", f"give finite atoms of shape {shape}", f"shape {atoms.shape}")
    norms = np.linalg.norm(atoms, axis=0)
    if not norms.all():
        remedy = "Ask for fewer atoms, or use a smaller penalty."
        raise MisuseError("learner", "give atoms other than zero", f"zero in atom {int(norms.argmin())}", remedy)
    unit: Array = atoms / norms
    return unit
