"""From a learnt dictionary, a library and calibration rows to the bank, the question and the judge of a signal."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_array, check_columns, check_count, check_nonnegative
from .._codec import rows_hash
from .._errors import Clause, MisuseError
from .._typing import Array, Field
from ..banks import Bank, Library, library_bank
from ..io import as_complex, as_pairs
from ..judges.learnt import (
    CALIBRATION_SHARE,
    ByLearnt,
    Places,
    SignalSpace,
    box_places,
    listed_places,
    rows_needed,
    signal_space,
)
from ..responses import Response

# Combinations of cells that a bank may have.
_MOST_STATES = 2048
# Places of a box at which a learnt atom looks for its nearest response.
_READ_PLACES = 4001

LearnerLike = Any  # an estimator with `components_`, a function (rows, n_atoms, seed) -> (q, n), or an array
Box = Mapping[str, Sequence[float]] | Sequence[Sequence[float]]


class LearntParts(NamedTuple):
    """Bank, its supports, tolerances by region, and judge."""

    bank: Bank
    supports: list[tuple[str, ...]]
    tolerances: dict[str, float]
    judge: ByLearnt


def learnt_atoms(learner: LearnerLike, rows: Field, n_atoms: int | None, seed: int) -> Field:
    """(q, n) unit columns: the atoms of an estimator, of a function, or of an array with an atom a row or a column."""
    q = rows.shape[1]
    found = getattr(learner, "components_", None)
    if found is None and callable(getattr(learner, "fit", None)):
        found = learner.fit(rows).components_
    elif found is None and callable(learner):
        if n_atoms is None:
            raise MisuseError("n_atoms", "be given with a function that learns", Clause("it is None"))
        found = np.asarray(learner(rows, n_atoms, seed)).T
    atoms = check_columns("learner", learner if found is None else found, None)
    if q not in atoms.shape:
        raise MisuseError("learner", f"have atoms of {q} channels", f"shape {atoms.shape}")
    columns = atoms.T if atoms.shape[1] == q else atoms
    norms = np.linalg.norm(columns, axis=0)
    if not norms.all():
        remedy = "Learn fewer atoms, or take away those that are zero."
        raise MisuseError(
            "learner", "have atoms other than zero", Clause(f"atom {int(norms.argmin()) + 1} is zero"), remedy
        )
    if n_atoms is not None and columns.shape[1] != check_count("n_atoms", n_atoms):
        raise MisuseError("n_atoms", f"be the {columns.shape[1]} atoms of the learner", n_atoms)
    return np.asarray(columns / norms)


def learnt_parts(
    learner: LearnerLike,
    library: Response | Library,
    calibration: ArrayLike,
    *,
    places: Box | None,
    tolerance: float,
    level: float,
    n_atoms: int | None = None,
    unit: str = "",
    learnt_on: str = "",
    seed: int = 0,
) -> LearntParts:
    """Read the calibration, and make all that a signal is judged with.

    All calibration rows judge.  The learner says how many atoms there are, and what each would be taken for: the places
    that are left do not depend on its atoms.
    """
    rows = check_columns("calibration", calibration, None)
    atoms = learnt_atoms(learner, rows, n_atoms, seed)
    n = atoms.shape[1]
    check_nonnegative("tolerance", tolerance)
    space = signal_space(rows, n, CALIBRATION_SHARE * level)
    if isinstance(library, Library):
        if places is not None:
            raise MisuseError("places", "be left out with a library, which lists its places", Clause("a box is given"))
        measure = library.unit
        columns = as_complex(library.responses) if np.iscomplexobj(rows) else library.responses
        left = listed_places(space, columns, library.coordinates, most=_MOST_STATES)
        names = _listed_names(library, left)
        read = _read_listed(library, columns, atoms)
    else:
        low, high = _box(places)
        measure = unit
        left = box_places(space, library, low, high, tolerance, most=_MOST_STATES)
        keys = list(places) if isinstance(places, Mapping) and (not unit or len(low) > 1) else [""] * len(low)
        names = tuple(_box_name(one, two, keys, unit) for one, two in zip(left.low, left.high, strict=True))
        read = _read_box(library, atoms, low, high)
    failure = _failure(space, left, read)
    facts = {"unit": measure, "learnt_on": learnt_on} | _facts(rows, space, left, names, atoms, read)
    if not len(left.owners):
        left = _anything(library, space, places)
        names = ("anything",)
    regions = _region_names(left, names)
    made = Library(
        names,
        tuple(regions[k] for k in left.owners.tolist()),
        0.5 * (left.low + left.high),
        as_pairs(left.columns, axis=0) if np.iscomplexobj(rows) else left.columns.real,
        measure,
        0.5 * (left.high - left.low),
    )
    supports = [regions, *(tuple(name for name in regions if name != one) for one in regions)]
    bank = library_bank(made, supports, dict.fromkeys(regions, 1.0))
    judge = ByLearnt(left.components if not failure else (), facts, failure)
    return LearntParts(bank, supports, dict.fromkeys(regions, tolerance), judge)


def _box(places: Box | None) -> tuple[Array, Array]:
    """The ends (d,) of a box of places."""
    if places is None:
        remedy = 'Write places={"x": (0.0, 1.0)}.'
        raise MisuseError("places", "be the box of places of the library", Clause("it is None"), remedy)
    ends = check_array("places", [*(places.values() if isinstance(places, Mapping) else places)], (None, 2))
    if not (ends[:, 0] < ends[:, 1]).all():
        raise MisuseError("places", "begin below their ends", ends.tolist())
    return ends[:, 0], ends[:, 1]


def _box_name(low: Array, high: Array, keys: Sequence[str], unit: str) -> str:
    """The extent of a cell, to a tenth of its side, with the coordinates that have a name, and the unit."""
    parts = []
    for one, two, key in zip(low.tolist(), high.tolist(), keys, strict=True):
        digits = max(0, int(np.ceil(-np.log10(max(two - one, 1e-12)))) + 1)
        parts.append(f"{key} {one:.{digits}f} to {two:.{digits}f}".strip())
    return f"{', '.join(parts)} {unit}".strip()


def _listed_names(library: Library, left: Places) -> tuple[str, ...]:
    """The ids of the listed places that are left."""
    by_place = {tuple(place): name for name, place in zip(library.ids, library.coordinates.tolist(), strict=True)}
    return tuple(by_place[tuple(place)] for place in left.low.tolist())


def _region_names(left: Places, names: Sequence[str]) -> tuple[str, ...]:
    """A region is called by its places: of several cells by the first and the last."""
    regions = []
    for k in range(int(left.owners.max()) + 1):
        own = [names[e] for e in np.flatnonzero(left.owners == k).tolist()]
        regions.append(own[0] if len(own) == 1 else f"{own[0].split(' to ')[0]} to {own[-1].split(' to ')[-1]}")
    return tuple(regions)


class _Readings(NamedTuple):
    """The place that each of n atoms would be taken for."""

    names: list[str]
    places: Array  # (n, d)
    degrees: Array  # (n,) the angle to it


def _read_listed(library: Library, columns: Field, atoms: Field) -> _Readings:
    """The nearest of listed places."""
    cosines = np.abs(columns.conj().T @ atoms)
    nearest = cosines.argmax(axis=0)
    names = [library.ids[e] for e in nearest.tolist()]
    return _Readings(names, library.coordinates[nearest], _degrees(cosines))


def _read_box(response: Response, atoms: Field, low: Array, high: Array) -> _Readings:
    """The nearest place of a fine grid."""
    count = max(int(_READ_PLACES ** (1.0 / len(low))), 2)
    mesh = np.meshgrid(*(np.linspace(one, two, count) for one, two in zip(low, high, strict=True)), indexing="ij")
    grid = np.stack([each.ravel() for each in mesh], axis=1)
    columns = np.asarray(response(grid))
    cosines = np.abs((columns / np.linalg.norm(columns, axis=0)).conj().T @ atoms)
    nearest = grid[cosines.argmax(axis=0)]
    names = [", ".join(f"{x:.4g}" for x in place) for place in nearest.tolist()]
    return _Readings(names, nearest, _degrees(cosines))


def _degrees(cosines: Array) -> Array:
    return np.asarray(np.rad2deg(np.arccos(np.minimum(cosines.max(axis=0), 1.0))))


def _failure(space: SignalSpace, left: Places, read: _Readings) -> str:
    """Explain why no dictionary of this library can have made the calibration rows; empty if one can."""
    n = space.n_atoms
    if space.is_exceeded:
        return f"The calibration rows hold more than {n} atoms, or their noise is not white."
    if left.capacity >= n:
        return ""
    farthest = int(np.argmax(read.degrees))
    return (
        f"The learnt atoms are not responses of this library, which explains at most {left.capacity} of the {n}: "
        f"atom {farthest + 1} is {read.degrees[farthest]:.2g} degrees from the nearest, {read.names[farthest]}."
    )


def _facts(
    rows: Field, space: SignalSpace, left: Places, names: Sequence[str], atoms: Field, read: _Readings
) -> dict[str, Any]:
    """Facts about the calibration for the report."""
    cosines = np.abs(atoms.conj().T @ atoms) - np.eye(space.n_atoms)
    closest = float(np.sqrt(max(1.0 - min(float(cosines.max()), 1.0) ** 2, 0.0))) if space.n_atoms > 1 else 1.0
    weakest = float(space.values[space.n_atoms - 1]) if space.n_atoms <= len(space.values) else 0.0
    return {
        "n_rows": len(rows),
        "rows": rows_hash([rows], rows.shape),
        "n_atoms": space.n_atoms,
        "level": space.level,
        "noise_at_most": space.noise if np.isfinite(space.noise) else None,
        "weakest": weakest,
        "is_resolved": space.is_resolved,
        "rows_needed": None if space.is_resolved else rows_needed(space),
        "scale": closest,
        "information": len(rows) * closest**6,
        "left": [
            {
                "low": component.ends[0].tolist(),
                "high": component.ends[1].tolist(),
                "most_atoms": component.capacity,
                "cells": [
                    {"name": names[e], "low": left.low[e].tolist(), "high": left.high[e].tolist()}
                    for e in np.flatnonzero(left.owners == number).tolist()
                ],
            }
            for number, component in enumerate(left.components)
        ],
        "read_as": [
            {"atom": j + 1, "place": name, "at": place.tolist(), "degrees": float(angle)}
            for j, (name, place, angle) in enumerate(zip(*read, strict=True))
        ],
    }


def _anything(library: Response | Library, space: SignalSpace, places: Box | None) -> Places:
    """One element for all places, for a report that rejects it."""
    q = len(space.values)
    if isinstance(library, Library):
        low = library.coordinates.min(axis=0)
        high = library.coordinates.max(axis=0)
    else:
        low, high = _box(places)
    column = np.eye(q, 1, dtype=space.vectors.dtype)
    return Places((), low[None], high[None], column, np.zeros(1, dtype=np.int64))
