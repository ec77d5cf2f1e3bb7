"""The elements of a project and their responses in every setting of the instrument."""

from collections import Counter
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from .._errors import Clause, misuse_named
from .._typing import Array, BoolArray
from ..banks import Cover, Library, with_unlisted
from ..io import as_pairs
from ..laws import law_named
from ..responses import (
    NO_LINE,
    Family,
    GenericFamily,
    GenericPeaks,
    Ranges,
    Response,
    Settings,
    generic_atoms,
    generic_bumps,
    generic_directions,
    generic_peaks,
    settings_grid,
)
from ._cover import project_cover, table_library
from ._element_list import ElementList, read_element_file
from ._line_elements import line_notes, project_bands, project_generic_lines
from ._list_responses import ListedResponses, columns_of, note_visible
from ._load import Project, named_by_key
from ._responses import nominal_responses, read_atoms
from ._supports import BankCounts, bank_counts
from ._tables import Numbers, begin_channels, read_axis

# A band that begins at 0 where its response is largest is taken to be this wide, as a share of it.
_WIDEST = 1.0 - 1e-12
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
    generic: GenericPeaks | GenericFamily | None = None  # responses of a source that the list lacks
    cover: Cover | None = None  # what made the library, where its elements are cells
    counted: Array | None = None  # (E,) total counts of responses that were counted themselves
    lines: Array | None = None  # (q, E) responses of all elements on the whole axis, where the background needs them
    errors: Array | None = None  # (E,), (q, 1) or (q, E) of responses, as shares, where they are not one number
    family: Family | None = None  # of responses whose parameters may lie anywhere in a box
    ranges: Ranges | None = None  # of elements and parameters anywhere in cells, where rows are linear

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
    if project.learnt is not None:
        return bank_counts(project, Counter(project.learnt.library.regions), 1)
    project = replace(project, read={})  # what is read here is entered by who uses it
    has_list = project.settings.cover is None or project.settings.elements.are_listed
    listed = read_element_file(project) if has_list else None
    if project.settings.cover is not None:
        return project_cover(project, listed, only_counts=True)[1]
    assert listed is not None  # a file without a cover has a list
    return bank_counts(project, Counter(listed.regions), len(listed.lines))


def read_elements(project: Project) -> Physical:
    """The elements that a list has, or the cells of a cover."""
    begin_channels(project)
    if project.learnt is not None:
        return _read_learnt(project, project.learnt.library, project.learnt.is_complex)
    if project.settings.elements.has_lines:
        physical = _read_lines(project)
    else:
        physical = _read_list(project) if project.settings.cover is None else _read_cover(project)
    if physical.generic is None:
        return physical
    generic = physical.generic if isinstance(physical.generic, GenericFamily) else physical.generic.columns
    return _with_unlisted(project, physical, generic)


def _read_learnt(project: Project, library: Library, is_complex: bool) -> Physical:
    """The places that the calibration rows leave to the atoms of a learnt dictionary."""
    project.channels.unnamed.append("data.calibration.places")
    return Physical(
        library=library,
        settings=None,
        is_complex=is_complex,
        shared=np.zeros((len(library.responses), 0)),
        variants=None,
        half_steps=None,
        outline=None,
        notes=(),
    )


def _read_lines(project: Project) -> Physical:
    """Elements made of lines, whose responses lie between two."""
    listed = read_element_file(project)
    bank_counts(project, Counter(listed.regions), len(listed.lines))
    low, high, _ = project_bands(project)
    inside = project.channels.window
    assert inside is not None  # of such elements there always is one
    middle = 0.5 * (low + high)
    largest = middle[inside].max(axis=0)
    visible = note_visible(project, listed, largest > NO_LINE * high.max(axis=0))
    low, high, middle = (ends[inside][:, visible] for ends in (low, high, middle))
    norms = np.linalg.norm(middle, axis=0)
    half = np.minimum(0.5 * (high - low) / middle.max(axis=0), _WIDEST)
    return Physical(
        library=_library(project, listed, visible, middle / norms, _names_inside(project)),
        settings=None,
        is_complex=False,
        shared=np.zeros((len(middle), 0)),
        variants=None,
        half_steps=None,
        outline=None,
        notes=line_notes(project),
        errors=half,
        generic=_generic_lines(project, inside, len(middle)),
    )


def _generic_lines(project: Project, inside: BoolArray, n_channels: int) -> GenericPeaks | GenericFamily | None:
    """The generic responses beside elements made of lines, whose peaks have the resolution of the detector."""
    spec = project.settings.unlisted
    if spec is None or spec.peaks is None:
        return _generic(project, np.zeros((n_channels, 0)), None, n_channels, is_complex=False)
    return project_generic_lines(project, inside, spec.peaks.width)


def _with_unlisted(project: Project, physical: Physical, generic: Array | GenericFamily) -> Physical:
    """The same with further elements, in every setting and of every variant, for anything unlisted."""
    n_listed = len(physical.library.ids)
    library, _ = with_unlisted(physical.library, [], generic)
    own = library.responses[:, n_listed:]
    bank_counts(project, Counter(library.regions))
    settings = physical.settings
    if settings is not None:
        repeated = np.broadcast_to(own, (len(settings.responses), *own.shape))
        settings = replace(settings, responses=np.concatenate([settings.responses, repeated], axis=2))
    variants = physical.variants
    if variants is not None:
        n_shared = physical.shared.shape[1]
        ends = np.arange(n_listed, variants.shape[2] - n_shared + 1, n_listed)
        for end in ends[::-1].tolist():
            beside = np.broadcast_to(own, (len(variants), *own.shape))
            variants = np.concatenate([variants[:, :, :end], beside, variants[:, :, end:]], axis=2)
    errors = physical.errors
    if errors is not None and errors.shape[-1] == n_listed:
        errors = np.concatenate([errors, np.zeros((*errors.shape[:-1], own.shape[1]))], axis=-1)
    return replace(physical, library=library, settings=settings, variants=variants, errors=errors)


def _generic(
    project: Project, response: Response | Numbers, axis: Array | None, n_entries: int, is_complex: bool
) -> GenericPeaks | GenericFamily | None:
    """The generic responses of the file, in the window; n_entries: channels, pairs of them if complex."""
    spec = project.settings.unlisted
    if spec is None:
        return None
    is_counted = law_named(project.settings.data.deployment.law).is_counted
    n_channels = n_entries // 2 if is_complex else n_entries
    if spec.atoms is not None:
        atoms = read_atoms(project, "unlisted.atoms", spec.atoms, n_channels, is_complex=is_complex)
        if not is_counted:
            with misuse_named(lambda _: project.name("unlisted.atoms")):
                return generic_atoms(as_pairs(atoms, axis=0) if is_complex else atoms)
        numbers = np.arange(atoms.shape[1], dtype=np.float64)
        return GenericPeaks(np.asarray(atoms, dtype=np.float64), np.stack([numbers, numbers]))
    if spec.directions:
        return _generic_directions(project, response, spec.directions)
    window = project.channels.window
    places = np.arange(n_channels, dtype=np.float64) if axis is None else axis
    places = places if window is None or len(places) == n_channels else places[window]
    if spec.bumps is not None:
        if is_complex:
            raise project.misuse(
                "unlisted.bumps", "go with real rows", Clause("they are complex"), "Give atoms or directions."
            )
        with misuse_named(lambda _: project.name("unlisted.bumps.width")):
            return generic_bumps(places, spec.bumps.width)
    assert spec.peaks is not None
    width: ArrayLike = spec.peaks.width
    if width == "resolution":
        deviations = getattr(response, "deviations", None)
        if deviations is None:
            rule = "be a number unless elements.response is peaks or lines, which have a resolution"
            raise project.misuse("unlisted.peaks.width", rule, "'resolution'")
        places = response.axis if axis is None else places  # type: ignore[union-attr]
        places = places if window is None or len(places) == n_channels else places[window]
        width = deviations(places)
    with misuse_named(lambda _: project.name("unlisted.peaks.width")):
        return generic_peaks(places, width)


def _generic_directions(
    project: Project, response: Response | Numbers, directions: tuple[float, float] | bool
) -> GenericFamily:
    """The responses of the instrument to a source anywhere in a range, or in all directions that an array has."""
    if not callable(response) or len(project.settings.elements.coordinates) != 1:
        rule = "go with a response by formula along one coordinate"
        raise project.misuse("unlisted.directions", rule, Clause("it is another"), "Give atoms.")
    ends = getattr(response, "directions", None) if directions is True else directions
    if not ends:
        rule = "be [low, high] unless elements.response is a uniform linear or a circular array"
        raise project.misuse("unlisted.directions", rule, Clause("it is true"))
    with misuse_named(lambda _: project.name("unlisted.directions")):
        return generic_directions(response, *ends)


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
    made = ListedResponses.of(project, listed)
    first, others = made.settings
    nominal = made.nominal
    is_complex = made.is_complex
    shared = _shared(project, len(nominal), is_complex)
    further = np.array([columns_of(grid, shared) for grid in others]) if others else None
    half_steps = None
    if elements.tangents is not None or made.widths is not None:
        further, half_steps = made.tangents(shared)
    response = made.responses[0]
    names = _names_inside(project)
    is_named = names is not None and len(names) * (2 if is_complex else 1) == len(nominal)
    return Physical(
        library=_library(project, listed, made.visible, nominal, names if is_named else None, made.halves),
        settings=first if len(first.names) else None,
        is_complex=is_complex,
        shared=shared,
        variants=further,
        half_steps=half_steps,
        outline=getattr(response, "outline", None),
        generic=_generic(project, response, made.axis, len(nominal), is_complex),
        notes=(*_notes(project, None if callable(response) else response), *made.notes),
        counted=made.counted,
        lines=made.whole_axis(),
        errors=made.errors,
        family=made.family,
        ranges=made.ranges,
    )


def _library(
    project: Project,
    listed: ElementList,
    visible: BoolArray,
    columns: Array,
    names: tuple[str, ...] | None,
    halves: Array | None = None,
) -> Library:
    """The visible elements of a list, with columns (q, E) of norm 1."""
    return Library(
        tuple(name for name in listed.ids if name not in project.channels.hidden),
        tuple(region for region, is_visible in zip(listed.regions, visible, strict=True) if is_visible),
        listed.coordinates[visible],
        columns,
        project.settings.elements.unit,
        halves,
        channels=names,
    )


def _names_inside(project: Project) -> tuple[str, ...] | None:
    """The names of the channels in the window, if they have names."""
    names = project.channels.names
    inside = project.channels.window
    if names is None or inside is None:
        return names
    return tuple(name for name, is_inside in zip(names, inside, strict=True) if is_inside)


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
        raise project.misuse(key, "have columns other than 0", Clause(f"column {int(norms.argmin())} is 0"))
    return np.asarray(real / norms)


def _notes(project: Project, columns: Numbers | None) -> tuple[str, ...]:
    """Notes on the norms of responses from a file, on the axis, and on parameters between their values."""
    elements = project.settings.elements
    notes = []
    norms = np.ones(1) if columns is None else np.linalg.norm(columns, axis=0)
    if np.abs(norms - 1.0).max() > _NORM_TOLERANCE:
        has_strengths = any(region.strength is not None for region in project.regions.values())
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
        f"Along {name} responses may lie anywhere within half a step of its values, up to second-order errors."
        for name in elements.tangents or ()
    ]
    if elements.counted is not None:
        times = elements.counted.live_time
        within = f"{min(times):g} s" if min(times) == max(times) else f"{min(times):g} to {max(times):g} s"
        notes.append(f"Responses were counted themselves, in {within}: the judge allows for their counting noise.")
    if elements.error is not None:
        size = elements.error_size
        said = "an error of its own, as a share" if elements.has_errors else f"{size:g}"
        off = law_named(project.settings.data.deployment.law).error_words.format(said)
        if elements.is_error_relative:
            off = f"{said} of its value in any channel"
        notes.append(
            f"Every response may differ by {off}. With larger errors, the truth may be rejected more often than "
            "the level allows."
        )
    return tuple(notes)
