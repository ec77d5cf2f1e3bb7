"""Several responses of every element, and the axis along which they may be moved."""

from collections.abc import Sequence

import numpy as np

from .._errors import MisuseError
from .._typing import Array
from ..laws import law_named
from ..responses import Settings
from ._load import Project
from ._responses import read_numbers


def check_variants(project: Project, count: int) -> bool:
    """Whether variants mix, which takes several of them, and a law that can."""
    elements, law = project.settings.elements, law_named(project.settings.data.deployment.law)
    if elements.variants == "states":
        return False
    key = project.name("elements.variants")
    if elements.variants not in law.mixes:
        rule = f"be {' or '.join(map(repr, ('states', *law.mixes)))} with the law {law.name}"
        raise MisuseError(key, rule, repr(elements.variants))
    if count < 2:
        raise MisuseError(
            key,
            "be 'states' unless responses is a list of files, or the element list has a column variant",
            repr(elements.variants),
        )
    return True


def columns_of(grid: Settings, shared: Array) -> Array:
    """(q, columns) in the order of the states: settings slowest, and at last what is shared."""
    q = grid.responses.shape[1]
    return np.hstack([grid.responses.transpose(1, 0, 2).reshape(q, -1), shared])


def joined_settings(grids: Sequence[Settings]) -> Settings:
    """The settings of all variants, which are the slowest; that of one variant as it is."""
    if len(grids) == 1:
        return grids[0]
    is_complex = any(grid.is_complex for grid in grids)
    if is_complex != all(grid.is_complex for grid in grids):
        raise MisuseError("responses", "be real in all variants, or complex in all", "both")
    if "variant" in grids[0].names:
        raise MisuseError("parameters", "have another name than that of the variants", "'variant'")
    values = np.concatenate([np.insert(grid.values, 0, v, axis=1) for v, grid in enumerate(grids)])
    responses = np.concatenate([grid.responses for grid in grids])
    return Settings(("variant", *grids[0].names), values, responses, is_complex)


def read_axis(project: Project) -> Array | None:
    """What the channels stand for, where the project says so."""
    spec = project.settings.elements.axis
    return None if spec is None else read_numbers(project, "elements.axis", spec).astype(np.float64).reshape(-1)


def axis_notes(project: Project) -> tuple[str, ...]:
    elements = project.settings.elements
    unit = elements.axis_unit or ("units of the axis" if elements.axis is not None else "channels")
    return tuple(
        f"Responses are shifted along their axis by {min(shift.values):g} to {max(shift.values):g} {unit}."
        for shift in project.settings.parameters.values()
        if shift.kind == "shift"
    )
