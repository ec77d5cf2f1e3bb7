"""Elements anywhere in cells: those of a regular grid, or of boxes that regions declare, and parameters in a range."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from math import prod

import numpy as np

from .._errors import Clause, MisuseError
from .._typing import Array
from ..banks import cell_names
from ..laws import law_named
from ..responses import Parameter, Ranges, Response
from ._load import Channels, Project, named_by_key
from ._supports import bank_counts, most_active
from ._tables import read_tables

# Cells of all boxes together.
_MOST_CELLS = 200_000
# Of a step: by how much places may be off a regular grid, and how many steps along a coordinate make one.
_REGULAR = 1e-6
_LEAST_STEPS = 2
# Where nobody says that places are in cells: elements of an explanation, as bounds of more are loose, and explanations,
# which take some 20 ms each where they are pairs.
_MOST_TOGETHER = 2
_MOST_BY_DEFAULT = 2000


def has_boxes(project: Project) -> bool:
    """True if the elements are the cells of boxes."""
    return any(region.box is not None for region in project.settings.regions.values())


def box_columns(project: Project) -> dict[str, list[str]]:
    """The columns of the list whose elements are the cells of boxes; each is called by its ends."""
    names = project.settings.elements.coordinates
    places, halves, regions = list[Array](), list[Array](), list[str]()
    for region, spec in project.settings.regions.items():
        if spec.box is None:
            raise project.misuse(f"regions.{region}.box", "be given, as in other regions", Clause("there is none"))
        if {*spec.box} != {*names}:
            rule = f"be of the coordinates {', '.join(names)}"
            raise project.misuse(f"regions.{region}.box", rule, ", ".join(spec.box))
        half, axes = _half_and_middles(project, region)
        places += map(np.array, product(*axes))
        regions += [region] * (len(places) - len(regions))
        halves += [half] * (len(places) - len(halves))
    ids = cell_names(regions, np.array(places), np.array(halves), project.settings.elements.unit)
    columns = {name: [repr(float(place[k])) for place in places] for k, name in enumerate(names)}
    return {"id": list(ids), "region": regions, **columns}


def _half_and_middles(project: Project, region: str) -> tuple[Array, list[list[float]]]:
    """Half the sides of the cells of a box, and their middles along every coordinate."""
    spec = project.settings.regions[region]
    assert spec.box is not None
    assert spec.resolution is not None
    low, high = np.array([spec.box[name] for name in project.settings.elements.coordinates]).T
    counts = np.ceil((high - low) / spec.resolution * (1.0 - _REGULAR))
    if prod(counts.tolist()) > _MOST_CELLS:
        rule = f"leave at most {_MOST_CELLS:,} cells"
        raise project.misuse(f"regions.{region}.resolution", rule, f"{prod(counts.tolist()):.3g}")
    half = (high - low) / (2.0 * counts)
    ends = zip(low, half, counts.tolist(), strict=True)
    return half, [[float(a + h * (2 * i + 1)) for i in range(int(n))] for a, h, n in ends]


def cell_halves(
    project: Project, regions: Sequence[str], places: Array, responses: Sequence[object]
) -> tuple[Array | None, tuple[str, ...]]:
    """(E, d) from the places of elements to the sides of their cells, None where places are exact; and a note of that.

    Unless the file says which, the truth lies anywhere about the places of a regular grid if a judge takes cells.
    """
    if has_boxes(project):
        return np.array([_half_and_middles(project, region)[0] for region in regions]), ()
    exact = project.settings.elements.exact
    if exact or (exact is None and not callable(responses[0])):
        return None, ()
    halves = _grid_halves(project, regions, places)
    if halves is None or exact is not None or _has_cell_judge(project, regions, responses, places, halves):
        return halves, ()
    return None, ("Each element is taken at its place in the list, and not anywhere in a cell about it: exact = true.",)


def _grid_halves(project: Project, regions: Sequence[str], places: Array) -> Array | None:
    """(E, d) half the steps of the grid of each region; None, or an error if the file says cells, without one."""
    is_asked = project.settings.elements.exact is False
    halves = np.zeros(places.shape)
    for region in dict.fromkeys(regions):
        own = np.array(regions) == region
        for k, name in enumerate(project.settings.elements.coordinates):
            steps = np.diff(np.unique(places[own, k]))
            is_regular = not len(steps) or np.ptp(steps) <= _REGULAR * steps.max()
            if not is_regular and is_asked:
                rule = f"be true unless places lie on a regular grid along {name!r} in every region"
                remedy = f"Those of {region!r} do not: leave it out, or give the region a box."
                raise project.misuse("elements.exact", rule, "false", remedy)
            if not is_asked and (not is_regular or 0 < len(steps) < _LEAST_STEPS):
                return None
            halves[own, k] = 0.5 * float(steps.mean()) if len(steps) else 0.0
    return halves if is_asked or halves.any(axis=1).all() else None


def _has_cell_judge(
    project: Project, regions: Sequence[str], responses: Sequence[object], places: Array, halves: Array
) -> bool:
    """True if evidence judges the rows of the file with elements anywhere in cells, and the response proves bounds."""
    settings = project.settings
    rows = settings.data.deployment
    elements = settings.elements
    others = (
        *(settings.draws, settings.statistic, settings.outsiders, settings.resolution, settings.unlisted),
        *(settings.data.calibration, settings.supports.leave_one_out or None, rows.frequencies, rows.window),
        *(elements.error, elements.tangents, elements.replicates, elements.shared),
    )
    points = [each for each in settings.parameters.values() if not each.between]
    thresholds = [each for each in settings.regions.values() if each.absence_threshold is not None]
    is_open = rows.noise is None or (rows.noise.kind is None and rows.noise.rows is None)
    if (
        "elements.exact" not in law_named(rows.law).file_keys
        or settings.judge not in (None, "evidence")
        or any(each is not None for each in others)
        or points
        or thresholds
        or not is_open
        or len(responses) > 1
        or most_active(project) > _MOST_TOGETHER
        or bank_counts(project, Counter(regions), 1).explanations > _MOST_BY_DEFAULT
    ):
        return False
    try:
        Ranges(responses[0], places, halves)  # type: ignore[arg-type]
    except MisuseError:
        return False
    several = len(read_tables(replace(project, read={}, channels=Channels()))["deployment"].values) > 1
    return several or rows.split == "fission"


def read_ranges(
    project: Project, responses: Sequence[object], places: Array, halves: Array | None, parameters: Sequence[Parameter]
) -> Ranges | None:
    """The cells of elements and of parameters, for a law whose rows are linear; None where all are exact."""
    if law_named(project.settings.data.deployment.law).is_counted or (halves is None and not parameters):
        return None
    key = "elements.response"
    if len(responses) > 1 or not callable(responses[0]):
        remedy = "A table proves nothing of what lies between its places: leave it out, or give a response by formula."
        what = "several" if len(responses) > 1 else "a table"
        raise project.misuse(key, "be one formula or built-in kind where truth lies in cells", what, remedy)
    if project.channels.window is not None:
        raise project.misuse("data.deployment.window", "be left out where truth lies anywhere in cells", "a window")
    response: Response = responses[0]
    with named_by_key(project, key):
        return Ranges(response, places, np.zeros(places.shape) if halves is None else halves, parameters)
