"""A project whose dictionary was learnt: its calibration rows make the regions and the elements of the file."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from .._errors import Clause
from .._typing import Field
from ..analysis import learnt_parts
from ..banks import Library, sparse_learner
from ..io import as_pairs, read_table
from ..judges.learnt import ByLearnt
from ..responses import Response
from ._element_list import element_columns, read_element_file
from ._library import with_listed_regions
from ._load import Entry, Project, named_by_key
from ._region_sections import EVERY, Region, Supports
from ._responses import nominal_responses
from ._streams import LearntCalibration
from ._tables import begin_channels, read_recorded, recorded


@final
@dataclass(frozen=True, slots=True, eq=False)
class LearntProject:
    """The elements that the calibration leaves, the judge that knows them, and the files that were read for them."""

    library: Library
    judge: ByLearnt
    inputs: Mapping[str, Entry]
    is_complex: bool


def with_learnt_dictionary(project: Project) -> Project:
    """Read the calibration rows, and let what they leave be the regions of the project."""
    settings = project.settings
    spec = settings.data.learnt
    assert spec is not None
    names = settings.elements.coordinates
    is_listed = settings.elements.are_listed
    if is_listed == bool(spec.places):
        rule = "be left out beside listed elements" if is_listed else "be given beside a response by formula"
        raise project.misuse(
            "data.calibration.places", rule, Clause("a box is given") if is_listed else Clause("there is none")
        )
    if spec.places and [*spec.places] != names:
        raise project.misuse("data.calibration.places", f"be of the coordinates {', '.join(names)}", [*spec.places])
    if [*settings.regions] != [EVERY]:
        rule = f'be one table [regions."{EVERY}"] where a learnt dictionary makes the regions'
        raise project.misuse("regions", rule, ", ".join(settings.regions))
    every = settings.regions[EVERY]
    meaning = _listed(project) if is_listed else _response(project)
    rows = _rows(project, spec)
    with named_by_key(project, "data.calibration"):
        parts = learnt_parts(
            _atoms(project, spec, rows),
            meaning,
            rows,
            places=spec.places,
            tolerance=every.tolerance,
            level=settings.level,
            unit=settings.elements.unit,
            learnt_on=spec.learnt_on,
        )
    library = parts.bank.states.library
    assert library is not None
    supports = Supports.model_construct(choices=[[*support] for support in parts.supports])
    regions: dict[str, Region] = {name: every.model_copy(update={"presence": "optional"}) for name in parts.tolerances}
    found = settings.model_copy(update={"regions": regions, "supports": supports})
    learnt = LearntProject(library, parts.judge, dict(project.read), np.iscomplexobj(rows))
    return replace(project, settings=found, learnt=learnt)


def _response(project: Project) -> Response:
    """The response of which every atom is one, somewhere in the box."""
    response = nominal_responses(project)[0]
    assert callable(response)  # a table is of listed elements
    return response


def _listed(project: Project) -> Library:
    """The listed places, of which every atom is one, with columns of norm 1."""
    if not (project.settings.elements.tables and project.settings.elements.coordinates):
        rule = "be a table of responses at listed coordinates beside a learnt dictionary"
        raise project.misuse("elements", rule, Clause("another library is given"))
    begin_channels(project)
    found = with_listed_regions(project, element_columns(project))
    listed = read_element_file(found)
    (columns, *more) = nominal_responses(found, listed)
    if more:
        raise project.misuse("elements.responses", "be one file beside a learnt dictionary", f"{1 + len(more)} of them")
    table = np.asarray(columns)
    unit = table / np.linalg.norm(table, axis=0)
    unit = as_pairs(unit, axis=0) if np.iscomplexobj(unit) else unit.astype(np.float64)
    return Library(listed.ids, listed.regions, listed.coordinates, unit, project.settings.elements.unit)


def _rows(project: Project, spec: LearntCalibration) -> Field:
    """(N, q) the calibration rows, entered into what the project has read."""
    key = "data.calibration.file"
    path = project.file(key, spec.file)
    with recorded(project, key, spec.file, path) as entry, named_by_key(project, key):
        table = read_table(path, channels=spec.channels, label="calibration", member=spec.member, header=spec.header)
        values = np.array(table.values, dtype=np.result_type(table.values, np.float64))
        entry |= {"shape": list(values.shape), "dtype": values.dtype.name}
    return values


def _atoms(project: Project, spec: LearntCalibration, rows: Field) -> Field:
    """(n, q) atoms of a file, or of the learner of the package."""
    if spec.dictionary is not None:
        return np.asarray(read_recorded(project, "data.calibration.dictionary", spec.dictionary).values)
    assert spec.atoms is not None
    return np.asarray(sparse_learner(rows, spec.atoms, project.settings.seed % 2**32).T)
