"""The response that a project names: a built-in one, an array from a file, or a function of the user's own."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from importlib import import_module, invalidate_caches
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from .._codec import pieces_hash
from .._errors import Clause, MisuseError
from .._typing import Array, Field
from ..io import Axis, matches, order_of, read_columns, same_unit
from ..responses import RESPONSES, Parameter, Peak, Response, mirror_line
from ._element_list import ElementList, column_numbers
from ._load import Project, named_by_key
from ._sections import File, RegisteredResponse, takes_lines
from ._tables import Numbers, finite, ordered, read_recorded, recorded


def trusted_function(project: Project, name: str) -> Response:
    """`module:function`; its module is run only where the user trusts the project."""
    key = project.name("elements.response.function")
    if not project.is_trusted:
        remedy = "It runs a program of the project's choice: look at it, then run again with --trust."
        raise MisuseError(key, "be trusted to be run", repr(name), remedy)
    module, _, attribute = name.partition(":")
    try:
        with redirect_stdout(sys.stderr):  # what the command prints may be for another program to read
            imported = _imported(project, module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # the module may raise anything
        raise MisuseError(key, "be a function that can be imported", f"{name!r} ({_error_text(error)})") from error
    if attribute not in dir(imported):
        raise MisuseError(key, "be a function that can be imported", f"{name!r} (no {attribute!r} in {module!r})")
    if not callable(function := getattr(imported, attribute)):
        raise MisuseError(key, "be a function", f"{name!r}, a {type(function).__name__}")
    # A peak stays one: its width may be a parameter.
    return function if isinstance(function, Peak) else _guarded(name, function)


def module_beside(project: Project, module: str) -> Path | None:
    """The file of a module, or of the package that it is in, beside the project file."""
    folder = project.path.resolve().parent
    top = module.partition(".")[0]
    return next((path for path in (folder / f"{top}.py", folder / top / "__init__.py") if path.is_file()), None)


def _guarded(name: str, function: Callable[[Array], Any]) -> Response:
    """The function, with whatever it raises told in one message."""

    def response(places: Array) -> Any:  # noqa: ANN401  checked where it is used
        try:
            with redirect_stdout(sys.stderr):
                return np.asarray(function(places))  # rows of different lengths fail here, where they can be told
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            rule = f"answer for {len(places)} places of {places.shape[1]} coordinates"
            raise MisuseError(f"function {name!r}", rule, _error_text(error)) from error

    return response


def _error_text(error: BaseException) -> str:
    """Type and text of an exception, on one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}".removesuffix(": ")


def _imported(project: Project, module: str) -> ModuleType:
    """A module, made anew if it lies beside the project file: another project may have one of the same name."""
    path = module_beside(project, module)
    folder = project.path.resolve().parent
    with _importing_from(folder):
        if path is None:
            return import_module(module)
        first, _, inner = module.partition(".")
        name = path.relative_to(folder).as_posix()
        with recorded(project, "elements.response.function", name, path):
            top = _fresh_module(path, f"_project_{pieces_hash(ascii(folder))[:16]}_{first}")
        return import_module(f"{top.__name__}.{inner}") if inner else top


def _fresh_module(path: Path, name: str) -> ModuleType:
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"no module in {path.name}")
    for earlier in [module for module in sys.modules if module.startswith(f"{name}.")]:
        del sys.modules[earlier]
    fresh = module_from_spec(spec)
    sys.modules[name] = fresh  # as the import statement does: a module may look itself up
    spec.loader.exec_module(fresh)
    return fresh


@contextmanager
def _importing_from(folder: Path) -> Iterator[None]:
    """Modules beside the project file can be imported, and are forgotten afterwards: they belong to this project.

    Nothing is written there.
    """
    before = {*sys.modules}
    writes_none = sys.dont_write_bytecode
    sys.path.insert(0, str(folder))
    sys.dont_write_bytecode = True
    try:
        invalidate_caches()
        yield
    finally:
        sys.dont_write_bytecode = writes_none
        sys.path.remove(str(folder))
        for name in {*sys.modules} - before:
            if name.partition(".")[0] not in before and _is_beside(folder, name):
                del sys.modules[name]


def _is_beside(folder: Path, name: str) -> bool:
    """True if a module came from a file of its name in the folder, or from a package there."""
    file = getattr(sys.modules[name], "__file__", None)
    top = folder / name.partition(".")[0]
    return file is not None and (Path(file) == top.with_suffix(".py") or top in Path(file).parents)


def read_atoms(project: Project, key: str, spec: File, n_channels: int, *, is_complex: bool) -> Field:
    """(q, m) columns of a file beside those of the elements, real where these are; a list of numbers is one column.

    n_channels: of the responses, all in the window; the file has those outside, too.
    """
    held = read_recorded(project, key, spec)
    numbers = finite(project, key, spec, ordered(project, key, held, (project.channels.axis, Axis("atoms"))))
    columns = numbers[:, None] if numbers.ndim == 1 else numbers
    total = project.channels.total(n_channels)
    if columns.ndim != 2 or len(columns) != total:
        rule = f"have {total} rows, one for each channel, and a column for each atom"
        raise project.misuse(key, rule, columns.shape)
    if np.iscomplexobj(columns) and not is_complex:
        raise project.misuse(key, "be real as the responses are", "complex numbers")
    return project.channels.cut(columns, 0)


def nominal_responses(project: Project, listed: ElementList | None = None) -> tuple[Response | Numbers, ...]:
    """The input of `settings_grid` for each variant: a response, or (q, E) columns of the elements of a list."""
    files = project.settings.elements.tables
    if not files or listed is None:
        response = _formula(project, listed)
        # Those whose mixtures a response stands for, such as dipoles of any orientation.
        parts: tuple[Response, ...] = getattr(response, "variants", (response,))
        mixed = project.settings.elements.variants
        if len(parts) > 1 and mixed != "span":
            rule = f"be 'span' with a response of {len(parts)} parts, which mix"
            raise project.misuse("elements.variants", rule, repr(mixed))
        return parts
    if len(files) == 1:
        columns = _read_columns(project, "elements.responses", files[0], listed)
        lines = listed.lines
        return (columns,) if len(lines) == 1 else tuple(np.ascontiguousarray(columns[:, line]) for line in lines)
    stacks = [_read_columns(project, f"elements.responses[{i}]", stack, listed) for i, stack in enumerate(files)]
    shapes = sorted({stack.shape for stack in stacks})
    if len(shapes) > 1:
        raise project.misuse("elements.responses", "have as many channels in every variant", shapes)
    return tuple(stacks)


def _formula(project: Project, listed: ElementList | None) -> Response:
    spec = project.settings.elements.response
    if spec is None:
        raise project.misuse("elements", "have responses", Clause("there is none"))
    if spec.function is not None:
        project.channels.unnamed.append("elements.response.function")
        return trusted_function(project, spec.function)
    with named_by_key(project, "elements.response"):
        return _registered(project, spec, listed)


def _registered(project: Project, spec: RegisteredResponse, listed: ElementList | None) -> Response:
    """Make a response of a registered kind; parameters given as files are read."""
    parameters = {name: value for name, value in spec if name != "kind"}
    files = {name: value for name, value in parameters.items() if isinstance(value, File)}
    for name, file in files.items():
        key = f"elements.response.{name}"
        if takes_lines(spec.kind, name):
            parameters[name] = _read_lines(project, key, file, listed)
        elif "frequencies" in parameters:
            parameters[name] = _read_geometry(project, key, file)
        else:
            parameters[name] = _read_parameter(project, key, file)
    if "places" in parameters:
        parameters["places"] = _places(project, str(parameters["places"]))
    response: Response = RESPONSES[spec.kind](**parameters)
    if listed is not None and listed.coordinates.shape[1] == 1:
        _check_mirror(project, response, listed)
    if not files:
        response = _along_channels(project, response)
    return response


def _read_lines(project: Project, key: str, file: File, listed: ElementList | None) -> Array:
    """(L, d + 2) place of the element, energy and intensity, from a CSV with the columns element, energy, intensity.

    Elements that are not in the list are left out.
    """
    path = project.file(key, file.file)
    with recorded(project, key, file.file, path) as entry, named_by_key(project, key):
        columns = read_columns(path)
        entry |= {"shape": [len(next(iter(columns.values()), [])), len(columns)]}
    names = ("element", "energy", "intensity")
    if listed is None or any(name not in columns for name in names):
        remedy = "" if listed is not None else "Elements come from a list: [elements] file = ..."
        raise project.misuse(key, f"be a table with the columns {', '.join(names)}", ", ".join(columns), remedy)
    if len(np.unique(listed.coordinates, axis=0)) < len(listed.ids):
        raise project.misuse("elements.coordinates", "differ from element to element", Clause("two are at one place"))
    places = dict(zip(listed.ids, listed.coordinates, strict=True))
    rules = ("hold numbers", "hold finite numbers")
    energies, heights = (column_numbers(project.name(key), name, columns[name], rules) for name in names[1:])
    rows = zip(columns["element"], energies, heights, strict=True)
    known = [[*places[name], energy, height] for name, energy, height in rows if name in places]
    return np.array(known, dtype=np.float64).reshape(len(known), listed.coordinates.shape[1] + 2)


def _read_parameter(project: Project, key: str, file: File) -> Numbers:
    """Numbers that a response takes: of sensors a row each, by the coordinates that elements have."""
    coordinates = project.settings.elements.coordinates
    unit = project.settings.elements.unit
    held = read_recorded(project, key, file)
    if not same_unit(held.unit, unit):
        raise project.misuse(key, f"be in the unit {unit} of elements.unit", held.unit)
    is_table = held.values.ndim == 2 and min(held.values.shape) > 1
    axes = [project.channels.axis, *([Axis("coordinates", coordinates, "elements.coordinates")] if is_table else [])]
    return finite(project, key, file, ordered(project, key, held, axes))


_AXES = ("x", "y", "z")


def _read_geometry(project: Project, key: str, file: File) -> Array:
    """(q, 2) or (q, 3) places of sensors in metres, in the order of the channels of the recording.

    The columns x, y and z by their names, or all of them in their order; the lines by the names of channels, if the
    first column and the recording have such.
    """
    held = read_recorded(project, key, file)
    values = finite(project, key, file, np.atleast_2d(held.values)).astype(np.float64)
    names, heading = held.headings
    lines = project.channels.sensors
    if heading is not None and "x" in heading:
        values = values[:, [heading.index(axis) for axis in _AXES if axis in heading]]
    if values.ndim != 2 or values.shape[1] not in (2, 3):
        rule = "be a table with a line for each sensor and the columns x and y, and z if it is known, in metres"
        raise project.misuse(key, rule, f"shape {held.values.shape} in {file.file}")
    if names is not None and lines is not None:
        order = order_of(project.name(key), Axis("channels", lines, "data.deployment.file"), names)
        return values if order is None else values[order]
    project.channels.unnamed.append(key)
    return values


def _check_mirror(project: Project, response: Response, listed: ElementList) -> None:
    """Refuse directions on both sides of a line of sensors, which sees them alike."""
    line = mirror_line(response, listed.coordinates)
    if line is not None:
        rule = f"lie on one side of the line of the sensors, which runs along {line:g} degrees"
        remedy = (
            f"Write from = {line:g} and to = {line + 180.0:g}: such a line sees a direction and its mirror image alike."
        )
        raise project.misuse("elements.from", rule, Clause("there are directions on both sides"), remedy)


def _places(project: Project, places: str) -> str:
    """The coordinates by the names that a formula has for them; the same names may stand in another order there."""
    names = places.split()
    known = project.settings.elements.coordinates
    if {*names} == {*known}:
        return " ".join(known)
    shared = [name for name in names if name in known and names.index(name) != known.index(name)]
    if shared:
        rule = f"name the coordinates {', '.join(known)}, or have names of its own, in their order"
        raise MisuseError("places", rule, repr(places))
    return places


def _along_channels(project: Project, response: Response) -> Response:
    """A peak on an axis in the unit of its places, in the order of the channels of the rows; others as they are."""
    channels = project.channels
    unit = project.settings.elements.unit
    if isinstance(response, Peak) and unit and channels.are_places and len(response.axis) == len(channels.names or ()):
        key = "elements.response.axis"
        order = channels.order(project.name(key), key, [f"{place!r} {unit}" for place in response.axis.tolist()])
        return response if order is None else replace(response, axis=response.axis[order])
    channels.unnamed.append("elements.response")
    return response


def _read_columns(project: Project, key: str, file: File, listed: ElementList) -> Numbers:
    """(q, columns) in the order of the list, by the names that the file has for elements."""
    held = read_recorded(project, key, file)
    named = (axis for axis in listed.axes if any(matches(axis, names) for names in held.headings))
    elements = next(named, listed.axes[0])
    columns = ordered(project, key, held, (project.channels.axis, elements))
    count = listed.lines.size
    if columns.ndim != 2 or columns.shape[1] != count:
        rule = f"have a row for each channel and a column for each of the {count} elements"
        remedy = "Transpose it: its rows are as many." if columns.ndim == 2 and len(columns) == count else ""
        raise project.misuse(key, rule, f"shape {columns.shape}", remedy)
    return finite(project, key, file, columns)


def project_parameters(project: Project) -> list[Parameter]:
    """The parameters in the order of the file; a coordinate is named there and numbered here."""
    parameters = []
    names = project.settings.elements.coordinates
    for name, spec in project.settings.parameters.items():
        if spec.coordinate is not None and spec.coordinate not in names:
            rule = f"be one of {', '.join(names)}"
            raise project.misuse(f"parameters.{name}.coordinate", rule, repr(spec.coordinate))
        coordinate = 0 if spec.coordinate is None else names.index(spec.coordinate)
        pattern = None if spec.pattern is None else np.array(spec.pattern)
        with named_by_key(project, f"parameters.{name}"):
            called = "" if name == spec.kind else name
            parameters.append(Parameter(spec.kind, np.array(spec.points), pattern, coordinate, called))
    return parameters
