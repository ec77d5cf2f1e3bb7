"""The elements of a project, and the dictionary settings that its uncertain parameters make of them."""

from dataclasses import dataclass
from typing import final

import numpy as np

from .._errors import MisuseError
from .._typing import Array
from ..banks import Library
from ..io import as_pairs
from ..responses import Parameter, Settings, settings_grid
from ._element_file import read_element_file
from ._inputs import Numbers
from ._load import Project
from ._named import named_by_key
from ._responses import nominal_response, read_numbers

# Columns whose norms agree to this were meant to have the same.
_NORM_TOLERANCE = 1e-6


@final
@dataclass(frozen=True, slots=True, eq=False)
class Physical:
    """What there may be, where, and how the instrument answers to it in every setting."""

    library: Library  # nominal responses (q, E), or pairs (2 q, E)
    settings: Settings | None  # what the uncertain parameters make of them, if there are any
    is_complex: bool
    shared: Array  # (q or 2 q, m), unit columns
    notes: tuple[str, ...]

    @property
    def n_channels(self) -> int:
        """Channels of the instrument, complex ones counted once."""
        entries = len(self.library.responses)
        return entries // 2 if self.is_complex else entries


def read_elements(project: Project, *, trust: bool = False) -> Physical:
    """Read the elements, work out their responses, and apply the parameters."""
    listed = read_element_file(project)
    coordinates = listed.coordinates
    given, parameters = nominal_response(project, coordinates, trust), _parameters(project)
    with named_by_key(project, "elements"):
        plain = settings_grid(given, coordinates, [])
    settings = None
    if parameters:
        with named_by_key(project, "parameters"):
            settings = settings_grid(given, coordinates, parameters)
    is_complex = plain.is_complex if settings is None else settings.is_complex
    nominal = plain.responses[0]
    return Physical(
        library=Library(listed.ids, listed.regions, coordinates, nominal),
        settings=settings,
        is_complex=is_complex,
        shared=_shared(project, len(nominal), is_complex),
        notes=_notes(given),
    )


def _parameters(project: Project) -> list[Parameter]:
    """The parameters in the order of the schema; a coordinate is named in the file and numbered here."""
    found, names = [], project.settings.elements.coordinates
    for name in type(project.settings.parameters).model_fields:
        given = getattr(project.settings.parameters, name)
        if given is None:
            continue
        if given.coordinate is not None and given.coordinate not in names:
            key = project.name(f"parameters.{name}.coordinate")
            raise MisuseError(key, f"be one of {', '.join(names)}", repr(given.coordinate))
        coordinate = 0 if given.coordinate is None else names.index(given.coordinate)
        pattern = None if given.pattern is None else np.array(given.pattern)
        with named_by_key(project, f"parameters.{name}"):
            found.append(Parameter(name, np.array(given.values), pattern, coordinate))
    return found


def _shared(project: Project, entries: int, is_complex: bool) -> Array:
    """Columns that every dictionary has, scaled to norm 1."""
    spec = project.settings.elements.shared
    if spec is None:
        return np.zeros((entries, 0))
    key, q = project.name("elements.shared"), entries // 2 if is_complex else entries
    columns = read_numbers(project, "elements.shared", spec)
    if columns.ndim != 2 or len(columns) != q:
        raise MisuseError(key, f"have {q} rows, one for each channel, and a column for each atom", columns.shape)
    if np.iscomplexobj(columns) and not is_complex:
        raise MisuseError(key, "be real as the responses are", "complex numbers")
    real = as_pairs(columns, axis=0) if is_complex else columns.astype(np.float64)
    norms = np.linalg.norm(real, axis=0)
    if not norms.all():
        raise MisuseError(key, "have columns other than 0", f"0 in column {int(norms.argmin())}")
    return np.asarray(real / norms)


def _notes(nominal: object) -> tuple[str, ...]:
    """Strengths refer to responses of norm 1: say so where those of a file had another."""
    if not isinstance(nominal, np.ndarray):
        return ()
    columns: Numbers = nominal
    norms = np.linalg.norm(columns, axis=0)
    if np.abs(norms - 1.0).max() <= _NORM_TOLERANCE:
        return ()
    return (
        f"Responses were scaled to norm 1 (they had {norms.min():.4g} to {norms.max():.4g}); strengths refer to "
        "the scaled ones.",
    )
