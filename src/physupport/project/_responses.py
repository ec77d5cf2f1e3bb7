"""The response that a project names: a built-in one, an array from a file, or a function of the user's own."""

import numpy as np

from .._errors import MisuseError
from .._typing import Array
from ..responses import RESPONSES, Response
from ._function import trusted_function
from ._inputs import Numbers, read_recorded
from ._load import Project
from ._named import named_by_key
from ._sources import File, FunctionResponse, RegisteredResponse


def read_numbers(project: Project, key: str, spec: File) -> Numbers:
    """The finite numbers of a file, told by its key where they are none."""
    values = read_recorded(project, key, spec)
    if not np.isfinite(values).all():
        where = tuple(np.argwhere(~np.isfinite(values))[0].tolist())
        raise MisuseError(project.name(key), "be finite", f"{values[where]} at index {where} of {spec.file}")
    return values


def nominal_response(project: Project, places: Array, trust: bool) -> Response | Numbers:
    """What `settings_grid` takes: a response, or the (q, E) columns for elements at these places."""
    elements = project.settings.elements
    if elements.responses is not None:
        columns = read_numbers(project, "elements.responses", elements.responses)
        return _checked_columns(project, "elements.responses", columns, len(places))
    if isinstance(elements.response, FunctionResponse):
        return trusted_function(project, elements.response.function, trust)
    if not isinstance(elements.response, RegisteredResponse):
        raise MisuseError(project.name("elements"), "have responses", "none")
    with named_by_key(project, "elements.response"):
        return _registered(project, elements.response)


def _registered(project: Project, spec: RegisteredResponse) -> Response:
    """What the kind makes of the parameters; those given as files are read."""
    parameters = {name: value for name, value in spec if name != "kind"}
    for name, value in parameters.items():
        if isinstance(value, File):
            parameters[name] = read_numbers(project, f"elements.response.{name}", value)
    response: Response = RESPONSES[spec.kind](**parameters)
    return response


def _checked_columns(project: Project, key: str, columns: Numbers, count: int) -> Numbers:
    if columns.ndim != 2 or columns.shape[1] != count:
        rule = f"have a row for each channel and a column for each of the {count} elements"
        raise MisuseError(project.name(key), rule, f"shape {columns.shape}")
    return columns
