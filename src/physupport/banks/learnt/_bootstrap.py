"""Dictionary states from repeated learning on resampled proposal rows; held-out rows are never indexed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias, final

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment

from ..._checks import check_count, check_instance, check_positive, check_unit_columns
from ..._errors import MisuseError
from ..._typing import Array, IntArray
from ...io import SplitRows, Table
from .._distances import bottleneck_assignment, projective_distances

# Rows (m, q), number of atoms n, seed -> (q, n) atoms of any length, sign and order.
Learner: TypeAlias = Callable[[Array, int, int], Array]


@final
@dataclass(frozen=True, slots=True)
class SparseLearner:
    r"""Adapter of scikit-learn's `DictionaryLearning`: :math:`\min_{C,D} \tfrac12\|Y - CD^\top\|_F^2 + \lambda\|C\|_1`.

    The atoms have norm at most one.  :math:`\lambda` is the penalty times the root of the mean square length of a row,
    so that units do not matter.  No mean is taken off: rows are :math:`D c + \xi` with codes of mean zero.  The problem
    has many local minima, and the atoms found are biased where atoms are coherent or the noise is strong.
    """

    penalty: float = 0.3
    tolerance: float = 1e-6  # relative decrease of the objective at which to stop
    max_iter: int = 100

    def __post_init__(self) -> None:
        check_positive("penalty", self.penalty)
        check_positive("tolerance", self.tolerance)
        check_count("max_iter", self.max_iter)

    def __call__(self, rows: Array, n_atoms: int, seed: int) -> Array:
        """(m, q) rows -> (q, n_atoms)."""
        try:
            from sklearn.decomposition import DictionaryLearning
        except ImportError as error:
            remedy = "Install physupport[learn], or give a learner of your own."
            raise MisuseError("learner", "be given where scikit-learn is not installed", "none", remedy) from error
        scale = float(np.sqrt(np.mean(np.sum(rows**2, axis=1))))
        if scale == 0.0:
            raise MisuseError("rows", "hold something else than zeros to learn from", f"{len(rows)} rows of zeros")
        model = DictionaryLearning(
            n_components=n_atoms,
            alpha=self.penalty,
            tol=self.tolerance,
            max_iter=self.max_iter,
            fit_algorithm="cd",
            random_state=seed,
        )
        return np.asarray(model.fit(rows / scale).components_, dtype=np.float64).T


@final
@dataclass(frozen=True, slots=True, eq=False)
class AtomMatch:
    r"""Two dictionaries brought together.

    distance: :math:`\min_\pi\max_j d_{\rm pr}([d_j], [d'_{\pi(j)}])`, exactly.  permutation: one that attains it and,
    among these, has the least sum of distances.  signs: that make matched atoms point the same way.
    """

    distance: float
    permutation: IntArray  # (n,)
    signs: Array  # (n,) 1 or -1

    def aligned(self, atoms: Array) -> Array:
        """(q, n) the second dictionary in the order and with the signs of the first."""
        return atoms[:, self.permutation] * self.signs


def match_atoms(first: ArrayLike, second: ArrayLike) -> AtomMatch:
    """The quotient distance of two dictionaries (q, n) of unit columns, and how their atoms correspond.

    >>> match = match_atoms([[1.0, 0.0], [0.0, 1.0]], [[0.0, -1.0], [1.0, 0.0]])
    >>> match.distance, match.permutation.tolist(), match.signs.tolist()
    (0.0, [1, 0], [-1.0, 1.0])
    """
    atoms = check_unit_columns("first", first)
    others = check_unit_columns("second", second, len(atoms))
    if atoms.shape != others.shape:
        raise MisuseError("second", f"have {atoms.shape[1]} atoms, as the first has", others.shape[1])
    costs = projective_distances(atoms, others)
    distance, _ = bottleneck_assignment(costs)
    # One pair that is not admitted costs more than n admitted ones, whose distances are at most 1.
    _, permutation = linear_sum_assignment(np.where(costs <= distance, costs, 2.0 * len(costs)))
    inner = np.einsum("qj,qj->j", atoms, others[:, permutation])
    return AtomMatch(distance, permutation.astype(np.int64), np.where(inner < 0.0, -1.0, 1.0))


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
        distances = np.zeros((len(self.dictionaries), len(self.dictionaries)))
        for i, dictionary in enumerate(self.dictionaries):
            for j, earlier in enumerate(self.dictionaries[:i]):
                distances[i, j] = distances[j, i] = match_atoms(earlier, dictionary).distance
        return distances


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
        where = f"row {order[row]}, channel {channel} (counted from 0)"
        raise MisuseError("table", "be finite", f"{rows[row, channel]} in {where}")
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
