"""The measurements that a project file offers to make next, and which of them is best."""

from dataclasses import replace
from functools import partial

import numpy as np

from .._errors import Clause, MisuseError
from .._typing import Array
from ..analysis import Candidate
from ..io import Axis, as_pairs
from ._assemble import Assembled, project_bank, project_plans
from ._element_list import read_element_file
from ._elements import read_elements
from ._load import Project, named_by_key
from ._responses import nominal_responses
from ._schema import NextSpec
from ._tables import finite, ordered, read_recorded


def candidates(assembled: Assembled) -> tuple[Candidate, ...]:
    """The measurements of `[[next]]`, with bank and law of what each of them gives."""
    project = assembled.project
    offered = project.settings.next
    if not offered:
        remedy = "Write a table for each: [[next]] with name, seconds and rows."
        raise project.misuse("next", "offer at least one measurement", Clause("there is none"), remedy)
    return tuple(_candidate(assembled, number, spec) for number, spec in enumerate(offered))


def _candidate(assembled: Assembled, number: int, spec: NextSpec) -> Candidate:
    project = assembled.project
    plan = assembled.protocol.streams.get(spec.stream)
    if plan is None:
        raise project.misuse(f"next[{number}].stream", "be one of the project's", repr(spec.stream))
    made = partial(Candidate, spec.name, spec.seconds)
    if spec.responses is not None:
        return _with_responses(project, f"next[{number}].responses", spec, made)
    law = plan.law.completed(assembled.bank)
    design = law.design(assembled.bank)
    times = None if design is None else design.exposure
    return made(assembled.bank, law, spec.rows * (1.0 if times is None else float(times.mean())))


def _with_responses(project: Project, key: str, spec: NextSpec, made: "partial[Candidate]") -> Candidate:
    """The same elements seen by another instrument, or in another range or place."""
    physical = read_elements(project)
    many = {"parameters": physical.settings, "variants": physical.variants, "a cover": physical.cover}
    stray = next((name for name, value in many.items() if value is not None), None)
    if stray is not None or project.settings.elements.has_lines:
        rule = "go with elements of one exact response each"
        raise project.misuse(key, rule, stray or "elements made of lines")
    columns = _columns(project, key, spec, physical.is_complex)
    norms = np.linalg.norm(columns, axis=0)
    if columns.shape[1] != len(physical.library.ids) or not norms.all():
        rule = f"have {len(physical.library.ids)} columns other than 0, one for each element"
        raise project.misuse(key, rule, columns.shape)
    library = replace(physical.library, responses=columns / norms, channels=None)
    other = replace(
        physical, library=library, shared=np.zeros((len(columns), 0)), generic=None, counted=None, lines=None
    )
    if spec.noise is not None:
        rows = project.settings.data.deployment
        if rows.noise is None or rows.noise.known is None or len(rows.noise.known) != 1:
            raise project.misuse(key.replace("responses", "noise"), "go with one noise of the project", spec.noise)
        noise = rows.noise.model_copy(update={"values": (spec.noise,), "variance": None, "covariance": None})
        data = project.settings.data.model_copy(update={"deployment": rows.model_copy(update={"noise": noise})})
        project = replace(project, settings=project.settings.model_copy(update={"data": data}))
    with named_by_key(project, key):
        bank = project_bank(project, other)
        law = project_plans(project, other, bank)["deployment"].law.completed(bank)
    scale = norms / _own_norms(project)
    return made(bank, law, spec.rows, scale[bank.states.library_index])


def _columns(project: Project, key: str, spec: NextSpec, is_complex: bool) -> Array:
    """(q, E) responses of a file, rows first; complex ones as pairs."""
    assert spec.responses is not None
    held = read_recorded(project, key, spec.responses)
    axes = (Axis("rows"), Axis("elements"))
    numbers = finite(project, key, spec.responses, ordered(project, key, held, axes))
    if numbers.ndim != 2:
        raise project.misuse(key, "have two axes, channels and elements", numbers.shape)
    if np.iscomplexobj(numbers) != is_complex:
        raise project.misuse(key, f"be {'complex' if is_complex else 'real'} as the responses are", numbers.dtype)
    return as_pairs(numbers, axis=0) if is_complex else np.asarray(numbers, dtype=np.float64)


def _own_norms(project: Project) -> Array:
    """(E,) the norms of the responses of the project, in the unit that they have in its file."""
    listed = read_element_file(project)
    first = nominal_responses(project, listed)[0]
    columns = np.asarray(first(listed.coordinates) if callable(first) else first)
    if columns.shape[1:] != (len(listed.ids),):
        raise MisuseError("responses", "have a column for each element", columns.shape)
    return np.asarray(np.linalg.norm(columns, axis=0))
