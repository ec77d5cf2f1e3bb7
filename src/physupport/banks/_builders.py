"""Banks and libraries from what a user has: a library, arrays of dictionaries, a forward solution."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations, product
from math import comb, prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_array, check_count, check_distinct
from .._errors import Clause, MisuseError
from .._typing import Array, IntArray
from ..io import Axis, as_reader_output, in_order
from ..responses import GenericFamily, Settings
from ._bank import Bank
from ._library import Counts, Library, library_states
from ._states import UNLISTED, Nuisances, States, array_states

# Rows of strengths, one for each support and each combination of its strengths: more are refused before one is made.
MOST_SUPPORTS = 2**20
_MILLIMETRES = 1000.0
# A direction whose response is this part of the strongest one of its source, or less, is not seen.
_SILENT = 1e-6


def check_supports(count: int) -> None:
    """Refuse more supports than a bank may have."""
    if count > MOST_SUPPORTS:
        remedy = "Fewer optional regions, fewer of them at a time, or fewer strengths make fewer."
        raise MisuseError("supports", f"number at most {MOST_SUPPORTS:,}, with their strengths", f"{count:,}", remedy)


def all_supports(n_atoms: int, up_to: int, least: int = 1) -> list[tuple[int, ...]]:
    """Every set of `least` to `up_to` atoms, the smaller first, each size in lexicographic order.

    With least=0 the list opens with the empty support: nothing is active and the data are noise.

    >>> all_supports(3, up_to=2)
    [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)]
    """
    check_count("n_atoms", n_atoms)
    check_count("up_to", up_to, 0, n_atoms)
    check_count("least", least, 0, up_to)
    check_supports(sum(comb(n_atoms, size) for size in range(least, up_to + 1)))
    return list(chain.from_iterable(combinations(range(n_atoms), size) for size in range(least, up_to + 1)))


def region_supports(
    persistent: Sequence[str], optional: Sequence[str] = (), max_size: int | None = None
) -> list[tuple[str, ...]]:
    """All persistent regions with every choice of optional ones, at most max_size regions in all.

    The smaller come first, each size in the order in which the optional regions are given.  Without a persistent
    region the list opens with the empty support.

    >>> region_supports("AB", "CD", max_size=3)
    [('A', 'B'), ('A', 'B', 'C'), ('A', 'B', 'D')]
    """
    always = tuple(persistent)
    choices = tuple(optional)
    check_distinct("persistent and optional", always + choices)
    total = len(always) + len(choices)
    most = total if max_size is None else check_count("max_size", max_size, len(always), total)
    sizes = range(most - len(always) + 1)
    check_supports(sum(comb(len(choices), size) for size in sizes))
    return [always + chosen for size in sizes for chosen in combinations(choices, size)]


def strength_rows(
    supports: Iterable[Sequence[str]], strengths: Mapping[str, float | Sequence[float]], states: States
) -> Array:
    """(n_supports, n_atoms): a row for every support and every combination of the strengths of its regions.

    The support varies slowest, then the strength of its first region in the order of the atoms.  A support given as
    text is a list of regions with names of one letter.
    """
    place = {name: number for number, name in enumerate(states.regions)}
    rule = f"name regions of the bank ({', '.join(map(repr, place))})"
    values: dict[str, list[float]] = {}
    for name, levels in strengths.items():
        if name not in place:
            raise MisuseError("strengths", rule, repr(name))
        values[name] = np.atleast_1d(np.asarray(levels, dtype=np.float64)).tolist()
        for level in values[name] or (np.nan,):
            if not 0.0 < level < np.inf:
                raise MisuseError(f"the strength of region {name!r}", "be finite and above 0", level)
    rows: list[Array] = []
    for support in map(tuple, supports):
        check_distinct("a support", support)
        for name in support:
            if name not in place:
                raise MisuseError("supports", rule, repr(name), "Write longer names in a tuple, not in one text.")
            if name not in values:
                raise MisuseError(
                    "strengths", "give the strength of every active region", Clause(f"region {name!r} has none")
                )
        names = sorted(support, key=place.__getitem__)  # in the order of the atoms
        check_supports(len(rows) + prod([len(values[name]) for name in names]))
        for combination in product(*[values[name] for name in names]):
            row = np.zeros(states.n_atoms)
            for name, strength in zip(names, combination, strict=True):
                row[[*states.blocks[place[name]]]] = strength
            rows.append(row)
    return np.array(rows).reshape(len(rows), states.n_atoms)


def atom_rows(supports: Iterable[Iterable[int]], strengths: ArrayLike, n_atoms: int) -> Array:
    """(n_supports, n_atoms) strengths of supports given as atom indices; strengths: one number or (n_atoms,)."""
    try:
        levels = np.broadcast_to(np.asarray(strengths, dtype=np.float64), (n_atoms,))
    except (TypeError, ValueError) as error:
        raise MisuseError("strengths", f"be one number or {n_atoms}", f"shape {np.shape(strengths)}") from error
    rows: list[Array] = []
    for support in supports:
        atoms = [check_count("an atom of a support", atom, 0, n_atoms - 1) for atom in support]
        check_distinct("a support", atoms)
        for atom in atoms:
            if not 0.0 < levels[atom] < np.inf:
                raise MisuseError(f"the strength of atom {atom}", "be finite and above 0", levels[atom])
        row = np.zeros(n_atoms)
        row[atoms] = levels[atoms]
        rows.append(row)
    return np.array(rows).reshape(len(rows), n_atoms)


def library_bank(
    library: Library,
    supports: Iterable[Sequence[str]],
    strengths: Mapping[str, float | Sequence[float]],
    *,
    regions: Sequence[str] | None = None,
    extra: ArrayLike | None = None,
    settings: Settings | None = None,
    counts: Counts | None = None,
    calibration: Nuisances | None = None,
    deployment: Nuisances | None = None,
) -> Bank:
    """States with one element, or a set of elements, from every region, and the given regions active.

    supports: each a list of regions, or a text such as "ABC" when names have one letter; see `region_supports`.
    strengths: of every region that is ever active; several for a region give a support for every combination.
    regions: the order of the atoms, the slowest first; that of the library unless given.
    extra: (q, m) unit columns that every state has and no support names, such as an atom met in calibration only.
    settings: responses of the library under other calibration parameters; then each setting gives states of its own.
    counts: of regions that may have several elements at once, how many at most, or (least, most).  They are unordered
        sets, so that nothing differs only by a swap, and each element has the strength of its region.
    """
    columns = np.zeros((len(library.responses), 0))
    if extra is not None:
        axes = (Axis("channels", library.channels, "the library"), Axis("columns"))
        columns = np.asarray(in_order("extra", as_reader_output("extra", extra), axes), dtype=np.float64)
    names = library.region_names if regions is None else tuple(regions)
    states = library_states(library, names, columns, counts, settings)
    check_different(library, names)
    rows = strength_rows(supports, strengths, states)
    return Bank(states, rows, calibration or Nuisances(), deployment or Nuisances())


def with_unlisted(
    library: Library, supports: Iterable[Sequence[str]], generic: ArrayLike | GenericFamily
) -> tuple[Library, list[tuple[str, ...]]]:
    """The library with a region for one source that it lacks, and the supports without and with that.

    generic: of counts (q, G) responses that are nowhere negative, such as `responses.generic_peaks`.  The law has to
    get them, too: the one new element then is any nonnegative mix of them; its own response, their mean, is one of
    these mixes.  Of other rows a `GenericFamily`, of which each cell is an element; the law has to get what is further
    in the cells.
    """
    if UNLISTED in library.region_names or UNLISTED in library.ids:
        raise MisuseError("library", f"have no element or region {UNLISTED!r} of its own", Clause("it has one"))
    width = len(library.responses)
    if isinstance(generic, GenericFamily):
        added = check_array("generic", generic.columns, (width, None))
        ids = _cell_names(generic.places)
    else:
        columns = np.asarray(generic, dtype=np.float64)
        if columns.ndim != 2 or len(columns) != width or not columns.size:
            raise MisuseError("generic", f"have {width} rows and a column", f"shape {columns.shape}")
        mean = (columns / columns.sum(axis=0)).sum(axis=1, keepdims=True)
        added = mean / np.linalg.norm(mean)
        ids = (UNLISTED,)
    place = np.tile(library.coordinates.mean(axis=0), (len(ids), 1))
    variants = library.variants
    wider = replace(
        library,
        ids=(*library.ids, *ids),
        regions=(*library.regions, *[UNLISTED] * len(ids)),
        coordinates=np.vstack([library.coordinates, place]),
        responses=np.hstack([library.responses, added]),
        extents=None if library.extents is None else np.vstack([library.extents, 0.0 * place]),
        variants=None if variants is None else np.concatenate([variants, np.tile(added, (len(variants), 1, 1))], 2),
    )
    listed = [tuple(support) for support in supports]
    return wider, [*listed, *((*support, UNLISTED) for support in listed)]


def _cell_names(places: Array) -> tuple[str, ...]:
    """Names of cells (2, G) by their ends, or by their numbers where they are points or ends look alike."""
    names = tuple(f"{UNLISTED} {low:.5g} to {high:.5g}" for low, high in places.T)
    is_wide = bool((places[0] < places[1]).all())
    return names if is_wide and len({*names}) == len(names) else tuple(f"{UNLISTED} {k}" for k in range(len(names)))


def check_different(library: Library, regions: Sequence[str]) -> None:
    """Refuse two regions with the same elements: explanations would differ only by a swap."""
    seen: dict[tuple[bytes, ...], str] = {}
    for name in regions:
        members = library.members(name)
        both = np.vstack([library.coordinates[members].T, library.responses[:, members]]).T  # (m, d + q)
        key = tuple(sorted(row.tobytes() for row in both))
        if key in seen:
            remedy = f"Make one region of them, with the count 2: {name!r} and {seen[key]!r} differ only by a swap."
            raise MisuseError(
                "regions", "have different elements", Clause(f"{seen[key]!r} and {name!r} have the same"), remedy
            )
        seen[key] = name


def array_bank(
    dictionaries: ArrayLike,
    supports: Iterable[Iterable[int]],
    *,
    strengths: ArrayLike = 1.0,
    calibration: Nuisances | None = None,
    deployment: Nuisances | None = None,
) -> Bank:
    """Dictionaries given as an array (K, q, n), with supports given as atom indices (see `all_supports`).

    strengths: one number, or (n,) the strength of every atom where it is active.
    """
    states = array_states(dictionaries)
    rows = atom_rows(supports, strengths, states.n_atoms)
    return Bank(states, rows, calibration or Nuisances(), deployment or Nuisances())


def forward_library(
    forward: Mapping[str, Any],
    *,
    regions: str | Sequence[str] = "brain",
    channels: Sequence[str] | None = None,
    sources: IntArray | None = None,
) -> Library:
    """One element for each source of a forward solution, at its place in millimetres.

    A source of free orientation may point anywhere: its three columns mix (`Library.variants`), and the law is
    `gaussian`.  A source of fixed orientation has one column.
    regions: the region of all sources, or of each in their order.  channels: the names of the rows' channels in their
    order; those of the solution unless given.  sources: the numbers of those to take; all unless given.
    Responses are brought to norm 1, so strengths refer to such columns.
    """
    gains = np.asarray(forward["sol"]["data"], dtype=np.float64)
    places = np.asarray(forward["source_rr"])
    n_directions, rest = divmod(gains.shape[1], len(places))
    if rest or n_directions not in (1, 3):
        rule = f"have one column, or three, for each of its {len(places)} sources"
        raise MisuseError("forward", rule, f"{gains.shape[1]} columns")
    if n_directions == 1:
        _check_orientations(forward)
    known = [str(name) for name in forward["sol"]["row_names"]]
    wanted = known if channels is None else [*channels]
    missing = [name for name in wanted if name not in known]
    if missing:
        raise MisuseError("channels", "be channels of the forward solution", ", ".join(map(repr, missing[:5])))
    picked = gains[[known.index(name) for name in wanted]].reshape(len(wanted), len(places), n_directions)
    chosen = np.arange(len(places)) if sources is None else np.asarray(sources)
    columns = _unit_columns(picked[:, chosen].transpose(1, 0, 2))  # (V, q, E)
    named = (regions,) * len(chosen) if isinstance(regions, str) else tuple(regions)
    names = np.array(_source_names(forward["src"]))[chosen]
    variants = columns[1:] if n_directions > 1 else None
    return Library(
        tuple(names.tolist()),
        named,
        _MILLIMETRES * places[chosen],
        columns[0],
        "mm",
        variants=variants,
        channels=tuple(wanted),
    )


def _unit_columns(gains: Array) -> Array:
    """(E, q, V) -> (V, q, E) unit columns with the same spans, the strongest first.

    A direction that no channel sees, as those along the radius of a sphere in MEG, is given by the strongest again.
    """
    if gains.shape[2] == 1:
        sizes = np.linalg.norm(gains, axis=1)
        left = gains / np.where(sizes > 0.0, sizes, 1.0)[:, None]  # with its sign
    else:
        left, sizes, _ = np.linalg.svd(gains, full_matrices=False)  # (E, q, V), (E, V)
    if not np.all(sizes[:, 0] > 0.0):
        raise MisuseError(
            "forward", "have a response of every source", Clause(f"source {int(np.argmin(sizes[:, 0]))} has none")
        )
    is_seen = sizes > _SILENT * sizes[:, :1]
    return np.where(is_seen[:, None], left, left[:, :, :1]).transpose(2, 1, 0)


def _check_orientations(forward: Mapping[str, Any]) -> None:
    """Refuse sources in a volume that were all made to point the same way, which is nobody's knowledge."""
    normals = np.asarray(forward["source_nn"])
    is_volume = any(space.get("type") != "surf" for space in forward["src"])
    if is_volume and len(normals) > 1 and np.ptp(normals, axis=0).max() < _SILENT:
        direction = ", ".join(f"{each:g}" for each in normals[0])
        remedy = "Give the solution of free orientations: each source then has the span of its three columns."
        raise MisuseError("forward", "have orientations that are known", f"({direction}) for all sources", remedy)


def _source_names(spaces: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Names of the sources by their vertices, with the hemisphere where there are two of them."""
    sides = ("lh", "rh") if len(spaces) == 2 else tuple(f"source {i}" if i else "source" for i in range(len(spaces)))
    return tuple(f"{side} {number}" for side, space in zip(sides, spaces, strict=True) for number in space["vertno"])
