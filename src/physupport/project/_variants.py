"""Several responses of every element, and the axis along which they may be moved."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from .._errors import MisuseError
from .._typing import Array
from ..io import is_unit, same_unit
from ..laws import law_named
from ..responses import Parameter, Response, Settings, settings_grid
from ._inputs import Numbers, read_recorded
from ._load import Project, named_by_key
from ._responses import finite


def check_variants(project: Project, count: int) -> bool:
    """True if variants mix, which takes several of them, and a law that can."""
    elements = project.settings.elements
    law = law_named(project.settings.data.deployment.law)
    if elements.variants == "states":
        return False
    key = project.name("elements.variants")
    if elements.variants not in law.mixes:
        rule = f"be {' or '.join(map(repr, ('states', *law.mixes)))} with the law {law.name}"
        raise MisuseError(key, rule, repr(elements.variants))
    if elements.variants == "cone" and _has_own_coefficients(project):
        rule = "be 'states' or 'span' where every row has coefficients of its own"
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
    """The axis of the channels; None if the project has none."""
    spec = project.settings.elements.axis
    unit = project.settings.elements.axis_unit
    key = "elements.axis"
    if spec is None:
        return None
    held = read_recorded(project, key, spec)
    # The unit may stand above the column, or with the array.
    above = held.headings[-1] or ()
    stated = above[0] if len(above) == 1 else held.unit
    if is_unit(stated) and not same_unit(stated, unit):
        raise project.misuse("elements.axis_unit", f"be {stated}, as {spec.file} states", repr(unit))
    axis = finite(project, key, spec, held.values).astype(np.float64).reshape(-1)
    if not project.channels.are_places:
        return axis
    unit = unit or (stated if is_unit(stated) else "")
    order = project.channels.order(project.name(key), key, [f"{place!r} {unit}".rstrip() for place in axis.tolist()])
    return axis if order is None else axis[order]


def read_tangents(
    project: Project,
    responses: Sequence[Response | Numbers],
    places: Array,
    parameters: Sequence[Parameter],
    axis: Array | None,
    shared: Array,
) -> tuple[Array, Array]:
    """(V, q, columns of the states) differences over a cell by its length, and (K,) half the largest steps, V = K.

    Of counts, of which no part is negative, the responses at the V = 2^K corners of a cell instead, whose mixtures
    without negative parts are within it.
    """
    named = {parameter.label: parameter for parameter in parameters}
    halves = {name: 0.5 * float(np.diff(np.sort(named[name].values)).max()) for name in _tangents(project, named)}

    def columns(moves: Mapping[str, float]) -> Array:
        moved = [replace(known, values=known.values + moves.get(known.label, 0.0)) for known in parameters]
        with named_by_key(project, "elements.tangents"):
            grids = [settings_grid(response, places, moved, axis) for response in responses]
        return columns_of(joined_settings(grids), shared)

    if law_named(project.settings.data.deployment.law).is_counted:
        corners = product(*((half, -half) for half in halves.values()))
        further = [columns(dict(zip(halves, corner, strict=True))) for corner in corners]
    else:
        further = [(columns({name: half}) - columns({name: -half})) / (2.0 * half) for name, half in halves.items()]
        for slopes in further:  # what is shared is never active here, and stands for itself
            slopes[:, slopes.shape[1] - shared.shape[1] :] = shared
    return np.array(further), np.array([*halves.values()])


def _tangents(project: Project, known: Mapping[str, Parameter]) -> list[str]:
    """Their names, where everything goes with them."""
    settings = project.settings
    key = project.name("elements.tangents")
    names = settings.elements.tangents or []
    for name in names:
        if name not in known:
            raise MisuseError(key, f"be names of parameters ({', '.join(known) or 'none'})", repr(name))
        if len(known[name].values) < 2:
            raise MisuseError(key, "be parameters of two values or more, whose steps make cells", repr(name))
    if settings.elements.variants != "states":
        raise MisuseError(key, "be left out unless variants are states", f"variants = {settings.elements.variants!r}")
    if settings.data.calibration is not None:
        raise MisuseError(key, "be left out with calibration rows, which know the values of parameters only", names)
    if _has_own_coefficients(project):
        raise MisuseError(key, "be left out where every row has coefficients of its own", names)
    for name, region in settings.regions.items():
        if region.absence_threshold is not None:
            rule = "be left out with tangents, which have coefficients of their own"
            raise project.misuse(f"regions.{name}.absence_threshold", rule, region.absence_threshold)
    return names


def check_width(project: Project) -> None:
    """Refuse a ball beside what knows responses better, and any width beside replicates, which have their own."""
    settings = project.settings
    elements = project.settings.elements
    if elements.error is not None and settings.data.calibration is not None:
        rule = "be left out with calibration rows, whose laws have exact responses"
        raise project.misuse("elements.error", rule, "it")
    if elements.replicates is None:
        return
    for key, rule, is_given in (
        ("elements.error", "be left out", elements.error is not None),
        ("elements.tangents", "be left out", elements.tangents is not None),
        ("elements.responses", "be one file", len(elements.responses or ()) > 1),
        ("parameters", "be left out", bool(settings.parameters)),
    ):
        if is_given:
            found = "several" if rule == "be one file" else "it"
            raise project.misuse(key, f"{rule} with replicates, which have a width of their own", found)


def _has_own_coefficients(project: Project) -> bool:
    """True if every row has its own."""
    return project.settings.data.deployment.rows in ("free", "random")


def parameter_notes(project: Project) -> tuple[str, ...]:
    """Notes on the axis, and on parameters between their values."""
    elements = project.settings.elements
    unit = elements.axis_unit or ("units of the axis" if elements.axis is not None else "channels")
    return (
        *(
            f"Responses are shifted along their axis by {min(shift.points):g} to {max(shift.points):g} {unit}."
            for shift in project.settings.parameters.values()
            if shift.kind == "shift"
        ),
        *(
            f"Along {name} responses may lie anywhere within half a step of its values, up to errors of second order."
            for name in elements.tangents or ()
        ),
        *(
            [
                f"Every response may be off by an angle whose sine is {elements.error:g}, in any direction; beyond "
                "that the truth may be rejected more often than the level says."
            ]
            if elements.error is not None
            else []
        ),
    )
