"""Dictionary states learnt from proposal rows, and the elements of a library that their atoms stand for.

States come from repeated learning on resampled proposal rows; held-out rows are never indexed.  Each atom then stands
for the nearest element of a library, by distances between atoms as lines, between sets of atoms, and one-to-one
matchings.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, TypeAlias, final

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching
from scipy.spatial.distance import cdist

from .._checks import check_array, check_count, check_instance, check_open, check_positive, check_unit_columns
from .._errors import Clause, MisuseError
from .._typing import Array, BoolArray, IntArray
from ..io import SplitRows, Table
from ._bank import Bank
from ._library import JOINT, Library
from ._regions import RegionalView, listed_regions


def projective_distances(first: ArrayLike, second: ArrayLike) -> Array:
    r"""Sine of the angle between the lines of unit atoms (eq:projective-distance).

    :math:`d_{\rm pr}([d],[d']) = \sqrt{1-(d^\top d')^2} = \tfrac12\,\|d-d'\|\,\|d+d'\|`.

    first: (q, m), second: (q, k), unit columns.  Returns (m, k).
    """
    a = _directions("first", first)  # (q, m)
    b = _directions("second", second, len(a))  # (q, k)
    return _line_distances(a.T, b.T)


def hausdorff_distance(first: ArrayLike, second: ArrayLike) -> float:
    r"""Projective Hausdorff distance of two nonempty sets of atoms, :math:`d_H^{\rm pr}`.

    It is the physical-resolution loss of two targets whatever their marks (eq:physical-resolution-loss).
    first: (q, m), second: (q, k), unit columns.
    """
    return set_distance(projective_distances(_nonempty("first", first), _nonempty("second", second)))


def set_distance(between: Array) -> float:
    """Hausdorff distance of two sets from the distances of their members, (m, k)."""
    return float(max(between.min(axis=1).max(), between.min(axis=0).max()))


def physical_diameter(targets: Iterable[ArrayLike]) -> float:
    r"""Largest projective Hausdorff distance within a collection of sets of atoms (eq:physical-diameter).

    targets: arrays (q, r_i) of unit columns, all with the same q.  Exact over all pairs; the distances of one target
    to all others are held at a time.
    """
    rows = list[Array]()  # (r_i, q)
    for i, target in enumerate(targets):
        q = rows[0].shape[1] if rows else None
        rows.append(_directions(f"targets[{i}]", _nonempty(f"targets[{i}]", target), q).T)
    if not rows:
        raise MisuseError("targets", "hold at least one target", "an empty collection")
    everything = np.concatenate(rows)
    starts = np.cumsum([0, *map(len, rows[:-1])])
    largest = 0.0
    for own in rows:
        lines = _line_distances(own, everything)  # (r_i, all atoms)
        there = np.minimum.reduceat(lines, starts, axis=1)
        back = np.maximum.reduceat(lines.min(axis=0), starts)
        largest = max(largest, float(there.max()), float(back.max()))
    return largest


def _line_distances(a: Array, b: Array) -> Array:
    # The product of chords keeps full relative accuracy for close lines, where 1 - (d.d')^2 has none; cdist
    # subtracts coordinates and so keeps it too.
    return 0.5 * cdist(a, b) * cdist(a, -b)


def _directions(name: str, atoms: ArrayLike, rows: int | None = None) -> Array:
    # Atoms read with few digits are unit only within the tolerance of the check; their lines are what is compared.
    columns = check_unit_columns(name, atoms, rows)
    directions: Array = columns / np.linalg.norm(columns, axis=0)
    return directions


def _nonempty(name: str, atoms: ArrayLike) -> ArrayLike:
    if np.ndim(atoms) == 2 and np.shape(atoms)[1] == 0:
        raise MisuseError(name, "hold at least one atom", "an empty set")
    return atoms


def bottleneck_assignment(cost: ArrayLike) -> tuple[float, IntArray]:
    r"""Exact :math:`\min_\pi \max_j c_{j\pi(j)}` and a permutation that attains it.

    The value is one of the costs, at least every row's and every column's smallest; it is the least such cost whose
    admitted pairs hold a perfect matching, found by bisection.  cost: (q, q).
    """
    costs = check_array("cost", cost, (None, None))
    check_count("number of rows of cost", len(costs))
    if costs.shape[0] != costs.shape[1]:
        raise MisuseError("cost", "be square", f"shape {costs.shape}")
    floor = max(costs.min(axis=0).max(), costs.min(axis=1).max())
    levels = np.unique(costs[costs >= floor])
    # No matching at `low`; `permutation` is one at `high`, where at first every pair is admitted.
    low = -1
    high = len(levels) - 1
    permutation = np.arange(len(costs), dtype=np.int64)
    probe = 0  # the floor itself is attained for dictionaries that are close, so it is tried first
    while low + 1 < high:
        matching = _perfect_matching(costs <= levels[probe])
        if matching is None:
            low = probe
        else:
            high = probe
            permutation = matching
        probe = (low + high) // 2
    return float(levels[high]), permutation


def _perfect_matching(admitted: BoolArray) -> IntArray | None:
    columns = maximum_bipartite_matching(csr_array(admitted), perm_type="column")  # -1 where a row has no partner
    return None if columns.min() < 0 else columns.astype(np.int64)


# The region of atoms that are near to no element.
UNMATCHED = "unmatched"

# Rows (m, q), number of atoms n, seed -> (q, n) atoms of any length, sign and order.
Learner: TypeAlias = Callable[[Array, int, int], Array]


def sparse_learner(
    rows: Array, n_atoms: int, seed: int, *, penalty: float = 0.3, tolerance: float = 1e-6, max_iter: int = 100
) -> Array:
    r"""Learn by scikit-learn's `DictionaryLearning`: :math:`\min_{C,D} \tfrac12\|Y - CD^\top\|_F^2 + \lambda\|C\|_1`.

    (m, q) rows -> (q, n_atoms).  The atoms have norm at most one.  :math:`\lambda` is the penalty times the root of the
    mean square length of a row, so that units do not matter.  tolerance: the relative decrease of the objective at
    which to stop.  No mean is taken off: rows are :math:`D c + \xi` with codes of mean zero.  The problem has many
    local minima, and the atoms found are biased where atoms are coherent or the noise is strong.
    """
    try:
        learning = import_module("sklearn.decomposition")
    except ImportError as error:
        remedy = "Install physupport[learn], or give a learner of your own."
        raise MisuseError(
            "learner", "be given where scikit-learn is not installed", Clause("none is given"), remedy
        ) from error
    scale = float(np.sqrt(np.mean(np.sum(rows**2, axis=1))))
    if scale == 0.0:
        raise MisuseError("rows", "hold something else than zeros to learn from", f"{len(rows)} rows of zeros")
    model = learning.DictionaryLearning(
        n_components=n_atoms,
        alpha=check_positive("penalty", penalty),
        tol=check_positive("tolerance", tolerance),
        max_iter=check_count("max_iter", max_iter),
        fit_algorithm="cd",
        random_state=seed,
    )
    return np.asarray(model.fit(rows / scale).components_, dtype=np.float64).T


def match_atoms(first: ArrayLike, second: ArrayLike) -> tuple[float, IntArray, Array]:
    r"""The quotient distance of two dictionaries (q, n) of unit columns, and how their atoms correspond.

    The distance is :math:`\min_\pi\max_j d_{\rm pr}([d_j], [d'_{\pi(j)}])`, exactly.  The permutation (n,) attains it
    and, among these, has the least sum of distances; the signs (n,) make matched atoms point the same way.

    >>> distance, permutation, signs = match_atoms([[1.0, 0.0], [0.0, 1.0]], [[0.0, -1.0], [1.0, 0.0]])
    >>> distance, permutation.tolist(), signs.tolist()
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
    return distance, permutation.astype(np.int64), np.where(inner < 0.0, -1.0, 1.0)


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
                distances[i, j] = distances[j, i] = match_atoms(earlier, dictionary)[0]
        return distances


def bootstrap_states(
    table: Table | NDArray[Any],
    split: SplitRows,
    n_atoms: int,
    *,
    n_states: int = 20,
    seed: int = 0,
    learner: Learner = sparse_learner,
) -> LearnedStates:
    """Learn one dictionary on the proposal rows and n_states - 1 on as many rows drawn from them with replacement.

    table: (N, q) real, of which only chosen rows are read.  split: that of the protocol which will judge, so that its
    held-out rows are those left alone here.  Resamples have rows and a learner's seed of their own, all from one seed.
    Atoms are matched to those of the first dictionary by the quotient distance.  learner: `sparse_learner` unless
    given.

    The true dictionary is not one of these states.  The guarantee of a report holds for a truth on the bank, so
    these states describe how far the learner may be off; they do not cover the truth.
    """
    rows = _proposal_rows(table.values if isinstance(table, Table) else table, split)
    check_count("n_atoms", n_atoms)
    check_count("n_states", n_states)
    children = SeedSequence(check_count("seed", seed, 0)).spawn(n_states)
    reference = _learnt(learner, rows.copy(), n_atoms, children[0])
    dictionaries = [reference]
    distances = [0.0]
    for child in children[1:]:
        drawn = np.random.default_rng(child).integers(len(rows), size=len(rows))
        atoms = _learnt(learner, rows[drawn], n_atoms, child)
        distance, permutation, signs = match_atoms(reference, atoms)
        dictionaries.append(atoms[:, permutation] * signs)
        distances.append(distance)
    return LearnedStates(np.stack(dictionaries), np.array(distances))


def _proposal_rows(table: NDArray[Any], split: SplitRows) -> Array:
    """(m, q) in the order of the table, which a file is read fastest in."""
    check_instance("split", split, SplitRows)
    if len(table.shape) != 2 or table.shape[0] != split.n_rows:
        raise MisuseError("table", f"have the {split.n_rows} rows of the split", f"shape {tuple(table.shape)}")
    if not len(split.proposal):
        raise MisuseError("split", "leave rows to the proposal", Clause("it leaves none"))
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
        raise MisuseError(
            "learner", "give atoms other than zero", Clause(f"atom {int(norms.argmin())} is zero"), remedy
        )
    unit: Array = atoms / norms
    return unit


def nearest_elements(atoms: ArrayLike, library: Library) -> tuple[IntArray, Array]:
    """(m,) the nearest element of a library to each atom, the first of several, and (m,) its projective distance.

    atoms: (q, m) unit columns.

    >>> library = Library(["a", "b"], ["left", "right"], [[0.1], [0.9]], [[1.0, 0.0], [0.0, 1.0]])
    >>> elements, distances = nearest_elements([[0.6, -1.0], [0.8, 0.0]], library)
    >>> [library.ids[e] for e in elements], distances.round(6).tolist()
    (['b', 'a'], [0.6, 0.0])
    """
    columns = check_unit_columns("atoms", atoms, len(library.responses))
    distances = projective_distances(columns, library.responses)  # (m, E)
    elements = np.argmin(distances, axis=1)
    return elements, distances[np.arange(len(elements)), elements]


# What is active in a region: elements of the library by number, in increasing order; of `unmatched`, atoms.
_Members: TypeAlias = tuple[int, ...]


@final
@dataclass(frozen=True, slots=True, eq=False)
class NearestRegions:
    """The regions of a bank of learnt states, in the words of a library.

    view: what each explanation says.  Where several active atoms belong to one region their elements are named
    together, as `a + b`, and strengths are added.
    distances: of each region, (m, m) between its elements, for `RegionRule(distances=...)`: the Hausdorff distance of
    the places named; in the region `unmatched` any two elements are 1 apart.
    """

    view: RegionalView
    distances: Mapping[str, Array] = field(repr=False)


def nearest_regions(bank: Bank, library: Library, *, within: float) -> NearestRegions:
    """Read every active atom as the nearest element of the library, by projective distance.

    within: the largest distance at which an atom still counts as an element, below 1.  Atoms farther from every element
    are in a region of their own, `unmatched`, where they are called `atom 0`, `atom 1`, ...  Regions that no
    explanation touches are left out.
    """
    if UNMATCHED in library.regions:
        raise MisuseError("library", f"have no region called {UNMATCHED!r}", Clause("it has one"))
    statements = _statements(bank, library, check_open("within", within, 0.0, 1.0))
    everywhere = (*library.region_names, UNMATCHED)
    regions = [region for region in everywhere if any(region in statement for statement in statements)]
    if not regions:
        raise MisuseError("bank", "have an active atom in some explanation", Clause("it has none"))
    members = {region: sorted({one[region][0] for one in statements if region in one}) for region in regions}
    names = {region: _names(region, listed, library) for region, listed in members.items()}
    numbers = {region: {one: i for i, one in enumerate(listed)} for region, listed in members.items()}
    located = np.array([[numbers[r][one[r][0]] if r in one else -1 for r in regions] for one in statements])
    strengths = np.array([[one[r][1] if r in one else 0.0 for r in regions] for one in statements])
    columns = bank.split(np.arange(bank.size))
    pair = columns.state * bank.n_supports + columns.support
    places = {
        region: library.coordinates[np.array(listed)[:, 0]]
        for region, listed in members.items()
        if region != UNMATCHED and max(map(len, listed)) == 1
    }
    view = listed_regions(names, located[pair], strengths[pair], places)
    return NearestRegions(view, {region: _distances(region, members[region], library) for region in regions})


def _statements(bank: Bank, library: Library, within: float) -> list[dict[str, tuple[_Members, float]]]:
    """For every state and support, the support faster: region -> its active members and their strength together."""
    nearest, distances = nearest_elements(bank.states.elements, library)
    chosen = bank.states.element_index(np.arange(bank.states.n_states))  # (K, n)
    statements = []
    for atoms in chosen.tolist():
        for support, positions in enumerate(bank.positions):
            statement: dict[str, tuple[_Members, float]] = {}
            for j in positions:
                is_near = distances[atoms[j]] <= within
                member = int(nearest[atoms[j]]) if is_near else j
                region = library.regions[member] if is_near else UNMATCHED
                others, strength = statement.get(region, ((), 0.0))
                statement[region] = (tuple(sorted({*others, member})), strength + float(bank.strengths[support, j]))
            statements.append(statement)
    return statements


def _names(region: str, members: Sequence[_Members], library: Library) -> tuple[str, ...]:
    def name(member: int) -> str:
        return f"atom {member}" if region == UNMATCHED else library.ids[member]

    names = tuple(JOINT.join(map(name, listed)) for listed in members)
    if len({*names}) < len(names):
        raise MisuseError("library", "have ids that cannot be taken for several, as in 'a + b'", names)
    return names


def _distances(region: str, members: Sequence[_Members], library: Library) -> Array:
    if region == UNMATCHED:
        return 1.0 - np.eye(len(members))
    distances = np.zeros((len(members), len(members)))
    for i, first in enumerate(members):
        for j, second in enumerate(members[:i]):
            between = cdist(library.coordinates[[*first]], library.coordinates[[*second]])
            distances[i, j] = distances[j, i] = set_distance(between)
    return distances
