"""The elements of a project and their responses in every setting of the instrument."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import final

import numpy as np

from .._errors import MisuseError
from .._typing import Array
from ..banks import Cover, Library
from ..io import as_pairs
from ..laws import law_named
from ..responses import Parameter, Response, Settings, settings_grid
from ._cover import project_cover, table_library
from ._element_list import read_element_file
from ._load import Project, named_by_key
from ._responses import nominal_responses, project_parameters, read_atoms, read_axis
from ._schema import RelativeError
from ._supports import BankCounts, bank_counts
from ._tables import Numbers, begin_channels

# Columns whose norms agree to this were meant to have the same.
_NORM_TOLERANCE = 1e-6


@final
@dataclass(frozen=True, slots=True, eq=False)
class Physical:
    """The elements, their places, and their responses in every setting of the instrument."""

    library: Library  # nominal responses (q, E), or pairs (2 q, E)
    settings: Settings | None  # what the uncertain parameters make of them, if there are any
    is_complex: bool
    shared: Array  # (q or 2 q, m), unit columns
    variants: Array | None  # (V, q or 2 q, columns of the states) that mix with those of the states
    half_steps: Array | None  # (V,) of variants that are derivatives along parameters
    outline: float | None  # radius of a sphere that the response says to lie around the elements
    notes: tuple[str, ...]
    cover: Cover | None = None  # what made the library, where its elements are cells

    @property
    def n_channels(self) -> int:
        """Channels of the instrument, complex ones counted once."""
        entries = len(self.library.responses)
        return entries // 2 if self.is_complex else entries


def check_size(project: Project) -> BankCounts:
    """Count a bank, knowing the keys of the file and the list of elements, and nothing else; refuse one too large.

    Of ranges of strengths and noise also how many rows there are.  For who would load judges, kernels and pictures only
    then: they take longer than this.  Reading checks it again.
    """
    project = replace(project, read={})  # what is read here is entered by who uses it
    listed = None if project.settings.elements.file is None else read_element_file(project)
    if project.settings.cover is not None:
        return project_cover(project, listed, only_counts=True)[1]
    assert listed is not None  # a file without a cover has a list
    return bank_counts(project, Counter(listed.regions), len(listed.lines))


def read_elements(project: Project) -> Physical:
    """The elements that a list has, or the cells of a cover."""
    begin_channels(project)
    return _read_list(project) if project.settings.cover is None else _read_cover(project)


def _read_cover(project: Project) -> Physical:
    if project.settings.elements.file is None:
        cover, _ = project_cover(project)
        with named_by_key(project, "cover"):
            library = cover.library()
            settings = cover.settings()
    else:
        listed = read_element_file(project)
        columns, *more = nominal_responses(project, listed)
        if more:
            raise project.misuse("elements.responses", "be one file beside a cover", f"{1 + len(more)} of them")
        with named_by_key(project, "elements"):
            settings = settings_grid(columns, listed.coordinates, [], read_axis(project))
        cover, _ = project_cover(project, listed)
        with named_by_key(project, "cover"):
            library = table_library(project, cover, listed, settings.responses[0])
    shared = _shared(project, len(library.responses), settings.is_complex)
    tangents = None
    if cover.tangents:  # what is shared is never active here, and stands for itself
        tangents = cover.tangent_columns()
        tangents = np.concatenate([tangents, np.tile(shared, (len(tangents), 1, 1))], axis=2)
    return Physical(
        library=library,
        settings=settings if len(settings.names) else None,
        is_complex=settings.is_complex,
        shared=shared,
        variants=tangents,
        half_steps=cover.half_steps if cover.tangents else None,
        outline=getattr(cover.response, "outline", None),
        notes=_notes(project, None),
        cover=cover,
    )


def _read_list(project: Project) -> Physical:
    """Read the elements, work out their responses, and apply the parameters."""
    elements = project.settings.elements
    listed = read_element_file(project)
    bank_counts(project, Counter(listed.regions), len(listed.lines))
    coordinates = listed.coordinates
    parameters = project_parameters(project)
    axis = read_axis(project)
    responses = nominal_responses(project, listed)
    _check_variants(project, len(responses))
    with named_by_key(project, "elements"):
        plain = settings_grid(responses[0], coordinates, [], axis)
    with named_by_key(project, "parameters"):
        grids = [settings_grid(response, coordinates, parameters, axis) for response in responses]
        first, *others = [_joined_settings(grids)] if elements.variants == "states" else grids
    nominal = plain.responses[0]
    is_complex = first.is_complex if len(first.names) else plain.is_complex
    shared = _shared(project, len(nominal), is_complex)
    further = np.array([_columns_of(grid, shared) for grid in others]) if others else None
    half_steps = None
    if elements.tangents is not None:
        further, half_steps = _read_tangents(project, responses, coordinates, parameters, axis, shared)
    names = project.channels.names
    is_named = names is not None and len(names) * (2 if is_complex else 1) == len(nominal)
    return Physical(
        library=Library(
            listed.ids,
            listed.regions,
            coordinates,
            nominal,
            elements.unit,
            channels=names if is_named else None,
        ),
        settings=first if len(first.names) else None,
        is_complex=is_complex,
        shared=shared,
        variants=further,
        half_steps=half_steps,
        outline=getattr(responses[0], "outline", None),
        notes=_notes(project, None if callable(responses[0]) else responses[0]),
    )


def _check_variants(project: Project, count: int) -> None:
    """Raise if the number of responses of an element does not fit `variants`, or replicates have several."""
    elements = project.settings.elements
    rows = project.settings.data.deployment
    law = law_named(rows.law)
    if elements.replicates is not None and count > 1:
        rule = "be one file with replicates, which have a width of their own"
        raise project.misuse("elements.responses", rule, "several")
    if elements.variants == "states":
        return
    rule = ""
    if elements.variants not in law.mixes:
        rule = f"be {' or '.join(map(repr, ('states', *law.mixes)))} with the law {law.name}"
    elif elements.variants == "cone" and rows.rows in ("free", "random"):
        rule = "be 'states' or 'span' where every row has coefficients of its own"
    elif count < 2:
        rule = "be 'states' unless responses is a list of files, or the element list has a column variant"
    if rule:
        raise project.misuse("elements.variants", rule, repr(elements.variants))


def _columns_of(grid: Settings, shared: Array) -> Array:
    """(q, columns) in the order of the states: settings slowest, and at last what is shared."""
    q = grid.responses.shape[1]
    return np.hstack([grid.responses.transpose(1, 0, 2).reshape(q, -1), shared])


def _joined_settings(grids: Sequence[Settings]) -> Settings:
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


def _read_tangents(
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
    named = {parameter.label: parameter.values for parameter in parameters}
    halves = {}
    for name in project.settings.elements.tangents or ():
        if name not in named:
            rule = f"be names of parameters ({', '.join(named) or 'none'})"
            raise project.misuse("elements.tangents", rule, repr(name))
        if len(named[name]) < 2:
            rule = "be parameters of two values or more, whose steps make cells"
            raise project.misuse("elements.tangents", rule, repr(name))
        halves[name] = 0.5 * float(np.diff(np.sort(named[name])).max())

    def columns(moves: Mapping[str, float]) -> Array:
        moved = [replace(known, values=known.values + moves.get(known.label, 0.0)) for known in parameters]
        with named_by_key(project, "elements.tangents"):
            grids = [settings_grid(response, places, moved, axis) for response in responses]
        return _columns_of(_joined_settings(grids), shared)

    if law_named(project.settings.data.deployment.law).is_counted:
        corners = product(*((half, -half) for half in halves.values()))
        further = [columns(dict(zip(halves, corner, strict=True))) for corner in corners]
    else:
        further = [(columns({name: half}) - columns({name: -half})) / (2.0 * half) for name, half in halves.items()]
        for slopes in further:  # what is shared is never active here, and stands for itself
            slopes[:, slopes.shape[1] - shared.shape[1] :] = shared
    return np.array(further), np.array([*halves.values()])


def _shared(project: Project, entries: int, is_complex: bool) -> Array:
    """Columns that every dictionary has, scaled to norm 1."""
    spec = project.settings.elements.shared
    if spec is None:
        return np.zeros((entries, 0))
    key = "elements.shared"
    q = entries // 2 if is_complex else entries
    columns = read_atoms(project, key, spec, q, is_complex=is_complex)
    real = as_pairs(columns, axis=0) if is_complex else columns.astype(np.float64)
    norms = np.linalg.norm(real, axis=0)
    if not norms.all():
        raise project.misuse(key, "have columns other than 0", f"0 in column {int(norms.argmin())}")
    return np.asarray(real / norms)


def _notes(project: Project, columns: Numbers | None) -> tuple[str, ...]:
    """Notes on the norms of responses from a file, on the axis, and on parameters between their values."""
    elements = project.settings.elements
    notes = []
    norms = np.ones(1) if columns is None else np.linalg.norm(columns, axis=0)
    if np.abs(norms - 1.0).max() > _NORM_TOLERANCE:
        has_strengths = any(region.strength is not None for region in project.settings.regions.values())
        what = "strengths" if has_strengths else "bounds of coefficients"
        had = f"they had {norms.min():.4g} to {norms.max():.4g}"
        notes.append(f"Responses were scaled to norm 1 ({had}); {what} refer to these.")
    unit = elements.axis_unit or ("units of the axis" if elements.axis is not None else "channels")
    notes += [
        f"Responses are shifted along their axis by {min(shift.points):g} to {max(shift.points):g} {unit}."
        for shift in project.settings.parameters.values()
        if shift.kind == "shift"
    ]
    notes += [
        f"Along {name} responses may lie anywhere within half a step of its values, up to errors of second order."
        for name in elements.tangents or ()
    ]
    if elements.error is not None:
        off = law_named(project.settings.data.deployment.law).error_words.format(elements.error)
        if isinstance(elements.error, RelativeError):
            off = f"{elements.error.relative:g} of its value in any channel"
        notes.append(
            f"Every response may be off by {off}; beyond that the truth may be rejected more often than the level says."
        )
    return tuple(notes)
