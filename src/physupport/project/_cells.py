"""Elements anywhere in cells: those of a regular grid, or of boxes that regions declare, and parameters in a range."""

from collections.abc import Sequence
from itertools import product
from math import prod

import numpy as np

from .._typing import Array
from ..banks import cell_names
from ..laws import law_named
from ..responses import Parameter, Ranges, Response
from ._load import Project, named_by_key

# Cells of all boxes together.
_MOST_CELLS = 200_000
# Of a step: by how much places may be off a regular grid.
_REGULAR = 1e-6


def has_boxes(project: Project) -> bool:
    """True if the elements are the cells of boxes."""
    return any(region.box is not None for region in project.settings.regions.values())


def box_columns(project: Project) -> dict[str, list[str]]:
    """The columns of the list whose elements are the cells of boxes; each is called by its ends."""
    names = project.settings.elements.coordinates
    places, halves, regions = list[Array](), list[Array](), list[str]()
    for region, spec in project.settings.regions.items():
        if spec.box is None:
            raise project.misuse(f"regions.{region}.box", "be given, as in other regions", "none")
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


def cell_halves(project: Project, regions: Sequence[str], places: Array) -> Array | None:
    """(E, d) from the places of elements to the sides of their cells; None where places are exact."""
    if has_boxes(project):
        return np.array([_half_and_middles(project, region)[0] for region in regions])
    if project.settings.elements.exact:
        return None
    halves = np.zeros(places.shape)
    for region in {*regions}:
        own = np.array(regions) == region
        for k, name in enumerate(project.settings.elements.coordinates):
            values = np.unique(places[own, k])
            steps = np.diff(values)
            if len(steps) and np.ptp(steps) > _REGULAR * steps.max():
                rule = f"be true unless places lie on a regular grid along {name!r} in every region"
                remedy = f"Those of {region!r} do not: leave it out, or give the region a box."
                raise project.misuse("elements.exact", rule, "false", remedy)
            halves[own, k] = 0.5 * float(steps.mean()) if len(steps) else 0.0
    return halves


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
