"""What explanations with learnt atoms say of the regions of a library: each atom speaks for its nearest element."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from ..._checks import check_open, check_unit_columns
from ..._errors import MisuseError
from ..._typing import Array, IntArray
from .._bank import Bank
from .._distances import projective_distances, set_distance
from .._library import JOINT, Library
from .._region_table import TableRegions


@final
@dataclass(frozen=True, slots=True, eq=False)
class NearestElements:
    """Of each atom, the nearest element of a library, the first of several, and its projective distance."""

    elements: IntArray  # (m,)
    distances: Array  # (m,)


def nearest_elements(atoms: ArrayLike, library: Library) -> NearestElements:
    """atoms: (q, m) unit columns.

    >>> library = Library(["a", "b"], ["left", "right"], [[0.1], [0.9]], [[1.0, 0.0], [0.0, 1.0]])
    >>> found = nearest_elements([[0.6, -1.0], [0.8, 0.0]], library)
    >>> [library.ids[e] for e in found.elements], found.distances.round(6).tolist()
    (['b', 'a'], [0.6, 0.0])
    """
    columns = check_unit_columns("atoms", atoms, len(library.responses))
    distances = projective_distances(columns, library.responses)  # (m, E)
    elements = np.argmin(distances, axis=1)
    return NearestElements(elements, distances[np.arange(len(elements)), elements])


# The region of atoms that are near to no element.
UNMATCHED = "unmatched"

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

    view: TableRegions
    distances: Mapping[str, Array] = field(repr=False)


def nearest_regions(bank: Bank, library: Library, *, within: float) -> NearestRegions:
    """Read every active atom as the nearest element of the library, by projective distance.

    within: the largest distance at which an atom still counts as an element, below 1.  Atoms farther from every element
    are in a region of their own, `unmatched`, where they are called `atom 0`, `atom 1`, ...  Regions that no
    explanation touches are left out.
    """
    if UNMATCHED in library.regions:
        raise MisuseError("library", f"have no region called {UNMATCHED!r}", "one")
    statements = _statements(bank, library, check_open("within", within, 0.0, 1.0))
    everywhere = (*library.region_names, UNMATCHED)
    regions = [region for region in everywhere if any(region in statement for statement in statements)]
    if not regions:
        raise MisuseError("bank", "have an active atom in some explanation", "none")
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
    view = TableRegions(names, located[pair], strengths[pair], places)
    return NearestRegions(view, {region: _distances(region, members[region], library) for region in regions})


def _statements(bank: Bank, library: Library, within: float) -> list[dict[str, tuple[_Members, float]]]:
    """Of every state and support, the support faster: region -> its active members and their strength together."""
    nearest = nearest_elements(bank.states.elements, library)
    chosen = bank.states.element_index(np.arange(bank.states.n_states))  # (K, n)
    statements = []
    for atoms in chosen.tolist():
        for support, positions in enumerate(bank.positions):
            statement: dict[str, tuple[_Members, float]] = {}
            for j in positions:
                is_near = nearest.distances[atoms[j]] <= within
                member = int(nearest.elements[atoms[j]]) if is_near else j
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
